// Requests ↔ frames: the positions of PROTOCOL.md §5, validated by hand. Owns the element counts of requests and what a frame that is none
// gets. Invariants: decoding never throws and never keeps state between frames; bodies, msgids and corrids are views of the frame, which
// whoever keeps them copies. Must not know whether a request makes sense.
import { readAqRequest, writeAqRequest } from './aq/wire.ts';
import { LIMIT, OP, PROTOCOL_VERSION, TPERRNO } from './codes.ts';
import { Cursor } from './cursor.ts';
import { readMembers, writeMembers } from './members.ts';
import type { Frame } from './frame.ts';
import type {
  Ack,
  Admin,
  Broadcast,
  Call,
  AskOutcome,
  CommitAt,
  Dequeue,
  Enqueue,
  Forward,
  Hello,
  Malformed,
  Notify,
  PrioCall,
  QueueRef,
  Request,
  Resume,
  Return,
  Suspend,
} from './message.ts';
import { readDequeueCtl, readEnqueueCtl, writeDequeueCtl, writeEnqueueCtl } from './qctl-wire.ts';
import { readType, readTyped, writeType, writeTyped } from './typed-data.ts';
import type { FrameWriter } from './writer.ts';

const U32_MAX = 0xffff_ffff;
const SAFE_MAX = Number.MAX_SAFE_INTEGER;
const STRING = LIMIT.STRING_BYTES;

/** Elements of each request, opcode and id included; a HELLO may have more. */
export const REQUEST_ELEMENTS: Readonly<Record<number, number>> = {
  [OP.HELLO]: 11,
  [OP.GOODBYE]: 2,
  [OP.ENQUEUE]: 9,
  [OP.DEQUEUE]: 9,
  [OP.BEGIN]: 3,
  [OP.COMMIT]: 3,
  [OP.ABORT]: 3,
  [OP.CANCEL]: 3,
  [OP.CALL]: 9,
  [OP.ADVERTISE]: 4,
  [OP.UNADVERTISE]: 3,
  [OP.RETURN]: 7,
  [OP.STAT]: 3,
  [OP.PING]: 2,
  [OP.BIND]: 4,
  [OP.ADMIN]: 6,
  [OP.FORWARD]: 6,
  [OP.NOTIFY]: 7,
  [OP.BROADCAST]: 9,
  [OP.ACK]: 3,
  [OP.PRIOCALL]: 11,
  [OP.SUSPEND]: 3,
  [OP.RESUME]: 3,
  [OP.COMMITAT]: 4,
  [OP.OUTCOME]: 3,
  [OP.AQ]: 8,
};

const ELEMENTS: readonly number[] = Array.from({ length: 256 }, (_, op) => REQUEST_ELEMENTS[op] ?? 0);
const cursor = new Cursor();

/** The request in a frame, or what is wrong with it. Views of the frame: body.data, ctl.msgid, ctl.corrid, a HELLO's data. */
export function decodeRequest(frame: Frame): Request | Malformed {
  cursor.open(frame);
  const count = cursor.array('frame');
  const op = cursor.uint('opcode', 255);
  const id = cursor.uint('request id', U32_MAX);
  if (id === 0) cursor.fail('request id: 0 is not a request id');
  if (cursor.fault !== '') return malformed(cursor.fault, id, true);
  const elements = ELEMENTS[op]!;
  if (elements === 0) return malformed(`opcode ${op} is unknown`, id, false);
  if (op === OP.HELLO) return decodeHello(id, count);
  if (count !== elements) cursor.fail(`opcode ${op} has ${elements} elements, found ${count}`);
  const request = decodeMembers(op, id);
  cursor.finish();
  if (request === null || cursor.fault !== '') return malformed(cursor.fault, id, true);
  cursor.close();
  return request;
}

function malformed(reason: string, id: number, close: boolean): Malformed {
  cursor.close();
  return { op: 0, id, tperrno: TPERRNO.TPEPROTO, close, reason };
}

