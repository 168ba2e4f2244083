// Rollback of a dequeue: attempts, delay, the error queue, and what counts as an attempt, over restarts [spec 2.6; C11, C41, C43]; over a kill
// in survival.test.ts.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPFLAG, TPQ, TPQQOS } from '../../../clients/typescript/index.ts';
import { daemonForAll, daemonForTest, eventually } from '../../support/in-process.ts';
import {
  attempt,
  code,
  ctlOf,
  domain,
  drain,
  got,
  hex,
  id32,
  type Members,
  OUTPUTS,
  pool,
  send,
  SPACE,
  take,
  wait,
} from './support.ts';

const zero = pool({ name: 'ZERO' }, 20);
const two = pool({ name: 'TWO', retries: 2 }, 20);
const slow = pool({ name: 'SLOW', retries: 3, delay: 100 }, 8);
const ordered = pool({ name: 'PRIO', order: 'priority', retries: 3, delay: 100 }, 3);
const daemon = daemonForAll(
  domain([
    {
      words: 'ERRORQ=ERRQ NONPERSIST="1m"',
      timeoutS: 5,
      queues: [
        { name: 'ERRQ', retries: 1, expiry: 7000 },
        ...zero.queues,
        ...two.queues,
        ...slow.queues,
        ...ordered.queues,
      ],
    },
  ]),
);
let ctx: Context;
let other: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  other = await daemon.join();
});
afterEach(async () => {
  if (ctx.tpgetlev() === 1) await ctx.tpabort();
});

const priority = (value: number): Members => ({ flags: TPQ.TPQPRIORITY, priority: value });
const pass = (seconds: number): void => daemon.clock.advance(seconds * 1000);

/** Attempts that fail until nothing is left, less the one that is no retry. */
async function retriesLeft(queue: string): Promise<number> {
  for (let done = 0; ; done++) if ((await attempt(ctx, queue)) === 'QMENOMSG') return done - 1;
}

describe('the rule', () => {
  it('[spec 2.6: if message expired] removed silently, although retries are left', async () => {
    const queue = two.next();
    await send(other, queue, 'x', { flags: TPQ.TPQEXPTIME_REL, exp_time: 100 });
    await ctx.tpbegin(600);
    expect(await got(ctx, queue)).toBe('x');
    pass(101);
    await ctx.tpabort();
    expect([await drain(other, queue), await drain(other, 'ERRQ')]).toEqual([[], []]);
  });

  it('expired, and at its last attempt: removed, not moved', async () => {
    const queue = zero.next();
    await send(other, queue, 'x', { flags: TPQ.TPQEXPTIME_REL, exp_time: 100 });
    await ctx.tpbegin(600);
    expect(await got(ctx, queue)).toBe('x');
    pass(101);
    await ctx.tpabort();
    expect([await drain(other, queue), await drain(other, 'ERRQ')]).toEqual([[], []]);
  });

  it('[spec 2.6: else if retries_done < queue.retries] back in its place after the delay', async () => {
    const queue = slow.next();
    await send(other, queue, 'a');
    await send(other, queue, 'b');
    expect(await attempt(ctx, queue)).toBe('a');
    expect(await daemon.queue(queue)).toMatchObject({ messages: 2, ready: 1, delayed: 1, locked: 0 });
    pass(90);
    expect(await got(other, queue, { flags: TPQ.TPQPEEK })).toBe('b');
    pass(11);
    expect(await drain(other, queue)).toEqual(['a', 'b']);
  });

  it('the delay counts from each rollback', async () => {
    const queue = slow.next();
    await send(other, queue, 'x');
    for (let i = 0; i < 3; i++) {
      expect(await attempt(ctx, queue)).toBe('x');
      expect(await got(other, queue)).toBe('QMENOMSG');
      pass(90);
      expect(await got(other, queue)).toBe('QMENOMSG');
      pass(11);
    }
    expect(await attempt(ctx, queue)).toBe('x');
    expect(await drain(other, 'ERRQ')).toEqual(['x']);
  });

  it('[spec 2.6: delay suspends the ordering rules] a lower-ranked message overtakes while it runs', async () => {
    const queue = ordered.next();
    await send(other, queue, 'high', priority(90));
    await send(other, queue, 'low', priority(10));
    await send(other, queue, 'lower', priority(5));
    expect(await attempt(ctx, queue)).toBe('high');
    expect(await got(other, queue)).toBe('low');
    pass(101);
    expect(await drain(other, queue)).toEqual(['high', 'lower']);
  });

  it('[spec 2.6: else if space.errorQueue exists (non-empty name and created)] moved under a new msgid', async () => {
    const queue = zero.next();
    const msgid = await send(other, queue, 'x');
    expect(await attempt(ctx, queue)).toBe('x');
    const ctl = ctlOf(TPQ.TPQMSGID);
    expect((await take(other, 'ERRQ', ctl)).data).toBe('x');
    expect(hex(ctl.msgid)).not.toBe(hex(msgid));
    for (const name of [queue, 'ERRQ'])
      expect(await got(other, name, { flags: TPQ.TPQGETBYMSGID, msgid })).toBe('QMENOMSG');
  });

  it('[spec 2.6: retries = 0 means no retry] at most retries + 1 attempts', async () => {
    for (const [queue, attempts] of [
      [zero.next(), 1],
      [two.next(), 3],
    ] as const) {
      await send(other, queue, queue);
      let done = 0;
      while ((await attempt(ctx, queue)) === queue) done++;
      expect(done).toBe(attempts);
      expect(await drain(other, 'ERRQ')).toEqual([queue]);
    }
  });

  it('[spec 2.6: One error queue per queue space] an ordinary queue: every queue’s failures, its own retries', async () => {
    const queues = [zero.next(), two.next(), zero.next()];
    for (const queue of queues) {
      await send(other, queue, queue);
      while ((await attempt(ctx, queue)) === queue);
    }
    expect((await daemon.queue('ERRQ')).messages).toBe(3);
    await ctx.tpenqueue(SPACE, 'ERRQ', null, 'by hand');
    for (let i = 0; i < 5; i++) {
      await ctx.tpbegin(60);
      await drain(ctx, 'ERRQ');
      await ctx.tpabort();
    }
    const left = await drain(other, 'ERRQ');
    expect(new Set(left)).toEqual(new Set([...queues, 'by hand']));
    expect(left).toHaveLength(4);
  });
});

