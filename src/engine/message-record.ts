// A queued message ↔ record bytes. The record carries its own CRC-32, computed once here and checked whenever it is read from the log again;
// all that is handed out comes from it. The byte boxes are in src/wal/FORMAT.md, "Records".
import { crc32 } from 'node:zlib';
import { BUFTYPE, LIMIT, TPQ } from '../../proto/codes.ts';
import { CLOCK, type Enqueued, type EntryTiming, type RecordPlace } from '../queue/event.ts';
import type { MessageId, MessageProperties } from '../queue/message.ts';
import { aqPartBytes, readAqProperties, readRecipients, writeAqPart } from './aq-part.ts';
import { BY_REFERENCE_BYTES, type RecordBuffer } from './record-buffer.ts';
import { asBuffer, readId, RECORD, writeId } from './record-parts.ts';

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

/** Where the parts of an ENQUEUED record are that a replay reads itself. */
export const ENQUEUED = {
  PRIORITY: 2,
  TYPE: 3,
  ID: ID_AT,
  QUEUE: QUEUE_AT,
  RETRIES: RETRIES_AT,
  DUE: DUE_AT,
  FLAGS: FLAGS_AT,
  HEAD_BYTES,
  NAMED_TYPE,
} as const;

/** ENQUEUED_TIMED only: EXTRA bits, the two qualities of service (low and high half), and the times at the end of the variable part. */
const EXTRA_AT = 70;
const QOS_AT = 71;
const TIMING_BYTES = 24;
const EXTRA = { TIMING: 1, TOP: 2, EXPIRY_ON_WALL: 4, DUE_ON_WALL: 8, RESTATED: 16 } as const;

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
export function enqueuedBytes(
  event: Pick<Enqueued, 'properties' | 'timing' | 'recipients'>,
  data: Uint8Array | null,
): number {
  return HEAD_BYTES + variableBytes(event) + (data?.length ?? 0);
}
/** No record has more in its variable part. */
export const VARIABLE_BYTES_MAX = 0xffff;

function hasQos({ flags }: MessageProperties): boolean {
  return (flags & (TPQ.TPQDELIVERYQOS | TPQ.TPQREPLYQOS)) !== 0;
}

function isTimed({ timing, top, restated, properties }: Enqueued): boolean {
  return timing !== null || top || restated || properties.aq !== undefined || hasQos(properties);
}

/** Writes the record of a message and sets the event's place (all but `ref`). */
export function encodeEnqueued(buffer: RecordBuffer, event: Enqueued, data: Uint8Array | null): void {
  const timing = event.timing === null ? 0 : TIMING_BYTES;
  const variable = variableBytes(event);
  const dataBytes = data?.length ?? 0;
  const attached = dataBytes >= BY_REFERENCE_BYTES;
  const inChunk = HEAD_BYTES + variable + (attached ? 0 : dataBytes);
  const into = buffer.open(inChunk);
  const at = buffer.writeAt;
  writeHead(into, at, event);
  into.writeUInt16LE(variable, at + VARIABLE_LENGTH_AT);
  into.writeUInt16LE(0, at + VARIABLE_LENGTH_AT + 2);
  const aqAt = writeVariable(into, at + HEAD_BYTES, event.properties);
  const { aq } = event.properties;
  if (aq !== undefined) writeAqPart(into, aqAt, { aq, recipients: event.recipients ?? [] });
  if (isTimed(event)) writeExtra(into, at, { event, timingAt: at + HEAD_BYTES + variable - timing });
  if (data !== null && !attached) into.set(data, at + HEAD_BYTES + variable);
  let crc = crc32(into.subarray(at + CRC_FROM, at + inChunk));
  if (data !== null && attached) crc = crc32(data, crc);
  into.writeUInt32LE(crc, at + CRC_AT);
  event.place.offset = buffer.length;
  event.place.length = HEAD_BYTES + variable + dataBytes;
  buffer.advance(inChunk);
  if (data !== null && attached) buffer.attach(data);
}

/** As much of a message's record as `describeMessage` looks at: all but its data, and of the AQ dialect what it has beside. */
export const EVENT_BYTES = 1024;
/** As much of one as `readEnqueued` looks at: all but its data. `record`: at least its head. */
export function eventBytes(record: Uint8Array): number {
  return HEAD_BYTES + asBuffer(record).readUInt16LE(VARIABLE_LENGTH_AT);
}
export const EVENT_HEAD_BYTES: number = HEAD_BYTES;
/** Enough for `idInRecord` and `queueInRecord`. */
export const ID_HEAD_BYTES = 24;

