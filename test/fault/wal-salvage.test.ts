// Salvage of logs with holes: a daemon opens what it writes, every operation whose batch is whole took effect, no other one did, and the
// old directory is as it was. What must be there is known from the operations, not from the code that reads logs.
import { inflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { salvageSpace, SalvageError, REPORT_FILE } from '../../src/tools/salvage.ts';
import { TargetError } from '../../src/tools/target.ts';
import type { SalvageReport } from '../../src/tools/salvage-report.ts';
import { verifySpace } from '../../src/tools/verify.ts';
import { loadGolden } from '../support/golden-space.ts';
import { FaultyFileIo, MemoryDisk } from './faulty-file-io.ts';
import { framesOf, patch, reseal, segmentPath, zeroFrame, type FoundFrame } from './frames.ts';
import { DIR } from './ledger.ts';
import { contentsAfter, contentsOf, writeSpaceLog, type SpaceLog } from './space-log.ts';

const INTO = '/new/space';
const SPACE = { dir: DIR, name: 'space' };

/** Salvages, checks that the old directory is untouched, and returns a disk that holds the new log in its place. */
async function salvage(
  disk: MemoryDisk,
): Promise<{ report: SalvageReport; result: MemoryDisk; text: string }> {
  const before = disk.snapshot();
  const report = await salvageSpace(SPACE, INTO, { io: new FaultyFileIo(disk) });
  const result = new MemoryDisk();
  for (const [path, content] of disk.snapshot()) {
    if (!path.startsWith(`${INTO}/`)) expect(content).toBe(before.get(path));
    else result.replace(path.replace(INTO, DIR), Buffer.from(content, 'latin1'));
  }
  return { report, result, text: Buffer.from(disk.read(`${INTO}/${REPORT_FILE}`)).toString() };
}

/** The operations that are left when these frames are lost. */
function survivors(log: SpaceLog, lost: readonly FoundFrame[]): SpaceLog['operations'] {
  const positions = new Set(lost.map(({ header }) => header.pos));
  return log.operations.filter(({ frames }) => !frames.some((pos) => positions.has(pos)));
}

function damage(disk: MemoryDisk, frame: FoundFrame, prng: Prng): void {
  if (prng.oneIn(2)) return zeroFrame(disk, frame);
  patch(disk, frame.path, (bytes) => {
    const at = frame.offset + prng.below(frame.bytes);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << prng.below(8));
  });
}

