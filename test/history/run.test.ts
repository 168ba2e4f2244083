// Random transactions of eight clients over three queues in two queue spaces, while the daemon is killed again and again; then everything is
// drained, and a checker that shares no code with it must find the history atomic. TMQUEUE_KILLS=200 for the long run, TMQUEUE_SEED=n to
// repeat the choices of one.
import { expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { domain } from '../conformance/q/support.ts';
import { poll, TestDaemon, within } from '../support/daemon.ts';
import { check } from './checker.ts';
import { commit, type Place, Recorder, take, work } from './clients.ts';
import { times } from '../support/depth.ts';

const KILLS = times('TMQUEUE_KILLS', { inTest: 8, inCi: 20 });
const SEED = Number(process.env['TMQUEUE_SEED'] ?? Date.now() % 1_000_000_000);
const CLIENTS = 8;
/** Transactions of one client in a life, at most: so that the queues stay small enough to be drained by one transaction. */
const TRANSACTIONS_MAX = 200;

interface Setting {
  readonly spaces: Readonly<Record<string, readonly string[]>>;
}

async function run({ spaces }: Setting): Promise<void> {
  const places = Object.entries(spaces).flatMap(([space, queues]) =>
    queues.map((queue): Place => `${space}/${queue}`),
  );
  console.log(`history: ${KILLS} kills, ${places.join()}, seed ${SEED} (TMQUEUE_SEED=${SEED} repeats it)`);
  const text = domain(
    Object.entries(spaces).map(([name, queues]) => ({
      name,
      queues: queues.map((queue) => ({ name: queue, retries: 1_000_000 })),
    })),
  );
  const daemon = await TestDaemon.start({ queues: [], text });
  const prng = new Prng(SEED);
  const recorder = new Recorder();
  for (let kill = 0; kill < KILLS; kill++) {
    await loadAndKill({ daemon, places, prng, recorder });
    await daemon.restart();
    recorder.up();
  }
  await drain(daemon, places, recorder);
  const history = recorder.history();
  const of = (outcome: string): number => history.filter((one) => one.outcome === outcome).length;
  console.log(
    `history: ${of('committed')} committed, ${of('aborted')} rolled back, ${of('unknown')} of unknown outcome`,
  );
  expect(check(history), `seed ${SEED}\n${daemon.stderr}`).toEqual([]);
  expect(of('committed')).toBeGreaterThan(2 * KILLS);
  // A canary: without one transaction that took something, a message is lost.
  const last = history.findLast(
    ({ outcome, operations }) =>
      outcome === 'committed' && operations.some((one) => one.kind === 'take' && one.key !== null),
  );
  expect(check(history.filter((one) => one !== last))).not.toEqual([]);
}

/** One life: clients at work, and its end at a random moment. */
async function loadAndKill(life: {
  daemon: TestDaemon;
  places: readonly Place[];
  prng: Prng;
  recorder: Recorder;
}): Promise<void> {
  const { daemon, places, prng, recorder } = life;
  let transactions = 0;
  const clients = Array.from({ length: CLIENTS }, (_, i) => {
    let own = 0;
    const enough = (): boolean => {
      transactions++;
      return ++own > TRANSACTIONS_MAX;
    };
    const seed = new Prng(prng.u32());
    return work({ address: daemon.address, name: `c${i}`, places, prng: seed, recorder, enough });
  });
  const ended = Promise.all(clients);
  await poll(
    () => transactions > 4 * CLIENTS,
    () => `${transactions} transactions\n${daemon.stderr}`,
    30_000,
  );
  // Random moments are the point here; nothing waits for anything.
  await new Promise((resolve) => {
    setTimeout(resolve, prng.between(0, 150));
  });
  daemon.signal('SIGKILL');
  await daemon.ended();
  await within(ended, 10_000, () => 'a call was not settled after the kill');
  recorder.crashed();
}

/** Takes everything there is, place by place, and sees that nothing is left. */
async function drain(daemon: TestDaemon, places: readonly Place[], recorder: Recorder): Promise<void> {
  const ctx = await daemon.connect();
  for (const place of places) {
    const draft = recorder.begin('drain');
    await ctx.tpbegin(600);
    while ((await take(ctx, { place, draft, recorder })) !== null);
    await commit(ctx, draft, recorder);
  }
  const { spaces } = await ctx.stat();
  expect(spaces.map(({ messages }) => messages)).toEqual(spaces.map(() => 0));
}

const timeout = 120_000 + KILLS * 30_000;
test('three queues in two queue spaces', { timeout }, () =>
  run({ spaces: { NORTH: ['A', 'B'], SOUTH: ['C'] } }),
);
