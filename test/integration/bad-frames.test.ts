// What arrives from a client that is broken or malicious: every row of [PROTOCOL 8], floods, connections that end in the middle (C29). In
// all of them others are not affected. Sizes are in sizes.test.ts, openings in hello.test.ts.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Context } from '../../clients/typescript/index.ts';
import { TPERRNO } from '../../proto/codes.ts';
import { daemonForAll, eventually } from '../support/in-process.ts';
import { frame, heads, helloOf, pack, raw, RawClient, type Value } from '../support/raw-client.ts';
import { drain, fresh, put, SPACE, take } from './helpers.ts';

const queues = fresh('B', 20);
const daemon = daemonForAll({ spaces: [{ queues: queues.names }] });
let witness: Context;
let idle: RawClient;
beforeAll(async () => {
  witness = await daemon.join();
  idle = await daemon.raw();
});
/** Whatever the tests do, these two connections live on and work. */
afterAll(async () => {
  expect(await idle.ask(14, 2)).toEqual([142, 2]);
  await put(witness, 'B20', 'x');
  expect((await take(witness, 'B20')).data).toBe('x');
});

let client: RawClient;
beforeEach(async () => {
  client = await daemon.raw();
});

const BAD = queues.next();
const QUEUE = [SPACE, BAD];
const X = Buffer.from('x');
const ok = { enqueue: [QUEUE, null, 0, 0, 1, '', X], dequeue: [QUEUE, null, 0, 0, 0, '', 0] } as const;
const ID32 = Buffer.alloc(32, 7);

