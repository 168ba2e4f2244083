// apply: an event becomes state. It never decides, reads no clock and wakes nobody; it is the same code live and in replay. An event about
// an id that is not known is a no-op: in replay that is how an event older than the state is passed over; live, the engine never makes one.
import { assert, unreachable } from '../base/assert.ts';
import { NONE } from '../base/column.ts';
import type { Enqueued, Event, Moved, Removed, Retried } from './event.ts';
import { REMOVAL } from './event.ts';
import type { MessageId } from './message.ts';
import type { QueueSpace } from './space.ts';
import { ENTRY } from './tables.ts';

export function apply(space: QueueSpace, event: Event): void {
  switch (event.kind) {
    case 'enqueued':
      return applyEnqueued(space, event);
    case 'removed':
      return applyRemoved(space, event);
    case 'retried':
      return applyRetried(space, event);
    case 'moved':
      return applyMoved(space, event);
    case 'locked':
      leaveState(space, event.entry);
      return space.enterLocked(event.entry, space.branch(event.branch));
    case 'unlocked':
    case 'due':
      leaveState(space, event.entry);
      return settle(space, event.entry, event.kind === 'due');
    case 'held':
      leaveState(space, event.entry);
      return space.enterHeld(event.entry);
    case 'queueDefined':
      return space.define(event.queue, event.attributes);
    case 'spaceDefined':
      space.name = event.name;
      space.errorQueue = event.errorQueue;
      return undefined;
    default:
      return unreachable(event);
  }
}

function applyEnqueued(space: QueueSpace, event: Enqueued): void {
  const { messages, entries } = space;
  const queue = space.queueByNumber(event.queue);
  if (queue === undefined) return;
  // Live, an id was made a moment ago; in replay (no batch) it may be known already.
  if (space.batch === 0 && space.msgids.find(event.id) !== NONE) return;
  const message = messages.take();
  messages.setId(message, event.id);
  messages.ref.set(message, event.place.ref);
  messages.offset.set(message, event.place.offset);
  messages.length.set(message, event.place.length);
  messages.typeCode.set(message, space.typeCode(event.properties.type, event.properties.subtype));
  messages.priority.set(message, event.properties.priority);
  space.msgids.add(message);

  const entry = entries.take();
  messages.firstEntry.set(message, entry);
  entries.message.set(entry, message);
  entries.queue.set(entry, event.queue);
  entries.dueMs.set(entry, event.dueMs);
  entries.retries.set(entry, event.retries);
  entries.sibling.set(entry, NONE);
  entries.owner.set(entry, NONE);
  const { corrid } = event.properties;
  entries.corrid.set(entry, corrid === null ? NONE : space.corrids.take(corrid));
  queue.bytes += event.place.length;
  space.liveBytes += event.place.length;
  queue.enqueued++;
  queue.lastBatch = space.batch;
  settle(space, entry, false);
}

function applyRemoved(space: QueueSpace, event: Removed): void {
  const entry = entryById(space, event.id);
  if (entry === NONE) return;
  const { messages, entries } = space;
  const queue = space.queueOf(entry);
  const message = entries.message.get(entry);
  leaveState(space, entry);
  space.msgids.remove(message);
  const corrid = entries.corrid.get(entry);
  if (corrid !== NONE) space.corrids.give(corrid);
  queue.bytes -= messages.length.get(message);
  space.liveBytes -= messages.length.get(message);
  if (event.reason === REMOVAL.DEQUEUED) queue.dequeued++;
  queue.lastBatch = space.batch;
  entries.give(entry);
  messages.give(message);
}

function applyRetried(space: QueueSpace, event: Retried): void {
  const entry = entryById(space, event.id);
  if (entry === NONE) return;
  leaveState(space, entry);
  space.queueOf(entry).lastBatch = space.batch;
  space.entries.retries.set(entry, event.retries);
  space.entries.dueMs.set(entry, event.dueMs);
  settle(space, entry, false);
}

function applyMoved(space: QueueSpace, event: Moved): void {
  const entry = entryById(space, event.id);
  const target = space.queueByNumber(event.queue);
  if (entry === NONE || target === undefined) return;
  const { messages, entries } = space;
  const source = space.queueOf(entry);
  const message = entries.message.get(entry);
  leaveState(space, entry);
  space.msgids.remove(message);
  messages.setId(message, event.newId);
  space.msgids.add(message);
  entries.queue.set(entry, event.queue);
  entries.retries.set(entry, 0);
  entries.dueMs.set(entry, 0);
  source.bytes -= messages.length.get(message);
  target.bytes += messages.length.get(message);
  source.lastBatch = space.batch;
  target.lastBatch = space.batch;
  settle(space, entry, false);
}

function entryById(space: QueueSpace, id: MessageId): number {
  const message = space.msgids.find(id);
  return message === NONE ? NONE : space.messages.firstEntry.get(message);
}

/** Puts an entry that is in no state's structure where its due time says. */
function settle(space: QueueSpace, entry: number, isDue: boolean): void {
  if (isDue) space.entries.dueMs.set(entry, 0);
  if (space.entries.dueMs.get(entry) === 0) space.enterReady(entry);
  else space.enterDelayed(entry);
}

function leaveState(space: QueueSpace, entry: number): void {
  const state = space.entries.state.get(entry);
  assert(state !== ENTRY.FREE, `entry ${entry} is free`);
  if (state === ENTRY.READY) space.leaveReady(entry);
  else if (state === ENTRY.DELAYED) space.leaveDelayed(entry);
  else if (state === ENTRY.LOCKED) space.leaveLocked(entry);
  else space.leaveHeld(entry);
}
