// An enqueue: what it needs of the queue and of the space's limits, and the entry it makes [spec 1.5, 1.6, 2.4, 8.4]. The same for a
// message that is queued now and for one that waits for its transaction's commit. Pure.
import { NONE } from '../base/column.ts';
import { QME, TPQ, TPQQOS, type Qme } from '../../proto/codes.ts';
import type { Enqueue, GivenTime } from './command.ts';
import { CLOCK, type ClockKind, type Enqueued, type EntryTiming } from './event.ts';
import { parseMsgid, type MessageProperties } from './message.ts';
import type { Queue } from './queue.ts';
import { pagesOf, type QueueSpace } from './space.ts';
import { ENTRY } from './tables.ts';

const MS = 1000;
/** Instants beyond what a clock can show are taken as the last one: any number of seconds is legal. */
const INSTANT_MAX_MS = Number.MAX_SAFE_INTEGER;

/** Whether the queue takes a message with these terms: OK, QMESHARE, QMEINVAL or QMEBADMSGID [spec 1.6]. */
export function checkTerms(space: QueueSpace, queue: Queue, position: 'top' | Uint8Array | null): Qme {
  const { attributes } = queue;
  if (attributes.enqueuePaused) return QME.QMESHARE;
  if (position === null) return QME.OK;
  const word = position === 'top' ? 'top' : 'msgid';
  if (!attributes.outOfOrder.split(',').includes(word)) return QME.QMEINVAL;
  if (position === 'top') return QME.OK;
  const id = parseMsgid(space.spaceId, position);
  const entry = id === null ? NONE : space.entryOf(queue, id);
  return entry === NONE || space.entries.state.get(entry) === ENTRY.PENDING ? QME.QMEBADMSGID : QME.OK;
}

/** OK, or QMENOSPACE when a limit of the space is reached; only what the quality of service needs is looked at [spec 2.4, 8.4]. */
export function checkLimits(
  space: QueueSpace,
  message: { readonly persistent: boolean; readonly recordBytes: number },
): Qme {
  const { messages, pages } = space.attributes;
  if (messages !== 0 && space.usage.messages >= messages) return QME.QMENOSPACE;
  if (!message.persistent) return space.memory.hasRoom(message.recordBytes) ? QME.OK : QME.QMENOSPACE;
  const needed = space.usage.pages + pagesOf(message.recordBytes);
  return pages !== 0 && needed > pages ? QME.QMENOSPACE : QME.OK;
}

/** Whether this message goes to disk: as its sender says, else as the queue does [spec 1.2, 1.5]. */
export function isPersistent(queue: Queue, properties: MessageProperties): boolean {
  if ((properties.flags & TPQ.TPQDELIVERYQOS) !== 0) {
    if (properties.deliveryQos === TPQQOS.TPQQOSPERSISTENT) return true;
    if (properties.deliveryQos === TPQQOS.TPQQOSNONPERSISTENT) return false;
  }
  return queue.attributes.policy === 'persist';
}

export function enqueuedEvent(queue: Queue, command: Enqueue): Enqueued {
  const { properties, terms } = command;
  const availability = terms?.availability ?? null;
  const dueClock = availability?.clock ?? CLOCK.SPACE;
  const dueMs = availability === null ? 0 : instantOf(availability, command);
  const isPast = dueMs <= (dueClock === CLOCK.SPACE ? command.nowMs : command.wallMs);
  return {
    kind: 'enqueued',
    restated: false,
    branch: 0,
    id: command.id,
    queue: queue.number,
    persistent: isPersistent(queue, properties),
    retries: 0,
    dueMs: isPast ? 0 : dueMs,
    dueClock,
    timing: timingOf(queue, command),
    top: terms?.position === 'top',
    properties,
    place: { ref: 0, offset: 0, length: 0 },
  };
}

/** Born expired: accepted, and gone before anyone could see it [spec 1.6]. */
export function isBornExpired({ timing }: Enqueued, now: { nowMs: number; wallMs: number }): boolean {
  if (timing === null) return false;
  return timing.expiryMs <= (timing.expiryClock === CLOCK.SPACE ? now.nowMs : now.wallMs);
}

/** Sort values are wall instants, whatever clock the deadlines are read on [DESIGN 4, Time]. */
function timingOf(queue: Queue, command: Enqueue): EntryTiming | null {
  const { terms } = command;
  // Most messages: nothing was given and the queue gives nothing.
  if (terms === null && queue.isPlain) return null;
  const { order, expiryS } = queue.attributes;
  const availability = terms?.availability ?? null;
  let expiry = terms?.expiry ?? null;
  if (expiry === null && expiryS >= 0) expiry = { clock: CLOCK.SPACE, seconds: expiryS };
  const expires = expiry !== null && expiry !== 'none';
  if (availability === null && !expires && !order.includes('time')) return null;
  return {
    sortTimeMs: availability === null ? command.wallMs : wallInstantOf(availability, command),
    sortExpiryMs: expires ? wallInstantOf(expiry as GivenTime, command) : Infinity,
    expiryMs: expires ? instantOf(expiry as GivenTime, command) : Infinity,
    expiryClock: expires ? (expiry as GivenTime).clock : CLOCK.SPACE,
  };
}

interface Now {
  readonly nowMs: number;
  readonly wallMs: number;
}

/** The instant on its own clock. */
export function instantOf({ clock, seconds }: GivenTime, command: Now): number {
  const from: Readonly<Record<ClockKind, number>> = { [CLOCK.SPACE]: command.nowMs, [CLOCK.WALL]: 0 };
  return Math.min(from[clock] + seconds * MS, INSTANT_MAX_MS);
}
/** The instant on the wall clock, by which queues sort. */
export function wallInstantOf({ clock, seconds }: GivenTime, command: Now): number {
  return Math.min((clock === CLOCK.SPACE ? command.wallMs : 0) + seconds * MS, INSTANT_MAX_MS);
}
