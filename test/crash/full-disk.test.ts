// The real daemon on a tmpfs that is full: not one byte, or not one inode, is left [field case C05; DESIGN 5, Room]. What frees messages goes on,
// kill -9 and a start work, and when space comes back enqueues are accepted without a restart. Skipped where this process may not mount.
import { closeSync, openSync, rmSync, statfsSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Context, QME, TpError } from '../../clients/typescript/index.ts';
import { FAULTY_ENTRY, poll, QSPACE, TestDaemon } from '../support/daemon.ts';
import { mayMount, SmallFileSystem } from '../support/file-system.ts';
import { bodyOf, keyOf } from '../support/ledger-body.ts';
import { checkAndSettle } from '../support/ledger-check.ts';
import { Ledger } from '../support/ledger.ts';
import { tempDir } from '../support/temp-dir.ts';
import { readAll } from './contents.ts';
import { ORDERS_VARIABLE } from './disk-orders.ts';
import { sdkCalls } from './sdk-calls.ts';

const WHY_NOT = mayMount('tmpfs');
if (WHY_NOT !== '') console.log(`full-disk: skipped, no tmpfs can be mounted here: ${WHY_NOT}`);

const BODY_BYTES = 3000;
const BALLAST_BYTES = 512 * 1024;

/** Bytes until nothing is left, or files until no inode is. */
function fillUp(disk: SmallFileSystem, what: 'bytes' | 'inodes'): void {
  try {
    if (what === 'bytes') {
      const fd = openSync(join(disk.folder, 'filler'), 'w');
      for (const bytes of [64 * 1024, 4096, 1]) writeUntilFull(fd, Buffer.alloc(bytes));
      closeSync(fd);
    } else for (let n = 0; ; n++) writeFileSync(join(disk.folder, `filler-${n}`), '');
  } catch (error) {
    if (!/ENOSPC/.test(String(error))) throw error;
  }
}

function writeUntilFull(fd: number, bytes: Uint8Array): void {
  try {
    while (writeSync(fd, bytes) > 0);
  } catch (error) {
    if (!/ENOSPC/.test(String(error))) throw error;
  }
}

/** Whether it was accepted; anything but QMENOSPACE is a failure. */
async function put(context: Context, ledger: Ledger): Promise<boolean> {
  const item = ledger.putting('Q', 'q', BODY_BYTES);
  try {
    await context.tpenqueue(QSPACE, 'Q', null, bodyOf(item.key));
    item.acknowledged();
    return true;
  } catch (error) {
    expect(TpError.is(error) && error.diagnostic).toBe(QME.QMENOSPACE);
    item.refused();
    return false;
  }
}

async function fillQueue(context: Context, ledger: Ledger): Promise<void> {
  for (let refused = 0; refused < 3;) if (!(await put(context, ledger))) refused++;
}

const WAYS = [
  ['bytes', 'size=2m'],
  ['inodes', 'size=8m,nr_inodes=24'],
] as const;
test.skipIf(WHY_NOT !== '').each(WAYS)('no %s left', async (what, options) => {
  const disk = SmallFileSystem.tmpfs(options);
  const directory = tempDir();
  symlinkSync(disk.folder, join(directory, 'data'));
  const setup = { queues: ['Q'], entry: FAULTY_ENTRY, directory };
  const daemon = TestDaemon.prepare(setup);
  daemon.environment = { [ORDERS_VARIABLE]: JSON.stringify({ segmentBytes: 64 * 1024 }) };
  const ledger = new Ledger();
  await daemon.restart();
  let context = await daemon.connect();
  // What will be freed.
  if (what === 'bytes') writeFileSync(join(disk.folder, 'ballast'), Buffer.alloc(BALLAST_BYTES));
  if (what === 'inodes') fillUp(disk, what);
  await fillQueue(context, ledger);
  fillUp(disk, what);
  const left = statfsSync(disk.folder);
  expect(what === 'bytes' ? left.bfree : left.ffree, `${what} left`).toBe(0);
  for (const end of ['kill', 'stop'] as const) {
    await work(context, ledger);
    if (end === 'kill') await daemon.kill();
    else expect(await daemon.stop()).toEqual({ code: 0, signal: null });
    await context.tpterm().catch(() => {});
    await daemon.restart();
    context = await daemon.connect();
    checkAndSettle(ledger, await readAll(sdkCalls(context, { waitMs: 0 }), ['Q'], true), daemon.stderr);
  }
  expect(daemon.stderr).toContain('the disk is full: free some space on it');
  freeSome(disk);
  // Without a restart: the daemon tries again every five seconds.
  await fillQueueAgain(context, ledger);
  await daemon.kill();
  await context.tpterm().catch(() => {});
  await daemon.restart();
  const calls = sdkCalls(await daemon.connect(), { waitMs: 0 });
  checkAndSettle(ledger, await readAll(calls, ['Q'], true), daemon.stderr);
});

/** Takes, gives back, and takes in a transaction. */
async function work(context: Context, ledger: Ledger): Promise<void> {
  const calls = sdkCalls(context, { waitMs: 0 });
  for (let i = 0; i < 5; i++) ledger.taken(keyOf(await calls.take('Q')));
  for (const commits of [false, true]) {
    const transaction = await calls.begin();
    const entry = ledger.begin();
    for (let i = 0; i < 5; i++) entry.took(keyOf(await transaction.take('Q')));
    if (commits) {
      await transaction.commit();
      entry.committed();
    } else {
      await transaction.abort();
      entry.rolledBack();
    }
  }
}

function freeSome(disk: SmallFileSystem): void {
  rmSync(join(disk.folder, 'ballast'), { force: true });
  for (let n = 0; n < 24; n++) rmSync(join(disk.folder, `filler-${n}`), { force: true });
}

async function fillQueueAgain(context: Context, ledger: Ledger): Promise<void> {
  await poll(
    () => put(context, ledger),
    () => 'enqueues are still refused',
    20_000,
  );
  for (let i = 0; i < 20; i++) expect(await put(context, ledger)).toBe(true);
}
