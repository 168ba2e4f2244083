// One queue space at work: decide → append → apply [DESIGN 3]. It turns commands into events, encodes each once into the journal's open
// batch, applies it at once, and sets aside the room it needs before it is made. It knows no connection and no role: it answers through
// the ports of request.ts. A dead log makes every answer QMESYSTEM.
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { TimerQueue, type Deadline } from '../base/timer-queue.ts';
import type { Ulog } from '../base/ulog.ts';
import { QME, type Qme } from '../../proto/codes.ts';
import { apply } from '../queue/apply.ts';
import type { Command, DefineQueueCommand, DefineSpaceCommand } from '../queue/command.ts';
import { decide } from '../queue/decide.ts';
import {
  REMOVAL,
  type Enqueued,
  type Event,
  type EventSink,
  type LoggedEvent,
  type Moved,
} from '../queue/event.ts';
import { msgidBytes, type MessageId } from '../queue/message.ts';
import type { QueueSpace } from '../queue/space.ts';
import type { LogError, LogStore, LogWriter } from '../wal/log-store.ts';
import { Dequeues } from './dequeues.ts';
import { Journal, type Soon } from './journal.ts';
import {
  CHANGE_BYTES,
  decodeEvent,
  encodeEnqueued,
  encodeEvent,
  enqueuedBytes,
  EVENT_BYTES,
  REMOVAL_BYTES,
} from './record.ts';
import { RecordBuffer } from './record-buffer.ts';
import type { BatchNumber, DequeueRequest, EnqueueRequest, Failure, Held, Work } from './request.ts';
import type { SpaceClock } from './space-clock.ts';

/** Messages and bytes of one transaction [DESIGN 6, Limits]. */
export const TRANSACTION_LIMIT = { MESSAGES: 250_000, BYTES: 256 * 1024 * 1024 } as const;
/**
 * Bytes of the open batch above which enqueues wait for the batch in flight; and of open batch and open transactions together, above which
 * they are refused. A commit moves bytes from one to the other, so no batch can outgrow what the log takes at a time.
 */
const BATCH_BYTES_HIGH = 64 * 1024 * 1024;
const UNCOMMITTED_BYTES_MAX = 768 * 1024 * 1024;
/** While the space is in use the clock pair is logged this often, in milliseconds [DESIGN 4, Time]. */
const CLOCK_PAIR_MS = 60_000;
/** What a transaction's first record makes it allocate. */
const WORK_CHUNK_BYTES = 4096;
/** What a record takes beside its own bytes: its start in the batch and its share of a frame. */
const RECORD_OVERHEAD_BYTES = 32;

export interface EnginePorts {
  readonly clock: Clock;
  readonly ulog: Ulog;
  readonly soon: Soon;
}

/** What an enqueue came to. */
export interface EnqueueOutcome {
  code: Qme;
  /** Refused only because room is being prepared: ask again when `whenRoom` calls. */
  later: boolean;
  id: MessageId | null;
  /** The batch that the answer waits for. */
  batch: BatchNumber;
}

export class SpaceEngine {
  readonly space: QueueSpace;
  readonly journal: Journal;
  readonly store: LogStore;
  readonly timers: TimerQueue;
  readonly time: SpaceClock;
  private readonly ports: EnginePorts;
  private readonly dequeues: Dequeues;
  private readonly sink: EventSink = { push: (event) => this.emit(event) };
  private readonly epoch: number;
  private counter = 0;
  /** The data of the message that is being enqueued right now. */
  private data: Uint8Array | null = null;
  private dueTimer: Deadline | null = null;
  private usedSinceClockPair = false;
  private waitingForRoom: (() => void)[] = [];
  /** Bytes of the records of open transactions. */
  private workBytes = 0;
  private stopping = false;
  private resuming = false;

  constructor(
    opened: { space: QueueSpace; writer: LogWriter; store: LogStore; time: SpaceClock },
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
    this.dequeues = new Dequeues(this);
    // What must stay possible on a full disk is set aside before anything else is admitted.
    opened.writer.reserveAnyway(this.space.messages.live * REMOVAL_BYTES);
    this.armClockPair();
    this.processDue();
    this.armDue();
  }

