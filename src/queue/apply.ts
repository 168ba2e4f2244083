// apply: an event becomes state. It never decides, reads no clock and wakes nobody; it is the same code live and in replay. An event about
// an id that is not known is a no-op: in replay that is how an event older than the state is passed over; live, the engine never makes one.
// Whatever is done to non-persistent messages is live only: a log never names them.
import { assert, unreachable } from '../base/assert.ts';
import { NONE } from '../base/column.ts';
import type { Arrival } from './arrival.ts';
import { CLOCK, FINISHED, MEMBER, MEMORY_REF, REMOVAL } from './event.ts';
import type {
  BranchEnded,
  BranchPrepared,
  Changed,
  Committed,
  Enqueued,
  Event,
  Finished,
  Joined,
  Moved,
  OutcomesBegin,
  Placed,
  ProvenanceSet,
  Removal,
  Removed,
  Requeued,
  Retried,
} from './event.ts';
import type { Branch } from './branches.ts';
import type { Queue } from './queue.ts';
import { sameId } from './message.ts';
import { enterPlace, enterTop, leavePlace } from './placing.ts';
import { closeRing, idOfCopy, leaveRing, noteFinishing } from './recipients.ts';
import type { QueueSpace } from './space.ts';
import { ENTRY } from './tables.ts';

export function apply(space: QueueSpace, event: Event): void {
  switch (event.kind) {
    case 'enqueued':
      if (event.recipients !== undefined) return arriveAll(space, event);
      return arrive(space, space.arrival.take(space, event), false);
    case 'finished':
      return applyFinished(space, event);
    case 'objectDefined':
      space.definitionBytes -= space.catalog.bytes;
      space.catalog.set(event.type, event.name, event.value);
      space.definitionBytes += space.catalog.bytes;
      space.namesBatch = space.batch;
      return;
    case 'removed':
      return applyRemoved(space, event);
    case 'retried':
      return applyRetried(space, event);
    case 'moved':
      return applyMoved(space, event);
    case 'provenanceSet':
      return applyProvenance(space, event);
    case 'placed':
      return applyPlaced(space, event);
    case 'changed':
      return applyChanged(space, event);
    case 'requeued':
      return applyRequeued(space, event);
    case 'locked':
      leaveState(space, event.entry);
      return space.enterLocked(event.entry, space.branches.get(event.branch), event.looks);
    case 'unlocked':
    case 'due':
      leaveState(space, event.entry);
      return settle(space, event.entry, event.kind === 'due');
    case 'held':
      leaveState(space, event.entry);
      return space.enterHeld(event.entry);
    case 'queueDefined':
      return space.define(event.queue, event.attributes);
    case 'queueDoomed':
    case 'thresholdSet':
      return applyToQueue(space, event);
    case 'spaceDefined':
      return space.defineSpace(event.attributes, event.nextQueue);
    case 'heuristic':
      return space.heuristics.apply(event);
    default:
      return applyToBranch(space, event);
  }
}

type BranchEvent = BranchPrepared | Joined | BranchEnded | Committed | OutcomesBegin;

function applyToBranch(space: QueueSpace, event: BranchEvent): void {
  switch (event.kind) {
    case 'branchPrepared': {
      const branch = space.branches.findOrMake(event.branch);
      branch.prepared = { transaction: event.transaction, tlog: event.tlog };
      return space.branches.activate(branch);
    }
    case 'joined':
      return applyJoined(space, event);
    case 'branchEnded':
      return applyBranchEnded(space, event);
    case 'committed':
      return space.outcomes.note(event.transaction);
    case 'outcomesBegin':
      return space.outcomes.begin(event.forgotten, event.ids);
    default:
      return unreachable(event);
  }
}

function applyJoined(space: QueueSpace, { id, branch: number, member }: Joined): void {
  const entry = space.entryById(id);
  if (entry === NONE) return;
  const { entries } = space;
  const branch = space.branches.findOrMake(number);
  const state = member === MEMBER.LOCKED ? ENTRY.LOCKED : ENTRY.PENDING;
  if (entries.state.get(entry) === state && entries.owner.get(entry) === number) return;
  leaveState(space, entry);
  if (member === MEMBER.LOCKED) space.enterLocked(entry, branch);
  else space.enterPending(entry, branch);
}

