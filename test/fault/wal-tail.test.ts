// What stands behind the log's end: torn tails are cut and reported, damage in the middle is refused without touching a byte, stale bytes
// and look-alikes are neither.

import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { LogError } from '../../src/wal/log-store.ts';
import { FaultyFileIo, MemoryDisk } from './faulty-file-io.ts';
import { framesOf, patch, reseal, segmentPath, zeroFrame } from './frames.ts';
import type { FoundFrame } from './frames.ts';
import { Ledger, SEGMENT } from './ledger.ts';

interface Written {
  readonly disk: MemoryDisk;
  readonly ledger: Ledger;
  readonly frames: FoundFrame[];
}

async function write(sizes: readonly number[]): Promise<Written> {
  const disk = new MemoryDisk();
  const ledger = new Ledger();
  const { log, writer } = await ledger.reopen(new FaultyFileIo(disk));
  for (const bytes of sizes) await ledger.append(writer, bytes);
  await log.close();
  return { disk, ledger, frames: framesOf(disk) };
}

function lastFrame(written: Written): FoundFrame {
  const frame = written.frames.at(-1);
  if (frame === undefined) throw new Error('no frame');
  return frame;
}

function forget(ledger: Ledger, batches: number): void {
  ledger.acknowledged -= batches;
}

/** Opens, checks, appends, and opens once more. */
async function goesOn(disk: MemoryDisk, ledger: Ledger): Promise<Awaited<ReturnType<Ledger['reopen']>>> {
  const opened = await ledger.reopen(new FaultyFileIo(disk));
  await ledger.append(opened.writer, 300);
  await ledger.append(opened.writer, 50_000);
  await opened.log.close();
  const again = await ledger.reopen(new FaultyFileIo(disk));
  expect(again.writer.tornTail).toBeNull();
  await again.log.close();
  return opened;
}

async function isCorrupt(
  disk: MemoryDisk,
  ledger: Ledger,
  place: { path: string; offset: number },
): Promise<void> {
  const before = disk.snapshot();
  const error: unknown = await ledger.reopen(new FaultyFileIo(disk)).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(LogError);
  expect(error).toMatchObject({ kind: 'Corrupt', message: expect.stringContaining(place.path) });
  expect(error).toMatchObject({ message: expect.stringContaining(`offset ${place.offset}`) });
  expect(disk.snapshot()).toEqual(before);
}

