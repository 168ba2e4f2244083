// tpenqueue and tpdequeue as requests of a client: names → space, flags and TPQCTL checked in the documented order, transaction looked up,
// then a command for one engine [spec 1.6, 2.2 to 2.5]. What it answers waits in the engine until it may leave.
import type { Clock } from '../base/clock.ts';
import { LIMIT, OP, QME, TPFLAG, TPQ, TPERRNO } from '../../proto/codes.ts';
import type { Bind, Dequeue, Enqueue, QctlIn, QueueNames, QueueRef } from '../../proto/message.ts';
import { emptyQctl } from '../../proto/qctl.ts';
import type { Client } from '../atmi/client.ts';
import { findTransaction } from '../atmi/joins.ts';
import { errorReply, HeldReply } from '../atmi/reply-port.ts';
import type { Transaction, Transactions } from '../atmi/transactions.ts';
import type { EnqueueOutcome, EnqueueRequest, Failure, Work } from '../engine/request.ts';
import type { EnqueueTerms } from '../queue/command.ts';
import { CLOCK } from '../queue/event.ts';
import { msgidBytes, type MessageProperties } from '../queue/message.ts';
import { checkCallFlags, checkCtl, checkNames, type Refusal } from './checks.ts';
import { DequeueJob, noQueue } from './dequeue-job.ts';
import type { ServedSpace, Tmqueue } from './tmqueue.ts';

/** Bits that are remembered with a message as "was set" [spec 1.4]. */
const STORED_FLAGS =
  TPQ.TPQPRIORITY | TPQ.TPQCORRID | TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ | TPQ.TPQDELIVERYQOS | TPQ.TPQREPLYQOS;
/** Bits that say when and where, and end with the enqueue. */
const TIME_BITS = TPQ.TPQTIME_ABS | TPQ.TPQTIME_REL;
const EXPIRY_BITS = TPQ.TPQEXPTIME_ABS | TPQ.TPQEXPTIME_REL | TPQ.TPQEXPTIME_NONE;
const POSITION_BITS = TPQ.TPQTOP | TPQ.TPQBEFOREMSGID;

export interface QueueRequestPorts {
  readonly clock: Clock;
  readonly tmqueue: Tmqueue;
  readonly transactions: Transactions;
  /** BLOCKTIME in milliseconds. */
  readonly blockTimeMs: number;
  /** Whether an application server offers a service of this name. */
  readonly isService: (name: string) => boolean;
}

/** Where a request works: space, queue and transaction, or why not. */
interface Place {
  readonly served: ServedSpace;
  readonly qname: string;
  readonly transaction: Transaction | null;
  readonly work: Work | null;
  /** The caller's transaction when TPNOTRAN keeps the call out of it: its time limit still counts [spec 2.2]. */
  readonly outer: Transaction | null;
}

export class QueueRequests {
  private readonly ports: QueueRequestPorts;

  constructor(ports: QueueRequestPorts) {
    this.ports = ports;
  }

  bind(client: Client, request: Bind): void {
    const { bindings, port } = client;
    const fault = checkNames(request.qspace, request.qname);
    if (fault !== null) return refuse(client, request.id, fault);
    let handle = bindings.findIndex(
      (names) => names.qspace === request.qspace && names.qname === request.qname,
    );
    if (handle < 0) {
      if (bindings.length >= LIMIT.BINDINGS) {
        const message = `a connection binds at most ${LIMIT.BINDINGS} queues`;
        return port.send(errorReply(request.id, TPERRNO.TPELIMIT, message));
      }
      handle = bindings.push({ qspace: request.qspace, qname: request.qname }) - 1;
    }
    return port.send({ op: OP.BIND, id: request.id, handle });
  }

  enqueue(client: Client, request: Enqueue): void {
    const ctl = request.ctl ?? NO_CTL;
    const place = this.place(client, request, ctl);
    if ('failure' in place) return refuse(client, request.id, place);
    return this.put(client, request, {
      place,
      enqueue: {
        qname: place.qname,
        properties: propertiesOf(client, request, ctl),
        terms: termsOf(ctl),
        data: request.body.data,
        work: place.work,
      },
    });
  }

  dequeue(client: Client, request: Dequeue): void {
    const ctl = request.ctl ?? NO_CTL;
    const place = this.place(client, request, ctl);
    if ('failure' in place) return refuse(client, request.id, place);
    const { served, transaction } = place;
    const job = new DequeueJob(request, {
      client,
      served,
      qname: place.qname,
      transactions: this.ports.transactions,
      transaction,
      work: place.work,
      limit: this.waitLimit(request, place),
    });
    if (job.wait) client.pending.set(request.id, job);
    return served.engine.dequeue(job);
  }

