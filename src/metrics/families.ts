// Every metric of the daemon's own, by what it is about: name, kind, help, and how it is read from the numbers. docs/operations.md lists the same
// names, and a test compares them. A name or a label is never given another meaning.
import type { Readiness } from './readiness.ts';
import type {
  DaemonNumbers,
  ForwarderNumbers,
  ForwarderResults,
  OpenSpaceNumbers,
  QueueNumbers,
  ServiceNumbers,
  SpaceNumbers,
  Spread,
} from './source.ts';

export type Kind = 'gauge' | 'counter' | 'histogram';
/** A value; values by that of the family's own label; how values are spread. null: there is none. */
export type Reading = number | Readonly<Record<string, number>> | Spread | null;

export interface Family<T> {
  readonly name: string;
  readonly kind: Kind;
  readonly help: string;
  /** A label beside those of the subject; ''. none. */
  readonly label: string;
  readonly read: (subject: T) => Reading;
}

/** What is read of it is one value, or a spread. */
function plain<T>(
  kind: Kind,
  name: string,
  about: { readonly help: string; readonly read: (subject: T) => Reading },
): Family<T> {
  return { kind, name, label: '', ...about };
}
function gauge<T>(name: string, help: string, read: (subject: T) => Reading): Family<T> {
  return plain('gauge', name, { help, read });
}
function counter<T>(name: string, help: string, read: (subject: T) => Reading): Family<T> {
  return plain('counter', name, { help, read });
}
function spread<T>(name: string, help: string, read: (subject: T) => Reading): Family<T> {
  return plain('histogram', name, { help, read });
}
/** The same family with a label of its own. */
function by<T>(label: string, family: Family<T>): Family<T> {
  return { ...family, label };
}

export const READINESS: readonly Family<Readiness>[] = [
  gauge('tmqueue_ready', '1 when the daemon may be given work, else 0', (it) => (it.isReady ? 1 : 0)),
  gauge(
    'tmqueue_recovery_ratio',
    'How much of what there is to recover at the start is done',
    (it) => it.recovered,
  ),
];

export const DAEMON: readonly Family<DaemonNumbers>[] = [
  by(
    'version',
    gauge('tmqueue_info', 'Always 1; the release in its label', (it) => ({ [it.version]: 1 })),
  ),
  gauge('tmqueue_connections', 'Connections of clients and servers', (it) => it.connections),
  gauge('tmqueue_connections_limit', 'How many there may be', (it) => it.connectionsMax),
  counter('tmqueue_connections_accepted_total', 'Connections since the start', (it) => it.accepted),
  counter('tmqueue_connections_refused_total', 'Connections refused at the limit', (it) => it.refused),
  gauge('tmqueue_transactions', 'Open transactions', (it) => it.transactions),
  by(
    'outcome',
    counter('tmqueue_transactions_ended_total', 'Transactions that have ended, by their outcome', (it) => ({
      committed: it.ended.committed,
      rolled_back: it.ended.rolledBack,
      timed_out: it.ended.timedOut,
      failed: it.ended.failed,
    })),
  ),
];

/** A family about spaces that are open. */
function ofOpen(family: Family<OpenSpaceNumbers>): Family<SpaceNumbers> {
  return { ...family, read: ({ open }) => (open === null ? null : family.read(open)) };
}

