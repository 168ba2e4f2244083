// Which message a dequeue takes: fifo order, by msgid, by corrid, by both, peeks [spec 2.5; C47; T28-01, 18, 19, 23].
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPQ, type TPQCTL } from '../../clients/typescript/index.ts';
import { daemonForAll, eventually } from '../support/in-process.ts';
import { codeOf, corridOf, ctlOf, drain, fresh, peek, put, putId, SPACE, take } from './helpers.ts';

const queues = fresh('S', 60);
const daemon = daemonForAll({
  spaces: [
    { queues: [...queues.names, { name: 'DELAYED', retries: 9, delay: 100 }] },
    { name: 'OTHER', queues: ['Q'] },
  ],
});
let ctx: Context;
beforeAll(async () => {
  ctx = await daemon.join();
});

const byMsgid = (msgid: Uint8Array, more = 0): TPQCTL => ctlOf(TPQ.TPQGETBYMSGID | more, { msgid });
const byCorrid = (corrid: Uint8Array | string, more = 0): TPQCTL =>
  ctlOf(TPQ.TPQGETBYCORRID | more, { corrid });

async function putCorrid(queue: string, corrid: Uint8Array | string, data: unknown): Promise<Uint8Array> {
  return putId(ctx, queue, data, { flags: TPQ.TPQCORRID, corrid });
}

describe('order', () => {
  it('is that of arrival, also of one connection that does not wait for answers', async () => {
    const queue = queues.next();
    const numbers = Array.from({ length: 200 }, (_, i) => i);
    await Promise.all(numbers.map((n) => ctx.tpenqueue(SPACE, queue, null, n)));
    expect(await drain(ctx, queue)).toEqual(numbers);
  });

  it('of one connection: a dequeue sees the enqueue sent just before it', async () => {
    const queue = queues.next();
    const [, received] = await Promise.all([put(ctx, queue, 'x'), take(ctx, queue)]);
    expect(received.data).toBe('x');
  });

  it('T28-01: a thousand round trips give every message back', async () => {
    const queue = queues.next();
    for (let i = 0; i < 1000; i += 50) {
      const batch = Array.from({ length: 50 }, (_, j) => i + j);
      const sent = batch.map((n) => ctx.tpenqueue(SPACE, queue, null, Buffer.from(`0123456789${n}`)));
      const got = await Promise.all(batch.map(() => take(ctx, queue)));
      await Promise.all(sent);
      expect(got.map(({ data }) => Buffer.from(data as Uint8Array).toString())).toEqual(
        batch.map((n) => `0123456789${n}`),
      );
    }
    expect((await daemon.queue(queue)).messages).toBe(0);
  });
});

it('four dequeuers race: nothing twice, nothing lost, and each sees the order', async () => {
  const queue = queues.next();
  const numbers = Array.from({ length: 200 }, (_, i) => i);
  await Promise.all(numbers.map((n) => ctx.tpenqueue(SPACE, queue, null, n)));
  const takers = await Promise.all([1, 2, 3, 4].map(() => daemon.join()));
  const got = (await Promise.all(takers.map((taker) => drain(taker, queue)))) as number[][];
  for (const one of got) expect(one).toEqual([...one].sort((a, b) => a - b));
  expect(got.flat().sort((a, b) => a - b)).toEqual(numbers);
});

