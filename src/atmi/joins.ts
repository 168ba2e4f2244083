// What a transaction has to do with services [spec 2.3, 3.5, 6.5]. A service that is called in a transaction joins it: while it works on the call,
// requests of its server with the call's own transaction number are part of it. With AUTOTRAN a call that is in none gets one of the daemon's.
// Invariants: the number is dead when the server has ended the call; a service that leaves something unfinished in the transaction, or
// whose transaction is over, has not succeeded; an AUTOTRAN transaction ends with its service, whatever became of its caller.
import { JOINED_TX } from '../../proto/codes.ts';
import type { Ending } from '../engine/two-phase.ts';
import type { Client } from './client.ts';
import type { ServiceCall } from './service-call.ts';
import type { ServiceValues } from './service-rules.ts';
import type { Transaction, Transactions } from './transactions.ts';

/** A transaction as the server of a call in it has it. */
export interface Joined {
  readonly transaction: Transaction;
  /** The service has left it with tpsuspend. */
  isSuspended: boolean;
}

/** The transaction that a client means by a number: one that it began or resumed, or one that a service of it has joined. */
export function findTransaction(client: Client, tx: number): Transaction | undefined {
  if (tx < JOINED_TX) return client.transactions.get(tx);
  const joined = client.joined.get(tx);
  return joined === undefined || joined.isSuspended ? undefined : joined.transaction;
}

/** Whether requests that the client made under this number have no answer yet, by its doing. */
export function isOutstanding(client: Client, tx: number): boolean {
  for (const pending of client.pending.values()) if (pending.tx === tx) return true;
  return false;
}

export class Joins {
  private readonly transactions: Transactions;

  constructor(transactions: Transactions) {
    this.transactions = transactions;
  }

  /**
   * A server is about to get the call. false: AUTOTRAN, and MAXGTT transactions are open.
   * @param onOver the time of its AUTOTRAN transaction is over, and it has been rolled back
   */
  begin(call: ServiceCall, values: ServiceValues, onOver: () => void): boolean {
    if (!values.autotran || call.joins !== null || call.auto !== null) return true;
    const auto = this.transactions.beginFor(values.tranTimeS);
    if (auto === null) return false;
    call.auto = auto;
    const over = (): void => {
      // Ended with its service, it is nobody's time that is over.
      if (call.auto !== auto) return;
      call.auto = null;
      this.transactions.rollback(auto);
      onOver();
    };
    auto.calls.add({ over });
    return true;
  }

  /** The server has it under this id: what the service does from now on is part of the call's transaction. */
  enter(call: ServiceCall, server: Client, id: number): void {
    const transaction = call.joins ?? call.auto;
    if (transaction !== null) server.joined.set(id + JOINED_TX, { transaction, isSuspended: false });
  }

  /**
   * The server has ended the call: the number is dead, and what still waits under it ends. Whether the service may be said to have
   * succeeded: nothing was left unfinished, and the transaction can be committed.
   */
  leave(server: Client, id: number): boolean {
    const tx = id + JOINED_TX;
    const joined = server.joined.get(tx);
    if (joined === undefined) return true;
    server.joined.delete(tx);
    let isClean = !joined.isSuspended;
    for (const pending of server.pending.values()) {
      if (pending.tx !== tx) continue;
      isClean = false;
      pending.cancel();
    }
    return isClean && joined.transaction.state === 'active';
  }

  /** The service is over: so is the AUTOTRAN transaction. undefined: the call has none; null: what should be committed was rolled back. */
  end(call: ServiceCall, isSuccess: boolean): Ending | null | undefined {
    const { auto } = call;
    if (auto === null) return undefined;
    call.auto = null;
    return isSuccess ? this.transactions.commit(auto) : this.transactions.rollback(auto);
  }
}
