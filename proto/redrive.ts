// QREDRIVE's members as types, and the check of its answer. PROTOCOL.md §6.2 says what they mean. Must not know where the values come from.
import type { Members } from './message.ts';

/** Which messages go, where to, and how fast. */
export interface RedriveOptions {
  /** Instead of the queue that each came from. */
  readonly to?: string;
  /** Only what came from a queue of this name. */
  readonly origin?: string;
  /** Only what came for this reason. */
  readonly reason?: string;
  /** Only these. */
  readonly msgids?: readonly string[];
  /** So many at most. */
  readonly limit?: number;
  /** Messages a second. */
  readonly rate?: number;
  /** Only say what would be done. */
  readonly dryRun?: boolean;
}

/** Why messages stay. */
export const REDRIVE_COUNTS = ['unknown', 'gone', 'paused', 'noRoom', 'here', 'held', 'missing'] as const;
export type RedriveCount = (typeof REDRIVE_COUNTS)[number];

const ENDS: readonly unknown[] = ['done', 'limit', 'cancelled', 'destroyed', 'stopped'];

export interface RedriveInfo extends Readonly<Record<RedriveCount, number>> {
  /**
   * `done`: all were looked at; `limit`: as many went as were asked for; `cancelled`; `destroyed`: the queue was, meanwhile; `stopped`: the
   * daemon stops.
   */
  readonly end: 'done' | 'limit' | 'cancelled' | 'destroyed' | 'stopped';
  /** Or would be moved. */
  readonly moved: number;
  /** There are more queues than the answer has room to tell of. */
  readonly more: boolean;
}

/** How many that came from one queue, or go to it, were moved, or stayed for one reason. */
export interface RedriveItem {
  /** '': not known. */
  readonly queue: string;
  readonly outcome: 'moved' | RedriveCount;
  readonly count: number;
}

export function isRedriveInfo(members: Members): members is Members & RedriveInfo {
  const { end, moved, more } = members;
  if (!ENDS.includes(end) || typeof moved !== 'number' || typeof more !== 'boolean') return false;
  return REDRIVE_COUNTS.every((name) => typeof members[name] === 'number');
}

export function isRedriveItem(members: Members): members is Members & RedriveItem {
  const { queue, outcome, count } = members;
  const isOutcome = outcome === 'moved' || REDRIVE_COUNTS.some((name) => name === outcome);
  return typeof queue === 'string' && isOutcome && typeof count === 'number';
}
