// Members of the ADMIN verbs about messages and transactions, as types, and the check of an answer [PROTOCOL.md 6.2]. Invariant: as in admin.ts.
// Must not know where the values come from.
import { fits, type Table } from './admin.ts';
import type { Members } from './message.ts';

/** What selects messages: all that is given must match. Times: `+SECONDS` from when the daemon reads it, or seconds since 1970. */
export interface MessageSelection {
  /** 32 hexadecimal digits. */
  readonly msgid?: string;
  /** 64 hexadecimal digits. */
  readonly corrid?: string;
  readonly priorityFrom?: number;
  readonly priorityTo?: number;
  readonly persistent?: boolean;
  readonly availableFrom?: string;
  readonly availableTo?: string;
  readonly expiresFrom?: string;
  readonly expiresTo?: string;
  /** Only those that never expire. */
  readonly neverExpires?: boolean;
}

/** A message of MSGLIST. */
export interface MessageInfo {
  readonly msgid: string;
  /** Deliverable, not available yet, or held by a transaction. */
  readonly state: 'ready' | 'delayed' | 'held';
  readonly priority: number;
  readonly retries: number;
  readonly persistent: boolean;
  /** 64 hexadecimal digits; '': none. */
  readonly corrid: string;
  /** Milliseconds since 1970; -1: it has no times. */
  readonly available: number;
  /** The same; -1: never. */
  readonly expires: number;
  /** Of one that was moved to the error queue: the queue it came from and why, '': it was not; when, and how often. */
  readonly originQueue: string;
  readonly reason: string;
  readonly code: string;
  readonly moved: number;
  readonly moves: number;
  /** Its record cannot be read: what follows says nothing. */
  readonly damaged: boolean;
  readonly type: string;
  readonly subtype: string;
  /** Bytes of its data. */
  readonly length: number;
  readonly replyQos: number;
  readonly replyqueue: string;
  readonly failurequeue: string;
  readonly appkey: number;
  readonly urcode: number;
  /** As much of the data as was asked for, in hexadecimal digits, in pieces. */
  readonly data: readonly string[];
}

/** What MSGCHANGE does to the selected messages. */
export type MessageAction =
  | { readonly action: 'delete' }
  | { readonly action: 'priority'; readonly priority: number }
  | { readonly action: 'time'; readonly time: string }
  /** `none`: never. */
  | { readonly action: 'expiry'; readonly expiry: string }
  | { readonly action: 'move'; readonly queue: string };

/** What came of it. */
export interface ChangeInfo {
  readonly changed: number;
  /** Left because transactions hold them. */
  readonly held: number;
}

/** A transaction of TRANLIST. */
export interface TransactionInfo {
  /** By which TRANEND names it; 0: an administrator has ended it. */
  readonly index: number;
  readonly transaction: string;
  readonly state: 'ACTIVE' | 'READY' | 'DECIDED' | 'HCOMMIT' | 'HABORT';
  /** Messages that it holds, and that it has enqueued, in this space. */
  readonly taken: number;
  readonly enqueued: number;
}

const MESSAGE_INFO: Table<MessageInfo> = {
  msgid: 'string',
  state: 'string',
  priority: 'number',
  retries: 'number',
  persistent: 'boolean',
  corrid: 'string',
  available: 'number',
  expires: 'number',
  originQueue: 'string',
  reason: 'string',
  code: 'string',
  moved: 'number',
  moves: 'number',
  damaged: 'boolean',
  type: 'string',
  subtype: 'string',
  length: 'number',
  replyQos: 'number',
  replyqueue: 'string',
  failurequeue: 'string',
  appkey: 'number',
  urcode: 'number',
  data: 'list',
};
const MESSAGE_STATES: readonly unknown[] = ['ready', 'delayed', 'held'];
const CHANGE_INFO: Table<ChangeInfo> = { changed: 'number', held: 'number' };
const TRANSACTION_INFO: Table<TransactionInfo> = {
  index: 'number',
  transaction: 'string',
  state: 'string',
  taken: 'number',
  enqueued: 'number',
};
const TRANSACTION_STATES: readonly unknown[] = ['ACTIVE', 'READY', 'DECIDED', 'HCOMMIT', 'HABORT'];

export function isMessageInfo(members: Members): members is Members & MessageInfo {
  return fits(members, MESSAGE_INFO) && MESSAGE_STATES.includes(members['state']);
}
export function isChangeInfo(members: Members): members is Members & ChangeInfo {
  return fits(members, CHANGE_INFO);
}
export function isTransactionInfo(members: Members): members is Members & TransactionInfo {
  return fits(members, TRANSACTION_INFO) && TRANSACTION_STATES.includes(members['state']);
}
