// What is inside a checkpoint: sections, each a type, a length and its bytes (src/wal/FORMAT.md, "Checkpoints"). Rows are written as they are
// at the moment they are passed, one message after the other; read, they become events that apply takes like those of the log. Numbers are
// little-endian. Non-persistent messages and locks are not in it.
import { NONE } from '../base/column.ts';
import { CLOCK, MEMORY_REF, type Enqueued, type LoggedEvent, type Placed } from '../queue/event.ts';
import type { MessageProperties } from '../queue/message.ts';
import { standingOf } from '../queue/place.ts';
import type { QueueSpace } from '../queue/space.ts';
import type { BatchTime } from '../wal/log-store.ts';
import { LIMIT, TPQ } from '../../proto/codes.ts';
import { decodeEvent, encodeEvent, PLACED_BYTES } from './record.ts';
import { RecordBuffer } from './record-buffer.ts';
import { ID_BYTES, readId, writeId } from './record-parts.ts';

export const SECTION = { HEAD: 1, RECORDS: 2, TYPES: 3, ROWS: 4, END: 5 } as const;
export const CHECKPOINT_FORMAT = 1;
const SECTION_HEAD_BYTES = 5;
const ROW_BYTES = ID_BYTES + 36;
const TIMING_BYTES = 25;
/** What a row may take. */
export const ROW_BYTES_MAX: number = ROW_BYTES + LIMIT.TMCORRIDLEN + TIMING_BYTES + 2 + PLACED_BYTES;
const BIT = { CORRID: 1, TIMING: 2, PLACED: 4, DUE_ON_WALL: 8 } as const;

export interface CheckpointHead {
  readonly format: number;
  readonly time: BatchTime;
}

export function section(type: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(SECTION_HEAD_BYTES + payload.length);
  bytes[0] = type;
  bytes.writeUInt32LE(payload.length, 1);
  bytes.set(payload, SECTION_HEAD_BYTES);
  return bytes;
}

export function jsonSection(type: number, value: unknown): Buffer {
  return section(type, Buffer.from(JSON.stringify(value)));
}

/** Definitions, as the log's preambles hold them. */
export function recordsSection(records: RecordBuffer): Buffer {
  const parts: Buffer[] = [];
  for (let i = 0; i < records.count; i++) {
    const from = records.startOf(i);
    const bytes = records.slice(from, records.endOf(i) - from);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length, 0);
    parts.push(length, Buffer.from(bytes));
  }
  return section(SECTION.RECORDS, Buffer.concat(parts));
}

export function readRecords(payload: Buffer): LoggedEvent[] {
  const events: LoggedEvent[] = [];
  for (let at = 0; at < payload.length;) {
    const length = payload.readUInt32LE(at);
    const record = payload.subarray(at + 4, at + 4 + length);
    events.push(decodeEvent(record, { ref: 0, offset: 0, length }));
    at += 4 + length;
  }
  return events;
}

/** Writes the message of this row; returns where it ends, or `at` when there is none that is persistent. */
export function writeRow(space: QueueSpace, row: number, { into, at }: { into: Buffer; at: number }): number {
  const { messages, entries, details, corrids } = space;
  if (!messages.isLive(row) || messages.ref.get(row) === MEMORY_REF) return at;
  const entry = messages.firstEntry.get(row);
  const corrid = entries.corrid.get(entry);
  const detail = entries.detail.get(entry);
  const timing = detail === NONE ? null : details.timing(detail);
  const isPlaced = detail !== NONE && details.place.get(detail) !== NONE;
  writeId(into, at, messages.id(row));
  let to = into.writeDoubleLE(messages.ref.get(row), at + ID_BYTES);
  to = into.writeUInt32LE(messages.offset.get(row), to);
  to = into.writeUInt32LE(messages.length.get(row), to);
  to = into.writeUInt32LE(entries.queue.get(entry), to);
  to = into.writeUInt32LE(entries.retries.get(entry), to);
  to = into.writeDoubleLE(entries.dueMs.get(entry), to);
  to = into.writeUInt16LE(messages.typeCode.get(row), to);
  into[to] = messages.priority.get(row);
  into[to + 1] =
    (corrid === NONE ? 0 : BIT.CORRID) |
    (timing === null ? 0 : BIT.TIMING) |
    (isPlaced ? BIT.PLACED : 0) |
    (entries.dueClockOf(entry) === CLOCK.WALL ? BIT.DUE_ON_WALL : 0);
  to += 2;
  if (corrid !== NONE) {
    into.set(corrids.value.view(corrid), to);
    to += LIMIT.TMCORRIDLEN;
  }
  if (timing !== null) {
    to = into.writeDoubleLE(timing.sortTimeMs, to);
    to = into.writeDoubleLE(timing.sortExpiryMs, to);
    to = into.writeDoubleLE(timing.expiryMs, to);
    into[to++] = timing.expiryClock;
  }
  return isPlaced ? writePlace(space, entry, { into, at: to }) : to;
}

