// Commits and rollbacks that are too large for one turn of the loop [DESIGN 4, Slices]: walked in steps, one ending after the other in the
// order in which they were asked for. Invariants: from the asking on, whatever else is asked of a queue that an ending touches waits for its
// end, in order; nobody sees a queue while an ending is applied to it; a commit is one batch of the log, however many turns applying it
// takes; a rollback is a row of records of their own, and what a crash leaves of it is simply unlocked at the next start.
import { NONE } from '../base/column.ts';
import type { TransactionId } from '../base/transaction-id.ts';
import { apply } from '../queue/apply.ts';
import { isLooked, isRetained } from '../queue/aq.ts';
import type { RollbackCommand } from '../queue/command.ts';
import type { Cause } from '../queue/provenance.ts';
import { REMOVAL, type Removed } from '../queue/event.ts';
import { heldIn } from '../queue/prepared.ts';
import type { Queue } from '../queue/queue.ts';
import type { Branch } from '../queue/branches.ts';
import { ENTRY } from '../queue/tables.ts';
import type { Pos, Ref } from '../wal/log-store.ts';
import type { Soon } from './journal.ts';
import { encodeEvent, moveBytes, REMOVAL_BYTES } from './record.ts';
import { RecordBuffer } from './record-buffer.ts';
import type { BatchNumber, Held, Work } from './request.ts';
import { SLICE, Slice } from './slice.ts';
import type { SpaceEngine } from './space-engine.ts';

/** An ending by its steps: each `yield` is a place where the turn may end. Returns the batch that holds its last record. */
export type Steps = Generator<void, BatchNumber>;

/** What every step of one rollback uses. */
export type Given = Pick<RollbackCommand, 'nowMs' | 'wallMs' | 'cause' | 'newId'>;

/** What walking an ending needs to know of it. */
export interface EndingTerms {
  /** What is asked of these waits. */
  readonly queues: Iterable<Queue>;
  readonly steps: Steps;
}

interface Ending extends EndingTerms {
  readonly number: number;
  readonly queues: ReadonlySet<Queue>;
  /** What waits for the batch that holds its last record. */
  readonly held: Held[];
}

export class Endings {
  /** A branch with more to do than this is walked in slices of this. */
  sliceEntries: number = SLICE.STEPS;
  /** All up to this number are over. */
  over = 0;
  /** The log from behind this batch on is needed for what is being applied; Infinity: nothing is. */
  from: Pos = Infinity;
  /** The batch that is being applied. */
  ref: Ref = Infinity;
  private readonly engine: SpaceEngine;
  private readonly soon: Soon;
  /** In order; the first one is being walked. */
  private readonly asked: Ending[] = [];
  private lastAsked = 0;
  private scheduled = false;
  /** What waits until the ending of that number is over. */
  private waiting: { readonly number: number; readonly run: () => void }[] = [];
  /** The branch whose end is in the log and not yet applied; 0: none. */
  private leaving = NONE;

  constructor(engine: SpaceEngine, soon: Soon) {
    this.engine = engine;
    this.soon = soon;
  }

  isLarge(entries: number): boolean {
    return entries > this.sliceEntries;
  }

  /** Whether something that touches this queue was asked for and is not over: what is asked now has to wait. */
  isHeld(queue: Queue): boolean {
    return queue.ending > this.over;
  }
  get isBusy(): boolean {
    return this.lastAsked > this.over;
  }

  /** Calls back when all that touches this queue (null: any queue) and was asked for before is over; in the order of asking. */
  whenFree(queue: Queue | null, run: () => void): void {
    this.waiting.push({ number: queue === null ? this.lastAsked : queue.ending, run });
  }
  /** While something is under way: resolves when all that was asked for is over, or given up. */
  settled(): Promise<void> | null {
    return this.isBusy ? new Promise((resolve) => this.whenFree(null, resolve)) : null;
  }

  /** Whether what becomes of the entry is in the log already: it must not be logged again. */
  isLeaving(entry: number): boolean {
    const { entries } = this.engine.space;
    if (this.leaving === NONE || entries.owner.get(entry) !== this.leaving) return false;
    const state = entries.state.get(entry);
    return state === ENTRY.LOCKED || state === ENTRY.PENDING;
  }