function applyBranchEnded(space: QueueSpace, event: BranchEnded): void {
  const branch = beginEnd(space, event);
  if (branch === undefined) return;
  while (endOne(space, branch, event.committed));
  space.branches.close(branch);
}

/** The first step of the same for a large branch: its outcome is known. Its entries follow one by one, and then it is closed. */
export function beginEnd(
  space: QueueSpace,
  { branch: number, transaction, committed }: BranchEnded,
): Branch | undefined {
  if (committed) space.outcomes.note(transaction);
  const branch = space.branches.find(number);
  if (branch !== undefined) branch.ended = true;
  return branch;
}

/** What the outcome does to the next entry of a branch; false: there is none. */
export function endOne(space: QueueSpace, branch: Branch, committed: boolean): boolean {
  if (branch.first !== NONE) endLocked(space, branch.first, committed);
  else if (branch.pending.first !== NONE) endPending(space, branch.pending.first, committed);
  else return false;
  return true;
}

function endLocked(space: QueueSpace, entry: number, committed: boolean): void {
  if (committed) return removeEntry(space, entry, REMOVAL.DEQUEUED);
  space.leaveLocked(entry);
  return settle(space, entry, false);
}

function endPending(space: QueueSpace, entry: number, committed: boolean): void {
  const queue = space.queueOf(entry);
  noteChange(space, queue);
  if (!committed) return removeEntry(space, entry, REMOVAL.ROLLED_BACK);
  space.leavePending(entry);
  queue.enqueued++;
  return settle(space, entry, false);
}

function removeEntry(space: QueueSpace, entry: number, reason: Removal): void {
  const persistent = space.isPersistent(entry);
  applyRemoved(space, { kind: 'removed', id: space.id(entry), persistent, reason });
}

function applyToQueue(
  space: QueueSpace,
  event: Extract<Event, { kind: 'queueDoomed' | 'thresholdSet' }>,
): void {
  const queue = space.queueByNumber(event.queue);
  if (queue === undefined) return;
  noteChange(space, queue);
  if (event.kind === 'thresholdSet') queue.armed[event.threshold] = event.armed;
  else space.doom(queue);
}

/** `isNew`: no message has this id. Else live it was made a moment ago, unless it is restated; in replay (no batch) it may be known already. */
export function arrive(space: QueueSpace, arrival: Arrival, isNew: boolean): void {
  const { messages, entries } = space;
  const queue = space.queueByNumber(arrival.queue);
  if (queue === undefined) return;
  if (!isNew && (arrival.restated || space.batch === 0) && !messages.isLatest(arrival)) {
    const known = space.msgids.find(arrival);
    if (known !== NONE) {
      if (arrival.restated) relocate(space, known, arrival);
      // A checkpoint has it as it was later; what came after its branch was prepared follows.
      if (arrival.branch !== NONE) joinPending(space, arrival);
      return;
    }
  }
  const { length, corrid } = arrival;
  const message = messages.take();
  messages.setId(message, arrival);
  messages.ref.set(message, arrival.ref);
  messages.offset.set(message, arrival.offset);
  messages.length.set(message, length);
  messages.typeCode.set(message, arrival.typeCode);
  messages.priority.set(message, arrival.priority);
  space.msgids.add(message);

  const entry = entries.take();
  messages.entry.set(message, entry);
  entries.message.set(entry, message);
  entries.queue.set(entry, arrival.queue);
  if (arrival.copy !== 0) messages.setCopy(message, arrival.copy, arrival.isFollower);
  // Most entries have none of these, and pay nothing for them.
  if (arrival.dueMs !== 0) entries.dueMs.set(entry, arrival.dueMs);
  if (arrival.dueClock !== CLOCK.SPACE) entries.dueClock.set(entry, arrival.dueClock);
  if (arrival.retries !== 0) entries.retries.set(entry, arrival.retries);
  if (corrid !== null) entries.corrid.set(entry, space.corrids.take(corrid));
  if (arrival.timing !== null || arrival.top) entries.detail.set(entry, space.details.take(arrival.timing));
  if (queue.sortsByCommit) setCommit(space, entry, arrival);
  if (arrival.top) enterTop(space, entry, queue);
  if (arrival.group !== 0) space.groups.add(arrival.queue, entry, arrival.group);
  if (arrival.exceptionQueue !== '') space.exceptionNames.set(entry, arrival.exceptionQueue);
  if (arrival.isFollower) space.count(entry, length, 1);
  else space.countIn(queue, arrival.ref, length);
  if (arrival.branch !== NONE) return space.enterPending(entry, space.branches.findOrMake(arrival.branch));
  queue.enqueued++;
  if (arrival.persistent) queue.lastBatch = space.batch;
  if (arrival.dueMs === 0) space.enterReady(entry, queue);
  else space.enterDelayed(entry);
}

