// Where a message stands in its queue, as values that outlive it: so that whoever walks a queue can go on behind a message that has gone
// meanwhile. The same order as order.ts has for entries [spec 5.5]. Pure.
import { NONE } from '../base/column.ts';
import type { Position } from './event.ts';
import { compareEnds } from './label.ts';
import { isBefore, type MessageId } from './message.ts';
import { standingOf } from './place.ts';
import type { Queue } from './queue.ts';
import { compareKey } from './sort-keys.ts';
import type { QueueSpace } from './space.ts';

export interface Standing {
  readonly id: MessageId;
  readonly position: Position;
}

export function standingIn(space: QueueSpace, entry: number): Standing {
  return { id: space.id(entry), position: standingOf(space, entry) };
}

/** The first READY entry of the queue that comes after that place, or 0. */
export function firstBehind(space: QueueSpace, queue: Queue, place: Standing): number {
  if (queue.root === NONE) return NONE;
  return space.tree.firstThat(
    queue.root,
    (entry) => compareStandings(queue, place, standingIn(space, entry)) < 0,
  );
}

/** Less than 0 when `a` comes before `b`. */
export function compareStandings(queue: Queue, a: Standing, b: Standing): number {
  const [at, other] = [a.position, b.position];
  if (at.top !== other.top) return at.top ? -1 : 1;
  if (!at.top) {
    for (const key of queue.sortKeys) {
      const difference = compareKey(key, at, other);
      if (difference !== 0) return difference;
    }
  }
  const base = compareIds(at.base, other.base);
  // On top the last to come is the first; below, as the order says.
  if (base !== 0) return at.top || queue.isLifo ? -base : base;
  return compareEnds(at.label, other.label) || compareIds(a.id, b.id);
}

function compareIds(a: MessageId, b: MessageId): number {
  if (isBefore(a, b)) return -1;
  return isBefore(b, a) ? 1 : 0;
}
