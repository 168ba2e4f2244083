// Events ↔ record bytes. The byte boxes are in src/wal/FORMAT.md, "Records"; numbers are little-endian. A message's record carries its own
// CRC-32, computed once here and checked whenever the record is read from the log again. A kind or a field position never changes its
// meaning; a new version of a record is a new kind.
import { crc32 } from 'node:zlib';
import { BUFTYPE, LIMIT, TPQ } from '../../proto/codes.ts';
import type {
  Enqueued,
  LoggedEvent,
  Moved,
  QueueAttributes,
  RecordPlace,
  Removal,
  Removed,
  Retried,
} from '../queue/event.ts';
import type { MessageId, MessageProperties } from '../queue/message.ts';
import { BY_REFERENCE_BYTES, type RecordBuffer } from './record-buffer.ts';

/** First byte of every record. */
export const RECORD = { ENQUEUED: 1, REMOVED: 2, RETRIED: 3, MOVED: 4, QUEUE: 5, SPACE: 6 } as const;

const ID_BYTES = 12;
const PART_BYTES = 6;
const CRC_AT = 4;
const CRC_FROM = 8;
const ID_AT = 8;
const QUEUE_AT = 20;
const RETRIES_AT = 24;
const DUE_AT = 28;
const FLAGS_AT = 36;
const APPKEY_AT = 40;
const URCODE_AT = 44;
const CLTID_AT = 52;
const VARIABLE_LENGTH_AT = 68;
/** Bytes of a message's record before its variable part. */
const HEAD_BYTES = 72;
/** Type code of a buffer type that has no number of its own: its name stands in the variable part. */
const NAMED_TYPE = 255;

const SMALL_BYTES = 4 + ID_BYTES;
/** Bytes of the record that removes a message: reserved from the moment it is queued [DESIGN 5, Room], with its share of a frame. */
export const REMOVAL_BYTES: number = SMALL_BYTES + 4 + 28;

const TYPE_NAMES = Object.entries(BUFTYPE).map(([name, code]) => [name, code] as const);
const CODE_OF_TYPE = new Map<string, number>(
  TYPE_NAMES.map(([name, code]) => [code === 0 ? '' : name, code]),
);
const TYPE_OF_CODE = new Map<number, string>(
  TYPE_NAMES.map(([name, code]) => [code, code === 0 ? '' : name]),
);

const text = new TextDecoder();

/** A queued message as it is handed out: everything the sender gave, the id it has now, and the data (a copy of its own). */
export interface StoredMessage {
  readonly id: MessageId;
  readonly properties: MessageProperties;
  readonly data: Uint8Array | null;
}

/** Bytes that the record of this message will take. */
export function enqueuedBytes(properties: MessageProperties, data: Uint8Array | null): number {
  return HEAD_BYTES + variableBytes(properties) + (data?.length ?? 0);
}

/** Writes the record of a message and sets the event's place (all but `ref`). */
export function encodeEnqueued(buffer: RecordBuffer, event: Enqueued, data: Uint8Array | null): void {
  const variable = variableBytes(event.properties);
  const dataBytes = data?.length ?? 0;
  const attached = dataBytes >= BY_REFERENCE_BYTES;
  const inChunk = HEAD_BYTES + variable + (attached ? 0 : dataBytes);
  const into = buffer.open(inChunk);
  const at = buffer.writeAt;
  writeHead(into, at, event);
  into.writeUInt16LE(variable, at + VARIABLE_LENGTH_AT);
  into.writeUInt16LE(0, at + VARIABLE_LENGTH_AT + 2);
  writeVariable(into, at + HEAD_BYTES, event.properties);
  if (data !== null && !attached) into.set(data, at + HEAD_BYTES + variable);
  let crc = crc32(into.subarray(at + CRC_FROM, at + inChunk));
  if (data !== null && attached) crc = crc32(data, crc);
  into.writeUInt32LE(crc, at + CRC_AT);
  event.place.offset = buffer.length;
  event.place.length = HEAD_BYTES + variable + dataBytes;
  buffer.advance(inChunk);
  if (data !== null && attached) buffer.attach(data);
}

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
    case 'queueDefined':
      writeJson(buffer, RECORD.QUEUE, { queue: event.queue, ...event.attributes });
      break;
    case 'spaceDefined':
      writeJson(buffer, RECORD.SPACE, { name: event.name, errorQueue: event.errorQueue });
      break;
  }
  return buffer.length - before;
}

