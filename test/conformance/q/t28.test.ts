// Another product's function test of queues, retold: those of its scenarios that need neither a service nor an administrator's tool
// [peer-scenarios 1.1]. Not here: T28-02, 03, 24 to 27 (services), T28-06 to 13 (administration), T28-21 (a default line for unknown
// queue names, which this daemon does not have: QMEBADQUEUE, see validation.test.ts), T28-33 (figures). T28-17 and 18 are repeated less
// often than there, and the daemon's clock does the waiting.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPQ, typed } from '../../../clients/typescript/index.ts';
import { daemonForAll, eventually } from '../../support/in-process.ts';
import {
  code,
  ctlOf,
  domain,
  drain,
  got,
  type Members,
  pool,
  type QueueWords,
  send,
  sendTo,
  SPACE,
  take,
  wallS,
} from './support.ts';

const lifo = (name: string): QueueWords => ({ name, order: 'lifo', retries: 9 });
const fifo = (name: string): QueueWords => ({ name, retries: 9 });
const FIFO3 = ['TESTA', 'TESTB', 'TESTC'];
const LIFO3 = ['LTESTA', 'LTESTB', 'LTESTC'];
const tests = pool({ name: 'TEST', retries: 9 }, 40);
/** That share the work of one which is many times the same, so that one sync serves several. */
const CLIENTS = 20;
const daemon = daemonForAll(
  domain([
    {
      queues: [
        ...tests.queues,
        ...[...FIFO3, 'CORFIFO', 'FUT_FIFO', 'FUT_CORFIFO'].map(fifo),
        ...[...LIFO3, 'CORLIFO', 'FUT_LIFO', 'FUT_CORLIFO'].map(lifo),
      ],
    },
    {
      name: 'CORSPACE',
      words: 'ERRORQ=CORERR',
      queues: ['CORAUTO', 'CORERR'],
      forwarders: ['-q CORAUTO -i 1 -t 30'],
    },
  ]),
);
let ctx: Context;
beforeAll(async () => {
  ctx = await daemon.join();
});
afterEach(async () => {
  if (ctx.tpgetlev() === 1) await ctx.tpabort();
});

const corrid = (n: number): Members => ({ flags: TPQ.TPQCORRID, corrid: `corrid ${n}` });
const byCorrid = (n: number): Members => ({ flags: TPQ.TPQGETBYCORRID, corrid: `corrid ${n}` });
const up = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
const down = (from: number, to: number, step = 1): number[] => up(to, from, step).toReversed();

/** Everything by a corrid, up to QMENOMSG. */
async function drainBy(queue: string, n: number): Promise<unknown[]> {
  const asked = await Promise.all(Array.from({ length: 150 }, () => got(ctx, queue, byCorrid(n))));
  const end = asked.indexOf('QMENOMSG');
  expect(new Set(asked.slice(end))).toEqual(new Set(['QMENOMSG']));
  return asked.slice(0, end);
}

/** Everything in one transaction that is committed. */
async function drainTransaction(queue: string): Promise<unknown[]> {
  await ctx.tpbegin(600);
  const all = await drain(ctx, queue);
  await ctx.tpcommit();
  return all;
}

function occurrences({ data }: { data: unknown }): number {
  return (
    Buffer.from(data as Uint8Array)
      .toString()
      .split('TEST HELLO').length - 1
  );
}

async function messages(...queues: string[]): Promise<number[]> {
  return Promise.all(queues.map(async (queue) => (await daemon.queue(queue)).messages));
}

async function firstOf(queue: string): Promise<unknown[]> {
  const ctl = ctlOf(TPQ.TPQCORRID);
  const { data } = await take(ctx, queue, ctl);
  return [
    data,
    ctl.flags,
    Buffer.from(ctl.corrid ?? [])
      .toString()
      .replace(/\0+$/, ''),
  ];
}

async function restOf(queue: string): Promise<unknown[]> {
  const ctl = ctlOf(TPQ.TPQCORRID | TPQ.TPQPEEK);
  await take(ctx, queue, ctl);
  return [ctl.flags, await drain(ctx, queue)];
}

