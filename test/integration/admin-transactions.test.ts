// C49: purge, destroy and re-create a queue while open transactions hold its messages and others wait; then commit and abort. And forwarders
// whose queues are paused, destroyed and made again.
import { describe, expect, it } from 'vitest';
import { type Context, type QueueAdmin, TPQ } from '../../clients/typescript/index.ts';
import { daemonForTest, eventually, type InProcess } from '../support/in-process.ts';
import { ubbText } from '../support/ubb-text.ts';
import { codeOf, ctlOf, drain, failureOf, Gate, put, SPACE, take, wait, waitersOf } from './helpers.ts';

interface Setting {
  daemon: InProcess;
  ctx: Context;
  ops: QueueAdmin;
}

async function setting(queues: readonly string[] = ['OTHER']): Promise<Setting> {
  const text = ubbText({ spaces: [{ errorQueue: 'E', queues: ['E', ...queues] }] });
  const daemon = await daemonForTest(text);
  const ctx = await daemon.join();
  const ops = ctx.admin(SPACE);
  await ops.create('Q', { retries: 99 });
  return { daemon, ctx, ops };
}

/** Two transactions of other clients: the first holds `a`, the second has enqueued `p`; b and c are free, and two dequeues wait on W. */
async function held({ daemon, ctx, ops }: Setting): Promise<{ holder: Context; sender: Context }> {
  await put(ctx, 'Q', 'a', 'b', 'c');
  const [holder, sender] = await Promise.all([daemon.join(), daemon.join()]);
  await holder.tpbegin(60);
  expect((await take(holder, 'Q')).data).toBe('a');
  await sender.tpbegin(60);
  await put(sender, 'Q', 'p');
  expect(await ops.info('Q')).toMatchObject({ ready: 2, locked: 1, pending: 1 });
  return { holder, sender };
}

describe('purge while transactions are open', () => {
  it.each<[string, (one: { holder: Context; sender: Context }) => Promise<unknown>, string[]]>([
    ['both commit', ({ holder, sender }) => Promise.all([holder.tpcommit(), sender.tpcommit()]), ['p']],
    ['both abort', ({ holder, sender }) => Promise.all([holder.tpabort(), sender.tpabort()]), ['a']],
    [
      'the holder aborts, the sender commits',
      ({ holder, sender }) => Promise.all([holder.tpabort(), sender.tpcommit()]),
      ['a', 'p'],
    ],
  ])('skips what they hold; %s', async (_how, end, left) => {
    const one = await setting();
    const clients = await held(one);
    expect(await one.ops.purge('Q')).toBe(2);
    expect(await one.ops.info('Q')).toMatchObject({ messages: 1, locked: 1, pending: 1 });
    await end(clients);
    expect(await drain(one.ctx, 'Q')).toEqual(left);
    expect(await one.ops.info('Q')).toMatchObject({ messages: 0, locked: 0, pending: 0, bytes: 0, pages: 0 });
    expect(await one.ops.space()).toMatchObject({ curMessages: 0, curPages: 0, curTransactions: 0 });
  });

  it('leaves those who wait waiting', async () => {
    const { daemon, ctx, ops } = await setting();
    const waiting = wait(await daemon.join(), 'Q');
    await waitersOf(daemon, 'Q', 1);
    expect(await ops.purge('Q')).toBe(0);
    await put(ctx, 'Q', 'x');
    expect(await waiting).toBe('x');
  });

  it('a message that its holder gives back after the purge is there after a restart', async () => {
    const one = await setting();
    const { holder, sender } = await held(one);
    await one.ops.purge('Q');
    await holder.tpabort();
    await sender.tpabort();
    await one.daemon.restart();
    expect(await drain(one.ctx, 'Q')).toEqual(['a']);
  });
});

describe('destroy while transactions are open', () => {
  it('is QMESHARE whatever is asked, for a message that is held and for one that is to come', async () => {
    const one = await setting();
    const { holder, sender } = await held(one);
    const failure = await failureOf(one.ops.destroy('Q', { purge: true }));
    expect(failure.message).toMatch(
      /QMESHARE: destroy: queue Q of QSPACE is in use by open transactions: 1 .* held, 1 .*not committed/,
    );
    expect(await codeOf(one.ops.destroy('Q'))).toBe('QMESHARE');
    await holder.tpcommit();
    expect(await codeOf(one.ops.destroy('Q', { purge: true }))).toBe('QMESHARE');
    await sender.tpabort();
    expect(await one.ops.destroy('Q', { purge: true })).toBe(2);
  });

  it('after they ended, a queue made again under the name is empty, works, and counts from zero; nothing comes back', async () => {
    const one = await setting();
    const { daemon, ctx, ops } = one;
    const { holder, sender } = await held(one);
    await ops.purge('Q');
    await holder.tpabort();
    await sender.tpcommit();
    expect(await ops.destroy('Q', { purge: true })).toBe(2);
    const again = await ops.create('Q', { order: 'lifo' });
    expect(again).toMatchObject({
      messages: 0,
      locked: 0,
      pending: 0,
      enqueued: 0,
      dequeued: 0,
      bytes: 0,
      order: 'lifo',
    });
    await holder.tpbegin(60);
    await put(holder, 'Q', 'n1');
    await holder.tpcommit();
    await sender.tpbegin(60);
    await take(sender, 'Q');
    await sender.tpabort();
    expect(await ops.info('Q')).toMatchObject({ enqueued: 1 });
    await daemon.restart();
    expect(await drain(ctx, 'Q')).toEqual([]);
    expect(await drain(ctx, 'E')).toEqual(['n1']);
  });

  it('a wait inside a transaction ends with QMEABORTED and spoils it; what it held goes back', async () => {
    const { daemon, ctx, ops } = await setting(['OTHER2']);
    await ops.create('BACK', { retries: 5 });
    await put(ctx, 'BACK', 'kept');
    const waiter = await daemon.join();
    await waiter.tpbegin(60);
    await take(waiter, 'BACK');
    const waiting = codeOf(take(waiter, 'Q', ctlOf(TPQ.TPQWAIT)));
    await waitersOf(daemon, 'Q', 1);
    await ops.destroy('Q');
    expect(await waiting).toBe('QMEABORTED');
    expect(await codeOf(waiter.tpcommit())).toBe('TPEABORT');
    expect(await drain(ctx, 'BACK')).toEqual(['kept']);
  });

  it('of the error queue, by that which waits on it: what its transaction gives back does not end on the queue that goes', async () => {
    const { daemon, ctx, ops } = await setting();
    await ops.create('ONCE', { retries: 0 });
    await put(ctx, 'ONCE', 'x');
    const waiter = await daemon.join();
    await waiter.tpbegin(60);
    await take(waiter, 'ONCE');
    const waiting = codeOf(take(waiter, 'E', ctlOf(TPQ.TPQWAIT)));
    await waitersOf(daemon, 'E', 1);
    expect(await ops.destroy('E')).toBe(0);
    expect(await waiting).toBe('QMEABORTED');
    expect(daemon.lines('warn', 'no error queue', 'ONCE')).toHaveLength(1);
    expect(await ops.create('E')).toMatchObject({ messages: 0 });
  });
});

