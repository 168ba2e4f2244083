// What `wal verify` says of every kind of damage, beside what a start does with the same log: a start refuses exactly what verify calls
// damage of the log, and cuts exactly what it calls a torn tail. Nothing is ever written.
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { SECTION } from '../../src/engine/checkpoint-format.ts';
import { dumpSpace } from '../../src/tools/dump.ts';
import { statSpace } from '../../src/tools/stat.ts';
import { verifySpace, type Verdict } from '../../src/tools/verify.ts';
import { HEADER_BYTES } from '../../src/wal/local/frame.ts';
import { FaultyFileIo, MemoryDisk } from './faulty-file-io.ts';
import { framesOf, patch, reseal, segmentPath, zeroFrame, type FoundFrame } from './frames.ts';
import { DIR, SEGMENT } from './ledger.ts';
import { EngineLife } from './engine-life.ts';
import { bodyOf } from '../support/ledger-body.ts';
import { QUEUES, contentsAfter, contentsOf, keepEverything, writeSpaceLog } from './space-log.ts';

const SPACE = { dir: DIR, name: 'space' };

async function verify(disk: MemoryDisk): Promise<Verdict> {
  const before = disk.snapshot();
  const io = new FaultyFileIo(disk);
  const verdict = await verifySpace(SPACE, { io });
  expect(disk.snapshot()).toEqual(before);
  expect(io.openFiles).toBe(0);
  return verdict;
}

async function dump(
  disk: MemoryDisk,
  more: Partial<Parameters<typeof dumpSpace>[1]> = {},
): Promise<string[]> {
  const lines: string[] = [];
  const options = { json: false, data: false, ...more };
  for await (const line of dumpSpace(SPACE, options, { io: new FaultyFileIo(disk) })) lines.push(line);
  return lines;
}

/** One byte of each part of a frame. */
const PARTS: readonly (readonly [string, (frame: FoundFrame) => number])[] = [
  ['crc', () => 1],
  ['magic', () => 5],
  ['version', () => 7],
  ['own position', () => 13],
  ['log key', () => 17],
  ['nonce', () => 26],
  ['epoch', () => 37],
  ['number', () => 46],
  ['previous position', () => 53],
  ['ref', () => 61],
  ['times', () => 70],
  ['space id', () => 82],
  ['record count', () => 84],
  ['payload length', () => 90],
  ['offset in the batch', () => 93],
  ['header length', () => 96],
  ['segment size', () => 98],
  ['kind', () => 99],
  ['flags', () => 100],
  ['record starts', ({ header }) => (header.recordCount > 0 ? HEADER_BYTES + 1 : 100)],
  ['records', ({ header, bytes }) => Math.min(bytes - 1, HEADER_BYTES + 4 * header.recordCount + 9)],
  ['last byte', ({ bytes }) => bytes - 1],
];

