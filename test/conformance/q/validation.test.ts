// The validation table of [spec 1.6], row by row, and its order: arguments, flags argument, control structure, space, queue, resources.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, QME, TPQ } from '../../../clients/typescript/index.ts';
import { daemonForAll } from '../../support/in-process.ts';
import {
  code,
  ctlOf,
  domain,
  drain,
  got,
  id32,
  type Members,
  pool,
  send,
  sendCode,
  sendTo,
  SPACE,
  take,
  wallS,
} from './support.ts';

const plain = pool({ name: 'P' }, 60);
const both = pool({ name: 'TM', outOfOrder: 'top,msgid' }, 6);
const daemon = daemonForAll(
  domain([
    {
      queues: [
        ...plain.queues,
        ...both.queues,
        { name: 'TOP', outOfOrder: 'top' },
        { name: 'MSGID', outOfOrder: 'msgid' },
        { name: 'MEMORY', policy: 'nonpersist' },
      ],
    },
    { name: 'FULL', words: 'MSGS=1', queues: [{ name: 'Q', outOfOrder: 'top,msgid' }, 'NONE'] },
  ]),
);
let ctx: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  await sendTo(ctx, 'FULL', 'Q', 'x');
});

/** What both calls end with. */
async function codes(
  qspace: string,
  queue: string,
  flags = 0,
  ctl: Members | null = null,
): Promise<unknown[]> {
  const given = (): ReturnType<typeof ctlOf> | null => (ctl === null ? null : ctlOf(ctl.flags ?? 0, ctl));
  return [
    await code(ctx.tpenqueue(qspace, queue, given(), 'x', flags)),
    await code(ctx.tpdequeue(qspace, queue, given(), null, flags)),
  ];
}

const BOTH_TPEINVAL = ['TPEINVAL', 'TPEINVAL'];

describe('arguments', () => {
  it('[spec 1.6: qspace NULL/empty, or qname NULL/empty]', async () => {
    expect(await codes('', 'Q')).toEqual(BOTH_TPEINVAL);
    expect(await codes(SPACE, '')).toEqual(BOTH_TPEINVAL);
    // Longer in bytes than in characters: for the daemon to find.
    expect(await codes(SPACE, 'ä'.repeat(64))).toEqual(BOTH_TPEINVAL);
    expect(await codes('ä'.repeat(64), 'Q')).toEqual(BOTH_TPEINVAL);
    const raw = await daemon.raw();
    for (const names of [
      ['', 'P1'],
      [SPACE, ''],
    ] as const) {
      expect((await raw.ask(3, 2, names, null, 0, 0, 1, '', Buffer.from('x')))[2]).toBe(4);
      expect((await raw.ask(4, 3, names, null, 0, 0, 0, '', 0))[2]).toBe(4);
    }
  });

  it('[spec 1.6: data non-NULL but not from tpalloc (enqueue) ; data, *data or len NULL (dequeue)] here: data of no buffer type; TPNOCHANGE without a buffer', async () => {
    for (const data of [() => 1, 1n, Symbol('x')]) {
      expect(await code(ctx.tpenqueue(SPACE, 'P1', null, data))).toBe('TPEINVAL');
    }
    expect(await code(ctx.tpdequeue(SPACE, 'P1', null, null, 0x100))).toBe('TPEINVAL');
  });

  it('[spec 1.6: unknown bit in `flags` argument] every one, asked of the daemon itself', async () => {
    const raw = await daemon.raw();
    const known = { 3: [0x1, 0x2, 0x8, 0x20], 4: [0x1, 0x2, 0x8, 0x20, 0x100] };
    for (let i = 0; i < 32; i++) {
      const flags = 2 ** i;
      const tperrno = [
        (await raw.ask(3, 100 + i, [SPACE, 'P1'], null, flags, 0, 1, '', Buffer.from('x')))[2],
        (await raw.ask(4, 200 + i, [SPACE, 'P1'], null, flags, 0, 1, '', 0))[2],
      ];
      const [enqueued, dequeued] = [known[3].includes(flags), known[4].includes(flags)];
      expect([flags, tperrno[0] === 4, tperrno[1] === 4]).toEqual([flags, !enqueued, !dequeued]);
    }
    await drain(ctx, 'P1');
  });
});

