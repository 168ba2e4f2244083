// kill -9 at random moments under load: the real daemon, the SDK, one directory for all rounds. After each restart every acknowledged
// enqueue is there once, and nothing that was acknowledged as taken is back. TMQUEUE_KILLS=200 for the long run, TMQUEUE_SEED=n to
// repeat one.
import { expect, test } from 'vitest';
import type { Context } from '../../clients/typescript/index.ts';
import { Prng } from '../../src/base/prng.ts';
import { TestDaemon, within } from '../support/daemon.ts';
import { checkAndSettle } from '../support/ledger-check.ts';
import { type Contents, Ledger } from '../support/ledger.ts';
import { readAll, tookAll } from './contents.ts';
import * as load from './load.ts';
import { sdkCalls } from './sdk-calls.ts';

const KILLS = Number(process.env['TMQUEUE_KILLS'] ?? 20);
const SEED = Number(process.env['TMQUEUE_SEED'] ?? Date.now() % 1_000_000_000);
const ERROR_QUEUE = 'ERRQ';
const PLACES = [...load.QUEUES, ERROR_QUEUE];
/** Above this many messages the queues are emptied after a restart. */
const MANY = 3000;

interface Run {
  readonly daemon: TestDaemon;
  readonly ledger: Ledger;
  readonly prng: Prng;
}

test(`${KILLS} kills under load, seed ${SEED}`, { timeout: 30_000 + KILLS * 6000 }, async () => {
  console.log(`kill-ledger: ${KILLS} kills, seed ${SEED} (TMQUEUE_SEED=${SEED} repeats it)`);
  const daemon = await TestDaemon.start({ queues: PLACES, errorQueue: ERROR_QUEUE });
  const ledger = new Ledger({ errorQueue: ERROR_QUEUE, neverRolledBack: ['PLAIN'] });
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

function startClients(
  contexts: readonly Context[],
  { ledger, prng, round }: { ledger: Ledger; prng: Prng; round: number },
): { work: Promise<unknown>; began: Promise<void> } {
  const start = new Beginning();
  const client = (name: string, waitMs = 20): load.Client => ({
    name: `${name}${round}`,
    calls: sdkCalls(contexts[prng.below(contexts.length)] as Context, { waitMs }),
    prng: new Prng(prng.u32()),
    ledger,
    until: () => start.next(name),
    bytes: bodyBytes,
  });
  const work = Promise.all([
    load.putPlainly(client('put1-'), 'PLAIN'),
    load.putPlainly(client('put2-'), 'WORK'),
    load.putPipelined(client('pipe1-'), 'PLAIN', 8),
    load.putPipelined(client('pipe2-'), 'WORK', 12),
    load.transfer(client('move1-', 0), { from: 'WORK', to: ['LEFT', 'RIGHT'] }),
    load.transfer(client('move2-', 0), { from: 'LEFT', to: ['RIGHT', 'WORK'] }),
    load.putPipelinedInTransactions(client('batch-'), ['LEFT', 'WORK', 'LEFT']),
    load.consumePlainly(client('take1-'), 'PLAIN'),
    load.consumePlainly(client('take2-'), 'PLAIN', 6),
    load.consumeInTransactions(client('work1-'), 'RIGHT'),
    load.consumeInTransactions(client('work2-', 0), 'LEFT'),
    load.consumeInTransactions(client('work3-', 0), 'WORK'),
  ]);
  return { work, began: start.reached };
}

/** The load has begun when one client comes back for its second turn. */
class Beginning {
  readonly reached: Promise<void>;
  private readonly seen = new Set<string>();
  private resolve: () => void = () => {};

  constructor() {
    this.reached = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  /** Asked by every client before each turn; never says stop. */
  next(name: string): boolean {
    if (this.seen.has(name)) this.resolve();
    this.seen.add(name);
    return false;
  }
}

/** Mostly small; some above the sizes from which bodies travel in other ways. */
function bodyBytes(prng: Prng): number {
  const kind = prng.below(40);
  if (kind === 0) return prng.between(60_000, 200_000);
  if (kind < 3) return prng.between(30_000, 40_000);
  return prng.between(20, 1500);
}

/** Reads everything as a client, checks it, and now and then takes it all away. */
async function checkContents({ daemon, ledger, prng }: Run, about: string): Promise<void> {
  const context = await daemon.connect();
  const calls = sdkCalls(context, { waitMs: 0 });
  const contents = await readAll(calls, PLACES, true);
  checkAndSettle(ledger, contents, `${about}\n${daemon.stderr}`);
  const found = countOf(contents);
  // Nothing is hidden: what the daemon counts is what could be read.
  const [space] = (await context.stat()).spaces;
  expect(space?.messages, about).toBe(found);
  if (found > MANY || prng.oneIn(3)) {
    const taken = await readAll(calls, PLACES, false);
    tookAll(ledger, taken);
    expect(countOf(taken), about).toBe(found);
  }
  await context.tpterm();
}

function countOf(contents: Contents): number {
  return [...contents.values()].reduce((sum, keys) => sum + keys.length, 0);
}
