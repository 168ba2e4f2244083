// A walk over the messages of a queue, in stages: those that are deliverable in the queue's order, those that are not yet available by their
// times, those that transactions hold. It can be broken off anywhere and taken up again behind the same place, whatever became of the message
// that stood there: one that stays where it is, is met once. Pure.
import { NONE } from '../base/column.ts';
import { CLOCK, type ClockKind } from './event.ts';
import { isBefore, type MessageId } from './message.ts';
import type { Queue } from './queue.ts';
import type { QueueSpace } from './space.ts';
import { firstBehind, standingIn, type Standing } from './standing.ts';
import { ENTRY } from './tables.ts';

/** Behind which message a walk goes on. */
export type Cursor =
  | { readonly stage: 'ready'; readonly place: Standing }
  | { readonly stage: 'space' | 'wall'; readonly id: MessageId; readonly dueMs: number }
  | { readonly stage: 'held'; readonly id: MessageId; readonly branch: number };

export type Stage = Cursor['stage'];

/** For people: what comes first is delivered first. */
export const LIST_STAGES: readonly Stage[] = ['ready', 'space', 'wall', 'held'];
/** For changes: a message that becomes available while the walk goes on is not missed. */
export const CHANGE_STAGES: readonly Stage[] = ['space', 'wall', 'ready', 'held'];

export class Walk {
  private readonly space: QueueSpace;
  private readonly queue: Queue;
  private readonly stages: readonly Stage[];
  private stageAt: number;
  /** The entry that was handed out last, NONE at the beginning of a stage. */
  private at = NONE;
  /** Where to go on when `at` is not known. */
  private behind: Cursor | null;
  /** Numbers of the branches that are still to come, from `nextBranch` on; null: not asked for yet. */
  private branches: readonly number[] | null = null;
  private nextBranch = 0;

  /** `cursor`: null from the beginning. */
  constructor(
    space: QueueSpace,
    queue: Queue,
    { stages, cursor }: { stages: readonly Stage[]; cursor: Cursor | null },
  ) {
    this.space = space;
    this.queue = queue;
    this.stages = stages;
    this.behind = cursor;
    this.stageAt = cursor === null ? 0 : stages.indexOf(cursor.stage);
  }

  /** The next entry, or 0 at the end. In the last stage also entries of other queues. Nothing may change between two calls. */
  next(): number {
    for (; this.stageAt < this.stages.length; this.stageAt++) {
      const entry = this.nextIn(this.stage);
      this.behind = null;
      this.at = entry;
      if (entry !== NONE) return entry;
    }
    return NONE;
  }

  /** Of the entry that `next` gave last. */
  get stage(): Stage {
    return this.stages[this.stageAt] as Stage;
  }

  /** Goes on behind the entry that `next` gave last. */
  cursor(): Cursor {
    const { space, at, stage } = this;
    if (stage === 'ready') return { stage, place: standingIn(space, at) };
    const id = space.id(at);
    if (stage === 'held') return { stage, id, branch: space.entries.owner.get(at) };
    return { stage, id, dueMs: space.entries.dueMs.get(at) };
  }

  private nextIn(stage: Stage): number {
    if (stage === 'ready') return this.nextReady();
    if (stage === 'held') return this.nextHeld();
    return this.nextDelayed(stage === 'space' ? CLOCK.SPACE : CLOCK.WALL);
  }

  private nextReady(): number {
    const { space, queue, at, behind } = this;
    if (at !== NONE) return space.tree.after(queue.root, at, queue.before);
    return behind?.stage === 'ready' ? firstBehind(space, queue, behind.place) : space.firstReady(queue);
  }

  private nextDelayed(clock: ClockKind): number {
    const { space, queue, at, behind } = this;
    const agenda = queue.due[clock];
    if (at !== NONE) return agenda.after(at);
    if (behind === null || behind.stage === 'ready' || behind.stage === 'held') return agenda.first();
    const { dueMs, id } = behind;
    return agenda.firstThat((entry) => {
      const entryMs = space.entries.dueMs.get(entry);
      return entryMs === dueMs ? isBefore(id, space.id(entry)) : entryMs > dueMs;
    });
  }

  private nextHeld(): number {
    const { entries } = this.space;
    const cursor = this.behind?.stage === 'held' ? this.behind : null;
    const number = cursor?.branch ?? 0;
    let { at } = this;
    if (at === NONE && cursor !== null) {
      const entry = this.space.entryById(cursor.id);
      const isLocked = entry !== NONE && entries.state.get(entry) === ENTRY.LOCKED;
      if (isLocked && entries.owner.get(entry) === number) at = entry;
    }
    const next = at === NONE ? NONE : entries.left(at);
    return next === NONE ? this.firstHeldAfter(number) : next;
  }

  /** The first entry of the branches after that number that are still to come. */
  private firstHeldAfter(number: number): number {
    const { branches } = this.space;
    if (this.queue.locked === 0) return NONE;
    this.branches ??= branches.numbers().filter((one) => one > number);
    for (;;) {
      const other = this.branches[this.nextBranch++];
      if (other === undefined) return NONE;
      const first = branches.find(other)?.first ?? NONE;
      if (first !== NONE) return first;
    }
  }
}
