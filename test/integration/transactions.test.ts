// Transactions over one queue space: what is visible to whom and when, locks, order after an abort, TPNOTRAN, what a failed call does to
// the transaction, how it ends [spec 2.3, 3.3; DESIGN 6; C13, C31; T28-14 to 17, 19; T86-07, 17].
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPFLAG, TPQ } from '../../clients/typescript/index.ts';
import { daemonForAll, daemonForTest, eventually } from '../support/in-process.ts';
import { codeOf, ctlOf, drain, fresh, peek, put, putId, SPACE, take } from './helpers.ts';

const queues = fresh('T', 80);
const daemon = daemonForAll({
  spaces: [
    { queues: queues.names.map((name) => ({ name, retries: 1000 })) },
    { name: 'OTHER', queues: ['Q'] },
  ],
});
let ctx: Context;
let other: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  other = await daemon.join();
});

const SMALL = Array.from({ length: 20 }, (_, i) => i);

describe('an enqueue in a transaction', () => {
  it('is seen by nobody before the commit, then by everybody', async () => {
    const queue = queues.next();
    await ctx.tpbegin(30);
    await put(ctx, queue, 'x');
    const before = [await codeOf(take(other, queue)), await peek(other, queue), await peek(ctx, queue)];
    expect(before).toEqual(['QMENOMSG', undefined, undefined]);
    expect((await daemon.queue(queue)).messages).toBe(0);
    await ctx.tpcommit();
    expect(await take(other, queue)).toMatchObject({ data: 'x' });
  });

  it('cannot be dequeued in the same transaction', async () => {
    const queue = queues.next();
    await ctx.tpbegin(30);
    const msgid = await putId(ctx, queue, 'x');
    expect(await codeOf(take(ctx, queue))).toBe('QMENOMSG');
    expect(await codeOf(take(ctx, queue, ctlOf(TPQ.TPQGETBYMSGID, { msgid })))).toBe('QMENOMSG');
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual(['x']);
  });

  it('is gone after an abort', async () => {
    const queue = queues.next();
    await ctx.tpbegin(30);
    await put(ctx, queue, 'x');
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual([]);
  });

  it('keeps its place: the order of enqueueing, not that of committing', async () => {
    const queue = queues.next();
    await ctx.tpbegin(30);
    await put(ctx, queue, 'first');
    await put(other, queue, 'second');
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual(['first', 'second']);
  });
});

describe('a dequeue in a transaction', () => {
  it('locks: others pass the message and do not see it', async () => {
    const queue = queues.next();
    await put(other, queue, 1, 2);
    await ctx.tpbegin(30);
    expect((await take(ctx, queue)).data).toBe(1);
    expect(await peek(other, queue)).toBe(2);
    expect((await daemon.queue(queue)).locked).toBe(1);
    expect(await drain(other, queue)).toEqual([2]);
    await ctx.tpcommit();
    expect((await daemon.queue(queue)).messages).toBe(0);
  });

  it('T28-14, 15: an abort restores the order; peeks inside see what the next dequeue takes', async () => {
    const names = [queues.next(), queues.next(), queues.next()];
    await ctx.tpbegin(30);
    for (const n of SMALL) for (const queue of names) await put(ctx, queue, n);
    await ctx.tpcommit();
    for (const end of ['tpabort', 'tpcommit'] as const) {
      await ctx.tpbegin(30);
      for (const n of SMALL) {
        for (const queue of names) {
          expect(await peek(ctx, queue)).toBe(n);
          expect((await take(ctx, queue)).data).toBe(n);
        }
      }
      await ctx[end]();
    }
    for (const queue of names) expect((await daemon.queue(queue)).messages).toBe(0);
  });

  it('an abort puts a message back before those that came later', async () => {
    const queue = queues.next();
    await put(other, queue, 1, 2, 3);
    await ctx.tpbegin(30);
    await take(ctx, queue);
    await take(ctx, queue);
    await put(other, queue, 4);
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual([1, 2, 3, 4]);
  });

  it('T28-19: a message locked by corrid is not found again, and the commit succeeds', async () => {
    const queue = queues.next();
    await putId(other, queue, 'x', { flags: TPQ.TPQCORRID, corrid: 'k' });
    await ctx.tpbegin(30);
    await take(ctx, queue, ctlOf(TPQ.TPQGETBYCORRID, { corrid: 'k' }));
    expect(await codeOf(take(ctx, queue, ctlOf(TPQ.TPQGETBYCORRID, { corrid: 'k' })))).toBe('QMENOMSG');
    await ctx.tpcommit();
    expect(await codeOf(take(ctx, queue))).toBe('QMENOMSG');
  });

  it('the msgid stays the same over aborts', async () => {
    const queue = queues.next();
    const msgid = Buffer.from(await putId(other, queue, 'x'));
    for (let i = 0; i < 3; i++) {
      const ctl = ctlOf(TPQ.TPQMSGID);
      await ctx.tpbegin(30);
      await take(ctx, queue, ctl);
      await ctx.tpabort();
      expect(Buffer.from(ctl.msgid ?? [])).toEqual(msgid);
    }
  });
});

