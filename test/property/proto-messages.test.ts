// Any typed message survives its bytes; msgpackr, which shares no code with ours, reads the same positions; no bytes make a decoder throw.
import * as fc from 'fast-check';
import { Packr } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { LIMIT, OP, TPQ } from '../../proto/codes.ts';
import { unpackValue } from '../../proto/codec.ts';
import type { Members, QctlIn, QctlOut, Reply, Request, TypedData } from '../../proto/message.ts';
import {
  carriesDeqTime,
  carriesExpTime,
  DEQUEUE_OUTPUT_BITS,
  emptyQctl,
  selectsCorrid,
  selectsMsgid,
} from '../../proto/qctl.ts';
import { decodeReply, encodeReply } from '../../proto/reply.ts';
import { decodeRequest, encodeRequest } from '../../proto/request.ts';
import { FrameWriter } from '../../proto/writer.ts';

const RUNS = { interruptAfterTimeLimit: 4000, numRuns: 20_000, markInterruptAsFailure: false } as const;

const u32 = fc.nat({ max: 0xffff_ffff });
const id = fc.integer({ min: 1, max: 0xffff_ffff });
const transaction = fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => Buffer.from(bytes));
const count = fc.oneof(fc.nat(), fc.maxSafeNat());
const long = fc.oneof(fc.integer({ min: -300, max: 300 }), fc.integer(), fc.maxSafeInteger());
const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }).filter((value) => Buffer.from(value).toString() === value),
);
const id32 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
const cltid = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes));
const type = fc.constantFrom('STRING', 'CARRAY', 'X_OCTET', 'JSON', 'MBSTRING', 'XML', 'FML32', 'VIEW', 'é');
const subtype = fc.constantFrom('', 's', 'x'.repeat(16), 'Größe');
const bytes = fc
  .oneof(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.constant(new Uint8Array(70_000).fill(9)))
  .map((value) => Buffer.from(value));
const body: fc.Arbitrary<TypedData> = fc.oneof(
  fc.record({ type, subtype, data: bytes }),
  fc.constant({ type: '', subtype: '', data: null }),
);
const queue = fc.oneof(u32, fc.record({ qspace: text, qname: text }));

const enqueueCtl: fc.Arbitrary<QctlIn | null> = fc.option(
  fc
    .record({
      flags: u32,
      deqTime: long,
      priority: long,
      msgid: id32,
      corrid: id32,
      replyqueue: text,
      failurequeue: text,
      urcode: long,
      deliveryQos: long,
      replyQos: long,
      expTime: long,
    })
    .map((all) => selectEnqueue(all)),
);
const dequeueCtl: fc.Arbitrary<QctlIn | null> = fc.option(
  fc.record({ flags: u32, msgid: id32, corrid: id32 }).map(({ flags, msgid, corrid }) => ({
    ...emptyQctl(flags),
    msgid: selectsMsgid(flags) ? msgid : null,
    corrid: selectsCorrid(flags) ? corrid : null,
  })),
);

/** What arrives of a control structure: the members that the flags select. */
function selectEnqueue(all: QctlIn): QctlIn {
  const has = (bit: number): boolean => (all.flags & bit) !== 0;
  return {
    flags: all.flags,
    deqTime: carriesDeqTime(all.flags) ? all.deqTime : 0,
    priority: has(TPQ.TPQPRIORITY) ? all.priority : 0,
    msgid: has(TPQ.TPQBEFOREMSGID) ? all.msgid : null,
    corrid: has(TPQ.TPQCORRID) ? all.corrid : null,
    replyqueue: has(TPQ.TPQREPLYQ) ? all.replyqueue : '',
    failurequeue: has(TPQ.TPQFAILUREQ) ? all.failurequeue : '',
    urcode: all.urcode,
    deliveryQos: has(TPQ.TPQDELIVERYQOS) ? all.deliveryQos : 0,
    replyQos: has(TPQ.TPQREPLYQOS) ? all.replyQos : 0,
    expTime: carriesExpTime(all.flags) ? all.expTime : 0,
  };
}

