// ADMIN over TCP: every verb, its refusals with a code and a text that name the place and the reason (C89), names (C63), restarts, and queues
// that the configuration no longer names (C53).
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Context,
  type QueueAdmin,
  type QueueInfo,
  TpError,
  TPQ,
} from '../../clients/typescript/index.ts';
import { ADMIN, OP } from '../../proto/codes.ts';
import { daemonForAll, daemonForTest, eventually } from '../support/in-process.ts';
import { type Frame, frame, Raw, type RawClient } from '../support/raw-client.ts';
import { codeOf, ctlOf, drain, failureOf, put, SPACE } from './helpers.ts';

const daemon = daemonForAll({
  spaces: [{ errorQueue: 'ERRQ', alias: 'ALIAS', queues: ['ERRQ', 'DECLARED'] }],
});
let ctx: Context;
let admin: QueueAdmin;
beforeAll(async () => {
  ctx = await daemon.join({ cltname: 'operator' });
  admin = ctx.admin('ALIAS');
});

const DEFAULTS: Partial<QueueInfo> = {
  order: 'fifo',
  outOfOrder: 'none',
  retries: 0,
  delayS: 0,
  policy: 'persist',
  expiryS: -1,
  high: '100%',
  low: '0%',
  cmd: '',
  nonPersistentHigh: '100%',
  nonPersistentLow: '0%',
  nonPersistentCmd: '',
  enqueuePaused: false,
  dequeuePaused: false,
  messages: 0,
  ready: 0,
  delayed: 0,
  locked: 0,
  pending: 0,
  persistentMessages: 0,
  bytes: 0,
  pages: 0,
  nonPersistentMessages: 0,
  nonPersistentBytes: 0,
  waiting: 0,
  enqueued: 0,
  dequeued: 0,
  expired: 0,
  armed: true,
  nonPersistentArmed: true,
};

/** The queue ALIAS of this file's daemon is served under. */
const put1 = (queue: string, data: unknown): Promise<void> => ctx.tpenqueue('ALIAS', queue, null, data);
const take1 = async (queue: string): Promise<unknown> =>
  (await ctx.tpdequeue('ALIAS', queue, null, null)).data;

/** A map, by its bytes. */
function mapOf(hex: string): Raw {
  return new Raw(Buffer.from(hex, 'hex'));
}

/** Of 123 bytes and more: such queues fill a page. */
function longName(i: number): string {
  return `${'キュー'.repeat(13)}${String(i).padStart(6, '0')}`;
}

async function taken(raw: RawClient, count: number): Promise<Frame[]> {
  const frames: Frame[] = [];
  for (let i = 0; i < count; i++) frames.push(await raw.next());
  return frames;
}

describe('create', () => {
  it('without attributes has every default; the queue works at once', async () => {
    expect(await admin.create('PLAIN')).toEqual({ name: 'PLAIN', ...DEFAULTS });
    await put1('PLAIN', 'x');
    expect(await take1('PLAIN')).toBe('x');
  });

  it('with attributes says what is in effect, by the alias and by the own name of the space', async () => {
    const given = {
      order: 'PRIORITY',
      outOfOrder: 'msgid,top',
      retries: 3,
      delayS: 5,
      policy: 'nonpersist',
      expiryS: 60,
      high: '100m',
      low: '0',
      cmd: 'true',
      nonPersistentHigh: '9B',
      nonPersistentLow: '1B',
      nonPersistentCmd: 'false',
      dequeuePaused: true,
    } as const;
    const effective = { ...given, order: 'priority,fifo', outOfOrder: 'top,msgid' };
    expect(await ctx.admin(SPACE).create('FULL', given)).toEqual({ name: 'FULL', ...DEFAULTS, ...effective });
    expect(await admin.info('FULL')).toMatchObject(effective);
  });

  it('twice is TPEMATCH and changes nothing', async () => {
    await admin.create('TWICE', { retries: 1 });
    const failure = await failureOf(admin.create('TWICE', { retries: 2 }));
    expect([await codeOf(Promise.reject(failure)), failure.message]).toEqual([
      'TPEMATCH',
      expect.stringMatching(/TWICE.*QSPACE.*already/),
    ]);
    expect((await admin.info('TWICE')).retries).toBe(1);
  });

  it('logs who asked, from where', async () => {
    await admin.create('LOGGED');
    await codeOf(admin.create('LOGGED'));
    expect(daemon.lines('info', 'queue LOGGED created', '"cltname":"operator"', '127.0.0.1:')).toHaveLength(
      1,
    );
    expect(daemon.lines('warn', 'refused: TPEMATCH', 'LOGGED', '127.0.0.1:')).toHaveLength(1);
  });

  it('up to the number of queues that the space may have, destroyed ones not counted', async () => {
    const small = await daemonForTest({ spaces: [{ queues: ['A'], more: 'QUEUES=3' }] });
    const one = (await small.join()).admin(SPACE);
    await one.create('B');
    await one.create('C');
    const failure = await failureOf(one.create('D'));
    expect(failure.message).toMatch(/QMENOSPACE.*QSPACE has 3 queues.*QUEUES 3/);
    await one.destroy('B');
    expect((await one.create('D')).name).toBe('D');
    expect(await one.space()).toMatchObject({ queues: 3, curQueues: 3 });
  });
});