/** A queue that sorts by commit has the place of the record among all, which commits are written in the order of. */
function setCommit(space: QueueSpace, entry: number, { ref, offset }: Arrival): void {
  const { entries, details } = space;
  const detail = entries.detail.get(entry);
  if (detail === NONE) return;
  const known = details.sortExpiryMs.get(detail);
  if (known !== Infinity) {
    space.lastCommit = Math.max(space.lastCommit, known);
    return;
  }
  if (ref !== MEMORY_REF) space.lastCommit = Math.max(space.lastCommit, ref + offset);
  details.sortExpiryMs.set(detail, space.lastCommit);
}

/** A message with several recipients: a row for each. */
function arriveAll(space: QueueSpace, event: Enqueued): void {
  const { arrival } = space;
  const ring: number[] = [];
  let isFollower = false;
  for (const recipient of event.recipients ?? []) {
    const lane = space.queueByNumber(recipient.queue);
    if (lane === undefined) continue;
    arrival.take(space, event);
    Object.assign(arrival, idOfCopy(event.id, recipient.copy), recipient, { isFollower });
    arrive(space, arrival, false);
    const entry = space.entryById(idOfCopy(event.id, recipient.copy));
    if (entry !== NONE) ring.push(entry);
    isFollower = true;
  }
  if (!event.restated) closeRing(space, ring);
  if (!event.persistent) {
    if (ring.length === 0) space.memory.release(event.place.offset);
    else space.memory.share(event.place.offset, ring.length);
  }
  arrival.copy = 0;
  arrival.isFollower = false;
  arrival.group = 0;
  arrival.exceptionQueue = '';
}

function joinPending(space: QueueSpace, { epoch, counter, branch, persistent }: Arrival): void {
  const id = { epoch, counter };
  applyJoined(space, { kind: 'joined', id, persistent, branch, member: MEMBER.PENDING });
}

/** The message stays as it is; its record lies elsewhere. */
function relocate(space: QueueSpace, message: number, arrival: Arrival): void {
  const { messages } = space;
  const entry = messages.entry.get(message);
  space.count(entry, messages.length.get(message), -1);
  messages.ref.set(message, arrival.ref);
  messages.offset.set(message, arrival.offset);
  messages.length.set(message, arrival.length);
  if (arrival.copy !== 0) messages.setCopy(message, arrival.copy, arrival.isFollower);
  space.count(entry, arrival.length, 1);
}

function applyRemoved(space: QueueSpace, event: Removed): void {
  const entry = space.entryById(event.id);
  if (entry === NONE) return;
  const { messages, entries } = space;
  const queue = space.queueOf(entry);
  const message = entries.message.get(entry);
  leaveState(space, entry);
  const sibling = entries.sibling.get(entry);
  if (sibling !== NONE) leaveRing(space, entry);
  if (space.exceptionNames.size > 0) space.exceptionNames.delete(entry);
  if (space.groups.size > 0) space.groups.remove(queue.number, entry);
  space.count(entry, messages.length.get(message), -1);
  if (!event.persistent) space.memory.release(messages.offset.get(message));
  space.msgids.remove(message);
  const corrid = entries.corrid.get(entry);
  leavePlace(space, entry, queue);
  const detail = entries.detail.get(entry);
  if (detail !== NONE) giveDetail(space, entry, detail);
  if (corrid !== NONE) space.corrids.give(corrid);
  if (event.reason === REMOVAL.DEQUEUED) queue.dequeued++;
  else countEnd(queue, event.reason);
  if (event.persistent) queue.lastBatch = space.batch;
  entries.give(entry);
  messages.give(message);
  space.forgetEmpty(queue);
  if (sibling !== NONE) noteFinishing(space, sibling);
}

