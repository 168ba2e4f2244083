// Every diagnostic and every tperrno that tpenqueue and tpdequeue can end with, each made to happen [spec 1.3, 2.7]; ctl.diagnostic holds
// what the error says.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, QME, TpError, TPERRNO, TPFLAG, TPQ } from '../../../clients/typescript/index.ts';
import { nodeFileIo } from '../../../src/wal/local/file-io.ts';
import { daemonForAll, daemonForTest, eventually } from '../../support/in-process.ts';
import {
  code,
  ctlOf,
  domain,
  drain,
  got,
  id32,
  parked,
  send,
  sendCode,
  sendTo,
  SPACE,
  take,
  wait,
} from './support.ts';

const daemon = daemonForAll(
  domain(
    [
      { words: 'MSGS=50', queues: ['Q', 'R', 'S', 'T', 'U', { name: 'MEMORY', policy: 'nonpersist' }] },
      { name: 'TIGHT', words: 'PROCS=1 MSGS=1', queues: ['Q'] },
      { name: 'BRIEF', timeoutS: 1, queues: ['Q'] },
    ],
    'SCANUNIT 2\nBLOCKTIME 500',
  ),
);
let ctx: Context;
beforeAll(async () => {
  ctx = await daemon.join();
});

function check(on: boolean): void {
  if (on) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
}

/** The disk of one test: reads and syncs fail when it is told so. */
function failingDisk(): { io: typeof nodeFileIo; fail: { reads: boolean; syncs: boolean } } {
  const fail = { reads: false, syncs: false };
  const io: typeof nodeFileIo = {
    ...nodeFileIo,
    preadSync: (fd, into, position) => {
      check(fail.reads);
      return nodeFileIo.preadSync(fd, into, position);
    },
    pread: async (fd, into, position) => {
      check(fail.reads);
      return nodeFileIo.pread(fd, into, position);
    },
    fdatasyncSync: (fd) => {
      check(fail.syncs);
      nodeFileIo.fdatasyncSync(fd);
    },
    fdatasync: async (fd) => {
      check(fail.syncs);
      await nodeFileIo.fdatasync(fd);
    },
  };
  return { io, fail };
}

