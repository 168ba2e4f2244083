// One forwarder of a TMQFORWARD server [TMQFORWARD(5), spec 4.2]: take a message out in a transaction, call the service that its queue is
// named after, queue the reply, commit. Built on what any client has (transactions, dequeue, call, enqueue), and for -d on a second take of
// the same message. Invariants: one message at a time; whatever happens, its transaction is ended; the service is called only when the
// message is durable. An error of its own ends it, after a rollback; its server decides what comes then.
import { assert, AssertionError } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { QME, RVAL, TPERRNO } from '../../proto/codes.ts';
import { failureName } from '../atmi/reply-port.ts';
import type { Services } from '../atmi/services.ts';
import type { Transaction, Transactions } from '../atmi/transactions.ts';
import type { StoredMessage } from '../engine/message-record.ts';
import type { BatchNumber, EnqueueOutcome, Failure, Work } from '../engine/request.ts';
import type { Soon } from '../engine/journal.ts';
import { giveBack, takeAgain, together } from '../engine/second-take.ts';
import type { SpaceEngine } from '../engine/space-engine.ts';
import { msgidBytes } from '../queue/message.ts';
import type { Deadline, TimerQueue } from '../base/timer-queue.ts';
import type { Ulog } from '../base/ulog.ts';
import { type Answer, answerRequest, type Caller, causeOf, ForwardCall, reasonOf } from './forward-call.ts';
import { Take, type Taker } from './take.ts';

export interface ForwarderPorts {
  readonly clock: Clock;
  readonly timers: TimerQueue;
  readonly engine: SpaceEngine;
  readonly services: Services;
  readonly transactions: Transactions;
  readonly ulog: Ulog;
  readonly soon: Soon;
}

/** The options of its CLOPT [spec 4.2]. */
export interface ForwardTerms {
  /** `-q`. */
  readonly queues: readonly string[];
  /** `-t`: time for dequeue, call and reply, in seconds. */
  readonly timeoutS: number;
  /** `-i`: the fallback scan of idle queues, in seconds; arrivals wake it anyway. */
  readonly idleS: number;
  /** `-e`: ends when no message is found. */
  readonly exitsWhenEmpty: boolean;
  /** `-d`: a failure with data is not retried; the data goes to the failure queue. */
  readonly keepsFailures: boolean;
  /** `-n`: the service is called outside the transaction. */
  readonly isOutside: boolean;
  /** `-f`: fire and forget, this many seconds between messages; null: off. */
  readonly fireDelayS: number | null;
  /** `-b`: blocking time of a call with -n or -f, in seconds; 0: none. */
  readonly blockTimeS: number;
}

export interface ForwarderOptions extends ForwardTerms {
  /** Whether a queue may be drained yet. */
  readonly mayDrain: (qname: string) => boolean;
  /** It has ended for good: null: no message was found, and it has -e. */
  readonly onEnded: (error: Error | null) => void;
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

export class Forwarder implements Taker, Caller {
  private readonly ports: ForwarderPorts;
  private readonly options: ForwarderOptions;
  private readonly counters: ForwardCounters;
  /** Requests parked on the queues while idle, or one that waits for the disk. */
  private parked: Take[] = [];
  private isParking = false;
  private transaction: Transaction | null = null;
  /** The message under way. */
  private under: ForwardCall | null = null;
  /** Where the next round over the queues begins: behind the queue that was served last, so that a busy one does not starve the others. */
  private turn = 0;
  private scheduled = false;
  /** An answer is being dealt with: the next round may follow at once. */
  private mayGoOn = false;
  private paused: Deadline | null = null;
  /** -f: the next message is not taken before this monotonic instant. */
  private restUntilMs = 0;
  private stopped = false;
  /** Told once it is stopped and no message is under way. */
  private onIdle: (() => void) | null = null;
  /** The error that ended it. */
  private failure: Error | null = null;
  /** Queues of its list that are not there, each reported once. */
  private readonly missing = new Set<string>();

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

  /** Takes nothing more; a message under way may still finish. `onIdle` is called when it has, or at once. */
  stop(onIdle: (() => void) | null = null): void {
    this.stopped = true;
    this.onIdle = onIdle ?? this.onIdle;
    this.endPause();
    this.unpark();
    if (this.isBusy) return;
    this.end();
    const told = this.onIdle;
    this.onIdle = null;
    told?.();
  }