describe('verify', () => {
  test('of a log that is whole: OK, with what is in it', async () => {
    const log = await writeSpaceLog(21, 30);
    const verdict = await verify(log.disk);
    const queued = [...contentsAfter(log.operations).values()].flat().length;
    expect(verdict).toMatchObject({ findings: [], isDamaged: false, messages: queued, queues: 3 });
    expect(verdict.batches).toBe(log.frames.filter(isBatch).length);
  });

  test.each(PARTS)('a bit of the %s of a frame: damage, or a torn tail at the end', async (_part, at) => {
    const log = await writeSpaceLog(22, 4);
    const prng = new Prng(22);
    const end = log.frames.at(-1)?.header.batchNumber;
    for (const [i, frame] of log.frames.entries()) {
      // The first and the last ones, and a third of those between.
      if (i > 4 && i < log.frames.length - 5 && !prng.oneIn(3)) continue;
      const disk = log.disk.clone();
      patch(disk, frame.path, (bytes) => {
        const place = frame.offset + at(frame);
        bytes[place] = (bytes[place] ?? 0) ^ (1 << prng.below(8));
      });
      const verdict = await verify(disk);
      const isLast =
        frame.header.batchNumber === end && frame.header.epoch === log.frames.at(-1)?.header.epoch;
      const what = `${frame.header.kind} at ${frame.path} ${frame.offset}`;
      expect(await startRefuses(disk.clone()), what).toBe(verdict.isDamaged);
      if (isLast && !verdict.isDamaged) expect(verdict.findings, what).toMatchObject([{ kind: 'torn tail' }]);
      else {
        const found = verdict.findings.find(({ kind }) => kind === 'damage');
        expect(found, what).toMatchObject({ file: frame.path, offset: frame.offset });
      }
    }
  });

  test('every combination of two lost frames, by seed: a start refuses what verify calls damage', async () => {
    const log = await writeSpaceLog(23, 12);
    const prng = new Prng(23);
    for (let run = 0; run < 60; run++) {
      const disk = log.disk.clone();
      for (const frame of log.frames) if (prng.oneIn(log.frames.length / 2)) zeroFrame(disk, frame);
      const { isDamaged, findings } = await verify(disk);
      expect(await startRefuses(disk), JSON.stringify(findings)).toBe(isDamaged);
    }
  });

  test('a lost batch before a torn one at the very end is damage, not a longer torn tail', async () => {
    const log = await writeSpaceLog(32, 40);
    const cut = log.operations.findLastIndex(({ frames }) => frames.length > 1);
    const [head = 0] = log.operations[cut]?.frames ?? [];
    const [before = 0] = log.operations[cut - 1]?.frames ?? [];
    expect(before).toBeGreaterThan(0);
    const torn = log.disk.clone();
    for (const frame of log.frames) if (frame.header.pos > head) zeroFrame(torn, frame);
    expect(await verify(torn)).toMatchObject({ isDamaged: false, findings: [{ kind: 'torn tail' }] });
    for (const frame of log.frames) if (frame.header.pos === before) zeroFrame(torn, frame);
    const { findings, isDamaged } = await verify(torn);
    expect(isDamaged).toBe(true);
    expect(findings).toMatchObject([{ kind: 'damage', text: expect.stringContaining('1 batch is lost') }]);
    expect(await startRefuses(torn)).toBe(true);
  });

  test('what a start mends: each by its kind, file and offset', async () => {
    const log = await writeSpaceLog(24, 10);
    const last = log.frames.at(-1);
    if (last === undefined) throw new Error('no frame');
    const end = last.offset + last.bytes + 64;
    const rows: [string, (disk: MemoryDisk) => void, { file: string; offset: number }][] = [
      ['torn tail', (disk) => tear(disk, last), { file: last.path, offset: last.offset }],
      [
        'wrong length',
        (disk) => patch(disk, last.path, (bytes) => bytes.slice(0, end)),
        { file: last.path, offset: end },
      ],
      [
        'leftover',
        (disk) => disk.replace(`${DIR}/x.tmp`, new Uint8Array(9)),
        { file: `${DIR}/x.tmp`, offset: 0 },
      ],
    ];
    for (const [kind, change, place] of rows) {
      const disk = log.disk.clone();
      change(disk);
      const { findings, isDamaged } = await verify(disk);
      expect(isDamaged).toBe(false);
      expect(findings).toMatchObject([{ kind, ...place }]);
      expect(await startRefuses(disk)).toBe(false);
      expect((await verify(disk)).findings, kind).toEqual([]);
    }
  });

  test('a missing segment by its name, and how many batches are lost', async () => {
    const log = await writeSpaceLog(25, 40);
    const disk = log.disk.clone();
    disk.remove(segmentPath(2));
    const { findings, isDamaged } = await verify(disk);
    const missing = findings.find(({ kind }) => kind === 'missing segment');
    expect(isDamaged).toBe(true);
    expect(missing).toMatchObject({ file: segmentPath(2), offset: 0 });
    expect(missing?.text).toMatch(/\d+ batch(es)? (is|are) lost/);
  });

  test('a record of an unknown kind, a record that makes no sense, a message whose own checksum differs', async () => {
    const log = await writeSpaceLog(26, 20);
    const put = log.operations.find(({ kind, frames }) => kind === 'put' && frames.length === 1);
    const frame = log.frames.find(({ header }) => header.pos === put?.frames[0]);
    if (frame === undefined) throw new Error('no frame');
    const rows: [string, number, number][] = [
      ['unknown record', 0, 77],
      ['bad record', 0, 5],
      ['message checksum', 80, 0xff],
    ];
    for (const [kind, at, value] of rows) {
      const disk = log.disk.clone();
      patch(disk, frame.path, (bytes) => {
        const inner = bytes.subarray(frame.offset, frame.offset + frame.bytes);
        inner[HEADER_BYTES + 4 * frame.header.recordCount + at] = value;
        reseal(inner);
      });
      const { findings, isDamaged } = await verify(disk);
      expect(isDamaged).toBe(true);
      expect(findings.find((one) => one.kind === kind)).toMatchObject({
        file: frame.path,
        offset: frame.offset,
      });
      // The log itself is whole; a start cannot decode the first two, and finds the third when the message is asked for.
      expect((await dump(disk)).filter((line) => line.includes('fault='))).toHaveLength(1);
    }
  });

  test('a newer format: refused with both versions, wherever it begins', async () => {
    const log = await writeSpaceLog(27, 6);
    for (const frame of log.frames) {
      const disk = log.disk.clone();
      patch(disk, frame.path, (bytes) => {
        bytes[frame.offset + 7] = 3;
        reseal(bytes.subarray(frame.offset, frame.offset + frame.bytes));
      });
      const { findings, isDamaged } = await verify(disk);
      expect(isDamaged).toBe(true);
      expect(findings.find(({ kind }) => kind === 'newer version')).toMatchObject({
        file: frame.path,
        offset: frame.offset,
        text: expect.stringMatching(/format version 3, this program reads 1/),
      });
      expect((await dump(disk)).at(-1)).toMatch(/format version 3 at offset \d+, this program reads 1/);
    }
  });

  test('blocks that cannot be read', async () => {
    const log = await writeSpaceLog(28, 6);
    const io = new FaultyFileIo(log.disk);
    const bad = io.disk.read(segmentPath(1)).length - 4096;
    io.pread = async (fd, into, position) => {
      if (position + into.length > bad) throw Object.assign(new Error('EIO'), { code: 'EIO' });
      return io.preadSync(fd, into, position);
    };
    const { findings, isDamaged } = await verifySpace(SPACE, { io });
    expect(isDamaged).toBe(true);
    expect(findings).toContainEqual(
      expect.objectContaining({ kind: 'unreadable', file: segmentPath(1), offset: bad }),
    );
  });

  test('a log that was never born is no damage', async () => {
    const disk = new MemoryDisk();
    disk.replace(segmentPath(1), new Uint8Array(SEGMENT));
    expect(await verify(disk)).toMatchObject({ findings: [], isDamaged: false, batches: 0 });
  });
});

