// Checkpoints on a log in memory: a space that was restored from one and the log's tail is the space that was lived, whatever happened while
// it was taken; a damaged one falls back; a log that ends before its checkpoint is damage [DESIGN 5; log port 7, 8].
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QME } from '../../proto/codes.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { ENTRY } from '../../src/queue/tables.ts';
import { DequeueRequest, type Work } from '../../src/engine/request.ts';
import { openMemoryLog, type MemoryLog } from '../../src/wal/memory/memory-log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { corrid, properties, queueAttributes, spaceAttributes } from '../support/queue-values.ts';

const warnings: string[] = [];
const ulog = { info: () => {}, warn: (message: string) => void warnings.push(message), error: () => {} };

class Take extends DequeueRequest {
  readonly qname: string;
  readonly selection = { msgid: null, corrid: null };
  readonly work: Work | null;
  readonly peek = false;
  readonly wait = false;
  readonly deadlineMs = Infinity;
  readonly timeoutFailure = QME.QMENOMSG;
  constructor(qname: string, work: Work | null) {
    super();
    this.qname = qname;
    this.work = work;
  }
  accepts(): boolean {
    return true;
  }
  taken(): void {}
  refused(): void {}
}

const QUEUES = ['FIFO', 'LIFO', 'PRIO', 'TIME', 'ERR'];
const ORDERS = ['fifo', 'lifo', 'priority,lifo', 'time', 'fifo'];

class Life {
  readonly log: MemoryLog;
  readonly clock: ManualClock;
  engine!: SpaceEngine;
  works: Work[] = [];
  private prepared = 0;
  private due: (() => void)[] = [];
  private readonly sliceEntries: number;

  /** @param sliceEntries transactions with more to do than this end in slices of this */
  constructor(segmentBytes: number, sliceEntries = 1000) {
    this.sliceEntries = sliceEntries;
    this.clock = new ManualClock();
    this.log = openMemoryLog({ clock: this.clock, segmentBytes });
  }

  async open(): Promise<this> {
    this.due = [];
    this.works = [];
    const soon = (run: () => void): void => void this.due.push(run);
    const ports = { clock: this.clock, ulog, soon, runCommand: () => {} };
    this.engine = await openSpace(this.log, new AbortController().signal, ports);
    this.engine.endings.sliceEntries = this.sliceEntries;
    this.engine.define({ kind: 'defineSpace', attributes: spaceAttributes('S', { errorQueue: 'ERR' }) });
    for (const [i, name] of QUEUES.entries()) {
      const attributes = queueAttributes(name, {
        order: ORDERS[i] ?? 'fifo',
        outOfOrder: 'top,msgid',
        retries: i % 2,
        delayS: i === 0 ? 5 : 0,
      });
      this.engine.define({ kind: 'defineQueue', attributes });
    }
    await this.settle();
    return this;
  }

  async turn(): Promise<void> {
    const runs = this.due;
    this.due = [];
    for (const run of runs) run();
    for (let i = 0; i < 20; i++) await Promise.resolve();
  }
  async settle(): Promise<void> {
    for (let i = 0; i < 400 && (this.due.length > 0 || i < 3); i++) await this.turn();
  }

  step(code: number): void {
    const { engine } = this;
    const queue = QUEUES[code % QUEUES.length] as string;
    const kind = Math.floor(code / 8) % 16;
    if (kind < 7) this.put(queue, code);
    else if (kind < 11) engine.dequeue(new Take(queue, this.works[code % (this.works.length + 1)] ?? null));
    else if (kind === 11) this.works.push(engine.openWork());
    else if (kind < 14) {
      const work = this.works.shift();
      if (work === undefined) return;
      // As a commit with requests that still wait.
      if (kind === 12 && work.waiting.size === 0) engine.commit(work);
      else engine.rollback(work, QME.QMEABORTED);
    } else if (kind === 14 && code % 3 === 0) this.prepare();
    else if (kind === 15 && code % 2 === 0) this.endPrepared(code % 4 === 0);
    else this.clock.advance((code % 50) * 100);
  }

  /** The oldest work waits for an outcome from now on. */
  private prepare(): void {
    const work = this.works.shift();
    const { prepared } = this.engine;
    if (work === undefined) return;
    if (work.waiting.size > 0 || !prepared.hasChanges(work)) {
      this.engine.rollback(work, QME.QMEABORTED);
      return;
    }
    expect(prepared.promise(work)).toBe(QME.OK);
    this.prepared++;
    prepared.prepare(work, { transaction: { start: 7, serial: this.prepared }, tlog: 'ab'.repeat(16) });
  }
  private endPrepared(committed: boolean): void {
    const [branch] = this.engine.prepared.list();
    if (branch !== undefined) this.engine.prepared.end(branch, committed);
  }

