// Reclaim [DESIGN 5]: the log's units leave from the front. A unit without live messages goes at once; while too much of the log is dead, the
// live messages of the front unit are restated at the tail, with their complete state, and then it goes. Restating is paid for by what is
// appended and what dies (reclaim-pace.ts), a little in each batch. Invariant: a unit goes only when everything that emptied it is
// durable. A message whose record cannot be read or is damaged keeps its unit and all behind it: that is said once.
import type { LogWriter } from '../wal/log-store.ts';
import { standingOf } from '../queue/place.ts';
import { memberOf } from '../queue/prepared.ts';
import { NONE } from '../base/column.ts';
import { Histogram } from '../base/histogram.ts';
import { MEMORY_REF, type Enqueued } from '../queue/event.ts';
import { finishedOf, idOfCopy, recipientsAt } from '../queue/recipients.ts';
import { decodeMessage, isIntact } from './message-record.ts';
import { isTooLarge, payFor, type LogSize } from './reclaim-pace.ts';
import type { SpaceEngine } from './space-engine.ts';

/** So much is restated in one batch, so that its sync takes no longer than a small one's; more only while batches are large anyway. */
const BATCH_BYTES = { MIN: 256 * 1024, MAX: 4 * 1024 * 1024 } as const;
/** Rows looked at in a row, in the search for the messages of a unit: a few milliseconds. */
const SCAN_ROWS = 32_768;
/** What the log must stay under is twice what is live and four units [DESIGN 5, Reclaim]; it prepares ahead only below one unit less. */
const BOUND = 2;
const BOUND_UNITS = 3;

