// Prepared branches of this space that an administrator ended by his own decision, until that has been compared with what was decided
// elsewhere [DESIGN 6, spec 5.2]. Pure.
import { formatTransactionId, type TransactionId } from '../base/transaction-id.ts';
import type { Heuristic } from './event.ts';

export class Heuristics {
  private readonly byId = new Map<string, Heuristic>();

  apply(event: Heuristic): void {
    const key = formatTransactionId(event.transaction);
    if (event.compared) this.byId.delete(key);
    else this.byId.set(key, event);
  }

  find(transaction: TransactionId): Heuristic | undefined {
    return this.byId.get(formatTransactionId(transaction));
  }
  list(): Heuristic[] {
    return [...this.byId.values()];
  }
  get size(): number {
    return this.byId.size;
  }
}
