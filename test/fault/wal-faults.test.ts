// Every call of a log's life fails once, in every way: afterwards the log, opened again on a sound disk, holds exactly a prefix of what was
// appended with everything that was acknowledged, and no promise is left dangling.

import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { LogError } from '../../src/wal/log-store.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { FaultyFileIo, MemoryDisk } from './faulty-file-io.ts';
import type { FaultKind } from './faulty-file-io.ts';
import { Ledger } from './ledger.ts';
import type { Opened, OpenOptions } from './ledger.ts';

const SIZES = [200, 30_000, 40_000, 8, 150_000, 500, 65_000, 70_000, 12, 9000, 100];

/** Two lives with appends of all kinds, trims and reads; the fault is somewhere in the second. Returns how many calls that one made. */
async function life(ledger: Ledger, how: { io: FaultyFileIo; options: OpenOptions }): Promise<void> {
  const { io, options } = how;
  let opened: Opened | null = null;
  try {
    opened = await ledger.reopen(io, options);
    const { writer, clock } = opened;
    for (const [step, bytes] of SIZES.entries()) {
      await withTime(clock, ledger.append(writer, bytes));
      if (step % 4 === 3) await ledger.trim(writer, ledger.entries.length - 3);
      await ledger.readBack(writer, ledger.entries.length - 1);
    }
  } catch (error) {
    expect(error).toBeInstanceOf(LogError);
  } finally {
    await opened?.log.close();
  }
}

/** Lets time go by until the promise settles: a full disk is tried again by the clock. */
async function withTime(clock: ManualClock, promise: Promise<void>): Promise<void> {
  const progress = { settled: false };
  const settle = (): void => {
    progress.settled = true;
  };
  promise.then(settle, settle);
  while (!progress.settled) {
    clock.advance(6000);
    await new Promise(setImmediate);
  }
  await promise;
}

async function firstLife(): Promise<{ disk: MemoryDisk; entries: Ledger['entries'] }> {
  const disk = new MemoryDisk();
  const ledger = new Ledger();
  await life(ledger, { io: new FaultyFileIo(disk), options: {} });
  return { disk, entries: ledger.entries };
}

function ledgerOf(entries: Ledger['entries']): Ledger {
  const ledger = new Ledger();
  ledger.entries = entries.slice();
  ledger.acknowledged = entries.length;
  ledger.trimmed = entries.length - 3;
  return ledger;
}

const KINDS: readonly FaultKind[] = ['EIO', 'ENOSPC', 'EMFILE', 'short', 'stuck'];

describe.each(['inline', 'worker'] as const)('each call fails once, sync %s', (sync) => {
  test.each(KINDS)('%s', async (kind) => {
    const first = await firstLife();
    const options: OpenOptions = { sync };
    const sound = new FaultyFileIo(first.disk.clone());
    await life(ledgerOf(first.entries), { io: sound, options });
    expect(sound.calls).toBeGreaterThan(60);
    for (let n = 1; n <= sound.calls; n++) {
      const disk = first.disk.clone();
      const ledger = ledgerOf(first.entries);
      const io = new FaultyFileIo(disk);
      io.faults = (call) => (call.n === n ? kind : null);
      try {
        await life(ledger, { io, options });
        expect(io.openFiles).toBe(0);
        if (n % 2 === 0) disk.crash(new Prng(n));
        const again = new FaultyFileIo(disk);
        const { log, writer } = await ledger.reopen(again, options);
        for (let i = ledger.trimmed; i < ledger.entries.length; i++) await ledger.readBack(writer, i);
        await log.close();
      } catch (error) {
        throw new Error(`call ${n}, ${io.log[n - 1]}`, { cause: error });
      }
    }
  });
});

describe('a new log', () => {
  test.each(KINDS)('each call of its birth fails once: %s', async (kind) => {
    for (let n = 1; n <= 40; n++) {
      const disk = new MemoryDisk();
      const ledger = new Ledger();
      const io = new FaultyFileIo(disk);
      io.faults = (call) => (call.n === n ? kind : null);
      await life(ledger, { io, options: {} });
      if (n % 2 === 0) disk.crash(new Prng(n));
      const { log, writer } = await ledger.reopen(new FaultyFileIo(disk));
      await ledger.append(writer, 100);
      await log.close();
    }
  });
});

describe('out of descriptors', () => {
  test('no segment goes before the name of the first one is durable', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const disk = new MemoryDisk();
      const ledger = new Ledger();
      const io = new FaultyFileIo(disk);
      const { log, writer } = await ledger.reopen(io);
      for (let i = 0; i < 6; i++) await ledger.append(writer, 40_000);
      for (let coming = writer.roomComing(); coming !== null; coming = writer.roomComing()) await coming;
      // Once the marker has its new name the folder cannot be opened to sync it.
      let isMarked = false;
      io.faults = ({ name, path }) => {
        isMarked ||= name === 'rename' && path.endsWith('.first');
        return isMarked && name === 'fsyncDir' ? 'EMFILE' : null;
      };
      await ledger.trim(writer, 5);
      // Entering a segment is an occasion to let old ones go.
      await ledger.append(writer, 40_000);
      await new Promise(setImmediate);
      expect(isMarked).toBe(true);
      disk.crash(new Prng(seed), 'torn');
      await log.close();
      const again = await ledger.reopen(new FaultyFileIo(disk));
      await again.log.close();
    }
  });

  test('how many there are open does not grow with the segments, in use or at a start', async () => {
    const disk = new MemoryDisk();
    const ledger = new Ledger();
    let most = 0;
    for (let start = 0; start < 2; start++) {
      const io = new FaultyFileIo(disk);
      const { log, writer } = await ledger.reopen(io);
      most = Math.max(most, io.openFiles);
      for (let i = 0; i < 100; i++) {
        await ledger.append(writer, 60_000);
        most = Math.max(most, io.openFiles);
      }
      for (let i = 0; i < ledger.entries.length; i += 3) await ledger.readBack(writer, i);
      most = Math.max(most, io.openFiles);
      await log.close();
    }
    expect(disk.files().length).toBeGreaterThan(190);
    expect(most).toBeLessThan(75);
  });

  test('a segment is opened at the expense of one that is idle', async () => {
    const disk = new MemoryDisk();
    const ledger = new Ledger();
    const io = new FaultyFileIo(disk);
    const { log, writer } = await ledger.reopen(io);
    for (let i = 0; i < 10; i++) await ledger.append(writer, 40_000);
    const most = io.openFiles;
    io.faults = ({ name }) => (name === 'open' && io.openFiles >= most ? 'EMFILE' : null);
    for (let i = 0; i < 40; i++) await ledger.append(writer, 40_000);
    for (let i = 0; i < 50; i += 7) await ledger.readBack(writer, i);
    expect(io.openFiles).toBeLessThanOrEqual(most);
    await log.close();
  });
});