function decodeMembers(op: number, id: number): Request | null {
  switch (op) {
    case OP.ENQUEUE:
      return decodeEnqueue(id);
    case OP.DEQUEUE:
      return decodeDequeue(id);
    case OP.GOODBYE:
    case OP.PING:
      return { op, id };
    case OP.BEGIN:
      return { op, id, timeoutS: cursor.uint('timeoutS', SAFE_MAX) };
    case OP.COMMIT:
    case OP.ABORT:
      return { op, id, tx: cursor.uint('tx', U32_MAX) };
    case OP.CANCEL:
      return { op, id, target: cursor.uint('target', U32_MAX) };
    case OP.CALL:
      return decodeCall(id);
    case OP.PRIOCALL:
      return decodePrioCall(id);
    case OP.ADVERTISE:
      return { op, id, service: cursor.str('service', STRING), concurrency: concurrency() };
    case OP.UNADVERTISE:
      return { op, id, service: cursor.str('service', STRING) };
    case OP.RETURN:
      return decodeReturn(id);
    case OP.STAT:
      return { op, id, qspace: cursor.str('qspace', STRING) };
    case OP.BIND:
      return { op, id, qspace: cursor.str('qspace', STRING), qname: cursor.str('qname', STRING) };
    case OP.ADMIN:
      return decodeAdmin(id);
    case OP.AQ:
      return readAqRequest(cursor, id);
    default:
      return decodeRare(op, id);
  }
}

function decodeRare(op: number, id: number): Request | null {
  switch (op) {
    case OP.FORWARD:
      return decodeForward(id);
    case OP.NOTIFY:
      return decodeNotify(id);
    case OP.BROADCAST:
      return decodeBroadcast(id);
    case OP.ACK:
      return { op, id, handled: cursor.bool('handled') };
    case OP.SUSPEND:
      return { op, id, tx: cursor.uint('tx', U32_MAX) };
    case OP.RESUME:
      return { op, id, tranid: cursor.binOf('tranid', LIMIT.TRANIDLEN) };
    case OP.OUTCOME:
      return { op, id, transaction: cursor.binOf('transaction', LIMIT.TRANSACTION) };
    case OP.COMMITAT:
      return { op, id, tx: cursor.uint('tx', U32_MAX), when: cursor.uint('when', 255) };
    default:
      return null;
  }
}

/** Elements 2 and 3 keep their place in every version, so that a client of any version gets a clean answer. */
function decodeHello(id: number, count: number): Hello | Malformed {
  const versionMin = count < 4 ? 0 : cursor.uint('versionMin', U32_MAX);
  const versionMax = count < 4 ? 0 : cursor.uint('versionMax', U32_MAX);
  if (count < 4) cursor.fail('HELLO without versions');
  if (versionMin > versionMax) cursor.fail(`versions ${versionMin}..${versionMax} are no range`);
  if (cursor.fault !== '') return malformed(cursor.fault, id, true);
  if (versionMin > PROTOCOL_VERSION.MAX || versionMax < PROTOCOL_VERSION.MIN) {
    const ours = `${PROTOCOL_VERSION.MIN}..${PROTOCOL_VERSION.MAX}`;
    const reason = `protocol versions ${versionMin}..${versionMax} were offered, this side speaks ${ours}`;
    return { ...malformed(reason, id, true), tperrno: TPERRNO.TPERELEASE };
  }
  const elements = REQUEST_ELEMENTS[OP.HELLO]!;
  if (count < elements) cursor.fail(`HELLO has ${elements} elements, found ${count}`);
  const hello: Hello = {
    op: OP.HELLO,
    id,
    versionMin,
    versionMax,
    usrname: cursor.str('usrname', STRING),
    cltname: cursor.str('cltname', STRING),
    passwd: cursor.str('passwd', STRING),
    grpname: cursor.str('grpname', STRING),
    flags: cursor.uint('flags', U32_MAX),
    data: cursor.nil() ? null : cursor.bin('data', LIMIT.HELLO_DATA_BYTES),
    product: cursor.str('product', STRING),
  };
  if (count === elements) cursor.finish();
  if (cursor.fault !== '') return malformed(cursor.fault, id, true);
  cursor.close();
  return hello;
}

function decodeEnqueue(id: number): Enqueue {
  const queue = readQueue();
  const ctl = readEnqueueCtl(cursor);
  const flags = cursor.uint('flags', U32_MAX);
  const tx = cursor.uint('tx', U32_MAX);
  const body = readTyped(cursor, U32_MAX);
  return { op: OP.ENQUEUE, id, queue, ctl, body, flags, tx };
}