describe('a torn tail', () => {
  test('at every length from 1 to 200: cut at the last whole batch, reported with file, offset and bytes', async () => {
    // The payload is 8-aligned, so that the frame ends with a byte that is not zero.
    const written = await write([500, 700, 708]);
    const last = lastFrame(written);
    for (let cut = 1; cut <= 200; cut++) {
      const disk = written.disk.clone();
      patch(disk, last.path, (bytes) => {
        bytes.fill(0, last.offset + last.bytes - cut, last.offset + last.bytes);
      });
      const ledger = new Ledger();
      ledger.entries = written.ledger.entries.slice();
      ledger.acknowledged = 2;
      const { writer, batches } = await goesOn(disk, ledger);
      expect(batches).toBe(2);
      expect(writer.tornTail).toMatchObject({ file: last.path, offset: last.offset });
      expect(writer.tornTail?.bytes).toBeGreaterThan(last.bytes - cut - 8);
      expect(writer.tornTail?.bytes).toBeLessThanOrEqual(last.bytes);
    }
  });

  test('a file that is 1 to 200 bytes short of its last batch is cut and made whole', async () => {
    const written = await write([500, 700, 708]);
    const last = lastFrame(written);
    for (let cut = 1; cut <= 200; cut += 3) {
      const disk = written.disk.clone();
      patch(disk, last.path, (bytes) => bytes.slice(0, last.offset + last.bytes - cut));
      const ledger = new Ledger();
      ledger.entries = written.ledger.entries.slice();
      ledger.acknowledged = 2;
      const { batches } = await goesOn(disk, ledger);
      expect(batches).toBe(2);
      expect(disk.read(last.path).length).toBe(SEGMENT);
    }
  });

  test('random bytes behind the last batch, and behind the end of the file', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const written = await write([500, 700, 703]);
      const last = lastFrame(written);
      const noise = new Prng(seed).bytes(1024);
      patch(written.disk, last.path, (bytes) => {
        bytes.set(noise, last.offset + last.bytes);
        return seed % 2 === 0 ? Buffer.concat([bytes, noise]) : bytes;
      });
      const { batches, writer } = await goesOn(written.disk, written.ledger);
      expect(batches).toBe(3);
      expect(writer.tornTail).toMatchObject({
        file: last.path,
        offset: last.offset + last.bytes,
        bytes: 1024,
      });
      expect(written.disk.read(last.path).length).toBe(SEGMENT);
    }
  });

  test('a batch of several frames is cut whole, whichever frame is torn', async () => {
    const written = await write([500, 200_000]);
    const pieces = written.frames.filter((frame) => frame.header.batchNumber === 2);
    expect(pieces.length).toBeGreaterThan(5);
    for (const piece of pieces) {
      const disk = written.disk.clone();
      patch(disk, piece.path, (bytes) => {
        bytes.fill(0, piece.offset + piece.bytes - 60, piece.offset + piece.bytes);
        bytes[piece.offset + 50] = 0xff;
      });
      const ledger = new Ledger();
      ledger.entries = written.ledger.entries.slice();
      ledger.acknowledged = 1;
      const { batches, writer } = await goesOn(disk, ledger);
      expect(batches).toBe(1);
      expect(writer.tornTail).not.toBeNull();
    }
  });

  test('any set of the frames of the last batch may be missing', async () => {
    const written = await write([500, 200_000]);
    const pieces = written.frames.filter((frame) => frame.header.batchNumber === 2);
    for (let set = 1; set < 2 ** pieces.length; set++) {
      const disk = written.disk.clone();
      for (const [i, piece] of pieces.entries()) if ((set & (1 << i)) !== 0) zeroFrame(disk, piece);
      const ledger = new Ledger();
      ledger.entries = written.ledger.entries.slice();
      ledger.acknowledged = 1;
      const { batches } = await ledger.reopen(new FaultyFileIo(disk)).then(async (opened) => {
        await opened.log.close();
        return opened;
      });
      expect(batches).toBe(1);
    }
  });

  test('the first takeover may be torn in every way', async () => {
    const written = await write([]);
    for (const lost of [[0], [1], [0, 1]]) {
      const disk = written.disk.clone();
      for (const index of lost) zeroFrame(disk, written.frames[index] ?? lastFrame(written));
      await goesOn(disk, new Ledger());
    }
  });

  test('a takeover that opens a segment may be torn in every way', async () => {
    const disk = new MemoryDisk();
    const ledger = new Ledger();
    const first = await ledger.reopen(new FaultyFileIo(disk));
    // Leaves no room for another takeover in the first segment.
    await ledger.append(first.writer, SEGMENT - 104 - 104 - 24 - 104 - 40);
    await first.log.close();
    const second = await ledger.reopen(new FaultyFileIo(disk));
    await second.log.close();
    const frames = framesOf(disk).filter((frame) => frame.path === segmentPath(2));
    expect(frames.map((frame) => frame.header.kind)).toEqual(['preamble', 'takeover']);
    for (const lost of [[0], [1], [0, 1]]) {
      const torn = disk.clone();
      for (const index of lost) zeroFrame(torn, frames[index] ?? lastFrame({ disk, ledger, frames }));
      await goesOn(torn, ledger);
      ledger.entries = ledger.entries.slice(0, 1);
      ledger.acknowledged = 1;
    }
  });
});

