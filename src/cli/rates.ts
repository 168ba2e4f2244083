// Two pictures of what the daemon counts, a while apart, as one: with what happened in between a second. A daemon that was restarted between them
// counts from nothing: then there is no rate. Pure.
import type {
  ForwarderStatistics,
  QueueStatistics,
  SpaceStatistics,
  Statistics,
} from '../../proto/message-statistics.ts';

export interface QueueRates extends QueueStatistics {
  readonly space: string;
  readonly inPerS: number;
  readonly outPerS: number;
}
export interface SpaceRates extends Omit<SpaceStatistics, 'queues'> {
  readonly queues: number;
  readonly waiters: number;
  readonly inPerS: number;
  readonly outPerS: number;
  readonly batchesPerS: number;
}
export interface ForwarderRates extends ForwarderStatistics {
  readonly donePerS: number;
  readonly failedPerS: number;
}
export interface Snapshot extends Omit<Statistics, 'spaces' | 'forwarders'> {
  readonly spaces: readonly SpaceRates[];
  readonly queues: readonly QueueRates[];
  readonly forwarders: readonly ForwarderRates[];
}

export function snapshotOf(before: Statistics, now: Statistics, seconds: number): Snapshot {
  const isSame = now.uptimeMs >= before.uptimeMs;
  const rate = (is: number, was: number | undefined): number =>
    isSame && was !== undefined && is >= was ? (is - was) / seconds : 0;
  const queues = now.spaces.flatMap((space) => {
    const old = new Map(spaceIn(before, space.name)?.queues.map((queue) => [queue.name, queue]));
    return space.queues.map((queue) => {
      const was = old.get(queue.name);
      const inPerS = rate(queue.enqueued, was?.enqueued);
      return { ...queue, space: space.name, inPerS, outPerS: rate(queue.dequeued, was?.dequeued) };
    });
  });
  const spaces = now.spaces.map((space) => {
    const own = queues.filter((queue) => queue.space === space.name);
    return {
      ...space,
      queues: own.length,
      waiters: sum(own, (queue) => queue.waiters),
      inPerS: sum(own, (queue) => queue.inPerS),
      outPerS: sum(own, (queue) => queue.outPerS),
      batchesPerS: rate(space.batches, spaceIn(before, space.name)?.batches),
    };
  });
  const forwarders = now.forwarders.map((one) => {
    const was = before.forwarders.find(({ srvgrp, srvid }) => srvgrp === one.srvgrp && srvid === one.srvid);
    const donePerS = rate(one.forwarded, was?.forwarded);
    return { ...one, donePerS, failedPerS: rate(one.failed, was?.failed) };
  });
  return { ...now, spaces, queues, forwarders };
}

function spaceIn(statistics: Statistics, name: string): SpaceStatistics | undefined {
  return statistics.spaces.find((space) => space.name === name);
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}

export const SORTS = {
  messages: (a, b) => b.messages - a.messages,
  in: (a, b) => b.inPerS - a.inPerS,
  out: (a, b) => b.outPerS - a.outPerS,
  waiters: (a, b) => b.waiters - a.waiters,
  bytes: (a, b) => b.bytes - a.bytes,
  name: () => 0,
} as const satisfies Record<string, (a: QueueRates, b: QueueRates) => number>;
export type SortKey = keyof typeof SORTS;
export const SORT_KEYS = Object.keys(SORTS) as readonly SortKey[];

/** The most first; those that are equal by name. */
export function sortedQueues(queues: readonly QueueRates[], key: SortKey): QueueRates[] {
  const compare = SORTS[key];
  const nameOf = ({ space, name }: QueueRates): string => `${space}\0${name}`;
  return [...queues].sort((a, b) => compare(a, b) || (nameOf(a) < nameOf(b) ? -1 : 1));
}
