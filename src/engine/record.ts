// Events ↔ record bytes. The byte boxes are in src/wal/FORMAT.md, "Records"; numbers are little-endian. A kind or a field position never
// changes its meaning; a new version of a record is a new kind.
import { QUEUE_DEFAULTS, SPACE_DEFAULTS, withoutDefaults } from '../queue/attributes.ts';
import type {
  Enqueued,
  LoggedEvent,
  Moved,
  Placed,
  RecordPlace,
  Removal,
  Removed,
  Retried,
  ThresholdKind,
} from '../queue/event.ts';
import { LABEL_BYTES_MAX } from '../queue/label.ts';
import { decodeAdminEvent, encodeAdminEvent } from './admin-record.ts';
import { decodeAqEvent, encodeAqEvent } from './aq-record.ts';
import { decodeBranchEvent, encodeBranchEvent } from './branch-record.ts';
import { readEnqueued } from './message-record.ts';
import { encodeProvenance, provenanceBytes, readProvenance } from './provenance-record.ts';
import type { RecordBuffer } from './record-buffer.ts';
import { asBuffer, ID_BYTES, readId, RECORD, writeId } from './record-parts.ts';

const SMALL_BYTES = 4 + ID_BYTES;
/** Bytes of the record that removes a message: reserved from the moment it is queued [DESIGN 5, Room], with its share of a frame. */
export const REMOVAL_BYTES: number = SMALL_BYTES + 4 + 28;

const text = new TextDecoder();

/** Writes the record of any other event; returns its length. */
export function encodeEvent(buffer: RecordBuffer, event: Exclude<LoggedEvent, Enqueued>): number {
  const before = buffer.length;
  switch (event.kind) {
    case 'removed':
      writeRemoved(buffer, event);
      break;
    case 'retried':
      writeRetried(buffer, event);
      break;
    case 'moved':
      writeMoved(buffer, event);
      break;
    case 'provenanceSet':
      encodeProvenance(buffer, event);
      break;
    case 'placed':
      writePlaced(buffer, event);
      break;
    case 'thresholdSet':
      writeAboutQueue(buffer, RECORD.THRESHOLD, {
        queue: event.queue,
        first: event.threshold,
        second: event.armed ? 1 : 0,
      });
      break;
    case 'queueDoomed':
      writeAboutQueue(buffer, RECORD.DOOMED, { queue: event.queue, first: 0, second: 0 });
      break;
    case 'queueDefined':
      writeJson(buffer, RECORD.QUEUE, {
        queue: event.queue,
        ...withoutDefaults(event.attributes, QUEUE_DEFAULTS),
      });
      break;
    case 'spaceDefined':
      writeJson(buffer, RECORD.SPACE, {
        nextQueue: event.nextQueue,
        ...withoutDefaults(event.attributes, SPACE_DEFAULTS),
      });
      break;
    case 'finished':
    case 'objectDefined':
      encodeAqEvent(buffer, event);
      break;
    case 'changed':
    case 'requeued':
    case 'heuristic':
      encodeAdminEvent(buffer, event);
      break;
    default:
      encodeBranchEvent(buffer, event);
  }
  return buffer.length - before;
}

/** Bytes of a record that moves, retries or changes a message, with its share of a frame. */
export const CHANGE_BYTES: number = 4 + 2 * ID_BYTES + 20 + 4 + 28;
const PLACED_HEAD_BYTES = 4 + 2 * ID_BYTES + 16;
/** The same for one that places a message. */
export const PLACED_BYTES: number = PLACED_HEAD_BYTES + LABEL_BYTES_MAX + 4 + 28;
/** The same for one about a queue, without its attributes. */
export const QUEUE_CHANGE_BYTES: number = 8 + 4 + 28;
/** What was set aside for the record of an event that is decided here, with its share of a frame; 0: others see to that. */
export function setAside(event: LoggedEvent): number {
  switch (event.kind) {
    // That a prepared branch took a message is said in the room for its removal, which the outcome will say.
    case 'removed':
    case 'joined':
      return REMOVAL_BYTES;
    case 'retried':
    case 'moved':
    case 'changed':
    case 'requeued':
    case 'finished':
      return CHANGE_BYTES;
    case 'provenanceSet':
      return provenanceBytes(event.provenance.name);
    default:
      return 0;
  }
}