  private put(qname: string, code: number): void {
    const seconds = (code >> 8) % 4;
    const before = (code >> 12) % 4 === 0 ? this.anyId(qname) : null;
    this.engine.enqueue({
      qname,
      properties: properties({
        priority: 1 + ((code >> 5) % 100),
        corrid: (code >> 7) % 3 === 0 ? null : corrid((code >> 7) % 5),
      }),
      terms: {
        availability: seconds === 0 ? null : { clock: (code >> 10) % 2 === 0 ? 0 : 1, seconds: seconds * 2 },
        expiry: (code >> 14) % 5 === 0 ? { clock: 0, seconds: 30 } : null,
        position: before ?? ((code >> 15) % 9 === 0 ? 'top' : null),
      },
      data: Buffer.alloc((code >> 4) % 200, code % 256),
      work: this.works[code % (this.works.length + 1)] ?? null,
    });
  }

  private anyId(qname: string): Uint8Array | null {
    const { space } = this.engine;
    const queue = space.queue(qname);
    const entry = queue === undefined ? 0 : space.firstReady(queue);
    if (entry === 0) return null;
    const { epoch, counter } = space.id(entry);
    return Buffer.from(hex(space.spaceId, 8) + hex(epoch, 12) + hex(counter, 12));
  }
}

/** Everything that a restart must find again, message by message and in the order of each queue. */
function contents({ engine }: Life): unknown {
  const { space } = engine;
  // Large ones become prepared in an order of their own.
  const ordered = space.branches.prepared().toSorted((a, b) => a.number - b.number);
  const branches = ordered.map(({ number, prepared }) => [number, prepared]);
  // What committed while the checkpoint began may be in it and in the log's tail.
  const known = Array.from({ length: space.outcomes.size }, (_, i) => JSON.stringify(space.outcomes.at(i)));
  const outcomes = [...new Set(known)];
  const queues = space.queues().map((queue) => {
    const rows: { entry: number; key: string; text: string }[] = [];
    for (let row = 1; row <= space.messages.rowsMax; row++) {
      if (!space.messages.isLive(row)) continue;
      const entry = space.messages.entry.get(row);
      if (space.queueOf(entry) !== queue) continue;
      const { epoch, counter } = space.id(entry);
      const { entries, messages, details } = space;
      const detail = entries.detail.get(entry);
      const bytes = space.corridOf(entry);
      const owner = entries.owner.get(entry);
      const text = JSON.stringify([
        entries.retries.get(entry),
        isDue(entries.state.get(entry)) ? 0 : entries.dueMs.get(entry),
        owner === 0 ? null : [owner, entries.state.get(entry)],
        messages.priority.get(row),
        bytes === null ? '' : Buffer.from(bytes).toString('hex'),
        entries.state.get(entry) === ENTRY.READY ? 0 : entries.dueClock.get(entry),
        [messages.ref.get(row), messages.offset.get(row), messages.length.get(row)],
        space.typeOf(messages.typeCode.get(row)),
        detail === 0 ? null : details.timing(detail),
      ]);
      rows.push({ entry, key: `${epoch}.${counter}`, text });
    }
    rows.sort((a, b) => (queue.before(a.entry, b.entry) ? -1 : 1));
    const counts = [queue.ready, queue.delayed, queue.locked, queue.pending, queue.bytes, queue.pages];
    return [
      queue.attributes.name,
      counts,
      walked(engine, queue),
      rows.map(({ key, text }) => `${key} ${text}`),
    ];
  });
  return { queues, branches, outcomes };
}

/** The queue's messages as its tree and its agendas have them. */
function walked({ space }: SpaceEngine, queue: Queue): string[] {
  const keys: string[] = [];
  for (let entry = space.anyUnheld(queue); entry !== 0; entry = space.unheldAfter(queue, entry)) {
    const { epoch, counter } = space.id(entry);
    keys.push(`${epoch}.${counter}`);
  }
  return keys;
}

/** Its time has come, which no record says: what was taken was due. */
const isDue = (state: number): boolean => state === ENTRY.READY || state === ENTRY.LOCKED;

const hex = (n: number, digits: number): string => n.toString(16).padStart(digits, '0');

const codes = fc.array(fc.integer({ min: 0, max: 2 ** 30 }), { minLength: 10, maxLength: 250 });

