// FrameReader and FrameWriter: the cap before memory, no copy where none is needed, one chunk a turn, data by reference.
import { describe, expect, it } from 'vitest';
import { LIMIT, OP } from '../../proto/codes.ts';
import { FrameReader, frameBytesMax, messageBytesMax, tooLargeText } from '../../proto/frame.ts';
import { decodeRequest, encodeRequest } from '../../proto/request.ts';
import { decodeReply, writeDequeued, writeError } from '../../proto/reply.ts';
import { FrameWriter } from '../../proto/writer.ts';

function enqueue(writer: FrameWriter, id: number, data: Uint8Array | null): void {
  encodeRequest(writer, {
    op: OP.ENQUEUE,
    id,
    queue: 1,
    ctl: null,
    body: { type: 'CARRAY', subtype: '', data },
    flags: 0,
    tx: 0,
  });
}

function dataOf(reader: FrameReader): (Uint8Array | null)[] {
  const all: (Uint8Array | null)[] = [];
  for (let frame = reader.next(); frame !== null; frame = reader.next()) {
    const request = decodeRequest(frame);
    if (request.op !== OP.ENQUEUE) throw new Error(JSON.stringify(request));
    all.push(request.body.data);
  }
  return all;
}

describe('FrameReader', () => {
  it('does not copy a frame that lies in one chunk', () => {
    const writer = new FrameWriter();
    enqueue(writer, 1, Buffer.from('abc'));
    const chunk = Buffer.concat(writer.take());
    const reader = new FrameReader(1000);
    reader.push(chunk);
    expect(reader.next()?.bytes).toBe(chunk);
  });

  it('takes frames in order from chunks pushed before the earlier ones were read', () => {
    const reader = new FrameReader(1000);
    const stream = Buffer.concat([1, 2, 3, 4, 5].map((n) => Buffer.from([0, 0, 0, 2, n, n])));
    for (let at = 0; at < stream.length; at += 4) reader.push(stream.subarray(at, at + 4));
    const seen: (number | undefined)[] = [];
    for (let frame = reader.next(); frame !== null; frame = reader.next())
      seen.push(frame.bytes[frame.start]);
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  it('refuses a length above the cap before its bytes arrive, and nothing comes after it', () => {
    const reader = new FrameReader(1000);
    reader.push(Buffer.from([0, 0, 3, 0xe9])); // 1001
    expect(reader.next()).toBeNull();
    expect(reader.oversize).toBe(1001);
    reader.push(Buffer.from([0, 0, 0, 1, 0]));
    expect(reader.next()).toBeNull();
    expect(reader.pendingBytes).toBe(0);
  });

  it('takes a length of exactly the cap', () => {
    const reader = new FrameReader(1000);
    reader.push(Buffer.concat([Buffer.from([0, 0, 3, 0xe8]), Buffer.alloc(1000)]));
    const frame = reader.next();
    expect(frame === null ? -1 : frame.end - frame.start).toBe(1000);
  });

  it('takes memory only for what has begun to arrive: 64 KiB for the first bytes of 200 MiB', () => {
    const reader = new FrameReader(256 * 1024 * 1024);
    const before = process.memoryUsage().arrayBuffers;
    const readers = Array.from({ length: 64 }, () => {
      const one = new FrameReader(256 * 1024 * 1024);
      one.push(Buffer.from([0x0c, 0x80, 0, 0, 1, 2, 3]));
      expect(one.next()).toBeNull();
      return one;
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 128 * 1024);
    expect(readers.length + reader.pendingBytes).toBe(64);
  });

  it('reads 16 MiB that arrive in 1,000-byte chunks in linear time', () => {
    const writer = new FrameWriter();
    const data = Buffer.alloc(16 * 1024 * 1024, 7);
    enqueue(writer, 1, data);
    const stream = Buffer.concat(writer.take());
    const reader = new FrameReader(frameBytesMax(LIMIT.MESSAGE_BYTES_DEFAULT));
    for (let at = 0; at < stream.length; at += 1000) {
      expect(at === 0 || reader.next() === null).toBe(true);
      reader.push(stream.subarray(at, at + 1000));
    }
    expect(dataOf(reader)[0]?.length).toBe(data.length);
  });

  it.each([0, 1, 2, 1447, 1448, 1449, 65534, 65535, 65536, 65537, 1024 * 1024])(
    'data of %i bytes, one byte at a time and in odd chunks [C59]',
    (size) => {
      const data = Buffer.alloc(size);
      for (let i = 0; i < size; i++) data[i] = (i * 31) >>> 3;
      const writer = new FrameWriter();
      for (let id = 1; id <= 2; id++) enqueue(writer, id, data);
      const stream = Buffer.concat(writer.take());
      for (const step of size > 70_000 ? [1021, 65_536] : [1, 7, 1021]) {
        const reader = new FrameReader(frameBytesMax(1024 * 1024));
        const got: (Uint8Array | null)[] = [];
        for (let at = 0; at < stream.length; at += step) {
          reader.push(stream.subarray(at, at + step));
          got.push(...dataOf(reader));
        }
        expect(got.map((bytes) => Buffer.compare(bytes ?? Buffer.alloc(0), data))).toEqual([0, 0]);
      }
    },
  );

  it('a frame limit leaves room for data a little above the message limit, so that it is refused by name', () => {
    for (const limit of [1000, LIMIT.MESSAGE_BYTES_DEFAULT, LIMIT.MESSAGE_BYTES_MAX]) {
      expect(messageBytesMax(frameBytesMax(limit))).toBe(limit);
    }
    const writer = new FrameWriter();
    const name = 'n'.repeat(LIMIT.TMQNAMELEN);
    const id32 = Buffer.alloc(32);
    encodeRequest(writer, {
      op: OP.ENQUEUE,
      id: 0xffff_ffff,
      queue: { qspace: name, qname: name },
      ctl: {
        flags: 0xffff_ffff,
        deqTime: 2 ** 52,
        priority: 100,
        msgid: id32,
        corrid: id32,
        replyqueue: name,
        failurequeue: name,
        urcode: -(2 ** 52),
        deliveryQos: 1,
        replyQos: 1,
        expTime: 2 ** 52,
      },
      body: { type: 'EIGHT888', subtype: 's'.repeat(16), data: Buffer.alloc(1001) },
      flags: 0xffff_ffff,
      tx: 0xffff_ffff,
    });
    expect(writer.bytes).toBeLessThan(1001 + LIMIT.FRAME_OVERHEAD_BYTES);
    expect(tooLargeText(1001, 1000)).toMatch(/1001.*1000/);
  });
});

describe('FrameWriter', () => {
  it('hands over the frames of a turn as one chunk', () => {
    const writer = new FrameWriter();
    for (let id = 1; id <= 100; id++) enqueue(writer, id, Buffer.alloc(256));
    expect(writer.bytes).toBeGreaterThan(25_600);
    expect(writer.take().length).toBe(1);
    expect(writer.bytes).toBe(0);
    expect(writer.take()).toEqual([]);
  });

  it('never writes again to bytes that it has handed over', () => {
    const writer = new FrameWriter();
    enqueue(writer, 1, Buffer.from('first'));
    const taken = Buffer.concat(writer.take());
    const chunks: Buffer[] = [];
    const copies: Buffer[] = [];
    for (let id = 2; id < 2000; id++) {
      enqueue(writer, id, Buffer.alloc(id, id));
      for (const chunk of writer.take()) {
        chunks.push(chunk);
        copies.push(Buffer.from(chunk));
      }
    }
    expect(taken.includes('first')).toBe(true);
    expect(chunks.every((chunk, i) => chunk.equals(copies[i] ?? chunk))).toBe(true);
  });

  it('sends large data by reference, and copies it when told to', () => {
    const data = Buffer.alloc(100_000, 5);
    const writer = new FrameWriter();
    enqueue(writer, 1, data);
    enqueue(writer, 2, Buffer.from('x'));
    const chunks = writer.take();
    expect(chunks.some((chunk) => chunk.buffer === data.buffer && chunk.length === data.length)).toBe(true);
    const copying = new FrameWriter({ byReferenceBytes: Infinity });
    enqueue(copying, 1, data);
    enqueue(copying, 2, Buffer.from('x'));
    const copied = copying.take();
    expect(copied.every((chunk) => chunk.buffer !== data.buffer)).toBe(true);
    expect(Buffer.concat(copied).equals(Buffer.concat(chunks))).toBe(true);
  });

  it.each([100, 20_000])('writes a body of %i bytes out of a larger buffer', (size) => {
    const source = Buffer.alloc(70_000);
    for (let i = 0; i < source.length; i++) source[i] = i % 251;
    const writer = new FrameWriter();
    writeDequeued(writer, 9, {
      ctl: {
        flags: 0,
        priority: 0,
        msgid: null,
        corrid: null,
        replyqueue: '',
        failurequeue: '',
        cltid: new Uint8Array(16),
        urcode: 0,
        appkey: -1,
        deliveryQos: 0,
        replyQos: 0,
      },
      body: { type: 'JSON', subtype: '', source, from: 11, to: 11 + size },
    });
    const reader = new FrameReader(100_000);
    reader.push(Buffer.concat(writer.take()));
    const frame = reader.next();
    const reply = frame === null ? null : decodeReply(frame);
    expect(reply).toMatchObject({ op: OP.DEQUEUE, id: 9, body: { type: 'JSON' } });
    if (reply?.op === OP.DEQUEUE) {
      expect(Buffer.compare(reply.body.data ?? Buffer.alloc(0), source.subarray(11, 11 + size))).toBe(0);
    }
  });

  it('cuts the text of an ERROR at a character, at most 1,024 bytes', () => {
    const writer = new FrameWriter();
    writeError(writer, 4, { tperrno: 4, diagnostic: 0, message: `x${'ä'.repeat(2000)}` });
    const reader = new FrameReader(2000);
    reader.push(Buffer.concat(writer.take()));
    const frame = reader.next();
    expect(frame === null ? null : decodeReply(frame)).toEqual({
      op: OP.ERROR,
      id: 4,
      tperrno: 4,
      diagnostic: 0,
      message: `x${'ä'.repeat(511)}`,
    });
  });
});
