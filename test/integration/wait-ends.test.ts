// What ends a waiting dequeue that gets no message: TMQUEUE -t, BLOCKTIME, its own limit, CANCEL, the loss of its client [spec 2.5;
// PROTOCOL 7; C09, C39].
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPFLAG, TPQ } from '../../clients/typescript/index.ts';
import { TPERRNO } from '../../proto/codes.ts';
import { daemonForAll, daemonForTest } from '../support/in-process.ts';
import { codeOf, ctlOf, drain, fresh, outcome, put, SPACE, wait, waitersOf, take } from './helpers.ts';

const queues = fresh('W', 40);
const daemon = daemonForAll({ spaces: [{ queues: queues.names }] });
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

describe('a wait ends without a message', () => {
  it('-t after 1 s: QMENOMSG, on time, and the message that comes later is nobody else’s', async () => {
    const small = await daemonForTest({ spaces: [{ timeoutS: 1, queues: ['Q'] }] });
    const context = await small.join();
    const began = performance.now();
    expect(await wait(context, 'Q')).toBe('QMENOMSG');
    const tookMs = performance.now() - began;
    expect([tookMs > 950, tookMs < 3000]).toEqual([true, true]);
    await put(context, 'Q', 'x');
    expect(await drain(context, 'Q')).toEqual(['x']);
  });

  it.each<[string, number, number, string]>([
    ['BLOCKTIME before -t: TPETIME', 0, 60_010, 'TPETIME'],
    ['BLOCKTIME with TPNOTIME: -t counts', TPFLAG.TPNOTIME, 60_010, 'waits'],
    ['-t with TPNOTIME: QMENOMSG', TPFLAG.TPNOTIME, 90_010, 'QMENOMSG'],
    ['TPNOBLOCK does not stop it from waiting', TPFLAG.TPNOBLOCK, 0, 'waits'],
  ])('%s', async (_name, flags, advanceMs, code) => {
    const small = await daemonForTest({ spaces: [{ timeoutS: 90, queues: ['Q'] }] });
    const context = await small.join();
    const waiting = outcome(take(context, 'Q', ctlOf(WAIT), flags));
    await waitersOf(small, 'Q', 1);
    if (advanceMs > 0) small.clock.advance(advanceMs);
    if (code === 'waits') {
      await put(await small.join(), 'Q', 'waits');
    }
    expect(await waiting).toBe(code);
  });

  it('a client that timed out consumes no message', async () => {
    const small = await daemonForTest({ spaces: [{ timeoutS: 90, queues: ['Q'] }] });
    const context = await small.join();
    const waiting = wait(context, 'Q');
    await waitersOf(small, 'Q', 1);
    small.clock.advance(60_010);
    expect(await waiting).toBe('TPETIME');
    await put(context, 'Q', 'x');
    expect(await drain(context, 'Q')).toEqual(['x']);
  });

  it('waitMs shortens it; inside a transaction the transaction can go on', async () => {
    const queue = queues.next();
    await ctx.tpbegin(60);
    await put(ctx, queue, 'x');
    const call = ctx.tpdequeue(SPACE, queue, ctlOf(WAIT), null, 0, { waitMs: 50 });
    expect(await codeOf(call)).toBe('QMENOMSG');
    expect(await codeOf(ctx.tpcommit())).toBe('OK');
  });

  it('waitMs cannot lengthen it', async () => {
    const queue = queues.next();
    const call = outcome(
      other.tpdequeue(SPACE, queue, ctlOf(WAIT), null, TPFLAG.TPNOTIME, { waitMs: 900_000 }),
    );
    await waiters(queue, 1);
    daemon.clock.advance(31_000);
    expect(await call).toBe('QMENOMSG');
  });

  it('the largest waitMs is no overflow, and none without TPQWAIT', async () => {
    const queue = queues.next();
    const raw = await daemon.raw();
    const longest = Number.MAX_SAFE_INTEGER;
    raw.send(4, 5, [SPACE, queue], [WAIT], 0x20, 0, 0, '', longest);
    expect((await raw.ask(4, 6, [SPACE, queue], [0], 0, 0, 0, '', longest))[0]).toBe(127);
    expect((await daemon.queue(queue)).waiters).toBe(1);
    await put(other, queue, 'x');
    expect((await raw.answer(5)).slice(3)).toEqual([1, '', Buffer.from('x')]);
  });

  it('C39: waiters of 2, 4 and 6 s and one that leaves: each on its own time', async () => {
    const queue = queues.next();
    const ends: string[] = [];
    const note = (name: string, waiting: Promise<unknown>): Promise<unknown> =>
      waiting.then((value) => ends.push(`${name}:${String(value)}`));
    const limited = (waitMs: number, signal?: AbortSignal): Promise<unknown> =>
      outcome(other.tpdequeue(SPACE, queue, ctlOf(WAIT), null, 0, { waitMs, signal }));
    const waits = [note('2', limited(2000)), note('4', limited(4000)), note('6', limited(6000))];
    await waiters(queue, 3);
    const leave = new AbortController();
    daemon.clock.advance(1000);
    waits.push(note('leaver', limited(9000, leave.signal)));
    await waiters(queue, 4);
    leave.abort();
    await waiters(queue, 3);
    daemon.clock.advance(1010);
    await waiters(queue, 2);
    daemon.clock.advance(1000);
    await put(ctx, queue, 'x');
    await waiters(queue, 1);
    daemon.clock.advance(2900);
    expect((await daemon.queue(queue)).waiters).toBe(1);
    daemon.clock.advance(110);
    await Promise.all(waits);
    expect(ends).toEqual(['leaver:TPGOTSIG', '2:QMENOMSG', '4:x', '6:QMENOMSG']);
  });
});

