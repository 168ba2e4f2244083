// What tpenqueue stores and which message tpdequeue takes; waiting: its limits, who is served, what it costs [spec 2.4, 2.5, 8.3; C39, C47].
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPFLAG, TPQ } from '../../../clients/typescript/index.ts';
import { daemonForAll } from '../../support/in-process.ts';
import {
  code,
  ctlOf,
  domain,
  drain,
  got,
  hex,
  id32,
  type Members,
  outcome,
  parked,
  pool,
  send,
  sendCode,
  sendTo,
  SPACE,
  take,
  wait,
} from './support.ts';

const plain = pool({ name: 'P', retries: 99 }, 80);
const daemon = daemonForAll(
  domain(
    [
      {
        words: 'ERRORQ=ERRQ',
        queues: [...plain.queues, 'ERRQ', { name: 'TOP', outOfOrder: 'top' }, { name: 'ONCE', retries: 0 }],
      },
      { name: 'THREE', words: 'PROCS=2 ACTIONS=1', queues: ['A', 'B', { name: 'D', retries: 9 }] },
      { name: 'FREE', words: 'PROCS=0', queues: ['A'] },
      { name: 'SHORT', timeoutS: 40, queues: ['Q'] },
      { name: 'NONP', words: 'PAGES=1', queues: ['Q'] },
    ],
    'SCANUNIT 10\nBLOCKTIME 10',
  ),
);
let ctx: Context;
let other: Context;
beforeAll(async () => {
  ctx = await daemon.join({ cltname: 'enqueuer' });
  other = await daemon.join();
});
afterEach(async () => {
  if (ctx.tpgetlev() === 1) await ctx.tpabort();
});

const BLOCKTIME_MS = 100_000;
const corrid = (text: string): Members => ({ flags: TPQ.TPQCORRID, corrid: text });
const by = (text: string, more = 0): Members => ({ flags: TPQ.TPQGETBYCORRID | more, corrid: text });

describe('what an enqueue stores', () => {
  it('[spec 2.4: Resolve queue] what the queue allows, then the resources of the chosen QOS alone', async () => {
    expect(await sendCode(ctx, 'NONE', { flags: TPQ.TPQTOP })).toBe('QMEBADQUEUE');
    expect(await sendCode(ctx, plain.next(), { flags: TPQ.TPQTOP })).toBe('QMEINVAL');
    const memory = { flags: TPQ.TPQDELIVERYQOS, delivery_qos: 4 };
    expect(await sendCode(ctx, 'Q', memory, { qspace: 'NONP' })).toBe('QMENOSPACE');
    expect(await sendCode(ctx, 'Q', {}, { qspace: 'NONP' })).toBe('OK');
    await drain(ctx, 'Q', 'NONP');
  });

  it('[spec 2.4: Stamp] a msgid that is unique in the space, cltid, appkey, urcode', async () => {
    const [queue, second] = [plain.next(), plain.next()];
    const ids = new Set<string>();
    for (let i = 0; i < 100; i++)
      ids.add(hex(await send(ctx, i % 2 === 0 ? queue : second, i, { urcode: i })));
    expect(ids.size).toBe(100);
    const [mine, theirs] = [ctlOf(0), ctlOf(0)];
    await take(other, queue, mine);
    await send(other, 'TOP', 'x', { cltid: id32(1).subarray(0, 16), appkey: 77 });
    await take(ctx, 'TOP', theirs);
    expect([mine.appkey, mine.urcode, mine.cltid?.length]).toEqual([-1, 0, 16]);
    expect(hex(theirs.cltid)).not.toBe(hex(mine.cltid));
    expect(theirs.appkey).toBe(-1);
  });

  it('[spec 2.4: Zero-length and NULL data are stored as "no data"]', async () => {
    const queue = plain.next();
    for (const data of [null, '', Buffer.alloc(0)]) {
      await send(ctx, queue, data, { urcode: 5 });
      const ctl = ctlOf(0);
      const received = await take(ctx, queue, ctl);
      expect([received.data, received.type, received.subtype, ctl.urcode]).toEqual([null, '', '', 5]);
    }
  });

  it('[spec 2.4: Output] the msgid, which changes when the message moves to the error queue', async () => {
    const msgid = await send(other, 'ONCE', 'x');
    await ctx.tpbegin(60);
    expect(await got(ctx, 'ONCE', { flags: TPQ.TPQGETBYMSGID, msgid })).toBe('x');
    await ctx.tpabort();
    const ctl = ctlOf(TPQ.TPQMSGID);
    await take(ctx, 'ERRQ', ctl);
    expect(hex(ctl.msgid)).not.toBe(hex(msgid));
  });

  it('[spec 2.5: Output always] cltid, appkey and urcode, whatever was asked for, also by a peek', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'x', { urcode: -2_000_000_000 });
    for (const flags of [TPQ.TPQPEEK, 0]) {
      const ctl = ctlOf(flags, { urcode: 1, appkey: 1 });
      await take(other, queue, ctl);
      expect([ctl.urcode, ctl.appkey, ctl.cltid?.length]).toEqual([-2_000_000_000, -1, 16]);
    }
  });
});

