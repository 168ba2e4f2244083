// What an administrator selects messages by [spec 5.2, qscan], and whether a message is one of them. Pure.
import { NONE } from '../base/column.ts';
import type { GivenTime } from './command.ts';
import { wallInstantOf } from './enqueue.ts';
import { CLOCK } from './event.ts';
import { parseMsgid, type MessageId } from './message.ts';
import type { QueueSpace } from './space.ts';

/** Both ends belong to it. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Members that are null select nothing out; all others must match. Instants are the wall clock's, in milliseconds. */
export interface Criteria {
  readonly msgid: MessageId | null;
  /** 32 bytes. */
  readonly corrid: Uint8Array | null;
  readonly priority: Range | null;
  readonly persistent: boolean | null;
  /** Availability; a message without times has none. */
  readonly available: Range | null;
  /** 'none': those that never expire. */
  readonly expiry: Range | 'none' | null;
}

export const EVERYTHING: Criteria = {
  msgid: null,
  corrid: null,
  priority: null,
  persistent: null,
  available: null,
  expiry: null,
};

export interface Now {
  readonly nowMs: number;
  readonly wallMs: number;
}

/** From one moment to another, both in seconds. */
export interface TimeRange {
  readonly from: GivenTime;
  readonly to: GivenTime;
}

/** Criteria as they are given: times may be counted from the moment of asking. */
export interface GivenCriteria extends Omit<Criteria, 'msgid' | 'available' | 'expiry'> {
  /** 32 bytes. */
  readonly msgid: Uint8Array | null;
  readonly available: TimeRange | null;
  readonly expiry: TimeRange | 'none' | null;
}

/** null: the msgid cannot be one of this space. */
export function criteriaOf(spaceId: number, given: GivenCriteria, now: Now): Criteria | null {
  const msgid = given.msgid === null ? null : parseMsgid(spaceId, given.msgid);
  if (given.msgid !== null && msgid === null) return null;
  const { available, expiry } = given;
  return {
    ...given,
    msgid,
    available: available === null ? null : instants(available, now),
    expiry: expiry === null || expiry === 'none' ? expiry : instants(expiry, now),
  };
}

/** All of the last second belongs to it. */
function instants({ from, to }: TimeRange, now: Now): Range {
  return { from: wallInstantOf(from, now), to: wallInstantOf(to, now) + SECOND_REST_MS };
}
const SECOND_REST_MS = 999;

/** What is asked and when. */
export interface By {
  readonly criteria: Criteria;
  readonly now: Now;
}

export function matches(space: QueueSpace, entry: number, { criteria, now }: By): boolean {
  const { messages, entries, corrids } = space;
  const { msgid, corrid, priority, persistent, available, expiry } = criteria;
  const message = entries.message.get(entry);
  if (msgid !== null && space.entryById(msgid) !== entry) return false;
  if (priority !== null && !isIn(messages.priority.get(message), priority)) return false;
  if (persistent !== null && space.isPersistent(entry) !== persistent) return false;
  if (corrid !== null) {
    const row = entries.corrid.get(entry);
    if (row === NONE || !corrids.value.equals(row, corrid)) return false;
  }
  if (available !== null && !isIn(availableAt(space, entry, now), available)) return false;
  if (expiry === null) return true;
  const at = expiresAt(space, entry);
  return expiry === 'none' ? at === Infinity : at !== Infinity && isIn(at, expiry);
}

/** The wall instant from which it is available: of its next attempt, else of what it was given; NaN: it has no times. */
export function availableAt({ entries, details }: QueueSpace, entry: number, now: Now): number {
  const dueMs = entries.dueMs.get(entry);
  if (dueMs !== 0) return entries.dueClockOf(entry) === CLOCK.WALL ? dueMs : now.wallMs + dueMs - now.nowMs;
  const detail = entries.detail.get(entry);
  const sortTimeMs = detail === NONE ? 0 : details.sortTimeMs.get(detail);
  return sortTimeMs === 0 ? Number.NaN : sortTimeMs;
}

/** The wall instant of its expiry, as it was when it was set; Infinity: never. */
export function expiresAt({ entries, details }: QueueSpace, entry: number): number {
  const detail = entries.detail.get(entry);
  return detail === NONE ? Infinity : details.sortExpiryMs.get(detail);
}

function isIn(value: number, { from, to }: Range): boolean {
  return value >= from && value <= to;
}
