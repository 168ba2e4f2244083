// A client's tpcall or tpacall on its way to a service and back [spec 2.3, 3.4]. In a transaction only the transaction's time counts, and a failure
// may be the end of it. Must not know who serves.
import type { Clock } from '../base/clock.ts';
import { OP, RVAL, TPERRNO, TPFLAG } from '../../proto/codes.ts';
import type { Call, PrioCall, TypedData } from '../../proto/message.ts';
import type { Failure } from '../engine/request.ts';
import type { Client, Pending } from './client.ts';
import { errorReply } from './reply-port.ts';
import { ServiceCall } from './service-call.ts';
import type { PriorityWish } from './service-rules.ts';
import type { Services } from './services.ts';
import type { Dependent, Transaction, Transactions } from './transactions.ts';

export interface ClientCallPorts {
  readonly clock: Clock;
  readonly transactions: Transactions;
  readonly services: Services;
  /** BLOCKTIME in milliseconds. */
  readonly blockTimeMs: number;
  /** The caller's, also with TPNOTRAN: its time is the caller's. */
  readonly transaction: Transaction | null;
}

export class ClientCall extends ServiceCall implements Pending, Dependent {
  readonly service: string;
  readonly body: TypedData;
  readonly flags: number;
  override readonly wish: PriorityWish | null;
  override readonly mayNotWait: boolean;
  override readonly isOneWay: boolean;
  override readonly joins: Transaction | null;
  /** The number of what it joins; 0: nothing. */
  readonly tx: number;
  readonly identity: Client['identity'];
  readonly deadlineMs: number;
  private readonly client: Client;
  private readonly id: number;
  private readonly op: (Call | PrioCall)['op'];
  private readonly ports: ClientCallPorts;

  constructor(client: Client, request: Call | PrioCall, ports: ClientCallPorts) {
    super();
    this.client = client;
    this.id = request.id;
    this.op = request.op;
    this.flags = request.flags & TPFLAG.TPNOREPLY;
    this.wish = request.op === OP.PRIOCALL ? request : null;
    this.isOneWay = this.flags !== 0;
    this.mayNotWait = this.flags !== 0 && (request.flags & TPFLAG.TPNOBLOCK) !== 0;
    this.ports = ports;
    this.service = request.service;
    this.body = request.body;
    this.identity = client.identity;
    this.joins = (request.flags & TPFLAG.TPNOTRAN) === 0 ? ports.transaction : null;
    this.tx = this.joins === null ? 0 : request.tx;
    this.deadlineMs = deadlineOf(request, ports);
    client.pending.set(this.id, this);
    this.joins?.calls.add(this);
  }

  override sent(): void {
    this.answered(RVAL.TPSUCCESS, 0, { type: '', subtype: '', data: null });
  }
  answered(rval: number, rcode: number, body: TypedData): void {
    this.settle(rval === RVAL.TPSUCCESS ? 0 : TPERRNO.TPESVCFAIL);
    this.client.port.send({ op: this.op, id: this.id, rval, rcode, body });
  }
  failed(failure: Failure): void {
    this.settle(failure);
    this.client.port.send(errorReply(this.id, failure, explainCall(failure, this.service)));
  }

  /** What a server is at work on cannot be taken out of a transaction: it is rolled back. */
  cancel(): boolean {
    const { isAtServer, joins } = this;
    if (!this.ports.services.abandon(this, TPERRNO.TPGOTSIG)) return false;
    if (isAtServer && joins !== null) this.ports.transactions.spoil(joins);
    return true;
  }

  /** Called by the transaction that it joins. */
  over(failure: Failure): void {
    this.ports.services.abandon(this, failure);
  }

  private settle(failure: Failure): void {
    this.client.pending.delete(this.id);
    if (this.joins === null) return;
    this.joins.calls.delete(this);
    this.ports.transactions.failed(this.joins, failure);
  }
}

/** In a transaction there is no blocking time; outside of the caller's own its time still counts [spec 2.2, 3.4]. */
function deadlineOf(request: Call | PrioCall, ports: ClientCallPorts): number {
  const { clock, services, transaction } = ports;
  const now = clock.monoMs();
  const ownMs = request.timeoutMs === 0 ? Infinity : now + request.timeoutMs;
  if (transaction !== null && (request.flags & TPFLAG.TPNOTRAN) === 0) return ownMs;
  const outerMs = transaction?.deadline?.atMs ?? Infinity;
  if ((request.flags & (TPFLAG.TPNOTIME | TPFLAG.TPNOBLOCK)) !== 0) return Math.min(ownMs, outerMs);
  // BLOCKTIME of the service, if it has one [spec 6.5].
  const blockTimeMs = services.valuesOf(request.service).blockTimeS * 1000 || ports.blockTimeMs;
  return Math.min(ownMs, outerMs, now + blockTimeMs);
}

function explainCall(failure: Failure, service: string): string {
  switch (failure) {
    case TPERRNO.TPENOENT:
      return `no server offers the service ${service}, or it has AUTOTRAN and MAXGTT transactions are open`;
    case TPERRNO.TPESVCERR:
      return (
        `the server of ${service} went away in mid-call, left something unfinished, passed the call on to where it could not go, ` +
        'or its transaction could not be committed'
      );
    case TPERRNO.TPEITYPE:
      return `the service ${service} does not take data of this type [BUFTYPE of *SERVICES]`;
    case TPERRNO.TPEBLOCK:
      return `every server of ${service} is busy`;
    case TPERRNO.TPETIME:
      return `the service ${service} did not answer in time`;
    case TPERRNO.TPGOTSIG:
      return 'cancelled by the caller';
    default:
      return `the call of ${service} failed`;
  }
}
