// A sync that fails under an engine, at every place where one is made [field cases C03, C15; DESIGN 5, Errors]. Everybody who waits is
// told within a moment, nothing is acknowledged afterwards, the engine says so once, and a power cut later everything acknowledged is
// there.
import { describe, expect, test } from 'vitest';
import { QME } from '../../proto/codes.ts';
import { Prng } from '../../src/base/prng.ts';
import { CallFailure } from '../crash/calls.ts';
import { readAll } from '../crash/contents.ts';
import * as load from '../crash/load.ts';
import { checkAndSettle } from '../support/ledger-check.ts';
import { Ledger } from '../support/ledger.ts';
import { queueAttributes } from '../support/queue-values.ts';
import { EngineLife, turn } from './engine-life.ts';
import { MemoryDisk } from './faulty-file-io.ts';

const QUEUES = [...load.QUEUES, 'EMPTY'];
/** Turns of the loop in which everybody must have been answered; the faulty disk takes at most a few for a call. */
const TURNS = 200;

function clientsOf(life: EngineLife, ledger: Ledger, prng: Prng): load.Client[] {
  return Array.from({ length: 50 }, (_, i) => ({
    name: `c${i}-`,
    calls: life.client(),
    prng: new Prng(prng.u32()),
    ledger,
    until: () => false,
    bytes: (one) => one.between(20, 3000),
  }));
}

function startLoad(clients: readonly load.Client[]): Promise<unknown> {
  const fifth = (i: number): readonly load.Client[] => clients.filter((_, n) => n % 5 === i);
  return Promise.all([
    ...fifth(0).map((client) => load.putPlainly(client, 'PLAIN')),
    ...fifth(1).map((client) => load.putPipelined(client, 'WORK', 6)),
    ...fifth(2).map((client) => load.transfer(client, { from: 'WORK', to: ['LEFT', 'RIGHT'] })),
    ...fifth(3).map((client) => load.consumePlainly(client, 'PLAIN')),
    ...fifth(4).map((client) => load.consumeInTransactions(client, 'RIGHT')),
  ]);
}

/** True when the promise settled within so many turns. */
async function settles(promise: Promise<unknown>, turns: number): Promise<boolean> {
  const state = { settled: false };
  const note = (): void => {
    state.settled = true;
  };
  promise.then(note, note);
  for (let left = turns; left > 0 && !state.settled; left--) await turn();
  return state.settled;
}

/** What a call came to, in words. */
function endOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    (value) => `answered with ${String(value)}`,
    (error: unknown) => (error instanceof CallFailure ? error.message : String(error)),
  );
}

async function expectRefused(ends: readonly Promise<string>[]): Promise<void> {
  expect(await settles(Promise.all(ends), TURNS), 'everybody is answered').toBe(true);
  for (const end of ends) expect(await end).toContain(`diagnostic ${QME.QMESYSTEM}`);
}

/** Two dequeues that wait on a queue to which nothing comes. */
async function waitInVain(life: EngineLife): Promise<Promise<string>[]> {
  const [plain, inTransaction] = [life.client(), life.client()];
  plain.waits = true;
  inTransaction.waits = true;
  const transaction = await inTransaction.begin();
  return [endOf(plain.take('EMPTY')), endOf(transaction.take('EMPTY'))];
}

describe('EIO from a sync', () => {
  test.each(Array.from({ length: 30 }, (_, i) => i + 1))('at sync %i of the load', async (nth) => {
    const prng = new Prng(1000 + nth);
    const life = await EngineLife.open({ disk: new MemoryDisk(), prng, queues: QUEUES, treason: 'none' });
    const failures: string[] = [];
    life.engine.onFailure = (error) => failures.push(error.message);
    const ledger = new Ledger({ neverRolledBack: ['PLAIN'] });
    const waiting = await waitInVain(life);
    const ended = startLoad(clientsOf(life, ledger, prng));
    const fired = life.failSync(nth);
    expect(await settles(fired, 5000), 'so many syncs are made').toBe(true);
    expect(await settles(ended, TURNS), 'every client is answered').toBe(true);
    await expectRefused(waiting);
    expect(failures).toHaveLength(1);
    expect(failures[0]).toContain('EIO');
    const late = life.client();
    await expectRefused(
      [late.put('PLAIN', new Uint8Array(8)), late.take('PLAIN'), late.take('EMPTY')].map(endOf),
    );
    expect(await settles(life.engine.close(), TURNS), 'the dead log is closed').toBe(true);
    life.cut();
    const next = await EngineLife.open({ disk: life.disk, prng, queues: QUEUES, treason: 'none' });
    checkAndSettle(ledger, await readAll(next.client(), QUEUES, true), `EIO at sync ${nth}`);
  });
});

test('definitions on a dead log are QMESYSTEM, not a want of room; whoever asks late is told of the failure', async () => {
  const prng = new Prng(1);
  const life = await EngineLife.open({ disk: new MemoryDisk(), prng, queues: QUEUES, treason: 'none' });
  const fired = life.failSync(1);
  await endOf(life.client().put('PLAIN', new Uint8Array(8)));
  await fired;
  const { engine } = life;
  expect(engine.define({ kind: 'defineQueue', attributes: queueAttributes('NEW') })).toMatchObject({
    code: QME.QMESYSTEM,
    later: false,
  });
  expect(engine.destroyQueue('EMPTY')).toMatchObject({ code: QME.QMESYSTEM, later: false });
  const failures: string[] = [];
  engine.onFailure = (error) => failures.push(error.message);
  expect(failures).toHaveLength(1);
  await engine.close();
});
