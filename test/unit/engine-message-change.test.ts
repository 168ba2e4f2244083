// What an administrator does to messages, on one engine whose turns are in the test's hands: selection, pages, changes in slices while other
// work goes on, held messages, waiters, full logs, and what a restart or a crash in the middle leaves.
import { describe, expect, it } from 'vitest';
import { QME, TPQ } from '../../proto/codes.ts';
import { changeMessages, type Changed, type MessageChange } from '../../src/engine/message-change.ts';
import { listMessages, type MessageView } from '../../src/engine/message-list.ts';
import type { EnqueueTerms } from '../../src/queue/command.ts';
import { CLOCK } from '../../src/queue/event.ts';
import type { MessageProperties } from '../../src/queue/message.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { EVERYTHING, type Criteria } from '../../src/queue/selection.ts';
import type { Cursor } from '../../src/queue/walk.ts';
import { Bench } from '../support/engine-bench.ts';
import { corrid, properties } from '../support/queue-values.ts';

const TURNS_MAX = 400;

function queueOf(bench: Bench, name: string): Queue {
  const queue = bench.engine.space.queue(name);
  if (queue === undefined) throw new Error(`there is no queue ${name}`);
  return queue;
}

function begin(
  bench: Bench,
  what: MessageChange,
  over: Partial<Criteria> = {},
  qname = 'Q',
): { result?: Changed } {
  const answer: { result?: Changed } = {};
  const criteria = { ...EVERYTHING, ...over };
  changeMessages(bench.engine, {
    queue: queueOf(bench, qname),
    criteria,
    change: what,
    done: (result) => (answer.result = result),
  });
  return answer;
}

/** Code, changed, held. */
async function change(
  bench: Bench,
  what: MessageChange,
  over: Partial<Criteria> = {},
  qname = 'Q',
): Promise<number[]> {
  const answer = begin(bench, what, over, qname);
  for (let i = 0; i < TURNS_MAX && answer.result === undefined; i++) await bench.turn();
  await bench.settle();
  const { code, changed, held } = answer.result as Changed;
  return [code, changed, held];
}

async function pageOf(
  bench: Bench,
  given: { qname?: string; limit?: number; cursor?: Cursor | null; criteria?: Partial<Criteria> } = {},
) {
  return listMessages(bench.engine, {
    queue: queueOf(bench, given.qname ?? 'Q'),
    criteria: { ...EVERYTHING, ...given.criteria },
    cursor: given.cursor ?? null,
    limit: given.limit ?? 100,
    dataBytes: 20,
  });
}

async function listed(bench: Bench, criteria: Partial<Criteria> = {}, qname = 'Q'): Promise<MessageView[]> {
  const { messages, cursor } = await pageOf(bench, { qname, criteria });
  expect(cursor).toBeNull();
  return [...messages];
}
const textOf = ({ contents }: MessageView): string => Buffer.from(contents?.data ?? []).toString();
async function texts(bench: Bench, criteria: Partial<Criteria> = {}, qname = 'Q'): Promise<string[]> {
  return (await listed(bench, criteria, qname)).map(textOf);
}

function put(
  bench: Bench,
  data: string,
  given: { props?: Partial<MessageProperties>; terms?: Partial<EnqueueTerms>; qname?: string } = {},
) {
  const outcome = bench.engine.enqueue({
    qname: given.qname ?? 'Q',
    properties: properties(given.props ?? {}),
    terms:
      given.terms === undefined ? null : { availability: null, expiry: null, position: null, ...given.terms },
    data: Buffer.from(data),
    work: null,
  });
  expect(outcome.code).toBe(QME.OK);
  return outcome;
}
const range = (from: number, to = from) => ({ from, to });
const inS = (seconds: number) => ({ clock: CLOCK.SPACE, seconds });
const atS = (seconds: number) => ({ clock: CLOCK.WALL, seconds });
const values = (given: Extract<MessageChange, { kind: 'values' }>['values']): MessageChange => ({
  kind: 'values',
  values: given,
});