describe('change', () => {
  it('of some attributes leaves the others', async () => {
    await admin.create('CHANGED', { retries: 3, delayS: 5 });
    expect(await admin.change('CHANGED', { retries: 4 })).toMatchObject({ retries: 4, delayS: 5 });
    expect(await admin.change('CHANGED', {})).toMatchObject({ retries: 4, delayS: 5 });
    expect(daemon.lines('info', 'queue CHANGED changed: retries 3 → 4')).toHaveLength(1);
  });

  it('of the order is refused, but for the same one', async () => {
    await admin.create('ORDERED', { order: 'priority' });
    const failure = await failureOf(admin.change('ORDERED', { order: 'fifo', retries: 9 }));
    expect(failure.message).toMatch(/QMEINVAL: change: order: .*fixed.*ORDERED is priority,fifo/);
    expect(await admin.change('ORDERED', { order: 'priority,fifo', retries: 1 })).toMatchObject({
      retries: 1,
    });
  });

  it('takes effect for messages that come', async () => {
    await admin.create('POLICY');
    await put1('POLICY', 'on disk');
    await admin.change('POLICY', { expiryS: 0 });
    await put1('POLICY', 'born expired');
    expect(await admin.info('POLICY')).toMatchObject({ messages: 1, persistentMessages: 1 });
  });
});

