// A queue of a space: its attributes, the roots of its trees, and what can be counted from its rows. Its order is fixed for life.
import { NONE } from '../base/column.ts';
import type { Before } from '../base/ordered-tree.ts';
import type { Agenda } from './agenda.ts';
import type { QueueAttributes } from './attributes.ts';
import type { ClockKind } from './event.ts';
import { AQ_KEYS } from './sort-keys.ts';

/** What the space makes for each queue. Agendas by clock. */
export interface QueueParts {
  readonly before: Before;
  readonly due: readonly [Agenda, Agenda];
  readonly expiry: readonly [Agenda, Agenda];
  /** Whether its messages have a recipient each. */
  readonly isMulti: boolean;
  readonly parent: Queue | null;
}

export class Queue {
  readonly number: number;
  attributes: QueueAttributes;
  /** Its order. */
  readonly before: Before;
  readonly sortsByTime: boolean;
  /** The words of its order that are sort keys, most significant first. */
  readonly sortKeys: readonly string[];
  readonly isLifo: boolean;
  /** DELAYED entries. */
  readonly due: readonly [Agenda, Agenda];
  /** READY and DELAYED entries that expire. */
  readonly expiry: readonly [Agenda, Agenda];
  /** The lanes of a multi-consumer queue by their agents' keys; null: it is none. */
  readonly lanes: Map<string, Queue> | null;
  /** Of a lane: the queue whose consumer it serves. */
  readonly parent: Queue | null;
  /** Its order names the order of commits. */
  readonly sortsByCommit: boolean;
  /** Its order names AQ priorities. */
  readonly sortsByRank: boolean;
  /** Root of the tree of READY entries. */
  root = NONE;
  /** The last of them, or 0. */
  last = NONE;
  /** Root of the tree of entries that were put somewhere, whatever they are doing. */
  placeRoot = NONE;
  ready = 0;
  delayed = 0;
  locked = 0;
  /** Enqueues of transactions that have not ended. */
  pending = 0;
  /** Consumed and kept for its retention, and given up until its other recipients are done [oracle-aq 6.4, 6.5]. */
  processed = 0;
  exhausted = 0;
  /** Of persistent messages: bytes of records, and pages. */
  bytes = 0;
  pages = 0;
  /** Non-persistent messages, and what they take of the memory area. */
  memoryMessages = 0;
  memoryBytes = 0;
  /** By threshold: whether reaching the high limit runs the command [spec 5.6]. */
  readonly armed = [true, true];
  /** Destroyed: it has no name any more, and is being emptied. */
  doomed = false;
  /** Since this start, for statistics. */
  enqueued = 0;
  dequeued = 0;
  expired = 0;
  /** Given back by a rollback for another attempt. */
  retried = 0;
  /** Gone to the error queue, their retries used up; or dropped, because the space has none. */
  moved = 0;
  dropped = 0;
  /** To another queue than the error queue, by an administrator: back from the error queue, for example. */
  movedAway = 0;
  /** By an administrator. */
  purged = 0;
  /** The batch that last touched it, by the engine's count: what says how much is there waits for it. */
  lastBatch = 0;
  /** The same without arrivals and removals: what is read of a message that is durable itself waits for no more than this. */
  lastChange = 0;
  /** Dequeues parked here: while 0, nothing is noted for waking. */
  waiting = 0;
  /** Number of the last large ending that touches it, by the engine's count: until that is over, what is asked after it waits. */
  ending = 0;
  /** A large ending that touches it is not over: nobody is offered anything before that, and no time comes for anything on it. */
  walked = false;

  constructor(number: number, attributes: QueueAttributes, parts: QueueParts) {
    this.number = number;
    this.attributes = attributes;
    this.before = parts.before;
    const words = attributes.order.split(',');
    this.sortsByTime = words.includes('time');
    this.isLifo = words.includes('lifo');
    this.sortsByRank = words.includes('rank');
    this.sortsByCommit = words.includes('commit');
    this.lanes = parts.isMulti ? new Map() : null;
    this.parent = parts.parent;
    this.sortKeys = words
      .map((word) => AQ_KEYS[word] ?? word)
      .filter((word) => word !== 'fifo' && word !== 'lifo');
    this.due = parts.due;
    this.expiry = parts.expiry;
  }

  /** What replay counted were the doings of earlier starts. */
  beginCounts(): void {
    this.enqueued = 0;
    this.dequeued = 0;
    this.expired = 0;
    this.retried = 0;
    this.moved = 0;
    this.movedAway = 0;
    this.dropped = 0;
    this.purged = 0;
  }

  get messages(): number {
    return this.ready + this.delayed + this.locked + this.processed + this.exhausted;
  }
  /** Whether it speaks AQ. */
  get isAq(): boolean {
    return this.attributes.aq !== null;
  }

  /** Whether a message without times of its own has none here: the queue gives no expiry and does not sort by time. */
  get isPlain(): boolean {
    return this.attributes.expiryS < 0 && !this.sortsByTime;
  }

  /** The earliest instant of that clock at which something on it becomes due or expires; Infinity: none. */
  nextMs(clock: ClockKind): number {
    return Math.min(this.due[clock].nextMs, this.expiry[clock].nextMs);
  }
}
