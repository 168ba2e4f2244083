// The daemon's own checks, asked by a client that checks nothing itself: the order of [spec 1.6] (arguments, flags argument, control
// structure, space, queue), which call flags are taken, limits of names [PROTOCOL 9, 10.4].
import { beforeAll, describe, expect, it } from 'vitest';
import { QME, qmeName, TPERRNO, tperrnoName } from '../../proto/codes.ts';
import { daemonForAll } from '../support/in-process.ts';
import type { Frame, RawClient, Value } from '../support/raw-client.ts';
import { SPACE } from './helpers.ts';

const daemon = daemonForAll({ spaces: [{ queues: ['Q'] }] });
let raw: RawClient;
let lastId = 1;
beforeAll(async () => {
  raw = await daemon.raw();
});

interface Parts {
  queue?: Value;
  ctl?: Value;
  flags?: number;
  tx?: number;
  body?: Value[];
}

const BODY = [1, '', Buffer.from('x')];

async function enqueue(parts: Parts): Promise<string> {
  const { queue = [SPACE, 'Q'], ctl = null, flags = 0, tx = 0, body = BODY } = parts;
  return outcome(await raw.ask(3, ++lastId, queue, ctl, flags, tx, ...body));
}

async function dequeue(parts: Parts): Promise<string> {
  const { queue = [SPACE, 'Q'], ctl = null, flags = 0, tx = 0, body = [0, ''] } = parts;
  return outcome(await raw.ask(4, ++lastId, queue, ctl, flags, tx, ...body, 0));
}

function outcome(answer: Frame): string {
  if (answer[0] !== 127) return 'OK';
  const [, , tperrno, diagnostic] = answer as [number, number, number, number];
  return tperrno === TPERRNO.TPEDIAGNOSTIC ? qmeName(diagnostic) : tperrnoName(tperrno);
}

/** What is wrong with each part, in the order in which it must be found. */
const NO_QNAME = { queue: [SPACE, ''] };
const BAD_FLAGS = { flags: 0x4 };
const BAD_CTL = { ctl: [0x20, 101] };
const NO_SPACE = { queue: ['NOSPACE', 'NOQUEUE'] };
const NO_QUEUE = { queue: [SPACE, 'NOQUEUE'] };

describe('of two faults the earlier is answered, on enqueue', () => {
  it.each<[string, Parts, string]>([
    ['arguments before the control structure', { ...NO_QNAME, ...BAD_CTL }, 'TPEINVAL'],
    ['arguments before the space', { ...BAD_CTL, queue: ['NOSPACE', ''] }, 'TPEINVAL'],
    ['flags before the control structure', { ...BAD_FLAGS, ...BAD_CTL }, 'TPEINVAL'],
    ['flags before the space', { ...BAD_FLAGS, ...NO_SPACE }, 'TPEINVAL'],
    ['flags before the queue', { ...BAD_FLAGS, ...NO_QUEUE }, 'TPEINVAL'],
    ['control structure before the space', { ...BAD_CTL, ...NO_SPACE }, 'QMEINVAL'],
    ['control structure before the queue', { ...BAD_CTL, ...NO_QUEUE }, 'QMEINVAL'],
    ['the space before the queue', NO_SPACE, 'TPENOENT'],
    ['the queue last', NO_QUEUE, 'QMEBADQUEUE'],
  ])('%s', async (_name, parts, code) => {
    expect(await enqueue(parts)).toBe(code);
  });
});

describe('of two faults the earlier is answered, on dequeue', () => {
  const badCtl = { ctl: [0x100000] };
  it.each<[string, Parts, string]>([
    ['arguments before the control structure', { ...NO_QNAME, ...badCtl }, 'TPEINVAL'],
    ['flags before the control structure', { ...BAD_FLAGS, ...badCtl }, 'TPEINVAL'],
    ['control structure before the space', { ...badCtl, ...NO_SPACE }, 'QMEINVAL'],
    ['control structure before the queue', { ...badCtl, ...NO_QUEUE }, 'QMEINVAL'],
    ['the space before the queue', NO_SPACE, 'TPENOENT'],
    ['the queue before "no message"', NO_QUEUE, 'QMEBADQUEUE'],
    ['the queue before the message id', { ...NO_QUEUE, ctl: [0x40008, Buffer.alloc(32, 1)] }, 'QMEBADQUEUE'],
  ])('%s', async (_name, parts, code) => {
    expect(await dequeue(parts)).toBe(code);
  });
});

