// The journal of one space: the open batch, group commit, room, and what waits for a batch. While one batch is being written and synced the
// next collects; when it returns, all that is pending goes at once; an idle journal commits at the end of the loop's turn. No timers.
// Invariant: what is held for batch n leaves after batch n is durable, in order, or is told that the log died.
import { assert } from '../base/assert.ts';
import { Histogram } from '../base/histogram.ts';
import type { LogError, LogWriter, Pos } from '../wal/log-store.ts';
import { RecordBuffer } from './record-buffer.ts';
import type { BatchNumber, Held } from './request.ts';
import type { SpaceClock } from './space-clock.ts';

/** Long work waits for the log when this much of the open batch is there: nobody's answer is to wait for much more than its own. */
const AHEAD_BYTES = 256 * 1024;

/** Bounds of what is shown: records of a batch, and seconds until it was durable. */
const BATCH_RECORDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16_384];
const SYNC_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

/** Runs something once at the end of the loop's turn. */
export type Soon = (run: () => void) => void;

export class Journal {
  /** Records of the open batch. Whoever adds some calls `changed`. */
  records = new RecordBuffer();
  /** Names the open batch in the log. */
  ref: number;
  /** Records of batches with lower names are durable. */
  private durableBelow: number;
  /** The open batch's number; everything before `batch` was appended. */
  batch: BatchNumber = 1;
  durable: BatchNumber = 0;
  /** Position of the last batch that is durable. */
  durablePos: Pos;
  recordsAppended = 0;
  bytesAppended = 0;
  readonly batchRecords = new Histogram(BATCH_RECORDS);
  readonly syncSeconds = new Histogram(SYNC_SECONDS);
  /** Space time at which the batch in flight was handed to the log. */
  private appendedMs = 0;
  /** Set when the log died; everything is refused from then on. */
  failure: LogError | null = null;
  onFailure: (error: LogError) => void = () => {};
  /** Told the size of each batch as it is appended. */
  onAppended: (bytes: number) => void = () => {};
  private readonly writer: LogWriter;
  private readonly time: SpaceClock;
  private readonly soon: Soon;
  private spare = new RecordBuffer();
  private held: Held[] = [];
  private heldInFlight: Held[] = [];
  private inFlight = false;
  private scheduled = false;
  private keptOpen = false;
  /** Reservations that end when the open batch is appended. */
  private reservedForBatch = 0;
  private whenCommitted: (() => void)[] = [];

  constructor(writer: LogWriter, time: SpaceClock, soon: Soon) {
    this.writer = writer;
    this.time = time;
    this.soon = soon;
    this.ref = writer.nextRef;
    this.durableBelow = this.ref;
    this.durablePos = writer.lastPos;
    void writer.dead.then((error) => this.fail(error));
  }

  /** A batch is being written. */
  get isBusy(): boolean {
    return this.inFlight;
  }

  reserve(bytes: number): boolean {
    return this.failure === null && this.writer.reserve(bytes);
  }
  /** The same for a record of a few bytes that cannot wait: while more room is being prepared it is taken in advance. */
  reserveSmall(bytes: number): boolean {
    if (this.reserve(bytes)) return true;
    if (this.failure !== null || this.writer.roomComing() === null) return false;
    this.writer.reserveAnyway(bytes);
    return true;
  }
  /** What was promised before, whether or not there is room. */
  reserveAnyway(bytes: number): void {
    this.writer.reserveAnyway(bytes);
  }
  release(bytes: number): void {
    this.writer.release(bytes);
  }
  roomComing(): Promise<void> | null {
    return this.writer.roomComing();
  }

  /** A record was added that `reserved` bytes had been set aside for. */
  changed(reserved: number): void {
    this.reservedForBatch += reserved;
    if (!this.inFlight) this.schedule();
  }

  /** While a batch is in flight: resolves when the open one has taken its place, or the log died. null: nothing is in flight. */
  committed(): Promise<void> | null {
    if (!this.inFlight || this.failure !== null) return null;
    return new Promise((resolve) => this.whenCommitted.push(resolve));
  }

  /** For long work: what its next slice waits for when it is ahead of the log; null: nothing. */
  pace(): Promise<void> | null {
    return this.records.length > AHEAD_BYTES ? this.committed() : null;
  }

  /** Position of the batch before the open one. */
  get lastPos(): Pos {
    return this.writer.lastPos;
  }