  set onFailure(run: (error: LogError) => void) {
    this.journal.onFailure = (error) => {
      this.timers.close();
      this.dequeues.refuseAll(QME.QMESYSTEM);
      run(error);
    };
  }

  /** Puts a message on a queue, or into the caller's transaction [spec 2.4]. */
  enqueue(request: EnqueueRequest): EnqueueOutcome {
    if (this.journal.failure !== null) return refusal(QME.QMESYSTEM);
    if (this.stopping) return refusal(QME.QMEABORTED);
    if (this.space.queue(request.qname) === undefined) return refusal(QME.QMEBADQUEUE);
    const bytes = enqueuedBytes(request.properties, request.data) + RECORD_OVERHEAD_BYTES;
    const { work } = request;
    if (work !== null && exceeds(work, bytes)) return refusal(QME.QMENOSPACE);
    if (this.waitingForRoom.length > 0 && !this.resuming) return LATER;
    const uncommitted = this.journal.records.length + this.workBytes;
    if (uncommitted + bytes > UNCOMMITTED_BYTES_MAX) return refusal(QME.QMENOSPACE);
    if (this.journal.records.length > BATCH_BYTES_HIGH && this.journal.isBusy) return LATER;
    if (!this.journal.reserve(bytes + REMOVAL_BYTES)) {
      return this.journal.roomComing() === null ? refusal(QME.QMENOSPACE) : LATER;
    }
    const id = this.newId();
    const command = { kind: 'enqueue', qname: request.qname, id, properties: request.properties } as const;
    if (work !== null) {
      this.bufferEnqueue(work, request, id);
      return { code: QME.OK, later: false, id, batch: 0 };
    }
    this.data = request.data;
    const code = this.run(command);
    this.data = null;
    assert(code === QME.OK, 'an enqueue that was checked is decided');
    this.journal.changed(bytes);
    if (this.space.offers.length > 0) this.dequeues.wake();
    return { code, later: false, id, batch: this.journal.batch };
  }

  /** Calls `retry` once more room is there, or known not to come; in the order of asking. */
  whenRoom(retry: () => void): void {
    this.waitingForRoom.push(retry);
    if (this.waitingForRoom.length > 1 || this.resuming) return;
    this.awaitRoom();
  }

  /** Takes, locks or peeks a message, now or when one comes [spec 2.5]. Answers through the request. */
  dequeue(request: DequeueRequest): void {
    if (this.journal.failure !== null) return request.refused(QME.QMESYSTEM, 0);
    if (this.stopping) return request.refused(QME.QMEABORTED, 0);
    this.processDue();
    this.dequeues.begin(request);
    return this.settle();
  }

  /** Ends a dequeue that is parked or whose message is being fetched; false: it has been answered, or will be with a message. */
  cancel(request: DequeueRequest, failure: Failure): boolean {
    const found = this.dequeues.cancel(request, failure);
    this.settle();
    return found;
  }

  openWork(): Work {
    return {
      branch: this.space.openBranch(),
      records: new RecordBuffer(WORK_CHUNK_BYTES),
      reservedBytes: 0,
      messages: 0,
      bytes: 0,
      waiting: new Set(),
    };
  }

  /** Makes a transaction's work in this space take effect as part of one batch; returns the batch to wait for. */
  commit(work: Work): BatchNumber {
    if (this.journal.failure !== null) return this.journal.batch;
    const { branch, records } = work;
    const changes = records.count + branch.locks;
    this.run({ kind: 'commit', branch: branch.number });
    if (records.count > 0) this.adopt(work);
    this.space.closeBranch(branch);
    this.settle();
    return changes === 0 ? 0 : this.journal.batch;
  }

  /**
   * Undoes a transaction's work in this space [spec 2.6]; its requests that still wait are refused with `failure`. Returns the batch to
   * wait for.
   */
  rollback(work: Work, failure: Failure): BatchNumber {
    for (const request of work.waiting) this.dequeues.cancel(request, failure);
    if (this.journal.failure !== null) return this.journal.batch;
    const { branch } = work;
    const changes = branch.locks;
    this.processDue();
    this.journal.release(work.reservedBytes);
    work.reservedBytes = 0;
    this.workBytes -= work.bytes;
    this.run({
      kind: 'rollback',
      branch: branch.number,
      nowMs: this.time.nowMs(),
      newId: () => this.newId(),
      mayMove: () => this.journal.reserve(CHANGE_BYTES),
    });
    this.space.closeBranch(branch);
    this.settle();
    return changes === 0 ? 0 : this.journal.batch;
  }

