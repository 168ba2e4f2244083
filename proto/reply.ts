// Replies and pushed frames ↔ bytes: the positions of PROTOCOL.md §6. Owns their element counts. The functions write… append one frame of
// the hot replies without an object for it; encodeReply takes any typed reply. Invariants as in request.ts: decoding never throws, data and
// ids are views of the frame. Must not know what a reply means to its caller.
import type { AqErrorReply, AqReply } from './aq/message.ts';
import { readAqContent, writeAqContent } from './aq/wire.ts';
import { LIMIT, OP, REPLY_BIT, TPERRNO } from './codes.ts';
import { packValue, unpackValue } from './codec.ts';
import { Cursor } from './cursor.ts';
import { readMembers, writeMembers } from './members.ts';
import type { Frame } from './frame.ts';
import type {
  AdminReply,
  BeginReply,
  BindReply,
  CallReply,
  CancelReply,
  DequeueReply,
  DoneReply,
  HelloReply,
  Malformed,
  Members,
  QctlOut,
  Reply,
  OutcomeReply,
  ResumeReply,
  ServiceRequest,
  StatReply,
  SuspendReply,
  TypedData,
  Unsolicited,
} from './message.ts';
import { readAnswerCtl, writeAnswerCtl } from './qctl-wire.ts';
import { readStatistics } from './statistics.ts';
import { readTyped, writeNothing, writeType, writeTyped } from './typed-data.ts';
import type { FrameWriter } from './writer.ts';

const U32_MAX = 0xffff_ffff;
const SAFE_MAX = Number.MAX_SAFE_INTEGER;
const STRING = LIMIT.STRING_BYTES;

/** Elements of each reply by its opcode on the wire. */
export const REPLY_ELEMENTS: Readonly<Record<number, number>> = {
  [OP.HELLO + REPLY_BIT]: 9,
  [OP.GOODBYE + REPLY_BIT]: 2,
  [OP.ENQUEUE + REPLY_BIT]: 3,
  [OP.DEQUEUE + REPLY_BIT]: 6,
  [OP.BEGIN + REPLY_BIT]: 4,
  [OP.COMMIT + REPLY_BIT]: 2,
  [OP.ABORT + REPLY_BIT]: 2,
  [OP.CANCEL + REPLY_BIT]: 3,
  [OP.CALL + REPLY_BIT]: 7,
  [OP.ADVERTISE + REPLY_BIT]: 2,
  [OP.UNADVERTISE + REPLY_BIT]: 2,
  [OP.STAT + REPLY_BIT]: 3,
  [OP.PING + REPLY_BIT]: 2,
  [OP.BIND + REPLY_BIT]: 3,
  [OP.ADMIN + REPLY_BIT]: 4,
  [OP.NOTIFY + REPLY_BIT]: 2,
  [OP.BROADCAST + REPLY_BIT]: 2,
  [OP.PRIOCALL + REPLY_BIT]: 7,
  [OP.SUSPEND + REPLY_BIT]: 3,
  [OP.RESUME + REPLY_BIT]: 5,
  [OP.COMMITAT + REPLY_BIT]: 2,
  [OP.OUTCOME + REPLY_BIT]: 3,
  [OP.AQ + REPLY_BIT]: 4,
  [OP.PING]: 2,
  [OP.REQUEST]: 10,
  [OP.CLOSING]: 3,
  [OP.UNSOLICITED]: 6,
  [OP.AQERROR]: 6,
  [OP.ERROR]: 5,
};

const ELEMENTS: readonly number[] = Array.from({ length: 256 }, (_, op) => REPLY_ELEMENTS[op] ?? 0);
/** Pushed and negative replies whose id may be 0, or not. */
const MAY_HAVE_NO_ID: readonly number[] = [OP.ERROR, OP.AQERROR, OP.UNSOLICITED];
const cursor = new Cursor();