/** Bounds of what is shown of how long one step takes, its sync included. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

export class Reclaim {
  /** Steps in which messages were restated. */
  readonly seconds = new Histogram(SECONDS);
  restatedBytes = 0;
  private readonly engine: SpaceEngine;
  private readonly writer: LogWriter;
  /** The first unit that is not known to be empty. */
  private unit: number;
  private budget = 0;
  /** Bytes that the next batch may restate. */
  private share: number = BATCH_BYTES.MIN;
  private paidDied = 0;
  /** Message rows of the front unit, in the order of their records; those before `next` are done. */
  private rows: Uint32Array = new Uint32Array(0);
  private next = 0;
  private scanned = -1;
  private restating = false;
  private trimming = false;
  private stopped = false;

  constructor(engine: SpaceEngine, writer: LogWriter) {
    this.engine = engine;
    this.writer = writer;
    this.unit = writer.firstUnit;
    engine.space.units.forgetBefore(writer.firstUnit);
    this.limit();
  }

  /** A batch was appended: `bytes` of it were new, the rest restated. */
  appended(bytes: number): void {
    const { units } = this.engine.space;
    const died = units.diedBytes - this.paidDied;
    this.paidDied = units.diedBytes;
    this.limit();
    if (this.stopped) return;
    this.skipEmpty();
    const { isOver } = this;
    const paid = payFor(this.size, { appended: bytes, died });
    this.share = Math.min(Math.max(BATCH_BYTES.MIN, paid), BATCH_BYTES.MAX, this.writer.unitBytes / 8);
    if (isOver) this.budget += paid;
    else this.budget = 0;
    if (!this.restating && isOver && this.budget > 0) void this.restateUnits();
  }

  stop(): void {
    this.stopped = true;
  }

  private get currentUnit(): number {
    return this.writer.unitOf(this.writer.nextRef);
  }

  /** Messages of a batch that is being applied are not counted yet. */
  private get endingUnit(): number {
    const { ref } = this.engine.endings;
    return ref === Infinity ? Infinity : this.writer.unitOf(ref);
  }

  /** Of the units that hold something live, or will: what is before them goes as soon as it may. */
  private get size(): LogSize {
    const unit = this.writer.unitBytes;
    const held = (this.currentUnit - this.unit + 1) * unit;
    return { held, live: this.engine.space.liveBytes, unit };
  }

  private get isOver(): boolean {
    return isTooLarge(this.size);
  }

  /** Tells the log how much it may keep, prepared units included. */
  private limit(): void {
    this.writer.limitUnits(
      Math.floor((BOUND * this.engine.space.liveBytes) / this.writer.unitBytes) + BOUND_UNITS,
    );
  }

  /** Passes over units in which nothing is live, and lets them go. */
  private skipEmpty(): void {
    const { currentUnit } = this;
    const end = Math.min(currentUnit, this.endingUnit);
    while (this.unit < end && this.engine.space.units.messagesIn(this.unit) === 0) this.unit++;
    if (!this.trimming && this.writer.firstUnit < this.unit) void this.trim();
  }

  /** Lets the units before `unit` go, once what emptied them is durable. */
  private async trim(): Promise<void> {
    const { space, journal } = this.engine;
    this.trimming = true;
    try {
      while (!this.stopped && journal.failure === null && this.writer.firstUnit < this.unit) {
        const { unit } = this;
        const { firstUnit } = this.writer;
        await this.engine.whenDurable();
        await this.writer.trimBefore(unit);
        space.units.forgetBefore(this.writer.firstUnit);
        // A log that may not begin there keeps its units until it has grown.
        if (this.writer.firstUnit === firstUnit) break;
      }
    } catch (error) {
      this.give(error);
    } finally {
      this.trimming = false;
    }
  }

  private async restateUnits(): Promise<void> {
    this.restating = true;
    try {
      while (!this.stopped && this.engine.journal.failure === null && this.isOver && this.budget > 0) {
        if (this.scanned === this.unit) await this.restateSome();
        else await this.scan();
        this.skipEmpty();
      }
    } catch (error) {
      this.give(error);
    } finally {
      this.restating = false;
    }
  }

  /** Finds the live messages of the front unit, by looking at every row, a slice at a time. */
  private async scan(): Promise<void> {
    const { space } = this.engine;
    const { messages, units } = space;
    const front = this.unit;
    const found: number[] = [];
    for (let from = 1; from <= messages.rowsMax; from += SCAN_ROWS) {
      const to = Math.min(messages.rowsMax, from + SCAN_ROWS - 1);
      for (let row = from; row <= to; row++) {
        if (messages.isLive(row) && this.isIn(row, front)) found.push(row);
      }
      if (found.length >= units.messagesIn(front)) break;
      await this.engine.nextTurn();
    }
    const place = (row: number): number => messages.ref.get(row);
    found.sort((a, b) => place(a) - place(b) || messages.offset.get(a) - messages.offset.get(b));
    this.rows = Uint32Array.from(found);
    this.next = 0;
    this.scanned = front;
  }

  private isLeaving(row: number): boolean {
    return this.engine.endings.isLeaving(this.engine.space.messages.entry.get(row));
  }

  private isIn(row: number, unit: number): boolean {
    const ref = this.engine.space.messages.ref.get(row);
    return ref !== MEMORY_REF && this.engine.space.units.unitOf(ref) === unit;
  }

  /** As much as was paid for, at most one batch's share; then the batch is waited for. */
  private async restateSome(): Promise<void> {
    const { space, journal } = this.engine;
    const { messages } = space;
    const front = this.unit;
    const beganMs = this.engine.monoMs();
    let bytes = 0;
    while (this.next < this.rows.length && bytes < this.share && this.budget > 0) {
      const row = this.rows[this.next] as number;
      this.next++;
      if (!messages.isLive(row) || !this.isIn(row, front) || this.isLeaving(row)) continue;
      const length = messages.length.get(row);
      if (!this.writer.mayRestate(length)) {
        // The disk is full to the last segment: what is dead elsewhere will have to do.
        this.budget = 0;
        this.next--;
        break;
      }
      const [ref, offset] = [messages.ref.get(row), messages.offset.get(row)];
      const record = journal.cached(ref, offset, length) ?? (await journal.read(ref, offset, length));
      if (this.stopped || journal.failure !== null) return;
      if (!messages.isLive(row) || messages.ref.get(row) !== ref || messages.offset.get(row) !== offset)
        continue;
      if (this.isLeaving(row)) continue;
      if (!isIntact(record)) throw this.damaged(ref, offset);
      this.restate(row, record);
      bytes += length;
      this.budget -= length;
    }
    const ending = this.engine.endings.settled();
    if (bytes > 0) {
      this.restatedBytes += bytes;
      await this.engine.whenDurable();
      this.seconds.observe((this.engine.monoMs() - beganMs) / 1000);
    }
    // What is being removed is not restated, what is being added not known yet.
    else if (ending !== null) {
      await ending;
      this.scanned = -1;
    }
    // All were done and some are left: rows that were taken anew meanwhile.
    else if (this.next >= this.rows.length && space.units.messagesIn(front) > 0) this.scanned = -1;
  }

  /** The message again at the tail, as it is now. */
  private restate(row: number, record: Uint8Array): void {
    const { space } = this.engine;
    const { entries, details, messages } = space;
    const entry = messages.entry.get(row);
    const message = decodeMessage(record, space.id(entry), messages.priority.get(row));
    const detail = entries.detail.get(entry);
    const isShared = messages.copyOf(row) !== 0;
    const isLeft = (one: number): boolean => !this.engine.endings.isLeaving(one);
    const recipients = isShared ? recipientsAt(space, entry, isLeft) : null;
    const event: Enqueued = {
      kind: 'enqueued',
      restated: true,
      branch: 0,
      ...(recipients === null ? {} : { recipients }),
      id: isShared ? messages.commonId(row) : message.id,
      queue: entries.queue.get(entry),
      persistent: true,
      retries: entries.retries.get(entry),
      dueMs: entries.dueMs.get(entry),
      dueClock: entries.dueClockOf(entry),
      // What was only put somewhere has no times: its record stays as long as it was, and so does what it counts as.
      timing: detail === NONE ? null : details.timing(detail),
      top: false,
      properties: message.properties,
      place: { ref: 0, offset: 0, length: 0 },
    };
    this.engine.restate(event, message.data);
    if (recipients === null) return this.restateEntry(entry);
    for (const { copy } of recipients) this.restateEntry(space.entryById(idOfCopy(event.id, copy)));
  }

  /** What is known of one of its entries beside. */
  private restateEntry(entry: number): void {
    const { space } = this.engine;
    const { entries, details } = space;
    const id = space.id(entry);
    const detail = entries.detail.get(entry);
    if (detail !== NONE && details.place.get(detail) !== NONE) {
      this.engine.relog({
        kind: 'placed',
        id,
        persistent: true,
        position: standingOf(space, entry),
      });
    }
    const provenance = space.provenanceOf(entry);
    if (provenance !== null) this.engine.relog({ kind: 'provenanceSet', id, persistent: true, provenance });
    const finished = finishedOf(space, entry);
    if (finished !== null) this.engine.relog(finished);
    this.rejoin(entry);
  }

  /** A prepared branch keeps what it took and what it enqueued [DESIGN 5, Reclaim]. */
  private rejoin(entry: number): void {
    const joined = memberOf(this.engine.space, entry);
    if (joined !== null) this.engine.relog(joined);
  }

  private damaged(ref: number, offset: number): Error {
    const { file, offset: at } = this.writer.place(ref, offset);
    return new Error(`a message is damaged: ${file}, offset ${at}`);
  }

  private give(error: unknown): void {
    if (this.stopped || this.engine.journal.failure !== null) return;
    this.stopped = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.engine.warn(
      `the log is not reclaimed any more until the next start: ${reason}; see tmqueue wal verify`,
      {},
    );
  }
}