describe('checkpoints', () => {
  test('are read, and give the same queues as the log', async () => {
    const { disk } = await withCheckpoint(41);
    expect(await verify(disk)).toMatchObject({ findings: [], isDamaged: false });
  });

  test('that are damaged or newer are of no use, which is no damage of the log', async () => {
    const { disk, path } = await withCheckpoint(42);
    const spoilt = disk.clone();
    patch(spoilt, path, (bytes) => {
      bytes[40] = (bytes[40] ?? 0) ^ 1;
    });
    expect(await verify(spoilt)).toMatchObject({
      isDamaged: false,
      findings: [{ kind: 'useless checkpoint', file: path }],
    });
    const newer = disk.clone();
    forge(newer, path, (bytes) => bytes.writeUInt32LE(2, bytes.length - 56));
    const { findings, isDamaged } = await verify(newer);
    expect(isDamaged).toBe(false);
    expect(findings).toMatchObject([
      { text: expect.stringMatching(/checkpoint version 2, this program reads up to 1/) },
    ]);
    for (const one of [spoilt, newer]) expect(await startRefuses(one)).toBe(false);
  });

  test('that the log does not reach, or that say something else than it, are damage', async () => {
    const { disk, path, end } = await withCheckpoint(43);
    const cut = disk.clone();
    for (const frame of framesOf(cut)) if (frame.header.pos >= end) zeroFrame(cut, frame);
    expect(await verify(cut)).toMatchObject({
      isDamaged: true,
      findings: expect.arrayContaining([expect.objectContaining({ kind: 'checkpoint', file: path })]),
    });
    expect(await startRefuses(cut)).toBe(true);
    const other = disk.clone();
    // The place of the record of the message that came last before it.
    forge(other, path, (bytes) => {
      const at = lastOffsetAt(bytes);
      bytes.writeUInt32LE(bytes.readUInt32LE(at) + 8, at);
    });
    expect(await verify(other)).toMatchObject({
      isDamaged: true,
      findings: [{ kind: 'checkpoint', file: path }],
    });
  });
});

describe('dump', () => {
  test('a line a record, with ids as clients see them, queues by name, and the data when asked for', async () => {
    const log = await writeSpaceLog(29, 20);
    const lines = await dump(log.disk);
    const puts = log.operations.filter(({ kind }) => kind !== 'take');
    expect(lines.filter((line) => / ENQUEUED /.test(line))).toHaveLength(puts.length);
    expect(lines.filter((line) => / REMOVED .* reason=dequeued/.test(line))).toHaveLength(
      log.operations.filter(({ kind }) => kind !== 'put').length,
    );
    const json = (await dump(log.disk, { json: true, data: true })).map(
      (line) => JSON.parse(line) as Record<string, unknown>,
    );
    const first = json.find((one) => one['record'] === 'ENQUEUED');
    const [key = ''] = puts[0]?.keys ?? [];
    expect(first).toMatchObject({
      queue: puts[0]?.queues.at(-1),
      dataBytes: Number(key.split('/').at(-1)),
      type: 'CARRAY',
    });
    expect(Buffer.from(String(first?.['hex']), 'hex').toString('latin1')).toContain(key);
    const one = await dump(log.disk, { msgid: String(first?.['id']) });
    expect(one.length).toBeGreaterThan(0);
    expect(one.every((line) => line.includes(String(first?.['id'])))).toBe(true);
    const ofQueue = await dump(log.disk, { queue: 'ONE' });
    expect(ofQueue.every((line) => /queue=ONE|from=ONE/.test(line))).toBe(true);
    const from = Number(first?.['pos']) + 1;
    expect((await dump(log.disk, { from })).every((line) => Number(line.split(' ')[0]) >= from)).toBe(true);
  });

  test('shows damage where it is and goes on behind it', async () => {
    const log = await writeSpaceLog(30, 20);
    const frame = log.frames.find(({ header }) => header.pos === log.operations[3]?.frames[0]);
    if (frame === undefined) throw new Error('no frame');
    const whole = await dump(log.disk);
    zeroFrame(log.disk, frame);
    const lines = await dump(log.disk);
    const damage = lines.findIndex((line) =>
      line.startsWith(`# ${frame.path}: damage at offset ${frame.offset}`),
    );
    expect(damage).toBeGreaterThan(0);
    expect(lines.slice(0, damage)).toEqual(whole.slice(0, damage));
    expect(lines.at(-1)).toEqual(whole.at(-1));
  });
});