describe('the control structure of an enqueue', () => {
  const exp = { exp_time: 5, deq_time: 5, msgid: id32(1) };
  it.each<[string, Members]>([
    ['[spec 1.6: TPQTOP and TPQBEFOREMSGID together]', { flags: TPQ.TPQTOP | TPQ.TPQBEFOREMSGID, ...exp }],
    [
      '[spec 1.6: TPQTIME_ABS and TPQTIME_REL together]',
      { flags: TPQ.TPQTIME_ABS | TPQ.TPQTIME_REL, ...exp },
    ],
    ...[
      ['ABS and REL', TPQ.TPQEXPTIME_ABS | TPQ.TPQEXPTIME_REL],
      ['ABS and NONE', TPQ.TPQEXPTIME_ABS | TPQ.TPQEXPTIME_NONE],
      ['REL and NONE', TPQ.TPQEXPTIME_REL | TPQ.TPQEXPTIME_NONE],
      ['all three', TPQ.TPQEXPTIME_ABS | TPQ.TPQEXPTIME_REL | TPQ.TPQEXPTIME_NONE],
    ].map<[string, Members]>(([which, flags]) => [
      `[spec 1.6: more than one of EXPTIME_ABS / REL / NONE] ${which}`,
      { flags: flags as number, ...exp },
    ]),
    ...[0, 101, -1, 1000, Number.MIN_SAFE_INTEGER].map<[string, Members]>((priority) => [
      `[spec 1.6: priority outside 1..100 with TPQPRIORITY] ${priority}`,
      { flags: TPQ.TPQPRIORITY, priority },
    ]),
    ...[0, 3, 5, 6, 7, 8, -1].flatMap<[string, Members]>((qos) => [
      [
        `[spec 1.6: delivery_qos/reply_qos not exactly one of 1,2,4 with its flag] delivery ${qos}`,
        { flags: TPQ.TPQDELIVERYQOS, delivery_qos: qos },
      ],
      [`reply_qos ${qos}`, { flags: TPQ.TPQREPLYQOS, reply_qos: qos }],
    ]),
    ...[TPQ.TPQTIME_ABS, TPQ.TPQTIME_REL].map<[string, Members]>((flags) => [
      `[spec 1.6: negative deq_time or exp_time with a time flag] 0x${flags.toString(16)}`,
      { flags, deq_time: -1 },
    ]),
    ...[TPQ.TPQEXPTIME_ABS, TPQ.TPQEXPTIME_REL].map<[string, Members]>((flags) => [
      `negative exp_time with 0x${flags.toString(16)}`,
      { flags, exp_time: -1 },
    ]),
    ...['q'.repeat(128), 'ä'.repeat(64), 'a\0b', ''].flatMap<[string, Members]>((name) => [
      [
        `[spec 1.6: replyqueue/failurequeue longer than TMQNAMELEN or not NUL-terminated] reply ${JSON.stringify(name.slice(0, 5))} of ${name.length}`,
        { flags: TPQ.TPQREPLYQ, replyqueue: name },
      ],
      [
        `failure queue ${JSON.stringify(name.slice(0, 5))} of ${name.length}`,
        { flags: TPQ.TPQFAILUREQ, failurequeue: name },
      ],
    ]),
  ])('%s: QMEINVAL, in diagnostic too, and nothing is queued', async (_title, members) => {
    const ctl = ctlOf(members.flags ?? 0, members);
    expect(await code(ctx.tpenqueue(SPACE, 'TM1', ctl, 'x'))).toBe('QMEINVAL');
    expect(ctl.diagnostic).toBe(QME.QMEINVAL);
    expect((await daemon.queue('TM1')).messages).toBe(0);
  });

  it('what is wrong in a member whose flag is off does not count', async () => {
    const queue = plain.next();
    const wrong = { priority: 0, deq_time: -1, exp_time: -1, delivery_qos: 9, reply_qos: 9 };
    expect(await sendCode(ctx, queue, { ...wrong, flags: TPQ.TPQEXPTIME_NONE })).toBe('OK');
    expect(await drain(ctx, queue)).toEqual(['x']);
  });

  it.each<[string, Members]>([
    ['priority 1', { flags: TPQ.TPQPRIORITY, priority: 1 }],
    ['priority 100', { flags: TPQ.TPQPRIORITY, priority: 100 }],
    ['a reply queue of 127 bytes', { flags: TPQ.TPQREPLYQ, replyqueue: 'r'.repeat(127) }],
    ['a failure queue of 126 bytes in 63 letters', { flags: TPQ.TPQFAILUREQ, failurequeue: 'ä'.repeat(63) }],
    ['delay 0', { flags: TPQ.TPQTIME_REL, deq_time: 0 }],
    ['an absolute time of 0', { flags: TPQ.TPQTIME_ABS, deq_time: 0 }],
  ])('the legal end of a range is taken: %s', async (_title, members) => {
    const queue = plain.next();
    expect(await sendCode(ctx, queue, members)).toBe('OK');
    expect(await drain(ctx, queue)).toEqual(['x']);
  });
});

