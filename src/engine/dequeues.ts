// Dequeues under way in one space: the choice of an entry, the fetch of its data before it is decided, parked requests and their waking.
// A parked request takes one of the space's actions [spec 8.3]. Invariant: every request is answered exactly once; a message is never
// handed to a request that was cancelled or whose transaction ended: what was fetched for it goes back. Fetching is not decided: the entry
// is only held, and others pass it [DESIGN 4, Bodies].
import { Heap, type HeapItem } from '../base/heap.ts';
import { QME, TPERRNO } from '../../proto/codes.ts';
import { select } from '../queue/decide.ts';
import { corridKey, idKeyOf, parseMsgid } from '../queue/message.ts';
import { MEMORY_REF } from '../queue/event.ts';
import type { Queue } from '../queue/queue.ts';
import { ENTRY } from '../queue/tables.ts';
import { Waiter, Waiters } from '../queue/waiter.ts';
import { decodeMessage, isIntact, type StoredMessage } from './message-record.ts';
import type { BatchNumber, DequeueRequest, Failure } from './request.ts';
import type { SpaceEngine } from './space-engine.ts';

/** A parked request that an entry may satisfy. */
interface Turn extends HeapItem {
  readonly entry: number;
  readonly waiter: Waiter<DequeueRequest>;
}

export class Dequeues {
  private readonly engine: SpaceEngine;
  private readonly waiters = new Map<number, Waiters<DequeueRequest>>();
  private readonly underWay = new Set<DequeueRequest>();
  /** Actions in use. */
  private actions = 0;
  private waking = false;

  constructor(engine: SpaceEngine) {
    this.engine = engine;
  }

  /** `isCurrent`: its queue is known to be up to date. */
  begin(request: DequeueRequest, isCurrent: boolean): void {
    const queue = this.engine.space.queue(request.qname);
    // A queue has one dialect [DESIGN 9].
    if (queue === undefined || queue.isAq)
      return request.refused(QME.QMEBADQUEUE, this.engine.space.namesBatch);
    if (this.engine.endings.isHeld(queue)) return this.awaitEnding(request, queue);
    return this.attempt(request, queue, isCurrent);
  }

  cancel(request: DequeueRequest, failure: Failure): boolean {
    if (request.waiter?.parked === true) {
      const queue = this.unpark(request);
      request.refused(failure, queue.lastBatch);
      return true;
    }
    if (!request.underWay || request.cancelled !== null) return false;
    request.cancelled = failure;
    return true;
  }

  refuseAll(failure: Failure): void {
    for (const number of this.waiters.keys()) this.refuseWaiters(number, failure);
    for (const request of this.underWay) request.cancelled ??= failure;
  }

  /** The queue is going away. */
  refuseQueue(queue: Queue, failure: Failure): void {
    this.refuseWaiters(queue.number, failure);
    this.waiters.delete(queue.number);
  }

  /** Attributes have changed: whoever waits on a queue that is now paused is told so. */
  recheck(): void {
    for (const queue of this.engine.space.queues()) {
      if (queue.attributes.dequeuePaused) this.refuseWaiters(queue.number, QME.QMESHARE);
    }
  }

  private refuseWaiters(queue: number, failure: Failure): void {
    const waiters = this.waiters.get(queue);
    if (waiters === undefined) return;
    for (let waiter = waiters.any(); waiter !== null; waiter = waiters.any())
      this.cancel(waiter.request, failure);
  }

  /** Offers what became deliverable to those who wait for it: the longest waiting chooses first among all that came together [spec 2.5]. */
  wake(): void {
    if (this.waking) return;
    this.waking = true;
    const { offers } = this.engine.space;
    const turns = new Heap<Turn>((a, b) => a.waiter.arrival < b.waiter.arrival);
    for (;;) {
      // What one waiter gets may make more deliverable.
      for (const entry of offers) this.nextTurn(turns, entry, 0);
      offers.length = 0;
      const turn = turns.first();
      if (turn === undefined) break;
      turns.remove(turn);
      const { entry, waiter } = turn;
      const { arrival, request } = waiter;
      if (waiter.parked && this.isOpen(entry)) this.attempt(request, this.unpark(request));
      this.nextTurn(turns, entry, arrival);
    }
    this.waking = false;
  }

