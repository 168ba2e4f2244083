// tpbegin, tpcommit, tpabort, tpsuspend, tpresume, tpcall, tpadvertise, tpunadvertise, tpreturn and the cancelling of what waits, as requests of a
// client.
import type { Clock } from '../base/clock.ts';
import { LIMIT, OP, TP_CMT, TPERRNO, TPFLAG } from '../../proto/codes.ts';
import type {
  Abort,
  Advertise,
  AskOutcome,
  Begin,
  Call,
  Cancel,
  Commit,
  CommitAt,
  ErrorReply,
  Forward,
  PrioCall,
  Resume,
  Return,
  Suspend,
  Unadvertise,
} from '../../proto/message.ts';
import { transactionBytes, transactionOf } from '../base/transaction-id.ts';
import type { Failure, Held } from '../engine/request.ts';
import type { Client } from './client.ts';
import { ClientCall } from './client-call.ts';
import { findTransaction, isOutstanding } from './joins.ts';
import { errorReply, HeldReply, LOG_FAILED, type ReplyPort } from './reply-port.ts';
import type { Services } from './services.ts';
import { Suspensions } from './suspensions.ts';
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
  private readonly suspensions: Suspensions;

  constructor(ports: AtmiPorts) {
    this.ports = ports;
    this.suspensions = new Suspensions(ports.transactions);
  }

  begin(client: Client, request: Begin): void {
    const transaction = this.ports.transactions.begin(client, request.timeoutS);
    if (transaction === null)
      return refuse(client, request.id, [TPERRNO.TPENOENT, 'MAXGTT transactions are open']);
    return client.port.send({
      op: OP.BEGIN,
      id: request.id,
      tx: transaction.number,
      transaction: transactionBytes(transaction.id),
    });
  }

  commit(client: Client, request: Commit | CommitAt): void {
    const { transactions } = this.ports;
    const when = request.op === OP.COMMITAT ? request.when : null;
    if (when !== null && when !== TP_CMT.TP_CMT_LOGGED && when !== TP_CMT.TP_CMT_COMPLETE) {
      const message = `when ${when}: legal are TP_CMT_LOGGED (1) and TP_CMT_COMPLETE (2)`;
      return refuse(client, request.id, [TPERRNO.TPEINVAL, message]);
    }
    const transaction = this.find(client, request);
    if (transaction === null) return;
    if (when !== null) transaction.commitReturn = when;
    // What a service that has not answered did, or will do, must not be half of it.
    if (transaction.calls.size > 0) transactions.spoil(transaction);
    const ending = transactions.commit(transaction);
    if (ending === null) {
      const message = 'the transaction timed out, failed or had calls outstanding: rolled back';
      const refusal = errorReply(request.id, TPERRNO.TPEABORT, message);
      return transaction.undone.hold(new HeldRefusal(client.port, refusal));
    }
    return ending.hold(new HeldCommit(client, request));
  }

  abort(client: Client, request: Abort): void {
    const transaction = this.find(client, request);
    if (transaction === null) return;
    const ending = this.ports.transactions.rollback(transaction);
    ending.hold(new HeldReply(client.port, { op: OP.ABORT, id: request.id }));
  }

  suspend(client: Client, { id, tx }: Suspend): void {
    const transaction = findTransaction(client, tx);
    if (transaction === undefined) return refuse(client, id, notOpen(tx));
    if (transaction.state !== 'active') return this.suspendLate(client, { id, transaction });
    if (isOutstanding(client, tx)) {
      return refuse(client, id, [TPERRNO.TPEPROTO, 'requests in the transaction have no answer yet']);
    }
    const joined = client.joined.get(tx);
    const tranid =
      joined === undefined
        ? this.suspensions.suspend(client, transaction)
        : this.suspensions.leave(client, tx, joined);
    return client.port.send({ op: OP.SUSPEND, id, tranid });
  }

  resume(client: Client, { id, tranid }: Resume): void {
    const resumed = this.suspensions.resume(client, tranid);
    if (typeof resumed === 'number') {
      const message =
        resumed === TPERRNO.TPEMATCH
          ? 'this transaction has been resumed already'
          : 'no suspended transaction of this client has this TPTRANID: it is unknown, has ended, or is of another client';
      return refuse(client, id, [resumed, message]);
    }
    const { deadline } = resumed.transaction;
    const left = deadline === null ? 0 : Math.max(1, Math.ceil(deadline.atMs - this.ports.clock.monoMs()));
    const timeoutMs = Number.isSafeInteger(left) ? left : 0;
    return client.port.send({
      op: OP.RESUME,
      id,
      tx: resumed.tx,
      timeoutMs,
      transaction: transactionBytes(resumed.transaction.id),
    });
  }

  /** What became of a transaction, for a client whose commit lost its answer; told when the answer is durable. */
  outcome(client: Client, { id, transaction }: AskOutcome): void {
    const { transactions } = this.ports;
    const outcome = transactions.outcomeOf(transactionOf(transaction));
    transactions.allDurable.hold(new HeldReply(client.port, { op: OP.OUTCOME, id, outcome }));
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
    const transaction = findTransaction(client, request.tx) ?? null;
    if (request.tx !== 0 && (request.flags & TPFLAG.TPNOTRAN) === 0) {
      const refusal = joinFault(request, transaction);
      if (refusal !== null) return refuse(client, request.id, refusal);
    }
    return this.ports.services.call(new ClientCall(client, request, { ...this.ports, transaction }));
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
    for (const { op, id } of client.backlog.splice(0)) {
      // The ids of these are the daemon's.
      if (op === OP.RETURN || op === OP.FORWARD) continue;
      refuse(client, id, [TPERRNO.TPGOTSIG, 'the connection ended while the request waited']);
    }
    this.ports.transactions.clientGone(client);
    this.ports.services.clientGone(client);
  }

  private find(client: Client, request: Commit | CommitAt | Abort): Transaction | null {
    const transaction = client.transactions.get(request.tx);
    if (transaction !== undefined) return transaction;
    const isJoined = client.joined.has(request.tx);
    refuse(client, request.id, isJoined ? [TPERRNO.TPEPROTO, PARTICIPANT] : notOpen(request.tx));
    return null;
  }

  /** What is to be suspended was rolled back already: its initiator is rid of it, a service in it goes on to its end. */
  private suspendLate(client: Client, { id, transaction }: { id: number; transaction: Transaction }): void {
    if (transaction.owner === client) this.ports.transactions.rollback(transaction);
    const refusal = errorReply(id, TPERRNO.TPEABORT, 'the transaction has been rolled back');
    transaction.undone.hold(new HeldRefusal(client.port, refusal));
  }
}

