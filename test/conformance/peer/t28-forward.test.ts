// The peer's function test of queues: its scenarios with a forwarder and a service [peer-scenarios 1.1, T28-02, 03, 24 to 27]. Its automatic
// queues are queues with a TMQFORWARD, its tries are retries, and what it gives a failure queue is what the service returned with its failure
// (TMQFORWARD -d).
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type Context, ServiceFailure, TPFLAG, TPQ, TPU, typed } from '../../../clients/typescript/index.ts';
import { daemonForAll, eventually } from '../../support/in-process.ts';
import { ctlOf, domain, drain, got, type Members, send, take, wallS } from '../q/support.ts';
import { down, emptied, messagesOf, scenario, sorted, up } from './support.ts';

const daemon = daemonForAll(
  domain([
    {
      words: 'ERRORQ=ERRQ',
      queues: [
        'ERRQ',
        'FUT_FIFO_AUTO',
        { name: 'FUT_LIFO_AUTO', order: 'lifo' },
        { name: 'OKQ1', retries: 5 },
        { name: 'BADQ1', retries: 3 },
        { name: 'RFQ', retries: 100 },
        'REPLYQ',
        'DEADQ',
      ],
      forwarders: [
        '-q FUT_FIFO_AUTO -i 1',
        '-q FUT_LIFO_AUTO -i 1',
        '-q OKQ1 -i 1',
        '-q BADQ1 -i 1 -d',
        '-q RFQ -i 1',
      ],
    },
  ]),
);
let ctx: Context;
let server: Context;
/** What the services sent to this client. */
const broadcast: number[] = [];
beforeAll(async () => {
  ctx = await daemon.join({ flags: TPU.TPU_THREAD, cltname: 'listener' });
  ctx.tpsetunsol(({ data }) => void broadcast.push(Number(data)));
  server = await daemon.join({ onError: () => undefined });
});
afterAll(() => expect(daemon.lines('"level":"error"')).toEqual([]));

const numbers = up(0, 99);
/** A fielded buffer with one number in it. */
const ubf = (n: number): unknown => typed('FML32', '', Buffer.from(`FIELD ${n}`));
const fieldOf = (data: unknown): string => Buffer.from(data as Uint8Array).toString();
const REPLY: Members = { flags: TPQ.TPQREPLYQ, replyqueue: 'REPLYQ' };

/** Texts of this many messages of a queue, as soon as they are there. */
async function takeAll(queue: string, count: number): Promise<string[]> {
  const texts: string[] = [];
  for (let i = 0; i < count; i++) texts.push(fieldOf((await take(ctx, queue, ctlOf(TPQ.TPQWAIT))).data));
  expect(await got(ctx, queue)).toBe('QMENOMSG');
  return texts;
}

const due = (fromNowS: number): Members => ({ flags: TPQ.TPQTIME_ABS, deq_time: wallS(daemon, fromNowS) });
/** Everything that the service has sent since it was asked last, once there are so many. */
async function arrived(queue: string, count: number, left: number): Promise<number[]> {
  await eventually(() => broadcast.length >= count, 20_000);
  await eventually(async () => (await daemon.queue(queue)).messages === left);
  return broadcast.splice(0);
}
const echo = (call: { data: unknown }): Promise<void> =>
  server.tpbroadcast(null, null, 'listener', String(call.data));
const svcOk = (call: { text: string }): unknown => typed('FML32', '', Buffer.from(`${call.text} OK`));

describe('delayed messages of a forwarded queue', () => {
  scenario('T28-02', async () => {
    await server.tpadvertise('FUT_FIFO_AUTO', echo);
    // One after the other, as the order is the matter.
    for (const n of up(0, 199)) {
      await send(ctx, 'FUT_FIFO_AUTO', n, n % 2 === 1 ? {} : due(n >= 100 ? 200 : 350));
    }
    expect(await arrived('FUT_FIFO_AUTO', 100, 100)).toEqual(up(1, 199, 2));
    daemon.clock.advance(205_000);
    expect(await arrived('FUT_FIFO_AUTO', 50, 50)).toEqual(up(100, 198, 2));
    daemon.clock.advance(150_000);
    expect(await arrived('FUT_FIFO_AUTO', 50, 0)).toEqual(up(0, 98, 2));
  });

  scenario('T28-03', async () => {
    await server.tpadvertise('FUT_LIFO_AUTO', echo);
    const [early, late] = [due(200), due(350)];
    for (const n of up(0, 198, 2)) await send(ctx, 'FUT_LIFO_AUTO', n, n >= 100 ? late : early);
    daemon.clock.advance(205_000);
    expect(await arrived('FUT_LIFO_AUTO', 50, 50)).toEqual(down(98, 0, 2));
    daemon.clock.advance(150_000);
    expect(await arrived('FUT_LIFO_AUTO', 50, 0)).toEqual(down(198, 100, 2));
  });
});

describe('forwarding', () => {
  scenario('T28-24', async () => {
    await server.tpadvertise('OKQ1', svcOk);
    await Promise.all(numbers.map((n) => send(ctx, 'OKQ1', ubf(n))));
    await emptied(daemon, 'OKQ1');
    await daemon.restart();
    expect(await messagesOf(daemon, ['OKQ1', 'REPLYQ', 'ERRQ'])).toEqual([0, 0, 0]);
  });

  scenario('T28-25', async () => {
    await server.tpadvertise('OKQ1', svcOk);
    await Promise.all(numbers.map((n) => send(ctx, 'OKQ1', ubf(n), REPLY)));
    const replies = await takeAll('REPLYQ', 100);
    expect(replies.toSorted()).toEqual(numbers.map((n) => `FIELD ${n} OK`).toSorted());
    await daemon.restart();
    expect(await messagesOf(daemon, ['OKQ1', 'REPLYQ', 'ERRQ'])).toEqual([0, 0, 0]);
  });

  scenario('T28-26', async () => {
    await server.tpadvertise('BADQ1', (call) => {
      throw new ServiceFailure(1, typed('FML32', '', Buffer.from(call.text)));
    });
    const members = { flags: TPQ.TPQFAILUREQ, failurequeue: 'DEADQ' };
    await Promise.all(numbers.map((n) => send(ctx, 'BADQ1', ubf(n), members)));
    const dead = await takeAll('DEADQ', 100);
    expect(dead.toSorted()).toEqual(numbers.map((n) => `FIELD ${n}`).toSorted());
    await emptied(daemon, 'BADQ1');
    expect(await messagesOf(daemon, ['DEADQ', 'ERRQ'])).toEqual([0, 0]);
  });

  scenario('T28-27', async () => {
    let [calls, outside] = [0, 0];
    await server.tpadvertise('RFQ', (call) => {
      outside += call.tpgetlev() === 1 && (call.flags & TPFLAG.TPTRAN) !== 0 ? 0 : 1;
      if (++calls % 4 === 0) throw new ServiceFailure(1);
      return call.data;
    });
    await Promise.all(numbers.map((n) => send(ctx, 'RFQ', n, REPLY)));
    const replies: unknown[] = [];
    for (let i = 0; i < 100; i++) replies.push((await take(ctx, 'REPLYQ', ctlOf(TPQ.TPQWAIT))).data);
    expect(sorted(replies)).toEqual(numbers);
    await emptied(daemon, 'RFQ');
    expect([calls, outside]).toEqual([133, 0]);
    expect([await drain(ctx, 'REPLYQ'), await drain(ctx, 'ERRQ')]).toEqual([[], []]);
  });
});
