// Enqueues of one space: admitted by the queue's attributes, the space's limits and the room in the log, then made at once or kept in the
// caller's transaction until commit. Invariant: a request that has to wait for room holds up those behind it, also smaller ones.
import { assert } from '../base/assert.ts';
import { NONE } from '../base/column.ts';
import { QME, type Qme } from '../../proto/codes.ts';
import { apply } from '../queue/apply.ts';
import { checkLimits, checkTerms, enqueuedEvent, isBornExpired } from '../queue/enqueue.ts';
import { MEMORY_REF, type Enqueued, type Position } from '../queue/event.ts';
import { isBefore, parseMsgid, sameId, type MessageId } from '../queue/message.ts';
import { standingOf } from '../queue/place.ts';
import { rowsOf } from '../queue/recipients.ts';
import type { Queue } from '../queue/queue.ts';
import { pagesOf, type QueueSpace } from '../queue/space.ts';
import {
  encodeEnqueued,
  enqueuedBytes,
  EVENT_HEAD_BYTES,
  eventBytes,
  ID_HEAD_BYTES,
  idInRecord,
  queueInRecord,
  readEnqueued,
} from './message-record.ts';
import { PLACED_BYTES, REMOVAL_BYTES } from './record.ts';
import { RecordBuffer } from './record-buffer.ts';
import { asBuffer } from './record-parts.ts';
import type { EnqueueOutcome, EnqueueRequest, Placement, Work } from './request.ts';
import type { SpaceEngine } from './space-engine.ts';

/** Messages and bytes of one transaction [DESIGN 6, Limits]. */
export const TRANSACTION_LIMIT = { MESSAGES: 250_000, BYTES: 256 * 1024 * 1024 } as const;
/**
 * Bytes of the open batch above which enqueues wait for the batch in flight; and of open batch and open transactions together, above which
 * they are refused. A commit moves bytes from one to the other, so no batch can outgrow what the log takes at a time.
 */
const BATCH_BYTES_HIGH = 64 * 1024 * 1024;
const UNCOMMITTED_BYTES_MAX = 768 * 1024 * 1024;
/** What a record takes beside its own bytes: its start in the batch and its share of a frame. */
export const RECORD_OVERHEAD_BYTES = 32;

export class Enqueues {
  private readonly engine: SpaceEngine;
  /** Where the record of a non-persistent message is encoded before it is copied to its cells. */
  private readonly scratch = new RecordBuffer();
  private waitingForRoom: (() => void)[] = [];
  private resuming = false;
  /** Bytes of the records of open transactions. */
  private workBytes = 0;

  constructor(engine: SpaceEngine) {
    this.engine = engine;
  }

  put(request: EnqueueRequest): EnqueueOutcome {
    const { space, endings } = this.engine;
    const { work, terms, properties, data } = request;
    const queue = space.queue(request.qname);
    // A queue has one dialect [DESIGN 9].
    if (queue === undefined || queue.isAq) return { ...refusal(QME.QMEBADQUEUE), batch: space.namesBatch };
    // Where the message that it names stands, or whether, is known when the ending is over. Nothing else here depends on it.
    if (endings.isHeld(queue) && terms?.position instanceof Uint8Array) return LATER;
    const code = this.checkTerms(queue, request);
    // A pause is an answer only when it is durable, as every other.
    if (code !== QME.OK) return { ...refusal(code), batch: code === QME.QMESHARE ? queue.lastBatch : 0 };
    const { isPlain } = queue;
    const now = terms === null && isPlain ? NO_TIME : this.engine.now();
    const { nowMs, wallMs } = now;
    const event = enqueuedEvent(queue, { id: this.engine.newId(), properties, terms, nowMs, wallMs });
    const isPlaced = typeof terms?.position === 'object' && terms.position !== null;
    return this.admit({
      queue,
      event,
      data,
      work,
      now,
      placements: isPlaced ? () => this.placementsOf(event, terms.position) : null,
    });
  }

