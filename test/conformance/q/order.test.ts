// The order of a queue: every list of sort keys against a naive sort, placing by TPQTOP and TPQBEFOREMSGID, the place of a rolled-back
// message, and all of it after a restart [spec 2.4, 5.5; C45].
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPQ } from '../../../clients/typescript/index.ts';
import { daemonForAll } from '../../support/in-process.ts';
import {
  domain,
  drain,
  got,
  type Members,
  pool,
  type QueueWords,
  send,
  sendCode,
  SPACE,
  wallS,
} from './support.ts';

const KEYS = ['priority', 'time', 'expiration'];
/** Every list of keys, the empty one too, each with both ends. */
const ORDERS = listsOf(KEYS).flatMap((keys) => ['fifo', 'lifo'].map((end) => [...keys, end].join(',')));
const queueOf = (order: string): string => `M-${order}`;

const placing = Object.fromEntries(
  ['fifo', 'lifo', 'priority', 'priority,lifo', 'time', 'expiration'].map((order) => [
    order,
    pool({ name: `X-${order}-`, order, outOfOrder: 'top,msgid', retries: 9 }, 12),
  ]),
);
const plain = (order: string, count: number): ReturnType<typeof pool> =>
  pool({ name: `O-${order}-`, order, retries: 9 }, count);
const simple = {
  fifo: plain('fifo', 6),
  lifo: plain('lifo', 6),
  priority: plain('priority', 8),
  time: plain('time', 6),
  expiration: plain('expiration', 6),
};
const queues: QueueWords[] = [
  ...ORDERS.map((order) => ({ name: queueOf(order), order, retries: 9 })),
  ...Object.values(placing).flatMap((one) => one.queues),
  ...Object.values(simple).flatMap((one) => one.queues),
];
const daemon = daemonForAll(domain([{ queues }]));
let ctx: Context;
let other: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  other = await daemon.join();
});
afterEach(async () => {
  if (ctx.tpgetlev() === 1) await ctx.tpabort();
});

const next = (order: string): string => {
  const found = placing[order];
  if (found === undefined) throw new Error(order);
  return found.next();
};
const priority = (value: number): Members => ({ flags: TPQ.TPQPRIORITY, priority: value });
const top: Members = { flags: TPQ.TPQTOP };
const before = (msgid: Buffer, more: Members = {}): Members => ({
  ...more,
  flags: TPQ.TPQBEFOREMSGID | (more.flags ?? 0),
  msgid,
});

/** Takes everything in a transaction that is rolled back: the order, and every message is back in its place. */
async function lookThrough(queue: string): Promise<unknown[]> {
  await ctx.tpbegin(600);
  const all = await drain(ctx, queue);
  await ctx.tpabort();
  return all;
}

/** The order live, the same when all were rolled back, and the same when each but the second was. */
async function orderOf(queue: string): Promise<unknown[]> {
  const first = await lookThrough(queue);
  const again = await drain(other, queue);
  expect(again).toEqual(first);
  return again;
}

interface Sample {
  readonly data: number;
  readonly priority?: number;
  /** Seconds after the start at which it is available, respectively expires. */
  readonly time?: number;
  readonly expiry?: number;
}

/** Every value occurs alone, twice, and not at all, in no order that any key would give. */
const SAMPLES: readonly Sample[] = [
  { data: 0, priority: 30, time: 700, expiry: 9000 },
  { data: 1 },
  { data: 2, priority: 80, time: 500 },
  { data: 3, priority: 50, expiry: 8000 },
  { data: 4, time: 700, expiry: 8000 },
  { data: 5, priority: 80, time: 700, expiry: 8000 },
  { data: 6, priority: 30, expiry: 7000 },
  { data: 7, time: 500 },
  { data: 8, priority: 100, time: 600, expiry: 9000 },
  { data: 9, priority: 1 },
  { data: 10, priority: 80, time: 500, expiry: 7000 },
  { data: 11, time: 600, expiry: 9000 },
  { data: 12, priority: 30, time: 700, expiry: 9000 },
  { data: 13 },
];
/** Between two samples, so that enqueue times differ whatever their resolution. */
const STEP_S = 3;

function rank(sample: Sample, key: string): number {
  switch (key) {
    case 'priority':
      return -(sample.priority ?? 50);
    case 'time':
      return sample.time ?? sample.data * STEP_S;
    case 'expiration':
      return sample.expiry ?? Infinity;
    case 'lifo':
      return -sample.data;
    default:
      return sample.data;
  }
}