describe('diagnostics', () => {
  it.each<[string, string, () => Promise<[string, unknown]>]>([
    [
      '[spec 1.3: QMEINVAL]',
      'QMEINVAL',
      async () => [
        await sendCode(ctx, 'Q', { flags: TPQ.TPQPRIORITY, priority: 101 }),
        await got(ctx, 'Q', { flags: 0x100000 }),
      ],
    ],
    [
      '[spec 1.3: QMEBADQUEUE]',
      'QMEBADQUEUE',
      async () => [await sendCode(ctx, 'NONE'), await got(ctx, 'NONE')],
    ],
  ])('%s by both calls', async (_title, name, both) => {
    expect(await both()).toEqual([name, name]);
  });

  it('[spec 1.3: QMEBADMSGID] by an enqueue before nothing and a dequeue of an impossible id', async () => {
    const place = await daemonForTest(domain([{ queues: [{ name: 'Q', outOfOrder: 'msgid' }] }]));
    const other = await place.join();
    const msgid = id32(255, 255);
    expect(await sendCode(other, 'Q', { flags: TPQ.TPQBEFOREMSGID, msgid })).toBe('QMEBADMSGID');
    expect(await got(other, 'Q', { flags: TPQ.TPQGETBYMSGID, msgid })).toBe('QMEBADMSGID');
  });

  it('[spec 1.3: QMENOMSG] empty, all future-dated, all held, or no match', async () => {
    const seen = [await got(ctx, 'R')];
    await send(ctx, 'R', 'later', { flags: TPQ.TPQTIME_REL, deq_time: 3600 });
    seen.push(await got(ctx, 'R'));
    await send(ctx, 'R', 'held', { flags: TPQ.TPQCORRID, corrid: 'a' });
    seen.push(await got(ctx, 'R', { flags: TPQ.TPQGETBYCORRID, corrid: 'b' }));
    const holder = await daemon.join();
    await holder.tpbegin(60);
    await take(holder, 'R');
    seen.push(await got(ctx, 'R'), await got(ctx, 'R', { flags: TPQ.TPQPEEK }));
    await holder.tpcommit();
    expect(seen).toEqual(Array(5).fill('QMENOMSG'));
    daemon.clock.advance(3_601_000);
    expect(await drain(ctx, 'R')).toEqual(['later']);
  });

  it('[spec 1.3: QMEINUSE] never: that every message is held by a transaction is QMENOMSG', async () => {
    await send(ctx, 'U', 'held');
    const holder = await daemon.join();
    await holder.tpbegin(60);
    await take(holder, 'U');
    for (const flags of [0, TPQ.TPQPEEK]) expect(await got(ctx, 'U', { flags })).toBe('QMENOMSG');
    await holder.tpcommit();
  });

  it('[spec 1.3: QMENOTOPEN] a space whose log is damaged, beside one that is served', async () => {
    const spaces = [{ queues: ['Q'] }, { name: 'BROKEN', queues: ['Q'] }];
    const small = await daemonForTest(domain(spaces));
    const other = await small.join();
    for (const n of [1, 2, 3]) await sendTo(other, 'BROKEN', 'Q', `message number ${n}`);
    await small.stop();
    const file = join(small.dir, 'data2/BROKEN/000000000001.log');
    const bytes = readFileSync(file);
    bytes.write('MESSAGE', bytes.indexOf('message number 1'));
    writeFileSync(file, bytes);
    await small.start();
    const at = { qspace: 'BROKEN' };
    for (const flags of [0, TPFLAG.TPNOBLOCK])
      expect([
        await sendCode(other, 'Q', {}, { ...at, flags }),
        await got(other, 'Q', {}, { ...at, flags }),
      ]).toEqual(['QMENOTOPEN', 'QMENOTOPEN']);
    expect([await sendCode(other, 'Q'), await got(other, 'Q')]).toEqual(['OK', 'x']);
  });

  it('[spec 1.3: QMEBADRMID] the qspace is a service, but no queue space stands behind it', async () => {
    const server = await daemon.join();
    await server.tpadvertise('NOSPACE1', () => null);
    const at = { qspace: 'NOSPACE1' };
    expect([await sendCode(ctx, 'Q', {}, at), await got(ctx, 'Q', {}, at)]).toEqual([
      'QMEBADRMID',
      'QMEBADRMID',
    ]);
    await server.tpterm();
    await eventually(async () => (await sendCode(ctx, 'Q', {}, at)) === 'TPENOENT');
  });

  it('[spec 1.3: QMEPROTO] work sent after the commit, in a transaction that is no longer active', async () => {
    const raw = await daemon.raw();
    const [, , tx] = (await raw.ask(5, 2, 60)) as [number, number, number];
    await raw.ask(3, 3, [SPACE, 'U'], null, 0, tx, 1, '', Buffer.from('in time'));
    raw.send(6, 4, tx);
    raw.send(3, 5, [SPACE, 'U'], null, 0, tx, 1, '', Buffer.from('late'));
    raw.send(4, 6, [SPACE, 'U'], null, 0, tx, 0, '', 0);
    expect((await raw.answer(4))[0]).toBe(134);
    // Being committed, or over already.
    for (const id of [5, 6]) expect(['24,-9', '9,0']).toContain((await raw.answer(id)).slice(2, 4).join());
    expect(await drain(ctx, 'U')).toEqual(['in time']);
  });

  it('[spec 1.3: QMENOSPACE] by every exhausted resource', async () => {
    expect(await sendCode(ctx, 'MEMORY')).toBe('QMENOSPACE');
    await ctx.tpenqueue('TIGHT', 'Q', null, 'x');
    expect(await sendCode(ctx, 'Q', {}, { qspace: 'TIGHT' })).toBe('QMENOSPACE');
    expect(await drain(ctx, 'Q', 'TIGHT')).toEqual(['x']);
  });

  it('[spec 1.3: QMESYSTEM] a TPQWAIT that cannot be parked', async () => {
    const first = wait(ctx, 'Q', {}, { qspace: 'TIGHT' });
    await parked(daemon, 'Q', 1, 'TIGHT');
    expect(await wait(ctx, 'Q', {}, { qspace: 'TIGHT' })).toBe('QMESYSTEM');
    await ctx.tpenqueue('TIGHT', 'Q', null, 'x');
    expect(await first).toBe('x');
  });

  it('[spec 1.3: QMEABORTED (alias QMENOTA)] a wait that the daemon gives up because it stops', async () => {
    const small = await daemonForTest(domain([{ queues: ['Q'] }]));
    const other = await small.join({ reconnect: false });
    const waiting = wait(other, 'Q');
    await parked(small, 'Q', 1);
    await small.stop();
    expect(await waiting).toBe('QMEABORTED');
  });

  it('QMESYSTEM to everything once the log has failed', async () => {
    const { io, fail } = failingDisk();
    const small = await daemonForTest(domain([{ queues: ['Q', 'R'] }]), { device: { io } });
    const other = await small.join();
    await send(other, 'Q', 'x');
    fail.syncs = true;
    expect(await sendCode(other, 'Q')).toBe('QMESYSTEM');
    expect([await sendCode(other, 'R'), await got(other, 'Q')]).toEqual(['QMESYSTEM', 'QMESYSTEM']);
    fail.syncs = false;
    expect(await sendCode(other, 'Q')).toBe('QMESYSTEM');
    expect(small.failures.splice(0)).toHaveLength(1);
  });

  it('[spec 1.3: QMEOS] a body that cannot be read; the message stays, others pass it', async () => {
    const { io, fail } = failingDisk();
    const small = await daemonForTest(domain([{ queues: ['Q'] }]), { device: { io, cacheBytes: 65_536 } });
    const other = await small.join();
    await send(other, 'Q', Buffer.alloc(600_000, 1));
    await small.restart();
    fail.reads = true;
    expect(await got(other, 'Q')).toBe('QMEOS');
    fail.reads = false;
    expect((await small.queue('Q')).messages).toBe(1);
    await send(other, 'Q', 'next');
    expect(await got(other, 'Q')).toBe('next');
    await small.restart();
    expect(await drain(other, 'Q')).toHaveLength(1);
  });

  it('QME values stand in ctl.diagnostic and in the error alike, and tperrno is TPEDIAGNOSTIC', async () => {
    const [put, get] = [ctlOf(TPQ.TPQPRIORITY, { priority: 0 }), ctlOf(0)];
    const errors = await Promise.allSettled([
      ctx.tpenqueue(SPACE, 'Q', put, 'x'),
      ctx.tpdequeue(SPACE, 'Q', get, null),
      ctx.tpdequeue(SPACE, 'Q', null, null),
    ]);
    const codes = errors.map((one) => {
      const error: unknown = one.status === 'rejected' ? one.reason : null;
      return TpError.is(error) ? [error.tperrno, error.diagnostic] : [];
    });
    expect(codes).toEqual([
      [TPERRNO.TPEDIAGNOSTIC, QME.QMEINVAL],
      [TPERRNO.TPEDIAGNOSTIC, QME.QMENOMSG],
      [TPERRNO.TPEDIAGNOSTIC, QME.QMENOMSG],
    ]);
    expect([put.diagnostic, get.diagnostic]).toEqual([QME.QMEINVAL, QME.QMENOMSG]);
  });
});

