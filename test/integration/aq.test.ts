// The AQ dialect from a program's side: tables, queues and subscribers made, messages enqueued and dequeued, through the SDK and a daemon. The
// numbers are those of the checks of oracle-aq 16.1.
import { describe, expect, test } from 'vitest';
import {
  AqError,
  type AqQueue,
  type Context,
  DBMS_AQ,
  DBMS_AQADM,
  TpError,
  TPQCTL,
} from '../../clients/typescript/index.ts';
import { daemonForAll, eventually } from '../support/in-process.ts';

const daemon = daemonForAll(`*RESOURCES
IPCKEY 52617
MASTER SITE1
MODEL SHM
*MACHINES
"localhost" LMID=SITE1 APPDIR="." TUXDIR="/opt/tuxedo" TUXCONFIG="/opt/tuxedo/tuxconfig"
*GROUPS
QUE1 LMID=SITE1 GRPNO=1 TMSNAME=TMS_QM TMSCOUNT=2 OPENINFO="TUXEDO/QM:data:SPACE"
*SERVERS
TMQUEUE SRVGRP=QUE1 SRVID=20 CLOPT="-s AQ:TMQUEUE -- -t 30"
*QSPACES
SPACE SRVGRP=QUE1 NONPERSIST=100000b
*QUEUES
DEFAULT: QSPACE=SPACE
PLAIN ORDER="fifo"
`);

let serial = 0;

interface Setup {
  readonly ctx: Context;
  readonly name: string;
  readonly queue: AqQueue;
}
/** A started queue in a table of its own. */
async function setup(
  table: {
    multipleConsumers?: boolean;
    messageGrouping?: number;
    sortList?: string;
    payloadType?: string;
  } = {},
  options: { maxRetries?: number; retentionTime?: number; retryDelay?: number } = {},
): Promise<Setup> {
  const ctx = await daemon.join();
  const { admin } = ctx.aq('AQ');
  const name = `Q${++serial}`;
  await admin.createQueueTable(`T${serial}`, { payloadType: 'RAW', ...table });
  await admin.createQueue(name, { queueTable: `T${serial}`, ...options });
  await admin.startQueue(name);
  const queue = ctx.aq('AQ').queue(name);
  queue.deqOptions.wait = DBMS_AQ.NO_WAIT;
  return { ctx, name, queue };
}

function texts(messages: readonly { payload: unknown }[]): string[] {
  return messages.map(({ payload }) => String(payload));
}

/** The number that a call fails with. */
async function fails(call: Promise<unknown>): Promise<number> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof AqError) return error.errorNum;
  throw error ?? new Error('it did not fail');
}

test('1: a new queue takes and gives nothing', async () => {
  const ctx = await daemon.join();
  const aq = ctx.aq('AQ');
  await aq.admin.createQueueTable('NEWT', { payloadType: 'RAW' });
  await aq.admin.createQueue('NEWQ', { queueTable: 'NEWT' });
  expect(await fails(aq.queue('NEWQ').enqOne('x'))).toBe(25_207);
  expect(await fails(aq.queue('NEWQ').deqOne())).toBe(25_226);
});

test('2: starting one direction leaves the other as it is', async () => {
  const { ctx, name, queue } = await setup();
  await ctx.aq('AQ').admin.stopQueue(name, { dequeue: false });
  await ctx.aq('AQ').admin.startQueue(name, { enqueue: true, dequeue: false });
  await queue.enqOne('x');
  expect(texts(await queue.deqMany(5))).toEqual(['x']);
});

test('3: an exception queue is not started for enqueue', async () => {
  const { ctx } = await setup();
  const exceptionQueue = `AQ$_T${serial}_E`;
  expect(await fails(ctx.aq('AQ').admin.startQueue(exceptionQueue))).toBe(24_017);
  expect(await fails(ctx.aq('AQ').queue(exceptionQueue).enqOne('x'))).toBe(25_206);
});

