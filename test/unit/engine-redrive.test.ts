// A redrive on an engine whose log is in memory and whose turns are in the test's hands: what goes where, what stays and why, at which pace, and
// that after an end at any moment each message is in exactly one of the two queues.
import { describe, expect, it } from 'vitest';
import { QME } from '../../proto/codes.ts';
import type { Redrive, RedriveResult, RedriveTerms } from '../../src/engine/redrive.ts';
import { REASON, type Cause } from '../../src/queue/provenance.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { Bench } from '../support/engine-bench.ts';
import { queueAttributes } from '../support/queue-values.ts';

const TIMED_OUT: Cause = { reason: REASON.TIMEOUT, code: 13, rcode: 0 };
const SERVICE_FAILED: Cause = { reason: REASON.SERVICE_FAILED, code: 11, rcode: -7 };

class Scene {
  readonly bench: Bench;

  private constructor(bench: Bench) {
    this.bench = bench;
  }

  /** Queues A and B, without retries, beside those of the bench. */
  static async open(options: ConstructorParameters<typeof Bench>[0] = {}): Promise<Scene> {
    const scene = new Scene(await new Bench(options).open());
    for (const name of ['A', 'B']) scene.define(name);
    await scene.bench.settle();
    return scene;
  }

  define(name: string, over: Parameters<typeof queueAttributes>[1] = {}): void {
    const { engine } = this.bench;
    expect(
      engine.define({ kind: 'defineQueue', attributes: queueAttributes(name, { retries: 0, ...over }) }).code,
    ).toBe(QME.OK);
  }

  queue(name: string): Queue {
    const queue = this.bench.engine.space.queue(name);
    if (queue === undefined) throw new Error(`there is no queue ${name}`);
    return queue;
  }

  /** So many messages come from this queue to the error queue. */
  fail(qname: string, count: number, cause: Cause = TIMED_OUT): void {
    const { engine } = this.bench;
    for (let i = 0; i < count; i++) expect(this.bench.put(`${qname}${i}`, { qname }).code).toBe(QME.OK);
    const work = engine.openWork();
    for (let i = 0; i < count; i++) this.bench.take(qname, { work });
    engine.rollback(work, QME.QMEABORTED, cause);
  }

  begin(terms: Partial<RedriveTerms> = {}): { redrive: Redrive; result: () => RedriveResult } {
    let told: RedriveResult | null = null;
    const all = { target: null, ids: null, origin: null, reason: null };
    const redrive = this.bench.engine.redrives.begin(
      { source: this.queue('ERR'), ...all, limit: Infinity, rate: Infinity, dryRun: false, ...terms },
      (result) => {
        expect(told, 'it ends once').toBeNull();
        told = result;
      },
    );
    const result = (): RedriveResult => {
      if (told === null) throw new Error('it is not over');
      return told;
    };
    return { redrive, result };
  }
  async redrive(terms: Partial<RedriveTerms> = {}): Promise<RedriveResult> {
    const { result } = this.begin(terms);
    await this.bench.settle();
    return result();
  }

  /** How many are on each. */
  counts(...names: string[]): number[] {
    return names.map((name) => this.queue(name).messages);
  }
  /** Their data, taken away. */
  drain(qname: string): (string | null)[] {
    const found: (string | null)[] = [];
    while (this.queue(qname).ready > 0) found.push(this.bench.take(qname).answer);
    return found;
  }
  provenance(qname: string): unknown[] {
    const { space } = this.bench.engine;
    const found: unknown[] = [];
    const queue = this.queue(qname);
    for (let entry = space.firstReady(queue); entry !== 0; entry = space.unheldAfter(queue, entry))
      found.push(space.provenanceOf(entry));
    return found;
  }
}

const NOTHING_STAYED = { unknown: 0, gone: 0, paused: 0, noRoom: 0, here: 0, held: 0, missing: 0 };

