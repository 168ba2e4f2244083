// One suite for every log engine: the invariants of the port by their numbers (7 and 8: log-takeover.test.ts), and what the port says about
// each call.

import { describe, expect, test } from 'vitest';
import { AssertionError } from '../../src/base/assert.ts';
import { LogError } from '../../src/wal/log-store.ts';
import type { LogStore, LogWriter } from '../../src/wal/log-store.ts';
import {
  ALWAYS,
  appendMany,
  AT,
  ENGINES,
  filled,
  group,
  SEGMENT,
  settles,
  SIZES,
  start,
} from './log-engines.ts';
import type { Kept } from './log-engines.ts';

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

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}
