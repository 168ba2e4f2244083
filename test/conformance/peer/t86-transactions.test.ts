// The peer's test of limits, its scenarios of transactions: time limits, many clients, what ends a transaction and what does not, restarts
// in the middle [peer-scenarios 1.2, T86-07, 08, 11, 12, 14, 17, 24 to 26]. The daemon's clock does the waiting.
import { afterEach, beforeAll, describe, expect } from 'vitest';
import { type Context, ServiceFailure, TPQ } from '../../../clients/typescript/index.ts';
import { daemonForAll, eventually } from '../../support/in-process.ts';
import { code, domain, drain, got, pool, send, sendTo, SPACE, take } from '../q/support.ts';
import { byCorrid, corrid, inTransaction, messagesOf, scenario, up } from './support.ts';

const queues = pool({ name: 'TEST', retries: 9 }, 30);
const EXB = ['EXB000', 'EXB001', 'EXB002', 'EXB003', 'EXB004'];
const SECOND = 'SECOND';
const daemon = daemonForAll(
  domain([{ queues: [...queues.queues, ...EXB, 'PROBE'] }, { name: SECOND, queues: ['TEST'] }]),
);
let ctx: Context;
let other: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  other = await daemon.join();
  const server = await daemon.join({ onError: () => undefined });
  await server.tpadvertise('OKSVC', () => undefined);
  await server.tpadvertise('FAILSVC', () => {
    throw new ServiceFailure(1);
  });
});
afterEach(async () => {
  if (ctx.tpgetlev() === 1) await ctx.tpabort();
});

const sendMany = (queue: string, count: number): Promise<unknown> =>
  Promise.all(up(1, count).map((n) => send(ctx, queue, n)));

/** Lets so much time pass that the open transaction ends; what is put meanwhile goes with it. */
async function outlive(seconds: number): Promise<void> {
  daemon.clock.advance(seconds * 1000);
  await eventually(async () => (await code(ctx.tpenqueue(SPACE, 'PROBE', null, 'x'))) === 'TPETIME');
}

describe('time', () => {
  const queue = queues.next();
  let msgid: Buffer;
  const calls: [string, () => Promise<unknown>][] = [
    ['a dequeue', () => got(ctx, queue)],
    ['a dequeue by corrid', () => got(ctx, queue, byCorrid(1))],
    ['a dequeue by msgid', () => got(ctx, queue, { flags: TPQ.TPQGETBYMSGID, msgid })],
    ['an enqueue', () => code(ctx.tpenqueue(SPACE, queue, null, 'late'))],
  ];

  scenario('T86-07', async () => {
    msgid = await send(ctx, queue, 'x', corrid(1));
    for (const [name, call] of calls) {
      await ctx.tpbegin(1);
      await outlive(5);
      // The peer says TPETRAN; the code of a transaction that timed out is TPETIME [spec 2.7].
      expect([name, await call()]).toEqual([name, 'TPETIME']);
      await ctx.tpabort();
    }
    expect(await inTransaction(ctx, () => drain(ctx, queue))).toEqual(['x']);
    expect(await messagesOf(daemon, [queue, 'PROBE'])).toEqual([0, 0]);
  });

  // The peer ends a transaction that is idle for 45 s. In Tuxedo only the time limit of tpbegin counts: it ends this one after 50 s …
  scenario('T86-11', async () => {
    const own = queues.next();
    await ctx.tpbegin(50);
    await sendMany(own, 1200);
    await outlive(55);
    expect(await code(ctx.tpcommit())).toBe('TPEABORT');
    expect([await got(ctx, own), await messagesOf(daemon, [own])]).toEqual(['QMENOMSG', [0]]);
  });

  // … and however long one of 9,999 s is idle, it is not ended.
  scenario('T86-12', async () => {
    const own = queues.next();
    await ctx.tpbegin(9999);
    for (const n of up(1, 6)) {
      await send(ctx, own, n);
      daemon.clock.advance(n * 200_000);
    }
    expect(await code(ctx.tpcommit())).toBe('OK');
    expect(await drain(ctx, own)).toEqual(up(1, 6));
  });
});

