// TPQCTL as the daemon treats it: outputs of enqueue and dequeue, which flags come back, and every refusal by flags or fields
// [spec 1.1, 1.3 to 1.6].
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, QME, TPQ, TPQCTL } from '../../clients/typescript/index.ts';
import { daemonForAll } from '../support/in-process.ts';
import {
  codeOf,
  corridOf,
  ctlOf,
  drain,
  failureOf,
  fresh,
  OUTPUTS,
  put,
  putId,
  SPACE,
  take,
} from './helpers.ts';

const queues = fresh('C', 120);
const daemon = daemonForAll({
  spaces: [{ queues: queues.names }, { name: 'OTHER', queues: ['Q'] }],
});
let ctx: Context;
beforeAll(async () => {
  ctx = await daemon.join();
});

const GIVEN: Partial<TPQCTL> = { priority: 80, corrid: corridOf(7), replyqueue: 'RQ', failurequeue: 'FQ' };
const BITS = { TPQPRIORITY: 0x20, TPQCORRID: 0x1, TPQREPLYQ: 0x100, TPQFAILUREQ: 0x2 } as const;

describe('flags that a dequeue returns [spec 1.4]', () => {
  const sets = Array.from({ length: 16 }, (_, bits) =>
    Object.values(BITS).filter((_bit, i) => bits & (1 << i)),
  );
  const rows = sets.map((set) => set.reduce((flags, bit) => flags | bit, 0));

  it.each(rows)('enqueued with 0x%s, everything asked for: exactly those and TPQMSGID', async (supplied) => {
    const queue = queues.next();
    const msgid = await putId(ctx, queue, 'x', { ...GIVEN, flags: supplied });
    const ctl = ctlOf(OUTPUTS);
    await take(ctx, queue, ctl);
    expect(ctl.flags).toBe(supplied | TPQ.TPQMSGID);
    expect(Buffer.from(ctl.msgid ?? []).equals(msgid)).toBe(true);
  });

  it.each(Object.entries(BITS))('%s asked for alone: that member and no other', async (_name, bit) => {
    const queue = queues.next();
    await putId(ctx, queue, 'x', { ...GIVEN, flags: 0x123 });
    const ctl = ctlOf(bit, { priority: 3, corrid: 'before', replyqueue: 'before', failurequeue: 'before' });
    await take(ctx, queue, ctl);
    expect(ctl.flags).toBe(bit);
    expect({
      priority: ctl.priority,
      corrid: typeof ctl.corrid === 'string' ? ctl.corrid : Buffer.from(ctl.corrid ?? []).toString('hex'),
      replyqueue: ctl.replyqueue,
      failurequeue: ctl.failurequeue,
      msgid: ctl.msgid,
    }).toEqual({
      priority: bit === BITS.TPQPRIORITY ? 80 : 3,
      corrid: bit === BITS.TPQCORRID ? corridOf(7).toString('hex') : 'before',
      replyqueue: bit === BITS.TPQREPLYQ ? 'RQ' : 'before',
      failurequeue: bit === BITS.TPQFAILUREQ ? 'FQ' : 'before',
      msgid: null,
    });
  });

  it.each([
    ['nothing asked for', 0],
    ['TPQDELIVERYQOS and TPQREPLYQOS, which nobody supplied', TPQ.TPQDELIVERYQOS | TPQ.TPQREPLYQOS],
    ['TPQPEEK and TPQWAIT', TPQ.TPQPEEK | TPQ.TPQWAIT],
    ['TPQTOP', TPQ.TPQTOP],
    ['TPQBEFOREMSGID', TPQ.TPQBEFOREMSGID],
    ['both TPQTIME flags', TPQ.TPQTIME_ABS | TPQ.TPQTIME_REL],
    ['all TPQEXPTIME flags', TPQ.TPQEXPTIME_ABS | TPQ.TPQEXPTIME_REL | TPQ.TPQEXPTIME_NONE],
  ])('%s: all cleared, the dequeue succeeds', async (_name, flags) => {
    const queue = queues.next();
    await putId(ctx, queue, 'x', { ...GIVEN, flags: 0x123 });
    const ctl = ctlOf(flags);
    expect((await take(ctx, queue, ctl)).data).toBe('x');
    expect(ctl.flags).toBe(0);
  });

  it('the selection bits are cleared and the ids stay', async () => {
    const queue = queues.next();
    const msgid = await putId(ctx, queue, 'x', { ...GIVEN, flags: TPQ.TPQCORRID });
    const ctl = ctlOf(TPQ.TPQGETBYMSGID | TPQ.TPQGETBYCORRID, { msgid, corrid: corridOf(7) });
    await take(ctx, queue, ctl);
    expect(ctl.flags).toBe(0);
    expect(Buffer.from(ctl.msgid ?? []).equals(msgid)).toBe(true);
  });
});

