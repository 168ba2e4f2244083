// One queue space at work: decide → append → apply [DESIGN 3]. It turns commands into events, encodes each once into the journal's open
// batch, applies it at once, and sets aside the room it needs before it is made. It knows no connection and no role: it answers through
// the ports of request.ts. A dead log makes every answer QMESYSTEM. Enqueues, dequeues and what happens by itself have rooms of their own.
import type { Clock } from '../base/clock.ts';
import { TimerQueue } from '../base/timer-queue.ts';
import type { Ulog } from '../base/ulog.ts';
import { QME, type Qme } from '../../proto/codes.ts';
import type { TransactionId } from '../base/transaction-id.ts';
import { apply } from '../queue/apply.ts';
import type { Command } from '../queue/command.ts';
import type { AqTerms } from '../queue/aq.ts';
import { decide } from '../queue/decide.ts';
import { AqDequeues } from './aq/dequeues.ts';
import { aqEnqueue } from './aq/enqueue.ts';
import {
  failure as refusedWith,
  type AqDequeueRequest,
  type AqEnqueueOutcome,
  type AqEnqueueRequest,
  type ListenRequest,
} from './aq/request.ts';
import { aqTermsOf } from './aq/terms.ts';
import { isLogged, type Enqueued, type Event, type EventSink, type LoggedEvent } from '../queue/event.ts';
import type { MessageId } from '../queue/message.ts';
import { ROLLED_BACK, type Cause } from '../queue/provenance.ts';
import type { Queue } from '../queue/queue.ts';
import type { QueueSpace } from '../queue/space.ts';
import type { LogError, LogStore, LogWriter } from '../wal/log-store.ts';
import { COMMITTED_BYTES } from './branch-record.ts';
import { Checkpointer } from './checkpointer.ts';
import { Defining, type Definition } from './defining.ts';
import { Dequeues } from './dequeues.ts';
import { Endings } from './endings.ts';
import { Enqueues, refusal } from './enqueues.ts';
import { Journal, type Soon } from './journal.ts';
import { encodeEnqueued } from './message-record.ts';
import { PreparedBranches } from './prepared.ts';
import { Reclaim } from './reclaim.ts';
import { CHANGE_BYTES, encodeEvent, QUEUE_CHANGE_BYTES, REMOVAL_BYTES, setAside } from './record.ts';
import { RecordBuffer } from './record-buffer.ts';
import { Redrives } from './redrive.ts';
import { reportEvent } from './report.ts';
import type {
  BatchNumber,
  DequeueRequest,
  EnqueueOutcome,
  EnqueueRequest,
  Failure,
  Held,
  Work,
} from './request.ts';
import type { SpaceClock } from './space-clock.ts';
import { ThresholdWatch } from './threshold-watch.ts';
import { Upkeep } from './upkeep.ts';

/** While the space is in use the clock pair is logged this often, in milliseconds [DESIGN 4, Time]. */
const CLOCK_PAIR_MS = 60_000;
/** What a transaction's first record makes it allocate. */
const WORK_CHUNK_BYTES = 4096;

export interface EnginePorts {
  readonly clock: Clock;
  readonly ulog: Ulog;
  readonly soon: Soon;
  /** Runs a threshold command by the shell, without waiting for it [spec 5.6]. */
  readonly runCommand: (command: string, about: { space: string; queue: string }) => void;
}

export class SpaceEngine {
  readonly space: QueueSpace;
  readonly journal: Journal;
  readonly store: LogStore;
  readonly timers: TimerQueue;
  readonly time: SpaceClock;
  private readonly ports: EnginePorts;
  readonly enqueues: Enqueues;
  readonly dequeues: Dequeues;
  readonly defining: Defining = new Defining(this);
  /** Those of the AQ dialect. */
  readonly aq: AqDequeues;
  readonly upkeep: Upkeep;
  readonly prepared: PreparedBranches;
  readonly endings: Endings;
  readonly redrives: Redrives = new Redrives(this);
  readonly reclaim: Reclaim;
  readonly checkpointer: Checkpointer;
  /** Bytes of the open batch that are restated. */
  private restatedBytes = 0;
  private readonly sink: EventSink = { push: (event) => this.emit(event) };
  /** What decisions about entries of the AQ dialect need; read only by those. */
  readonly aqTerms: AqTerms;
  private readonly epoch: number;
  private counter = 0;
  private usedSinceClockPair = false;
  readonly thresholds: ThresholdWatch;
  private stopping = false;
  /** Inside `together`: nothing is settled before its end. */
  settlesLater = false;

