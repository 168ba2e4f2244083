// The SDK's words against the daemon itself: put and get, consume, iteration, transaction(), serve, abort signals [DESIGN 8].
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, corridText, type Message } from '../../clients/typescript/index.ts';
import { daemonForAll, eventually } from '../support/in-process.ts';
import { codeOf, drain, fresh, Gate, nameOf, put, SPACE } from './helpers.ts';

const queues = fresh('K', 20);
const daemon = daemonForAll({
  spaces: [{ errorQueue: 'ERRQ', queues: ['ERRQ', ...queues.names.map((name) => ({ name, retries: 1 }))] }],
});
let ctx: Context;
beforeAll(async () => {
  ctx = await daemon.join();
});

describe('a queue in words', () => {
  it('gives back what was put, with all that came with it', async () => {
    const queue = ctx.queue<{ n: number }>(SPACE, queues.next());
    const options = { priority: 7, corrid: 'order 17', replyTo: 'R', failTo: 'F', urcode: 3 };
    const { msgid } = await queue.put({ n: 1 }, options);
    const message = (await queue.get()) as Message<{ n: number }>;
    expect(message).toMatchObject({
      data: { n: 1 },
      type: 'JSON',
      priority: 7,
      replyTo: 'R',
      failTo: 'F',
      urcode: 3,
    });
    expect([message.corridText, Buffer.from(message.msgid).equals(msgid)]).toEqual(['order 17', true]);
    expect(corridText(message.corrid as Uint8Array)).toBe('order 17');
    expect(await queue.get()).toBeNull();
  });

  it('selects by corrid and msgid, peeks, and waits for so long', async () => {
    const queue = ctx.queue<string>(SPACE, queues.next());
    const { msgid } = await queue.put('a', { corrid: 'k' });
    await queue.put('b');
    expect((await queue.get({ corrid: 'k', peek: true }))?.data).toBe('a');
    expect((await queue.get({ msgid: Buffer.from(msgid).toString('hex') }))?.data).toBe('a');
    expect((await queue.get())?.data).toBe('b');
    expect(await queue.get({ wait: 50 })).toBeNull();
  });

  it('a get that is aborted rejects with TPGOTSIG and takes nothing', async () => {
    const queue = ctx.queue<string>(SPACE, queues.next());
    const stop = new AbortController();
    const getting = queue.get({ wait: true, signal: stop.signal });
    await eventually(async () => (await daemon.queue(queue.qname)).waiters === 1);
    stop.abort();
    expect(await codeOf(getting)).toBe('TPGOTSIG');
    await queue.put('x');
    expect((await queue.get())?.data).toBe('x');
  });
});

describe('consume', () => {
  it('commits what the handler has done, together with what it put; retries what it threw over', async () => {
    const [from, to] = [queues.next(), queues.next()];
    await put(ctx, from, 'good', 'bad');
    let calls = 0;
    const stop = new AbortController();
    const consuming = ctx.queue<string>(SPACE, from).consume(
      async ({ data }, tx) => {
        calls++;
        await tx.tpenqueue(SPACE, to, null, `${data} done`);
        if (data === 'bad') throw new Error('no');
      },
      { signal: stop.signal, onError: () => undefined },
    );
    await eventually(() => calls === 3);
    await eventually(async () => (await daemon.queue('ERRQ')).ready === 1);
    stop.abort();
    await consuming;
    expect([await drain(ctx, from), await drain(ctx, to), await drain(ctx, 'ERRQ')]).toEqual([
      [],
      ['good done'],
      ['bad'],
    ]);
  });

  it('with concurrency 3 works on three at the same time', async () => {
    const queue = queues.next();
    await put(ctx, queue, 1, 2, 3, 4);
    const stop = new AbortController();
    const held: (() => void)[] = [];
    const consuming = ctx
      .queue(SPACE, queue)
      .consume(() => new Promise<void>((resolve) => held.push(resolve)), {
        concurrency: 3,
        signal: stop.signal,
      });
    await eventually(() => held.length === 3);
    expect(await daemon.queue(queue)).toMatchObject({ locked: 3, ready: 1 });
    stop.abort();
    for (const release of held) release();
    await consuming;
    expect(await drain(ctx, queue)).toEqual([4]);
  });

  it('rejects when there is no such queue', async () => {
    const consuming = ctx.queue(SPACE, 'NOQUEUE').consume(() => undefined);
    expect(await codeOf(consuming)).toBe('QMEBADQUEUE');
  });
});

it('iteration: commit removes, rollback and leaving the loop give back', async () => {
  const name = queues.next();
  await put(ctx, name, 1, 2);
  for await (const message of ctx.queue<number>(SPACE, name)) {
    if (message.data === 2) break;
    await message.commit();
  }
  expect(await drain(ctx, name)).toEqual([2]);
});

describe('transaction()', () => {
  it('commits when the work resolves, rolls back when it throws, and does not disturb tpbegin', async () => {
    const name = queues.next();
    await ctx.tpbegin(30);
    await put(ctx, name, 'in the context');
    await ctx.transaction((tx) => put(tx, name, 'committed'));
    const thrown = ctx.transaction(async (tx) => {
      await put(tx, name, 'rolled back');
      throw new Error('mine');
    });
    await expect(thrown).rejects.toThrow('mine');
    expect(await drain(await daemon.join(), name)).toEqual(['committed']);
    await ctx.tpabort();
    expect(await drain(ctx, name)).toEqual([]);
  });

  it('used after its end is TPEPROTO', async () => {
    const kept = await ctx.transaction((tx) => tx);
    expect(await codeOf(put(kept, queues.next(), 'x'))).toBe('TPEPROTO');
  });
});

it('serve: offers until the signal aborts, then finishes what runs', async () => {
  const server = await daemon.join();
  const stop = new AbortController();
  const gate = new Gate();
  const serving = server.serve({ SLOW: gate.service, FAST: () => 'fast' }, { signal: stop.signal });
  await eventually(async () => (await ctx.stat()).services.length === 2);
  const slow = ctx.tpcall('SLOW', null);
  expect((await ctx.tpcall('FAST', null)).data).toBe('fast');
  await eventually(async () => (await ctx.stat()).services.some((one) => one.outstanding === 1));
  stop.abort();
  await eventually(async () => (await codeOf(ctx.tpcall('FAST', null))) === 'TPENOENT');
  gate.release();
  await serving;
  expect((await slow).data).toBe('done');
});

it('after tpterm every call is TPEPROTO, a second tpterm succeeds, and an open transaction is rolled back', async () => {
  const name = queues.next();
  const leaving = await daemon.join();
  await leaving.tpbegin(30);
  await put(leaving, name, 'x');
  await leaving.tpterm();
  await leaving.tpterm();
  expect(await codeOf(put(leaving, name, 'y'))).toBe('TPEPROTO');
  expect(await drain(ctx, name)).toEqual([]);
});

it('a daemon that is not there: tpinit rejects with TPESYSTEM', async () => {
  const error: unknown = await daemon.join({ address: '//127.0.0.1:1' }).catch((reason: unknown) => reason);
  expect(nameOf(error)).toBe('TPESYSTEM');
});
