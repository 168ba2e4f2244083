// Dequeues of the AQ dialect under way in one space [oracle-aq 4.2 to 4.7]: the choice of entries, the fetch of their data before they are
// decided, who waits and for what. Invariants: every request is answered exactly once; what was consumed for a request is handed to it, also
// when it is cancelled meanwhile; an entry whose data is being read for a consumer is held, and others pass it.
import { NONE } from '../../base/column.ts';
import { QME } from '../../../proto/codes.ts';
import { attemptsOf } from '../../queue/aq.ts';
import { AQ_TYPE } from '../../queue/attributes.ts';
import { MEMORY_REF } from '../../queue/event.ts';
import { corridKey, type MessageId } from '../../queue/message.ts';
import type { Queue } from '../../queue/queue.ts';
import { ENTRY } from '../../queue/tables.ts';
import { decodeMessage, isIntact } from '../message-record.ts';
import type { BatchNumber, Work } from '../request.ts';
import type { SpaceEngine } from '../space-engine.ts';
import { failure, fault, type AqDequeueRequest, type AqMessage, type AqRefusal } from './request.ts';
import { MODE, Scan } from './scan.ts';
import { Watches } from './watches.ts';

/** What an answer says of a message beside its data, at most: its properties. */
const ITEM_BYTES = 1024;
/** AQ error numbers [oracle-aq 15.2]. */
const FAULT = { DISABLED: 25_226, NO_MESSAGE: 25_228, NO_SUCH_ID: 25_263 } as const;
/** States of a message [oracle-aq 3.2]. */
const STATE = { READY: 0, WAITING: 1, PROCESSED: 2, EXPIRED: 3 } as const;

/** Steps of a dequeue; each yields what it waits for. */
type Steps<T> = Generator<Promise<unknown>, T, unknown>;
interface Way<T> {
  readonly steps: Steps<T>;
  readonly done: (found: T) => void;
}

export class AqDequeues {
  readonly watches: Watches;
  private readonly engine: SpaceEngine;
  /** By lane, in the order in which they came. */
  private readonly parked = new Map<number, Set<AqDequeueRequest>>();
  private readonly underWay = new Set<AqDequeueRequest>();
  private readonly ofWork = new Map<Work, Set<AqDequeueRequest>>();

  constructor(engine: SpaceEngine) {
    this.engine = engine;
    this.watches = new Watches(engine);
  }

  begin(request: AqDequeueRequest): void {
    const { lane } = request;
    const { upkeep, endings } = this.engine;
    this.enter(request);
    const again = (): void => {
      request.underWay = false;
      if (request.cancelled === null) this.begin(request);
      else this.refuse(request, request.cancelled);
    };
    request.underWay = true;
    if (endings.isHeld(lane)) return endings.whenFree(lane, again);
    if (upkeep.isBehind(lane) || !upkeep.bring(lane)) return upkeep.whenCurrent(lane, again);
    if (lane.doomed) return this.refuse(request, failure(QME.QMEABORTED));
    if (request.queue.attributes.dequeuePaused) return this.refuse(request, fault(FAULT.DISABLED));
    return this.serve(request);
  }

  /** false: it has been answered, or will be with a message. */
  cancel(request: AqDequeueRequest, refusal: AqRefusal): boolean {
    if (request.parked) {
      this.unpark(request);
      this.refuse(request, refusal);
      return true;
    }
    if (!request.underWay || request.cancelled !== null) return false;
    request.cancelled = refusal;
    return true;
  }

  refuseAll(refusal: AqRefusal): void {
    for (const requests of this.parked.values())
      for (const request of Array.from(requests)) this.cancel(request, refusal);
    for (const request of this.underWay) request.cancelled ??= refusal;
    this.watches.refuseAll(refusal);
  }

  /** The lane, or the queue, is going away. */
  refuseLane({ number }: Queue, refusal: AqRefusal): void {
    for (const request of Array.from(this.parked.get(number) ?? [])) this.cancel(request, refusal);
    this.watches.refuseLane(number, refusal);
  }

  /** The transaction ends. */
  refuseWork(work: Work, refusal: AqRefusal): void {
    for (const request of Array.from(this.ofWork.get(work) ?? [])) this.cancel(request, refusal);
  }

  /** Attributes have changed: whoever waits on a queue that was stopped is told so. */
  recheck(): void {
    for (const requests of this.parked.values()) {
      for (const request of Array.from(requests)) {
        if (request.queue.attributes.dequeuePaused) this.cancel(request, fault(FAULT.DISABLED));
      }
    }
    this.watches.recheck();
  }