describe('names that do not exist', () => {
  it('[spec 1.6: reply/failure queue does not exist at enqueue time] accepted', async () => {
    const queue = plain.next();
    const flags = TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ;
    expect(await sendCode(ctx, queue, { flags, replyqueue: 'NOWHERE', failurequeue: 'NOR HERE' })).toBe('OK');
    expect(await drain(ctx, queue)).toEqual(['x']);
  });

  it('[spec 1.6: queue missing]', async () => {
    expect(await codes(SPACE, 'NOQUEUE')).toEqual(['QMEBADQUEUE', 'QMEBADQUEUE']);
    expect(await codes(SPACE, 'p1')).toEqual(['QMEBADQUEUE', 'QMEBADQUEUE']);
    for (const flags of [TPQ.TPQPEEK, TPQ.TPQWAIT, TPQ.TPQGETBYCORRID])
      expect(await got(ctx, 'NOQUEUE', { flags, corrid: 'c' })).toBe('QMEBADQUEUE');
  });

  it('[spec 1.6: service `qspace` not advertised by any live TMQUEUE]', async () => {
    expect(await codes('NOSPACE', 'P1')).toEqual(['TPENOENT', 'TPENOENT']);
    expect(await codes('TMQUEUE', 'P1')).toEqual(['TPENOENT', 'TPENOENT']);
  });
});

describe('[spec 1.6: TPQTOP or TPQBEFOREMSGID on a queue whose out-of-order setting does not allow it]', () => {
  it.each([
    ['none', () => plain.next(), 'QMEINVAL', 'QMEINVAL'],
    ['top', () => 'TOP', 'OK', 'QMEINVAL'],
    ['msgid', () => 'MSGID', 'QMEINVAL', 'OK'],
    ['top,msgid', () => both.next(), 'OK', 'OK'],
  ])('%s', async (_setting, queueOf, top, before) => {
    const queue = queueOf();
    const msgid = await send(ctx, queue, 'first');
    expect(await sendCode(ctx, queue, { flags: TPQ.TPQTOP })).toBe(top);
    expect(await sendCode(ctx, queue, { flags: TPQ.TPQBEFOREMSGID, msgid })).toBe(before);
    const placed = [top, before].filter((one) => one === 'OK').length;
    expect((await daemon.queue(queue)).messages).toBe(1 + placed);
    await drain(ctx, queue);
  });
});

describe('message identifiers', () => {
  it('[spec 1.6: TPQBEFOREMSGID naming a message absent from that queue]', async () => {
    const [queue, other] = [both.next(), plain.next()];
    const taken = await send(ctx, queue, 'taken');
    await drain(ctx, queue);
    const elsewhere = await send(ctx, other, 'elsewhere');
    const foreign = await sendTo(ctx, SPACE, 'P2', 'gone');
    for (const msgid of [taken, elsewhere, foreign, id32(1), id32(255, 255)])
      expect(await sendCode(ctx, queue, { flags: TPQ.TPQBEFOREMSGID, msgid })).toBe('QMEBADMSGID');
    expect((await daemon.queue(queue)).messages).toBe(0);
  });

  it('[spec 1.6: TPQGETBYMSGID with an id that is not present]', async () => {
    const [queue, other] = [plain.next(), plain.next()];
    const taken = await send(ctx, queue, 'taken');
    await drain(ctx, queue);
    const elsewhere = await send(ctx, other, 'elsewhere');
    const flags = TPQ.TPQGETBYMSGID;
    for (const msgid of [taken, elsewhere]) expect(await got(ctx, queue, { flags, msgid })).toBe('QMENOMSG');
    const ctl = ctlOf(TPQ.TPQMSGID | TPQ.TPQPEEK);
    await take(ctx, 'Q', ctl, { qspace: 'FULL' });
    for (const msgid of [ctl.msgid, Buffer.alloc(32, 0xff), Buffer.alloc(32)])
      expect(await got(ctx, queue, { flags, msgid })).toBe('QMEBADMSGID');
  });
});

describe('flags of the other call', () => {
  it('[spec 1.6: enqueue-only bits set on dequeue] all at once, with what would be wrong in them', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'x');
    const flags =
      TPQ.TPQTOP | TPQ.TPQBEFOREMSGID | TPQ.TPQTIME_ABS | TPQ.TPQTIME_REL | TPQ.TPQEXPTIME_ABS |
      TPQ.TPQEXPTIME_REL | TPQ.TPQEXPTIME_NONE; // prettier-ignore
    const ctl = ctlOf(flags, { deq_time: -1, exp_time: -1, msgid: id32(1) });
    expect([(await take(ctx, queue, ctl)).data, ctl.flags]).toEqual(['x', 0]);
  });

  it('[spec 1.6: TPQWAIT/TPQPEEK/GETBY* set on enqueue] ignored', async () => {
    const queue = plain.next();
    for (const flags of [
      TPQ.TPQWAIT,
      TPQ.TPQPEEK,
      TPQ.TPQGETBYMSGID,
      TPQ.TPQGETBYCORRID,
      TPQ.TPQGETBYMSGIDOLD | TPQ.TPQWAIT,
    ]) {
      expect(await sendCode(ctx, queue, { flags, msgid: id32(1), corrid: id32(1) })).toBe('OK');
    }
    expect(await drain(ctx, queue)).toHaveLength(5);
  });
});