describe('a wait that is given up', () => {
  it('cancelled: TPGOTSIG before the answer to CANCEL, and it takes no message', async () => {
    const queue = queues.next();
    const raw = await daemon.raw();
    raw.send(4, 5, [SPACE, queue], [WAIT], 0, 0, 0, '', 0);
    raw.send(8, 6, 5);
    expect((await raw.next()).slice(0, 3)).toEqual([127, 5, TPERRNO.TPGOTSIG]);
    expect(await raw.next()).toEqual([136, 6, true]);
    await put(other, queue, 'x');
    expect(await drain(other, queue)).toEqual(['x']);
  });

  it('cancelled too late: the message is delivered, CANCEL finds nothing', async () => {
    const queue = queues.next();
    const raw = await daemon.raw();
    raw.send(4, 5, [SPACE, queue], [WAIT], 0, 0, 0, '', 0);
    raw.send(3, 6, [SPACE, queue], null, 0, 0, 1, '', Buffer.from('x'));
    raw.send(8, 7, 5);
    expect((await raw.answer(5))[0]).toBe(132);
    expect(await raw.answer(7)).toEqual([136, 7, false]);
  });

  it.each<[string, number]>([
    ['an id never seen', 4711],
    ['an id answered already', 2],
    ['its own id', 9],
  ])('CANCEL of %s: found false', async (_name, target) => {
    const raw = await daemon.raw();
    await raw.ask(14, 2);
    expect(await raw.ask(8, 9, target)).toEqual([136, 9, false]);
  });

  it('a race of cancel and message: whoever has the message, it is there once', async () => {
    const queue = queues.next();
    let delivered = 0;
    for (let i = 0; i < 100; i++) {
      const leave = new AbortController();
      const waiting = codeOf(other.tpdequeue(SPACE, queue, ctlOf(WAIT), null, 0, { signal: leave.signal }));
      const sent = put(ctx, queue, i);
      if (i % 3 === 0) leave.abort();
      else setImmediate(() => leave.abort());
      const [code] = await Promise.all([waiting, sent]);
      const left = await drain(ctx, queue);
      expect([code, left]).toEqual(left.length === 1 ? ['TPGOTSIG', [i]] : ['OK', []]);
      if (left.length === 0) delivered++;
    }
    expect(delivered).toBeGreaterThanOrEqual(0);
  });

  it.each(['reset', 'end'] as const)(
    'by a client that is gone (%s): the next message is not lost (C09)',
    async (how) => {
      const queue = queues.next();
      const raw = await daemon.raw();
      raw.send(4, 5, [SPACE, queue], [WAIT], 0, 0, 0, '', 0);
      await waiters(queue, 1);
      raw[how]();
      await waiters(queue, 0);
      await put(other, queue, 'x');
      expect(await drain(other, queue)).toEqual(['x']);
    },
  );

  it('by GOODBYE: TPGOTSIG, then GOODBYE’s answer, then the end', async () => {
    const queue = queues.next();
    const raw = await daemon.raw();
    raw.send(4, 5, [SPACE, queue], [WAIT], 0, 0, 0, '', 0);
    raw.send(2, 6);
    const frames = await raw.rest();
    expect(frames.map((frame) => frame.slice(0, 3))).toEqual([
      [127, 5, TPERRNO.TPGOTSIG],
      [130, 6],
    ]);
  });
});
