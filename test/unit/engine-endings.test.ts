// Large transactions end in slices: what waits meanwhile and what does not, in which order it is answered, and what is left when the process
// ends between two slices. The log is in memory, the turns of the loop are in the test's hands.
import { describe, expect, it } from 'vitest';
import { QME } from '../../proto/codes.ts';
import type { Work } from '../../src/engine/request.ts';
import type { MemoryLogOptions } from '../../src/wal/memory/memory-log.ts';
import { Bench } from '../support/engine-bench.ts';
import { queueAttributes, spaceAttributes } from '../support/queue-values.ts';

describe('a large rollback', () => {
  it('holds its queue: a dequeue waits for its end and gets the first; another queue is served at once', async () => {
    const bench = await new Bench().open();
    bench.putMany(10);
    bench.put('elsewhere', { qname: 'OTHER' });
    await bench.settle();
    const work = bench.lock(10);
    const over = bench.end(bench.engine.rollback(work, QME.QMEABORTED));
    const first = bench.take();
    const second = bench.take();
    expect(bench.take('OTHER').answer).toBe('elsewhere');
    await bench.turn();
    await bench.turn();
    expect([first.answer, second.answer, over.state]).toEqual([null, null, 'held']);
    expect(bench.contents()).not.toHaveLength(0);
    await bench.settle();
    expect([first.answer, second.answer, over.state]).toEqual(['m1', 'm2', 'released']);
    expect(bench.contents()).toHaveLength(8);
    expect(bench.engine.space.branches.active).toBe(0);
  });

  it('is answered when its last record is durable', async () => {
    const bench = await new Bench().open();
    bench.putMany(4);
    const work = bench.lock(4);
    await bench.settle();
    bench.log.holdSyncs();
    const over = bench.end(bench.engine.rollback(work, QME.QMEABORTED));
    await bench.settle();
    expect([bench.contents().length, over.state]).toEqual([4, 'held']);
    bench.log.releaseSyncs();
    await bench.settle();
    expect(over.state).toBe('released');
  });

  it('keeps the messages whichever turn the process ends in: retried, or simply there', async () => {
    for (let turns = 0; turns < 8; turns++) {
      for (const keepInFlight of [false, true]) {
        const bench = await new Bench().open();
        bench.putMany(10);
        await bench.settle();
        bench.engine.rollback(bench.lock(10), QME.QMEABORTED);
        for (let i = 0; i < turns; i++) await bench.turn();
        await bench.crash(keepInFlight);
        const retries = bench.contents().map((text) => text.split(' ')[1]);
        expect(retries).toHaveLength(10);
        expect(retries.join('')).toMatch(/^1*0*$/);
      }
    }
  });

  it('moves what has no retries left, before what is put on the error queue later', async () => {
    const bench = await new Bench().open();
    bench.putMany(7);
    bench.engine.rollback(bench.lock(7), QME.QMEABORTED);
    await bench.settle();
    bench.engine.rollback(bench.lock(7), QME.QMEABORTED);
    expect(bench.put('later', { qname: 'ERR' }).code).toBe(QME.OK);
    const order: string[] = [];
    for (let i = 0; i < 8; i++) bench.take('ERR', { log: order });
    expect(order).toEqual([]);
    await bench.settle();
    expect(order).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'later']);
  });

  it('gives up what it had put, also what lies in memory', async () => {
    const bench = await new Bench().open();
    const { engine } = bench;
    const { space } = engine;
    const work = engine.openWork();
    space.memory.limitBytes = 1e6;
    engine.define({ kind: 'defineQueue', attributes: queueAttributes('MEM', { policy: 'nonpersist' }) });
    for (let i = 0; i < 10; i++) expect(bench.put(`m${i}`, { qname: 'MEM', work }).code).toBe(QME.OK);
    bench.putMany(5, { work });
    engine.rollback(work, QME.QMEABORTED);
    await bench.settle();
    expect([space.memory.usedBytes, space.usage.messages, space.usage.pages]).toEqual([0, 0, 0]);
    expect(space.queue('Q')?.pending).toBe(0);
    expect(bench.log.reservedBytes).toBe(0);
  });
});

/** Takes six from Q and puts five on OTHER. */
async function moving(options: Partial<MemoryLogOptions> = {}): Promise<{ bench: Bench; work: Work }> {
  const bench = await new Bench(options).open();
  bench.putMany(6);
  await bench.settle();
  const work = bench.lock(6);
  bench.putMany(5, { qname: 'OTHER', work });
  await bench.settle();
  return { bench, work };
}

