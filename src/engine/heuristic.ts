// What an administrator decided about a prepared branch, against what it came to [DESIGN 6, spec 5.2]: when both are known they are compared, a
// difference is told, and nobody need remember it any more.
import { formatTransactionId } from '../base/transaction-id.ts';
import type { Heuristic } from '../queue/event.ts';
import type { Decisions } from '../xa/decisions.ts';
import { HEURISTIC_BYTES } from './admin-record.ts';
import type { SpaceEngine } from './space-engine.ts';

/** The outcome is known. Without room to forget it, it is compared again at the next start. */
export function compareHeuristic(engine: SpaceEngine, heuristic: Heuristic, committed: boolean): void {
  if (heuristic.committed !== committed) {
    const { name } = engine.space;
    const transaction = formatTransactionId(heuristic.transaction);
    engine.warn(
      `heuristic hazard: transaction ${transaction} was ${word(heuristic.committed)} in queue space ${name} by an administrator, ` +
        `but its outcome is that it was ${word(committed)}: its work is done in part`,
      { transaction, decided: word(heuristic.committed), outcome: word(committed) },
    );
  }
  if (engine.reserveChange(HEURISTIC_BYTES)) engine.say({ ...heuristic, compared: true });
}

/** After a start: what an administrator decided about transactions whose outcome this transaction log knows. */
export function compareHeuristics(engine: SpaceEngine, decisions: Decisions): void {
  for (const heuristic of engine.space.heuristics.list()) {
    const choice = decisions.choose(heuristic);
    if (choice !== 'in doubt') compareHeuristic(engine, heuristic, choice === 'commit');
  }
}

function word(committed: boolean): string {
  return committed ? 'committed' : 'rolled back';
}
