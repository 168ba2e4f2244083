// The ADMIN verbs about messages and transactions over TCP: pages, every selection and change, what is refused and how, transactions of all
// states, and that others go on meanwhile.
import { join } from 'node:path';
import { Packr } from 'msgpackr';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, type QueueAdmin, TPQ, TPQCTL } from '../../clients/typescript/index.ts';
import { ADMIN, OP } from '../../proto/codes.ts';
import type { Members } from '../../proto/message.ts';
import { collect } from '../support/collect.ts';
import { daemonForAll } from '../support/in-process.ts';
import { Raw } from '../support/raw-client.ts';
import { reachableDevice, runScript } from '../support/qmadmin.ts';
import { codeOf, failureOf, SPACE } from './helpers.ts';

const daemon = daemonForAll({
  spaces: [{ errorQueue: 'ERRQ', alias: 'ALIAS', queues: ['ERRQ', 'A', 'B', 'MANY', 'PEEK', 'TX'] }],
});
let ctx: Context;
let admin: QueueAdmin;
beforeAll(async () => {
  ctx = await daemon.join({ cltname: 'operator' });
  admin = ctx.admin('ALIAS');
});

type Init = ConstructorParameters<typeof TPQCTL>[0];
async function put(queue: string, data: unknown, init: Init = {}): Promise<string> {
  const ctl = new TPQCTL({ ...init, flags: (init?.flags ?? 0) | TPQ.TPQMSGID });
  await ctx.tpenqueue('ALIAS', queue, ctl, data);
  return Buffer.from(ctl.msgid ?? []).toString();
}
const namesOf = async (queue: string, selection = {}): Promise<string[]> =>
  (await collect(admin.messages(queue, { ...selection, dataBytes: 100 }))).map(({ data }) =>
    Buffer.from(data.join(''), 'hex').toString(),
  );

describe('MSGLIST', () => {
  it('shows what each message has, and selects by all criteria', async () => {
    const first = await put('A', 'one', { flags: TPQ.TPQPRIORITY, priority: 80 });
    await put('A', 'two', { flags: TPQ.TPQCORRID | TPQ.TPQREPLYQ, corrid: 'c', replyqueue: 'R' });
    await put('A', 'three', { flags: TPQ.TPQTIME_REL | TPQ.TPQEXPTIME_REL, deq_time: 100, exp_time: 500 });
    const [one, two, three] = await collect(admin.messages('A', { dataBytes: 2 }));
    expect(one).toMatchObject({
      msgid: first,
      priority: 80,
      state: 'ready',
      length: 3,
      data: ['6f6e'],
      type: 'STRING',
    });
    const corrid = Buffer.concat([Buffer.from('c'), Buffer.alloc(31)]).toString('hex');
    expect(two).toMatchObject({ corrid, replyqueue: 'R', available: -1, expires: -1, damaged: false });
    expect(three).toMatchObject({ state: 'delayed', retries: 0, persistent: true });
    expect(three?.expires ?? 0).toBeGreaterThan(three?.available ?? Infinity);
    expect(await namesOf('A', { priorityFrom: 60 })).toEqual(['one']);
    expect(await namesOf('A', { priorityTo: 60 })).toEqual(['two', 'three']);
    expect(await namesOf('A', { corrid })).toEqual(['two']);
    expect(await namesOf('A', { msgid: first })).toEqual(['one']);
    expect(await namesOf('A', { availableFrom: '+90', availableTo: '+110' })).toEqual(['three']);
    expect(await namesOf('A', { expiresFrom: '0' })).toEqual(['three']);
    expect(await namesOf('A', { neverExpires: true, persistent: true })).toEqual(['one', 'two']);
    expect(await admin.changeMessages('A', {}, { action: 'delete' })).toEqual({ changed: 3, held: 0 });
  });

  it('gives page after page, each within an answer', async () => {
    await Promise.all(Array.from({ length: 250 }, (_, n) => put('MANY', `${n} ${'x'.repeat(400)}`)));
    const found = await collect(admin.messages('MANY', { dataBytes: 16_384 }));
    expect(new Set(found.map(({ msgid }) => msgid)).size).toBe(250);
    const large = 'y'.repeat(40_000);
    await put('PEEK', large);
    const [shown] = await collect(admin.messages('PEEK', { dataBytes: 16_384 }));
    expect(shown).toMatchObject({ length: 40_000 });
    expect(Buffer.from(shown?.data.join('') ?? '', 'hex').toString()).toBe(large.slice(0, 16_384));
    expect(await admin.changeMessages('MANY', {}, { action: 'move', queue: 'B' })).toEqual({
      changed: 250,
      held: 0,
    });
    expect(await admin.purge('B')).toBe(250);
  });

  it.each<[Members, RegExp]>([
    [{ wrong: 1 }, /^wrong: 1 is not legal; legal: the members msgid, corrid/],
    [{ msgid: 'x' }, /^msgid: "x" is not legal; legal: 32 hexadecimal digits/],
    [{ corrid: 'ab' }, /^corrid: "ab" is not legal/],
    [{ priorityFrom: 0 }, /^priorityFrom: 0 is not legal; legal: a number 1..100/],
    [{ availableTo: 'soon' }, /^availableTo: "soon" is not legal; legal: \+SECONDS/],
    [{ neverExpires: true, expiresTo: '5' }, /^neverExpires: true is not legal/],
    [{ persistent: 1 }, /^persistent: 1 is not legal; legal: true or false/],
    [{ cursor: 'abc' }, /^cursor: "abc" is not legal; legal: what an answer of MSGLIST gave/],
    [{ limit: 0 }, /^limit: 0 is not legal/],
    [{ dataBytes: 16_385 }, /^dataBytes: 16385 is not legal/],
  ])('refuses %o', async (members, text) => {
    expect(await refused(ADMIN.MSGLIST, 'A', members)).toMatch(text);
  });
});