test('what does not go with an exception queue, or is too long, is refused', async () => {
  const { ctx } = await setup();
  const { admin } = ctx.aq('AQ');
  const made = { queueTable: `T${serial}`, queueType: DBMS_AQADM.EXCEPTION_QUEUE };
  expect(await fails(admin.createQueue('EXQ', { ...made, retentionTime: 5 }))).toBe(24_073);
  expect(await fails(admin.createQueue('EXQ', { ...made, maxRetries: 5 }))).toBe(24_074);
  await expect(admin.createQueue('EXQ', { ...made, comment: 'x'.repeat(2001) })).rejects.toThrow(
    /comment: it has at most 2000 characters, found 2001/,
  );
  await admin.createQueue('EXQ', { ...made, retentionTime: 0 });
});

test('4: a stop with open transactions is refused, or waits for them and blocks newcomers', async () => {
  const { ctx, name, queue } = await setup();
  const other = await daemon.join();
  await other.tpbegin(30);
  await other.aq('AQ').queue(name).enqOne('in a transaction');
  expect(await fails(ctx.aq('AQ').admin.stopQueue(name, { wait: false }))).toBe(24_018);
  let isStopped = false;
  const stopped = ctx
    .aq('AQ')
    .admin.stopQueue(name)
    .then(() => (isStopped = true));
  await eventually(async () => (await fails(queue.enqOne('newcomer'))) === 25_207);
  expect(isStopped).toBe(false);
  await other.tpcommit();
  await stopped;
});

test('5: a started queue is not dropped, nor a table with queues, unless by force', async () => {
  const { ctx, name } = await setup();
  const { admin } = ctx.aq('AQ');
  const table = `T${serial}`;
  expect(await fails(admin.dropQueue(name))).toBe(24_011);
  expect(await fails(admin.dropQueueTable(table))).toBe(24_012);
  await admin.dropQueueTable(table, { force: true });
  expect(await fails(admin.startQueue(name))).toBe(24_010);
  await admin.createQueueTable(table, { payloadType: 'RAW' });
  await admin.dropQueueTable(table);
});

test('6: the smaller priority comes first, equal ones in the order of enqueue', async () => {
  const { queue } = await setup({ sortList: 'PRIORITY' });
  await queue.enqMany([1, -5, 0, 1].map((priority, i) => ({ payload: `${priority} ${i}`, priority })));
  expect(texts(await queue.deqMany(9))).toEqual(['-5 1', '0 2', '1 0', '1 3']);
});

test('7: NEXT_MESSAGE stays in its snapshot, FIRST_MESSAGE looks anew', async () => {
  const { queue } = await setup({ sortList: 'PRIORITY' });
  await queue.enqMany(['a', 'b', 'c'].map((payload) => ({ payload, priority: 2 })));
  expect(String((await queue.deqOne())?.payload)).toBe('a');
  await queue.enqOne({ payload: 'urgent', priority: 0 });
  expect(String((await queue.deqOne())?.payload)).toBe('b');
  queue.deqOptions.navigation = DBMS_AQ.FIRST_MESSAGE;
  expect(String((await queue.deqOne())?.payload)).toBe('urgent');
});

test('8: another correlation, or consumer, needs FIRST_MESSAGE', async () => {
  const { ctx, queue } = await setup();
  await queue.enqMany(['a', 'b', 'a'].map((correlation) => ({ payload: correlation, correlation })));
  queue.deqOptions.correlation = 'a';
  expect((await queue.deqOne())?.correlation).toBe('a');
  queue.deqOptions.correlation = 'b';
  expect(await fails(queue.deqOne())).toBe(25_241);
  queue.deqOptions.navigation = DBMS_AQ.FIRST_MESSAGE;
  expect((await queue.deqOne())?.correlation).toBe('b');
  const many = await setup({ multipleConsumers: true });
  const { admin } = many.ctx.aq('AQ');
  for (const agent of ['RED', 'BLUE']) await admin.addSubscriber(many.name, agent);
  await many.queue.enqMany(['x', 'y']);
  many.queue.deqOptions.consumerName = 'RED';
  await many.queue.deqOne();
  many.queue.deqOptions.consumerName = 'BLUE';
  expect(await fails(many.queue.deqOne())).toBe(25_242);
  await ctx.tpterm();
});

