// Bytes on the wire: frames in pieces, and everything that section 8 of proto/PROTOCOL.md calls wrong, sent by a client that was written
// from that page.
import { describe, expect, it } from 'vitest';
import { type Client, encode, framed, type Frame, helloMembers } from './client.ts';
import { Peer } from './daemon.ts';
import { OP, TPE } from './numbers.ts';

const peer = Peer.forAll({ queues: ['STRING'] });
const AT = ['QSPACE', 'STRING'];
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** Id and tperrno of each ERROR, when CLOSING and the end of the connection follow them and nothing else. */
async function endOf(client: Client): Promise<Frame[]> {
  await client.ended;
  const frames = client.arrived.slice(client.welcome === null ? 0 : 1);
  expect(frames.pop()).toEqual([OP.CLOSING, 0, expect.any(String)]);
  expect(frames.filter((frame) => frame[0] !== OP.ERROR)).toEqual([]);
  return frames.map((frame) => frame.slice(1, 3));
}

describe('a frame', () => {
  it('may arrive in two pieces, cut at any byte', async () => {
    const client = await peer.join();
    const length = encode([OP.ENQUEUE, 1, AT, [0x30, 80], 0, 0, 1, '', Buffer.from('hello')]).length;
    for (let cut = 1; cut < length; cut++) {
      const [ping, enqueue, dequeue] = [client.nextId(), client.nextId(), client.nextId()];
      const words = Buffer.from(String(cut).padEnd(5));
      // The ids stay below 2^16 and are written in three bytes, so that the length does not change.
      const frame = encode([OP.ENQUEUE, 1, AT, [0x30, 80], 0, 0, 1, '', words]);
      const body = frame.subarray(4);
      const whole = framed(Buffer.concat([body.subarray(0, 2), u16(enqueue), body.subarray(3)]));
      // PING's answer shows that the daemon has read as far as the cut.
      client.write(Buffer.concat([encode([OP.PING, ping]), whole.subarray(0, cut)]));
      await client.answer(ping, OP.PING);
      client.write(whole.subarray(cut));
      const [msgid] = await client.answer(enqueue, OP.ENQUEUE);
      expect(msgid).toHaveLength(32);
      client.write(encode([OP.DEQUEUE, dequeue, AT, null, 0, 0, 0, '', 0]));
      expect((await client.answer(dequeue, OP.DEQUEUE)).slice(1)).toEqual([1, '', words]);
    }
  });

  it('may arrive byte by byte, HELLO too', async () => {
    const client = await peer.dial();
    for (const byte of encode([OP.HELLO, 1, ...helloMembers()])) {
      client.write(Uint8Array.of(byte));
      await new Promise(setImmediate);
    }
    expect(await client.answer(1, OP.HELLO)).toHaveLength(7);
    for (const byte of encode([OP.PING, 2])) {
      client.write(Uint8Array.of(byte));
      await new Promise(setImmediate);
    }
    expect(await client.answer(2, OP.PING)).toEqual([]);
  });

  it('may use any width for an integer', async () => {
    const client = await peer.join();
    client.write(framed(hex('dd 00 00 00 02  d3 00 00 00 00 00 00 00 0e  cf 00 00 00 00 00 00 00 4d')));
    expect(await client.answer(0x4d, OP.PING)).toEqual([]);
  });

  it('that is half when the connection ends has no effect', async () => {
    const [client, other] = await Promise.all([peer.join(), peer.join()]);
    const frame = encode([OP.ENQUEUE, 1, AT, null, 0, 0, 0, '', null]);
    client.write(Buffer.concat([encode([OP.PING, 2]), frame.subarray(0, -1)]));
    await client.answer(2, OP.PING);
    client.drop();
    await client.ended;
    const dequeue = other.ask(OP.DEQUEUE, AT, null, 0, 0, 0, '', 0);
    await expect(dequeue).rejects.toMatchObject({ tperrno: TPE.DIAGNOSTIC });
  });
});

function u16(value: number): Buffer {
  return Buffer.from([0xcd, value >> 8, value & 255]);
}

describe('what is refused, and the connection goes on', () => {
  it('an opcode that nobody knows, and one of the daemon', async () => {
    const client = await peer.join();
    for (const opcode of [0, 22, 63, OP.REQUEST, OP.CLOSING, OP.ERROR, 131, 255]) {
      await expect(client.ask(opcode, 'whatever', [1])).rejects.toMatchObject({ tperrno: TPE.PROTO });
      await expect(client.ask(opcode)).rejects.toMatchObject({ tperrno: TPE.PROTO });
    }
    await client.ask(OP.PING);
  });

  it('data above the message limit in a frame below frameBytesMax', async () => {
    const client = await peer.join();
    const limit = (client.welcome?.frameBytesMax ?? 0) - 69_632;
    const large = client.ask(OP.ENQUEUE, AT, null, 0, 0, 2, '', Buffer.alloc(limit + 1));
    await expect(large).rejects.toMatchObject({
      tperrno: TPE.INVAL,
      message: /16777216.*16777217|16777217.*16777216/,
    });
    await client.ask(OP.PING);
  });

  it('a RETURN that answers nothing', async () => {
    const client = await peer.join();
    client.send(OP.RETURN, 2, 0, 0, '', null);
    await client.ask(OP.PING);
    expect(client.arrived).toHaveLength(2);
  });
});