/** The text of what a request that the SDK would not send is answered. */
async function refused(verb: number, qname: string, members: Members): Promise<string> {
  const raw = await daemon.raw();
  await raw.hello();
  raw.send(OP.ADMIN, 2, verb, 'ALIAS', qname, new Raw(new Packr({ useRecords: false }).pack(members)));
  const reply = await raw.next();
  expect(reply[0]).toBe(OP.ERROR);
  return String(reply[4]);
}

describe('MSGCHANGE', () => {
  it('changes priority, times and queue, as a consumer sees them', async () => {
    await put('A', 'slow');
    const id = await put('A', 'fast');
    expect(
      await admin.changeMessages('A', { msgid: id }, { action: 'priority', priority: 99 }),
    ).toMatchObject({ changed: 1 });
    const ctl = new TPQCTL({ flags: TPQ.TPQPRIORITY | TPQ.TPQGETBYMSGID });
    ctl.msgid = Buffer.from(id);
    expect((await ctx.tpdequeue('ALIAS', 'A', ctl, null)).data).toBe('fast');
    expect(ctl).toMatchObject({ priority: 99, flags: TPQ.TPQPRIORITY });
    expect(await admin.changeMessages('A', {}, { action: 'time', time: '+1000' })).toMatchObject({
      changed: 1,
    });
    expect(await codeOf(ctx.tpdequeue('ALIAS', 'A', null, null))).toBe('QMENOMSG');
    const waiting = ctx.fork().tpdequeue('ALIAS', 'A', new TPQCTL({ flags: TPQ.TPQWAIT }), null);
    expect(await admin.changeMessages('A', {}, { action: 'time', time: '0' })).toMatchObject({ changed: 1 });
    expect((await waiting).data).toBe('slow');
    await put('A', 'gone');
    expect(await admin.changeMessages('A', {}, { action: 'expiry', expiry: 'none' })).toMatchObject({
      changed: 1,
    });
    expect(await admin.changeMessages('A', {}, { action: 'expiry', expiry: '+0' })).toMatchObject({
      changed: 1,
    });
    expect(await admin.info('A')).toMatchObject({ messages: 0 });
  });

  it('leaves and counts what an open transaction holds', async () => {
    await put('TX', 'held');
    await put('TX', 'free');
    const other = ctx.fork();
    await other.tpbegin(60);
    await other.tpdequeue('ALIAS', 'TX', null, null);
    const [transaction, ...more] = await collect(admin.transactions());
    expect([transaction, more]).toMatchObject([{ state: 'ACTIVE', taken: 1, enqueued: 0 }, []]);
    expect(transaction?.transaction).toBe(other.transactionId);
    const failure = await failureOf(admin.endTransaction(transaction?.index ?? 0, false));
    expect(failure.message).toMatch(/TPENOENT.*has no prepared transaction/);
    expect(await admin.changeMessages('TX', {}, { action: 'delete' })).toEqual({ changed: 1, held: 1 });
    await other.tpabort();
    expect(await collect(admin.transactions())).toEqual([]);
    expect(await admin.purge('TX')).toBeGreaterThanOrEqual(0);
  });

  it.each<[string, Members, RegExp]>([
    ['A', { action: 'burn' }, /^action: "burn" is not legal; legal: delete, priority, time, expiry or move/],
    ['A', {}, /^action: "" is not legal/],
    ['A', { action: 'priority' }, /^priority: "" is not legal; legal: a number 1..100/],
    ['A', { action: 'time', time: '-1' }, /^time: "-1" is not legal; legal: \+SECONDS/],
    ['A', { action: 'expiry', expiry: 'never' }, /^expiry: "never" is not legal; legal: none, /],
    ['A', { action: 'move', queue: 'NONE' }, /^there is no queue NONE in queue space/],
    ['A', { action: 'move', queue: 'A' }, /^queue: A is where the messages are/],
    ['A', { action: 'delete', msgid: '0'.repeat(32) }, /^the msgid is none of queue space/],
    ['NONE', { action: 'delete' }, /^there is no queue NONE/],
    ['', { action: 'delete' }, /^the name of the queue is empty/],
  ])('of %s refuses %o', async (qname, members, text) => {
    expect(await refused(ADMIN.MSGCHANGE, qname, members)).toMatch(text);
  });
});

