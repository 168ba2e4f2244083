// The flags argument of both calls, and what they do in a transaction and to it [spec 2.2, 2.3].
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, string, typed, TPFLAG, TPQ, TPQQOS } from '../../../clients/typescript/index.ts';
import { daemonForAll, eventually } from '../../support/in-process.ts';
import {
  code,
  ctlOf,
  domain,
  drain,
  got,
  holds,
  parked,
  pool,
  send,
  sendCode,
  sendTo,
  SPACE,
  take,
  wait,
} from './support.ts';

const plain = pool({ name: 'P', retries: 99 }, 100);
const daemon = daemonForAll(
  domain(
    [
      { queues: plain.queues },
      { name: 'TIGHT', words: 'PROCS=1 NONPERSIST="64k"', queues: [{ name: 'Q', retries: 9 }] },
      { name: 'SHORT', timeoutS: 40, queues: ['Q'] },
    ],
    'SCANUNIT 10\nBLOCKTIME 10',
  ),
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

const { TPNOBLOCK, TPNOTRAN, TPNOTIME, TPSIGRSTRT, TPNOCHANGE } = TPFLAG;

describe('the flags argument', () => {
  it('[spec 2.2: TPNOBLOCK] changes nothing of a call that can go on, and no wait', async () => {
    const queue = plain.next();
    expect(await got(ctx, queue, {}, { flags: TPNOBLOCK })).toBe('QMENOMSG');
    const waiting = wait(ctx, queue, {}, { flags: TPNOBLOCK });
    await parked(daemon, queue, 1);
    expect(await sendCode(other, queue, {}, { flags: TPNOBLOCK })).toBe('OK');
    expect(await waiting).toBe('x');
  });

  it('[spec 2.2: TPSIGRSTRT] is taken by both', async () => {
    const queue = plain.next();
    expect(await sendCode(ctx, queue, {}, { flags: TPSIGRSTRT })).toBe('OK');
    expect(await got(ctx, queue, {}, { flags: TPSIGRSTRT })).toBe('x');
  });

  it('[spec 2.2: TPNOTRAN] neither success nor failure touches the transaction', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'there');
    await ctx.tpbegin(60);
    await sendCode(ctx, queue, {}, { flags: TPNOTRAN, data: 'outside' });
    expect(await got(ctx, queue, {}, { flags: TPNOTRAN })).toBe('there');
    expect(await got(ctx, 'NOQUEUE', {}, { flags: TPNOTRAN })).toBe('QMEBADQUEUE');
    const strict = ctx.tpdequeue(SPACE, queue, null, { type: 'CARRAY' }, TPNOTRAN | TPNOCHANGE);
    expect(await code(strict)).toBe('TPEOTYPE');
    await send(ctx, queue, 'inside');
    expect(await code(ctx.tpcommit())).toBe('OK');
    expect(await drain(ctx, queue)).toEqual(['outside', 'inside']);
  });

  it('TPNOTRAN outside a transaction means nothing', async () => {
    const queue = plain.next();
    expect(await sendCode(ctx, queue, {}, { flags: TPNOTRAN })).toBe('OK');
    expect(await got(ctx, queue, {}, { flags: TPNOTRAN })).toBe('x');
  });

  it('a wait with TPNOTRAN ends with the time of the transaction, which is then abort-only', async () => {
    const queue = plain.next();
    await ctx.tpbegin(20);
    const waiting = wait(ctx, queue, {}, { flags: TPNOTRAN | TPNOTIME });
    await parked(daemon, queue, 1);
    daemon.clock.advance(20_100);
    expect(await waiting).toBe('TPETIME');
    expect(await code(ctx.tpcommit())).toBe('TPEABORT');
    await send(other, queue, 'x');
    expect(await drain(other, queue)).toEqual(['x']);
  });

  it('[spec 2.2: TPNOTIME] no blocking timeout outside a transaction; in one it has no effect', async () => {
    const queue = plain.next();
    const [timed, untimed] = [wait(ctx, queue, {}, { flags: 0 }), wait(ctx, queue, {}, { flags: TPNOTIME })];
    await parked(daemon, queue, 2);
    daemon.clock.advance(101_000);
    expect(await timed).toBe('TPETIME');
    await send(other, queue, 'x');
    expect(await untimed).toBe('x');
    await ctx.tpbegin(300);
    const waits = [wait(ctx, queue, {}, { flags: 0 }), wait(ctx, queue, {}, { flags: TPNOTIME })];
    await parked(daemon, queue, 2);
    daemon.clock.advance(150_000);
    expect((await daemon.queue(queue)).waiters).toBe(2);
    daemon.clock.advance(151_000);
    expect(await Promise.all(waits)).toEqual(['TPETIME', 'TPETIME']);
  });

  it('[spec 2.2: TPNOCHANGE] type and subtype must match; a message of another stays', async () => {
    const queue = plain.next();
    await send(ctx, queue, typed('VIEW32', 'right', Buffer.from('data')));
    const strict = (type: string, subtype: string): Promise<string> =>
      code(ctx.tpdequeue(SPACE, queue, null, { type, subtype }, TPNOCHANGE));
    expect(await strict('VIEW32', 'wrong')).toBe('TPEOTYPE');
    expect(await strict('VIEW32', '')).toBe('TPEOTYPE');
    expect(await strict('FML32', 'right')).toBe('TPEOTYPE');
    expect((await daemon.queue(queue)).ready).toBe(1);
    expect(await strict('VIEW32', 'right')).toBe('OK');
    await send(ctx, queue, string('text'));
    expect(await strict('STRING', '')).toBe('OK');
  });
});