/** Nothing that the daemon sets a timer for happens any more. */
function stopTimers(daemon: InProcess): void {
  daemon.clock.setTimer = (atMs) => ({ atMs, cancel: () => {} });
}

describe('a forwarder', () => {
  const DOMAIN = ubbText({
    spaces: [
      {
        errorQueue: 'E',
        queues: ['E', { name: 'S1', retries: 9 }, { name: 'S2', retries: 9 }, 'REPLY'],
        forwarders: [{ queues: ['S1', 'S2'], idleS: 3600, timeoutS: 60 }],
      },
    ],
  });

  async function forwarding(): Promise<{
    daemon: InProcess;
    ctx: Context;
    ops: QueueAdmin;
    done: unknown[];
  }> {
    const daemon = await daemonForTest(DOMAIN);
    const ctx = await daemon.join();
    const server = await daemon.join();
    const done: unknown[] = [];
    for (const name of ['S1', 'S2']) {
      await server.tpadvertise(name, (call) => {
        done.push(call.data);
        return call.data;
      });
    }
    await put(ctx, 'S1', 'first');
    await eventually(() => done.length === 1);
    return { daemon, ctx, ops: ctx.admin(SPACE), done };
  }

  it('leaves a paused queue alone, goes on with its others, and begins when it is resumed, without waiting for any timer', async () => {
    const { daemon, ctx, ops, done } = await forwarding();
    stopTimers(daemon);
    await ops.pause('S1', { dequeue: true });
    await put(ctx, 'S1', 'held back');
    await put(ctx, 'S2', 'other');
    await eventually(() => done.includes('other'));
    expect(done).not.toContain('held back');
    await ops.pause('S2', { dequeue: true });
    await put(ctx, 'S2', 'held too');
    expect(await ops.info('S2')).toMatchObject({ messages: 1, waiting: 0, locked: 0 });
    await ops.resume('S1');
    await eventually(() => done.includes('held back'));
    await ops.resume('S2');
    await eventually(() => done.includes('held too'));
    expect(daemon.failures).toEqual([]);
  });

  it('goes on with its others when one is destroyed, says so once, and begins on the new one of that name', async () => {
    const { daemon, ctx, ops, done } = await forwarding();
    stopTimers(daemon);
    await ops.destroy('S1');
    await put(ctx, 'S2', 'other');
    await eventually(() => done.includes('other'));
    await ops.destroy('S2');
    await ops.create('S1', { retries: 9 });
    await put(ctx, 'S1', 'again');
    await eventually(() => done.includes('again'));
    expect(daemon.lines('warn', 'TMQFORWARD: no such queue', '"S2"')).toHaveLength(1);
    expect(daemon.lines('warn', 'TMQFORWARD: no such queue', '"S1"').length).toBeLessThanOrEqual(1);
  });

  it('that holds a message keeps its queue from being destroyed until it is through', async () => {
    const daemon = await daemonForTest(DOMAIN);
    const ctx = await daemon.join();
    const ops = ctx.admin(SPACE);
    const gate = new Gate();
    await ctx.tpadvertise('S1', gate.service);
    await put(ctx, 'S1', 'x');
    await gate.calls(1);
    expect(await codeOf(ops.destroy('S1', { purge: true }))).toBe('QMESHARE');
    await ops.pause('S1');
    gate.release();
    await eventually(async () => (await ops.info('S1')).locked === 0);
    expect(await ops.destroy('S1')).toBe(0);
  });

  it('does not use up the attempts of a request while its reply queue is paused', async () => {
    const { daemon, ctx, ops, done } = await forwarding();
    await ops.pause('REPLY', { enqueue: true });
    await ctx.tpenqueue(SPACE, 'S1', ctlOf(TPQ.TPQREPLYQ, { replyqueue: 'REPLY' }), 'asked');
    await eventually(() => daemon.lines('warn', 'QMESHARE').length === 1);
    await ops.resume('REPLY');
    await eventually(async () => (await ops.info('REPLY')).messages === 1);
    expect(done.filter((data) => data === 'asked').length).toBeLessThan(4);
    expect(await drain(ctx, 'E')).toEqual([]);
    expect(await drain(ctx, 'REPLY')).toEqual(['asked']);
  });
});