it('moves messages between queues atomically', async () => {
  const [from, to] = [queues.next(), queues.next()];
  await put(other, from, ...SMALL);
  await ctx.tpbegin(30);
  for (const n of SMALL) {
    expect((await take(ctx, from)).data).toBe(n);
    await put(ctx, to, n);
  }
  expect([await drain(other, from), await drain(other, to)]).toEqual([[], []]);
  await ctx.tpcommit();
  expect([await drain(other, from), await drain(other, to)]).toEqual([[], SMALL]);
});

it('holds 5,000 messages: invisible, then all at once, in order', async () => {
  const queue = queues.next();
  const numbers = Array.from({ length: 5000 }, (_, i) => i);
  await ctx.tpbegin(60);
  await Promise.all(numbers.map((n) => ctx.tpenqueue(SPACE, queue, null, n)));
  expect((await daemon.queue(queue)).messages).toBe(0);
  await ctx.tpcommit();
  expect((await daemon.queue(queue)).ready).toBe(5000);
  await ctx.tpbegin(60);
  const got = await Promise.all(numbers.map(() => take(ctx, queue)));
  expect(got.map(({ data }) => data)).toEqual(numbers);
  await ctx.tpcommit();
  expect((await daemon.queue(queue)).messages).toBe(0);
});

it('a reader sees all of a commit or none of it', async () => {
  const [first, last] = [queues.next(), queues.next()];
  await ctx.tpbegin(60);
  await Promise.all(Array.from({ length: 2000 }, (_, n) => ctx.tpenqueue(SPACE, first, null, n)));
  await put(ctx, last, 'last');
  const committing = ctx.tpcommit();
  let seen = false;
  while (!seen) {
    // Sent together, so answered one after the other: what the first shows the second must show too.
    const [one, two] = await Promise.all([peek(other, first), peek(other, last)]);
    expect([one === undefined, two === undefined]).not.toEqual([false, true]);
    seen = one !== undefined;
  }
  expect((await daemon.queue(first)).ready).toBe(2000);
  await committing;
});

it('T28-17: 100 times a transaction whose only dequeue found nothing commits', async () => {
  const queue = queues.next();
  for (let i = 0; i < 100; i++) {
    await ctx.tpbegin(30);
    expect(await codeOf(take(ctx, queue))).toBe('QMENOMSG');
    await ctx.tpcommit();
  }
});

