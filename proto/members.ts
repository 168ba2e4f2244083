// Named members ↔ msgpack: the one map of ADMIN, flat: a name → a boolean, an integer, a string or a list of strings. Invariants: reading
// never throws and allocates nothing beyond the frame; a name stands once and is letters and digits, so that none can be taken for something
// that objects have by themselves. Must not know which members a verb has.
import { LIMIT } from './codes.ts';
import type { Cursor } from './cursor.ts';
import type { Members, MemberValue } from './message.ts';
import type { FrameWriter } from './writer.ts';

const NAME = /^[A-Za-z][A-Za-z0-9]*$/;

/** Whether a member may have this name. */
export function isMemberName(name: string): boolean {
  return name.length <= LIMIT.MEMBER_NAME && NAME.test(name);
}

/** Appends a map. Assumes names that may be sent, safe integers, and strings no longer than the reader takes. */
export function writeMembers(writer: FrameWriter, members: Members): void {
  const entries = Object.entries(members);
  writer.map(entries.length);
  for (const [name, value] of entries) {
    writer.str(name);
    writeValue(writer, value);
  }
}

function writeValue(writer: FrameWriter, value: MemberValue): void {
  if (typeof value === 'boolean') writer.bool(value);
  else if (typeof value === 'number') writer.int(value);
  else if (typeof value === 'string') writer.str(value);
  else {
    writer.array(value.length);
    for (const one of value) writer.str(one);
  }
}

/** Reads a map; its strings have at most `stringBytes` bytes. */
export function readMembers(cursor: Cursor, what: string, stringBytes: number = LIMIT.STRING_BYTES): Members {
  const members: Record<string, MemberValue> = {};
  const count = cursor.map(what);
  if (count > LIMIT.MEMBERS) cursor.fail(`${what}: ${count} members, at most ${LIMIT.MEMBERS} allowed`);
  for (let left = count; left > 0 && cursor.fault === ''; left--) {
    const name = cursor.str(`${what}: a name`, LIMIT.MEMBER_NAME);
    if (cursor.fault !== '') break;
    if (!isMemberName(name)) cursor.fail(`${what}: a name is letters and digits`);
    else if (Object.hasOwn(members, name)) cursor.fail(`${what}: ${name} stands twice`);
    else members[name] = readValue(cursor, name, stringBytes);
  }
  return members;
}

function readValue(cursor: Cursor, name: string, stringBytes: number): MemberValue {
  if (cursor.atBool()) return cursor.bool(name);
  if (cursor.atInt()) return cursor.int(name);
  if (!cursor.atArray()) return cursor.str(name, stringBytes);
  const values: string[] = [];
  for (let left = cursor.array(name); left > 0 && cursor.fault === ''; left--) {
    values.push(cursor.str(name, stringBytes));
  }
  return values;
}

/** Bytes that a map takes at most. */
export function membersBytesMax(members: Members): number {
  let bytes = 3;
  for (const [name, value] of Object.entries(members)) bytes += 1 + name.length + valueBytesMax(value);
  return bytes;
}

function valueBytesMax(value: MemberValue): number {
  if (typeof value === 'boolean') return 1;
  if (typeof value === 'number') return 9;
  if (typeof value === 'string') return 5 + Buffer.byteLength(value);
  return value.reduce((sum, one) => sum + valueBytesMax(one), 3);
}