function decodeDequeue(id: number): Dequeue {
  const queue = readQueue();
  const ctl = readDequeueCtl(cursor);
  const flags = cursor.uint('flags', U32_MAX);
  const tx = cursor.uint('tx', U32_MAX);
  const type = readType(cursor);
  const subtype = cursor.str('subtype', LIMIT.SUBTYPE_NAME);
  if (type === '' && subtype !== '') cursor.fail('subtype: given without a type');
  const waitMs = cursor.uint('waitMs', SAFE_MAX);
  return { op: OP.DEQUEUE, id, queue, ctl, type, subtype, flags, tx, waitMs };
}

function decodeCall(id: number): Call {
  const service = cursor.str('service', STRING);
  const flags = cursor.uint('flags', U32_MAX);
  const tx = cursor.uint('tx', U32_MAX);
  const timeoutMs = cursor.uint('timeoutMs', SAFE_MAX);
  return { op: OP.CALL, id, service, body: readTyped(cursor, U32_MAX), flags, tx, timeoutMs };
}

function decodePrioCall(id: number): PrioCall {
  const service = cursor.str('service', STRING);
  const flags = cursor.uint('flags', U32_MAX);
  const tx = cursor.uint('tx', U32_MAX);
  const timeoutMs = cursor.uint('timeoutMs', SAFE_MAX);
  const priority = cursor.int('priority');
  const absolute = cursor.bool('absolute');
  const body = readTyped(cursor, U32_MAX);
  return { op: OP.PRIOCALL, id, service, body, flags, tx, timeoutMs, priority, absolute };
}

function decodeForward(id: number): Forward {
  const service = cursor.str('service', STRING);
  return { op: OP.FORWARD, id, service, body: readTyped(cursor, U32_MAX) };
}

function decodeNotify(id: number): Notify {
  const cltid = cursor.binOf('cltid', LIMIT.CLTIDLEN);
  const flags = cursor.uint('flags', U32_MAX);
  return { op: OP.NOTIFY, id, cltid, flags, body: readTyped(cursor, U32_MAX) };
}

function decodeBroadcast(id: number): Broadcast {
  const lmid = cursor.nil() ? null : cursor.str('lmid', STRING);
  const usrname = cursor.nil() ? null : cursor.str('usrname', STRING);
  const cltname = cursor.nil() ? null : cursor.str('cltname', STRING);
  const flags = cursor.uint('flags', U32_MAX);
  return { op: OP.BROADCAST, id, lmid, usrname, cltname, flags, body: readTyped(cursor, U32_MAX) };
}

function decodeReturn(id: number): Return {
  const rval = cursor.int('rval');
  const rcode = cursor.int('rcode');
  return { op: OP.RETURN, id, rval, rcode, body: readTyped(cursor, U32_MAX) };
}

function decodeAdmin(id: number): Admin {
  const verb = cursor.uint('verb', 255);
  const qspace = cursor.str('qspace', STRING);
  const qname = cursor.str('qname', STRING);
  return { op: OP.ADMIN, id, verb, qspace, qname, members: readMembers(cursor, 'members') };
}

function concurrency(): number {
  const value = cursor.uint('concurrency', LIMIT.IN_FLIGHT_DEFAULT);
  if (value === 0) cursor.fail('concurrency: 0 is not in 1..1024');
  return value;
}

function readQueue(): QueueRef {
  if (!cursor.atArray()) return cursor.uint('queue', U32_MAX);
  if (cursor.array('queue') !== 2) cursor.fail('queue: [qspace, qname] expected');
  return { qspace: cursor.str('qspace', STRING), qname: cursor.str('qname', STRING) };
}

/**
 * Appends a request. Assumes what the type says: integers within their ranges, ids of their lengths, strings of at most 1,024 bytes, data
 * within the message limit.
 */
