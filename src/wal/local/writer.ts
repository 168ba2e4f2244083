// The local log's writer: takes the log over, appends batches, keeps the account. One append at a time, each durable before the next.
// Invariants: nothing is written before the log's end is repaired and durable; a write or sync error is never retried, the writer is dead;
// positions, refs and the next ref are known when `append` returns, also when a segment has to be waited for. It must not know records.

import { assert } from '../../base/assert.ts';
import { LogError } from '../log-store.ts';
import type {
  Appended,
  Batch,
  BatchKind,
  BatchTime,
  Epoch,
  LogWriter,
  Pos,
  RecordGroup,
  Ref,
} from '../log-store.ts';
import { BodyReader } from './body-reader.ts';
import { Committer, rejected } from './committer.ts';
import type { SegmentWrite } from './committer.ts';
import { readFully } from './file-io.ts';
import * as frames from './frame.ts';
import { FrameHeader, frameBytes, payloadStart } from './frame.ts';
import { FrameEncoder } from './frame-encoder.ts';
import { BATCH_BYTES_MAX, bytesOf, layoutBatch, maxPreambleBytes, pieceOf } from './layout.ts';
import type { FramePlan } from './layout.ts';
import { asLogError, repairLog } from './recovery.ts';
import type { Inspection, TornTail } from './recovery.ts';
import { Replay } from './replay.ts';
import { TAKEOVER_NAME_AT } from './scan.ts';
import type { LogIdentity } from './scan.ts';
import { SegmentPool } from './segment-pool.ts';
import type { LocalLogParts } from './local-log.ts';
import type { SegmentFiles } from './segment.ts';

const GIANT_BATCH_BYTES = 4 * 1024 * 1024;
const WRITER_NAME_BYTES_MAX = 256;
const NO_RECORDS: RecordGroup = { bytes: [], starts: new Uint32Array(0), count: 0 };

interface Output {
  readonly writes: SegmentWrite[];
  /** The batch is written from where its chunks are, not through the pages. */
  readonly giant: boolean;
}

interface PreparedPreamble {
  readonly group: RecordGroup;
  readonly payloadBytes: number;
  readonly bare: boolean;
}

export class LocalWriter implements LogWriter {
  readonly epoch: Epoch;
  readonly spaceId: number;
  readonly dead: Promise<LogError>;
  /** What was cut when the log was taken over. */
  readonly tornTail: TornTail | null;
  readonly #parts: LocalLogParts;
  readonly #files: SegmentFiles;
  readonly #found: Inspection;
  readonly #identity: LogIdentity;
  readonly #writerName: Uint8Array;
  readonly #pool: SegmentPool;
  readonly #bodies: BodyReader;
  readonly #encoder: FrameEncoder;
  readonly #giantBytes: number;
  readonly #committer: Committer;
  readonly #header = new FrameHeader();
  #settleDead: (error: LogError) => void = () => {};
  #state: 'opened' | 'replaying' | 'ready' | 'closed' = 'opened';
  #failure: LogError | null = null;
  #makePreamble: (() => RecordGroup) | null = null;
  #end: Pos;
  #previousPos: Pos;
  #batchNumber = 0;
  #batches = 0;
  #lastPos: Pos = 0;
  /** Where the last durable batch begins. */
  #durablePos: Pos = 0;
  #largestBatch = 0;

