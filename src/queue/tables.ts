// The rows of a queue space. A message has an identity and a place in the log; an entry is its place in one queue: order key, due time,
// retry count, owner. A message of a multi-consumer queue has a row and an entry for each recipient, which share its record in the log.
// Correlation ids live in a side table, only for entries that have one. Nothing here knows what the values mean.
import {
  BytesColumn,
  f64Column,
  NONE,
  RowAllocator,
  u16Column,
  u32Column,
  u8Column,
} from '../base/column.ts';
import { hashBytes, HashIndex, hashWords } from '../base/hash-index.ts';
import type { Links } from '../base/ordered-tree.ts';
import type { ClockKind } from './event.ts';
import type { MessageId } from './message.ts';

const TWO_32 = 2 ** 32;
/** Distinct epochs that live messages of one space may come from. */
const EPOCHS_MAX = 2 ** 16;

/** Recipients of one message [oracle-aq 1.3]. */
export const RECIPIENTS_MAX = 1024;
/** A row for each recipient, all at one record, with ids that follow one another. One of them, not a follower, counts its bytes. */
const COPY = { NUMBER: 0x7ff, FOLLOWER: 0x8000 } as const;

/** An id as it lies in a row: high word = index of the epoch (16 bits), counter's high 16 bits; low word = counter's low 32 bits. */
export interface PackedId {
  readonly high: number;
  readonly low: number;
}

export class MessageTable {
  /** The id, packed. */
  readonly idHigh = u32Column();
  readonly idLow = u32Column();
  /** Where its record lies [RecordPlace]: MEMORY_REF for a non-persistent one. */
  readonly ref = f64Column();
  readonly offset = u32Column();
  /** Bytes of its record; 0: the row is free. */
  readonly length = u32Column();
  /** Code of (type, subtype) in the space's table of types, so that TPEOTYPE needs no read. */
  readonly typeCode = u16Column();
  readonly priority = u8Column();
  readonly entry = u32Column();
  /** Of a message with several recipients [COPY]; 0: it has one place. */
  private readonly copy = u16Column();
  private readonly rows: RowAllocator;
  private readonly epochs: number[] = [];
  private readonly epochIndex = new Map<number, number>();
  /** The epoch that was asked for last, and its index: most ids that follow one another are of one epoch. */
  private lastEpoch = -1;
  private lastIndex = 0;
  /** The id that arrived last of all that ever were in a row. */
  private latestEpoch = -1;
  private latestCounter = -1;

  constructor() {
    this.rows = new RowAllocator(this.idLow, (row) => {
      for (const column of this.columns()) column.ensure(row);
    });
  }

  take(): number {
    return this.rows.take();
  }
  give(row: number): void {
    this.length.set(row, 0);
    if (this.copy.get(row) !== 0) this.copy.set(row, 0);
    this.rows.give(row);
  }

  /** Which of the recipients' rows this is, from 1 on; 0: the message has no others. */
  copyOf(row: number): number {
    return this.copy.get(row) & COPY.NUMBER;
  }
  /** Another row of the same message counts its record. */
  isFollower(row: number): boolean {
    return (this.copy.get(row) & COPY.FOLLOWER) !== 0;
  }
  setCopy(row: number, number: number, isFollower: boolean): void {
    this.copy.set(row, number | (isFollower ? COPY.FOLLOWER : 0));
  }
  /** The id that everybody knows the message by: its recipients' rows have ids that follow it. */
  commonId(row: number): MessageId {
    const { epoch, counter } = this.id(row);
    return { epoch, counter: counter - Math.max(0, this.copyOf(row) - 1) };
  }
  get live(): number {
    return this.rows.live;
  }
  /** No row is above it. */
  get rowsMax(): number {
    return this.rows.rowsMax;
  }
  /** Whether the row is a message's. */
  isLive(row: number): boolean {
    return this.length.get(row) !== 0;
  }

  setId(row: number, id: MessageId): void {
    if (this.isLatest(id)) {
      this.latestEpoch = id.epoch;
      this.latestCounter = id.counter;
    }
    this.idHigh.set(row, this.highWord(id));
    this.idLow.set(row, id.counter % TWO_32);
  }

  /** The last id that ever was in a row. */
  get latest(): MessageId {
    return { epoch: this.latestEpoch, counter: this.latestCounter };
  }

  /** Whether it comes after every id that ever was in a row: no message can have it then. */
  isLatest({ epoch, counter }: MessageId): boolean {
    return epoch === this.latestEpoch ? counter > this.latestCounter : epoch > this.latestEpoch;
  }

  id(row: number): MessageId {
    return this.unpack({ high: this.idHigh.get(row), low: this.idLow.get(row) });
  }

