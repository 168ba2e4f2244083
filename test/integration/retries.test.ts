// What a rolled-back dequeue does to its message: retry count, retry delay, error queue, drop [spec 2.6; DESIGN 6; C41, C43].
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPQ } from '../../clients/typescript/index.ts';
import { daemonForAll, daemonForTest, eventually, type InProcess } from '../support/in-process.ts';
import { codeOf, corridOf, ctlOf, drain, fresh, OUTPUTS, peek, put, putId, SPACE, take } from './helpers.ts';

const zero = fresh('ZERO', 20);
const two = fresh('TWO', 20);
const slow = fresh('SLOW', 20);
const daemon = daemonForAll({
  spaces: [
    {
      errorQueue: 'ERRQ',
      timeoutS: 1,
      queues: [
        { name: 'ERRQ', retries: 1 },
        ...zero.names,
        ...two.names.map((name) => ({ name, retries: 2 })),
        ...slow.names.map((name) => ({ name, retries: 5, delay: 30 })),
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

/** Dequeues in a transaction and rolls back. */
async function fail(context: Context, queue: string): Promise<void> {
  await context.tpbegin(60);
  await take(context, queue);
  await context.tpabort();
}

describe('the number of attempts is retries + 1', () => {
  it.each([
    ['retries 0', zero, 1],
    ['retries 2', two, 3],
  ])('%s', async (_name, pool, attempts) => {
    const queue = pool.next();
    await put(other, queue, 'x');
    for (let i = 0; i < attempts; i++) await fail(ctx, queue);
    expect(await codeOf(take(other, queue))).toBe('QMENOMSG');
    expect(await drain(other, 'ERRQ')).toEqual(['x']);
  });

  it.each<[string, (queue: string) => Promise<unknown>]>([
    ['a peek', (queue) => peek(ctx, queue)],
    ['a peek inside a transaction', (queue) => inTransaction(() => peek(ctx, queue))],
    [
      'a dequeue by an id that does not match',
      (queue) => codeOf(take(ctx, queue, ctlOf(0x80800, { corrid: 'n' }))),
    ],
    [
      'a wait that ends without a message',
      (queue) => codeOf(take(ctx, queue, ctlOf(TPQ.TPQWAIT | TPQ.TPQGETBYCORRID, { corrid: 'n' }))),
    ],
    ['the abort of a transaction that did not touch it', () => inTransaction(() => Promise.resolve())],
  ])('%s is no attempt (C43)', async (_name, touch) => {
    const queue = zero.next();
    await put(other, queue, 'x');
    await touch(queue);
    expect(await drain(other, queue)).toEqual(['x']);
  });

  it.each<[string, (queue: string) => Promise<void>]>([
    ['an abort', (queue) => fail(ctx, queue)],
    [
      'a timeout',
      async (queue) => {
        await ctx.tpbegin(60);
        await take(ctx, queue);
        daemon.clock.advance(61_000);
        await eventually(async () => (await daemon.queue(queue)).locked === 0);
        await ctx.tpabort();
      },
    ],
    [
      'the loss of the client',
      async (queue) => {
        const client = await daemon.raw();
        const [, , tx] = (await client.ask(5, 2, 60)) as [number, number, number];
        await client.ask(4, 3, [SPACE, queue], null, 0, tx, 0, '', 0);
        client.reset();
        await eventually(async () => (await daemon.queue(queue)).locked === 0);
      },
    ],
  ])('%s is one attempt (C43)', async (_name, attempt) => {
    const queue = two.next();
    await put(other, queue, 'x');
    await attempt(queue);
    expect((await daemon.queue(queue)).ready).toBe(1);
    await fail(ctx, queue);
    expect((await daemon.queue(queue)).ready).toBe(1);
    await attempt(queue);
    expect([await drain(other, queue), await drain(other, 'ERRQ')]).toEqual([[], ['x']]);
  });

  it('every message of a rolled-back transaction has its own count', async () => {
    const queue = two.next();
    await put(other, queue, 1);
    await fail(ctx, queue);
    await put(other, queue, 2);
    for (let i = 0; i < 2; i++) {
      await ctx.tpbegin(60);
      await take(ctx, queue);
      await take(ctx, queue);
      await ctx.tpabort();
    }
    expect([await drain(other, queue), await drain(other, 'ERRQ')]).toEqual([[2], [1]]);
  });
});

describe('on the error queue', () => {
  it('a message has a new msgid and keeps everything else', async () => {
    const queue = zero.next();
    const client = await daemon.raw();
    const given = ctlOf(0x133, {
      priority: 80,
      corrid: corridOf(5, 9),
      replyqueue: 'R',
      failurequeue: 'F',
      urcode: 77,
    });
    await other.tpenqueue(SPACE, queue, given, Buffer.from('data'));
    const before = ctlOf(OUTPUTS);
    await ctx.tpbegin(60);
    await take(ctx, queue, before);
    await ctx.tpabort();
    const after = ctlOf(OUTPUTS);
    const received = await take(ctx, 'ERRQ', after);
    expect(received.type).toBe('CARRAY');
    expect(Buffer.from(received.data as Uint8Array).toString()).toBe('data');
    expect(Buffer.from(after.msgid ?? []).equals(given.msgid as Uint8Array)).toBe(false);
    before.msgid = after.msgid;
    expect(after).toEqual(before);
    const old = ctlOf(TPQ.TPQGETBYMSGID, { msgid: given.msgid });
    expect(await codeOf(take(ctx, queue, old))).toBe('QMENOMSG');
    client.end();
  });

  it('what was not supplied is still not supplied', async () => {
    const queue = zero.next();
    await put(other, queue, 'x');
    await fail(ctx, queue);
    const ctl = ctlOf(OUTPUTS);
    await take(ctx, 'ERRQ', ctl);
    expect(ctl.flags).toBe(TPQ.TPQMSGID);
  });

  it('messages come in the order in which they were moved', async () => {
    const queue = zero.next();
    await put(other, queue, 1, 2, 3);
    for (let i = 0; i < 3; i++) await fail(ctx, queue);
    expect(await drain(other, 'ERRQ')).toEqual([1, 2, 3]);
  });

  it('T28-20: corrids select there as before', async () => {
    const queue = zero.next();
    for (const corrid of ['a', 'b', 'a']) {
      await putId(other, queue, corrid, { flags: TPQ.TPQCORRID, corrid });
      await fail(ctx, queue);
    }
    const seen: unknown[] = [];
    for (const corrid of ['b', 'a', 'a']) {
      seen.push((await take(other, 'ERRQ', ctlOf(TPQ.TPQGETBYCORRID, { corrid }))).data);
    }
    expect(seen).toEqual(['b', 'a', 'a']);
  });

  it('the retry count begins anew, and a message that fails there too stays, under a new msgid', async () => {
    const queue = two.next();
    const first = Buffer.from(await putId(other, queue, 'x'));
    for (let i = 0; i < 3; i++) await fail(ctx, queue);
    const ids = new Set([first.toString('hex')]);
    for (let i = 0; i < 4; i++) {
      const ctl = ctlOf(TPQ.TPQMSGID);
      await ctx.tpbegin(60);
      expect((await take(ctx, 'ERRQ', ctl)).data).toBe('x');
      ids.add(Buffer.from(ctl.msgid ?? []).toString('hex'));
      await ctx.tpabort();
    }
    // ERRQ has 1 retry: two attempts under each id.
    expect(ids.size).toBe(3);
    expect(await drain(other, 'ERRQ')).toEqual(['x']);
  });
});

describe('the retry delay', () => {
  it('keeps the message back for that long, then gives it its old place', async () => {
    const queue = slow.next();
    await put(other, queue, 'failed', 'next');
    await fail(ctx, queue);
    expect(await daemon.queue(queue)).toMatchObject({ messages: 2, ready: 1, delayed: 1, locked: 0 });
    daemon.clock.advance(29_000);
    expect(await peek(other, queue)).toBe('next');
    daemon.clock.advance(1100);
    await eventually(async () => (await daemon.queue(queue)).ready === 2);
    expect(await drain(other, queue)).toEqual(['failed', 'next']);
  });

  it('a later message overtakes while it runs', async () => {
    const queue = slow.next();
    await put(other, queue, 'failed', 'next');
    await fail(ctx, queue);
    expect(await drain(other, queue)).toEqual(['next']);
    daemon.clock.advance(31_000);
    await eventually(async () => (await daemon.queue(queue)).ready === 1);
    expect(await drain(other, queue)).toEqual(['failed']);
  });

  it('does not hold back the move to the error queue', async () => {
    const small = await daemonForTest({
      spaces: [{ errorQueue: 'E', queues: ['E', { name: 'Q', retries: 0, delay: 1000 }] }],
    });
    const context = await small.join();
    await put(context, 'Q', 'x');
    await fail(context, 'Q');
    expect(await drain(context, 'E')).toEqual(['x']);
  });
});

describe('at the end of the retries (C41)', () => {
  it('without an error queue the message is dropped, with a log line that names queue and msgid', async () => {
    await drops(await daemonForTest({ spaces: [{ queues: ['Q'] }] }));
  });

  it('so it is when the error queue that the space names was never created', async () => {
    const text = { spaces: [{ errorQueue: 'NONE', queues: ['Q'] }] };
    await drops(await daemonForTest(text));
  });

  it('an error queue that is the queue itself keeps the message', async () => {
    const small = await daemonForTest({ spaces: [{ errorQueue: 'Q', queues: ['Q'] }] });
    const context = await small.join();
    await put(context, 'Q', 'x');
    for (let i = 0; i < 10; i++) await fail(context, 'Q');
    expect(await drain(context, 'Q')).toEqual(['x']);
  });
});

async function inTransaction<T>(work: () => Promise<T>): Promise<void> {
  await ctx.tpbegin(60);
  await work();
  await ctx.tpabort();
}

/** The message that fails is dropped and logged, the next one stays. */
async function drops(small: InProcess): Promise<void> {
  const context = await small.join();
  const msgid = Buffer.from(await putId(context, 'Q', 'lost'));
  await put(context, 'Q', 'kept');
  await fail(context, 'Q');
  expect(await drain(context, 'Q')).toEqual(['kept']);
  const lines = [
    ...small.lines('"Q"', msgid.toString('latin1')),
    ...small.lines('"Q"', msgid.toString('hex')),
  ];
  expect(lines).toHaveLength(1);
}