  /** Whether the open batch stays open: more records are to be one with those in it. */
  keepOpen(open: boolean): void {
    this.keptOpen = open;
    if (!open && !this.inFlight && this.records.count > 0) this.schedule();
  }

  /** Resolves when all that was decided so far is durable, or the log died. */
  async settled(): Promise<void> {
    this.commit();
    while (this.failure === null && (this.inFlight || this.records.count > 0)) {
      await new Promise<void>((resolve) => this.whenCommitted.push(resolve));
    }
  }

  /** Lets `held` go once `batch` is durable: at once when it already is. */
  hold(batch: BatchNumber, held: Held): void {
    if (this.failure !== null) held.failed();
    else if (batch <= this.durable) held.released();
    else if (batch === this.batch && this.records.count > 0) this.held.push(held);
    // The open batch is empty: whatever was decided needed no record, and only what is in flight is left to wait for.
    else if (this.inFlight) this.heldInFlight.push(held);
    else held.released();
  }

  /** Bytes of a record that are in memory (a view: copy what is kept), or null: `read` fetches them. */
  cached(ref: number, offset: number, length: number): Uint8Array | null {
    if (ref === this.ref) return this.records.slice(offset, length);
    return this.writer.cached(ref, offset, length);
  }
  read(ref: number, offset: number, length: number): Promise<Uint8Array> {
    return this.writer.read(ref, offset, length);
  }

  /** Whether a record is durable. */
  isDurable(ref: number): boolean {
    return ref < this.durableBelow;
  }

  /** Where a record lies on disk, for messages about damage. */
  place(ref: number, offset: number): { file: string; offset: number } {
    return this.writer.place(ref, offset);
  }

  /** Appends the clock pair as a batch of its own if nothing else is under way [DESIGN 4, Time]. */
  logClock(): void {
    if (this.failure !== null || this.inFlight || this.records.count > 0) return;
    this.append('noop');
  }

  /** Commits what is open, logs the clock pair, closes the log. */
  async close(): Promise<void> {
    await this.settled();
    this.logClock();
    await this.settled();
    await this.writer.close();
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    this.soon(() => {
      this.scheduled = false;
      this.commit();
    });
  }

  private commit(): void {
    if (this.failure !== null || this.inFlight || this.keptOpen || this.records.count === 0) return;
    this.append('data');
  }

  private append(kind: 'data' | 'noop'): void {
    const { records, held, batch } = this;
    this.records = this.spare;
    this.spare = records;
    this.held = this.heldInFlight;
    this.heldInFlight = held;
    this.batch++;
    this.inFlight = true;
    this.writer.release(this.reservedForBatch);
    this.reservedForBatch = 0;
    this.recordsAppended += records.count;
    this.bytesAppended += records.length;
    this.batchRecords.observe(records.count);
    const stamp = this.time.stamp();
    this.appendedMs = stamp.space;
    const { durable } = this.writer.append(records.group(), stamp, kind);
    this.ref = this.writer.nextRef;
    const pos = this.writer.lastPos;
    durable.then(
      () => this.onDurable(batch, pos),
      (error: LogError) => this.fail(error),
    );
    this.onAppended(records.length);
  }

  private onDurable(batch: BatchNumber, pos: Pos): void {
    if (this.failure !== null) return;
    assert(batch === this.durable + 1, 'a batch became durable out of turn', batch);
    this.durable = batch;
    this.durablePos = pos;
    this.durableBelow = this.ref;
    this.inFlight = false;
    this.syncSeconds.observe((this.time.nowMs() - this.appendedMs) / 1000);
    this.spare.clear();
    const { heldInFlight } = this;
    this.heldInFlight = [];
    for (const held of heldInFlight) held.released();
    // At the end of the turn: an inline sync would hold up the answers that were just released.
    if (this.records.count > 0) this.schedule();
    this.wake();
  }

  private fail(error: LogError): void {
    if (this.failure !== null) return;
    this.failure = error;
    const waiting = [...this.heldInFlight, ...this.held];
    this.heldInFlight = [];
    this.held = [];
    for (const held of waiting) held.failed();
    this.onFailure(error);
    this.wake();
  }

  private wake(): void {
    const waiting = this.whenCommitted;
    this.whenCommitted = [];
    for (const resolve of waiting) resolve();
  }
}