export function encodeRequest(writer: FrameWriter, request: Request): void {
  writer.begin(ELEMENTS[request.op]!, request.op, request.id);
  switch (request.op) {
    case OP.ENQUEUE:
      encodeEnqueue(writer, request);
      break;
    case OP.DEQUEUE:
      encodeDequeue(writer, request);
      break;
    case OP.HELLO:
      encodeHello(writer, request);
      break;
    case OP.GOODBYE:
    case OP.PING:
      break;
    case OP.BEGIN:
      writer.int(request.timeoutS);
      break;
    case OP.COMMIT:
    case OP.ABORT:
      writer.int(request.tx);
      break;
    case OP.CANCEL:
      writer.int(request.target);
      break;
    case OP.CALL:
    case OP.PRIOCALL:
      encodeCall(writer, request);
      break;
    case OP.ADVERTISE:
      writer.str(request.service);
      writer.int(request.concurrency);
      break;
    case OP.UNADVERTISE:
      writer.str(request.service);
      break;
    case OP.RETURN:
      writer.int(request.rval);
      writer.int(request.rcode);
      writeTyped(writer, request.body);
      break;
    case OP.STAT:
      writer.str(request.qspace);
      break;
    case OP.BIND:
      writer.str(request.qspace);
      writer.str(request.qname);
      break;
    case OP.ADMIN:
      writer.int(request.verb);
      writer.str(request.qspace);
      writer.str(request.qname);
      writeMembers(writer, request.members);
      break;
    case OP.AQ:
      writeAqRequest(writer, request);
      break;
    case OP.FORWARD:
    case OP.NOTIFY:
    case OP.BROADCAST:
    case OP.ACK:
    case OP.SUSPEND:
    case OP.RESUME:
    case OP.COMMITAT:
    case OP.OUTCOME:
      encodeRare(writer, request);
      break;
  }
  writer.end();
}

type Rare = Forward | Notify | Broadcast | Ack | Suspend | Resume | CommitAt | AskOutcome;

function encodeRare(writer: FrameWriter, request: Rare): void {
  switch (request.op) {
    case OP.FORWARD:
      writer.str(request.service);
      return writeTyped(writer, request.body);
    case OP.NOTIFY:
      writer.bin(request.cltid);
      writer.int(request.flags);
      return writeTyped(writer, request.body);
    case OP.BROADCAST:
      return encodeBroadcast(writer, request);
    case OP.ACK:
      return writer.bool(request.handled);
    case OP.SUSPEND:
      return writer.int(request.tx);
    case OP.RESUME:
      return writer.bin(request.tranid);
    case OP.OUTCOME:
      return writer.bin(request.transaction);
    case OP.COMMITAT:
      writer.int(request.tx);
      return writer.int(request.when);
  }
}

function encodeCall(writer: FrameWriter, request: Call | PrioCall): void {
  writer.str(request.service);
  writer.int(request.flags);
  writer.int(request.tx);
  writer.int(request.timeoutMs);
  if (request.op === OP.PRIOCALL) {
    writer.int(request.priority);
    writer.bool(request.absolute);
  }
  writeTyped(writer, request.body);
}

function encodeBroadcast(writer: FrameWriter, request: Broadcast): void {
  for (const pattern of [request.lmid, request.usrname, request.cltname]) {
    if (pattern === null) writer.nil();
    else writer.str(pattern);
  }
  writer.int(request.flags);
  writeTyped(writer, request.body);
}

function encodeHello(writer: FrameWriter, request: Hello): void {
  writer.int(request.versionMin);
  writer.int(request.versionMax);
  writer.str(request.usrname);
  writer.str(request.cltname);
  writer.str(request.passwd);
  writer.str(request.grpname);
  writer.int(request.flags);
  if (request.data === null) writer.nil();
  else writer.bin(request.data);
  writer.str(request.product);
}

function encodeEnqueue(writer: FrameWriter, request: Enqueue): void {
  writeQueue(writer, request.queue);
  writeEnqueueCtl(writer, request.ctl);
  writer.int(request.flags);
  writer.int(request.tx);
  writeTyped(writer, request.body);
}

function encodeDequeue(writer: FrameWriter, request: Dequeue): void {
  writeQueue(writer, request.queue);
  writeDequeueCtl(writer, request.ctl);
  writer.int(request.flags);
  writer.int(request.tx);
  writeType(writer, request.type);
  writer.str(request.type === '' ? '' : request.subtype);
  writer.int(request.waitMs);
}

function writeQueue(writer: FrameWriter, queue: QueueRef): void {
  if (typeof queue === 'number') {
    writer.int(queue);
    return;
  }
  writer.array(2);
  writer.str(queue.qspace);
  writer.str(queue.qname);
}
