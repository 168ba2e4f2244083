// The rows of a checkpoint ↔ messages of a space: a block of rows, column by column, each column with one value for all of them or one for
// each; behind the columns what only some rows have (src/wal/FORMAT.md, "Checkpoints"). Rows are written as they are at the moment they are
// passed. Numbers are little-endian, as this program's machines are. Non-persistent messages and locks are not in it.
import { LIMIT } from '../../proto/codes.ts';
import { NONE } from '../base/column.ts';
import { Arrival } from '../queue/arrival.ts';
import {
  CLOCK,
  MEMORY_REF,
  type EntryTiming,
  type Finished,
  type Placed,
  type ProvenanceSet,
} from '../queue/event.ts';
import { finishedOf } from '../queue/recipients.ts';
import { standingOf } from '../queue/place.ts';
import type { QueueSpace } from '../queue/space.ts';
import { PROVENANCE_BYTES_MAX } from './provenance-record.ts';
import { encodeEvent, PLACED_BYTES } from './record.ts';
import { RecordBuffer } from './record-buffer.ts';

/** Rows of a block: about a millisecond. */
export const BLOCK_ROWS = 4096;
const COUNT_BYTES = 4;
/** How a column is written. */
const FORM = { ONE: 0, EACH: 1 } as const;
/** Bits of a row: which of the values it has that only some have, and the clock of its due time. */
const BIT = {
  CORRID: 1,
  TIMING: 2,
  PLACED: 4,
  DUE_ON_WALL: 8,
  PROVENANCE: 16,
  COPY: 32,
  FINISHED: 64,
  EXCEPTION: 128,
} as const;
/** Set in a row's COPY: another row counts the record. */
const FOLLOWER = 0x8000;
/** The number of its transaction group follows. */
const GROUPED = 0x4000;
const FINISHED_BYTES_MAX = 64;
/** Of an exception queue, with its length. */
const NAME_BYTES_MAX = 2 + 1024;
const RECORD_BITS = BIT.PLACED | BIT.PROVENANCE | BIT.FINISHED;
const TIMING_BYTES = 25;
const EXTRA_BYTES_MAX =
  10 +
  NAME_BYTES_MAX +
  2 +
  LIMIT.TMCORRIDLEN +
  TIMING_BYTES +
  2 +
  PLACED_BYTES +
  2 +
  PROVENANCE_BYTES_MAX +
  2 +
  FINISHED_BYTES_MAX;
const COUNTER_LOW = 2 ** 32;

type Values = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** A block in memory; the columns stand in the order in which they are written. */
class Block {
  readonly epoch = new Float64Array(BLOCK_ROWS);
  readonly counterLow = new Uint32Array(BLOCK_ROWS);
  readonly counterHigh = new Uint16Array(BLOCK_ROWS);
  readonly ref = new Float64Array(BLOCK_ROWS);
  readonly offset = new Uint32Array(BLOCK_ROWS);
  readonly length = new Uint32Array(BLOCK_ROWS);
  readonly queue = new Uint32Array(BLOCK_ROWS);
  readonly retries = new Uint32Array(BLOCK_ROWS);
  readonly dueMs = new Float64Array(BLOCK_ROWS);
  readonly typeCode = new Uint16Array(BLOCK_ROWS);
  readonly priority = new Uint8Array(BLOCK_ROWS);
  readonly bits = new Uint8Array(BLOCK_ROWS);
  readonly columns: readonly Values[] = [
    this.epoch,
    this.counterLow,
    this.counterHigh,
    this.ref,
    this.offset,
    this.length,
    this.queue,
    this.retries,
    this.dueMs,
    this.typeCode,
    this.priority,
    this.bits,
  ];
}

export class RowWriter {
  private readonly space: QueueSpace;
  private readonly block = new Block();
  private count = 0;
  private extra = Buffer.allocUnsafe(BLOCK_ROWS);
  private extraBytes = 0;
  /** Rows written so far. */
  rows = 0;

  constructor(space: QueueSpace) {
    this.space = space;
  }

  /** The payload of a section with the persistent messages in these rows of the space, at most BLOCK_ROWS of them; null: there is none. */
  write(first: number, last: number): Buffer | null {
    this.count = 0;
    this.extraBytes = 0;
    const { messages } = this.space;
    for (let row = first; row <= last; row++) {
      if (messages.isLive(row) && messages.ref.get(row) !== MEMORY_REF) this.take(row);
    }
    this.rows += this.count;
    return this.count === 0 ? null : this.payload();
  }

