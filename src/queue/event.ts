// Events: what was decided, never what was asked, so that replay needs neither a clock nor ordering rules. An event that creates an entry
// carries the whole entry; one that changes it carries the new values; none reads old ones. Logged events name queues by number and
// messages by id, never by row. In replay an event about an unknown id is a no-op. What happens to a non-persistent message is never
// logged (`persistent` false): same types, same apply, same order.
import type { TransactionId } from '../base/transaction-id.ts';
import type { QueueAttributes, SpaceAttributes } from './attributes.ts';
import type { ObjectClass } from './catalog.ts';
import type { MessageId, MessageProperties } from './message.ts';
import type { Provenance } from './provenance.ts';

/**
 * Where a record lies: (ref, offset, length) as the log port defines them, set by whoever encoded or decoded the record. A non-persistent
 * message's lies in the space's memory area: ref MEMORY_REF, offset its cell.
 */
export interface RecordPlace {
  ref: number;
  offset: number;
  length: number;
}
export const MEMORY_REF = -1;

/** Which time an instant is read on [DESIGN 4, Time]: the space's own, or the wall clock's milliseconds since 1970. */
export const CLOCK = { SPACE: 0, WALL: 1 } as const;
export type ClockKind = (typeof CLOCK)[keyof typeof CLOCK];

export const REMOVAL = {
  /** Taken by a dequeue. */
  DEQUEUED: 1,
  /** Retries used up and the space has no error queue that exists [spec 2.6]. */
  DROPPED: 2,
  /** Its expiry came [spec 8.7]. */
  EXPIRED: 3,
  /** By an administrator, or with its queue. */
  PURGED: 4,
  /** Enqueued by a transaction that was prepared and then rolled back: it never was on its queue. Never logged. */
  ROLLED_BACK: 5,
  /** Its retention is over, or no recipient needs it any more [oracle-aq 6.1, 6.4]. */
  SETTLED: 6,
} as const;
export type Removal = (typeof REMOVAL)[keyof typeof REMOVAL];

/** The space's own attributes; the last one logged counts. */
export interface SpaceDefined {
  readonly kind: 'spaceDefined';
  readonly attributes: SpaceAttributes;
  /** The least number that no queue has ever had. */
  readonly nextQueue: number;
}

/** A queue with every attribute; the last one logged for its number counts [spec 5.4]. */
export interface QueueDefined {
  readonly kind: 'queueDefined';
  /** Never reused in the space. */
  readonly queue: number;
  readonly attributes: QueueAttributes;
}

/** The queue is gone for everyone from now on; what is still on it is removed afterwards, message by message [DESIGN 4, Slices]. */
export interface QueueDoomed {
  readonly kind: 'queueDoomed';
  readonly queue: number;
}

/** Which of a queue's two thresholds [spec 5.6]. */
export const THRESHOLD = { PERSISTENT: 0, NONPERSISTENT: 1 } as const;
export type ThresholdKind = (typeof THRESHOLD)[keyof typeof THRESHOLD];

/** A threshold command was run and will not be again until the low limit was reached, or may be again. */
export interface ThresholdSet {
  readonly kind: 'thresholdSet';
  readonly queue: number;
  readonly threshold: ThresholdKind;
  readonly armed: boolean;
}

/** What orders and ends an entry beside arrival and priority. Instants in milliseconds. */
export interface EntryTiming {
  /** Wall instant by which `time` sorts: availability, else enqueue time [spec 5.5]. */
  readonly sortTimeMs: number;
  /** Wall instant by which `expiration` sorts; Infinity: never, after all that do. */
  readonly sortExpiryMs: number;
  /** When it ends, on expiryClock; Infinity: never. */
  readonly expiryMs: number;
  readonly expiryClock: ClockKind;
}

/** One of the recipients of a message of a multi-consumer queue, with the state of its entry. */
export interface Recipient {
  /** Its lane, by number. */
  readonly queue: number;
  /** From 1 on: its row's id is the message's, and so many less one. */
  readonly copy: number;
  readonly retries: number;
  readonly dueMs: number;
}