  /** A message that its queue takes: made, kept for a commit, or refused for want of room; or `later`. */
  admit(arrival: Admission): EnqueueOutcome {
    const { journal, endings, space } = this.engine;
    const { event, work, data, now } = arrival;
    const { persistent } = event;
    const recordBytes = enqueuedBytes(event, data);
    const isFull = !this.engine.hasSlot(work) || checkLimits(space, { persistent, recordBytes }) !== QME.OK;
    // What is ending may leave room.
    if (isFull) return endings.isBusy ? LATER : refusal(QME.QMENOSPACE);
    if (work !== null && exceeds(work, recordBytes)) return refusal(QME.QMENOSPACE);
    const rows = rowsOf(event);
    // What is put before another has a record more.
    const placed = persistent && arrival.placements !== null ? PLACED_BYTES * rows : 0;
    const bytes = recordBytes + RECORD_OVERHEAD_BYTES + placed;
    if (persistent) {
      const room = this.reserve(bytes, rows);
      if (room !== null) return room;
    }
    if (work !== null) this.keep(work, { ...arrival, reserved: bytes });
    else if (isBornExpired(event, now) && !arrival.queue.isAq)
      journal.release(persistent ? bytes + REMOVAL_BYTES : 0);
    else this.make(arrival, bytes);
    return {
      code: QME.OK,
      later: false,
      id: event.id,
      batch: work !== null || !persistent ? 0 : journal.batch,
    };
  }

  /** Calls `retry` once more room is there, or known not to come; in the order of asking. */
  whenRoom(retry: () => void): void {
    this.waitingForRoom.push(retry);
    if (this.waitingForRoom.length > 1 || this.resuming) return;
    this.awaitRoom();
  }

  /** What a transaction enqueued becomes part of the open batch, and is applied as replay would apply it. */
  commit(work: Work): void {
    const { engine } = this;
    const { space, journal } = engine;
    this.forget(work);
    if (work.records.count > 0) this.adopt(work);
    if (work.records.count > 0 || work.branch.locks > 0) space.batch = journal.batch;
    for (const event of work.memory) apply(space, event);
    for (const queue of work.queues.keys()) {
      engine.thresholds.touched(queue);
      // Others see the non-persistent part when the rest is durable.
      if (work.records.count > 0) queue.lastBatch = journal.batch;
    }
    for (const placement of work.placements) this.place(placement);
  }

  /** What a transaction enqueued becomes part of the open batch for its prepared branch: there, and not on the queues. */
  prepare(work: Work): void {
    const { space } = this.engine;
    this.forget(work);
    if (work.records.count > 0) this.adopt(work, work.branch.number);
    for (const event of work.memory) apply(space, { ...event, branch: work.branch.number });
    // From now on others may be put before the same messages: it has its place among them.
    for (const placement of work.placements) this.place(placement);
  }

  /**
   * The same as `commit`, or with a branch as `prepare`, for a large one: its records are in the open batch when this returns, and are applied
   * by the steps, one message each.
   */
  beginSteps(work: Work, branch = 0): Generator<void, void> {
    const { journal } = this.engine;
    const at = { ref: journal.ref, offset: 0 };
    this.workBytes -= work.bytes;
    if (work.records.count > 0) {
      at.offset = journal.records.adopt(work.records);
      journal.changed(this.reservedUntilAppended(work));
    }
    return this.steps(work, at, branch);
  }

  /** What a transaction enqueued is given up. */
  rollback(work: Work): void {
    const { memory } = this.engine.space;
    this.giveUp(work);
    for (const { place } of work.memory) memory.release(place.offset);
  }

  /** The same, one message a step. */
  *rollbackSteps(work: Work): Generator<void, void> {
    const { memory } = this.engine.space;
    this.giveUp(work);
    for (const { place } of work.memory) {
      memory.release(place.offset);
      yield;
    }
  }

  private giveUp(work: Work): void {
    this.forget(work);
    this.engine.journal.release(work.reservedBytes);
    work.reservedBytes = 0;
  }

  private *steps(work: Work, at: { ref: number; offset: number }, branch: number): Generator<void, void> {
    const { space } = this.engine;
    const { records } = work;
    for (let i = 0; i < records.count; i++) {
      const offset = records.startOf(i);
      const length = records.endOf(i) - offset;
      const event = readEnqueued(
        headOf(records, i),
        { ref: at.ref, offset: at.offset + offset, length },
        branch,
      );
      space.usage.messages -= rowsOf(event);
      space.usage.pages -= pagesOf(length);
      this.arrive(event);
      yield;
    }
    for (const event of work.memory) {
      space.usage.messages -= rowsOf(event);
      this.arrive({ ...event, branch });
      yield;
    }
    if (branch === 0) this.unhide(work);
    for (const placement of work.placements) {
      this.place(placement);
      yield;
    }
  }