  /** High word of an id's packed form, or -1 when no message can have it because its epoch is unknown. */
  findHighWord(id: MessageId): number {
    if (id.epoch === this.lastEpoch) return packHigh(this.lastIndex, id.counter);
    const epoch = this.epochIndex.get(id.epoch);
    if (epoch === undefined) return -1;
    this.lastEpoch = id.epoch;
    this.lastIndex = epoch;
    return packHigh(epoch, id.counter);
  }

  /** Arrival order: by epoch, then counter. Epochs are met in any order (restated messages carry old ones), so they are compared. */
  before(a: number, b: number): boolean {
    const highA = this.idHigh.get(a);
    const highB = this.idHigh.get(b);
    if (highA === highB) return this.idLow.get(a) < this.idLow.get(b);
    return this.compareHigh(highA, highB) < 0;
  }

  /** Less than 0 when messages whose ids have the high word `a` arrived before those with `b`; 0 only for the same word. */
  compareHigh(a: number, b: number): number {
    if (a >>> 16 === b >>> 16) return a - b;
    return (this.epochs[a >>> 16] as number) - (this.epochs[b >>> 16] as number);
  }

  pack(id: MessageId): PackedId {
    return { high: this.highWord(id), low: id.counter % TWO_32 };
  }
  unpack({ high, low }: PackedId): MessageId {
    return { epoch: this.epochs[high >>> 16] as number, counter: (high & 0xffff) * TWO_32 + low };
  }

  get bytes(): number {
    return this.columns().reduce((sum, column) => sum + column.bytes, 0);
  }

  private highWord(id: MessageId): number {
    if (id.epoch === this.lastEpoch) return packHigh(this.lastIndex, id.counter);
    let epoch = this.epochIndex.get(id.epoch);
    if (epoch === undefined) {
      epoch = this.epochs.length;
      if (epoch >= EPOCHS_MAX) throw new RangeError(`messages of more than ${EPOCHS_MAX} starts are queued`);
      this.epochs.push(id.epoch);
      this.epochIndex.set(id.epoch, epoch);
    }
    return packHigh(epoch, id.counter);
  }

  private columns() {
    const { idHigh, idLow, ref, offset, length, typeCode, priority, entry, copy } = this;
    return [idHigh, idLow, ref, offset, length, typeCode, priority, entry, copy];
  }
}

function packHigh(epochIndex: number, counter: number): number {
  return epochIndex * 0x10000 + Math.floor(counter / TWO_32);
}

/** What an entry is doing; exactly one at a time. */
export const ENTRY = {
  FREE: 0,
  /** Deliverable: in its queue's order tree and, with a corrid, in the corrid index. */
  READY: 1,
  /** Waiting for its due time: in its queue's due tree of that clock. */
  DELAYED: 2,
  /** Held by an open transaction: in that branch's list. */
  LOCKED: 3,
  /** Its data is being fetched; in no tree. */
  HELD: 4,
  /** Enqueued by a prepared branch, for its commit: in that branch's list of them. */
  PENDING: 5,
  /** Consumed, and kept for its retention: in its queue's due tree until then [oracle-aq 6.5]. */
  PROCESSED: 6,
  /** Given up for this recipient, and there until the others are done: in its queue's due tree, for ever [oracle-aq 6.4]. */
  EXHAUSTED: 7,
  /** Locked by an open transaction that does not consume it: as LOCKED [oracle-aq 4.3, LOCKED]. */
  LOOKED: 8,
} as const;

export class EntryTable implements Links {
  readonly message = u32Column();
  readonly queue = u32Column();
  readonly state = u8Column();
  /** Instant of its clock from which it is deliverable; 0: always. */
  readonly dueMs = f64Column();
  /** CLOCK.SPACE or CLOCK.WALL. */
  readonly dueClock = u8Column();
  /** Row of the detail table, or 0. */
  readonly detail = u32Column();
  readonly retries = u32Column();
  /** Row of the corrid table, or 0. */
  readonly corrid = u32Column();
  /** Of a message with several recipients: the next of a ring of its entries; 0: there is no other. */
  readonly sibling = u32Column();
  /** The branch that it belongs to while LOCKED or PENDING. */
  readonly owner = u32Column();
  /** Links of the one tree or list that the entry's state puts it in: order tree, due tree, or a branch's list (left = next). */
  readonly leftLink = u32Column();
  readonly rightLink = u32Column();
  private readonly rows: RowAllocator;

  constructor() {
    this.rows = new RowAllocator(this.leftLink, (row) => {
      for (const column of this.columns()) column.ensure(row);
    });
  }

  /** A row whose columns are 0, but for its links. */
  take(): number {
    const { nextIsFresh } = this.rows;
    const row = this.rows.take();
    if (!nextIsFresh) this.clear(row);
    return row;
  }
  give(row: number): void {
    this.state.set(row, ENTRY.FREE);
    this.rows.give(row);
  }
  get live(): number {
    return this.rows.live;
  }
  /** No row is above it. */
  get rowsMax(): number {
    return this.rows.rowsMax;
  }

