// The error queue over TCP: why a message came to it, by every way it can come; QREDRIVE with its options, refusals and ends (C87); qredrive on the
// same space when the daemon is stopped; and that restarts, reclaim, backups and salvage keep what is known.
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Context,
  type QueueAdmin,
  type Redriven,
  type RedriveOptions,
  ServiceFailure,
  TPFLAG,
  TPQ,
} from '../../clients/typescript/index.ts';
import { ADMIN, OP } from '../../proto/codes.ts';
import { backup } from '../../src/tools/backup.ts';
import { findSpaces } from '../../src/tools/directories.ts';
import { dumpSpace } from '../../src/tools/dump.ts';
import { restore } from '../../src/tools/restore.ts';
import { salvageSpace } from '../../src/tools/salvage.ts';
import { markedFirst } from '../../src/wal/local/segment.ts';
import { daemonForAll, daemonForTest, eventually, type InProcess } from '../support/in-process.ts';
import { localDevice, runScript } from '../support/qmadmin.ts';
import { Raw } from '../support/raw-client.ts';
import { codeOf, ctlOf, drain, failureOf, fresh, gate, put, putId, SPACE, take } from './helpers.ts';

/** The first space's, in the daemon's folder. */
const DEVICE = 'data1';
const queues = fresh('S', 8);
const plain = fresh('P', 20);
const daemon = daemonForAll({
  spaces: [
    {
      errorQueue: 'ERRQ',
      more: 'NONPERSIST=1000000b',
      queues: ['ERRQ', 'RPLYQ', ...queues.names, ...plain.names],
      forwarders: [{ queues: queues.names, timeoutS: 20, min: 4 }],
    },
  ],
});
let ctx: Context;
let admin: QueueAdmin;
beforeAll(async () => {
  ctx = await daemon.join();
  admin = ctx.admin(SPACE);
});

/** What would be moved of these. */
async function found(asked: RedriveOptions): Promise<number> {
  return (await admin.redrive('ERRQ', { ...asked, dryRun: true })).moved;
}

/** One of the queue's messages has come to the error queue for this reason, and the log says so. */
async function came(queue: string, reason: string, also = ''): Promise<void> {
  await eventually(async () => (await found({ origin: queue, reason })) === 1);
  expect(await found({ origin: queue })).toBe(1);
  const lines = daemon.lines('warn', 'moved to the error queue', `"from":"${queue}"`, `"reason":"${reason}"`);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(also);
}

/** One message is put, taken in a transaction, and that ends in the way given. */
async function fails(queue: string, end: (other: Context) => Promise<unknown>): Promise<void> {
  await put(ctx, queue, 'x');
  const other = await daemon.join({ onError: () => undefined });
  await other.tpbegin(30);
  await take(other, queue);
  await end(other);
}

/** So many messages come from this queue to the error queue. */
async function fail(queue: string, count: number, of: Context = ctx): Promise<void> {
  await put(of, queue, ...Array.from({ length: count }, (_, i) => `${queue} ${i}`));
  await of.tpbegin(30);
  for (let i = 0; i < count; i++) await take(of, queue);
  await of.tpabort();
}

