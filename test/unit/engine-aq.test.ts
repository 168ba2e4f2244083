// Queues of the AQ dialect on one engine, whose turns and clock are in the test's hands: order, modes, navigation, retries, expiry, several
// recipients, groups, retention, and what restarts from the log and from a checkpoint leave of all that.
import { describe, expect, it } from 'vitest';
import { MODE, NAVIGATION } from '../../src/engine/aq/scan.ts';
import { AqSession } from '../../src/engine/aq/session.ts';
import { QME } from '../../proto/codes.ts';
import { OBJECT } from '../../src/queue/catalog.ts';
import { AqBench, PLAIN_TABLE } from '../support/aq-bench.ts';

const { BROWSE, LOCKED, REMOVE_NODATA } = MODE;
const { NEXT, NEXT_TRANSACTION, FIRST_MULTI } = NAVIGATION;
const NO_MESSAGE = 'fault 25228';

async function bench(): Promise<AqBench> {
  const made = new AqBench();
  await made.open();
  return made;
}

function corrid(n: number): Uint8Array {
  return new Uint8Array(32).fill(n);
}

async function twoConsumers(over: { retries?: number; retentionS?: number } = {}): Promise<AqBench> {
  const b = await bench();
  b.table('T', { multipleConsumers: true }, over);
  b.subscriber('TQ', 'RED');
  b.subscriber('TQ', 'BLUE');
  return b;
}

async function grouped(): Promise<AqBench> {
  const b = await bench();
  b.table('T', { grouping: 1 });
  for (const group of ['a', 'b']) {
    const work = b.engine.openWork();
    for (const n of [1, 2, 3]) b.putAq('TQ', `${group}${n}`, { work });
    b.engine.commit(work);
  }
  await b.settle();
  return b;
}

