// The limits of a queue space: what exhausts each, which code says so, and that it is given back [spec 8.3, 8.4, 11].
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPQ } from '../../../clients/typescript/index.ts';
import { daemonForAll, daemonForTest, eventually } from '../../support/in-process.ts';
import {
  attempt,
  code,
  domain,
  drain,
  got,
  holds,
  type Members,
  send,
  sendCode,
  sendTo,
  take,
} from './support.ts';

const PAGE = 512;
const daemon = daemonForAll(
  domain([
    { queues: ['Q'] },
    {
      name: 'MSGS',
      words: 'MSGS=3 NONPERSIST="1m" ERRORQ=ERRQ',
      queues: ['ERRQ', 'Q', 'R', { name: 'RETRY', retries: 5, delay: 100 }],
    },
    { name: 'PAGES', words: 'PAGES=20 NONPERSIST="1m" ERRORQ=ERRQ', queues: ['ERRQ', 'Q', 'R'] },
    { name: 'TRANS', words: 'TRANS=2 PROCS=9', queues: [{ name: 'Q', retries: 9 }, 'R'] },
    { name: 'NULLS', words: 'PAGES=0 QUEUES=0 TRANS=0 PROCS=0 MSGS=0 ACTIONS=0', queues: ['Q', 'R', 'S'] },
    { name: 'QUEUES', words: 'QUEUES=3', queues: ['A', 'B', 'C'] },
  ]),
);
let ctx: Context;
let other: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  other = await daemon.join();
});
afterEach(async () => {
  for (const one of [ctx, other]) if (one.tpgetlev() === 1) await one.tpabort();
  for (const qspace of ['MSGS', 'PAGES'])
    for (const queue of ['Q', 'R', 'ERRQ']) await drain(ctx, queue, qspace);
});

const memory: Members = { flags: TPQ.TPQDELIVERYQOS, delivery_qos: 4 };
const life = (exp_time: number): Members => ({ flags: TPQ.TPQEXPTIME_REL, exp_time });

describe('MSGS', () => {
  const at = { qspace: 'MSGS' };
  const full = async (): Promise<unknown> => sendCode(other, 'R', {}, at);

  it('[spec 8.4: TA_MAXMSG] of all queues and both qualities together', async () => {
    await sendTo(ctx, 'MSGS', 'Q', 1);
    await sendTo(ctx, 'MSGS', 'R', 2);
    await sendTo(ctx, 'MSGS', 'R', 3, memory);
    expect([await full(), await sendCode(ctx, 'Q', memory, at)]).toEqual(['QMENOSPACE', 'QMENOSPACE']);
    expect(await sendCode(ctx, 'Q', {}, { ...at, data: null })).toBe('QMENOSPACE');
    await take(ctx, 'R', null, at);
    expect([await full(), await full()]).toEqual(['OK', 'QMENOSPACE']);
  });

  it('counts what a transaction enqueued, from the call on; rollback gives it back', async () => {
    await ctx.tpbegin(60);
    for (const n of [1, 2, 3]) await sendTo(ctx, 'MSGS', 'Q', n);
    expect([await full(), await sendCode(ctx, 'Q', {}, at)]).toEqual(['QMENOSPACE', 'QMENOSPACE']);
    await ctx.tpabort();
    expect(await full()).toBe('OK');
  });

  it('a locked message keeps its slot until the commit', async () => {
    for (const n of [1, 2, 3]) await sendTo(ctx, 'MSGS', 'Q', n);
    await ctx.tpbegin(60);
    await take(ctx, 'Q', null, at);
    expect([await full(), await sendCode(ctx, 'Q', {}, at)]).toEqual(['QMENOSPACE', 'QMENOSPACE']);
    expect(await code(ctx.tpcommit())).toBe('OK');
    expect([await full(), await full()]).toEqual(['OK', 'QMENOSPACE']);
  });

  it('delayed, retrying and failed messages count; expiry gives back', async () => {
    await sendTo(ctx, 'MSGS', 'Q', 'late', {
      ...life(500),
      flags: TPQ.TPQTIME_REL | TPQ.TPQEXPTIME_REL,
      deq_time: 400,
    });
    await sendTo(ctx, 'MSGS', 'RETRY', 'retrying', life(500));
    await sendTo(ctx, 'MSGS', 'R', 'failed');
    expect(await attempt(ctx, 'RETRY', 'MSGS')).toBe('retrying');
    expect(await attempt(ctx, 'R', 'MSGS')).toBe('failed');
    expect((await daemon.queue('ERRQ', 'MSGS')).messages).toBe(1);
    expect(await full()).toBe('QMENOSPACE');
    daemon.clock.advance(501_000);
    await holds(daemon, 'RETRY', 0, 'MSGS');
    await holds(daemon, 'Q', 0, 'MSGS');
    expect([await full(), await full(), await full()]).toEqual(['OK', 'OK', 'QMENOSPACE']);
  });

  it('is the same after a restart', async () => {
    for (const n of [1, 2, 3]) await sendTo(ctx, 'MSGS', 'Q', n);
    await daemon.restart();
    expect(await full()).toBe('QMENOSPACE');
    await take(ctx, 'Q', null, at);
    expect([await full(), await full()]).toEqual(['OK', 'QMENOSPACE']);
  });

  it('a refused enqueue takes nothing: a thousand of them, and still three fit', async () => {
    for (const n of [1, 2, 3]) await sendTo(ctx, 'MSGS', 'Q', n);
    const refused = await Promise.all(Array.from({ length: 500 }, full));
    expect(new Set(refused)).toEqual(new Set(['QMENOSPACE']));
    await drain(ctx, 'Q', 'MSGS');
    expect([await full(), await full(), await full(), await full()]).toEqual([
      'OK',
      'OK',
      'OK',
      'QMENOSPACE',
    ]);
  });

  it('a born-expired message takes no room for long', async () => {
    for (const n of [1, 2]) await sendTo(ctx, 'MSGS', 'Q', n);
    const past = { flags: TPQ.TPQEXPTIME_ABS, exp_time: 1 };
    for (let i = 0; i < 5; i++) {
      expect(await sendCode(ctx, 'Q', past, at)).toBe('OK');
      await holds(daemon, 'Q', 2, 'MSGS');
    }
    expect([await full(), await full()]).toEqual(['OK', 'QMENOSPACE']);
  });
});

