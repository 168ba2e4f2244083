// Waiting dequeues (TPQWAIT): what wakes them, in which order, and that they hold up nothing else [spec 2.5; PROTOCOL 7; C07]. What ends
// them without a message is in wait-ends.test.ts.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPFLAG, TPQ } from '../../clients/typescript/index.ts';
import { daemonForAll } from '../support/in-process.ts';
import type { RawClient } from '../support/raw-client.ts';
import { codeOf, ctlOf, drain, fresh, outcome, put, putId, SPACE, take, wait, waitersOf } from './helpers.ts';

const queues = fresh('W', 80);
const slow = fresh('SLOW', 20);
const daemon = daemonForAll({
  spaces: [
    {
      errorQueue: 'ERRQ',
      queues: [
        'ERRQ',
        ...queues.names.map((name) => ({ name, retries: name === 'W80' ? 0 : 99 })),
        ...slow.names.map((name) => ({ name, retries: 99, delay: 10 })),
      ],
    },
  ],
});
let ctx: Context;
let other: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  other = await daemon.join();
});
afterEach(async () => {
  if (ctx.tpgetlev() === 1) await ctx.tpabort();
});

const WAIT = TPQ.TPQWAIT;

const waiters = (queue: string, count: number): Promise<void> => waitersOf(daemon, queue, count);

/** A message of `queue` locked by the transaction of ctx, which has 20 s: less than -t. */
async function lock(queue: string, data: unknown): Promise<void> {
  await put(other, queue, data);
  await ctx.tpbegin(20);
  await take(ctx, queue);
}

let holder: RawClient | null = null;

describe('a waiter is woken by', () => {
  it.each<[string, () => string, (queue: string) => Promise<void>, (queue: string) => Promise<void>]>([
    ['an enqueue', queues.next, async () => undefined, (q) => put(other, q, 'x')],
    [
      'the commit of an enqueue',
      queues.next,
      async (q) => {
        await ctx.tpbegin(60);
        await put(ctx, q, 'x');
      },
      () => ctx.tpcommit(),
    ],
    ['the rollback of a dequeue', queues.next, (q) => lock(q, 'x'), () => ctx.tpabort()],
    [
      'the timeout of the transaction that holds the message',
      queues.next,
      (q) => lock(q, 'x'),
      async () => daemon.clock.advance(20_010),
    ],
    [
      'the loss of the client that holds the message',
      queues.next,
      async (q) => {
        await put(other, q, 'x');
        holder = await daemon.raw();
        const [, , tx] = (await holder.ask(5, 2, 3600)) as [number, number, number];
        await holder.ask(4, 3, [SPACE, q], null, 0, tx, 0, '', 0);
      },
      async () => holder?.reset(),
    ],
    [
      'the end of a retry delay, with no other traffic (C07)',
      slow.next,
      async (q) => {
        await lock(q, 'x');
        await ctx.tpabort();
      },
      async () => daemon.clock.advance(10_000),
    ],
  ])('%s', async (_name, next, before, wake) => {
    const queue = next();
    await before(queue);
    const waiting = wait(other, queue);
    await waiters(queue, 1);
    await wake(queue);
    expect(await waiting).toBe('x');
    expect(await daemon.queue(queue)).toMatchObject({ messages: 0, waiters: 0 });
  });

  it('nothing, and does not wait, when a message is there', async () => {
    const queue = queues.next();
    await put(other, queue, 'x');
    expect(await wait(other, queue)).toBe('x');
  });

  it('a message that arrives on the error queue', async () => {
    const queue = 'W80';
    await lock(queue, 'x');
    const waiting = wait(other, 'ERRQ');
    await waiters('ERRQ', 1);
    await ctx.tpabort();
    expect(await waiting).toBe('x');
  });

  it('not by an enqueue that is rolled back, nor by one on another queue', async () => {
    const [queue, second] = [queues.next(), queues.next()];
    const waiting = wait(other, queue);
    await waiters(queue, 1);
    await ctx.tpbegin(60);
    await put(ctx, queue, 'rolled back');
    await ctx.tpabort();
    await put(ctx, second, 'x');
    expect((await daemon.queue(queue)).waiters).toBe(1);
    await put(ctx, queue, 'y');
    expect(await waiting).toBe('y');
  });
});

