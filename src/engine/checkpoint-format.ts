// What is inside a checkpoint: sections, each a type, a length and its bytes (src/wal/FORMAT.md, "Checkpoints"). The rows have a file of their
// own (checkpoint-rows.ts). Numbers are little-endian.
import type { LoggedEvent } from '../queue/event.ts';
import type { BatchTime } from '../wal/log-store.ts';
import { decodeEvent } from './record.ts';
import type { RecordBuffer } from './record-buffer.ts';

/** 4 was the rows of format 1, message by message. */
export const SECTION = { HEAD: 1, RECORDS: 2, TYPES: 3, END: 5, ROWS: 6 } as const;
/** Raised with a change that a program of the format before could not read. Those that are not read are of no use: the log is read instead. */
export const CHECKPOINT_FORMAT = 4;
/** 2 is as 3 without provenance, and 3 as 4 without the AQ dialect. */
export const CHECKPOINT_FORMATS: readonly number[] = [2, 3, CHECKPOINT_FORMAT];
export const SECTION_HEAD_BYTES = 5;

export interface CheckpointHead {
  readonly format: number;
  readonly time: BatchTime;
  /** About so many rows will follow. */
  readonly rows: number;
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
