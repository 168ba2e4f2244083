// The frames of the AQ dialect as typed values: one request and one reply, told apart by the verb. PROTOCOL.md gives the
// bytes.
import type { OP } from '../codes.ts';
import type { ErrorReply, Members, TypedData } from '../message.ts';

/** A message, an agent, a row of a listing: named members, and a payload when it has one. */
export interface AqItem {
  readonly members: Members;
  readonly body: TypedData;
}

export interface AqRequest {
  op: typeof OP.AQ;
  id: number;
  /** One of AQ, or of a later release. */
  verb: number;
  /** An alias under which the queue space is served, or its own name. */
  qspace: string;
  /** '' when the verb is about no single queue. */
  qname: string;
  /** The transaction that BEGIN named on this connection; 0: none. */
  tx: number;
  members: Members;
  items: readonly AqItem[];
}

export interface AqReply {
  op: typeof OP.AQ;
  id: number;
  members: Members;
  items: readonly AqItem[];
}

/** As ErrorReply, of an AQ request. */
export interface AqErrorReply extends Omit<ErrorReply, 'op'> {
  op: typeof OP.AQERROR;
  /** The number of the AQ error [oracle-aq 15]; 0: it is none of the dialect's. */
  aq: number;
}
