// What a queue holds and has seen, as people are told it: of a multi-consumer queue that of all its consumers, so that a message counts once for
// each who has it or had it.
import type { Queue } from './queue.ts';

const NAMES = [
  ...(['messages', 'ready', 'delayed', 'locked', 'pending', 'waiting', 'bytes', 'pages'] as const),
  ...(['memoryMessages', 'memoryBytes', 'enqueued', 'dequeued', 'expired', 'retried'] as const),
  ...(['moved', 'movedAway', 'dropped', 'purged'] as const),
] as const;
export type QueueCounts = Readonly<Record<(typeof NAMES)[number], number>>;

/** The queue itself when it has no consumers. */
export function countsOf(queue: Queue): QueueCounts {
  if (queue.lanes === null) return queue;
  const parts = [queue, ...queue.lanes.values()];
  const sums = NAMES.map((name) => [name, parts.reduce((sum, part) => sum + part[name], 0)] as const);
  return Object.fromEntries(sums) as QueueCounts;
}
