// One suite for every log engine: the invariants of the port by their numbers, and what the port says about each call.

import { describe, expect, onTestFinished, test } from 'vitest';
import { AssertionError } from '../../src/base/assert.ts';
import { Prng } from '../../src/base/prng.ts';
import { LogError } from '../../src/wal/log-store.ts';
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

const SEGMENT = 64 * 1024;
const SILENT = { info: (): void => {}, warn: (): void => {}, error: (): void => {} };
const ALWAYS = new AbortController().signal;

/** One engine under test: a log that can be opened again as after a crash, and told to fail its nth append. */
interface Engine {
  open(): Promise<LogStore>;
  failAppend(at: number): void;
}

function localEngine(sync: SyncSetting): Engine {
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

function memoryEngine(inline: boolean): Engine {
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
  };
}

const ENGINES: readonly [string, () => Engine][] = [
  ['local segments, inline', () => localEngine('inline')],
  ['local segments, worker', () => localEngine('worker')],
  ['local segments, auto', () => localEngine('auto')],
  ['memory', () => memoryEngine(false)],
  ['memory, inline', () => memoryEngine(true)],
];

interface Kept {
  ref: number;
  pos: number;
  epoch: number;
  kind: Batch['kind'];
  space: number;
  wall: number;
  bytes: string;
  starts: number[];
}