  dueClockOf(row: number): ClockKind {
    return this.dueClock.get(row) as ClockKind;
  }

  left(row: number): number {
    return this.leftLink.get(row);
  }
  right(row: number): number {
    return this.rightLink.get(row);
  }
  setLeft(row: number, to: number): void {
    this.leftLink.set(row, to);
  }
  setRight(row: number, to: number): void {
    this.rightLink.set(row, to);
  }

  get bytes(): number {
    return this.columns().reduce((sum, column) => sum + column.bytes, 0);
  }

  private clear(row: number): void {
    this.dueMs.set(row, 0);
    this.dueClock.set(row, 0);
    this.detail.set(row, NONE);
    this.retries.set(row, 0);
    this.corrid.set(row, NONE);
    this.sibling.set(row, NONE);
    this.owner.set(row, NONE);
  }

  private columns() {
    const { message, queue, state, dueMs, dueClock, detail, retries } = this;
    const { corrid, sibling, owner, leftLink, rightLink } = this;
    return [
      message,
      queue,
      state,
      dueMs,
      dueClock,
      detail,
      retries,
      corrid,
      sibling,
      owner,
      leftLink,
      rightLink,
    ];
  }
}

/** Correlation ids, with the links of the tree of entries that share one. The tree's nodes are entries, not rows of this table. */
export class CorridTable implements Links {
  readonly value = new BytesColumn(32);
  private readonly leftLink = u32Column();
  private readonly rightLink = u32Column();
  private readonly entries: EntryTable;
  private readonly rows: RowAllocator;

  constructor(entries: EntryTable) {
    this.entries = entries;
    this.rows = new RowAllocator(this.leftLink, (row) => {
      this.value.ensure(row);
      this.leftLink.ensure(row);
      this.rightLink.ensure(row);
    });
  }

  take(value: Uint8Array): number {
    const row = this.rows.take();
    this.value.set(row, value);
    this.leftLink.set(row, NONE);
    this.rightLink.set(row, NONE);
    return row;
  }
  give(row: number): void {
    this.rows.give(row);
  }

  left(entry: number): number {
    return this.leftLink.get(this.entries.corrid.get(entry));
  }
  right(entry: number): number {
    return this.rightLink.get(this.entries.corrid.get(entry));
  }
  setLeft(entry: number, to: number): void {
    this.leftLink.set(this.entries.corrid.get(entry), to);
  }
  setRight(entry: number, to: number): void {
    this.rightLink.set(this.entries.corrid.get(entry), to);
  }

  get bytes(): number {
    return this.value.bytes + this.leftLink.bytes + this.rightLink.bytes;
  }
}

/** Ids that lie together in the index of ids. */
const NEIGHBOURS = 8;

/**
 * Ids that follow one another come and go together: eight of them have slots side by side, so that a backlog of millions, whose index is in
 * no cache, costs one access to memory for eight messages, and a slot that is passed over leads to a row that was just looked at.
 */
function hashId(high: number, low: number): number {
  return Math.imul(hashWords(high, Math.floor(low / NEIGHBOURS)), NEIGHBOURS) + (low % NEIGHBOURS);
}

/** msgid → message row. */
export class MsgidIndex extends HashIndex {
  private readonly messages: MessageTable;
  private high = 0;
  private low = 0;

  constructor(messages: MessageTable) {
    super();
    this.messages = messages;
  }

  find(id: MessageId): number {
    this.high = this.messages.findHighWord(id);
    if (this.high < 0) return NONE;
    this.low = id.counter % TWO_32;
    return this.lookup(hashId(this.high, this.low));
  }

  protected hashOf(row: number): number {
    return hashId(this.messages.idHigh.get(row), this.messages.idLow.get(row));
  }
  protected matches(row: number): boolean {
    return this.messages.idLow.get(row) === this.low && this.messages.idHigh.get(row) === this.high;
  }
}

/** (queue, corrid) → root of the tree of deliverable entries of that queue with that corrid. */
export class CorridIndex extends HashIndex {
  private readonly entries: EntryTable;
  private readonly corrids: CorridTable;
  private queue = 0;
  private key: Uint8Array = new Uint8Array(0);

  constructor(entries: EntryTable, corrids: CorridTable) {
    super();
    this.entries = entries;
    this.corrids = corrids;
  }

  find(queue: number, corrid: Uint8Array): number {
    this.queue = queue;
    this.key = corrid;
    return this.lookup(hashBytes(corrid, queue));
  }

  protected hashOf(entry: number): number {
    return hashBytes(this.corrids.value.view(this.entries.corrid.get(entry)), this.entries.queue.get(entry));
  }
  protected matches(entry: number): boolean {
    return (
      this.entries.queue.get(entry) === this.queue &&
      this.corrids.value.equals(this.entries.corrid.get(entry), this.key)
    );
  }
}