  /** Creates or changes what is configured; returns the code and the batch to wait for. */
  define(command: DefineQueueCommand | DefineSpaceCommand): Omit<EnqueueOutcome, 'id'> {
    // What is there already needs no room: a start with an unchanged configuration works on a full disk.
    let changes = false;
    const code = decide(this.space, command, { push: () => (changes = true) });
    if (!changes) return { code, later: false, batch: 0 };
    const bytes = Buffer.byteLength(JSON.stringify(command)) + RECORD_OVERHEAD_BYTES;
    if (!this.journal.reserve(bytes)) {
      return { code: QME.QMENOSPACE, later: this.journal.roomComing() !== null, batch: 0 };
    }
    this.run(command);
    this.journal.changed(bytes);
    return { code, later: false, batch: this.journal.batch };
  }

  /** Lets what depends on `batch` go when it is durable. */
  hold(batch: BatchNumber, held: Held): void {
    this.journal.hold(batch, held);
  }

  /** Takes nothing new, ends everything that waits with QMEABORTED, and resolves when all that was decided is durable. */
  async quiesce(): Promise<void> {
    this.stopping = true;
    this.dequeues.refuseAll(QME.QMEABORTED);
    await this.journal.settled();
  }

  /** Commits what is open, logs the clock pair, closes the log. */
  async close(): Promise<void> {
    await this.quiesce();
    this.timers.close();
    await this.journal.close();
    await this.store.close();
  }

  /** For Dequeues: decides and applies one command. */
  run(command: Command): Qme {
    this.usedSinceClockPair = true;
    return decide(this.space, command, this.sink);
  }

  /** The monotonic instant, for deadlines. */
  monoMs(): number {
    return this.ports.clock.monoMs();
  }
  warn(message: string, fields: Record<string, string | number>): void {
    this.ports.ulog.warn(message, { space: this.space.name, ...fields });
  }

  private emit(event: Event): void {
    switch (event.kind) {
      case 'locked':
      case 'unlocked':
      case 'held':
      case 'due':
        break;
      default:
        this.log(event);
    }
    apply(this.space, event);
  }

  private log(event: LoggedEvent): void {
    const { journal } = this;
    this.space.batch = journal.batch;
    if (event.kind === 'enqueued') {
      event.place.ref = journal.ref;
      encodeEnqueued(journal.records, event, this.data);
      return;
    }
    // Retry records use what is unreserved. When that is gone the count stays in memory: a crash may then cost a count, never a message
    // [DESIGN 5, Room]. The room for a move was set aside by `mayMove`: an unlogged new id would bring the message back after its removal.
    if (event.kind === 'retried' && !journal.reserve(CHANGE_BYTES)) return;
    encodeEvent(journal.records, event);
    if (event.kind === 'removed') journal.changed(REMOVAL_BYTES);
    if (event.kind === 'retried' || event.kind === 'moved') journal.changed(CHANGE_BYTES);
    if (event.kind === 'moved') this.reportMove(event);
    if (event.kind === 'removed' && event.reason === REMOVAL.DROPPED) this.reportDrop(event.id);
  }

  private reportMove({ id, newId, from, queue }: Moved): void {
    const name = (number: number): string => this.space.queueByNumber(number)?.attributes.name ?? '';
    const text = (one: MessageId): string => Buffer.from(msgidBytes(this.space.spaceId, one)).toString();
    this.warn('retries used up: message moved to the error queue', {
      from: name(from),
      to: name(queue),
      msgid: text(id),
      newMsgid: text(newId),
    });
  }

  private reportDrop(id: MessageId): void {
    const message = this.space.msgids.find(id);
    const queue = this.space.queueOf(this.space.messages.firstEntry.get(message));
    this.warn('retries used up and the space has no error queue: message dropped', {
      queue: queue.attributes.name,
      msgid: Buffer.from(msgidBytes(this.space.spaceId, id)).toString(),
    });
  }

