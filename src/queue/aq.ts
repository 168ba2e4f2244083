// What the AQ dialect decides of entries: what a consumed one comes to, what a rollback does to one, what an expiry does
// [oracle-aq 4.3, 6.1 to 6.5]. Part of decide.ts: it reads the space and writes only to the sink. Whoever calls has reserved the room.
import { NONE } from '../base/column.ts';
import { AQ_TYPE, RETENTION_INFINITE } from './attributes.ts';
import { CLOCK, FINISHED, REMOVAL, type EventSink } from './event.ts';
import { REASON, type Cause, type Reason } from './provenance.ts';
import type { Queue } from './queue.ts';
import { isWanted, ringOf } from './recipients.ts';
import type { QueueSpace } from './space.ts';
import { ENTRY } from './tables.ts';

const MS = 1000;
/** How long an entry waits that ought to be given up or moved while the log has no room to say so. */
const AGAIN_MS = 1000;
/** Connections lost in a row are counted above the attempts, in the same column. */
const LOSS = 2 ** 24;
const LOSSES_MAX = 100;

/** Times and room that a decision about entries needs. */
export interface AqTerms {
  /** Space time and wall clock. */
  readonly nowMs: number;
  readonly wallMs: number;
  /** Sets aside the room for one move from the queue of this name, or for saying that an entry is done (null); false: there is none. */
  readonly mayMove: (from: string | null) => boolean;
  /** There was no room for what has to become of the entry: it is looked at again when there is some. */
  readonly later: (entry: number) => void;
}

/** The default exception queue of a queue table [oracle-aq 1.1]. */
export function defaultExceptionQueue(table: string): string {
  const dot = table.lastIndexOf('.');
  return `${table.slice(0, dot + 1)}AQ$_${table.slice(dot + 1)}_E`;
}

/** What the queue of an entry, or of a lane, is and has. */
export function homeOf(queue: Queue): Queue {
  return queue.parent ?? queue;
}

/** Consumed: removed, or kept for its retention when there is room to say so. */
export function consume(
  space: QueueSpace,
  entry: number,
  { terms, out }: { terms: AqTerms; out: EventSink },
): void {
  const id = space.id(entry);
  const persistent = space.isPersistent(entry);
  const { aq } = homeOf(space.queueOf(entry)).attributes;
  const retentionS = aq?.retentionS ?? 0;
  // Buffered messages have no retention [oracle-aq 4.9].
  if (retentionS === 0 || !persistent || !terms.mayMove(null)) {
    out.push({ kind: 'removed', id, persistent, reason: REMOVAL.DEQUEUED });
    return;
  }
  const untilMs = retentionS === RETENTION_INFINITE ? Infinity : terms.nowMs + retentionS * MS;
  out.push({ kind: 'finished', id, persistent, how: FINISHED.PROCESSED, untilMs, atMs: terms.wallMs });
}

/** A dequeue was rolled back [oracle-aq 6.2]. */
export function giveBack(
  space: QueueSpace,
  entry: number,
  { cause, terms, out }: { cause: Cause; terms: AqTerms; out: EventSink },
): void {
  if (isOver(space, entry, terms)) return expire(space, entry, { terms, out });
  const id = space.id(entry);
  const persistent = space.isPersistent(entry);
  const { retries: limit, delayS, aq } = homeOf(space.queueOf(entry)).attributes;
  // No retries there: it can be dequeued again [oracle-aq 6.3].
  if (aq?.type === AQ_TYPE.EXCEPTION) return out.push({ kind: 'unlocked', entry });
  const known = space.entries.retries.get(entry);
  // A connection that ended is no attempt, unless that goes on and on [DESIGN 9].
  const isLost = cause.reason === REASON.DISCONNECT;
  if (isLost && lossesOf(known) + 1 < LOSSES_MAX) {
    out.push({ kind: 'retried', id, persistent, retries: known + LOSS, dueMs: 0 });
    return;
  }
  const attempts = Math.min(attemptsOf(known) + (isLost ? 0 : 1), LOSS - 1);
  if (attempts <= limit && !isLost) {
    const dueMs = delayS === 0 ? 0 : terms.nowMs + delayS * MS;
    // What counts is a failed attempt: losses in a row end with it.
    out.push({ kind: 'retried', id, persistent, retries: attempts, dueMs });
    return;
  }
  giveUp(space, entry, { reason: isLost ? REASON.DISCONNECT : REASON.MAX_RETRIES, attempts, terms, out });
}

export function attemptsOf(retries: number): number {
  return retries % LOSS;
}
function lossesOf(retries: number): number {
  return Math.floor(retries / LOSS);
}

/** It cannot be delivered any more: it moves, or waits for the other recipients [oracle-aq 6.4]. */
function giveUp(
  space: QueueSpace,
  entry: number,
  given: { reason: Reason; attempts: number; terms: AqTerms; out: EventSink },
): void {
  const { terms, out } = given;
  const queue = space.queueOf(entry);
  if (terms.mayMove(queue.parent === null ? queue.attributes.name : null)) return leave(space, entry, given);
  // No room to log it: another attempt, later, is the only thing that loses nothing.
  const retries = space.entries.retries.get(entry);
  const dueMs = terms.nowMs + AGAIN_MS;
  out.push({ kind: 'retried', id: space.id(entry), persistent: space.isPersistent(entry), retries, dueMs });
}