describe('a dead log', () => {
  test('a write error is not retried, and everything rejects from then on', async () => {
    const disk = new MemoryDisk();
    const ledger = new Ledger();
    const io = new FaultyFileIo(disk);
    const { log, writer } = await ledger.reopen(io);
    await ledger.append(writer, 100);
    io.faults = (call) => (call.name === 'fdatasync' ? 'EIO' : null);
    const { durable } = writer.append(groupOf('lost'), { space: 1, wall: 1 });
    await expect(durable).rejects.toMatchObject({ name: 'LogError', kind: 'Unavailable' });
    io.faults = () => null;
    const calls = io.calls;
    await expect(writer.dead).resolves.toMatchObject({
      kind: 'Unavailable',
      message: expect.stringContaining('EIO'),
    });
    expect(writer.reserve(1)).toBe(false);
    expect(writer.roomComing()).toBeNull();
    await expect(writer.append(groupOf('x'), { space: 1, wall: 1 }).durable).rejects.toBeInstanceOf(LogError);
    expect(writer.cached(writer.epoch, 0, 1)).toBeNull();
    await expect(writer.read(writer.epoch, 0, 1)).rejects.toBeInstanceOf(LogError);
    await expect(writer.trim(writer.epoch)).rejects.toBeInstanceOf(LogError);
    expect(log.stat().engineHealthy).toBe(false);
    expect(io.calls).toBe(calls);
    await log.close();
  });

  test('after a failed sync and a restart, what the restart saw survives a power cut', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const disk = new MemoryDisk();
      const ledger = new Ledger();
      const io = new FaultyFileIo(disk);
      const first = await ledger.reopen(io);
      for (let i = 0; i < 3; i++) await ledger.append(first.writer, 3000);
      io.faults = (call) => (call.name === 'fdatasync' ? 'EIO' : null);
      await expect(ledger.append(first.writer, 3000)).rejects.toBeInstanceOf(LogError);
      await first.log.close();
      // The process starts again on the same page cache: it sees the batch, so it must never vanish.
      const second = await ledger.reopen(new FaultyFileIo(disk));
      expect(second.batches).toBe(4);
      await second.log.close();
      disk.crash(new Prng(seed));
      const third = await ledger.reopen(new FaultyFileIo(disk));
      expect(third.batches).toBe(4);
      await third.log.close();
    }
  });

  test('a read that ends early at a start is an error, never the log’s end', async () => {
    const disk = new MemoryDisk();
    const ledger = new Ledger();
    const first = await ledger.reopen(new FaultyFileIo(disk));
    // The last segment holds one batch: without it the log would look whole.
    for (const bytes of [300, 40_000, 40_000]) await ledger.append(first.writer, bytes);
    await first.log.close();
    for (let n = 1; n <= 40; n++) {
      const io = new FaultyFileIo(disk);
      io.faults = (call) => (call.n === n && call.name === 'pread' ? 'stuck' : null);
      const opened = await ledger.reopen(io).catch((error: unknown) => error);
      if (opened instanceof Error) expect(opened).toMatchObject({ name: 'LogError', kind: 'Unavailable' });
      else await (opened as Opened).log.close();
    }
    const last = await ledger.reopen(new FaultyFileIo(disk));
    expect(last.batches).toBe(3);
    await last.log.close();
  });

  test('a failed read harms nothing else', async () => {
    const disk = new MemoryDisk();
    const ledger = new Ledger();
    const first = await ledger.reopen(new FaultyFileIo(disk));
    for (let i = 0; i < 40; i++) await ledger.append(first.writer, 20_000);
    await first.log.close();
    const io = new FaultyFileIo(disk);
    const { log, writer } = await ledger.reopen(io);
    io.faults = (call) => (call.name === 'pread' ? 'EIO' : null);
    const [entry] = ledger.entries;
    const failed = await writer.read(entry?.ref ?? 0, 0, 20_000).catch((error: unknown) => error);
    expect(failed).toMatchObject({
      kind: 'Unavailable',
      message: expect.stringMatching(/000000000001\.log: .* offset \d+/),
    });
    io.faults = () => null;
    await ledger.readBack(writer, 0);
    await ledger.append(writer, 100);
    await log.close();
  });
});

function groupOf(text: string): { bytes: Uint8Array[]; starts: Uint32Array; count: number } {
  return { bytes: [Buffer.from(text)], starts: new Uint32Array(1), count: 1 };
}