describe('what is refused', () => {
  it.each<[string, () => Promise<unknown>, string, RegExp]>([
    [
      'an attribute',
      () => admin.create('BAD', { order: 'fifo,time' }),
      'QMEINVAL',
      /order: "fifo,time".*legal: a list/,
    ],
    ['a number', () => admin.change('DECLARED', { retries: -1 }), 'QMEINVAL', /retries: -1.*0\.\.2147483647/],
    [
      'half a number',
      () => admin.change('DECLARED', { retries: 1.5 }),
      'QMEINVAL',
      /retries: 1\.5.*a whole number/,
    ],
    [
      'an unknown attribute',
      () => admin.create('BAD', { color: 1 } as object),
      'QMEINVAL',
      /color.*legal: order,/,
    ],
    ['an unsendable attribute', () => admin.create('BAD', { 'a b': 1 } as object), 'QMEINVAL', /"a b"/],
    ['an empty name', () => admin.create(''), 'TPEINVAL', /queue name ""/],
    ['a name of 128 bytes', () => admin.create('x'.repeat(128)), 'QMEINVAL', /128 bytes.*1\.\.127 bytes/],
    ['an unknown queue', () => admin.info('NONE'), 'QMEBADQUEUE', /no queue NONE in queue space QSPACE/],
    ['changing it', () => admin.change('NONE', {}), 'QMEBADQUEUE', /no queue NONE/],
    ['destroying it', () => admin.destroy('NONE', { purge: true }), 'QMEBADQUEUE', /no queue NONE/],
    ['purging it', () => admin.purge('NONE'), 'QMEBADQUEUE', /no queue NONE/],
    ['pausing it', () => admin.pause('NONE'), 'QMEBADQUEUE', /no queue NONE/],
    ['an unknown space', () => ctx.admin('NOWHERE').info('Q'), 'TPENOENT', /no queue space NOWHERE/],
    ['no space', () => ctx.admin('').info('Q'), 'TPEINVAL', /queue space name ""/],
    ['a pause of nothing', () => admin.pause('DECLARED', { enqueue: false }), 'QMEINVAL', /enqueue, dequeue/],
    ['a page of nothing', () => admin.list({ limit: 0 }), 'QMEINVAL', /limit: 0.*1\.\.1000/],
    ['a page of too many', () => admin.list({ limit: 1001 }), 'QMEINVAL', /limit: 1001/],
  ])('%s', async (_what, call, code, text) => {
    const failure = await failureOf(call());
    expect([await codeOf(Promise.reject(failure)), failure.message]).toEqual([
      code,
      expect.stringMatching(text),
    ]);
  });

  it('a member that the verb does not have, a name where none is, a verb of a later release: the connection goes on', async () => {
    const raw = await daemon.raw();
    raw.send(OP.ADMIN, 2, ADMIN.QPURGE, 'ALIAS', 'DECLARED', mapOf('81a16101'));
    raw.send(OP.ADMIN, 3, ADMIN.QLIST, 'ALIAS', 'DECLARED', mapOf('80'));
    raw.send(OP.ADMIN, 4, ADMIN.QINFO, 'ALIAS', '', mapOf('80'));
    raw.send(OP.ADMIN, 5, 200, 'ALIAS', 'DECLARED', mapOf('80'));
    raw.send(OP.ADMIN, 6, ADMIN.QINFO, 'ALIAS', 'DECLARED', mapOf('80'));
    const answers = new Map((await taken(raw, 5)).map(([op, id, ...rest]) => [id, [op, ...rest]]));
    expect(answers.get(2)).toEqual([OP.ERROR, 24, -1, expect.stringContaining('legal: no members')]);
    expect(answers.get(3)).toEqual([OP.ERROR, 4, 0, expect.stringContaining('takes no queue name')]);
    expect(answers.get(4)).toEqual([OP.ERROR, 4, 0, expect.stringContaining('is empty')]);
    expect(answers.get(5)).toEqual([OP.ERROR, 4, 0, expect.stringContaining('no verb 200')]);
    expect(answers.get(6)?.[0]).toBe(OP.ADMIN + 128);
  });
});

describe('info', () => {
  it('counts by state, in and out', async () => {
    await admin.create('COUNTED', { retries: 9, delayS: 3600 });
    for (const data of ['a', 'b', 'c', 'd']) await put1('COUNTED', data);
    await ctx.tpenqueue('ALIAS', 'COUNTED', ctlOf(TPQ.TPQTIME_REL, { deq_time: 3600 }), 'later');
    await take1('COUNTED');
    const other = await daemon.join();
    await other.tpbegin(60);
    await other.tpdequeue('ALIAS', 'COUNTED', null, null);
    await other.tpenqueue('ALIAS', 'COUNTED', null, 'pending');
    const info = await admin.info('COUNTED');
    expect(info).toMatchObject({
      messages: 4,
      ready: 2,
      delayed: 1,
      locked: 1,
      pending: 1,
      enqueued: 5,
      dequeued: 1,
    });
    expect(info).toMatchObject({ persistentMessages: 4, pages: 4, nonPersistentMessages: 0 });
    expect(info.bytes).toBeGreaterThan(100);
    await other.tpabort();
    expect(await admin.info('COUNTED')).toMatchObject({ ready: 2, delayed: 2, locked: 0, pending: 0 });
  });
});