/** Room for moving a message to the error queue from the queue of this name, or from the error queue itself (null). */
export function moveBytes(from: string | null): number {
  return CHANGE_BYTES + (from === null ? 0 : provenanceBytes(from));
}

/**
 * Reads a record, of which a message's data may be missing, at its place. Throws a RangeError for a kind this release does not know.
 */
export function decodeEvent(record: Uint8Array, place: RecordPlace): LoggedEvent {
  const bytes = asBuffer(record);
  const kind = bytes[0] as number;
  switch (kind) {
    case RECORD.ENQUEUED:
    case RECORD.ENQUEUED_TIMED:
    case RECORD.ENQUEUED_AQ:
      return readEnqueued(bytes, place);
    case RECORD.REMOVED:
      return { kind: 'removed', id: readId(bytes, 4), persistent: true, reason: bytes[1] as Removal };
    case RECORD.RETRIED:
      return {
        kind: 'retried',
        id: readId(bytes, 4),
        persistent: true,
        retries: bytes.readUInt32LE(4 + ID_BYTES),
        dueMs: bytes.readDoubleLE(8 + ID_BYTES),
      };
    case RECORD.MOVED:
    case RECORD.MOVED_FIRST:
      return readMoved(bytes);
    case RECORD.PROVENANCE:
      return readProvenance(bytes);
    case RECORD.PLACED:
      return readPlaced(bytes);
    case RECORD.THRESHOLD:
      return {
        kind: 'thresholdSet',
        queue: bytes.readUInt32LE(4),
        threshold: bytes[1] as ThresholdKind,
        armed: bytes[2] === 1,
      };
    case RECORD.DOOMED:
      return { kind: 'queueDoomed', queue: bytes.readUInt32LE(4) };
    case RECORD.QUEUE: {
      const { queue, ...attributes } = { ...QUEUE_DEFAULTS, queue: 0, ...(readJson(bytes) as object) };
      return { kind: 'queueDefined', queue, attributes };
    }
    case RECORD.SPACE: {
      const { nextQueue, ...attributes } = {
        ...SPACE_DEFAULTS,
        nextQueue: 1,
        ...(readJson(bytes) as object),
      };
      return { kind: 'spaceDefined', attributes, nextQueue };
    }
    default: {
      const event = decodeBranchEvent(bytes) ?? decodeAdminEvent(bytes) ?? decodeAqEvent(bytes);
      if (event === undefined) throw new RangeError(`record kind ${kind} is of a newer release`);
      return event;
    }
  }
}

function writeRemoved(buffer: RecordBuffer, event: Removed): void {
  const into = buffer.open(SMALL_BYTES);
  const at = writeKind(into, buffer.writeAt, RECORD.REMOVED);
  into[buffer.writeAt + 1] = event.reason;
  writeId(into, at, event.id);
  buffer.advance(SMALL_BYTES);
}

function writeRetried(buffer: RecordBuffer, event: Retried): void {
  const bytes = SMALL_BYTES + 12;
  const into = buffer.open(bytes);
  const at = writeKind(into, buffer.writeAt, RECORD.RETRIED);
  writeId(into, at, event.id);
  into.writeUInt32LE(event.retries, at + ID_BYTES);
  into.writeDoubleLE(event.dueMs, at + ID_BYTES + 4);
  buffer.advance(bytes);
}

