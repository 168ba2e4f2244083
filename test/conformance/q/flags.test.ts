// TPQCTL: what every flag means on the way in and out, the QOS values, which bits come back, and the defaults [spec 1.2, 1.4, 1.5].
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPQ, type TPQCTL, TPQQOS } from '../../../clients/typescript/index.ts';
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
  OUTPUTS,
  parked,
  pool,
  send,
  sendCode,
  take,
  wait,
  wallS,
} from './support.ts';

const plain = pool({ name: 'P' }, 80);
const placing = pool({ name: 'O', outOfOrder: 'top,msgid' }, 7);
const brief = pool({ name: 'E', expiry: 100 }, 4);
const daemon = daemonForAll(
  domain([{ words: 'NONPERSIST="1m"', queues: [...plain.queues, ...placing.queues, ...brief.queues] }]),
);
let ctx: Context;
beforeAll(async () => {
  ctx = await daemon.join();
});

const FULL: Members = {
  priority: 80,
  corrid: id32(7, 3),
  replyqueue: 'RQ',
  failurequeue: 'FQ',
  delivery_qos: TPQQOS.TPQQOSPERSISTENT,
  reply_qos: TPQQOS.TPQQOSNONPERSISTENT,
};
const GIVEN = OUTPUTS & ~TPQ.TPQMSGID;
/** A structure whose members have values that nobody sent. */
const marked = (flags: number): TPQCTL =>
  ctlOf(flags, {
    priority: -9,
    corrid: 'mark',
    msgid: id32(1, 9),
    replyqueue: 'mark',
    failurequeue: 'mark',
    delivery_qos: -9,
    reply_qos: -9,
    deq_time: -9,
    exp_time: -9,
  });
const members = (ctl: TPQCTL): Record<string, unknown> => ({
  TPQPRIORITY: ctl.priority,
  TPQCORRID: typeof ctl.corrid === 'string' ? ctl.corrid : hex(ctl.corrid),
  TPQREPLYQ: ctl.replyqueue,
  TPQFAILUREQ: ctl.failurequeue,
  TPQDELIVERYQOS: ctl.delivery_qos,
  TPQREPLYQOS: ctl.reply_qos,
});
const MARKS = members(marked(0));
const VALUES = members(ctlOf(0, FULL));

describe('members that travel both ways', () => {
  it.each<[string, number]>([
    ['[spec 1.2: TPQCORRID]', TPQ.TPQCORRID],
    ['[spec 1.2: TPQFAILUREQ]', TPQ.TPQFAILUREQ],
    ['[spec 1.2: TPQPRIORITY]', TPQ.TPQPRIORITY],
    ['[spec 1.2: TPQREPLYQ]', TPQ.TPQREPLYQ],
    ['[spec 1.2: TPQDELIVERYQOS]', TPQ.TPQDELIVERYQOS],
    ['[spec 1.2: TPQREPLYQOS]', TPQ.TPQREPLYQOS],
  ])('%s alone: sent, returned, and no other member touched', async (title, bit) => {
    const queue = plain.next();
    await send(ctx, queue, 'x', { ...FULL, flags: bit });
    const ctl = marked(OUTPUTS & ~TPQ.TPQMSGID);
    await take(ctx, queue, ctl);
    const name = /: (\w+)\]/.exec(title)?.[1] ?? '';
    expect(ctl.flags).toBe(bit);
    expect(members(ctl)).toEqual({ ...MARKS, [name]: VALUES[name] });
    expect(ctl.msgid).toEqual(id32(1, 9));
  });

  it('[spec 1.2: TPQMSGID] returned by enqueue and by dequeue, the same 32 bytes', async () => {
    const queue = plain.next();
    const msgid = await send(ctx, queue, 'x');
    const ctl = ctlOf(TPQ.TPQMSGID);
    await take(ctx, queue, ctl);
    expect([ctl.flags, hex(ctl.msgid)]).toEqual([TPQ.TPQMSGID, hex(msgid)]);
  });

  it('[spec 1.2: TPNOFLAGS] no member is read, none is written', async () => {
    const queue = plain.next();
    const given = ctlOf(TPQ.TPNOFLAGS, { ...FULL, deq_time: 9999, exp_time: 0, msgid: id32(5) });
    await ctx.tpenqueue('QSPACE', queue, given, 'x');
    expect(hex(given.msgid)).toBe(hex(id32(5)));
    const ctl = marked(TPQ.TPNOFLAGS);
    expect((await take(ctx, queue, ctl)).data).toBe('x');
    expect([ctl.flags, members(ctl)]).toEqual([0, MARKS]);
    expect(await ctx.tpenqueue('QSPACE', queue, null, 'no structure')).toBeUndefined();
    expect((await take(ctx, queue, null)).data).toBe('no structure');
  });
});

