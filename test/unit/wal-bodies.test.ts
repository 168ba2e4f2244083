// Bodies of all sizes, through the pages and past them, now and after a restart, in logs of many segments.

import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { FaultyFileIo, MemoryDisk } from '../fault/faulty-file-io.ts';
import { Ledger, SEGMENT } from '../fault/ledger.ts';
import type { OpenOptions } from '../fault/ledger.ts';

describe('bodies', () => {
  const CASES: [string, OpenOptions][] = [
    ['through the pages', { cacheBytes: 64 * 1024 * 1024 }],
    ['few pages', { cacheBytes: 1024 * 1024 }],
    ['from where they are', { cacheBytes: 0 }],
    ['large segments, through the pages', { segmentBytes: 1024 * 1024, cacheBytes: 64 * 1024 * 1024 }],
    ['large segments, from where they are', { segmentBytes: 1024 * 1024, cacheBytes: 512 * 1024 }],
  ];
  test.each(CASES)('%s', async (_name, options) => {
    for (const sync of ['inline', 'worker'] as const) {
      const prng = new Prng(17);
      const disk = new MemoryDisk();
      const ledger = new Ledger();
      for (let life = 0; life < 3; life++) {
        const { log, writer } = await ledger.reopen(new FaultyFileIo(disk), { ...options, sync });
        for (let i = 0; i < 40; i++) {
          await ledger.append(writer, prng.oneIn(3) ? prng.between(50_000, 600_000) : prng.between(4, 9000));
          await ledger.readBack(writer, ledger.entries.length - 1);
          await ledger.readBack(writer, prng.below(ledger.entries.length));
        }
        await log.close();
      }
    }
  });

  test('in more segments than are kept open', async () => {
    const disk = new MemoryDisk();
    const ledger = new Ledger();
    const first = await ledger.reopen(new FaultyFileIo(disk));
    for (let i = 0; i < 100; i++) await ledger.append(first.writer, 60_000);
    await first.log.close();
    const io = new FaultyFileIo(disk);
    const { log, writer } = await ledger.reopen(io);
    const prng = new Prng(4);
    const reads = Array.from({ length: 200 }, () => ledger.readBack(writer, prng.below(100)));
    await Promise.all(reads);
    expect(io.openFiles).toBeLessThanOrEqual(64);
    const [entry] = ledger.entries;
    expect(writer.place(entry?.ref ?? 0, 5)).toEqual({
      file: '/device/space/000000000001.log',
      offset: expect.any(Number),
    });
    expect(writer.place(2 ** 40, 5)).toEqual({ file: '/device/space', offset: 0 });
    await log.close();
    expect(io.openFiles).toBe(0);
    expect(log.stat().bytes % SEGMENT).toBe(0);
  });
});
