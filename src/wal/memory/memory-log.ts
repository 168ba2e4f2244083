// The log port in memory: for tests and simulations. It can be told to fail, to hold syncs back, and to be crashed and taken over again.
// Invariants: the same as every log's, except that nothing survives the process; positions and refs grow as in the local log, and preambles
// come where the local log would open a segment. It must not know records.

import { assert } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import { LogError } from '../log-store.ts';
import type { Batch, LogDescription, LogStat, LogStore, Pos, Ref } from '../log-store.ts';
import { MemorySnapshots } from './memory-snapshots.ts';
import { MemoryWriter } from './memory-writer.ts';

/** What goes wrong, and when: appends and reads are counted from 1 over the life of the log. */
export interface MemoryFault {
  readonly at: number;
  /**
   * `append-lost`: the writer dies, the batch is not in the log; `append-kept`: it dies, but the batch is there after the next takeover;
   * `read-failed`: that read rejects, nothing else happens; `read-damaged`: it yields a flipped bit.
   */
  readonly effect: 'append-lost' | 'append-kept' | 'read-failed' | 'read-damaged';
}

export interface MemoryLogOptions {
  readonly clock: Clock;
  readonly spaceId?: number;
  /** A preamble is written whenever so many bytes have gone by. Default 1 MiB. */
  readonly segmentBytes?: number;
  /** Bytes that batches and reservations may take. Default: no limit. */
  readonly roomBytes?: number;
  readonly faults?: readonly MemoryFault[];
  /** Resolve `durable` before `append` returns, as the local log does when it syncs inline. Default false. */
  readonly inline?: boolean;
}

export interface StoredBatch extends Batch {
  readonly bytes: Uint8Array;
  readonly end: Pos;
  /** Ref of the batch before it; 0: it is the first. */
  readonly follows: Ref;
  durable: boolean;
  /** A preamble before the engine could say its definitions. */
  readonly bare: boolean;
}

const SEGMENT_BYTES = 1024 * 1024;
const MEMORY_BATCH_BYTES_MAX = 1024 * 1024 * 1024;

export function openMemoryLog(options: MemoryLogOptions): MemoryLog {
  return new MemoryLog(options);
}

class Announcement {
  resolve: () => void = () => {};
  readonly promise = new Promise<void>((resolve) => {
    this.resolve = resolve;
  });
}

export class MemoryLog implements LogStore {
  readonly options: MemoryLogOptions;
  readonly segmentBytes: number;
  readonly spaceId: number;
  /** In order; the log's content. */
  batches: StoredBatch[] = [];
  readonly byRef = new Map<Ref, StoredBatch>();
  readonly snapshots = new MemorySnapshots({
    durablePos: () => this.batches.findLast((batch) => batch.durable && batch.kind !== 'preamble')?.pos ?? 0,
    epoch: () => this.#writer?.epoch ?? 0,
  });
  end: Pos;
  segmentEnd: Pos;
  usedBytes = 0;
  reservedBytes = 0;
  appends = 0;
  reads = 0;
  #roomBytes: number;
  #roomPromise: Announcement | null = null;
  #held = false;
  #waiting: (() => void)[] = [];
  #writer: MemoryWriter | null = null;

  constructor(options: MemoryLogOptions) {
    this.options = options;
    this.segmentBytes = options.segmentBytes ?? SEGMENT_BYTES;
    this.spaceId = options.spaceId ?? 1;
    this.end = this.segmentBytes;
    this.segmentEnd = this.segmentBytes;
    this.#roomBytes = options.roomBytes ?? Number.MAX_SAFE_INTEGER;
  }

  describe(): LogDescription {
    return {
      durability: 'none',
      maxBatchBytes: MEMORY_BATCH_BYTES_MAX,
      maxPreambleBytes: this.segmentBytes / 4,
      recordOverheadBytes: 0,
      readFence: 'none',
    };
  }