test('9: a delay, then a life, then the exception queue', async () => {
  const { ctx, queue } = await setup();
  await queue.enqOne({ payload: 'old', delay: 5, expiration: 5 });
  expect(await queue.deqOne()).toBeUndefined();
  daemon.clock.advance(6000);
  queue.deqOptions.mode = DBMS_AQ.BROWSE;
  queue.deqOptions.navigation = DBMS_AQ.FIRST_MESSAGE;
  await eventually(async () => (await queue.deqOne())?.state === DBMS_AQ.READY);
  daemon.clock.advance(6000);
  await eventually(async () => (await queue.deqOne()) === undefined);
  const exceptions = ctx.aq('AQ').queue(`AQ$_T${serial}_E`);
  await ctx.aq('AQ').admin.startQueue(exceptions.name, { enqueue: false });
  expect(await exceptions.deqOne()).toMatchObject({
    expirationReason: 'TIME_EXPIRATION',
    state: DBMS_AQ.EXPIRED,
  });
});

test('10, 29: a message by its id, delayed or not; one criterion; an id that is none', async () => {
  const { queue } = await setup();
  const id = await queue.enqOne({ payload: 'later', delay: 100 });
  queue.deqOptions.msgId = id;
  queue.deqOptions.correlation = 'x';
  expect(await fails(queue.deqOne())).toBe(25_240);
  queue.deqOptions.correlation = undefined;
  expect(String((await queue.deqOne())?.payload)).toBe('later');
  expect(await fails(queue.deqOne())).toBe(25_263);
});

test('11, 14: the sixth rollback of five allowed moves it, and the exception queue shows where from', async () => {
  const { ctx, name, queue } = await setup();
  const id = await queue.enqOne('poison');
  queue.deqOptions.navigation = DBMS_AQ.FIRST_MESSAGE;
  for (let i = 0; i < 6; i++) {
    await ctx.tpbegin(30);
    expect((await queue.deqOne())?.numAttempts).toBe(i);
    await ctx.tpabort();
  }
  expect(await queue.deqOne()).toBeUndefined();
  const exceptions = ctx.aq('AQ').queue(`AQ$_T${serial}_E`);
  await ctx.aq('AQ').admin.startQueue(exceptions.name, { enqueue: false });
  exceptions.deqOptions.consumerName = 'RED';
  expect(await fails(exceptions.deqOne())).toBe(25_243);
  exceptions.deqOptions.consumerName = undefined;
  expect(await exceptions.deqOne()).toMatchObject({
    msgId: id,
    originalQueue: name,
    expirationReason: 'MAX_RETRY_EXCEEDED',
    state: DBMS_AQ.EXPIRED,
  });
});

test('12: after a rollback it waits for retry_delay', async () => {
  const { ctx, queue } = await setup({}, { retryDelay: 3 });
  await queue.enqOne('m');
  await ctx.tpbegin(30);
  await queue.deqOne();
  await ctx.tpabort();
  queue.deqOptions.navigation = DBMS_AQ.FIRST_MESSAGE;
  expect(await queue.deqOne()).toBeUndefined();
  daemon.clock.advance(3100);
  await eventually(() => queue.deqOne());
});

test('13: a connection that is lost is no attempt', async () => {
  const { queue, name } = await setup();
  await queue.enqOne('m');
  const other = await daemon.join();
  await other.tpbegin(30);
  expect((await other.aq('AQ').queue(name).deqOne())?.numAttempts).toBe(0);
  await other.tpterm();
  queue.deqOptions.navigation = DBMS_AQ.FIRST_MESSAGE;
  const again = await eventually(() => queue.deqOne());
  expect(again.numAttempts).toBe(0);
});

