// One forwarder of a TMQFORWARD server [TMQFORWARD(5), spec 4.2]: take a message out in a transaction, call the service that its queue is
// named after, queue the reply, commit. Built on nothing but what any client has: transactions, dequeue, call, enqueue. Invariants: one
// message at a time; whatever happens, its transaction is ended; the service is called only when the message is durable.
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { LIMIT, QME, RVAL, TPERRNO, TPQ } from '../../proto/codes.ts';
import type { TypedData } from '../../proto/message.ts';
import { failureName } from '../atmi/reply-port.ts';
import { ServiceCall, type Services } from '../atmi/services.ts';
import type { Transaction, Transactions } from '../atmi/transactions.ts';
import type { StoredMessage } from '../engine/message-record.ts';
import {
  DequeueRequest,
  type BatchNumber,
  type EnqueueOutcome,
  type Failure,
  type Work,
} from '../engine/request.ts';
import type { Soon } from '../engine/journal.ts';
import type { SpaceEngine } from '../engine/space-engine.ts';
import type { Selection } from '../queue/decide.ts';
import { msgidBytes, type MessageProperties } from '../queue/message.ts';
import type { Deadline, TimerQueue } from '../base/timer-queue.ts';
import type { Ulog } from '../base/ulog.ts';

export interface ForwarderPorts {
  readonly clock: Clock;
  readonly timers: TimerQueue;
  readonly engine: SpaceEngine;
  readonly services: Services;
  readonly transactions: Transactions;
  readonly ulog: Ulog;
  readonly soon: Soon;
}

export interface ForwarderOptions {
  readonly queues: readonly string[];
  /** `-t`: time for dequeue, call and reply, in seconds. */
  readonly timeoutS: number;
  /** `-i`: the fallback scan of idle queues, in seconds; arrivals wake it anyway. */
  readonly idleS: number;
  /** Whether a queue may be drained yet. */
  readonly mayDrain: (qname: string) => boolean;
}

/** Shared by the forwarders of one server. */
export interface ForwardCounters {
  forwarded: number;
  failed: number;
}

/** After a failure that would come back at once, e.g. no space for a reply: milliseconds before the next message is tried. */
const FAILURE_PAUSE_MS = 1000;
/** While none of its queues may be drained, a forwarder looks again this often; it is told when a service appears or a queue changes. */
const ABSENT_PAUSE_MS = 5000;
const ANYTHING: Selection = { msgid: null, corrid: null };

export class Forwarder {
  private readonly ports: ForwarderPorts;
  private readonly options: ForwarderOptions;
  private readonly counters: ForwardCounters;
  /** Requests parked on the queues while idle. */
  private parked: Take[] = [];
  private transaction: Transaction | null = null;
  /** The message under way. */
  private under: ForwardCall | null = null;
  /** Where the round over the queues stands, so that a busy queue does not starve the others. */
  private turn = 0;
  private scheduled = false;
  /** Queues that do not exist: each is said once. */
  private readonly missing = new Set<string>();
  private paused: Deadline | null = null;
  private stopped = false;

  constructor(ports: ForwarderPorts, options: ForwarderOptions, counters: ForwardCounters) {
    this.ports = ports;
    this.options = options;
    this.counters = counters;
  }

  /** Begins, or looks again at all queues, e.g. because one more may be drained now. */
  scan(): void {
    if (this.isBusy || this.stopped) return;
    this.endPause();
    this.unpark();
    this.end();
    this.next();
  }

  /** Takes nothing more; a message under way may still finish. */
  stop(): void {
    this.stopped = true;
    this.endPause();
    this.unpark();
    if (!this.isBusy) this.end();
  }

  /** A message is under way: locked, at the service, or being answered. */
  get isBusy(): boolean {
    return this.under !== null;
  }

  /** The next round, at the end of the loop's turn: a service that fails at once must not recurse. */
  private next(): void {
    if (this.scheduled || this.stopped) return;
    this.scheduled = true;
    this.ports.soon(() => {
      this.scheduled = false;
      this.pass();
    });
  }

  /** One round over the queues; what is found is forwarded, and when all are empty the forwarder parks on all of them. */
  private pass(): void {
    const { engine, transactions } = this.ports;
    if (this.stopped || this.isBusy || this.transaction !== null || engine.journal.failure !== null) return;
    const queues = this.options.queues.filter((qname) => this.options.mayDrain(qname) && this.isOpen(qname));
    if (queues.length === 0) return this.pause(ABSENT_PAUSE_MS);
    const transaction = transactions.beginOwn();
    const work = transactions.enlist(transaction, engine);
    assert(work !== null, 'a new transaction works nowhere else');
    this.transaction = transaction;
    for (let i = 0; i < queues.length; i++) {
      const qname = queues[(this.turn + i) % queues.length] as string;
      const take = new Take({ forwarder: this, qname, work, deadlineMs: null });
      engine.dequeue(take);
      if (take.state === 'taken') return undefined;
      // The message is on its way from disk: it decides how this round ends.
      if (take.state === 'waiting') return void this.parked.push(take);
    }
    return this.park(queues, work);
  }