describe('on the error queue', () => {
  const given: Members = {
    flags: OUTPUTS & ~TPQ.TPQMSGID,
    priority: 80,
    corrid: id32(4, 2),
    replyqueue: 'R',
    failurequeue: 'F',
    urcode: 12,
    delivery_qos: TPQQOS.TPQQOSPERSISTENT,
    reply_qos: TPQQOS.TPQQOSNONPERSISTENT,
  };

  it('[spec 2.6: what the error queue keeps] everything but the msgid; also that nothing was given', async () => {
    for (const sent of [given, {}]) {
      const queue = zero.next();
      await send(other, queue, { deep: [1] }, sent);
      const [before, after] = [ctlOf(OUTPUTS), ctlOf(OUTPUTS)];
      await ctx.tpbegin(60);
      await take(ctx, queue, before);
      await ctx.tpabort();
      const received = await take(ctx, 'ERRQ', after);
      expect([received.data, received.type]).toEqual([{ deep: [1] }, 'JSON']);
      before.msgid = after.msgid;
      expect(after).toEqual(before);
    }
  });

  it('availability is cleared, the expiry kept, and the default of the error queue not applied', async () => {
    const queue = zero.next();
    await send(other, queue, 'late', { flags: TPQ.TPQTIME_REL, deq_time: 100 });
    await send(other, queue, 'short', { flags: TPQ.TPQEXPTIME_REL, exp_time: 500 });
    expect(await attempt(ctx, queue)).toBe('short');
    pass(101);
    expect(await attempt(ctx, queue)).toBe('late');
    expect(await daemon.queue('ERRQ')).toMatchObject({ messages: 2, ready: 2 });
    pass(400);
    await eventually(async () => (await daemon.queue('ERRQ')).messages === 1);
    pass(8000);
    expect(await drain(other, 'ERRQ')).toEqual(['late']);
  });

  it('the retry count begins anew, and a non-persistent message stays one', async () => {
    const queue = two.next();
    await send(other, queue, 'x', { flags: TPQ.TPQDELIVERYQOS, delivery_qos: 4 });
    for (let i = 0; i < 3; i++) expect(await attempt(ctx, queue)).toBe('x');
    expect(await attempt(ctx, 'ERRQ')).toBe('x');
    const ctl = ctlOf(TPQ.TPQDELIVERYQOS | TPQ.TPQPEEK);
    await take(ctx, 'ERRQ', ctl);
    expect([ctl.flags, ctl.delivery_qos]).toEqual([TPQ.TPQDELIVERYQOS, 4]);
    await daemon.restart();
    expect(await drain(other, 'ERRQ')).toEqual([]);
  });

  it('[spec 2.6: Message moves to the error queue are essentially invisible to the originator] by corrid it is found there', async () => {
    const queue = zero.next();
    await send(other, queue, 'x', { flags: TPQ.TPQCORRID, corrid: 'mine' });
    await attempt(ctx, queue);
    const mine = { flags: TPQ.TPQGETBYCORRID, corrid: 'mine' };
    expect([await got(other, queue, mine), await got(other, 'ERRQ', mine)]).toEqual(['QMENOMSG', 'x']);
  });
});