describe('a malformed frame: ERROR TPEPROTO with its id, CLOSING, end', () => {
  const rows: [string, Value[]][] = [
    ['ENQUEUE with an element too few', [3, 5, QUEUE, null, 0, 0, 1, '']],
    ['ENQUEUE with an element too many', [3, 5, ...ok.enqueue, 0]],
    ['ENQUEUE: queue is a string', [3, 5, 'B01', null, 0, 0, 1, '', X]],
    ['ENQUEUE: queue of one name', [3, 5, [SPACE], null, 0, 0, 1, '', X]],
    ['ENQUEUE: queue of three names', [3, 5, [SPACE, 'B01', 'B02'], null, 0, 0, 1, '', X]],
    ['ENQUEUE: a queue name in bytes', [3, 5, [SPACE, X], null, 0, 0, 1, '', X]],
    ['ENQUEUE: a name of 1,025 bytes', [3, 5, [SPACE, 'q'.repeat(1025)], null, 0, 0, 1, '', X]],
    ['ENQUEUE: a name that is no UTF-8', [3, 5, [SPACE, raw('a2 c3 28')], null, 0, 0, 1, '', X]],
    ['ENQUEUE: handle negative', [3, 5, -1, null, 0, 0, 1, '', X]],
    ['ENQUEUE: ctl is a number', [3, 5, QUEUE, 0, 0, 0, 1, '', X]],
    ['ENQUEUE: ctl is empty', [3, 5, QUEUE, [], 0, 0, 1, '', X]],
    ['ENQUEUE: ctl flags negative', [3, 5, QUEUE, [-1], 0, 0, 1, '', X]],
    ['ENQUEUE: ctl flags of 33 bits', [3, 5, QUEUE, [2 ** 32], 0, 0, 1, '', X]],
    ['ENQUEUE: ctl with a member that no flag selects', [3, 5, QUEUE, [0, 1, 2], 0, 0, 1, '', X]],
    ['ENQUEUE: ctl without the member that a flag selects', [3, 5, QUEUE, [0x21, 50], 0, 0, 1, '', X]],
    ['ENQUEUE: priority is a string', [3, 5, QUEUE, [0x20, '50'], 0, 0, 1, '', X]],
    ['ENQUEUE: priority is a float', [3, 5, QUEUE, [0x20, raw('cb 4049000000000000')], 0, 0, 1, '', X]],
    ['ENQUEUE: corrid of 31 bytes', [3, 5, QUEUE, [1, Buffer.alloc(31)], 0, 0, 1, '', X]],
    ['ENQUEUE: corrid of 33 bytes', [3, 5, QUEUE, [1, Buffer.alloc(33)], 0, 0, 1, '', X]],
    ['ENQUEUE: corrid as text', [3, 5, QUEUE, [1, 'c'.repeat(32)], 0, 0, 1, '', X]],
    ['ENQUEUE: reply queue in bytes', [3, 5, QUEUE, [0x100, X], 0, 0, 1, '', X]],
    ['ENQUEUE: urcode beyond 2^53', [3, 5, QUEUE, [0, raw('d3 8000000000000000')], 0, 0, 1, '', X]],
    ['ENQUEUE: flags is nil', [3, 5, QUEUE, null, null, 0, 1, '', X]],
    ['ENQUEUE: flags is a boolean', [3, 5, QUEUE, null, true, 0, 1, '', X]],
    ['ENQUEUE: tx negative', [3, 5, QUEUE, null, 0, -1, 1, '', X]],
    ['ENQUEUE: type 7', [3, 5, QUEUE, null, 0, 0, 7, '', X]],
    ['ENQUEUE: type of 9 bytes', [3, 5, QUEUE, null, 0, 0, 'ABCDEFGHI', '', X]],
    ['ENQUEUE: type without a name', [3, 5, QUEUE, null, 0, 0, '', '', X]],
    ['ENQUEUE: subtype of 17 bytes', [3, 5, QUEUE, null, 0, 0, 1, 's'.repeat(17), X]],
    ['ENQUEUE: data without a type', [3, 5, QUEUE, null, 0, 0, 0, '', X]],
    ['ENQUEUE: subtype without a type', [3, 5, QUEUE, null, 0, 0, 0, 's', null]],
    ['ENQUEUE: data as text', [3, 5, QUEUE, null, 0, 0, 1, '', 'x']],
    ['ENQUEUE: data beyond the frame', [3, 5, QUEUE, null, 0, 0, 1, '', raw('c6 00010000 78')]],
    ['ENQUEUE: a map', [3, 5, raw('82 a1 61 a1 62 a1 63 a1 64'), null, 0, 0, 1, '', X]],
    ['ENQUEUE: an extension', [3, 5, QUEUE, raw('d4 01 00'), 0, 0, 1, '', X]],
    ['ENQUEUE: the unused byte c1', [3, 5, QUEUE, raw('c1'), 0, 0, 1, '', X]],
    ['DEQUEUE with an element too few', [4, 5, QUEUE, null, 0, 0, 0, '']],
    ['DEQUEUE: msgid missing', [4, 5, QUEUE, [0x40008], 0, 0, 0, '', 0]],
    ['DEQUEUE: msgid not asked for', [4, 5, QUEUE, [0x80, ID32], 0, 0, 0, '', 0]],
    ['DEQUEUE: msgid of 16 bytes', [4, 5, QUEUE, [0x40008, Buffer.alloc(16)], 0, 0, 0, '', 0]],
    ['DEQUEUE: priority given', [4, 5, QUEUE, [0x20, 50], 0, 0, 0, '', 0]],
    ['DEQUEUE: waitMs negative', [4, 5, QUEUE, null, 0, 0, 0, '', -1]],
    ['DEQUEUE: waitMs beyond 2^53', [4, 5, QUEUE, null, 0, 0, 0, '', raw('cf 0020000000000001')]],
    ['BEGIN: negative timeout', [5, 5, -1]],
    ['BEGIN without timeout', [5, 5]],
    ['COMMIT: tx as text', [6, 5, '1']],
    ['ABORT with two numbers', [7, 5, 1, 1]],
    ['CANCEL: target negative', [8, 5, -1]],
    ['CALL: data as text', [9, 5, 'S', 0, 0, 0, 1, '', 'x']],
    ['CALL without timeout', [9, 5, 'S', 0, 0, 1, '', X]],
    ['ADVERTISE: concurrency 0', [10, 5, 'S', 0]],
    ['ADVERTISE: concurrency 1,025', [10, 5, 'S', 1025]],
    ['ADVERTISE: name in bytes', [10, 5, X, 1]],
    ['UNADVERTISE without a name', [11, 5]],
    ['RETURN: rval as text', [12, 5, 'TPSUCCESS', 0, 0, '', null]],
    ['STAT: space is nil', [13, 5, null]],
    ['PING with a word', [14, 5, 'hello']],
    ['BIND of one name', [15, 5, SPACE]],
    ['GOODBYE with a word', [2, 5, 'bye']],
  ];

  it.each(rows)('%s', async (_name, values) => {
    client.send(...values);
    client.send(3, 6, ...ok.enqueue);
    expect(heads(await client.rest())).toEqual([
      [127, 5, TPERRNO.TPEPROTO],
      [65, 0],
    ]);
    expect(await drain(witness, BAD)).toEqual([]);
  });
});