/** A message came to be on a queue, with the complete state of its entry. */
export interface Enqueued {
  readonly kind: 'enqueued';
  /** The message was there already: its record is at a new place in the log, so that the old one can go [DESIGN 5, Reclaim]. */
  readonly restated: boolean;
  readonly id: MessageId;
  readonly queue: number;
  readonly persistent: boolean;
  readonly retries: number;
  /** Not deliverable before this instant of dueClock; 0: at once. */
  readonly dueMs: number;
  readonly dueClock: ClockKind;
  /** null: nothing but arrival and priority orders it, and it never expires. */
  readonly timing: EntryTiming | null;
  /** TPQTOP: before everything that is on the queue, whatever the order says. */
  readonly top: boolean;
  readonly properties: MessageProperties;
  /** Of a message of a multi-consumer queue: an entry for each, which has `queue`, `retries` and `dueMs` of its own. */
  readonly recipients?: readonly Recipient[];
  readonly place: RecordPlace;
  /** The prepared branch that enqueued it: it comes to be on its queue when that commits. 0: it is there. */
  readonly branch: number;
}

/** The place of an entry among those before the same message: absolute, so that the last one logged counts. */
export interface Placed {
  readonly kind: 'placed';
  readonly id: MessageId;
  readonly persistent: boolean;
  readonly position: Position;
}

/**
 * Where an entry stands that was put directly before another: with the sort values of the message it was put before, and a label that sorts
 * it among all with the same ones. The message itself sorts after every label.
 */
export interface Position {
  /** Put before a message that TPQTOP brought to the top. */
  readonly top: boolean;
  readonly priority: number;
  readonly sortTimeMs: number;
  readonly sortExpiryMs: number;
  readonly base: MessageId;
  /** At most LABEL_BYTES_MAX; null: in the place of the message itself, after all that were put before it. */
  readonly label: Uint8Array | null;
}

export interface Removed {
  readonly kind: 'removed';
  readonly id: MessageId;
  readonly persistent: boolean;
  readonly reason: Removal;
}

/** A dequeue was rolled back and the message waits for its next attempt. */
export interface Retried {
  readonly kind: 'retried';
  readonly id: MessageId;
  readonly persistent: boolean;
  readonly retries: number;
  /** Space time; 0: at once. */
  readonly dueMs: number;
}

/** The message is on another queue under another id; retry count and availability start afresh, its expiry goes on [spec 2.6]. */
export interface Moved {
  readonly kind: 'moved';
  readonly id: MessageId;
  readonly newId: MessageId;
  readonly persistent: boolean;
  readonly queue: number;
  /** The queue it came from, by number, and how often it had been retried there: for tools. */
  readonly from: number;
  readonly retries: number;
  /** Wall instant of the move: its enqueue time on the new queue. */
  readonly atMs: number;
}

/** What is known of a message that was moved to the error queue: absolute, so that the last one logged counts. A later move keeps it. */
export interface ProvenanceSet {
  readonly kind: 'provenanceSet';
  readonly id: MessageId;
  readonly persistent: boolean;
  readonly provenance: Provenance;
}

/** What became of an entry that stays without being deliverable again. */
export const FINISHED = { PROCESSED: 1, EXHAUSTED: 2 } as const;
export type FinishedAs = (typeof FINISHED)[keyof typeof FINISHED];

/** An entry was consumed and is kept, or given up for its recipient while others have the message yet [oracle-aq 6.4, 6.5]. */
export interface Finished {
  readonly kind: 'finished';
  readonly id: MessageId;
  readonly persistent: boolean;
  readonly how: FinishedAs;
  /** Space time at which it goes; Infinity: nobody's time comes. */
  readonly untilMs: number;
  /** Wall instant. */
  readonly atMs: number;
}

/** An object of the catalog was made or changed, or is gone (null). */
export interface ObjectDefined {
  readonly kind: 'objectDefined';
  readonly type: ObjectClass;
  readonly name: string;
  readonly value: object | null;
}

/** An administrator changed these of a message [spec 5.2]; absolute, so that the last one logged of an id counts. Where it was put stays. */
export interface Changed {
  readonly kind: 'changed';
  readonly id: MessageId;
  readonly persistent: boolean;
  readonly priority: number;
  /** As `enqueued` has them. */
  readonly dueMs: number;
  readonly dueClock: ClockKind;
  readonly timing: EntryTiming | null;
}

