// Power cuts on a real file system: the device lies on an ext4 in a loop file, and under load the file system is shut down without a flush of
// its journal, so that what was not on the device is gone [log port 4; field case C57]. Every client is answered, the daemon ends with 1,
// and after the next mount the ledger agrees with the store. A build that acknowledges before the sync must be found out. Skipped where
// this process may not mount. TMQUEUE_POWER_CUTS=100 for the long run, TMQUEUE_SEED=n to repeat one.
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { FAULTY_ENTRY, TestDaemon, within } from '../support/daemon.ts';
import { mayMount, SmallFileSystem } from '../support/file-system.ts';
import { tempDir } from '../support/temp-dir.ts';
import { type DiskOrders, ORDERS_VARIABLE } from './disk-orders.ts';
import { checkContents, ERROR_QUEUE, newLedger, PLACES, type Run, startClients } from './kill-load.ts';

const CUTS = Number(process.env['TMQUEUE_POWER_CUTS'] ?? 2);
const SEED = Number(process.env['TMQUEUE_SEED'] ?? Date.now() % 1_000_000_000);
const WHY_NOT = mayMount('ext4');
const MEGABYTES = 96;
const SEGMENT_BYTES = 256 * 1024;
/** How much the clients do before the cut. */
const TURNS = { MIN: 10, MAX: 400 };
/** Cuts in which a build that lies must have been found out. */
const CONTROL_CUTS = 5;

if (WHY_NOT !== '') console.log(`power-cut: skipped, no ext4 can be mounted and shut down here: ${WHY_NOT}`);

interface PowerRun extends Run {
  readonly disk: SmallFileSystem;
}

function prepare(seed: number): PowerRun {
  const disk = SmallFileSystem.ext4(MEGABYTES);
  const directory = tempDir();
  symlinkSync(disk.folder, join(directory, 'data'));
  const setup = { queues: PLACES, errorQueue: ERROR_QUEUE, entry: FAULTY_ENTRY, directory };
  return { disk, daemon: TestDaemon.prepare(setup), ledger: newLedger(), prng: new Prng(seed) };
}

function order(daemon: TestDaemon, orders: DiskOrders): void {
  daemon.environment = { [ORDERS_VARIABLE]: JSON.stringify({ segmentBytes: SEGMENT_BYTES, ...orders }) };
}

/** Load, the cut in the middle of it, and the next mount. */
async function loadAndCut({ daemon, disk, ledger, prng }: PowerRun, round: number): Promise<void> {
  const contexts = await Promise.all([1, 2, 3].map(() => daemon.connect()));
  const { work, turns } = startClients(contexts, { ledger, prng, round });
  const most = prng.between(TURNS.MIN, TURNS.MAX);
  await within(
    reached(() => turns() >= most),
    60_000,
    () => `no load\n${daemon.stderr}`,
  );
  disk.cutPower();
  expect(await daemon.ended(), daemon.stderr).toEqual({ code: 1, signal: null });
  await within(work, 10_000, () => `a call was not settled after the cut (round ${round})`);
  await Promise.all(contexts.map((context) => context.tpterm()));
  disk.unmount();
  disk.mount();
}

async function reached(is: () => boolean): Promise<void> {
  while (!is()) {
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
  }
}

const timeout = 120_000 + CUTS * 60_000;
test.skipIf(WHY_NOT !== '')(`${CUTS} power cuts under load, seed ${SEED}`, { timeout }, async () => {
  const run = prepare(SEED);
  order(run.daemon, {});
  for (let round = 0; round < CUTS; round++) {
    await run.daemon.restart();
    await checkContents(run, `seed ${SEED}, power cut ${round}`);
    await loadAndCut(run, round);
  }
  await run.daemon.restart();
  await checkContents(run, `seed ${SEED}, power cut ${CUTS}`);
  await run.daemon.stop();
  const { puts, takes, unknown } = run.ledger.counts();
  console.log(
    `power-cut: ${CUTS} cuts, seed ${SEED}: ${puts} enqueues, ${takes} dequeues acknowledged, ${unknown} open`,
  );
  expect(puts).toBeGreaterThan(5 * CUTS);
});

test.skipIf(WHY_NOT !== '')(
  'control: a build that acknowledges before the sync is found out',
  { timeout },
  async () => {
    const run = prepare(SEED);
    // No segment is left behind, so that a loss shows in the ledger rather than in a log that does not open.
    const segmentBytes = 8 * 1024 * 1024;
    order(run.daemon, { segmentBytes });
    await run.daemon.restart();
    await run.daemon.stop();
    // What a cut takes depends on what the machine had written by itself until then: it is not much that shows nothing.
    for (let round = 0; round < CONTROL_CUTS; round++) {
      order(run.daemon, { segmentBytes, lyingSync: true });
      await run.daemon.restart();
      await loadAndCut(run, round).catch((error: unknown) => {
        // It may not even notice: nothing that it asks of the disk fails.
        if (!/did not end within/.test(String(error))) throw error;
      });
      order(run.daemon, {});
      const found = await run.daemon
        .restart()
        .then(() => checkContents(run, 'control'))
        .then(
          () => null,
          (error: unknown) => String(error),
        );
      if (found !== null) {
        expect(found).toMatch(/must be (on )?\w+ and is not there|is there again|half a transaction/);
        return;
      }
      await run.daemon.stop();
    }
    expect.fail(`not found out in ${CONTROL_CUTS} cuts, seed ${SEED}`);
  },
);