describe('a large commit', () => {
  it('is seen whole: who reads one of its queues waits for its end', async () => {
    const { bench, work } = await moving();
    const parked = bench.take('OTHER', { wait: true });
    bench.put('best', { qname: 'OTHER', work, priority: 99 });
    const over = bench.end(bench.engine.commit(work));
    const answers: string[] = [];
    for (let i = 0; i < 6; i++) bench.take('OTHER', { log: answers });
    bench.take('Q', { log: answers });
    for (let turns = 0; bench.engine.endings.isBusy; turns++) {
      expect([turns < 20, parked.answer, answers, over.state]).toEqual([true, null, [], 'held']);
      bench.engine.settle();
      await bench.turn();
    }
    // Who was parked before comes first, and gets the first of all, which was applied last.
    expect(parked.answer).toBe('best');
    expect(answers).toEqual([
      'm1',
      'm2',
      'm3',
      'm4',
      'm5',
      `failure ${QME.QMENOMSG}`,
      `failure ${QME.QMENOMSG}`,
    ]);
    await bench.settle();
    expect(over.state).toBe('released');
    expect(bench.log.reservedBytes).toBe(0);
  });

  it('took place or did not, whichever turn the process ends in', async () => {
    const outcomes = new Set<string>();
    for (let turns = 0; turns < 10; turns++) {
      for (const keepInFlight of [false, true]) {
        const { bench, work } = await moving();
        if (turns % 2 === 0) bench.log.holdSyncs();
        const over = bench.end(bench.engine.commit(work));
        for (let i = 0; i < turns; i++) await bench.turn();
        bench.log.releaseSyncs();
        await bench.crash(keepInFlight);
        const outcome = `${bench.contents('Q').length} ${bench.contents('OTHER').length}`;
        expect(['6 0', '0 5']).toContain(outcome);
        if (over.state === 'released') expect(outcome).toBe('0 5');
        outcomes.add(outcome);
      }
    }
    expect(outcomes.size).toBe(2);
  });

  it('puts before another message within the same batch', async () => {
    for (let turns = 0; turns < 10; turns++) {
      const { bench, work } = await moving();
      const base = bench.put('base', { qname: 'OTHER', priority: 10 });
      await bench.settle();
      bench.put('before the base', { qname: 'OTHER', work, before: bench.msgid(base) });
      bench.engine.commit(work);
      for (let i = 0; i < turns; i++) await bench.turn();
      await bench.crash(turns % 2 === 0);
      const answers: string[] = [];
      while (answers.at(-1)?.startsWith('failure') !== true) bench.take('OTHER', { log: answers });
      const whole = ['m1', 'm2', 'm3', 'm4', 'm5', 'before the base'];
      expect([[], whole]).toContainEqual(answers.slice(0, -2));
      expect(answers.at(-2)).toBe('base');
    }
  });

  it('puts before a message of its own that expires meanwhile', async () => {
    const bench = await new Bench().open();
    const top = bench.put('top', { qname: 'OTHER', top: true });
    const work = bench.engine.openWork();
    const gone = {
      expiresAtS: bench.clock.wallMs() / 1000 + 1,
      before: bench.msgid(top),
      qname: 'OTHER',
      work,
    };
    const named = bench.msgid(bench.put('gone', gone));
    bench.putMany(8, { work });
    bench.put('before it', { qname: 'OTHER', work, before: named });
    bench.clock.advance(5000);
    bench.engine.commit(work);
    await bench.settle();
    expect(bench.contents('OTHER')).toHaveLength(2);
    expect([bench.take('OTHER').answer, bench.take('OTHER').answer]).toEqual(['before it', 'top']);
  });

  it('is there after a start from a checkpoint that was taken in the middle of it', async () => {
    for (let turns = 0; turns < 8; turns++) {
      const { bench, work } = await moving();
      bench.engine.commit(work);
      for (let i = 0; i < turns; i++) await bench.turn();
      const checkpoint = bench.engine.checkpoint();
      await bench.settle();
      await checkpoint;
      expect(await bench.log.snapshots.list()).toHaveLength(1);
      await bench.crash(false);
      expect([bench.contents('Q').length, bench.contents('OTHER').length]).toEqual([0, 5]);
    }
  });

  it('keeps its messages, and takes what it took, when the log is reclaimed in the middle of it', async () => {
    for (const turns of [3, 10, 22, 100]) {
      const bench = await new Bench({ segmentBytes: 16 * 1024 }).open();
      bench.putMany(60);
      await bench.settle();
      const work = bench.lock(60);
      bench.putMany(60, { qname: 'OTHER', work });
      const { endings } = bench.engine;
      const { first } = bench.log.stat();
      const traffic = async (): Promise<void> => {
        for (let i = 0; i < 10; i++) {
          bench.put('x'.repeat(1000), { qname: 'ERR' });
          bench.take('ERR');
        }
        await bench.turn();
      };
      bench.engine.commit(work);
      await bench.untilApplying();
      for (let i = 0; i < turns && endings.isBusy; i++) await traffic();
      expect(endings.isBusy).toBe(turns < 100);
      await bench.crash(true);
      expect([bench.contents('Q').length, bench.contents('OTHER').length]).toEqual([0, 60]);
      for (let i = 0; i < 10; i++) await traffic();
      expect(bench.log.stat().first).toBeGreaterThan(first);
    }
  });

  it('is finished by a stop; who waits for its queues is told so', async () => {
    const { bench, work } = await moving();
    const over = bench.end(bench.engine.commit(work));
    const waiting = bench.take('OTHER');
    let isOver: boolean | null = null;
    void bench.engine.quiesce().then(() => (isOver = bench.engine.space.branches.active === 0));
    await bench.settle();
    expect(isOver).toBe(true);
    expect([over.state, waiting.answer]).toEqual(['released', `failure ${QME.QMEABORTED}`]);
    await bench.crash(false);
    expect(bench.contents('OTHER')).toHaveLength(5);
  });

  it('is of unknown outcome when the log fails; who waits is told', async () => {
    const { bench, work } = await moving({ faults: [{ at: 3, effect: 'append-lost' }] });
    bench.engine.onFailure = () => {};
    const over = bench.end(bench.engine.commit(work));
    const next = bench.end(bench.engine.rollback(bench.engine.openWork(), QME.QMEABORTED));
    const waiting = bench.take('OTHER');
    await bench.settle();
    expect([over.state, waiting.answer]).toEqual(['failed', `failure ${QME.QMESYSTEM}`]);
    expect(next.state).toBe('released');
  });
});