  /** The same for a queue where nothing was offered for a while: everybody who waits looks again. */
  offerAgain(queue: Queue): void {
    if (queue.waiting === 0) return;
    for (const { parked, request } of this.waiters.get(queue.number)?.inOrder() ?? []) {
      if (parked && request.parkedOn === queue && select(this.engine.space, queue, request.selection) > 0)
        this.attempt(request, this.unpark(request));
    }
  }

  /** Whose turn it is, after `arrival`, to be looked at because of this entry. */
  private nextTurn(turns: Heap<Turn>, entry: number, arrival: number): void {
    if (!this.isOpen(entry)) return;
    const { space } = this.engine;
    const queue = space.queueOf(entry);
    if (queue.isAq) return this.engine.aq.offered(entry);
    const waiters = this.waiters.get(queue.number);
    if (waiters === undefined || waiters.size === 0) return;
    const waiter = waiters.firstFor(space.selectorOf(entry), arrival);
    if (waiter !== null) turns.push({ heapIndex: -1, entry, waiter });
  }

  private isOpen(entry: number): boolean {
    return this.engine.space.entries.state.get(entry) === ENTRY.READY;
  }

  private attempt(request: DequeueRequest, queue: Queue, isCurrent = false): void {
    const { space, upkeep } = this.engine;
    if (upkeep.isBehind(queue) || (!isCurrent && !upkeep.bring(queue))) return this.postpone(request, queue);
    const selected = select(space, queue, request.selection);
    if (selected <= 0) {
      if (selected === QME.QMENOMSG && request.wait) return this.park(request, queue);
      return request.refused(selected, queue.lastBatch);
    }
    const { messages, entries } = space;
    const message = entries.message.get(selected);
    const type = space.typeOf(messages.typeCode.get(message));
    // The message stays, whether the caller is in a transaction or not [spec 2.3, TPEOTYPE].
    if (type !== null && !request.accepts(type.type, type.subtype)) {
      return request.refused(TPERRNO.TPEOTYPE, queue.lastBatch);
    }
    if (!request.peek && !this.engine.hasSlot(request.work)) return request.refused(QME.QMESYSTEM, 0);
    const ref = messages.ref.get(message);
    const offset = messages.offset.get(message);
    const length = messages.length.get(message);
    if (ref === MEMORY_REF) {
      const record = space.memory.get(offset, length);
      return this.finish(request, selected, this.decode(record, selected));
    }
    const record = this.engine.journal.cached(ref, offset, length);
    if (record === null) return this.fetch(request, selected);
    if (!isIntact(record)) return this.damaged(request, selected);
    return this.finish(request, selected, this.decode(record, selected));
  }

  private decode(record: Uint8Array, entry: number): StoredMessage {
    const { space } = this.engine;
    return decodeMessage(
      record,
      space.id(entry),
      space.messages.priority.get(space.entries.message.get(entry)),
    );
  }

  private finish(request: DequeueRequest, entry: number, message: StoredMessage): void {
    const { engine } = this;
    const queue = engine.space.queueOf(entry);
    // That it is the first of its queue must be as durable as the message itself.
    if (request.peek) return request.taken(message, queue.lastBatch);
    const { work } = request;
    const readable = this.readableWith(queue, entry);
    engine.run({ kind: 'take', entry, branch: work === null ? 0 : work.branch.number });
    return request.taken(message, work === null ? queue.lastBatch : readable);
  }

  /** The batch that a transaction may see a message with: of its record, and of what changed it since. A lock leaves no record. */
  private readableWith(queue: Queue, entry: number): BatchNumber {
    const { messages, entries } = this.engine.space;
    return this.engine.journal.isDurable(messages.ref.get(entries.message.get(entry)))
      ? queue.lastChange
      : queue.lastBatch;
  }

  /** The data is on disk only: the entry is held while it is read, and decided when it is there. */
  private fetch(request: DequeueRequest, entry: number): void {
    const { engine } = this;
    const { messages, entries } = engine.space;
    const message = entries.message.get(entry);
    const place = {
      ref: messages.ref.get(message),
      offset: messages.offset.get(message),
      length: messages.length.get(message),
    };
    engine.run({ kind: 'hold', entry });
    this.beginWay(request);
    engine.journal.read(place.ref, place.offset, place.length).then(
      (record) => {
        this.endWay(request);
        if (!isIntact(record)) return this.damaged(request, entry);
        engine.run({ kind: 'unhold', entry });
        if (request.cancelled === null) this.finish(request, entry, this.decode(record, entry));
        else request.refused(request.cancelled, engine.space.queueOf(entry).lastBatch);
        return engine.settle();
      },
      (error: Error) => {
        this.endWay(request);
        engine.warn(
          `reading a message failed: ${error.message}; it is not offered again until the next start`,
          {
            queue: request.qname,
          },
        );
        request.refused(request.cancelled ?? QME.QMEOS, 0);
      },
    );
  }