describe('what a message on the error queue keeps', () => {
  it('is where it came from, why, when, after how many retries and how often; through a redrive and over a restart', async () => {
    const scene = await Scene.open();
    const { clock } = scene.bench;
    scene.define('A', { retries: 0 });
    scene.fail('A', 1, SERVICE_FAILED);
    const first = { queue: scene.queue('A').number, name: 'A', ...SERVICE_FAILED, retries: 0, count: 1 };
    const atMs = clock.wallMs();
    expect(scene.provenance('ERR')).toEqual([expect.objectContaining({ ...first, atMs })]);
    expect(await scene.redrive()).toMatchObject({ moved: 1 });
    expect(scene.provenance('A')).toEqual([expect.objectContaining({ ...first, atMs })]);
    clock.advance(5000);
    const work = scene.bench.engine.openWork();
    scene.bench.take('A', { work });
    scene.bench.engine.rollback(work, QME.QMEABORTED);
    await scene.bench.settle();
    const again = { ...first, reason: REASON.ROLLBACK, code: 0, rcode: 0, count: 2, atMs: atMs + 5000 };
    expect(scene.provenance('ERR')).toEqual([expect.objectContaining(again)]);
    await scene.bench.crash(true);
    expect(scene.provenance('ERR')).toEqual([expect.objectContaining(again)]);
    await Promise.all([scene.bench.engine.checkpoint(), scene.bench.settle()]);
    await scene.bench.crash(true);
    expect(scene.provenance('ERR')).toEqual([expect.objectContaining(again)]);
    expect(scene.drain('ERR')).toEqual(['A0']);
    expect(scene.bench.engine.space.provenance.size).toBe(0);
  });

  it('is counted where the message came from, once for each time; a redrive is no such move', async () => {
    const scene = await Scene.open();
    scene.fail('A', 2);
    expect(await scene.redrive()).toMatchObject({ moved: 2 });
    expect(['A', 'ERR'].map((name) => scene.queue(name).moved)).toEqual([2, 0]);
    const work = scene.bench.engine.openWork();
    scene.bench.take('A', { work });
    scene.bench.engine.rollback(work, QME.QMEABORTED);
    expect(['A', 'ERR'].map((name) => scene.queue(name).moved)).toEqual([3, 0]);
    await scene.bench.crash(true);
    expect(['A', 'ERR'].map((name) => scene.queue(name).moved)).toEqual([0, 0]);
  });

  it('stays when it is taken from the error queue and given back', async () => {
    const scene = await Scene.open();
    scene.define('ERR2');
    scene.fail('A', 1);
    const kept = scene.provenance('ERR');
    for (let i = 0; i < 2; i++) {
      const work = scene.bench.engine.openWork();
      scene.bench.take('ERR', { work });
      scene.bench.engine.rollback(work, QME.QMEABORTED);
    }
    expect(scene.queue('ERR').messages).toBe(1);
    expect(scene.provenance('ERR')).toEqual(kept);
  });

  it('costs nothing for messages that never were there', async () => {
    const scene = await Scene.open();
    const { space } = scene.bench.engine;
    const before = space.provenance.bytes;
    scene.bench.putMany(300, { qname: 'OTHER' });
    expect(space.provenance.bytes).toBe(before);
    expect([space.details.bytes, space.provenance.size]).toEqual([0, 0]);
  });

  it('is known of a queue that is gone', async () => {
    const scene = await Scene.open();
    scene.fail('A', 1);
    scene.bench.engine.destroyQueue('A');
    await scene.bench.settle();
    await scene.bench.crash(true);
    expect(scene.provenance('ERR')).toEqual([expect.objectContaining({ name: 'A' })]);
  });
});

