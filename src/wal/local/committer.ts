// Write and sync of one batch as one step: in the call, or with the sync on a worker thread, or when its segments are ready at last.
// Invariants: one step at a time; bytes are written before the step returns unless a segment has to be waited for; an error is reported once
// and never retried. It must not know frames or what the bytes mean.

import { assert } from '../../base/assert.ts';
import { LogError } from '../log-store.ts';
import type { Pos } from '../log-store.ts';
import type { BodyReader } from './body-reader.ts';
import { writeFullySync } from './file-io.ts';
import type { SegmentPool } from './segment-pool.ts';
import type { SegmentFiles } from './segment.ts';
import type { SyncStrategy } from './sync-strategy.ts';

/** Chunks that stand one behind the other in one segment. */
export interface SegmentWrite {
  readonly number: number;
  readonly offset: number;
  readonly chunks: Uint8Array[];
}

export interface CommitStep {
  readonly writes: readonly SegmentWrite[];
  readonly bytes: number;
  /** The log's end behind the batch. */
  readonly end: Pos;
  readonly mayInline: boolean;
}

export interface CommitterOptions {
  readonly files: SegmentFiles;
  readonly pool: SegmentPool;
  readonly bodies: BodyReader;
  readonly sync: SyncStrategy;
  /** Throws when the writer is dead. */
  readonly check: () => void;
  /** Declares the writer dead and returns what its promises reject with. */
  readonly fail: (error: unknown) => LogError;
  readonly onDurable: () => void;
}

const DURABLE = Promise.resolve();

export class Committer {
  readonly #options: CommitterOptions;
  readonly #log: number;
  /** The step that is not known to be durable. */
  #inFlight: Promise<void> | null = null;

  constructor(options: CommitterOptions) {
    this.#options = options;
    this.#log = options.sync.join();
  }

  get busy(): boolean {
    return this.#inFlight !== null;
  }

  /** Resolves when no step is under way. */
  async idle(): Promise<void> {
    await this.#inFlight?.catch(() => {});
  }

  commit(step: CommitStep): Promise<void> {
    assert(this.#inFlight === null, 'a batch is appended when the one before it is durable');
    const { pool, files, sync, fail, onDurable } = this.#options;
    const ahead = (step.writes.at(-1)?.number ?? 0) - pool.current;
    if (ahead > pool.readyCount) return this.#track(this.#commitWhenReady(step, ahead));
    if (ahead > 0) pool.keep(ahead);
    const inline = step.mayInline && sync.chooseInline(this.#log, step.bytes);
    const startedAt = sync.now();
    try {
      this.#write(step);
      if (!inline) return this.#track(this.#syncOffLoop(step, startedAt));
      for (const { number } of step.writes) files.io.fdatasyncSync(files.fd(number));
    } catch (error) {
      return rejected(fail(error));
    }
    sync.measured(true, startedAt);
    onDurable();
    return DURABLE;
  }

  #write(step: CommitStep): void {
    const { pool, files, bodies } = this.#options;
    for (const { number, offset, chunks } of step.writes) {
      if (number > pool.current) pool.enter();
      assert(number <= pool.current, 'a segment is entered before it is written');
      writeFullySync({ io: files.io, fd: files.fd(number) }, chunks, offset);
    }
    bodies.setWritten(step.end);
  }

  #track(commit: Promise<void>): Promise<void> {
    const { check, fail, onDurable } = this.#options;
    const tracked = commit.then(
      () => {
        this.#inFlight = null;
        check();
        onDurable();
      },
      (error: unknown) => {
        this.#inFlight = null;
        throw fail(error);
      },
    );
    tracked.catch(() => {});
    this.#inFlight = tracked;
    return tracked;
  }

  async #syncOffLoop(step: CommitStep, startedAt: number): Promise<void> {
    const { files, sync } = this.#options;
    for (const { number } of step.writes) files.pin(number);
    sync.started();
    try {
      await Promise.all(step.writes.map(({ number }) => files.io.fdatasync(files.fd(number))));
    } finally {
      sync.finished();
      for (const { number } of step.writes) files.unpin(number);
    }
    sync.measured(false, startedAt);
  }

  /** The rare case: the pool is behind. The pages may be used otherwise meanwhile, so the bytes are copied. */
  async #commitWhenReady(step: CommitStep, ahead: number): Promise<void> {
    const { pool, bodies, check, sync } = this.#options;
    const writes = step.writes.map((write) => ({
      ...write,
      chunks: write.chunks.map((chunk) => Buffer.from(chunk)),
    }));
    const copied = { ...step, writes };
    const ready = pool.whenReady(ahead);
    bodies.setWriting(ready);
    const isReady = await ready;
    bodies.setWriting(null);
    check();
    if (!isReady) throw new LogError('Unavailable', 'the log was closed while a batch waited for room');
    this.#write(copied);
    await this.#syncOffLoop(copied, sync.now());
  }
}

/** A rejection that nobody has to look at. */
export function rejected<T>(error: LogError): Promise<T> {
  const promise = Promise.reject<T>(error);
  promise.catch(() => {});
  return promise;
}
