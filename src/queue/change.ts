// What an administrator does to a message that is on a queue [spec 5.2]: other values, or another queue. Only entries that no transaction
// holds are touched. Pure.
import { assert } from '../base/assert.ts';
import { NONE } from '../base/column.ts';
import type { ChangeCommand, GivenTime, NewValues, RequeueCommand } from './command.ts';
import { instantOf, wallInstantOf } from './enqueue.ts';
import { CLOCK, REMOVAL, type Changed, type EntryTiming, type EventSink } from './event.ts';
import type { Now } from './selection.ts';
import type { QueueSpace } from './space.ts';
import { ENTRY } from './tables.ts';

/** Whether the entry is on its queue and nobody has it: an administrator may change or remove it. */
export function isFree(space: QueueSpace, entry: number): boolean {
  const state = space.entries.state.get(entry);
  return state === ENTRY.READY || state === ENTRY.DELAYED;
}

/** Whether values with this expiry remove the message. */
export function endsAtOnce({ expiry }: NewValues, now: Now): boolean {
  return expiry !== undefined && expiry !== 'none' && hasCome(expiry, now);
}

export function decideChange(space: QueueSpace, command: ChangeCommand, out: EventSink): void {
  const { entry, values } = command;
  assert(isFree(space, entry), 'a message that somebody has is changed', entry);
  const id = space.id(entry);
  const persistent = space.isPersistent(entry);
  if (endsAtOnce(values, command)) {
    out.push({ kind: 'removed', id, persistent, reason: REMOVAL.EXPIRED });
    return;
  }
  const { messages, entries } = space;
  out.push({
    kind: 'changed',
    id,
    persistent,
    priority: values.priority ?? messages.priority.get(entries.message.get(entry)),
    ...dueOf(space, command),
    timing: timingOf(space, command),
  });
}

export function decideRequeue(space: QueueSpace, command: RequeueCommand, out: EventSink): void {
  const { entry, queue, newId, wallMs } = command;
  assert(isFree(space, entry), 'a message that somebody has is moved', entry);
  out.push({
    kind: 'requeued',
    id: space.id(entry),
    newId,
    persistent: space.isPersistent(entry),
    queue,
    from: space.queueOf(entry).number,
    atMs: wallMs,
  });
}

function dueOf(space: QueueSpace, command: ChangeCommand): Pick<Changed, 'dueMs' | 'dueClock'> {
  const { entries } = space;
  const { availability } = command.values;
  if (availability === undefined)
    return { dueMs: entries.dueMs.get(command.entry), dueClock: entries.dueClockOf(command.entry) };
  const dueMs = hasCome(availability, command) ? 0 : instantOf(availability, command);
  return { dueMs, dueClock: availability.clock };
}

function timingOf(space: QueueSpace, command: ChangeCommand): EntryTiming | null {
  const { availability, expiry } = command.values;
  const detail = space.entries.detail.get(command.entry);
  const before = detail === NONE ? null : space.details.timing(detail);
  if (availability === undefined && expiry === undefined) return before;
  const timing = before ?? NO_TIMING;
  return {
    sortTimeMs: availability === undefined ? timing.sortTimeMs : wallInstantOf(availability, command),
    ...(expiry === undefined ? expiryIn(timing) : expiryOf(expiry, command)),
  };
}

type Expiry = Omit<EntryTiming, 'sortTimeMs'>;
const NEVER: Expiry = { sortExpiryMs: Infinity, expiryMs: Infinity, expiryClock: CLOCK.SPACE };
const NO_TIMING: EntryTiming = { sortTimeMs: 0, ...NEVER };

function expiryIn({ sortExpiryMs, expiryMs, expiryClock }: EntryTiming): Expiry {
  return { sortExpiryMs, expiryMs, expiryClock };
}
function expiryOf(expiry: GivenTime | 'none', command: ChangeCommand): Expiry {
  if (expiry === 'none') return NEVER;
  const [sortExpiryMs, expiryMs] = [wallInstantOf(expiry, command), instantOf(expiry, command)];
  return { sortExpiryMs, expiryMs, expiryClock: expiry.clock };
}

function hasCome(time: GivenTime, now: Now): boolean {
  return instantOf(time, now) <= (time.clock === CLOCK.SPACE ? now.nowMs : now.wallMs);
}