  private take(row: number): void {
    const { block, count: at } = this;
    const { messages, entries } = this.space;
    const entry = messages.entry.get(row);
    const id = messages.id(row);
    block.epoch[at] = id.epoch;
    block.counterLow[at] = id.counter % COUNTER_LOW;
    block.counterHigh[at] = Math.floor(id.counter / COUNTER_LOW);
    block.ref[at] = messages.ref.get(row);
    block.offset[at] = messages.offset.get(row);
    block.length[at] = messages.length.get(row);
    block.queue[at] = entries.queue.get(entry);
    block.retries[at] = entries.retries.get(entry);
    block.dueMs[at] = entries.dueMs.get(entry);
    block.typeCode[at] = messages.typeCode.get(row);
    block.priority[at] = messages.priority.get(row);
    const { groups, exceptionNames } = this.space;
    const hasMore =
      entries.corrid.get(entry) !== NONE ||
      entries.detail.get(entry) !== NONE ||
      messages.copyOf(row) !== 0 ||
      groups.of(entry) !== 0 ||
      exceptionNames.has(entry);
    const dueBit = entries.dueClockOf(entry) === CLOCK.WALL ? BIT.DUE_ON_WALL : 0;
    block.bits[at] = dueBit | (hasMore ? this.takeExtra(entry) : 0);
    this.count++;
  }

  /** Writes what only some rows have; returns the bits that say so. */
  private takeExtra(entry: number): number {
    const { entries, details, corrids, messages } = this.space;
    this.extend();
    const into = this.extra;
    let to = this.extraBytes;
    let bits = 0;
    const row = entries.message.get(entry);
    const copy = messages.copyOf(row);
    const group = this.space.groups.of(entry);
    if (copy !== 0 || group !== 0) {
      bits |= BIT.COPY;
      const marks = (messages.isFollower(row) ? FOLLOWER : 0) | (group === 0 ? 0 : GROUPED);
      to = into.writeUInt16LE(copy | marks, to);
      if (group !== 0) to = into.writeDoubleLE(group, to);
    }
    const exceptionQueue = this.space.exceptionNames.get(entry);
    if (exceptionQueue !== undefined) {
      bits |= BIT.EXCEPTION;
      const length = into.write(exceptionQueue, to + 2);
      to = into.writeUInt16LE(length, to) + length;
    }
    const corrid = entries.corrid.get(entry);
    if (corrid !== NONE) {
      bits |= BIT.CORRID;
      into.set(corrids.value.view(corrid), to);
      to += LIMIT.TMCORRIDLEN;
    }
    const detail = entries.detail.get(entry);
    const timing = detail === NONE ? null : details.timing(detail);
    if (timing !== null) {
      bits |= BIT.TIMING;
      to = into.writeDoubleLE(timing.sortTimeMs, to);
      to = into.writeDoubleLE(timing.sortExpiryMs, to);
      to = into.writeDoubleLE(timing.expiryMs, to);
      into[to++] = timing.expiryClock;
    }
    if (detail !== NONE && details.place.get(detail) !== NONE) {
      bits |= BIT.PLACED;
      const id = this.space.id(entry);
      const position = standingOf(this.space, entry);
      to = this.writeRecord({ kind: 'placed', id, persistent: true, position }, to);
    }
    const provenance = this.space.provenanceOf(entry);
    if (provenance !== null) {
      bits |= BIT.PROVENANCE;
      const id = this.space.id(entry);
      to = this.writeRecord({ kind: 'provenanceSet', id, persistent: true, provenance }, to);
    }
    const finished = finishedOf(this.space, entry);
    if (finished !== null) {
      bits |= BIT.FINISHED;
      to = this.writeRecord(finished, to);
    }
    this.extraBytes = to;
    return bits;
  }

  /** Ensures: one row's extra values fit. */
  private extend(): void {
    if (this.extraBytes + EXTRA_BYTES_MAX <= this.extra.length) return;
    const larger = Buffer.allocUnsafe(2 * this.extra.length);
    larger.set(this.extra);
    this.extra = larger;
  }

  /** After its length. */
  private writeRecord(event: Placed | ProvenanceSet | Finished, at: number): number {
    const { extra } = this;
    const record = new RecordBuffer(PROVENANCE_BYTES_MAX);
    const length = encodeEvent(record, event);
    extra.writeUInt16LE(length, at);
    extra.set(record.slice(0, length), at + 2);
    return at + 2 + length;
  }

  private payload(): Buffer {
    const { block, count } = this;
    const parts: Uint8Array[] = [Buffer.alloc(COUNT_BYTES)];
    (parts[0] as Buffer).writeUInt32LE(count, 0);
    for (const column of block.columns) {
      const written = isOneValue(column, count) ? 1 : count;
      parts.push(Uint8Array.of(written === 1 ? FORM.ONE : FORM.EACH));
      parts.push(new Uint8Array(column.buffer, 0, written * column.BYTES_PER_ELEMENT));
    }
    parts.push(this.extra.subarray(0, this.extraBytes));
    return Buffer.concat(parts);
  }
}

