// What all records share: their kinds, and how an id is written. Numbers are little-endian (src/wal/FORMAT.md, "Records").
import type { MessageId } from '../queue/message.ts';
import type { RecordBuffer } from './record-buffer.ts';

/** First byte of every record. A message with times, TPQTOP or a quality of service is ENQUEUED_TIMED, any other ENQUEUED. */
export const RECORD = {
  ENQUEUED: 1,
  REMOVED: 2,
  RETRIED: 3,
  MOVED_FIRST: 4,
  QUEUE: 5,
  SPACE: 6,
  ENQUEUED_TIMED: 7,
  PLACED: 8,
  MOVED: 9,
  THRESHOLD: 10,
  DOOMED: 11,
  PREPARED: 12,
  JOINED: 13,
  ENDED: 14,
  COMMITTED: 15,
  OUTCOMES: 16,
  PROVENANCE: 17,
  CHANGED: 20,
  REQUEUED: 21,
  HEURISTIC: 22,
  OBJECT: 23,
  FINISHED: 24,
  /** A message of the AQ dialect. */
  ENQUEUED_AQ: 25,
} as const;

export const ID_BYTES = 12;
const PART_BYTES = 6;

/** Opens a record of so many bytes in one piece, its kind and three zeros written; the caller writes the rest at once. */
export function beginRecord(buffer: RecordBuffer, kind: number, bytes: number): { into: Buffer; at: number } {
  const into = buffer.open(bytes);
  const at = buffer.writeAt;
  into.fill(0, at, at + 4);
  into[at] = kind;
  buffer.advance(bytes);
  return { into, at };
}

export function writeId(into: Buffer, at: number, id: MessageId): void {
  into.writeUIntLE(id.epoch, at, PART_BYTES);
  into.writeUIntLE(id.counter, at + PART_BYTES, PART_BYTES);
}
export function readId(bytes: Buffer, at: number): MessageId {
  return { epoch: bytes.readUIntLE(at, PART_BYTES), counter: bytes.readUIntLE(at + PART_BYTES, PART_BYTES) };
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