describe('flags of enqueue alone: dequeue clears and ignores them', () => {
  it.each<[string, number]>([
    ['[spec 1.2: TPQTOP]', TPQ.TPQTOP],
    ['[spec 1.2: TPQBEFOREMSGID]', TPQ.TPQBEFOREMSGID],
    ['[spec 1.2: TPQTIME_ABS]', TPQ.TPQTIME_ABS],
    ['[spec 1.2: TPQTIME_REL]', TPQ.TPQTIME_REL],
    ['[spec 1.2: TPQEXPTIME_ABS]', TPQ.TPQEXPTIME_ABS],
    ['[spec 1.2: TPQEXPTIME_REL]', TPQ.TPQEXPTIME_REL],
    ['[spec 1.2: TPQEXPTIME_NONE]', TPQ.TPQEXPTIME_NONE],
  ])('%s is taken by enqueue, cleared by dequeue', async (_title, bit) => {
    const target = placing.next();
    const before = await send(ctx, target, 'first');
    const given = { flags: bit, deq_time: wallS(daemon), exp_time: wallS(daemon, 5000), msgid: before };
    if (bit === TPQ.TPQTIME_REL) given.deq_time = 0;
    await send(ctx, target, 'second', given);
    const ctl = marked(bit | TPQ.TPQPRIORITY);
    await take(ctx, target, ctl);
    expect([ctl.flags, ctl.deq_time, ctl.exp_time]).toEqual([0, -9, -9]);
    await drain(ctx, target);
  });
});

describe('flags of dequeue alone', () => {
  it('[spec 1.2: TPQWAIT] waits', async () => {
    const queue = plain.next();
    const waiting = wait(ctx, queue);
    await parked(daemon, queue, 1);
    await send(ctx, queue, 'x');
    expect(await waiting).toBe('x');
  });

  it('[spec 1.2: TPQPEEK] reads and leaves', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'x');
    const ctl = ctlOf(TPQ.TPQPEEK | TPQ.TPQMSGID);
    expect([(await take(ctx, queue, ctl)).data, ctl.flags]).toEqual(['x', TPQ.TPQMSGID]);
    expect(await drain(ctx, queue)).toEqual(['x']);
  });

  it.each<[string, number, 'msgid' | 'corrid']>([
    ['[spec 1.2: TPQGETBYMSGID]', TPQ.TPQGETBYMSGID, 'msgid'],
    ['[spec 1.2: TPQGETBYMSGIDOLD] as the new flag', TPQ.TPQGETBYMSGIDOLD, 'msgid'],
    ['[spec 1.2: TPQGETBYCORRID]', TPQ.TPQGETBYCORRID, 'corrid'],
    ['[spec 1.2: TPQGETBYCORRIDOLD] as the new flag', TPQ.TPQGETBYCORRIDOLD, 'corrid'],
  ])('%s selects, and every one of the 32 bytes counts', async (_title, flags, member) => {
    const queue = plain.next();
    await send(ctx, queue, 'other', { flags: TPQ.TPQCORRID, corrid: id32(6, 1) });
    const msgid = await send(ctx, queue, 'mine', { flags: TPQ.TPQCORRID, corrid: id32(7, 1) });
    const id = member === 'msgid' ? msgid : id32(7, 1);
    for (const at of [0, 15, 31]) {
      const wrong = Buffer.from(id);
      wrong.writeUInt8(wrong.readUInt8(at) ^ 0x40, at);
      const refused = await got(ctx, queue, { flags, [member]: wrong });
      expect(member === 'corrid' ? ['QMENOMSG'] : ['QMENOMSG', 'QMEBADMSGID']).toContain(refused);
    }
    const ctl = ctlOf(flags, { [member]: id });
    expect([(await take(ctx, queue, ctl)).data, ctl.flags]).toEqual(['mine', 0]);
    expect(await drain(ctx, queue)).toEqual(['other']);
  });

  it.each<[string, number]>([
    ['[spec 1.2: TPQGETBYMSGIDOLD] with TPQWAIT', TPQ.TPQGETBYMSGIDOLD],
    ['[spec 1.2: TPQGETBYCORRIDOLD] with TPQWAIT', TPQ.TPQGETBYCORRIDOLD],
  ])('%s is QMEINVAL', async (_title, flags) => {
    const queue = plain.next();
    const ids = { msgid: await send(ctx, queue, 'x'), corrid: id32(1) };
    expect(await got(ctx, queue, { ...ids, flags: flags | TPQ.TPQWAIT })).toBe('QMEINVAL');
    await drain(ctx, queue);
  });

  it('a corrid with text and NUL padding equals its bytes, and a prefix does not', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'x', { flags: TPQ.TPQCORRID, corrid: 'key' });
    const corrid = Buffer.concat([Buffer.from('key'), Buffer.alloc(29)]);
    expect(await got(ctx, queue, { flags: TPQ.TPQGETBYCORRID, corrid: 'ke' })).toBe('QMENOMSG');
    expect(await got(ctx, queue, { flags: TPQ.TPQGETBYCORRID, corrid })).toBe('x');
  });

  it('an unknown bit is QMEINVAL in both calls', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'x');
    const unknown = Array.from({ length: 12 }, (_, i) => 2 ** (20 + i));
    for (const flags of [...unknown, 0x40000, 0x80000]) {
      const ids = { msgid: id32(1), corrid: id32(1), flags };
      expect([flags, await sendCode(ctx, queue, ids), await got(ctx, queue, ids)]).toEqual([
        flags,
        'QMEINVAL',
        'QMEINVAL',
      ]);
    }
    expect(await drain(ctx, queue)).toEqual(['x']);
  });
});

