// Large prepared branches: preparing and ending one is walked in slices. What is seen meanwhile, and what is left when the process ends between
// two slices: prepared or not, ended or not, never half.
import { describe, expect, it } from 'vitest';
import { QME } from '../../proto/codes.ts';
import type { Work } from '../../src/engine/request.ts';
import { openTlog } from '../../src/engine/tlog.ts';
import { TwoPhase } from '../../src/engine/two-phase.ts';
import type { Branch } from '../../src/queue/branches.ts';
import { openMemoryLog, type MemoryLogOptions } from '../../src/wal/memory/memory-log.ts';
import { Bench } from '../support/engine-bench.ts';
import { ManualClock } from '../support/manual-clock.ts';

const AS = { transaction: { start: 1, serial: 1 }, tlog: '0123456789abcdef'.repeat(2) };
const TURNS = 8;
const CASES = Array.from({ length: TURNS }, (_, turns) => [turns, turns % 2 === 0] as const);

/** Takes six from Q and puts five on OTHER, and one before another one there. */
async function moving(options: Partial<MemoryLogOptions> = {}): Promise<{ bench: Bench; work: Work }> {
  const bench = await new Bench(options).open();
  bench.putMany(6);
  const base = bench.put('base', { qname: 'OTHER', priority: 10 });
  await bench.settle();
  const work = bench.lock(6);
  bench.putMany(5, { qname: 'OTHER', work });
  bench.put('before', { qname: 'OTHER', work, before: bench.msgid(base) });
  expect(bench.engine.prepared.promise(work)).toBe(QME.OK);
  await bench.settle();
  return { bench, work };
}
async function prepared(options: Partial<MemoryLogOptions> = {}): Promise<{ bench: Bench; branch: Branch }> {
  const { bench, work } = await moving(options);
  bench.engine.prepared.prepare(work, AS);
  await bench.settle();
  return { bench, branch: work.branch };
}

/** How many are on Q and on OTHER, and what prepared branches hold: locked and pending. */
function standing(bench: Bench): string {
  const held = bench.engine.prepared.list().map(({ locks, pending }) => `${locks} ${pending.count}`);
  return `${bench.contents('Q').length} ${bench.contents('OTHER').length} [${held.join()}]`;
}
function drained(bench: Bench, qname: string): string[] {
  const answers: string[] = [];
  while (answers.at(-1)?.startsWith('failure') !== true) bench.take(qname, { log: answers });
  return answers.slice(0, -1);
}
const TAKEN = ['m1', 'm2', 'm3', 'm4', 'm5', 'm6'];
const PUT = ['m1', 'm2', 'm3', 'm4', 'm5', 'before', 'base'];

describe('preparing a large branch', () => {
  it('is one step of the log: after a crash in any turn all of it is prepared or nothing', async () => {
    const found = new Set<string>();
    for (const [turns, keepInFlight] of CASES) {
      const { bench, work } = await moving();
      if (turns % 3 === 0) bench.log.holdSyncs();
      const over = bench.end(bench.engine.prepared.prepare(work, AS));
      for (let i = 0; i < turns; i++) await bench.turn();
      bench.log.releaseSyncs();
      await bench.crash(keepInFlight);
      found.add(standing(bench));
      if (over.state === 'released') expect(standing(bench)).toBe('0 1 [6 6]');
    }
    expect([...found].toSorted()).toEqual(['0 1 [6 6]', '6 1 []']);
  });

  it('shows nothing, holds up nobody, and counts what it enqueued once', async () => {
    const { bench, work } = await moving();
    const { space } = bench.engine;
    const { messages, pages } = space.usage;
    bench.engine.prepared.prepare(work, AS);
    for (let turns = 0; bench.engine.endings.isBusy; turns++) {
      expect([turns < 20, space.usage.messages, space.usage.pages]).toEqual([true, messages, pages]);
      expect([space.queue('OTHER')?.pending, bench.take('Q').answer]).toEqual([6, `failure ${QME.QMENOMSG}`]);
      await bench.turn();
    }
    expect([standing(bench), space.queue('OTHER')?.pending]).toEqual(['0 1 [6 6]', 6]);
  });

  it('is there after a start from a checkpoint that was taken in the middle of it', async () => {
    for (const [turns] of CASES) {
      const { bench, work } = await moving();
      bench.engine.prepared.prepare(work, AS);
      for (let i = 0; i < turns; i++) await bench.turn();
      const checkpoint = bench.engine.checkpoint();
      await bench.settle();
      await checkpoint;
      await bench.crash(false);
      expect(standing(bench)).toBe('0 1 [6 6]');
    }
  });
});

