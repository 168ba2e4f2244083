// The opening of a connection and its heartbeats: versions, TPINIT members, limits told, what may not come before HELLO, silence
// [PROTOCOL 4, 7, 8; C09, C31].
import { beforeEach, describe, expect, it } from 'vitest';
import { TPERRNO } from '../../proto/codes.ts';
import { daemonForAll, daemonForTest, eventually } from '../support/in-process.ts';
import { heads, helloOf, type RawClient, type Value } from '../support/raw-client.ts';
import { drain, put, SPACE } from './helpers.ts';

const LIMIT = 100_000;
const FRAME_MAX = LIMIT + 69_632;
const X = Buffer.from('x');
const daemon = daemonForAll({ spaces: [{ queues: ['Q'] }] }, { messageBytesMax: LIMIT });
let client: RawClient;
beforeEach(async () => {
  client = await daemon.socket();
});

describe('before HELLO is answered', () => {
  it.each<[string, Value[]]>([
    ['PING', [14, 5]],
    ['ENQUEUE', [3, 5, [SPACE, 'Q'], null, 0, 0, 1, '', X]],
    ['an unknown opcode', [99, 5]],
  ])('%s: ERROR TPEPROTO, CLOSING, end', async (_name, values) => {
    client.send(...values);
    expect(heads(await client.rest())).toEqual([
      [127, 5, TPERRNO.TPEPROTO],
      [65, 0],
    ]);
  });

  it.each<[string, [Value, Value]]>([
    ['only newer', [2, 9]],
    ['only older', [0, 0]],
  ])('versions %s: ERROR TPERELEASE, end', async (_name, versions) => {
    client.send(...helloOf(5, versions));
    expect(heads(await client.rest())[0]).toEqual([127, 5, TPERRNO.TPERELEASE]);
  });

  it.each<[string, [Value, Value]]>([
    ['0..9', [0, 9]],
    ['1..2^32-1', [1, 0xffff_ffff]],
  ])('versions %s: version 1 is chosen', async (_name, versions) => {
    client.send(...helloOf(5, versions));
    expect((await client.answer(5)).slice(0, 3)).toEqual([129, 5, 1]);
  });

  it('elements of a later version are ignored', async () => {
    client.send(...helloOf(5, [1, 2]), 'new', null);
    expect((await client.answer(5)).slice(0, 3)).toEqual([129, 5, 1]);
  });

  it('its answer tells the limits', async () => {
    const [op, id, version, cltid, heartbeatMs, frameMax, inFlight, blockMs, product] = await client.hello(5);
    expect([op, id, version, (cltid as Buffer).length, frameMax, inFlight, blockMs]).toEqual([
      129,
      5,
      1,
      16,
      FRAME_MAX,
      1024,
      60_000,
    ]);
    expect(Number(heartbeatMs)).toBeGreaterThan(0);
    expect(String(product)).toMatch(/^tmqueue \d/);
  });

  it.each<[string, number, Value]>([
    ['usrname of 31 bytes', 4, 'u'.repeat(31)],
    ['cltname of 31 bytes', 5, 'c'.repeat(31)],
    ['passwd of 31 bytes', 6, 'p'.repeat(31)],
    ['grpname of 31 bytes', 7, 'g'.repeat(31)],
  ])('%s: ERROR TPEINVAL, end', async (_name, at, value) => {
    const hello = helloOf(5);
    hello[at] = value;
    client.send(...hello);
    expect(heads(await client.rest())[0]).toEqual([127, 5, TPERRNO.TPEINVAL]);
  });

  it.each<[string, number, Value]>([
    ['usrname in bytes', 4, X],
    ['data of 4,097 bytes', 9, Buffer.alloc(4097)],
    ['data as text', 9, 'x'],
  ])('%s: malformed', async (_name, at, value) => {
    const hello = helloOf(5);
    hello[at] = value;
    client.send(...hello);
    expect(heads(await client.rest())[0]).toEqual([127, 5, TPERRNO.TPEPROTO]);
  });

  it('a frame of more than 16,384 bytes: CLOSING, end, no memory taken', async () => {
    client.write(Buffer.from([0, 0, 0x40, 1, 0x9b]));
    expect(heads(await client.rest())).toEqual([[65, 0]]);
  });

  it('two connections have different client ids', async () => {
    const [, , , one] = await client.hello();
    const [, , , two] = await (await daemon.socket()).hello();
    expect((one as Buffer).equals(two as Buffer)).toBe(false);
  });
});

it('heartbeats off: with heartbeatMs 0 nothing is closed [PROTOCOL 7]', async () => {
  const silent = await daemonForTest({ spaces: [{ queues: ['Q'] }] }, { heartbeatMs: 0 });
  const one = await silent.socket();
  expect((await one.hello())[4]).toBe(0);
  silent.clock.advance(86_400_000);
  expect(await one.ask(14, 2)).toEqual([142, 2]);
});

it('silence for three heartbeats ends a connection, one heartbeat is answered by a PING', async () => {
  const silent = await daemonForTest({ spaces: [{ queues: ['Q'] }] }, { heartbeatMs: 40 });
  const one = await silent.socket();
  await one.hello();
  const began = performance.now();
  const frames = await one.rest();
  const tookMs = performance.now() - began;
  expect(frames[0]).toEqual([14, 0]);
  expect([tookMs > 100, tookMs < 3000]).toEqual([true, true]);
});

it('a connection that never says HELLO is closed like any silent one', async () => {
  const silent = await daemonForTest({ spaces: [{ queues: ['Q'] }] }, { heartbeatMs: 40 });
  for (const bytes of [Buffer.alloc(0), Buffer.of(0, 0, 0)]) {
    const one = await silent.socket();
    one.write(bytes);
    await one.rest();
    expect(one.closed).toBe(true);
  }
});

it('a client that fell silent holds nothing: its wait takes no message, its transaction is rolled back', async () => {
  const silent = await daemonForTest(
    { spaces: [{ queues: [{ name: 'Q', retries: 9 }] }] },
    { heartbeatMs: 60 },
  );
  const ctx = await silent.join();
  await put(ctx, 'Q', 'locked');
  const one = await silent.raw();
  const [, , tx] = (await one.ask(5, 2, 3600)) as [number, number, number];
  await one.ask(4, 3, [SPACE, 'Q'], null, 0, tx, 0, '', 0);
  one.send(4, 4, [SPACE, 'Q'], [0x80], 0, 0, 0, '', 0);
  await eventually(async () => (await silent.queue('Q')).ready === 1, 2000);
  await put(ctx, 'Q', 'next');
  expect(await drain(ctx, 'Q')).toEqual(['locked', 'next']);
});
