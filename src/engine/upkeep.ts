// What happens in a space by itself: entries become due or expire when their time comes, and long work (purging a queue, emptying a
// destroyed one) is done in slices so that nobody waits for it. One timer for all queues; a million entries that fall due together are
// brought up to date slice by slice, and a dequeue on their queue waits until it is [DESIGN 4, Slices and Time].
import type { Deadline } from '../base/timer-queue.ts';
import { CLOCK, REMOVAL } from '../queue/event.ts';
import type { Queue } from '../queue/queue.ts';
import type { SpaceEngine } from './space-engine.ts';
import type { Soon } from './journal.ts';

/** Entries per slice: a few milliseconds. */
const SLICE_ENTRIES = 1000;
/** The wall clock may step: while something waits for it, it is looked at this often, in milliseconds. */
const WALL_CHECK_MS = 1000;

/** One slice of long work; true: there is more. */
type Chore = () => boolean;

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
    engine.run({ kind: 'tick', queue: queue.number, ...now, limit: SLICE_ENTRIES });
    return queue.nextMs(CLOCK.SPACE) > now.nowMs && queue.nextMs(CLOCK.WALL) > now.wallMs;
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

  /** Sees to what is due or expired on any queue, one slice, and sets the timer for what comes next. */
  catchUp(): void {
    if (this.closed) return;
    const { space } = this.engine;
    if (space.nextMs(CLOCK.SPACE) === Infinity && space.nextMs(CLOCK.WALL) === Infinity) return this.disarm();
    const now = this.engine.now();
    const queue = this.lateQueue(now);
    if (queue !== undefined) {
      this.engine.run({ kind: 'tick', queue: queue.number, ...now, limit: SLICE_ENTRIES });
      if (this.lateQueue(now) !== undefined) this.schedule();
    }
    this.arm(now);
  }

  /** Removes what is on the queue now and in no transaction, slice by slice; `done` is told how many. */
  purge(queue: Queue, done: (count: number) => void): void {
    let left = queue.ready + queue.delayed;
    let count = 0;
    this.add(() => {
      const removed = this.removeSome(queue, Math.min(left, SLICE_ENTRIES));
      left -= removed;
      count += removed;
      if (removed > 0 && left > 0) return true;
      done(count);
      return false;
    });
  }

  /** Empties what is left of a destroyed queue. */
  empty(queue: Queue): void {
    this.add(() => this.removeSome(queue, SLICE_ENTRIES) > 0);
  }

  close(): void {
    this.closed = true;
    this.chores = [];
    this.disarm();
  }

  private removeSome(queue: Queue, limit: number): number {
    const { engine } = this;
    for (let count = 0; count < limit; count++) {
      const entry = engine.space.anyUnheld(queue);
      if (entry === 0) return count;
      engine.run({ kind: 'remove', entry, reason: REMOVAL.PURGED });
    }
    return limit;
  }

  private add(chore: Chore): void {
    this.chores.push(chore);
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled || this.closed) return;
    this.scheduled = true;
    this.soon(() => {
      this.scheduled = false;
      if (!this.closed && this.engine.journal.failure === null) this.slice();
    });
  }

  private slice(): void {
    const { engine } = this;
    const chore = this.chores.shift();
    if (chore?.() === true) this.chores.push(chore);
    const [first] = this.behind;
    if (first !== undefined && this.bring(first.queue)) {
      const ready = this.behind.filter((one) => one.queue === first.queue);
      this.behind = this.behind.filter((one) => one.queue !== first.queue);
      for (const one of ready) one.run();
    }
    engine.settle();
    if (this.chores.length > 0 || this.behind.length > 0) this.schedule();
  }

  /** Most dequeues find nothing to see to: only the clock that something waits for is read. */
  private isCurrent(queue: Queue): boolean {
    const { engine } = this;
    const spaceMs = queue.nextMs(CLOCK.SPACE);
    if (spaceMs !== Infinity && spaceMs <= engine.time.nowMs()) return false;
    const wallMs = queue.nextMs(CLOCK.WALL);
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

interface Now {
  readonly nowMs: number;
  readonly wallMs: number;
}