describe('times that are odd but legal', () => {
  it('[spec 1.6: absolute dequeue time already past] at once', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'past', { flags: TPQ.TPQTIME_ABS, deq_time: wallS(daemon, -100) });
    await send(ctx, queue, 'long past', { flags: TPQ.TPQTIME_ABS, deq_time: 1 });
    expect(await drain(ctx, queue)).toEqual(['past', 'long past']);
  });

  it('[spec 1.6: absolute expiry already past] succeeds with a msgid, and is never there', async () => {
    const queue = plain.next();
    const flags = TPQ.TPQEXPTIME_ABS;
    const msgid = await send(ctx, queue, 'x', { flags, exp_time: wallS(daemon, -1) });
    await send(ctx, queue, 'y', { flags, exp_time: 0 });
    expect(await got(ctx, queue)).toBe('QMENOMSG');
    expect(await got(ctx, queue, { flags: TPQ.TPQGETBYMSGID, msgid })).toBe('QMENOMSG');
    expect((await daemon.queue(queue)).messages).toBe(0);
  });

  it('[spec 1.6: expiry before availability time] accepted, never dequeued, removed at expiry', async () => {
    const queue = plain.next();
    const flags = TPQ.TPQTIME_REL | TPQ.TPQEXPTIME_REL;
    expect(await sendCode(ctx, queue, { flags, deq_time: 200, exp_time: 100 })).toBe('OK');
    expect([await got(ctx, queue), (await daemon.queue(queue)).messages]).toEqual(['QMENOMSG', 1]);
    daemon.clock.advance(101_000);
    expect([await got(ctx, queue), (await daemon.queue(queue)).messages]).toEqual(['QMENOMSG', 0]);
    daemon.clock.advance(101_000);
    expect(await got(ctx, queue)).toBe('QMENOMSG');
  });
});

describe('of two faults the earlier in the order is answered', () => {
  const badCtl = { flags: TPQ.TPQPRIORITY, priority: 0 };
  const top = { flags: TPQ.TPQTOP };
  const badId = { flags: TPQ.TPQBEFOREMSGID, msgid: id32(1) };
  const memory = { flags: TPQ.TPQDELIVERYQOS, delivery_qos: 4 };
  const long = 'ä'.repeat(64);
  it.each<[string, string, string, number, Members, string]>([
    ['arguments before the control structure', SPACE, long, 0, badCtl, 'TPEINVAL'],
    ['arguments before the space', 'NOSPACE', long, 0, {}, 'TPEINVAL'],
    ['the flags argument before the control structure', SPACE, 'P1', 0x4, badCtl, 'TPEINVAL'],
    ['the flags argument before the space', 'NOSPACE', 'P1', 0x4, {}, 'TPEINVAL'],
    ['the control structure before the space', 'NOSPACE', 'P1', 0, badCtl, 'QMEINVAL'],
    ['the control structure before the queue', SPACE, 'NOQUEUE', 0, badCtl, 'QMEINVAL'],
    ['the space before the queue', 'NOSPACE', 'NOQUEUE', 0, {}, 'TPENOENT'],
    ['the space before what its queue allows', 'NOSPACE', 'NONE', 0, top, 'TPENOENT'],
    ['the queue before what it allows', SPACE, 'NOQUEUE', 0, top, 'QMEBADQUEUE'],
    ['the queue before the id', SPACE, 'NOQUEUE', 0, badId, 'QMEBADQUEUE'],
    ['the queue before the resources', 'FULL', 'NOQUEUE', 0, {}, 'QMEBADQUEUE'],
    ['the queue before the memory it would take', SPACE, 'NOQUEUE', 0, memory, 'QMEBADQUEUE'],
    ['what the queue allows before the resources', 'FULL', 'NONE', 0, top, 'QMEINVAL'],
    ['the id before the resources', 'FULL', 'Q', 0, badId, 'QMEBADMSGID'],
    ['resources last', 'FULL', 'Q', 0, top, 'QMENOSPACE'],
  ])('%s', async (_title, qspace, queue, flags, members, expected) => {
    expect(await sendCode(ctx, queue, members, { qspace, flags })).toBe(expected);
  });
});
