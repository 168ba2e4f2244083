// Messages go back from an error queue to where each of them came from, or to a queue that is named: in the queue's order, in slices, at a
// limited rate. Invariants: a move is one record of one batch, so that after whatever happens a message is in exactly one of the two queues;
// what arrives on the error queue after the beginning stays there; what cannot be moved stays, and is counted with the reason; a redrive that
// is ended half-way says how many went. Must not know who asked.
import { NONE } from '../base/column.ts';
import type { Deadline } from '../base/timer-queue.ts';
import { isBefore, type MessageId } from '../queue/message.ts';
import type { Provenance, Reason } from '../queue/provenance.ts';
import type { Queue } from '../queue/queue.ts';
import { ENTRY } from '../queue/tables.ts';
import { CHANGE_BYTES } from './record.ts';
import type { BatchNumber } from './request.ts';
import { SLICE, Slice } from './slice.ts';
import type { SpaceEngine } from './space-engine.ts';

/** At a limited rate: it pauses no shorter than this, and what was missed for longer than that is not made up for. */
const RATE_MS = { STEP: 20, CREDIT: 100 } as const;

export interface RedriveTerms {
  readonly source: Queue;
  /** null: the queue that each came from. */
  readonly target: Queue | null;
  /** These alone; null: all that are there now. */
  readonly ids: readonly MessageId[] | null;
  /** Of those that came from a queue of this name; null: whatever it was. */
  readonly origin: string | null;
  readonly reason: Reason | null;
  /** So many at most; Infinity: all. */
  readonly limit: number;
  /** Messages a second; Infinity: as fast as it goes. */
  readonly rate: number;
  /** Nothing is moved: it is only said what would be. */
  readonly dryRun: boolean;
}

/**
 * Why a message stays. `unknown`: it was put there, or moved there by a release that did not keep from where. `gone`: the queue it came from
 * was destroyed; one of the same name is another. `paused`: the other queue, for enqueues. `noRoom`: in the log, for the move. `here`: it came
 * from this very queue. `held`: by a transaction, or it is being read. `missing`: it was named and is not there.
 */
export type Stay = 'unknown' | 'gone' | 'paused' | 'noRoom' | 'here' | 'held' | 'missing';

/**
 * Why it ended: all were looked at; as many went as were asked for; whoever asked gave up; the queue was destroyed; the space closes; its log
 * died.
 */
export type RedriveEnd = 'done' | 'limit' | 'cancelled' | 'destroyed' | 'stopped' | 'failed';

/** What became of the messages that came from one queue, or go to it. */
export interface Tally {
  /** '': not known. */
  readonly queue: string;
  readonly outcome: 'moved' | Stay;
  count: number;
}

export interface RedriveResult {
  readonly end: RedriveEnd;
  /** Or would be moved. */
  readonly moved: number;
  readonly stayed: Readonly<Record<Stay, number>>;
  readonly tallies: readonly Tally[];
  /** What it says is durable with this batch. */
  readonly batch: BatchNumber;
}

export type RedriveDone = (result: RedriveResult) => void;

/** All that are under way in one space. */
export class Redrives {
  sliceEntries: number = SLICE.STEPS;
  private readonly engine: SpaceEngine;
  private readonly underWay = new Set<Redrive>();
  private closed = false;

  constructor(engine: SpaceEngine) {
    this.engine = engine;
  }

  /** `done` is told once, later. */
  begin(terms: RedriveTerms, done: RedriveDone): Redrive {
    const redrive = new Redrive(this.engine, terms, (result) => {
      this.underWay.delete(redrive);
      done(result);
    });
    this.underWay.add(redrive);
    if (this.closed) redrive.stop('stopped');
    else redrive.begin();
    return redrive;
  }

  close(end: 'stopped' | 'failed'): void {
    this.closed = true;
    for (const redrive of this.underWay) redrive.stop(end);
  }
}

/** What it waits for before its next slice. */
type Wait = { readonly queue: Queue } | { readonly room: Promise<void> } | { readonly ms: number } | null;

export class Redrive {
  private readonly engine: SpaceEngine;
  private readonly terms: RedriveTerms;
  private readonly done: RedriveDone;
  private readonly walk: Walk;
  private readonly pace: Pace;
  private isOver = false;
  private wait: Wait = null;
  private pausing: { readonly deadline: Deadline; readonly resolve: () => void } | null = null;
  private moved = 0;
  private stayed = nothingStayed();
  private readonly tallies = new Map<string, Tally>();

  constructor(engine: SpaceEngine, terms: RedriveTerms, done: RedriveDone) {
    this.engine = engine;
    this.terms = terms;
    this.done = done;
    const { source, ids } = terms;
    this.walk =
      ids === null
        ? new QueueWalk(engine, source, () => this.beginAnew())
        : new IdWalk(engine, { source, ids });
    this.pace = new Pace(terms.dryRun ? Infinity : terms.rate, engine.monoMs());
  }

