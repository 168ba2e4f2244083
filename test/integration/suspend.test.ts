// tpsuspend, tpresume and tpscmt [spec 3.3; PROTOCOL 7, Suspending; DESIGN 6; C83]: a transaction that is on no connection, and comes to another.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TP_CMT, type TPTRANID, TPFLAG, TPQ } from '../../clients/typescript/index.ts';
import { OP, TPERRNO } from '../../proto/codes.ts';
import { daemonForAll, daemonForTest, eventually } from '../support/in-process.ts';
import { codeOf, ctlOf, drain, fresh, peek, put, take } from './helpers.ts';

const queues = fresh('S', 40);
const daemon = daemonForAll({ spaces: [{ queues: queues.names.map((name) => ({ name, retries: 9 })) }] });
let ctx: Context;
let other: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  other = await daemon.join({ usrname: 'somebody', cltname: 'else' });
});
afterEach(async () => {
  if (ctx.tpgetlev() === 1) await ctx.tpabort();
});

/** A transaction with a message enqueued and one locked, suspended. */
async function suspended(timeoutS = 30): Promise<{ queue: string; tranid: TPTRANID }> {
  const queue = queues.next();
  await put(other, queue, 'there before');
  await ctx.tpbegin(timeoutS);
  await put(ctx, queue, 'mine');
  await take(ctx, queue);
  return { queue, tranid: await ctx.tpsuspend() };
}

describe('a suspended transaction', () => {
  it('keeps what it holds; its context is in none, may have another, and goes on with it', async () => {
    const { queue, tranid } = await suspended();
    expect([tranid.length, ctx.tpgetlev(), await peek(other, queue)]).toEqual([16, 0, undefined]);
    await ctx.tpbegin(30);
    await put(ctx, queue, 'of another');
    await ctx.tpcommit();
    await ctx.tpresume(tranid);
    expect(ctx.tpgetlev()).toBe(1);
    await put(ctx, queue, 'and more');
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual(['mine', 'of another', 'and more']);
  });

  it.each(['tpcommit', 'tpabort'] as const)(
    'may be resumed on another connection of the same identity: %s there',
    async (end) => {
      const { queue, tranid } = await suspended();
      const next = await daemon.join();
      await next.tpresume(Uint8Array.from(tranid));
      await put(next, queue, 'there');
      await next[end]();
      expect(await drain(other, queue)).toEqual(end === 'tpcommit' ? ['mine', 'there'] : ['there before']);
      await next.tpterm();
    },
  );

  it('survives its connection; a resumed one ends with that of whoever has it', async () => {
    const queue = queues.next();
    const first = await daemon.join();
    await first.tpbegin(30);
    await put(first, queue, 'x');
    const tranid = await first.tpsuspend();
    await first.tpterm();
    const second = await daemon.join();
    await second.tpresume(tranid);
    await put(second, queue, 'y');
    expect(await peek(other, queue)).toBe(undefined);
    await second.tpterm();
    expect([await drain(other, queue), await codeOf(ctx.tpresume(tranid))]).toEqual([[], 'TPEINVAL']);
    expect((await ctx.stat()).transactions).toBe(0);
  });

  it('ends with its time, which runs on: TPEINVAL then, and nothing is held or counted any more (C83)', async () => {
    const { queue, tranid } = await suspended(5);
    expect((await ctx.stat()).transactions).toBe(1);
    daemon.clock.advance(5010);
    await eventually(async () => (await daemon.queue(queue)).ready === 1);
    expect((await ctx.stat()).transactions).toBe(0);
    expect(await codeOf(ctx.tpresume(tranid))).toBe('TPEINVAL');
    expect(await drain(other, queue)).toEqual(['there before']);
  });

  it('brings what is left of its time along', async () => {
    const { queue, tranid } = await suspended(10);
    daemon.clock.advance(6000);
    const next = await daemon.join();
    await next.tpresume(tranid);
    daemon.clock.advance(4010);
    await eventually(async () => (await codeOf(put(next, queue, 'x'))) === 'TPETIME');
    expect(await codeOf(next.tpcommit())).toBe('TPEABORT');
    await next.tpterm();
  });

  it('counts against MAXGTT', async () => {
    const small = await daemonForTest({ maxGtt: 1 });
    const one = await small.join();
    await one.tpbegin(30);
    const tranid = await one.tpsuspend();
    expect(await codeOf(one.tpbegin(30))).toBe('TPENOENT');
    await one.tpresume(tranid);
    await one.tpabort();
    expect(await codeOf(one.tpbegin(30))).toBe('OK');
  });

  it('is gone with the daemon, as any that is open', async () => {
    const stopped = await daemonForTest({});
    const one = await stopped.join();
    await one.tpbegin(30);
    await put(one, 'Q', 'x');
    const tranid = await one.tpsuspend();
    await stopped.restart();
    expect([await codeOf(one.tpresume(tranid)), await drain(one, 'Q')]).toEqual(['TPEINVAL', []]);
  });
});