describe('TPNOTRAN', () => {
  it('an enqueue is visible at once and survives the abort', async () => {
    const queue = queues.next();
    await ctx.tpbegin(30);
    await ctx.tpenqueue(SPACE, queue, null, 'x', TPFLAG.TPNOTRAN);
    expect(await peek(other, queue)).toBe('x');
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual(['x']);
  });

  it('a dequeue takes for good, whatever the transaction does', async () => {
    const queue = queues.next();
    await put(other, queue, 'x');
    await ctx.tpbegin(30);
    expect((await take(ctx, queue, null, TPFLAG.TPNOTRAN)).data).toBe('x');
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual([]);
  });

  it('does not see what its own transaction enqueued', async () => {
    const queue = queues.next();
    await ctx.tpbegin(30);
    await put(ctx, queue, 'x');
    expect(await codeOf(take(ctx, queue, null, TPFLAG.TPNOTRAN))).toBe('QMENOMSG');
    await ctx.tpabort();
  });

  it('outside a transaction it means nothing', async () => {
    const queue = queues.next();
    await ctx.tpenqueue(SPACE, queue, null, 'x', TPFLAG.TPNOTRAN);
    expect((await take(ctx, queue, null, TPFLAG.TPNOTRAN)).data).toBe('x');
  });
});

describe('after a failed call [spec 2.3, T28-17, T86-17] the commit', () => {
  type Step = (queue: string) => Promise<unknown>;
  it.each<[string, Step, string, string]>([
    ['empty queue', () => take(ctx, queues.names[0] as string), 'QMENOMSG', 'OK'],
    ['empty queue, peek', () => take(ctx, queues.names[0] as string, ctlOf(TPQ.TPQPEEK)), 'QMENOMSG', 'OK'],
    ['no such queue, enqueue', () => put(ctx, 'NOQUEUE', 'x'), 'QMEBADQUEUE', 'OK'],
    ['no such queue, dequeue', () => take(ctx, 'NOQUEUE'), 'QMEBADQUEUE', 'OK'],
    ['no such space', () => ctx.tpenqueue('NOSPACE', 'Q', null, 'x'), 'TPENOENT', 'OK'],
    ['no queue name', () => put(ctx, '', 'x'), 'TPEINVAL', 'OK'],
    ['a bad flag', () => ctx.tpenqueue(SPACE, 'Q', null, 'x', 0x4), 'TPEINVAL', 'OK'],
    ['a bad priority', (q) => ctx.tpenqueue(SPACE, q, ctlOf(TPQ.TPQPRIORITY), 'x'), 'QMEINVAL', 'OK'],
    ['a place not allowed', (q) => ctx.tpenqueue(SPACE, q, ctlOf(TPQ.TPQTOP), 'x'), 'QMEINVAL', 'OK'],
    [
      'an id of nothing',
      (q) => take(ctx, q, ctlOf(0x40008, { msgid: Buffer.alloc(32, 1) })),
      'QMEBADMSGID',
      'OK',
    ],
    ['no such service', () => ctx.tpcall('NOSERVICE', 'x', TPFLAG.TPNOTRAN), 'TPENOENT', 'OK'],
    ['a service in the transaction', () => ctx.tpcall('NOSERVICE', 'x'), 'TPENOENT', 'OK'],
    ['another type', (queue) => wrongType(queue, 0), 'TPEOTYPE', 'TPEABORT'],
    ['another type, with TPNOTRAN', (queue) => wrongType(queue, TPFLAG.TPNOTRAN), 'TPEOTYPE', 'OK'],
  ])('%s', async (_name, step, code, commit) => {
    const [queue, marker] = [queues.next(), queues.next()];
    await put(other, queue, 'there before');
    await ctx.tpbegin(30);
    await put(ctx, marker, 'marker');
    expect(await codeOf(step(queue))).toBe(code);
    expect(await codeOf(ctx.tpcommit())).toBe(commit);
    expect(await drain(other, marker)).toEqual(commit === 'OK' ? ['marker'] : []);
    expect(await drain(other, queue)).toEqual(['there before']);
  });

  it('a doomed transaction answers TPETIME to further work, and its abort succeeds', async () => {
    const queue = queues.next();
    await put(other, queue, 'x');
    await ctx.tpbegin(30);
    await codeOf(wrongType(queue, 0));
    expect(await codeOf(put(ctx, queue, 'y'))).toBe('TPETIME');
    expect(await codeOf(take(ctx, queue))).toBe('TPETIME');
    expect(await codeOf(ctx.tpabort())).toBe('OK');
    expect(await drain(other, queue)).toEqual(['x']);
  });
});