describe('load', () => {
  scenario('T86-08', async () => {
    const body = Buffer.alloc(1024, 'x');
    const clients = await Promise.all(up(1, 60).map(() => daemon.join()));
    await Promise.all(
      clients.map(async (one, i) => {
        for (const round of up(0, 4)) {
          const queue = EXB[(i + round) % EXB.length] ?? '';
          await inTransaction(one, () => one.tpenqueue(SPACE, queue, null, body));
          const received = await inTransaction(one, () => take(one, queue));
          expect(body.equals(Buffer.from(received.data as Uint8Array))).toBe(true);
        }
      }),
    );
    expect(await messagesOf(daemon, EXB)).toEqual([0, 0, 0, 0, 0]);
  });

  scenario('T86-14', async () => {
    const queue = queues.next();
    await inTransaction(ctx, () => sendMany(queue, 200));
    expect(await inTransaction(ctx, () => drain(ctx, queue))).toEqual(up(1, 200));
    expect(await messagesOf(daemon, [queue])).toEqual([0]);
  });
});

describe('what a call inside a transaction came to, and its commit', () => {
  const empty = queues.next();
  const before = queues.next();
  const noQueue = 'NOSUCHQUEUE';
  const rows: [string, () => Promise<unknown>, string, string][] = [
    ['a service that nobody offers', () => code(ctx.tpcall('NOSVC', 'x')), 'TPENOENT', 'OK'],
    ['a service that fails', () => code(ctx.tpcall('FAILSVC', 'x')), 'TPESVCFAIL', 'TPEABORT'],
    ['a service that succeeds', () => code(ctx.tpcall('OKSVC', 'x')), 'OK', 'OK'],
    ['tpcall with bad arguments', () => code(ctx.tpcall('', 'x')), 'TPEINVAL', 'OK'],
    ['tpenqueue(NULL, NULL)', () => code(ctx.tpenqueue('', '', null, null)), 'TPEINVAL', 'OK'],
    ['tpdequeue(NULL, NULL)', () => code(ctx.tpdequeue('', '', null, null)), 'TPEINVAL', 'OK'],
    ['tpgetrply with a bad descriptor', () => code(ctx.tpgetrply(4711)), 'TPEBADDESC', 'OK'],
    ['a dequeue of nothing', () => got(ctx, empty), 'QMENOMSG', 'OK'],
    ['a peek at nothing', () => got(ctx, empty, { flags: TPQ.TPQPEEK }), 'QMENOMSG', 'OK'],
    ['an enqueue to no queue', () => code(ctx.tpenqueue(SPACE, noQueue, null, 'x')), 'QMEBADQUEUE', 'OK'],
    ['a dequeue from no queue', () => got(ctx, noQueue), 'QMEBADQUEUE', 'OK'],
    ['an enqueue without data', () => code(ctx.tpenqueue(SPACE, empty, null, null)), 'OK', 'OK'],
  ];
  for (const [detail, call, expected, commit] of rows) {
    scenario(
      'T86-17',
      async () => {
        await send(ctx, before, 'put before');
        await ctx.tpbegin(60);
        expect(await call()).toBe(expected);
        expect(await code(ctx.tpcommit())).toBe(commit);
        expect(await drain(ctx, before)).toEqual(['put before']);
      },
      { detail },
    );
  }
});

describe('the daemon goes in the middle', () => {
  scenario('T86-24', async () => {
    const queue = queues.next();
    await ctx.tpbegin(600);
    await sendMany(queue, 1200);
    await daemon.restart();
    expect(await got(ctx, queue)).toBe('TPETIME');
    expect(await code(ctx.tpcommit())).toBe('TPEABORT');
    expect(await inTransaction(ctx, () => got(ctx, queue))).toBe('QMENOMSG');
  });

  scenario('T86-25', async () => {
    const queue = queues.next();
    await ctx.tpbegin(600);
    await sendMany(queue, 600);
    await Promise.all(up(1, 600).map((n) => sendTo(ctx, SECOND, 'TEST', n)));
    await daemon.restart();
    const nothing = async (): Promise<void> => {
      expect([await got(other, queue), await got(other, 'TEST', {}, { qspace: SECOND })]).toEqual([
        'QMENOMSG',
        'QMENOMSG',
      ]);
    };
    await nothing();
    expect(await code(ctx.tpcommit())).toBe('TPEABORT');
    await nothing();
    expect([await messagesOf(daemon, [queue]), await messagesOf(daemon, ['TEST'], SECOND)]).toEqual([
      [0],
      [0],
    ]);
  });

  scenario('T86-26', async () => {
    const queue = queues.next();
    await ctx.tpbegin(600);
    await sendMany(queue, 1200);
    await daemon.stop();
    expect(await code(ctx.tpcommit())).toBe('TPEABORT');
    await daemon.start();
    expect([await got(ctx, queue), await messagesOf(daemon, [queue])]).toEqual(['QMENOMSG', [0]]);
  });
});
