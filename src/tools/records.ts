// The records of a log as the tools look at them: each decoded, or with what is wrong with it; and the queued messages of a space.
// Invariant: nothing throws over a record, however damaged. It must not know segments.
import { NONE } from '../base/column.ts';
import { BranchRecords } from '../engine/branch-record.ts';
import { isIntact } from '../engine/message-record.ts';
import { decodeEvent } from '../engine/record.ts';
import { RECORD } from '../engine/record-parts.ts';
import { apply } from '../queue/apply.ts';
import type { Enqueued, LoggedEvent } from '../queue/event.ts';
import type { MessageId } from '../queue/message.ts';
import type { QueueSpace } from '../queue/space.ts';
import { ENTRY } from '../queue/tables.ts';
import type { Batch } from '../wal/log-store.ts';

/** Kinds of what can be wrong with a record in a batch that is whole. */
export type RecordFault = 'unknown record' | 'bad record' | 'message checksum';

export interface LogRecord {
  readonly index: number;
  /** In the batch's records. */
  readonly offset: number;
  /** A view. */
  readonly bytes: Uint8Array;
  /** null: it cannot be decoded. */
  readonly event: LoggedEvent | null;
  readonly fault: { readonly kind: RecordFault; readonly text: string } | null;
}

const KINDS = new Map<number, string>(Object.entries(RECORD).map(([name, kind]) => [kind, name]));

/** The record's kind by its name in FORMAT.md. */
export function kindName(bytes: Uint8Array): string {
  const kind = bytes[0] ?? 0;
  return KINDS.get(kind) ?? `KIND_${kind}`;
}

/** Of any batch but a takeover, whose record is the log's own. Assumes: the records are one chunk, as replay and survey hand them out. */
export function* recordsOf({ records, ref }: Batch): Generator<LogRecord> {
  const chunk = records.bytes[0] ?? new Uint8Array(0);
  const branches = new BranchRecords();
  for (let index = 0; index < records.count; index++) {
    const offset = records.starts[index] ?? 0;
    const end = index + 1 < records.count ? (records.starts[index + 1] ?? 0) : chunk.length;
    const bytes = chunk.subarray(offset, end);
    const { event, fault } = judge(bytes, { ref, offset, length: bytes.length });
    yield { index, offset, bytes, event: event === null ? null : branches.take(event), fault };
  }
}

function judge(bytes: Uint8Array, place: Enqueued['place']): Pick<LogRecord, 'event' | 'fault'> {
  if (!KINDS.has(bytes[0] ?? 0)) {
    const text = `record kind ${bytes[0] ?? 0} is not known: it may be of a newer release`;
    return { event: null, fault: { kind: 'unknown record', text } };
  }
  try {
    const event = decodeEvent(bytes, place);
    const fault =
      event.kind === 'enqueued' && !isIntact(bytes)
        ? {
            kind: 'message checksum' as const,
            text: 'the message is not what was queued: its own CRC-32 differs',
          }
        : null;
    return { event, fault };
  } catch (error) {
    return {
      event: null,
      fault: { kind: 'bad record', text: `a ${kindName(bytes)} record: ${textOf(error)}` },
    };
  }
}

/** Applies an event as replay does; returns what is wrong when it makes no sense. */
export function tryApply(space: QueueSpace, event: LoggedEvent): string | null {
  try {
    apply(space, event);
    return null;
  } catch (error) {
    return textOf(error);
  }
}

export interface QueuedMessage {
  readonly id: MessageId;
  readonly queue: number;
  readonly place: Enqueued['place'];
}

/** All messages of a space, in no order. */
export function* queuedMessages(space: QueueSpace): Generator<QueuedMessage> {
  const { entries, messages } = space;
  for (let entry = NONE + 1, left = entries.live; left > 0; entry++) {
    if (entries.state.get(entry) === ENTRY.FREE) continue;
    left--;
    const message = entries.message.get(entry);
    const place = {
      ref: messages.ref.get(message),
      offset: messages.offset.get(message),
      length: messages.length.get(message),
    };
    yield { id: messages.id(message), queue: entries.queue.get(entry), place };
  }
}

export function queueName(space: QueueSpace, number: number): string {
  return space.queueByNumber(number)?.attributes.name ?? `#${number}`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