describe.each([true, false])('the end of a large prepared branch, committed: %s', (committed) => {
  const before = '0 1 [6 6]';
  const after = committed ? '0 7 []' : '6 1 []';

  it('took place or did not, whichever turn the process ends in, and can then be said again', async () => {
    const found = new Set<string>();
    for (const [turns, keepInFlight] of [...CASES, [20, false] as const]) {
      const { bench, branch } = await prepared();
      if (turns % 3 === 0) bench.log.holdSyncs();
      const over = bench.end(bench.engine.prepared.end(branch, committed));
      for (let i = 0; i < turns; i++) await bench.turn();
      bench.log.releaseSyncs();
      await bench.crash(keepInFlight);
      const [left] = bench.engine.prepared.list();
      found.add(left === undefined ? 'over' : 'not over');
      // Some of it may have been given back already.
      if (left === undefined) expect(standing(bench)).toBe(after);
      else if (committed) expect(standing(bench)).toBe(before);
      if (over.state === 'released') expect(left).toBeUndefined();
      if (left !== undefined) bench.engine.prepared.end(left, committed);
      await bench.settle();
      expect(standing(bench)).toBe(after);
      expect(drained(bench, 'Q')).toEqual(committed ? [] : TAKEN);
      expect(drained(bench, 'OTHER')).toEqual(committed ? PUT : ['base']);
      await bench.settle();
      expect(bench.log.reservedBytes).toBe(0);
    }
    expect([...found].toSorted()).toEqual(['not over', 'over']);
  });

  it('is there after a start from a checkpoint that was taken in the middle of it', async () => {
    for (const [turns] of CASES) {
      const { bench, branch } = await prepared();
      bench.engine.prepared.end(branch, committed);
      for (let i = 0; i < turns; i++) await bench.turn();
      const checkpoint = bench.engine.checkpoint();
      await bench.settle();
      await checkpoint;
      expect(await bench.log.snapshots.list()).toHaveLength(1);
      await bench.crash(false);
      expect(standing(bench)).toBe(after);
    }
  });

  it('is over for ever when the log is reclaimed in the middle of it', async () => {
    for (const turns of [3, 15]) {
      const bench = await new Bench({ segmentBytes: 16 * 1024 }).open();
      bench.putMany(60);
      await bench.settle();
      const work = bench.lock(60);
      bench.putMany(60, { qname: 'OTHER', work });
      const { engine } = bench;
      expect(engine.prepared.promise(work)).toBe(QME.OK);
      engine.prepared.prepare(work, AS);
      await bench.settle();
      const { first } = bench.log.stat();
      const traffic = async (): Promise<void> => {
        for (let i = 0; i < 10; i++) {
          bench.put('x'.repeat(1000), { qname: 'ERR' });
          bench.take('ERR');
        }
        await bench.turn();
      };
      engine.prepared.end(work.branch, committed);
      await bench.untilApplying();
      for (let i = 0; i < turns && engine.endings.isBusy; i++) await traffic();
      expect(engine.endings.isBusy).toBe(true);
      await bench.crash(true);
      expect(standing(bench)).toBe(committed ? '0 60 []' : '60 0 []');
      for (let i = 0; i < 20; i++) await traffic();
      expect(bench.log.stat().first).toBeGreaterThan(first);
      await bench.crash(true);
      expect(standing(bench)).toBe(committed ? '0 60 []' : '60 0 []');
    }
  });
});