  constructor(
    opened: { space: QueueSpace; writer: LogWriter; store: LogStore; time: SpaceClock; tail: number },
    ports: EnginePorts,
  ) {
    this.space = opened.space;
    this.store = opened.store;
    this.time = opened.time;
    this.ports = ports;
    this.timers = new TimerQueue(ports.clock);
    this.epoch = opened.writer.epoch;
    this.journal = new Journal(opened.writer, opened.time, ports.soon);
    this.space.batch = this.journal.batch;
    this.aqTerms = aqTermsOf(this);
    this.enqueues = new Enqueues(this);
    this.dequeues = new Dequeues(this);
    this.aq = new AqDequeues(this);
    this.upkeep = new Upkeep(this, ports.soon);
    this.endings = new Endings(this, ports.soon);
    this.reclaim = new Reclaim(this, opened.writer);
    this.checkpointer = new Checkpointer(this, opened);
    this.journal.onAppended = (bytes) => this.appended(bytes);
    // What must stay possible on a full disk is set aside before anything else is admitted.
    opened.writer.reserveAnyway(this.space.messages.live * REMOVAL_BYTES);
    this.prepared = new PreparedBranches(this);
    this.armClockPair();
    const fire = this.fire.bind(this);
    this.thresholds = new ThresholdWatch({ space: this.space, out: this.sink, fire });
    for (const queue of this.space.doomedQueues()) this.upkeep.empty(queue);
    this.settle();
  }

  set onFailure(run: (error: LogError) => void) {
    this.journal.onFailure = (error) => {
      this.timers.close();
      this.reclaim.stop();
      this.dequeues.refuseAll(QME.QMESYSTEM);
      this.aq.refuseAll(refusedWith(QME.QMESYSTEM));
      this.upkeep.close(QME.QMESYSTEM);
      this.redrives.close('failed');
      this.endings.fail();
      run(error);
    };
    // It may have died before anyone asked.
    if (this.journal.failure !== null) this.journal.onFailure(this.journal.failure);
  }

  /** Puts a message on a queue, or into the caller's transaction [spec 2.4]. */
  enqueue(request: EnqueueRequest): EnqueueOutcome {
    if (this.journal.failure !== null) return refusal(QME.QMESYSTEM);
    if (this.stopping) return refusal(QME.QMEABORTED);
    if (this.upkeep.isLate) this.settle();
    return this.enqueues.put(request);
  }

  /** Calls `retry` once more room is there, or known not to come; in the order of asking. */
  whenRoom(retry: () => void): void {
    this.enqueues.whenRoom(retry);
  }

  /** Takes, locks or peeks a message, now or when one comes [spec 2.5]. Answers through the request. */
  dequeue(request: DequeueRequest): void {
    if (this.journal.failure !== null) return request.refused(QME.QMESYSTEM, 0);
    if (this.stopping) return request.refused(QME.QMEABORTED, 0);
    // Also so that who waited for it gets it before this one.
    const isCurrent = this.upkeep.isSpaceCurrent;
    if (!isCurrent && !this.upkeep.isScheduled) this.settle();
    this.dequeues.begin(request, isCurrent);
    if (this.needsSettling) this.settle();
  }

  /** Puts a message of the AQ dialect on a queue, or into the caller's transaction [oracle-aq 4.1]. */
  aqEnqueue(request: AqEnqueueRequest): AqEnqueueOutcome {
    if (this.journal.failure !== null) return { ...refusal(QME.QMESYSTEM), fault: 0 };
    if (this.stopping) return { ...refusal(QME.QMEABORTED), fault: 0 };
    if (this.upkeep.isLate) this.settle();
    return aqEnqueue(this, request);
  }