/** Bytes of a record that moves or retries a message, with its share of a frame. */
export const CHANGE_BYTES: number = 4 + 2 * ID_BYTES + 8 + 4 + 28;

/** As much of a message's record as `decodeEvent` looks at: all but its data. */
export const EVENT_BYTES = 1024;

/**
 * Reads a record, of which a message's data may be missing, at its place. Throws a RangeError for a kind this release does not know.
 */
export function decodeEvent(record: Uint8Array, place: RecordPlace): LoggedEvent {
  const bytes = asBuffer(record);
  const kind = bytes[0] as number;
  switch (kind) {
    case RECORD.ENQUEUED:
      return {
        kind: 'enqueued',
        id: readId(bytes, ID_AT),
        queue: bytes.readUInt32LE(QUEUE_AT),
        retries: bytes.readUInt32LE(RETRIES_AT),
        dueMs: bytes.readDoubleLE(DUE_AT),
        properties: readProperties(bytes),
        place,
      };
    case RECORD.REMOVED:
      return { kind: 'removed', id: readId(bytes, 4), reason: bytes[1] as Removal };
    case RECORD.RETRIED:
      return {
        kind: 'retried',
        id: readId(bytes, 4),
        retries: bytes.readUInt32LE(4 + ID_BYTES),
        dueMs: bytes.readDoubleLE(8 + ID_BYTES),
      };
    case RECORD.MOVED:
      return {
        kind: 'moved',
        id: readId(bytes, 4),
        newId: readId(bytes, 4 + ID_BYTES),
        queue: bytes.readUInt32LE(4 + 2 * ID_BYTES),
        from: bytes.readUInt32LE(8 + 2 * ID_BYTES),
      };
    case RECORD.QUEUE: {
      const { queue, ...attributes } = readJson(bytes) as { queue: number } & QueueAttributes;
      return { kind: 'queueDefined', queue, attributes };
    }
    case RECORD.SPACE: {
      const { name, errorQueue } = readJson(bytes) as { name: string; errorQueue: string };
      return { kind: 'spaceDefined', name, errorQueue };
    }
    default:
      throw new RangeError(`record kind ${kind} is of a newer release`);
  }
}

/** Whether the record of a message is what was written. */
export function isIntact(record: Uint8Array): boolean {
  return asBuffer(record).readUInt32LE(CRC_AT) === crc32(record.subarray(CRC_FROM));
}

/** The message in a record, as it is handed out; its id may have changed since the record was written. Nothing shares the record's bytes. */
export function decodeMessage(record: Uint8Array, id: MessageId): StoredMessage {
  const bytes = asBuffer(record);
  const dataAt = HEAD_BYTES + bytes.readUInt16LE(VARIABLE_LENGTH_AT);
  const properties = readProperties(bytes);
  const data = properties.type === '' ? null : Buffer.from(bytes.subarray(dataAt));
  return { id, properties, data };
}

function writeHead(into: Buffer, at: number, event: Enqueued): void {
  const { properties } = event;
  into[at] = RECORD.ENQUEUED;
  into[at + 1] = 1; // entries that follow the message: multi-consumer queues will have more
  into[at + 2] = properties.priority;
  into[at + 3] = CODE_OF_TYPE.get(properties.type) ?? NAMED_TYPE;
  writeId(into, at + ID_AT, event.id);
  into.writeUInt32LE(event.queue, at + QUEUE_AT);
  into.writeUInt32LE(event.retries, at + RETRIES_AT);
  into.writeDoubleLE(event.dueMs, at + DUE_AT);
  into.writeUInt32LE(properties.flags, at + FLAGS_AT);
  into.writeInt32LE(properties.appkey, at + APPKEY_AT);
  into.writeDoubleLE(properties.urcode, at + URCODE_AT);
  into.set(properties.cltid, at + CLTID_AT);
}

