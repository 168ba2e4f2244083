// tpbegin, tpcommit, tpabort, tpcall, tpadvertise, tpunadvertise, tpreturn and the cancelling of what waits, as requests of a client.
import type { Clock } from '../base/clock.ts';
import { LIMIT, OP, RVAL, TPERRNO, TPFLAG } from '../../proto/codes.ts';
import type {
  Abort,
  Advertise,
  Begin,
  Call,
  Cancel,
  Commit,
  Forward,
  PrioCall,
  Return,
  TypedData,
  Unadvertise,
} from '../../proto/message.ts';
import type { Failure, Held } from '../engine/request.ts';
import type { Client, Pending } from './client.ts';
import { errorReply, HeldReply, LOG_FAILED } from './reply-port.ts';
import type { PriorityWish } from './service-rules.ts';
import { ServiceCall, type Services } from './services.ts';
import type { Transaction, Transactions } from './transactions.ts';

export interface AtmiPorts {
  readonly clock: Clock;
  readonly transactions: Transactions;
  readonly services: Services;
  /** BLOCKTIME in milliseconds. */
  readonly blockTimeMs: number;
  /** Whether a name is offered by the daemon itself, e.g. by TMQUEUE. */
  readonly isOwnService: (name: string) => boolean;
}

const CALL_FLAGS =
  TPFLAG.TPNOTRAN |
  TPFLAG.TPNOREPLY |
  TPFLAG.TPNOBLOCK |
  TPFLAG.TPNOTIME |
  TPFLAG.TPSIGRSTRT |
  TPFLAG.TPNOCHANGE;

export class AtmiRequests {
  private readonly ports: AtmiPorts;

  constructor(ports: AtmiPorts) {
    this.ports = ports;
  }

  begin(client: Client, request: Begin): void {
    const transaction = this.ports.transactions.begin(client, request.timeoutS);
    if (transaction === null)
      return refuse(client, request.id, [TPERRNO.TPENOENT, 'MAXGTT transactions are open']);
    return client.port.send({ op: OP.BEGIN, id: request.id, tx: transaction.number });
  }

  commit(client: Client, request: Commit): void {
    const transaction = this.find(client, request);
    if (transaction === null) return;
    const ending = this.ports.transactions.commit(transaction);
    if (ending === null) {
      return refuse(client, request.id, [
        TPERRNO.TPEABORT,
        'the transaction timed out, failed or had calls outstanding: rolled back',
      ]);
    }
    const reply = new HeldCommit(client, request);
    ending.hold(reply);
  }

  abort(client: Client, request: Abort): void {
    const transaction = this.find(client, request);
    if (transaction === null) return;
    const ending = this.ports.transactions.rollback(transaction);
    const reply = new HeldReply(client.port, { op: OP.ABORT, id: request.id });
    ending.hold(reply);
  }

  cancel(client: Client, request: Cancel): void {
    const found = client.pending.get(request.target)?.cancel() ?? false;
    client.port.send({ op: OP.CANCEL, id: request.id, found });
  }

  call(client: Client, request: Call | PrioCall): void {
    const unknown = request.flags & ~CALL_FLAGS;
    if (unknown !== 0) {
      return refuse(client, request.id, [
        TPERRNO.TPEINVAL,
        `flags: tpcall does not take bit 0x${(unknown >>> 0).toString(16)}`,
      ]);
    }
    const fault = nameFault(request.service);
    if (fault !== null) return refuse(client, request.id, [TPERRNO.TPEINVAL, fault]);
    if (request.tx !== 0 && (request.flags & TPFLAG.TPNOTRAN) === 0) {
      if ((request.flags & TPFLAG.TPNOREPLY) !== 0) {
        const message = 'TPNOREPLY in a transaction needs TPNOTRAN';
        return refuse(client, request.id, [TPERRNO.TPEINVAL, message]);
      }
      const message = 'services do not join transactions in this release: call with TPNOTRAN';
      return refuse(client, request.id, [TPERRNO.TPETRAN, message]);
    }
    const call = new ClientCall(client, request, this.ports);
    client.pending.set(request.id, call);
    return this.ports.services.call(call);
  }

  advertise(client: Client, request: Advertise): void {
    const { services } = this.ports;
    const fault = advertiseFault(request.service);
    if (fault !== null) return refuse(client, request.id, [TPERRNO.TPEINVAL, fault]);
    if (this.ports.isOwnService(request.service)) {
      return refuse(client, request.id, [TPERRNO.TPEMATCH, `${request.service} is offered by TMQUEUE`]);
    }
    if (services.advertisedBy(client) >= LIMIT.ADVERTISED) {
      return refuse(client, request.id, [
        TPERRNO.TPELIMIT,
        `a connection advertises at most ${LIMIT.ADVERTISED} services`,
      ]);
    }
    services.advertise(client, request.service, request.concurrency);
    return client.port.send({ op: OP.ADVERTISE, id: request.id });
  }