describe('which message', () => {
  it('[spec 2.5: Default] the first available', async () => {
    const queue = plain.next();
    await send(other, queue, 'locked');
    await send(other, queue, 'late', { flags: TPQ.TPQTIME_REL, deq_time: 500 });
    await send(other, queue, 'short', { flags: TPQ.TPQEXPTIME_REL, exp_time: 100 });
    await ctx.tpbegin(600);
    await take(ctx, queue);
    await send(ctx, queue, 'open');
    await send(other, queue, 'free');
    daemon.clock.advance(101_000);
    expect([await got(other, queue), await got(other, queue)]).toEqual(['free', 'QMENOMSG']);
  });

  it('[spec 2.5: TPQGETBYMSGID / TPQGETBYCORRID] of equal corrids the order decides', async () => {
    const queue = plain.next();
    for (const [data, id] of [
      [1, 'b'],
      [2, 'a'],
      [3, 'b'],
      [4, 'a'],
    ] as const)
      await send(ctx, queue, data, corrid(id));
    const seen = [];
    for (const id of ['a', 'b', 'a', 'b', 'a']) seen.push(await got(ctx, queue, by(id)));
    expect(seen).toEqual([2, 1, 4, 3, 'QMENOMSG']);
  });

  it('[spec 2.5: Both GETBY flags] both must match', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'first', corrid('c'));
    const msgid = await send(ctx, queue, 'second', corrid('c'));
    const flags = TPQ.TPQGETBYMSGID | TPQ.TPQGETBYCORRID;
    const old = TPQ.TPQGETBYMSGIDOLD | TPQ.TPQGETBYCORRIDOLD;
    for (const both of [flags, old])
      expect(await got(ctx, queue, { flags: both, msgid, corrid: 'other' })).toBe('QMENOMSG');
    const peek = { flags: flags | TPQ.TPQPEEK, msgid, corrid: 'c' };
    expect(await got(ctx, queue, peek)).toBe('second');
    expect(await got(ctx, queue, { flags: old, msgid, corrid: 'c' })).toBe('second');
    expect(await drain(ctx, queue)).toEqual(['first']);
  });

  it('[spec 2.5: TPQPEEK] the same head again, nothing locked, removed or counted', async () => {
    const queue = plain.next();
    await send(ctx, queue, 1);
    await send(ctx, queue, 2);
    const peek = { flags: TPQ.TPQPEEK };
    await ctx.tpbegin(60);
    expect([await got(ctx, queue, peek), await got(ctx, queue, peek)]).toEqual([1, 1]);
    await ctx.tpabort();
    expect(await daemon.queue(queue)).toMatchObject({ messages: 2, ready: 2, dequeued: 0 });
    expect(await drain(other, queue)).toEqual([1, 2]);
  });

  it('[spec 2.5: Unknown message type to the caller] TPEOTYPE, the message stays', async () => {
    const queue = plain.next();
    await send(ctx, queue, { a: 1 });
    const strict = other.tpdequeue(SPACE, queue, null, { type: 'STRING' }, TPFLAG.TPNOCHANGE);
    expect(await code(strict)).toBe('TPEOTYPE');
    expect(await drain(other, queue)).toEqual([{ a: 1 }]);
  });
});