  /** Takes, locks or reads messages of the AQ dialect, now or when some come [oracle-aq 4.2, 4.6]. Answers through the request. */
  aqDequeue(request: AqDequeueRequest): void {
    if (this.journal.failure !== null) return request.refused(refusedWith(QME.QMESYSTEM), 0);
    if (this.stopping) return request.refused(refusedWith(QME.QMEABORTED), 0);
    if (this.upkeep.isLate) this.settle();
    this.aq.begin(request);
    if (this.needsSettling) this.settle();
  }

  /** Answers when one of the lanes has something to dequeue [oracle-aq 4.7]. */
  listen(request: ListenRequest): void {
    if (this.journal.failure !== null) return request.refused(refusedWith(QME.QMESYSTEM));
    if (this.stopping) return request.refused(refusedWith(QME.QMEABORTED));
    return this.aq.watches.listen(request);
  }

  /** Ends a dequeue that is parked or under way; false: it has been answered, or will be with a message. */
  cancel(request: DequeueRequest, failure: Failure): boolean {
    const found = this.dequeues.cancel(request, failure);
    this.settle();
    return found;
  }

  openWork(): Work {
    return {
      branch: this.space.branches.open(),
      records: new RecordBuffer(WORK_CHUNK_BYTES),
      memory: [],
      placements: [],
      promised: false,
      reservedBytes: 0,
      messages: 0,
      bytes: 0,
      pages: 0,
      queues: new Map(),
      waiting: new Set(),
    };
  }

  /** Whether the space may take another transaction with work in it; each operation outside one needs one too [spec 5.3 #5, 8.4]. */
  hasSlot(work: Work | null): boolean {
    const { transactions } = this.space.attributes;
    return transactions === 0 || work?.branch.active === true || this.space.branches.active < transactions;
  }

  /**
   * Makes a transaction's work in this space take effect as part of one batch; returns the batch to wait for. With `transaction` the log
   * says that this one committed.
   */
  commit(work: Work, transaction: TransactionId | null = null): BatchNumber {
    if (this.journal.failure !== null) return this.journal.batch;
    const { branch } = work;
    const changes = work.messages + branch.locks;
    this.prepared.takeBack(work);
    if (this.mayWalk(changes)) return this.endings.commit(work, transaction);
    if (transaction !== null && changes > 0) this.sayCommitted(transaction);
    this.run({ kind: 'commit', branch: branch.number, aq: this.aqTerms });
    if (work.messages > 0) this.enqueues.commit(work);
    this.space.branches.close(branch);
    this.settle();
    return changes === 0 ? 0 : this.journal.batch;
  }

  /**
   * Undoes a transaction's work in this space [spec 2.6]; its requests that still wait are refused with `code`. Returns the batch to
   * wait for.
   */
  rollback(work: Work, code: Failure, cause: Cause = ROLLED_BACK): BatchNumber {
    for (const request of work.waiting) this.dequeues.cancel(request, code);
    this.aq.refuseWork(work, refusedWith(code));
    if (this.journal.failure !== null) return this.journal.batch;
    const { branch } = work;
    const changes = branch.locks;
    this.prepared.takeBack(work);
    if (this.mayWalk(changes + work.memory.length)) return this.endings.rollback(work, cause);
    this.enqueues.rollback(work);
    this.endings.giveBackAtOnce(branch, cause);
    this.space.branches.close(branch);
    this.settle();
    return changes === 0 ? 0 : this.journal.batch;
  }

  /** Creates or changes what is configured; returns the code and the batch to wait for. */
  define(command: Definition): Omit<EnqueueOutcome, 'id'> {
    return this.defining.define(command);
  }

  /** Takes a queue away, or a lane by its number; returns the code and the batch to wait for. */
  destroyQueue(qname: string | number): Omit<EnqueueOutcome, 'id'> {
    return this.defining.destroy(qname);
  }