describe('PAGES', () => {
  const at = { qspace: 'PAGES' };
  /** Enqueues bodies of one size until it is refused. */
  async function fill(bytes: number, queue = 'Q'): Promise<number> {
    const data = bytes === 0 ? null : Buffer.alloc(bytes, 1);
    for (let count = 0; count < 1000; count++) {
      const answer = await sendCode(ctx, queue, {}, { ...at, data });
      if (answer === 'QMENOSPACE') return count;
      expect(answer).toBe('OK');
    }
    throw new Error('no limit');
  }

  it('[spec 8.4: TA_MAXPAGES / extents] a message takes whole pages; non-persistent ones take none', async () => {
    expect(await fill(1)).toBe(20);
    expect(await sendCode(ctx, 'R', {}, at)).toBe('QMENOSPACE');
    expect(await sendCode(ctx, 'R', memory, at)).toBe('OK');
    await take(ctx, 'Q', null, at);
    expect([await sendCode(ctx, 'R', {}, at), await sendCode(ctx, 'R', {}, at)]).toEqual([
      'OK',
      'QMENOSPACE',
    ]);
  });

  it.each([
    [10 * PAGE - 256, 2],
    [5 * PAGE - 256, 4],
    [20 * PAGE - 256, 1],
    [20 * PAGE + 1, 0],
  ])('bodies of %d bytes, with room for properties in the last page: %d', async (bytes, fit) => {
    expect(await fill(bytes)).toBe(fit);
  });

  it('what fits is refused only while something else is in its place', async () => {
    expect(await fill(5 * PAGE - 256)).toBe(4);
    await take(ctx, 'Q', null, at);
    expect(await fill(1, 'R')).toBe(5);
    await drain(ctx, 'R', 'PAGES');
    expect(await fill(5 * PAGE - 256)).toBe(1);
  });

  it('pages of an open transaction count and come back; locked ones stay until the commit', async () => {
    await ctx.tpbegin(60);
    expect(await fill(1)).toBe(20);
    expect(await sendCode(other, 'R', {}, at)).toBe('QMENOSPACE');
    await ctx.tpabort();
    expect(await fill(1)).toBe(20);
    await ctx.tpbegin(60);
    await take(ctx, 'Q', null, at);
    expect(await sendCode(other, 'R', {}, at)).toBe('QMENOSPACE');
    await ctx.tpcommit();
    expect(await sendCode(other, 'R', {}, at)).toBe('OK');
  });

  it('expiry and a restart: expired ones come back, others count on', async () => {
    for (let i = 0; i < 5; i++) await sendTo(ctx, 'PAGES', 'R', 'x', life(100));
    expect(await fill(1)).toBe(15);
    await daemon.restart();
    expect(await fill(1)).toBe(0);
    daemon.clock.advance(101_000);
    await holds(daemon, 'R', 0, 'PAGES');
    expect(await fill(1)).toBe(5);
  });

  it('a move to the error queue keeps the pages', async () => {
    expect(await fill(1)).toBe(20);
    await attempt(ctx, 'Q', 'PAGES');
    expect((await daemon.queue('ERRQ', 'PAGES')).messages).toBe(1);
    expect(await sendCode(ctx, 'R', {}, at)).toBe('QMENOSPACE');
    await drain(ctx, 'ERRQ', 'PAGES');
    expect(await fill(1)).toBe(1);
  });
});