describe('in and outside a transaction', () => {
  it('[spec 2.3: in transaction / -] both calls end with it', async () => {
    const queue = plain.next();
    await send(other, queue, 'old');
    for (const end of ['tpabort', 'tpcommit'] as const) {
      await ctx.tpbegin(60);
      expect(await got(ctx, queue)).toBe('old');
      await send(ctx, queue, 'new');
      expect([await got(other, queue), await got(ctx, queue)]).toEqual(['QMENOMSG', 'QMENOMSG']);
      await ctx[end]();
      expect(await got(other, queue, { flags: TPQ.TPQPEEK })).toBe(end === 'tpabort' ? 'old' : 'new');
    }
    expect(await drain(other, queue)).toEqual(['new']);
  });

  it('[spec 2.3: in transaction / TPNOTRAN] done when the call returns, whatever becomes of the transaction', async () => {
    const queue = plain.next();
    await send(other, queue, 'taken');
    await ctx.tpbegin(60);
    expect(await got(ctx, queue, {}, { flags: TPNOTRAN })).toBe('taken');
    await sendCode(ctx, queue, {}, { flags: TPNOTRAN, data: 'put' });
    expect(await got(other, queue, { flags: TPQ.TPQPEEK })).toBe('put');
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual(['put']);
  });

  it.each([0, TPNOTRAN])('[spec 2.3: none] flags %d: done when the call returns', async (flags) => {
    const queue = plain.next();
    await sendCode(ctx, queue, {}, { flags });
    expect(await got(other, queue, {}, { flags })).toBe('x');
    expect(await got(ctx, queue)).toBe('QMENOMSG');
  });

  it('[spec 2.3: any] TPQPEEK in a transaction locks and removes nothing', async () => {
    const queue = plain.next();
    await send(other, queue, 'x');
    await ctx.tpbegin(60);
    expect(await got(ctx, queue, { flags: TPQ.TPQPEEK })).toBe('x');
    expect(await drain(other, queue)).toEqual(['x']);
    expect(await code(ctx.tpcommit())).toBe('OK');
  });

  it('[spec 2.3: Success in transaction mode only promises "queued if you commit"] a timeout takes it back', async () => {
    const queue = plain.next();
    await ctx.tpbegin(20);
    await send(ctx, queue, 'x');
    daemon.clock.advance(20_100);
    await holds(daemon, queue, 0);
    expect(await code(ctx.tpcommit())).toBe('TPEABORT');
    expect(await drain(other, queue)).toEqual([]);
  });

  it('messages of one transaction can neither be taken nor peeked in it, nor by others', async () => {
    const queue = plain.next();
    await ctx.tpbegin(60);
    const msgid = await send(ctx, queue, 'x', { flags: TPQ.TPQCORRID, corrid: 'c' });
    for (const flags of [0, TPQ.TPQPEEK])
      for (const by of [0, TPQ.TPQGETBYMSGID, TPQ.TPQGETBYCORRID])
        for (const calls of [ctx, other])
          expect(await got(calls, queue, { flags: flags | by, msgid, corrid: 'c' })).toBe('QMENOMSG');
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual(['x']);
  });
});

