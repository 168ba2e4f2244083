// The sort keys of a queue's order, compared as values [spec 5.5]. Pure.
import type { Position } from './event.ts';
import type { Queue } from './queue.ts';

export type Key = 'priority' | 'time' | 'expiration';

/** The AQ dialect's own words: AQ priority and commit order lie where the two times of a /Q message lie, and sort as they do. */
export const AQ_KEYS: Readonly<Record<string, Key>> = { rank: 'time', commit: 'expiration' };

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