  stat(): LogStat {
    return {
      first: this.batches[0]?.pos ?? 0,
      last: this.lastPos,
      bytes: this.usedBytes,
      limitBytes: this.#roomBytes,
      room: Math.max(0, this.room),
      batches: this.batches.filter((batch) => batch.kind !== 'preamble').length,
      engineHealthy: this.#writer?.isAlive ?? true,
    };
  }

  takeover(writerId: string, signal: AbortSignal): Promise<MemoryWriter> {
    try {
      signal.throwIfAborted();
    } catch (error) {
      return Promise.reject(error);
    }
    this.#writer?.fence();
    const waiting = this.#waiting;
    this.#settleInFlight(true);
    for (const run of waiting) run();
    this.reservedBytes = 0;
    this.#writer = new MemoryWriter(this, writerId);
    return Promise.resolve(this.#writer);
  }

  close(): Promise<void> {
    return this.#writer?.close() ?? Promise.resolve();
  }

  get lastPos(): Pos {
    return this.batches.findLast((batch) => batch.kind !== 'preamble')?.pos ?? 0;
  }

  /** The process is gone: what was not durable is lost, or kept when `keepInFlight`. Its promises never settle. */
  crash(keepInFlight = false): void {
    this.#writer?.abandon();
    this.#writer = null;
    this.#settleInFlight(keepInFlight);
  }

  /** From now on `durable` waits for `releaseSyncs`. */
  holdSyncs(): void {
    this.#held = true;
  }

  releaseSyncs(): void {
    this.#held = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const run of waiting) run();
  }

  /** Runs when the batch that was appended last may be called durable. */
  whenSynced(run: () => void): void {
    if (this.#held) this.#waiting.push(run);
    else if (this.options.inline === true) run();
    else queueMicrotask(run);
  }

  get room(): number {
    return this.#roomBytes - this.usedBytes - this.reservedBytes;
  }

  /** Until `addRoom`, a refused reservation is told that room is coming. */
  announceRoom(): void {
    assert(this.#roomPromise === null, 'room is announced once');
    this.#roomPromise = new Announcement();
  }

  /** Negative takes room away. */
  addRoom(bytes: number): void {
    this.#roomBytes += bytes;
    this.#roomPromise?.resolve();
    this.#roomPromise = null;
  }

  get roomComing(): Promise<void> | null {
    return this.#roomPromise?.promise ?? null;
  }

  faultAt(at: number, prefix: 'append' | 'read'): MemoryFault['effect'] | null {
    const fault = this.options.faults?.find((one) => one.at === at && one.effect.startsWith(prefix));
    return fault?.effect ?? null;
  }

  add(batch: StoredBatch): void {
    this.batches.push(batch);
    if (batch.kind !== 'preamble') this.byRef.set(batch.ref, batch);
    this.end = batch.end;
    this.usedBytes += batch.bytes.length;
  }

  /** Drops batches from the front, up to the last preamble that is complete. */
  trim(upTo: Pos): void {
    const keep = this.batches.findLastIndex(
      (batch) => batch.kind === 'preamble' && !batch.bare && batch.pos <= upTo,
    );
    for (const batch of this.batches.splice(0, Math.max(0, keep))) this.#forget(batch);
  }

  find(ref: Ref): StoredBatch {
    const batch = this.byRef.get(ref);
    if (batch === undefined) throw new LogError('Corrupt', `no batch has the ref ${ref}`);
    return batch;
  }

  #settleInFlight(keep: boolean): void {
    this.#waiting = [];
    while (this.batches.at(-1)?.durable === false) {
      const last = this.batches.at(-1);
      assert(last !== undefined, 'there was a last batch a moment ago');
      if (keep) {
        for (const batch of this.batches) batch.durable = true;
        return;
      }
      this.batches.pop();
      this.#forget(last);
    }
  }

  #forget(batch: StoredBatch): void {
    this.byRef.delete(batch.ref);
    this.usedBytes -= batch.bytes.length;
  }
}