describe('list', () => {
  it('in pages shows every queue once, in the order of names, and what is made behind the page', async () => {
    const listed = await daemonForTest({ spaces: [{ queues: ['M', 'Z', 'A', 'ä', '📨'] }] });
    const one = (await listed.join()).admin(SPACE);
    const first = await one.list({ limit: 2 });
    expect([first.queues.map(({ name }) => name), first.more]).toEqual([['A', 'M'], true]);
    await one.destroy('M');
    await one.create('B');
    await one.create('N');
    const second = await one.list({ after: 'M', limit: 100 });
    expect([second.queues.map(({ name }) => name), second.more]).toEqual([['N', 'Z', 'ä', '📨'], false]);
    expect(second.queues[0]).toEqual(await one.info('N'));
  });

  it('of thousands with long values keeps every answer within 64 KiB, with the least message limit too', async () => {
    const many = await daemonForTest({ spaces: [{ queues: ['A'] }] }, { messageBytesMax: 1 });
    const one = (await many.join()).admin(SPACE);
    await Promise.all(
      Array.from({ length: 300 }, (_, i) => one.create(longName(i), { cmd: 'é'.repeat(63) })),
    );
    const raw = await many.raw();
    raw.send(OP.ADMIN, 2, ADMIN.QLIST, SPACE, '', new Raw(Buffer.from('81a56c696d6974cd03e8', 'hex')));
    const [[, , members, items] = []] = await taken(raw, 1);
    expect(members).toEqual({ more: true });
    expect(Array.isArray(items) && items.length > 20 && items.length < 300).toBe(true);
    const names: string[] = [];
    for await (const queue of one.queues()) names.push(queue.name);
    expect(names).toEqual(['A', ...Array.from({ length: 300 }, (_, i) => longName(i))]);
  });
});

describe('pause and resume', () => {
  it('close one way, with QMESHARE for calls and for those that wait; the other way goes on', async () => {
    await admin.create('P');
    const other = await daemon.join();
    const waiting = codeOf(other.tpdequeue('ALIAS', 'P', ctlOf(TPQ.TPQWAIT), null));
    await eventually(async () => (await admin.info('P')).waiting === 1);
    expect(await admin.pause('P', { dequeue: true })).toMatchObject({
      dequeuePaused: true,
      enqueuePaused: false,
    });
    expect(await waiting).toBe('QMESHARE');
    await put1('P', 'x');
    expect((await failureOf(take1('P'))).message).toMatch(/QMESHARE.*queue P of QSPACE is paused/);
    await admin.pause('P', { enqueue: true });
    expect((await failureOf(put1('P', 'y'))).message).toMatch(/QMESHARE.*queue P of QSPACE is paused/);
    expect(await admin.resume('P', { dequeue: true })).toMatchObject({
      dequeuePaused: false,
      enqueuePaused: true,
    });
    expect(await take1('P')).toBe('x');
    expect(await admin.resume('P')).toMatchObject({ dequeuePaused: false, enqueuePaused: false });
    await put1('P', 'z');
    expect(await take1('P')).toBe('z');
  });

  it('do not undo what a transaction has done already', async () => {
    await admin.create('PT');
    await put1('PT', 'locked');
    const other = await daemon.join();
    await other.tpbegin(60);
    await other.tpdequeue('ALIAS', 'PT', null, null);
    await other.tpenqueue('ALIAS', 'PT', null, 'pending');
    await admin.pause('PT');
    await other.tpcommit();
    expect(await admin.info('PT')).toMatchObject({ messages: 1, enqueuePaused: true });
  });
});

describe('purge', () => {
  it('removes what is available and what is delayed, and says how many', async () => {
    await admin.create('PURGED', { order: 'priority' });
    await Promise.all(Array.from({ length: 2500 }, (_, i) => put1('PURGED', i)));
    await ctx.tpenqueue('ALIAS', 'PURGED', ctlOf(TPQ.TPQTIME_REL, { deq_time: 3600 }), 'later');
    expect(await admin.purge('PURGED')).toBe(2501);
    expect(await admin.info('PURGED')).toMatchObject({
      messages: 0,
      pages: 0,
      bytes: 0,
      enqueued: 2501,
      dequeued: 0,
    });
    expect(await admin.purge('PURGED')).toBe(0);
  });

  it.each(['lifo', 'fifo'])(
    'leaves what was enqueued after it, whatever the order (%s), and although others were taken meanwhile',
    async (order) => {
      const name = `MIXED ${order}`;
      await admin.create(name, { order });
      await Promise.all(Array.from({ length: 2500 }, (_, i) => put1(name, i)));
      const raw = await daemon.raw();
      // In one packet: all of it is handled before the purge's first slice.
      const queue = ['ALIAS', name];
      const dequeues = Array.from({ length: 5 }, (_, i) =>
        frame(OP.DEQUEUE, 10 + i, queue, null, 0, 0, 0, '', 0),
      );
      const enqueues = Array.from({ length: 900 }, (_, i) =>
        frame(OP.ENQUEUE, 100 + i, queue, null, 0, 0, 1, '', Buffer.from('new')),
      );
      const purge = frame(OP.ADMIN, 2, ADMIN.QPURGE, ...queue, new Raw(Buffer.of(0x80)));
      raw.write(Buffer.concat([purge, ...dequeues, ...enqueues]));
      const frames = await taken(raw, 906);
      expect(frames.find(([, id]) => id === 2)?.slice(2)).toEqual([{ count: 2495 }, []]);
      const left = await Promise.all(Array.from({ length: 900 }, () => take1(name)));
      expect(new Set(left)).toEqual(new Set(['new']));
      expect(await admin.info(name)).toMatchObject({ messages: 0 });
    },
  );
});