describe('TRANLIST and TRANEND', () => {
  it.each<[number, Members, RegExp]>([
    [ADMIN.TRANLIST, { after: 'x' }, /^after: "x" is not legal/],
    [ADMIN.TRANLIST, { limit: 501 }, /^limit: 501 is not legal; legal: a number 1..500/],
    [ADMIN.TRANLIST, { decided: 1 }, /^decided: 1 is not legal/],
    [ADMIN.TRANLIST, { other: 1 }, /^other: 1 is not legal; legal: the members after, limit, decided/],
    [ADMIN.TRANEND, { index: 1 }, /^commit: "" is not legal; legal: true or false/],
    [ADMIN.TRANEND, { index: 'x', commit: true }, /^index: "x" is not legal/],
    [ADMIN.TRANEND, { index: 77, commit: true }, /has no prepared transaction 77/],
  ])('%i refuses %o', async (verb, members, text) => {
    expect(await refused(verb, '', members)).toMatch(text);
  });

  it('take no queue', async () => {
    expect(await refused(ADMIN.TRANLIST, 'A', {})).toMatch(/^this verb takes no queue name/);
  });
});

describe('qmadmin', () => {
  it('does the same through the running daemon', async () => {
    await admin.purge('A');
    await put('A', 'by qmadmin', { flags: TPQ.TPQEXPTIME_REL, exp_time: 500 });
    const device = reachableDevice(join(daemon.dir, 'data1'));
    const { out, err } = await runScript(
      [
        `qopen ${SPACE}`,
        'qset A',
        'qscan -e +1-+600',
        'qpeek',
        'qcp 3',
        'qcet none',
        'qlist',
        'qscan none',
        'verbose',
        'qlist',
        'qcq B',
        'qdltm',
        'qpt',
      ],
      device,
    );
    expect(err).toEqual([]);
    expect(out.map((line) => line.replace(/^[0-9a-f]{32}/, 'ID').replace(/ +/g, ' '))).toEqual([
      'ID: STRING, 10 bytes, priority 50',
      ' by qmadmin',
      '1 message changed',
      '1 message changed',
      'no message of queue A is selected (1401)',
      expect.stringMatching(/^MSGID PRIO .* CORRID$/),
      expect.stringMatching(/^ID 3 0 10 PERSIST DEFAULT - \S+ ready - - - - 0 -$/),
      '1 message moved to queue B',
      'no message of queue A is selected (1410)',
      expect.stringMatching(/^INDEX TRANSACTION STATE/),
    ]);
    expect(await admin.purge('B')).toBe(1);
  });
});
