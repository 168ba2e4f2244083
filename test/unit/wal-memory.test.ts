// The in-memory log's own means: faults on order, syncs held back, crashes, room.

import { expect, test } from 'vitest';
import { AssertionError } from '../../src/base/assert.ts';
import type { LogWriter, RecordGroup } from '../../src/wal/log-store.ts';
import { openMemoryLog } from '../../src/wal/memory/memory-log.ts';
import type { MemoryFault, MemoryLog } from '../../src/wal/memory/memory-log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const AT = { space: 1, wall: 1 };

function group(text: string): RecordGroup {
  return { bytes: [Buffer.from(text)], starts: new Uint32Array(1), count: 1 };
}

async function start(log: MemoryLog): Promise<{ writer: LogWriter; data: string[] }> {
  const writer = await log.takeover('memory', new AbortController().signal);
  writer.setPreamble(() => group('definitions'));
  const data: string[] = [];
  for await (const batch of writer.replay(0)) {
    if (batch.kind === 'data') data.push(Buffer.concat(batch.records.bytes).toString());
  }
  return { writer, data };
}

function open(faults: MemoryFault[] = []): MemoryLog {
  return openMemoryLog({ clock: new ManualClock(), faults });
}

test('a crash loses what was not durable, or keeps it; the old promises never settle', async () => {
  for (const keepInFlight of [false, true]) {
    const log = open();
    const { writer } = await start(log);
    await writer.append(group('one'), AT).durable;
    log.holdSyncs();
    const { durable } = writer.append(group('two'), AT);
    log.crash(keepInFlight);
    log.releaseSyncs();
    const { data } = await start(log);
    expect(data).toEqual(keepInFlight ? ['one', 'two'] : ['one']);
    expect(
      await Promise.race([
        durable.then(() => 'durable'),
        new Promise((resolve) => setImmediate(resolve, 'silent')),
      ]),
    ).toBe('silent');
    expect(writer.cached(writer.epoch, 0, 1)).toBeNull();
    expect(await Promise.race([writer.append(group('three'), AT).durable, Promise.resolve('silent')])).toBe(
      'silent',
    );
    await writer.close();
  }
});

test('syncs that are held back', async () => {
  const log = open();
  const { writer } = await start(log);
  log.holdSyncs();
  let durable = false;
  const { durable: promise } = writer.append(group('one'), AT);
  void promise.then(() => {
    durable = true;
  });
  await new Promise(setImmediate);
  expect(durable).toBe(false);
  expect(() => writer.append(group('two'), AT)).toThrow(AssertionError);
  log.releaseSyncs();
  await promise;
  log.holdSyncs();
  const { durable: fenced } = writer.append(group('two'), AT);
  const { data } = await start(log);
  await expect(fenced).rejects.toMatchObject({ kind: 'Fenced' });
  expect(data).toEqual(['one', 'two']);
});

test('an append that fails is lost or kept', async () => {
  for (const effect of ['append-lost', 'append-kept'] as const) {
    const log = open([{ at: 2, effect }]);
    const { writer } = await start(log);
    await writer.append(group('one'), AT).durable;
    await expect(writer.append(group('two'), AT).durable).rejects.toThrow('injected');
    await expect(writer.dead).resolves.toMatchObject({ kind: 'Unavailable' });
    expect(log.stat().engineHealthy).toBe(false);
    expect((await start(log)).data).toEqual(effect === 'append-kept' ? ['one', 'two'] : ['one']);
  }
});

test('a read that fails, and one that is damaged', async () => {
  const log = open([
    { at: 1, effect: 'read-failed' },
    { at: 2, effect: 'read-damaged' },
  ]);
  const { writer } = await start(log);
  const { ref, durable } = writer.append(group('abc'), AT);
  await durable;
  await expect(writer.read(ref, 0, 3)).rejects.toThrow('injected');
  expect(Buffer.from(await writer.read(ref, 0, 3)).toString()).toBe('`bc');
  expect(Buffer.from(await writer.read(ref, 1, 2)).toString()).toBe('bc');
  await expect(writer.read(ref, 0, 4)).rejects.toMatchObject({ kind: 'Corrupt' });
  expect(writer.place(ref, 1)).toEqual({ file: `memory ref ${ref}`, offset: 1 });
});

test('room that runs out, and room that is coming', async () => {
  const log = openMemoryLog({ clock: new ManualClock(), roomBytes: 1000, spaceId: 7 });
  const { writer } = await start(log);
  expect(writer.spaceId).toBe(7);
  expect(writer.reserve(900)).toBe(true);
  expect(writer.reserve(200)).toBe(false);
  expect(writer.roomComing()).toBeNull();
  log.announceRoom();
  const coming = writer.roomComing();
  expect(coming).not.toBeNull();
  log.addRoom(500);
  await coming;
  expect(writer.reserve(200)).toBe(true);
  writer.release(1100);
  expect(() => writer.release(1)).toThrow(AssertionError);
  await log.close();
});
