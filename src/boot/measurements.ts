// The daemon's numbers for the metrics page: read from engines, roles and the listener when they are asked for. Counting is done where things
// happen; this only gathers.
import { NONE } from '../base/column.ts';
import type { ClosedSpace } from '../admin/statistics.ts';
import type { NamedSpace } from '../admin/views.ts';
import type { Services } from '../atmi/services.ts';
import type { Transactions } from '../atmi/transactions.ts';
import type { SpaceEngine } from '../engine/space-engine.ts';
import type {
  DaemonNumbers,
  ForwarderNumbers,
  ForwarderResults,
  MetricsSource,
  OpenSpaceNumbers,
  QueueNumbers,
  ServiceNumbers,
  SpaceNumbers,
} from '../metrics/source.ts';
import type { Listener } from '../net/listener.ts';
import { countsOf } from '../queue/counts.ts';
import type { Queue } from '../queue/queue.ts';
import type { PlacedForwarder } from './forwarders.ts';

export interface MeasuredParts {
  readonly version: string;
  readonly lmid: string;
  readonly connectionsMax: number;
  readonly listener: () => Listener | null;
  readonly transactions: Transactions;
  readonly services: Services;
  readonly spaces: () => readonly NamedSpace[];
  readonly closedSpaces: () => readonly ClosedSpace[];
  /** As they are when it is asked: the configuration may be read again. */
  readonly forwarders: { readonly placed: readonly PlacedForwarder[] };
}

export class Measurements implements MetricsSource {
  private readonly parts: MeasuredParts;

  constructor(parts: MeasuredParts) {
    this.parts = parts;
  }

  daemon(): DaemonNumbers {
    const { version, lmid, connectionsMax, transactions } = this.parts;
    const listener = this.parts.listener();
    return {
      version,
      lmid,
      connections: listener?.connectionCount ?? 0,
      connectionsMax,
      accepted: listener?.accepted ?? 0,
      refused: listener?.refused ?? 0,
      transactions: transactions.count,
      ended: transactions.counts,
    };
  }

  spaces(): SpaceNumbers[] {
    const open = this.parts.spaces().map(({ name, engine }) => ({
      space: name,
      isUp: engine.journal.failure === null,
      open: spaceNumbers(engine),
    }));
    const closed = this.parts.closedSpaces().map(({ name }) => ({ space: name, isUp: false, open: null }));
    return [...open, ...closed];
  }

  *queues(): Generator<QueueNumbers> {
    for (const { name, engine } of this.parts.spaces()) {
      for (const queue of engine.space.queues()) {
        if (!queue.doomed) yield queueNumbers(queue, { space: name, engine });
      }
    }
  }

  *forwarders(): Generator<ForwarderNumbers> {
    for (const { group, forwarder } of this.parts.forwarders.placed) {
      for (const { srvid, isUp } of forwarder.lifeSigns) yield { srvgrp: group, srvid, isUp };
    }
  }

  forwarderResults(): ForwarderResults[] {
    return this.parts.forwarders.placed.map(({ forwarder }) => forwarder.statistics());
  }

  services(): ServiceNumbers[] {
    return this.parts.services.statistics().map(({ name, ...numbers }) => ({ service: name, ...numbers }));
  }
}

function spaceNumbers(engine: SpaceEngine): OpenSpaceNumbers {
  const { space, journal, reclaim, checkpointer } = engine;
  const { first, last, bytes, room } = engine.store.stat();
  return {
    queues: space.queueCount,
    messages: space.messages.live,
    transactions: space.branches.active,
    memoryBytes: space.tableBytes,
    nonPersistentBytes: space.memory.usedBytes,
    liveBytes: space.liveBytes,
    deadBytes: Math.max(0, last - first - space.liveBytes),
    logBytes: bytes,
    roomBytes: Math.max(0, room),
    appendedBytes: journal.bytesAppended,
    records: journal.recordsAppended,
    batchRecords: journal.batchRecords,
    syncSeconds: journal.syncSeconds,
    checkpointSeconds: checkpointer.seconds,
    checkpointFailures: checkpointer.failures,
    reclaimSeconds: reclaim.seconds,
    restatedBytes: reclaim.restatedBytes,
  };
}

function queueNumbers(
  queue: Queue,
  { space, engine }: { readonly space: string; readonly engine: SpaceEngine },
): QueueNumbers {
  const counts = countsOf(queue);
  return {
    space,
    queue: queue.attributes.name,
    ready: counts.ready,
    delayed: counts.delayed,
    locked: counts.locked,
    pending: counts.pending,
    bytes: counts.bytes,
    nonPersistentBytes: counts.memoryBytes,
    oldestSeconds: oldestMs(queue, engine) / 1000,
    waiters: counts.waiting,
    enqueued: counts.enqueued,
    dequeued: counts.dequeued,
    retried: counts.retried,
    expired: counts.expired,
    moved: counts.moved,
    dropped: counts.dropped,
    purged: counts.purged,
    movedAway: counts.movedAway,
  };
}

/** Of the first message in the queue's order, which is the oldest one of a fifo; on a lifo of the last. */
function oldestMs(queue: Queue, { space, time }: SpaceEngine): number {
  const entry = queue.attributes.order === 'lifo' ? queue.last : space.firstReady(queue);
  if (entry === NONE || time.ids === null) return 0;
  return time.ids.ageMs(space.id(entry), time.nowMs());
}
