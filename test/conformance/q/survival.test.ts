// Everything that a queue knows, after its log has grown over several segments and the daemon was
// stopped or killed: order, places, times, counts,
// members, limits, thresholds [spec 8.2, 8.5; C11, C35, C45].
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Context, TPQ, TPQQOS } from '../../../clients/typescript/index.ts';
import { TestDaemon } from '../../support/daemon.ts';
import { daemonForTest, eventually } from '../../support/in-process.ts';
import {
  attempt,
  ctlOf,
  domain,
  drain,
  got,
  hex,
  id32,
  type Members,
  OUTPUTS,
  send,
  sendCode,
  SPACE,
  take,
} from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'tmq-sv-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const HOUR_S = 3600;
const ORDERS = ['fifo', 'lifo', 'priority', 'time', 'expiration,priority,lifo'];
const text = (name: string): string =>
  domain([
    {
      words: 'ERRORQ=ERRQ MSGS=400 NONPERSIST="64k"',
      queues: [
        ...ORDERS.map((order, i) => ({ name: `O${i}`, order, outOfOrder: 'top,msgid', retries: 9 })),
        'ERRQ',
        'LATE',
        'BRIEF',
        'FULL',
        'TRAFFIC',
        'MIXED',
        { name: 'TRIED', retries: 2 },
        { name: 'SLOW', retries: 9, delay: HOUR_S },
        { name: 'MEMORY', policy: 'nonpersist' },
        { name: 'FIRED', high: '3m', low: '0', cmd: `echo fired >> ${join(folder, name)}` },
      ],
    },
  ]);
const fired = (name: string): number => {
  try {
    return readFileSync(join(folder, name), 'utf8').length / 'fired\n'.length;
  } catch {
    return 0;
  }
};

const FULL: Members = {
  flags: OUTPUTS & ~TPQ.TPQMSGID,
  priority: 80,
  corrid: id32(7, 3),
  replyqueue: 'RQ',
  failurequeue: 'FQ',
  delivery_qos: TPQQOS.TPQQOSPERSISTENT,
  reply_qos: TPQQOS.TPQQOSNONPERSISTENT,
  urcode: 99,
};
const LIVES = { flags: TPQ.TPQEXPTIME_REL, exp_time: HOUR_S };

interface Known {
  readonly orders: unknown[][];
  readonly msgid: string;
}

/** One of everything. */
async function fill(context: Context): Promise<Known> {
  await Promise.all(
    [...ORDERS.keys()].map(async (i) => {
      const queue = `O${i}`;
      const ranked = [50, 20, 80, 50].map((n) => {
        const flags = TPQ.TPQPRIORITY | TPQ.TPQEXPTIME_REL;
        return send(context, queue, n, { flags, priority: n, exp_time: HOUR_S * n });
      });
      const target = await send(context, queue, 'target');
      await Promise.all([...ranked, send(context, queue, 'top', { flags: TPQ.TPQTOP })]);
      const placed = await send(context, queue, 'placed', { flags: TPQ.TPQBEFOREMSGID, msgid: target });
      await send(context, queue, 'before placed', { flags: TPQ.TPQBEFOREMSGID, msgid: placed });
      await send(context, queue, 'topmost', { flags: TPQ.TPQTOP });
    }),
  );
  await send(context, 'LATE', 'late', { flags: TPQ.TPQTIME_REL, deq_time: HOUR_S });
  await send(context, 'BRIEF', 'brief', LIVES);
  const msgid = hex(await send(context, 'FULL', 'full', FULL));
  await send(context, 'FULL', 'bare');
  await send(context, 'TRIED', 'tried');
  await attempt(context, 'TRIED');
  await send(context, 'SLOW', 'slow');
  await attempt(context, 'SLOW');
  for (let i = 0; i < 3; i++) await send(context, 'FIRED', i);
  await send(context, 'MEMORY', 'memory');
  for (const n of [1, 2, 3]) {
    const flags = TPQ.TPQDELIVERYQOS;
    await send(context, 'MIXED', n, n === 2 ? { flags, delivery_qos: 4 } : {});
  }
  const orders = [];
  for (const i of ORDERS.keys()) orders.push(await lookThrough(context, `O${i}`));
  return { orders, msgid };
}

async function lookThrough(context: Context, queue: string): Promise<unknown[]> {
  await context.tpbegin(600);
  const all = await drain(context, queue);
  await context.tpabort();
  return all;
}

