// tpsuspend and tpresume [spec 3.3; DESIGN 6]. A suspended transaction is on no connection: it belongs to the identity of whoever suspended it,
// until it is resumed, on any connection of that identity, or its time is over. A service that leaves the transaction it has joined
// can only come back itself, in the same call. Invariants: an id is good for one tpresume; nothing of a transaction that has ended stays.
import { randomBytes } from 'node:crypto';
import { LIMIT, TPERRNO } from '../../proto/codes.ts';
import type { Failure } from '../engine/request.ts';
import type { Client } from './client.ts';
import type { Joined } from './joins.ts';
import type { Dependent, Transaction, Transactions } from './transactions.ts';

class Suspension implements Dependent {
  readonly transaction: Transaction;
  /** Who suspended it. */
  readonly client: Client;
  /** null: who began or resumed it. Else what its service has joined, under which number. */
  readonly joined: { readonly as: Joined; readonly tx: number } | null;
  isResumed = false;
  private readonly onOver: (suspension: Suspension) => void;

  constructor(
    from: Pick<Suspension, 'transaction' | 'client' | 'joined'>,
    onOver: (suspension: Suspension) => void,
  ) {
    this.transaction = from.transaction;
    this.client = from.client;
    this.joined = from.joined;
    this.onOver = onOver;
  }

  over(): void {
    this.onOver(this);
  }
}

export class Suspensions {
  private readonly transactions: Transactions;
  /** By TPTRANID. Those that were resumed too: a second tpresume is to be told so. */
  private readonly byId = new Map<string, Suspension>();

  constructor(transactions: Transactions) {
    this.transactions = transactions;
  }

  /** Takes a transaction off its connection; its TPTRANID. Assumes that it is active and waits for nothing. */
  suspend(client: Client, transaction: Transaction): Uint8Array {
    this.transactions.detach(transaction);
    return this.keep({ transaction, client, joined: null });
  }

  /** A service leaves what it has joined. */
  leave(client: Client, tx: number, as: Joined): Uint8Array {
    as.isSuspended = true;
    return this.keep({ transaction: as.transaction, client, joined: { as, tx } });
  }

  /** The transaction and its number on this connection, or why not. */
  resume(client: Client, tranid: Uint8Array): { transaction: Transaction; tx: number } | Failure {
    const found = this.byId.get(keyOf(tranid));
    if (found === undefined) return TPERRNO.TPEINVAL;
    const { transaction, joined } = found;
    if (joined === null ? !isSameIdentity(found.client, client) : found.client !== client) {
      return TPERRNO.TPEINVAL;
    }
    if (found.isResumed) return TPERRNO.TPEMATCH;
    // The call in which the service left has ended.
    if (joined !== null && client.joined.get(joined.tx) !== joined.as) return TPERRNO.TPEINVAL;
    found.isResumed = true;
    if (joined !== null) {
      joined.as.isSuspended = false;
      return { transaction, tx: joined.tx };
    }
    this.transactions.attach(transaction, client);
    return { transaction, tx: transaction.number };
  }

  private keep(from: Pick<Suspension, 'transaction' | 'client' | 'joined'>): Uint8Array {
    const tranid = randomBytes(LIMIT.TRANIDLEN);
    const key = keyOf(tranid);
    const suspension = new Suspension(from, (over) => {
      this.byId.delete(key);
      // Nobody has it: nobody is to end it.
      if (!over.isResumed && over.joined === null) this.transactions.rollback(over.transaction);
    });
    this.byId.set(key, suspension);
    (from.transaction.suspensions ??= new Set()).add(suspension);
    return tranid;
  }
}

/** Security gives names their worth: without it whoever says the same names is the same. */
function isSameIdentity({ identity: a }: Client, { identity: b }: Client): boolean {
  return a.usrname === b.usrname && a.cltname === b.cltname && a.appkey === b.appkey;
}

function keyOf(tranid: Uint8Array): string {
  return Buffer.from(tranid.buffer, tranid.byteOffset, tranid.length).toString('hex');
}