test('16, 17: recipients who are named, and what is wrong with them', async () => {
  const { ctx, name, queue } = await setup({ multipleConsumers: true });
  expect(await fails(queue.enqOne('nobody'))).toBe(24_033);
  await ctx.aq('AQ').admin.addSubscriber(name, 'RED');
  await queue.enqOne({ payload: 'secret', recipients: ['STRANGER'] });
  const as = async (consumer: string): Promise<string[]> => {
    const own = ctx.aq('AQ').consumer(name, consumer);
    Object.assign(own.deqOptions, { wait: DBMS_AQ.NO_WAIT, navigation: DBMS_AQ.FIRST_MESSAGE });
    return texts(await own.deqMany(5));
  };
  expect([await as('RED'), await as('STRANGER'), await as('STRANGER')]).toEqual([[], ['secret'], []]);
  expect(await fails(queue.enqOne({ payload: 'x', recipients: ['A', 'A'] }))).toBe(25_232);
  const far = Array.from({ length: 33 }, (_, i) => ({ name: `A${i}`, address: 'FAR' }));
  expect(await fails(queue.enqOne({ payload: 'x', recipients: far }))).toBe(25_238);
  // Nothing would bring it there.
  expect(await fails(queue.enqOne({ payload: 'x', recipients: far.slice(0, 1) }))).toBe(24_083);
  const single = await setup();
  expect(await fails(single.queue.enqOne({ payload: 'x', recipients: ['A'] }))).toBe(24_039);
  expect(await fails(ctx.aq('AQ').queue(name).deqOne())).toBe(25_231);
});

test('18, 19: a subscriber sees what comes later and fulfils its rule; with the last one the message is complete', async () => {
  const { ctx, name, queue } = await setup({ multipleConsumers: true, payloadType: 'JSON' });
  const { admin } = ctx.aq('AQ');
  await admin.addSubscriber(name, 'ALL');
  await queue.enqOne({ payload: { amount: 1 } });
  await admin.addSubscriber(name, 'RICH', { rule: 'tab.user_data.amount > 100 and priority < 5' });
  await queue.enqOne({ payload: { amount: 500 } });
  await queue.enqOne({ payload: { amount: 500 }, priority: 9 });
  const counts = async (): Promise<[string, number][]> =>
    (await admin.queueSubscribers(name)).map((one) => [one.name, one.ready]);
  expect(await counts()).toEqual([
    ['ALL', 3],
    ['RICH', 1],
  ]);
  await admin.alterSubscriber(name, 'RICH');
  await queue.enqOne({ payload: { amount: 2 } });
  expect(await counts()).toEqual([
    ['ALL', 4],
    ['RICH', 2],
  ]);
  expect(await daemon.queue(name, 'AQ')).toMatchObject({ messages: 6, ready: 6, enqueued: 6 });
  expect(await fails(admin.addSubscriber(name, 'ALL'))).toBe(24_034);
  expect(await fails(admin.removeSubscriber(name, 'NOBODY'))).toBe(24_035);
  await expect(admin.addSubscriber(name, 'X', { rule: 'nope = 1' })).rejects.toThrow(
    /column 1: nope is no property/,
  );
  await ctx.tpbegin(30);
  await ctx.aq('AQ').consumer(name, 'RICH').deqOne();
  expect(await fails(admin.removeSubscriber(name, 'RICH'))).toBe(25_320);
  await ctx.tpabort();
  await admin.removeSubscriber(name, 'RICH');
  await admin.removeSubscriber(name, 'ALL');
  await eventually(async () => (await daemon.queue(name, 'AQ')).messages === 0);
});