function isOneValue(column: Values, count: number): boolean {
  const first = column[0];
  for (let i = 1; i < count; i++) if (column[i] !== first) return false;
  return true;
}

/** A row as it is read: its message, and its records: PLACED if it was put somewhere, PROVENANCE if it was moved to the error queue. */
export interface RowSink {
  row(arrival: Arrival, records: readonly Buffer[]): void;
}
const NONE_OF_THEM: readonly Buffer[] = [];

export class RowReader {
  private readonly block = new Block();
  /** The message that is handed out: valid during the call. */
  private readonly arrival = new Arrival();
  private bytes: Buffer = Buffer.alloc(0);
  private at = 0;

  /** Hands out the rows of a section; returns how many. `types`: codes of the space by those of the checkpoint. */
  read(payload: Buffer, types: readonly number[], sink: RowSink): number {
    this.bytes = payload;
    this.at = COUNT_BYTES;
    const count = payload.readUInt32LE(0);
    if (count > BLOCK_ROWS) throw new RangeError(`a block of ${count} rows`);
    const { block } = this;
    for (const column of block.columns) this.readColumn(column, count);
    for (let i = 0; i < count; i++) {
      const records = this.fill(i, types);
      sink.row(this.arrival, records);
    }
    if (this.at !== payload.length)
      throw new RangeError(`${payload.length - this.at} bytes behind the rows of a block`);
    return count;
  }

  private readColumn(column: Values, count: number): void {
    const form = this.bytes[this.at];
    if (form !== FORM.ONE && form !== FORM.EACH) throw new RangeError(`a column of the form ${form ?? -1}`);
    const length = (form === FORM.ONE ? 1 : count) * column.BYTES_PER_ELEMENT;
    new Uint8Array(column.buffer).set(this.take(1, length));
    if (form === FORM.ONE) column.fill(column[0] as number, 1, count);
  }

  /** Fills the arrival; returns the records that follow it. */
  private fill(i: number, types: readonly number[]): readonly Buffer[] {
    const { arrival, block } = this;
    arrival.epoch = block.epoch[i] as number;
    arrival.counter = (block.counterHigh[i] as number) * COUNTER_LOW + (block.counterLow[i] as number);
    arrival.ref = block.ref[i] as number;
    arrival.offset = block.offset[i] as number;
    arrival.length = block.length[i] as number;
    arrival.queue = block.queue[i] as number;
    arrival.retries = block.retries[i] as number;
    arrival.dueMs = block.dueMs[i] as number;
    arrival.typeCode = types[block.typeCode[i] as number] ?? 0;
    arrival.priority = block.priority[i] as number;
    const bits = block.bits[i] as number;
    arrival.dueClock = (bits & BIT.DUE_ON_WALL) === 0 ? CLOCK.SPACE : CLOCK.WALL;
    const copy = (bits & BIT.COPY) === 0 ? 0 : this.take(0, 2).readUInt16LE(0);
    arrival.group = (copy & GROUPED) === 0 ? 0 : this.take(0, 8).readDoubleLE(0);
    arrival.copy = copy & ~(FOLLOWER | GROUPED);
    arrival.isFollower = (copy & FOLLOWER) !== 0;
    arrival.exceptionQueue = (bits & BIT.EXCEPTION) === 0 ? '' : this.takeRecord().toString();
    arrival.corrid = (bits & BIT.CORRID) === 0 ? null : this.take(0, LIMIT.TMCORRIDLEN);
    arrival.timing = (bits & BIT.TIMING) === 0 ? null : this.takeTiming();
    if ((bits & RECORD_BITS) === 0) return NONE_OF_THEM;
    const records: Buffer[] = [];
    for (const bit of [BIT.PLACED, BIT.PROVENANCE, BIT.FINISHED])
      if ((bits & bit) !== 0) records.push(this.takeRecord());
    return records;
  }

  private takeRecord(): Buffer {
    return this.take(0, this.take(0, 2).readUInt16LE(0));
  }

  private takeTiming(): EntryTiming {
    const bytes = this.take(0, TIMING_BYTES);
    return {
      sortTimeMs: bytes.readDoubleLE(0),
      sortExpiryMs: bytes.readDoubleLE(8),
      expiryMs: bytes.readDoubleLE(16),
      expiryClock: bytes[24] === CLOCK.WALL ? CLOCK.WALL : CLOCK.SPACE,
    };
  }

  /** The next bytes, after so many that are passed over: a view. */
  private take(skipped: number, length: number): Buffer {
    const start = this.at + skipped;
    this.at = start + length;
    if (this.at > this.bytes.length) throw new RangeError('a block of rows ends early');
    return this.bytes.subarray(start, this.at);
  }
}