describe('a frame whose id cannot be read: ERROR TPEPROTO with id 0, CLOSING, end', () => {
  it.each<[string, Buffer]>([
    ['length 0', Buffer.alloc(4)],
    ['request id 0', frame(14, 0)],
    ['request id negative', framed('92 0e ff')],
    ['request id of 33 bits', framed('92 0e cf 0000000100000000')],
    ['request id as text', framed('92 0e a1 37')],
    ['no array', framed('0e')],
    ['a map', framed('81 0e 07')],
    ['an empty array', framed('90')],
    ['an array of the opcode alone', framed('91 0e')],
    ['an array that is cut', framed('92 0e')],
    ['a nil', framed('c0')],
    ['nested arrays without end', framed('91'.repeat(100))],
    ['an array of 2^32-1', framed('dd ffffffff 0e 07')],
    ['the unused byte c1', framed('c1')],
  ])('%s', async (_name, bytes) => {
    client.write(bytes);
    expect(heads(await client.rest())).toEqual([
      [127, 0, TPERRNO.TPEPROTO],
      [65, 0],
    ]);
  });

  it('bytes after the array: with its id', async () => {
    client.write(framed('92 0e 07 c0'));
    expect(heads(await client.rest())).toEqual([
      [127, 7, TPERRNO.TPEPROTO],
      [65, 0],
    ]);
  });
});

describe('an opcode that is unknown or not a request: ERROR TPEPROTO, the connection goes on', () => {
  it.each([0, 22, 63, 64, 65, 127, 128, 129, 131, 142, 200, 255])('%d', async (op) => {
    expect((await client.ask(op, 5)).slice(0, 3)).toEqual([127, 5, TPERRNO.TPEPROTO]);
    expect((await client.ask(op, 6, 'more', [1, null])).slice(0, 3)).toEqual([127, 6, TPERRNO.TPEPROTO]);
    expect(await client.ask(14, 7)).toEqual([142, 7]);
  });

  it('a second HELLO likewise', async () => {
    client.send(...helloOf(5));
    expect((await client.answer(5)).slice(0, 3)).toEqual([127, 5, TPERRNO.TPEPROTO]);
    expect(await client.ask(14, 7)).toEqual([142, 7]);
  });
});

describe('request ids', () => {
  it('one that is in flight twice: ERROR TPEPROTO with it, CLOSING, end', async () => {
    client.send(4, 5, QUEUE, [0x80], 0, 0, 0, '', 0);
    client.send(14, 5);
    const frames = heads(await client.rest());
    expect(frames).toContainEqual([127, 5, TPERRNO.TPEPROTO]);
    expect(frames.at(-1)).toEqual([65, 0]);
    await eventually(async () => (await daemon.queue(BAD)).waiters === 0);
  });

  it('may be used again when the answer has come; the largest is allowed', async () => {
    for (let i = 0; i < 3; i++) expect(await client.ask(14, 0xffff_ffff)).toEqual([142, 0xffff_ffff]);
  });
});