function expectedOrder(order: string): number[] {
  const words = order.split(',');
  const compare = (a: Sample, b: Sample): number => {
    for (const key of words) {
      const [left, right] = [rank(a, key), rank(b, key)];
      if (left !== right) return left < right ? -1 : 1;
    }
    return 0;
  };
  return [...SAMPLES].sort(compare).map(({ data }) => data);
}

function listsOf(keys: readonly string[]): string[][] {
  return [
    [],
    ...keys.flatMap((key) => listsOf(keys.filter((one) => one !== key)).map((rest) => [key, ...rest])),
  ];
}

describe('every list of sort keys', () => {
  const live = new Map<string, unknown[]>();
  const restarted = new Map<string, unknown[]>();
  beforeAll(async () => {
    const start = wallS(daemon);
    for (const sample of SAMPLES) {
      let flags = 0;
      if (sample.priority !== undefined) flags |= TPQ.TPQPRIORITY;
      if (sample.time !== undefined) flags |= TPQ.TPQTIME_ABS;
      if (sample.expiry !== undefined) flags |= TPQ.TPQEXPTIME_ABS;
      const members = {
        flags,
        priority: sample.priority ?? 0,
        deq_time: start + (sample.time ?? 0),
        exp_time: start + (sample.expiry ?? 0),
      };
      await Promise.all(ORDERS.map((order) => send(ctx, queueOf(order), sample.data, members)));
      daemon.clock.advance(STEP_S * 1000);
    }
    daemon.clock.advance(1_000_000);
    for (const order of ORDERS) live.set(order, await lookThrough(queueOf(order)));
    await daemon.restart();
    for (const order of ORDERS) restarted.set(order, await drain(other, queueOf(order)));
  });

  it.each(ORDERS)('%s: as the naive sort says, before and after a restart (C45)', (order) => {
    const expected = expectedOrder(order);
    expect(live.get(order)).toEqual(expected);
    expect(restarted.get(order)).toEqual(expected);
  });
});

describe('one key', () => {
  it('[spec 5.5: priority] descending; 50 when none was given', async () => {
    const queue = simple.priority.next();
    for (const value of [49, 51, 1, 100]) await send(ctx, queue, value, priority(value));
    await send(ctx, queue, 'none');
    await send(ctx, queue, '50', priority(50));
    expect(await orderOf(queue)).toEqual([100, 51, 'none', '50', 49, 1]);
  });

  it('[spec 1.5: TPQPRIORITY] sorts as 50 and is remembered as not set', async () => {
    const queue = simple.priority.next();
    await send(ctx, queue, 'low', priority(49));
    await send(ctx, queue, 'none', { priority: 1 });
    await send(ctx, queue, 'high', priority(51));
    expect(await orderOf(queue)).toEqual(['high', 'none', 'low']);
  });

  it('[spec 5.5: time] ascending availability; without a time that of the enqueue', async () => {
    const queue = simple.time.next();
    const flags = TPQ.TPQTIME_REL;
    await send(ctx, queue, 300, { flags, deq_time: 300 });
    await send(ctx, queue, 100, { flags, deq_time: 100 });
    daemon.clock.advance(150_000);
    await send(ctx, queue, 'plain');
    daemon.clock.advance(10_000);
    await send(ctx, queue, 'later, due earlier', { flags: TPQ.TPQTIME_REL, deq_time: 100 });
    daemon.clock.advance(400_000);
    expect(await orderOf(queue)).toEqual([100, 'plain', 'later, due earlier', 300]);
  });

  it('[spec 5.5: expiration] ascending; those without one last', async () => {
    const queue = simple.expiration.next();
    await send(ctx, queue, 'none');
    for (const exp_time of [5000, 4000, 6000])
      await send(ctx, queue, exp_time, { flags: TPQ.TPQEXPTIME_REL, exp_time });
    await send(ctx, queue, 'NONE', { flags: TPQ.TPQEXPTIME_NONE });
    expect(await orderOf(queue)).toEqual([4000, 5000, 6000, 'none', 'NONE']);
  });

  it('[spec 8.7: Order `expiration` uses expiry only for sorting] a delayed one expires all the same', async () => {
    const queue = simple.expiration.next();
    const flags = TPQ.TPQEXPTIME_REL;
    await send(ctx, queue, 'second', { flags, exp_time: 900 });
    await send(ctx, queue, 'first', { flags, exp_time: 500 });
    expect(await lookThrough(queue)).toEqual(['first', 'second']);
    daemon.clock.advance(501_000);
    expect(await drain(other, queue)).toEqual(['second']);
  });

  it('[spec 5.5: fifo / lifo] by enqueue sequence', async () => {
    const [fifo, lifo] = [simple.fifo.next(), simple.lifo.next()];
    for (const n of [1, 2, 3, 4]) {
      await send(ctx, fifo, n);
      await send(ctx, lifo, n);
    }
    expect([await orderOf(fifo), await orderOf(lifo)]).toEqual([
      [1, 2, 3, 4],
      [4, 3, 2, 1],
    ]);
  });

  it('priority on a queue without that key has no effect on order, and is returned', async () => {
    const queue = simple.fifo.next();
    await send(ctx, queue, 'low', priority(1));
    await send(ctx, queue, 'high', priority(100));
    expect(await orderOf(queue)).toEqual(['low', 'high']);
  });

  it('availability is a filter: what is not due does not hold back what is', async () => {
    const queue = simple.priority.next();
    await send(ctx, queue, 'late', {
      ...priority(100),
      flags: TPQ.TPQPRIORITY | TPQ.TPQTIME_REL,
      deq_time: 500,
    });
    await send(ctx, queue, 'low', priority(2));
    await send(ctx, queue, 'lower', priority(1));
    expect(await got(other, queue)).toBe('low');
    daemon.clock.advance(501_000);
    expect(await drain(other, queue)).toEqual(['late', 'lower']);
  });
});

