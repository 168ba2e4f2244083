// A message as it is queued: its identity and its properties. The data itself is opaque bytes. What stays in a row is little (tables.ts);
// the rest is read back from the log record when the message is handed out.

import type { AqAgent } from './attributes.ts';

/**
 * Identity of a message within its space: the epoch in which it was made and a counter in that epoch. Its order is the order of arrival.
 * An id that was handed out but never logged is never handed out again, because the next start is another epoch.
 */
export interface MessageId {
  readonly epoch: number;
  readonly counter: number;
}

/** What the sender gave and the system stamped [spec 1.1, 2.4]. Which optional members were given is in `flags` (TPQ* bits). */
export interface MessageProperties {
  /** TPQPRIORITY, TPQCORRID, TPQREPLYQ, TPQFAILUREQ, TPQDELIVERYQOS, TPQREPLYQOS: "was set when it was queued" [spec 1.4]. */
  readonly flags: number;
  /** 1..100; 50 when none was given [spec 1.5]. */
  readonly priority: number;
  /** 32 bytes, or null without TPQCORRID. */
  readonly corrid: Uint8Array | null;
  readonly replyqueue: string;
  readonly failurequeue: string;
  /** 16 opaque bytes: the CLIENTID of the enqueuer. */
  readonly cltid: Uint8Array;
  readonly appkey: number;
  readonly urcode: number;
  /** Buffer type and subtype; '' with no data. */
  readonly type: string;
  readonly subtype: string;
  /** TPQQOS values as the sender gave them; 0 without the flag. */
  readonly deliveryQos: number;
  readonly replyQos: number;
  /** Of the AQ dialect only. */
  readonly aq?: AqProperties;
}

/** What a message of the AQ dialect has beside [oracle-aq 2.6]; a member that is not there has its default. */
export interface AqProperties {
  /** Wall instant of its enqueue, in milliseconds. */
  readonly enqueuedMs: number;
  /** Any integer, the smaller the earlier; by default 1. */
  readonly priority?: number;
  /** At most 128 bytes of UTF-8. */
  readonly correlation?: string;
  /** Seconds before it is READY. */
  readonly delayS?: number;
  /** Seconds from then on; never when it is not there. */
  readonly expirationS?: number;
  /** Where it moves to; not there: the default one of its queue table. */
  readonly exceptionQueue?: string;
  readonly sender?: AqAgent;
  /** The id it had in the first queue, 32 hexadecimal digits [oracle-aq 11]. */
  readonly originalMsgid?: string;
  /** Its payload's object type, or JSON; not there: RAW. */
  readonly payloadType?: string;
  /** Any value, as the JSON text that was given. */
  readonly userProperty?: string;
  /** The group: number of its first member's id, within the epoch; only of TRANSACTIONAL tables. */
  readonly group?: number;
  /** Names of the user that enqueued it. */
  readonly user?: string;
  /** Queues that propagation has brought it over. */
  readonly hops?: number;
}

const HEX = '0123456789abcdef';
const EPOCH_DIGITS = 12;
const COUNTER_DIGITS = 12;
const SPACE_DIGITS = 8;
/** The largest counter and epoch that an id can carry: 48 bits. */
/** Whether `a` was handed out before `b`: epochs are positions in the log, so those of later starts are larger. */
export function isBefore(a: MessageId, b: MessageId): boolean {
  return a.epoch === b.epoch ? a.counter < b.counter : a.epoch < b.epoch;
}

export function sameId(a: MessageId, b: MessageId): boolean {
  return a.epoch === b.epoch && a.counter === b.counter;
}

export const ID_PART_MAX = 2 ** 48 - 1;

/**
 * The 32 bytes that a client sees: printable, in the order of arrival: space id, epoch, counter as lower-case hex. All 32 bytes are
 * significant [spec 1.1].
 */
export function msgidBytes(spaceId: number, id: MessageId): Uint8Array {
  const bytes = new Uint8Array(32);
  let at = putHex(bytes, 0, { value: spaceId, digits: SPACE_DIGITS });
  at = putHex(bytes, at, { value: id.epoch, digits: EPOCH_DIGITS });
  putHex(bytes, at, { value: id.counter, digits: COUNTER_DIGITS });
  return bytes;
}

/** The id that these 32 bytes stand for, or null when they cannot be an id of this space [spec 1.6, QMEBADMSGID]. */
export function parseMsgid(spaceId: number, bytes: Uint8Array): MessageId | null {
  if (bytes.length !== 32 || readHex(bytes, 0, SPACE_DIGITS) !== spaceId) return null;
  const epoch = readHex(bytes, SPACE_DIGITS, EPOCH_DIGITS);
  const counter = readHex(bytes, SPACE_DIGITS + EPOCH_DIGITS, COUNTER_DIGITS);
  return epoch < 0 || counter < 0 ? null : { epoch, counter };
}

function putHex(bytes: Uint8Array, at: number, number: { value: number; digits: number }): number {
  let rest = number.value;
  for (let i = at + number.digits - 1; i >= at; i--) {
    bytes[i] = HEX.charCodeAt(rest % 16);
    rest = Math.floor(rest / 16);
  }
  return at + number.digits;
}

/** -1 when a byte is no lower-case hex digit. */
function readHex(bytes: Uint8Array, at: number, digits: number): number {
  let value = 0;
  for (let i = at; i < at + digits; i++) {
    const byte = bytes[i] as number;
    const digit = byte >= 48 && byte <= 57 ? byte - 48 : byte >= 97 && byte <= 102 ? byte - 87 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/** An id as a map key. */
export function idKeyOf(id: MessageId): string {
  return `${id.epoch}.${id.counter}`;
}

/** A corrid as a map key: one character a byte. */
export function corridKey(corrid: Uint8Array): string {
  let key = '';
  for (const byte of corrid) key += String.fromCharCode(byte);
  return key;
}