describe('a single-consumer queue', () => {
  it('gives the smaller priority first, and equal ones in the order of enqueue', async () => {
    const b = await bench();
    b.table('T', { sortList: 'PRIORITY' });
    for (const priority of [1, -5, 0, 1]) b.putAq('TQ', `p${priority}`, { aq: { priority } });
    expect(await b.get('TQ', { size: 4 })).toBe('p-5 p0 p1 p1');
    expect(await b.get('TQ')).toBe(NO_MESSAGE);
  });

  it('orders by commit where the table says so', async () => {
    const b = await bench();
    b.table('T', { sortList: 'COMMIT_TIME' });
    const first = b.engine.openWork();
    b.putAq('TQ', 'early', { work: first });
    b.putAq('TQ', 'late');
    b.engine.commit(first);
    await b.settle();
    await b.crash(true);
    expect(await b.get('TQ', { size: 2 })).toBe('late early');
  });

  it('browses without taking, locks without consuming, removes without data', async () => {
    const b = await bench();
    b.table('T');
    b.putAq('TQ', 'one');
    expect(await b.get('TQ', { mode: BROWSE })).toBe('one');
    const work = b.engine.openWork();
    expect(await b.get('TQ', { mode: LOCKED, work })).toBe('one');
    expect(await b.get('TQ')).toBe(NO_MESSAGE);
    b.engine.commit(work);
    expect(await b.get('TQ', { mode: REMOVE_NODATA })).toBe('-');
    expect(await b.get('TQ')).toBe(NO_MESSAGE);
  });

  it('goes on in its snapshot, and then to what came since', async () => {
    const b = await bench();
    b.table('T', { sortList: 'PRIORITY' });
    b.putAq('TQ', 'a', { aq: { priority: 2 } });
    b.putAq('TQ', 'b', { aq: { priority: 2 } });
    const session = new AqSession();
    expect(await b.get('TQ', { session, navigation: NEXT })).toBe('a');
    b.putAq('TQ', 'urgent', { aq: { priority: 0 } });
    expect(await b.get('TQ', { session, navigation: NEXT })).toBe('b');
    expect(await b.get('TQ', { session, navigation: NEXT })).toBe('urgent');
    b.putAq('TQ', 'low', { aq: { priority: 9 } });
    b.putAq('TQ', 'high', { aq: { priority: 0 } });
    expect(await b.get('TQ', { session })).toBe('high');
  });

  it('browses each message once by NEXT_MESSAGE', async () => {
    const b = await bench();
    b.table('T');
    const session = new AqSession();
    b.putAq('TQ', 'a');
    b.putAq('TQ', 'b');
    const next = () => b.get('TQ', { session, navigation: NEXT, mode: BROWSE });
    expect([await next(), await next(), await next()]).toEqual(['a', 'b', NO_MESSAGE]);
    b.putAq('TQ', 'c');
    expect([await next(), await next()]).toEqual(['c', NO_MESSAGE]);
  });

  it('moves at the sixth rollback of five allowed, with its id, and says why', async () => {
    const b = await bench();
    b.table('T');
    const id = b.putAq('TQ', 'poison');
    for (let i = 0; i < 6; i++) {
      const work = b.engine.openWork();
      const take = b.begin('TQ', { work });
      expect(take.messages?.[0]?.attempts).toBe(i);
      b.engine.rollback(work, QME.QMEABORTED);
    }
    expect(await b.get('TQ')).toBe(NO_MESSAGE);
    await b.crash(true);
    const take = b.begin('AQ$_T_E');
    await b.settle();
    expect(take.messages?.[0]).toMatchObject({ id, state: 3, originalQueue: 'TQ', reason: 11 });
    expect(take.answer).toBe('poison');
  });

  it('waits for its retry delay after a rollback', async () => {
    const b = await bench();
    b.table('T', {}, { delayS: 3 });
    b.putAq('TQ', 'm');
    const work = b.engine.openWork();
    b.begin('TQ', { work });
    b.engine.rollback(work, QME.QMEABORTED);
    expect(await b.get('TQ')).toBe(NO_MESSAGE);
    await b.pass(3.1);
    expect(await b.get('TQ')).toBe('m');
  });

  it('counts a delay, then a life, then moves to the exception queue', async () => {
    const b = await bench();
    b.table('T');
    b.putAq('TQ', 'm', { delayS: 5, expirationS: 5 });
    expect(await b.get('TQ')).toBe(NO_MESSAGE);
    await b.pass(6);
    expect(await b.get('TQ', { mode: BROWSE })).toBe('m');
    await b.pass(5);
    expect(await b.get('TQ')).toBe(NO_MESSAGE);
    const take = b.begin('AQ$_T_E');
    expect([take.answer, take.messages?.[0]?.reason]).toEqual(['m', 12]);
  });

  it('gives one that is asked for by id, delayed or not, and says at once that there is none', async () => {
    const b = await bench();
    b.table('T');
    const id = b.putAq('TQ', 'm', { delayS: 100 });
    const criterion = { by: 'msgid', id } as const;
    expect(await b.get('TQ', { criterion, wait: true })).toBe('m');
    expect(await b.get('TQ', { criterion, wait: true })).toBe('fault 25263');
  });

  it('keeps what was consumed for its retention', async () => {
    const b = await bench();
    b.table('T', {}, { retentionS: 60 });
    const id = b.putAq('TQ', 'm');
    const criterion = { by: 'msgid', id } as const;
    expect(await b.get('TQ')).toBe('m');
    expect(await b.get('TQ')).toBe(NO_MESSAGE);
    await b.crash(true);
    expect(await b.get('TQ', { criterion })).toBe('fault 25263');
    const take = b.begin('TQ', { criterion, mode: BROWSE });
    await b.settle();
    expect([take.answer, take.messages?.[0]?.state]).toEqual(['m', 2]);
    await b.pass(61);
    expect(await b.get('TQ', { criterion, mode: BROWSE })).toBe('fault 25263');
    expect(b.engine.space.messages.live).toBe(0);
  });

  it('wakes who waits, and who waits for another correlation not', async () => {
    const b = await bench();
    b.table('T');
    const by = (n: number) => ({ by: 'corrid', corrid: corrid(n), key: `c${n}` }) as const;
    const one = b.begin('TQ', { wait: true, criterion: by(1) });
    const two = b.begin('TQ', { wait: true, criterion: by(2) });
    const late = b.begin('TQ', { wait: true, deadlineMs: b.clock.monoMs() + 1000, criterion: by(3) });
    b.putAq('TQ', 'for two', { corrid: corrid(2) });
    await b.settle();
    expect([one.answer, two.answer]).toEqual([null, 'for two']);
    await b.pass(2);
    expect(late.answer).toBe(NO_MESSAGE);
  });

  it('puts one before another, or on top', async () => {
    const b = await bench();
    b.table('T');
    b.putAq('TQ', 'a');
    const before = b.putAq('TQ', 'b');
    b.putAq('TQ', 'x', { deviation: { before } });
    b.putAq('TQ', 'top', { deviation: 'top' });
    expect(b.tryAq('TQ', 'y', { deviation: { before: { epoch: 1, counter: 999 } } }).fault).toBe(25210);
    await b.settle();
    await b.crash(true);
    expect(await b.get('TQ', { size: 9 })).toBe('top a x b');
  });

  it('keeps buffered messages apart from persistent ones', async () => {
    const b = await bench();
    b.engine.define({
      kind: 'defineSpace',
      attributes: { ...b.engine.space.attributes, nonPersistentBytes: 100_000 },
    });
    b.table('T');
    b.putAq('TQ', 'memory', { buffered: true });
    expect(await b.get('TQ')).toBe(NO_MESSAGE);
    b.putAq('TQ', 'disk');
    expect(await b.get('TQ', { deliveryMode: 2 })).toBe('memory');
    expect(await b.get('TQ', { deliveryMode: 3 })).toBe('disk');
  });
});

