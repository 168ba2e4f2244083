// The golden frames of proto/vectors, both ways: the bytes mean the value, and the value is written as the bytes.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LIMIT, OP, REPLY_BIT } from '../../proto/codes.ts';
import { packValue, unpackValue } from '../../proto/codec.ts';
import { FrameReader, type Frame } from '../../proto/frame.ts';
import type { Reply, Request } from '../../proto/message.ts';
import { DEQUEUE_ONLY_BITS, ENQUEUE_ONLY_BITS } from '../../proto/qctl.ts';
import { decodeReply, encodeReply, REPLY_ELEMENTS } from '../../proto/reply.ts';
import { decodeRequest, encodeRequest, REQUEST_ELEMENTS } from '../../proto/request.ts';
import { FrameWriter } from '../../proto/writer.ts';

interface Vector<T> {
  meaning: string;
  hex: string;
  value: T;
}

function load<T>(name: string): Vector<T>[] {
  const text = readFileSync(new URL(`../../proto/vectors/${name}.json`, import.meta.url), 'utf8');
  return JSON.parse(text, (_key, value) => {
    if (typeof value === 'object' && value !== null && '$hex' in value) return Buffer.from(value.$hex, 'hex');
    return value;
  });
}

function frameOf(hex: string): Frame {
  const reader = new FrameReader(LIMIT.MESSAGE_BYTES_DEFAULT);
  reader.push(Buffer.from(hex, 'hex'));
  const frame = reader.next();
  if (frame === null) throw new Error('not one frame');
  return frame;
}

function hexOf(append: (writer: FrameWriter) => void): string {
  const writer = new FrameWriter();
  append(writer);
  return Buffer.concat(writer.take()).toString('hex');
}

const requests = load<Request>('requests');
const replies = load<Reply>('replies');

describe('golden requests', () => {
  it.each(requests)('$meaning', ({ hex, value }) => {
    expect(decodeRequest(frameOf(hex))).toEqual(value);
    expect(hexOf((writer) => encodeRequest(writer, value))).toBe(hex);
  });

  it('cover every request opcode', () => {
    const covered = new Set(requests.map(({ value }) => String(value.op)));
    expect(Object.keys(REQUEST_ELEMENTS).filter((op) => !covered.has(op))).toEqual([]);
  });
});

describe('golden replies', () => {
  it.each(replies)('$meaning', ({ hex, value }) => {
    expect(decodeReply(frameOf(hex))).toEqual(value);
    expect(hexOf((writer) => encodeReply(writer, value))).toBe(hex);
  });

  it('cover every reply and every pushed opcode', () => {
    const covered = new Set(replies.map(({ hex }) => opcodeOf(Buffer.from(hex, 'hex'))));
    expect(Object.keys(REPLY_ELEMENTS).filter((op) => !covered.has(Number(op)))).toEqual([]);
  });
});

describe('malformed requests', () => {
  it.each(load<{ op: 0; id: number; tperrno: number; close: boolean }>('malformed-requests'))(
    '$meaning',
    ({ hex, value }) => {
      const result = decodeRequest(frameOf(hex));
      expect(result).toMatchObject(value);
      expect(result).toHaveProperty('reason', expect.stringMatching(/\w/));
    },
  );

  it('have reasons of their own: no two different faults read the same', () => {
    const vectors = load<unknown>('malformed-requests');
    const reasons = new Set(vectors.map(({ hex }) => JSON.stringify(decodeRequest(frameOf(hex)))));
    expect(reasons.size).toBeGreaterThan(vectors.length * 0.85);
  });
});