describe('of several waiters', () => {
  it('the oldest gets the first message', async () => {
    const queue = queues.next();
    const order: string[] = [];
    const all: Promise<unknown>[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      all.push(wait(await daemon.join(), queue).then((data) => order.push(`${name}:${String(data)}`)));
      await waiters(queue, all.length);
    }
    for (const data of [1, 2, 3, 4]) await put(other, queue, data);
    await Promise.all(all);
    expect(order).toEqual(['a:1', 'b:2', 'c:3', 'd:4']);
  });

  it('one enqueue wakes one, a commit of three wakes three in their order', async () => {
    const queue = queues.next();
    const waiting: Promise<unknown>[] = [];
    for (let i = 1; i <= 4; i++) {
      waiting.push(wait(other, queue));
      await waiters(queue, i);
    }
    await put(ctx, queue, 0);
    await waiters(queue, 3);
    await ctx.tpbegin(60);
    await put(ctx, queue, 1, 2, 3);
    await ctx.tpcommit();
    expect(await Promise.all(waiting)).toEqual([0, 1, 2, 3]);
  });

  it('one that selects another id is passed over, and keeps its place', async () => {
    const queue = queues.next();
    const byCorrid = wait(other, queue, ctlOf(WAIT | TPQ.TPQGETBYCORRID, { corrid: 'k' }));
    await waiters(queue, 1);
    const plain = wait(other, queue);
    await waiters(queue, 2);
    await put(ctx, queue, 'plain');
    expect(await plain).toBe('plain');
    await putId(ctx, queue, 'mine', { flags: TPQ.TPQCORRID, corrid: 'k' });
    expect(await byCorrid).toBe('mine');
  });

  it('with one corrid are served in their order, before a later plain waiter', async () => {
    const queue = queues.next();
    const waiting: Promise<unknown>[] = [];
    for (const flags of [TPQ.TPQGETBYCORRID, TPQ.TPQGETBYCORRID, 0]) {
      waiting.push(wait(other, queue, ctlOf(WAIT | flags, { corrid: 'k' })));
      await waiters(queue, waiting.length);
    }
    for (const n of [1, 2, 3]) await putId(ctx, queue, n, { flags: TPQ.TPQCORRID, corrid: 'k' });
    expect(await Promise.all(waiting)).toEqual([1, 2, 3]);
  });

  it('one by msgid gets that message when its lock is released', async () => {
    const queue = queues.next();
    await put(other, queue, 'first');
    const msgid = await putId(other, queue, 'second');
    await ctx.tpbegin(60);
    await take(ctx, queue, ctlOf(TPQ.TPQGETBYMSGID, { msgid }));
    const waiting = wait(other, queue, ctlOf(WAIT | TPQ.TPQGETBYMSGID, { msgid }));
    await waiters(queue, 1);
    await ctx.tpabort();
    expect(await waiting).toBe('second');
    expect(await drain(other, queue)).toEqual(['first']);
  });

  it('one by the msgid of an enqueue that is not committed gets it after the commit', async () => {
    const queue = queues.next();
    await ctx.tpbegin(60);
    const msgid = await putId(ctx, queue, 'x');
    const waiting = wait(other, queue, ctlOf(WAIT | TPQ.TPQGETBYMSGID, { msgid }));
    await waiters(queue, 1);
    await ctx.tpcommit();
    expect(await waiting).toBe('x');
  });

  it('one by a msgid does not get the message once it has moved to the error queue under another', async () => {
    const queue = 'W80';
    const msgid = await putId(other, queue, 'moves');
    await ctx.tpbegin(60);
    await take(ctx, queue);
    const stop = new AbortController();
    const ctl = ctlOf(WAIT | TPQ.TPQGETBYMSGID, { msgid });
    const waiting = outcome(other.tpdequeue(SPACE, queue, ctl, null, 0, { signal: stop.signal }));
    await waiters(queue, 1);
    await ctx.tpabort();
    expect(await drain(ctx, 'ERRQ')).toEqual(['moves']);
    await waiters(queue, 1);
    stop.abort();
    expect(await waiting).toBe('TPGOTSIG');
  });

  it('one by an id that cannot be of this space does not wait: QMEBADMSGID', async () => {
    const ctl = ctlOf(WAIT | TPQ.TPQGETBYMSGID, { msgid: Buffer.alloc(32, 0xff) });
    expect(await wait(other, queues.next(), ctl)).toBe('QMEBADMSGID');
  });

  it('a peeking one in a transaction gets a copy and locks nothing', async () => {
    const queue = queues.next();
    await ctx.tpbegin(60);
    const peeking = wait(ctx, queue, ctlOf(WAIT | TPQ.TPQPEEK));
    await waiters(queue, 1);
    await put(other, queue, 'x');
    expect(await peeking).toBe('x');
    expect(await daemon.queue(queue)).toMatchObject({ ready: 1, locked: 0 });
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual(['x']);
  });

  it('a peeking one gets a copy and the message stays for the next', async () => {
    const queue = queues.next();
    const peeking = wait(other, queue, ctlOf(WAIT | TPQ.TPQPEEK));
    await waiters(queue, 1);
    const taking = wait(other, queue);
    await waiters(queue, 2);
    await put(ctx, queue, 'x');
    expect(await Promise.all([peeking, taking])).toEqual(['x', 'x']);
    expect(await drain(other, queue)).toEqual([]);
  });
});