describe('a redrive', () => {
  it('moves each to where it came from, in order, as if it had never been tried', async () => {
    const scene = await Scene.open();
    scene.bench.engine.redrives.sliceEntries = 3;
    scene.fail('A', 4);
    scene.fail('B', 3);
    const result = await scene.redrive();
    expect(result).toMatchObject({ end: 'done', moved: 7, stayed: NOTHING_STAYED });
    expect(result.tallies).toEqual([
      { queue: 'A', outcome: 'moved', count: 4 },
      { queue: 'B', outcome: 'moved', count: 3 },
    ]);
    expect(scene.counts('ERR')).toEqual([0]);
    expect(scene.drain('A')).toEqual(['A0', 'A1', 'A2', 'A3']);
    expect(scene.drain('B')).toEqual(['B0', 'B1', 'B2']);
    await scene.bench.settle();
    expect(scene.bench.log.reservedBytes).toBe(0);
  });

  it('gives what it moves to who waits there', async () => {
    const scene = await Scene.open();
    scene.fail('A', 1);
    const waiting = scene.bench.take('A', { wait: true });
    await scene.redrive();
    expect(waiting.answer).toBe('A0');
  });

  it('takes those that are selected: by origin, by reason, by id, so many', async () => {
    const scene = await Scene.open();
    scene.fail('A', 2, TIMED_OUT);
    scene.fail('B', 2, SERVICE_FAILED);
    scene.fail('A', 2, SERVICE_FAILED);
    expect(await scene.redrive({ origin: 'A', reason: REASON.SERVICE_FAILED, limit: 1 })).toMatchObject({
      end: 'limit',
      moved: 1,
    });
    expect(scene.drain('A')).toEqual(['A0']);
    expect(await scene.redrive({ origin: 'B' })).toMatchObject({ end: 'done', moved: 2 });
    const { space } = scene.bench.engine;
    const ids = [space.id(space.firstReady(scene.queue('ERR'))), { epoch: 1, counter: 99_999 }];
    const one = await scene.redrive({ ids });
    expect(one).toMatchObject({ end: 'done', moved: 1, stayed: { ...NOTHING_STAYED, missing: 1 } });
    expect(scene.counts('ERR', 'A', 'B')).toEqual([2, 1, 2]);
  });

  it('moves to a queue that is named what came from anywhere', async () => {
    const scene = await Scene.open();
    scene.fail('A', 1);
    scene.bench.put('put there', { qname: 'ERR' });
    expect(await scene.redrive({ target: scene.queue('OTHER') })).toMatchObject({ moved: 2 });
    expect(scene.drain('OTHER')).toEqual(['A0', 'put there']);
  });

  it('leaves, and counts with the reason, what cannot go', async () => {
    const scene = await Scene.open();
    scene.fail('A', 2);
    scene.fail('B', 2);
    scene.fail('OTHER', 1);
    scene.bench.put('put there', { qname: 'ERR' });
    const held = scene.bench.engine.openWork();
    // OTHER has a retry: its message is there again.
    expect(scene.counts('ERR', 'OTHER')).toEqual([5, 1]);
    scene.bench.take('ERR', { work: held });
    scene.define('B', { enqueuePaused: true });
    scene.bench.engine.destroyQueue('A');
    scene.define('A');
    await scene.bench.settle();
    const result = await scene.redrive();
    expect(result).toMatchObject({
      end: 'done',
      moved: 0,
      stayed: { ...NOTHING_STAYED, unknown: 1, gone: 1, paused: 2, held: 1 },
    });
    expect(result.tallies).toEqual([
      { queue: 'A', outcome: 'gone', count: 1 },
      { queue: 'B', outcome: 'paused', count: 2 },
      { queue: '', outcome: 'unknown', count: 1 },
    ]);
    expect(scene.counts('ERR', 'A', 'B')).toEqual([5, 0, 0]);
    expect(await scene.redrive({ source: scene.queue('B'), target: scene.queue('B') })).toMatchObject({
      moved: 0,
    });
  });

  it('only says what it would do when it is a dry run', async () => {
    const scene = await Scene.open();
    scene.bench.engine.redrives.sliceEntries = 2;
    scene.fail('A', 5);
    await scene.bench.settle();
    const { log } = scene.bench;
    const { last } = log.stat();
    expect(await scene.redrive({ dryRun: true, rate: 1 })).toMatchObject({ end: 'done', moved: 5 });
    expect(scene.counts('ERR', 'A')).toEqual([5, 0]);
    expect(log.stat().last).toBe(last);
  });

  it('goes as fast as it may and no faster', async () => {
    const scene = await Scene.open();
    const { bench } = scene;
    scene.fail('A', 60);
    const { redrive, result } = scene.begin({ rate: 10 });
    const moved: number[] = [];
    for (let i = 0; i < 20; i++) {
      bench.clock.advance(100);
      await bench.settle();
      moved.push(scene.queue('A').messages);
    }
    expect(moved).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    // Nothing is made up for.
    bench.clock.advance(2000);
    await bench.settle();
    expect(scene.queue('A').messages).toBeLessThanOrEqual(23);
    const count = scene.queue('A').messages;
    expect(redrive.stop('cancelled')).toBe(true);
    expect(redrive.stop('cancelled')).toBe(false);
    expect(result()).toMatchObject({ end: 'cancelled', moved: count });
    bench.clock.advance(10_000);
    await bench.settle();
    expect(scene.counts('ERR', 'A')).toEqual([60 - count, count]);
  });

  it('does not move again what comes back meanwhile', async () => {
    const scene = await Scene.open();
    scene.bench.engine.redrives.sliceEntries = 2;
    scene.fail('A', 6);
    const { result } = scene.begin();
    for (let i = 0; i < 30; i++) {
      await scene.bench.turn();
      const work = scene.bench.engine.openWork();
      while (scene.queue('A').ready > 0) scene.bench.take('A', { work });
      scene.bench.engine.rollback(work, QME.QMEABORTED);
    }
    await scene.bench.settle();
    expect(result()).toMatchObject({ end: 'done', moved: 6 });
    expect(scene.counts('ERR', 'A')).toEqual([6, 0]);
  });

  it('finds its way when what it passed is taken away', async () => {
    const scene = await Scene.open();
    scene.bench.engine.redrives.sliceEntries = 2;
    scene.define('B', { enqueuePaused: true });
    for (let i = 0; i < 4; i++) {
      scene.define('B');
      scene.fail('B', 1);
      scene.fail('A', 1);
    }
    scene.define('B', { enqueuePaused: true });
    const { result } = scene.begin();
    await scene.bench.turn();
    expect(scene.bench.take('ERR').answer).toBe('B0');
    await scene.bench.settle();
    expect(result()).toMatchObject({ end: 'done', moved: 4, stayed: { ...NOTHING_STAYED, paused: 3 } });
    expect(scene.counts('ERR', 'A')).toEqual([3, 4]);
  });

  it('waits for a large transaction that touches one of the queues, and for no other', async () => {
    const scene = await Scene.open();
    const { bench } = scene;
    scene.fail('A', 3);
    for (let i = 0; i < 8; i++) bench.put(`m${i}`, { qname: 'A' });
    const work = bench.engine.openWork();
    for (let i = 0; i < 8; i++) bench.take('A', { work });
    bench.engine.commit(work);
    const { result } = scene.begin();
    await bench.turn();
    expect(scene.counts('ERR')).toEqual([3]);
    await bench.settle();
    expect(result()).toMatchObject({ end: 'done', moved: 3 });
    expect(scene.drain('A')).toEqual(['A0', 'A1', 'A2']);
  });

  it('leaves what the log has no room for, and goes on when there is some', async () => {
    const scene = await Scene.open({ roomBytes: 16_000 });
    const { bench } = scene;
    scene.fail('A', 20);
    await bench.settle();
    while (bench.put('x'.repeat(64), { qname: 'OTHER' }).code === QME.OK) await bench.settle();
    const full = await scene.redrive();
    expect(full.end).toBe('done');
    expect(full.stayed.noRoom).toBeGreaterThan(0);
    expect(full.moved + full.stayed.noRoom).toBe(20);
    expect(scene.counts('ERR', 'A')).toEqual([20 - full.moved, full.moved]);
  });

  it('ends when its queue is destroyed, when the space closes, and when the log dies, and says how many went', async () => {
    for (const how of ['destroyed', 'stopped', 'failed'] as const) {
      const scene = await Scene.open();
      scene.bench.engine.redrives.sliceEntries = 2;
      scene.fail('A', 9);
      await scene.bench.settle();
      const { redrive, result } = scene.begin();
      await scene.bench.turn();
      const { messages } = scene.queue('A');
      if (how === 'destroyed') expect(scene.bench.engine.destroyQueue('ERR').code).toBe(QME.OK);
      else if (how === 'stopped') void scene.bench.engine.quiesce();
      else scene.bench.engine.redrives.close('failed');
      await scene.bench.settle();
      expect(result()).toMatchObject({ end: how, moved: messages });
      expect(messages).toBeGreaterThan(0);
      expect(redrive.stop('cancelled')).toBe(false);
      const late = how === 'destroyed' ? null : scene.begin();
      expect(late?.result().end ?? 'stopped').toBe('stopped');
    }
  });

  it('leaves each message in exactly one queue, whichever turn the process ends in', async () => {
    const count = 20;
    for (let turns = 0; turns < 14; turns++) {
      for (const keepInFlight of [false, true]) {
        const scene = await Scene.open();
        scene.bench.engine.redrives.sliceEntries = 2;
        scene.fail('A', count);
        await scene.bench.settle();
        if (turns % 2 === 1) scene.bench.log.holdSyncs();
        scene.begin();
        for (let i = 0; i < turns; i++) await scene.bench.turn();
        await scene.bench.crash(keepInFlight);
        const found = [...scene.drain('A'), ...scene.drain('ERR')];
        expect(new Set(found)).toEqual(new Set(Array.from({ length: count }, (_, i) => `A${i}`)));
        expect(found).toHaveLength(count);
      }
    }
  });
});