describe('versions', () => {
  it('a HELLO with elements that this version does not know is read', () => {
    const hello = requests.find(({ value }) => value.op === OP.HELLO);
    if (hello === undefined) throw new Error('no HELLO');
    const body = Buffer.from(hello.hex.slice(8), 'hex');
    body[0] = 0x9d; // 13 elements instead of 11
    const longer = Buffer.concat([body, Buffer.from([0x01, 0xca, 0, 0, 0, 0])]);
    expect(decodeRequest({ bytes: longer, start: 0, end: longer.length })).toEqual(hello.value);
  });

  it('a range that contains version 1 is taken', () => {
    const body = Buffer.from('9b01010009a0a0a0a000c0a0', 'hex');
    expect(decodeRequest({ bytes: body, start: 0, end: body.length })).toMatchObject({
      op: OP.HELLO,
      versionMax: 9,
    });
  });
});

describe('what is written', () => {
  it('a dequeue answer never carries a bit that does not come back', () => {
    const reply = replies.find(({ value }) => value.op === OP.DEQUEUE)?.value;
    if (reply?.op !== OP.DEQUEUE) throw new Error('no DEQUEUE');
    const hex = hexOf((writer) =>
      encodeReply(writer, {
        ...reply,
        ctl: { ...reply.ctl, flags: ENQUEUE_ONLY_BITS | DEQUEUE_ONLY_BITS | reply.ctl.flags },
      }),
    );
    expect(hex).toBe(hexOf((writer) => encodeReply(writer, reply)));
  });
});

describe('free-form values', () => {
  const rows: [string, string][] = [
    ['nothing', ''],
    ['the unused byte', 'c1'],
    ['an extension', 'd40100'],
    ['a sized extension', 'c7010100'],
    ['bytes', 'c40100'],
    ['two values', '0102'],
    ['a map with a key that is no string', '810102'],
    ['a map that ends early', '82a16101'],
    ['an array of more than there is', 'dd00ffffff01'],
    ['an array nested too deeply', `${'91'.repeat(40)}01`],
    ['an extension deep inside', '81a16191d40100'],
  ];
  it.each(rows)('%s is refused', (_name, hex) => {
    expect(unpackValue(Buffer.from(hex, 'hex'))).toBeUndefined();
  });

  it('maps, arrays, numbers, strings, booleans and nil are read', () => {
    const value = { a: [1, -1, 1.5, 2 ** 40, true, false, null, 'x'.repeat(300)], b: {} };
    expect(unpackValue(packValue(value))).toEqual(value);
  });
});

describe('malformed replies', () => {
  const rows: [string, string][] = [
    ['a HELLO with a client id of 15 bytes', `99cc810101c40f${'00'.repeat(15)}0000000000a0`],
    ['a msgid of 16 bytes', `93cc8307c410${'00'.repeat(16)}`],
    ['an answer with id 0', '92cc8600'],
    ['a CLOSING with an id', '934107a0'],
    ['a heartbeat with an id', '920e07'],
    ['a CANCEL answered by a number', '93cc880701'],
    ['a dequeue answer with a bit that does not come back', `96cc84079440c410${'00'.repeat(16)}00ff00a0c0`],
    [
      'a dequeue answer with a member too few',
      `96cc8407941 0c410${'00'.repeat(16)}00ff00a0c0`.replace(' ', ''),
    ],
    ['a STAT that is no map', '93cc8d07a0'],
    ['a STAT with a key missing', '93cc8d0781a776657273696f6ea131'],
    ['a STAT with an extension inside', '93cc8d0781a776657273696f6ed40100'],
  ];
  it.each(rows)('%s', (_meaning, hex) => {
    const body = Buffer.from(hex, 'hex');
    expect(decodeReply({ bytes: body, start: 0, end: body.length })).toMatchObject({ op: 0, close: true });
  });

  it('an unknown opcode leaves the connection', () => {
    const body = Buffer.from('927d07', 'hex');
    expect(decodeReply({ bytes: body, start: 0, end: body.length })).toMatchObject({
      op: 0,
      id: 7,
      close: false,
    });
  });
});

/** The opcode of a whole frame's bytes, read by hand. */
function opcodeOf(frame: Buffer): number {
  const first = frame[5] ?? 0;
  const op = first === 0xcc ? frame[6] : first;
  return op ?? REPLY_BIT;
}
