// A forwarder's call of the service that the queue is named after, on behalf of whoever enqueued the message, and the answer's way to the
// reply queue or the failure queue [spec 4.2]. Knows what is sent; must not know when.
import { LIMIT, QME, TPERRNO, TPFLAG, TPQ } from '../../proto/codes.ts';
import type { TypedData } from '../../proto/message.ts';
import { ServiceCall } from '../atmi/service-call.ts';
import type { Transaction } from '../atmi/transactions.ts';
import type { StoredMessage } from '../engine/message-record.ts';
import type { EnqueueRequest, Failure, Work } from '../engine/request.ts';
import type { MessageProperties } from '../queue/message.ts';
import { REASON, type Cause, type Reason } from '../queue/provenance.ts';

/** What a service returned. */
export interface Answer {
  readonly rval: number;
  readonly rcode: number;
  readonly body: TypedData;
}

/** Who calls. Exactly one of the three is called, once. */
export interface Caller {
  answered(call: ForwardCall, answer: Answer): void;
  /** A one-way call is with a server. */
  sent(call: ForwardCall): void;
  gaveUp(call: ForwardCall, failure: Failure): void;
}

export class ForwardCall extends ServiceCall {
  readonly service: string;
  readonly body: TypedData;
  readonly flags: number;
  readonly identity: { readonly cltid: Uint8Array; readonly appkey: number };
  readonly deadlineMs: number;
  override readonly priority: number | null;
  override readonly isOneWay: boolean;
  override readonly joins: Transaction | null;
  readonly message: StoredMessage;
  readonly transaction: Transaction;
  private readonly caller: Caller;

  constructor(
    caller: Caller,
    from: {
      qname: string;
      message: StoredMessage;
      transaction: Transaction;
      isOneWay: boolean;
      /** -n: the service takes no part in the transaction. */
      isOutside: boolean;
      /** Monotonic instant at which blocking ends, the transaction's own limit apart. */
      blockedUntilMs: number;
    },
  ) {
    super();
    this.caller = caller;
    this.message = from.message;
    this.transaction = from.transaction;
    this.isOneWay = from.isOneWay;
    this.joins = from.isOutside || from.isOneWay ? null : from.transaction;
    this.flags = from.isOneWay ? TPFLAG.TPNOREPLY : 0;
    const { properties, data } = from.message;
    this.service = from.qname;
    this.body = { type: properties.type, subtype: properties.subtype, data };
    this.identity = properties;
    this.priority = (properties.flags & TPQ.TPQPRIORITY) === 0 ? null : properties.priority;
    this.deadlineMs = Math.min(from.transaction.deadline?.atMs ?? Infinity, from.blockedUntilMs);
  }

  answered(rval: number, rcode: number, body: TypedData): void {
    this.caller.answered(this, { rval, rcode, body });
  }
  override sent(): void {
    this.caller.sent(this);
  }
  failed(failure: Failure): void {
    this.caller.gaveUp(this, failure);
  }
}

/** The enqueue of an answer. The corrid is the request's, the msgid its own; priority 50, no reply queue of its own; QOS as asked for replies. */
export function answerRequest(
  qname: string,
  { request, answer, work }: { request: MessageProperties; answer: Answer; work: Work },
): EnqueueRequest {
  const hasQos = (request.flags & TPQ.TPQREPLYQOS) !== 0;
  return {
    qname,
    work,
    terms: null,
    data: answer.body.data,
    properties: {
      flags: (request.corrid === null ? 0 : TPQ.TPQCORRID) | (hasQos ? TPQ.TPQDELIVERYQOS : 0),
      deliveryQos: hasQos ? request.replyQos : 0,
      replyQos: 0,
      priority: LIMIT.PRIORITY_DEFAULT,
      corrid: request.corrid,
      replyqueue: '',
      failurequeue: '',
      cltid: request.cltid,
      appkey: request.appkey,
      urcode: answer.rcode,
      type: answer.body.type,
      subtype: answer.body.subtype,
    },
  };
}

const REASONS = new Map<Failure, Reason>([
  [TPERRNO.TPENOENT, REASON.NO_SERVICE],
  [TPERRNO.TPESVCFAIL, REASON.SERVICE_FAILED],
  [TPERRNO.TPESVCERR, REASON.SERVICE_ERROR],
  [TPERRNO.TPETIME, REASON.SERVICE_TIMEOUT],
]);

/** Why a message was not forwarded, for whoever finds it on the error queue. `rcode`: of the service's answer, 0 without one. */
export function causeOf(failure: Failure, rcode: number): Cause {
  // A diagnostic is the reply queue's.
  return { reason: failure < 0 ? REASON.REPLY : (REASONS.get(failure) ?? REASON.CALL), code: failure, rcode };
}

/** The same for the log. */
export function reasonOf(failure: Failure, service: string): string {
  switch (failure) {
    case TPERRNO.TPENOENT:
      return `no server offers the service ${service}`;
    case TPERRNO.TPESVCFAIL:
      return `the service ${service} said that it failed`;
    case TPERRNO.TPESVCERR:
      return `the server of ${service} broke or went away`;
    case TPERRNO.TPETIME:
      return `the service ${service} did not answer within -t or -b`;
    case QME.QMENOSPACE:
      return 'there is no room for the reply';
    case QME.QMESHARE:
      return 'the queue of the reply takes nothing at the moment';
    default:
      return `the call of ${service} or its reply failed`;
  }
}