describe('a rolled-back message', () => {
  it.each([
    ['fifo', [1, 2, 3]],
    ['lifo', [3, 2, 1]],
    ['priority', [3, 1, 2]],
  ] as const)('%s: is back in its place among those that came meanwhile', async (order, expected) => {
    const queue = simple[order].next();
    await send(other, queue, 1, priority(60));
    await send(other, queue, 2, priority(20));
    await ctx.tpbegin(600);
    const taken = await got(ctx, queue);
    await send(other, queue, 3, priority(90));
    await ctx.tpabort();
    expect(taken).toBe(order === 'lifo' ? 2 : 1);
    expect(await drain(other, queue)).toEqual(expected);
  });
});

describe('TPQTOP', () => {
  it.each(['fifo', 'lifo', 'priority', 'time', 'expiration'])(
    '[spec 2.4: TPQTOP = before everything in the queue] %s: several stack, the last one first',
    async (order) => {
      const queue = next(order);
      await send(ctx, queue, 'a', priority(100));
      for (const n of [1, 2, 3])
        await send(ctx, queue, n, { ...priority(n), flags: TPQ.TPQTOP | TPQ.TPQPRIORITY });
      await send(ctx, queue, 'b', priority(100));
      const all = await orderOf(queue);
      expect(all.slice(0, 3)).toEqual([3, 2, 1]);
      expect(new Set(all.slice(3))).toEqual(new Set(['a', 'b']));
    },
  );

  it('[spec 1.5: TPQTOP/TPQBEFOREMSGID] without them the place is that of the order, behind what was placed', async () => {
    const queue = next('priority');
    await send(ctx, queue, 'low', priority(10));
    await send(ctx, queue, 'top', { ...top });
    await send(ctx, queue, 'high', priority(100));
    expect(await orderOf(queue)).toEqual(['top', 'high', 'low']);
  });

  it('in a transaction: at the commit, before everything', async () => {
    const queue = next('fifo');
    await send(other, queue, 'old');
    await ctx.tpbegin(60);
    await send(ctx, queue, 1, top);
    await send(ctx, queue, 2, top);
    expect(await got(other, queue, { flags: TPQ.TPQPEEK })).toBe('old');
    await ctx.tpcommit();
    expect(await orderOf(queue)).toEqual([2, 1, 'old']);
  });

  it('one that is not due yet is first when it is', async () => {
    const queue = next('fifo');
    await send(ctx, queue, 'a');
    await send(ctx, queue, 'top', { flags: TPQ.TPQTOP | TPQ.TPQTIME_REL, deq_time: 500 });
    await send(ctx, queue, 'b');
    expect(await lookThrough(queue)).toEqual(['a', 'b']);
    daemon.clock.advance(501_000);
    expect(await orderOf(queue)).toEqual(['top', 'a', 'b']);
  });
});