  private park(queues: readonly string[], work: Work): void {
    const deadlineMs = this.ports.clock.monoMs() + Math.max(1, this.options.idleS) * 1000;
    for (const qname of queues) {
      const take = new Take({ forwarder: this, qname, work, deadlineMs });
      this.parked.push(take);
      this.ports.engine.dequeue(take);
      // Refused at once, with nothing parked yet, it ended the round and its transaction.
      if (take.state === 'taken' || this.transaction === null) return;
    }
  }

  private unpark(): void {
    for (const take of this.parked.splice(0)) this.ports.engine.cancel(take, QME.QMEABORTED);
  }

  /** Whether something may be taken from the queue: it exists, and is not paused. Whatever changes that calls `scan`. */
  private isOpen(qname: string): boolean {
    const queue = this.ports.engine.space.queue(qname);
    if (queue !== undefined) {
      this.missing.delete(qname);
      return !queue.attributes.dequeuePaused;
    }
    if (!this.missing.has(qname)) this.ports.ulog.warn('TMQFORWARD: no such queue', { queue: qname });
    this.missing.add(qname);
    return false;
  }

  /** Called by a Take: it has a message, locked by the forwarder's transaction. */
  took(take: Take, message: StoredMessage, batch: BatchNumber): void {
    const { transaction } = this;
    assert(transaction !== null, 'a forwarder takes in a transaction');
    // The first to find something decides; what the others might have found stays where it is.
    this.parked = this.parked.filter((other) => other !== take);
    this.unpark();
    this.turn++;
    this.ports.transactions.arm(transaction, this.options.timeoutS);
    const call = new ForwardCall({ forwarder: this, take, message, transaction });
    this.under = call;
    this.ports.engine.hold(batch, { released: () => this.ports.services.call(call), failed: () => {} });
  }

  /** Called by a Take: nothing there in time, or it was cancelled. When the last one of a round ends, the next round begins. */
  refused(take: Take, failure: Failure): void {
    const at = this.parked.indexOf(take);
    if (at < 0) return;
    this.parked.splice(at, 1);
    if (this.parked.length > 0 || this.isBusy) return;
    this.end();
    // A failure that would come back at once must not turn into a busy loop.
    if (failure === QME.QMENOMSG) this.next();
    else this.pause(FAILURE_PAUSE_MS);
  }

  /** The service answered: the reply is queued and the request is gone, in one commit; or the retry rules take over. */
  answered(call: ForwardCall, outcome: { rval: number; rcode: number; body: TypedData }): void {
    const { transaction, message } = call;
    if (transaction.state !== 'active') return this.gaveUp(call, TPERRNO.TPETIME);
    if (outcome.rval !== RVAL.TPSUCCESS) return this.gaveUp(call, TPERRNO.TPESVCFAIL);
    const { replyqueue } = message.properties;
    if (replyqueue !== '' && transaction.work !== null) {
      const reply = this.queueReply(transaction.work, message.properties, outcome);
      // Room is being prepared: the answer is kept and tried again, the service is not.
      if (reply.later) return this.ports.engine.whenRoom(() => this.answered(call, outcome));
      if (reply.code !== QME.OK) return this.gaveUp(call, reply.code);
    }
    this.ports.transactions.commit(transaction);
    this.counters.forwarded++;
    return this.done();
  }

  /** The call failed: rollback by the retry rules [spec 2.6], then on. */
  gaveUp(call: ForwardCall, failure: Failure): void {
    this.counters.failed++;
    const { engine } = this.ports;
    this.ports.ulog.warn(
      `TMQFORWARD: ${failureName(failure)}: ${reasonOf(failure, call.service)}; the message goes back by the retry rules`,
      {
        service: call.service,
        msgid: Buffer.from(msgidBytes(engine.space.spaceId, call.message.id)).toString(),
      },
    );
    this.ports.transactions.rollback(call.transaction);
    // A full space or a paused reply queue stays so for a while: attempts are not to be used up meanwhile.
    if (failure === QME.QMENOSPACE || failure === QME.QMESHARE) this.pause(FAILURE_PAUSE_MS);
    this.done();
  }