describe('by msgid', () => {
  it('T28-18: the named message wherever it is, and the structure can be used again', async () => {
    const queue = queues.next();
    for (let i = 0; i < 40; i++) {
      const first = await putId(ctx, queue, 101);
      const second = await putId(ctx, queue, 102);
      const ctl = byMsgid(second, TPQ.TPQPEEK);
      const seen = [(await take(ctx, queue, ctl)).data];
      ctl.flags = TPQ.TPQGETBYMSGID;
      seen.push((await take(ctx, queue, ctl)).data);
      seen.push((await take(ctx, queue, byMsgid(first, TPQ.TPQPEEK))).data);
      seen.push((await take(ctx, queue, byMsgid(first))).data);
      expect(seen).toEqual([102, 102, 101, 101]);
    }
    expect((await daemon.queue(queue)).messages).toBe(0);
  });

  it('the old bit alone means the same', async () => {
    const queue = queues.next();
    const msgid = await putId(ctx, queue, 'x');
    expect((await take(ctx, queue, ctlOf(TPQ.TPQGETBYMSGIDOLD, { msgid }))).data).toBe('x');
  });

  it('a message that was taken, or is on another queue, is QMENOMSG', async () => {
    const [queue, other] = [queues.next(), queues.next()];
    const taken = await putId(ctx, queue, 'x');
    await take(ctx, queue);
    const elsewhere = await putId(ctx, other, 'x');
    await put(ctx, queue, 'another');
    expect(await codeOf(take(ctx, queue, byMsgid(taken)))).toBe('QMENOMSG');
    expect(await codeOf(take(ctx, queue, byMsgid(elsewhere)))).toBe('QMENOMSG');
  });

  it('an id of another space cannot be one of this: QMEBADMSGID', async () => {
    const ctl = ctlOf(TPQ.TPQMSGID);
    await ctx.tpenqueue('OTHER', 'Q', ctl, 'x');
    expect(await codeOf(take(ctx, queues.next(), byMsgid(ctl.msgid as Uint8Array)))).toBe('QMEBADMSGID');
  });
});

describe('by corrid', () => {
  it('all 32 bytes count', async () => {
    const queue = queues.next();
    for (const last of [0, 1, 2]) await putCorrid(queue, corridOf(last, 0xaa), last);
    expect(await codeOf(take(ctx, queue, byCorrid(corridOf(3, 0xaa))))).toBe('QMENOMSG');
    expect((await take(ctx, queue, byCorrid(corridOf(2, 0xaa)))).data).toBe(2);
    expect((await take(ctx, queue, byCorrid(corridOf(0, 0xaa)))).data).toBe(0);
  });

  it('padding counts: a corrid with blanks is another than one with NULs', async () => {
    const queue = queues.next();
    await putCorrid(queue, 'abc', 'nul');
    const blanks = Buffer.alloc(32, ' ');
    blanks.write('abc');
    expect(await codeOf(take(ctx, queue, byCorrid(blanks)))).toBe('QMENOMSG');
    expect((await take(ctx, queue, byCorrid('abc'))).data).toBe('nul');
  });

  it('T28-23: among equal corrids queue order decides; the rest keeps its order', async () => {
    const queue = queues.next();
    for (let i = 5; i <= 25; i++) {
      for (const corrid of ['2', '3', '4']) await putCorrid(queue, corrid, `${corrid}:${i}`);
    }
    await put(ctx, queue, 'plain');
    const ctl = ctlOf(TPQ.TPQCORRID);
    expect((await take(ctx, queue, ctl)).data).toBe('2:5');
    expect(ctl.flags).toBe(TPQ.TPQCORRID);
    for (let i = 5; i <= 25; i++) {
      expect((await take(ctx, queue, byCorrid('3'))).data).toBe(`3:${i}`);
    }
    expect(await codeOf(take(ctx, queue, byCorrid('3')))).toBe('QMENOMSG');
    const left = await drain(ctx, queue);
    expect(left.slice(0, 3)).toEqual(['4:5', '2:6', '4:6']);
    expect([left.length, left.at(-1)]).toEqual([21 + 20 + 1, 'plain']);
  });

  it('the old bit alone means the same', async () => {
    const queue = queues.next();
    await putCorrid(queue, 'k', 'x');
    expect((await take(ctx, queue, ctlOf(TPQ.TPQGETBYCORRIDOLD, { corrid: 'k' }))).data).toBe('x');
  });
});