/** Where a message's bytes lie inside a larger buffer, for writeDequeued. */
export interface StoredBody {
  type: string;
  subtype: string;
  source: Buffer;
  from: number;
  to: number;
}

/** Appends a positive reply that carries nothing. */
export function writeDone(writer: FrameWriter, op: DoneReply['op'], id: number): void {
  writer.begin(2, op + REPLY_BIT, id);
  writer.end();
}

/** Appends the answer to an ENQUEUE; `msgid` only when TPQMSGID was set. */
export function writeEnqueued(writer: FrameWriter, id: number, msgid: Uint8Array | null): void {
  writer.begin(3, OP.ENQUEUE + REPLY_BIT, id);
  if (msgid === null) writer.nil();
  else writer.bin(msgid);
  writer.end();
}

/** Appends the answer to a DEQUEUE whose body lies in a larger buffer; small bodies are copied without a view. */
export function writeDequeued(
  writer: FrameWriter,
  id: number,
  message: { ctl: QctlOut; body: StoredBody | null },
): void {
  const { ctl, body } = message;
  writer.begin(6, OP.DEQUEUE + REPLY_BIT, id);
  writeAnswerCtl(writer, ctl);
  if (body === null || body.to <= body.from) {
    writeNothing(writer);
  } else {
    writeType(writer, body.type);
    writer.str(body.subtype);
    writer.dataIn(body.source, body.from, body.to);
  }
  writer.end();
}

/** Appends an ERROR. The text is cut at 1,024 bytes. */
export function writeError(
  writer: FrameWriter,
  id: number,
  error: { tperrno: number; diagnostic: number; message: string },
): void {
  writer.begin(5, OP.ERROR, id);
  writer.int(error.tperrno);
  writer.int(error.diagnostic);
  writer.str(cut(error.message));
  writer.end();
}

function encodeAqError(writer: FrameWriter, reply: AqErrorReply): void {
  writer.begin(ELEMENTS[OP.AQERROR]!, OP.AQERROR, reply.id);
  writer.int(reply.tperrno);
  writer.int(reply.diagnostic);
  writer.int(reply.aq);
  writer.str(cut(reply.message));
  writer.end();
}

function encodeAq(writer: FrameWriter, reply: AqReply): void {
  const op = OP.AQ + REPLY_BIT;
  writer.begin(ELEMENTS[op]!, op, reply.id);
  writeAqContent(writer, reply);
  writer.end();
}

/** Appends a CLOSING. The text is cut at 1,024 bytes. */
export function writeClosing(writer: FrameWriter, message: string): void {
  writer.begin(3, OP.CLOSING, 0);
  writer.str(cut(message));
  writer.end();
}

/** Appends the daemon's own heartbeat. */
export function writeHeartbeat(writer: FrameWriter): void {
  writer.begin(2, OP.PING, 0);
  writer.end();
}

/** Appends any reply or pushed frame. Assumes values within the ranges of PROTOCOL.md. */
export function encodeReply(writer: FrameWriter, reply: Reply): void {
  switch (reply.op) {
    case OP.ENQUEUE:
      return writeEnqueued(writer, reply.id, reply.msgid);
    case OP.DEQUEUE:
      return encodeDequeueReply(writer, reply);
    case OP.GOODBYE:
    case OP.COMMIT:
    case OP.COMMITAT:
    case OP.ABORT:
    case OP.ADVERTISE:
    case OP.UNADVERTISE:
    case OP.NOTIFY:
    case OP.BROADCAST:
      return writeDone(writer, reply.op, reply.id);
    case OP.PING:
      return reply.id === 0 ? writeHeartbeat(writer) : writeDone(writer, reply.op, reply.id);
    case OP.ERROR:
      return writeError(writer, reply.id, reply);
    case OP.AQERROR:
      return encodeAqError(writer, reply);
    case OP.AQ:
      return encodeAq(writer, reply);
    case OP.CLOSING:
      return writeClosing(writer, reply.message);
    case OP.REQUEST:
      return encodeServiceRequest(writer, reply);
    case OP.UNSOLICITED:
      return encodeUnsolicited(writer, reply);
    case OP.HELLO:
    case OP.BEGIN:
    case OP.CANCEL:
    case OP.CALL:
    case OP.PRIOCALL:
    case OP.STAT:
    case OP.BIND:
    case OP.ADMIN:
    case OP.SUSPEND:
    case OP.RESUME:
    case OP.OUTCOME:
      return encodeCold(writer, reply);
  }
}

