// Members and items of AQ frames ↔ bytes. Invariants as in request.ts and reply.ts: reading never throws, data are views of the frame.
import { OP } from '../codes.ts';
import type { Cursor } from '../cursor.ts';
import { readMembers, writeMembers } from '../members.ts';
import { readTyped, TYPED_ELEMENTS, writeTyped } from '../typed-data.ts';
import type { FrameWriter } from '../writer.ts';
import type { AqItem, AqRequest } from './message.ts';
import { AQ_ITEMS, AQ_STRING_BYTES } from './verbs.ts';

const U32_MAX = 0xffff_ffff;
const NAME_BYTES = 1024;
/** Members, and a typed buffer. */
const ITEM_ELEMENTS = 1 + TYPED_ELEMENTS;

export function writeAqRequest(writer: FrameWriter, request: AqRequest): void {
  writer.int(request.verb);
  writer.str(request.qspace);
  writer.str(request.qname);
  writer.int(request.tx);
  writeAqContent(writer, request);
}

export function readAqRequest(cursor: Cursor, id: number): AqRequest {
  const verb = cursor.uint('verb', 255);
  const qspace = cursor.str('qspace', NAME_BYTES);
  const qname = cursor.str('qname', NAME_BYTES);
  const tx = cursor.uint('tx', U32_MAX);
  return { op: OP.AQ, id, verb, qspace, qname, tx, ...readAqContent(cursor) };
}

/** The last two elements of every AQ frame. */
export function writeAqContent(writer: FrameWriter, { members, items }: Omit<AqItem, 'body'> & Items): void {
  writeMembers(writer, members);
  writer.array(items.length);
  for (const item of items) {
    writer.array(ITEM_ELEMENTS);
    writeMembers(writer, item.members);
    writeTyped(writer, item.body);
  }
}
interface Items {
  readonly items: readonly AqItem[];
}

export function readAqContent(cursor: Cursor): Omit<AqItem, 'body'> & Items {
  const members = readMembers(cursor, 'members', AQ_STRING_BYTES);
  const items: AqItem[] = [];
  const count = cursor.array('items');
  if (count > AQ_ITEMS) cursor.fail(`items: ${count}, at most ${AQ_ITEMS} allowed`);
  for (let left = count; left > 0 && cursor.fault === ''; left--) {
    const elements = cursor.array('item');
    if (elements !== ITEM_ELEMENTS) cursor.fail(`item: ${elements} elements, ${ITEM_ELEMENTS} expected`);
    const own = readMembers(cursor, 'item', AQ_STRING_BYTES);
    items.push({ members: own, body: readTyped(cursor, U32_MAX) });
  }
  return { members, items };
}