describe('by both ids', () => {
  it.each([
    ['both match', true, true, 'OK'],
    ['the msgid only', true, false, 'QMENOMSG'],
    ['the corrid only', false, true, 'QMENOMSG'],
  ])('%s', async (_name, msgidFits, corridFits, code) => {
    const queue = queues.next();
    const a = await putCorrid(queue, 'a', 'a');
    const b = await putCorrid(queue, 'b', 'b');
    const ctl = byMsgid(msgidFits ? b : a);
    ctl.flags |= TPQ.TPQGETBYCORRID;
    ctl.corrid = corridFits ? 'b' : 'c';
    expect(await codeOf(take(ctx, queue, ctl))).toBe(code);
    expect((await daemon.queue(queue)).messages).toBe(code === 'OK' ? 1 : 2);
  });
});

describe('a peek [spec 2.5 TPQPEEK]', () => {
  it('takes nothing, changes no order, and has no cursor', async () => {
    const queue = queues.next();
    await put(ctx, queue, 1, 2);
    expect([await peek(ctx, queue), await peek(ctx, queue)]).toEqual([1, 1]);
    expect(await drain(ctx, queue)).toEqual([1, 2]);
  });

  it('gives every output of a dequeue', async () => {
    const queue = queues.next();
    const msgid = await putId(ctx, queue, 'x', { flags: TPQ.TPQCORRID, corrid: 'k', urcode: 5 });
    const ctl = ctlOf(TPQ.TPQPEEK | TPQ.TPQMSGID | TPQ.TPQCORRID);
    await take(ctx, queue, ctl);
    expect([ctl.flags, ctl.urcode]).toEqual([TPQ.TPQMSGID | TPQ.TPQCORRID, 5]);
    expect(Buffer.from(ctl.msgid ?? []).equals(msgid)).toBe(true);
  });

  it('of an empty queue is QMENOMSG', async () => {
    expect(await codeOf(take(ctx, queues.next(), ctlOf(TPQ.TPQPEEK)))).toBe('QMENOMSG');
  });

  it('by corrid finds a message behind others', async () => {
    const queue = queues.next();
    await put(ctx, queue, 'first');
    await putCorrid(queue, 'k', 'second');
    expect((await take(ctx, queue, byCorrid('k', TPQ.TPQPEEK))).data).toBe('second');
    expect(await drain(ctx, queue)).toEqual(['first', 'second']);
  });
});

describe('C47: a message that cannot be had, asked for by id', () => {
  const hows: [string, (msgid: Uint8Array) => TPQCTL][] = [
    ['by msgid', (msgid) => byMsgid(msgid)],
    ['by corrid', () => byCorrid('k')],
    ['peek by msgid', (msgid) => byMsgid(msgid, TPQ.TPQPEEK)],
    ['peek by corrid', () => byCorrid('k', TPQ.TPQPEEK)],
    ['plain', () => ctlOf(0)],
    ['peek', () => ctlOf(TPQ.TPQPEEK)],
  ];

  it.each(hows)('locked by another transaction, %s: QMENOMSG', async (_name, how) => {
    const queue = queues.next();
    const msgid = await putCorrid(queue, 'k', 'x');
    await ctx.transaction(async (tx) => {
      await take(tx, queue);
      expect(await codeOf(take(ctx, queue, how(msgid)))).toBe('QMENOMSG');
    });
  });

  it.each(hows)('locked by its own transaction, %s: QMENOMSG', async (_name, how) => {
    const queue = queues.next();
    const msgid = await putCorrid(queue, 'k', 'x');
    await ctx.transaction(async (tx) => {
      await take(tx, queue);
      expect(await codeOf(take(tx, queue, how(msgid)))).toBe('QMENOMSG');
    });
  });

  it.each(hows)('waiting for its retry delay, %s: QMENOMSG, afterwards there', async (_name, how) => {
    const msgid = await putCorrid('DELAYED', 'k', 'x');
    await ctx.tpbegin(60);
    await take(ctx, 'DELAYED', byMsgid(msgid));
    await ctx.tpabort();
    expect(await codeOf(take(ctx, 'DELAYED', how(msgid)))).toBe('QMENOMSG');
    daemon.clock.advance(100_000);
    await eventually(async () => (await daemon.queue('DELAYED')).ready === 1);
    expect((await take(ctx, 'DELAYED', how(msgid))).data).toBe('x');
    await drain(ctx, 'DELAYED');
  });
});
