// The log port: one interface, several engines (local segments, memory; replicated ones later). The engine above groups calls into
// batches; a log does not. `shared/spec/log-port.md` and FORMAT.md are normative; its invariants 1 to 9 are the conformance suite's titles.
// A log that failed stays failed: nothing is retried above this line, and there is no `full` error, because `reserve` is asked first.

/** Position of a batch: a safe integer, only order and equality mean something, never reused. */
export type Pos = number;
/** Position of the takeover batch that began a writer's reign. */
export type Epoch = number;
/** Names a batch before it is durable; grows with every batch; comes out the same at replay. */
export type Ref = number;

/** One atomic batch: the records' bytes in order, as chunks, and where each record starts in their concatenation. */
export interface RecordGroup {
  bytes: Uint8Array[];
  /** At least `count` long; ascending; the first is 0 when count > 0. */
  starts: Uint32Array;
  count: number;
}

export interface BatchTime {
  /** Milliseconds of the space's own time: never goes back. */
  space: number;
  /** Milliseconds since the epoch; may go back. */
  wall: number;
}

export type BatchKind = 'data' | 'noop' | 'takeover' | 'preamble';

export interface Batch {
  ref: Ref;
  pos: Pos;
  epoch: Epoch;
  time: BatchTime;
  /** Views that are valid until the next batch is asked for: copy what is kept. */
  records: RecordGroup;
  kind: BatchKind;
}

export interface LogDescription {
  durability: 'disk-local' | 'disk-quorum' | 'memory-quorum' | 'none';
  maxBatchBytes: number;
  /** The most that `setPreamble`'s callback may return; more is TooLarge at the append that opens a segment. */
  maxPreambleBytes: number;
  /** What a record costs beyond its own bytes when it is a batch of its own: reservations that are used one by one add it. */
  recordOverheadBytes: number;
  readFence: 'none' | 'noop';
}

export interface LogStat {
  first: Pos;
  last: Pos;
  /** Bytes the log occupies, prepared segments included. */
  bytes: number;
  limitBytes: number;
  /** What `reserve` could still grant. */
  room: number;
  batches: number;
  engineHealthy: boolean;
}

export type LogErrorKind = 'Fenced' | 'Unavailable' | 'Corrupt' | 'TooLarge';

export class LogError extends Error {
  override name = 'LogError';
  readonly kind: LogErrorKind;
  constructor(kind: LogErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** A complete checkpoint: with the batches after `from` through `to` it gives the state at `to` [log port, 8]. */
export interface SnapshotInfo {
  readonly id: string;
  readonly from: Pos;
  readonly to: Pos;
  readonly bytes: number;
  /** Why nothing is known of it but its name; such a one may not be read. */
  readonly unreadable?: string;
}

export interface SnapshotWriter {
  write(chunk: Uint8Array): Promise<void>;
  /** Puts it in place; rejects unless the log is durable through `to`. What was rejected is still to be aborted. */
  commit(to: Pos): Promise<SnapshotInfo>;
  abort(): Promise<void>;
}

export interface SnapshotStore {
  begin(from: Pos, epoch: Epoch): Promise<SnapshotWriter>;
  /** Complete ones, and those that cannot be read, newest first. */
  list(): Promise<SnapshotInfo[]>;
  /** Checks length and hash at the end; rejects with 'Corrupt'. Views are good until the next chunk is asked for. */
  read(id: string): AsyncIterable<Uint8Array>;
  remove(id: string): Promise<void>;
}

export interface LogStore {
  describe(): LogDescription;
  readonly snapshots: SnapshotStore;
  stat(): LogStat;
  takeover(writerId: string, signal: AbortSignal): Promise<LogWriter>;
  close(): Promise<void>;
}

export interface Appended {
  ref: Ref;
  /** Resolves when the batch would survive a crash; rejects with a LogError when the log died. Resolves in call order. */
  durable: Promise<void>;
}

export interface LogWriter {
  readonly epoch: Epoch;
  /** 32 random bits, chosen when the log was made: the same for its whole life. */
  readonly spaceId: number;
  /** Position of the batch that was appended last. */
  readonly lastPos: Pos;
  /** The ref that the next `append` will return: records encoded before it is called already know their batch. */
  readonly nextRef: Ref;
  /**
   * Batches after `after` (0: all), each as one chunk, ending with the own takeover batch; must be drained before the first append. Once.
   * A 'preamble' comes before the batch that it stands before or in, and has that batch's ref.
   */
  replay(after: Pos): AsyncIterable<Batch>;
  /**
   * Asked whenever a new segment is opened: definitions that make the log from there on readable by itself. Synchronous. Must be
   * set before the first append.
   */
  setPreamble(make: () => RecordGroup): void;
  /** Sets room aside; false: nothing has changed and the caller answers QMENOSPACE, unless `roomComing`. Synchronous. */
  reserve(bytes: number): boolean;
  /** Sets aside what was promised before this start, whether or not there is room; `release` gives it back. */
  reserveAnyway(bytes: number): void;
  release(bytes: number): void;
  /** While more room is being prepared: resolves when asking again makes sense (also if it failed). null: what there is is all. */
  roomComing(): Promise<void> | null;
  /** Called only when the previous append is durable. Never refuses for room. The chunks belong to the log until durable. */
  append(group: RecordGroup, time: BatchTime, kind?: 'data' | 'noop'): Appended;
  /** Bytes of an appended batch that are in memory: a view that the next call or `await` may overwrite, or null: use `read`. */
  cached(ref: Ref, offset: number, length: number): Uint8Array | null;
  /** The same from the store; readable at once after `append`. Offsets count in the concatenation of the batch's records. */
  read(ref: Ref, offset: number, length: number): Promise<Uint8Array>;
  /** Where such bytes are kept, for messages about damage. */
  place(ref: Ref, offset: number): { file: string; offset: number };
  /** Everything before `upTo` is no longer needed. */
  trim(upTo: Pos): Promise<void>;
  /** The unit of trimming (local: the segment) that a batch with this ref begins in; batches leave the log unit by unit. */
  unitOf(ref: Ref): number;
  /** The unit that the log begins with. */
  readonly firstUnit: number;
  readonly unitBytes: number;
  /** Everything before this unit is no longer needed. */
  trimBefore(unit: number): Promise<void>;
  /** How many units, prepared ones included, the log should keep to; it still prepares one when there is none. */
  limitUnits(count: number): void;
  /** Whether so many bytes may be appended that were not reserved, for the sake of trimming: from the segment that is kept back for it. */
  mayRestate(bytes: number): boolean;
  /** Settles once with the reason; afterwards everything rejects. Does not settle on `close`. */
  readonly dead: Promise<LogError>;
  close(): Promise<void>;
}
