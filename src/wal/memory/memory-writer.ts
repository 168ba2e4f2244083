// The in-memory log's writer. It owns nothing: its log does.
// Invariants: one append at a time; a fenced, failed or closed writer changes nothing any more; an abandoned one (a crashed process) also
// says nothing any more. It must not know records.

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
import type { MemoryLog, StoredBatch } from './memory-log.ts';

const NO_RECORDS: RecordGroup = { bytes: [], starts: new Uint32Array(0), count: 0 };
/** As in the local log, so that the same traffic meets the same segment ends. */
const BATCH_OVERHEAD_BYTES = 104;

interface NewBatch {
  readonly group: RecordGroup;
  readonly time: BatchTime;
  readonly kind: BatchKind;
}

export class MemoryWriter implements LogWriter {
  readonly epoch: Epoch;
  readonly spaceId: number;
  readonly dead: Promise<LogError>;
  readonly #log: MemoryLog;
  #settleDead: (error: LogError) => void = () => {};
  #failure: LogError | null = null;
  #state: 'opened' | 'replaying' | 'ready' | 'closed' | 'abandoned' = 'opened';
  #busy = false;
  #makePreamble: (() => RecordGroup) | null = null;

  constructor(log: MemoryLog, writerId: string) {
    this.#log = log;
    this.spaceId = log.spaceId;
    this.dead = new Promise((resolve) => {
      this.#settleDead = resolve;
    });
    const space = log.batches.at(-1)?.time.space ?? 0;
    const name = new TextEncoder().encode(writerId);
    const group = { bytes: [name], starts: new Uint32Array(1), count: 1 };
    this.epoch = this.#store({
      group,
      time: { space, wall: log.options.clock.wallMs() },
      kind: 'takeover',
    }).pos;
    this.#settle(true);
  }

  get lastPos(): Pos {
    return this.#log.lastPos;
  }

  get nextRef(): Ref {
    return this.#log.end;
  }

  get isAlive(): boolean {
    return this.#failure === null;
  }

  async *replay(after: Pos): AsyncGenerator<Batch, void> {
    assert(this.#state === 'opened', 'a log is replayed once');
    this.#state = 'replaying';
    let before: Ref | null = null;
    for (const batch of this.#log.batches.slice()) {
      if (before !== null && batch.follows !== before) throw this.#fail(gap(batch));
      if (batch.kind !== 'preamble') before = batch.ref;
      if (batch.pos <= after && batch.pos !== this.epoch) continue;
      if (batch.pos === this.epoch) this.#state = 'ready';
      yield { ...batch, records: { ...batch.records, bytes: [batch.bytes] } };
      const stopped = this.#whyStopped();
      if (stopped !== null) throw stopped;
    }
  }

  setPreamble(make: () => RecordGroup): void {
    this.#makePreamble = make;
  }

  reserve(bytes: number): boolean {
    if (this.#whyStopped() !== null || bytes > this.#log.room) return false;
    this.#log.reservedBytes += bytes;
    return true;
  }

  reserveAnyway(bytes: number): void {
    this.#log.reservedBytes += bytes;
  }

  release(bytes: number): void {
    this.#log.reservedBytes -= bytes;
    assert(this.#log.reservedBytes >= 0, 'no more is released than was reserved');
  }

  roomComing(): Promise<void> | null {
    return this.#failure === null ? this.#log.roomComing : null;
  }

  append(group: RecordGroup, time: BatchTime, kind: 'data' | 'noop' = 'data'): Appended {
    const log = this.#log;
    const ref = log.end;
    if (this.#state === 'abandoned') return { ref, durable: new Promise(() => {}) };
    const stopped = this.#whyStopped();
    if (stopped !== null) return { ref, durable: rejected(stopped) };
    assert(this.#state === 'ready', 'the log is replayed before it is appended to');
    assert(!this.#busy, 'a batch is appended when the one before it is durable');
    log.appends++;
    const fault = log.faultAt(log.appends, 'append');
    if (fault === 'append-lost') return { ref, durable: rejected(this.#fail(injected('append'))) };
    this.#store({ group, time, kind });
    if (fault === 'append-kept') return { ref, durable: rejected(this.#fail(injected('append'))) };
    this.#busy = true;
    const durable = new Promise<void>((resolve, reject) => {
      log.whenSynced(() => {
        if (this.#state === 'abandoned') return;
        this.#busy = false;
        if (this.#failure === null) this.#settle(true);
        if (this.#failure === null) resolve();
        else reject(this.#failure);
      });
    });
    durable.catch(() => {});
    return { ref, durable };
  }

  unitOf(ref: Ref): number {
    return Math.floor(ref / this.#log.segmentBytes);
  }

  get firstUnit(): number {
    return this.unitOf(this.#log.batches[0]?.pos ?? this.#log.segmentBytes);
  }

  get unitBytes(): number {
    return this.#log.segmentBytes;
  }

  trimBefore(unit: number): Promise<void> {
    return this.trim(unit * this.#log.segmentBytes);
  }

  limitUnits(): void {}

  mayRestate(bytes: number): boolean {
    return bytes <= this.#log.room;
  }

  cached(ref: Ref, offset: number, length: number): Uint8Array | null {
    const batch = this.#whyStopped() === null ? this.#log.byRef.get(ref) : undefined;
    return batch?.bytes.subarray(offset, offset + length) ?? null;
  }

  read(ref: Ref, offset: number, length: number): Promise<Uint8Array> {
    const stopped = this.#whyStopped();
    if (stopped !== null) return rejected(stopped);
    const log = this.#log;
    log.reads++;
    const fault = log.faultAt(log.reads, 'read');
    if (fault === 'read-failed') return rejected(injected('read'));
    try {
      const { bytes } = log.find(ref);
      if (offset + length > bytes.length)
        throw new LogError('Corrupt', `the batch with the ref ${ref} ends before ${offset + length}`);
      const copy = bytes.slice(offset, offset + length);
      if (fault === 'read-damaged') copy[0] = (copy[0] ?? 0) ^ 1;
      return Promise.resolve(copy);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  place(ref: Ref, offset: number): { file: string; offset: number } {
    return { file: `memory ref ${ref}`, offset };
  }

  trim(upTo: Pos): Promise<void> {
    const stopped = this.#whyStopped();
    if (stopped !== null) return rejected(stopped);
    this.#log.trim(upTo);
    return Promise.resolve();
  }

  close(): Promise<void> {
    if (this.#state !== 'abandoned') this.#state = 'closed';
    return Promise.resolve();
  }

  fence(): void {
    this.#fail(new LogError('Fenced', 'another writer took the log over'));
  }

  /** The process that held this writer is gone. */
  abandon(): void {
    this.#state = 'abandoned';
  }

  #whyStopped(): LogError | null {
    if (this.#failure !== null) return this.#failure;
    const gone = this.#state === 'closed' || this.#state === 'abandoned';
    return gone ? new LogError('Unavailable', 'the log is closed') : null;
  }

  #store(batch: NewBatch): StoredBatch {
    const log = this.#log;
    const bytes = joined(batch.group);
    if (bytes.length > log.describe().maxBatchBytes)
      throw new LogError('TooLarge', `a batch of ${bytes.length} bytes`);
    const frame = overhead(batch.group, bytes);
    const ref = log.end;
    let pos = ref;
    if (pos + frame > log.segmentEnd) pos = this.#openSegment(batch, ref);
    const stored = this.#record(batch, { ref, pos, bytes, bare: false });
    if (stored.end > log.segmentEnd) log.segmentEnd = stored.end;
    return stored;
  }

  /** Writes the preamble of the next segment and returns where the batch goes. */
  #openSegment(batch: NewBatch, ref: Ref): Pos {
    const log = this.#log;
    const make = batch.kind === 'takeover' ? null : this.#makePreamble;
    const group = make === null ? NO_RECORDS : make();
    const bytes = joined(group);
    if (bytes.length > log.describe().maxPreambleBytes)
      throw new LogError('TooLarge', `a preamble of ${bytes.length} bytes`);
    const start = Math.ceil(ref / log.segmentBytes) * log.segmentBytes;
    log.segmentEnd = start + log.segmentBytes;
    const place = { ref, pos: start, bytes, bare: make === null };
    return this.#record({ ...batch, group, kind: 'preamble' }, place).end;
  }

  #record(batch: NewBatch, place: { ref: Ref; pos: Pos; bytes: Uint8Array; bare: boolean }): StoredBatch {
    const { group, time, kind } = batch;
    const { ref, pos, bytes, bare } = place;
    const records = { bytes: [bytes], starts: group.starts.slice(0, group.count), count: group.count };
    const end = pos + overhead(group, bytes);
    // A takeover's preamble is written before the epoch is known; it has the epoch that follows.
    const epoch = this.epoch ?? (kind === 'takeover' ? pos : end);
    const follows = this.#log.batches.findLast((one) => one.kind !== 'preamble')?.ref ?? 0;
    const state = { follows, bare, durable: false };
    const stored = { ref, pos, end, epoch, time: { ...time }, records, kind, bytes, ...state };
    this.#log.add(stored);
    return stored;
  }

  #settle(durable: boolean): void {
    for (let i = this.#log.batches.length - 1; i >= 0; i--) {
      const batch = this.#log.batches[i];
      if (batch === undefined || batch.durable) return;
      batch.durable = durable;
    }
  }

  #fail(error: LogError): LogError {
    if (this.#failure !== null) return this.#failure;
    this.#failure = error;
    if (this.#state !== 'abandoned') this.#settleDead(error);
    return error;
  }
}

function overhead(group: RecordGroup, bytes: Uint8Array): number {
  return Math.ceil((BATCH_OVERHEAD_BYTES + 4 * group.count + bytes.length) / 8) * 8;
}

function joined(group: RecordGroup): Uint8Array {
  const bytes = new Uint8Array(group.bytes.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of group.bytes) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

function gap({ ref, follows }: StoredBatch): LogError {
  return new LogError('Corrupt', `damage: the batch with the ref ${follows}, before ${ref}, is missing`);
}

function injected(what: string): LogError {
  return new LogError('Unavailable', `injected: the ${what} failed`);
}

function rejected<T>(error: LogError): Promise<T> {
  const promise = Promise.reject<T>(error);
  promise.catch(() => {});
  return promise;
}