export const SPACES: readonly Family<SpaceNumbers>[] = [
  gauge('tmqueue_space_up', '1 when the queue space is served; 0: its log is damaged or has failed', (it) =>
    it.isUp ? 1 : 0,
  ),
  ...[
    gauge<OpenSpaceNumbers>('tmqueue_space_queues', 'Queues', (it) => it.queues),
    gauge<OpenSpaceNumbers>('tmqueue_space_messages', 'Messages on all queues', (it) => it.messages),
    gauge<OpenSpaceNumbers>(
      'tmqueue_space_transactions',
      'Transactions that work in the space',
      (it) => it.transactions,
    ),
    gauge<OpenSpaceNumbers>(
      'tmqueue_space_memory_bytes',
      'Memory of the columns and indexes of all messages',
      (it) => it.memoryBytes,
    ),
    gauge<OpenSpaceNumbers>(
      'tmqueue_space_nonpersistent_bytes',
      'Memory of non-persistent messages',
      (it) => it.nonPersistentBytes,
    ),
    gauge<OpenSpaceNumbers>(
      'tmqueue_space_live_bytes',
      'Bytes of the log that messages on queues need',
      (it) => it.liveBytes,
    ),
    gauge<OpenSpaceNumbers>(
      'tmqueue_space_dead_bytes',
      'Bytes of the log that nothing needs any more, and that reclaim gives free',
      (it) => it.deadBytes,
    ),
    gauge<OpenSpaceNumbers>(
      'tmqueue_space_log_bytes',
      'What the log takes on disk, what is made ready for later included',
      (it) => it.logBytes,
    ),
    gauge<OpenSpaceNumbers>(
      'tmqueue_space_room_bytes',
      'Room in the log for new messages; more is made while the disk has it',
      (it) => it.roomBytes,
    ),
    counter<OpenSpaceNumbers>(
      'tmqueue_space_appended_bytes_total',
      'Bytes of records written to the log',
      (it) => it.appendedBytes,
    ),
    counter<OpenSpaceNumbers>(
      'tmqueue_space_records_total',
      'Records written to the log',
      (it) => it.records,
    ),
    spread<OpenSpaceNumbers>('tmqueue_space_batch_records', 'Records of a batch', (it) => it.batchRecords),
    spread<OpenSpaceNumbers>(
      'tmqueue_space_sync_seconds',
      'Time from handing a batch to the log until it is durable',
      (it) => it.syncSeconds,
    ),
    spread<OpenSpaceNumbers>(
      'tmqueue_space_checkpoint_seconds',
      'Time that checkpoints took',
      (it) => it.checkpointSeconds,
    ),
    counter<OpenSpaceNumbers>(
      'tmqueue_space_checkpoint_failures_total',
      'Checkpoints that were given up',
      (it) => it.checkpointFailures,
    ),
    spread<OpenSpaceNumbers>(
      'tmqueue_space_reclaim_seconds',
      'Time of one step of reclaim: messages of the oldest segment written again, and synced',
      (it) => it.reclaimSeconds,
    ),
    counter<OpenSpaceNumbers>(
      'tmqueue_space_restated_bytes_total',
      'Bytes of messages that reclaim has written again',
      (it) => it.restatedBytes,
    ),
  ].map(ofOpen),
];

export const QUEUES: readonly Family<QueueNumbers>[] = [
  by(
    'state',
    gauge('tmqueue_queue_messages', 'Messages on the queue by their state', (it) => ({
      ready: it.ready,
      delayed: it.delayed,
      locked: it.locked,
      pending: it.pending,
    })),
  ),
  by(
    'kind',
    gauge('tmqueue_queue_bytes', 'Bytes of the messages on the queue', (it) => ({
      persistent: it.bytes,
      nonpersistent: it.nonPersistentBytes,
    })),
  ),
  gauge(
    'tmqueue_queue_oldest_age_seconds',
    'Age of the oldest message that can be taken now; 0: there is none',
    (it) => it.oldestSeconds,
  ),
  gauge('tmqueue_queue_waiters', 'Dequeues that wait, forwarders included', (it) => it.waiters),
  counter('tmqueue_queue_enqueued_total', 'Messages put on the queue', (it) => it.enqueued),
  counter('tmqueue_queue_dequeued_total', 'Messages taken from the queue', (it) => it.dequeued),
  counter('tmqueue_queue_retried_total', 'Messages that a rollback gave back', (it) => it.retried),
  counter('tmqueue_queue_expired_total', 'Messages that expired', (it) => it.expired),
  counter(
    'tmqueue_queue_to_error_queue_total',
    'Messages that went to the error queue, their retries used up',
    (it) => it.moved,
  ),
  counter(
    'tmqueue_queue_dropped_total',
    'Messages dropped because their retries were used up and there is no error queue',
    (it) => it.dropped,
  ),
  counter('tmqueue_queue_purged_total', 'Messages that an administrator removed', (it) => it.purged),
  counter(
    'tmqueue_queue_moved_away_total',
    'Messages that an administrator moved to another queue, e.g. back from the error queue',
    (it) => it.movedAway,
  ),
];

export const FORWARDERS: readonly Family<ForwarderNumbers>[] = [
  gauge('tmqueue_forwarder_up', '1 when the forwarder runs, else 0', (it) => (it.isUp ? 1 : 0)),
];
export const FORWARDER_RESULTS: readonly Family<ForwarderResults>[] = [
  by(
    'result',
    counter('tmqueue_forwarder_messages_total', 'What became of messages, by server', (it) => ({
      forwarded: it.forwarded,
      failed: it.failed,
    })),
  ),
];

export const SERVICES: readonly Family<ServiceNumbers>[] = [
  gauge('tmqueue_service_servers', 'Connections that offer the service', (it) => it.servers),
  gauge(
    'tmqueue_service_outstanding',
    'Requests that servers work on, or wait for one',
    (it) => it.outstanding,
  ),
  by(
    'result',
    counter('tmqueue_service_calls_total', 'Calls that were answered TPSUCCESS, and others', (it) => ({
      completed: it.completed,
      failed: it.failed,
    })),
  ),
];