describe('while a large transaction ends', () => {
  it('what comes between two endings is answered between them', async () => {
    const bench = await new Bench().open();
    bench.putMany(10);
    await bench.settle();
    const works = [bench.lock(5), bench.lock(5)] as const;
    bench.engine.rollback(works[0], QME.QMEABORTED);
    const between = bench.take();
    bench.engine.commit(works[1]);
    const after = bench.take();
    for (let i = 0; i < 20 && between.answer === null; i++) await bench.turn();
    expect([between.answer, after.answer, works[1].branch.locks]).toEqual(['m1', null, 5]);
    await bench.settle();
    expect(after.answer).toBe('m2');
    expect(bench.contents()).toHaveLength(3);
  });

  it('nobody is offered anything between two endings that touch a queue, but for what the first one left', async () => {
    const bench = await new Bench().open();
    bench.putMany(5);
    await bench.settle();
    const first = bench.lock(5);
    const second = bench.engine.openWork();
    bench.putMany(5, { work: second });
    const parked = bench.take('Q', { wait: true });
    const over = bench.end(bench.engine.commit(first));
    bench.engine.commit(second);
    for (let i = 0; i < 20 && over.state === 'held'; i++) await bench.turn();
    bench.put('put in between', { priority: 1 });
    expect([over.state, parked.answer, bench.engine.endings.isBusy]).toEqual(['released', null, true]);
    await bench.settle();
    expect(parked.answer).toBe('m1');
  });

  it('an enqueue is made at once, unless it names a message there', async () => {
    const bench = await new Bench().open();
    bench.putMany(6);
    const named = bench.msgid(bench.put('named', { priority: 1 }));
    bench.engine.commit(bench.lock(6));
    expect(bench.put('plain', { priority: 2 }).code).toBe(QME.OK);
    expect(bench.put('before', { before: named }).later).toBe(true);
    const retried: boolean[] = [];
    bench.engine.whenRoom(() => retried.push(bench.put('before', { before: named }).later));
    await bench.settle();
    expect(retried).toEqual([false]);
    const answers: string[] = [];
    for (let i = 0; i < 3; i++) bench.take('Q', { log: answers });
    expect(answers).toEqual(['plain', 'before', 'named']);
  });

  it('an enqueue that finds the space full waits for the room that is coming', async () => {
    const bench = await new Bench().open();
    const attributes = spaceAttributes('S', { errorQueue: 'ERR', messages: 6 });
    bench.putMany(6);
    bench.engine.define({ kind: 'defineSpace', attributes });
    await bench.settle();
    const work = bench.lock(6);
    expect(bench.put('too many')).toMatchObject({ code: QME.QMENOSPACE, later: false });
    bench.engine.commit(work);
    expect(bench.put('later').later).toBe(true);
    await bench.settle();
    expect(bench.put('now').code).toBe(QME.OK);
  });

  it('a purge of its queue sees all of it or nothing', async () => {
    const bench = await new Bench().open();
    const work = bench.engine.openWork();
    bench.putMany(9, { work });
    let purged = -1;
    const queue = bench.engine.space.queue('Q');
    if (queue === undefined) throw new Error('there is no queue');
    bench.engine.commit(work);
    await bench.turn();
    bench.engine.purgeQueue(queue, (count) => (purged = count));
    await bench.settle();
    expect([purged, bench.contents().length]).toEqual([9, 0]);
  });

  it('a second take of what a rollback gives back finds it there: it is not put off', async () => {
    const bench = await new Bench().open();
    bench.putMany(5);
    const work = bench.lock(5);
    bench.engine.settlesLater = true;
    bench.engine.rollback(work, QME.QMEABORTED);
    bench.engine.settlesLater = false;
    expect(bench.contents()).toHaveLength(5);
  });
});
