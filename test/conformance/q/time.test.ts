// Availability, expiry and retry delay: which clock they follow, what a restart and a step of the clock leave of them, and that expiry
// needs nobody to dequeue [spec 2.4, 8.7; C07, C21, C35, C37].
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPQ } from '../../../clients/typescript/index.ts';
import { daemonForAll, daemonForTest, eventually } from '../../support/in-process.ts';
import {
  attempt,
  domain,
  drain,
  got,
  hex,
  holds,
  type Members,
  parked,
  pool,
  send,
  sendCode,
  wait,
  wallS,
} from './support.ts';

const plain = pool({ name: 'P', retries: 99 }, 60);
const slow = pool({ name: 'S', retries: 99, delay: 100 }, 8);
const brief = pool({ name: 'E', expiry: 100 }, 4);
const space = {
  words: 'ERRORQ=ERRQ NONPERSIST="1m"',
  queues: ['ERRQ', 'FAILQ', ...plain.queues, ...slow.queues, ...brief.queues],
};
const daemon = daemonForAll(domain([space]));
let ctx: Context;
let other: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  other = await daemon.join();
});

const delay = (deq_time: number): Members => ({ flags: TPQ.TPQTIME_REL, deq_time });
const due = (inS: number): Members => ({ flags: TPQ.TPQTIME_ABS, deq_time: wallS(daemon, inS) });
const life = (exp_time: number): Members => ({ flags: TPQ.TPQEXPTIME_REL, exp_time });
const end = (inS: number): Members => ({ flags: TPQ.TPQEXPTIME_ABS, exp_time: wallS(daemon, inS) });
const pass = (seconds: number): void => daemon.clock.advance(seconds * 1000);
const HOUR_S = 3600;

describe('availability', () => {
  it.each<[string, (seconds: number) => Members]>([
    ['[spec 2.4: TPQTIME_ABS] absolute, seconds since 1970', due],
    ['relative', delay],
  ])('%s: not before, then there, in its place', async (_title, when) => {
    const queue = plain.next();
    await send(ctx, queue, 'late', when(100));
    await send(ctx, queue, 'now');
    const msgid = await send(ctx, queue, 'also late', { ...when(100) });
    expect(await daemon.queue(queue)).toMatchObject({ messages: 3, ready: 1, delayed: 2 });
    expect(await got(ctx, queue)).toBe('now');
    pass(90);
    expect(await got(ctx, queue)).toBe('QMENOMSG');
    expect(await got(ctx, queue, { flags: TPQ.TPQGETBYMSGID, msgid })).toBe('QMENOMSG');
    expect(await got(ctx, queue, { flags: TPQ.TPQPEEK })).toBe('QMENOMSG');
    pass(11);
    expect(await drain(ctx, queue)).toEqual(['late', 'also late']);
  });

  it('a relative one counts from the call, not from the commit', async () => {
    const queue = plain.next();
    await ctx.tpbegin(600);
    await send(ctx, queue, 'x', delay(100));
    pass(90);
    await ctx.tpcommit();
    expect(await got(ctx, queue)).toBe('QMENOMSG');
    pass(11);
    expect(await got(ctx, queue)).toBe('x');
  });

  it('one that is due before the commit is there with the commit', async () => {
    const queue = plain.next();
    await ctx.tpbegin(600);
    await send(ctx, queue, 'x', delay(100));
    pass(101);
    expect(await got(other, queue)).toBe('QMENOMSG');
    await ctx.tpcommit();
    expect(await got(other, queue)).toBe('x');
  });

  it.each<[string, (seconds: number) => Members, number]>([
    ['relative', delay, 0],
    ['absolute', due, 0],
    ['by corrid', delay, TPQ.TPQGETBYCORRID],
    ['by msgid', delay, TPQ.TPQGETBYMSGID],
    ['peeking', delay, TPQ.TPQPEEK],
  ])('wakes a waiter with no other traffic: %s (C07)', async (_title, when, by) => {
    const queue = plain.next();
    const members = when(100);
    const flags = (members.flags ?? 0) | TPQ.TPQCORRID;
    const msgid = await send(ctx, queue, 'x', { ...members, flags, corrid: 'c' });
    const waiting = wait(other, queue, { flags: by, corrid: 'c', msgid });
    await parked(daemon, queue, 1);
    pass(90);
    expect((await daemon.queue(queue)).waiters).toBe(1);
    pass(11);
    expect(await waiting).toBe('x');
    await drain(ctx, queue);
  });

  it('the end of a retry delay wakes a waiter (C07)', async () => {
    const queue = slow.next();
    await send(other, queue, 'x');
    expect(await attempt(ctx, queue)).toBe('x');
    const waiting = wait(other, queue);
    await parked(daemon, queue, 1);
    pass(101);
    expect(await waiting).toBe('x');
  });

  it('two thousand with as many delays: at each time exactly those that are due (C37)', async () => {
    const queue = plain.next();
    const delays = Array.from({ length: 2000 }, (_, i) => 10 + 10 * ((i * 7919) % 60));
    await Promise.all(delays.map((seconds, i) => send(ctx, queue, i, delay(seconds))));
    let passed = 0;
    for (const at of [5, 105, 305, 605]) {
      pass(at - passed);
      passed = at;
      const ready = delays.filter((seconds) => seconds <= at).length;
      await eventually(async () => (await daemon.queue(queue)).ready === ready);
    }
    const taken = await Promise.all(delays.map(() => got(ctx, queue)));
    expect(taken).toEqual(delays.map((_, i) => i));
  });
});