  /** A message is under way: locked, at the service, or being answered. */
  get isBusy(): boolean {
    return this.under !== null;
  }

  /**
   * The next round. Behind a service's answer at once: the next call is on its way before the answer's batch is synced. Else at the end of
   * the loop's turn: a call that fails at once must not recurse.
   */
  private next(): void {
    if (this.scheduled || this.stopped) return;
    if (this.mayGoOn) {
      this.mayGoOn = false;
      this.pass();
      return;
    }
    this.scheduled = true;
    this.ports.soon(() => {
      this.scheduled = false;
      this.guard(() => this.pass());
    });
  }

  /** One round over the queues; what is found is forwarded, and when all are empty the forwarder parks on all of them, or ends. */
  private pass(): void {
    const { engine, transactions, clock } = this.ports;
    if (this.stopped || this.isBusy || this.transaction !== null || engine.journal.failure !== null) return;
    const restMs = this.restUntilMs - clock.monoMs();
    if (restMs > 0) return this.pause(restMs);
    const queues = this.queuesInTurn();
    if (queues.length === 0) return this.mayExit([]) ? this.exit() : this.pause(ABSENT_PAUSE_MS);
    const transaction = transactions.beginOwn();
    const work = transactions.enlistFirst(transaction, engine);
    this.transaction = transaction;
    const found: Failure[] = [];
    for (const qname of queues) {
      const take = new Take(this, { qname, work, deadlineMs: null });
      engine.dequeue(take);
      if (take.state === 'taken') return undefined;
      // The message is on its way from disk: it decides how this round ends.
      if (take.state === 'waiting') return void this.parked.push(take);
      found.push(take.failure);
    }
    if (this.mayExit(found)) return this.exit();
    const isTroubled = found.some((failure) => failure !== QME.QMENOMSG);
    return this.park(queues, work, isTroubled ? FAILURE_PAUSE_MS : Math.max(1, this.options.idleS) * 1000);
  }

  /** The queues that may be drained now, from the one whose turn it is. */
  private queuesInTurn(): string[] {
    const { queues, mayDrain } = this.options;
    const inTurn = [...queues.slice(this.turn), ...queues.slice(0, this.turn)];
    return inTurn.filter((qname) => mayDrain(qname) && this.isOpen(qname));
  }