describe('why a message came to the error queue', () => {
  it('the application rolled back', async () => {
    const queue = plain.next();
    await fails(queue, (other) => other.tpabort());
    await came(queue, 'rollback');
  });

  it('the time of the transaction was over', async () => {
    const queue = plain.next();
    await fails(queue, () => {
      daemon.clock.advance(31_000);
      return Promise.resolve();
    });
    await came(queue, 'timeout', 'TPETIME');
  });

  it('the connection ended', async () => {
    const queue = plain.next();
    await put(ctx, queue, 'x');
    const raw = await daemon.raw();
    const tx = (await raw.ask(OP.BEGIN, 2, 30))[2] as number;
    await raw.ask(OP.DEQUEUE, 3, [SPACE, queue], null, 0, tx, 0, '', 0);
    raw.reset();
    await came(queue, 'disconnect');
  });

  it('a request in the transaction failed', async () => {
    const queue = plain.next();
    const other = plain.next();
    await put(ctx, other, 'text');
    await fails(queue, async (tx) => {
      expect(await codeOf(tx.tpdequeue(SPACE, other, null, { type: 'CARRAY' }, TPFLAG.TPNOCHANGE))).toBe(
        'TPEOTYPE',
      );
      await codeOf(tx.tpcommit());
    });
    await came(queue, 'failure', 'TPEOTYPE');
  });

  it('the service failed, with its rcode; its server went away; it did not answer in time; its reply could not be queued', async () => {
    const [failing, dying, late, full] = [queues.next(), queues.next(), queues.next(), queues.next()];
    const server = await daemon.join({ onError: () => undefined });
    await server.tpadvertise(failing, () => Promise.reject(new ServiceFailure(-77)));
    await put(ctx, failing, 'x');
    await came(failing, 'service-failed', '"code":"TPESVCFAIL","rcode":-77');

    const raw = await daemon.raw();
    await raw.ask(OP.ADVERTISE, 2, dying, 1);
    await put(ctx, dying, 'x');
    await raw.next();
    raw.reset();
    await came(dying, 'service-error', 'TPESVCERR');

    const called = gate();
    const released = gate();
    await server.tpadvertise(late, async () => {
      called.open();
      await released.opened;
    });
    await put(ctx, late, 'x');
    await called.opened;
    daemon.clock.advance(21_000);
    await came(late, 'service-timeout', 'TPETIME');
    released.open();

    await server.tpadvertise(full, () => Promise.resolve('reply'));
    await admin.pause('RPLYQ', { enqueue: true });
    await ctx.tpenqueue(SPACE, full, ctlOf(TPQ.TPQREPLYQ, { replyqueue: 'RPLYQ' }), 'x');
    await came(full, 'reply', 'QMESHARE');
  });

  it('no server offers the service', async () => {
    const queue = queues.next();
    await put(ctx, queue, 'x');
    daemon.clock.advance(11_000);
    await came(queue, 'no-service', 'TPENOENT');
  });
});