const memberName = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,31}$/);
const members: fc.Arbitrary<Members> = fc
  .dictionary(memberName, fc.oneof(fc.boolean(), long, text, fc.array(text, { maxLength: 20 })), {
    maxKeys: 40,
  })
  // The property's objects have no prototype; what arrives is a plain object.
  .map((value) => ({ ...value }));

const op = <T extends number>(value: T): fc.Arbitrary<T> => fc.constant(value);

const request: fc.Arbitrary<Request> = fc.oneof(
  fc.record({ op: op(OP.ENQUEUE), id, queue, ctl: enqueueCtl, body, flags: u32, tx: u32 }),
  fc
    .record({
      op: op(OP.DEQUEUE),
      id,
      queue,
      ctl: dequeueCtl,
      flags: u32,
      tx: u32,
      waitMs: count,
      type: fc.oneof(type, fc.constant('')),
      subtype,
    })
    .map((value) => (value.type === '' ? { ...value, subtype: '' } : value)),
  fc.record({
    op: op(OP.HELLO),
    id,
    versionMin: fc.constantFrom(0, 1),
    versionMax: fc.integer({ min: 1, max: 9 }),
    usrname: text,
    cltname: text,
    passwd: text,
    grpname: text,
    flags: u32,
    data: fc.option(fc.uint8Array({ maxLength: 300 }).map((value) => Buffer.from(value))),
    product: text,
  }),
  fc.record({ op: fc.constantFrom(OP.GOODBYE, OP.PING), id }),
  fc.record({ op: op(OP.BEGIN), id, timeoutS: count }),
  fc.record({ op: op(OP.OUTCOME), id, transaction }),
  fc.record({ op: fc.constantFrom(OP.COMMIT, OP.ABORT), id, tx: u32 }),
  fc.record({ op: op(OP.CANCEL), id, target: u32 }),
  fc.record({ op: op(OP.CALL), id, service: text, body, flags: u32, tx: u32, timeoutMs: count }),
  fc.record({ op: op(OP.ADVERTISE), id, service: text, concurrency: fc.integer({ min: 1, max: 1024 }) }),
  fc.record({ op: op(OP.UNADVERTISE), id, service: text }),
  fc.record({ op: op(OP.RETURN), id, rval: long, rcode: long, body }),
  fc.record({ op: op(OP.STAT), id, qspace: text }),
  fc.record({ op: op(OP.BIND), id, qspace: text, qname: text }),
  fc.record({ op: op(OP.ADMIN), id, verb: fc.nat({ max: 255 }), qspace: text, qname: text, members }),
  fc.record({ op: op(OP.FORWARD), id, service: text, body }),
  fc.record({ op: op(OP.NOTIFY), id, cltid, flags: u32, body }),
  fc.record({
    op: op(OP.BROADCAST),
    id,
    lmid: fc.option(text),
    usrname: fc.option(text),
    cltname: fc.option(text),
    flags: u32,
    body,
  }),
  fc.record({ op: op(OP.ACK), id, handled: fc.boolean() }),
  fc.record({ op: op(OP.SUSPEND), id, tx: u32 }),
  fc.record({ op: op(OP.RESUME), id, tranid: cltid }),
  fc.record({ op: op(OP.COMMITAT), id, tx: u32, when: fc.nat({ max: 255 }) }),
  fc.record({
    op: op(OP.PRIOCALL),
    id,
    service: text,
    body,
    flags: u32,
    tx: u32,
    timeoutMs: count,
    priority: long,
    absolute: fc.boolean(),
  }),
);