  /** Walks an ending when those before it are over. What it returns is what to `hold` for: below 0, the ending's number. */
  begin({ queues, steps }: EndingTerms): BatchNumber {
    this.lastAsked++;
    const ending: Ending = { number: this.lastAsked, queues: new Set(queues), steps, held: [] };
    for (const queue of ending.queues) {
      queue.ending = ending.number;
      this.engine.space.setWalked(queue, true);
    }
    this.asked.push(ending);
    this.schedule();
    return -ending.number;
  }

  /** With `transaction` the log says that this one committed. */
  commit(work: Work, transaction: TransactionId | null): BatchNumber {
    const queues = [...this.queuesOf(work.branch), ...work.queues.keys()];
    return this.begin({ queues, steps: this.commitSteps(work, transaction) });
  }

  rollback(work: Work, cause: Cause): BatchNumber {
    const given = this.givenNow(work.branch, cause);
    return this.begin({ queues: this.queuesOfRollback(work.branch), steps: this.rollbackSteps(work, given) });
  }

  /** Times and ids of a rollback are those of the moment at which it was asked for. */
  givenNow(branch: Branch, cause: Cause): Given {
    return { ...this.engine.now(), cause, newId: this.engine.newIds(branch.locks) };
  }

  /** The queues that the commit of what the branch holds touches. */
  queuesOf(branch: Branch): Queue[] {
    const { space } = this.engine;
    return branch.queues.map((number) => space.queueByNumber(number)).filter((queue) => queue !== undefined);
  }
  /** The same of a rollback. */
  queuesOfRollback(branch: Branch): Queue[] {
    const { space } = this.engine;
    const errorQueue = space.queue(space.errorQueue);
    return [...this.queuesOf(branch), ...(errorQueue === undefined ? [] : [errorQueue])];
  }

  /** Lets `held` go when the ending is over and its last record durable. */
  hold(batch: BatchNumber, held: Held): void {
    const { journal } = this.engine;
    const ending = this.asked.find(({ number }) => number === -batch);
    if (journal.failure !== null) held.failed();
    else if (ending === undefined) journal.hold(journal.batch, held);
    else ending.held.push(held);
  }

  /** The log died: nothing is walked any more, and what waits looks for itself. */
  fail(): void {
    const ended = this.asked.splice(0);
    this.over = this.lastAsked;
    for (const { held } of ended) for (const one of held) one.failed();
    this.release();
  }

  private schedule(): void {
    if (this.scheduled || this.asked.length === 0) return;
    this.scheduled = true;
    const run = (): void => {
      this.scheduled = false;
      if (this.engine.journal.failure === null) this.slice();
    };
    const ahead = this.engine.journal.pace();
    if (ahead === null) this.soon(run);
    else void ahead.then(run);
  }

  private slice(): void {
    const { engine } = this;
    const [ending] = this.asked;
    if (ending === undefined) return;
    engine.space.batch = engine.journal.batch;
    const slice = new Slice(() => engine.monoMs(), this.sliceEntries);
    let step = ending.steps.next();
    while (step.done !== true && slice.mayGoOn(SLICE.LOOK)) step = ending.steps.next();
    if (step.done === true) this.end(ending, step.value);
    engine.settle();
    this.schedule();
  }

  private end(ending: Ending, batch: BatchNumber): void {
    const { engine } = this;
    this.asked.shift();
    this.over = ending.number;
    for (const queue of ending.queues) {
      engine.space.setWalked(queue, this.isHeld(queue));
    }
    for (const held of ending.held) engine.journal.hold(batch, held);
    // What became due or expired meanwhile.
    engine.upkeep.catchUp();
    // Those who were parked before it was asked for, then those who came after.
    engine.offerAgain(ending.queues);
    this.release();
    engine.upkeep.goOn();
  }

  private release(): void {
    const ready = this.waiting.filter(({ number }) => number <= this.over);
    this.waiting = this.waiting.filter(({ number }) => number > this.over);
    for (const { run } of ready) run();
  }

