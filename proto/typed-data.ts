// The three elements that carry a typed buffer: type, subtype, data. Owns the mapping of small integers to type names. Invariant: no type
// means no subtype and no data, and data of no bytes is no data part [spec 2.4 point 6]. Must not know how a type's bytes are read.
import { BUFTYPE, LIMIT } from './codes.ts';
import type { Cursor } from './cursor.ts';
import type { TypedData } from './message.ts';
import type { FrameWriter } from './writer.ts';

/** Elements that a typed buffer takes in an array. */
export const TYPED_ELEMENTS = 3;

const CODES: ReadonlyMap<string, number> = new Map(
  Object.entries(BUFTYPE).map(([name, code]) => [code === BUFTYPE.NONE ? '' : name, code]),
);
const NAMES: readonly string[] = Object.entries(BUFTYPE).map(([name, code]) =>
  code === BUFTYPE.NONE ? '' : name,
);

/** Writes a buffer type: its small integer, or its name. */
export function writeType(writer: FrameWriter, type: string): void {
  const code = CODES.get(type);
  if (code === undefined) writer.str(type);
  else writer.int(code);
}

/** Reads a buffer type; '' is none. */
export function readType(cursor: Cursor): string {
  if (!cursor.atInt()) {
    const name = cursor.str('type', LIMIT.TYPE_NAME);
    if (name === '') cursor.fail('type: a name of no bytes');
    return name;
  }
  const name = NAMES[cursor.uint('type', NAMES.length - 1)];
  return name ?? '';
}

/** Writes type, subtype, data; three zero values when there is no data. */
export function writeTyped(writer: FrameWriter, body: TypedData): void {
  const { data } = body;
  if (data === null || data.length === 0) {
    writeNothing(writer);
    return;
  }
  writeType(writer, body.type);
  writer.str(body.subtype);
  writer.data(data);
}

/** The three elements of "no data part". */
export function writeNothing(writer: FrameWriter): void {
  writer.int(BUFTYPE.NONE);
  writer.str('');
  writer.nil();
}

/** Reads type, subtype, data of at most `max` bytes; the data is a view of the frame. */
export function readTyped(cursor: Cursor, max: number): TypedData {
  const type = readType(cursor);
  const subtype = cursor.str('subtype', LIMIT.SUBTYPE_NAME);
  const data = cursor.nil() ? null : cursor.bin('data', max);
  if (type === '') {
    if (subtype !== '') cursor.fail('subtype: given without a type');
    else if (data !== null && data.length > 0) cursor.fail('data: given without a type');
  }
  if (data === null || data.length === 0) return { type: '', subtype: '', data: null };
  return { type, subtype, data };
}