function applyFinished(space: QueueSpace, event: Finished): void {
  const entry = space.entryById(event.id);
  if (entry === NONE) return;
  const { entries, details } = space;
  const queue = space.queueOf(entry);
  const isProcessed = event.how === FINISHED.PROCESSED;
  leaveState(space, entry);
  if (isProcessed) queue.dequeued++;
  entries.dueMs.set(entry, event.untilMs);
  entries.dueClock.set(entry, CLOCK.SPACE);
  if (entries.detail.get(entry) === NONE) entries.detail.set(entry, details.take(null));
  // It expires no more: from now on that is when it was consumed or given up.
  details.expiryMs.set(entries.detail.get(entry), event.atMs);
  space.enterFinished(entry, isProcessed ? ENTRY.PROCESSED : ENTRY.EXHAUSTED);
  if (event.persistent) noteChange(space, queue);
  noteFinishing(space, entry);
}

function giveDetail({ details, provenance }: QueueSpace, entry: number, detail: number): void {
  if (details.hasProvenance(detail)) provenance.drop(entry);
  details.give(detail);
}

function countEnd(queue: Queue, reason: Removal): void {
  if (reason === REMOVAL.EXPIRED) queue.expired++;
  if (reason === REMOVAL.DROPPED) queue.dropped++;
  if (reason === REMOVAL.PURGED) queue.purged++;
}

function applyRetried(space: QueueSpace, event: Retried): void {
  const entry = space.entryById(event.id);
  if (entry === NONE) return;
  leaveState(space, entry);
  // One that ought to have moved waits with the count that it had.
  if (event.retries > space.entries.retries.get(entry)) space.queueOf(entry).retried++;
  if (event.persistent) noteChange(space, space.queueOf(entry));
  space.entries.retries.set(entry, event.retries);
  space.entries.dueMs.set(entry, event.dueMs);
  space.entries.dueClock.set(entry, CLOCK.SPACE);
  settle(space, entry, false);
}

function applyMoved(space: QueueSpace, event: Moved): void {
  const entry = leaveForOther(space, event);
  if (entry === NONE) return;
  const target = space.queueByNumber(event.queue) as Queue;
  // One that came to an exception queue stays as it is, and expires no more [oracle-aq 6.3].
  if (target.isAq) dropExpiry(space, entry);
  else space.entries.retries.set(entry, 0);
  space.entries.dueMs.set(entry, 0);
  arriveFromOther(space, entry, event);
  // A queue sorted by time needs an enqueue time; the expiry goes on.
  if (space.queueOf(entry).sortsByTime) setSortTime(space, entry, event.atMs);
  settle(space, entry, false);
  if (space.entries.sibling.get(entry) !== NONE) noteFinishing(space, entry);
}

function dropExpiry({ entries, details }: QueueSpace, entry: number): void {
  const detail = entries.detail.get(entry);
  if (detail !== NONE) details.expiryMs.set(detail, Infinity);
}

function applyRequeued(space: QueueSpace, event: Requeued): void {
  const entry = leaveForOther(space, event);
  if (entry === NONE) return;
  arriveFromOther(space, entry, event);
  const detail = space.entries.detail.get(entry);
  const hasTime = detail !== NONE && space.details.sortTimeMs.get(detail) !== 0;
  if (space.queueOf(entry).sortsByTime && !hasTime) setSortTime(space, entry, event.atMs);
  settle(space, entry, false);
}

type ToOther = Pick<Moved | Requeued, 'kind' | 'id' | 'newId' | 'persistent' | 'queue'>;

/** The entry, out of all that its queue has of it; 0: there is nothing to move. */
function leaveForOther(space: QueueSpace, event: ToOther): number {
  const entry = space.entryById(event.id);
  const target = space.queueByNumber(event.queue);
  if (entry === NONE || target === undefined) return NONE;
  const keepsId = sameId(event.id, event.newId);
  if (keepsId && space.entries.queue.get(entry) === event.queue) return NONE;
  // In replay from a checkpoint: it was taken after the move, and the log before it made the message again.
  if (!keepsId && space.batch === 0 && space.msgids.find(event.newId) !== NONE) {
    const { id, persistent } = event;
    applyRemoved(space, { kind: 'removed', id, persistent, reason: REMOVAL.PURGED });
    return NONE;
  }
  const { messages, entries } = space;
  const message = entries.message.get(entry);
  const source = space.queueOf(entry);
  if (event.kind === 'requeued' || target.attributes.name !== space.errorQueue) source.movedAway++;
  leaveState(space, entry);
  leavePlace(space, entry, source);
  if (space.groups.size > 0) space.groups.remove(source.number, entry);
  space.count(entry, messages.length.get(message), -1);
  if (event.persistent) noteChange(space, source);
  return entry;
}