describe('a heuristic decision', () => {
  it.each([true, false])(
    '(commit %s) is there after a crash in any turn, or the branch is as before',
    async (commit) => {
      const after = commit ? '0 7 []' : '6 1 []';
      const found = new Set<string>();
      for (const [turns, keepInFlight] of CASES) {
        const { bench, branch } = await prepared();
        const { code, batch } = bench.engine.prepared.decideHeuristically(branch, commit);
        expect([code, bench.engine.prepared.list()]).toEqual([QME.OK, []]);
        const over = bench.end(batch);
        for (let i = 0; i < turns; i++) await bench.turn();
        await bench.crash(keepInFlight);
        await recovered(bench);
        found.add(standing(bench));
        if (over.state === 'released') expect(standing(bench)).toBe(after);
        expect(bench.engine.space.heuristics.size).toBe(standing(bench) === after ? 1 : 0);
      }
      expect([...found].toSorted()).toEqual([after, '0 1 [6 6]'].toSorted());
    },
  );

  it('is remembered over checkpoints and by the log alone, and forgotten when the outcome has been compared', async () => {
    for (const committed of [true, false]) {
      const { bench, branch } = await prepared({ segmentBytes: 16 * 1024 });
      bench.engine.prepared.decideHeuristically(branch, false);
      await bench.settle();
      for (let i = 0; i < 200; i++) {
        bench.put('x'.repeat(1000), { qname: 'ERR' });
        bench.take('ERR');
        await bench.turn();
      }
      const checkpoint = bench.engine.checkpoint();
      await bench.settle();
      await checkpoint;
      await bench.crash(true);
      expect(bench.engine.space.heuristics.list()).toMatchObject([{ ...AS, committed: false }]);
      for (const { id } of await bench.log.snapshots.list()) await bench.log.snapshots.remove(id);
      await bench.crash(true);
      expect(bench.engine.space.heuristics.list()).toMatchObject([{ ...AS, committed: false }]);
      const other = await recovered(bench, { tlog: 'f'.repeat(32), committed });
      expect([other, bench.engine.space.heuristics.size]).toEqual([[], 1]);
      const warned = await recovered(bench, { tlog: AS.tlog, committed });
      expect(warned.filter((text) => text.startsWith('heuristic hazard'))).toHaveLength(committed ? 1 : 0);
      await bench.crash(true);
      expect(bench.engine.space.heuristics.size).toBe(0);
    }
  });

  it('is compared with an outcome that comes later, and not undone by it', async () => {
    const { bench, branch } = await prepared();
    bench.engine.prepared.decideHeuristically(branch, false);
    bench.engine.prepared.end(branch, true);
    await bench.settle();
    expect([standing(bench), bench.engine.space.heuristics.size]).toEqual(['6 1 []', 0]);
    expect(bench.warned.join()).toMatch(
      /was rolled back in queue space S by an administrator, .* was committed/,
    );
  });

  it('that a crash cut off can be carried out, and not turned round', async () => {
    for (const [turns] of CASES) {
      const { bench, branch } = await prepared();
      bench.engine.prepared.decideHeuristically(branch, false);
      for (let i = 0; i < turns; i++) await bench.turn();
      await bench.crash(true);
      const [left] = bench.engine.prepared.list();
      if (left !== undefined && bench.engine.space.heuristics.size > 0) {
        expect(bench.engine.prepared.decideHeuristically(left, true).code).toBe(QME.QMESHARE);
        expect(bench.engine.prepared.decideHeuristically(left, false).code).toBe(QME.OK);
        await bench.settle();
        expect(standing(bench)).toBe('6 1 []');
      }
    }
  });

  it('is refused when the log has no room to remember it', async () => {
    const { bench, branch } = await prepared({ roomBytes: 20_000 });
    while (bench.engine.journal.reserve(16));
    expect(bench.engine.prepared.decideHeuristically(branch, true).code).toBe(QME.QMENOSPACE);
    expect(bench.engine.prepared.list()).toEqual([branch]);
  });
});