  private bufferEnqueue(work: Work, request: EnqueueRequest, id: MessageId): void {
    const queue = this.space.queue(request.qname);
    assert(queue !== undefined, 'the queue was looked up');
    const place = { ref: 0, offset: 0, length: 0 };
    const { properties } = request;
    const event: Enqueued = {
      kind: 'enqueued',
      id,
      queue: queue.number,
      retries: 0,
      dueMs: 0,
      properties,
      place,
    };
    encodeEnqueued(work.records, event, request.data);
    work.reservedBytes += place.length + RECORD_OVERHEAD_BYTES + REMOVAL_BYTES;
    work.messages++;
    work.bytes += place.length;
    this.workBytes += place.length;
  }

  /** The records of a transaction's enqueues become part of the open batch and are applied as replay would apply them. */
  private adopt(work: Work): void {
    const { journal } = this;
    this.workBytes -= work.bytes;
    const first = journal.records.count;
    journal.records.adopt(work.records);
    this.space.batch = journal.batch;
    for (let i = first; i < journal.records.count; i++) {
      const offset = journal.records.startOf(i);
      const length = journal.records.endOf(i) - offset;
      const record = journal.records.slice(offset, Math.min(length, EVENT_BYTES));
      apply(this.space, decodeEvent(record, { ref: journal.ref, offset, length }));
    }
    journal.changed(work.reservedBytes - work.messages * REMOVAL_BYTES);
  }

  private awaitRoom(): void {
    const coming = this.journal.roomComing() ?? this.journal.committed() ?? Promise.resolve();
    const resume = (): void => {
      this.resuming = true;
      const waiting = this.waitingForRoom;
      this.waitingForRoom = [];
      // The first that still has to wait holds up those behind it, also smaller ones: they keep their order.
      for (let i = 0; i < waiting.length && this.waitingForRoom.length === 0; i++) {
        waiting[i]?.();
        if (this.waitingForRoom.length > 0) this.waitingForRoom.push(...waiting.slice(i + 1));
      }
      this.resuming = false;
      if (this.waitingForRoom.length > 0) this.awaitRoom();
    };
    coming.then(resume, resume);
  }

  private newId(): MessageId {
    this.counter++;
    return { epoch: this.epoch, counter: this.counter };
  }

  private processDue(): void {
    const nowMs = this.time.nowMs();
    if (this.space.nextDueMs() <= nowMs) this.run({ kind: 'due', nowMs });
  }

  /** After every change: waiters are offered what became deliverable, and the timer is set for the next due time. */
  settle(): void {
    if (this.space.offers.length > 0) this.dequeues.wake();
    this.armDue();
  }

  private armDue(): void {
    const dueMs = this.space.nextDueMs();
    const atMs = dueMs === Infinity ? Infinity : this.time.monoAt(dueMs);
    if (this.dueTimer !== null) {
      if (this.dueTimer.heapIndex >= 0 && this.dueTimer.atMs === atMs) return;
      this.timers.cancel(this.dueTimer);
      this.dueTimer = null;
    }
    if (atMs === Infinity) return;
    this.dueTimer = this.timers.set(atMs, () => {
      this.dueTimer = null;
      this.processDue();
      this.settle();
    });
  }

  private armClockPair(): void {
    this.timers.set(this.ports.clock.monoMs() + CLOCK_PAIR_MS, () => {
      if (this.usedSinceClockPair || this.time.drifted) this.journal.logClock();
      this.usedSinceClockPair = false;
      this.armClockPair();
    });
  }
}

/** Refused for now: ask again when `whenRoom` calls. */
const LATER: EnqueueOutcome = { code: QME.QMENOSPACE, later: true, id: null, batch: 0 };

function refusal(code: Qme): EnqueueOutcome {
  return { code, later: false, id: null, batch: 0 };
}

function exceeds(work: Work, bytes: number): boolean {
  return work.messages >= TRANSACTION_LIMIT.MESSAGES || work.bytes + bytes > TRANSACTION_LIMIT.BYTES;
}
