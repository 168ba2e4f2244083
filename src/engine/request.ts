// What the roles hand to an engine and what they hear back: ports declared here, implemented by the roles.
import type { Deadline } from '../base/timer-queue.ts';
import type { EnqueueTerms } from '../queue/command.ts';
import type { Selection } from '../queue/decide.ts';
import type { Enqueued, Position } from '../queue/event.ts';
import type { MessageId, MessageProperties } from '../queue/message.ts';
import type { Queue } from '../queue/queue.ts';
import type { Branch } from '../queue/branches.ts';
import type { Waiter } from '../queue/waiter.ts';
import type { Qme } from '../../proto/codes.ts';
import type { RecordBuffer } from './record-buffer.ts';
import type { StoredMessage } from './message-record.ts';

/**
 * Number of a batch of this engine since its start, growing by one. 0: nothing to wait for. Below 0: a large transaction is ending, and its
 * last batch is not known yet [Endings].
 */
export type BatchNumber = number;

/** Why a request failed: a QME diagnostic (negative) or a tperrno (positive). */
export type Failure = number;

/** Something that may leave the process only when a batch is durable. Exactly one of the two is called, once. */
export interface Held {
  released(): void;
  /** The log died: what was to be said may not be true. */
  failed(): void;
}

export interface EnqueueRequest {
  readonly qname: string;
  readonly properties: MessageProperties;
  /** Times and position; null: none were given. */
  readonly terms: EnqueueTerms | null;
  /** A view is enough below 32 KiB; from there on the engine keeps the bytes and the caller gives them away. */
  readonly data: Uint8Array | null;
  readonly work: Work | null;
}

/** What an enqueue came to. */
export interface EnqueueOutcome {
  code: Qme;
  /** Refused only because room is being prepared: ask again when `whenRoom` calls. */
  later: boolean;
  id: MessageId | null;
  /** The batch that the answer waits for. */
  batch: BatchNumber;
}

/** A dequeue. Exactly one of `taken` and `refused` is called, once, now or later. */
export abstract class DequeueRequest {
  abstract readonly qname: string;
  abstract readonly selection: Selection;
  /** The caller's part of a transaction in this space, or null. */
  abstract readonly work: Work | null;
  abstract readonly peek: boolean;
  abstract readonly wait: boolean;
  /** Monotonic instant at which waiting ends, with `refused(timeoutFailure)`. Infinity: never. */
  abstract readonly deadlineMs: number;
  abstract readonly timeoutFailure: Failure;
  /** Waiting takes one of the space's actions [spec 8.3]; a forwarder's own does not. */
  readonly needsAction: boolean = true;
  /** [tpdequeue TPNOCHANGE] */
  abstract accepts(type: string, subtype: string): boolean;
  /** The answer may leave when `batch` is durable. */
  abstract taken(message: StoredMessage, batch: BatchNumber): void;
  abstract refused(failure: Failure, batch: BatchNumber): void;

  // The engine's own notes.
  waiter: Waiter<DequeueRequest> | null = null;
  /** The queue whose waiter that is. */
  parkedOn: Queue | null = null;
  deadline: Deadline | null = null;
  /** Set by `cancel`: a message that is being fetched for it goes back. */
  cancelled: Failure | null = null;
  /** Its message is being read from the log, or its queue is being brought up to date: it is looked at when that is done. */
  underWay = false;
}

/** A transaction's work in one space: what it holds, and what it enqueued, invisible until commit. */
export interface Work {
  readonly branch: Branch;
  /** The encoded records of persistent messages. */
  readonly records: RecordBuffer;
  /** Non-persistent ones; their records are in the memory area. */
  readonly memory: Enqueued[];
  /** Messages to be put before others at commit. */
  readonly placements: Placement[];
  /** Room was set aside for preparing it. */
  promised: boolean;
  /** Room set aside for its records. */
  reservedBytes: number;
  messages: number;
  bytes: number;
  pages: number;
  /** Its enqueues by queue. */
  readonly queues: Map<Queue, number>;
  /** Requests of this transaction that are parked or under way. */
  readonly waiting: Set<DequeueRequest>;
}

export interface Placement {
  readonly id: MessageId;
  readonly before: MessageId;
  readonly standing: Position;
}