describe('outputs', () => {
  it('without TPQMSGID an enqueue leaves the member msgid alone', async () => {
    const before = corridOf(9);
    const ctl = ctlOf(0, { msgid: before });
    await ctx.tpenqueue(SPACE, queues.next(), ctl, 'x');
    expect(ctl.msgid).toBe(before);
  });

  it('a msgid is 32 bytes and unique in the space', async () => {
    const queue = queues.next();
    const ids = new Set<string>();
    for (let i = 0; i < 200; i++) ids.add(Buffer.from(await putId(ctx, queue, i)).toString('hex'));
    expect(ids.size).toBe(200);
    expect([...ids].every((id) => id.length === 64)).toBe(true);
  });

  it('cltid, urcode and appkey always come, whatever the flags', async () => {
    const queue = queues.next();
    await ctx.tpenqueue(SPACE, queue, ctlOf(0, { urcode: -42, appkey: 99 }), 'x');
    const ctl = ctlOf(0);
    await take(ctx, queue, ctl);
    expect([ctl.urcode, ctl.appkey, ctl.cltid?.length]).toEqual([-42, -1, 16]);
  });

  it('cltid is the CLIENTID that HELLO gave to whoever enqueued', async () => {
    const queue = queues.next();
    const raw = await daemon.socket();
    const [, , , cltid] = await raw.hello();
    await raw.ask(3, 2, [SPACE, queue], null, 0, 0, 1, '', Buffer.from('x'));
    const ctl = ctlOf(0);
    await take(ctx, queue, ctl);
    expect(Buffer.from(ctl.cltid ?? [])).toEqual(cltid);
  });

  it.each([
    ['largest', Number.MAX_SAFE_INTEGER],
    ['smallest', -Number.MAX_SAFE_INTEGER],
    ['32 bits', 0x8000_0000],
  ])('urcode: the %s long comes back', async (_name, urcode) => {
    const queue = queues.next();
    await ctx.tpenqueue(SPACE, queue, ctlOf(0, { urcode }), 'x');
    const ctl = ctlOf(0);
    await take(ctx, queue, ctl);
    expect(ctl.urcode).toBe(urcode);
  });

  it('a failure writes the diagnostic into the structure', async () => {
    const ctl = ctlOf(0);
    expect(await codeOf(take(ctx, queues.next(), ctl))).toBe('QMENOMSG');
    expect(ctl.diagnostic).toBe(QME.QMENOMSG);
  });

  it('priority is kept and returned, and does not order a fifo queue', async () => {
    const queue = queues.next();
    for (const priority of [1, 100, 50]) {
      await ctx.tpenqueue(SPACE, queue, ctlOf(TPQ.TPQPRIORITY, { priority }), priority);
    }
    expect(await drain(ctx, queue)).toEqual([1, 100, 50]);
  });

  it('a NULL control structure works in both calls', async () => {
    const queue = queues.next();
    await ctx.tpenqueue(SPACE, queue, null, 'x');
    expect(await take(ctx, queue)).toEqual({ data: 'x', type: 'STRING', subtype: '' });
    expect(await codeOf(take(ctx, queue))).toBe('QMENOMSG');
  });
});