describe('TPQBEFOREMSGID', () => {
  it('directly before the named message; a second one between the first and that', async () => {
    const queue = next('fifo');
    await send(ctx, queue, 'a');
    const target = await send(ctx, queue, 'b');
    await send(ctx, queue, 'c');
    for (const n of [1, 2, 3]) await send(ctx, queue, n, before(target));
    expect(await orderOf(queue)).toEqual(['a', 1, 2, 3, 'b', 'c']);
  });

  it('before a message that was itself placed, at the top or before another', async () => {
    const queue = next('priority');
    const base = await send(ctx, queue, 'base', priority(50));
    const first = await send(ctx, queue, 'top', top);
    const placed = await send(ctx, queue, 'before base', before(base));
    await send(ctx, queue, 'before top', before(first));
    await send(ctx, queue, 'before before base', before(placed));
    await send(ctx, queue, 'topmost', top);
    expect(await orderOf(queue)).toEqual([
      'topmost',
      'before top',
      'top',
      'before before base',
      'before base',
      'base',
    ]);
  });

  it('overrides the sort keys, and what sorts between neighbours comes before the pair', async () => {
    const queue = next('priority');
    await send(ctx, queue, 'high', priority(90));
    const low = await send(ctx, queue, 'low', priority(10));
    await send(ctx, queue, 'placed', before(low, priority(100)));
    await send(ctx, queue, 'middle', priority(50));
    expect(await orderOf(queue)).toEqual(['high', 'middle', 'placed', 'low']);
  });

  it('in a lifo queue too', async () => {
    const queue = next('lifo');
    const first = await send(ctx, queue, 'first');
    await send(ctx, queue, 'second');
    await send(ctx, queue, 'placed', before(first));
    await send(ctx, queue, 'third');
    expect(await orderOf(queue)).toEqual(['third', 'second', 'placed', 'first']);
  });

  it('before a message that is not due yet: its place holds when both are', async () => {
    const queue = next('fifo');
    await send(ctx, queue, 'a');
    const late = await send(ctx, queue, 'late', { flags: TPQ.TPQTIME_REL, deq_time: 500 });
    await send(ctx, queue, 'b');
    await send(ctx, queue, 'placed', before(late));
    expect(await lookThrough(queue)).toEqual(['a', 'placed', 'b']);
    daemon.clock.advance(501_000);
    expect(await orderOf(queue)).toEqual(['a', 'placed', 'late', 'b']);
  });

  it('a hundred at one place, each before the one placed last', async () => {
    const queue = next('fifo');
    await send(ctx, queue, -1);
    let target = await send(ctx, queue, 100);
    for (let n = 99; n >= 0; n--) target = await send(ctx, queue, n, before(target));
    expect(await orderOf(queue)).toEqual(Array.from({ length: 102 }, (_, i) => i - 1));
  });

  it('a hundred before the same', async () => {
    const queue = next('fifo');
    const target = await send(ctx, queue, 100);
    await Promise.all(Array.from({ length: 100 }, (_, n) => send(ctx, queue, n, before(target))));
    expect(await orderOf(queue)).toEqual(Array.from({ length: 101 }, (_, i) => i));
  });

  it('when the neighbours are gone the rest keeps its order', async () => {
    const queue = next('fifo');
    const ids = [];
    for (const n of [1, 2, 3]) ids.push(await send(ctx, queue, n));
    const [, second, third] = ids;
    if (second === undefined || third === undefined) throw new Error('no ids');
    await send(ctx, queue, 'x', before(second));
    await send(ctx, queue, 'y', before(third));
    expect(await got(ctx, queue, { flags: TPQ.TPQGETBYMSGID, msgid: second })).toBe(2);
    expect(await sendCode(ctx, queue, before(second))).toBe('QMEBADMSGID');
    await send(ctx, queue, 'z', before(third));
    expect(await orderOf(queue)).toEqual([1, 'x', 'y', 'z', 3]);
  });
});

describe('placed messages', () => {
  it('keep their places over rollback and restart, and new ones find theirs beside them (C45)', async () => {
    const names = ['fifo', 'lifo', 'priority', 'priority,lifo'].map((order) => [order, next(order)] as const);
    for (const [, queue] of names) {
      const a = await send(ctx, queue, 'a', priority(20));
      const t = await send(ctx, queue, 't', top);
      await send(ctx, queue, 'before a', before(a));
      await send(ctx, queue, 'before t', before(t));
      await send(ctx, queue, 'b', priority(60));
    }
    const orders = new Map<string, unknown[]>();
    for (const [order, queue] of names) orders.set(order, await lookThrough(queue));
    await daemon.restart();
    for (const [order, queue] of names)
      expect([order, await lookThrough(queue)]).toEqual([order, orders.get(order)]);
    for (const [order, queue] of names) {
      await ctx.tpenqueue(SPACE, queue, null, 'plain');
      await send(ctx, queue, 'newest top', top);
      const all = await drain(other, queue);
      expect(all.slice(0, 3)).toEqual(['newest top', 'before t', 't']);
      const rest = order.includes('priority')
        ? ['b', 'plain']
        : order === 'fifo'
          ? ['b', 'plain']
          : ['plain', 'b'];
      const pair = ['before a', 'a'];
      expect([order, all.slice(3)]).toEqual([
        order,
        order === 'fifo' ? [...pair, ...rest] : [...rest, ...pair],
      ]);
    }
  });
});