  begin(): void {
    void this.run();
  }

  /** Ends it between two messages; false: it is over already. */
  stop(end: RedriveEnd): boolean {
    if (this.isOver) return false;
    this.finish(end);
    return true;
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      await this.turn();
      if (!this.isOver) this.slice();
    }
  }

  /** Resolves when the next slice may begin. */
  private async turn(): Promise<void> {
    const { engine, wait } = this;
    this.wait = null;
    if (wait === null) await (engine.journal.pace() ?? engine.nextTurn());
    else if ('ms' in wait) await this.pause(wait.ms);
    else if ('room' in wait) await wait.room;
    else await new Promise<void>((resolve) => engine.endings.whenFree(wait.queue, resolve));
  }

  private pause(ms: number): Promise<void> {
    const { timers } = this.engine;
    return new Promise((resolve) => {
      const deadline = timers.set(this.engine.monoMs() + ms, () => {
        this.pausing = null;
        resolve();
      });
      this.pausing = { deadline, resolve };
    });
  }

  private slice(): void {
    const { engine, terms } = this;
    if (engine.upkeep.isLate) engine.settle();
    const slice = new Slice(() => engine.monoMs(), engine.redrives.sliceEntries);
    do {
      if (terms.source.doomed) return this.finish('destroyed');
      if (this.moved >= terms.limit) return this.finish('limit');
      this.wait = this.whyNot();
      if (this.wait !== null) break;
      const entry = this.walk.next();
      if (entry === NONE) return this.finish('done');
      this.wait = this.look(entry);
    } while (this.wait === null && slice.mayGoOn());
    engine.settle();
  }

  /** What has to be waited for before any message. */
  private whyNot(): Wait {
    const { source } = this.terms;
    if (this.engine.endings.isHeld(source)) return { queue: source };
    const ms = this.pace.waitMs(() => this.engine.monoMs());
    return ms === 0 ? null : { ms };
  }

  /** Moves the message or leaves it; what it returns has to be waited for before that is decided. */
  private look(entry: number): Wait {
    const { engine, terms, walk } = this;
    const { space, journal } = engine;
    const provenance = space.provenanceOf(entry);
    if (!this.isWanted(entry, provenance)) return this.pass(entry);
    const target = this.targetOf(entry, provenance);
    if (typeof target === 'string') return this.leave(entry, provenance, target);
    if (engine.endings.isHeld(target)) return { queue: target };
    if (!terms.dryRun && space.isPersistent(entry)) {
      if (!journal.reserve(CHANGE_BYTES)) {
        const room = journal.roomComing();
        return room === null ? this.leave(entry, provenance, 'noRoom') : { room };
      }
    }
    this.moved++;
    this.tally(target.attributes.name, 'moved');
    if (terms.dryRun) return this.pass(entry);
    this.pace.spend();
    const { number: queue } = target;
    engine.run({ kind: 'move', entry, queue, newId: engine.newId(), wallMs: engine.wallMs() });
    walk.took();
    return null;
  }

  private isWanted(entry: number, provenance: Provenance | null): boolean {
    const { origin, reason } = this.terms;
    if (!this.walk.isMeant(entry)) return false;
    if (origin !== null && provenance?.name !== origin) return false;
    return reason === null || provenance?.reason === reason;
  }

  /** Where it goes, or why it stays. */
  private targetOf(entry: number, provenance: Provenance | null): Queue | Stay {
    const { space } = this.engine;
    const state = space.entries.state.get(entry);
    if (state !== ENTRY.READY && state !== ENTRY.DELAYED) return 'held';
    let { target } = this.terms;
    if (target === null) {
      if (provenance === null) return 'unknown';
      target = space.queueByNumber(provenance.queue) ?? null;
      if (target === null) return 'gone';
    }
    if (target.doomed) return 'gone';
    if (target === this.terms.source) return 'here';
    return target.attributes.enqueuePaused ? 'paused' : target;
  }

  private pass(entry: number): null {
    this.walk.pass(entry);
    return null;
  }
  private leave(entry: number, provenance: Provenance | null, why: Stay): null {
    this.stayed[why]++;
    this.tally(this.terms.target?.attributes.name ?? provenance?.name ?? '', why);
    return this.pass(entry);
  }

  private tally(queue: string, outcome: Tally['outcome'], count = 1): void {
    const key = `${outcome} ${queue}`;
    const known = this.tallies.get(key);
    if (known === undefined) this.tallies.set(key, { queue, outcome, count });
    else known.count += count;
  }

  /** What stayed is looked at once more, and counted then. */
  private beginAnew(): void {
    const { dryRun } = this.terms;
    this.stayed = nothingStayed();
    if (dryRun) this.moved = 0;
    for (const [key, { outcome }] of this.tallies) {
      if (dryRun || outcome !== 'moved') this.tallies.delete(key);
    }
  }

  private finish(end: RedriveEnd): void {
    const { engine, terms, walk } = this;
    this.isOver = true;
    if (this.pausing !== null) {
      engine.timers.cancel(this.pausing.deadline);
      this.pausing.resolve();
    }
    this.stayed.missing += walk.missing;
    if (terms.ids === null) this.stayed.held += terms.source.locked;
    if (end !== 'failed') engine.settle();
    const { moved, stayed, tallies } = this;
    this.done({ end, moved, stayed, tallies: [...tallies.values()], batch: terms.source.lastBatch });
  }
}