describe('plain queues', () => {
  it('T28-01 basic: a thousand round trips of ten bytes', async () => {
    const queue = tests.next();
    const data = Buffer.from([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const contexts = await Promise.all(up(1, CLIENTS).map(() => daemon.join()));
    const seen = await Promise.all(
      contexts.map(async (one) => {
        let equal = 0;
        for (let i = 0; i < 1000 / CLIENTS; i++) {
          await one.tpenqueue(SPACE, queue, null, data, 0x8);
          const received = await one.tpdequeue(SPACE, queue, null, null, 0x8);
          if (received.type === 'CARRAY' && data.equals(Buffer.from(received.data as Uint8Array))) equal++;
        }
        return equal;
      }),
    );
    expect([seen, await messages(queue)]).toEqual([Array(CLIENTS).fill(1000 / CLIENTS), [0]]);
  });

  it('T28-17 noabort: a thousand times begin, dequeue of nothing, commit that succeeds', async () => {
    const queue = tests.next();
    const contexts = await Promise.all(up(1, CLIENTS).map(() => daemon.join()));
    const ends = await Promise.all(
      contexts.map(async (one) => {
        const codes = new Set<unknown>();
        for (let i = 0; i < 1000 / CLIENTS; i++) {
          await one.tpbegin(180);
          codes.add(await got(one, queue));
          codes.add(await code(one.tpcommit()));
        }
        return [...codes];
      }),
    );
    expect(ends.map(String)).toEqual(Array(CLIENTS).fill('QMENOMSG,OK'));
  });

  it('T28-18 msgid: the named message each time, and the structure can be used again', async () => {
    const contexts = await Promise.all(up(1, CLIENTS).map(() => daemon.join()));
    const wrong = await Promise.all(
      contexts.map(async (one) => {
        const queue = tests.next();
        let bad = 0;
        for (let i = 0; i < 400 / CLIENTS; i++) {
          const first = await send(one, queue, 101);
          const second = await send(one, queue, 102);
          const ctl = ctlOf(0);
          const seen: unknown[] = [];
          for (const msgid of [second, first])
            for (const flags of [TPQ.TPQGETBYMSGID | TPQ.TPQPEEK, TPQ.TPQGETBYMSGID]) {
              Object.assign(ctl, { flags, msgid });
              seen.push((await take(one, queue, ctl)).data);
            }
          if (seen.join() !== '102,102,101,101') bad++;
        }
        return [bad, ...(await messages(queue))];
      }),
    );
    expect(wrong.map(String)).toEqual(Array(CLIENTS).fill('0,0'));
  });

  it('T28-19 cortran: a locked message is invisible, and not finding it dooms nothing', async () => {
    const queue = tests.next();
    await send(ctx, queue, 'x', corrid(1));
    await ctx.tpbegin(60);
    expect([await got(ctx, queue, byCorrid(1)), await got(ctx, queue, byCorrid(1))]).toEqual([
      'x',
      'QMENOMSG',
    ]);
    expect(await code(ctx.tpcommit())).toBe('OK');
    expect(await got(ctx, queue)).toBe('QMENOMSG');
  });

  it('T28-20 corauto: corrids survive the move to the error queue', async () => {
    const corrids = up(2, 49);
    await Promise.all([...corrids, ...corrids].map((n) => sendTo(ctx, 'CORSPACE', 'CORAUTO', n, corrid(n))));
    await eventually(async () => (await daemon.queue('CORERR', 'CORSPACE')).messages === 96, 30_000);
    for (const n of [...corrids, ...corrids]) {
      const ctl = ctlOf(TPQ.TPQGETBYCORRID | TPQ.TPQCORRID, { corrid: `corrid ${n}` });
      expect((await take(ctx, 'CORERR', ctl, { qspace: 'CORSPACE' })).data).toBe(n);
      expect([ctl.flags, Buffer.from(ctl.corrid ?? []).toString()]).toEqual([
        TPQ.TPQCORRID,
        `corrid ${n}`.padEnd(32, '\0'),
      ]);
    }
    expect(await got(ctx, 'CORAUTO', {}, { qspace: 'CORSPACE' })).toBe('QMENOMSG');
  });
});

describe.each([
  ['T28-04, 05, 14, 15, 16', FIFO3, up(1, 300)],
  ['T28-28 LIFO set', LIFO3, down(300, 1)],
])('%s: one transaction over three queues', (_id, queues, expected) => {
  const [a = '', b = '', c = ''] = queues;
  const ORDER = expected.map((n) => [n, n, n, n]);

  /** Occurrences of the field in every message, in the order of dequeues from A, B, C, with the peek at C before its dequeue. */
  async function read(): Promise<number[][]> {
    const rows = [];
    for (let i = 0; i < 300; i++) {
      const peeked = await take(ctx, c, ctlOf(TPQ.TPQPEEK));
      const taken = await Promise.all([take(ctx, a), take(ctx, b), take(ctx, c)]);
      rows.push([peeked, ...taken].map(occurrences));
    }
    return rows;
  }

  it('enqueued with one commit, kept over a restart', async () => {
    await ctx.tpbegin(180);
    const sent = up(1, 300).flatMap((n) => {
      const data = typed('FML32', '', Buffer.from('TEST HELLO'.repeat(n)));
      return queues.map((queue) => ctx.tpenqueue(SPACE, queue, null, data));
    });
    await Promise.all(sent);
    await ctx.tpcommit();
    expect(await messages(...queues)).toEqual([300, 300, 300]);
    await daemon.restart();
    expect(await messages(...queues)).toEqual([300, 300, 300]);
  });

  it('dequeued in order and aborted, then in the same order and committed', async () => {
    await ctx.tpbegin(180);
    expect(await read()).toEqual(ORDER);
    await ctx.tpabort();
    await ctx.tpbegin(180);
    expect(await read()).toEqual(ORDER);
    await ctx.tpcommit();
    expect(await messages(...queues)).toEqual([0, 0, 0]);
  });

  it('empty then, each dequeue in a transaction fails', async () => {
    await ctx.tpbegin(60);
    for (const queue of queues) expect(await got(ctx, queue)).toBe('QMENOMSG');
    expect(await code(ctx.tpcommit())).toBe('OK');
  });
});

describe.each([false, true])('by corrid, with a restart between load and read: %s', (restart) => {
  it('T28-22 corlifo', async () => {
    await Promise.all(up(1, 125).map((n) => send(ctx, 'CORLIFO', n)));
    for (const id of [2, 3, 4]) await Promise.all(up(5, 125).map((n) => send(ctx, 'CORLIFO', n, corrid(id))));
    if (restart) await daemon.restart();
    expect(await firstOf('CORLIFO')).toEqual([125, TPQ.TPQCORRID, 'corrid 4']);
    expect(await drainBy('CORLIFO', 4)).toEqual(down(124, 5));
    for (const id of [2, 3]) expect(await drainBy('CORLIFO', id)).toEqual(down(125, 5));
    expect(await restOf('CORLIFO')).toEqual([0, down(125, 1)]);
  });

  it('T28-23 corfifo', async () => {
    for (const id of [2, 3, 4]) await Promise.all(up(5, 125).map((n) => send(ctx, 'CORFIFO', n, corrid(id))));
    await Promise.all(up(0, 125).map((n) => send(ctx, 'CORFIFO', n)));
    if (restart) await daemon.restart();
    expect(await firstOf('CORFIFO')).toEqual([5, TPQ.TPQCORRID, 'corrid 2']);
    expect(await drainBy('CORFIFO', 2)).toEqual(up(6, 125));
    for (const id of [4, 3]) expect(await drainBy('CORFIFO', id)).toEqual(up(5, 125));
    expect(await restOf('CORFIFO')).toEqual([0, up(0, 125)]);
  });
});

describe.each(['relative', 'absolute'])('delayed, %s', (kind) => {
  /** Even numbers are due later, at times that are in no order; the daemon's clock does the waiting. */
  const when = (n: number): Members => {
    if (n % 2 === 1) return {};
    const seconds = 100 + ((n * 37) % 9);
    return kind === 'relative'
      ? { flags: TPQ.TPQTIME_REL, deq_time: seconds }
      : { flags: TPQ.TPQTIME_ABS, deq_time: wallS(daemon, seconds) };
  };

  const withCorrid = (n: number): Members => {
    const members = when(n);
    if (n < 100 || n >= 300) return members;
    const id = n < 200 ? 1 : 2;
    return { ...members, ...corrid(id), flags: (members.flags ?? 0) | TPQ.TPQCORRID };
  };

  it.each([
    ['T28-29 futfifotrans', 'FUT_FIFO', up(1, 199, 2), up(0, 198, 2)],
    ['T28-30 futlifotrans', 'FUT_LIFO', down(199, 1, 2), down(198, 0, 2)],
  ])('%s: by enqueue order, not by due time', async (_id, queue, odd, even) => {
    await Promise.all(up(0, 199).map((n) => send(ctx, queue, n, when(n))));
    expect(await drainTransaction(queue)).toEqual(odd);
    expect([await got(ctx, queue), await got(ctx, 'TESTA')]).toEqual(['QMENOMSG', 'QMENOMSG']);
    daemon.clock.advance(110_000);
    expect(await drainTransaction(queue)).toEqual(even);
    expect(await got(ctx, queue)).toBe('QMENOMSG');
  });

  it.each([
    ['T28-31 futcorfifotrans', 'FUT_CORFIFO', false],
    ['T28-32 futcorlifotrans', 'FUT_CORLIFO', true],
  ])(
    '%s: plain and by corrid, the odd ones at once, the even ones when due',
    async (_id, queue, reversed) => {
      await Promise.all(up(0, 399).map((n) => send(ctx, queue, n, withCorrid(n))));
      const part = (parity: number, from: number): number[] => {
        const numbers = up(from + parity, from + 99, 2);
        return reversed ? numbers.toReversed() : numbers;
      };
      for (const parity of [1, 0]) {
        expect(await got(ctx, queue, byCorrid(9))).toBe('QMENOMSG');
        const begin = reversed ? 300 : 0;
        const plain = [];
        for (let i = 0; i < 50; i++) plain.push(await got(ctx, queue));
        expect(plain).toEqual(part(parity, begin));
        expect(await drainBy(queue, 2)).toEqual(part(parity, 200));
        expect(await drainBy(queue, 1)).toEqual(part(parity, 100));
        expect(await drainTransaction(queue)).toEqual(part(parity, reversed ? 0 : 300));
        expect(await got(ctx, queue)).toBe('QMENOMSG');
        if (parity === 1) daemon.clock.advance(110_000);
      }
      expect(await messages(queue)).toEqual([0]);
    },
  );
});