function variableBytes(properties: MessageProperties): number {
  let bytes = properties.corrid === null ? 0 : LIMIT.TMCORRIDLEN;
  if ((properties.flags & TPQ.TPQREPLYQ) !== 0) bytes += 1 + byteLength(properties.replyqueue);
  if ((properties.flags & TPQ.TPQFAILUREQ) !== 0) bytes += 1 + byteLength(properties.failurequeue);
  if (!CODE_OF_TYPE.has(properties.type)) bytes += 1 + byteLength(properties.type);
  return bytes + 1 + byteLength(properties.subtype);
}

function byteLength(value: string): number {
  return value === '' ? 0 : Buffer.byteLength(value);
}

function writeVariable(into: Buffer, from: number, properties: MessageProperties): void {
  let at = from;
  if (properties.corrid !== null) {
    into.set(properties.corrid, at);
    at += LIMIT.TMCORRIDLEN;
  }
  if ((properties.flags & TPQ.TPQREPLYQ) !== 0) at = writeText(into, at, properties.replyqueue);
  if ((properties.flags & TPQ.TPQFAILUREQ) !== 0) at = writeText(into, at, properties.failurequeue);
  if (!CODE_OF_TYPE.has(properties.type)) at = writeText(into, at, properties.type);
  writeText(into, at, properties.subtype);
}

/** A string of at most 255 bytes, after its length. */
function writeText(into: Buffer, at: number, value: string): number {
  const bytes = value === '' ? 0 : into.write(value, at + 1);
  into[at] = bytes;
  return at + 1 + bytes;
}

function readProperties(bytes: Buffer): MessageProperties {
  const flags = bytes.readUInt32LE(FLAGS_AT);
  const typeCode = bytes[3] as number;
  let at = HEAD_BYTES;
  let corrid: Uint8Array | null = null;
  if ((flags & TPQ.TPQCORRID) !== 0) {
    corrid = Uint8Array.prototype.slice.call(bytes, at, at + LIMIT.TMCORRIDLEN);
    at += LIMIT.TMCORRIDLEN;
  }
  const nextText = (): string => {
    const length = bytes[at] as number;
    at += 1 + length;
    return length === 0 ? '' : text.decode(bytes.subarray(at - length, at));
  };
  const replyqueue = (flags & TPQ.TPQREPLYQ) === 0 ? '' : nextText();
  const failurequeue = (flags & TPQ.TPQFAILUREQ) === 0 ? '' : nextText();
  const type = typeCode === NAMED_TYPE ? nextText() : (TYPE_OF_CODE.get(typeCode) ?? '');
  const subtype = nextText();
  return {
    flags,
    priority: bytes[2] as number,
    corrid,
    replyqueue,
    failurequeue,
    cltid: Uint8Array.prototype.slice.call(bytes, CLTID_AT, CLTID_AT + LIMIT.CLTIDLEN),
    appkey: bytes.readInt32LE(APPKEY_AT),
    urcode: bytes.readDoubleLE(URCODE_AT),
    type,
    subtype,
  };
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
  const bytes = SMALL_BYTES + ID_BYTES + 8;
  const into = buffer.open(bytes);
  const at = writeKind(into, buffer.writeAt, RECORD.MOVED);
  writeId(into, at, event.id);
  writeId(into, at + ID_BYTES, event.newId);
  into.writeUInt32LE(event.queue, at + 2 * ID_BYTES);
  into.writeUInt32LE(event.from, at + 2 * ID_BYTES + 4);
  buffer.advance(bytes);
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

function writeId(into: Buffer, at: number, id: MessageId): void {
  into.writeUIntLE(id.epoch, at, PART_BYTES);
  into.writeUIntLE(id.counter, at + PART_BYTES, PART_BYTES);
}
function readId(bytes: Buffer, at: number): MessageId {
  return { epoch: bytes.readUIntLE(at, PART_BYTES), counter: bytes.readUIntLE(at + PART_BYTES, PART_BYTES) };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