describe('salvage', () => {
  test('of a log that is whole keeps everything', async () => {
    const log = await writeSpaceLog(1, 40);
    const { report, result } = await salvage(log.disk.clone());
    expect(report.isComplete).toBe(true);
    expect(await contentsOf(result)).toEqual(contentsAfter(log.operations));
    expect((await verifySpace(SPACE, { io: new FaultyFileIo(result) })).findings).toEqual([]);
  });

  test('of a log with a multi-consumer queue keeps what each consumer has', async () => {
    const golden = loadGolden('space-v1g.json');
    const disk = new MemoryDisk();
    for (const [name, base64] of Object.entries(golden.files))
      disk.replace(`${DIR}/${name}`, inflateRawSync(Buffer.from(base64, 'base64')));
    const before = await verifySpace(SPACE, { io: new FaultyFileIo(disk) });
    const { report, result } = await salvage(disk);
    expect([report.isComplete, report.messages]).toEqual([true, before.messages]);
    const after = await verifySpace(SPACE, { io: new FaultyFileIo(result) });
    expect([after.findings, after.messages]).toEqual([[], before.messages]);
  });

  test('of a log whose front has left, with restated messages, keeps what is queued', async () => {
    const log = await writeSpaceLog(17, 150, true);
    expect(log.frames[0]?.path).not.toBe(segmentPath(1));
    const { report, result } = await salvage(log.disk.clone());
    expect(report.isComplete).toBe(true);
    expect(await contentsOf(result)).toEqual(contentsAfter(log.operations));
  });

  test('ids made later never meet ids that were given out before', async () => {
    const log = await writeSpaceLog(2, 30);
    const { result } = await salvage(log.disk.clone());
    const epochs = framesOf(log.disk).map(({ header }) => header.epoch);
    const later = framesOf(result).map(({ header }) => header.epoch);
    expect(Math.min(...later)).toBeGreaterThan(Math.max(...epochs) + 65_536);
    expect(new Set(framesOf(result).map(({ header }) => header.spaceId))).toEqual(
      new Set(framesOf(log.disk).map(({ header }) => header.spaceId)),
    );
  });

  test('with any one frame lost keeps every other batch', async () => {
    const log = await writeSpaceLog(3, 14);
    const prng = new Prng(33);
    const last = log.frames.findLastIndex(({ header }) => header.kind === 'data');
    expect(log.frames.length).toBeGreaterThan(30);
    for (const [i, frame] of log.frames.entries()) {
      const disk = log.disk.clone();
      damage(disk, frame, prng);
      const { report, result, text } = await salvage(disk);
      const what = `frame ${i} (${frame.header.kind}) at ${frame.path} ${frame.offset}`;
      expect(await contentsOf(result), what).toEqual(contentsAfter(survivors(log, [frame])));
      if (i >= last || frame.header.pos >= (log.frames[last]?.header.pos ?? 0)) continue;
      expect(report.isComplete, what).toBe(false);
      expect(text, what).toContain(`${frame.path}: offset ${frame.offset}, ${frame.bytes} bytes`);
      // Without a takeover nobody knows how many batches were before it.
      const lost = frame.header.kind === 'preamble' ? 0 : 1;
      if (frame.header.kind !== 'takeover') expect(text, what).toContain(`batches in them: ${lost}\n`);
    }
  });

  test.each([4, 5, 6])('with several holes, seed %i, keeps what is between them', async (seed) => {
    const log = await writeSpaceLog(seed, 40);
    const prng = new Prng(seed * 31);
    for (let run = 0; run < 8; run++) {
      const disk = log.disk.clone();
      const lost = log.frames.filter(() => prng.oneIn(10));
      for (const frame of lost) damage(disk, frame, prng);
      const { result } = await salvage(disk);
      expect(await contentsOf(result), `run ${run}`).toEqual(contentsAfter(survivors(log, lost)));
    }
  });

  test('with a segment missing, also the first', async () => {
    const log = await writeSpaceLog(8, 40);
    const numbers = new Set(log.frames.map(({ path }) => Number.parseInt(path.slice(-16, -4), 16)));
    expect(numbers.size).toBeGreaterThan(4);
    for (const number of numbers) {
      const disk = log.disk.clone();
      disk.remove(segmentPath(number));
      const lost = log.frames.filter(({ path }) => path === segmentPath(number));
      const { report, result, text } = await salvage(disk);
      expect(await contentsOf(result), `segment ${number}`).toEqual(contentsAfter(survivors(log, lost)));
      if (number === Math.max(...numbers)) continue;
      expect(report.isComplete).toBe(false);
      expect(text).toContain(`${segmentPath(number)}: the file is missing`);
    }
  });

  test('reads around blocks that the disk does not give any more', async () => {
    const log = await writeSpaceLog(9, 30);
    const frame = log.frames.find(({ header, offset }) => header.kind === 'data' && offset > 8192);
    if (frame === undefined) throw new Error('no frame');
    const disk = log.disk.clone();
    const block = Math.floor(frame.offset / 4096) * 4096;
    const inBlock = log.frames.filter(
      ({ path, offset, bytes }) => path === frame.path && offset < block + 4096 && offset + bytes > block,
    );
    const report = await salvageSpace(SPACE, INTO, { io: new BadBlock(disk, frame.path, block) });
    expect(report.text()).toContain(`${frame.path}: offset ${block}, 4096 bytes cannot be read: EIO`);
    const result = new MemoryDisk();
    for (const path of disk.files().filter((name) => name.startsWith(`${INTO}/`)))
      result.replace(path.replace(INTO, DIR), disk.read(path));
    expect(await contentsOf(result)).toEqual(contentsAfter(survivors(log, inBlock)));
  });

  test('says which messages may come twice, and which lost ones are known', async () => {
    const log = await writeSpaceLog(12, 40);
    // The last batch that put two messages in a row of a later life: everything before it may come twice.
    const take = log.operations.findLast(({ kind }) => kind === 'take');
    const put = log.operations.find(({ kind, frames }) => kind === 'put' && frames.length > 1);
    if (take === undefined || put === undefined) throw new Error('the seed has no such operations');
    const disk = log.disk.clone();
    for (const frame of log.frames) {
      if (take.frames.includes(frame.header.pos) || frame.header.pos === put.frames.at(-1))
        zeroFrame(disk, frame);
    }
    const { text } = await salvage(disk);
    expect(text).toMatch(/possibly delivered before: \d+ messages/);
    expect(text).toMatch(
      /Messages of lost batches that are known by name: 1\n {2}[0-9a-f]{32} on (ONE|TWO) \(incomplete\)/,
    );
  });

  test('brings back definitions that only the lost part held', async () => {
    const log = await writeSpaceLog(11, 40);
    const first = log.operations[0]?.frames[0] ?? 0;
    const defining = log.frames.filter(({ header }) => header.pos < first);
    const disk = log.disk.clone();
    for (const frame of defining) zeroFrame(disk, frame);
    const { result } = await salvage(disk);
    expect(await contentsOf(result)).toEqual(contentsAfter(log.operations));
  });

  test('leaves a message out whose own checksum differs, and says which', async () => {
    const log = await writeSpaceLog(12, 30);
    const put = log.operations.find(({ kind, frames, keys }) => {
      return (
        kind === 'put' &&
        frames.length === 1 &&
        contentsAfter(log.operations)
          .get('ONE')
          ?.includes(keys[0] ?? '')
      );
    });
    const frame = log.frames.find(({ header }) => header.pos === put?.frames[0]);
    if (put === undefined || frame === undefined) throw new Error('the seed has no such operation');
    const disk = log.disk.clone();
    patch(disk, frame.path, (bytes) => {
      const inner = bytes.subarray(frame.offset, frame.offset + frame.bytes);
      inner[frame.bytes - 16] = (inner[frame.bytes - 16] ?? 0) ^ 1;
      reseal(inner);
    });
    const { text, result } = await salvage(disk);
    expect(text).toMatch(/damaged records, left out: 1\n.*its own CRC-32 differs \(message [0-9a-f]{32}\)/);
    expect(await contentsOf(result)).toEqual(contentsAfter(log.operations.filter((one) => one !== put)));
  });

  test('refuses a directory that is not empty, a newer format, and a log with nothing in it', async () => {
    const log = await writeSpaceLog(13, 5);
    const used = log.disk.clone();
    used.replace(`${INTO}/note`, new Uint8Array(1));
    await expect(salvageSpace(SPACE, INTO, { io: new FaultyFileIo(used) })).rejects.toThrow(TargetError);
    const newer = log.disk.clone();
    const frame = log.frames[5];
    if (frame === undefined) throw new Error('no frame');
    patch(newer, frame.path, (bytes) => {
      bytes[frame.offset + 7] = 2;
      reseal(bytes.subarray(frame.offset, frame.offset + frame.bytes));
    });
    const refused = salvageSpace(SPACE, INTO, { io: new FaultyFileIo(newer) });
    await expect(refused).rejects.toThrow(/format version 2 at offset \d+, this program reads 1/);
    const empty = log.disk.clone();
    for (const one of log.frames) zeroFrame(empty, one);
    await expect(salvageSpace(SPACE, INTO, { io: new FaultyFileIo(empty) })).rejects.toThrow(SalvageError);
    for (const disk of [newer, empty])
      expect(disk.files().filter((path) => path.startsWith(INTO))).toEqual([]);
  });

  test('that is cut short leaves nothing that opens', async () => {
    const log = await writeSpaceLog(14, 20);
    const whole = new FaultyFileIo(log.disk.clone());
    await salvageSpace(SPACE, INTO, { io: whole });
    const calls = whole.log.flatMap((name, i) =>
      /pwrite|fdatasync|rename|fsyncDir|open/.test(name) ? [i + 1] : [],
    );
    const verified = whole.log.lastIndexOf('pwrite') + 1;
    let refused = 0;
    for (const nth of calls.filter((n) => n < verified && n > verified - 40)) {
      const disk = log.disk.clone();
      const io = new FaultyFileIo(disk);
      io.faults = ({ n }) => (n >= nth ? 'ENOSPC' : null);
      await expect(salvageSpace(SPACE, INTO, { io })).rejects.toThrow();
      const result = new MemoryDisk();
      for (const path of disk.files().filter((name) => name.startsWith(`${INTO}/`)))
        result.replace(path.replace(INTO, DIR), disk.read(path));
      const opened = await contentsOf(result).catch(() => 'refused' as const);
      // It may be whole already: only names and the report come last.
      if (opened !== 'refused') expect(opened).toEqual(contentsAfter(log.operations));
      else refused++;
    }
    expect(refused).toBeGreaterThan(10);
  });
});

/** Reads that touch one block of one file fail. */
class BadBlock extends FaultyFileIo {
  private readonly path: string;
  private readonly block: number;
  private readonly bad = new Set<number>();

  constructor(disk: MemoryDisk, path: string, block: number) {
    super(disk);
    this.path = path;
    this.block = block;
  }

  override open(path: string, mode: 'read' | 'write' | 'create' | 'ensure'): number {
    const fd = super.open(path, mode);
    // The number may have been another file's before.
    if (path === this.path) this.bad.add(fd);
    else this.bad.delete(fd);
    return fd;
  }

  override async pread(fd: number, into: Uint8Array, position: number): Promise<number> {
    const touches = position < this.block + 4096 && position + into.length > this.block;
    if (this.bad.has(fd) && touches) throw Object.assign(new Error('EIO: bad block'), { code: 'EIO' });
    return super.pread(fd, into, position);
  }
}