describe('what ends the connection', () => {
  const id = 9;
  const rows: readonly (readonly [string, Buffer, number])[] = [
    ['a length of 0', hex('00000000'), 0],
    ['no array', framed(hex('0e')), 0],
    ['a map', framed(hex('82 0e 09 01 02')), 0],
    ['an array of one', framed(hex('91 0e')), 0],
    ['the unused byte c1', framed(hex('92 0e c1')), 0],
    ['request id 0', encode([OP.PING, 0]), 0],
    ['a request id below 0', encode([OP.PING, -1]), 0],
    ['a request id of 2^32', encode([OP.PING, 2 ** 32]), 0],
    ['an opcode above 255', encode([256, id]), 0],
    ['a request id as float', framed(hex('92 0e cb 4022 0000 0000 0000')), 0],
    ['bytes after the array', framed(hex('92 0e 09 c0')), id],
    ['an element too few', encode([OP.BIND, id, 'QSPACE']), id],
    ['an element too many', encode([OP.PING, id, null]), id],
    ['a string in place of bytes', encode([OP.ENQUEUE, id, AT, null, 0, 0, 1, '', 'text']), id],
    ['bytes in place of a string', encode([OP.BIND, id, Buffer.from('QSPACE'), 'STRING']), id],
    ['a float', framed(hex('93 05 09 ca 3f800000')), id],
    ['an extension', framed(hex('93 05 09 d4 01 00')), id],
    ['a string that is no UTF-8', framed(hex('93 0d 09 a2 c3 28')), id],
    ['a declared size beyond the frame', framed(hex('93 0d 09 da ffff 41')), id],
    ['a string of 1,025 bytes', encode([OP.STAT, id, 's'.repeat(1025)]), id],
    ['a corrid of 31 bytes', encode([OP.ENQUEUE, id, AT, [1, Buffer.alloc(31)], 0, 0, 0, '', null]), id],
    ['a member that no flag selects', encode([OP.ENQUEUE, id, AT, [0, 7, 8], 0, 0, 0, '', null]), id],
    ['a selected member that is missing', encode([OP.ENQUEUE, id, AT, [0x20], 0, 0, 0, '', null]), id],
    ['a concurrency of 0', encode([OP.ADVERTISE, id, 'S', 0]), id],
    ['a concurrency of 1,025', encode([OP.ADVERTISE, id, 'S', 1025]), id],
  ];
  it.each(rows)('%s', async (_name, bytes, errorId) => {
    const client = await peer.join();
    client.write(bytes);
    expect(await endOf(client)).toEqual([[errorId, TPE.PROTO]]);
  });

  it('an id that is in flight', async () => {
    const client = await peer.join();
    const dequeue = encode([OP.DEQUEUE, id, AT, [0x80], 0, 0, 0, '', 0]);
    client.write(Buffer.concat([dequeue, encode([OP.PING, id])]));
    const waited = [id, TPE.GOTSIG];
    expect(await endOf(client)).toEqual([[id, TPE.PROTO], waited]);
  });

  it.each([
    ['a request', [OP.PING, id]],
    ['a RETURN', [OP.RETURN, id, 2, 0, 0, '', null]],
    ['an opcode that nobody knows', [99, id]],
  ])('before HELLO %s', async (_name, frame) => {
    const client = await peer.dial();
    client.write(encode(frame));
    expect(await endOf(client)).toEqual([[id, TPE.PROTO]]);
  });

  it('a HELLO that is refused', async () => {
    const client = await peer.dial();
    client.write(encode([OP.HELLO, id, ...helloMembers(2, 3)]));
    expect(await endOf(client)).toEqual([[id, TPE.RELEASE]]);
  });

  it('a length above the limit, before the frame is there', async () => {
    const client = await peer.join();
    const head = Buffer.alloc(4);
    head.writeUInt32BE((client.welcome?.frameBytesMax ?? 0) + 1);
    client.write(head);
    await client.ended;
    expect(client.arrived.slice(1)).toEqual([[OP.CLOSING, 0, expect.stringMatching(/16846849.*16846848/)]]);
  });

  it('before HELLO a length above 16,384', async () => {
    const client = await peer.dial();
    client.write(hex('00004001'));
    await client.ended;
    expect(client.arrived).toEqual([[OP.CLOSING, 0, expect.stringMatching(/16385.*16384/)]]);
  });

  it('of one client is nothing to another', async () => {
    const [wrong, right] = await Promise.all([peer.join(), peer.join()]);
    wrong.write(hex('00000000'));
    await wrong.ended;
    await right.ask(OP.PING);
  });
});
