// What happens in a space by itself: entries become due or expire when their time comes, and long work (purging a queue, emptying a
// destroyed one) is done in slices so that nobody waits for it. One timer for all queues; a million entries that fall due together are
// brought up to date slice by slice, and a dequeue on their queue waits until it is [DESIGN 4, Slices and Time].
import type { Deadline } from '../base/timer-queue.ts';
import { QME, type Qme } from '../../proto/codes.ts';
import { CLOCK, REMOVAL } from '../queue/event.ts';
import { isBefore, type MessageId } from '../queue/message.ts';
import type { Queue } from '../queue/queue.ts';
import { ENTRY } from '../queue/tables.ts';
import type { SpaceEngine } from './space-engine.ts';
import type { Soon } from './journal.ts';
import { SLICE, Slice } from './slice.ts';

/** The wall clock may step: while something waits for it, it is looked at this often, in milliseconds. */
const WALL_CHECK_MS = 1000;

/** Long work, one slice after the other. */
export interface Chore {
  /** Where it works. While a large ending is applied there it pauses, so that it does not see half of it. */
  readonly queue: Queue;
  /** It does nothing for now, and calls `goOn` when it has something to do again: it waits for room, or puts messages where an ending walks. */
  readonly waits?: boolean;
  /** true: there is more. */
  slice(): boolean;
  /** It will not be finished before the end of this process. */
  given(up: Qme): void;
}

/** How a purge ended: OK, or why it stopped before all was removed, and how many were. */
export type PurgeDone = (count: number, code: Qme) => void;

export class Upkeep {
  private readonly engine: SpaceEngine;
  private readonly soon: Soon;
  private timer: Deadline | null = null;
  private chores: Chore[] = [];
  private scheduled = false;
  private behind: { readonly queue: Queue; readonly run: () => void }[] = [];
  private closed = false;

  constructor(engine: SpaceEngine, soon: Soon) {
    this.engine = engine;
    this.soon = soon;
  }

  /** Sees to what is due or expired on this queue, as much as one slice takes. false: there is more, ask by `whenCurrent`. */
  bring(queue: Queue): boolean {
    const { engine } = this;
    if (this.isCurrent(queue)) return true;
    const now = engine.now();
    const slice = this.newSlice();
    const isLate = (): boolean =>
      queue.nextMs(CLOCK.SPACE) <= now.nowMs || queue.nextMs(CLOCK.WALL) <= now.wallMs;
    do engine.run({ kind: 'tick', queue: queue.number, ...now, limit: SLICE.LOOK, aq: engine.aqTerms });
    while (isLate() && slice.mayGoOn(SLICE.LOOK));
    return !isLate();
  }

  /** Calls back when the queue is up to date, in the order of asking. */
  whenCurrent(queue: Queue, run: () => void): void {
    this.behind.push({ queue, run });
    this.schedule();
  }

  /** Whether requests wait for this queue to be brought up to date: later ones go behind them. */
  isBehind(queue: Queue): boolean {
    return this.behind.length > 0 && this.behind.some((one) => one.queue === queue);
  }

  /** Whether something is due or expired that nobody has noticed yet: a timer is late, or the wall clock was stepped. */
  get isLate(): boolean {
    return !this.scheduled && !this.isSpaceCurrent;
  }
  /** Whether nothing is due or expired on any queue. */
  get isSpaceCurrent(): boolean {
    return this.isCurrent(this.engine.space);
  }
  get isScheduled(): boolean {
    return this.scheduled;
  }

  /** Sees to what is due or expired on any queue, one slice, and sets the timer for what comes next. */
  catchUp(): void {
    if (this.closed) return;
    const { space } = this.engine;
    if (space.nextMs(CLOCK.SPACE) === Infinity && space.nextMs(CLOCK.WALL) === Infinity) return this.disarm();
    const now = this.engine.now();
    const slice = this.newSlice();
    let queue = this.lateQueue(now);
    while (queue !== undefined) {
      const { expired, delayed } = queue;
      this.engine.run({
        kind: 'tick',
        queue: queue.number,
        ...now,
        limit: SLICE.LOOK,
        aq: this.engine.aqTerms,
      });
      // At least as many as were looked at.
      const steps = Math.max(1, queue.expired - expired + (delayed - queue.delayed));
      queue = this.lateQueue(now);
      if (!slice.mayGoOn(steps)) break;
    }
    if (queue !== undefined) this.schedule();
    this.arm(now);
  }

  /** Removes what is on the queue now and in no transaction, slice by slice; what comes meanwhile stays, and what `isWanted` says no to. */
  purge(queue: Queue, done: PurgeDone, isWanted: (entry: number) => boolean = () => true): void {
    const purge = new Purge(this.engine, { queue, isWanted });
    this.add({
      queue,
      slice: () => {
        if (purge.slice(this.newSlice())) return true;
        done(purge.count, QME.OK);
        return false;
      },
      given: (code) => done(purge.count, code),
    });
  }

  /** Empties what is left of a destroyed queue; a start goes on with it. */
  empty(queue: Queue): void {
    this.add({ queue, slice: () => this.removeSome(queue), given: () => {} });
  }

  /** Does what there is to do, e.g. because a queue is no longer walked. */
  goOn(): void {
    if (this.behind.some(({ queue }) => !queue.walked) || this.chores.some(mayWork)) this.schedule();
  }

  /** Does nothing more; who waits for a purge is told `code`, and a dequeue that waits looks again for itself. */
  close(code: Qme): void {
    if (this.closed) return;
    this.closed = true;
    for (const chore of this.chores.splice(0)) chore.given(code);
    for (const one of this.behind.splice(0)) one.run();
    this.disarm();
  }

  private newSlice(): Slice {
    return new Slice(() => this.engine.monoMs());
  }

