// kill -9 at named points of the log's life, amid writes and at random moments, under load, with segments so small that the log is reclaimed
// and checkpoints are taken all the time [field cases C01, C19, C55]. After each start the ledger agrees with the store. TMQUEUE_KILLS=1000
// for the long run, TMQUEUE_SEED=n to repeat one.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { FAULTY_ENTRY, QSPACE, TestDaemon, within } from '../support/daemon.ts';
import { type DiskOrders, KILL_POINTS, ORDERS_SIGNAL, ORDERS_VARIABLE } from './disk-orders.ts';
import { checkContents, ERROR_QUEUE, newLedger, PLACES, type Run, startClients } from './kill-load.ts';
import { times } from '../support/depth.ts';

const KILLS = times('TMQUEUE_KILLS', { inTest: 16, inCi: 100 });
const SEED = Number(process.env['TMQUEUE_SEED'] ?? Date.now() % 1_000_000_000);
const SEGMENT_BYTES = 64 * 1024;
/** A life that does not come to its point is ended when the clients have had so many turns. */
const TURNS = { MIN: 20, MAX: 600 };
const LOOK_MS = 5;
/** How long a life that is to end while it starts may go on after it. */
const START_LIFE_MS = 50;
/** How often a point is come to before the kill: the frequent calls are come to hundreds of times a second. */
const NTH_MAX = { frequent: 60, other: 3 };
const FREQUENT = /(pwrite|fdatasync) segment$/;

/** What each kill came to. */
class Tally {
  readonly hits = new Map<string, number>();
  random = 0;
  duringStart = 0;

  hit(point: string): void {
    this.hits.set(point, (this.hits.get(point) ?? 0) + 1);
  }
  get kills(): number {
    return this.random + [...this.hits.values()].reduce((sum, count) => sum + count, 0);
  }
}

test(
  `${KILLS} kills at named points and at random, seed ${SEED}`,
  { timeout: 60_000 + KILLS * 30_000 },
  async () => {
    const prng = new Prng(SEED);
    const daemon = TestDaemon.prepare({ queues: PLACES, errorQueue: ERROR_QUEUE, entry: FAULTY_ENTRY });
    const run: Run = { daemon, ledger: newLedger(), prng };
    const tally = new Tally();
    for (let round = 0; tally.kills < KILLS; round++) {
      const orders = ordersFor(round, prng);
      daemon.environment = { [ORDERS_VARIABLE]: JSON.stringify(orders) };
      const point = orders.kill?.point ?? '';
      if (!(await started(daemon))) {
        tally.hit(point);
        tally.duringStart++;
        continue;
      }
      if (point !== '' && orders.onSignal !== true) {
        // It may come to its point at any moment: nothing is asked of it.
        if (await endsWithin(daemon, START_LIFE_MS)) tally.hit(point);
        else tally.random++;
        await daemon.kill();
        tally.duringStart++;
        continue;
      }
      const told = (cause: unknown): never => {
        throw new Error(`seed ${SEED}, round ${round}, point ${point}: ${String(cause)}\n${daemon.stderr}`, {
          cause,
        });
      };
      await checkContents(run, `seed ${SEED}, round ${round}, point ${point}`).catch(told);
      expectNoLeftovers(daemon);
      const wasHit = await workUntilDead(run, round).catch(told);
      if (wasHit) tally.hit(point);
      else tally.random++;
    }
    daemon.environment = { [ORDERS_VARIABLE]: JSON.stringify({ segmentBytes: SEGMENT_BYTES }) };
    await daemon.restart();
    await checkContents(run, `seed ${SEED}, at the end`);
    report(run, tally);
  },
);

/** Each point in turn, now and then from the start on; one life in four ends at random. */
function ordersFor(round: number, prng: Prng): DiskOrders {
  const point = KILL_POINTS[round % KILL_POINTS.length] as string;
  const nth = prng.between(1, FREQUENT.test(point) ? NTH_MAX.frequent : NTH_MAX.other);
  const onSignal = !prng.oneIn(6);
  return prng.oneIn(4)
    ? { segmentBytes: SEGMENT_BYTES }
    : { segmentBytes: SEGMENT_BYTES, onSignal, kill: { point, nth: onSignal ? nth : prng.between(1, 3) } };
}

/** False: it was killed before it was ready. */
async function started(daemon: TestDaemon): Promise<boolean> {
  try {
    await daemon.restart();
    return true;
  } catch (error) {
    if ((await daemon.ended()).signal !== 'SIGKILL' || /not ready within/.test(String(error))) throw error;
    return false;
  }
}

/** One life under load; true: it came to its point. */
async function workUntilDead({ daemon, ledger, prng }: Run, round: number): Promise<boolean> {
  const contexts = await Promise.all([1, 2, 3].map(() => daemon.connect()));
  daemon.signal(ORDERS_SIGNAL);
  const { work, turns } = startClients(contexts, { ledger, prng, round });
  const most = prng.between(TURNS.MIN, TURNS.MAX);
  let wasHit = false;
  while (!wasHit && turns() < most) {
    wasHit = await endsWithin(daemon, LOOK_MS);
  }
  if (!wasHit) await daemon.kill();
  await within(work, 10_000, () => `a call was not settled 10 s after the kill (round ${round})`);
  await Promise.all(contexts.map((context) => context.tpterm()));
  return wasHit;
}

function endsWithin(daemon: TestDaemon, ms: number): Promise<boolean> {
  return daemon.ended(ms).then(
    () => true,
    () => false,
  );
}

/** At most what this start itself is making: a segment and a checkpoint. */
function expectNoLeftovers(daemon: TestDaemon): void {
  const names = readdirSync(join(daemon.directory, 'data', QSPACE)).filter((name) => name.endsWith('.tmp'));
  expect(names.filter((name) => name.includes('.log')).length).toBeLessThanOrEqual(1);
  expect(names.filter((name) => name.includes('.checkpoint')).length).toBeLessThanOrEqual(1);
}

function report({ ledger }: Run, tally: Tally): void {
  const { puts, takes, unknown } = ledger.counts();
  const points = [...tally.hits].map(([point, count]) => `${point}: ${count}`).sort();
  console.log(
    `kill-points: seed ${SEED}, ${tally.kills} kills, ${tally.random} of them at random, ${tally.duringStart} during a start\n` +
      `${puts} enqueues and ${takes} dequeues acknowledged, ${unknown} open; ${tally.hits.size} of ${KILL_POINTS.length} points\n` +
      points.join(', '),
  );
  expect(puts).toBeGreaterThan(5 * KILLS);
  expect(takes).toBeGreaterThan(KILLS);
  if (KILLS >= 200) expect(KILL_POINTS.filter((point) => !tally.hits.has(point))).toEqual([]);
}
