// The peer's test of limits, its scenarios with forwarders: timeouts, wake-up, order, fairness, the error queue [peer-scenarios 1.2, T86-02,
// 03, 05, 06, 09, 10, 16]. Its workers are forwarders. Each test but the one about time limits ends without the clock being set ahead, with
// forwarders that look again by themselves after 1,000 s only.
import { beforeAll, describe, expect } from 'vitest';
import { type Context, ServiceFailure, TPQ, TPU } from '../../../clients/typescript/index.ts';
import { Gate } from '../../integration/helpers.ts';
import { daemonForAll, daemonForTest, eventually, type InProcess } from '../../support/in-process.ts';
import { domain, drain, send } from '../q/support.ts';
import { emptied, inTransaction, messagesOf, scenario, sorted, up } from './support.ts';

const QOS = ['QOS000', 'QOS001', 'QOS002', 'QOS003', 'QOS004'];
const PERF = ['PERF1', 'PERF2', 'PERF3', 'PERF4'];
const daemon = daemonForAll(
  domain([
    {
      words: 'ERRORQ=ERRORREQ',
      queues: [
        'ERRORREQ',
        'ERRORRSP',
        'WAKEUP',
        { name: 'SEQVALID', retries: 3 },
        { name: 'LASTOK', retries: 3 },
        { name: 'LASTSLOW', retries: 3 },
        ...QOS.map((name) => ({ name, retries: 3, delay: 1 })),
        ...PERF,
        'FAILSVC',
      ],
      forwarders: [
        ...['WAKEUP', 'SEQVALID', 'LASTSLOW', 'LASTOK', ...QOS, PERF.join()].map(
          (q) => `-q ${q} -i 1000 -t 900`,
        ),
        '-q FAILSVC -d -i 1000',
      ],
    },
  ]),
);
let ctx: Context;
let server: Context;
beforeAll(async () => {
  ctx = await daemon.join({ flags: TPU.TPU_THREAD });
  server = await daemon.join({ onError: () => undefined });
});

/** Of each queue's forwarder: put, taken, forwarded, failed. */
async function figures(of: InProcess, ...queues: string[]): Promise<number[][]> {
  const context = await of.join();
  const { forwarders, spaces } = await context.stat();
  return queues.map((name) => {
    const queue = spaces[0]?.queues.find((one) => one.name === name);
    const forwarder = forwarders.find((one) => one.queues.join() === name);
    return [queue?.enqueued, queue?.dequeued, forwarder?.forwarded, forwarder?.failed].map(Number);
  });
}

const sendMany = (queue: string, count: number): Promise<unknown> =>
  Promise.all(up(1, count).map((n) => send(ctx, queue, n)));

/** Lets a service that waits at a gate go on, until its queue is empty. */
async function releaseUntilEmpty(gate: Gate, queue: string): Promise<void> {
  await eventually(async () => {
    gate.release();
    return (await daemon.queue(queue)).messages === 0;
  }, 100_000);
}

describe('time limits', () => {
  scenario('T86-02', async () => {
    // T_: the call is part of the transaction; NS_, ND_: it is not (-n). OK: the limit is beyond the 35 s of the service; NOK: it is not.
    const limits = { T_OK: '-t 40', T_NOK: '-t 30', NS_OK: '-n', ND_OK: '-n -t 40', ND_NOK: '-n -b 30' };
    const names = Object.keys(limits);
    const forwarders = Object.entries(limits).map(([name, words]) => `-q ${name} -i 1 ${words}`);
    const small = await daemonForTest(domain([{ words: 'ERRORQ=E', queues: ['E', ...names], forwarders }]));
    const [caller, provider] = [await small.join(), await small.join({ onError: () => undefined })];
    const gate = new Gate();
    for (const name of names) await provider.tpadvertise(name, gate.service);
    for (const name of names) await send(caller, name, name);
    await gate.calls(5);
    small.clock.advance(35_000);
    await eventually(async () => (await small.queue('E')).messages === 2);
    gate.release();
    await Promise.all(names.map((name) => emptied(small, name)));
    expect((await figures(small, ...names)).map(([enqueued, , ...ended]) => [enqueued, ...ended])).toEqual([
      [1, 1, 0],
      [1, 0, 1],
      [1, 1, 0],
      [1, 1, 0],
      [1, 0, 1],
    ]);
    expect((await drain(caller, 'E')).map(String).toSorted()).toEqual(['ND_NOK', 'T_NOK']);
  });
});

