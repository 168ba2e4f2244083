// SIGTERM under load [field case C27]: the daemon ends with 0 within five seconds, whoever waits is answered, what it decided is told,
// and the next start finds everything. A signal during the start is heard too.
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Context, QME, TPERRNO, TpError } from '../../clients/typescript/index.ts';
import { Prng } from '../../src/base/prng.ts';
import { poll, QSPACE, TestDaemon, within } from '../support/daemon.ts';
import { checkAndSettle } from '../support/ledger-check.ts';
import { Ledger } from '../support/ledger.ts';
import { readAll } from './contents.ts';
import * as load from './load.ts';
import { sdkCalls } from './sdk-calls.ts';

const SEED = Number(process.env['TMQUEUE_SEED'] ?? 27);
const STOPS_WITHIN_MS = 5000;
const QUEUES = [...load.QUEUES];
/** Signals and how many milliseconds after the start of the process they come. */
const SIGNALS = [
  ['SIGTERM', 0],
  ['SIGINT', 60],
  ['SIGTERM', 120],
  ['SIGTERM', 180],
  ['SIGINT', 240],
  ['SIGTERM', 320],
  ['SIGTERM', 450],
] as const;

/** A hundred dequeues that wait on a queue to which nothing comes: half of them in transactions, on two connections. */
async function parkHundred(daemon: TestDaemon): Promise<{ ends: Promise<PromiseSettledResult<unknown>[]> }> {
  const contexts = await Promise.all([daemon.connect(), daemon.connect()]);
  const waits: Promise<unknown>[] = [];
  for (let i = 0; i < 25; i++) {
    for (const context of contexts) {
      const inTransaction = context.fork();
      await inTransaction.tpbegin(60);
      waits.push(waitInVain(context), waitInVain(inTransaction));
    }
  }
  return { ends: Promise.allSettled(waits) };
}

function waitInVain(context: Context): Promise<unknown> {
  return context.queue(QSPACE, 'EMPTY').get({ wait: true });
}

async function waitingOn(context: Context, queue: string): Promise<number | undefined> {
  return (await context.stat()).spaces[0]?.queues.find(({ name }) => name === queue)?.waiters;
}

function startLoad(contexts: readonly Context[], ledger: Ledger): Promise<unknown> {
  const prng = new Prng(SEED);
  const client = (name: string): load.Client => ({
    name,
    calls: sdkCalls(contexts[prng.below(contexts.length)] as Context, { waitMs: 10 }),
    prng: new Prng(prng.u32()),
    ledger,
    until: () => false,
    bytes: (one) => one.between(20, 2000),
  });
  return Promise.all([
    load.putPlainly(client('put-'), 'PLAIN'),
    load.putPipelined(client('pipe-'), 'WORK', 12),
    load.transfer(client('move-'), { from: 'WORK', to: ['LEFT', 'RIGHT'] }),
    load.consumePlainly(client('take-'), 'PLAIN', 3),
    load.consumeInTransactions(client('work-'), 'RIGHT'),
  ]);
}

describe('SIGTERM', () => {
  test('under load and a hundred waiting dequeues: all are answered, the exit is 0, nothing is lost', async () => {
    const daemon = await TestDaemon.start({ queues: [...QUEUES, 'EMPTY'] });
    const ledger = new Ledger({ neverRolledBack: ['PLAIN'] });
    const waiters = await parkHundred(daemon);
    const contexts = await Promise.all([1, 2].map(() => daemon.connect()));
    const loaded = startLoad(contexts, ledger);
    const observer = await daemon.connect();
    await poll(
      async () => (await waitingOn(observer, 'EMPTY')) === 100,
      () => 'a hundred waiters',
    );
    await poll(
      () => ledger.counts().takes > 50,
      () => 'load',
    );
    const startedAt = performance.now();
    expect(await daemon.stop(STOPS_WITHIN_MS + 2000), daemon.stderr).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(STOPS_WITHIN_MS);
    await within(loaded, 5000, () => 'a call of the load was not settled');
    const ends = await within(waiters.ends, 5000, () => 'a waiting dequeue was not settled');
    expect(new Set(ends.map(describeEnd))).toEqual(new Set(['QMEABORTED']));
    await daemon.restart();
    const context = await daemon.connect();
    checkAndSettle(ledger, await readAll(sdkCalls(context, { waitMs: 0 }), QUEUES, true), `seed ${SEED}`);
  });

  test('with connections that say nothing, or do not read: the exit is 0 in time', async () => {
    const daemon = await TestDaemon.start({ queues: QUEUES });
    const port = Number(daemon.address.slice(daemon.address.lastIndexOf(':') + 1));
    for (let i = 0; i < 5; i++) {
      const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
      socket.on('error', () => {});
      onTestFinished(() => void socket.destroy());
      await new Promise((resolve) => {
        socket.once('connect', resolve);
      });
      socket.pause();
    }
    const startedAt = performance.now();
    expect(await daemon.stop(STOPS_WITHIN_MS + 2000), daemon.stderr).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(STOPS_WITHIN_MS);
  });

  test('finishes what was asked before it: no outcome of a lone client is unknown', async () => {
    const daemon = await TestDaemon.start({ queues: QUEUES });
    const context = await daemon.connect();
    const puts = Array.from({ length: 200 }, (_, i) => context.queue(QSPACE, 'PLAIN').put(`m${i}`));
    // The first answer is here: all 200 were sent in one go and are with the daemon.
    await puts[0];
    const [exit, ends] = await Promise.all([daemon.stop(), Promise.allSettled(puts)]);
    expect(exit).toEqual({ code: 0, signal: null });
    const refused = ends.filter((end) => end.status === 'rejected');
    expect(refused.filter((end) => TpError.is(end.reason) && end.reason.outcomeUnknown)).toEqual([]);
    await daemon.restart();
    const [space] = (await (await daemon.connect()).stat()).spaces;
    expect(space?.messages).toBe(ends.length - refused.length);
  });
});

test('a signal during the start ends it, and the next start is clean', async () => {
  const daemon = await TestDaemon.start({ queues: QUEUES });
  await (await daemon.connect()).queue(QSPACE, 'PLAIN').put('here before');
  await daemon.kill();
  for (const [signal, afterMs] of SIGNALS) {
    daemon.launch();
    await pause(afterMs);
    daemon.signal(signal);
    const exit = await daemon.ended(STOPS_WITHIN_MS);
    // Before its program runs, node itself ends by the signal.
    const legal = [
      { code: 0, signal: null },
      { code: null, signal },
    ];
    expect(legal, `${signal} after ${afterMs} ms\n${daemon.stderr}`).toContainEqual(exit);
  }
  await daemon.restart();
  const queue = (await daemon.connect()).queue(QSPACE, 'PLAIN');
  expect((await queue.get())?.data).toBe('here before');
  expect(await queue.get()).toBeNull();
});

/** Random moments are the point here; nothing waits for anything. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** How a waiting call ended, in a word. */
function describeEnd(end: PromiseSettledResult<unknown>): string {
  if (end.status === 'fulfilled') return `answered with ${String(end.value)}`;
  const { reason } = end;
  if (!TpError.is(reason)) return String(reason);
  const named = reason.tperrno === TPERRNO.TPEDIAGNOSTIC && reason.diagnostic === QME.QMEABORTED;
  return named ? 'QMEABORTED' : reason.message;
}