function encodeDequeueReply(writer: FrameWriter, reply: DequeueReply): void {
  writer.begin(6, OP.DEQUEUE + REPLY_BIT, reply.id);
  writeAnswerCtl(writer, reply.ctl);
  writeTyped(writer, reply.body);
  writer.end();
}

function encodeServiceRequest(writer: FrameWriter, reply: ServiceRequest): void {
  writer.begin(ELEMENTS[OP.REQUEST]!, OP.REQUEST, reply.id);
  writer.str(reply.service);
  writer.int(reply.flags);
  writer.bin(reply.cltid);
  writer.int(reply.appkey);
  writer.int(reply.timeoutMs);
  writeTyped(writer, reply.body);
  writer.end();
}

function encodeUnsolicited(writer: FrameWriter, reply: Unsolicited): void {
  writer.begin(ELEMENTS[OP.UNSOLICITED]!, OP.UNSOLICITED, reply.id);
  writer.int(reply.mode);
  writeTyped(writer, reply.body);
  writer.end();
}

type ColdReply =
  | HelloReply
  | BeginReply
  | CancelReply
  | CallReply
  | StatReply
  | BindReply
  | AdminReply
  | SuspendReply
  | ResumeReply
  | OutcomeReply;

function encodeCold(writer: FrameWriter, reply: ColdReply): void {
  const op = reply.op + REPLY_BIT;
  writer.begin(ELEMENTS[op]!, op, reply.id);
  switch (reply.op) {
    case OP.HELLO:
      writer.int(reply.version);
      writer.bin(reply.cltid);
      writer.int(reply.heartbeatMs);
      writer.int(reply.frameBytesMax);
      writer.int(reply.inFlightMax);
      writer.int(reply.blockTimeMs);
      writer.str(reply.product);
      break;
    case OP.BEGIN:
      writer.int(reply.tx);
      writer.bin(reply.transaction);
      break;
    case OP.OUTCOME:
      writer.int(reply.outcome);
      break;
    case OP.SUSPEND:
      writer.bin(reply.tranid);
      break;
    case OP.RESUME:
      writer.int(reply.tx);
      writer.int(reply.timeoutMs);
      writer.bin(reply.transaction);
      break;
    case OP.CANCEL:
      writer.bool(reply.found);
      break;
    case OP.CALL:
    case OP.PRIOCALL:
      writer.int(reply.rval);
      writer.int(reply.rcode);
      writeTyped(writer, reply.body);
      break;
    case OP.STAT:
      writer.packed(packValue(reply.stat));
      break;
    case OP.BIND:
      writer.int(reply.handle);
      break;
    case OP.ADMIN:
      writeMembers(writer, reply.members);
      writer.array(reply.items.length);
      for (const item of reply.items) writeMembers(writer, item);
      break;
  }
  writer.end();
}

