// What the roles hand to an engine and what they hear back: ports declared here, implemented by the roles.
import type { Selection } from '../queue/decide.ts';
import type { Branch } from '../queue/space.ts';
import type { Waiter } from '../queue/waiter.ts';
import type { Deadline } from '../base/timer-queue.ts';
import type { MessageProperties } from '../queue/message.ts';
import type { RecordBuffer } from './record-buffer.ts';
import type { StoredMessage } from './record.ts';

/** Number of a batch of this engine since its start, growing by one. 0: nothing to wait for. */
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
  /** A view is enough below 32 KiB; from there on the engine keeps the bytes and the caller gives them away. */
  readonly data: Uint8Array | null;
  readonly work: Work | null;
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
  /** [tpdequeue TPNOCHANGE] */
  abstract accepts(type: string, subtype: string): boolean;
  /** The answer may leave when `batch` is durable. */
  abstract taken(message: StoredMessage, batch: BatchNumber): void;
  abstract refused(failure: Failure, batch: BatchNumber): void;

  // The engine's own notes.
  waiter: Waiter<DequeueRequest> | null = null;
  deadline: Deadline | null = null;
  /** Set by `cancel`: a message that is being fetched for it goes back. */
  cancelled: Failure | null = null;
  /** Its message is being read from the log. */
  fetching = false;
}

/** A transaction's work in one space: what it holds, and the encoded records of what it enqueued, invisible until commit. */
export interface Work {
  readonly branch: Branch;
  readonly records: RecordBuffer;
  /** Room set aside for its records. */
  reservedBytes: number;
  messages: number;
  bytes: number;
  /** Requests of this transaction that are parked or fetching. */
  readonly waiting: Set<DequeueRequest>;
}