describe('QREDRIVE', () => {
  it('moves back what is selected, under new msgids, with the old one in the log; non-persistent messages too', async () => {
    const queue = plain.next();
    await put(ctx, queue, 'one');
    const QOS = { flags: TPQ.TPQDELIVERYQOS, delivery_qos: 2 };
    await putId(ctx, queue, 'two', QOS);
    await ctx.tpbegin(30);
    await take(ctx, queue);
    await take(ctx, queue);
    await ctx.tpabort();
    const result = await admin.redrive('ERRQ', { origin: queue });
    expect(result).toMatchObject({
      end: 'done',
      moved: 2,
      more: false,
      queues: [{ queue, outcome: 'moved', count: 2 }],
    });
    expect(await drain(ctx, queue)).toEqual(['one', 'two']);
    expect(daemon.lines('info', 'queue ERRQ redriven (done): 2 messages', 'QREDRIVE')).toHaveLength(1);
  });

  it('by msgids, as they are on the error queue; to another queue; so many', async () => {
    const [queue, target] = [plain.next(), plain.next()];
    await fail(queue, 3);
    const line = daemon.lines('moved to the error queue', `"from":"${queue}"`)[1] ?? '';
    const msgid = /"newMsgid":"(\w{32})"/.exec(line)?.[1] ?? '';
    const missing = `${msgid.slice(0, 31)}${msgid.endsWith('0') ? '1' : '0'}`.replace(
      /.{12}$/,
      'ffffffffffff',
    );
    expect(await admin.redrive('ERRQ', { msgids: [msgid, missing], to: target })).toMatchObject({
      moved: 1,
      missing: 1,
    });
    expect(await drain(ctx, target)).toEqual([`${queue} 1`]);
    expect(await admin.redrive('ERRQ', { origin: queue, limit: 1 })).toMatchObject({
      end: 'limit',
      moved: 1,
    });
    expect(await found({ origin: queue })).toBe(1);
  });

  it.each<[string, Record<string, unknown>, string, RegExp]>([
    ['a queue to go to that is not there', { to: 'NONE' }, 'QMEBADQUEUE', /to: there is no queue NONE/],
    ['the queue itself', { to: 'ERRQ' }, 'QMEINVAL', /to: ERRQ is the queue that is redriven/],
    ['a reason that is none', { reason: 'bad luck' }, 'QMEINVAL', /legal: rollback, timeout, .*no-service/],
    ['a msgid of another space', { msgids: ['0'.repeat(32)] }, 'QMEBADMSGID', /is no msgid of queue space/],
    [
      'a msgid that is too short',
      { msgids: ['0'] },
      'QMEINVAL',
      /msgids: \["0"\] is not legal; legal: a list of 1/,
    ],
    ['no msgids', { msgids: [] }, 'QMEINVAL', /a list of 1 to 1000 msgids/],
    ['a limit of none', { limit: 0 }, 'QMEINVAL', /limit: 0 is not legal; legal: a number from 1 on/],
    ['a rate that is a text', { rate: 'fast' }, 'QMEINVAL', /rate: "fast" is not legal/],
    ['an origin without a name', { origin: '' }, 'QMEINVAL', /origin: "" is not legal; legal: a text/],
    ['a switch that is a number', { dryRun: 1 }, 'QMEINVAL', /dryRun: 1 is not legal; legal: true or false/],
    [
      'a member of no name',
      { colour: true },
      'QMEINVAL',
      /colour is no member of this verb; legal: to, origin/,
    ],
  ])('%s: refused with what would be right', async (_name, options, code, text) => {
    const failure = await failureOf(admin.redrive('ERRQ', options));
    expect([await codeOf(Promise.reject(failure)), failure.message]).toEqual([
      code,
      expect.stringMatching(text),
    ]);
    expect(await codeOf(admin.redrive('NONE'))).toBe('QMEBADQUEUE');
  });

  it('at a rate; CANCEL ends it with its answer, the end of the connection without', async () => {
    const queue = plain.next();
    await fail(queue, 40);
    const count = async (): Promise<number> => (await daemon.queue(queue)).messages;
    const stop = new AbortController();
    const asked = { origin: queue, rate: 10, signal: stop.signal };
    const work = admin.redrive('ERRQ', asked);
    while ((await count()) < 5) daemon.clock.advance(100);
    stop.abort();
    const { end, moved } = await work;
    expect([end, moved]).toEqual(['cancelled', await count()]);
    expect(await codeOf(admin.redrive('ERRQ', asked))).toBe('TPGOTSIG');

    const raw = await daemon.raw();
    const members = new Raw(Buffer.from('81a47261746501', 'hex'));
    raw.send(OP.ADMIN, 2, ADMIN.QREDRIVE, SPACE, 'ERRQ', members);
    await raw.ask(OP.PING, 3);
    raw.reset();
    await eventually(() => daemon.lines('redriven (cancelled): 0 messages').length > 0);
    daemon.clock.advance(60_000);
    expect(await count()).toBe(moved);
    expect(await found({ origin: queue })).toBe(40 - moved);
  });

  it('a message that was redriven and comes back has come twice, and goes where it came from again', async () => {
    const [first, second] = [plain.next(), plain.next()];
    await fail(first, 1);
    await admin.redrive('ERRQ', { origin: first, to: second });
    await ctx.tpbegin(30);
    await take(ctx, second);
    await ctx.tpabort();
    expect([await found({ origin: first }), await found({ origin: second })]).toEqual([0, 1]);
    await admin.redrive('ERRQ', { origin: second });
    expect(await drain(ctx, second)).toEqual([`${first} 0`]);
  });
});

function dry(of: Context): Promise<Redriven> {
  return of.admin(SPACE).redrive('ERRQ', { dryRun: true });
}