/** The reply in a frame, or what is wrong with it. Views of the frame: body.data, msgid, ctl.msgid, ctl.corrid, cltid. */
export function decodeReply(frame: Frame): Reply | Malformed {
  cursor.open(frame);
  const count = cursor.array('frame');
  const op = cursor.uint('opcode', 255);
  const id = cursor.uint('request id', U32_MAX);
  if (cursor.fault !== '') return malformed(id, true);
  const elements = ELEMENTS[op]!;
  if (elements === 0) {
    cursor.fail(`opcode ${op} is unknown`);
    return malformed(id, false);
  }
  if (count !== elements) cursor.fail(`opcode ${op} has ${elements} elements, found ${count}`);
  if ((op === OP.PING || op === OP.CLOSING) !== (id === 0) && !MAY_HAVE_NO_ID.includes(op)) {
    cursor.fail(`request id: ${id} cannot be with opcode ${op}`);
  }
  const reply = decodeMembers(op, id);
  cursor.finish();
  if (reply === null || cursor.fault !== '') return malformed(id, true);
  cursor.close();
  return reply;
}

function malformed(id: number, close: boolean): Malformed {
  const reason = cursor.fault;
  cursor.close();
  return { op: 0, id, tperrno: TPERRNO.TPEPROTO, close, reason };
}

function decodeMembers(op: number, id: number): Reply | null {
  switch (op) {
    case OP.ENQUEUE + REPLY_BIT:
      return {
        op: OP.ENQUEUE,
        id,
        msgid: cursor.nil() ? null : cursor.binOf('msgid', LIMIT.TMMSGIDLEN),
      };
    case OP.DEQUEUE + REPLY_BIT:
      return { op: OP.DEQUEUE, id, ctl: readAnswerCtl(cursor), body: readTyped(cursor, U32_MAX) };
    case OP.GOODBYE + REPLY_BIT:
      return { op: OP.GOODBYE, id };
    case OP.COMMIT + REPLY_BIT:
      return { op: OP.COMMIT, id };
    case OP.ABORT + REPLY_BIT:
      return { op: OP.ABORT, id };
    case OP.ADVERTISE + REPLY_BIT:
      return { op: OP.ADVERTISE, id };
    case OP.UNADVERTISE + REPLY_BIT:
      return { op: OP.UNADVERTISE, id };
    case OP.PING + REPLY_BIT:
    case OP.PING:
      return { op: OP.PING, id };
    case OP.ERROR:
      return decodeError(id);
    case OP.AQERROR:
      return decodeAqError(id);
    case OP.AQ + REPLY_BIT:
      return { op: OP.AQ, id, ...readAqContent(cursor) };
    case OP.CLOSING:
      return { op: OP.CLOSING, id: 0, message: cursor.str('message', STRING) };
    case OP.REQUEST:
      return decodeServiceRequest(id);
    case OP.UNSOLICITED:
      return { op, id, mode: cursor.uint('mode', U32_MAX), body: readTyped(cursor, U32_MAX) };
    default:
      return decodeCold(op, id);
  }
}

function decodeCold(op: number, id: number): Reply | null {
  switch (op) {
    case OP.HELLO + REPLY_BIT:
      return decodeHelloReply(id);
    case OP.BEGIN + REPLY_BIT:
      return decodeBeginReply(id);
    case OP.OUTCOME + REPLY_BIT:
      return { op: OP.OUTCOME, id, outcome: cursor.uint('outcome', 255) };
    case OP.CANCEL + REPLY_BIT:
      return { op: OP.CANCEL, id, found: cursor.bool('found') };
    case OP.CALL + REPLY_BIT:
      return decodeCallReply(OP.CALL, id);
    case OP.PRIOCALL + REPLY_BIT:
      return decodeCallReply(OP.PRIOCALL, id);
    case OP.NOTIFY + REPLY_BIT:
      return { op: OP.NOTIFY, id };
    case OP.BROADCAST + REPLY_BIT:
      return { op: OP.BROADCAST, id };
    case OP.BIND + REPLY_BIT:
      return { op: OP.BIND, id, handle: cursor.uint('handle', U32_MAX) };
    case OP.ADMIN + REPLY_BIT:
      return decodeAdminReply(id);
    case OP.STAT + REPLY_BIT:
      return decodeStatReply(id);
    case OP.COMMITAT + REPLY_BIT:
      return { op: OP.COMMITAT, id };
    case OP.SUSPEND + REPLY_BIT:
      return { op: OP.SUSPEND, id, tranid: cursor.binOf('tranid', LIMIT.TRANIDLEN) };
    case OP.RESUME + REPLY_BIT:
      return decodeResumeReply(id);
    default:
      return null;
  }
}