describe('QOS values', () => {
  it.each<[string, number]>([
    ['[spec 1.2: TPQQOSDEFAULTPERSIST]', TPQQOS.TPQQOSDEFAULTPERSIST],
    ['[spec 1.2: TPQQOSPERSISTENT]', TPQQOS.TPQQOSPERSISTENT],
    ['[spec 1.2: TPQQOSNONPERSISTENT]', TPQQOS.TPQQOSNONPERSISTENT],
  ])('%s for delivery and for reply, returned as given', async (_title, qos) => {
    const queue = plain.next();
    const flags = TPQ.TPQDELIVERYQOS | TPQ.TPQREPLYQOS;
    for (const other of Object.values(TPQQOS)) {
      await send(ctx, queue, 'x', { flags, delivery_qos: qos, reply_qos: other });
      const ctl = ctlOf(flags);
      await take(ctx, queue, ctl);
      expect([ctl.flags, ctl.delivery_qos, ctl.reply_qos]).toEqual([flags, qos, other]);
    }
  });
});

describe('bits that come back', () => {
  it('[spec 1.4: tpenqueue] the flags stay; without TPQMSGID msgid stays too', async () => {
    const queue = plain.next();
    const mark = id32(3, 8);
    const ctl = ctlOf(GIVEN, { ...FULL, msgid: mark });
    await ctx.tpenqueue('QSPACE', queue, ctl, 'x');
    expect(hex(ctl.msgid)).toBe(hex(mark));
    expect(await code(ctx.tpenqueue('QSPACE', 'NOQUEUE', ctl, 'x'))).toBe('QMEBADQUEUE');
    expect(hex(ctl.msgid)).toBe(hex(mark));
    await drain(ctx, queue);
  });

  const bits = Object.entries(TPQ).filter(([, bit]) => bit !== 0 && (bit & GIVEN) === bit);
  const subsets = Array.from({ length: 2 ** bits.length }, (_, n) =>
    bits.reduce((flags, [, bit], i) => flags | (n & (1 << i) ? bit : 0), 0),
  );

  it('[spec 1.4: tpdequeue output bits] set by the caller and supplied: every subset of both', async () => {
    const queue = plain.next();
    // Each against itself, its complement, everything and nothing; one connection, so the n-th dequeue gets the n-th message.
    const cases = subsets.flatMap((supplied) =>
      [supplied, GIVEN & ~supplied, OUTPUTS, 0].map((asked) => [supplied, asked] as const),
    );
    const results = await Promise.all(
      cases.map(async ([supplied, asked]) => {
        const ctl = marked(asked);
        await Promise.all([send(ctx, queue, 'x', { ...FULL, flags: supplied }), take(ctx, queue, ctl)]);
        return ctl;
      }),
    );
    const wrong: string[] = [];
    for (const [i, [supplied, asked]] of cases.entries()) {
      const ctl = results[i] ?? marked(-1);
      const want = asked & (supplied | TPQ.TPQMSGID);
      const filled = { ...MARKS };
      for (const [name, bit] of bits) if ((want & bit) !== 0) filled[name] = VALUES[name];
      const good = ctl.flags === want && JSON.stringify(members(ctl)) === JSON.stringify(filled);
      if (!good) wrong.push(`${supplied.toString(16)} ${asked.toString(16)}: ${ctl.flags.toString(16)}`);
    }
    expect(wrong).toEqual([]);
  });

  it('[spec 1.4: So PRIORITY comes back off when none was given at enqueue] and QOS of a default', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'x');
    const ctl = marked(OUTPUTS);
    await take(ctx, queue, ctl);
    expect([ctl.flags, ctl.priority, ctl.delivery_qos, ctl.reply_qos]).toEqual([TPQ.TPQMSGID, -9, -9, -9]);
  });

  it('[spec 1.4: Loop hazard] a structure reused without setting flags selects nothing', async () => {
    const queue = plain.next();
    await send(ctx, queue, 1);
    await send(ctx, queue, 2, { flags: TPQ.TPQCORRID, corrid: 'c' });
    const ctl = ctlOf(TPQ.TPQGETBYCORRID | TPQ.TPQPEEK, { corrid: 'c' });
    const seen = [(await take(ctx, queue, ctl)).data, (await take(ctx, queue, ctl)).data];
    expect([seen, ctl.flags]).toEqual([[2, 1], 0]);
    await drain(ctx, queue);
  });

  it('the bits and members are the same after a restart', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'full', { ...FULL, flags: GIVEN, urcode: -7 });
    await send(ctx, queue, 'bare');
    await daemon.restart();
    const [full, bare] = [marked(OUTPUTS), marked(OUTPUTS)];
    await take(ctx, queue, full);
    await take(ctx, queue, bare);
    expect([full.flags, members(full), full.urcode]).toEqual([OUTPUTS, VALUES, -7]);
    expect([bare.flags, members(bare), bare.urcode]).toEqual([TPQ.TPQMSGID, MARKS, 0]);
  });
});