describe('[spec 2.6: else drop]', () => {
  it.each([
    ['no error queue', ''],
    ['an error queue that was never created', 'ERRORQ=NEVER'],
  ])('%s: dropped, with one log line that names queue and msgid (C41)', async (_title, words) => {
    const small = await daemonForTest(domain([{ words, queues: ['DROPS', 'NEXT'] }]));
    const context = await small.join();
    const msgid = await send(context, 'DROPS', 'x');
    await send(context, 'DROPS', 'kept');
    expect(await attempt(context, 'DROPS')).toBe('x');
    expect(await drain(context, 'DROPS')).toEqual(['kept']);
    expect(small.lines('DROPS', msgid.toString('latin1'))).toHaveLength(1);
  });

  it('an error queue that is the source keeps the message', async () => {
    const small = await daemonForTest(domain([{ words: 'ERRORQ=SELF', queues: ['SELF'] }]));
    const context = await small.join();
    await send(context, 'SELF', 'x');
    for (let i = 0; i < 5; i++) expect(await attempt(context, 'SELF')).toBe('x');
    expect(await drain(context, 'SELF')).toEqual(['x']);
  });

  it('full space: a move needs no room of its own', async () => {
    const small = await daemonForTest(
      domain([{ words: 'ERRORQ=ERRQ MSGS=2 PAGES=2', queues: ['Q', 'ERRQ'] }]),
    );
    const context = await small.join();
    await send(context, 'Q', 1);
    await send(context, 'Q', 2);
    for (const n of [1, 2]) expect(await attempt(context, 'Q')).toBe(n);
    expect(await drain(context, 'ERRQ')).toEqual([1, 2]);
    expect(await code(send(context, 'Q', 3))).toBe('OK');
  });
});

describe('what counts as an attempt (C43)', () => {
  const LEFT = 2;

  it.each<[string, number, (queue: string) => Promise<unknown>]>([
    ['an abort', 1, (queue) => attempt(ctx, queue)],
    [
      'a transaction timeout',
      1,
      async (queue) => {
        await ctx.tpbegin(20);
        await take(ctx, queue);
        pass(21);
        await eventually(async () => (await daemon.queue(queue)).locked === 0);
        await ctx.tpabort();
      },
    ],
    [
      'the loss of the client',
      1,
      async (queue) => {
        const raw = await daemon.raw();
        const [, , tx] = (await raw.ask(5, 2, 60)) as [number, number, number];
        await raw.ask(4, 3, [SPACE, queue], null, 0, tx, 0, '', 0);
        raw.reset();
        await eventually(async () => (await daemon.queue(queue)).locked === 0);
      },
    ],
    ['a peek', 0, (queue) => got(ctx, queue, { flags: TPQ.TPQPEEK })],
    ['a look by another id', 0, (queue) => got(ctx, queue, { flags: TPQ.TPQGETBYCORRID, corrid: 'no' })],
    [
      'a wait that ends',
      0,
      (queue) => {
        const none = { flags: TPQ.TPQGETBYCORRID, corrid: 'no' };
        return wait(ctx, queue, none, { flags: TPFLAG.TPNOTIME, extras: { waitMs: 10 } });
      },
    ],
    [
      'TPEOTYPE',
      0,
      (queue) => code(ctx.tpdequeue(SPACE, queue, null, { type: 'CARRAY' }, TPFLAG.TPNOCHANGE)),
    ],
  ])('%s: %d', async (_title, counted, touch) => {
    const queue = two.next();
    await send(other, queue, 'x');
    await touch(queue);
    expect(await retriesLeft(queue)).toBe(LEFT - counted);
    expect(await drain(other, 'ERRQ')).toEqual(['x']);
  });

  it('the stop of the daemon is none, and the count before it is kept (C11)', async () => {
    const queue = two.next();
    await send(other, queue, 'x');
    await attempt(ctx, queue);
    await ctx.tpbegin(600);
    expect(await got(ctx, queue)).toBe('x');
    await daemon.restart();
    await code(ctx.tpabort());
    expect(await attempt(ctx, queue)).toBe('x');
    await daemon.restart();
    expect(await attempt(ctx, queue)).toBe('x');
    expect(await drain(other, 'ERRQ')).toEqual(['x']);
  });
});