/** Lives, with a checkpoint taken while it goes on, and ends with all that was decided durable. */
async function live(
  [before, during, after]: readonly (readonly number[])[],
  sliceEntries?: number,
): Promise<Life> {
  const life = await new Life(16 * 1024, sliceEntries).open();
  for (const code of before ?? []) {
    life.step(code);
    if (code % 3 === 0) await life.turn();
  }
  await life.settle();
  const checkpoint = life.engine.checkpoint();
  for (const code of during ?? []) {
    life.step(code);
    if (code % 2 === 0) await life.turn();
  }
  await life.settle();
  await checkpoint;
  for (const code of after ?? []) {
    life.step(code);
    if (code % 3 === 0) await life.turn();
  }
  for (const work of life.works) life.engine.rollback(work, QME.QMEABORTED);
  await life.settle();
  return life;
}

describe('a checkpoint', () => {
  it('and the tail of the log are the space that was lived, with every checkpoint and without', async () => {
    await fc.assert(
      fc.asyncProperty(fc.tuple(codes, codes, codes), fc.constantFrom(1, 2, 1000), async (steps, slice) => {
        const life = await live(steps, slice);
        const lived = contents(life);
        expect((await life.log.snapshots.list()).length).toBeGreaterThan(0);
        life.log.crash();
        await life.open();
        expect(contents(life)).toEqual(lived);
        life.log.crash();
        life.log.snapshots.damage();
        await life.open();
        expect(contents(life)).toEqual(lived);
      }),
      { numRuns: 50 },
    );
    expect(warnings.some((text) => text.includes('checksum'))).toBe(true);
  }, 120_000);

  it('saves reading: only what follows it is replayed', async () => {
    const life = await live([Array.from({ length: 300 }, (_, i) => i * 977), [], [1, 2, 3]]);
    const [info] = await life.log.snapshots.list();
    expect(info?.from).toBeGreaterThan(life.log.stat().first);
    expect(info?.to).toBeLessThanOrEqual(life.log.stat().last);
  });

  it('has a message once that was enqueued and moved to the error queue while it was taken', async () => {
    const life = await new Life(16 * 1024).open();
    const { engine } = life;
    const checkpoint = engine.checkpoint();
    const request = { qname: 'FIFO', properties: properties({}), terms: null, data: null, work: null };
    expect(engine.enqueue(request).code).toBe(QME.OK);
    const work = engine.openWork();
    engine.dequeue(new Take('FIFO', work));
    engine.rollback(work, QME.QMEABORTED);
    await life.settle();
    await checkpoint;
    expect(engine.space.queue('ERR')?.messages).toBe(1);
    life.log.crash();
    await life.open();
    expect(life.engine.space.messages.live).toBe(1);
  });

  it('that the log does not reach is damage', async () => {
    const life = await live([[1, 2, 3], [4, 5], []]);
    const [info] = await life.log.snapshots.list();
    life.log.crash();
    const beyond = { ...info, to: 1e9 };
    Object.defineProperty(life.log.snapshots, 'list', { value: () => Promise.resolve([beyond]) });
    await expect(life.open()).rejects.toThrow(/before the end of its checkpoint/);
  });
});

it('what a prepared branch holds stays with it when the log has left its records behind', async () => {
  const life = await new Life(16 * 1024).open();
  const { engine } = life;
  const put = (qname: string, bytes: number, work: Work | null): void => {
    const data = Buffer.alloc(bytes);
    const request = { qname, properties: properties({}), terms: null, data, work };
    expect(engine.enqueue(request).code).toBe(QME.OK);
  };
  put('FIFO', 10, null);
  const work = engine.openWork();
  engine.dequeue(new Take('FIFO', work));
  put('FIFO', 10, work);
  expect(engine.prepared.promise(work)).toBe(QME.OK);
  engine.prepared.prepare(work, { transaction: { start: 7, serial: 1 }, tlog: 'ab'.repeat(16) });
  await life.settle();
  const { first } = life.log.stat();
  for (let i = 0; i < 600; i++) {
    put('LIFO', 500, null);
    engine.dequeue(new Take('LIFO', null));
    await life.settle();
  }
  expect(life.log.stat().first).toBeGreaterThan(first);
  expect(engine.space.messages.live).toBe(2);
  life.log.crash();
  life.log.snapshots.damage();
  await life.open();
  const held = life.engine.prepared.list().map((branch) => [branch.locks, branch.pending.count]);
  expect(held).toEqual([[1, 1]]);
});
