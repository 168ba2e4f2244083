// Transactions that run out of time, and requests that come too late for theirs [spec 2.7, 3.3; PROTOCOL 7; DESIGN 6; C13, C21; T86-07].
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPFLAG, TPQ } from '../../clients/typescript/index.ts';
import { TPERRNO } from '../../proto/codes.ts';
import { daemonForAll, daemonForTest, eventually } from '../support/in-process.ts';
import type { RawClient } from '../support/raw-client.ts';
import { codeOf, ctlOf, drain, fresh, peek, put, SPACE, take } from './helpers.ts';

const queues = fresh('X', 40);
const daemon = daemonForAll({
  spaces: [{ timeoutS: 4, queues: ['PROBE', ...queues.names.map((name) => ({ name, retries: 9 }))] }],
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

/** Lets the transaction of `ctx`, of so many seconds, run out. */
async function runOut(seconds: number): Promise<void> {
  daemon.clock.advance(seconds * 1000 + 10);
  await eventually(async () => (await codeOf(put(ctx, 'PROBE', 'x'))) === 'TPETIME');
}

describe('a transaction whose time is over', () => {
  it('is rolled back on time, and a dequeue that waits in it is answered TPETIME then', async () => {
    const [queue, empty] = [queues.next(), queues.next()];
    await put(other, queue, 'x');
    const began = performance.now();
    await ctx.tpbegin(1);
    await take(ctx, queue);
    const waited = codeOf(take(ctx, empty, ctlOf(TPQ.TPQWAIT)));
    await eventually(async () => (await daemon.queue(queue)).ready === 1);
    const tookMs = performance.now() - began;
    expect(await waited).toBe('TPETIME');
    expect(tookMs).toBeGreaterThan(950);
    expect(tookMs).toBeLessThan(3000);
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual(['x']);
  });

  it.each<[string, (queue: string) => Promise<unknown>]>([
    ['enqueue', (queue) => put(ctx, queue, 'y')],
    ['dequeue', (queue) => take(ctx, queue)],
    ['dequeue by corrid', (queue) => take(ctx, queue, ctlOf(TPQ.TPQGETBYCORRID, { corrid: 'k' }))],
    ['dequeue by msgid', (queue) => take(ctx, queue, ctlOf(0x40008, { msgid: Buffer.alloc(32) }))],
    ['waiting dequeue', (queue) => take(ctx, queue, ctlOf(TPQ.TPQWAIT))],
    ['enqueue of a queue that does not exist', () => put(ctx, 'NOQUEUE', 'y')],
  ])('answers TPETIME to %s, over and over, until tpabort', async (_name, call) => {
    const queue = queues.next();
    await put(other, queue, 'x');
    await ctx.tpbegin(5);
    await take(ctx, queue);
    await runOut(5);
    for (let i = 0; i < 4; i++) expect(await codeOf(call(queue))).toBe('TPETIME');
    expect(await codeOf(ctx.tpabort())).toBe('OK');
    expect(await drain(other, queue)).toEqual(['x']);
  });

  it('commits with TPEABORT, and nothing of it is there', async () => {
    const [queue, marker] = [queues.next(), queues.next()];
    await put(other, queue, 'x');
    await ctx.tpbegin(5);
    await take(ctx, queue);
    await put(ctx, marker, 'marker');
    await runOut(5);
    expect(await codeOf(ctx.tpcommit())).toBe('TPEABORT');
    expect([await drain(other, queue), await drain(other, marker)]).toEqual([['x'], []]);
    expect(await codeOf(ctx.tpbegin(5))).toBe('OK');
    await ctx.tpabort();
  });

  it('does not touch calls with TPNOTRAN that come after', async () => {
    const queue = queues.next();
    await ctx.tpbegin(5);
    await runOut(5);
    expect(await codeOf(ctx.tpenqueue(SPACE, queue, null, 'x', TPFLAG.TPNOTRAN))).toBe('OK');
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual(['x']);
  });

  it('ends a wait with TPNOTRAN too, and is then rollback-only [spec 2.2]', async () => {
    const queue = queues.next();
    await ctx.tpbegin(1);
    const waiting = take(ctx, queue, ctlOf(TPQ.TPQWAIT), TPFLAG.TPNOTRAN);
    expect(await codeOf(waiting)).toBe('TPETIME');
    expect(await codeOf(ctx.tpcommit())).toBe('TPEABORT');
  });
});

describe('time', () => {
  it('a step of the wall clock neither ends a transaction nor keeps it (C21)', async () => {
    const queue = queues.next();
    await put(other, queue, 'x');
    for (const stepMs of [2 * 3_600_000, -3 * 3_600_000]) {
      await ctx.tpbegin(10);
      await take(ctx, queue);
      daemon.clock.stepWall(stepMs);
      expect(await peek(other, queue)).toBeUndefined();
      await runOut(10);
      expect(await peek(other, queue)).toBe('x');
      await ctx.tpabort();
    }
  });

  it.each([3_000_000, 2 ** 31 - 1, 2 ** 31, 2 ** 32])(
    'a timeout of %d s does not overflow',
    async (seconds) => {
      const queue = queues.next();
      await ctx.tpbegin(seconds);
      await put(ctx, queue, 'x');
      daemon.clock.advance(2_900_000_000);
      await codeOf(take(other, queue));
      expect(await codeOf(ctx.tpcommit())).toBe('OK');
      expect(await drain(other, queue)).toEqual(['x']);
    },
  );

  it('0 is the largest value: a hundred days pass', async () => {
    const queue = queues.next();
    await ctx.tpbegin(0);
    await put(ctx, queue, 'x');
    daemon.clock.advance(100 * 86_400_000);
    await codeOf(take(other, queue));
    expect(await codeOf(ctx.tpcommit())).toBe('OK');
  });

  it.each([
    ['0', 0],
    ['more', 1000],
  ])('MAXTRANTIME is a ceiling for %s', async (_name, timeoutS) => {
    const capped = await daemonForTest({ maxTranTime: 5, spaces: [{ queues: ['Q'] }] });
    const context = await capped.join();
    await context.tpbegin(timeoutS);
    capped.clock.advance(4000);
    expect(await codeOf(put(context, 'Q', 'x'))).toBe('OK');
    capped.clock.advance(1100);
    await eventually(async () => (await codeOf(put(context, 'Q', 'x'))) === 'TPETIME');
    expect(await codeOf(context.tpcommit())).toBe('TPEABORT');
  });
});

describe('requests of a transaction that has ended (C13)', () => {
  const body = [1, '', Buffer.from('late')];

  it.each<[string, number]>([
    ['committed', 6],
    ['aborted', 7],
  ])('%s: everything is TPEPROTO, also on another connection', async (_name, end) => {
    const queue = queues.next();
    const client = await daemon.raw();
    const tx = await begin(client);
    await client.ask(end, 3, tx);
    for (const one of [client, await daemon.raw()]) {
      const answers = [
        await one.ask(3, 10, [SPACE, queue], null, 0, tx, ...body),
        await one.ask(4, 11, [SPACE, queue], null, 0, tx, 0, '', 0),
        await one.ask(4, 12, [SPACE, queue], [0x80], 0, tx, 0, '', 0),
        await one.ask(6, 13, tx),
        await one.ask(7, 14, tx),
      ];
      expect(answers.map(([op, , tperrno]) => [op, tperrno])).toEqual(
        Array.from({ length: 5 }, () => [127, TPERRNO.TPEPROTO]),
      );
    }
    expect(await drain(other, queue)).toEqual([]);
    expect((await other.stat(SPACE)).transactions).toBe(0);
  });

  it('a number of one connection is none of another, while it lives', async () => {
    const [client, stranger] = [await daemon.raw(), await daemon.raw()];
    const tx = await begin(client);
    expect((await stranger.ask(6, 3, tx)).slice(0, 3)).toEqual([127, 3, TPERRNO.TPEPROTO]);
    expect((await client.ask(6, 3, tx))[0]).toBe(134);
  });

  it('100 pipelined requests with the timeout in their middle: each answered, nothing stored or locked', async () => {
    const queue = queues.next();
    await put(other, queue, 'x');
    const client = await daemon.raw();
    const tx = await begin(client, 5);
    await client.ask(4, 3, [SPACE, queue], null, 0, tx, 0, '', 0);
    for (let id = 100; id < 150; id++) client.send(3, id, [SPACE, queue], null, 0, tx, ...body);
    await client.answer(120);
    daemon.clock.advance(5010);
    for (let id = 150; id < 200; id++) client.send(3, id, [SPACE, queue], null, 0, tx, ...body);
    const codes = new Set<unknown>();
    for (let id = 100; id < 200; id++) {
      if (id === 120) continue;
      const [op, , tperrno] = await client.answer(id);
      codes.add(op === 127 ? tperrno : 'OK');
    }
    expect(codes).toEqual(new Set([TPERRNO.TPETIME, 'OK']));
    expect((await client.ask(6, 300, tx)).slice(0, 3)).toEqual([127, 300, TPERRNO.TPEABORT]);
    expect(await drain(other, queue)).toEqual(['x']);
    expect((await other.stat(SPACE)).transactions).toBe(0);
  });

  it('a commit waits for what was sent before it', async () => {
    const queue = queues.next();
    const client = await daemon.raw();
    const tx = await begin(client);
    for (let id = 100; id < 150; id++) client.send(3, id, [SPACE, queue], null, 0, tx, ...body);
    client.send(6, 200, tx);
    expect((await client.answer(200))[0]).toBe(134);
    expect((await daemon.queue(queue)).ready).toBe(50);
  });

  it('a commit over a dequeue that still waits: TPEABORT, and the dequeue TPGOTSIG', async () => {
    const [queue, marker] = [queues.next(), queues.next()];
    const client = await daemon.raw();
    const tx = await begin(client);
    await client.ask(3, 3, [SPACE, marker], null, 0, tx, ...body);
    client.send(4, 4, [SPACE, queue], [TPQ.TPQWAIT], 0, tx, 0, '', 0);
    client.send(6, 5, tx);
    expect((await client.answer(4)).slice(0, 4)).toEqual([127, 4, TPERRNO.TPGOTSIG, 0]);
    expect((await client.answer(5)).slice(0, 3)).toEqual([127, 5, TPERRNO.TPEABORT]);
    await put(other, queue, 'x');
    expect([await drain(other, queue), await drain(other, marker)]).toEqual([['x'], []]);
  });

  it('an abort over a dequeue that still waits answers both', async () => {
    const queue = queues.next();
    const client = await daemon.raw();
    const tx = await begin(client);
    client.send(4, 4, [SPACE, queue], [TPQ.TPQWAIT], 0, tx, 0, '', 0);
    client.send(7, 5, tx);
    expect((await client.answer(5))[0]).toBe(135);
    expect((await client.answer(4))[0]).toBe(127);
    await put(other, queue, 'x');
    expect(await drain(other, queue)).toEqual(['x']);
  });
});

async function begin(client: RawClient, timeoutS = 60): Promise<number> {
  const [, , tx] = (await client.ask(5, 2, timeoutS)) as [number, number, number];
  return tx;
}
