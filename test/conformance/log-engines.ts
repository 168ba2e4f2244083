// The log engines as the suites see them, and what the suites do with a log.

import { expect, onTestFinished } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import type { Batch, LogStore, LogWriter, RecordGroup } from '../../src/wal/log-store.ts';
import { nodeFileIo } from '../../src/wal/local/file-io.ts';
import type { FileIo } from '../../src/wal/local/file-io.ts';
import { openLocalLog } from '../../src/wal/local/local-log.ts';
import { PageCache } from '../../src/wal/local/page-cache.ts';
import { SyncStrategy } from '../../src/wal/local/sync-strategy.ts';
import type { SyncSetting } from '../../src/wal/local/sync-strategy.ts';
import { openMemoryLog } from '../../src/wal/memory/memory-log.ts';
import type { MemoryFault } from '../../src/wal/memory/memory-log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

export const SEGMENT = 64 * 1024;
const SILENT = { info: (): void => {}, warn: (): void => {}, error: (): void => {} };
export const ALWAYS: AbortSignal = new AbortController().signal;

/** One engine under test: a log that can be opened again as after a crash, and told to fail its nth append. */
export interface Engine {
  open(): Promise<LogStore>;
  failAppend(at: number): void;
  /** Spoils a batch where it is kept. */
  damage(batch: Kept): void;
}

export function localEngine(sync: SyncSetting): Engine {
  const dir = `${tempDir()}/space`;
  let process = new FileProcess();
  let failing = Infinity;
  return {
    open: async () => {
      await process.end();
      process = new FileProcess();
      process.failWrite = failing;
      failing = Infinity;
      const clock = new ManualClock();
      const log = await openLocalLog({
        dir,
        clock,
        ulog: SILENT,
        segmentBytes: SEGMENT,
        io: process.io,
        sync: new SyncStrategy(sync, clock),
        pages: new PageCache(2 * 1024 * 1024),
        limitBytes: 200 * SEGMENT,
      });
      onTestFinished(() => log.close());
      return log;
    },
    // The first write in the call is the takeover's.
    failAppend: (at) => {
      process.failWrite = 1 + at;
    },
    damage: ({ pos }) => {
      const name = Math.floor(pos / SEGMENT)
        .toString(16)
        .padStart(12, '0');
      const fd = nodeFileIo.open(`${dir}/${name}.log`, 'write');
      nodeFileIo.pwriteSync(fd, Buffer.from('spoilt'), (pos % SEGMENT) + 110);
      nodeFileIo.close(fd);
    },
  };
}

/** The files as one process sees them: once it is ended it cannot touch them any more. */
class FileProcess {
  failWrite = Infinity;
  #writes = 0;
  #ended = false;
  #running = 0;
  #idle: () => void = () => {};

  readonly io: FileIo = {
    ...nodeFileIo,
    open: (path, mode) => this.#sync(() => nodeFileIo.open(path, mode)),
    pwriteSync: (fd, bytes, position) => this.#write(() => nodeFileIo.pwriteSync(fd, bytes, position)),
    writevSync: (fd, chunks, position) => this.#write(() => nodeFileIo.writevSync(fd, chunks, position)),
    fdatasyncSync: (fd) => this.#sync(() => nodeFileIo.fdatasyncSync(fd)),
    pread: (fd, into, position) => this.#async(() => nodeFileIo.pread(fd, into, position)),
    pwrite: (fd, bytes, position) => this.#async(() => nodeFileIo.pwrite(fd, bytes, position)),
    fdatasync: (fd) => this.#async(() => nodeFileIo.fdatasync(fd)),
    fsyncDir: (path) => this.#async(() => nodeFileIo.fsyncDir(path)),
    rename: (from, to) => this.#async(() => nodeFileIo.rename(from, to)),
    unlink: (path) => this.#async(() => nodeFileIo.unlink(path)),
  };

  async end(): Promise<void> {
    this.#ended = true;
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  #write(run: () => number): number {
    this.#writes++;
    if (this.#writes === this.failWrite) throw Object.assign(new Error('EIO: injected'), { code: 'EIO' });
    return this.#sync(run);
  }

  #sync<T>(run: () => T): T {
    if (this.#ended) throw new Error('this process has ended');
    return run();
  }

  async #async<T>(run: () => Promise<T>): Promise<T> {
    if (this.#ended) throw new Error('this process has ended');
    this.#running++;
    try {
      return await run();
    } finally {
      this.#running--;
      if (this.#running === 0) this.#idle();
    }
  }
}

export function memoryEngine(inline: boolean): Engine {
  const faults: MemoryFault[] = [];
  const roomBytes = 200 * SEGMENT;
  const log = openMemoryLog({ clock: new ManualClock(), segmentBytes: SEGMENT, faults, inline, roomBytes });
  return {
    open: () => {
      log.crash(true);
      return Promise.resolve(log);
    },
    failAppend: (at) => {
      faults.push({ at, effect: 'append-lost' });
    },
    damage: ({ pos }) => {
      log.batches = log.batches.filter((batch) => batch.pos !== pos);
    },
  };
}

export const ENGINES: readonly [string, () => Engine][] = [
  ['local segments, inline', () => localEngine('inline')],
  ['local segments, worker', () => localEngine('worker')],
  ['local segments, auto', () => localEngine('auto')],
  ['memory', () => memoryEngine(false)],
  ['memory, inline', () => memoryEngine(true)],
];

export interface Kept {
  ref: number;
  pos: number;
  epoch: number;
  kind: Batch['kind'];
  space: number;
  wall: number;
  bytes: string;
  starts: number[];
}

export function keep(batch: Batch): Kept {
  const { ref, pos, epoch, kind, time, records } = batch;
  expect(records.bytes.length).toBe(1);
  const bytes = Buffer.concat(records.bytes).toString('latin1');
  return {
    ref,
    pos,
    epoch,
    kind,
    space: time.space,
    wall: time.wall,
    bytes,
    starts: [...records.starts.subarray(0, records.count)],
  };
}

export async function start(
  store: LogStore,
  after = 0,
): Promise<{ writer: LogWriter; batches: Kept[]; data: Kept[] }> {
  const writer = await store.takeover('suite', ALWAYS);
  writer.setPreamble(() => group('preamble'));
  const batches: Kept[] = [];
  for await (const batch of writer.replay(after)) batches.push(keep(batch));
  return { writer, batches, data: batches.filter((batch) => batch.kind === 'data') };
}

export function group(...records: string[]): RecordGroup {
  const chunks = records.map((record) => Buffer.from(record, 'latin1'));
  const starts = new Uint32Array(Math.max(1, records.length));
  let at = 0;
  for (const [i, chunk] of chunks.entries()) {
    starts[i] = at;
    at += chunk.length;
  }
  return { bytes: chunks, starts, count: records.length };
}

export const AT = { space: 1, wall: 2 };

export async function appendMany(writer: LogWriter, sizes: readonly number[]): Promise<number[]> {
  const refs: number[] = [];
  for (const [i, bytes] of sizes.entries()) {
    const { ref, durable } = writer.append(group(filled(i, bytes)), { space: i, wall: 1000 - i });
    refs.push(ref);
    await durable;
  }
  return refs;
}

export function filled(index: number, bytes: number): string {
  return Buffer.from(new Prng(index + 1).bytes(bytes)).toString('latin1');
}

export const SIZES = [10, 20_000, 30_000, 40_000, 1, 65_000, 66_000, 200_000, 12, 65_300];

export async function settles(promise: Promise<void>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  );
}
