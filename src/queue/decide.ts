// decide: reads the space, writes only to the sink. Total: every command gets a code. The sink applies each event at once, so a step that
// walks a structure reads its next element before it emits. Whoever calls has reserved the room in the log first [DESIGN 5, Room].
import { assert, unreachable } from '../base/assert.ts';
import { NONE } from '../base/column.ts';
import { QME, type Qme } from '../../proto/codes.ts';
import { consume, expire, finish, giveBack, type AqTerms } from './aq.ts';
import { decideChange, decideRequeue } from './change.ts';
import type {
  Command,
  CommitCommand,
  DefineQueueCommand,
  DefineSpaceCommand,
  DoomQueueCommand,
  MoveCommand,
  RollbackCommand,
  TickCommand,
} from './command.ts';
import { CLOCK, REMOVAL, type EventSink, type Removal } from './event.ts';
import { parseMsgid } from './message.ts';
import { decidePlace } from './place.ts';
import { sayLocked } from './prepared.ts';
import type { QueueAttributes } from './attributes.ts';
import type { Queue } from './queue.ts';
import { agentKey } from './recipients.ts';
import type { Branch } from './branches.ts';
import type { QueueSpace } from './space.ts';
import { ENTRY } from './tables.ts';

/** How long a message waits that ought to move to the error queue while the log has no room to say so. */
const MOVE_AGAIN_MS = 1000;

export function decide(space: QueueSpace, command: Command, out: EventSink): Qme {
  switch (command.kind) {
    case 'take':
      if (command.branch !== NONE)
        out.push({
          kind: 'locked',
          entry: command.entry,
          branch: command.branch,
          looks: command.looks === true,
        });
      else if (space.queueOf(command.entry).isAq)
        consume(space, command.entry, { terms: termsOf(command), out });
      else remove(space, command.entry, { reason: REMOVAL.DEQUEUED, out });
      return QME.OK;
    case 'place':
      decidePlace(space, command, out);
      return QME.OK;
    case 'remove':
      remove(space, command.entry, { reason: command.reason, out });
      return QME.OK;
    case 'move':
      move(space, command, out);
      return QME.OK;
    case 'change':
      decideChange(space, command, out);
      return QME.OK;
    case 'requeue':
      decideRequeue(space, command, out);
      return QME.OK;
    case 'hold':
      out.push({ kind: 'held', entry: command.entry });
      return QME.OK;
    case 'unhold':
      out.push({ kind: 'unlocked', entry: command.entry });
      return QME.OK;
    case 'commit':
      for (const entry of heldBy(space.branches.get(command.branch)))
        commitEntry(space, entry, { command, out });
      return QME.OK;
    case 'rollback':
      rollback(space, command, out);
      return QME.OK;
    case 'finish':
      finish(space, command.entry, { terms: command.aq, out });
      return QME.OK;
    case 'prepare':
      sayLocked(space, space.branches.get(command.branch), out);
      return QME.OK;
    case 'end': {
      const { branch, transaction, committed } = command;
      out.push({ kind: 'branchEnded', branch, transaction, committed });
      return QME.OK;
    }
    case 'tick':
      tick(space, command, out);
      return QME.OK;
    case 'defineQueue':
      return decideDefineQueue(space, command, out);
    case 'doomQueue':
      return decideDoomQueue(space, command, out);
    case 'defineObject':
      out.push({ kind: 'objectDefined', type: command.type, name: command.name, value: command.value });
      return QME.OK;
    case 'defineSpace':
      return decideDefineSpace(space, command, out);
    default:
      return unreachable(command);
  }
}

/** What a dequeue selects by: null members select nothing. Both given: both must match [spec 2.5]. */
export interface Selection {
  readonly msgid: Uint8Array | null;
  readonly corrid: Uint8Array | null;
}

/** An entry (above 0), or the code to answer (0 or below, a Qme). */
export type Selected = number;

/**
 * The entry that this dequeue gets now, or QMENOMSG, or QMEBADMSGID for bytes that cannot be an id of this space [spec 1.6], or QMESHARE on
 * a paused queue. What is due and what expired has been seen to by a `tick` before.
 */