export function idInRecord(record: Uint8Array): MessageId {
  return readId(asBuffer(record), ID_AT);
}
export function queueInRecord(record: Uint8Array): number {
  return asBuffer(record).readUInt32LE(QUEUE_AT);
}

/** Whether the record of a message is what was written. */
export function isIntact(record: Uint8Array): boolean {
  return asBuffer(record).readUInt32LE(CRC_AT) === crc32(record.subarray(CRC_FROM));
}

/**
 * The message in a record, as it is handed out; its id and priority may have changed since the record was written. Nothing shares the record's
 * bytes.
 */
export function decodeMessage(record: Uint8Array, id: MessageId, priority?: number): StoredMessage {
  const bytes = asBuffer(record);
  const dataAt = HEAD_BYTES + bytes.readUInt16LE(VARIABLE_LENGTH_AT);
  const written = readProperties(bytes);
  // Whom an administrator gives a priority has one, whether or not its sender gave one.
  const properties =
    priority === undefined || priority === written.priority
      ? written
      : { ...written, priority, flags: written.flags | TPQ.TPQPRIORITY };
  const data = properties.type === '' ? null : Buffer.from(bytes.subarray(dataAt));
  return { id, properties, data };
}

/** What a record's first EVENT_BYTES say, unchecked; `length`: of the whole record. Throws when they are too damaged to be read. */
export function describeMessage(
  record: Uint8Array,
  length: number,
): { properties: MessageProperties; dataBytes: number } {
  const bytes = asBuffer(record);
  const properties = readProperties(bytes);
  const dataBytes = length - HEAD_BYTES - bytes.readUInt16LE(VARIABLE_LENGTH_AT);
  if (dataBytes < 0) throw new RangeError('a message is shorter than what it says of itself');
  return { properties, dataBytes: properties.type === '' ? 0 : dataBytes };
}

