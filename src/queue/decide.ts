// decide: reads the space, writes only to the sink. Total: every command gets a code. The sink applies each event at once, so a step that
// walks a structure reads its next element before it emits. Whoever calls has reserved the room in the log first [DESIGN 5, Room].
import { assert, unreachable } from '../base/assert.ts';
import { NONE } from '../base/column.ts';
import { QME, type Qme } from '../../proto/codes.ts';
import type { Command, DefineQueueCommand, EnqueueCommand, RollbackCommand } from './command.ts';
import type { EventSink } from './event.ts';
import { REMOVAL } from './event.ts';
import { parseMsgid } from './message.ts';
import type { Branch, Queue, QueueSpace } from './space.ts';
import { ENTRY } from './tables.ts';

/** How long a message waits that ought to move to the error queue while the log has no room to say so. */
const MOVE_AGAIN_MS = 1000;

export function decide(space: QueueSpace, command: Command, out: EventSink): Qme {
  switch (command.kind) {
    case 'enqueue':
      return decideEnqueue(space, command, out);
    case 'take':
      if (command.branch !== NONE) out.push({ kind: 'locked', entry: command.entry, branch: command.branch });
      else out.push({ kind: 'removed', id: space.id(command.entry), reason: REMOVAL.DEQUEUED });
      return QME.OK;
    case 'hold':
      out.push({ kind: 'held', entry: command.entry });
      return QME.OK;
    case 'unhold':
      out.push({ kind: 'unlocked', entry: command.entry });
      return QME.OK;
    case 'commit':
      for (const entry of heldBy(space.branch(command.branch))) {
        out.push({ kind: 'removed', id: space.id(entry), reason: REMOVAL.DEQUEUED });
      }
      return QME.OK;
    case 'rollback':
      for (const entry of heldBy(space.branch(command.branch))) rollbackEntry(space, entry, { command, out });
      return QME.OK;
    case 'due':
      while (space.nextDueMs() <= command.nowMs) out.push({ kind: 'due', entry: space.nextDue() });
      return QME.OK;
    case 'defineQueue':
      return decideDefineQueue(space, command, out);
    case 'defineSpace':
      if (space.name !== command.name || space.errorQueue !== command.errorQueue) {
        out.push({ kind: 'spaceDefined', name: command.name, errorQueue: command.errorQueue });
      }
      return QME.OK;
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

/** The entry that this dequeue gets now, or QMENOMSG, or QMEBADMSGID for bytes that cannot be an id of this space [spec 1.6]. */
export function select(space: QueueSpace, queue: Queue, selection: Selection): Selected {
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

function decideEnqueue(space: QueueSpace, command: EnqueueCommand, out: EventSink): Qme {
  const queue = space.queue(command.qname);
  if (queue === undefined) return QME.QMEBADQUEUE;
  out.push({
    kind: 'enqueued',
    id: command.id,
    queue: queue.number,
    retries: 0,
    dueMs: 0,
    properties: command.properties,
    place: { ref: 0, offset: 0, length: 0 },
  });
  return QME.OK;
}

/** [spec 2.6] */
function rollbackEntry(
  space: QueueSpace,
  entry: number,
  { command, out }: { command: RollbackCommand; out: EventSink },
): void {
  const id = space.id(entry);
  const { retries: limit, delayS } = space.queueOf(entry).attributes;
  const retries = space.entries.retries.get(entry);
  const dueMs = delayS === 0 ? 0 : command.nowMs + delayS * 1000;
  if (retries < limit) {
    out.push({ kind: 'retried', id, retries: retries + 1, dueMs });
    return;
  }
  const errorQueue = space.errorQueue === '' ? undefined : space.queue(space.errorQueue);
  if (errorQueue === undefined) {
    out.push({ kind: 'removed', id, reason: REMOVAL.DROPPED });
    return;
  }
  if (!command.mayMove()) {
    // No room to log the move: another attempt, later, is the only thing that loses nothing.
    out.push({ kind: 'retried', id, retries, dueMs: Math.max(dueMs, command.nowMs + MOVE_AGAIN_MS) });
    return;
  }
  const from = space.entries.queue.get(entry);
  out.push({ kind: 'moved', id, newId: command.newId(), queue: errorQueue.number, from });
}

function decideDefineQueue(space: QueueSpace, command: DefineQueueCommand, out: EventSink): Qme {
  const known = space.queue(command.attributes.name);
  if (known === undefined) {
    out.push({ kind: 'queueDefined', queue: space.nextQueueNumber(), attributes: command.attributes });
    return QME.OK;
  }
  // A queue's order is fixed for life [spec 5.2, qchange].
  if (known.attributes.order !== command.attributes.order) return QME.QMEINVAL;
  const before = known.attributes;
  const after = command.attributes;
  const changed = (Object.keys(after) as (keyof typeof after)[]).some((key) => before[key] !== after[key]);
  if (changed) out.push({ kind: 'queueDefined', queue: known.number, attributes: after });
  return QME.OK;
}

/** The entries a branch holds, in the order in which it took them; each has left the branch when the next is asked for. */
function* heldBy(branch: Branch): Generator<number> {
  for (let entry = branch.first; entry !== NONE; entry = branch.first) {
    yield entry;
    assert(branch.first !== entry, `entry ${entry} did not leave branch ${branch.number}`);
  }
}