  /**
   * Removes what is on a queue and in no transaction, in slices. `done` is told how many, the batch to wait for, and OK, or why it
   * stopped before the end: QMEABORTED when the space closes, QMESYSTEM when its log died.
   */
  purgeQueue(queue: Queue, done: (count: number, batch: BatchNumber, code: Qme) => void): void {
    this.upkeep.purge(queue, (count, code) => done(count, queue.lastBatch, code));
  }

  /** Calls `run` whenever a queue was made, changed or taken away; returns how to stop that. */
  watchDefinitions(run: () => void): () => void {
    return this.defining.watch(run);
  }

  /** Lets what depends on `batch` go when it is durable. */
  hold(batch: BatchNumber, held: Held): void {
    if (batch < 0) this.endings.hold(batch, held);
    else this.journal.hold(batch, held);
  }

  /** Takes nothing new, ends everything that waits with QMEABORTED, and resolves when all that was decided is durable. */
  async quiesce(): Promise<void> {
    this.stopping = true;
    this.reclaim.stop();
    this.dequeues.refuseAll(QME.QMEABORTED);
    this.aq.refuseAll(refusedWith(QME.QMEABORTED));
    this.upkeep.close(QME.QMEABORTED);
    this.redrives.close('stopped');
    await this.endings.settled();
    await this.journal.settled();
  }

  /** Commits what is open, logs the clock pair, closes the log. */
  async close(): Promise<void> {
    await this.quiesce();
    this.timers.close();
    await this.checkpointer.stop();
    await this.journal.close();
    await this.store.close();
  }

  // What follows is for the engine's own rooms.

  /** Logs and applies what was decided elsewhere. */
  say(event: Event): void {
    this.usedSinceClockPair = true;
    this.emit(event);
  }

  /** Logs what its caller applies step by step. */
  announce(event: Exclude<LoggedEvent, Enqueued>): void {
    this.usedSinceClockPair = true;
    this.log(event);
  }

  /** Decides and applies one command. */
  run(command: Command): Qme {
    this.usedSinceClockPair = true;
    return decide(this.space, command, this.sink);
  }

  /** Logs a message, unless it is non-persistent, and puts it on its queue. */
  emitEnqueued(event: Enqueued, data: Uint8Array | null): void {
    const { journal, space } = this;
    this.usedSinceClockPair = true;
    if (event.persistent) {
      space.batch = journal.batch;
      event.place.ref = journal.ref;
      encodeEnqueued(journal.records, event, data);
    }
    apply(space, event);
    this.thresholds.touchedNumber(event.queue);
  }

  /** Logs a message again at the tail, as it is now; its place in the event is set. */
  restate(event: Enqueued, data: Uint8Array | null): void {
    const { journal, space } = this;
    event.place.ref = journal.ref;
    encodeEnqueued(journal.records, event, data);
    apply(space, event);
    this.restatedBytes += event.place.length;
    journal.changed(0);
  }

  /** Logs something that is so already. */
  relog(event: Exclude<LoggedEvent, Enqueued>): void {
    this.restatedBytes += encodeEvent(this.journal.records, event);
    this.journal.changed(0);
  }

  /** Resolves when all that was decided so far is durable; rejects when the log dies. */
  whenDurable(): Promise<void> {
    const { journal } = this;
    return new Promise((resolve, reject) => {
      journal.hold(journal.batch, { released: resolve, failed: () => reject(new Error('the log failed')) });
    });
  }

  /** Takes a checkpoint now. */
  checkpoint(): Promise<void> {
    return this.checkpointer.make();
  }