describe('tperrno', () => {
  it('[spec 2.7: TPEINVAL] by both calls', async () => {
    const name = 'ä'.repeat(64);
    expect([await sendCode(ctx, name), await got(ctx, name)]).toEqual(['TPEINVAL', 'TPEINVAL']);
  });

  it('[spec 2.7: TPENOENT] by both calls', async () => {
    const at = { qspace: 'NOSPACE' };
    expect([await sendCode(ctx, 'Q', {}, at), await got(ctx, 'Q', {}, at)]).toEqual(['TPENOENT', 'TPENOENT']);
  });

  it('[spec 2.7: TPEOTYPE] a type that TPNOCHANGE does not allow', async () => {
    await send(ctx, 'Q', 'text');
    const strict = (type: string): Promise<string> =>
      code(ctx.tpdequeue(SPACE, 'Q', null, { type }, TPFLAG.TPNOCHANGE));
    expect([await strict('CARRAY'), await strict('STRING')]).toEqual(['TPEOTYPE', 'OK']);
  });

  it('[spec 2.7: TPETIME] transaction timeout, work in what it left, blocking timeout of a wait', async () => {
    const other = await daemon.join();
    await other.tpbegin(20);
    const waiting = wait(other, 'S');
    const blocked = wait(ctx, 'S', {}, { flags: 0 });
    await parked(daemon, 'S', 2);
    daemon.clock.advance(20_100);
    expect(await waiting).toBe('TPETIME');
    expect([await sendCode(other, 'S'), await got(other, 'S')]).toEqual(['TPETIME', 'TPETIME']);
    daemon.clock.advance(1_000_000);
    expect(await blocked).toBe('TPETIME');
    expect(await code(other.tpcommit())).toBe('TPEABORT');
  });

  it('[spec 2.7: TPEBLOCK] the transport would block, with TPNOBLOCK', async () => {
    const small = await daemonForTest(domain([{ queues: ['Q'] }]));
    const other = await small.join({ onError: () => undefined });
    await small.stop();
    await eventually(
      async () => (await sendCode(other, 'Q', {}, { flags: TPFLAG.TPNOBLOCK })) === 'TPEBLOCK',
    );
    expect(await got(other, 'Q', {}, { flags: TPFLAG.TPNOBLOCK })).toBe('TPEBLOCK');
    await small.start();
  });

  it('[spec 2.7: TPGOTSIG] the caller’s signal ends a wait', async () => {
    const stop = new AbortController();
    const waiting = wait(ctx, 'T', {}, { extras: { signal: stop.signal } });
    await parked(daemon, 'T', 1);
    stop.abort();
    expect(await waiting).toBe('TPGOTSIG');
    await send(ctx, 'T', 'x');
    expect(await drain(ctx, 'T')).toEqual(['x']);
  });

  it('[spec 2.7: TPEPROTO] after tpterm, and in a transaction that the daemon does not know', async () => {
    const gone = await daemon.join();
    await gone.tpterm();
    expect([await sendCode(gone, 'Q'), await got(gone, 'Q')]).toEqual(['TPEPROTO', 'TPEPROTO']);
    const raw = await daemon.raw();
    const [, , tx] = (await raw.ask(5, 2, 60)) as [number, number, number];
    await raw.ask(6, 3, tx);
    expect((await raw.ask(4, 4, [SPACE, 'Q'], null, 0, tx, 0, '', 0))[2]).toBe(TPERRNO.TPEPROTO);
    expect((await raw.ask(3, 5, [SPACE, 'Q'], null, 0, tx, 1, '', Buffer.from('x')))[2]).toBe(
      TPERRNO.TPEPROTO,
    );
  });

  it('[spec 2.7: TPESYSTEM] there is no daemon any more', async () => {
    const small = await daemonForTest(domain([{ queues: ['Q'] }]));
    const other = await small.join({ reconnect: false, onError: () => undefined });
    await small.stop();
    await eventually(async () => (await sendCode(other, 'Q')) === 'TPESYSTEM');
    expect(await got(other, 'Q')).toBe('TPESYSTEM');
  });

  it('[spec 2.7: TPEDIAGNOSTIC] with the QME in words in the text', async () => {
    const failed = ctx.tpdequeue(SPACE, 'Q', null, null);
    await expect(failed).rejects.toThrow(/^TPEDIAGNOSTIC\/QMENOMSG: tpdequeue: ./);
  });

  it('no message within -t is QMENOMSG', async () => {
    expect(await wait(ctx, 'Q', {}, { qspace: 'BRIEF' })).toBe('QMENOMSG');
  });
});
