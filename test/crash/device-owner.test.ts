// One daemon a device [field case C51]: a second one is refused at once and says who holds it, by whatever path it comes; a kill leaves the
// device free, whatever pid its lock file names.
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { QSPACE, TestDaemon } from '../support/daemon.ts';
import { tempDir } from '../support/temp-dir.ts';

/** The issue says two seconds; a machine under other load gets some more. */
const REFUSED_WITHIN_MS = 6000;
const QUEUES = ['Q'];

async function expectRefused(second: TestDaemon, holder: TestDaemon): Promise<void> {
  const startedAt = performance.now();
  second.launch();
  const exit = await second.ended(REFUSED_WITHIN_MS);
  console.log(`a second daemon was refused after ${Math.round(performance.now() - startedAt)} ms`);
  expect(exit).toEqual({ code: 1, signal: null });
  const line = second.stderr.split('\n').find((text) => text.startsWith('tmqueue: '));
  expect(line, second.stderr).toContain('in use by another process');
  expect(line).toContain(`(pid ${holder.pid})`);
  expect(line).toContain('data');
}

async function expectServes(daemon: TestDaemon, text: string): Promise<void> {
  const context = await daemon.connect();
  await context.queue(QSPACE, 'Q').put(text);
  expect((await context.queue(QSPACE, 'Q').get())?.data).toBe(text);
  await context.tpterm();
}

describe('a device that is in use', () => {
  test('is refused to a second daemon, which says who holds it, and is free after kill -9', async () => {
    const first = await TestDaemon.start({ queues: QUEUES });
    const second = TestDaemon.prepare({ queues: QUEUES, directory: first.directory });
    await expectRefused(second, first);
    await expectServes(first, 'the first goes on');
    await first.kill();
    await second.restart();
    await expectServes(second, 'the second has it now');
    await expectRefused(first, second);
  });

  test('is refused through a symbolic link', async () => {
    const first = await TestDaemon.start({ queues: QUEUES });
    const link = join(tempDir(), 'link');
    symlinkSync(first.directory, link);
    await expectRefused(TestDaemon.prepare({ queues: QUEUES, directory: link }), first);
    const folder = tempDir();
    symlinkSync(join(first.directory, 'data'), join(folder, 'data'));
    await expectRefused(TestDaemon.prepare({ queues: QUEUES, directory: folder }), first);
    await expectServes(first, 'the first goes on');
  });

  test('goes to one of two that start at the same time', async () => {
    const directory = tempDir();
    const both = [0, 1].map(() => TestDaemon.prepare({ queues: QUEUES, directory }));
    const starts = await Promise.allSettled(both.map((daemon) => daemon.restart()));
    expect(starts.map((start) => start.status).sort()).toEqual(['fulfilled', 'rejected']);
    const winner = both[starts.findIndex((start) => start.status === 'fulfilled')] as TestDaemon;
    const loser = both[starts.findIndex((start) => start.status === 'rejected')] as TestDaemon;
    expect(await loser.ended()).toEqual({ code: 1, signal: null });
    await expectServes(winner, 'the winner serves');
  });
});

test('a device that nobody holds is free, whatever its lock file says', async () => {
  const daemon = await TestDaemon.start({ queues: QUEUES });
  for (const text of [`${process.pid}\n`, '', 'not a pid\n']) {
    await daemon.kill();
    writeFileSync(join(daemon.directory, 'data/LOCK'), text);
    await daemon.restart();
    await expectServes(daemon, 'free');
  }
});