describe('[spec 2.3: TPEINVAL, TPENOENT, TPEBLOCK, TPEPROTO, QMEINVAL, QMEBADQUEUE, QMENOMSG, QMEBADMSGID, QMENOSPACE, QMERELEASE, QMESHARE] the transaction is unaffected by', () => {
  it.each<[string, (queue: string) => Promise<unknown>]>([
    ['TPEINVAL', () => sendCode(ctx, 'ä'.repeat(64))],
    ['TPEINVAL', () => got(ctx, 'ä'.repeat(64))],
    ['TPENOENT', () => sendCode(ctx, 'Q', {}, { qspace: 'NOSPACE' })],
    ['TPENOENT', () => got(ctx, 'Q', {}, { qspace: 'NOSPACE' })],
    ['TPEPROTO', () => code(ctx.tpbegin(10))],
    ['QMEINVAL', (queue) => sendCode(ctx, queue, { flags: TPQ.TPQPRIORITY })],
    ['QMEINVAL', (queue) => got(ctx, queue, { flags: 0x100000 })],
    ['QMEINVAL', (queue) => sendCode(ctx, queue, { flags: TPQ.TPQTOP })],
    ['QMEBADQUEUE', () => sendCode(ctx, 'NOQUEUE')],
    ['QMEBADQUEUE', () => got(ctx, 'NOQUEUE')],
    ['QMENOMSG', (queue) => got(ctx, queue)],
    ['QMEBADMSGID', (queue) => got(ctx, queue, { flags: TPQ.TPQGETBYMSGID, msgid: Buffer.alloc(32, 255) })],
    [
      'QMENOSPACE',
      (queue) =>
        sendCode(ctx, queue, {
          flags: TPQ.TPQDELIVERYQOS,
          delivery_qos: TPQQOS.TPQQOSNONPERSISTENT,
        }),
    ],
  ])('%s', async (expected, fail) => {
    const [queue, source] = [plain.next(), plain.next()];
    await send(other, source, 'taken');
    await ctx.tpbegin(60);
    await send(ctx, queue, 'x');
    expect(await got(ctx, source)).toBe('taken');
    expect(await fail(plain.next())).toBe(expected);
    expect(await code(ctx.tpcommit())).toBe('OK');
    expect([await drain(other, queue), await drain(other, source)]).toEqual([['x'], []]);
  });
});

const FATAL =
  '[spec 2.3: TPETIME (transaction timeout; also with TPNOTRAN), TPEOTYPE on dequeue, and by our choice QMEABORTED, QMESYSTEM, QMEOS, TPESYSTEM, TPEOS]';