export function select(space: QueueSpace, queue: Queue, selection: Selection): Selected {
  if (queue.attributes.dequeuePaused) return QME.QMESHARE;
  if (selection.msgid !== null) return selectByMsgid(space, queue, selection);
  const entry =
    selection.corrid === null ? space.firstReady(queue) : space.firstByCorrid(queue, selection.corrid);
  return entry === NONE ? QME.QMENOMSG : entry;
}

function selectByMsgid(space: QueueSpace, queue: Queue, selection: Selection): Selected {
  const id = selection.msgid === null ? null : parseMsgid(space.spaceId, selection.msgid);
  if (id === null) return QME.QMEBADMSGID;
  const entry = space.entryOf(queue, id);
  // Selection by id skips the order but not the availability [spec 2.5].
  if (entry === NONE || space.entries.state.get(entry) !== ENTRY.READY) return QME.QMENOMSG;
  if (selection.corrid === null) return entry;
  const row = space.entries.corrid.get(entry);
  return row !== NONE && space.corrids.value.equals(row, selection.corrid) ? entry : QME.QMENOMSG;
}

function termsOf({ aq }: { readonly aq?: AqTerms }): AqTerms {
  assert(aq !== undefined, 'a command about an entry of the AQ dialect says nothing of the time');
  return aq;
}

function commitEntry(
  space: QueueSpace,
  entry: number,
  { command, out }: { command: CommitCommand; out: EventSink },
): void {
  if (space.entries.state.get(entry) === ENTRY.LOOKED) return out.push({ kind: 'unlocked', entry });
  if (space.queueOf(entry).isAq) return consume(space, entry, { terms: termsOf(command), out });
  return remove(space, entry, { reason: REMOVAL.DEQUEUED, out });
}

function rollback(space: QueueSpace, command: RollbackCommand, out: EventSink): void {
  let left = command.limit;
  for (const entry of heldBy(space.branches.get(command.branch))) {
    if (left === 0) return;
    rollbackEntry(space, entry, { command, out });
    left--;
  }
}

/** [spec 2.6] */
function rollbackEntry(
  space: QueueSpace,
  entry: number,
  { command, out }: { command: RollbackCommand; out: EventSink },
): void {
  if (space.entries.state.get(entry) === ENTRY.LOOKED) return out.push({ kind: 'unlocked', entry });
  if (space.queueOf(entry).isAq) return giveBack(space, entry, { cause: command.cause, terms: command, out });
  // Expiry wins over retries and over the error queue.
  if (isExpired(space, entry, command)) {
    remove(space, entry, { reason: REMOVAL.EXPIRED, out });
    return;
  }
  const id = space.id(entry);
  const persistent = space.isPersistent(entry);
  const source = space.queueOf(entry);
  const { retries: limit, delayS } = source.attributes;
  const retries = space.entries.retries.get(entry);
  const dueMs = delayS === 0 ? 0 : command.nowMs + delayS * 1000;
  if (retries < limit) {
    out.push({ kind: 'retried', id, persistent, retries: retries + 1, dueMs });
    return;
  }
  const errorQueue = space.errorQueue === '' ? undefined : space.queue(space.errorQueue);
  if (errorQueue === undefined) {
    remove(space, entry, { reason: REMOVAL.DROPPED, out });
    return;
  }
  const isThere = source === errorQueue;
  if (persistent && !command.mayMove(isThere ? null : source.attributes.name)) {
    // No room to log the move: another attempt, later, is the only thing that loses nothing.
    out.push({
      kind: 'retried',
      id,
      persistent,
      retries,
      dueMs: Math.max(dueMs, command.nowMs + MOVE_AGAIN_MS),
    });
    return;
  }
  const { reason, code, rcode } = command.cause;
  const count = (space.provenanceOf(entry)?.count ?? 0) + 1;
  const newId = command.newId();
  const { number: from, attributes } = source;
  const atMs = command.wallMs;
  out.push({ kind: 'moved', id, newId, persistent, queue: errorQueue.number, from, retries, atMs });
  // What was taken from the error queue, to be looked at, came from where it came from.
  if (isThere) return;
  const provenance = { queue: from, name: attributes.name, id, reason, code, rcode, retries, atMs, count };
  out.push({ kind: 'provenanceSet', id: newId, persistent, provenance });
}

