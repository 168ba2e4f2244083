// Power cuts at random: whatever was acknowledged is there afterwards, in order, once, and what is there is a prefix.

import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { FaultyFileIo, MemoryDisk } from './faulty-file-io.ts';
import { Ledger } from './ledger.ts';
import type { Opened } from './ledger.ts';

const RUNS = 300;
const SEED = Number(process.env['WAL_SEED'] ?? 20261130);

/** A batch size that meets all cases: tiny, around a segment's end, several segments. */
function batchBytes(prng: Prng): number {
  const kind = prng.below(10);
  if (kind < 5) return prng.between(4, 600);
  if (kind < 8) return prng.between(1000, 20_000);
  if (kind < 9) return prng.between(60_000, 66_000);
  return prng.between(66_000, 200_000);
}

interface RunOptions {
  readonly lyingSync?: boolean;
}

/** Several lives of a log, each ended by a kill or a power cut in the middle of an append, a trim or nothing. */
async function run(seed: number, options: RunOptions = {}): Promise<number> {
  const prng = new Prng(seed);
  const disk = new MemoryDisk();
  const ledger = new Ledger();
  const sync = prng.oneIn(2) ? 'inline' : 'worker';
  // With a small cache all but small batches are written from where they are, not through the pages.
  const cacheBytes = prng.oneIn(2) ? 2 * 1024 * 1024 : 128 * 1024;
  for (let life = 0; life < 4; life++) {
    const io = new FaultyFileIo(disk);
    io.lyingSync = options.lyingSync ?? false;
    // Dies at some call: everything from there on fails, as for a process that is gone.
    const lastCall = prng.oneIn(5) ? prng.between(1, 60) : prng.between(20, 400);
    io.faults = ({ n }) => (n > lastCall ? 'EIO' : null);
    await live(io, ledger, { prng, sync, cacheBytes });
    if (!prng.oneIn(4)) disk.crash(prng);
  }
  const io = new FaultyFileIo(disk);
  const { log, writer } = await ledger.reopen(io, { sync, cacheBytes });
  for (let i = ledger.trimmed; i < ledger.entries.length; i++) await ledger.readBack(writer, i);
  await ledger.append(writer, 100);
  await log.close();
  expect(io.openFiles).toBe(0);
  return ledger.entries.length;
}

async function live(
  io: FaultyFileIo,
  ledger: Ledger,
  how: { prng: Prng; sync: 'inline' | 'worker'; cacheBytes: number },
): Promise<void> {
  const { prng, sync, cacheBytes } = how;
  let opened: Opened | null = null;
  try {
    opened = await ledger.reopen(io, { sync, cacheBytes });
    const { writer } = opened;
    for (let i = 0; i < 60; i++) {
      await ledger.append(writer, batchBytes(prng));
      if (prng.oneIn(6) && ledger.entries.length > 0) {
        const trim = ledger.trim(writer, prng.between(ledger.trimmed, ledger.entries.length - 1));
        if (prng.oneIn(2)) await trim;
        else trim.catch(() => {});
      }
      if (prng.oneIn(4))
        await ledger.readBack(writer, prng.between(ledger.trimmed, ledger.entries.length - 1));
    }
  } catch (error) {
    if (!(error instanceof Error) || !/injected/.test(error.message)) throw error;
  }
  // The dead process' promises are left alone; only its descriptors go.
  await opened?.log.close().catch(() => {});
}

describe('power cuts', () => {
  test(`${RUNS} random runs, seed ${SEED}: what is acknowledged stays`, async () => {
    let batches = 0;
    for (let i = 0; i < RUNS; i++) {
      try {
        batches += await run(SEED + i);
      } catch (error) {
        throw new Error(`seed ${SEED + i}`, { cause: error });
      }
    }
    expect(batches).toBeGreaterThan(RUNS);
  });

  test('a segment that a killed process had named but not synced is not entered before its name is durable', async () => {
    let cases = 0;
    for (let seed = 1; seed <= 30; seed++) {
      const disk = new MemoryDisk();
      const ledger = new Ledger();
      const killed = new FaultyFileIo(disk);
      // Dies between the renaming of the second segment and the sync of the directory.
      let renames = 0;
      killed.faults = ({ name }) => {
        if (name === 'rename') renames++;
        return renames >= 2 && name !== 'rename' ? 'EIO' : null;
      };
      const first = await ledger.reopen(killed).catch(() => null);
      await new Promise(setImmediate);
      await first?.log.close();
      cases += disk.files().filter((path) => path.endsWith('.log')).length === 2 ? 1 : 0;
      const io = new FaultyFileIo(disk);
      io.faults = ({ creates }) => (creates ? 'ENOSPC' : null);
      const second = await ledger.reopen(io);
      await ledger.append(second.writer, 40_000);
      await ledger.append(second.writer, 40_000);
      await second.log.close();
      disk.crash(new Prng(seed));
      const third = await ledger.reopen(new FaultyFileIo(disk));
      expect(third.batches).toBe(2);
      await third.log.close();
    }
    expect(cases).toBe(30);
  });

  test('negative control: a log that acknowledges before the sync is found out', async () => {
    let failures = 0;
    for (let i = 0; i < 20; i++) {
      await run(SEED + i, { lyingSync: true }).catch(() => {
        failures++;
      });
    }
    expect(failures).toBeGreaterThan(5);
  });
});
