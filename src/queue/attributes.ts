// What a queue space and a queue are made with [spec 5.3, 5.4, 7.1, 7.2]: the values of qspacecreate and qcreate, however they were given.
// Definitions are logged as JSON and grow members over time: what an older log lacks has its default.

export interface SpaceAttributes {
  readonly name: string;
  /** '' = none. */
  readonly errorQueue: string;
  /** Kept for qspacelist; has no effect here. 0: none was given. */
  readonly ipcKey: number;
  /** Pages of PAGE_BYTES for persistent messages; 0: no limit. */
  readonly pages: number;
  /** Queues; 0: no limit. */
  readonly queues: number;
  /** Transactions with work in the space at one time; 0: no limit. */
  readonly transactions: number;
  /** Servers on the space; each also brings one action. 0: no limit. */
  readonly processes: number;
  /** Messages of both kinds at one time; 0: no limit. */
  readonly messages: number;
  /** Actions beside those of the processes; 0 with processes 0: no limit [spec 8.3]. */
  readonly actions: number;
  /** Bytes of memory for non-persistent messages; 0: every non-persistent enqueue fails [spec 5.3]. */
  readonly nonPersistentBytes: number;
  /** Pages moved per disk operation, 1..100; kept for qspacelist. */
  readonly blocking: number;
  /** QSAPI resources that plain /Q does not use; kept for qspacelist [spec 8.3]. */
  readonly handles: number;
  readonly cursors: number;
  readonly owners: number;
  readonly temporaryQueues: number;
  readonly filterBytes: number;
  readonly overflowBytes: number;
}

/** Bytes of a page, which qmadmin also calls a block [spec 8.1]. */
export const PAGE_BYTES = 512;

/** A default is part of the log's format (FORMAT.md, "Definitions"): what has it is not written. Those that are there never change. */
export const SPACE_DEFAULTS: SpaceAttributes = {
  name: '',
  errorQueue: '',
  ipcKey: 0,
  pages: 0,
  queues: 0,
  transactions: 0,
  processes: 0,
  messages: 0,
  actions: 0,
  nonPersistentBytes: 0,
  blocking: 16,
  handles: 0,
  cursors: 0,
  owners: 0,
  temporaryQueues: 0,
  filterBytes: 0,
  overflowBytes: 0,
};

/** Types of queues of the AQ dialect [oracle-aq 3.1]. */
export const AQ_TYPE = { NORMAL: 0, EXCEPTION: 1, NON_PERSISTENT: 2 } as const;
/** Retention without end. */
export const RETENTION_INFINITE = -1;

/** What a queue of the AQ dialect has beside [oracle-aq 5.2]; retries, delayS and the two pauses mean max_retries, retry_delay and "not started". */
export interface AqAttributes {
  /** Its queue table, by the name in the catalog. */
  readonly table: string;
  /** AQ_TYPE. */
  readonly type: number;
  /** Seconds that a consumed message is kept; -1: for ever. */
  readonly retentionS: number;
  readonly comment: string;
  /** Not null: this is no queue that anyone names, but the lane of one consumer of a multi-consumer queue. */
  readonly consumer: AqConsumer | null;
}

/** [oracle-aq 2.1] */
export interface AqAgent {
  readonly name: string;
  /** Of another queue, `[schema.]queue[@link]`; '' = the queue itself. */
  readonly address: string;
  readonly protocol: number;
}

/** Whose lane it is [oracle-aq 5.3]. */
export interface AqConsumer extends AqAgent {
  /** The queue's number. */
  readonly of: number;
  /** false: it is no subscriber, it was named in a recipient list. */
  readonly subscribed: boolean;
  /** Text of its rule; '' = every message. */
  readonly rule: string;
  /** DBMS_AQ.PERSISTENT 1, BUFFERED 2, PERSISTENT_OR_BUFFERED 3. */
  readonly deliveryMode: number;
  readonly queueToQueue: boolean;
}

export interface QueueAttributes {
  readonly name: string;
  /** Comma list of priority, time, expiration, then fifo or lifo [spec 5.5]; of the AQ dialect, of rank and commit, then fifo. */
  readonly order: string;
  /** none, top, msgid, or top,msgid. */
  readonly outOfOrder: string;
  readonly retries: number;
  /** Seconds between a rollback and the next availability. */
  readonly delayS: number;
  /** Default delivery policy. */
  readonly policy: 'persist' | 'nonpersist';
  /** Default relative expiry in seconds, or -1 for none. */
  readonly expiryS: number;
  /** Threshold of persistent messages: a number with b, B, m or %; the low one also a bare 0 [spec 5.4]. */
  readonly high: string;
  readonly low: string;
  /** Run by the shell when the high limit is reached; '' = none [spec 5.6]. */
  readonly cmd: string;
  /** The same of non-persistent messages: a number with b, B or %. */
  readonly nonPersistentHigh: string;
  readonly nonPersistentLow: string;
  readonly nonPersistentCmd: string;
  /** Closed by the administrator for enqueue or dequeue: QMESHARE. */
  readonly enqueuePaused: boolean;
  readonly dequeuePaused: boolean;
  /** null: a queue of the /Q dialect. A queue keeps its dialect for life. */
  readonly aq: AqAttributes | null;
}

/** As SPACE_DEFAULTS. */
export const QUEUE_DEFAULTS: QueueAttributes = {
  name: '',
  order: 'fifo',
  outOfOrder: 'none',
  retries: 0,
  delayS: 0,
  policy: 'persist',
  expiryS: -1,
  high: '100%',
  low: '0%',
  cmd: '',
  nonPersistentHigh: '100%',
  nonPersistentLow: '0%',
  nonPersistentCmd: '',
  enqueuePaused: false,
  dequeuePaused: false,
  aq: null,
};

/** The members that differ from the defaults: what is logged of a definition. */
export function withoutDefaults<T extends object>(attributes: T, defaults: T): Partial<T> {
  const entries = Object.entries(attributes).filter(([name, value]) => value !== defaults[name as keyof T]);
  return Object.fromEntries(entries) as Partial<T>;
}