describe('destroy', () => {
  it('of a queue with messages needs to be told so', async () => {
    await admin.create('HELD');
    await put1('HELD', 'x');
    const failure = await failureOf(admin.destroy('HELD'));
    expect(failure.message).toMatch(/QMEINUSE: destroy: queue HELD of QSPACE holds 1 messages/);
    expect(await codeOf(admin.destroy('HELD', { purge: false }))).toBe('QMEINUSE');
    expect(await admin.destroy('HELD', { purge: true })).toBe(1);
    expect(await codeOf(put1('HELD', 'y'))).toBe('QMEBADQUEUE');
    expect(await codeOf(admin.info('HELD'))).toBe('QMEBADQUEUE');
  });

  it('answers who waits with QMEABORTED at once, and the name is free at once', async () => {
    await admin.create('GONE', { retries: 5 });
    const others = await Promise.all([daemon.join(), daemon.join()]);
    await others[1].tpbegin(60);
    const waiting = others.map((one) => failureOf(one.tpdequeue('ALIAS', 'GONE', ctlOf(TPQ.TPQWAIT), null)));
    await eventually(async () => (await admin.info('GONE')).waiting === 2);
    expect(await admin.destroy('GONE')).toBe(0);
    for (const failure of await Promise.all(waiting))
      expect(failure.message).toMatch(/QMEABORTED.*GONE.*destroyed/);
    expect(await admin.create('GONE')).toEqual({ name: 'GONE', ...DEFAULTS });
    await put1('GONE', 'x');
    expect(await take1('GONE')).toBe('x');
    await others[1].tpabort();
  });

  it('of the error queue is said to drop messages from now on', async () => {
    const one = await daemonForTest({ spaces: [{ errorQueue: 'E', queues: ['E'] }] });
    await (await one.join()).admin(SPACE).destroy('E');
    expect(one.lines('info', 'queue E destroyed', 'error queue', 'dropped')).toHaveLength(1);
  });
});

