// What a prepared branch holds, said so that replay knows it again: in the batch that prepares it, in a checkpoint, and beside a message that
// is restated while it belongs to one [DESIGN 5, 6].
import { NONE } from '../base/column.ts';
import type { Branch } from './branches.ts';
import { MEMBER, type EventSink, type Joined } from './event.ts';
import type { QueueSpace } from './space.ts';
import { ENTRY } from './tables.ts';

/** Says what it took; what it enqueued is said by its `enqueued` records. */
export function sayLocked(space: QueueSpace, branch: Branch, out: EventSink): void {
  for (const event of locked(space, branch)) out.push(event);
}
/** The same, one by one. */
export function* locked(space: QueueSpace, branch: Branch): Generator<Joined> {
  for (const entry of entriesFrom(space, branch.first)) yield joined(space, entry);
}

/** Everything that prepared branches hold, also those whose outcome is being applied: replay applies it again. */
export function* members(space: QueueSpace): Generator<Joined> {
  for (const branch of space.branches.begun()) {
    for (const entry of entriesFrom(space, branch.first)) yield joined(space, entry);
    for (const entry of entriesFrom(space, branch.pending.first)) yield joined(space, entry);
  }
}

/** That this entry belongs to a prepared branch; null: it does not. */
export function memberOf(space: QueueSpace, entry: number): Joined | null {
  const branch = space.branches.find(space.entries.owner.get(entry));
  return branch === undefined || branch.prepared === null ? null : joined(space, entry);
}

/** What an open or prepared branch holds and `isWanted` says yes to. */
export function heldIn(
  space: QueueSpace,
  branch: Branch,
  isWanted: (space: QueueSpace, entry: number) => boolean,
): number[] {
  // Most branches have nothing of the AQ dialect.
  if (!branch.queues.some((number) => space.queueByNumber(number)?.isAq === true)) return [];
  return [...entriesFrom(space, branch.first)].filter((entry) => isWanted(space, entry));
}

function* entriesFrom(space: QueueSpace, first: number): Generator<number> {
  for (let entry = first; entry !== NONE; entry = space.entries.left(entry)) yield entry;
}

function joined(space: QueueSpace, entry: number): Joined {
  const { entries } = space;
  return {
    kind: 'joined',
    id: space.id(entry),
    persistent: space.isPersistent(entry),
    branch: entries.owner.get(entry),
    member: entries.state.get(entry) === ENTRY.LOCKED ? MEMBER.LOCKED : MEMBER.PENDING,
  };
}