describe('an enqueue is refused [spec 1.6]', () => {
  const rows: [string, Partial<TPQCTL> & { flags: number }, string][] = [
    ['unknown bit 0x100000', { flags: 0x100000 }, 'QMEINVAL'],
    ['unknown bit 0x80000000', { flags: 0x80000000 }, 'QMEINVAL'],
    ['half of TPQGETBYMSGID', { flags: 0x40000 }, 'QMEINVAL'],
    ['half of TPQGETBYCORRID', { flags: 0x80000 }, 'QMEINVAL'],
    ['TPQTOP and TPQBEFOREMSGID', { flags: 0x44, msgid: corridOf(1) }, 'QMEINVAL'],
    ['both TPQTIME flags', { flags: 0x600, deq_time: 1 }, 'QMEINVAL'],
    ['TPQEXPTIME_ABS and REL', { flags: 0x18000, exp_time: 1 }, 'QMEINVAL'],
    ['TPQEXPTIME_ABS and NONE', { flags: 0x28000, exp_time: 1 }, 'QMEINVAL'],
    ['TPQEXPTIME_REL and NONE', { flags: 0x30000, exp_time: 1 }, 'QMEINVAL'],
    ['priority 0', { flags: 0x20, priority: 0 }, 'QMEINVAL'],
    ['priority 101', { flags: 0x20, priority: 101 }, 'QMEINVAL'],
    ['priority -1', { flags: 0x20, priority: -1 }, 'QMEINVAL'],
    ['priority 2^40', { flags: 0x20, priority: 2 ** 40 }, 'QMEINVAL'],
    ['delivery_qos 0', { flags: 0x2000, delivery_qos: 0 }, 'QMEINVAL'],
    ['delivery_qos two bits', { flags: 0x2000, delivery_qos: 3 }, 'QMEINVAL'],
    ['delivery_qos 8', { flags: 0x2000, delivery_qos: 8 }, 'QMEINVAL'],
    ['reply_qos 0', { flags: 0x4000, reply_qos: 0 }, 'QMEINVAL'],
    ['reply_qos two bits', { flags: 0x4000, reply_qos: 6 }, 'QMEINVAL'],
    ['negative absolute time', { flags: 0x200, deq_time: -1 }, 'QMEINVAL'],
    ['negative relative time', { flags: 0x400, deq_time: -1 }, 'QMEINVAL'],
    ['negative absolute expiry', { flags: 0x8000, exp_time: -1 }, 'QMEINVAL'],
    ['negative relative expiry', { flags: 0x10000, exp_time: -1 }, 'QMEINVAL'],
    ['reply queue of 128 bytes', { flags: 0x100, replyqueue: 'r'.repeat(128) }, 'QMEINVAL'],
    ['reply queue of 64 letters and 128 bytes', { flags: 0x100, replyqueue: 'ä'.repeat(64) }, 'QMEINVAL'],
    ['reply queue without a name', { flags: 0x100, replyqueue: '' }, 'QMEINVAL'],
    ['reply queue with NUL', { flags: 0x100, replyqueue: 'a\0b' }, 'QMEINVAL'],
    ['failure queue of 128 bytes', { flags: 0x2, failurequeue: 'f'.repeat(128) }, 'QMEINVAL'],
    ['corrid of 33 bytes', { flags: 0x1, corrid: 'c'.repeat(33) }, 'QMEINVAL'],
    ['TPQTOP where the queue does not allow it', { flags: 0x40 }, 'QMEINVAL'],
    ['TPQBEFOREMSGID where the queue does not allow it', { flags: 0x4, msgid: corridOf(1) }, 'QMEINVAL'],
  ];

  it.each(rows)('%s', async (_name, members, code) => {
    const queue = queues.names[0] as string;
    expect(await codeOf(ctx.tpenqueue(SPACE, queue, new TPQCTL(members), 'x'))).toBe(code);
    expect(await codeOf(take(ctx, queue))).toBe('QMENOMSG');
  });

  it.each<[string, Partial<TPQCTL>]>([
    ['a bad member whose flag is off', { priority: 999, deq_time: -1, replyqueue: 'r'.repeat(300) }],
    ['the flags of dequeue', { flags: TPQ.TPQWAIT | TPQ.TPQPEEK | TPQ.TPQGETBYMSGID | TPQ.TPQGETBYCORRID }],
    ['the old selection bits', { flags: TPQ.TPQGETBYMSGIDOLD | TPQ.TPQGETBYCORRIDOLD }],
    ['a reply and a failure queue that do not exist', { flags: 0x102, replyqueue: 'N1', failurequeue: 'N2' }],
    ['reply queue of 127 bytes', { flags: 0x100, replyqueue: 'r'.repeat(127) }],
    ['priority 1', { flags: 0x20, priority: 1 }],
    ['priority 100', { flags: 0x20, priority: 100 }],
  ])('but not by %s', async (_name, members) => {
    const queue = queues.next();
    await ctx.tpenqueue(SPACE, queue, new TPQCTL(members), 'x');
    expect(await drain(ctx, queue)).toEqual(['x']);
  });
});