  /** true: there may be more. */
  private removeSome(queue: Queue): boolean {
    const { engine } = this;
    const slice = this.newSlice();
    do {
      const entry = engine.space.anyUnheld(queue);
      if (entry === 0) return false;
      engine.run({ kind: 'remove', entry, reason: REMOVAL.PURGED });
    } while (slice.mayGoOn());
    return true;
  }

  /** Long work that is done beside everything else. */
  add(chore: Chore): void {
    if (this.closed) return chore.given(QME.QMEABORTED);
    this.chores.push(chore);
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled || this.closed) return;
    this.scheduled = true;
    const run = (): void => {
      this.scheduled = false;
      if (!this.closed && this.engine.journal.failure === null) this.slice();
    };
    const ahead = this.engine.journal.pace();
    if (ahead === null) this.soon(run);
    else void ahead.then(run);
  }

  private slice(): void {
    const { engine } = this;
    const at = this.chores.findIndex(mayWork);
    const [chore] = at < 0 ? [] : this.chores.splice(at, 1);
    if (chore?.slice() === true) this.chores.push(chore);
    const first = this.behind.find(({ queue }) => !queue.walked);
    if (first !== undefined && this.bring(first.queue)) {
      const ready = this.behind.filter((one) => one.queue === first.queue);
      this.behind = this.behind.filter((one) => one.queue !== first.queue);
      for (const one of ready) one.run();
    }
    engine.settle();
    this.goOn();
  }

  /** Whether nothing is due or expired. Most dequeues find it so: only the clock that something waits for is read. */
  private isCurrent(on: Pick<Queue, 'nextMs'>): boolean {
    const { engine } = this;
    const spaceMs = on.nextMs(CLOCK.SPACE);
    if (spaceMs !== Infinity && spaceMs <= engine.time.nowMs()) return false;
    const wallMs = on.nextMs(CLOCK.WALL);
    return wallMs === Infinity || wallMs > engine.wallMs();
  }

  private lateQueue(now: Now): Queue | undefined {
    const { space } = this.engine;
    if (space.nextMs(CLOCK.SPACE) <= now.nowMs) return space.nextQueue(CLOCK.SPACE);
    return space.nextMs(CLOCK.WALL) <= now.wallMs ? space.nextQueue(CLOCK.WALL) : undefined;
  }

  private arm(now: Now): void {
    const { engine } = this;
    const { space, time } = engine;
    const monoMs = engine.monoMs();
    const wallNextMs = space.nextMs(CLOCK.WALL);
    const wallAtMs =
      wallNextMs === Infinity
        ? Infinity
        : monoMs + Math.min(Math.max(0, wallNextMs - now.wallMs), WALL_CHECK_MS);
    const spaceNextMs = space.nextMs(CLOCK.SPACE);
    const spaceAtMs = spaceNextMs === Infinity ? Infinity : time.monoAt(spaceNextMs);
    const atMs = Math.min(wallAtMs, spaceAtMs);
    const { timer } = this;
    // An earlier timer finds nothing due and sets the next: cheaper than a new one at each change.
    if (timer !== null && timer.heapIndex >= 0 && timer.atMs <= atMs) return;
    this.disarm();
    if (atMs === Infinity) return;
    this.timer = engine.timers.set(atMs, () => {
      this.timer = null;
      engine.settle();
    });
  }

  private disarm(): void {
    if (this.timer !== null) this.engine.timers.cancel(this.timer);
    this.timer = null;
  }
}

function mayWork({ queue, waits }: Chore): boolean {
  return !queue.walked && waits !== true;
}

/** One purge: every wanted message that was on the queue when it was asked for, but for those that a transaction holds. */
class Purge {
  count = 0;
  private readonly engine: SpaceEngine;
  private readonly queue: Queue;
  private readonly isWanted: (entry: number) => boolean;
  /** No message of the purge has a later id. */
  private readonly upTo: MessageId;
  /** Messages that may have to be removed still; what is locked now and comes back is counted too. */
  private left: number;
  /** The last entry that came later, or is not wanted, and was passed over, and its id: 0: none. */
  private passed = 0;
  private passedId: MessageId;

  constructor(engine: SpaceEngine, { queue, isWanted }: { queue: Queue; isWanted: Purge['isWanted'] }) {
    this.engine = engine;
    this.queue = queue;
    this.isWanted = isWanted;
    this.upTo = engine.newId();
    this.passedId = this.upTo;
    this.left = queue.messages + queue.pending;
  }

  /** Looks at a slice of the entries; true: there is more. */
  slice(slice: Slice): boolean {
    const { engine, queue } = this;
    const { space } = engine;
    for (let goesOn = true; goesOn && this.left > 0; goesOn = slice.mayGoOn()) {
      const entry = this.isThere() ? space.unheldAfter(queue, this.passed) : space.anyUnheld(queue);
      if (entry === 0) return false;
      const id = space.id(entry);
      if (isBefore(this.upTo, id) || !this.isWanted(entry)) {
        this.passed = entry;
        this.passedId = id;
        continue;
      }
      engine.run({ kind: 'remove', entry, reason: REMOVAL.PURGED });
      this.left--;
      this.count++;
    }
    return this.left > 0;
  }

  /** Whether the entry that was passed over last still stands where it stood. */
  private isThere(): boolean {
    if (this.passed === 0) return false;
    const { space } = this.engine;
    if (space.entryById(this.passedId) !== this.passed || space.queueOf(this.passed) !== this.queue)
      return false;
    const state = space.entries.state.get(this.passed);
    return state === ENTRY.READY || state === ENTRY.DELAYED;
  }
}

interface Now {
  readonly nowMs: number;
  readonly wallMs: number;
}