function move(space: QueueSpace, { entry, queue, newId, wallMs }: MoveCommand, out: EventSink): void {
  out.push({
    kind: 'moved',
    id: space.id(entry),
    newId,
    persistent: space.isPersistent(entry),
    queue,
    from: space.queueOf(entry).number,
    retries: space.entries.retries.get(entry),
    atMs: wallMs,
  });
}

/** Everything on this queue whose instant has come, the earliest first. */
function tick(space: QueueSpace, command: TickCommand, out: EventSink): void {
  const queue = space.queueByNumber(command.queue);
  if (queue === undefined) return;
  let left = command.limit;
  for (const clock of [CLOCK.SPACE, CLOCK.WALL]) {
    const nowMs = clock === CLOCK.SPACE ? command.nowMs : command.wallMs;
    const expiry = queue.expiry[clock];
    for (; left > 0 && expiry.nextMs <= nowMs; left--) {
      if (queue.isAq) expire(space, expiry.first(), { terms: termsOf(command), out });
      else remove(space, expiry.first(), { reason: REMOVAL.EXPIRED, out });
    }
    const due = queue.due[clock];
    for (; left > 0 && due.nextMs <= nowMs; left--) {
      const entry = due.first();
      if (space.entries.state.get(entry) === ENTRY.DELAYED) out.push({ kind: 'due', entry });
      else remove(space, entry, { reason: REMOVAL.SETTLED, out });
    }
  }
}

/** Whether the entry's expiry has come. */
function isExpired(space: QueueSpace, entry: number, now: { nowMs: number; wallMs: number }): boolean {
  const detail = space.entries.detail.get(entry);
  if (detail === NONE) return false;
  const nowMs = space.details.clockOf(detail) === CLOCK.SPACE ? now.nowMs : now.wallMs;
  return space.details.expiryMs.get(detail) <= nowMs;
}

function remove(
  space: QueueSpace,
  entry: number,
  { reason, out }: { reason: Removal; out: EventSink },
): void {
  out.push({ kind: 'removed', id: space.id(entry), persistent: space.isPersistent(entry), reason });
}

function decideDefineQueue(space: QueueSpace, { attributes }: DefineQueueCommand, out: EventSink): Qme {
  const known = definedAs(space, attributes);
  if (known === undefined) {
    const { queues: limit } = space.attributes;
    if (limit !== 0 && (attributes.aq?.consumer ?? null) === null && space.queueCount >= limit)
      return QME.QMENOSPACE;
    out.push({ kind: 'queueDefined', queue: space.nextQueueNumber(), attributes });
    return QME.OK;
  }
  // A queue's order is fixed for life [spec 5.2, qchange].
  if (known.attributes.order !== attributes.order) return QME.QMEINVAL;
  if (differ(known.attributes, attributes))
    out.push({ kind: 'queueDefined', queue: known.number, attributes });
  return QME.OK;
}

/** The queue, or the lane, that a definition of this name is of. */
export function definedAs(space: QueueSpace, { name, aq }: QueueAttributes): Queue | undefined {
  if (aq === null || aq.consumer === null) return space.queue(name);
  return space.queueByNumber(aq.consumer.of)?.lanes?.get(agentKey(aq.consumer));
}

function decideDoomQueue(space: QueueSpace, { qname }: DoomQueueCommand, out: EventSink): Qme {
  const queue = typeof qname === 'string' ? space.queue(qname) : space.queueByNumber(qname);
  if (queue === undefined) return QME.QMEBADQUEUE;
  if (queue.locked > 0 || queue.pending > 0) return QME.QMESHARE;
  out.push({ kind: 'queueDoomed', queue: queue.number });
  return QME.OK;
}

function decideDefineSpace(space: QueueSpace, { attributes }: DefineSpaceCommand, out: EventSink): Qme {
  if (differ(space.attributes, attributes)) {
    out.push({ kind: 'spaceDefined', attributes, nextQueue: space.nextQueueNumber() });
  }
  return QME.OK;
}

function differ<T extends object>(before: T, after: T): boolean {
  return (Object.keys(after) as (keyof T)[]).some((key) => before[key] !== after[key]);
}

/** The entries a branch holds, in the order in which it took them; each has left the branch when the next is asked for. */
function* heldBy(branch: Branch): Generator<number> {
  for (let entry = branch.first; entry !== NONE; entry = branch.first) {
    yield entry;
    assert(branch.first !== entry, 'an entry did not leave its branch', entry);
  }
}
