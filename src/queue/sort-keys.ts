// The sort keys of a queue's order, compared as values [spec 5.5]. Pure.
import type { Position } from './event.ts';
import type { Queue } from './queue.ts';

type Keyed = Pick<Position, 'priority' | 'sortTimeMs' | 'sortExpiryMs'>;

/** Less than 0 when `a` comes first by this key. */
export function compareKey(key: string, a: Keyed, b: Keyed): number {
  if (key === 'priority') return b.priority - a.priority;
  const [atA, atB] = key === 'time' ? [a.sortTimeMs, b.sortTimeMs] : [a.sortExpiryMs, b.sortExpiryMs];
  // Both may be Infinity.
  return atA === atB ? 0 : atA - atB;
}

/** Whether all keys of the queue's order are the same in both. */
export function hasSameKeys(queue: Queue, a: Keyed, b: Keyed): boolean {
  return queue.sortKeys.every((key) => compareKey(key, a, b) === 0);
}