  private done(): void {
    this.under = null;
    this.transaction = null;
    if (this.paused === null) this.next();
  }

  /** [spec 4.2, success]. The corrid is the request's, the msgid its own; priority 50, no reply queue of its own; QOS as asked for replies. */
  private queueReply(
    work: Work,
    request: MessageProperties,
    reply: { rcode: number; body: TypedData },
  ): Pick<EnqueueOutcome, 'code' | 'later'> {
    const { engine, ulog } = this.ports;
    const hasQos = (request.flags & TPQ.TPQREPLYQOS) !== 0;
    const outcome = engine.enqueue({
      qname: request.replyqueue,
      work,
      terms: null,
      data: reply.body.data,
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
        urcode: reply.rcode,
        type: reply.body.type,
        subtype: reply.body.subtype,
      },
    });
    if (outcome.code === QME.QMEBADQUEUE) {
      // Still a success: the existence of a reply queue is tested only when it is used [spec 1.6, 4.2].
      ulog.warn('TMQFORWARD: the reply queue does not exist: reply dropped', {
        replyqueue: request.replyqueue,
      });
      return { code: QME.OK, later: false };
    }
    return outcome;
  }

  private end(): void {
    if (this.transaction !== null) this.ports.transactions.rollback(this.transaction);
    this.transaction = null;
  }

  private pause(ms: number): void {
    this.paused ??= this.ports.timers.set(this.ports.clock.monoMs() + ms, () => {
      this.paused = null;
      this.next();
    });
  }

  private endPause(): void {
    if (this.paused !== null) this.ports.timers.cancel(this.paused);
    this.paused = null;
  }
}

function reasonOf(failure: Failure, service: string): string {
  switch (failure) {
    case TPERRNO.TPENOENT:
      return `no server offers the service ${service}`;
    case TPERRNO.TPESVCFAIL:
      return `the service ${service} said that it failed`;
    case TPERRNO.TPESVCERR:
      return `the server of ${service} broke or went away`;
    case TPERRNO.TPETIME:
      return `the service ${service} did not answer within -t`;
    case QME.QMENOSPACE:
      return 'there is no room for the reply';
    case QME.QMESHARE:
      return 'the reply queue is paused for enqueue';
    default:
      return `the call of ${service} or its reply failed`;
  }
}

/** A forwarder's dequeue from one of its queues. */
class Take extends DequeueRequest {
  readonly qname: string;
  readonly selection = ANYTHING;
  readonly work: Work;
  readonly peek = false;
  readonly wait: boolean;
  readonly deadlineMs: number;
  readonly timeoutFailure = QME.QMENOMSG;
  override readonly needsAction = false;
  state: 'waiting' | 'taken' | 'refused' = 'waiting';
  private readonly forwarder: Forwarder;

  constructor(from: { forwarder: Forwarder; qname: string; work: Work; deadlineMs: number | null }) {
    super();
    this.forwarder = from.forwarder;
    this.qname = from.qname;
    this.work = from.work;
    this.wait = from.deadlineMs !== null;
    this.deadlineMs = from.deadlineMs ?? Infinity;
  }

  accepts(): boolean {
    return true;
  }
  taken(message: StoredMessage, batch: BatchNumber): void {
    this.state = 'taken';
    this.forwarder.took(this, message, batch);
  }
  refused(failure: Failure): void {
    this.state = 'refused';
    this.forwarder.refused(this, failure);
  }
}

/** A forwarder's call of the service that the queue is named after. */
class ForwardCall extends ServiceCall {
  readonly service: string;
  readonly body: TypedData;
  readonly flags = 0;
  readonly identity: { readonly cltid: Uint8Array; readonly appkey: number };
  readonly deadlineMs: number;
  readonly take: Take;
  readonly message: StoredMessage;
  readonly transaction: Transaction;
  private readonly forwarder: Forwarder;

  constructor(from: { forwarder: Forwarder; take: Take; message: StoredMessage; transaction: Transaction }) {
    super();
    this.forwarder = from.forwarder;
    this.take = from.take;
    this.message = from.message;
    this.transaction = from.transaction;
    const { properties, data } = from.message;
    this.service = from.take.qname;
    this.body = { type: properties.type, subtype: properties.subtype, data };
    this.identity = properties;
    this.deadlineMs = from.transaction.deadline?.atMs ?? Infinity;
  }

  answered(rval: number, rcode: number, body: TypedData): void {
    this.forwarder.answered(this, { rval, rcode, body });
  }
  failed(failure: Failure): void {
    this.forwarder.gaveUp(this, failure);
  }
}