describe('without the flag', () => {
  it('[spec 1.5: TPQCORRID] no corrid, whatever the member says', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'x', { corrid: id32(9) });
    expect(await got(ctx, queue, { flags: TPQ.TPQGETBYCORRID, corrid: id32(9) })).toBe('QMENOMSG');
    const ctl = ctlOf(TPQ.TPQCORRID);
    await take(ctx, queue, ctl);
    expect(ctl.flags).toBe(0);
  });

  it('[spec 1.5: TPQREPLYQ / TPQFAILUREQ] none', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'x', { replyqueue: 'R', failurequeue: 'F' });
    const ctl = marked(TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ);
    await take(ctx, queue, ctl);
    expect([ctl.flags, ctl.replyqueue, ctl.failurequeue]).toEqual([0, 'mark', 'mark']);
  });

  it('[spec 1.5: TPQTIME_*] available at once', async () => {
    const queue = plain.next();
    await send(ctx, queue, 'x', { deq_time: 3600 });
    expect(await got(ctx, queue)).toBe('x');
  });

  it('[spec 1.5: TPQEXPTIME_*] the default of the queue; none is never', async () => {
    const [short, never] = [brief.next(), plain.next()];
    for (const queue of [short, never]) await send(ctx, queue, 'x', { exp_time: 1 });
    daemon.clock.advance(90_000);
    for (const queue of [short, never]) expect((await daemon.queue(queue)).messages).toBe(1);
    daemon.clock.advance(11_000);
    expect([await drain(ctx, short), await drain(ctx, never)]).toEqual([[], ['x']]);
  });

  it('an explicit expiry, and none, override the default of the queue', async () => {
    const queue = brief.next();
    await send(ctx, queue, 'longer', { flags: TPQ.TPQEXPTIME_REL, exp_time: 300 });
    await send(ctx, queue, 'never', { flags: TPQ.TPQEXPTIME_NONE });
    daemon.clock.advance(101_000);
    expect((await daemon.queue(queue)).messages).toBe(2);
    daemon.clock.advance(300_000);
    expect(await drain(ctx, queue)).toEqual(['never']);
  });
});