/** The entry is on the other queue, under its new id; it has yet to settle. */
function arriveFromOther(space: QueueSpace, entry: number, event: ToOther): void {
  const { messages, entries } = space;
  const message = entries.message.get(entry);
  if (!sameId(event.id, event.newId)) {
    space.msgids.remove(message);
    messages.setId(message, event.newId);
    space.msgids.add(message);
  }
  entries.queue.set(entry, event.queue);
  space.count(entry, messages.length.get(message), 1);
  if (event.persistent) noteChange(space, space.queueOf(entry));
}

function setSortTime({ entries, details }: QueueSpace, entry: number, atMs: number): void {
  if (entries.detail.get(entry) === NONE) entries.detail.set(entry, details.take(null));
  details.sortTimeMs.set(entries.detail.get(entry), atMs);
}

function applyChanged(space: QueueSpace, event: Changed): void {
  const entry = space.entryById(event.id);
  if (entry === NONE) return;
  const { entries, details, messages } = space;
  const state = entries.state.get(entry);
  // In replay a branch may have it by now: a checkpoint says so before the log is read.
  const isFree = state === ENTRY.READY || state === ENTRY.DELAYED;
  if (isFree) leaveState(space, entry);
  messages.priority.set(entries.message.get(entry), event.priority);
  entries.dueMs.set(entry, event.dueMs);
  entries.dueClock.set(entry, event.dueClock);
  const detail = entries.detail.get(entry);
  if (detail !== NONE) details.setTiming(detail, event.timing);
  else if (event.timing !== null) entries.detail.set(entry, details.take(event.timing));
  if (event.persistent) noteChange(space, space.queueOf(entry));
  if (isFree) settle(space, entry, false);
}

function applyProvenance(space: QueueSpace, event: ProvenanceSet): void {
  const entry = space.entryById(event.id);
  if (entry === NONE) return;
  const { entries, details } = space;
  if (entries.detail.get(entry) === NONE) entries.detail.set(entry, details.take(null));
  details.noteProvenance(entries.detail.get(entry));
  space.provenance.set(entry, event.provenance);
  // Counted where it was; the queue may be gone when a log is read.
  const origin = space.queueByNumber(event.provenance.queue);
  if (origin !== undefined) origin.moved++;
}

function applyPlaced(space: QueueSpace, event: Placed): void {
  const entry = space.entryById(event.id);
  if (entry === NONE) return;
  const { entries } = space;
  const queue = space.queueOf(entry);
  const wasReady = entries.state.get(entry) === ENTRY.READY;
  if (wasReady) space.leaveReady(entry);
  leavePlace(space, entry, queue);
  enterPlace(space, entry, { queue, position: event.position });
  if (event.persistent) noteChange(space, queue);
  if (wasReady) space.enterReady(entry);
}

/** Puts an entry that is in no state's structure where its due time says. */
function settle(space: QueueSpace, entry: number, isDue: boolean): void {
  if (isDue) space.entries.dueMs.set(entry, 0);
  if (space.entries.dueMs.get(entry) === 0) space.enterReady(entry);
  else space.enterDelayed(entry);
}

/** Something else than an arrival or a removal. */
function noteChange(space: QueueSpace, queue: Queue): void {
  queue.lastBatch = space.batch;
  queue.lastChange = space.batch;
}

function leaveState(space: QueueSpace, entry: number): void {
  const state = space.entries.state.get(entry);
  assert(state !== ENTRY.FREE, 'an entry is free', entry);
  if (state === ENTRY.READY) space.leaveReady(entry);
  else if (state === ENTRY.DELAYED) space.leaveDelayed(entry);
  else if (state === ENTRY.LOCKED || state === ENTRY.LOOKED) space.leaveLocked(entry);
  else if (state === ENTRY.PROCESSED || state === ENTRY.EXHAUSTED) space.leaveFinished(entry);
  else if (state === ENTRY.PENDING) space.leavePending(entry);
  else space.leaveHeld(entry);
}