function writeMoved(buffer: RecordBuffer, event: Moved): void {
  const bytes = SMALL_BYTES + ID_BYTES + 20;
  const into = buffer.open(bytes);
  const at = writeKind(into, buffer.writeAt, RECORD.MOVED);
  writeId(into, at, event.id);
  writeId(into, at + ID_BYTES, event.newId);
  into.writeUInt32LE(event.queue, at + 2 * ID_BYTES);
  into.writeUInt32LE(event.from, at + 2 * ID_BYTES + 4);
  into.writeUInt32LE(event.retries, at + 2 * ID_BYTES + 8);
  into.writeDoubleLE(event.atMs, at + 2 * ID_BYTES + 12);
  buffer.advance(bytes);
}

function readMoved(bytes: Buffer): Moved {
  const at = 4 + 2 * ID_BYTES;
  const isFirst = bytes[0] === RECORD.MOVED_FIRST;
  return {
    kind: 'moved',
    id: readId(bytes, 4),
    newId: readId(bytes, 4 + ID_BYTES),
    persistent: true,
    queue: bytes.readUInt32LE(at),
    from: bytes.readUInt32LE(at + 4),
    retries: isFirst ? 0 : bytes.readUInt32LE(at + 8),
    atMs: isFirst ? 0 : bytes.readDoubleLE(at + 12),
  };
}

function writePlaced(buffer: RecordBuffer, { id, position }: Placed): void {
  const { label } = position;
  const bytes = PLACED_HEAD_BYTES + (label?.length ?? 0);
  const into = buffer.open(bytes);
  const start = buffer.writeAt;
  const at = writeKind(into, start, RECORD.PLACED);
  into[start + 1] = position.top ? 1 : 0;
  into[start + 2] = position.priority;
  into[start + 3] = label?.length ?? 0;
  writeId(into, at, id);
  writeId(into, at + ID_BYTES, position.base);
  into.writeDoubleLE(position.sortTimeMs, at + 2 * ID_BYTES);
  into.writeDoubleLE(position.sortExpiryMs, at + 2 * ID_BYTES + 8);
  if (label !== null) into.set(label, start + PLACED_HEAD_BYTES);
  buffer.advance(bytes);
}

function readPlaced(bytes: Buffer): Placed {
  const length = bytes[3] as number;
  const at = 4 + 2 * ID_BYTES;
  return {
    kind: 'placed',
    id: readId(bytes, 4),
    persistent: true,
    position: {
      top: bytes[1] === 1,
      priority: bytes[2] as number,
      sortTimeMs: bytes.readDoubleLE(at),
      sortExpiryMs: bytes.readDoubleLE(at + 8),
      base: readId(bytes, 4 + ID_BYTES),
      label:
        length === 0 ? null : Uint8Array.from(bytes.subarray(PLACED_HEAD_BYTES, PLACED_HEAD_BYTES + length)),
    },
  };
}

/** Eight bytes about a queue: its number, and two small values. */
function writeAboutQueue(
  buffer: RecordBuffer,
  kind: number,
  about: { queue: number; first: number; second: number },
): void {
  const into = buffer.open(8);
  const start = buffer.writeAt;
  const at = writeKind(into, start, kind);
  into[start + 1] = about.first;
  into[start + 2] = about.second;
  into.writeUInt32LE(about.queue, at);
  buffer.advance(8);
}

/** Definitions are rare and grow members over time: they are JSON in UTF-8. */
function writeJson(buffer: RecordBuffer, kind: number, value: object): void {
  const json = Buffer.from(JSON.stringify(value));
  const into = buffer.open(4 + json.length);
  into.set(json, writeKind(into, buffer.writeAt, kind));
  buffer.advance(4 + json.length);
}
function readJson(bytes: Buffer): unknown {
  return JSON.parse(text.decode(bytes.subarray(4)));
}

function writeKind(into: Buffer, at: number, kind: number): number {
  into.fill(0, at, at + 4);
  into[at] = kind;
  return at + 4;
}