/** Its time is over. */
export function expire(
  space: QueueSpace,
  entry: number,
  { terms, out }: { terms: AqTerms; out: EventSink },
): void {
  const queue = space.queueOf(entry);
  if (!terms.mayMove(queue.parent === null ? queue.attributes.name : null)) {
    // Nobody gets it meanwhile.
    out.push({ kind: 'held', entry });
    return terms.later(entry);
  }
  const attempts = attemptsOf(space.entries.retries.get(entry));
  return leave(space, entry, { reason: REASON.TIME_EXPIRATION, attempts, terms, out });
}

/** A message of one recipient moves; of several, this one's part in it is over, and `finish` moves it once when all are done. */
function leave(
  space: QueueSpace,
  entry: number,
  given: { reason: Reason; attempts: number; terms: AqTerms; out: EventSink },
): void {
  const { reason, attempts, terms, out } = given;
  if (space.queueOf(entry).parent === null) return moveToException(space, entry, given);
  const id = space.id(entry);
  const persistent = space.isPersistent(entry);
  const why = MARKS.get(reason) ?? 0;
  out.push({ kind: 'retried', id, persistent, retries: attempts + why * LOSS, dueMs: 0 });
  const atMs = terms.wallMs;
  out.push({ kind: 'finished', id, persistent, how: FINISHED.EXHAUSTED, untilMs: Infinity, atMs });
}

/** Why an entry was given up stands where connections lost are counted, above what they come to; none: too many attempts. */
const MARKS: ReadonlyMap<Reason, number> = new Map([
  [REASON.DISCONNECT, LOSSES_MAX],
  [REASON.TIME_EXPIRATION, LOSSES_MAX + 1],
]);
function reasonOf(retries: number): Reason {
  const mark = lossesOf(retries);
  for (const [reason, one] of MARKS) if (one === mark) return reason;
  return REASON.MAX_RETRIES;
}

/** Where the message goes: to the exception queue that it names if that is there, else to the default one of its table. */
export function moveToException(
  space: QueueSpace,
  entry: number,
  { reason, terms, out }: { reason: Reason; terms: AqTerms; out: EventSink },
): void {
  const source = space.queueOf(entry);
  const home = homeOf(source);
  const id = space.id(entry);
  const persistent = space.isPersistent(entry);
  const target = exceptionQueueOf(space, entry, home);
  if (target === undefined) {
    out.push({ kind: 'removed', id, persistent, reason: REMOVAL.DROPPED });
    return;
  }
  const { number: from, attributes } = home;
  const retries = attemptsOf(space.entries.retries.get(entry));
  const atMs = terms.wallMs;
  out.push({ kind: 'moved', id, newId: id, persistent, queue: target.number, from, retries, atMs });
  const provenance = {
    queue: from,
    name: attributes.name,
    id,
    reason,
    code: 0,
    rcode: 0,
    retries,
    atMs,
    count: 1,
  };
  out.push({ kind: 'provenanceSet', id, persistent, provenance });
}

function exceptionQueueOf(space: QueueSpace, entry: number, home: Queue): Queue | undefined {
  const named = space.queue(space.exceptionNames.get(entry) ?? '');
  if (named?.attributes.aq?.type === AQ_TYPE.EXCEPTION) return named;
  return space.queue(defaultExceptionQueue(home.attributes.aq?.table ?? ''));
}

/** Of a message whose recipients are all done: one that was given up moves, the others that were go, at once. */
export function finish(
  space: QueueSpace,
  entry: number,
  { terms, out }: { terms: AqTerms; out: EventSink },
): void {
  const { entries } = space;
  if (entries.state.get(entry) !== ENTRY.EXHAUSTED || isWanted(space, entry)) return;
  if (!terms.mayMove(homeOf(space.queueOf(entry)).attributes.name)) return terms.later(entry);
  for (const one of ringOf(space, entry)) {
    if (one === entry || entries.state.get(one) !== ENTRY.EXHAUSTED) continue;
    const persistent = space.isPersistent(one);
    out.push({ kind: 'removed', id: space.id(one), persistent, reason: REMOVAL.SETTLED });
  }
  moveToException(space, entry, { reason: reasonOf(entries.retries.get(entry)), terms, out });
}

/** Whether a transaction locked it without consuming it. */
export function isLooked(space: QueueSpace, entry: number): boolean {
  return space.entries.state.get(entry) === ENTRY.LOOKED;
}
/** Whether its queue keeps it when it is consumed. */
export function isRetained(space: QueueSpace, entry: number): boolean {
  const { aq } = homeOf(space.queueOf(entry)).attributes;
  return aq !== null && aq.retentionS !== 0 && space.isPersistent(entry);
}

function isOver(space: QueueSpace, entry: number, { nowMs, wallMs }: AqTerms): boolean {
  const { entries, details } = space;
  const detail = entries.detail.get(entry);
  if (detail === NONE) return false;
  return details.expiryMs.get(detail) <= (details.clockOf(detail) === CLOCK.SPACE ? nowMs : wallMs);
}