const answerCtl: fc.Arbitrary<QctlOut> = fc
  .record({
    flags: u32.map((flags) => flags & DEQUEUE_OUTPUT_BITS),
    priority: long,
    msgid: id32,
    corrid: id32,
    replyqueue: text,
    failurequeue: text,
    cltid,
    urcode: long,
    appkey: long,
    deliveryQos: long,
    replyQos: long,
  })
  .map((all) => {
    const has = (bit: number): boolean => (all.flags & bit) !== 0;
    return {
      ...all,
      priority: has(TPQ.TPQPRIORITY) ? all.priority : 0,
      msgid: has(TPQ.TPQMSGID) ? all.msgid : null,
      corrid: has(TPQ.TPQCORRID) ? all.corrid : null,
      replyqueue: has(TPQ.TPQREPLYQ) ? all.replyqueue : '',
      failurequeue: has(TPQ.TPQFAILUREQ) ? all.failurequeue : '',
      deliveryQos: has(TPQ.TPQDELIVERYQOS) ? all.deliveryQos : 0,
      replyQos: has(TPQ.TPQREPLYQOS) ? all.replyQos : 0,
    };
  });

const reply: fc.Arbitrary<Reply> = fc.oneof(
  fc.record({ op: op(OP.DEQUEUE), id, ctl: answerCtl, body }),
  fc.record({ op: op(OP.ENQUEUE), id, msgid: fc.option(id32) }),
  fc.record({
    op: op(OP.HELLO),
    id,
    version: u32,
    cltid,
    heartbeatMs: u32,
    frameBytesMax: u32,
    inFlightMax: u32,
    blockTimeMs: count,
    product: text,
  }),
  fc.record({ op: op(OP.BEGIN), id, tx: u32, transaction }),
  fc.record({ op: op(OP.OUTCOME), id, outcome: fc.nat(255) }),
  fc.record({ op: op(OP.CANCEL), id, found: fc.boolean() }),
  fc.record({ op: op(OP.SUSPEND), id, tranid: cltid }),
  fc.record({ op: op(OP.RESUME), id, tx: u32, timeoutMs: count, transaction }),
  fc.record({ op: fc.constantFrom(OP.CALL, OP.PRIOCALL), id, rval: long, rcode: long, body }),
  fc.record({ op: op(OP.UNSOLICITED), id: u32, mode: u32, body }),
  fc.record({ op: op(OP.BIND), id, handle: u32 }),
  fc.record({ op: op(OP.ADMIN), id, members, items: fc.array(members, { maxLength: 5 }) }),
  fc.record({
    op: fc.constantFrom(
      OP.GOODBYE,
      OP.COMMIT,
      OP.COMMITAT,
      OP.ABORT,
      OP.ADVERTISE,
      OP.UNADVERTISE,
      OP.PING,
      OP.NOTIFY,
      OP.BROADCAST,
    ),
    id,
  }),
  fc.record({ op: op(OP.ERROR), id: u32, tperrno: u32, diagnostic: long, message: text }),
  fc.record({
    op: op(OP.REQUEST),
    id,
    service: text,
    body,
    flags: u32,
    cltid,
    appkey: long,
    timeoutMs: count,
  }),
  fc.record({ op: op(OP.CLOSING), id: fc.constant<0>(0), message: text }),
);

function bodyOf(append: (writer: FrameWriter) => void): Buffer {
  const writer = new FrameWriter();
  append(writer);
  return Buffer.concat(writer.take()).subarray(4);
}

const packr = new Packr({ useRecords: false });

