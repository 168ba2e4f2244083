// A queue and a queue space as administration shows them: attributes and counts under the names of PROTOCOL.md 6.2. Counting is done where
// things happen; this only gathers.
import type { QueueInfo, SpaceInfo } from '../../proto/admin.ts';
import type { SpaceEngine } from '../engine/space-engine.ts';
import { THRESHOLD } from '../queue/event.ts';
import { countsOf } from '../queue/counts.ts';
import type { Queue } from '../queue/queue.ts';

/** A queue space as administration sees it. */
export interface NamedSpace {
  readonly engine: SpaceEngine;
  readonly name: string;
  readonly device: string;
  readonly aliases: readonly string[];
  /** false: it is open for administration alone. */
  readonly isServed?: boolean;
}

export function queueView(queue: Queue): QueueInfo {
  const { aq: _, ...attributes } = queue.attributes;
  const counts = countsOf(queue);
  return {
    ...attributes,
    messages: counts.messages,
    ready: counts.ready,
    delayed: counts.delayed,
    locked: counts.locked,
    pending: counts.pending,
    persistentMessages: counts.messages - counts.memoryMessages,
    bytes: counts.bytes,
    pages: counts.pages,
    nonPersistentMessages: counts.memoryMessages,
    nonPersistentBytes: counts.memoryBytes,
    waiting: counts.waiting,
    enqueued: counts.enqueued,
    dequeued: counts.dequeued,
    expired: counts.expired,
    armed: queue.armed[THRESHOLD.PERSISTENT] === true,
    nonPersistentArmed: queue.armed[THRESHOLD.NONPERSISTENT] === true,
  };
}

export function spaceView({ engine, device, aliases }: NamedSpace): SpaceInfo {
  const { space } = engine;
  return {
    ...space.attributes,
    device,
    aliases: [...aliases],
    state: engine.journal.failure === null ? 'open' : 'failed',
    curPages: space.usage.pages,
    curQueues: space.queueCount,
    curTransactions: space.branches.active,
    curMessages: space.usage.messages,
    curNonPersistentBytes: space.memory.usedBytes,
    doomedQueues: space.doomedQueues().length,
  };
}
