// What a program works in when it has a transaction of its own, beside that of its context. Invariant: after its end every call is TPEPROTO.
import { TPERRNO } from '../../proto/codes.ts';
import { Caller } from './caller.ts';
import { TpError } from './error.ts';
import type { Session } from './session.ts';
import type { Tx } from './tx.ts';

/** What a transaction has from the context that made it. */
export interface TransactionScope {
  readonly session: Session;
  readonly owner: object;
  readonly ended: AbortSignal;
}

/** The calls of a context inside one transaction of their own. Made by `ctx.transaction` and `queue.consume`. */
export class Transaction extends Caller {
  protected readonly session: Session;
  protected readonly owner: object;
  protected readonly ended: AbortSignal;
  private readonly tx: Tx;

  constructor(scope: TransactionScope, tx: Tx) {
    super();
    this.session = scope.session;
    this.owner = scope.owner;
    this.ended = scope.ended;
    this.tx = tx;
  }

  /** Whether its connection is gone, so that nothing of it can be committed. */
  get lost(): boolean {
    return this.tx.lost;
  }

  protected override within(tx: Tx): Transaction {
    return new Transaction({ session: this.session, owner: this.owner, ended: this.ended }, tx);
  }

  protected override currentTx(operation: string): Tx {
    this.session.unsolicited.dip(operation);
    if (!this.tx.ended) return this.tx;
    throw new TpError({ tperrno: TPERRNO.TPEPROTO, operation, text: 'the transaction has ended' });
  }
}