async function opened(options: ConstructorParameters<typeof Bench>[0] = {}): Promise<Bench> {
  return new Bench(options).open();
}
async function restarted(bench: Bench): Promise<void> {
  await bench.settle();
  await bench.crash(true);
}

describe('a list of messages', () => {
  it('has the deliverable ones in the order of the queue, then those to come, then those that are held, with their values', async () => {
    const bench = await opened();
    const props = { corrid: corrid(1), flags: TPQ.TPQCORRID | TPQ.TPQREPLYQ, replyqueue: 'R', replyQos: 2 };
    put(bench, 'later', { terms: { availability: inS(50) } });
    put(bench, 'on the wall', { terms: { availability: atS(bench.clock.wallMs() / 1000 + 9) } });
    put(bench, 'held', { props: { priority: 90 } });
    put(bench, 'low', { props: { priority: 10, ...props }, terms: { expiry: inS(30) } });
    put(bench, 'high', { props: { priority: 60 } });
    const work = bench.engine.openWork();
    expect(bench.take('Q', { work }).answer).toBe('held');
    const found = await listed(bench);
    expect(found.map((one) => [textOf(one), one.state])).toEqual([
      ['high', 'ready'],
      ['low', 'ready'],
      ['later', 'delayed'],
      ['on the wall', 'delayed'],
      ['held', 'held'],
    ]);
    const wallMs = bench.clock.wallMs();
    expect(found[1]).toMatchObject({
      priority: 10,
      retries: 0,
      persistent: true,
      expiresMs: wallMs + 30_000,
      contents: { type: 'STRING', dataBytes: 3, replyQos: 2, replyqueue: 'R' },
    });
    expect(found[0]?.availableMs).toBeNaN();
    expect([found[2]?.availableMs, found[3]?.availableMs]).toEqual([wallMs + 50_000, wallMs + 9000]);
    expect(Buffer.from(found[1]?.corrid ?? []).equals(corrid(1))).toBe(true);
  });

  it('goes on behind the place of its cursor when the message has gone from there, and never repeats what stays', async () => {
    const bench = await opened();
    for (let i = 0; i < 4; i++) put(bench, `r${i}`);
    for (let i = 0; i < 3; i++) put(bench, `d${i}`, { terms: { availability: inS(10 + i) } });
    const seen: string[] = [];
    let cursor: Cursor | null = null;
    for (let pages = 0; pages < 20; pages++) {
      const page: Awaited<ReturnType<typeof pageOf>> = await pageOf(bench, { limit: 1, cursor });
      seen.push(...page.messages.map(textOf));
      // What was shown is taken away, and something comes that sorts before it.
      const gone = page.messages[0]?.msgid;
      if (gone !== undefined) {
        const msgid = bench.engine.space.id(entryOf(bench, gone));
        expect(await change(bench, { kind: 'delete' }, { msgid })).toEqual([QME.OK, 1, 0]);
        put(bench, 'before all', { props: { priority: 99 } });
      }
      ({ cursor } = page);
      if (cursor === null) break;
    }
    expect(seen).toEqual(['r0', 'r1', 'r2', 'r3', 'd0', 'd1', 'd2']);
  });

  it('selects by every criterion, and by all of them together', async () => {
    const bench = await opened();
    const wallMs = bench.clock.wallMs();
    const first = put(bench, 'plain');
    put(bench, 'urgent', { props: { priority: 80 } });
    put(bench, 'named', { props: { corrid: corrid(2), priority: 80 } });
    put(bench, 'expires', { terms: { expiry: inS(60) } });
    put(bench, 'later', { terms: { availability: inS(20) } });
    expect(await texts(bench, { priority: range(80) })).toEqual(['urgent', 'named']);
    expect(await texts(bench, { priority: range(80), corrid: corrid(2) })).toEqual(['named']);
    expect(await texts(bench, { corrid: corrid(3) })).toEqual([]);
    expect(await texts(bench, { msgid: first.id })).toEqual(['plain']);
    expect(await texts(bench, { msgid: first.id, priority: range(80) })).toEqual([]);
    expect(await texts(bench, { persistent: false })).toEqual([]);
    expect(await texts(bench, { expiry: 'none', priority: range(50) })).toEqual(['plain', 'later']);
    expect(await texts(bench, { expiry: range(wallMs + 59_000, wallMs + 60_000) })).toEqual(['expires']);
    expect(await texts(bench, { expiry: range(wallMs + 60_001, Infinity) })).toEqual([]);
    expect(await texts(bench, { available: range(wallMs + 20_000) })).toEqual(['later']);
    expect(await texts(bench, { available: range(wallMs + 20_001, Infinity) })).toEqual([]);
  });
});