  /** Those of a branch go on being pending, as entries of their own. */
  private arrive(event: Enqueued): void {
    const { space } = this.engine;
    if (event.branch !== 0) {
      for (const number of queuesOf(event)) {
        const queue = space.queueByNumber(number);
        if (queue !== undefined) queue.pending--;
      }
    }
    apply(space, event);
  }

  private unhide(work: Work): void {
    for (const [queue, count] of work.queues) {
      queue.pending -= count;
      queue.lastBatch = this.engine.journal.batch;
    }
  }

  /** Room that a transaction's records need no longer when the open batch is appended: all but that for their removal. */
  private reservedUntilAppended(work: Work): number {
    const inMemory = work.memory.reduce((sum, event) => sum + rowsOf(event), 0);
    const bytes = work.reservedBytes - (work.messages - inMemory) * REMOVAL_BYTES;
    work.reservedBytes = 0;
    return bytes;
  }

  private checkTerms(queue: Queue, { terms, work }: EnqueueRequest): Qme {
    const position = terms?.position ?? null;
    const code = checkTerms(this.engine.space, queue, position);
    // A message of the same transaction is not on the queue yet, and can be named all the same.
    if (code !== QME.QMEBADMSGID || work === null || !(position instanceof Uint8Array)) return code;
    const id = parseMsgid(this.engine.space.spaceId, position);
    return id !== null && this.isIn(work, queue, id) ? QME.OK : code;
  }

  private isIn(work: Work, queue: Queue, id: MessageId): boolean {
    if (work.memory.some((event) => event.queue === queue.number && sameId(event.id, id))) return true;
    const { records } = work;
    // Ids of one transaction ascend.
    let low = 0;
    for (let high = records.count; low < high;) {
      const middle = (low + high) >> 1;
      if (isBefore(idInRecord(idOf(records, middle)), id)) low = middle + 1;
      else high = middle;
    }
    if (low >= records.count) return false;
    const head = idOf(records, low);
    return sameId(idInRecord(head), id) && queueInRecord(head) === queue.number;
  }

  /** null: set aside; else what to answer. */
  private reserve(bytes: number, rows: number): EnqueueOutcome | null {
    const { journal } = this.engine;
    if (this.waitingForRoom.length > 0 && !this.resuming) return LATER;
    const uncommitted = journal.records.length + this.workBytes;
    if (uncommitted + bytes > UNCOMMITTED_BYTES_MAX) return refusal(QME.QMENOSPACE);
    if (journal.records.length > BATCH_BYTES_HIGH && journal.isBusy) return LATER;
    if (journal.reserve(bytes + rows * REMOVAL_BYTES)) return null;
    return journal.roomComing() === null ? refusal(QME.QMENOSPACE) : LATER;
  }

  private make({ event, data, placements }: Admission, bytes: number): void {
    const { engine } = this;
    if (event.persistent) engine.emitEnqueued(event, data);
    else engine.emitEnqueued(this.inMemory(event, data), null);
    if (event.persistent) engine.journal.changed(bytes);
    if (placements !== null) for (const placement of placements()) this.place(placement);
    if (engine.needsSettling || event.timing !== null) engine.settle();
  }

  private keep(work: Work, kept: Admission & { readonly reserved: number }): void {
    const { queue, event, data } = kept;
    const { space } = this.engine;
    space.branches.activate(work.branch);
    const rows = rowsOf(event);
    if (event.persistent) {
      encodeEnqueued(work.records, event, data);
      const { length } = event.place;
      work.reservedBytes += kept.reserved + rows * REMOVAL_BYTES;
      work.bytes += length;
      this.workBytes += length;
      work.pages += pagesOf(length);
      space.usage.pages += pagesOf(length);
    } else {
      work.memory.push(this.inMemory(event, data));
    }
    work.messages += rows;
    space.usage.messages += rows;
    for (const number of queuesOf(event)) {
      const other = number === queue.number ? queue : space.queueByNumber(number);
      if (other === undefined) continue;
      other.pending++;
      work.queues.set(other, (work.queues.get(other) ?? 0) + 1);
    }
    if (kept.placements !== null) work.placements.push(...kept.placements());
  }

