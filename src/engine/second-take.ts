// A message that a rollback has just given back is taken once more by whoever rolled back [TMQFORWARD -d, spec 4.2]: within
// one `together`, so that nobody gets it in between, and whatever its delay. Giving it back again is no further attempt.
import { NONE } from '../base/column.ts';
import type { MessageId } from '../queue/message.ts';
import { ENTRY } from '../queue/tables.ts';
import type { Work } from './request.ts';
import type { SpaceEngine } from './space-engine.ts';

/** Runs `step` as one: what it makes deliverable is offered to those who wait for it when the whole of it is over. */
export function together(engine: SpaceEngine, step: () => void): void {
  engine.settlesLater = true;
  try {
    step();
  } finally {
    engine.settlesLater = false;
    engine.settle();
  }
}

/** Locks the message for this transaction; false: it is not on that queue any more (moved, dropped, expired), or not free. */
export function takeAgain(
  engine: SpaceEngine,
  { work, qname, id }: { work: Work; qname: string; id: MessageId },
): boolean {
  const { space } = engine;
  const queue = space.queue(qname);
  const entry = queue === undefined ? NONE : space.entryOf(queue, id);
  const state = entry === NONE ? ENTRY.FREE : space.entries.state.get(entry);
  if (state !== ENTRY.READY && state !== ENTRY.DELAYED) return false;
  engine.run({ kind: 'take', entry, branch: work.branch.number });
  return true;
}

/** Gives back what the transaction holds as it was when it was taken; whoever calls ends the transaction then. */
export function giveBack(engine: SpaceEngine, { branch }: Work): void {
  if (engine.journal.failure !== null) return;
  for (let entry = branch.first; entry !== NONE; entry = branch.first) engine.run({ kind: 'unhold', entry });
  engine.settle();
}