function entryOf(bench: Bench, msgid: Uint8Array): number {
  const { space } = bench.engine;
  for (let row = 1; row <= space.messages.rowsMax; row++) {
    const entry = space.messages.isLive(row) ? space.messages.entry.get(row) : 0;
    if (
      entry !== 0 &&
      Buffer.from(msgid).toString().endsWith(space.id(entry).counter.toString(16).padStart(12, '0'))
    )
      return entry;
  }
  return 0;
}

describe('changes of messages', () => {
  it('delete, and leave what a transaction holds and what comes meanwhile', async () => {
    const bench = await opened();
    bench.putMany(5);
    put(bench, 'delayed', { terms: { availability: inS(9) } });
    const work = bench.lock(2);
    const answer = begin(bench, { kind: 'delete' });
    put(bench, 'new');
    for (let i = 0; i < TURNS_MAX && answer.result === undefined; i++) await bench.turn();
    expect(answer.result).toMatchObject({ code: QME.OK, changed: 4, held: 2 });
    expect(await texts(bench)).toEqual(['new', 'm1', 'm2']);
    bench.engine.rollback(work, QME.QMEABORTED);
    await restarted(bench);
    expect(await texts(bench)).toEqual(['m1', 'm2', 'new']);
  });

  it('give a priority that orders, is handed out, and survives a restart, a checkpoint and restating', async () => {
    const bench = await opened({ segmentBytes: 16 * 1024 });
    bench.putMany(3);
    const last = put(bench, 'last');
    expect(await change(bench, values({ priority: 77 }), { msgid: last.id })).toEqual([QME.OK, 1, 0]);
    const check = async (): Promise<void> => {
      const found = await listed(bench);
      expect(found.map((one) => [textOf(one), one.priority])).toEqual([
        ['last', 77],
        ['m1', 50],
        ['m2', 50],
        ['m3', 50],
      ]);
    };
    await check();
    await restarted(bench);
    await check();
    const checkpoint = bench.engine.checkpoint();
    await bench.settle();
    await checkpoint;
    await restarted(bench);
    await check();
    const first = bench.log.stat().first;
    for (let i = 0; i < 200; i++) {
      bench.put('x'.repeat(1000), { qname: 'OTHER' });
      bench.take('OTHER');
      await bench.settle();
    }
    expect(bench.log.stat().first).toBeGreaterThan(first);
    await restarted(bench);
    await check();
    // The log alone is enough.
    for (const { id } of await bench.log.snapshots.list()) await bench.log.snapshots.remove(id);
    await restarted(bench);
    await check();
  });

  it('give times: what becomes available goes to who waits for it, what has expired is gone', async () => {
    const bench = await opened();
    put(bench, 'later', { terms: { availability: inS(1000) } });
    const waiting = bench.take('Q', { wait: true });
    expect(waiting.answer).toBeNull();
    expect(await change(bench, values({ availability: inS(0) }))).toEqual([QME.OK, 1, 0]);
    expect(waiting.answer).toBe('later');
    put(bench, 'now');
    put(bench, 'too');
    expect(await change(bench, values({ availability: inS(60) }))).toEqual([QME.OK, 2, 0]);
    expect(bench.take().answer).toBe(`failure ${QME.QMENOMSG}`);
    await restarted(bench);
    expect((await listed(bench)).map(({ state }) => state)).toEqual(['delayed', 'delayed']);
    bench.clock.advance(60_000);
    await bench.settle();
    expect(await change(bench, values({ expiry: inS(5) }))).toEqual([QME.OK, 2, 0]);
    expect(await change(bench, values({ expiry: 'none' }), { msgid: null, priority: null })).toEqual([
      QME.OK,
      2,
      0,
    ]);
    expect(await change(bench, values({ expiry: inS(5) }))).toEqual([QME.OK, 2, 0]);
    await restarted(bench);
    expect(await texts(bench)).toEqual(['now', 'too']);
    bench.clock.advance(5000);
    await bench.settle();
    expect([await texts(bench), queueOf(bench, 'Q').expired]).toEqual([[], 2]);
    put(bench, 'at once');
    expect(await change(bench, values({ expiry: inS(0) }))).toEqual([QME.OK, 1, 0]);
    expect(queueOf(bench, 'Q').messages).toBe(0);
  });

  it('move in order under new ids with all they have, and wake who waits there', async () => {
    const bench = await opened();
    const props = { appkey: 7, urcode: 8, failurequeue: 'F', flags: TPQ.TPQFAILUREQ, corrid: null };
    const before = put(bench, 'retried', { props, terms: { expiry: inS(90) } });
    const work = bench.engine.openWork();
    bench.take('Q', { work });
    bench.engine.rollback(work, QME.QMEABORTED);
    put(bench, 'second');
    put(bench, 'delayed', { terms: { availability: inS(30) } });
    await bench.settle();
    expect(await change(bench, { kind: 'move', to: queueOf(bench, 'OTHER') })).toEqual([QME.OK, 3, 0]);
    for (let lives = 0; lives < 2; lives++) {
      expect(await texts(bench)).toEqual([]);
      const found = await listed(bench, {}, 'OTHER');
      expect(found.map(textOf)).toEqual(['retried', 'second', 'delayed']);
      expect(found[0]).toMatchObject({ retries: 1, contents: { appkey: 7, urcode: 8, failurequeue: 'F' } });
      expect(found[0]?.expiresMs).toBeLessThan(Infinity);
      expect(found[2]?.state).toBe('delayed');
      expect(bench.engine.space.entryById(before.id as NonNullable<typeof before.id>)).toBe(0);
      await restarted(bench);
    }
    const waiting = bench.take('Q', { wait: true });
    expect(await change(bench, { kind: 'move', to: queueOf(bench, 'Q') }, {}, 'OTHER')).toEqual([
      QME.OK,
      3,
      0,
    ]);
    expect(waiting.answer).toBe('retried');
  });

  it('keep what the error queue knows of a message, also over a move and a restart', async () => {
    const bench = await opened();
    put(bench, 'poison');
    for (let attempts = 0; attempts < 2; attempts++) {
      const work = bench.engine.openWork();
      bench.take('Q', { work });
      bench.engine.rollback(work, QME.QMEABORTED);
    }
    await bench.settle();
    const known = { queue: 'Q', reason: 'rollback', code: '', atMs: bench.clock.wallMs(), count: 1 };
    expect((await listed(bench, {}, 'ERR')).map(({ origin }) => origin)).toEqual([known]);
    expect(await change(bench, values({ priority: 7, expiry: inS(60) }), {}, 'ERR')).toEqual([QME.OK, 1, 0]);
    expect(await change(bench, { kind: 'move', to: queueOf(bench, 'OTHER') }, {}, 'ERR')).toEqual([
      QME.OK,
      1,
      0,
    ]);
    for (let lives = 0; lives < 2; lives++) {
      expect((await listed(bench, {}, 'OTHER')).map(({ origin, priority }) => [origin, priority])).toEqual([
        [known, 7],
      ]);
      await restarted(bench);
    }
  });

  it('of many go on in slices that let others work, and a crash in any of them leaves each message once', async () => {
    const found = new Set<number>();
    for (const turns of [0, 3, 4, 5, 6, 9]) {
      const bench = await opened();
      for (let i = 0; i < 1400; i++) put(bench, `m${i}`);
      await bench.settle();
      const answer = begin(bench, { kind: 'move', to: queueOf(bench, 'OTHER') });
      for (let i = 0; i < turns; i++) await bench.turn();
      if (turns > 1 && answer.result === undefined) {
        put(bench, 'meanwhile', { props: { priority: 100 } });
        expect(bench.take().answer).toBe('meanwhile');
      }
      await bench.crash(turns % 2 === 0);
      const [there, here] = [queueOf(bench, 'OTHER').messages, queueOf(bench, 'Q').messages];
      expect(there + here).toBe(1400);
      found.add(there);
      expect(new Set([...bench.contents('Q'), ...bench.contents('OTHER')]).size).toBe(1400);
    }
    // Before, in the middle, and after.
    expect([...found].some((there) => there > 0 && there < 1400)).toBe(true);
    expect([...found]).toEqual(expect.arrayContaining([0, 1400]));
  });

  it('on a full log: deletions are done, other changes are refused with what was changed', async () => {
    const bench = await opened({ roomBytes: 20_000 });
    let count = 0;
    while (bench.put('x'.repeat(300)).code === QME.OK) count++;
    await bench.settle();
    expect(await change(bench, values({ priority: 2 }))).toEqual([QME.QMENOSPACE, 0, 0]);
    expect(await change(bench, { kind: 'move', to: queueOf(bench, 'OTHER') })).toEqual([
      QME.QMENOSPACE,
      0,
      0,
    ]);
    expect(queueOf(bench, 'Q').messages).toBe(count);
    expect(await change(bench, { kind: 'delete' })).toEqual([QME.OK, count, 0]);
    await restarted(bench);
    expect(queueOf(bench, 'Q').messages).toBe(0);
  });

  it('end early when the space closes or a queue is destroyed', async () => {
    const bench = await opened();
    for (let i = 0; i < 1200; i++) put(bench, `m${i}`);
    const moved = begin(bench, { kind: 'move', to: queueOf(bench, 'OTHER') });
    for (let i = 0; i < TURNS_MAX && queueOf(bench, 'OTHER').messages === 0; i++) await bench.turn();
    expect(bench.engine.destroyQueue('OTHER').code).toBe(QME.OK);
    for (let i = 0; i < 6; i++) await bench.turn();
    expect(moved.result?.code).toBe(QME.QMEBADQUEUE);
    const deleted = begin(bench, { kind: 'delete' });
    const closing = bench.engine.close();
    expect(deleted.result).toMatchObject({ code: QME.QMEABORTED, changed: 0 });
    await bench.settle();
    await closing;
  });

  it('wait while a large transaction ends on either queue', async () => {
    const bench = await opened();
    bench.putMany(8);
    put(bench, 'stays', { qname: 'OTHER' });
    const work = bench.lock(4);
    bench.putMany(4, { qname: 'OTHER', work });
    bench.engine.commit(work);
    const answer = begin(bench, { kind: 'move', to: queueOf(bench, 'OTHER') });
    await bench.untilApplying();
    expect(answer.result).toBeUndefined();
    for (let i = 0; i < TURNS_MAX && answer.result === undefined; i++) await bench.turn();
    expect(answer.result).toMatchObject({ code: QME.OK, changed: 4, held: 0 });
    expect([queueOf(bench, 'Q').messages, queueOf(bench, 'OTHER').messages]).toEqual([0, 9]);
  });
});