  /** This entry became deliverable. */
  offered(entry: number): void {
    const { space } = this.engine;
    const lane = space.queueOf(entry);
    this.watches.offered(lane, entry);
    const corrid = space.corridOf(entry);
    const key = corrid === null ? '' : corridKey(corrid);
    for (const request of Array.from(this.parked.get(lane.number) ?? [])) {
      if (space.entries.state.get(entry) !== ENTRY.READY) return;
      const { criterion } = request;
      if (request.parked && (criterion.by !== 'corrid' || corridKey(criterion.corrid) === key))
        this.again(request);
    }
  }

  /** Nothing was offered on this queue for a while: everybody who waits looks again. */
  offerAgain({ number }: Queue): void {
    for (const request of Array.from(this.parked.get(number) ?? [])) if (request.parked) this.again(request);
    this.watches.lookAgain(number);
  }

  private again(request: AqDequeueRequest): void {
    this.unpark(request);
    this.begin(request);
  }

  private serve(request: AqDequeueRequest): void {
    const { criterion } = request;
    if (criterion.by === 'msgid') {
      const steps = this.collectById(request, criterion.id);
      return this.drive(request, { steps, done: (found) => this.answerById(request, found) });
    }
    const scan = new Scan(this.engine, request);
    const steps = this.collect(request, scan);
    return this.drive(request, { steps, done: (found) => this.answer(request, scan, found) });
  }

  /** Runs the steps: in one go unless something has to be waited for, whose failure is thrown where it was waited for. */
  private drive<T>(
    request: AqDequeueRequest,
    way: Way<T>,
    resume: (steps: Steps<T>) => IteratorResult<Promise<unknown>, T> = (steps) => steps.next(),
  ): void {
    try {
      const step = resume(way.steps);
      if (step.done === true) return way.done(step.value);
      step.value.then(
        (value) => this.drive(request, way, (steps) => steps.next(value)),
        (error: Error) => this.drive(request, way, (steps) => steps.throw(error)),
      );
    } catch (error) {
      this.fail(request, error);
    }
  }

  private fail(request: AqDequeueRequest, error: unknown): void {
    if (!(error instanceof UnreadableError)) throw error;
    this.refuse(request, failure(error.code));
  }

  private answer(request: AqDequeueRequest, scan: Scan, found: readonly AqMessage[]): void {
    // What its transaction held was given back when that ended.
    if (request.cancelled !== null && (request.work !== null || found.length === 0))
      return this.refuse(request, request.cancelled);
    if (found.length > 0) return this.take(request, found);
    if (scan.fault !== 0) return this.refuse(request, fault(scan.fault));
    if (!request.wait) return this.refuse(request, fault(FAULT.NO_MESSAGE));
    return this.park(request);
  }

  private answerById(request: AqDequeueRequest, found: AqMessage | null): void {
    if (request.cancelled !== null && (request.work !== null || found === null))
      return this.refuse(request, request.cancelled);
    if (found === null) return this.refuse(request, fault(FAULT.NO_SUCH_ID));
    return this.take(request, [found]);
  }

  private take(request: AqDequeueRequest, found: readonly AqMessage[]): void {
    this.leave(request);
    request.taken(found, this.batchOf(request));
    // What is kept goes when its time is over.
    const isKept = request.queue.attributes.aq?.retentionS !== 0;
    if (isKept || this.engine.needsSettling) this.engine.settle();
  }

  /** What a consumer outside a transaction is told waits for its removal; in one, for what it read. */
  private batchOf({ lane }: AqDequeueRequest): BatchNumber {
    return lane.lastBatch;
  }

  /** What was consumed before one that cannot be had is handed out: nobody would get it any more. */
  private *collect(request: AqDequeueRequest, scan: Scan): Steps<AqMessage[]> {
    const found: AqMessage[] = [];
    try {
      yield* this.collectInto(found, request, scan);
    } catch (error) {
      if (found.length === 0 || !(error instanceof UnreadableError)) throw error;
    }
    return found;
  }