describe('damage in the middle', () => {
  const SIZES = [300, 40_000, 300, 30_000, 300, 150_000, 300, 300];

  test('a frame that is zeroed is refused and no byte is changed', async () => {
    const written = await write(SIZES);
    // All but the last batch: the newest one cannot be told from a torn one.
    const victims = written.frames.filter((frame) => frame.header.batchNumber < SIZES.length);
    for (const victim of victims) {
      const disk = written.disk.clone();
      zeroFrame(disk, victim);
      const end = endBefore(written.frames, victim);
      await isCorrupt(disk, written.ledger, end);
    }
  });

  test('a single flipped bit anywhere in a frame is refused', async () => {
    const written = await write(SIZES);
    const prng = new Prng(5);
    const victims = written.frames.filter((frame) => frame.header.batchNumber < SIZES.length);
    for (let run = 0; run < 150; run++) {
      const victim = victims[prng.below(victims.length)] ?? lastFrame(written);
      const disk = written.disk.clone();
      patch(disk, victim.path, (bytes) => {
        const at = victim.offset + prng.below(victim.bytes);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << prng.below(8));
      });
      const before = disk.snapshot();
      await expect(written.ledger.reopen(new FaultyFileIo(disk))).rejects.toMatchObject({ kind: 'Corrupt' });
      expect(disk.snapshot()).toEqual(before);
    }
  });

  test('in a segment far from the end, which only the replay reads', async () => {
    const written = await write(Array.from({ length: 40 }, () => 20_000));
    const victims = written.frames.filter((frame) => frame.header.pos < 6 * SEGMENT);
    for (const victim of victims) {
      const disk = written.disk.clone();
      patch(disk, victim.path, (bytes) => {
        const at = victim.offset + Math.floor(victim.bytes / 2);
        bytes[at] = (bytes[at] ?? 0) ^ 0x10;
      });
      await isCorrupt(disk, written.ledger, endBefore(written.frames, victim));
    }
  });

  test('a takeover that is lost with batches behind it is damage, not a torn tail', async () => {
    const written = await write([300, 300]);
    const { disk, ledger } = written;
    const second = await ledger.reopen(new FaultyFileIo(disk));
    await ledger.append(second.writer, 400);
    await second.log.close();
    const takeover = framesOf(disk).find((frame) => frame.header.pos === second.writer.epoch);
    if (takeover === undefined) throw new Error('no takeover');
    zeroFrame(disk, takeover);
    await isCorrupt(disk, ledger, takeover);
  });

  test('a log of one segment whose first frames are damaged is not taken for a new one', async () => {
    const written = await write([3000]);
    for (const [from, to] of [
      [0, 104],
      [0, 240],
      [0, 600],
    ] as const) {
      const disk = written.disk.clone();
      patch(disk, segmentPath(1), (bytes) => {
        bytes.fill(0x55, from, to);
      });
      const before = disk.snapshot();
      // Another size than the log's: it must be found out.
      const opening = written.ledger.reopen(new FaultyFileIo(disk), { segmentBytes: 8 * SEGMENT });
      await expect(opening).rejects.toMatchObject({
        kind: 'Corrupt',
        message: expect.stringContaining(segmentPath(1)),
      });
      expect(disk.snapshot()).toEqual(before);
    }
  });

  test('a missing segment in the middle', async () => {
    const written = await write(SIZES);
    for (const number of [1, 2, 3]) {
      const disk = written.disk.clone();
      disk.remove(segmentPath(number));
      const before = disk.snapshot();
      await expect(written.ledger.reopen(new FaultyFileIo(disk))).rejects.toMatchObject({ kind: 'Corrupt' });
      expect(disk.snapshot()).toEqual(before);
    }
  });

  test('a front that is missing is not taken for a trimmed one', async () => {
    const { disk, ledger } = await write(SIZES);
    const { log, writer } = await ledger.reopen(new FaultyFileIo(disk));
    await ledger.trim(writer, 4);
    await log.close();
    const first = framesOf(disk)[0];
    expect(first?.path).toBe(segmentPath(2));
    const whole = disk.clone();
    disk.remove(segmentPath(2));
    await expect(ledger.reopen(new FaultyFileIo(disk))).rejects.toMatchObject({ kind: 'Corrupt' });
    // Without the marker the log begins with what is there.
    whole.remove(`${segmentPath(2).slice(0, -4)}.first`);
    await goesOn(whole, ledger);
    expect(whole.files()).toContain(`${segmentPath(2).slice(0, -4)}.first`);
  });

  test('the log of a newer program is refused, not cut', async () => {
    const written = await write([300, 300]);
    for (const frame of written.frames) {
      const disk = written.disk.clone();
      patch(disk, frame.path, (bytes) => {
        bytes[frame.offset + 7] = 2;
        reseal(bytes.subarray(frame.offset, frame.offset + frame.bytes));
      });
      const before = disk.snapshot();
      const opening = written.ledger.reopen(new FaultyFileIo(disk));
      await expect(opening).rejects.toMatchObject({
        kind: 'Corrupt',
        message: expect.stringContaining('format version 2'),
      });
      expect(disk.snapshot()).toEqual(before);
    }
  });
});