describe('the flags argument', () => {
  const TAKEN = [0x1, 0x2, 0x8, 0x20];
  it.each(TAKEN)('0x%s is taken by both calls', async (flags) => {
    expect(await enqueue({ flags })).toBe('OK');
    expect(await dequeue({ flags })).toBe('OK');
  });

  it('TPNOCHANGE is taken by dequeue alone', async () => {
    expect(await enqueue({ flags: 0x100 })).toBe('TPEINVAL');
    expect(await dequeue({ flags: 0x100, body: [1, ''] })).toBe('QMENOMSG');
  });

  const refused = Array.from({ length: 32 }, (_, i) => 2 ** i).filter(
    (bit) => ![...TAKEN, 0x100].includes(bit),
  );
  it.each(refused)('bit %d is TPEINVAL', async (flags) => {
    expect([await enqueue({ flags }), await dequeue({ flags })]).toEqual(['TPEINVAL', 'TPEINVAL']);
  });
});

describe('names as they arrive', () => {
  it.each<[string, Value, string]>([
    ['queue of 127 bytes', [SPACE, 'q'.repeat(127)], 'QMEBADQUEUE'],
    ['queue of 128 bytes', [SPACE, 'q'.repeat(128)], 'TPEINVAL'],
    ['queue of 64 two-byte letters', [SPACE, 'ä'.repeat(64)], 'TPEINVAL'],
    ['queue with NUL', [SPACE, 'a\0b'], 'TPEINVAL'],
    ['no queue name', [SPACE, ''], 'TPEINVAL'],
    ['no space name', ['', 'Q'], 'TPEINVAL'],
    ['space of 128 bytes', ['s'.repeat(128), 'Q'], 'TPEINVAL'],
    ['space with NUL', ['a\0b', 'Q'], 'TPEINVAL'],
    ['a handle that BIND never gave', 17, 'TPEINVAL'],
  ])('%s', async (_name, queue, code) => {
    expect([await enqueue({ queue }), await dequeue({ queue })]).toEqual([code, code]);
  });

  it('a bound handle stands for its names; the same names get the same handle', async () => {
    const first = await raw.ask(15, ++lastId, SPACE, 'Q');
    const second = await raw.ask(15, ++lastId, SPACE, 'Q');
    expect(second[2]).toBe(first[2]);
    const handle = first[2] as number;
    expect([await enqueue({ queue: handle }), await dequeue({})]).toEqual(['OK', 'OK']);
  });

  it('BIND does not ask whether the queue exists; using it does', async () => {
    const [, , handle] = (await raw.ask(15, ++lastId, SPACE, 'NOQUEUE')) as [number, number, number];
    expect(await enqueue({ queue: handle })).toBe('QMEBADQUEUE');
  });

  it('a handle of one connection means nothing on another', async () => {
    const other = await daemon.raw();
    const answer = await other.ask(3, 2, 0x7fff, null, 0, 0, ...BODY);
    expect(answer.slice(0, 4)).toEqual([127, 2, TPERRNO.TPEINVAL, QME.OK]);
  });
});

it('a transaction number that BEGIN never gave is TPEPROTO', async () => {
  expect([await enqueue({ tx: 77 }), await dequeue({ tx: 77 })]).toEqual(['TPEPROTO', 'TPEPROTO']);
});

it('with TPNOTRAN the transaction number does not count', async () => {
  expect(await enqueue({ tx: 77, flags: 0x8 })).toBe('OK');
  expect(await dequeue({ tx: 77, flags: 0x8 })).toBe('OK');
});