  /** Waits only when data has to be read from the log, or so much was passed over that others should have a turn. */
  private *collectInto(found: AqMessage[], request: AqDequeueRequest, scan: Scan): Steps<void> {
    const { space } = this.engine;
    let bytes = 0;
    while (found.length < request.size && request.cancelled === null) {
      const entry = scan.next();
      if (entry === NONE && !scan.paused) break;
      if (entry === NONE) {
        yield this.engine.nextTurn();
        continue;
      }
      bytes += space.messages.length.get(space.entries.message.get(entry)) + ITEM_BYTES;
      if (found.length > 0 && bytes > request.bytesMax) break;
      if (request.mode !== MODE.BROWSE && !this.engine.hasSlot(request.work))
        throw new UnreadableError(QME.QMESYSTEM);
      const record = this.recordOf(entry) ?? ((yield this.fetch(request, entry)) as Uint8Array | null);
      if (record === null) continue;
      const message = this.messageOf(entry, record);
      const { criterion } = request;
      if (criterion.by === 'record' && !criterion.matches(message)) continue;
      const companions = scan.companions(entry);
      scan.passed(entry);
      found.push(this.handOut(request, entry, message));
      if (request.mode === MODE.BROWSE || request.work === null) continue;
      for (const one of companions) this.lock(request.work, one, true);
    }
  }

  private *collectById(request: AqDequeueRequest, id: MessageId | null): Steps<AqMessage | null> {
    const { space } = this.engine;
    let entry = id === null ? NONE : space.entryOf(request.lane, id);
    while (entry !== NONE && space.entries.state.get(entry) === ENTRY.HELD) {
      // Somebody reads it: what comes of that is known soon.
      yield this.engine.nextTurn();
      entry = id === null ? NONE : space.entryOf(request.lane, id);
    }
    if (request.cancelled !== null || entry === NONE || !this.mayTake(request, entry)) return null;
    if (request.mode !== MODE.BROWSE && !this.engine.hasSlot(request.work))
      throw new UnreadableError(QME.QMESYSTEM);
    const record = this.recordOf(entry) ?? ((yield this.fetch(request, entry)) as Uint8Array | null);
    return record === null ? null : this.handOut(request, entry, this.messageOf(entry, record));
  }

  /** Neither delay nor order counts for who names a message [oracle-aq 4.2]; a lock does, and what is consumed can only be read. */
  private mayTake({ mode, work, deliveryMode }: AqDequeueRequest, entry: number): boolean {
    const { entries, messages } = this.engine.space;
    const kind = messages.ref.get(entries.message.get(entry)) === MEMORY_REF ? 2 : 1;
    if ((deliveryMode & kind) === 0) return false;
    const state = entries.state.get(entry);
    if (state === ENTRY.READY || state === ENTRY.DELAYED) return true;
    if (mode === MODE.BROWSE)
      return state === ENTRY.PROCESSED || state === ENTRY.LOCKED || state === ENTRY.LOOKED;
    return state === ENTRY.LOOKED && entries.owner.get(entry) === work?.branch.number;
  }

  /** The record, if it is in memory; throws when it is damaged. */
  private recordOf(entry: number): Uint8Array | null {
    const { space, journal } = this.engine;
    const { messages } = space;
    const row = space.entries.message.get(entry);
    const [ref, offset, length] = [messages.ref.get(row), messages.offset.get(row), messages.length.get(row)];
    if (ref === MEMORY_REF) return space.memory.get(offset, length);
    const record = journal.cached(ref, offset, length);
    return record === null || isIntact(record) ? record : this.damaged(entry);
  }

  /** Reads it from the log; null: it is not there any more, or the request was cancelled. */
  private async fetch(request: AqDequeueRequest, entry: number): Promise<Uint8Array | null> {
    const { engine } = this;
    const { space } = engine;
    const { messages, entries } = space;
    const id = space.id(entry);
    const row = entries.message.get(entry);
    const [ref, offset, length] = [messages.ref.get(row), messages.offset.get(row), messages.length.get(row)];
    const state = entries.state.get(entry);
    // One that is not READY keeps its state: it is browsed, or was locked by this transaction before.
    const holds = request.mode !== MODE.BROWSE && (state === ENTRY.READY || state === ENTRY.DELAYED);
    if (holds) engine.run({ kind: 'hold', entry });
    let record: Uint8Array;
    try {
      record = await engine.journal.read(ref, offset, length);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      engine.warn(`reading a message failed: ${reason}; it is not offered again until the next start`, {
        queue: request.queue.attributes.name,
      });
      throw new UnreadableError(QME.QMEOS);
    }
    if (!isIntact(record)) return this.damaged(entry);
    if (holds) engine.run({ kind: 'unhold', entry });
    if (request.cancelled !== null) {
      engine.settle();
      return null;
    }
    return space.entryById(id) === entry && (holds || entries.state.get(entry) === state) ? record : null;
  }