describe('tpresume', () => {
  it('of an id used up: TPEMATCH while the transaction is open, TPEINVAL after it', async () => {
    const { tranid } = await suspended();
    await ctx.tpresume(tranid);
    const next = await daemon.join();
    expect(await codeOf(next.tpresume(tranid))).toBe('TPEMATCH');
    await ctx.tpcommit();
    expect(await codeOf(next.tpresume(tranid))).toBe('TPEINVAL');
    await next.tpterm();
  });

  it('by another identity: TPEINVAL, and the transaction is still there for its own', async () => {
    const { queue, tranid } = await suspended();
    expect(await codeOf(other.tpresume(tranid))).toBe('TPEINVAL');
    await ctx.tpresume(tranid);
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual(['mine']);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['an unknown id', () => ctx.tpresume(new Uint8Array(16)), 'TPEINVAL'],
    ['an id of 15 bytes', () => ctx.tpresume(new Uint8Array(15)), 'TPEINVAL'],
    ['flags', () => ctx.tpresume(new Uint8Array(16), TPFLAG.TPNOBLOCK), 'TPEINVAL'],
  ])('%s', async (_name, call, code) => {
    expect([await codeOf(call()), ctx.tpgetlev()]).toEqual([code, 0]);
  });

  it('in a transaction: TPEPROTO, and the id stays good', async () => {
    const { queue, tranid } = await suspended();
    await ctx.tpbegin(30);
    expect(await codeOf(ctx.tpresume(tranid))).toBe('TPEPROTO');
    await ctx.tpabort();
    await ctx.tpresume(tranid);
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual(['mine']);
  });
});

describe('tpsuspend', () => {
  it('in no transaction: TPEPROTO; with flags: TPEINVAL', async () => {
    expect([await codeOf(ctx.tpsuspend()), await codeOf(ctx.tpsuspend(1))]).toEqual(['TPEPROTO', 'TPEINVAL']);
  });

  it('with a reply outstanding: TPEPROTO, the descriptor stays valid', async () => {
    await other.tpadvertise('LATER', () => 'answer');
    await ctx.tpbegin(30);
    const cd = await ctx.tpacall('LATER', null);
    expect([await codeOf(ctx.tpsuspend()), ctx.tpgetlev()]).toEqual(['TPEPROTO', 1]);
    expect((await ctx.tpgetrply(cd)).data).toBe('answer');
    expect(await codeOf(ctx.tpresume(await ctx.tpsuspend()))).toBe('OK');
    await ctx.tpcommit();
  });

  it('with a dequeue that waits: TPEPROTO at the daemon, and it waits on', async () => {
    const queue = queues.next();
    await ctx.tpbegin(30);
    const wait = take(ctx, queue, ctlOf(TPQ.TPQWAIT));
    expect([await codeOf(ctx.tpsuspend()), ctx.tpgetlev()]).toEqual(['TPEPROTO', 1]);
    await put(other, queue, 'x');
    expect((await wait).data).toBe('x');
    await ctx.tpcommit();
  });

  it('of one that was rolled back: TPEABORT, and the context is in none', async () => {
    const queue = queues.next();
    await ctx.tpbegin(5);
    daemon.clock.advance(5010);
    await eventually(async () => (await codeOf(put(ctx, queue, 'x'))) === 'TPETIME');
    expect(await codeOf(ctx.tpsuspend())).toBe('TPEABORT');
    expect([ctx.tpgetlev(), (await ctx.stat()).transactions]).toEqual([0, 0]);
  });

  it('leaves its number dead on the connection', async () => {
    const raw = await daemon.raw();
    const tx = (await raw.ask(OP.BEGIN, 2, 30))[2] as number;
    const tranid = (await raw.ask(OP.SUSPEND, 3, tx))[2] as Uint8Array;
    expect((await raw.ask(OP.COMMIT, 4, tx)).slice(0, 3)).toEqual([OP.ERROR, 4, TPERRNO.TPEPROTO]);
    expect((await raw.ask(OP.SUSPEND, 5, tx)).slice(0, 3)).toEqual([OP.ERROR, 5, TPERRNO.TPEPROTO]);
    const [, , again, leftMs] = (await raw.ask(OP.RESUME, 6, tranid)) as number[];
    expect([again === tx, (leftMs ?? 0) > 29_000, (leftMs ?? 0) <= 30_000]).toEqual([false, true, true]);
    expect(await raw.ask(OP.COMMIT, 7, again ?? 0)).toEqual([134, 7]);
  });

  it('of one without a limit says so', async () => {
    const raw = await daemon.raw();
    const tx = (await raw.ask(OP.BEGIN, 2, 0))[2] as number;
    const tranid = (await raw.ask(OP.SUSPEND, 3, tx))[2] as Uint8Array;
    const resumed = (await raw.ask(OP.RESUME, 4, tranid)) as number[];
    expect(resumed[3] === 0 || Number.isSafeInteger(resumed[3])).toBe(true);
    await raw.ask(OP.ABORT, 5, resumed[2] ?? 0);
  });
});

