// Bodies and frames around every limit, however they are cut, through every path (C59), and readers that do not read [PROTOCOL 1, 7, 8,
// 9].
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Context } from '../../clients/typescript/index.ts';
import { TPERRNO } from '../../proto/codes.ts';
import { daemonForAll, daemonForTest, eventually } from '../support/in-process.ts';
import { frame, heads, type RawClient } from '../support/raw-client.ts';
import { ctlOf, drain, fresh, put, SPACE, take } from './helpers.ts';

const LIMIT = 100_000;
const FRAME_MAX = LIMIT + 69_632;
const queues = fresh('Z', 10);
const daemon = daemonForAll({ spaces: [{ queues: queues.names }] }, { messageBytesMax: LIMIT });
let witness: Context;
beforeAll(async () => {
  witness = await daemon.join();
});
let client: RawClient;
beforeEach(async () => {
  client = await daemon.raw();
});

describe('sizes (C59)', () => {
  it('a length above the cap: CLOSING that names both sizes', async () => {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(FRAME_MAX + 1);
    client.write(head);
    const [closing] = await client.rest();
    expect(closing?.slice(0, 2)).toEqual([65, 0]);
    expect(String(closing?.[2]).replaceAll(/[,. ]/g, '')).toContain(String(FRAME_MAX + 1));
    expect(String(closing?.[2]).replaceAll(/[,. ]/g, '')).toContain(String(FRAME_MAX));
  });

  it('a length of 2^32-1: CLOSING at once', async () => {
    client.write(Buffer.alloc(4, 0xff));
    expect(heads(await client.rest())).toEqual([[65, 0]]);
  });

  it('a body of the limit is taken; one byte more is TPEINVAL that names both, and the connection goes on', async () => {
    const queue = queues.next();
    const names = [SPACE, queue];
    expect((await client.ask(3, 5, names, null, 0, 0, 2, '', Buffer.alloc(LIMIT, 1)))[0]).toBe(131);
    for (const bytes of [LIMIT + 1, LIMIT + 65_536]) {
      const refused = await client.ask(3, 6, names, null, 0, 0, 2, '', Buffer.alloc(bytes));
      expect(refused.slice(0, 3)).toEqual([127, 6, TPERRNO.TPEINVAL]);
      expect(String(refused[4])).toContain(String(bytes));
      expect(String(refused[4])).toContain(String(LIMIT));
    }
    const call = await client.ask(9, 7, 'S', 0, 0, 0, 2, '', Buffer.alloc(LIMIT + 1));
    expect(call.slice(0, 3)).toEqual([127, 7, TPERRNO.TPEINVAL]);
    expect((await take(witness, queue)).data).toHaveLength(LIMIT);
  });

  it('bodies of every size come back equal: taken, peeked, from the error queue, after a restart', async () => {
    const sizes = [
      0, 1, 2, 1447, 1448, 1449, 65_534, 65_535, 65_536, 65_537, 1_048_576, 1_099_999, 1_100_000,
    ];
    const own = await daemonForTest(
      { spaces: [{ errorQueue: 'E', queues: ['Q', 'E'] }] },
      { messageBytesMax: 1_100_000 },
    );
    const context = await own.join();
    const check = async (queue: string, end?: 'tpabort'): Promise<void> => {
      for (const bytes of sizes) {
        if (end !== undefined) await context.tpbegin(60);
        for (const flags of [0x1000, 0]) {
          const { data } = await take(context, queue, ctlOf(flags));
          const got = data === null ? Buffer.alloc(0) : Buffer.from(data as Uint8Array);
          expect([bytes, got.equals(body(bytes))]).toEqual([bytes, true]);
        }
        if (end !== undefined) await context[end]();
      }
    };
    for (let i = 0; i < 3; i++) for (const bytes of sizes) await put(context, 'Q', body(bytes));
    await check('Q');
    await check('Q', 'tpabort');
    await own.restart();
    await check('Q');
    await check('E');
  });

  it.each<[string, (bytes: Buffer) => Buffer[]]>([
    ['one byte at a time', (bytes) => [...bytes].map((byte) => Buffer.of(byte))],
    [
      'in pieces of 7',
      (bytes) =>
        Array.from({ length: Math.ceil(bytes.length / 7) }, (_, i) => bytes.subarray(i * 7, i * 7 + 7)),
    ],
    ['in one write', (bytes) => [bytes]],
  ])('100 frames %s', async (_name, cut) => {
    const queue = queues.next();
    const frames = Array.from({ length: 100 }, (_, i) =>
      frame(3, 10 + i, [SPACE, queue], null, 0, 0, 1, '', Buffer.from(`m${i}`)),
    );
    for (const piece of cut(Buffer.concat(frames))) client.write(piece);
    for (let i = 0; i < 100; i++) expect((await client.answer(10 + i))[0]).toBe(131);
    expect(await drain(witness, queue)).toEqual(Array.from({ length: 100 }, (_, i) => `m${i}`));
  });
});

it('a reader that does not read costs a bounded amount of memory, and others go on [DESIGN 8]', async () => {
  const own = await daemonForTest({ spaces: [{ queues: ['BIG', 'Q'] }] });
  const ctx = await own.join();
  await put(ctx, 'BIG', Buffer.alloc(1_048_576, 'b'));
  const reader = await own.raw();
  reader.socket.pause();
  const before = process.memoryUsage.rss();
  // A gigabyte of answers, asked for by 50 KB.
  for (let id = 10; id < 1010; id++) reader.send(4, id, [SPACE, 'BIG'], [0x1000], 0, 0, 0, '', 0);
  for (let i = 0; i < 100; i++) {
    await put(ctx, 'Q', i);
    expect((await take(ctx, 'Q')).data).toBe(i);
  }
  const grownMiB = (process.memoryUsage.rss() - before) / 1_048_576;
  expect(grownMiB).toBeLessThan(200);
  reader.reset();
  await eventually(async () => (await ctx.stat()).connections === 1);
});

function body(bytes: number): Buffer {
  return Buffer.alloc(bytes, `${bytes}:`);
}