describe('expiry', () => {
  it.each<[string, (seconds: number) => Members]>([
    ['absolute', end],
    ['relative', life],
  ])('[spec 2.4: Expiry] %s: removed at its time, not before', async (_title, when) => {
    const queue = plain.next();
    await send(ctx, queue, 'x', when(100));
    pass(90);
    expect(await got(ctx, queue, { flags: TPQ.TPQPEEK })).toBe('x');
    pass(11);
    expect(await got(ctx, queue)).toBe('QMENOMSG');
  });

  it('the queue’s default; TPQEXPTIME_NONE and an own one override it', async () => {
    const queue = brief.next();
    await send(ctx, queue, 'default');
    await send(ctx, queue, 'none', { flags: TPQ.TPQEXPTIME_NONE });
    await send(ctx, queue, 'own', life(300));
    await send(ctx, queue, 'shorter', life(50));
    pass(51);
    await holds(daemon, queue, 3);
    pass(50);
    await holds(daemon, queue, 2);
    pass(200);
    expect(await drain(ctx, queue)).toEqual(['none']);
  });

  it('[spec 8.7: Clock = queue manager machine] a relative one starts when the message arrives, not at the commit', async () => {
    const queue = plain.next();
    await ctx.tpbegin(600);
    await send(ctx, queue, 'gone', life(100));
    pass(60);
    await send(ctx, queue, 'stays', life(100));
    pass(50);
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual(['stays']);
  });

  it('[spec 8.7: On expiry] reclaimed with nobody dequeuing; no error queue, no failure queue', async () => {
    const [queue, delayed] = [plain.next(), plain.next()];
    const failure = { failurequeue: 'FAILQ', replyqueue: 'FAILQ' };
    const flags = TPQ.TPQEXPTIME_REL | TPQ.TPQFAILUREQ | TPQ.TPQREPLYQ;
    for (let i = 0; i < 50; i++) await send(ctx, queue, i, { flags, exp_time: 100, ...failure });
    await send(ctx, delayed, 'x', {
      flags: flags | TPQ.TPQTIME_REL,
      deq_time: 500,
      exp_time: 100,
      ...failure,
    });
    pass(101);
    await holds(daemon, queue, 0);
    await holds(daemon, delayed, 0);
    expect(await daemon.queue(queue)).toMatchObject({
      ready: 0,
      delayed: 0,
      locked: 0,
      bytes: 0,
      dequeued: 0,
    });
    expect([await drain(ctx, 'ERRQ'), await drain(ctx, 'FAILQ')]).toEqual([[], []]);
  });

  it('[spec 8.7: Message inside an open transaction] enqueued: the commit succeeds, and it is gone at once', async () => {
    const queue = plain.next();
    await ctx.tpbegin(600);
    await send(ctx, queue, 'gone', life(100));
    await send(ctx, queue, 'stays');
    pass(101);
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual(['stays']);
  });

  it.each([
    ['committed', 'tpcommit'],
    ['rolled back: removed, no attempt more', 'tpabort'],
  ] as const)('a dequeue whose message expires meanwhile, %s', async (_title, how) => {
    const queue = plain.next();
    await send(other, queue, 'x', life(100));
    await ctx.tpbegin(600);
    expect(await got(ctx, queue)).toBe('x');
    pass(101);
    expect(await daemon.queue(queue)).toMatchObject({ messages: 1, locked: 1 });
    await ctx[how]();
    await holds(daemon, queue, 0);
    expect(await drain(other, 'ERRQ')).toEqual([]);
  });

  it('ends a retry delay too', async () => {
    const queue = slow.next();
    await send(other, queue, 'x', life(50));
    expect(await attempt(ctx, queue)).toBe('x');
    pass(51);
    await holds(daemon, queue, 0);
    pass(60);
    expect(await got(other, queue)).toBe('QMENOMSG');
  });

  it('does not wake a waiter with an expired message', async () => {
    const queue = plain.next();
    const flags = TPQ.TPQTIME_REL | TPQ.TPQEXPTIME_REL;
    await send(ctx, queue, 'x', { flags, deq_time: 100, exp_time: 100 });
    const waiting = wait(other, queue);
    await parked(daemon, queue, 1);
    pass(101);
    await send(ctx, queue, 'y');
    expect(await waiting).toBe('y');
    await holds(daemon, queue, 0);
  });

  it('of a non-persistent message is the same', async () => {
    const queue = plain.next();
    const flags = TPQ.TPQEXPTIME_REL | TPQ.TPQDELIVERYQOS;
    await send(ctx, queue, 'x', { flags, exp_time: 100, delivery_qos: 4 });
    pass(101);
    await holds(daemon, queue, 0);
  });
});

