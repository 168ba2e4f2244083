// Several forwarders and several queues: parallel work without doubling, fairness between queues (C71), waking on arrival, counts in STAT
// [spec 4.2; DESIGN 7; T86-03, 06, 10].
import { describe, expect, it } from 'vitest';
import { TPQ } from '../../clients/typescript/index.ts';
import { daemonForTest, eventually, pause } from '../support/in-process.ts';
import { queueNames } from '../support/ubb-text.ts';
import { ctlOf, Gate, put, SPACE, take } from './helpers.ts';

describe('MIN=4', () => {
  it('four work at the same time, and every message is handed out once', async () => {
    const daemon = await daemonForTest({
      spaces: [{ queues: ['S'], forwarders: [{ queues: ['S'], min: 4 }] }],
    });
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    let active = 0;
    let most = 0;
    const seen: number[] = [];
    await server.tpadvertise('S', async (call) => {
      most = Math.max(most, ++active);
      await pause(2);
      seen.push(Number(call.data));
      active--;
    });
    const numbers = Array.from({ length: 200 }, (_, i) => i);
    await Promise.all(numbers.map((n) => ctx.tpenqueue(SPACE, 'S', null, n)));
    await eventually(async () => (await daemon.queue('S')).messages === 0);
    expect(most).toBe(4);
    expect(seen.sort((a, b) => a - b)).toEqual(numbers);
  });

  it('a consumer beside them takes none that they have', async () => {
    const daemon = await daemonForTest({
      spaces: [{ queues: ['S'], forwarders: [{ queues: ['S'], min: 2 }] }],
    });
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    const seen: number[] = [];
    await server.tpadvertise('S', (call) => void seen.push(Number(call.data)));
    const numbers = Array.from({ length: 200 }, (_, i) => i);
    const mine = ctx.fork();
    const stop = new AbortController();
    const consumed = mine
      .queue<number>(SPACE, 'S')
      .consume(({ data }) => void seen.push(data), { signal: stop.signal, concurrency: 2 });
    await Promise.all(numbers.map((n) => ctx.tpenqueue(SPACE, 'S', null, n)));
    await eventually(async () => (await daemon.queue('S')).messages === 0);
    stop.abort();
    await consumed;
    expect(seen.sort((a, b) => a - b)).toEqual(numbers);
  });
});

describe('two queues of one forwarder (C71)', () => {
  it('a flood in one does not keep the other waiting', async () => {
    const daemon = await daemonForTest({
      spaces: [{ queues: ['A', 'B'], forwarders: [{ queues: ['A', 'B'] }] }],
    });
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    let slow = 0;
    let before = -1;
    await server.tpadvertise('A', async () => {
      slow++;
      await pause(5);
    });
    await server.tpadvertise('B', () => {
      before = slow;
    });
    await Promise.all(Array.from({ length: 1000 }, () => ctx.tpenqueue(SPACE, 'A', null, 'a')));
    await eventually(() => slow > 3);
    const when = slow;
    await put(ctx, 'B', 'b');
    await eventually(() => before >= 0);
    expect(before - when).toBeLessThan(10);
    expect((await daemon.queue('A')).messages).toBeGreaterThan(500);
  });

  it('a service that hangs in one does not keep another forwarder from the other', async () => {
    const daemon = await daemonForTest({
      spaces: [{ queues: ['A', 'B'], forwarders: [{ queues: ['A', 'B'], min: 2 }] }],
    });
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    const gate = new Gate();
    let seen = 0;
    await server.tpadvertise('A', gate.service);
    await server.tpadvertise('B', () => void seen++);
    await put(ctx, 'A', 'a');
    await put(ctx, 'B', ...Array.from({ length: 20 }, (_, i) => i));
    await eventually(() => seen === 20);
    gate.release();
  });

  it('a hundred empty queues in its list do not slow a busy one', async () => {
    const empty = queueNames('E', 100);
    const daemon = await daemonForTest({
      spaces: [{ queues: [...empty, 'B'], forwarders: [{ queues: [...empty, 'B'] }] }],
    });
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    let seen = 0;
    await server.tpadvertise('B', () => void seen++);
    await Promise.all(Array.from({ length: 500 }, () => ctx.tpenqueue(SPACE, 'B', null, 'b')));
    await eventually(() => seen === 500, 8000);
  });

  it('one whose service is missing does not stop the other', async () => {
    const daemon = await daemonForTest({
      spaces: [
        {
          queues: [{ name: 'A', retries: 1000, delay: 1 }, 'B'],
          forwarders: [{ queues: ['A', 'B'] }],
        },
      ],
    });
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    let seen = 0;
    await server.tpadvertise('B', () => void seen++);
    await put(ctx, 'A', 'nobody');
    daemon.clock.advance(11_000);
    await put(ctx, 'B', 1, 2, 3);
    await eventually(() => seen === 3);
  });
});

it('T86-03: it wakes on arrival: over 50 round trips a second, with 30 s between scans', async () => {
  const daemon = await daemonForTest({
    spaces: [{ queues: ['S', 'R', 'PLAIN'], forwarders: [{ queues: ['S'], idleS: 30 }] }],
  });
  const [ctx, server] = [await daemon.join(), await daemon.join()];
  await server.tpadvertise('S', (call) => call.text.toUpperCase());
  // What the machine does at this moment without a forwarder: other work may run beside the tests.
  const pairs = await inOneSecond(async () => {
    await put(ctx, 'PLAIN', 'x');
    await take(ctx, 'PLAIN');
  });
  const trips = await inOneSecond(async () => {
    await ctx.tpenqueue(SPACE, 'S', ctlOf(TPQ.TPQREPLYQ, { replyqueue: 'R' }), 'x');
    expect((await take(ctx, 'R', ctlOf(TPQ.TPQWAIT))).data).toBe('X');
  });
  expect(trips).toBeGreaterThan(Math.min(50, pairs / 5));
});

it('wakes also for a message whose retry delay ends or whose holder lets go', async () => {
  const daemon = await daemonForTest({
    spaces: [
      { queues: [{ name: 'S', retries: 9, delay: 20 }], forwarders: [{ queues: ['S'], idleS: 3600 }] },
    ],
  });
  const [ctx, server] = [await daemon.join(), await daemon.join()];
  await put(ctx, 'S', 'x');
  await ctx.tpbegin(60);
  await take(ctx, 'S');
  await ctx.tpabort();
  let seen = 0;
  await server.tpadvertise('S', () => void seen++);
  daemon.clock.advance(20_000);
  await eventually(() => seen === 1);
});

it('STAT says what was forwarded and what failed', async () => {
  const daemon = await daemonForTest({
    spaces: [{ errorQueue: 'E', queues: ['E', 'S', 'R'], forwarders: [{ queues: ['S', 'R'] }] }],
  });
  const [ctx, server] = [await daemon.join(), await daemon.join({ onError: () => undefined })];
  await server.tpadvertise('S', (call) => {
    if (call.text === 'bad') throw new Error('no');
  });
  await put(ctx, 'S', 'good', 'bad', 'good');
  await eventually(async () => (await daemon.queue('S')).messages === 0);
  expect((await ctx.stat()).forwarders).toEqual([
    { srvgrp: 'G1', srvid: 100, queues: ['S', 'R'], forwarded: 2, failed: 1, running: 1, instances: 1 },
  ]);
});

async function inOneSecond(work: () => Promise<void>): Promise<number> {
  const until = performance.now() + 1000;
  let times = 0;
  for (; performance.now() < until; times++) await work();
  return times;
}