  constructor(parts: LocalLogParts, opened: { found: Inspection; identity: LogIdentity; writerId: string }) {
    const { found, identity } = opened;
    const { table, whole } = found;
    this.#parts = parts;
    this.#files = parts.files;
    this.#found = found;
    this.#identity = identity;
    this.#writerName = Buffer.from(opened.writerId).subarray(0, WRITER_NAME_BYTES_MAX);
    this.#end = whole.end;
    this.#previousPos = Math.max(0, whole.lastPos);
    this.#lastPos = this.#previousPos;
    this.spaceId = identity.spaceId;
    this.tornTail = found.tornTail;
    this.dead = new Promise((resolve) => {
      this.#settleDead = resolve;
    });
    this.#bodies = new BodyReader(parts.files, table, parts.pages);
    this.#bodies.setWritten(whole.end);
    this.#encoder = new FrameEncoder(this.#bodies.pages);
    this.#giantBytes = Math.min(GIANT_BATCH_BYTES, parts.pages.budgetBytes / 4);
    this.#pool = new SegmentPool({
      ...parts,
      segmentBytes: table.segmentBytes,
      heldSegments: () => (table.first === 0 ? 0 : table.last - table.first + 1),
      onFailure: (error) => this.#fail(error, 'preparing a segment'),
    });
    this.#committer = new Committer({
      ...parts,
      pool: this.#pool,
      bodies: this.#bodies,
      check: () => {
        if (this.#failure !== null) throw this.#failure;
      },
      fail: (error) => this.#fail(error, 'appending'),
      onDurable: () => {
        this.#durablePos = this.#lastPos;
      },
    });
    // The epoch is the takeover's position: known now, written when everything before it has been replayed.
    this.epoch = this.#takeoverPlans().at(-1)?.pos ?? 0;
    this.#header.epoch = this.epoch;
    this.#header.nonceLow = parts.randomU32();
    this.#header.nonceHigh = parts.randomU32();
  }

  get identity(): LogIdentity {
    return this.#identity;
  }

  get lastPos(): Pos {
    return this.#lastPos;
  }

  /** Where the last durable batch begins. */
  get durablePos(): Pos {
    return this.#durablePos;
  }

  get nextRef(): Ref {
    return this.#end;
  }

  get stat(): { first: Pos; last: Pos; bytes: number; room: number; batches: number; healthy: boolean } {
    const { table } = this.#found;
    const held = table.first === 0 ? 0 : table.last - table.first + 1;
    return {
      first: table.first * table.segmentBytes,
      last: this.#lastPos,
      bytes: (held + this.#pool.spareCount) * table.segmentBytes,
      room: Math.max(0, this.#pool.room),
      batches: this.#batches,
      healthy: this.#failure === null,
    };
  }

  async *replay(after: Pos): AsyncGenerator<Batch, void> {
    assert(this.#state === 'opened', 'a log is replayed once');
    this.#state = 'replaying';
    try {
      const source = new Replay(this.#files, this.#found, after);
      for (;;) {
        const batch = source.nextInMemory() ?? (await source.next());
        if (batch === null) break;
        if (batch.kind !== 'preamble') this.#batches++;
        this.#lastPos = batch.pos;
        yield batch;
        this.#refuseIfDone();
      }
      const takeover = await this.#begin();
      this.#state = 'ready';
      yield takeover;
    } catch (error) {
      throw this.#fail(error, 'opening the log');
    }
  }

  setPreamble(make: () => RecordGroup): void {
    this.#makePreamble = make;
  }

  reserve(bytes: number): boolean {
    return this.#failure === null && this.#state !== 'closed' && this.#pool.reserve(bytes);
  }

  reserveAnyway(bytes: number): void {
    this.#pool.reserveAnyway(bytes);
  }

  release(bytes: number): void {
    this.#pool.release(bytes);
  }

  roomComing(): Promise<void> | null {
    return this.#failure === null ? this.#pool.roomComing() : null;
  }

  append(group: RecordGroup, time: BatchTime, kind: 'data' | 'noop' = 'data'): Appended {
    const ref = this.#end;
    if (this.#failure !== null) return { ref, durable: rejected(this.#failure) };
    if (this.#state === 'closed')
      return { ref, durable: rejected(new LogError('Unavailable', 'the log is closed')) };
    assert(this.#state === 'ready', 'the log is replayed before it is appended to');
    assert(!this.#committer.busy, 'a batch is appended when the one before it is durable');
    return { ref, durable: this.#appendBatch({ group, time, kind, total: bytesOf(group) }) };
  }

  cached(ref: Ref, offset: number, length: number): Uint8Array | null {
    return this.#failure === null && this.#state !== 'closed'
      ? this.#bodies.cached(ref, offset, length)
      : null;
  }

  read(ref: Ref, offset: number, length: number): Promise<Uint8Array> {
    if (this.#failure !== null) return rejected(this.#failure);
    if (this.#state === 'closed') return rejected(new LogError('Unavailable', 'the log is closed'));
    return this.#bodies.read(ref, offset, length);
  }

  place(ref: Ref, offset: number): { file: string; offset: number } {
    return this.#bodies.place(ref, offset);
  }

  unitOf(ref: Ref): number {
    return this.#found.table.numberOf(ref);
  }

  get firstUnit(): number {
    return Math.max(1, this.#found.table.first);
  }

  get unitBytes(): number {
    return this.#found.table.segmentBytes;
  }

  trimBefore(unit: number): Promise<void> {
    return this.trim(unit * this.unitBytes);
  }

  limitUnits(count: number): void {
    this.#pool.limitSegments(count);
  }

  mayRestate(bytes: number): boolean {
    return this.#failure === null && this.#pool.mayRestate(bytes);
  }

  async trim(upTo: Pos): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    if (this.#state !== 'ready') throw new LogError('Unavailable', 'the log is not open for writing');
    const { table } = this.#found;
    const first = table.first;
    let number = Math.min(table.numberOf(upTo), table.numberOf(this.#durablePos));
    // A log cannot begin where the definitions are missing.
    while (number > first && table.entry(number)?.bare !== false) number--;
    if (number <= first) return;
    const numbers: number[] = [];
    for (let old = first; old < number; old++) numbers.push(old);
    table.removeBefore(number);
    this.#bodies.pages.drop(first * table.segmentBytes, number * table.segmentBytes);
    await this.#pool.retire(numbers, number);
    if (this.#failure !== null) throw this.#failure;
  }

  /** Another writer of the same process took over. */
  async fence(): Promise<void> {
    this.#fail(new LogError('Fenced', `${this.#files.dir}: another writer took the log over`), 'fencing');
    await this.close();
  }

  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    await this.#pool.close();
    await this.#committer.idle();
    this.#bodies.pages.close();
    this.#files.closeWhenUnpinned();
  }

  #refuseIfDone(): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#state === 'closed') throw new LogError('Unavailable', 'the log is closed');
  }

  /** Repairs the log's end and appends the takeover batch. */
  async #begin(): Promise<Batch> {
    const { table, whole, prepared, tornTail } = this.#found;
    const { ulog, clock } = this.#parts;
    this.#refuseIfDone();
    await repairLog(this.#files, this.#found);
    if (tornTail !== null)
      ulog.warn('a torn tail was cut: the last batch was never acknowledged', { ...tornTail });
    for (const { number, bytes } of this.#found.resizes) {
      ulog.warn('a segment file had the wrong length and was mended', {
        file: this.#files.path(number),
        bytes,
      });
    }
    this.#refuseIfDone();
    this.#pool.start({
      current: table.last,
      first: Math.max(1, table.first),
      marked: this.#found.marked,
      prepared,
    });
    this.#updateRoom(0);
    await this.#loadTail();
    const opensSegment = this.#takeoverPlans().length > 1;
    if (opensSegment) await this.#pool.makeReady();
    this.#refuseIfDone();
    const group = this.#takeoverRecord();
    const time = { space: whole.spaceTime, wall: clock.wallMs() };
    const ref = this.#end;
    await this.#appendBatch({ group, time, kind: 'takeover', total: bytesOf(group) });
    assert(this.#lastPos === this.epoch, 'the takeover stands where its epoch says');
    return { ref, pos: this.epoch, epoch: this.epoch, time, records: group, kind: 'takeover' };
  }

  #takeoverPlans(): FramePlan[] {
    const { segmentBytes } = this.#found.table;
    const group = { bytes: [], starts: new Uint32Array(1), count: 1 };
    const total = TAKEOVER_NAME_AT + this.#writerName.length;
    return layoutBatch({
      end: this.#end,
      segmentBytes,
      total,
      group,
      preambleFrameBytes: () => frameBytes(0, 0),
    });
  }

  #takeoverRecord(): RecordGroup {
    const { whole } = this.#found;
    const record = Buffer.alloc(TAKEOVER_NAME_AT + this.#writerName.length);
    record.writeDoubleLE(whole.epoch, 0);
    record.writeDoubleLE(whole.batchNumber, 8);
    record.set(this.#writerName, TAKEOVER_NAME_AT);
    return { bytes: [record], starts: new Uint32Array(1), count: 1 };
  }

  /** The page that is appended to must be complete. */
  async #loadTail(): Promise<void> {
    const { segmentBytes } = this.#found.table;
    const { pages } = this.#bodies;
    const start = pages.tailStart(this.#end);
    const bytes = Buffer.allocUnsafe(this.#end - start);
    if (bytes.length > 0) {
      const fd = this.#files.fd(Math.floor(start / segmentBytes));
      const read = await readFully({ io: this.#files.io, fd }, bytes, start % segmentBytes);
      assert(read === bytes.length, 'the last segment is whole');
    }
    pages.startTail(this.#end, bytes);
  }

  #appendBatch(batch: {
    group: RecordGroup;
    time: BatchTime;
    kind: BatchKind;
    total: number;
  }): Promise<void> {
    const { group, total, kind, time } = batch;
    const { segmentBytes } = this.#found.table;
    if (total > BATCH_BYTES_MAX)
      throw new LogError('TooLarge', `a batch of ${total} bytes, at most ${BATCH_BYTES_MAX}`);
    let preamble: PreparedPreamble | null = null;
    const preambleFrameBytes = (): number => {
      preamble ??= this.#preparePreamble(kind);
      return frameBytes(preamble.group.count, preamble.payloadBytes);
    };
    const plans = layoutBatch({ end: this.#end, segmentBytes, total, group, preambleFrameBytes });
    const header = this.#header;
    header.keyLow = this.#identity.keyLow;
    header.keyHigh = this.#identity.keyHigh;
    header.spaceId = this.#identity.spaceId;
    header.segmentBits = this.#identity.segmentBits;
    header.batchNumber = this.#batchNumber;
    header.ref = this.#end;
    header.spaceTime = time.space;
    header.wallTime = time.wall;
    const bytes = plans.reduce((sum, plan) => sum + plan.bytes, 0);
    const out: Output = { writes: [], giant: bytes > this.#giantBytes };
    for (const plan of plans) {
      if (plan.preamble) this.#encodePreamble(plan, preamble, out);
      else this.#encodeFrame(plan, { group, kind }, out);
    }
    this.#noteBatch(plans);
    const durable = this.#committer.commit({
      writes: out.writes,
      bytes,
      end: this.#end,
      mayInline: kind !== 'takeover',
    });
    this.#bodies.pages.releaseFilled();
    this.#updateRoom(bytes);
    return durable;
  }

  #preparePreamble(kind: BatchKind): PreparedPreamble {
    const make = kind === 'takeover' ? null : this.#makePreamble;
    const group = make === null ? NO_RECORDS : make();
    const payloadBytes = bytesOf(group);
    const most = maxPreambleBytes(this.#found.table.segmentBytes);
    if (payloadBytes + 4 * group.count > most) {
      throw new LogError(
        'TooLarge',
        `a preamble of ${payloadBytes} bytes in ${group.count} records, at most ${most}`,
      );
    }
    return { group, payloadBytes, bare: make === null };
  }

  #encodePreamble(plan: FramePlan, preamble: PreparedPreamble | null, out: Output): void {
    assert(preamble !== null, 'a planned preamble was made');
    const { table } = this.#found;
    const header = this.#header;
    const number = table.numberOf(plan.pos);
    const ready = this.#pool.peek(number - this.#pool.current);
    header.kind = 'preamble';
    header.flags =
      (plan.resumes ? frames.FLAG_RESUMES : 0) |
      (ready === undefined || ready.recycled ? frames.FLAG_RECYCLED : 0) |
      (preamble.bare ? frames.FLAG_BARE : 0);
    const whole = { ...plan, from: 0, to: preamble.payloadBytes, recordCount: preamble.group.count };
    this.#encode(whole, preamble.group, out);
    const dataStart = plan.pos + plan.bytes;
    const { ref } = header;
    table.add({ number, usedEnd: dataStart, dataStart, ref, resumes: plan.resumes, bare: preamble.bare });
  }

  #encodeFrame(plan: FramePlan, batch: { group: RecordGroup; kind: BatchKind }, out: Output): void {
    const header = this.#header;
    header.kind = batch.kind;
    header.flags = (plan.continued ? frames.FLAG_CONTINUED : 0) | (plan.resumes ? frames.FLAG_RESUMES : 0);
    this.#encode(plan, batch.group, out);
    this.#found.table.setUsedEnd(this.#found.table.numberOf(plan.pos), plan.pos + plan.bytes);
  }

  #encode(plan: FramePlan, group: RecordGroup, out: Output): void {
    const header = this.#header;
    header.pos = plan.pos;
    header.previousPos = this.#previousPos;
    header.recordCount = plan.recordCount;
    header.payloadBytes = plan.to - plan.from;
    header.batchOffset = plan.from;
    const chunks = this.#encoder.encode(header, group, { plan, giant: out.giant });
    this.#previousPos = plan.pos;
    const number = this.#found.table.numberOf(plan.pos);
    const last = out.writes.at(-1);
    if (last?.number === number) for (const chunk of chunks) last.chunks.push(chunk);
    else out.writes.push({ number, offset: plan.pos - number * this.#found.table.segmentBytes, chunks });
  }

  /** Moves the log's end behind the batch. */
  #noteBatch(plans: readonly FramePlan[]): void {
    const bodies = plans.filter((plan) => !plan.preamble);
    const first = bodies[0];
    const last = bodies.at(-1);
    assert(first !== undefined && last !== undefined, 'a batch is one frame at least');
    const ref = this.#end;
    if (first === last) this.#bodies.remember(ref, payloadStart(first.pos, first.recordCount));
    else this.#found.table.addPieces(ref, bodies.map(pieceOf));
    this.#end = last.pos + last.bytes;
    this.#lastPos = first.pos;
    this.#batchNumber++;
    this.#batches++;
  }

  #updateRoom(bytes: number): void {
    const { segmentBytes } = this.#found.table;
    this.#pool.setUsed(this.#end - this.#pool.current * segmentBytes);
    if (bytes <= this.#largestBatch && bytes > 0) return;
    this.#largestBatch = bytes;
    const slack = Math.min(segmentBytes / 2, Math.max(segmentBytes / 16, bytes));
    this.#pool.setSegmentCost(slack + frameBytes(0, 0));
  }

  /** After `close` nobody is told any more. */
  #fail(error: unknown, doing: string): LogError {
    if (this.#failure !== null) return this.#failure;
    const failure = asLogError(error, `${this.#files.dir}: ${doing}`);
    if (this.#state === 'closed') return failure;
    this.#failure = failure;
    this.#settleDead(failure);
    return failure;
  }
}
