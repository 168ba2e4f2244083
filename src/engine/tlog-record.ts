// Records of a transaction log ↔ events. The byte boxes are in src/wal/FORMAT.md, "Transaction log"; numbers are little-endian.
import type { Participant, TlogEvent } from '../xa/decisions.ts';
import { readTransaction, writeTransaction } from './branch-record.ts';
import type { RecordBuffer } from './record-buffer.ts';
import { beginRecord, ID_BYTES } from './record-parts.ts';

const RECORD = { IDENTITY: 64, DECIDED: 65, FORGOTTEN: 66 } as const;
const IDENTITY_BYTES = 16;
const HEAD_BYTES = 4 + ID_BYTES;
/** A participant: its space's id, the length of its name and the name. */
const PARTICIPANT_BYTES = 5;
const NAME_BYTES_MAX = 255;
const OVERHEAD_BYTES = 4 + 28;
export const FORGOTTEN_BYTES: number = HEAD_BYTES + OVERHEAD_BYTES;

const text = new TextDecoder();

/** Room for a decision, with its share of a frame. */
export function decidedBytes(participants: readonly Participant[]): number {
  const bytes = participants.reduce((sum, { name }) => sum + PARTICIPANT_BYTES + Buffer.byteLength(name), 0);
  return HEAD_BYTES + bytes + OVERHEAD_BYTES;
}

export function encodeTlogEvent(buffer: RecordBuffer, event: TlogEvent): void {
  if (event.kind === 'identity') {
    const { into, at } = beginRecord(buffer, RECORD.IDENTITY, 4 + IDENTITY_BYTES);
    into.write(event.tlog, at + 4, IDENTITY_BYTES, 'hex');
    return;
  }
  if (event.kind === 'forgotten') {
    const { into, at } = beginRecord(buffer, RECORD.FORGOTTEN, HEAD_BYTES);
    writeTransaction(into, at + 4, event.transaction);
    return;
  }
  const { transaction, participants } = event;
  const { into, at } = beginRecord(buffer, RECORD.DECIDED, decidedBytes(participants) - OVERHEAD_BYTES);
  into[at + 1] = participants.length;
  writeTransaction(into, at + 4, transaction);
  let to = at + HEAD_BYTES;
  for (const { spaceId, name } of participants) {
    to = into.writeUInt32LE(spaceId, to);
    const bytes = into.write(name, to + 1, Math.min(Buffer.byteLength(name), NAME_BYTES_MAX));
    into[to] = bytes;
    to += 1 + bytes;
  }
}

/** Throws a RangeError for a kind this release does not know. */
export function decodeTlogEvent(bytes: Buffer): TlogEvent {
  switch (bytes[0]) {
    case RECORD.IDENTITY:
      return { kind: 'identity', tlog: bytes.toString('hex', 4, 4 + IDENTITY_BYTES) };
    case RECORD.FORGOTTEN:
      return { kind: 'forgotten', transaction: readTransaction(bytes, 4) };
    case RECORD.DECIDED: {
      const participants: Participant[] = [];
      let at = HEAD_BYTES;
      for (let i = 0; i < (bytes[1] as number); i++) {
        const length = bytes[at + 4] as number;
        const name = text.decode(bytes.subarray(at + PARTICIPANT_BYTES, at + PARTICIPANT_BYTES + length));
        participants.push({ spaceId: bytes.readUInt32LE(at), name });
        at += PARTICIPANT_BYTES + length;
      }
      return { kind: 'decided', transaction: readTransaction(bytes, 4), participants };
    }
    default:
      throw new RangeError(`record kind ${bytes[0]} is none of a transaction log, or of a newer release`);
  }
}