  // What follows is for steps.

  /** Where the turn may end: after every so many entries. */
  isPause(done: number): boolean {
    return done % Math.min(SLICE.LOOK, this.sliceEntries) === 0;
  }

  /** What the open batch says is going to be applied step by step, `leaving`'s end with it; returns the batch. */
  beginApplying(leaving: number): BatchNumber {
    const { journal } = this.engine;
    this.from = journal.lastPos;
    this.ref = journal.ref;
    this.leaving = leaving;
    return journal.batch;
  }
  /** All of it is applied. */
  endApplying(): void {
    this.leaving = NONE;
    this.from = Infinity;
    this.ref = Infinity;
  }

  private readonly room = {
    mayMove: (from: string | null): boolean => this.engine.journal.reserveSmall(moveBytes(from)),
    later: (entry: number): void => this.engine.aqTerms.later(entry),
  };

  /** What a small branch took goes back by the rules of a rollback [spec 2.6]. */
  giveBackAtOnce(branch: Branch, cause: Cause): void {
    const { engine } = this;
    const given = { ...engine.now(), cause, newId: () => engine.newId() };
    engine.run({ kind: 'rollback', branch: branch.number, limit: Infinity, ...given, ...this.room });
  }

  /** The same of a large one, step by step. */
  *giveBack(branch: Branch, given: Given): Generator<void, void> {
    const { engine } = this;
    const command = {
      kind: 'rollback',
      branch: branch.number,
      limit: 1,
      ...given,
      ...this.room,
    } as const;
    let done = 0;
    while (branch.locks > 0) {
      engine.run(command);
      if (this.isPause(++done)) yield;
    }
  }

  /** The removals are encoded first, then everything is in the log in one piece, then it is applied. */
  private *commitSteps(work: Work, transaction: TransactionId | null): Steps {
    const { engine } = this;
    const { space, journal } = engine;
    const { branch } = work;
    const removals = new RecordBuffer();
    let done = 0;
    // The AQ dialect keeps some, and locked some without consuming them: these in one turn, in the same batch as the rest.
    for (const entry of heldIn(space, branch, isLooked)) engine.run({ kind: 'unhold', entry });
    const retained = new Set(heldIn(space, branch, isRetained));
    for (let entry = branch.first; entry !== NONE; entry = space.entries.left(entry)) {
      const event = this.removalOf(entry);
      if (event.persistent && !retained.has(entry)) encodeEvent(removals, event);
      if (this.isPause(++done)) yield;
    }
    const batch = this.beginApplying(branch.number);
    // New labels for neighbours belong to the same batch; they are known only when all else is applied.
    if (work.placements.length > 0) journal.keepOpen(true);
    if (transaction !== null) engine.sayCommitted(transaction);
    if (removals.count > 0) journal.records.adopt(removals);
    for (const entry of retained) engine.run({ kind: 'take', entry, branch: NONE, aq: engine.aqTerms });
    const arrivals = engine.enqueues.beginSteps(work);
    journal.changed(removals.count * REMOVAL_BYTES);
    yield;
    while (branch.locks > 0) {
      apply(space, this.removalOf(branch.first));
      if (this.isPause(++done)) yield;
    }
    for (const _ of arrivals) if (this.isPause(++done)) yield;
    journal.keepOpen(false);
    this.endApplying();
    // Applied without a word to anyone.
    for (const queue of [...this.queuesOf(branch), ...work.queues.keys()]) engine.thresholds.touched(queue);
    space.branches.close(branch);
    return batch;
  }

  private *rollbackSteps(work: Work, given: Given): Steps {
    const { engine } = this;
    let done = 0;
    for (const _ of engine.enqueues.rollbackSteps(work)) if (this.isPause(++done)) yield;
    yield* this.giveBack(work.branch, given);
    engine.space.branches.close(work.branch);
    return engine.journal.batch;
  }

  private removalOf(entry: number): Removed {
    const { space } = this.engine;
    const persistent = space.isPersistent(entry);
    return { kind: 'removed', id: space.id(entry), persistent, reason: REMOVAL.DEQUEUED };
  }
}
