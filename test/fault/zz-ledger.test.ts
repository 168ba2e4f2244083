// The ledger run over a faulty disk: power cuts at random, each dropping, keeping or tearing what was not synced. What was acknowledged
// is there afterwards, once, and nothing acknowledged as taken is back. Builds that answer before the sync must be found out by the same
// check. TMQUEUE_SEED=n repeats a run.
import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { readAll, tookAll } from '../crash/contents.ts';
import * as load from '../crash/load.ts';
import { checkAndSettle } from '../support/ledger-check.ts';
import { Ledger } from '../support/ledger.ts';
import { EngineLife, ERROR_QUEUE, FEW, LATE, LATE_MS, SEGMENT_BYTES, type Treason } from './engine-life.ts';
import { MemoryDisk } from './faulty-file-io.ts';

const CRASHES = Number(process.env['TMQUEUE_CRASHES'] ?? 200);
const SEED = Number(process.env['TMQUEUE_SEED'] ?? 20261130);
/** Of one disk, before the next begins empty. */
const LIVES = 9;
const TREASONS: readonly Treason[] = [
  'sync does nothing',
  'sync comes later',
  'answers are not held back',
  'answers wait for the batch before theirs',
];
/** What the ledger says of lost, returned or halved work. */
const LOST = /must be (on )?\w+ and is not there|is there again|half a transaction/;
const QUEUES = [...load.QUEUES, FEW, LATE, ERROR_QUEUE];

interface Totals {
  crashes: number;
  puts: number;
  takes: number;
  unknown: number;
}

/** Several lives of one space. Throws what is wrong, naming the seed. */
async function liveAndDie(seed: number, treason: Treason, totals: Totals): Promise<void> {
  const prng = new Prng(seed);
  const ledger = new Ledger({ errorQueue: ERROR_QUEUE, neverRolledBack: ['PLAIN'] });
  // A third of the spaces become full: then enqueues are refused, and everything else goes on.
  const limit = prng.oneIn(3) ? { limitBytes: prng.between(6, 40) * SEGMENT_BYTES } : {};
  let disk = new MemoryDisk();
  for (let life = 0; life < LIVES; life++) {
    try {
      const opened = await EngineLife.open({ disk, prng, queues: QUEUES, treason, ...limit });
      await checkContents(opened, ledger, prng);
      if (life + 1 < LIVES) totals.crashes += await loadAndEnd(opened, { ledger, prng, life });
      ({ disk } = opened);
    } catch (error) {
      throw new Error(`seed ${seed}, life ${life}: ${String(error)}`, { cause: error });
    }
  }
  const { puts, takes, unknown } = ledger.counts();
  totals.puts += puts;
  totals.takes += takes;
  totals.unknown += unknown;
}

/** Clients at work, and the end, now and then a clean one; returns how many crashes that was. */
async function loadAndEnd(
  life: EngineLife,
  run: { ledger: Ledger; prng: Prng; life: number },
): Promise<number> {
  const { prng } = run;
  const work = startClients(life, run);
  const isClean = prng.oneIn(10);
  if (isClean) await life.stopCleanly(prng.between(1, 40));
  else await life.runUntilCut(prng.between(1, prng.oneIn(3) ? 20 : 250), prng.between(2, 80));
  await work;
  return isClean ? 0 : 1;
}

/** Reads everything as a client, checks it, and now and then takes it all away. */
async function checkContents(life: EngineLife, ledger: Ledger, prng: Prng): Promise<void> {
  const keep = !prng.oneIn(3);
  const { live } = life.engine.space.messages;
  life.clock.advance(LATE_MS);
  const contents = await readAll(life.client(), QUEUES, keep);
  checkAndSettle(ledger, contents);
  expect([...contents.values()].flat(), 'what is there can be read').toHaveLength(live);
  if (!keep) tookAll(ledger, contents);
}

function startClients(
  life: EngineLife,
  { ledger, prng, life: number }: { ledger: Ledger; prng: Prng; life: number },
): Promise<unknown> {
  const client = (name: string, waits = false): load.Client => {
    const calls = life.client();
    calls.waits = waits;
    const until = (): boolean => life.dead;
    return { name: `${name}${number}`, calls, prng: new Prng(prng.u32()), ledger, until, bytes: bodyBytes };
  };
  return Promise.all([
    load.putPlainly(client('put1-'), 'PLAIN'),
    load.putPlainly(client('put2-'), FEW),
    load.putPipelined(client('pipe1-'), 'PLAIN', 6),
    load.putPipelined(client('pipe2-'), 'WORK', 9),
    load.transfer(client('move1-'), { from: 'WORK', to: ['LEFT', 'RIGHT'] }),
    load.transfer(client('move2-'), { from: 'LEFT', to: ['RIGHT', 'WORK'] }),
    load.putPipelinedInTransactions(client('batch-'), ['LEFT', LATE, 'LEFT']),
    load.consumePlainly(client('take1-'), 'PLAIN'),
    load.consumePlainly(client('take2-', true), 'PLAIN', 3),
    load.consumeInTransactions(client('work1-'), 'RIGHT'),
    load.consumeInTransactions(client('work2-'), 'LEFT'),
    load.consumeInTransactions(client('work3-'), FEW),
    load.consumeInTransactions(client('work4-'), LATE),
    load.consumeInTransactions(client('work5-'), ERROR_QUEUE),
  ]);
}

/** Mostly small; some by reference, some over several segments. */
function bodyBytes(prng: Prng): number {
  const kind = prng.below(60);
  if (kind === 0) return prng.between(66_000, 150_000);
  if (kind < 3) return prng.between(30_000, 40_000);
  if (kind < 8) return prng.between(1000, 8000);
  return prng.between(20, 600);
}

describe('power cuts under an engine', () => {
  test(
    `${CRASHES} power cuts, seed ${SEED}: every acknowledged message is there once`,
    { timeout: 30_000 + CRASHES * 300 },
    async () => {
      const totals = { crashes: 0, puts: 0, takes: 0, unknown: 0 };
      for (let run = 0; totals.crashes < CRASHES; run++) await liveAndDie(SEED + run, 'none', totals);
      console.log(`engine-ledger: ${JSON.stringify(totals)}, seed ${SEED}`);
      expect(totals.puts).toBeGreaterThan(10 * CRASHES);
      expect(totals.takes).toBeGreaterThan(3 * CRASHES);
    },
  );

  test.each(TREASONS)('control: a build in which %s is found out', async (treason) => {
    const totals = { crashes: 0, puts: 0, takes: 0, unknown: 0 };
    const found: string[] = [];
    for (let run = 0; found.length === 0 && totals.crashes < CRASHES; run++) {
      await liveAndDie(SEED + run, treason, totals).catch((error: unknown) => {
        // A log that does not open is a finding too, but not one of the ledger.
        if (LOST.test(String(error))) found.push(String(error));
      });
    }
    console.log(`engine-ledger: "${treason}" was found out at power cut ${totals.crashes}, seed ${SEED}`);
    expect(found).toHaveLength(1);
  });
});
