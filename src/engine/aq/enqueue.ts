// Enqueues of the AQ dialect [oracle-aq 4.1]: what the queue's order and its state say of a message and its place, then what every enqueue goes
// through (enqueues.ts). One record, whatever the number of recipients. Must not know agents or rules: recipients come as lanes.
import { NONE } from '../../base/column.ts';
import { QME } from '../../../proto/codes.ts';
import { CLOCK, MEMORY_REF, type Enqueued, type Recipient } from '../../queue/event.ts';
import type { MessageId } from '../../queue/message.ts';
import type { Queue } from '../../queue/queue.ts';
import { anyEntry, idOfCopy } from '../../queue/recipients.ts';
import type { QueueSpace } from '../../queue/space.ts';
import { ENTRY } from '../../queue/tables.ts';
import { placementBefore, refusal } from '../enqueues.ts';
import type { Placement, Work } from '../request.ts';
import type { SpaceEngine } from '../space-engine.ts';
import type { AqEnqueueOutcome, AqEnqueueRequest } from './request.ts';

const MS = 1000;
/** Of a queue without priorities in its order. */
const NO_RANK = 0;
const DEFAULT_PRIORITY = 1;
/** DBMS_AQADM.TRANSACTIONAL. */
const TRANSACTIONAL = 1;

/** Faults of a sequence deviation [oracle-aq 4.1, 6]. */
const NOT_FOUND = 25_210;
const DELAY_CONFLICT = 25_211;
const PRIORITY_CONFLICT = 25_212;

/** The numbers of the groups that open transactions are putting together, by work and queue. */
const groups = new WeakMap<Work, Map<number, number>>();

export function aqEnqueue(engine: SpaceEngine, request: AqEnqueueRequest): AqEnqueueOutcome {
  const { space, endings } = engine;
  const { queue, work, deviation, data } = request;
  if (deviation !== null && endings.isHeld(queue))
    return { ...refusal(QME.QMENOSPACE), later: true, fault: 0 };
  const fault = deviation === null ? 0 : deviationFault(space, request);
  if (fault !== 0) return { ...refusal(QME.QMEINVAL), batch: queue.lastBatch, fault };
  const now = engine.now();
  const event = eventOf(engine, request, now);
  const before = deviation !== null && deviation !== 'top' ? deviation.before : null;
  const placements = before === null ? null : () => placementsOf(space, event, before);
  return { ...engine.enqueues.admit({ queue, event, data, work, now, placements }), fault: 0 };
}

function eventOf(engine: SpaceEngine, request: AqEnqueueRequest, { nowMs }: { nowMs: number }): Enqueued {
  const { queue, recipients, delayS, expirationS, persistent } = request;
  const newId = engine.newIds(recipients?.length ?? 1);
  const id = newId();
  const readyMs = delayS === 0 ? 0 : nowMs + delayS * MS;
  // Its life begins when it is READY [oracle-aq 2.6].
  const expiryMs = expirationS < 0 ? Infinity : nowMs + (delayS + expirationS) * MS;
  return {
    kind: 'enqueued',
    restated: false,
    branch: 0,
    id,
    queue: queue.number,
    persistent,
    retries: 0,
    dueMs: readyMs,
    dueClock: CLOCK.SPACE,
    timing: { sortTimeMs: rankOf(request), sortExpiryMs: Infinity, expiryMs, expiryClock: CLOCK.SPACE },
    top: request.deviation === 'top',
    properties: grouped(engine.space, request, id),
    ...(recipients === null
      ? {}
      : { recipients: recipients.map((lane, i) => recipientOf(lane, i, readyMs)) }),
    place: { ref: 0, offset: 0, length: 0 },
  };
}

function recipientOf({ number }: Queue, index: number, dueMs: number): Recipient {
  return { queue: number, copy: index + 1, retries: 0, dueMs };
}

/** What its queue sorts by: the smaller comes first, as the priorities of AQ do. */
function rankOf({ queue, properties }: AqEnqueueRequest): number {
  if (!queue.sortsByRank) return NO_RANK;
  return properties.aq?.priority ?? DEFAULT_PRIORITY;
}

/** All that one transaction puts on a queue of a TRANSACTIONAL table is one group, named after its first message [oracle-aq 4.4]. */
function grouped(
  space: QueueSpace,
  { queue, work, properties }: AqEnqueueRequest,
  id: MessageId,
): AqEnqueueRequest['properties'] {
  const { aq } = properties;
  const table = space.catalog.table(queue.attributes.aq?.table ?? '');
  if (aq === undefined || table?.grouping !== TRANSACTIONAL) return properties;
  if (work === null) return { ...properties, aq: { ...aq, group: id.counter } };
  let ofWork = groups.get(work);
  if (ofWork === undefined) groups.set(work, (ofWork = new Map()));
  const group = ofWork.get(queue.number) ?? id.counter;
  ofWork.set(queue.number, group);
  return { ...properties, aq: { ...aq, group } };
}

/** Whether the message may stand where it is asked to: 0, or the AQ error number. */
function deviationFault(space: QueueSpace, request: AqEnqueueRequest): number {
  const { deviation, delayS } = request;
  // On top of a queue it must not be available later than what is there [oracle-aq 4.1]: with a delay it would be.
  if (deviation === 'top') return delayS > 0 ? DELAY_CONFLICT : 0;
  const before = deviation?.before ?? null;
  const entry = before === null ? NONE : anyEntry(space, before);
  if (entry === NONE || !isOnQueue(space, entry, request.queue)) return NOT_FOUND;
  const { entries, details } = space;
  const isWaiting = entries.state.get(entry) === ENTRY.DELAYED;
  if (delayS > 0 && !isWaiting) return DELAY_CONFLICT;
  const detail = entries.detail.get(entry);
  const rank = detail === NONE ? NO_RANK : details.sortTimeMs.get(detail);
  return rankOf(request) > rank ? PRIORITY_CONFLICT : 0;
}

function isOnQueue(space: QueueSpace, entry: number, queue: Queue): boolean {
  const { entries } = space;
  const state = entries.state.get(entry);
  const isThere = state !== ENTRY.PENDING && state !== ENTRY.PROCESSED && state !== ENTRY.EXHAUSTED;
  const number = entries.queue.get(entry);
  if (!isThere || space.messages.ref.get(entries.message.get(entry)) === MEMORY_REF) return false;
  return number === queue.number || [...(queue.lanes?.values() ?? [])].some((lane) => lane.number === number);
}

/** Each recipient's row before that of the same recipient, where there is one. */
function placementsOf(space: QueueSpace, event: Enqueued, before: MessageId): Placement[] {
  if (event.recipients === undefined) return [placementBefore(space, event.id, before)];
  const placements: Placement[] = [];
  for (const { queue, copy } of event.recipients) {
    const lane = space.queueByNumber(queue);
    const entry = lane === undefined ? NONE : space.entryOf(lane, before);
    if (entry !== NONE) placements.push(placementBefore(space, idOfCopy(event.id, copy), space.id(entry)));
  }
  return placements;
}