describe('the flood', () => {
  it('1,024 requests may wait; one more is TPELIMIT; CANCEL, PING and GOODBYE still go', async () => {
    const queue = [SPACE, queues.next()];
    for (let id = 10; id < 10 + 1024; id++) client.send(4, id, queue, [0x80], 0x20, 0, 0, '', 0);
    expect((await client.ask(3, 5000, queue, null, 0, 0, 1, '', X)).slice(0, 3)).toEqual([
      127,
      5000,
      TPERRNO.TPELIMIT,
    ]);
    expect(await client.ask(14, 5001)).toEqual([142, 5001]);
    expect(await client.ask(8, 5002, 10)).toEqual([136, 5002, true]);
    expect((await client.ask(3, 5003, queue, null, 0, 0, 1, '', X))[0]).toBe(131);
    client.send(2, 5004);
    expect((await client.rest()).at(-1)).toEqual([130, 5004]);
  });

  it('4,096 bindings; one more is TPELIMIT', async () => {
    for (let i = 0; i < 4096; i += 512) {
      for (let id = 1; id <= 512; id++) client.send(15, id, SPACE, `N${i + id}`);
      for (let id = 1; id <= 512; id++) expect((await client.answer(id))[0]).toBe(143);
    }
    expect((await client.ask(15, 5, SPACE, 'ONE MORE')).slice(0, 3)).toEqual([127, 5, TPERRNO.TPELIMIT]);
    expect((await client.ask(15, 6, SPACE, 'N1'))[0]).toBe(143);
  });
});

describe('the end in the middle (C29)', () => {
  it.each<[string, Buffer]>([
    ['nothing at all', Buffer.alloc(0)],
    ['half a length', Buffer.of(0, 0)],
    ['half a frame', frame(3, 5, ...ok.enqueue).subarray(0, 20)],
    ['a length and nothing', Buffer.of(0, 0, 1, 0)],
  ])('%s, then FIN: the daemon closes and stores nothing', async (_name, bytes) => {
    client.write(bytes);
    client.end();
    await client.rest();
    expect(await drain(witness, BAD)).toEqual([]);
  });

  it('RST 200 times while an answer is written: same daemon, nothing half, descriptors closed', async () => {
    const queue = queues.next();
    const big = Buffer.alloc(60_000, 'b');
    for (let i = 0; i < 5; i++) await put(witness, queue, big);
    const before = (await witness.stat()).connections;
    for (let i = 0; i < 200; i++) {
      const one = await RawClient.connect(daemon.port);
      one.send(...helloOf());
      if (i % 4 > 0) {
        await one.next();
        for (let id = 2; id < 12; id++) one.send(4, id, [SPACE, queue], [0x1000], 0, 0, 0, '', 0);
      }
      if (i % 4 === 2) one.write(frame(3, 20, ...ok.enqueue).subarray(0, 30));
      if (i % 4 === 3) await one.next();
      one.reset();
    }
    await eventually(async () => (await witness.stat()).connections === before);
    expect(await drain(witness, queue)).toHaveLength(5);
  });

  it('random bytes 200 times', async () => {
    let seed = 12_345;
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      return (seed >>> 8) % below;
    };
    for (let i = 0; i < 200; i++) {
      const one = await RawClient.connect(daemon.port);
      if (i % 2 === 0) await one.hello();
      const body = Buffer.from(Array.from({ length: random(60) }, () => random(256)));
      const head = Buffer.alloc(4);
      head.writeUInt32BE(body.length);
      one.write(i % 3 === 0 ? body : Buffer.concat([head, pack([random(20), 5]).subarray(0, 3), body]));
      one.end();
      await one.rest();
    }
  });
});

function framed(hex: string): Buffer {
  const { bytes } = raw(hex);
  return Buffer.concat([Buffer.of(0, 0, 0, bytes.length), bytes]);
}
