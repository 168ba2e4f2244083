// What is known of a message that was moved to the error queue ↔ record bytes. The byte box is in src/wal/FORMAT.md, "Records"; numbers are
// little-endian. It follows the record of the move, the message wherever it is restated, and its row in a checkpoint.
import type { ProvenanceSet } from '../queue/event.ts';
import type { Reason } from '../queue/provenance.ts';
import type { RecordBuffer } from './record-buffer.ts';
import { beginRecord, ID_BYTES, readId, RECORD, writeId } from './record-parts.ts';

const QUEUE_AT = 4 + ID_BYTES;
const ID_THERE_AT = QUEUE_AT + 4;
const RETRIES_AT = ID_THERE_AT + ID_BYTES;
const COUNT_AT = RETRIES_AT + 4;
const CODE_AT = COUNT_AT + 4;
const RCODE_AT = CODE_AT + 4;
const TIME_AT = RCODE_AT + 8;
const NAME_AT = TIME_AT + 8;
/** Of the record with the longest name. */
export const PROVENANCE_BYTES_MAX: number = NAME_AT + 1 + 255;

const text = new TextDecoder();

/** Bytes of the record for a message that comes from the queue of this name, with its share of a frame. */
export function provenanceBytes(name: string): number {
  return NAME_AT + 1 + Buffer.byteLength(name) + 4 + 28;
}

export function encodeProvenance(buffer: RecordBuffer, { id, provenance }: ProvenanceSet): void {
  const name = Buffer.from(provenance.name);
  const { into, at } = beginRecord(buffer, RECORD.PROVENANCE, NAME_AT + 1 + name.length);
  into[at + 1] = provenance.reason;
  writeId(into, at + 4, id);
  into.writeUInt32LE(provenance.queue, at + QUEUE_AT);
  writeId(into, at + ID_THERE_AT, provenance.id);
  into.writeUInt32LE(provenance.retries, at + RETRIES_AT);
  into.writeUInt32LE(provenance.count, at + COUNT_AT);
  into.writeInt32LE(provenance.code, at + CODE_AT);
  into.writeDoubleLE(provenance.rcode, at + RCODE_AT);
  into.writeDoubleLE(provenance.atMs, at + TIME_AT);
  into[at + NAME_AT] = name.length;
  into.set(name, at + NAME_AT + 1);
}

export function readProvenance(bytes: Buffer): ProvenanceSet {
  const nameEnd = NAME_AT + 1 + bytes.readUInt8(NAME_AT);
  return {
    kind: 'provenanceSet',
    id: readId(bytes, 4),
    persistent: true,
    provenance: {
      queue: bytes.readUInt32LE(QUEUE_AT),
      name: text.decode(bytes.subarray(NAME_AT + 1, nameEnd)),
      id: readId(bytes, ID_THERE_AT),
      reason: bytes.readUInt8(1) as Reason,
      code: bytes.readInt32LE(CODE_AT),
      rcode: bytes.readDoubleLE(RCODE_AT),
      retries: bytes.readUInt32LE(RETRIES_AT),
      atMs: bytes.readDoubleLE(TIME_AT),
      count: bytes.readUInt32LE(COUNT_AT),
    },
  };
}