describe('neither', () => {
  test('an empty, short or missing newest segment: what is before it is there', async () => {
    const written = await write([300, 40_000, 300]);
    const prepared = segmentPath(4);
    const change: ((disk: MemoryDisk) => void)[] = [
      (disk) => disk.replace(prepared, new Uint8Array(0)),
      (disk) => disk.replace(prepared, new Uint8Array(1000)),
      (disk) => disk.remove(prepared),
      (disk) => disk.replace(`${segmentPath(9)}.tmp`, new Uint8Array(5000)),
      (disk) => disk.replace(segmentPath(9), new Uint8Array(SEGMENT)),
    ];
    for (const apply of change) {
      const disk = written.disk.clone();
      apply(disk);
      const { batches } = await goesOn(disk, written.ledger);
      expect(batches).toBe(3);
      expect(disk.files().filter((path) => path.endsWith('.tmp'))).toEqual([]);
      expect(disk.files()).not.toContain(segmentPath(9));
      written.ledger.entries = written.ledger.entries.slice(0, 3);
      written.ledger.acknowledged = 3;
    }
  });

  test('the segment of the last batches is empty or gone: the log ends before it', async () => {
    for (const empty of [true, false]) {
      const written = await write([300, 40_000, 30_000, 300]);
      const last = lastFrame(written);
      expect(last.path).toBe(segmentPath(2));
      if (empty) written.disk.replace(last.path, new Uint8Array(0));
      else written.disk.remove(last.path);
      forget(written.ledger, 2);
      const { batches } = await goesOn(written.disk, written.ledger);
      expect(batches).toBe(2);
    }
  });

  test('the only segment is empty: the log begins anew', async () => {
    const written = await write([300]);
    written.disk.replace(segmentPath(1), new Uint8Array(0));
    forget(written.ledger, 1);
    const { batches } = await goesOn(written.disk, written.ledger);
    expect(batches).toBe(0);
  });

  test('stale frames of recycled segments, after a stop and after a tear', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const prng = new Prng(seed);
      const disk = new MemoryDisk();
      const ledger = new Ledger();
      const { log, writer } = await ledger.reopen(new FaultyFileIo(disk));
      for (let i = 0; i < 60; i++) {
        await ledger.append(writer, prng.between(100, 20_000));
        if (i % 3 === 2) await ledger.trim(writer, ledger.entries.length - 1);
      }
      await log.close();
      const last = framesOf(disk)
        .filter((frame) => frame.header.kind === 'data')
        .at(-1);
      if (last === undefined) throw new Error('no frame');
      const torn = seed % 2 === 0;
      if (torn) {
        forget(ledger, 1);
        patch(disk, last.path, (bytes) => {
          bytes.fill(0xee, last.offset + 110, last.offset + 120);
        });
      }
      const { writer: next } = await goesOn(disk, ledger);
      // A batch right behind its segment's preamble takes that with it.
      const offset = last.offset > 120 ? last.offset : 0;
      if (torn) expect(next.tornTail).toMatchObject({ file: last.path, offset });
      else expect(next.tornTail).toBeNull();
    }
  });

  test('frames hidden in the body of a torn batch', async () => {
    const disk = new MemoryDisk();
    const ledger = new Ledger();
    const { log, writer } = await ledger.reopen(new FaultyFileIo(disk));
    await ledger.append(writer, 400);
    const real = framesOf(disk).at(-1);
    if (real === undefined) throw new Error('no frame');
    const original = disk.read(real.path).slice(real.offset, real.offset + real.bytes);
    const bodyAt = real.header.pos + real.bytes + 104 + 4;
    const start = Math.ceil(bodyAt / 8) * 8;
    const copies: Uint8Array[] = [new Uint8Array(start - bodyAt), original];
    // A forger knows the position, the space id and the epoch, which are in every msgid, but not the log's key.
    for (const epochShift of [0, 8]) {
      const forged = original.slice();
      const view = new DataView(forged.buffer);
      view.setFloat64(
        8,
        start + original.length + copies.slice(2).reduce((sum, copy) => sum + copy.length, 0),
        true,
      );
      view.setUint32(16, 12345, true);
      view.setFloat64(32, real.header.epoch + epochShift, true);
      view.setFloat64(40, 99, true);
      copies.push(reseal(forged));
    }
    const body = Buffer.concat(copies);
    await writer.append({ bytes: [body], starts: new Uint32Array(1), count: 1 }, { space: 9, wall: 9 })
      .durable;
    await log.close();
    const frame = framesOf(disk).at(-1);
    if (frame === undefined) throw new Error('no frame');
    patch(disk, frame.path, (bytes) => {
      bytes.fill(0, frame.offset, frame.offset + 64);
    });
    const { batches, writer: next } = await goesOn(disk, ledger);
    expect(batches).toBe(1);
    expect(next.tornTail).toMatchObject({ file: frame.path, offset: frame.offset });
  });
});

/** Where the chain breaks when `victim` is lost: behind the frame before it. */
function endBefore(frames: readonly FoundFrame[], victim: FoundFrame): { path: string; offset: number } {
  const before = frames[frames.indexOf(victim) - 1];
  if (before === undefined) return { path: segmentPath(1), offset: 0 };
  const end = before.offset + before.bytes;
  return end === SEGMENT ? victim : { path: before.path, offset: end };
}
