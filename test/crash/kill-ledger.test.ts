// kill -9 at random moments under load: the real daemon, the SDK, one directory for all rounds. After each restart every acknowledged
// enqueue is there once, and nothing that was acknowledged as taken is back. TMQUEUE_KILLS=200 for the long run, TMQUEUE_SEED=n to
// repeat one.
import { expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { TestDaemon, within } from '../support/daemon.ts';
import { checkContents, ERROR_QUEUE, newLedger, PLACES, type Run, startClients } from './kill-load.ts';

const KILLS = Number(process.env['TMQUEUE_KILLS'] ?? 20);
const SEED = Number(process.env['TMQUEUE_SEED'] ?? Date.now() % 1_000_000_000);

test(`${KILLS} kills under load, seed ${SEED}`, { timeout: 30_000 + KILLS * 6000 }, async () => {
  console.log(`kill-ledger: ${KILLS} kills, seed ${SEED} (TMQUEUE_SEED=${SEED} repeats it)`);
  const daemon = await TestDaemon.start({ queues: PLACES, errorQueue: ERROR_QUEUE });
  const ledger = newLedger();
  const prng = new Prng(SEED);
  for (let round = 0; round < KILLS; round++) {
    const run = { daemon, ledger, prng };
    await loadAndKill(run, round);
    // Now and then the recovery is killed too.
    if (prng.oneIn(4)) await startAndKill(daemon, prng.between(0, 350));
    await daemon.restart();
    await checkContents(run, `seed ${SEED}, round ${round}`);
  }
  const { puts, takes, unknown } = ledger.counts();
  console.log(
    `kill-ledger: ${ledger.items.size} messages, ${puts} enqueues and ${takes} dequeues acknowledged, ${unknown} open`,
  );
  // That the load did something in the rounds; how much depends on the machine.
  expect(puts).toBeGreaterThan(10 * KILLS);
  expect(takes).toBeGreaterThan(3 * KILLS);
});

async function startAndKill(daemon: TestDaemon, afterMs: number): Promise<void> {
  daemon.launch();
  await pause(afterMs);
  await daemon.kill();
}

/** Random moments are the point here; nothing waits for anything. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** One life: clients at work, and the end at a random moment. */
async function loadAndKill({ daemon, ledger, prng }: Run, round: number): Promise<void> {
  const contexts = await Promise.all([1, 2, 3].map(() => daemon.connect()));
  const { work, began } = startClients(contexts, { ledger, prng, round });
  await within(began, 20_000, () => `no call was answered\n${daemon.stderr}`);
  await pause(prng.between(20, 400));
  await daemon.kill();
  await within(work, 10_000, () => `a call was not settled 10 s after the kill (round ${round})`);
  await Promise.all(contexts.map((context) => context.tpterm()));
}