function writeHead(into: Buffer, at: number, event: Enqueued): void {
  const { properties } = event;
  into[at] = RECORD.ENQUEUED;
  into[at + 1] = 1;
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

function variableBytes({
  properties,
  timing,
  recipients,
}: Pick<Enqueued, 'properties' | 'timing' | 'recipients'>): number {
  const { aq } = properties;
  const aqBytes = aq === undefined ? 0 : aqPartBytes(aq, recipients?.length ?? 0);
  return textBytes(properties) + aqBytes + (timing === null ? 0 : TIMING_BYTES);
}

function textBytes(properties: MessageProperties): number {
  let bytes = properties.corrid === null ? 0 : LIMIT.TMCORRIDLEN;
  if ((properties.flags & TPQ.TPQREPLYQ) !== 0) bytes += 1 + byteLength(properties.replyqueue);
  if ((properties.flags & TPQ.TPQFAILUREQ) !== 0) bytes += 1 + byteLength(properties.failurequeue);
  if (!CODE_OF_TYPE.has(properties.type)) bytes += 1 + byteLength(properties.type);
  return bytes + 1 + byteLength(properties.subtype);
}

function byteLength(value: string): number {
  return value === '' ? 0 : Buffer.byteLength(value);
}

/** Returns where it ends. */
function writeVariable(into: Buffer, from: number, properties: MessageProperties): number {
  let at = from;
  if (properties.corrid !== null) {
    into.set(properties.corrid, at);
    at += LIMIT.TMCORRIDLEN;
  }
  if ((properties.flags & TPQ.TPQREPLYQ) !== 0) at = writeText(into, at, properties.replyqueue);
  if ((properties.flags & TPQ.TPQFAILUREQ) !== 0) at = writeText(into, at, properties.failurequeue);
  if (!CODE_OF_TYPE.has(properties.type)) at = writeText(into, at, properties.type);
  return writeText(into, at, properties.subtype);
}

/** A string of at most 255 bytes, after its length. */
function writeText(into: Buffer, at: number, value: string): number {
  const bytes = value === '' ? 0 : into.write(value, at + 1);
  into[at] = bytes;
  return at + 1 + bytes;
}

/** Where the AQ part of a record of one begins: behind its texts. */
function aqPartAt(bytes: Buffer): number {
  const flags = bytes.readUInt32LE(FLAGS_AT);
  let at = HEAD_BYTES + ((flags & TPQ.TPQCORRID) === 0 ? 0 : LIMIT.TMCORRIDLEN);
  const texts =
    1 +
    ((flags & TPQ.TPQREPLYQ) === 0 ? 0 : 1) +
    ((flags & TPQ.TPQFAILUREQ) === 0 ? 0 : 1) +
    (bytes[3] === NAMED_TYPE ? 1 : 0);
  for (let i = 0; i < texts; i++) at += 1 + (bytes[at] as number);
  return at;
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
  const qos = bytes[0] === RECORD.ENQUEUED ? 0 : (bytes[QOS_AT] as number);
  const nextText = (): string => {
    const length = bytes[at] as number;
    at += 1 + length;
    return length === 0 ? '' : text.decode(bytes.subarray(at - length, at));
  };
  const replyqueue = (flags & TPQ.TPQREPLYQ) === 0 ? '' : nextText();
  const failurequeue = (flags & TPQ.TPQFAILUREQ) === 0 ? '' : nextText();
  const type = typeCode === NAMED_TYPE ? nextText() : (TYPE_OF_CODE.get(typeCode) ?? '');
  const subtype = nextText();
  const aq = bytes[0] === RECORD.ENQUEUED_AQ ? readAqProperties(bytes, at) : null;
  return {
    ...(aq === null ? {} : { aq }),
    flags,
    deliveryQos: qos & 0xf,
    replyQos: qos >> 4,
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

function writeExtra(
  into: Buffer,
  at: number,
  { event, timingAt }: { event: Enqueued; timingAt: number },
): void {
  const { timing, top, properties } = event;
  into[at] = properties.aq === undefined ? RECORD.ENQUEUED_TIMED : RECORD.ENQUEUED_AQ;
  into[at + EXTRA_AT] =
    (timing === null ? 0 : EXTRA.TIMING) |
    (top ? EXTRA.TOP : 0) |
    (event.restated ? EXTRA.RESTATED : 0) |
    (timing?.expiryClock === CLOCK.WALL ? EXTRA.EXPIRY_ON_WALL : 0) |
    (event.dueClock === CLOCK.WALL ? EXTRA.DUE_ON_WALL : 0);
  into[at + QOS_AT] = properties.deliveryQos | (properties.replyQos << 4);
  if (timing === null) return;
  into.writeDoubleLE(timing.sortTimeMs, timingAt);
  into.writeDoubleLE(timing.sortExpiryMs, timingAt + 8);
  into.writeDoubleLE(timing.expiryMs, timingAt + 16);
}

/** The event in a message's record, whose data may be missing; `branch`: the prepared branch whose records these are. */
export function readEnqueued(bytes: Buffer, place: RecordPlace, branch = 0): Enqueued {
  const bits = bytes[0] === RECORD.ENQUEUED ? 0 : (bytes[EXTRA_AT] as number);
  const recipients = bytes[0] === RECORD.ENQUEUED_AQ ? readRecipients(bytes, aqPartAt(bytes)) : undefined;
  return {
    ...(recipients === undefined ? {} : { recipients }),
    kind: 'enqueued',
    restated: (bits & EXTRA.RESTATED) !== 0,
    id: readId(bytes, ID_AT),
    queue: bytes.readUInt32LE(QUEUE_AT),
    persistent: true,
    retries: bytes.readUInt32LE(RETRIES_AT),
    dueMs: bytes.readDoubleLE(DUE_AT),
    dueClock: (bits & EXTRA.DUE_ON_WALL) === 0 ? CLOCK.SPACE : CLOCK.WALL,
    timing: (bits & EXTRA.TIMING) === 0 ? null : readTiming(bytes, bits),
    top: (bits & EXTRA.TOP) !== 0,
    properties: readProperties(bytes),
    place,
    branch,
  };
}

function readTiming(bytes: Buffer, bits: number): EntryTiming {
  const at = HEAD_BYTES + bytes.readUInt16LE(VARIABLE_LENGTH_AT) - TIMING_BYTES;
  return {
    sortTimeMs: bytes.readDoubleLE(at),
    sortExpiryMs: bytes.readDoubleLE(at + 8),
    expiryMs: bytes.readDoubleLE(at + 16),
    expiryClock: (bits & EXTRA.EXPIRY_ON_WALL) === 0 ? CLOCK.SPACE : CLOCK.WALL,
  };
}