describe('TRANS', () => {
  const at = { qspace: 'TRANS' };

  it('[spec 8.4: TA_MAXTRANS] QMENOSPACE for an enqueue, QMESYSTEM for a dequeue; back at the end of each', async () => {
    const third = await daemon.join();
    await sendTo(ctx, 'TRANS', 'R', 'there');
    for (const one of [ctx, other, third]) await one.tpbegin(60);
    await sendTo(ctx, 'TRANS', 'Q', 1);
    await sendTo(other, 'TRANS', 'Q', 2);
    expect(await sendCode(third, 'Q', {}, at)).toBe('QMENOSPACE');
    expect(await code(third.tpcommit())).toBe('OK');
    await ctx.tpcommit();
    await third.tpbegin(60);
    expect(await got(third, 'Q', {}, at)).toBe(1);
    await ctx.tpbegin(60);
    expect(await got(ctx, 'R', {}, at)).toBe('QMESYSTEM');
    await other.tpcommit();
    await third.tpabort();
    await ctx.tpabort();
    expect([await drain(ctx, 'Q', 'TRANS'), await drain(ctx, 'R', 'TRANS')]).toEqual([[1, 2], ['there']]);
  });

  it('a call outside transactions needs one too, while it runs', async () => {
    await sendTo(ctx, 'TRANS', 'R', 'there');
    for (const one of [ctx, other]) {
      await one.tpbegin(60);
      await sendTo(one, 'TRANS', 'Q', 'x');
    }
    const third = await daemon.join();
    expect(await sendCode(third, 'R', {}, at)).toBe('QMENOSPACE');
    expect(await got(third, 'R', {}, at)).toBe('QMESYSTEM');
    await ctx.tpabort();
    for (let i = 0; i < 20; i++) expect(await sendCode(third, 'R', {}, at)).toBe('OK');
    await other.tpabort();
    expect((await drain(third, 'R', 'TRANS')).length).toBe(21);
  });

  it('a transaction that has done nothing here needs none; a second call of one needs no second', async () => {
    for (const one of [ctx, other]) {
      await one.tpbegin(60);
      await send(one, 'Q', 'elsewhere');
    }
    const [third, fourth] = [await daemon.join(), await daemon.join()];
    for (const one of [third, fourth]) {
      await one.tpbegin(60);
      for (let i = 0; i < 5; i++) expect(await sendCode(one, 'Q', {}, at)).toBe('OK');
    }
    await Promise.all([third.tpabort(), fourth.tpabort()]);
    expect(await got(third, 'Q', {}, at)).toBe('QMENOMSG');
  });

  it('comes back with the time of a transaction and with its client', async () => {
    const third = await daemon.join();
    await ctx.tpbegin(20);
    await sendTo(ctx, 'TRANS', 'Q', 'x');
    await third.tpbegin(3600);
    await sendTo(third, 'TRANS', 'Q', 'x');
    expect(await sendCode(other, 'R', {}, at)).toBe('QMENOSPACE');
    daemon.clock.advance(20_100);
    await eventually(async () => (await sendCode(other, 'R', {}, at)) === 'OK');
    await third.tpterm();
    await other.tpbegin(60);
    await eventually(async () => (await sendCode(other, 'Q', {}, at)) === 'OK');
    await other.tpabort();
    await drain(other, 'R', 'TRANS');
  });
});

describe('queues and transactions of the domain', () => {
  it('[spec 8.4: TA_MAXQUEUES] as many as QUEUES are created; one more and the start is refused', async () => {
    for (const queue of ['A', 'B', 'C'])
      expect(await sendCode(ctx, queue, {}, { qspace: 'QUEUES' })).toBe('OK');
    const text = domain([{ words: 'QUEUES=3', queues: ['A', 'B', 'C', 'D'] }]);
    await expect(daemonForTest(text)).rejects.toThrow(/queue D/);
  });

  it('[spec 8.4: MAXGTT (UBB)] tpbegin is TPENOENT; plain calls go on', async () => {
    const text = domain([{ queues: ['Q'] }]).replace('MAXGTT 100', 'MAXGTT 2');
    const small = await daemonForTest(text);
    const [first, second, third] = [await small.join(), await small.join(), await small.join()];
    await first.tpbegin(60);
    await second.tpbegin(60);
    expect(await code(third.tpbegin(60))).toBe('TPENOENT');
    expect(await sendCode(third, 'Q')).toBe('OK');
    await first.tpcommit();
    expect(await code(third.tpbegin(60))).toBe('OK');
    await third.tpabort();
  });

  it('0 of everything is no limit but disk and memory', async () => {
    const at = { qspace: 'NULLS' };
    const contexts = await Promise.all(Array.from({ length: 12 }, () => daemon.join()));
    for (const one of contexts) await one.tpbegin(60);
    for (const one of contexts)
      for (let i = 0; i < 20; i++)
        expect(await sendCode(one, 'Q', {}, { ...at, data: Buffer.alloc(2000) })).toBe('OK');
    for (const one of contexts) await one.tpcommit();
    expect((await daemon.queue('Q', 'NULLS')).messages).toBe(240);
    for (const one of contexts) await one.tpterm();
  });
});