describe('over a restart', () => {
  it('everything is as it was answered: created, changed, paused, purged, destroyed, re-created', async () => {
    const life = await daemonForTest({ spaces: [{ queues: ['Q'] }] });
    const one = await life.join();
    const ops = one.admin(SPACE);
    await ops.create('NEW', { order: 'lifo', retries: 2 });
    await put(one, 'NEW', 'a', 'b');
    await ops.change('NEW', { delayS: 7 });
    await ops.pause('NEW', { enqueue: true });
    await ops.create('DEAD');
    await put(one, 'DEAD', 'x');
    await ops.destroy('DEAD', { purge: true });
    await ops.create('AGAIN', { order: 'fifo' });
    await put(one, 'AGAIN', 'old');
    await ops.destroy('AGAIN', { purge: true });
    await ops.create('AGAIN', { order: 'lifo' });
    await put(one, 'AGAIN', 'new');
    await ops.create('EMPTIED');
    await put(one, 'EMPTIED', 'x', 'y');
    await ops.purge('EMPTIED');
    await ops.pause('Q');
    const before = await ops.info('NEW');
    for (let i = 0; i < 2; i++) {
      await life.restart();
      expect(await ops.info('NEW')).toEqual({ ...before, enqueued: 0 });
      expect(before).toMatchObject({
        order: 'lifo',
        retries: 2,
        delayS: 7,
        enqueuePaused: true,
        messages: 2,
      });
      expect(await codeOf(ops.info('DEAD'))).toBe('QMEBADQUEUE');
      expect(await ops.info('AGAIN')).toMatchObject({ order: 'lifo', messages: 1 });
      expect(await ops.info('EMPTIED')).toMatchObject({ messages: 0 });
      expect(await ops.info('Q')).toMatchObject({ enqueuePaused: true, dequeuePaused: true });
    }
    expect(await drain(one, 'AGAIN')).toEqual(['new']);
    expect(await drain(one, 'NEW')).toEqual(['b', 'a']);
  });

  it('a queue that the configuration no longer names stays, can be emptied and destroyed, and is whole when it is named again', async () => {
    const life = await daemonForTest({ spaces: [{ queues: ['Q', 'R', 'S'] }] });
    const one = await life.join();
    await put(one, 'R', 'r');
    await put(one, 'S', 's');
    await life.restart({ spaces: [{ queues: ['Q'] }] });
    expect(life.lines('warn', 'queue R is no longer in the configuration')).toHaveLength(1);
    const ops = one.admin(SPACE);
    expect(await ops.info('R')).toMatchObject({ messages: 1 });
    expect(await ops.purge('S')).toBe(1);
    expect(await ops.destroy('S')).toBe(0);
    await life.restart({ spaces: [{ queues: ['Q', 'R', 'S'] }] });
    expect(await drain(one, 'R')).toEqual(['r']);
    expect(await ops.info('S')).toMatchObject({ messages: 0 });
  });
});

describe('names', () => {
  it('of every kind are created, listed as they are, used and destroyed, also after a restart', async () => {
    const names = [
      ' ',
      'a b',
      'a/b',
      '../../x',
      '.',
      '..',
      'quote"',
      '#x',
      '*x',
      'DEFAULT:',
      'ä',
      'a\u0308',
      'キュー',
      '📨',
      'x'.repeat(127),
    ];
    names.push('Case', 'CASE', SPACE, '__proto__', 'constructor');
    const life = await daemonForTest({ spaces: [{ queues: ['Q'] }] });
    const one = await life.join();
    const ops = one.admin(SPACE);
    for (const name of names) await ops.create(name);
    for (const name of ['tab\t', 'a\nb', 'a\0b', 'x'.repeat(128)])
      expect(await codeOf(ops.create(name))).toBe('QMEINVAL');
    for (const name of names) await put(one, name, `for ${name}`);
    await life.restart();
    const listed: string[] = [];
    for await (const { name } of ops.queues()) listed.push(name);
    expect(new Set(listed)).toEqual(new Set([...names, 'Q']));
    for (const name of names) expect([name, await drain(one, name)]).toEqual([name, [`for ${name}`]]);
    for (const name of names) expect(await ops.destroy(name)).toBe(0);
    expect((await ops.list()).queues.map(({ name }) => name)).toEqual(['Q']);
  });
});

describe('the space', () => {
  it('shows its attributes and what is used of them', async () => {
    const one = await daemonForTest({ spaces: [{ errorQueue: 'E', alias: 'A', queues: ['E', 'Q'] }] });
    const joined = await one.join();
    await joined.tpenqueue('A', 'Q', null, 'x');
    const info = await joined.admin('A').space();
    expect(info).toMatchObject({ name: SPACE, errorQueue: 'E', aliases: ['A'], state: 'open', blocking: 16 });
    expect(info).toMatchObject({
      curQueues: 2,
      curMessages: 1,
      curPages: 1,
      curTransactions: 0,
      doomedQueues: 0,
    });
    expect(info.device.endsWith('data1')).toBe(true);
  });
});

describe('a context that was ended', () => {
  it('takes no request', async () => {
    const one = await daemon.join();
    const ops = one.admin('ALIAS');
    await one.tpterm();
    expect(await codeOf(ops.info('DECLARED'))).toBe('TPEPROTO');
    expect(TpError.is(await failureOf(ops.purge('DECLARED')))).toBe(true);
  });
});