  nextTurn(): Promise<void> {
    return new Promise((resolve) => this.ports.soon(resolve));
  }
  delay(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.ports.clock.setTimer(this.monoMs() + ms, resolve);
    });
  }

  newId(): MessageId {
    this.counter++;
    return { epoch: this.epoch, counter: this.counter };
  }

  /** Makes so many ids at once, for later; each call of what it returns gives the next. */
  newIds(count: number): () => MessageId {
    let { counter } = this;
    this.counter += count;
    return () => ({ epoch: this.epoch, counter: ++counter });
  }

  /** Space time and wall clock, now. */
  now(): { nowMs: number; wallMs: number } {
    return { nowMs: this.time.nowMs(), wallMs: this.wallMs() };
  }
  wallMs(): number {
    return this.ports.clock.wallMs();
  }

  /** The monotonic instant, for deadlines. */
  monoMs(): number {
    return this.ports.clock.monoMs();
  }
  warn(message: string, fields: Record<string, string | number>): void {
    this.ports.ulog.warn(message, { space: this.space.name, ...fields });
  }

  /** Room for records that nothing was set aside for, until the open batch is appended; false: there is none. */
  reserveChange(bytes: number): boolean {
    if (!this.journal.reserveSmall(bytes)) return false;
    this.journal.changed(bytes);
    return true;
  }

  /** Nothing was offered on these queues for a while. */
  offerAgain(queues: Iterable<Queue>): void {
    for (const queue of queues) {
      if (queue.isAq) this.aq.offerAgain(queue);
      else this.dequeues.offerAgain(queue);
    }
  }

  /** Whether the last change made something deliverable, or reached or left a threshold. */
  get needsSettling(): boolean {
    const { offers, finishing } = this.space;
    return offers.length > 0 || finishing.length > 0 || this.thresholds.isDue;
  }

  /** After every change: what is due or expired is seen to, waiters are offered what became deliverable, thresholds are looked at. */
  settle(): void {
    if (this.journal.failure !== null || this.settlesLater) return;
    this.upkeep.catchUp();
    if (this.space.finishing.length > 0) this.finish();
    if (this.space.offers.length > 0) this.dequeues.wake();
    if (this.thresholds.isDue) this.thresholds.look();
  }

  /** Inside `together` what is asked for is done when it returns. */
  private mayWalk(entries: number): boolean {
    return this.endings.isLarge(entries) && !this.settlesLater;
  }

  private fire(queue: Queue, command: string): void {
    const about = { space: this.space.name, queue: queue.attributes.name };
    this.ports.ulog.info('threshold reached: running its command', { ...about, command });
    const released = (): void => this.ports.runCommand(command, about);
    this.hold(queue.lastBatch, { released, failed: () => {} });
  }

  private emit(event: Event): void {
    this.thresholds.note(event);
    if (isLogged(event)) this.log(event);
    reportEvent(this.space, event, this.ports.ulog);
    apply(this.space, event);
  }

  private log(event: Exclude<LoggedEvent, Enqueued>): void {
    const { journal } = this;
    this.space.batch = journal.batch;
    // Retry records and the state of thresholds use what is unreserved. When that is gone they stay in memory: a crash may then cost a
    // count, never a message [DESIGN 5, Room]. The room for a move was set aside by `mayMove`: an unlogged new id would bring the message
    // back after its removal.
    if (event.kind === 'retried' && !journal.reserveSmall(CHANGE_BYTES)) return;
    if (event.kind === 'thresholdSet' && !this.reserveChange(QUEUE_CHANGE_BYTES)) return;
    encodeEvent(journal.records, event);
    const bytes = setAside(event);
    if (bytes > 0) journal.changed(bytes);
  }

  private appended(bytes: number): void {
    const restated = this.restatedBytes;
    this.restatedBytes = 0;
    this.reclaim.appended(bytes - restated);
    this.checkpointer.appended(bytes);
  }

  /** The room for it is taken in advance: it goes out with records that had theirs. */
  sayCommitted(transaction: TransactionId): void {
    this.journal.reserveAnyway(COMMITTED_BYTES);
    this.say({ kind: 'committed', transaction });
    this.journal.changed(COMMITTED_BYTES);
  }

  /** What a recipient or a removal did to a message may have been the last that it waited for [oracle-aq 6.4]. */
  private finish(): void {
    for (const entry of this.space.finishing.splice(0)) this.run({ kind: 'finish', entry, aq: this.aqTerms });
  }

  private armClockPair(): void {
    this.timers.set(this.ports.clock.monoMs() + CLOCK_PAIR_MS, () => {
      if (this.usedSinceClockPair || this.time.drifted) this.journal.logClock();
      this.usedSinceClockPair = false;
      this.armClockPair();
    });
  }
}
