// The order in which a queue hands out its messages [spec 5.5], places given by TPQTOP and TPQBEFOREMSGID [spec 2.4], and both after a
// rollback and after a restart (C45).
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPQ, type TPQCTL } from '../../clients/typescript/index.ts';
import { daemonForAll } from '../support/in-process.ts';
import { codeOf, ctlOf, drain, putId, SPACE } from './helpers.ts';

const ORDERS = [
  'fifo',
  'lifo',
  'priority',
  'priority,lifo',
  'time',
  'time,lifo',
  'expiration',
  'expiration,priority',
  'priority,time,lifo',
];
const name = (order: string): string => order.toUpperCase();
const queues = [
  ...ORDERS.map((order) => ({
    name: name(order),
    more: `ORDER="${order}" OUTOFORDER="top,msgid"`,
    retries: 5,
  })),
  { name: 'PLACES', more: 'OUTOFORDER="top,msgid"', retries: 5 },
  { name: 'RELABEL', more: 'OUTOFORDER="top,msgid"', retries: 5 },
  { name: 'TOPONLY', more: 'OUTOFORDER="top"' },
  { name: 'MSGIDONLY', more: 'OUTOFORDER="msgid"' },
];
const daemon = daemonForAll({ spaces: [{ queues }] });
let ctx: Context;
beforeAll(async () => {
  ctx = await daemon.join();
});

/** Wall seconds, far in the past, so that an absolute time sorts and delays nothing; expiry far in the future. */
const PAST = 1_000_000;
const FUTURE = 9_000_000_000;

interface Given {
  readonly priority?: number;
  readonly time?: number;
  readonly expiry?: number;
}
/** Nine messages with equal and different keys, numbered in the order of arrival. */
const GIVEN: readonly Given[] = [
  { priority: 10, time: PAST + 3, expiry: FUTURE + 5 },
  {},
  { priority: 90, time: PAST + 1, expiry: FUTURE + 1 },
  { priority: 10, time: PAST + 3, expiry: FUTURE + 5 },
  { time: PAST + 2 },
  { priority: 90, expiry: FUTURE + 9 },
  { priority: 50 },
  { priority: 1, time: PAST + 9, expiry: FUTURE + 5 },
  { priority: 100, time: PAST + 1 },
];

function membersOf({ priority, time, expiry }: Given): Partial<TPQCTL> {
  const flags =
    (priority === undefined ? 0 : TPQ.TPQPRIORITY) |
    (time === undefined ? 0 : TPQ.TPQTIME_ABS) |
    (expiry === undefined ? 0 : TPQ.TPQEXPTIME_ABS);
  return { flags, priority: priority ?? 0, deq_time: time ?? 0, exp_time: expiry ?? 0 };
}

/** What the words of the order say, by sorting. */
function expected(order: string): number[] {
  const words = order.split(',');
  const value = (word: string, i: number): number => {
    const { priority = 50, time, expiry = Infinity } = GIVEN[i] as Given;
    if (word === 'priority') return -priority;
    if (word === 'expiration') return expiry;
    return time ?? 10_000_000 + i; // enqueue time: after every time in the past
  };
  return GIVEN.map((_, i) => i).sort((a, b) => {
    for (const word of words.filter((one) => one !== 'fifo' && one !== 'lifo')) {
      const [x, y] = [value(word, a), value(word, b)];
      if (x !== y) return x < y ? -1 : 1;
    }
    return order.endsWith('lifo') ? b - a : a - b;
  });
}

describe('each order', () => {
  it.each(ORDERS)('%s: as its words say, again after a rollback and after a restart', async (order) => {
    const queue = name(order);
    for (const [i, given] of GIVEN.entries()) {
      await putId(ctx, queue, String(i), membersOf(given));
      // No two of them arrive in the same millisecond: that would be a tie, which the last word of the order decides.
      daemon.clock.advance(1);
    }
    const want = expected(order).map(String);
    await ctx.tpbegin(60);
    expect(await drain(ctx, queue)).toEqual(want);
    await ctx.tpabort();
    await daemon.restart();
    ctx = await daemon.join();
    expect(await drain(ctx, queue)).toEqual(want);
  });
});

const before = (msgid: Uint8Array): Partial<TPQCTL> => ({ flags: TPQ.TPQBEFOREMSGID, msgid });