const PARTICIPANT = 'a service has joined this transaction: only who began it may commit or abort it';

function notOpen(tx: number): [Failure, string] {
  return [TPERRNO.TPEPROTO, `transaction ${tx} is not open on this connection`];
}

/** Why a call cannot go with the caller's transaction; null: it can. */
function joinFault(request: Call | PrioCall, transaction: Transaction | null): [Failure, string] | null {
  if ((request.flags & TPFLAG.TPNOREPLY) !== 0) {
    return [TPERRNO.TPEINVAL, 'TPNOREPLY in a transaction needs TPNOTRAN'];
  }
  if (transaction === null) return notOpen(request.tx);
  if (transaction.state === 'active') return null;
  return [
    TPERRNO.TPETIME,
    'the transaction timed out or failed and has been rolled back: end it with tpabort',
  ];
}

/** tpcommit's answer: when the log dies under it the outcome is not known [spec 3.3, TPETIME "outcome unknown" has no better code]. */
class HeldCommit implements Held {
  private readonly client: Client;
  private readonly id: number;
  private readonly op: (Commit | CommitAt)['op'];
  private readonly tx: number;
  constructor(client: Client, request: Commit | CommitAt) {
    this.client = client;
    this.id = request.id;
    this.op = request.op;
    this.tx = request.tx;
    client.committing.add(this.tx);
  }
  released(): void {
    this.client.committing.delete(this.tx);
    this.client.port.send({ op: this.op, id: this.id });
  }
  failed(): void {
    this.client.committing.delete(this.tx);
    this.client.port.send(errorReply(this.id, TPERRNO.TPESYSTEM, LOG_FAILED));
  }
}

/** The refusal of a transaction that was rolled back: held until that is durable, and true all the same when the log dies under it. */
class HeldRefusal implements Held {
  private readonly port: ReplyPort;
  private readonly reply: ErrorReply;
  constructor(port: ReplyPort, reply: ErrorReply) {
    this.port = port;
    this.reply = reply;
  }
  released(): void {
    this.port.send(this.reply);
  }
  failed(): void {
    this.released();
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
