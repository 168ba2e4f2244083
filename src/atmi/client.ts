// A client of the daemon: one connection, as everything behind net sees it. It owns what ends with the connection: transactions, parked
// requests, advertised services, bound queue names.
import type { Request } from '../../proto/message.ts';
import type { Joined } from './joins.ts';
import type { ReplyPort } from './reply-port.ts';
import type { Transaction } from './transactions.ts';

/** Something under way for a client that CANCEL or the end of the connection stops. */
export interface Pending {
  /** Ends it with TPGOTSIG if it is still waiting; false: it has been or will be answered otherwise. */
  cancel(): boolean;
  /** The transaction that it is part of, as the client numbers it; 0 or absent: none. */
  readonly tx?: number;
}

export interface ClientIdentity {
  /** 16 bytes, unique in the daemon's life [CLIENTID]. */
  readonly cltid: Uint8Array;
  readonly usrname: string;
  readonly cltname: string;
  /** The group it belongs to, '' none: whose lines of *SERVICES count for what it offers [spec 6.5]. */
  readonly grpname: string;
  /** -1: none [spec 3.1]. */
  readonly appkey: number;
}

export class Client {
  readonly identity: ClientIdentity;
  readonly port: ReplyPort;
  /** Its address, for log lines; '' when it has none. */
  readonly remote: string;
  readonly transactions = new Map<number, Transaction>();
  /** What its services have joined, by the numbers of PROTOCOL 7. */
  readonly joined = new Map<number, Joined>();
  /** Transactions whose commit has been decided and not yet answered: work in them is QMEPROTO [spec 1.3]. */
  readonly committing = new Set<number>();
  /** By request id. */
  readonly pending = new Map<number, Pending>();
  readonly bindings: { readonly qspace: string; readonly qname: string }[] = [];
  gone = false;
  /** LOAD of the service requests it is at work on. */
  load = 0;
  /**
   * Requests that arrived behind one that waits for room in the log: they are handled in order once it has been answered, so that
   * nothing overtakes it, least of all the commit of its own transaction.
   */
  readonly backlog: Request[] = [];
  private blocked = false;
  /** Told when the backlog may be handled. */
  onUnblocked: () => void = () => {};

  constructor(identity: ClientIdentity, port: ReplyPort, remote = '') {
    this.identity = identity;
    this.port = port;
    this.remote = remote;
  }

  get isBlocked(): boolean {
    return this.blocked;
  }
  /** A request waits for room. */
  block(): void {
    this.blocked = true;
  }
  /** It no longer does. */
  unblock(): void {
    this.blocked = false;
    this.onUnblocked();
  }
}