/** What a start with this transaction log does with prepared branches; returns what it warned of. */
async function recovered(bench: Bench, log?: { tlog: string; committed: boolean }): Promise<string[]> {
  const twoPhase = new TwoPhase();
  const { clock } = bench;
  const ports = { clock, ulog: { info: () => {}, warn: () => {}, error: () => {} }, soon: setImmediate };
  if (log !== undefined) {
    const { signal } = new AbortController();
    twoPhase.tlog = await openTlog(openMemoryLog({ clock }), signal, {
      ...ports,
      newIdentity: () => log.tlog,
    });
    const { spaceId, name } = bench.engine.space;
    const participants = [{ spaceId, name }];
    const held = { released: () => {}, failed: () => {} };
    if (log.committed && twoPhase.tlog.promise(participants))
      twoPhase.tlog.decide({ transaction: AS.transaction, participants }, held);
  }
  bench.warned.length = 0;
  const done = twoPhase.recover([bench.engine], ports.ulog);
  await bench.settle();
  await done;
  return bench.warned;
}

describe('the preamble of a log', () => {
  it('does not name a branch whose outcome is said before it', async () => {
    const { bench, branch } = await prepared({ segmentBytes: 16 * 1024 });
    const { engine } = bench;
    engine.prepared.end(branch, true);
    await bench.untilApplying();
    expect(branch.locks + branch.pending.count).toBeGreaterThan(0);
    expect(engine.prepared.list()).toEqual([]);
  });
});

describe('a commit over two spaces', () => {
  it('is not seen half: from when the small part is there, nobody is served from the large one before its end', async () => {
    const [one, two] = [await new Bench().open(), await new Bench().open()];
    const due: (() => void)[] = [];
    const soon = (run: () => void): void => void due.push(run);
    const clock = new ManualClock();
    const ports = { clock, ulog: { info: () => {}, warn: () => {}, error: () => {} }, soon };
    const newIdentity = (): string => AS.tlog;
    const { signal } = new AbortController();
    const twoPhase = new TwoPhase();
    twoPhase.tlog = await openTlog(openMemoryLog({ clock }), signal, { ...ports, newIdentity });
    const parts = [one, two].map(({ engine }) => ({ engine, work: engine.openWork() }));
    const [small, large] = parts;
    if (small === undefined || large === undefined) throw new Error('two parts');
    expect(twoPhase.join([small], large)).toBe(QME.OK);
    one.put('small', { work: small.work });
    two.putMany(8, { work: large.work });
    const earlier = two.engine.openWork();
    two.putMany(8, { qname: 'OTHER', work: earlier });
    const parked = two.take('Q', { wait: true });
    let state = 'held';
    const terms = { remember: true, complete: false };
    const ending = twoPhase.commit(AS.transaction, parts, terms);
    ending?.hold({ released: () => (state = 'released'), failed: () => (state = 'failed') });
    const turn = async (): Promise<void> => {
      for (const run of due.splice(0)) run();
      await one.turn();
      await two.turn();
    };
    for (let i = 0; i < 50 && one.contents().length === 0; i++) {
      expect(two.contents()).toEqual([]);
      // What is before it in the row of endings: its own part is not walked yet when the small one is there.
      if (twoPhase.tlog.decisions.size > 0 && earlier.messages > 0 && !two.engine.endings.isBusy)
        two.engine.commit(earlier);
      await turn();
    }
    expect([one.take().answer, state]).toEqual(['small', 'released']);
    two.put('put when the other part was seen', { priority: 99 });
    const waiting = two.take();
    expect([parked.answer, waiting.answer, two.engine.endings.isBusy]).toEqual([null, null, true]);
    for (let i = 0; i < 50 && two.engine.endings.isBusy; i++) await turn();
    expect([parked.answer, waiting.answer]).toEqual(['put when the other part was seen', 'm1']);
    expect(two.contents()).toHaveLength(7);
    for (let i = 0; i < 50 && twoPhase.tlog.decisions.size > 0; i++) await turn();
    expect(twoPhase.tlog.decisions.size).toBe(0);
  });
});
