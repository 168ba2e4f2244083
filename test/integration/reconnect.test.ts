// Clients and servers of the SDK when the daemon stops and comes back: what fails and how it is said, and that everything goes on by
// itself (C61); what the forwarder does over a restart.
import { describe, expect, it } from 'vitest';
import { type Context, TPERRNO, TPQ } from '../../clients/typescript/index.ts';
import { daemonForTest, eventually, type InProcess, pause } from '../support/in-process.ts';
import { codeOf, ctlOf, drain, put, putId, SPACE, take } from './helpers.ts';

const spaces = [
  { errorQueue: 'ERRQ', queues: ['ERRQ', 'Q', 'R', 'S'], forwarders: [{ queues: ['S'], timeoutS: 20 }] },
];
const start = async (): Promise<{ daemon: InProcess; ctx: Context }> => {
  const daemon = await daemonForTest({ spaces });
  return { daemon, ctx: await daemon.join() };
};

describe('a client', () => {
  it('that waits: the wait fails, and not as if there were no message; the next one works', async () => {
    const { daemon, ctx } = await start();
    const waiting = codeOf(take(ctx, 'Q', ctlOf(TPQ.TPQWAIT)));
    await eventually(async () => (await daemon.queue('Q')).waiters === 1);
    await daemon.restart();
    expect(['TPESYSTEM', 'TPGOTSIG', 'QMEABORTED']).toContain(await waiting);
    const next = take(ctx, 'Q', ctlOf(TPQ.TPQWAIT));
    await put(ctx, 'Q', 'x');
    expect((await next).data).toBe('x');
  });

  it('that calls while the daemon is away is served within 2 s of its return', async () => {
    const { daemon, ctx } = await start();
    await daemon.stop();
    const calls = [1, 2, 3].map((n) => ctx.tpenqueue(SPACE, 'Q', null, n));
    await pause(300);
    await daemon.start();
    const began = performance.now();
    await Promise.all(calls);
    expect(performance.now() - began).toBeLessThan(2000);
    expect(await drain(ctx, 'Q')).toEqual([1, 2, 3]);
  });

  it('in a transaction: TPETIME until it is ended, commit is TPEABORT, then all is well', async () => {
    const { daemon, ctx } = await start();
    await put(ctx, 'Q', 'x');
    await ctx.tpbegin(60);
    await take(ctx, 'Q');
    await daemon.restart();
    expect(await codeOf(put(ctx, 'Q', 'y'))).toBe('TPETIME');
    expect(await codeOf(take(ctx, 'Q'))).toBe('TPETIME');
    expect(await codeOf(ctx.tpcommit())).toBe('TPEABORT');
    expect(await drain(ctx, 'Q')).toEqual(['x']);
  });

  it('whose enqueue was under way is told when its outcome is unknown, and may have it done or not', async () => {
    const { daemon, ctx } = await start();
    const sent = Array.from({ length: 200 }, (_, n) => ctx.tpenqueue(SPACE, 'Q', null, n));
    const outcomes = Promise.allSettled(sent);
    await Promise.race(sent);
    await daemon.restart();
    const acknowledged: number[] = [];
    for (const [n, outcome] of (await outcomes).entries()) {
      if (outcome.status === 'fulfilled') acknowledged.push(n);
      else expect(outcome.reason).toMatchObject({ tperrno: TPERRNO.TPESYSTEM, outcomeUnknown: true });
    }
    const there = await drain(ctx, 'Q');
    expect(there).toEqual(expect.arrayContaining(acknowledged));
    expect(there).toEqual(Array.from({ length: there.length }, (_, n) => n));
  });

  it('may leave while the daemon is away, within 2 s', async () => {
    const { daemon, ctx } = await start();
    await daemon.stop();
    const waiting = codeOf(put(ctx, 'Q', 'x'));
    const began = performance.now();
    await ctx.tpterm();
    expect(performance.now() - began).toBeLessThan(2000);
    expect(await waiting).not.toBe('OK');
  });

  it('that consumes goes on by itself and handles every message', async () => {
    const { daemon, ctx } = await start();
    const seen: number[] = [];
    const stop = new AbortController();
    const consuming = ctx
      .queue<number>(SPACE, 'Q')
      .consume(({ data }) => void seen.push(data), { signal: stop.signal, onError: () => undefined });
    const other = await daemon.join();
    for (let round = 0; round < 3; round++) {
      await put(other, 'Q', round * 2, round * 2 + 1);
      await daemon.restart();
    }
    await eventually(() => new Set(seen).size === 6, 10_000);
    stop.abort();
    await consuming;
    expect(new Set(seen)).toEqual(new Set([0, 1, 2, 3, 4, 5]));
    expect(await drain(other, 'ERRQ')).toEqual([]);
  });
});

describe('a server', () => {
  it('offers its services again by itself, and the forwarder goes on', async () => {
    const { daemon, ctx } = await start();
    const server = await daemon.join();
    await server.tpadvertise('S', (call) => call.text.toUpperCase());
    await daemon.restart();
    await putId(ctx, 'S', 'x', { flags: TPQ.TPQREPLYQ, replyqueue: 'R' });
    expect((await take(ctx, 'R', ctlOf(TPQ.TPQWAIT))).data).toBe('X');
  });

  it('the messages that wait for it at the start are neither lost nor moved while it reconnects', async () => {
    const { daemon, ctx } = await start();
    const server = await daemon.join({ reconnect: { initialMs: 400, maxMs: 400 } });
    const seen: string[] = [];
    await server.tpadvertise('S', (call) => void seen.push(call.text));
    await daemon.stop();
    await daemon.start();
    await put(ctx, 'S', 'x');
    await eventually(() => seen.length === 1);
    expect(await drain(ctx, 'ERRQ')).toEqual([]);
  });

  it('a request under way at the stop is no attempt: it is called again after the start (C43)', async () => {
    const { daemon, ctx } = await start();
    const server = await daemon.join();
    const seen: string[] = [];
    await server.tpadvertise('S', async (call) => {
      seen.push(call.text);
      if (seen.length === 1) await new Promise(() => undefined);
    });
    await put(ctx, 'S', 'x');
    await eventually(() => seen.length === 1);
    await daemon.restart();
    await eventually(() => seen.length === 2, 10_000);
    await eventually(async () => (await daemon.queue('S')).messages === 0);
    expect(await drain(ctx, 'ERRQ')).toEqual([]);
  });
});