  /** More became due or expired on its queue than one slice takes: it is decided when that has been seen to. */
  private postpone(request: DequeueRequest, queue: Queue): void {
    this.beginWay(request);
    this.engine.upkeep.whenCurrent(queue, () => {
      this.endWay(request);
      if (request.cancelled === null) this.begin(request, false);
      else request.refused(request.cancelled, queue.lastBatch);
    });
  }

  /** A large transaction that touches the queue is ending: it is decided when that is over, before any later one. */
  private awaitEnding(request: DequeueRequest, queue: Queue): void {
    this.beginWay(request);
    this.engine.endings.whenFree(queue, () => {
      this.endWay(request);
      if (request.cancelled !== null) request.refused(request.cancelled, queue.lastBatch);
      else if (this.engine.space.queue(request.qname) === queue) this.attempt(request, queue);
      else this.begin(request, false);
    });
  }

  private beginWay(request: DequeueRequest): void {
    request.underWay = true;
    request.work?.waiting.add(request);
    this.underWay.add(request);
  }
  private endWay(request: DequeueRequest): void {
    request.underWay = false;
    request.work?.waiting.delete(request);
    this.underWay.delete(request);
  }

  /** The record is not what was written: the message stays, held, and is not offered again before the next start. */
  private damaged(request: DequeueRequest, entry: number): void {
    const { engine } = this;
    const { entries, messages } = engine.space;
    const message = entries.message.get(entry);
    if (entries.state.get(entry) === ENTRY.READY) engine.run({ kind: 'hold', entry });
    engine.warn('a message is damaged in the log; it is not offered again until the next start', {
      queue: request.qname,
      ...engine.journal.place(messages.ref.get(message), messages.offset.get(message)),
    });
    request.refused(request.cancelled ?? QME.QMESYSTEM, 0);
  }

  private park(request: DequeueRequest, queue: Queue): void {
    const { engine } = this;
    if (request.needsAction && !this.takeAction()) return request.refused(QME.QMESYSTEM, 0);
    const waiter = new Waiter<DequeueRequest>(this.selectorOf(request), request);
    request.waiter = waiter;
    request.parkedOn = queue;
    request.work?.waiting.add(request);
    let waiters = this.waiters.get(queue.number);
    if (waiters === undefined) {
      waiters = new Waiters<DequeueRequest>();
      this.waiters.set(queue.number, waiters);
    }
    waiters.add(waiter);
    queue.waiting = waiters.size;
    if (request.deadlineMs === Infinity) return;
    request.deadline = engine.timers.set(request.deadlineMs, () => {
      request.deadline = null;
      this.cancel(request, request.timeoutFailure);
    });
  }

  /** The processes of the space bring one each, and -A adds to them; none given: no limit [spec 8.3]. */
  private takeAction(): boolean {
    const { processes, actions } = this.engine.space.attributes;
    const limit = processes + actions;
    if (limit > 0 && this.actions >= limit) return false;
    this.actions++;
    return true;
  }

  /** Takes a parked request out of its queue's waiters; returns that queue. */
  private unpark(request: DequeueRequest): Queue {
    const { engine } = this;
    const queue = request.parkedOn as Queue; // its name may be another's by now
    const waiters = this.waiters.get(queue.number) as Waiters<DequeueRequest>;
    if (request.needsAction) this.actions--;
    if (request.waiter !== null) waiters.remove(request.waiter);
    queue.waiting = waiters.size;
    request.waiter = null;
    request.parkedOn = null;
    request.work?.waiting.delete(request);
    if (request.deadline !== null) engine.timers.cancel(request.deadline);
    request.deadline = null;
    return queue;
  }

  private selectorOf(request: DequeueRequest): { msgidKey: string; corridKey: string } {
    const { msgid, corrid } = request.selection;
    const id = msgid === null ? null : parseMsgid(this.engine.space.spaceId, msgid);
    return { msgidKey: id === null ? '' : idKeyOf(id), corridKey: corrid === null ? '' : corridKey(corrid) };
  }
}