describe('by id, one answer per state, the same after a restart (C47)', () => {
  it('delayed, expired, consumed, locked by another and by the own transaction', async () => {
    const queue = plain.next();
    const asked: [string, Buffer][] = [];
    const put = async (name: string, flags = 0, members: Members = {}): Promise<void> => {
      const given = { ...members, flags: flags | TPQ.TPQCORRID, corrid: name };
      asked.push([name, await send(other, queue, name, given)]);
    };
    await put('delayed', TPQ.TPQTIME_REL, { deq_time: 5000 });
    await put('expired', TPQ.TPQEXPTIME_REL, { exp_time: 10 });
    await put('consumed');
    await put('locked');
    await put('own');
    await put('free');
    daemon.clock.advance(11_000);
    expect(await got(other, queue, by('consumed'))).toBe('consumed');
    const all = async (): Promise<unknown[]> => {
      const answers = [];
      for (const [name, msgid] of asked)
        for (const more of [0, TPQ.TPQPEEK]) {
          if (more === 0 && name === 'free') continue;
          answers.push(await got(ctx, queue, by(name, more)));
          answers.push(await got(ctx, queue, { flags: TPQ.TPQGETBYMSGID | more, msgid }));
        }
      return answers;
    };
    const expected = [...Array<string>(20).fill('QMENOMSG'), 'free', 'free'];
    const holder = await daemon.join();
    const lock = async (): Promise<void> => {
      await holder.tpbegin(600);
      expect(await got(holder, queue, by('locked'))).toBe('locked');
      await ctx.tpbegin(600);
      expect(await got(ctx, queue, by('own'))).toBe('own');
    };
    await lock();
    expect(await all()).toEqual(expected);
    await Promise.all([holder.tpabort(), ctx.tpabort()]);
    await daemon.restart();
    await lock();
    expect(await all()).toEqual(expected);
    await Promise.all([holder.tpcommit(), ctx.tpcommit()]);
  });
});

