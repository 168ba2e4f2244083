// One tpdequeue of a client on its way through the engine: how long it may wait, what it accepts, and its one answer.
import { OP, QME, TPFLAG, TPQ, TPERRNO } from '../../proto/codes.ts';
import type { Dequeue } from '../../proto/message.ts';
import { dequeueOutputFlags, selectsCorrid, selectsMsgid } from '../../proto/qctl.ts';
import type { Client, Pending } from '../atmi/client.ts';
import { errorReply, HeldReply } from '../atmi/reply-port.ts';
import type { Transaction, Transactions } from '../atmi/transactions.ts';
import type { StoredMessage } from '../engine/message-record.ts';
import { DequeueRequest, type BatchNumber, type Failure, type Work } from '../engine/request.ts';
import type { Selection } from '../queue/decide.ts';
import { msgidBytes } from '../queue/message.ts';
import type { ServedSpace } from './tmqueue.ts';

export interface DequeueTarget {
  readonly client: Client;
  readonly served: ServedSpace;
  readonly qname: string;
  readonly transactions: Transactions;
  /** The transaction that the call is part of, or null. */
  readonly transaction: Transaction | null;
  readonly work: Work | null;
  /** When waiting ends, and how it is then answered. */
  readonly limit: { readonly deadlineMs: number; readonly failure: Failure };
}

export class DequeueJob extends DequeueRequest implements Pending {
  readonly qname: string;
  readonly selection: Selection;
  readonly work: Work | null;
  readonly peek: boolean;
  readonly wait: boolean;
  readonly deadlineMs: number;
  readonly timeoutFailure: Failure;
  /** The number of the transaction that it is part of; 0: none. */
  readonly tx: number;
  private readonly request: Dequeue;
  private readonly target: DequeueTarget;
  private readonly flags: number;

  constructor(request: Dequeue, target: DequeueTarget) {
    super();
    const flags = request.ctl?.flags ?? TPQ.TPNOFLAGS;
    this.request = request;
    this.target = target;
    this.flags = flags;
    this.qname = target.qname;
    this.selection = {
      msgid: selectsMsgid(flags) ? copyOf(request.ctl?.msgid) : null,
      corrid: selectsCorrid(flags) ? copyOf(request.ctl?.corrid) : null,
    };
    this.peek = (flags & TPQ.TPQPEEK) !== 0;
    this.wait = (flags & TPQ.TPQWAIT) !== 0;
    this.work = target.work;
    this.tx = target.transaction === null ? 0 : request.tx;
    this.deadlineMs = target.limit.deadlineMs;
    this.timeoutFailure = target.limit.failure;
  }

  accepts(type: string, subtype: string): boolean {
    if ((this.request.flags & TPFLAG.TPNOCHANGE) === 0 || type === '') return true;
    return type === this.request.type && subtype === this.request.subtype;
  }

  taken(message: StoredMessage, batch: BatchNumber): void {
    const { client, served } = this.target;
    client.pending.delete(this.request.id);
    const { properties } = message;
    const flags = dequeueOutputFlags(this.flags, properties.flags);
    served.engine.hold(
      batch,
      new HeldReply(client.port, {
        op: OP.DEQUEUE,
        id: this.request.id,
        ctl: {
          flags,
          priority: properties.priority,
          msgid: (flags & TPQ.TPQMSGID) === 0 ? null : msgidBytes(served.engine.space.spaceId, message.id),
          corrid: properties.corrid,
          replyqueue: properties.replyqueue,
          failurequeue: properties.failurequeue,
          cltid: properties.cltid,
          urcode: properties.urcode,
          appkey: properties.appkey,
          deliveryQos: properties.deliveryQos,
          replyQos: properties.replyQos,
        },
        body: { type: properties.type, subtype: properties.subtype, data: message.data },
      }),
    );
  }

  refused(failure: Failure, batch: BatchNumber): void {
    const { client, served, transaction, transactions } = this.target;
    client.pending.delete(this.request.id);
    if (transaction !== null) transactions.failed(transaction, failure);
    const reply = errorReply(this.request.id, failure, this.explain(failure));
    served.engine.hold(batch, new HeldReply(client.port, reply));
  }

  cancel(): boolean {
    return this.target.served.engine.cancel(this, TPERRNO.TPGOTSIG);
  }

  private explain(failure: Failure): string {
    const where = `queue ${this.qname} of ${this.target.served.name}`;
    switch (failure) {
      case QME.QMENOMSG:
        return `no message on ${where}${(this.selection.msgid ?? this.selection.corrid) ? ' with that id' : ''}`;
      case QME.QMESHARE:
        return `dequeue from ${where} is paused by the administrator`;
      case QME.QMEBADQUEUE:
        return noQueue(this.target.served, this.qname);
      case QME.QMEBADMSGID:
        return 'these 32 bytes cannot be a msgid of this queue space';
      case TPERRNO.TPEOTYPE:
        return `the next message on ${where} has another buffer type than TPNOCHANGE allows; it stays`;
      case TPERRNO.TPETIME:
        return `the time for this call ran out while it waited on ${where}`;
      case TPERRNO.TPGOTSIG:
        return 'cancelled by the caller';
      case QME.QMEABORTED:
        return `${where}: the queue was destroyed, the daemon is stopping, or the transaction ended`;
      case QME.QMEOS:
        return `a message on ${where} could not be read; see the daemon's log`;
      case QME.QMESYSTEM:
        return (
          `queue space ${this.target.served.name} has no action free for another waiting dequeue, ` +
          `no free transaction, or its log failed; see the daemon's log`
        );
      default:
        return `queue space ${this.target.served.name} cannot answer; see the daemon's log`;
    }
  }
}

/** Why nothing can be done with a queue of that name here. */
export function noQueue({ engine, name }: ServedSpace, qname: string): string {
  const isThere = engine.space.queue(qname)?.isAq === true;
  if (isThere)
    return `queue ${qname} of ${name} is one of the AQ dialect: it takes the requests of that alone`;
  return `there is no queue ${qname} in queue space ${name}`;
}

/** The frame that a view points into is gone when a parked request is looked at again. */
function copyOf(bytes: Uint8Array | null | undefined): Uint8Array {
  return Uint8Array.prototype.slice.call(bytes ?? new Uint8Array(32));
}