test('20, 21: groups of a transaction', async () => {
  const { ctx, name, queue } = await setup({ messageGrouping: DBMS_AQADM.TRANSACTIONAL });
  await queue.enqMany(['a1', 'a2', 'a3']);
  await queue.enqOne('b1');
  await ctx.tpbegin(30);
  expect(
    [await queue.deqOne(), await queue.deqOne(), await queue.deqOne()].map((one) => String(one?.payload)),
  ).toEqual(['a1', 'a2', 'a3']);
  expect(await fails(queue.deqOne())).toBe(25_235);
  queue.deqOptions.navigation = DBMS_AQ.NEXT_TRANSACTION;
  const other = (await daemon.join()).aq('AQ').queue(name);
  other.deqOptions.wait = DBMS_AQ.NO_WAIT;
  const [only] = await other.deqMany(9);
  expect([String(only?.payload), typeof only?.transactionGroup]).toEqual(['b1', 'string']);
  expect(await queue.deqOne()).toBeUndefined();
  await ctx.tpcommit();
  const plain = await setup();
  plain.queue.deqOptions.navigation = DBMS_AQ.NEXT_TRANSACTION;
  expect(await fails(plain.queue.deqOne())).toBe(25_234);
});

test('22, 23, 24: browse, lock, remove without data', async () => {
  const { ctx, queue } = await setup();
  await queue.enqOne('m');
  queue.deqOptions.navigation = DBMS_AQ.FIRST_MESSAGE;
  const as = async (mode: number): Promise<unknown> => {
    queue.deqOptions.mode = mode;
    return (await queue.deqOne())?.payload;
  };
  expect(await as(DBMS_AQ.BROWSE)).toBe('m');
  await ctx.tpbegin(30);
  expect(await as(DBMS_AQ.LOCKED)).toBe('m');
  await ctx.tpcommit();
  expect(await as(DBMS_AQ.BROWSE)).toBe('m');
  expect(await as(DBMS_AQ.REMOVE_NODATA)).toBeNull();
  expect(await as(DBMS_AQ.BROWSE)).toBeUndefined();
});

test('25: what was consumed is kept for its retention', async () => {
  const { queue } = await setup({}, { retentionTime: 60 });
  const id = await queue.enqOne('m');
  await queue.deqOne();
  Object.assign(queue.deqOptions, { msgId: id, mode: DBMS_AQ.BROWSE });
  expect((await queue.deqOne())?.state).toBe(DBMS_AQ.PROCESSED);
  daemon.clock.advance(61_000);
  await eventually(async () => (await fails(queue.deqOne()).catch(() => 0)) === 25_263);
});

test('26: buffered messages', async () => {
  const { queue } = await setup();
  queue.enqOptions.deliveryMode = DBMS_AQ.BUFFERED;
  expect(await fails(queue.enqOne('x'))).toBe(25_298);
  queue.enqOptions.visibility = DBMS_AQ.IMMEDIATE;
  await queue.enqOne('x');
  queue.enqOptions.deliveryMode = DBMS_AQ.PERSISTENT_OR_BUFFERED;
  expect(await fails(queue.enqOne('x'))).toBe(25_299);
  expect(await queue.deqOne()).toBeUndefined();
  queue.deqOptions.deliveryMode = DBMS_AQ.BUFFERED;
  expect(await fails(queue.deqOne())).toBe(25_298);
  queue.deqOptions.visibility = DBMS_AQ.IMMEDIATE;
  queue.deqOptions.navigation = DBMS_AQ.FIRST_MESSAGE;
  expect((await queue.deqOne())?.deliveryMode).toBe(DBMS_AQ.BUFFERED);
});

test('27: an array takes what there is, and waits while there is nothing', async () => {
  const { queue, name } = await setup();
  await queue.enqMany(['a', 'b', 'c']);
  queue.deqOptions.wait = 30;
  expect(texts(await queue.deqMany(10))).toEqual(['a', 'b', 'c']);
  const waiting = queue.deqMany(10);
  await eventually(async () => (await daemon.queue(name, 'AQ')).waiters === 1);
  const other = await daemon.join();
  await other.aq('AQ').queue(name).enqOne('late');
  expect(texts(await waiting)).toEqual(['late']);
});