function keep(batch: Batch): Kept {
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

async function start(
  store: LogStore,
  after = 0,
): Promise<{ writer: LogWriter; batches: Kept[]; data: Kept[] }> {
  const writer = await store.takeover('suite', ALWAYS);
  writer.setPreamble(() => group('preamble'));
  const batches: Kept[] = [];
  for await (const batch of writer.replay(after)) batches.push(keep(batch));
  return { writer, batches, data: batches.filter((batch) => batch.kind === 'data') };
}

function group(...records: string[]): RecordGroup {
  const chunks = records.map((record) => Buffer.from(record, 'latin1'));
  const starts = new Uint32Array(Math.max(1, records.length));
  let at = 0;
  for (const [i, chunk] of chunks.entries()) {
    starts[i] = at;
    at += chunk.length;
  }
  return { bytes: chunks, starts, count: records.length };
}

const AT = { space: 1, wall: 2 };

async function appendMany(writer: LogWriter, sizes: readonly number[]): Promise<number[]> {
  const refs: number[] = [];
  for (const [i, bytes] of sizes.entries()) {
    const { ref, durable } = writer.append(group(filled(i, bytes)), { space: i, wall: 1000 - i });
    refs.push(ref);
    await durable;
  }
  return refs;
}

function filled(index: number, bytes: number): string {
  return Buffer.from(new Prng(index + 1).bytes(bytes)).toString('latin1');
}

const SIZES = [10, 20_000, 30_000, 40_000, 1, 65_000, 66_000, 200_000, 12, 65_300];

describe.each(ENGINES)('%s', (name, makeEngine) => {
  test('1. Durable then visible: what was acknowledged is there after a crash', async () => {
    const engine = makeEngine();
    const { writer } = await start(await engine.open());
    for (let i = 0; i < 20; i++) {
      await writer.append(group(`record ${i}`), AT).durable;
      if (i % 5 !== 4) continue;
      const { data } = await start(await engine.open());
      expect(data.map((batch) => batch.bytes)).toEqual(
        Array.from({ length: i + 1 }, (_, n) => `record ${n}`),
      );
      // The writer above is taken for dead from here on.
      break;
    }
  });

  test('2. Prefix: durable resolves in call order; once one fails all later ones fail', async () => {
    const engine = makeEngine();
    const { writer } = await start(await engine.open());
    engine.failAppend(3);
    const outcomes: boolean[] = [];
    for (let i = 1; i <= 5; i++)
      outcomes.push(await settles(writer.append(group(`record ${i}`), AT).durable));
    expect(outcomes).toEqual([true, true, false, false, false]);
    const { data } = await start(await engine.open());
    expect(data.map((batch) => batch.bytes).slice(0, 2)).toEqual(['record 1', 'record 2']);
    expect(data.length).toBeLessThanOrEqual(3);
  });

  test('3. One writer: after a takeover nothing of an earlier epoch follows', async () => {
    const engine = makeEngine();
    const store = await engine.open();
    const { writer: old } = await start(store);
    await old.append(group('old'), AT).durable;
    const { writer, data } = await start(store);
    expect(data.map((batch) => batch.bytes)).toEqual(['old']);
    await expect(old.append(group('zombie'), AT).durable).rejects.toMatchObject({ kind: 'Fenced' });
    await expect(old.dead).resolves.toMatchObject({ kind: 'Fenced' });
    await writer.append(group('new'), AT).durable;
    const { batches } = await start(await engine.open());
    expect(batches.map((batch) => batch.bytes)).not.toContain('zombie');
    let epoch = 0;
    for (const batch of batches) {
      expect(batch.epoch).toBeGreaterThanOrEqual(epoch);
      if (batch.kind === 'takeover') expect(batch.epoch).toBe(batch.pos);
      epoch = batch.epoch;
    }
  });

  test('4. Determinism: times, records and their starts come back as they were, every time', async () => {
    const engine = makeEngine();
    const { writer } = await start(await engine.open());
    const times = [
      { space: 0, wall: 0 },
      { space: Number.MAX_SAFE_INTEGER, wall: Number.MAX_SAFE_INTEGER - 1 },
      { space: Number.MAX_SAFE_INTEGER, wall: -5 },
    ];
    for (const time of times) await writer.append(group('a', '', 'bcd', 'e'), time).durable;
    const first = await start(await engine.open());
    const second = await start(await engine.open());
    expect(first.data.map(({ space, wall }) => ({ space, wall }))).toEqual(times);
    for (const batch of first.data) expect(batch).toMatchObject({ bytes: 'abcde', starts: [0, 1, 1, 4] });
    expect(second.batches.slice(0, first.batches.length)).toEqual(first.batches);
  });

  test('5. No unknown outcomes: after a failure the writer is dead, and the log decides once', async () => {
    const engine = makeEngine();
    const { writer } = await start(await engine.open());
    await writer.append(group('sure'), AT).durable;
    engine.failAppend(2);
    await expect(writer.append(group('lost'), AT).durable).rejects.toBeInstanceOf(LogError);
    await expect(writer.dead).resolves.toBeInstanceOf(LogError);
    expect(writer.reserve(1)).toBe(false);
    expect(writer.roomComing()).toBeNull();
    expect(writer.cached(writer.nextRef, 0, 1)).toBeNull();
    await expect(writer.read(writer.epoch, 0, 1)).rejects.toBeInstanceOf(LogError);
    await expect(writer.trim(writer.epoch)).rejects.toBeInstanceOf(LogError);
    const first = await start(await engine.open());
    const second = await start(await engine.open());
    expect(second.data).toEqual(first.data);
  });

  test('6. Identical retry: a failed append is not sent again', async () => {
    const engine = makeEngine();
    const { writer } = await start(await engine.open());
    engine.failAppend(1);
    await expect(writer.append(group('once'), AT).durable).rejects.toBeInstanceOf(LogError);
    await expect(writer.append(group('again'), AT).durable).rejects.toBeInstanceOf(LogError);
    const { data } = await start(await engine.open());
    expect(data.map((batch) => batch.bytes)).not.toContain('again');
    expect(data.length).toBeLessThanOrEqual(1);
  });

  test('9. Positions and refs are opaque: they grow, are never reused, and come out the same at replay', async () => {
    const engine = makeEngine();
    const seen: Kept[] = [];
    for (let life = 0; life < 3; life++) {
      const { writer, batches } = await start(await engine.open());
      const known = batches.filter((batch) =>
        seen.some((one) => one.ref === batch.ref && one.kind === batch.kind),
      );
      expect(known).toEqual(seen.filter((one) => one.ref >= (batches[0]?.ref ?? 0)));
      let ref = 0;
      let pos = 0;
      for (const batch of batches) {
        if (batch.kind !== 'preamble') expect(batch.ref).toBeGreaterThan(ref);
        expect(batch.pos).toBeGreaterThanOrEqual(pos);
        expect(Number.isSafeInteger(batch.ref) && Number.isSafeInteger(batch.pos) && batch.pos > 0).toBe(
          true,
        );
        if (batch.kind !== 'preamble') ref = batch.ref;
        pos = batch.pos;
      }
      const refs = await appendMany(writer, SIZES);
      expect(Math.min(...refs)).toBeGreaterThan(ref);
      expect(refs.toSorted((a, b) => a - b)).toEqual(refs);
      await writer.trim(refs[2] ?? 0);
      seen.splice(0, seen.length, ...(await start(await engine.open())).batches);
    }
  });

  test('the next ref is known while the batch before it is in flight', async () => {
    const { writer } = await start(await makeEngine().open());
    for (const [i, bytes] of SIZES.entries()) {
      const expected = writer.nextRef;
      const { ref, durable } = writer.append(group(filled(i, bytes)), AT);
      expect(ref).toBe(expected);
      expect(writer.nextRef).toBeGreaterThan(ref);
      await durable;
    }
  });

  test('bytes are readable at once, later, and after a restart', async () => {
    const engine = makeEngine();
    const { writer } = await start(await engine.open());
    const refs: number[] = [];
    for (const [i, bytes] of SIZES.entries()) {
      const text = filled(i, bytes);
      const { ref, durable } = writer.append(group(text.slice(0, 5), text.slice(5)), AT);
      refs.push(ref);
      expect(latin1(await writer.read(ref, 0, bytes))).toBe(text);
      const view = writer.cached(ref, bytes - 1, 1);
      if (view !== null) expect(latin1(view)).toBe(text.slice(-1));
      await durable;
    }
    const check = async (reader: LogWriter): Promise<void> => {
      for (const [i, bytes] of SIZES.entries()) {
        const from = Math.floor(bytes / 3);
        expect(latin1(await reader.read(refs[i] ?? 0, from, bytes - from))).toBe(
          filled(i, bytes).slice(from),
        );
        expect((await reader.read(refs[i] ?? 0, from, 0)).length).toBe(0);
        expect(reader.place(refs[i] ?? 0, from).file).not.toBe('');
      }
    };
    await check(writer);
    await check((await start(await engine.open())).writer);
  });

  test('what read returns is the caller’s own', async () => {
    const { writer } = await start(await makeEngine().open());
    const [ref = 0] = await appendMany(writer, [1000]);
    const one = await writer.read(ref, 0, 1000);
    one.fill(0);
    expect(latin1(await writer.read(ref, 0, 1000))).toBe(filled(0, 1000));
  });

  test('a ref that the log does not hold is refused', async () => {
    const { writer } = await start(await makeEngine().open());
    await expect(writer.read(writer.nextRef + 8, 0, 1)).rejects.toMatchObject({ kind: 'Corrupt' });
    expect(writer.cached(writer.nextRef + 8, 0, 1)).toBeNull();
  });

  test('replay ends with the own takeover; a preamble comes before its batch, also before a large one', async () => {
    const engine = makeEngine();
    const { writer, batches } = await start(await engine.open());
    expect(batches.at(-1)).toMatchObject({ kind: 'takeover', pos: writer.epoch, epoch: writer.epoch });
    await appendMany(writer, SIZES);
    const again = await start(await engine.open());
    expect(again.batches.at(-1)).toMatchObject({ kind: 'takeover', pos: again.writer.epoch });
    expect(again.data.map((batch) => batch.bytes)).toEqual(SIZES.map((bytes, i) => filled(i, bytes)));
    const preambles = again.batches.filter((batch) => batch.kind === 'preamble');
    expect(preambles.length).toBeGreaterThan(4);
    for (const preamble of preambles) {
      const index = again.batches.indexOf(preamble);
      const next = again.batches.slice(index).find((batch) => batch.kind !== 'preamble');
      expect(preamble.ref).toBe(next?.ref);
      // A takeover is written before the engine can say its definitions.
      expect(preamble.bytes).toBe(next?.kind === 'takeover' ? '' : 'preamble');
    }
  });

  test('replay after a position', async () => {
    const engine = makeEngine();
    const { writer } = await start(await engine.open());
    await appendMany(writer, SIZES);
    const all = await start(await engine.open());
    for (const from of all.data) {
      const { data, batches } = await start(await engine.open(), from.pos);
      expect(data).toEqual(all.data.filter((batch) => batch.pos > from.pos));
      expect(batches.at(-1)?.kind).toBe('takeover');
    }
    const { data } = await start(await engine.open(), all.writer.epoch);
    expect(data).toEqual([]);
  });

  test('noop batches and empty groups', async () => {
    const engine = makeEngine();
    const { writer } = await start(await engine.open());
    await writer.append(group(), AT, 'noop').durable;
    await writer.append(group(), AT).durable;
    const { batches } = await start(await engine.open());
    expect(batches.filter((batch) => batch.kind === 'noop')).toMatchObject([{ bytes: '', starts: [] }]);
    expect(batches.filter((batch) => batch.kind === 'data')).toMatchObject([{ bytes: '', starts: [] }]);
  });

  test('the log lets go of a group once it is durable', async () => {
    const engine = makeEngine();
    const { writer } = await start(await engine.open());
    const bytes = Buffer.from('before');
    const starts = new Uint32Array(1);
    await writer.append({ bytes: [bytes], starts, count: 1 }, AT).durable;
    bytes.fill('x');
    starts[0] = 3;
    const { data } = await start(await engine.open());
    expect(data).toMatchObject([{ bytes: 'before', starts: [0] }]);
  });

  test('trim: what is needed stays, what went leaves room', async () => {
    const engine = makeEngine();
    const store = await engine.open();
    const { writer } = await start(store);
    const refs = await appendMany(writer, [...SIZES, ...SIZES, ...SIZES]);
    const before = store.stat();
    const kept = refs[20] ?? 0;
    await writer.trim(kept);
    const after = store.stat();
    expect(after.bytes).toBeLessThan(before.bytes);
    expect(after.first).toBeGreaterThan(before.first);
    expect(latin1(await writer.read(kept, 0, 10))).toBe(filled(20, 10));
    await expect(writer.read(refs[0] ?? 0, 0, 1)).rejects.toMatchObject({ kind: 'Corrupt' });
    const { batches, data, writer: next } = await start(await engine.open());
    expect(batches[0]).toMatchObject({ kind: 'preamble', bytes: 'preamble' });
    const index = data.findIndex((batch) => batch.ref === kept);
    expect(index).toBeGreaterThanOrEqual(0);
    expect(data.slice(index).map((batch) => batch.ref)).toEqual(refs.slice(20));
    expect(latin1(await next.read(kept, 0, 10))).toBe(filled(20, 10));
    await next.trim(0);
    await next.trim(next.nextRef);
    expect(
      (await start(await engine.open())).batches.filter((batch) => batch.pos === next.epoch).length,
    ).toBe(1);
  });

  test('reserve and release: what was refused has changed nothing', async () => {
    const store = await makeEngine().open();
    const { writer } = await start(store);
    for (let coming = writer.roomComing(); coming !== null; coming = writer.roomComing()) await coming;
    const { room } = store.stat();
    expect(room).toBeGreaterThan(0);
    expect(writer.reserve(room)).toBe(true);
    expect(store.stat().room).toBe(0);
    expect(writer.reserve(200 * SEGMENT)).toBe(false);
    writer.release(room);
    expect(store.stat().room).toBeGreaterThanOrEqual(room);
    writer.reserveAnyway(400 * SEGMENT);
    expect(writer.reserve(1)).toBe(false);
    writer.release(400 * SEGMENT);
    expect(writer.reserve(1)).toBe(true);
  });

  test('stat and describe', async () => {
    const store = await makeEngine().open();
    expect(store.describe()).toMatchObject({ readFence: 'none', maxBatchBytes: 1024 * 1024 * 1024 });
    const { writer } = await start(store);
    const { pos } = await last(store, writer);
    expect(store.stat()).toMatchObject({
      last: pos,
      batches: 1,
      engineHealthy: true,
      limitBytes: 200 * SEGMENT,
    });
    expect(writer.spaceId).toBeGreaterThanOrEqual(0);
  });

  test('what may not be done', async () => {
    const engine = makeEngine();
    const store = await engine.open();
    const aborted = AbortSignal.abort(new Error('stopped'));
    await expect(store.takeover('suite', aborted)).rejects.toThrow('stopped');
    const writer = await store.takeover('suite', ALWAYS);
    expect(() => writer.append(group('x'), AT)).toThrow(AssertionError);
    for await (const batch of writer.replay(0)) expect(batch.kind).toMatch(/takeover|preamble/);
    await expect(drain(writer)).rejects.toThrow(AssertionError);
    writer.setPreamble(() => group('x'.repeat(SEGMENT)));
    const ref = writer.nextRef;
    await writer.append(group('y'.repeat(50_000)), AT).durable;
    expect(() => writer.append(group('y'.repeat(50_000)), AT)).toThrow(
      expect.objectContaining({ kind: 'TooLarge' }),
    );
    expect(latin1(await writer.read(ref, 0, 1))).toBe('y');
    const { durable } = writer.append(group('z'), AT);
    if (!/worker|memory$/.test(name)) await durable;
    else expect(() => writer.append(group('z'), AT)).toThrow(AssertionError);
    await durable;
  });

  test('close: everything rejects, dead does not settle, closing twice is fine', async () => {
    const store = await makeEngine().open();
    const { writer } = await start(store);
    const { durable } = writer.append(group('last'), AT);
    await Promise.all([durable, store.close()]);
    await writer.close();
    await expect(writer.append(group('late'), AT).durable).rejects.toBeInstanceOf(LogError);
    await expect(writer.read(writer.epoch, 0, 1)).rejects.toBeInstanceOf(LogError);
    await expect(writer.trim(1)).rejects.toBeInstanceOf(LogError);
    expect(writer.reserve(1)).toBe(false);
    const state = await Promise.race([writer.dead, Promise.resolve('alive')]);
    expect(state).toBe('alive');
  });
});

async function drain(writer: LogWriter): Promise<void> {
  for await (const batch of writer.replay(0)) expect(batch).toBeDefined();
}

async function last(store: LogStore, writer: LogWriter): Promise<{ pos: number }> {
  for (let coming = writer.roomComing(); coming !== null; coming = writer.roomComing()) await coming;
  expect(store.stat().last).toBe(writer.epoch);
  return { pos: writer.epoch };
}

async function settles(promise: Promise<void>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  );
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}
