// What the metrics page asks for: the daemon's numbers by their subjects, as they are when they are read. Boot gathers them from engines, roles
// and listeners; nothing here knows one of those.
import type { Histogram } from '../base/histogram.ts';

/** What is shown of a histogram. */
export type Spread = Pick<Histogram, 'bounds' | 'counts' | 'sum'>;

export interface DaemonNumbers {
  readonly version: string;
  readonly lmid: string;
  readonly connections: number;
  readonly connectionsMax: number;
  readonly accepted: number;
  readonly refused: number;
  /** Open ones. */
  readonly transactions: number;
  readonly ended: {
    readonly committed: number;
    readonly rolledBack: number;
    readonly timedOut: number;
    readonly failed: number;
  };
}

export interface SpaceNumbers {
  readonly space: string;
  readonly isUp: boolean;
  /** Of a space that is open; null: it is not. */
  readonly open: OpenSpaceNumbers | null;
}
export interface OpenSpaceNumbers {
  readonly queues: number;
  readonly messages: number;
  readonly transactions: number;
  readonly memoryBytes: number;
  readonly nonPersistentBytes: number;
  readonly liveBytes: number;
  readonly deadBytes: number;
  readonly logBytes: number;
  readonly roomBytes: number;
  readonly appendedBytes: number;
  readonly records: number;
  readonly batchRecords: Spread;
  readonly syncSeconds: Spread;
  readonly checkpointSeconds: Spread;
  readonly checkpointFailures: number;
  readonly reclaimSeconds: Spread;
  readonly restatedBytes: number;
}

export interface QueueNumbers {
  readonly space: string;
  readonly queue: string;
  readonly ready: number;
  readonly delayed: number;
  readonly locked: number;
  readonly pending: number;
  readonly bytes: number;
  readonly nonPersistentBytes: number;
  readonly oldestSeconds: number;
  readonly waiters: number;
  readonly enqueued: number;
  readonly dequeued: number;
  readonly retried: number;
  readonly expired: number;
  readonly moved: number;
  readonly dropped: number;
  readonly purged: number;
  readonly movedAway: number;
}

export interface ForwarderNumbers {
  readonly srvgrp: string;
  readonly srvid: number;
  readonly isUp: boolean;
}
export interface ForwarderResults {
  readonly srvgrp: string;
  readonly srvid: number;
  readonly forwarded: number;
  readonly failed: number;
}

export interface ServiceNumbers {
  readonly service: string;
  readonly servers: number;
  readonly outstanding: number;
  readonly completed: number;
  readonly failed: number;
}

/** Lists are walked slowly, with turns of the loop between: what is gone when its turn comes is left out. */
export interface MetricsSource {
  daemon(): DaemonNumbers;
  spaces(): Iterable<SpaceNumbers>;
  queues(): Iterable<QueueNumbers>;
  forwarders(): Iterable<ForwarderNumbers>;
  forwarderResults(): Iterable<ForwarderResults>;
  services(): Iterable<ServiceNumbers>;
}