/** An administrator moved the message to another queue, under another id; its retries, availability and expiry go with it [spec 5.2]. */
export interface Requeued {
  readonly kind: 'requeued';
  readonly id: MessageId;
  readonly newId: MessageId;
  readonly persistent: boolean;
  readonly queue: number;
  /** The queue it came from, by number: for tools. */
  readonly from: number;
  /** Wall instant of the move: its time on a queue sorted by time, when it has none. */
  readonly atMs: number;
}

/**
 * A transaction's part in this space is complete and waits for the outcome, which the transaction log knows [DESIGN 6]. The messages it
 * enqueued follow at once (`enqueued` records), those it took as `joined`.
 */
export interface BranchPrepared {
  readonly kind: 'branchPrepared';
  readonly branch: number;
  readonly transaction: TransactionId;
  /** Identity of the transaction log: 32 hexadecimal digits. */
  readonly tlog: string;
  readonly enqueued: number;
}

export const MEMBER = { LOCKED: 1, PENDING: 2 } as const;
export type Member = (typeof MEMBER)[keyof typeof MEMBER];

/** The entry belongs to a prepared branch: taken by it, or enqueued by it. */
export interface Joined {
  readonly kind: 'joined';
  readonly id: MessageId;
  readonly persistent: boolean;
  readonly branch: number;
  readonly member: Member;
}

/** The outcome of a prepared branch: what it took is gone and what it enqueued is there, or the other way round. */
export interface BranchEnded {
  readonly kind: 'branchEnded';
  readonly branch: number;
  readonly transaction: TransactionId;
  readonly committed: boolean;
}

/** An administrator ended a prepared branch by his own decision, whatever the transaction comes to; or that has been compared with it. */
export interface Heuristic {
  readonly kind: 'heuristic';
  readonly transaction: TransactionId;
  /** The log that knows the outcome: 32 hexadecimal digits. */
  readonly tlog: string;
  readonly committed: boolean;
  /** The outcome is known, and nobody need remember this any more. */
  readonly compared: boolean;
}

/** A transaction with work in this space alone committed: for those who ask later. */
export interface Committed {
  readonly kind: 'committed';
  readonly transaction: TransactionId;
}

/** What is known of transactions that committed before the records that follow. */
export interface OutcomesBegin {
  readonly kind: 'outcomesBegin';
  readonly forgotten: TransactionId;
  readonly ids: readonly TransactionId[];
}

/** Volatile: an open transaction holds the entry. */
export interface Locked {
  readonly kind: 'locked';
  readonly entry: number;
  readonly branch: number;
  /** It does not consume it: a commit unlocks it [oracle-aq 4.3]. */
  readonly looks?: boolean;
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

export type LoggedEvent =
  | SpaceDefined
  | QueueDefined
  | QueueDoomed
  | ThresholdSet
  | Enqueued
  | Placed
  | Removed
  | Retried
  | Moved
  | ProvenanceSet
  | Finished
  | ObjectDefined
  | Changed
  | Requeued
  | BranchPrepared
  | Joined
  | BranchEnded
  | Committed
  | OutcomesBegin
  | Heuristic;
export type VolatileEvent = Locked | Unlocked | Held | Due;
export type Event = LoggedEvent | VolatileEvent;

/** Takes events in the order in which they were decided and applies each at once. */
export interface EventSink {
  push(event: Event): void;
}

/** What is done to a non-persistent message stays in memory. */
export function isLogged(event: Event): event is Exclude<LoggedEvent, Enqueued> {
  switch (event.kind) {
    case 'locked':
    case 'unlocked':
    case 'held':
    case 'due':
    case 'enqueued':
      return false;
    case 'queueDefined':
    case 'queueDoomed':
    case 'spaceDefined':
    case 'thresholdSet':
    case 'branchPrepared':
    case 'branchEnded':
    case 'committed':
    case 'outcomesBegin':
    case 'heuristic':
    case 'objectDefined':
      return true;
    default:
      return event.persistent;
  }
}