describe('what is known of a message', () => {
  const TEXT = { spaces: [{ errorQueue: 'ERRQ', queues: ['ERRQ', 'A', 'GONE', 'CHURN'] }] };

  async function filled(): Promise<{ one: InProcess; own: Context }> {
    const one = await daemonForTest(TEXT, { device: { segmentBytes: 64 * 1024 } });
    const own = await one.join();
    await fail('A', 3, own);
    await own.admin(SPACE).create('B');
    await fail('B', 2, own);
    await own.admin(SPACE).destroy('B');
    return { one, own };
  }
  const KNOWN = { moved: 3, gone: 2, unknown: 0 };

  it('stays when its records are restated, over checkpoints and restarts', async () => {
    const { one, own } = await filled();
    // Far more than the log may hold: all that lives at its beginning has been restated.
    for (let i = 0; i < 60; i++) {
      await put(own, 'CHURN', 'c'.repeat(20_000));
      await take(own, 'CHURN');
    }
    const names = readdirSync(join(one.dir, DEVICE, SPACE));
    expect(Math.max(...names.map(markedFirst))).toBeGreaterThan(1);
    expect(names.some((name) => name.endsWith('.checkpoint'))).toBe(true);
    expect(await dry(own)).toMatchObject(KNOWN);
    await one.restart();
    expect(await dry(own)).toMatchObject(KNOWN);
    expect(await own.admin(SPACE).redrive('ERRQ', { to: 'GONE' })).toMatchObject({ moved: 5 });
    expect(await drain(own, 'GONE')).toEqual(['A 0', 'A 1', 'A 2', 'B 0', 'B 1']);
  });

  it('qredrive moves them while the daemon is stopped, and finds what it needs to know', async () => {
    const { one } = await filled();
    await one.stop();
    const path = join(one.dir, DEVICE);
    const ran = await runScript(
      [
        'qopen QSPACE',
        'qredrive -d y',
        'qredrive -o A -l 2',
        'qrd -t NOWHERE',
        'qredrive -t A ERRQ',
        'qredrive',
      ],
      localDevice(path),
    );
    expect(ran.out).toEqual([
      'would move 3 messages',
      '  3 to A',
      '  2 stay (B): it was destroyed; name another queue for them',
      'moved 2 messages; the limit is reached',
      '  2 to A',
      'moved 3 messages',
      '  3 to A',
      'moved 0 messages',
    ]);
    expect(ran.err).toEqual([
      'qmadmin: line 4: qredrive: to: there is no queue NOWHERE in queue space QSPACE',
    ]);
    await one.start();
    const own = await one.join();
    expect(await drain(own, 'A')).toEqual(['A 0', 'A 1', 'A 2', 'B 0', 'B 1']);
  });

  it('is in a backup, in what is restored and in what is salvaged, and wal dump shows it', async () => {
    const { one } = await filled();
    await one.stop();
    const device = join(one.dir, DEVICE);
    const into = (name: string): string => join(one.dir, name);
    await backup({
      found: await findSpaces(device),
      into: into('saved'),
      besideDaemon: false,
      madeAt: '2026-12-01T00:00:00.000Z',
    });
    await restore({ found: await findSpaces(into('saved')), into: into('back') });
    mkdirSync(into('salvaged'));
    await salvageSpace({ dir: join(device, SPACE), name: SPACE }, join(into('salvaged'), SPACE));
    for (const place of ['back', 'salvaged']) {
      const ran = await runScript(['qopen QSPACE', 'qredrive -e rollback -d y'], localDevice(into(place)));
      expect(ran).toMatchObject({
        err: [],
        out: [
          'would move 3 messages',
          '  3 to A',
          '  2 stay (B): it was destroyed; name another queue for them',
        ],
      });
    }
    const lines: string[] = [];
    const shown = { json: false, data: false, queue: 'ERRQ' };
    for await (const line of dumpSpace({ dir: join(device, SPACE), name: SPACE }, shown)) lines.push(line);
    expect(lines.filter((line) => line.includes(' PROVENANCE '))).toEqual([
      ...Array.from({ length: 3 }, () =>
        expect.stringMatching(/ from=A .* reason=rollback retries=0 .* count=1/),
      ),
      ...Array.from({ length: 2 }, () =>
        expect.stringMatching(/ from=B .* reason=rollback retries=0 .* count=1/),
      ),
    ]);
  });
});
