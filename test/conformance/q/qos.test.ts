// Quality of service: what lives where, what survives which end of the daemon, and the non-persistent area [spec 1.2, 1.5, 8.2, 8.4].
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPQ, TPQQOS } from '../../../clients/typescript/index.ts';
import { daemonForAll } from '../../support/in-process.ts';
import {
  attempt,
  code,
  ctlOf,
  domain,
  drain,
  got,
  holds,
  type Members,
  parked,
  pool,
  send,
  sendCode,
  sendTo,
  take,
  wait,
} from './support.ts';

const disk = pool({ name: 'D', retries: 9 }, 20);
const memory = pool({ name: 'M', retries: 9, policy: 'nonpersist' }, 20);
const AREA = 65_536;
const daemon = daemonForAll(
  domain([
    { words: 'NONPERSIST="1m"', queues: [...disk.queues, ...memory.queues] },
    {
      name: 'SMALL',
      words: `NONPERSIST="${AREA}b" ERRORQ=ERRQ`,
      queues: ['ERRQ', 'D', 'E', { name: 'M', policy: 'nonpersist' }, { name: 'ZERO', retries: 0 }],
    },
    { name: 'NOAREA', queues: ['D', { name: 'M', policy: 'nonpersist' }] },
    { name: 'NULLAREA', words: 'NONPERSIST="0"', queues: ['D', { name: 'M', policy: 'nonpersist' }] },
    { name: 'ONEPAGE', words: 'PAGES=1 NONPERSIST="64k"', queues: ['D'] },
  ]),
);
let ctx: Context;
let other: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  other = await daemon.join();
});
afterEach(async () => {
  if (ctx.tpgetlev() === 1) await ctx.tpabort();
});

const { TPQQOSDEFAULTPERSIST, TPQQOSPERSISTENT, TPQQOSNONPERSISTENT } = TPQQOS;
const qos = (delivery_qos: number): Members => ({ flags: TPQ.TPQDELIVERYQOS, delivery_qos });
const MEMORY = qos(TPQQOSNONPERSISTENT);
const DISK = qos(TPQQOSPERSISTENT);

describe('what survives a stop', () => {
  const rows: [string, Members, boolean, boolean][] = [
    ['[spec 1.5: TPQDELIVERYQOS] not given: the policy of the queue', {}, true, false],
    ['TPQQOSDEFAULTPERSIST: the policy of the queue', qos(TPQQOSDEFAULTPERSIST), true, false],
    ['TPQQOSPERSISTENT: the disk', DISK, true, true],
    ['TPQQOSNONPERSISTENT: the memory', MEMORY, false, false],
  ];
  const left = new Map<string, [unknown[], unknown[]]>();
  beforeAll(async () => {
    const queues = rows.map(() => [disk.next(), memory.next()] as const);
    for (const [i, [, members]] of rows.entries())
      for (const queue of queues[i] ?? []) await send(ctx, queue, queue, members);
    for (const queue of queues.flat()) expect((await daemon.queue(queue)).messages).toBe(1);
    await daemon.restart();
    for (const [i, [title]] of rows.entries()) {
      const [persist = '', nonpersist = ''] = queues[i] ?? [];
      left.set(title, [await drain(ctx, persist), await drain(ctx, nonpersist)]);
    }
  });

  it.each(rows)('%s', (title, _members, onDisk, inMemory) => {
    const [persist = [], nonpersist = []] = left.get(title) ?? [];
    expect([persist.length, nonpersist.length]).toEqual([Number(onDisk), Number(inMemory)]);
  });

  it('[spec 1.5: TPQREPLYQOS] not given: not returned; given: kept with the message over a restart', async () => {
    const queue = disk.next();
    await send(ctx, queue, 'none');
    await send(ctx, queue, 'given', { flags: TPQ.TPQREPLYQOS, reply_qos: TPQQOSNONPERSISTENT });
    await daemon.restart();
    const [none, given] = [ctlOf(TPQ.TPQREPLYQOS, { reply_qos: 9 }), ctlOf(TPQ.TPQREPLYQOS)];
    await take(ctx, queue, none);
    await take(ctx, queue, given);
    expect([none.flags, none.reply_qos]).toEqual([0, 9]);
    expect([given.flags, given.reply_qos]).toEqual([TPQ.TPQREPLYQOS, TPQQOSNONPERSISTENT]);
  });

  it('[spec 8.2: tmshutdown of the servers, IPC kept] persistent kept, non-persistent lost, open transactions rolled back', async () => {
    const [queue, second] = [disk.next(), disk.next()];
    await send(other, queue, 'kept');
    await send(other, queue, 'lost', MEMORY);
    await send(other, queue, 'kept too');
    await ctx.tpbegin(600);
    expect(await got(ctx, queue)).toBe('kept');
    await send(ctx, second, 'open');
    await send(ctx, second, 'open', MEMORY);
    await daemon.restart();
    expect(await code(ctx.tpcommit())).not.toBe('OK');
    expect([await drain(other, queue), await drain(other, second)]).toEqual([['kept', 'kept too'], []]);
  });

  it('a commit over both kinds leaves its persistent part', async () => {
    const queue = disk.next();
    await send(other, queue, 'old');
    await ctx.tpbegin(60);
    await take(ctx, queue);
    await send(ctx, queue, 'disk');
    await send(ctx, queue, 'memory', MEMORY);
    await ctx.tpcommit();
    expect((await daemon.queue(queue)).messages).toBe(2);
    await daemon.restart();
    expect(await drain(other, queue)).toEqual(['disk']);
  });

  it('a persistent message placed beside a lost one keeps its place', async () => {
    const queue = memory.next();
    await send(ctx, queue, 1, DISK);
    await send(ctx, queue, 2);
    await send(ctx, queue, 3, DISK);
    expect((await daemon.queue(queue)).messages).toBe(3);
    await daemon.restart();
    expect(await drain(ctx, queue)).toEqual([1, 3]);
  });
});

