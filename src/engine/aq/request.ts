// What the AQ role hands to an engine and what it hears back: ports declared here, implemented by the role. Faults are AQ error numbers
// (proto/aq/errors.ts), 0 when there is none; a log that is full or dead is a QME diagnostic as everywhere.
import type { Deadline } from '../../base/timer-queue.ts';
import type { MessageId, MessageProperties } from '../../queue/message.ts';
import type { Queue } from '../../queue/queue.ts';
import type { BatchNumber, EnqueueOutcome, Failure, Work } from '../request.ts';
import type { AqSession } from './session.ts';

/** Where an enqueue asks to stand [oracle-aq 2.7]: 'top', or before the message of this id (16 bytes, AQ form). */
export type Deviation = 'top' | { readonly before: MessageId | null };

export interface AqEnqueueRequest {
  /** The queue itself, never a lane. Whether it may be enqueued to was checked. */
  readonly queue: Queue;
  /** Of a multi-consumer queue: the lanes of those who get it, at least one; null: a single-consumer queue. */
  readonly recipients: readonly Queue[] | null;
  /** With `aq`, but for its group; corrid and TPQCORRID as `corridOf` gives them. */
  readonly properties: MessageProperties;
  /** Seconds; expirationS -1: never. */
  readonly delayS: number;
  readonly expirationS: number;
  readonly deviation: Deviation | null;
  /** false: buffered. */
  readonly persistent: boolean;
  /** As EnqueueRequest has it. */
  readonly data: Uint8Array | null;
  /** null: IMMEDIATE, or no transaction. */
  readonly work: Work | null;
}

export interface AqEnqueueOutcome extends EnqueueOutcome {
  /** AQ error number; 0: none, and `code` says what it came to. */
  readonly fault: number;
}

/** A message as it is handed out. */
export interface AqMessage {
  /** The id that everybody knows it by. */
  readonly id: MessageId;
  readonly properties: MessageProperties;
  readonly data: Uint8Array | null;
  readonly persistent: boolean;
  /** Failed attempts so far, of this consumer. */
  readonly attempts: number;
  /** DBMS_AQ.READY 0, WAITING 1, PROCESSED 2, EXPIRED 3. */
  readonly state: number;
  /** Number of its transaction group; 0: none. */
  readonly group: number;
  /** Of a message in an exception queue: the queue it came from, and why (REASON); '' and 0: nowhere. */
  readonly originalQueue: string;
  readonly reason: number;
}

/** The one criterion of a dequeue [oracle-aq 2.8]. */
export type Criterion =
  | { readonly by: 'order' }
  | { readonly by: 'msgid'; readonly id: MessageId | null }
  /** 32 bytes as `corridOf` gives them. */
  | { readonly by: 'corrid'; readonly corrid: Uint8Array; readonly key: string }
  /** Says of a message, whose record had to be read, whether it is wanted; `key` tells one criterion from another. */
  | { readonly by: 'record'; readonly matches: (message: AqMessage) => boolean; readonly key: string };

/** A dequeue of up to `size` messages. Exactly one of `taken` and `refused` is called, once, now or later. */
export abstract class AqDequeueRequest {
  /** The queue itself; `lane`: of its consumer, or the queue again when it has no consumers. */
  abstract readonly queue: Queue;
  abstract readonly lane: Queue;
  abstract readonly criterion: Criterion;
  /** DBMS_AQ.BROWSE 1, LOCKED 2, REMOVE 3, REMOVE_NODATA 4. */
  abstract readonly mode: number;
  /** DBMS_AQ.FIRST_MESSAGE 1, NEXT_TRANSACTION 2, NEXT_MESSAGE 3, and the two of arrays, 4 and 5. */
  abstract readonly navigation: number;
  /** Which kinds of messages: bit 1 persistent, bit 2 buffered. */
  abstract readonly deliveryMode: number;
  abstract readonly size: number;
  /** Of more than one message no more is taken than has this many bytes. */
  abstract readonly bytesMax: number;
  abstract readonly work: Work | null;
  /** Navigation state of this client on this lane. */
  abstract readonly session: AqSession;
  abstract readonly wait: boolean;
  /** Monotonic instant; Infinity: never. */
  abstract readonly deadlineMs: number;
  /** At least one message; the answer may leave when `batch` is durable. */
  abstract taken(messages: readonly AqMessage[], batch: BatchNumber): void;
  /** An AQ error number, or (below 0) a QME diagnostic or (`isFailure`) a tperrno. */
  abstract refused(fault: AqRefusal, batch: BatchNumber): void;

  // The engine's own notes.
  deadline: Deadline | null = null;
  cancelled: AqRefusal | null = null;
  parked = false;
  underWay = false;
}

export interface AqRefusal {
  /** AQ error number; 0: `code` says it. */
  readonly fault: number;
  readonly code: Failure;
}

export function fault(number: number): AqRefusal {
  return { fault: number, code: 0 };
}
export function failure(code: Failure): AqRefusal {
  return { fault: 0, code };
}

/** Somebody who waits until one of these lanes has something to dequeue [oracle-aq 4.7]. */
export interface ListenRequest {
  readonly agents: readonly { readonly lane: Queue; readonly deliveryMode: number }[];
  readonly deadlineMs: number;
  /** The place in `agents` of the first that has something, and the kind of message: 1 persistent, 2 buffered. */
  found(index: number, deliveryMode: number, batch: BatchNumber): void;
  refused(fault: AqRefusal): void;
}