describe('a waiter with TPNOCHANGE', () => {
  it('is answered TPEOTYPE when the message has another type; the message stays for the next waiter', async () => {
    const queue = queues.next();
    const strict = codeOf(other.tpdequeue(SPACE, queue, ctlOf(WAIT), { type: 'CARRAY' }, TPFLAG.TPNOCHANGE));
    await waiters(queue, 1);
    const plain = wait(other, queue);
    await waiters(queue, 2);
    await put(ctx, queue, 'text');
    expect(await Promise.all([strict, plain])).toEqual(['TPEOTYPE', 'text']);
  });
});

describe('a wait inside a transaction', () => {
  it('locks the message when it comes', async () => {
    const queue = queues.next();
    await ctx.tpbegin(60);
    const waiting = wait(ctx, queue);
    await waiters(queue, 1);
    await put(other, queue, 'x');
    expect(await waiting).toBe('x');
    expect((await daemon.queue(queue)).locked).toBe(1);
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual(['x']);
  });

  it('is not limited by -t, only by the transaction', async () => {
    const queue = queues.next();
    await ctx.tpbegin(600);
    const waiting = wait(ctx, queue);
    await waiters(queue, 1);
    daemon.clock.advance(300_000);
    await put(other, queue, 'x');
    expect(await waiting).toBe('x');
  });
});

it('a waiter holds up nothing that follows it on its connection', async () => {
  const [queue, second] = [queues.next(), queues.next()];
  const raw = await daemon.raw();
  raw.send(4, 5, [SPACE, queue], [WAIT], 0, 0, 0, '', 0);
  raw.send(3, 6, [SPACE, second], null, 0, 0, 1, '', Buffer.from('y'));
  expect((await raw.next()).slice(0, 2)).toEqual([131, 6]);
  expect((await raw.ask(4, 7, [SPACE, second], null, 0, 0, 0, '', 0)).slice(3)).toEqual([
    1,
    '',
    Buffer.from('y'),
  ]);
  await put(other, queue, 'x');
  expect((await raw.answer(5)).slice(3)).toEqual([1, '', Buffer.from('x')]);
});

it('a thousand waiters on as many ids are each woken by their own message (C07)', async () => {
  const queue = queues.next();
  const ids = Array.from({ length: 1000 }, (_, i) => `id ${i}`);
  const context = await daemon.join();
  const waiting = ids.map((corrid) => wait(context, queue, ctlOf(WAIT | TPQ.TPQGETBYCORRID, { corrid })));
  await waiters(queue, 1000);
  await Promise.all(
    ids.map((corrid) => ctx.tpenqueue(SPACE, queue, ctlOf(TPQ.TPQCORRID, { corrid }), corrid)),
  );
  expect(await Promise.all(waiting)).toEqual(ids);
});