  private put(
    client: Client,
    request: Enqueue,
    { place, enqueue }: { place: Place; enqueue: EnqueueRequest },
  ): void {
    const { engine } = place.served;
    const outcome = engine.enqueue(enqueue);
    if (outcome.later && (request.flags & TPFLAG.TPNOBLOCK) !== 0) {
      const message = `room is being prepared in queue space ${place.served.name}, and TPNOBLOCK was given`;
      return refuse(client, request.id, { failure: TPERRNO.TPEBLOCK, message });
    }
    if (outcome.later) return this.putLater(client, request, { place, enqueue });
    if (outcome.code !== QME.OK) {
      const { transactions } = this.ports;
      if (place.transaction !== null) transactions.failed(place.transaction, outcome.code);
      const refusal = errorReply(request.id, outcome.code, explainEnqueue(outcome, place));
      return engine.hold(outcome.batch, new HeldReply(client.port, refusal));
    }
    const wanted = ((request.ctl?.flags ?? 0) & TPQ.TPQMSGID) !== 0;
    const msgid = wanted && outcome.id !== null ? msgidBytes(engine.space.spaceId, outcome.id) : null;
    engine.hold(outcome.batch, new HeldReply(client.port, { op: OP.ENQUEUE, id: request.id, msgid }));
  }

  /** There is no room yet: nothing else of this client overtakes the request meanwhile. */
  private putLater(
    client: Client,
    request: Enqueue,
    waiting: { place: Place; enqueue: EnqueueRequest },
  ): void {
    const { place } = waiting;
    let cancelled = false;
    client.pending.set(request.id, {
      tx: place.transaction === null ? 0 : request.tx,
      cancel: () => {
        if (cancelled) return false;
        cancelled = true;
        refuse(client, request.id, {
          failure: TPERRNO.TPGOTSIG,
          message: 'cancelled while it waited for room',
        });
        return true;
      },
    });
    client.block();
    place.served.engine.whenRoom(() => {
      client.pending.delete(request.id);
      const isOver = place.transaction !== null && place.transaction.state !== 'active';
      if (!cancelled && isOver) refuse(client, request.id, rollbackOnly());
      else if (!cancelled) this.put(client, request, waiting);
      // It may have to wait again.
      if (!client.pending.has(request.id)) client.unblock();
    });
  }

  /** The checks of spec 1.6 in their order; what is left to the engine is the queue and the resources. */
  private place(client: Client, request: Enqueue | Dequeue, ctl: QctlIn): Place | Refusal {
    const side = request.op === OP.ENQUEUE ? 'enqueue' : 'dequeue';
    const names = namesOf(client, request.queue);
    if (names === null)
      return {
        failure: TPERRNO.TPEINVAL,
        message: `this queue handle was not bound on this connection`,
      };
    const refusal =
      checkNames(names.qspace, names.qname) ?? checkCallFlags(request.flags, side) ?? checkCtl(ctl, side);
    if (refusal !== null) return refusal;
    const served = this.ports.tmqueue.find(names.qspace);
    if (served === undefined) return this.notServed(names.qspace);
    const { qname } = names;
    if (request.tx === 0) return { served, qname, transaction: null, work: null, outer: null };
    const transaction = findTransaction(client, request.tx);
    // A peek is as with TPNOTRAN: it enlists no branch and spoils no transaction [spec 2.3, 4.3].
    const isPeek = side === 'dequeue' && (ctl.flags & TPQ.TPQPEEK) !== 0;
    if (isPeek || (request.flags & TPFLAG.TPNOTRAN) !== 0) {
      return { served, qname, transaction: null, work: null, outer: transaction ?? null };
    }
    if (transaction === undefined) {
      return client.committing.has(request.tx) ? committing(request.tx) : noTransaction(request.tx);
    }
    if (transaction.state !== 'active') return rollbackOnly();
    if (served.engine.space.queue(qname) === undefined) {
      return {
        failure: QME.QMEBADQUEUE,
        message: `there is no queue ${qname} in queue space ${served.name}`,
      };
    }
    const work = this.ports.transactions.enlist(transaction, served.engine);
    if ('failure' in work) return work;
    return { served, qname, transaction, work, outer: null };
  }

  /** No space to work on: not open, no queue space at all, or nothing of that name [spec 1.3, 1.6]. */
  private notServed(qspace: string): Refusal {
    const closed = this.ports.tmqueue.findClosed(qspace);
    if (closed !== undefined) {
      const message = `queue space ${closed.name} is not open: ${closed.reason}`;
      return { failure: QME.QMENOTOPEN, message };
    }
    if (this.ports.isService(qspace)) {
      return {
        failure: QME.QMEBADRMID,
        message: `the service ${qspace} is no queue space: no TMQUEUE offers it`,
      };
    }
    return { failure: TPERRNO.TPENOENT, message: `no TMQUEUE offers a queue space ${qspace}` };
  }

