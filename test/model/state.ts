// What the naive queue space is made of: plain objects and arrays.
import type { Letter, QueueTerms, SpaceTerms } from './commands.ts';
import type { Anchor } from './rules.ts';

export type ClockName = 'space' | 'wall';
/** An instant of a clock, in milliseconds. */
export interface Instant {
  readonly clock: ClockName;
  readonly at: number;
}

export interface Message {
  readonly letter: Letter;
  /** Unique for ever, and carried by the message (urcode). */
  readonly label: number;
  /** Names its msgid in `ids`; a move to the error queue gives it another. */
  readonly id: number;
  /** Order of arrival on this queue. */
  readonly seq: number;
  anchor: Anchor;
  readonly isGhost: boolean;
  readonly persistent: boolean;
  readonly bytes: number;
  readonly sortExpiry: number;
  readonly expiry: Instant | null;
  due: Instant | null;
  /** Its time has come, and that was noticed: until the next start it stays available whatever the clock does. */
  isDue: boolean;
  retries: number;
  owner: Transaction | null;
  /** The append that made it what it is now. */
  changed: number;
}

interface Pending {
  readonly queue: ModelQueue;
  readonly message: Message;
  before: Message | null;
}

export interface Transaction {
  readonly number: number;
  /** It has held or enqueued something. */
  active: boolean;
  readonly locked: { queue: ModelQueue; message: Message }[];
  readonly pending: Pending[];
}

export interface Request {
  readonly number: number;
  readonly queue: string;
  readonly tx: Transaction | null;
  readonly msgid: string | null;
  readonly corrid: number;
  readonly peek: boolean;
  readonly wait: boolean;
  readonly only: string | null;
  /** On the monotonic clock. */
  readonly deadline: number;
}

export interface Answer {
  readonly request: Request;
  readonly message: Message | null;
  readonly code: number;
  /** The append that must be durable before it is heard. */
  readonly needs: number;
}

export interface ModelQueue {
  readonly name: string;
  terms: QueueTerms;
  readonly armed: boolean[];
  /** In their final order; locked, delayed and ghosts included. */
  messages: Message[];
  waiters: Request[];
  /** Since the start. */
  readonly counts: { enqueued: number; dequeued: number; expired: number };
  lastTouch: number;
}

export interface Arrival {
  readonly label: number;
  readonly queue: string;
  readonly tx: Transaction | null;
  readonly letter: Letter;
  readonly availability: Instant | null;
  readonly expiry: Instant | 'none' | null;
  readonly position: 'top' | { readonly msgid: string } | null;
}

/** What a start finds again. */
export interface Saved {
  readonly space: SpaceTerms;
  readonly queues: readonly Omit<ModelQueue, 'waiters' | 'counts' | 'lastTouch'>[];
}
