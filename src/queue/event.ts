// Events: what was decided, never what was asked, so that replay needs neither a clock nor ordering rules. An event that creates an entry
// carries the whole entry; one that changes it carries the new values; none reads old ones. Logged events name queues by number and
// messages by id, never by row. In replay an event about an unknown id is a no-op.
import type { MessageId, MessageProperties } from './message.ts';

/** Where a record lies: (ref, offset, length) as the log port defines them. Set by whoever encoded or decoded the record. */
export interface RecordPlace {
  ref: number;
  offset: number;
  length: number;
}

export const REMOVAL = {
  /** Taken by a dequeue. */
  DEQUEUED: 1,
  /** Retries used up and the space has no error queue that exists [spec 2.6]. */
  DROPPED: 2,
} as const;
export type Removal = (typeof REMOVAL)[keyof typeof REMOVAL];

/** The space's own attributes; the last one logged counts. */
export interface SpaceDefined {
  readonly kind: 'spaceDefined';
  readonly name: string;
  /** '' = none. */
  readonly errorQueue: string;
}

/** A queue with every attribute; the last one logged for its number counts [spec 5.4]. */
export interface QueueDefined {
  readonly kind: 'queueDefined';
  /** Never reused in the space. */
  readonly queue: number;
  readonly attributes: QueueAttributes;
}

export interface QueueAttributes {
  readonly name: string;
  /** Comma list of priority, time, expiration, then fifo or lifo [spec 5.5]. */
  readonly order: string;
  /** none, top, msgid, or top,msgid. */
  readonly outOfOrder: string;
  readonly retries: number;
  /** Seconds between a rollback and the next availability. */
  readonly delayS: number;
  readonly policy: 'persist' | 'nonpersist';
  /** Default relative expiry in seconds, or -1 for none. */
  readonly expiryS: number;
  readonly high: string;
  readonly low: string;
  readonly cmd: string;
}

/** A message came to be on a queue, with the complete state of its entry. */
export interface Enqueued {
  readonly kind: 'enqueued';
  readonly id: MessageId;
  readonly queue: number;
  readonly retries: number;
  /** Not deliverable before this instant of the space's own time; 0: at once. */
  readonly dueMs: number;
  readonly properties: MessageProperties;
  readonly place: RecordPlace;
}

export interface Removed {
  readonly kind: 'removed';
  readonly id: MessageId;
  readonly reason: Removal;
}

/** A dequeue was rolled back and the message waits for its next attempt. */
export interface Retried {
  readonly kind: 'retried';
  readonly id: MessageId;
  readonly retries: number;
  readonly dueMs: number;
}

/** The message is on another queue under another id; retry count and availability start afresh [spec 2.6]. */
export interface Moved {
  readonly kind: 'moved';
  readonly id: MessageId;
  readonly newId: MessageId;
  readonly queue: number;
  /** The queue it came from, by number, for tools. */
  readonly from: number;
}

/** Volatile: an open transaction holds the entry. */
export interface Locked {
  readonly kind: 'locked';
  readonly entry: number;
  readonly branch: number;
}

/** Volatile: the entry is nobody's again, and deliverable if it is due. */
export interface Unlocked {
  readonly kind: 'unlocked';
  readonly entry: number;
}

/** Volatile: the entry's data is being fetched; others pass it meanwhile. Ended by `unlocked`. */
export interface Held {
  readonly kind: 'held';
  readonly entry: number;
}

/** Volatile: the entry's availability time has come. */
export interface Due {
  readonly kind: 'due';
  readonly entry: number;
}

export type LoggedEvent = SpaceDefined | QueueDefined | Enqueued | Removed | Retried | Moved;
export type VolatileEvent = Locked | Unlocked | Held | Due;
export type Event = LoggedEvent | VolatileEvent;

/** Takes events in the order in which they were decided and applies each at once. */
export interface EventSink {
  push(event: Event): void;
}
