// Records of the AQ dialect that are about no new message ↔ events: objects of the catalog, and entries that are done but stay. The byte boxes
// are in src/wal/FORMAT.md, "Records"; numbers are little-endian.
import type { ObjectClass } from '../queue/catalog.ts';
import type { Finished, FinishedAs, LoggedEvent, ObjectDefined } from '../queue/event.ts';
import type { RecordBuffer } from './record-buffer.ts';
import { beginRecord, ID_BYTES, readId, RECORD, writeId } from './record-parts.ts';

export type AqEvent = Finished | ObjectDefined;

const FINISHED_BYTES = 4 + ID_BYTES + 16;
const GONE = 1;

export function encodeAqEvent(buffer: RecordBuffer, event: AqEvent): void {
  if (event.kind === 'finished') writeFinished(buffer, event);
  else writeObject(buffer, event);
}

/** undefined: it is of another kind. */
export function decodeAqEvent(bytes: Buffer): LoggedEvent | undefined {
  if (bytes[0] === RECORD.OBJECT) return readObject(bytes);
  if (bytes[0] !== RECORD.FINISHED) return undefined;
  return {
    kind: 'finished',
    id: readId(bytes, 4),
    persistent: true,
    how: bytes[1] as FinishedAs,
    untilMs: bytes.readDoubleLE(4 + ID_BYTES),
    atMs: bytes.readDoubleLE(12 + ID_BYTES),
  };
}

function writeFinished(buffer: RecordBuffer, event: Finished): void {
  const { into, at } = beginRecord(buffer, RECORD.FINISHED, FINISHED_BYTES);
  into[at + 1] = event.how;
  writeId(into, at + 4, event.id);
  into.writeDoubleLE(event.untilMs, at + 4 + ID_BYTES);
  into.writeDoubleLE(event.atMs, at + 12 + ID_BYTES);
}

function writeObject(buffer: RecordBuffer, { type, name, value }: ObjectDefined): void {
  const json = Buffer.from(JSON.stringify(value === null ? { name } : { name, value }));
  const { into, at } = beginRecord(buffer, RECORD.OBJECT, 4 + json.length);
  into[at + 1] = type;
  into[at + 2] = value === null ? GONE : 0;
  into.set(json, at + 4);
}

function readObject(bytes: Buffer): ObjectDefined {
  const { name, value } = JSON.parse(bytes.toString('utf8', 4)) as { name: string; value?: object };
  return {
    kind: 'objectDefined',
    type: bytes[1] as ObjectClass,
    name,
    value: bytes[2] === GONE ? null : (value ?? {}),
  };
}