test('28: listening tells of the first that has something', async () => {
  const { ctx, name, queue } = await setup();
  const many = await setup({ multipleConsumers: true });
  await ctx.aq('AQ').admin.addSubscriber(many.name, 'RED');
  const agents = [{ address: name }, { name: 'RED', address: many.name }];
  expect(await fails(ctx.aq('AQ').listen(agents, { wait: 0 }))).toBe(25_254);
  const heard = ctx.aq('AQ').listen(agents);
  await many.queue.enqOne('m');
  expect(await heard).toMatchObject({ name: 'RED', address: many.name });
  await queue.enqOne('m');
  expect(await ctx.aq('AQ').listen(agents)).toMatchObject({ address: name });
  expect(await fails(ctx.aq('AQ').listen([{ address: 'NOPE' }]))).toBe(25_205);
});

test('33, 34: a queue that is not there; IMMEDIATE outlives a rollback', async () => {
  const { ctx, queue } = await setup();
  const aq = ctx.aq('AQ');
  expect(await fails(aq.admin.startQueue('NOPE'))).toBe(24_010);
  expect(await fails(aq.queue('NOPE').deqOne())).toBe(25_205);
  await ctx.tpbegin(30);
  await queue.enqOne('gone');
  queue.enqOptions.visibility = DBMS_AQ.IMMEDIATE;
  await queue.enqOne('stays');
  await ctx.tpabort();
  expect(texts(await queue.deqMany(5))).toEqual(['stays']);
});

test('an array that no frame holds is refused before it is sent', async () => {
  const { queue } = await setup();
  const messages = Array.from({ length: 20 }, () => Buffer.alloc(1_000_000));
  await expect(queue.enqMany(messages)).rejects.toThrow(/TPEINVAL/);
  await queue.enqMany(messages.slice(0, 10));
  expect((await queue.deqMany(20)).length).toBe(10);
});

describe('a queue has one dialect', () => {
  test('/Q does not work on one of AQ, nor AQ on one of /Q', async () => {
    const { ctx, name } = await setup();
    await expect(ctx.tpenqueue('AQ', name, null, 'x')).rejects.toThrow(/QMEBADQUEUE.*AQ dialect/);
    await expect(ctx.tpdequeue('AQ', name, new TPQCTL(), null)).rejects.toThrow(/QMEBADQUEUE.*AQ dialect/);
    await expect(ctx.admin('AQ').destroy(name)).rejects.toThrow(/AQ dialect/);
    expect(await fails(ctx.aq('AQ').queue('PLAIN').enqOne('x'))).toBe(25_205);
    expect((await ctx.admin('AQ').info(name)).name).toBe(name);
  });

  test('a payload has the type of the table', async () => {
    const { ctx, queue } = await setup({ payloadType: 'JSON' });
    expect(await fails(queue.enqOne('text'))).toBe(25_215);
    const other = await setup();
    const error: unknown = await other.queue.enqOne({ payload: { a: 1 } }).catch((reason: unknown) => reason);
    expect(error instanceof TpError && error.message).toMatch(/AQ-25215: enq: the payload is a JSON/);
    await ctx.tpterm();
  });
});

test('a restart keeps tables, queues, subscribers, attempts and what is queued', async () => {
  const { ctx, name, queue } = await setup({ multipleConsumers: true });
  const { admin } = ctx.aq('AQ');
  for (const agent of ['RED', 'BLUE']) await admin.addSubscriber(name, agent);
  await queue.enqMany([{ payload: 'm', correlation: 'order-17', userProperty: { a: [1] } }]);
  await ctx.tpbegin(30);
  await ctx.aq('AQ').consumer(name, 'RED').deqOne();
  await ctx.tpabort();
  await daemon.restart();
  const again = await daemon.join();
  const red = again.aq('AQ').consumer(name, 'RED');
  red.deqOptions.correlation = 'order-%';
  expect(await red.deqOne()).toMatchObject({ numAttempts: 1, userProperty: { a: [1] } });
  const blue = again.aq('AQ').consumer(name, 'BLUE');
  blue.deqOptions.navigation = DBMS_AQ.FIRST_MESSAGE;
  blue.deqOptions.condition = "corrid = 'order-17' and priority = 1";
  expect(await blue.deqOne()).toMatchObject({ numAttempts: 0 });
});