describe(`${FATAL} the transaction is rollback-only after`, () => {
  it('TPETIME: every call is TPETIME, tpcommit TPEABORT, and the context is free then', async () => {
    const queue = plain.next();
    await ctx.tpbegin(20);
    await send(ctx, queue, 'x');
    daemon.clock.advance(20_100);
    await holds(daemon, queue, 0);
    expect([await got(ctx, queue), await sendCode(ctx, queue)]).toEqual(['TPETIME', 'TPETIME']);
    expect(await code(ctx.tpcommit())).toBe('TPEABORT');
    expect(ctx.tpgetlev()).toBe(0);
    expect(await drain(other, queue)).toEqual([]);
  });

  it('[spec 2.3: TPEOTYPE on dequeue in a transaction] the message stays, the commit is TPEABORT', async () => {
    const [queue, second] = [plain.next(), plain.next()];
    await send(other, queue, 'text');
    await ctx.tpbegin(60);
    await send(ctx, second, 'x');
    const ctl = ctlOf(TPQ.TPQPRIORITY, { priority: 3 });
    const strict = ctx.tpdequeue(SPACE, queue, ctl, { type: 'CARRAY' }, TPNOCHANGE);
    expect(await code(strict)).toBe('TPEOTYPE');
    expect((await daemon.queue(queue)).ready).toBe(1);
    expect(await code(ctx.tpcommit())).toBe('TPEABORT');
    expect([await drain(other, queue), await drain(other, second)]).toEqual([['text'], []]);
  });

  it('TPEOTYPE: further work is TPETIME, as in any rollback-only transaction [spec 2.7]', async () => {
    const queue = plain.next();
    await send(other, queue, 'text');
    await ctx.tpbegin(60);
    await code(ctx.tpdequeue(SPACE, queue, null, { type: 'CARRAY' }, TPNOCHANGE));
    expect([await sendCode(ctx, queue), await got(ctx, queue)]).toEqual(['TPETIME', 'TPETIME']);
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual(['text']);
  });

  it('TPEOTYPE outside a transaction: the message stays', async () => {
    const queue = plain.next();
    await send(other, queue, 'text');
    expect(await code(other.tpdequeue(SPACE, queue, null, { type: 'CARRAY' }, TPNOCHANGE))).toBe('TPEOTYPE');
    expect(await drain(other, queue)).toEqual(['text']);
  });

  it('QMESYSTEM (no action for a wait); not with TPNOTRAN', async () => {
    const first = wait(other, 'Q', {}, { qspace: 'TIGHT' });
    await parked(daemon, 'Q', 1, 'TIGHT');
    const second = { qspace: 'TIGHT', flags: TPNOTIME };
    for (const [flags, commit] of [
      [TPNOTRAN, 'OK'],
      [0, 'TPEABORT'],
    ] as const) {
      await ctx.tpbegin(60);
      expect(await wait(ctx, 'Q', {}, { ...second, flags: TPNOTIME | flags })).toBe('QMESYSTEM');
      expect(await code(ctx.tpcommit())).toBe(commit);
    }
    await sendTo(other, 'TIGHT', 'Q', 'x');
    expect(await first).toBe('x');
  });
});

describe("[spec 2.3: Effect of failure on the caller's transaction]", () => {
  it('a hundred times nothing to take, and each transaction commits', async () => {
    const queue = plain.next();
    for (let i = 0; i < 100; i++) {
      await ctx.tpbegin(60);
      expect(await got(ctx, queue)).toBe('QMENOMSG');
      expect(await code(ctx.tpcommit())).toBe('OK');
    }
  });

  it('the end of the client rolls back what it had open', async () => {
    const queue = plain.next();
    await send(other, queue, 'locked');
    const leaver = await daemon.join();
    await leaver.tpbegin(600);
    await take(leaver, queue);
    await send(leaver, queue, 'never');
    await leaver.tpterm();
    await eventually(async () => (await daemon.queue(queue)).ready === 1);
    expect(await drain(other, queue)).toEqual(['locked']);
  });

  it('the limit outside a transaction is -t, and only that with TPNOTIME', async () => {
    const waiting = wait(other, 'Q', {}, { qspace: 'SHORT' });
    await parked(daemon, 'Q', 1, 'SHORT');
    daemon.clock.advance(40_100);
    expect(await waiting).toBe('QMENOMSG');
  });
});