describe('a non-persistent message', () => {
  it('is ordered, locked, rolled back and waited for like any other', async () => {
    const queue = disk.next();
    await send(other, queue, 1, MEMORY);
    await send(other, queue, 2);
    await send(other, queue, 3, MEMORY);
    expect(await attempt(ctx, queue)).toBe(1);
    await ctx.tpbegin(60);
    expect([await got(ctx, queue), await got(ctx, queue)]).toEqual([1, 2]);
    expect(await got(other, queue, { flags: TPQ.TPQPEEK })).toBe(3);
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual([1, 2, 3]);
    const waiting = wait(other, queue);
    await parked(daemon, queue, 1);
    await send(ctx, queue, 4, MEMORY);
    expect(await waiting).toBe(4);
  });

  it('carries up to the whole of a body unchanged', async () => {
    const body = Buffer.alloc(300_000, 7);
    body.writeUInt32BE(0xdeadbeef, 299_990);
    const queue = memory.next();
    await send(ctx, queue, body);
    expect(body.equals(Buffer.from((await got(ctx, queue)) as Uint8Array))).toBe(true);
  });
});

describe('the non-persistent area', () => {
  const BODY = Buffer.alloc(4096, 1);
  const at = { qspace: 'SMALL', data: BODY };

  /** Fills it from one queue; how many went in. */
  async function fill(queue: string, members: Members = MEMORY): Promise<number> {
    for (let count = 0; count <= AREA / BODY.length; count++) {
      const answer = await sendCode(ctx, queue, members, at);
      if (answer === 'QMENOSPACE') return count;
      expect(answer).toBe('OK');
    }
    throw new Error('the area has no limit');
  }

  it('[spec 8.4: TA_MEMNONPERSIST (also when fragmented, or 0)] QMENOSPACE when full; persistent ones go on, and none spills', async () => {
    const count = await fill('D');
    expect(count).toBeGreaterThanOrEqual(12);
    expect(await sendCode(ctx, 'E', MEMORY, at)).toBe('QMENOSPACE');
    expect(await sendCode(ctx, 'M', {}, at)).toBe('QMENOSPACE');
    expect(await sendCode(ctx, 'E', DISK, at)).toBe('OK');
    expect(await sendCode(ctx, 'M', DISK, at)).toBe('OK');
    for (const queue of ['D', 'E', 'M']) await drain(ctx, queue, 'SMALL');
    // Everything was given back.
    expect(await fill('E')).toBe(count);
    await drain(ctx, 'E', 'SMALL');
  });

  it('is given back by a dequeue, a commit, a rollback, an expiry, and by the end of a transaction that was refused', async () => {
    const count = await fill('D');
    await take(ctx, 'D', null, { qspace: 'SMALL' });
    expect([await sendCode(ctx, 'D', MEMORY, at), await sendCode(ctx, 'D', MEMORY, at)]).toEqual([
      'OK',
      'QMENOSPACE',
    ]);
    await ctx.tpbegin(60);
    await take(ctx, 'D', null, { qspace: 'SMALL' });
    // A locked message still fills its place.
    expect(await sendCode(other, 'D', MEMORY, at)).toBe('QMENOSPACE');
    await ctx.tpcommit();
    await ctx.tpbegin(60);
    expect(await sendCode(ctx, 'D', MEMORY, at)).toBe('OK');
    expect(await sendCode(ctx, 'D', MEMORY, at)).toBe('QMENOSPACE');
    expect(await sendCode(other, 'D', MEMORY, at)).toBe('QMENOSPACE');
    await ctx.tpabort();
    const flags = TPQ.TPQDELIVERYQOS | TPQ.TPQEXPTIME_REL;
    expect(await sendCode(ctx, 'D', { ...MEMORY, flags, exp_time: 100 }, at)).toBe('OK');
    expect(await sendCode(ctx, 'D', MEMORY, at)).toBe('QMENOSPACE');
    daemon.clock.advance(101_000);
    await holds(daemon, 'D', count - 1, 'SMALL');
    expect(await sendCode(ctx, 'D', MEMORY, at)).toBe('OK');
    expect((await drain(ctx, 'D', 'SMALL')).length).toBe(count);
  });

  it('a message of it that moves to the error queue stays in it', async () => {
    const count = await fill('ZERO');
    await attempt(ctx, 'ZERO', 'SMALL');
    await holds(daemon, 'ERRQ', 1, 'SMALL');
    expect(await sendCode(ctx, 'D', MEMORY, at)).toBe('QMENOSPACE');
    await drain(ctx, 'ERRQ', 'SMALL');
    expect(await sendCode(ctx, 'D', MEMORY, at)).toBe('OK');
    expect((await drain(ctx, 'ZERO', 'SMALL')).length + 1).toBe(count);
    await drain(ctx, 'D', 'SMALL');
  });

  it('is empty after a restart', async () => {
    const count = await fill('D');
    await daemon.restart();
    expect(await fill('E')).toBe(count);
    await drain(ctx, 'E', 'SMALL');
  });

  it('bodies of all sizes, taken in another order: no room is lost to fragments', async () => {
    const count = await fill('D');
    await drain(ctx, 'D', 'SMALL');
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < 40; i++) {
        const data = Buffer.alloc(1 + ((i * 733 + round * 97) % 1200), 1);
        await sendTo(ctx, 'SMALL', i % 2 === 0 ? 'D' : 'E', data, MEMORY);
      }
      await drain(ctx, round % 2 === 0 ? 'D' : 'E', 'SMALL');
      await drain(ctx, round % 2 === 0 ? 'E' : 'D', 'SMALL');
    }
    expect(await fill('D')).toBe(count);
    await drain(ctx, 'D', 'SMALL');
  });

  it.each(['NOAREA', 'NULLAREA'])('%s: every non-persistent enqueue is QMENOSPACE', async (qspace) => {
    expect(await sendCode(ctx, 'D', MEMORY, { qspace })).toBe('QMENOSPACE');
    expect(await sendCode(ctx, 'D', MEMORY, { qspace, data: null })).toBe('QMENOSPACE');
    expect(await sendCode(ctx, 'M', {}, { qspace })).toBe('QMENOSPACE');
    expect(await sendCode(ctx, 'M', qos(TPQQOSDEFAULTPERSIST), { qspace })).toBe('QMENOSPACE');
    expect(await sendCode(ctx, 'M', DISK, { qspace })).toBe('OK');
    expect(await drain(ctx, 'M', qspace)).toEqual(['x']);
  });

  it('a persistent message does not spill into it', async () => {
    await sendTo(ctx, 'ONEPAGE', 'D', 'x');
    expect(await sendCode(ctx, 'D', {}, { qspace: 'ONEPAGE' })).toBe('QMENOSPACE');
    expect(await sendCode(ctx, 'D', MEMORY, { qspace: 'ONEPAGE' })).toBe('OK');
    expect(await drain(ctx, 'D', 'ONEPAGE')).toEqual(['x', 'x']);
  });
});