describe('places', () => {
  it('TPQTOP stacks, TPQBEFOREMSGID stands directly before its message, also before a placed or locked one', async () => {
    const put = (data: string, members: Partial<TPQCTL> = {}): Promise<Uint8Array> =>
      putId(ctx, 'PLACES', data, members);
    const top = { flags: TPQ.TPQTOP };
    await put('a');
    const b = await put('b');
    await put('c');
    const t1 = await put('t1', top);
    await put('t2', top);
    const x1 = await put('x1', before(b));
    await put('x2', before(b));
    await put('x0', before(x1));
    await put('t0', before(t1));
    const want = ['t2', 't0', 't1', 'a', 'x0', 'x1', 'x2', 'b', 'c'];
    await daemon.restart();
    ctx = await daemon.join();
    await ctx.tpbegin(60);
    const taken: unknown[] = [];
    for (let i = 0; i < 6; i++) taken.push((await ctx.tpdequeue(SPACE, 'PLACES', null, null)).data);
    expect(taken).toEqual(want.slice(0, 6));
    // x1 is locked now; it keeps its place, and what is put before it stands there.
    const other = await daemon.join();
    await putId(other, 'PLACES', 'y', before(x1));
    await ctx.tpabort();
    expect(await drain(ctx, 'PLACES')).toEqual(['t2', 't0', 't1', 'a', 'x0', 'y', 'x1', 'x2', 'b', 'c']);
  });

  it('in a transaction they count at commit, also before a message of the same transaction', async () => {
    await putId(ctx, 'PLACES', 'old');
    await ctx.tpbegin(60);
    const first = await putId(ctx, 'PLACES', 'first');
    await putId(ctx, 'PLACES', 'before', { flags: TPQ.TPQBEFOREMSGID, msgid: first });
    await putId(ctx, 'PLACES', 'top', { flags: TPQ.TPQTOP });
    await ctx.tpcommit();
    expect(await drain(ctx, 'PLACES')).toEqual(['top', 'old', 'before', 'first']);
  });

  it('halving one gap again and again relabels, and the order stays, also after a restart', async () => {
    let target = await putId(ctx, 'RELABEL', 'end');
    const want = ['end'];
    let at = 0;
    for (let i = 0; i < 700; i++) {
      const msgid = await putId(ctx, 'RELABEL', String(i), { flags: TPQ.TPQBEFOREMSGID, msgid: target });
      want.splice(at, 0, String(i));
      // In turn before the newcomer and before what stands right after it: always in the same gap.
      if (i % 2 === 0) target = msgid;
      else at++;
    }
    await daemon.restart();
    ctx = await daemon.join();
    expect(await drain(ctx, 'RELABEL')).toEqual(want);
  });

  it.each<[string, string, Partial<TPQCTL>, string]>([
    ['TPQTOP', 'MSGIDONLY', { flags: TPQ.TPQTOP }, 'QMEINVAL'],
    ['TPQBEFOREMSGID', 'TOPONLY', { flags: TPQ.TPQBEFOREMSGID, msgid: new Uint8Array(32) }, 'QMEINVAL'],
    [
      'an id of no space',
      'MSGIDONLY',
      { flags: TPQ.TPQBEFOREMSGID, msgid: new Uint8Array(32) },
      'QMEBADMSGID',
    ],
  ])('%s where it is not allowed, or for nothing', async (_what, queue, members, code) => {
    const { flags = 0, ...rest } = members;
    expect(await codeOf(ctx.tpenqueue(SPACE, queue, ctlOf(flags, rest), 'x'))).toBe(code);
    expect(await codeOf(ctx.tpdequeue(SPACE, queue, null, null))).toBe('QMENOMSG');
  });

  it('a message that has gone, or is on another queue: QMEBADMSGID', async () => {
    const msgid = await putId(ctx, 'PLACES', 'x');
    const place = ctlOf(TPQ.TPQBEFOREMSGID, { msgid });
    expect(await codeOf(ctx.tpenqueue(SPACE, 'MSGIDONLY', place, 'y'))).toBe('QMEBADMSGID');
    await drain(ctx, 'PLACES');
    expect(await codeOf(ctx.tpenqueue(SPACE, 'PLACES', ctlOf(TPQ.TPQBEFOREMSGID, { msgid }), 'y'))).toBe(
      'QMEBADMSGID',
    );
  });
});
