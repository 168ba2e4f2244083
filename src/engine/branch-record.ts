// Records about transactions ↔ events: prepared branches, their members, their outcomes. The byte boxes are in src/wal/FORMAT.md,
// "Records"; numbers are little-endian.
import type { TransactionId } from '../base/transaction-id.ts';
import type {
  BranchEnded,
  BranchPrepared,
  Committed,
  Joined,
  LoggedEvent,
  Member,
  OutcomesBegin,
} from '../queue/event.ts';
import type { Outcomes } from '../queue/outcomes.ts';
import type { RecordBuffer } from './record-buffer.ts';
import { beginRecord, ID_BYTES, readId, RECORD, writeId } from './record-parts.ts';

export type BranchEvent = BranchPrepared | Joined | BranchEnded | Committed | OutcomesBegin;

export const TLOG_BYTES = 16;
const PREPARED_BYTES = 12 + ID_BYTES + TLOG_BYTES;
const ENDED_BYTES = 8 + ID_BYTES;
const OVERHEAD_BYTES = 4 + 28;
/** Room for the records that say a branch is prepared and what its outcome is, each with its share of a frame [DESIGN 5, Room]. */
export const BRANCH_BYTES = {
  PREPARED: PREPARED_BYTES + OVERHEAD_BYTES,
  ENDED: ENDED_BYTES + OVERHEAD_BYTES,
};
/** The same for the record that says a transaction committed. */
export const COMMITTED_BYTES: number = 4 + ID_BYTES + OVERHEAD_BYTES;
/** What a prepared branch takes where the definitions are repeated. */
export const PREPARED_DEFINITION_BYTES: number = PREPARED_BYTES + 4;

export function encodeBranchEvent(buffer: RecordBuffer, event: BranchEvent): void {
  switch (event.kind) {
    case 'branchPrepared': {
      const { into, at } = beginRecord(buffer, RECORD.PREPARED, PREPARED_BYTES);
      into.writeUInt32LE(event.branch, at + 4);
      into.writeUInt32LE(event.enqueued, at + 8);
      writeTransaction(into, at + 12, event.transaction);
      into.write(event.tlog, at + 12 + ID_BYTES, TLOG_BYTES, 'hex');
      return;
    }
    case 'joined': {
      const { into, at } = beginRecord(buffer, RECORD.JOINED, 8 + ID_BYTES);
      into[at + 1] = event.member;
      writeId(into, at + 4, event.id);
      into.writeUInt32LE(event.branch, at + 4 + ID_BYTES);
      return;
    }
    case 'branchEnded': {
      const { into, at } = beginRecord(buffer, RECORD.ENDED, ENDED_BYTES);
      into[at + 1] = event.committed ? 1 : 0;
      into.writeUInt32LE(event.branch, at + 4);
      writeTransaction(into, at + 8, event.transaction);
      return;
    }
    case 'committed': {
      const { into, at } = beginRecord(buffer, RECORD.COMMITTED, 4 + ID_BYTES);
      writeTransaction(into, at + 4, event.transaction);
      return;
    }
    case 'outcomesBegin':
      writeOutcomes(buffer, event.forgotten, {
        size: event.ids.length,
        at: (i) => event.ids[i] as TransactionId,
      });
  }
}

/** What a checkpoint holds of the transactions that committed. */
export function encodeOutcomes(buffer: RecordBuffer, outcomes: Outcomes): void {
  writeOutcomes(buffer, outcomes.forgottenThrough, outcomes);
}

/** The event in a record about a transaction; undefined: it is about something else. */
export function decodeBranchEvent(bytes: Buffer): BranchEvent | undefined {
  switch (bytes[0]) {
    case RECORD.PREPARED:
      return {
        kind: 'branchPrepared',
        branch: bytes.readUInt32LE(4),
        enqueued: bytes.readUInt32LE(8),
        transaction: readTransaction(bytes, 12),
        tlog: bytes.toString('hex', 12 + ID_BYTES, 12 + ID_BYTES + TLOG_BYTES),
      };
    case RECORD.JOINED:
      return {
        kind: 'joined',
        id: readId(bytes, 4),
        persistent: true,
        branch: bytes.readUInt32LE(4 + ID_BYTES),
        member: bytes[1] as Member,
      };
    case RECORD.ENDED:
      return {
        kind: 'branchEnded',
        branch: bytes.readUInt32LE(4),
        transaction: readTransaction(bytes, 8),
        committed: bytes[1] === 1,
      };
    case RECORD.COMMITTED:
      return { kind: 'committed', transaction: readTransaction(bytes, 4) };
    case RECORD.OUTCOMES: {
      const ids: TransactionId[] = [];
      for (let i = 0; i < bytes.readUInt32LE(4); i++)
        ids.push(readTransaction(bytes, 8 + (i + 1) * ID_BYTES));
      return { kind: 'outcomesBegin', forgotten: readTransaction(bytes, 8), ids };
    }
    default:
      return undefined;
  }
}

/** Knows, record by record of a batch, which messages are those of a prepared branch: so many as its record says, right after it. */
export class BranchRecords {
  private branch = 0;
  private left = 0;

  take(event: LoggedEvent): LoggedEvent {
    if (event.kind === 'branchPrepared') {
      this.branch = event.branch;
      this.left = event.enqueued;
    } else if (event.kind === 'enqueued') {
      const branch = this.ofMessage();
      return branch === 0 ? event : { ...event, branch };
    }
    return event;
  }

  /** The branch of a message that comes now; 0: of none. */
  ofMessage(): number {
    if (this.left === 0) return 0;
    this.left--;
    return this.branch;
  }
}

/** Twelve bytes. */
export function writeTransaction(into: Buffer, at: number, { start, serial }: TransactionId): void {
  writeId(into, at, { epoch: start, counter: serial });
}
export function readTransaction(bytes: Buffer, at: number): TransactionId {
  const { epoch, counter } = readId(bytes, at);
  return { start: epoch, serial: counter };
}

function writeOutcomes(
  buffer: RecordBuffer,
  forgotten: TransactionId,
  ids: { readonly size: number; at(i: number): TransactionId },
): void {
  const { into, at } = beginRecord(buffer, RECORD.OUTCOMES, 8 + (1 + ids.size) * ID_BYTES);
  into.writeUInt32LE(ids.size, at + 4);
  writeTransaction(into, at + 8, forgotten);
  for (let i = 0; i < ids.size; i++) writeTransaction(into, at + 8 + (i + 1) * ID_BYTES, ids.at(i));
}
