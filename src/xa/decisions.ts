// The decisions of a transaction log [DESIGN 6]: which transactions over several queue spaces were committed, and in which of their spaces
// the outcome is not yet known to be durable. Presumed abort: what is not here was not committed, once the log was read whole. Pure.
import { formatTransactionId, type TransactionId } from '../base/transaction-id.ts';

/** A queue space that took part. */
export interface Participant {
  readonly spaceId: number;
  /** For people. */
  readonly name: string;
}

export interface Decision {
  readonly transaction: TransactionId;
  readonly participants: readonly Participant[];
}

export type TlogEvent =
  | { readonly kind: 'identity'; readonly tlog: string }
  | ({ readonly kind: 'decided' } & Decision)
  | { readonly kind: 'forgotten'; readonly transaction: TransactionId };

export class Decisions {
  /** 32 hexadecimal digits; '': the log has not said. */
  tlog = '';
  private readonly open = new Map<string, { readonly decision: Decision; readonly left: Set<number> }>();

  apply(event: TlogEvent): void {
    switch (event.kind) {
      case 'identity':
        this.tlog = event.tlog;
        return;
      case 'decided': {
        const { transaction, participants } = event;
        const left = new Set(participants.map(({ spaceId }) => spaceId));
        this.open.set(formatTransactionId(transaction), { decision: { transaction, participants }, left });
        return;
      }
      case 'forgotten':
        this.open.delete(formatTransactionId(event.transaction));
    }
  }

  /** The outcome is durable in this space; true: in all of them, and the decision may be forgotten. */
  ended(transaction: TransactionId, spaceId: number): boolean {
    const found = this.open.get(formatTransactionId(transaction));
    if (found === undefined) return false;
    found.left.delete(spaceId);
    return found.left.size === 0;
  }

  isCommitted(transaction: TransactionId): boolean {
    return this.open.has(formatTransactionId(transaction));
  }

  /** Those that are not forgotten. */
  list(): Decision[] {
    return [...this.open.values()].map(({ decision }) => decision);
  }
  get size(): number {
    return this.open.size;
  }

  /**
   * What a prepared branch that a restart found comes to. Only the log that it names can say that it was not committed: with another one,
   * or none, it stays in doubt.
   */
  choose(branch: {
    readonly transaction: TransactionId;
    readonly tlog: string;
  }): 'commit' | 'rollback' | 'in doubt' {
    if (branch.tlog !== this.tlog) return 'in doubt';
    return this.isCommitted(branch.transaction) ? 'commit' : 'rollback';
  }

  /** Decisions whose outcome is still to be written in some space, after a start that ended every branch it could. */
  waitingFor(transaction: TransactionId): Participant[] {
    const found = this.open.get(formatTransactionId(transaction));
    return found === undefined
      ? []
      : found.decision.participants.filter(({ spaceId }) => found.left.has(spaceId));
  }
}