describe('without looking again', () => {
  scenario('T86-03', async () => {
    let told = 0;
    ctx.tpsetunsol(() => void told++);
    await server.tpadvertise('WAKEUP', (call) => server.tpnotify(call.cltid, 'done'));
    for (const n of up(1, 50)) {
      await send(ctx, 'WAKEUP', n);
      await eventually(() => told === n);
    }
  });

  scenario('T86-10', async () => {
    const seen = new Map<string, number>(PERF.map((name) => [name, 0]));
    for (const name of PERF) {
      await server.tpadvertise(name, () => void seen.set(name, (seen.get(name) ?? 0) + 1));
    }
    await inTransaction(ctx, async () => {
      await Promise.all([sendMany('PERF2', 200), sendMany('PERF3', 200)]);
      await Promise.all([sendMany('PERF1', 1), sendMany('PERF4', 1)]);
    });
    for (const name of PERF) await emptied(daemon, name);
    expect([...seen.values()]).toEqual([1, 200, 200, 1]);
  });
});

scenario('T86-05', async () => {
  const seen: unknown[] = [];
  await server.tpadvertise('SEQVALID', (call) => void seen.push(call.data));
  await inTransaction(ctx, () => sendMany('SEQVALID', 1000));
  await emptied(daemon, 'SEQVALID');
  expect(seen).toEqual(up(1, 1000));
  expect(await figures(daemon, 'SEQVALID')).toEqual([[1000, 1000, 1000, 0]]);
});

describe('a slow service holds up nobody else', () => {
  scenario('T86-06', async () => {
    const slow = new Gate();
    await server.tpadvertise('LASTSLOW', slow.service);
    await server.tpadvertise('LASTOK', () => undefined);
    await Promise.all([sendMany('LASTOK', 5), sendMany('LASTSLOW', 60)]);
    const clients = await Promise.all(up(1, 40).map(() => daemon.join()));
    await Promise.all(clients.flatMap((one) => up(1, 5).map((n) => send(one, 'LASTOK', n))));
    await emptied(daemon, 'LASTOK');
    expect(await figures(daemon, 'LASTOK', 'LASTSLOW')).toEqual([
      [205, 205, 205, 0],
      [60, 0, 0, 0],
    ]);
    await releaseUntilEmpty(slow, 'LASTSLOW');
    expect(await figures(daemon, 'LASTSLOW')).toEqual([[60, 60, 60, 0]]);
  });

  scenario('T86-09', async () => {
    const slow = new Gate();
    for (const name of QOS)
      await server.tpadvertise(name, name === 'QOS000' ? slow.service : () => undefined);
    await Promise.all(QOS.map((name) => sendMany(name, 100)));
    await sendMany('QOS003', 100);
    for (const name of QOS.slice(1)) await emptied(daemon, name);
    expect(await figures(daemon, ...QOS)).toEqual([
      [100, 0, 0, 0],
      [100, 100, 100, 0],
      [100, 100, 100, 0],
      [200, 200, 200, 0],
      [100, 100, 100, 0],
    ]);
    await releaseUntilEmpty(slow, 'QOS000');
    expect(await figures(daemon, 'QOS000')).toEqual([[100, 100, 100, 0]]);
  });
});

scenario('T86-16', async () => {
  await server.tpadvertise('FAILSVC', (call) => {
    throw new ServiceFailure(1, `RSP ${String(call.data)}`);
  });
  const members = { flags: TPQ.TPQFAILUREQ, failurequeue: 'ERRORRSP' };
  await Promise.all(up(1, 100).map((n) => send(ctx, 'FAILSVC', n, members)));
  await emptied(daemon, 'FAILSVC');
  await eventually(async () => (await messagesOf(daemon, ['ERRORREQ', 'ERRORRSP'])).join() === '100,100');
  expect(sorted(await drain(ctx, 'ERRORREQ'))).toEqual(up(1, 100));
  const replies = (await drain(ctx, 'ERRORRSP')).map((text) => String(text).replace(/^RSP /, ''));
  expect(sorted(replies)).toEqual(up(1, 100));
});