describe('when the wall clock steps (C21)', () => {
  it('relative times keep their length, absolute ones follow it; order and ids are not touched', async () => {
    const small = await daemonForTest(domain([{ queues: ['REL', 'ABS', 'LIFE', 'END', 'FIFO', 'TX'] }]));
    const context = await small.join();
    const nowS = wallS(small);
    const ids = new Set<string>();
    const put = async (queue: string, data: unknown, members: Members = {}): Promise<void> => {
      ids.add(hex(await send(context, queue, data, members)));
    };
    await put('REL', 'x', delay(HOUR_S));
    await put('LIFE', 'x', life(HOUR_S));
    await put('ABS', 'x', { flags: TPQ.TPQTIME_ABS, deq_time: nowS + HOUR_S });
    await put('END', 'x', { flags: TPQ.TPQEXPTIME_ABS, exp_time: nowS + 2 * HOUR_S });
    await put('FIFO', 1);
    small.clock.stepWall(-1_800_000);
    await put('FIFO', 2);
    small.clock.advance(HOUR_S * 1000 + 1000);
    // By the wall clock half an hour is left.
    expect([await got(context, 'ABS'), await got(context, 'REL')]).toEqual(['QMENOMSG', 'x']);
    await holds(small, 'LIFE', 0);
    await put('REL', 'y', delay(HOUR_S));
    await put('LIFE', 'y', life(HOUR_S));
    small.clock.stepWall(7_200_000);
    await put('FIFO', 3);
    expect([await got(context, 'ABS'), await got(context, 'REL')]).toEqual(['x', 'QMENOMSG']);
    expect([await got(context, 'END'), await got(context, 'LIFE')]).toEqual(['QMENOMSG', 'y']);
    expect(await drain(context, 'FIFO')).toEqual([1, 2, 3]);
    expect(ids.size).toBe(9);
  });

  it('a waiter and an expiry that the step made due are not forgotten', async () => {
    const small = await daemonForTest(domain([{ queues: ['ABS', 'END'] }]));
    const context = await small.join();
    await send(context, 'END', 'x', { flags: TPQ.TPQEXPTIME_ABS, exp_time: wallS(small, HOUR_S) });
    await send(context, 'ABS', 'x', { flags: TPQ.TPQTIME_ABS, deq_time: wallS(small, HOUR_S) });
    const waiting = wait(context, 'ABS');
    await parked(small, 'ABS', 1);
    small.clock.stepWall(HOUR_S * 1000 + 1000);
    small.clock.advance(61_000);
    expect(await waiting).toBe('x');
    await holds(small, 'END', 0);
  });

  it('-t, a transaction’s time and a retry delay keep their length; after a restart nothing is late', async () => {
    const small = await daemonForTest(
      domain([{ timeoutS: 600, queues: ['W', 'Q', { name: 'S', retries: 9, delay: 300 }] }]),
    );
    const [context, second] = [await small.join(), await small.join()];
    await send(context, 'S', 'x');
    expect(await attempt(context, 'S')).toBe('x');
    await send(context, 'Q', 'later', delay(500));
    await context.tpbegin(300);
    await send(context, 'Q', 'never');
    const waiting = wait(second, 'W');
    await parked(small, 'W', 1);
    small.clock.stepWall(-HOUR_S * 1000);
    small.clock.advance(290_000);
    expect(await got(second, 'S')).toBe('QMENOMSG');
    expect((await small.queue('W')).waiters).toBe(1);
    small.clock.advance(12_000);
    expect(await got(second, 'S')).toBe('x');
    await holds(small, 'Q', 1);
    await context.tpabort();
    small.clock.advance(300_000);
    expect(await waiting).toBe('QMENOMSG');
    expect(await got(second, 'Q')).toBe('later');
    await small.restart();
    await send(second, 'Q', 'after', delay(100));
    small.clock.advance(101_000);
    expect(await got(second, 'Q')).toBe('after');
  });
});