  /** How long TPQWAIT may last [spec 2.5]: `-t`, BLOCKTIME and the caller's own limit outside a transaction; inside, its timeout. */
  private waitLimit(request: Dequeue, place: Place): { deadlineMs: number; failure: Failure } {
    const now = this.ports.clock.monoMs();
    let limit = { deadlineMs: Infinity, failure: QME.QMENOMSG as Failure };
    const sooner = (deadlineMs: number, failure: Failure) => {
      if (deadlineMs < limit.deadlineMs) limit = { deadlineMs, failure };
    };
    if (request.waitMs > 0) sooner(now + request.waitMs, QME.QMENOMSG);
    if (place.transaction === null) {
      sooner(now + place.served.timeoutMs, QME.QMENOMSG);
      if (place.outer !== null && place.outer.deadline !== null)
        sooner(place.outer.deadline.atMs, TPERRNO.TPETIME);
      if ((request.flags & TPFLAG.TPNOTIME) === 0) sooner(now + this.ports.blockTimeMs, TPERRNO.TPETIME);
    }
    return limit;
  }
}

const NO_CTL: QctlIn = emptyQctl();

function propertiesOf(client: Client, request: Enqueue, ctl: QctlIn): MessageProperties {
  const flags = ctl.flags & STORED_FLAGS;
  return {
    flags,
    priority: (flags & TPQ.TPQPRIORITY) === 0 ? LIMIT.PRIORITY_DEFAULT : ctl.priority,
    corrid: (flags & TPQ.TPQCORRID) === 0 ? null : ctl.corrid,
    replyqueue: (flags & TPQ.TPQREPLYQ) === 0 ? '' : ctl.replyqueue,
    failurequeue: (flags & TPQ.TPQFAILUREQ) === 0 ? '' : ctl.failurequeue,
    cltid: client.identity.cltid,
    appkey: client.identity.appkey,
    urcode: ctl.urcode,
    type: request.body.type,
    subtype: request.body.subtype,
    deliveryQos: (flags & TPQ.TPQDELIVERYQOS) === 0 ? 0 : ctl.deliveryQos,
    replyQos: (flags & TPQ.TPQREPLYQOS) === 0 ? 0 : ctl.replyQos,
  };
}

function termsOf(ctl: QctlIn): EnqueueTerms | null {
  const { flags, deqTime, expTime, msgid } = ctl;
  if ((flags & (TIME_BITS | EXPIRY_BITS | POSITION_BITS)) === 0) return null;
  const timed = (bits: number, abs: number, seconds: number) =>
    (flags & bits) === 0 ? null : { clock: (flags & abs) === 0 ? CLOCK.SPACE : CLOCK.WALL, seconds };
  const isNever = (flags & TPQ.TPQEXPTIME_NONE) !== 0;
  // The frame that a view points into is gone when a request that waited for room is looked at again.
  const before = msgid === null ? null : Uint8Array.prototype.slice.call(msgid);
  return {
    availability: timed(TIME_BITS, TPQ.TPQTIME_ABS, deqTime),
    expiry: isNever ? 'none' : timed(EXPIRY_BITS, TPQ.TPQEXPTIME_ABS, expTime),
    position: (flags & TPQ.TPQTOP) !== 0 ? 'top' : (flags & TPQ.TPQBEFOREMSGID) === 0 ? null : before,
  };
}

function namesOf(client: Client, queue: QueueRef): QueueNames | null {
  return typeof queue === 'number' ? (client.bindings[queue] ?? null) : queue;
}

function refuse(client: Client, id: number, refusal: Refusal): void {
  client.port.send(errorReply(id, refusal.failure, refusal.message));
}

function noTransaction(tx: number): Refusal {
  return { failure: TPERRNO.TPEPROTO, message: `transaction ${tx} is not open on this connection` };
}

function committing(tx: number): Refusal {
  return { failure: QME.QMEPROTO, message: `transaction ${tx} is being committed and takes no more work` };
}

function rollbackOnly(): Refusal {
  return {
    failure: TPERRNO.TPETIME,
    message: 'the transaction timed out or failed and has been rolled back: end it with tpabort',
  };
}

function explainEnqueue(outcome: EnqueueOutcome, place: Place): string {
  const { name } = place.served;
  if (outcome.code === QME.QMEBADQUEUE) return noQueue(place.served, place.qname);
  const where = `queue ${place.qname} of ${name}`;
  switch (outcome.code) {
    case QME.QMENOSPACE:
      return (
        `queue space ${name} has no room for this message: disk, the limits of the space (pages, messages, transactions, ` +
        'memory for non-persistent ones) or those of one transaction'
      );
    case QME.QMESHARE:
      return `enqueue to ${where} is paused by the administrator`;
    case QME.QMEINVAL:
      return `${where} does not allow TPQTOP or TPQBEFOREMSGID (its out-of-order setting)`;
    case QME.QMEBADMSGID:
      return `TPQBEFOREMSGID: there is no such message on ${where}`;
    case QME.QMEABORTED:
      return 'the daemon is stopping';
    default:
  }
  return `queue space ${name} cannot answer; see the daemon's log`;
}
