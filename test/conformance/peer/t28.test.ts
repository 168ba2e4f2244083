// Another product's function test of queues, retold: those of its scenarios that need neither a service nor an administrator's tool
// [peer-scenarios 1.1]; the others are in t28-forward.test.ts and t28-admin.test.ts. T28-01, 17 and 18 are shared among clients, so that
// one sync serves several, and the daemon's clock does the waiting.
import { afterEach, beforeAll, describe, expect } from 'vitest';
import { type Context, TPFLAG, TPQ, typed } from '../../../clients/typescript/index.ts';
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
} from '../q/support.ts';
import { byCorrid, corrid, down, inTransaction, messagesOf, scenario, up } from './support.ts';

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

/** Everything by a corrid, up to QMENOMSG. */
async function drainBy(queue: string, n: number): Promise<unknown[]> {
  const asked = await Promise.all(Array.from({ length: 150 }, () => got(ctx, queue, byCorrid(n))));
  const end = asked.indexOf('QMENOMSG');
  expect(new Set(asked.slice(end))).toEqual(new Set(['QMENOMSG']));
  return asked.slice(0, end);
}

function occurrences({ data }: { data: unknown }): number {
  return (
    Buffer.from(data as Uint8Array)
      .toString()
      .split('TEST HELLO').length - 1
  );
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
  scenario('T28-01', async () => {
    const queue = tests.next();
    const data = Buffer.from([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const contexts = await Promise.all(up(1, CLIENTS).map(() => daemon.join()));
    const seen = await Promise.all(
      contexts.map(async (one) => {
        let equal = 0;
        for (let i = 0; i < 1000 / CLIENTS; i++) {
          await one.tpenqueue(SPACE, queue, null, data, TPFLAG.TPNOTRAN);
          const received = await one.tpdequeue(SPACE, queue, null, null, TPFLAG.TPNOTRAN);
          if (received.type === 'CARRAY' && data.equals(Buffer.from(received.data as Uint8Array))) equal++;
        }
        return equal;
      }),
    );
    expect([seen, await messagesOf(daemon, [queue])]).toEqual([Array(CLIENTS).fill(1000 / CLIENTS), [0]]);
  });

  scenario('T28-17', async () => {
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

  scenario('T28-18', async () => {
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
        return [bad, ...(await messagesOf(daemon, [queue]))];
      }),
    );
    expect(wrong.map(String)).toEqual(Array(CLIENTS).fill('0,0'));
  });

  scenario('T28-19', async () => {
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

  scenario('T28-20', async () => {
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

/** What T28-04, 05 and 14 to 16 do, each after the other, on three queues of one order. */
class ThreeQueues {
  private readonly queues: readonly string[];
  /** Occurrences of the field in the order of dequeues. */
  private readonly order: readonly number[];

  constructor(queues: readonly string[], order: readonly number[]) {
    this.queues = queues;
    this.order = order;
  }

  async enqueue(): Promise<void> {
    await ctx.tpbegin(180);
    const sent = up(1, 300).flatMap((n) => {
      const data = typed('FML32', '', Buffer.from('TEST HELLO'.repeat(n)));
      return this.queues.map((queue) => ctx.tpenqueue(SPACE, queue, null, data));
    });
    await Promise.all(sent);
    expect(await this.messages()).toEqual([0, 0, 0]);
    await ctx.tpcommit();
    expect(await this.messages()).toEqual([300, 300, 300]);
  }

  async keptOverARestart(): Promise<void> {
    await daemon.restart();
    expect(await this.messages()).toEqual([300, 300, 300]);
  }

  async dequeue(end: 'abort' | 'commit'): Promise<void> {
    await ctx.tpbegin(180);
    expect(await this.read()).toEqual(this.order.map((n) => [n, n, n, n]));
    if (end === 'abort') await ctx.tpabort();
    else await ctx.tpcommit();
    const left = end === 'abort' ? 300 : 0;
    expect(await this.messages()).toEqual([left, left, left]);
  }

  async nothingLeft(): Promise<void> {
    await ctx.tpbegin(60);
    for (const queue of this.queues) expect(await got(ctx, queue)).toBe('QMENOMSG');
    expect(await code(ctx.tpcommit())).toBe('OK');
  }

  private messages(): Promise<number[]> {
    return messagesOf(daemon, this.queues);
  }

  /** Occurrences in every message of the three, and in front what a peek at the third showed before its dequeue. */
  private async read(): Promise<number[][]> {
    const [a = '', b = '', c = ''] = this.queues;
    const rows = [];
    for (let i = 0; i < 300; i++) {
      const peeked = await take(ctx, c, ctlOf(TPQ.TPQPEEK));
      const taken = await Promise.all([take(ctx, a), take(ctx, b), take(ctx, c)]);
      rows.push([peeked, ...taken].map(occurrences));
    }
    return rows;
  }
}

describe('one transaction over three queues', () => {
  const three = new ThreeQueues(FIFO3, up(1, 300));
  scenario('T28-04', () => three.enqueue());
  scenario('T28-05', () => three.keptOverARestart());
  scenario('T28-14', () => three.dequeue('abort'));
  scenario('T28-15', () => three.dequeue('commit'));
  scenario('T28-16', () => three.nothingLeft());

  scenario('T28-28', async () => {
    const lifo3 = new ThreeQueues(LIFO3, down(300, 1));
    await lifo3.enqueue();
    await lifo3.keptOverARestart();
    await lifo3.dequeue('abort');
    await lifo3.dequeue('commit');
    await lifo3.nothingLeft();
  });
});

for (const restart of [false, true]) {
  const detail = restart ? 'with a restart between load and read' : 'at once';

  scenario(
    'T28-22',
    async () => {
      await Promise.all(up(1, 125).map((n) => send(ctx, 'CORLIFO', n)));
      for (const id of [2, 3, 4])
        await Promise.all(up(5, 125).map((n) => send(ctx, 'CORLIFO', n, corrid(id))));
      if (restart) await daemon.restart();
      expect(await firstOf('CORLIFO')).toEqual([125, TPQ.TPQCORRID, 'corrid 4']);
      expect(await drainBy('CORLIFO', 4)).toEqual(down(124, 5));
      for (const id of [2, 3]) expect(await drainBy('CORLIFO', id)).toEqual(down(125, 5));
      expect(await restOf('CORLIFO')).toEqual([0, down(125, 1)]);
    },
    { detail },
  );

  scenario(
    'T28-23',
    async () => {
      for (const id of [2, 3, 4])
        await Promise.all(up(5, 125).map((n) => send(ctx, 'CORFIFO', n, corrid(id))));
      await Promise.all(up(0, 125).map((n) => send(ctx, 'CORFIFO', n)));
      if (restart) await daemon.restart();
      expect(await firstOf('CORFIFO')).toEqual([5, TPQ.TPQCORRID, 'corrid 2']);
      expect(await drainBy('CORFIFO', 2)).toEqual(up(6, 125));
      for (const id of [4, 3]) expect(await drainBy('CORFIFO', id)).toEqual(up(5, 125));
      expect(await restOf('CORFIFO')).toEqual([0, up(0, 125)]);
    },
    { detail },
  );
}

for (const detail of ['relative', 'absolute']) {
  /** Even numbers are due later, at times that are in no order; the daemon's clock does the waiting. */
  const when = (n: number): Members => {
    if (n % 2 === 1) return {};
    const seconds = 100 + ((n * 37) % 9);
    return detail === 'relative'
      ? { flags: TPQ.TPQTIME_REL, deq_time: seconds }
      : { flags: TPQ.TPQTIME_ABS, deq_time: wallS(daemon, seconds) };
  };

  const withCorrid = (n: number): Members => {
    const members = when(n);
    if (n < 100 || n >= 300) return members;
    const id = n < 200 ? 1 : 2;
    return { ...members, ...corrid(id), flags: (members.flags ?? 0) | TPQ.TPQCORRID };
  };

  /** By enqueue order, not by due time. */
  const twoHalves = async (
    queue: string,
    { odd, even }: { odd: number[]; even: number[] },
  ): Promise<void> => {
    await Promise.all(up(0, 199).map((n) => send(ctx, queue, n, when(n))));
    expect(await inTransaction(ctx, () => drain(ctx, queue))).toEqual(odd);
    expect([await got(ctx, queue), await got(ctx, 'TESTA')]).toEqual(['QMENOMSG', 'QMENOMSG']);
    daemon.clock.advance(110_000);
    expect(await inTransaction(ctx, () => drain(ctx, queue))).toEqual(even);
    expect(await got(ctx, queue)).toBe('QMENOMSG');
  };

  /** Plain and by corrid: the odd ones at once, the even ones when they are due. */
  const fourParts = async (queue: string, reversed: boolean): Promise<void> => {
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
      expect(await inTransaction(ctx, () => drain(ctx, queue))).toEqual(part(parity, reversed ? 0 : 300));
      expect(await got(ctx, queue)).toBe('QMENOMSG');
      if (parity === 1) daemon.clock.advance(110_000);
    }
    expect(await messagesOf(daemon, [queue])).toEqual([0]);
  };

  const evenly = { odd: up(1, 199, 2), even: up(0, 198, 2) };
  const backwards = { odd: down(199, 1, 2), even: down(198, 0, 2) };
  scenario('T28-29', () => twoHalves('FUT_FIFO', evenly), { detail });
  scenario('T28-30', () => twoHalves('FUT_LIFO', backwards), { detail });
  scenario('T28-31', () => fourParts('FUT_CORFIFO', false), { detail });
  scenario('T28-32', () => fourParts('FUT_CORLIFO', true), { detail });
}

scenario('T28-33', async () => {
  const queue = tests.next();
  for (const kib of up(1, 53, 4)) {
    const data = Buffer.alloc(kib * 1024, `${kib} KiB `);
    for (let i = 0; i < 10; i++) {
      await ctx.tpenqueue(SPACE, queue, null, data);
      const received = await take(ctx, queue);
      expect(data.equals(Buffer.from(received.data as Uint8Array))).toBe(true);
    }
  }
  expect(await messagesOf(daemon, [queue])).toEqual([0]);
});
