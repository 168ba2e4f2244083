// Records of what administrators did to messages and prepared branches ↔ events. The byte boxes are in src/wal/FORMAT.md, "Records"; numbers are
// little-endian.
import {
  CLOCK,
  type Changed,
  type EntryTiming,
  type Heuristic,
  type LoggedEvent,
  type Requeued,
} from '../queue/event.ts';
import { readTransaction, TLOG_BYTES, writeTransaction } from './branch-record.ts';
import type { RecordBuffer } from './record-buffer.ts';
import { beginRecord, ID_BYTES, readId, RECORD, writeId } from './record-parts.ts';

export type AdminEvent = Changed | Requeued | Heuristic;

const BIT = { DUE_ON_WALL: 1, TIMING: 2, EXPIRY_ON_WALL: 4 } as const;
const CHANGED_BYTES = 4 + ID_BYTES + 8;
const TIMING_BYTES = 24;
const REQUEUED_BYTES = 4 + 2 * ID_BYTES + 16;
const RECORD_BYTES = 4 + ID_BYTES + TLOG_BYTES;
/** Room for the record of a heuristic outcome, with its share of a frame. */
export const HEURISTIC_BYTES: number = RECORD_BYTES + 4 + 28;

export function encodeAdminEvent(buffer: RecordBuffer, event: AdminEvent): void {
  if (event.kind === 'changed') writeChanged(buffer, event);
  else if (event.kind === 'requeued') writeRequeued(buffer, event);
  else writeHeuristic(buffer, event);
}

/** undefined: it is of another kind. */
export function decodeAdminEvent(bytes: Buffer): LoggedEvent | undefined {
  switch (bytes[0]) {
    case RECORD.CHANGED:
      return readChanged(bytes);
    case RECORD.REQUEUED:
      return readRequeued(bytes);
    case RECORD.HEURISTIC: {
      const transaction = readTransaction(bytes, 4);
      const tlog = bytes.toString('hex', 4 + ID_BYTES, RECORD_BYTES);
      return { kind: 'heuristic', transaction, tlog, committed: bytes[1] === 1, compared: bytes[2] === 1 };
    }
    default:
      return undefined;
  }
}

function writeChanged(buffer: RecordBuffer, { id, priority, dueMs, dueClock, timing }: Changed): void {
  const { into, at } = beginRecord(
    buffer,
    RECORD.CHANGED,
    CHANGED_BYTES + (timing === null ? 0 : TIMING_BYTES),
  );
  into[at + 1] = priority;
  into[at + 2] =
    (dueClock === CLOCK.WALL ? BIT.DUE_ON_WALL : 0) |
    (timing === null ? 0 : BIT.TIMING) |
    (timing?.expiryClock === CLOCK.WALL ? BIT.EXPIRY_ON_WALL : 0);
  writeId(into, at + 4, id);
  into.writeDoubleLE(dueMs, at + 4 + ID_BYTES);
  if (timing === null) return;
  into.writeDoubleLE(timing.sortTimeMs, at + CHANGED_BYTES);
  into.writeDoubleLE(timing.sortExpiryMs, at + CHANGED_BYTES + 8);
  into.writeDoubleLE(timing.expiryMs, at + CHANGED_BYTES + 16);
}

function readChanged(bytes: Buffer): Changed {
  const bits = bytes[2] as number;
  return {
    kind: 'changed',
    id: readId(bytes, 4),
    persistent: true,
    priority: bytes[1] as number,
    dueMs: bytes.readDoubleLE(4 + ID_BYTES),
    dueClock: (bits & BIT.DUE_ON_WALL) === 0 ? CLOCK.SPACE : CLOCK.WALL,
    timing: (bits & BIT.TIMING) === 0 ? null : readTiming(bytes, bits),
  };
}

function readTiming(bytes: Buffer, bits: number): EntryTiming {
  return {
    sortTimeMs: bytes.readDoubleLE(CHANGED_BYTES),
    sortExpiryMs: bytes.readDoubleLE(CHANGED_BYTES + 8),
    expiryMs: bytes.readDoubleLE(CHANGED_BYTES + 16),
    expiryClock: (bits & BIT.EXPIRY_ON_WALL) === 0 ? CLOCK.SPACE : CLOCK.WALL,
  };
}

function writeRequeued(buffer: RecordBuffer, { id, newId, queue, from, atMs }: Requeued): void {
  const { into, at } = beginRecord(buffer, RECORD.REQUEUED, REQUEUED_BYTES);
  writeId(into, at + 4, id);
  writeId(into, at + 4 + ID_BYTES, newId);
  into.writeUInt32LE(queue, at + 4 + 2 * ID_BYTES);
  into.writeUInt32LE(from, at + 8 + 2 * ID_BYTES);
  into.writeDoubleLE(atMs, at + 12 + 2 * ID_BYTES);
}

function readRequeued(bytes: Buffer): Requeued {
  return {
    kind: 'requeued',
    id: readId(bytes, 4),
    newId: readId(bytes, 4 + ID_BYTES),
    persistent: true,
    queue: bytes.readUInt32LE(4 + 2 * ID_BYTES),
    from: bytes.readUInt32LE(8 + 2 * ID_BYTES),
    atMs: bytes.readDoubleLE(12 + 2 * ID_BYTES),
  };
}

function writeHeuristic(buffer: RecordBuffer, { transaction, tlog, committed, compared }: Heuristic): void {
  const { into, at } = beginRecord(buffer, RECORD.HEURISTIC, RECORD_BYTES);
  into[at + 1] = committed ? 1 : 0;
  into[at + 2] = compared ? 1 : 0;
  writeTransaction(into, at + 4, transaction);
  into.write(tlog, at + 4 + ID_BYTES, TLOG_BYTES, 'hex');
}