describe('waiting', () => {
  it('[spec 2.5: TPQWAIT] for a message of the same selection; others are served meanwhile', async () => {
    const queue = plain.next();
    const selections: Members[] = [by('k'), by('l', TPQ.TPQPEEK), { flags: 0 }];
    const waits = [];
    for (const members of selections) {
      waits.push(wait(other, queue, members));
      await parked(daemon, queue, waits.length);
    }
    for (const id of ['l', 'k', 'm']) await send(ctx, queue, id, corrid(id));
    expect(await Promise.all(waits)).toEqual(['k', 'l', 'l']);
    expect(await drain(other, queue)).toEqual(['m']);
  });

  it('[spec 2.5: Limit in a transaction] its time: TPETIME, rollback-only; -t and BLOCKTIME do not count', async () => {
    await ctx.tpbegin(200);
    const waiting = wait(ctx, 'Q', {}, { qspace: 'SHORT', flags: 0 });
    await parked(daemon, 'Q', 1, 'SHORT');
    daemon.clock.advance(BLOCKTIME_MS + 50_000);
    expect((await daemon.queue('Q', 'SHORT')).waiters).toBe(1);
    daemon.clock.advance(51_000);
    expect(await waiting).toBe('TPETIME');
    expect(await code(ctx.tpcommit())).toBe('TPEABORT');
  });

  it('[spec 2.5: Limit outside] -t: QMENOMSG; a message that comes later is nobody’s', async () => {
    const waiting = wait(other, 'Q', {}, { qspace: 'SHORT' });
    await parked(daemon, 'Q', 1, 'SHORT');
    daemon.clock.advance(35_000);
    expect((await daemon.queue('Q', 'SHORT')).waiters).toBe(1);
    daemon.clock.advance(5100);
    expect(await waiting).toBe('QMENOMSG');
    await sendTo(ctx, 'SHORT', 'Q', 'x');
    expect(await drain(ctx, 'Q', 'SHORT')).toEqual(['x']);
  });

  it("[spec 2.5: The client's own blocking timeout] TPETIME when it is shorter, and the waiter takes nothing", async () => {
    const queue = plain.next();
    const waits = [wait(other, queue, {}, { flags: 0 }), wait(other, queue)];
    await parked(daemon, queue, 2);
    daemon.clock.advance(BLOCKTIME_MS + 100);
    expect(await waits[0]).toBe('TPETIME');
    await send(ctx, queue, 'x');
    expect(await waits[1]).toBe('x');
  });

  it('[spec 2.5: TPNOBLOCK has no influence on TPQWAIT]', async () => {
    const queue = plain.next();
    const waiting = wait(other, queue, {}, { flags: TPFLAG.TPNOBLOCK | TPFLAG.TPNOTIME });
    await parked(daemon, queue, 1);
    await send(ctx, queue, 'x');
    expect(await waiting).toBe('x');
  });

  it('[spec 2.5: Fairness among several waiters] by arrival, each with its own selection', async () => {
    const queue = plain.next();
    const order: string[] = [];
    const waits: Promise<unknown>[] = [];
    const join = async (name: string, members: Members): Promise<void> => {
      const client = await daemon.join();
      waits.push(wait(client, queue, members).then((data) => order.push(`${name}:${String(data)}`)));
      await parked(daemon, queue, waits.length);
    };
    await join('1 by k', by('k'));
    await join('2 any', {});
    await join('3 by k', by('k'));
    await join('4 any', {});
    for (const [data, id] of [
      ['a', 'x'],
      ['b', 'k'],
      ['c', 'k'],
      ['d', 'k'],
    ] as const) {
      await send(ctx, queue, data, corrid(id));
    }
    await Promise.all(waits);
    expect(order).toEqual(['2 any:a', '1 by k:b', '3 by k:c', '4 any:d']);
  });

  it('is woken by commit and by rollback, in the order of arrival', async () => {
    const queue = plain.next();
    await send(other, queue, 'back');
    await ctx.tpbegin(60);
    await take(ctx, queue);
    const waits: Promise<unknown>[] = [];
    for (let i = 1; i <= 3; i++) {
      waits.push(wait(other, queue));
      await parked(daemon, queue, i);
    }
    await ctx.tpabort();
    expect(await waits[0]).toBe('back');
    await ctx.tpbegin(60);
    await send(ctx, queue, 1);
    await send(ctx, queue, 2);
    expect((await daemon.queue(queue)).waiters).toBe(2);
    await ctx.tpcommit();
    expect(await Promise.all(waits)).toEqual(['back', 1, 2]);
  });

  it('each on its own time: 20, 40 and 60 s, one leaves, one gets the message (C39)', async () => {
    const queue = plain.next();
    const ends: string[] = [];
    const note = (name: string, waitMs: number, signal?: AbortSignal): Promise<unknown> =>
      wait(other, queue, {}, { flags: TPFLAG.TPNOTIME, extras: { waitMs, signal } }).then((value) =>
        ends.push(`${name} ${String(value)}`),
      );
    const waits = [note('20', 20_000), note('40', 40_000), note('60', 60_000)];
    await parked(daemon, queue, 3);
    daemon.clock.advance(10_000);
    const leave = new AbortController();
    waits.push(note('leaver', 90_000, leave.signal));
    await parked(daemon, queue, 4);
    leave.abort();
    await parked(daemon, queue, 3);
    daemon.clock.advance(10_100);
    await parked(daemon, queue, 2);
    daemon.clock.advance(10_000);
    await send(ctx, queue, 'x');
    await parked(daemon, queue, 1);
    daemon.clock.advance(31_000);
    await Promise.all(waits);
    expect(ends).toEqual(['leaver TPGOTSIG', '20 QMENOMSG', '40 x', '60 QMENOMSG']);
  });

  it.each(['reset', 'end'] as const)('a client that is gone (%s) is given nothing', async (how) => {
    const queue = plain.next();
    const raw = await daemon.raw();
    raw.send(4, 5, [SPACE, queue], [TPQ.TPQWAIT], TPFLAG.TPNOTIME, 0, 0, '', 0);
    await parked(daemon, queue, 1);
    raw[how]();
    await parked(daemon, queue, 0);
    await send(ctx, queue, 'x');
    expect(await drain(ctx, queue)).toEqual(['x']);
  });

  it('clients that go while the message comes: it is there once, delivered or not', async () => {
    const queue = plain.next();
    for (let i = 0; i < 30; i++) {
      const raw = await daemon.raw();
      raw.send(4, 5, [SPACE, queue], [TPQ.TPQWAIT], TPFLAG.TPNOTIME, 0, 0, '', 0);
      await parked(daemon, queue, 1);
      const stays = wait(other, queue);
      await parked(daemon, queue, 2);
      raw.reset();
      await parked(daemon, queue, 1);
      await send(ctx, queue, i);
      expect(await stays).toBe(i);
    }
    expect(await drain(ctx, queue)).toEqual([]);
  });
});