describe('after a restart (C35)', () => {
  it('delays, expiries, retry delays and settings go on, also over the time that the daemon was down', async () => {
    const small = await daemonForTest(
      domain([
        {
          words: 'ERRORQ=ERRQ',
          queues: [
            'ERRQ',
            'REL5',
            'REL',
            'ABS',
            'LIFE5',
            'LIFE',
            'END',
            { name: 'RETRY', retries: 1, delay: 200 },
            { name: 'EXPIRING', expiry: 200 },
            { name: 'LIFO', order: 'lifo' },
          ],
        },
      ]),
    );
    const context = await small.join();
    const nowS = wallS(small);
    await send(context, 'REL5', 'x', delay(5));
    await send(context, 'REL', 'x', delay(200));
    await send(context, 'ABS', 'x', { flags: TPQ.TPQTIME_ABS, deq_time: nowS + 200 });
    await send(context, 'LIFE5', 'x', life(5));
    await send(context, 'LIFE', 'x', life(200));
    await send(context, 'END', 'x', { flags: TPQ.TPQEXPTIME_ABS, exp_time: nowS + 200 });
    await send(context, 'RETRY', 'x');
    expect(await attempt(context, 'RETRY')).toBe('x');
    await send(context, 'EXPIRING', 'x');
    await small.stop();
    small.clock.advance(100_000);
    await small.start();
    const queues = ['REL5', 'REL', 'ABS', 'LIFE5', 'LIFE', 'END', 'RETRY', 'EXPIRING'];
    const ready = async (): Promise<string[]> => {
      const found = await Promise.all(queues.map(async (name) => (await small.queue(name)).ready > 0));
      return queues.filter((_, i) => found[i]);
    };
    expect(await ready()).toEqual(['REL5', 'LIFE', 'END', 'EXPIRING']);
    expect(await got(context, 'REL5')).toBe('x');
    await holds(small, 'LIFE5', 0);
    small.clock.advance(90_000);
    expect(await ready()).toEqual(['LIFE', 'END', 'EXPIRING']);
    small.clock.advance(12_000);
    await eventually(async () => (await ready()).join() === 'REL,ABS,RETRY');
    expect([await drain(context, 'REL'), await drain(context, 'ABS')]).toEqual([['x'], ['x']]);
    // The second of two attempts: its count was kept, and the queue's settings too.
    expect(await attempt(context, 'RETRY')).toBe('x');
    expect(await drain(context, 'ERRQ')).toEqual(['x']);
    for (const n of [1, 2]) await send(context, 'LIFO', n);
    expect(await drain(context, 'LIFO')).toEqual([2, 1]);
  });
});

describe('any number of seconds', () => {
  const DAY_S = 86_400;
  it.each([25 * DAY_S, 50 * DAY_S, 3650 * DAY_S])('%d: longer than a timer can run', async (seconds) => {
    const small = await daemonForTest(domain([{ queues: ['D', 'L', { name: 'W' }] }]));
    const context = await small.join();
    await send(context, 'D', 'x', delay(seconds));
    await send(context, 'L', 'x', life(seconds));
    expect(await got(context, 'D')).toBe('QMENOMSG');
    let left = seconds - 100;
    for (; left > 40 * DAY_S; left -= 40 * DAY_S) {
      small.clock.advance(40 * DAY_S * 1000);
      // Some traffic, or the connection would be taken for dead.
      await small.queue('D');
    }
    small.clock.advance(left * 1000);
    expect([await got(context, 'D'), (await small.queue('L')).messages]).toEqual(['QMENOMSG', 1]);
    small.clock.advance(101_000);
    expect(await got(context, 'D')).toBe('x');
    await holds(small, 'L', 0);
  });

  it.each([2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 43, Number.MAX_SAFE_INTEGER])(
    '%d: taken for every kind of time, not due, and the same after a restart',
    async (seconds) => {
      const small = await daemonForTest(domain([{ queues: ['D', 'L'] }]));
      const context = await small.join();
      for (const flags of [TPQ.TPQTIME_ABS, TPQ.TPQTIME_REL])
        expect(await sendCode(context, 'D', { flags, deq_time: seconds })).toBe('OK');
      for (const flags of [TPQ.TPQEXPTIME_ABS, TPQ.TPQEXPTIME_REL])
        expect(await sendCode(context, 'L', { flags, exp_time: seconds })).toBe('OK');
      await small.restart();
      expect(await small.queue('D')).toMatchObject({ messages: 2, ready: 0, delayed: 2 });
      expect(await got(context, 'D')).toBe('QMENOMSG');
      expect(await drain(context, 'L')).toEqual(['x', 'x']);
    },
  );
});