function decodeBeginReply(id: number): Reply {
  const tx = cursor.uint('tx', U32_MAX);
  return { op: OP.BEGIN, id, tx, transaction: cursor.binOf('transaction', LIMIT.TRANSACTION) };
}

function decodeError(id: number): Reply {
  const tperrno = cursor.uint('tperrno', U32_MAX);
  const diagnostic = cursor.int('diagnostic');
  return { op: OP.ERROR, id, tperrno, diagnostic, message: cursor.str('message', STRING) };
}

function decodeAqError(id: number): Reply {
  const tperrno = cursor.uint('tperrno', U32_MAX);
  const diagnostic = cursor.int('diagnostic');
  const aq = cursor.uint('aq', U32_MAX);
  return { op: OP.AQERROR, id, tperrno, diagnostic, aq, message: cursor.str('message', STRING) };
}

function decodeServiceRequest(id: number): ServiceRequest {
  const service = cursor.str('service', STRING);
  const flags = cursor.uint('flags', U32_MAX);
  const cltid = cursor.binOf('cltid', LIMIT.CLTIDLEN);
  const appkey = cursor.int('appkey');
  const timeoutMs = cursor.uint('timeoutMs', SAFE_MAX);
  const body = readTyped(cursor, U32_MAX);
  return { op: OP.REQUEST, id, service, body, flags, cltid, appkey, timeoutMs };
}

function decodeHelloReply(id: number): HelloReply {
  return {
    op: OP.HELLO,
    id,
    version: cursor.uint('version', U32_MAX),
    cltid: cursor.binOf('cltid', LIMIT.CLTIDLEN),
    heartbeatMs: cursor.uint('heartbeatMs', U32_MAX),
    frameBytesMax: cursor.uint('frameBytesMax', U32_MAX),
    inFlightMax: cursor.uint('inFlightMax', U32_MAX),
    blockTimeMs: cursor.uint('blockTimeMs', SAFE_MAX),
    product: cursor.str('product', STRING),
  };
}

function decodeResumeReply(id: number): ResumeReply {
  const tx = cursor.uint('tx', U32_MAX);
  const timeoutMs = cursor.uint('timeoutMs', SAFE_MAX);
  const transaction = cursor.binOf('transaction', LIMIT.TRANSACTION);
  return { op: OP.RESUME, id, tx, timeoutMs, transaction };
}

function decodeCallReply(op: CallReply['op'], id: number): CallReply {
  const rval = cursor.int('rval');
  const rcode = cursor.int('rcode');
  const body: TypedData = readTyped(cursor, U32_MAX);
  return { op, id, rval, rcode, body };
}

function decodeAdminReply(id: number): AdminReply {
  const members = readMembers(cursor, 'members');
  const items: Members[] = [];
  for (let left = cursor.array('items'); left > 0 && cursor.fault === ''; left--) {
    items.push(readMembers(cursor, 'item'));
  }
  return { op: OP.ADMIN, id, members, items };
}

function decodeStatReply(id: number): StatReply | null {
  const stat = readStatistics(unpackValue(cursor.bytes.subarray(cursor.pos, cursor.end)));
  if (stat === undefined) {
    cursor.fail('stat: not the map of statistics');
    return null;
  }
  cursor.pos = cursor.end;
  return { op: OP.STAT, id, stat };
}

/** The text, cut so that it takes at most 1,024 bytes; a character is not split. */
function cut(text: string): string {
  if (text.length * 3 <= STRING || Buffer.byteLength(text) <= STRING) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(STRING));
  return text.slice(0, read);
}