describe('actions', () => {
  const at = { qspace: 'THREE', flags: TPFLAG.TPNOTIME };

  it('[spec 2.5: Needs one action resource if nothing is immediately available] PROCS + ACTIONS, then QMESYSTEM', async () => {
    const stop = new AbortController();
    const waits = ['A', 'A', 'B'].map((queue) =>
      wait(other, queue, {}, { ...at, extras: { signal: stop.signal } }),
    );
    await parked(daemon, 'A', 2, 'THREE');
    await parked(daemon, 'B', 1, 'THREE');
    for (const queue of ['A', 'B', 'D']) expect(await wait(ctx, queue, {}, at)).toBe('QMESYSTEM');
    // One that finds its message needs none.
    await sendTo(ctx, 'THREE', 'D', 'there');
    expect(await wait(ctx, 'D', {}, at)).toBe('there');
    stop.abort();
    expect(await Promise.all(waits)).toEqual(Array(3).fill('TPGOTSIG'));
  });

  const fill = async (): Promise<Promise<unknown>[]> => {
    const waits = [1, 2, 3].map(() => wait(other, 'A', {}, at));
    await parked(daemon, 'A', 3, 'THREE');
    expect(await wait(ctx, 'B', {}, at)).toBe('QMESYSTEM');
    return waits;
  };

  it('[spec 8.3: A blocking operation] gives its action back with the message, its time, or its client', async () => {
    const waits = await fill();
    await sendTo(ctx, 'THREE', 'A', 'x');
    expect(await waits[0]).toBe('x');
    const timed = outcome(take(other, 'B', ctlOf(TPQ.TPQWAIT), { ...at, extras: { waitMs: 5000 } }));
    await parked(daemon, 'B', 1, 'THREE');
    daemon.clock.advance(5100);
    expect(await timed).toBe('QMENOMSG');
    const raw = await daemon.raw();
    raw.send(4, 5, ['THREE', 'B'], [TPQ.TPQWAIT], TPFLAG.TPNOTIME, 0, 0, '', 0);
    await parked(daemon, 'B', 1, 'THREE');
    expect(await wait(ctx, 'B', {}, at)).toBe('QMESYSTEM');
    raw.reset();
    await parked(daemon, 'B', 0, 'THREE');
    const last = wait(ctx, 'B', {}, at);
    await parked(daemon, 'B', 1, 'THREE');
    for (const queue of ['A', 'A', 'B']) await sendTo(ctx, 'THREE', queue, 'y');
    expect(await Promise.all([...waits.slice(1), last])).toEqual(['y', 'y', 'y']);
  });

  it('[spec 8.3: System reserve = number of processes allowed on the space] ACTIONS adds to PROCS: two and one are three', async () => {
    const waits = await fill();
    for (const n of [1, 2, 3]) await sendTo(ctx, 'THREE', 'A', n);
    expect(await Promise.all(waits)).toEqual([1, 2, 3]);
  });

  it('[spec 8.3: None free] [spec 8.4: actions] fails at once, for the space and not the queue', async () => {
    const waits = await fill();
    expect(await wait(ctx, 'D', by('k'), at)).toBe('QMESYSTEM');
    expect(await wait(ctx, 'D', { flags: TPQ.TPQPEEK }, at)).toBe('QMESYSTEM');
    expect(await got(ctx, 'D', {}, { qspace: 'THREE' })).toBe('QMENOMSG');
    for (const n of [1, 2, 3]) await sendTo(ctx, 'THREE', 'A', n);
    await Promise.all(waits);
  });

  it('without a number there is no limit', async () => {
    const waits = Array.from({ length: 40 }, () => wait(other, 'A', {}, { ...at, qspace: 'FREE' }));
    await parked(daemon, 'A', 40, 'FREE');
    for (let i = 0; i < 40; i++) await sendTo(ctx, 'FREE', 'A', i);
    expect(await Promise.all(waits)).toEqual(Array.from({ length: 40 }, (_, i) => i));
  });
});
