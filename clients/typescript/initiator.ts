// The calls about transactions that a context and a service's request have in common: what one thread of C has [spec 3.3]. Owns the transaction
// that its calls are part of. Invariants: at most one; a service that was called in a transaction takes part in it and neither ends it
// nor begins another; replies that are owed to a transaction keep it from being committed or left.
import { LIMIT, TP_CMT, TPERRNO } from '../../proto/codes.ts';
import { Caller } from './caller.ts';
import { TpError } from './error.ts';
import { Transaction } from './transaction.ts';
import { Tx } from './tx.ts';

/** What tpsuspend gives and tpresume takes: 16 opaque bytes, which may be handed to another process. */
export type TPTRANID = Uint8Array;

export abstract class Initiator extends Caller {
  protected tx: Tx | null = null;
  /** tpbegin, tpsuspend or tpresume is on its way. */
  private changing = false;
  /** What tpscmt said; null: nothing yet. */
  private commitReturn: number | null = null;

  /** Throws TPEPROTO when no call may be made any more. */
  protected abstract check(operation: string): void;

  /**
   * Opens a transaction.
   * @param timeoutS seconds until the daemon rolls it back; 0: the largest it allows
   * @throws TPEINVAL, TPENOENT MAXGTT are open, TPEPROTO in a transaction already [tpbegin(3c)]
   */
  async tpbegin(timeoutS: number, flags = 0): Promise<void> {
    const operation = 'tpbegin';
    this.checkFree(operation, flags);
    await this.change(async () => {
      this.tx = await Tx.begin(this.session, { operation, timeoutS, owner: this.owner });
    });
  }

  /**
   * Commits; afterwards there is no transaction, whatever came out. Replies of tpacall that were not fetched make it TPEABORT.
   * @throws TPEABORT rolled back; TPEPROTO in none, or a service in its caller's; TPETIME, or TPESYSTEM with outcomeUnknown: not known
   * [tpcommit(3c)]
   */
  async tpcommit(flags = 0): Promise<void> {
    const tx = this.endTx('tpcommit', flags);
    if (this.descriptors.forget(tx)) tx.spoil();
    await tx.commit('tpcommit', this.commitReturn);
  }

  /** Rolls back. @throws TPEPROTO in no transaction, or a service in its caller's: tpreturn(TPFAIL) [tpabort(3c)] */
  async tpabort(flags = 0): Promise<void> {
    const tx = this.endTx('tpabort', flags);
    this.descriptors.forget(tx);
    await tx.abort('tpabort');
  }

  /**
   * Leaves the transaction, which goes on: its time runs, its locks stay. Who began it may resume it on any connection that has the same
   * usrname and cltname, a service only in the same request.
   * @throws TPEPROTO in none, or replies are outstanding; TPEABORT it had been rolled back, and is ended [tpsuspend(3c)]
   */
  async tpsuspend(flags = 0): Promise<TPTRANID> {
    const operation = 'tpsuspend';
    const tx = this.openTx(operation, flags);
    if (this.descriptors.areOwedTo(tx))
      throw protocol(operation, 'replies of the transaction are outstanding');
    return this.change(async () => {
      try {
        const tranid = await tx.suspend(operation);
        this.tx = null;
        return tranid;
      } catch (error) {
        if (!tx.isJoined && TpError.is(error) && error.tperrno === TPERRNO.TPEABORT) this.tx = null;
        throw error;
      }
    });
  }

  /**
   * Goes on with a suspended transaction. The id is good once.
   * @throws TPEINVAL no such transaction, ended, or another client's; TPEMATCH resumed already; TPEPROTO in a transaction [tpresume(3c)]
   */
  async tpresume(tranid: TPTRANID, flags = 0): Promise<void> {
    const operation = 'tpresume';
    this.checkFree(operation, flags);
    if (!(tranid instanceof Uint8Array) || tranid.length !== LIMIT.TRANIDLEN) {
      throw invalid(operation, `a TPTRANID has ${LIMIT.TRANIDLEN} bytes`);
    }
    await this.change(async () => {
      this.tx = await Tx.resume(this.session, { operation, tranid, owner: this.owner });
    });
  }

  /** The id of the transaction that these calls are part of, 24 hexadecimal digits; null: none, or a service's caller's. */
  get transactionId(): string | null {
    return this.tx?.id ?? null;
  }

  /** 1 in a transaction, else 0. */
  tpgetlev(): 0 | 1 {
    return this.tx === null ? 0 : 1;
  }

  /**
   * When tpcommit returns: TP_CMT_LOGGED when the outcome is decided, TP_CMT_COMPLETE when it is in effect. The two are one while a
   * transaction works in one queue space [spec 3.3].
   * @returns the value before
   * @throws TPEINVAL [tpscmt(3c)]
   */
  tpscmt(when: number): number {
    this.check('tpscmt');
    if (when !== TP_CMT.TP_CMT_LOGGED && when !== TP_CMT.TP_CMT_COMPLETE) throw invalid('tpscmt', `${when}`);
    const before = this.commitReturn ?? TP_CMT.TP_CMT_COMPLETE;
    this.commitReturn = when;
    return before;
  }

  protected override within(tx: Tx): Transaction {
    return new Transaction({ session: this.session, owner: this.owner, ended: this.ended }, tx);
  }

  protected override currentTx(operation: string): Tx | null {
    this.check(operation);
    return this.tx;
  }

  private checkFree(operation: string, flags: number): void {
    this.check(operation);
    noFlags(operation, flags);
    if (this.tx !== null || this.changing) throw protocol(operation, 'in a transaction already');
  }

  private openTx(operation: string, flags: number): Tx {
    this.check(operation);
    noFlags(operation, flags);
    if (this.tx === null || this.changing) throw protocol(operation, 'not in a transaction');
    return this.tx;
  }

  private endTx(operation: string, flags: number): Tx {
    const tx = this.openTx(operation, flags);
    if (tx.isJoined) throw protocol(operation, 'the transaction is that of whoever called the service');
    this.tx = null;
    return tx;
  }

  private async change<R>(step: () => Promise<R>): Promise<R> {
    this.changing = true;
    try {
      return await step();
    } finally {
      this.changing = false;
    }
  }
}

function noFlags(operation: string, flags: number): void {
  if (flags !== 0) throw invalid(operation, `flags ${flags}`);
}

function invalid(operation: string, text: string): TpError {
  return new TpError({ tperrno: TPERRNO.TPEINVAL, operation, text });
}

function protocol(operation: string, text: string): TpError {
  return new TpError({ tperrno: TPERRNO.TPEPROTO, operation, text });
}
