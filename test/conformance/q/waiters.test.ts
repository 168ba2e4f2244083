// What a waiter gets when more than one message comes to be available at once, and what ends it [spec 2.3, 2.5, 11]: the pick is always the
// first in the queue's order, whatever event made it available.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPFLAG, TPQ } from '../../../clients/typescript/index.ts';
import { daemonForAll, eventually } from '../../support/in-process.ts';
import {
  code,
  ctlOf,
  domain,
  drain,
  got,
  type Members,
  parked,
  pool,
  send,
  sendTo,
  SPACE,
  wait,
} from './support.ts';

const ranked = pool({ name: 'R', order: 'priority', outOfOrder: 'top,msgid', retries: 9 }, 20);
const delayed = pool({ name: 'D', order: 'priority', retries: 9, delay: 100 }, 6);
const plain = pool({ name: 'P', retries: 9 }, 30);
const daemon = daemonForAll(
  domain([
    { queues: [...ranked.queues, ...delayed.queues, ...plain.queues] },
    { name: 'ONE', words: 'PROCS=1', queues: ['Q', 'R'] },
    { name: 'TIMED', words: 'PROCS=1', queues: ['Q', 'R'] },
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

const priority = (value: number, more: Members = {}): Members => ({
  ...more,
  flags: TPQ.TPQPRIORITY | (more.flags ?? 0),
  priority: value,
});
const pass = (seconds: number): void => daemon.clock.advance(seconds * 1000);

async function waiters(queue: string, count: number): Promise<Promise<unknown>[]> {
  const waits: Promise<unknown>[] = [];
  for (let i = 1; i <= count; i++) {
    waits.push(wait(other, queue));
    await parked(daemon, queue, i);
  }
  return waits;
}

describe('the first in the order, not the first that came', () => {
  it('of one commit', async () => {
    const queue = ranked.next();
    const waits = await waiters(queue, 3);
    await ctx.tpbegin(60);
    await send(ctx, queue, 'low', priority(10));
    await send(ctx, queue, 'high', priority(90));
    await send(ctx, queue, 'middle', priority(50));
    await send(ctx, queue, 'top', { flags: TPQ.TPQTOP });
    await ctx.tpcommit();
    expect(await Promise.all(waits)).toEqual(['top', 'high', 'middle']);
    expect(await drain(ctx, queue)).toEqual(['low']);
  });

  it('of one rollback', async () => {
    const queue = ranked.next();
    for (const value of [10, 90, 50]) await send(other, queue, value, priority(value));
    await ctx.tpbegin(60);
    // Taken in another order than theirs.
    const lowest = await got(ctx, queue, { flags: TPQ.TPQGETBYMSGID, msgid: await lastId(queue) });
    const rest = await drain(ctx, queue);
    expect([lowest, rest]).toEqual([10, [90, 50]]);
    const waits = await waiters(queue, 2);
    await ctx.tpabort();
    expect(await Promise.all(waits)).toEqual([90, 50]);
    expect(await drain(ctx, queue)).toEqual([10]);
  });

  it('of one instant at which several are due', async () => {
    const queue = ranked.next();
    const at = { flags: TPQ.TPQTIME_ABS, deq_time: Math.floor(daemon.clock.wallMs() / 1000) + 100 };
    for (const value of [10, 90, 50]) await send(ctx, queue, value, priority(value, at));
    const waits = await waiters(queue, 2);
    pass(102);
    expect(await Promise.all(waits)).toEqual([90, 50]);
    expect(await drain(ctx, queue)).toEqual([10]);
  });

  it('of one instant at which several may be retried', async () => {
    const queue = delayed.next();
    for (const value of [10, 90, 50]) await send(other, queue, value, priority(value));
    await ctx.tpbegin(60);
    await drain(ctx, queue);
    await ctx.tpabort();
    const waits = await waiters(queue, 2);
    pass(101);
    expect(await Promise.all(waits)).toEqual([90, 50]);
    expect(await drain(ctx, queue)).toEqual([10]);
  });

  it('of messages that wait for others: a waiter by corrid takes its own from behind the head', async () => {
    const queue = ranked.next();
    const first = wait(other, queue, { flags: TPQ.TPQGETBYCORRID, corrid: 'c' });
    await parked(daemon, queue, 1);
    await ctx.tpbegin(60);
    await send(ctx, queue, 'high', priority(90));
    for (const value of [10, 20])
      await send(ctx, queue, value, priority(value, { flags: TPQ.TPQCORRID, corrid: 'c' }));
    await ctx.tpcommit();
    expect(await first).toBe(20);
    expect(await drain(ctx, queue)).toEqual(['high', 10]);
  });
});

describe('a message in its retry delay', () => {
  it('is found neither by id nor by a peek, and its place is kept', async () => {
    const queue = delayed.next();
    const msgid = await send(other, queue, 'x', { flags: TPQ.TPQCORRID, corrid: 'c' });
    await ctx.tpbegin(60);
    await drain(ctx, queue);
    await ctx.tpabort();
    for (const flags of [0, TPQ.TPQGETBYMSGID, TPQ.TPQGETBYCORRID])
      for (const peek of [0, TPQ.TPQPEEK])
        expect(await got(other, queue, { flags: flags | peek, msgid, corrid: 'c' })).toBe('QMENOMSG');
    const waiting = wait(other, queue, { flags: TPQ.TPQGETBYMSGID, msgid });
    await parked(daemon, queue, 1);
    pass(101);
    expect(await waiting).toBe('x');
  });
});

describe('in a transaction', () => {
  it('a peek is as with TPNOTRAN: its TPEOTYPE leaves the transaction usable', async () => {
    const [queue, second] = [plain.next(), plain.next()];
    await send(other, queue, 'text');
    await ctx.tpbegin(60);
    await send(ctx, second, 'x');
    const peek = ctx.tpdequeue(SPACE, queue, ctlOf(TPQ.TPQPEEK), { type: 'CARRAY' }, TPFLAG.TPNOCHANGE);
    expect(await code(peek)).toBe('TPEOTYPE');
    expect(await code(ctx.tpcommit())).toBe('OK');
    expect([await drain(other, queue), await drain(other, second)]).toEqual([['text'], ['x']]);
  });

  it('so is its QMESYSTEM when it cannot be parked', async () => {
    const first = wait(other, 'Q', {}, { qspace: 'ONE' });
    await parked(daemon, 'Q', 1, 'ONE');
    await ctx.tpbegin(60);
    const peek = wait(ctx, 'R', { flags: TPQ.TPQPEEK }, { qspace: 'ONE' });
    expect(await peek).toBe('QMESYSTEM');
    expect(await code(ctx.tpcommit())).toBe('OK');
    await sendTo(ctx, 'ONE', 'Q', 'x');
    expect(await first).toBe('x');
  });

  it('a wait that its time ends gives back its action', async () => {
    await ctx.tpbegin(20);
    const first = wait(ctx, 'Q', {}, { qspace: 'TIMED' });
    await parked(daemon, 'Q', 1, 'TIMED');
    expect(await wait(other, 'R', {}, { qspace: 'TIMED' })).toBe('QMESYSTEM');
    pass(21);
    expect(await first).toBe('TPETIME');
    const second = wait(other, 'R', {}, { qspace: 'TIMED' });
    await parked(daemon, 'R', 1, 'TIMED');
    await sendTo(other, 'TIMED', 'R', 'x');
    expect(await second).toBe('x');
  });

  it('a wait with another type than the message: TPEOTYPE, rollback-only, the next waiter gets it', async () => {
    const queue = plain.next();
    await ctx.tpbegin(60);
    const strict = code(
      ctx.tpdequeue(SPACE, queue, ctlOf(TPQ.TPQWAIT), { type: 'CARRAY' }, TPFLAG.TPNOCHANGE),
    );
    await parked(daemon, queue, 1);
    const next = wait(other, queue);
    await parked(daemon, queue, 2);
    await send(other, queue, 'text');
    expect([await strict, await next]).toEqual(['TPEOTYPE', 'text']);
    expect(await code(ctx.tpcommit())).toBe('TPEABORT');
  });

  it('what a waiter got is locked: it comes back with the rollback, to the next waiter', async () => {
    const queue = plain.next();
    await ctx.tpbegin(60);
    const mine = wait(ctx, queue);
    await parked(daemon, queue, 1);
    await send(other, queue, 'x');
    expect(await mine).toBe('x');
    const [next] = await waiters(queue, 1);
    expect(await daemon.queue(queue)).toMatchObject({ locked: 1, ready: 0 });
    await ctx.tpabort();
    expect(await next).toBe('x');
  });

  it('a wait does not see what its own transaction enqueues', async () => {
    const queue = plain.next();
    await ctx.tpbegin(60);
    const mine = wait(ctx, queue);
    await parked(daemon, queue, 1);
    await send(ctx, queue, 'own');
    expect((await daemon.queue(queue)).waiters).toBe(1);
    await send(other, queue, 'other');
    expect(await mine).toBe('other');
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual(['own']);
  });

  it('the loss of the client ends its wait and its transaction; another waiter gets what it held', async () => {
    const queue = plain.next();
    await send(other, queue, 'x');
    const raw = await daemon.raw();
    const [, , tx] = (await raw.ask(5, 2, 3000)) as [number, number, number];
    await raw.ask(4, 3, [SPACE, queue], null, 0, tx, 0, '', 0);
    raw.send(4, 4, [SPACE, queue], [TPQ.TPQWAIT], 0, tx, 0, '', 0);
    await parked(daemon, queue, 1);
    const waiting = wait(other, queue);
    await parked(daemon, queue, 2);
    raw.reset();
    expect(await waiting).toBe('x');
    await eventually(async () => (await daemon.queue(queue)).waiters === 0);
  });
});

it('an expiry of 0 seconds is at once: taken, and nobody gets it, not even who waits', async () => {
  const queue = plain.next();
  const [waiting] = await waiters(queue, 1);
  await send(ctx, queue, 'gone', { flags: TPQ.TPQEXPTIME_REL, exp_time: 0 });
  await send(ctx, queue, 'x');
  expect(await waiting).toBe('x');
  expect((await daemon.queue(queue)).messages).toBe(0);
});

/** The msgid of the last in the order of a queue with three. */
async function lastId(queue: string): Promise<Uint8Array> {
  const ids: Uint8Array[] = [];
  const looker = await daemon.join();
  await looker.tpbegin(60);
  for (let i = 0; i < 3; i++) {
    const ctl = ctlOf(TPQ.TPQMSGID);
    await looker.tpdequeue(SPACE, queue, ctl, null);
    if (ctl.msgid !== null) ids.push(ctl.msgid);
  }
  await looker.tpterm();
  await eventually(async () => (await daemon.queue(queue)).ready === 3);
  const last = ids.at(-1);
  if (last === undefined) throw new Error('no message');
  return last;
}