function nothingStayed(): Record<Stay, number> {
  return { unknown: 0, gone: 0, paused: 0, noRoom: 0, here: 0, held: 0, missing: 0 };
}

/** Which messages are looked at, one after the other, while others come and go. */
interface Walk {
  /** The next one; 0: there is none. It is the same again until it has gone or is passed. */
  next(): number;
  pass(entry: number): void;
  /** It has gone. */
  took(): void;
  /** Whether it is one of those that are asked for. */
  isMeant(entry: number): boolean;
  /** Named, and not there. */
  readonly missing: number;
}

/** In the queue's order; then those that are not available yet. */
class QueueWalk implements Walk {
  readonly missing = 0;
  private readonly engine: SpaceEngine;
  private readonly queue: Queue;
  private readonly beginsAnew: () => void;
  /** No message that was there at the beginning has a later id. */
  private readonly upTo: MessageId;
  /** The last one that was passed; 0: none. */
  private passed = NONE;
  private passedId: MessageId;
  private passedState = 0;

  constructor(engine: SpaceEngine, queue: Queue, beginsAnew: () => void) {
    this.engine = engine;
    this.queue = queue;
    this.beginsAnew = beginsAnew;
    this.upTo = engine.newId();
    this.passedId = this.upTo;
  }

  next(): number {
    const { space } = this.engine;
    if (this.passed !== NONE && !this.isThere()) {
      this.passed = NONE;
      this.beginsAnew();
    }
    return this.passed === NONE ? space.anyUnheld(this.queue) : space.unheldAfter(this.queue, this.passed);
  }

  pass(entry: number): void {
    const { space } = this.engine;
    this.passed = entry;
    this.passedId = space.id(entry);
    this.passedState = space.entries.state.get(entry);
  }

  took(): void {}

  isMeant(entry: number): boolean {
    return !isBefore(this.upTo, this.engine.space.id(entry));
  }

  /** Whether what was passed last stands where it stood. Else somebody took it, and all before it are looked at again. */
  private isThere(): boolean {
    const { passed, passedId, queue } = this;
    const { space } = this.engine;
    if (space.entryById(passedId) !== passed || space.queueOf(passed) !== queue) return false;
    return space.entries.state.get(passed) === this.passedState;
  }
}

/** As they were named. */
class IdWalk implements Walk {
  missing = 0;
  private readonly engine: SpaceEngine;
  private readonly queue: Queue;
  private readonly ids: readonly MessageId[];
  private at = 0;

  constructor(engine: SpaceEngine, { source, ids }: { source: Queue; ids: readonly MessageId[] }) {
    this.engine = engine;
    this.queue = source;
    this.ids = ids;
  }

  next(): number {
    const { space } = this.engine;
    for (; this.at < this.ids.length; this.at++) {
      const entry = space.entryOf(this.queue, this.ids[this.at] as MessageId);
      if (entry !== NONE && space.entries.state.get(entry) !== ENTRY.PENDING) return entry;
      this.missing++;
    }
    return NONE;
  }

  pass(): void {
    this.at++;
  }
  took(): void {
    this.at++;
  }

  isMeant(): boolean {
    return true;
  }
}

/** So many a second, the first one not before its share of a second is over. */
class Pace {
  private readonly stepMs: number;
  private nextMs: number;

  constructor(rate: number, nowMs: number) {
    this.stepMs = 1000 / rate;
    this.nextMs = nowMs + this.stepMs;
  }

  /** 0: another one may go. */
  waitMs(nowMs: () => number): number {
    if (this.stepMs === 0) return 0;
    const now = nowMs();
    this.nextMs = Math.max(this.nextMs, now - RATE_MS.CREDIT);
    return now >= this.nextMs ? 0 : Math.max(this.nextMs - now, RATE_MS.STEP);
  }
  spend(): void {
    this.nextMs += this.stepMs;
  }
}