describe('stat', () => {
  test('live and dead bytes add up to what was written', async () => {
    const log = await writeSpaceLog(31, 40);
    const { segments, total, messages } = await statSpace(SPACE, { io: new FaultyFileIo(log.disk) });
    const written = framesOf(log.disk).reduce((sum, { bytes }) => sum + bytes, 0);
    const queued = [...contentsAfter(log.operations).values()].flat();
    const dataBytes = queued.reduce((sum, key) => sum + Number(key.split('/').at(-1)), 0);
    expect(messages).toBe(queued.length);
    expect(total.live).toBeGreaterThan(dataBytes);
    expect(total.live).toBeLessThan(dataBytes + 100 * queued.length);
    expect(total.batches).toBe(log.frames.filter(isBatch).length);
    for (const one of segments) expect(one.live + one.dead + one.free, one.segment).toBe(one.bytes);
    expect(written).toBeLessThanOrEqual(total.live + total.dead);
  });
});

function isBatch({ header }: FoundFrame): boolean {
  return header.kind !== 'preamble' && header.batchOffset === 0;
}

function tear(disk: MemoryDisk, frame: FoundFrame): void {
  patch(disk, frame.path, (bytes) => {
    bytes.fill(0, frame.offset + frame.bytes - 8, frame.offset + frame.bytes);
    bytes[frame.offset + 70] = 0xee;
  });
}

async function startRefuses(disk: MemoryDisk): Promise<boolean> {
  try {
    await contentsOf(disk);
    return false;
  } catch (error) {
    expect(error).toMatchObject({ name: 'LogError', kind: 'Corrupt' });
    return true;
  }
}

/** The log, and the path of its newest checkpoint. */
async function withCheckpoint(seed: number): Promise<{ disk: MemoryDisk; path: string; end: number }> {
  const { disk } = await writeSpaceLog(seed, 20);
  const life = await EngineLife.open({ disk, prng: new Prng(seed), queues: QUEUES, treason: 'none' });
  keepEverything(life);
  const client = life.client();
  for (let i = 0; i < 5; i++) await client.put('ONE', bodyOf(`before/${i}/300`));
  await life.engine.checkpoint();
  const end = framesOf(disk).at(-1)?.header.pos ?? 0;
  for (let i = 0; i < 5; i++) await client.put('TWO', bodyOf(`after/${i}/300`));
  await client.take('ONE');
  await life.stopCleanly(2);
  const path = disk.files().findLast((name) => name.endsWith('.checkpoint'));
  if (path === undefined) throw new Error('no checkpoint was taken');
  return { disk, path, end };
}

/** Changes its sections and puts the right checksums on it. */
function forge(disk: MemoryDisk, path: string, change: (bytes: Buffer) => void): void {
  patch(disk, path, (content) => {
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
    change(bytes);
    const footer = bytes.length - 60;
    bytes.writeUInt32LE(crc32(bytes.subarray(0, footer)), footer + 52);
    bytes.writeUInt32LE(crc32(bytes.subarray(footer, footer + 56)), footer + 56);
  });
}

/** Where the last value of the column of offsets is: the fifth one of the last block of rows. */
function lastOffsetAt(bytes: Buffer): number {
  let found = -1;
  for (let at = 0; at < bytes.length - 60; at += 5 + bytes.readUInt32LE(at + 1)) {
    if (bytes[at] === SECTION.ROWS) found = at + 5;
  }
  if (found < 0) throw new Error('no rows');
  const rows = bytes.readUInt32LE(found);
  let at = found + 4;
  for (const width of [8, 4, 2, 8]) at += 1 + width * (bytes[at] === 0 ? 1 : rows);
  return at + 1 + 4 * (bytes[at] === 0 ? 0 : rows - 1);
}