describe('one thread of a client', () => {
  it('has one transaction: a second tpbegin is TPEPROTO and changes nothing', async () => {
    const queue = queues.next();
    await ctx.tpbegin(30);
    await put(ctx, queue, 'x');
    expect([await codeOf(ctx.tpbegin(30)), ctx.tpgetlev()]).toEqual(['TPEPROTO', 1]);
    await ctx.tpcommit();
    expect([ctx.tpgetlev(), await drain(other, queue)]).toEqual([0, ['x']]);
  });

  it('in none: commit and abort are TPEPROTO', async () => {
    expect([await codeOf(ctx.tpcommit()), await codeOf(ctx.tpabort())]).toEqual(['TPEPROTO', 'TPEPROTO']);
  });

  it('may have transactions beside it on the same connection', async () => {
    const queue = queues.next();
    await put(other, queue, 1, 2);
    const tx = ctx.fork();
    await Promise.all([ctx.tpbegin(30), tx.tpbegin(30)]);
    const got = [(await take(ctx, queue)).data, (await take(tx, queue)).data];
    await Promise.all([ctx.tpcommit(), tx.tpabort()]);
    await tx.tpterm();
    expect([got, await drain(other, queue)]).toEqual([[1, 2], [2]]);
  });
});

describe('the end of a connection rolls back at once (C31)', () => {
  it.each(['reset', 'end'] as const)('%s', async (how) => {
    const [queue, marker] = [queues.next(), queues.next()];
    await put(other, queue, 1, 2, 3);
    const raw = await daemon.raw();
    const [, , tx] = (await raw.ask(5, 2, 3600)) as [number, number, number];
    await raw.ask(4, 3, [SPACE, queue], null, 0, tx, 0, '', 0);
    await raw.ask(3, 4, [SPACE, marker], null, 0, tx, 1, '', Buffer.from('x'));
    raw[how]();
    await eventually(async () => (await daemon.queue(queue)).ready === 3, 1000);
    expect(await drain(other, queue)).toEqual([1, 2, 3]);
    expect(await drain(other, marker)).toEqual([]);
    expect((await other.stat(SPACE)).transactions).toBe(0);
  });

  it('GOODBYE too, and its answer comes after the rollback', async () => {
    const queue = queues.next();
    await put(other, queue, 1);
    const raw = await daemon.raw();
    const [, , tx] = (await raw.ask(5, 2, 3600)) as [number, number, number];
    await raw.ask(4, 3, [SPACE, queue], null, 0, tx, 0, '', 0);
    await raw.ask(2, 4);
    expect(await drain(other, queue)).toEqual([1]);
  });
});

describe('MAXGTT', () => {
  it('a transaction above it is refused, and begins when one has ended', async () => {
    const small = await daemonForTest({ maxGtt: 2, spaces: [{ queues: ['Q'] }] });
    const contexts = [await small.join(), await small.join(), await small.join()] as const;
    await contexts[0].tpbegin(30);
    await contexts[1].tpbegin(30);
    expect(await codeOf(contexts[2].tpbegin(30))).toBe('TPENOENT');
    await contexts[0].tpabort();
    expect(await codeOf(contexts[2].tpbegin(30))).toBe('OK');
    expect(await codeOf(contexts[0].tpbegin(30))).toBe('TPENOENT');
    await contexts[1].tpterm();
    expect(await codeOf(contexts[0].tpbegin(30))).toBe('OK');
  });
});

function wrongType(queue: string, flags: number): Promise<unknown> {
  return ctx.tpdequeue(SPACE, queue, null, { type: 'CARRAY' }, TPFLAG.TPNOCHANGE | flags);
}