describe('messages', () => {
  it('a request survives its bytes', () => {
    fc.assert(
      fc.property(request, (value) => {
        const frame = bodyOf((writer) => encodeRequest(writer, value));
        expect(decodeRequest({ bytes: frame, start: 0, end: frame.length })).toEqual(value);
      }),
      RUNS,
    );
  });

  it('a reply survives its bytes', () => {
    fc.assert(
      fc.property(reply, (value) => {
        const frame = bodyOf((writer) => encodeReply(writer, value));
        expect(decodeReply({ bytes: frame, start: 0, end: frame.length })).toEqual(value);
      }),
      RUNS,
    );
  });

  it('msgpackr reads what we write: opcode, id, and the same number of elements', () => {
    fc.assert(
      fc.property(request, (value) => {
        const frame = bodyOf((writer) => encodeRequest(writer, value));
        const array: unknown = packr.unpack(frame);
        if (!Array.isArray(array)) throw new Error('not an array');
        expect(array.slice(0, 2)).toEqual([value.op, value.id]);
        if (value.op === OP.ENQUEUE) {
          expect(array[8] === null ? null : Buffer.from(array[8])).toEqual(value.body.data);
          if (value.ctl !== null && value.ctl.urcode !== 0)
            expect(Number(array[3].at(-1))).toBe(value.ctl.urcode);
        }
      }),
      RUNS,
    );
  });
});

describe('bytes that are no message', () => {
  it('random bytes never throw and never name an id that is not there', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (raw) => {
        const frame = Buffer.from(raw);
        for (const decode of [decodeRequest, decodeReply]) {
          const result = decode({ bytes: frame, start: 0, end: frame.length });
          expect(result.id).toBeLessThanOrEqual(0xffff_ffff);
        }
        unpackValue(frame);
      }),
      RUNS,
    );
  });

  it('a mutated frame is a message or Malformed; it never reads beyond its end', () => {
    const mutation = fc.record({
      at: fc.nat({ max: 400 }),
      byte: fc.nat({ max: 255 }),
      cut: fc.nat({ max: 20 }),
    });
    fc.assert(
      fc.property(fc.oneof(request, reply), fc.array(mutation, { maxLength: 3 }), (value, mutations) => {
        const original = bodyOf((writer) => {
          if ('rval' in value || value.op === OP.CLOSING || value.op === OP.ERROR || value.op === OP.REQUEST)
            return;
          if ('queue' in value || 'service' in value || 'verb' in value) encodeRequest(writer, value);
        });
        if (original.length === 0) return;
        // The bytes after the frame are another's: a decoder that reads them would find them valid.
        const bytesAround = Buffer.concat([original, Buffer.alloc(600, 0x01)]);
        let end = original.length;
        for (const { at, byte, cut } of mutations) {
          if (at < end) bytesAround[at] = byte;
          end = Math.max(1, end - cut);
        }
        const result = decodeRequest({ bytes: bytesAround, start: 0, end });
        if (result.op === OP.ENQUEUE && result.body.data !== null) {
          expect(result.body.data.byteOffset + result.body.data.length).toBeLessThanOrEqual(
            bytesAround.byteOffset + end,
          );
        }
        decodeReply({ bytes: bytesAround, start: 0, end });
      }),
      RUNS,
    );
  });

  it('a prefix of a request is never a request', () => {
    fc.assert(
      fc.property(request, fc.double({ min: 0, max: 0.999, noNaN: true }), (value, part) => {
        if (value.op === OP.HELLO) return;
        const frame = bodyOf((writer) => encodeRequest(writer, value));
        const end = Math.floor(frame.length * part);
        expect(decodeRequest({ bytes: frame, start: 0, end }).op).toBe(0);
      }),
      RUNS,
    );
  });

  it('a declared size takes no memory', () => {
    const before = process.memoryUsage();
    for (const hex of ['ddffffffff', 'dbffffffff', 'c6ffffffff', '9bdfffffffff', 'dfffffffff']) {
      const frame = Buffer.from(hex, 'hex');
      for (let i = 0; i < 1000; i++) {
        decodeRequest({ bytes: frame, start: 0, end: frame.length });
        decodeReply({ bytes: frame, start: 0, end: frame.length });
        expect(unpackValue(frame)).toBeUndefined();
      }
    }
    const after = process.memoryUsage();
    expect(after.arrayBuffers + after.heapUsed - before.arrayBuffers - before.heapUsed).toBeLessThan(
      64 * 1024 * 1024,
    );
    expect(LIMIT.MESSAGE_BYTES_DEFAULT).toBeGreaterThan(0);
  });
});