describe('a dequeue is refused', () => {
  it.each<[string, Partial<TPQCTL>]>([
    ['unknown bit 0x100000', { flags: 0x100000 }],
    ['half of TPQGETBYMSGID', { flags: 0x40000 }],
    ['half of TPQGETBYCORRID', { flags: 0x80000 }],
    ['old msgid bit with TPQWAIT', { flags: 0x88, msgid: corridOf(1) }],
    ['old corrid bit with TPQWAIT', { flags: 0x880, corrid: corridOf(1) }],
    ['new msgid flag, old corrid bit, TPQWAIT', { flags: 0x40888, msgid: corridOf(1), corrid: corridOf(1) }],
  ])('%s', async (_name, members) => {
    const queue = queues.next();
    await put(ctx, queue, 'x');
    expect(await codeOf(take(ctx, queue, new TPQCTL(members)))).toBe('QMEINVAL');
    expect(await drain(ctx, queue)).toEqual(['x']);
  });
});

describe('names', () => {
  it.each([
    ['no such queue space', 'NOSPACE', 'X', 'TPENOENT'],
    ['the name of a queue as space', queues.names[0] as string, 'X', 'TPENOENT'],
    ['no such queue', SPACE, 'NOQUEUE', 'QMEBADQUEUE'],
    ['a queue of another space', SPACE, 'Q', 'QMEBADQUEUE'],
    ['the same in lower case', SPACE, 'c01', 'QMEBADQUEUE'],
    ['no space name', '', 'X', 'TPEINVAL'],
    ['no queue name', SPACE, '', 'TPEINVAL'],
    ['128 bytes', SPACE, 'q'.repeat(128), 'TPEINVAL'],
    ['127 bytes', SPACE, 'q'.repeat(127), 'QMEBADQUEUE'],
  ])('%s', async (_name, qspace, qname, code) => {
    expect(await codeOf(ctx.tpenqueue(qspace, qname, null, 'x'))).toBe(code);
    expect(await codeOf(ctx.tpdequeue(qspace, qname, null, null))).toBe(code);
  });
});

describe('a refusal says what and where (C89)', () => {
  const Q = queues.names[0] as string;
  const send = (members: Partial<TPQCTL>): Promise<unknown> =>
    ctx.tpenqueue(SPACE, Q, new TPQCTL(members), 'x');
  it.each<[string, () => Promise<unknown>, string[]]>([
    ['no such queue', () => ctx.tpenqueue(SPACE, 'NOQUEUE', null, 'x'), ['QMEBADQUEUE', 'NOQUEUE', SPACE]],
    ['no such space', () => ctx.tpenqueue('NOSPACE', 'X', null, 'x'), ['TPENOENT', 'NOSPACE']],
    ['no message', () => take(ctx, Q), ['QMENOMSG', Q, SPACE]],
    ['priority', () => send({ flags: TPQ.TPQPRIORITY, priority: 101 }), ['QMEINVAL', 'priority', '101']],
    ['reply queue', () => send({ flags: 0x100, replyqueue: 'r'.repeat(128) }), ['QMEINVAL', 'replyqueue']],
    ['two times', () => send({ flags: 0x600 }), ['QMEINVAL', 'TPQTIME_ABS', 'TPQTIME_REL']],
    ['unknown bit', () => send({ flags: 0x100000 }), ['QMEINVAL', '0x100000']],
    ['out of order', () => send({ flags: TPQ.TPQTOP }), ['QMEINVAL', 'TPQTOP', Q, SPACE]],
  ])('%s', async (_name, call, words) => {
    const { message } = await failureOf(call());
    for (const word of words) expect(message).toContain(word);
  });
});