  private park(queues: readonly string[], work: Work, idleMs: number): void {
    const deadlineMs = this.ports.clock.monoMs() + idleMs;
    this.isParking = true;
    for (const qname of queues) {
      const take = new Take(this, { qname, work, deadlineMs });
      this.parked.push(take);
      this.ports.engine.dequeue(take);
      // It may be over already, when its service is not there.
      if (take.state === 'taken') {
        this.isParking = false;
        return;
      }
    }
    this.isParking = false;
    if (this.isBusy || this.parked.length > 0) return;
    // No queue of all can be waited for, e.g. all are paused.
    this.end();
    this.pause(FAILURE_PAUSE_MS);
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

  /** -e: nothing was found, on queues that still wait for their service too. A refusal of another kind may hide a message. */
  private mayExit(found: readonly Failure[]): boolean {
    const { queues, exitsWhenEmpty, mayDrain } = this.options;
    if (!exitsWhenEmpty || found.some((code) => code !== QME.QMENOMSG && code !== QME.QMESHARE)) return false;
    return !queues.some(
      (qname) => !mayDrain(qname) && (this.ports.engine.space.queue(qname)?.ready ?? 0) > 0,
    );
  }

  private exit(): void {
    this.stop();
    this.options.onEnded(null);
  }

  /** Called by a Take: it has a message, locked by the forwarder's transaction. */
  took(take: Take, message: StoredMessage, batch: BatchNumber): void {
    this.guard(() => this.begin(take, message, batch));
  }

  private begin(take: Take, message: StoredMessage, batch: BatchNumber): void {
    const { transaction } = this;
    const { queues, timeoutS, isOutside, fireDelayS, blockTimeS } = this.options;
    assert(transaction !== null, 'a forwarder takes in a transaction');
    // The first to find something decides; what the others might have found stays where it is.
    this.parked = this.parked.filter((other) => other !== take);
    this.unpark();
    this.turn = (queues.indexOf(take.qname) + 1) % queues.length;
    this.ports.transactions.arm(transaction, timeoutS);
    const isOneWay = fireDelayS !== null;
    const blocks = blockTimeS > 0 && (isOutside || isOneWay);
    const blockedUntilMs = blocks ? this.ports.clock.monoMs() + blockTimeS * 1000 : Infinity;
    const call = new ForwardCall(this, {
      qname: take.qname,
      message,
      transaction,
      isOneWay,
      isOutside,
      blockedUntilMs,
    });
    this.under = call;
    this.ports.engine.hold(batch, { released: () => this.guard(() => this.call(call)), failed: () => {} });
  }

  private call(call: ForwardCall): void {
    if (call.transaction.state !== 'active') this.rollBack(call, TPERRNO.TPETIME);
    else this.ports.services.call(call);
  }

  /** Called by a Take: nothing there in time, or it was cancelled. When the last one of a round ends, the next round begins. */
  refused(take: Take, failure: Failure): void {
    const at = this.parked.indexOf(take);
    if (at < 0) return;
    this.parked.splice(at, 1);
    if (this.parked.length > 0 || this.isBusy || this.isParking) return;
    this.end();
    // A failure that would come back at once must not turn into a busy loop.
    if (failure === QME.QMENOMSG) this.next();
    else this.pause(FAILURE_PAUSE_MS);
  }

  /** The service answered: the reply is queued and the request is gone, in one commit; or the retry rules take over. */
  answered(call: ForwardCall, answer: Answer): void {
    this.mayGoOn = true;
    this.guard(() => {
      const hasData = (answer.body.data?.length ?? 0) > 0;
      if (call.transaction.state !== 'active') this.rollBack(call, TPERRNO.TPETIME);
      else if (answer.rval === RVAL.TPSUCCESS) this.succeed(call, answer);
      else if (this.options.keepsFailures && hasData) this.failForGood(call, answer);
      else this.rollBack(call, TPERRNO.TPESVCFAIL, answer.rcode);
    });
    this.mayGoOn = false;
  }

  /** -f: a server has it, and that is all. */
  sent(call: ForwardCall): void {
    this.guard(() => this.commit(call));
  }

  /** The call failed: rollback by the retry rules [spec 2.6], then on. */
  gaveUp(call: ForwardCall, failure: Failure): void {
    this.guard(() => this.rollBack(call, failure));
  }

  private succeed(call: ForwardCall, answer: Answer): void {
    const { transaction, message } = call;
    if (transaction.state !== 'active') return this.rollBack(call, TPERRNO.TPETIME);
    const { replyqueue } = message.properties;
    if (replyqueue !== '' && transaction.work !== null) {
      const stored = this.store(replyqueue, { call, answer, work: transaction.work });
      // Room is being prepared: the answer is kept and tried again, the service is not.
      if (stored.later) return this.whenRoom(() => this.succeed(call, answer));
      if (stored.code !== QME.OK) return this.rollBack(call, stored.code, answer.rcode);
    }
    return this.commit(call);
  }

  private commit(call: ForwardCall): void {
    if (this.ports.transactions.commit(call.transaction) === null)
      return this.rollBack(call, TPERRNO.TPETIME);
    this.counters.forwarded++;
    return this.done();
  }

  private rollBack(call: ForwardCall, failure: Failure, rcode = 0): void {
    this.counters.failed++;
    const why = `${failureName(failure)}: ${reasonOf(failure, call.service)}`;
    this.warn(call, `${why}; the message goes back by the retry rules`);
    this.ports.transactions.rollback(call.transaction, causeOf(failure, rcode));
    if (failure === QME.QMENOSPACE || failure === QME.QMESHARE) this.pause(FAILURE_PAUSE_MS);
    this.done();
  }

  /**
   * -d: the service's work is rolled back, and with it the request, by the retry rules; a second transaction deletes the request and queues
   * the answer. The request is taken for it before anyone else may have it, also while its delay runs. When the rollback used up its
   * retries, or it expired, it is not there any more and only the answer is queued.
   */
  private failForGood(call: ForwardCall, answer: Answer): void {
    const { transactions, engine } = this.ports;
    this.counters.failed++;
    const second = transactions.beginOwn();
    const work = transactions.enlistFirst(second, engine);
    this.transaction = second;
    together(engine, () => {
      transactions.rollback(call.transaction, causeOf(TPERRNO.TPESVCFAIL, answer.rcode));
      takeAgain(engine, { work, qname: call.service, id: call.message.id });
    });
    this.keepFailure(call, answer, { second, work });
  }

  private keepFailure(call: ForwardCall, answer: Answer, own: { second: Transaction; work: Work }): void {
    const { transactions, engine } = this.ports;
    const { second, work } = own;
    const { failurequeue } = call.message.properties;
    let kept = 'its answer is discarded';
    if (failurequeue !== '') {
      const stored = this.store(failurequeue, { call, answer, work });
      if (stored.later) return this.whenRoom(() => this.keepFailure(call, answer, own));
      if (stored.code !== QME.OK) {
        const isThere = work.branch.locks > 0;
        const then = isThere ? 'the message goes back by the retry rules' : 'the answer is lost';
        this.warn(
          call,
          `${failureName(stored.code)}: the failure queue ${failurequeue} took nothing; ${then}`,
        );
        giveBack(engine, work);
        transactions.rollback(second, causeOf(stored.code, answer.rcode));
        this.pause(FAILURE_PAUSE_MS);
        return this.done();
      }
      if (stored.isDropped !== true) kept = `its answer goes to ${failurequeue}`;
    }
    transactions.commit(second);
    this.warn(call, `TPESVCFAIL: ${reasonOf(TPERRNO.TPESVCFAIL, call.service)}; not retried, ${kept}`);
    return this.done();
  }

  /** Queues an answer. A queue that does not exist is tested only now: the answer is dropped [spec 1.6, 4.2]. */
  private store(
    qname: string,
    { call, answer, work }: { call: ForwardCall; answer: Answer; work: Work },
  ): Pick<EnqueueOutcome, 'code' | 'later'> & { isDropped?: boolean } {
    const { engine, ulog } = this.ports;
    const outcome = engine.enqueue(answerRequest(qname, { request: call.message.properties, answer, work }));
    if (outcome.code !== QME.QMEBADQUEUE) return outcome;
    const isReply = answer.rval === RVAL.TPSUCCESS;
    const what = isReply
      ? 'the reply queue does not exist: reply'
      : 'the failure queue does not exist: answer';
    ulog.warn(`TMQFORWARD: ${what} dropped`, { [isReply ? 'replyqueue' : 'failurequeue']: qname });
    return { code: QME.OK, later: false, isDropped: true };
  }

  private whenRoom(retry: () => void): void {
    this.ports.engine.whenRoom(() => this.guard(retry));
  }

  private warn(call: ForwardCall, what: string): void {
    this.ports.ulog.warn(`TMQFORWARD: ${what}`, {
      service: call.service,
      msgid: Buffer.from(msgidBytes(this.ports.engine.space.spaceId, call.message.id)).toString(),
    });
  }

  private done(): void {
    const { fireDelayS } = this.options;
    if (fireDelayS !== null) this.restUntilMs = this.ports.clock.monoMs() + fireDelayS * 1000;
    this.under = null;
    this.transaction = null;
    if (this.stopped) this.stop();
    else if (this.paused === null) this.next();
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

  /** Its own steps, whoever calls them: an error in one ends this forwarder, not its caller. What must not be still ends the process. */
  private guard(step: () => void): void {
    if (this.failure !== null) return;
    try {
      step();
    } catch (error) {
      if (error instanceof AssertionError) throw error;
      this.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private fail(error: Error): void {
    this.failure = error;
    this.stopped = true;
    // Not from within whoever called: the rollback hands messages on.
    this.ports.soon(() => {
      const { under } = this;
      this.under = null;
      if (under !== null) {
        this.ports.services.abandon(under, TPERRNO.TPGOTSIG);
        this.ports.transactions.rollback(under.transaction);
      }
      this.stop();
      this.options.onEnded(error);
    });
  }
}