describe('several changes of definitions', () => {
  it('are all made or none', async () => {
    const b = await bench();
    b.table('T');
    const { engine } = b;
    const { attributes } = b.queueOf('TQ');
    const table = { kind: 'defineObject', type: OBJECT.TABLE, name: 'U', value: PLAIN_TABLE } as const;
    // The order of a queue is fixed: this one is refused.
    const reordered = { kind: 'defineQueue', attributes: { ...attributes, order: 'lifo' } } as const;
    expect(engine.defining.change({ destroy: ['AQ$_T_E'], define: [table, reordered] }).code).toBe(
      QME.QMEINVAL,
    );
    expect([engine.space.catalog.table('U'), engine.space.queue('AQ$_T_E')?.doomed]).toEqual([
      undefined,
      false,
    ]);
    const { batch, code } = engine.defining.change({ destroy: ['AQ$_T_E', 'TQ'], define: [table] });
    expect([code, batch]).toEqual([QME.OK, engine.journal.batch]);
    await b.settle();
    await b.crash(true);
    const { space } = b.engine;
    expect([space.catalog.table('U')?.payloadType, space.queue('TQ'), space.queue('AQ$_T_E')]).toEqual([
      'RAW',
      undefined,
      undefined,
    ]);
  });
});

describe('an array of which a later message cannot be had', () => {
  it('gives those that were consumed', async () => {
    const b = new AqBench({ faults: [{ at: 2, effect: 'read-failed' }] });
    await b.open();
    b.table('T');
    for (const data of ['a', 'b', 'c']) b.putAq('TQ', data);
    await b.settle();
    await b.crash(true);
    b.readFromLog();
    expect(await b.get('TQ', { size: 3 })).toBe('a');
    // What could not be read is not offered again; what is behind it is.
    expect(await b.get('TQ', { size: 3 })).toBe('c');
    expect(b.engine.space.messages.live).toBe(1);
  });

  it('says so when there is no other', async () => {
    const b = new AqBench({ faults: [{ at: 1, effect: 'read-failed' }] });
    await b.open();
    b.table('T');
    b.putAq('TQ', 'a');
    await b.settle();
    await b.crash(true);
    b.readFromLog();
    expect(await b.get('TQ', { size: 3 })).toBe(`code ${QME.QMEOS}`);
  });
});

describe('a multi-consumer queue', () => {
  it('gives each recipient the message once, from one record', async () => {
    const b = await twoConsumers();
    const id = b.putAq('TQ', 'news');
    expect(await b.get('TQ', { consumer: 'RED' })).toBe('news');
    expect(await b.get('TQ', { consumer: 'RED' })).toBe(NO_MESSAGE);
    await b.crash(true);
    expect(await b.get('TQ', { consumer: 'RED' })).toBe(NO_MESSAGE);
    const take = b.begin('TQ', { consumer: 'BLUE' });
    await b.settle();
    expect(take.messages?.map((message) => message.id)).toEqual([id]);
    expect([b.engine.space.messages.live, b.engine.space.liveBytes]).toEqual([0, 0]);
  });

  it('counts the bytes of a record once, whoever has it still', async () => {
    const b = await twoConsumers();
    b.putAq('TQ', 'news');
    const { liveBytes } = b.engine.space;
    await b.get('TQ', { consumer: 'RED' });
    expect(Math.abs(b.engine.space.liveBytes - liveBytes)).toBeLessThan(2);
    await b.settle();
    await b.crash(true);
    expect(Math.abs(b.engine.space.liveBytes - liveBytes)).toBeLessThan(2);
  });

  it('gives it only to those who are named', async () => {
    const b = await twoConsumers();
    b.putAq('TQ', 'secret', { to: ['BLUE'] });
    expect(await b.get('TQ', { consumer: 'RED' })).toBe(NO_MESSAGE);
    expect(await b.get('TQ', { consumer: 'BLUE' })).toBe('secret');
  });

  it('moves a message that one has given up when the other is done', async () => {
    const b = await twoConsumers({ retries: 1 });
    const id = b.putAq('TQ', 'poison');
    for (let i = 0; i < 2; i++) {
      const work = b.engine.openWork();
      expect(await b.get('TQ', { consumer: 'RED', work })).toBe('poison');
      b.engine.rollback(work, QME.QMEABORTED);
    }
    expect(await b.get('TQ', { consumer: 'RED' })).toBe(NO_MESSAGE);
    expect(await b.get('AQ$_T_E')).toBe(NO_MESSAGE);
    await b.crash(true);
    expect(await b.get('TQ', { consumer: 'BLUE' })).toBe('poison');
    await b.settle();
    const take = b.begin('AQ$_T_E');
    await b.settle();
    expect(take.messages?.[0]).toMatchObject({ id, state: 3 });
    expect(b.engine.space.messages.live).toBe(0);
  });

  it('moves an expired one once', async () => {
    const b = await twoConsumers();
    b.putAq('TQ', 'old', { expirationS: 5 });
    await b.pass(6);
    expect(await b.get('TQ', { consumer: 'BLUE' })).toBe(NO_MESSAGE);
    expect(await b.get('AQ$_T_E', { size: 5 })).toBe('old');
    expect(b.engine.space.messages.live).toBe(0);
  });

  it('finds the message of a recipient by its id, whoever else is done', async () => {
    const b = await twoConsumers();
    const id = b.putAq('TQ', 'news');
    b.putAq('TQ', 'more');
    expect(await b.get('TQ', { consumer: 'RED', criterion: { by: 'msgid', id } })).toBe('news');
    expect(await b.get('TQ', { consumer: 'RED', criterion: { by: 'msgid', id } })).toBe('fault 25263');
    expect(await b.get('TQ', { consumer: 'BLUE', criterion: { by: 'msgid', id } })).toBe('news');
  });

  it('is as it was after a checkpoint and a restart', async () => {
    const b = await twoConsumers({ retries: 0, retentionS: 100 });
    b.putAq('TQ', 'one');
    b.putAq('TQ', 'two', { delayS: 5 });
    expect(await b.get('TQ', { consumer: 'RED' })).toBe('one');
    const work = b.engine.openWork();
    expect(await b.get('TQ', { consumer: 'BLUE', work })).toBe('one');
    b.engine.rollback(work, QME.QMEABORTED);
    await b.settle();
    const checkpoint = b.engine.checkpoint();
    for (let i = 0; i < 50; i++) await b.turn();
    await checkpoint;
    await b.crash(true);
    await b.pass(6);
    expect(await b.get('TQ', { consumer: 'RED' })).toBe('two');
    expect(await b.get('TQ', { consumer: 'BLUE' })).toBe('two');
    expect(await b.get('AQ$_T_E')).toBe('one');
  });
});