  unadvertise(client: Client, request: Unadvertise): void {
    if (request.service === '')
      return refuse(client, request.id, [TPERRNO.TPEINVAL, 'the service name is empty']);
    if (!this.ports.services.unadvertise(client, request.service)) {
      return refuse(client, request.id, [
        TPERRNO.TPENOENT,
        `${request.service} is not advertised by this client`,
      ]);
    }
    return client.port.send({ op: OP.UNADVERTISE, id: request.id });
  }

  returned(client: Client, request: Return): void {
    this.ports.services.returned(client, request);
  }

  forward(client: Client, request: Forward): void {
    this.ports.services.forward(client, request);
  }

  /** Everything of a client whose connection ended, or that said goodbye, ends with it. */
  clientGone(client: Client): void {
    client.gone = true;
    // The waits first: what a transaction gives back must not be handed to the client that is gone.
    for (const pending of client.pending.values()) pending.cancel();
    client.pending.clear();
    for (const { id } of client.backlog.splice(0)) {
      refuse(client, id, [TPERRNO.TPGOTSIG, 'the connection ended while the request waited']);
    }
    this.ports.transactions.clientGone(client);
    this.ports.services.clientGone(client);
  }

  private find(client: Client, request: Commit | Abort): Transaction | null {
    const transaction = client.transactions.get(request.tx);
    if (transaction !== undefined) return transaction;
    refuse(client, request.id, [
      TPERRNO.TPEPROTO,
      `transaction ${request.tx} is not open on this connection`,
    ]);
    return null;
  }
}

/** tpcommit's answer: when the log dies under it the outcome is not known [spec 3.3, TPETIME "outcome unknown" has no better code]. */
class HeldCommit implements Held {
  private readonly client: Client;
  private readonly id: number;
  private readonly tx: number;
  constructor(client: Client, request: Commit) {
    this.client = client;
    this.id = request.id;
    this.tx = request.tx;
    client.committing.add(this.tx);
  }
  released(): void {
    this.client.committing.delete(this.tx);
    this.client.port.send({ op: OP.COMMIT, id: this.id });
  }
  failed(): void {
    this.client.committing.delete(this.tx);
    this.client.port.send(errorReply(this.id, TPERRNO.TPESYSTEM, LOG_FAILED));
  }
}

class ClientCall extends ServiceCall implements Pending {
  readonly service: string;
  readonly body: TypedData;
  readonly flags: number;
  override readonly wish: PriorityWish | null;
  override readonly mayNotWait: boolean;
  override readonly isOneWay: boolean;
  readonly identity: Client['identity'];
  readonly deadlineMs: number;
  private readonly client: Client;
  private readonly id: number;
  private readonly op: (Call | PrioCall)['op'];
  private readonly services: Services;

  constructor(client: Client, request: Call | PrioCall, ports: AtmiPorts) {
    super();
    this.client = client;
    this.id = request.id;
    this.op = request.op;
    this.flags = request.flags & TPFLAG.TPNOREPLY;
    this.wish = request.op === OP.PRIOCALL ? request : null;
    this.isOneWay = this.flags !== 0;
    this.mayNotWait = this.flags !== 0 && (request.flags & TPFLAG.TPNOBLOCK) !== 0;
    this.services = ports.services;
    this.service = request.service;
    this.body = request.body;
    this.identity = client.identity;
    // BLOCKTIME of the service, if it has one [spec 6.5].
    const blockTimeMs = ports.services.valuesOf(request.service).blockTimeS * 1000 || ports.blockTimeMs;
    const limits = [
      request.timeoutMs === 0 ? Infinity : request.timeoutMs,
      (request.flags & (TPFLAG.TPNOTIME | TPFLAG.TPNOBLOCK)) === 0 ? blockTimeMs : Infinity,
    ];
    this.deadlineMs = ports.clock.monoMs() + Math.min(...limits);
  }

  override sent(): void {
    this.answered(RVAL.TPSUCCESS, 0, { type: '', subtype: '', data: null });
  }
  answered(rval: number, rcode: number, body: TypedData): void {
    this.client.pending.delete(this.id);
    this.client.port.send({ op: this.op, id: this.id, rval, rcode, body });
  }
  failed(failure: Failure): void {
    this.client.pending.delete(this.id);
    refuse(this.client, this.id, [failure, explainCall(failure, this.service)]);
  }
  cancel(): boolean {
    return this.services.abandon(this, TPERRNO.TPGOTSIG);
  }
}

function explainCall(failure: Failure, service: string): string {
  switch (failure) {
    case TPERRNO.TPENOENT:
      return `no server offers the service ${service}`;
    case TPERRNO.TPESVCERR:
      return `the server of ${service} went away in mid-call, or passed the call on to where it could not go`;
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

/** [tpadvertise, spec 3.5] */
function advertiseFault(service: string): string | null {
  return service.startsWith('.') ? `${service}: names that start with "." are reserved` : nameFault(service);
}

function nameFault(service: string): string | null {
  if (service === '') return 'the service name is empty';
  const fits = Buffer.byteLength(service) <= LIMIT.TMQNAMELEN && !service.includes('\0');
  return fits ? null : `a service name has at most ${LIMIT.TMQNAMELEN} bytes and no NUL`;
}

function refuse(client: Client, id: number, refusal: [Failure, string]): void {
  client.port.send(errorReply(id, ...refusal));
}