describe('a service that has joined', () => {
  it('may leave and come back in the same request; what it does meanwhile is outside', async () => {
    const queue = queues.next();
    const server = await daemon.join();
    const levels: number[] = [];
    await server.tpadvertise('LEAVES', async (request) => {
      const tranid = await request.tpsuspend();
      levels.push(request.tpgetlev());
      await put(request, queue, 'outside');
      await request.tpresume(tranid);
      levels.push(request.tpgetlev());
      await put(request, queue, 'inside');
    });
    await ctx.tpbegin(30);
    expect(await codeOf(ctx.tpcall('LEAVES', null))).toBe('OK');
    await ctx.tpabort();
    expect([levels, await drain(other, queue)]).toEqual([[0, 1], ['outside']]);
    await server.tpterm();
  });

  it('that does not come back: TPESVCERR, and nobody else may come for it', async () => {
    const server = await daemon.join({ onError: () => {} });
    const ids: TPTRANID[] = [];
    const codes: string[] = [];
    await server.tpadvertise('STAYSAWAY', async (request) => {
      const tranid = await request.tpsuspend();
      ids.push(tranid);
      const sameName = await daemon.join();
      codes.push(await codeOf(sameName.tpresume(tranid)));
      await sameName.tpterm();
    });
    await ctx.tpbegin(30);
    expect(await codeOf(ctx.tpcall('STAYSAWAY', null))).toBe('TPESVCERR');
    codes.push(await codeOf(server.tpresume(ids[0] as TPTRANID)));
    expect([codes, await codeOf(ctx.tpcommit())]).toEqual([['TPEINVAL', 'TPEINVAL'], 'TPEABORT']);
    await server.tpterm();
  });
});

describe('tpscmt', () => {
  it('returns what it was, TP_CMT_COMPLETE at first; commits are durable either way', async () => {
    const [queue, context] = [queues.next(), await daemon.join()];
    const before: number[] = [];
    for (const when of [TP_CMT.TP_CMT_LOGGED, TP_CMT.TP_CMT_COMPLETE, TP_CMT.TP_CMT_COMPLETE]) {
      before.push(context.tpscmt(when));
      await context.tpbegin(30);
      await put(context, queue, when);
      await context.tpcommit();
    }
    expect(before).toEqual([TP_CMT.TP_CMT_COMPLETE, TP_CMT.TP_CMT_LOGGED, TP_CMT.TP_CMT_COMPLETE]);
    expect(await drain(other, queue)).toEqual([1, 2, 2]);
    expect(await codeOf(Promise.resolve().then(() => context.tpscmt(3)))).toBe('TPEINVAL');
    await context.tpterm();
  });

  it('a COMMITAT with another value: TPEINVAL, and the transaction is open', async () => {
    const raw = await daemon.raw();
    const tx = (await raw.ask(OP.BEGIN, 2, 30))[2] as number;
    expect((await raw.ask(OP.COMMITAT, 3, tx, 3)).slice(0, 3)).toEqual([OP.ERROR, 3, TPERRNO.TPEINVAL]);
    expect(await raw.ask(OP.COMMITAT, 4, tx, 1)).toEqual([154, 4]);
    expect((await raw.ask(OP.COMMITAT, 5, tx, 1)).slice(0, 3)).toEqual([OP.ERROR, 5, TPERRNO.TPEPROTO]);
  });
});