describe('a table that groups by transaction', () => {
  it('gives one group after the other', async () => {
    const b = await grouped();
    const session = new AqSession();
    const work = b.engine.openWork();
    const next = (navigation: number) => b.get('TQ', { session, work, navigation });
    expect([await next(NEXT), await next(NEXT), await next(NEXT)]).toEqual(['a1', 'a2', 'a3']);
    expect(await next(NEXT)).toBe('fault 25235');
    expect([await next(NEXT_TRANSACTION), await next(NEXT)]).toEqual(['b1', 'b2']);
    expect(await next(NEXT_TRANSACTION)).toBe(NO_MESSAGE);
  });

  it('locks a group as a whole', async () => {
    const b = await grouped();
    const work = b.engine.openWork();
    expect(await b.get('TQ', { work })).toBe('a1');
    await b.settle();
    expect(await b.get('TQ', { work: b.engine.openWork() })).toBe('b1');
    expect(await b.get('TQ')).toBe(NO_MESSAGE);
    b.engine.commit(work);
    expect(await b.get('TQ', { size: 5 })).toBe('a2 a3');
  });

  it('gives an array of one group, or of all', async () => {
    const b = await grouped();
    await b.crash(true);
    expect(await b.get('TQ', { size: 10 })).toBe('a1 a2 a3');
    expect(await b.get('TQ', { size: 10, navigation: FIRST_MULTI })).toBe('b1 b2 b3');
  });

  it('refuses NEXT_TRANSACTION elsewhere', async () => {
    const b = await bench();
    b.table('T');
    expect(await b.get('TQ', { navigation: NEXT_TRANSACTION })).toBe('fault 25234');
  });
});

describe('listening', () => {
  it('tells of the first agent in the list that has something, and takes nothing', async () => {
    const b = await bench();
    b.table('A');
    b.table('B');
    const heard: number[] = [];
    const listen = (): void =>
      b.engine.listen({
        agents: [
          { lane: b.queueOf('AQ'), deliveryMode: 1 },
          { lane: b.queueOf('BQ'), deliveryMode: 1 },
        ],
        deadlineMs: b.clock.monoMs() + 1000,
        found: (index) => heard.push(index),
        refused: ({ fault }) => heard.push(fault),
      });
    listen();
    b.putAq('BQ', 'm');
    await b.settle();
    b.putAq('AQ', 'm');
    listen();
    expect(heard).toEqual([1, 0]);
    expect(await b.get('BQ')).toBe('m');
    expect(await b.get('AQ')).toBe('m');
    listen();
    await b.pass(2);
    expect(heard).toEqual([1, 0, 25254]);
    expect([b.queueOf('AQ').waiting, b.queueOf('BQ').waiting]).toEqual([0, 0]);
  });
});