/** Everything but times, which only a clock that can be set shows. */
async function check(context: Context, known: Known): Promise<void> {
  for (const [i, order] of known.orders.entries()) {
    const now = await lookThrough(context, `O${i}`);
    expect([ORDERS[i], now]).toEqual([ORDERS[i], order]);
    expect(now.slice(0, 2)).toEqual(['topmost', 'top']);
    expect(now.join()).toContain('before placed,placed,target');
  }
  const [full, bare] = [ctlOf(OUTPUTS), ctlOf(OUTPUTS)];
  expect([(await take(context, 'FULL', full)).data, (await take(context, 'FULL', bare)).data]).toEqual([
    'full',
    'bare',
  ]);
  expect(full).toMatchObject({ ...FULL, flags: OUTPUTS, corrid: expect.anything() });
  expect([hex(full.corrid), hex(full.msgid)]).toEqual([hex(id32(7, 3)), known.msgid]);
  expect([bare.flags, bare.urcode]).toEqual([TPQ.TPQMSGID, 0]);
  expect([await got(context, 'LATE'), await got(context, 'SLOW')]).toEqual(['QMENOMSG', 'QMENOMSG']);
  expect(await got(context, 'BRIEF', { flags: TPQ.TPQPEEK })).toBe('brief');
  for (let i = 0; i < 2; i++) expect(await attempt(context, 'TRIED')).toBe('tried');
  expect([await got(context, 'TRIED'), await drain(context, 'ERRQ')]).toEqual(['QMENOMSG', ['tried']]);
  expect([await drain(context, 'MIXED'), await drain(context, 'MEMORY')]).toEqual([[1, 3], []]);
}

/** As many enqueues as MSGS leaves room for. */
async function room(context: Context): Promise<number> {
  const all = Array.from({ length: 400 }, () => sendCode(context, 'TRAFFIC', {}, { data: null }));
  return (await Promise.all(all)).filter((answer) => answer === 'OK').length;
}

const LIVE = ORDERS.length * 9 + 'LATE BRIEF SLOW'.split(' ').length + 3;

/** Puts and takes so much that it fills three segments of the log. */
async function traffic(context: Context): Promise<void> {
  const body = Buffer.alloc(200_000, 1);
  for (let round = 0; round < 3; round++) {
    const sent = Array.from({ length: 10 }, () => context.tpenqueue(SPACE, 'TRAFFIC', null, body));
    await Promise.all([...sent, ...sent.map(() => take(context, 'TRAFFIC'))]);
  }
}

describe('one of everything', () => {
  it('after traffic of many segments and two restarts (C11, C35, C45)', async () => {
    const daemon = await daemonForTest(text('stopped'));
    const context = await daemon.join();
    const known = await fill(context);
    await eventually(() => fired('stopped') === 1);
    await traffic(context);
    await daemon.restart();
    await traffic(context);
    await daemon.restart();
    await check(context, known);
    // The command ran before, and the queue has not been empty since.
    await send(context, 'FIRED', 'more');
    expect(await room(context)).toBe(400 - LIVE - 1);
    daemon.clock.advance(HOUR_S * 1000);
    expect([await got(context, 'LATE'), await got(context, 'SLOW')]).toEqual(['late', 'slow']);
    expect([await got(context, 'BRIEF'), fired('stopped')]).toEqual(['QMENOMSG', 1]);
  });

  it('[spec 8.2: crash of host] [spec 2.6: the lock of an unprepared dequeue is not logged] after a kill with a transaction open', async () => {
    const killed = TestDaemon.prepare({ queues: [] });
    writeFileSync(join(killed.directory, 'ubbconfig'), text('killed'));
    await killed.restart();
    let context = await killed.connect();
    const known = await fill(context);
    await context.tpbegin(600);
    for (const queue of ['TRIED', ...ORDERS.keys()])
      await take(context, queue === 'TRIED' ? queue : `O${queue}`);
    for (const queue of ['O0', 'O2']) await send(context, queue, 'never', { flags: TPQ.TPQTOP });
    await killed.kill();
    await killed.restart();
    context = await killed.connect();
    await check(context, known);
    expect(await room(context)).toBe(400 - LIVE);
    await context.tpterm();
  });
});

describe('a place beside a message that is lost', () => {
  it.each(['fifo', 'lifo', 'priority'])('%s: what was placed by it keeps its own', async (order) => {
    const words = { name: 'Q', order, outOfOrder: 'top,msgid', policy: 'nonpersist' as const, retries: 99 };
    const daemon = await daemonForTest(domain([{ words: 'NONPERSIST="64k"', queues: [words] }]));
    const context = await daemon.join();
    const disk = { flags: TPQ.TPQDELIVERYQOS, delivery_qos: TPQQOS.TPQQOSPERSISTENT };
    await send(context, 'Q', 'a', disk);
    const lost = await send(context, 'Q', 'lost');
    await send(context, 'Q', 'c', disk);
    const before = (msgid: Buffer): Members => ({ ...disk, flags: disk.flags | TPQ.TPQBEFOREMSGID, msgid });
    const first = await send(context, 'Q', 'first', before(lost));
    await send(context, 'Q', 'second', before(lost));
    await send(context, 'Q', 'before first', before(first));
    await send(context, 'Q', 'lost top', { flags: TPQ.TPQTOP });
    const all = await lookThrough(context, 'Q');
    await daemon.restart();
    expect(await lookThrough(context, 'Q')).toEqual(all.filter((one) => !String(one).startsWith('lost')));
    await send(context, 'Q', 'top', { ...disk, flags: disk.flags | TPQ.TPQTOP });
    expect(await got(context, 'Q')).toBe('top');
  });
});