  private damaged(entry: number): never {
    const { engine } = this;
    const { entries, messages } = engine.space;
    const row = entries.message.get(entry);
    if (entries.state.get(entry) === ENTRY.READY) engine.run({ kind: 'hold', entry });
    engine.warn('a message is damaged in the log; it is not offered again until the next start', {
      queue: engine.space.queueOf(entry).attributes.name,
      ...engine.journal.place(messages.ref.get(row), messages.offset.get(row)),
    });
    throw new UnreadableError(QME.QMESYSTEM);
  }

  private handOut({ mode, work }: AqDequeueRequest, entry: number, message: AqMessage): AqMessage {
    const { engine } = this;
    if (mode === MODE.BROWSE) return message;
    if (mode === MODE.LOCKED) {
      if (work !== null) this.lock(work, entry, true);
      return message;
    }
    if (work === null) engine.run({ kind: 'take', entry, branch: NONE, aq: engine.aqTerms });
    else this.lock(work, entry, false);
    return mode === MODE.REMOVE_NODATA ? { ...message, data: null } : message;
  }

  private lock({ branch }: Work, entry: number, looks: boolean): void {
    this.engine.run({ kind: 'take', entry, branch: branch.number, looks });
  }

  /** As it is handed out, as it is now. */
  messageOf(entry: number, record: Uint8Array): AqMessage {
    const { space } = this.engine;
    const { entries } = space;
    const row = entries.message.get(entry);
    const { properties, data } = decodeMessage(record, space.id(entry));
    const provenance = space.provenanceOf(entry);
    return {
      id: space.messages.commonId(row),
      properties,
      data,
      persistent: space.isPersistent(entry),
      attempts: attemptsOf(entries.retries.get(entry)),
      state: this.stateOf(entry),
      group: space.groups.of(entry),
      originalQueue: provenance?.name ?? '',
      reason: provenance?.reason ?? 0,
    };
  }

  private stateOf(entry: number): number {
    const { space } = this.engine;
    if (space.queueOf(entry).attributes.aq?.type === AQ_TYPE.EXCEPTION) return STATE.EXPIRED;
    const state = space.entries.state.get(entry);
    if (state === ENTRY.PROCESSED) return STATE.PROCESSED;
    return state === ENTRY.DELAYED ? STATE.WAITING : STATE.READY;
  }

  private park(request: AqDequeueRequest): void {
    const { engine } = this;
    request.underWay = false;
    request.parked = true;
    this.underWay.delete(request);
    const { number } = request.lane;
    const waiting = this.parked.get(number);
    if (waiting === undefined) this.parked.set(number, new Set([request]));
    else waiting.add(request);
    this.watches.count(request.lane, 1);
    if (request.deadlineMs === Infinity) return;
    request.deadline = engine.timers.set(request.deadlineMs, () => {
      request.deadline = null;
      this.cancel(request, fault(FAULT.NO_MESSAGE));
    });
  }

  private unpark(request: AqDequeueRequest): void {
    const { number } = request.lane;
    const waiting = this.parked.get(number);
    waiting?.delete(request);
    if (waiting?.size === 0) this.parked.delete(number);
    this.watches.count(request.lane, -1);
    request.parked = false;
    if (request.deadline !== null) this.engine.timers.cancel(request.deadline);
    request.deadline = null;
  }

  private enter(request: AqDequeueRequest): void {
    this.underWay.add(request);
    const { work } = request;
    if (work === null) return;
    const waiting = this.ofWork.get(work);
    if (waiting === undefined) this.ofWork.set(work, new Set([request]));
    else waiting.add(request);
  }

  private leave(request: AqDequeueRequest): void {
    request.underWay = false;
    this.underWay.delete(request);
    const { work } = request;
    const waiting = work === null ? undefined : this.ofWork.get(work);
    if (work === null || waiting === undefined) return;
    waiting.delete(request);
    if (waiting.size === 0) this.ofWork.delete(work);
  }

  private refuse(request: AqDequeueRequest, refusal: AqRefusal): void {
    this.leave(request);
    request.refused(refusal, request.lane.lastBatch);
  }
}

/** The message of an entry cannot be handed out. */
class UnreadableError extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`code ${code}`);
    this.code = code;
  }
}