  /** Ends the accounts of what has not been committed. */
  private forget(work: Work): void {
    const { usage } = this.engine.space;
    usage.messages -= work.messages;
    usage.pages -= work.pages;
    this.workBytes -= work.bytes;
    for (const [queue, count] of work.queues) queue.pending -= count;
  }

  /** Puts the record of a non-persistent message into the memory area, and its place into the event. */
  private inMemory(event: Enqueued, data: Uint8Array | null): Enqueued {
    const { scratch } = this;
    encodeEnqueued(scratch, event, data);
    event.place.offset = this.engine.space.memory.put(scratch.group().bytes);
    event.place.ref = MEMORY_REF;
    scratch.clear();
    return event;
  }

  private placementsOf(event: Enqueued, position: 'top' | Uint8Array | null): Placement[] {
    const { space } = this.engine;
    if (!(position instanceof Uint8Array)) return [];
    const before = parseMsgid(space.spaceId, position);
    assert(before !== null, 'the id was checked');
    return [placementBefore(space, event.id, before)];
  }

  private place(placement: Placement): void {
    const mayRelabel = (count: number): boolean => this.engine.reserveChange(count * PLACED_BYTES);
    this.engine.run({ kind: 'place', ...placement, mayRelabel });
  }

  /** The records of a transaction's enqueues become part of the open batch and are applied as replay would apply them. */
  private adopt(work: Work, branch = 0): void {
    const { journal, space } = this.engine;
    const first = journal.records.count;
    journal.records.adopt(work.records);
    space.batch = journal.batch;
    for (let i = first; i < journal.records.count; i++) {
      const offset = journal.records.startOf(i);
      const length = journal.records.endOf(i) - offset;
      apply(space, readEnqueued(headOf(journal.records, i), { ref: journal.ref, offset, length }, branch));
    }
    journal.changed(this.reservedUntilAppended(work));
  }

  private awaitRoom(): void {
    const { journal, endings } = this.engine;
    const coming = journal.roomComing() ?? journal.committed() ?? endings.settled() ?? Promise.resolve();
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
}

/** A message that its queue takes. */
export interface Admission {
  readonly queue: Queue;
  readonly event: Enqueued;
  readonly data: Uint8Array | null;
  readonly work: Work | null;
  /** Space time and wall clock. */
  readonly now: { readonly nowMs: number; readonly wallMs: number };
  /** What it is put before, once it is admitted; null: nothing. */
  readonly placements: (() => Placement[]) | null;
}

/** To be put directly before the row of this id. */
export function placementBefore(space: QueueSpace, id: MessageId, before: MessageId): Placement {
  const entry = space.entryById(before);
  return { id, before, standing: entry === NONE ? nowhere(before) : standingOf(space, entry) };
}

/** The queue that a message comes to, or the lanes. */
function queuesOf({ queue, recipients }: Enqueued): readonly number[] {
  return recipients === undefined ? [queue] : recipients.map((one) => one.queue);
}

const NO_TIME = { nowMs: 0, wallMs: 0 } as const;

/** Refused for now: ask again when `whenRoom` calls. */
const LATER: EnqueueOutcome = { code: QME.QMENOSPACE, later: true, id: null, batch: 0 };

export function refusal(code: Qme): EnqueueOutcome {
  return { code, later: false, id: null, batch: 0 };
}

function exceeds(work: Work, bytes: number): boolean {
  return work.messages >= TRANSACTION_LIMIT.MESSAGES || work.bytes + bytes > TRANSACTION_LIMIT.BYTES;
}

function idOf(records: RecordBuffer, index: number): Uint8Array {
  return records.slice(records.startOf(index), ID_HEAD_BYTES);
}

/** A message's record without its data. */
function headOf(records: RecordBuffer, index: number): Buffer {
  const at = records.startOf(index);
  return asBuffer(records.slice(at, eventBytes(records.slice(at, EVENT_HEAD_BYTES))));
}

/** The place of a message that is not on the queue yet: right before it, should it never come. */
function nowhere(base: MessageId): Position {
  return { top: false, priority: 50, sortTimeMs: 0, sortExpiryMs: Infinity, base, label: null };
}