function writePlace(space: QueueSpace, entry: number, { into, at }: { into: Buffer; at: number }): number {
  const record = new RecordBuffer(PLACED_BYTES);
  const length = encodeEvent(record, {
    kind: 'placed',
    id: space.id(entry),
    persistent: true,
    position: standingOf(space, entry),
  });
  into.writeUInt16LE(length, at);
  into.set(record.slice(0, length), at + 2);
  return at + 2 + length;
}

export interface ReadRow {
  readonly enqueued: Enqueued;
  readonly placed: Placed | null;
  readonly end: number;
}

/** `types`: type and subtype by the code of the checkpoint. */
export function readRow(bytes: Buffer, at: number, types: readonly (readonly [string, string])[]): ReadRow {
  const head = at + ID_BYTES;
  const bits = bytes[at + ROW_BYTES - 1] as number;
  const [type, subtype] = types[bytes.readUInt16LE(head + 32)] ?? ['', ''];
  let to = at + ROW_BYTES;
  let corrid: Uint8Array | null = null;
  if ((bits & BIT.CORRID) !== 0) {
    corrid = bytes.subarray(to, to + LIMIT.TMCORRIDLEN);
    to += LIMIT.TMCORRIDLEN;
  }
  const timing =
    (bits & BIT.TIMING) === 0
      ? null
      : {
          sortTimeMs: bytes.readDoubleLE(to),
          sortExpiryMs: bytes.readDoubleLE(to + 8),
          expiryMs: bytes.readDoubleLE(to + 16),
          expiryClock: bytes[to + 24] === CLOCK.WALL ? CLOCK.WALL : CLOCK.SPACE,
        };
  if (timing !== null) to += TIMING_BYTES;
  const enqueued: Enqueued = {
    kind: 'enqueued',
    restated: false,
    branch: 0,
    id: readId(bytes, at),
    queue: bytes.readUInt32LE(head + 16),
    persistent: true,
    retries: bytes.readUInt32LE(head + 20),
    dueMs: bytes.readDoubleLE(head + 24),
    dueClock: (bits & BIT.DUE_ON_WALL) === 0 ? CLOCK.SPACE : CLOCK.WALL,
    timing,
    top: false,
    properties: propertiesOf(corrid, { type, subtype, priority: bytes[head + 34] as number }),
    place: {
      ref: bytes.readDoubleLE(head),
      offset: bytes.readUInt32LE(head + 8),
      length: bytes.readUInt32LE(head + 12),
    },
  };
  if ((bits & BIT.PLACED) === 0) return { enqueued, placed: null, end: to };
  const length = bytes.readUInt16LE(to);
  const record = bytes.subarray(to + 2, to + 2 + length);
  const placed = decodeEvent(record, { ref: 0, offset: 0, length }) as Placed;
  return { enqueued, placed, end: to + 2 + length };
}

const NO_CLTID = new Uint8Array(LIMIT.CLTIDLEN);

/** What a row keeps of a message's properties; the rest stays in its record in the log. */
function propertiesOf(
  corrid: Uint8Array | null,
  { type, subtype, priority }: { type: string; subtype: string; priority: number },
): MessageProperties {
  return {
    flags: corrid === null ? 0 : TPQ.TPQCORRID,
    priority,
    corrid,
    replyqueue: '',
    failurequeue: '',
    cltid: NO_CLTID,
    appkey: 0,
    urcode: 0,
    type,
    subtype,
    deliveryQos: 0,
    replyQos: 0,
  };
}
