// Segments ahead of need: how many there are, what room they give, what a full disk does, how old ones come back.

import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import type { RecordGroup } from '../../src/wal/log-store.ts';
import { FaultyFileIo, MemoryDisk } from '../fault/faulty-file-io.ts';
import type { FaultKind } from '../fault/faulty-file-io.ts';
import { segmentPath } from '../fault/frames.ts';
import { Ledger, SEGMENT, openOn } from '../fault/ledger.ts';
import type { Opened } from '../fault/ledger.ts';

function segments(disk: MemoryDisk): string[] {
  return disk.files().filter((path) => path.endsWith('.log'));
}

async function quiet({ writer }: Opened): Promise<void> {
  for (let coming = writer.roomComing(); coming !== null; coming = writer.roomComing()) await coming;
}

async function opened(io: FaultyFileIo, limitBytes?: number): Promise<{ ledger: Ledger; open: Opened }> {
  const ledger = new Ledger();
  const open = await ledger.reopen(io, limitBytes === undefined ? {} : { limitBytes });
  await quiet(open);
  return { ledger, open };
}

/** A disk that takes so many segments and no more. */
function smallDisk(disk: MemoryDisk, most: { segments: number }): FaultyFileIo {
  const io = new FaultyFileIo(disk);
  io.faults = ({ creates }): FaultKind | null => {
    const files = disk.files().filter((path) => !path.endsWith('.first')).length;
    return creates && files >= most.segments ? 'ENOSPC' : null;
  };
  return io;
}

describe('the quiet state', () => {
  test('an empty log has its segment and two prepared ones, and room for one', async () => {
    const io = new FaultyFileIo(new MemoryDisk());
    const { open } = await opened(io);
    expect(segments(io.disk)).toEqual([1, 2, 3].map(segmentPath));
    const { room, bytes } = open.log.stat();
    expect(bytes).toBe(3 * SEGMENT);
    expect(room).toBeGreaterThan(SEGMENT);
    expect(room).toBeLessThan(2 * SEGMENT);
    await open.log.close();
  });

  test('a prepared segment is whole on the disk before it counts', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const io = new FaultyFileIo(new MemoryDisk());
      const { open } = await opened(io);
      io.disk.crash(new Prng(seed));
      expect(segments(io.disk)).toEqual([1, 2, 3].map(segmentPath));
      for (const path of segments(io.disk)) expect(io.disk.read(path).length).toBe(SEGMENT);
      await open.log.close();
    }
  });

  test('a restart finds the prepared segments again and makes no others', async () => {
    const io = new FaultyFileIo(new MemoryDisk());
    const { ledger, open } = await opened(io);
    await open.log.close();
    for (let i = 0; i < 5; i++) {
      const again = await ledger.reopen(new FaultyFileIo(io.disk));
      await quiet(again);
      await again.log.close();
    }
    expect(segments(io.disk)).toEqual([1, 2, 3].map(segmentPath));
  });

  test('what was prepared for a burst goes when it is quiet again', async () => {
    const io = new FaultyFileIo(new MemoryDisk());
    const { open } = await opened(io);
    expect(open.writer.reserve(10 * SEGMENT)).toBe(false);
    await quiet(open);
    expect(open.writer.reserve(10 * SEGMENT)).toBe(true);
    expect(segments(io.disk).length).toBeGreaterThan(11);
    open.clock.advance(20_000);
    await quiet(open);
    expect(segments(io.disk).length).toBeGreaterThan(11);
    open.writer.release(10 * SEGMENT);
    for (let i = 0; i < 4; i++) {
      open.clock.advance(20_000);
      await quiet(open);
    }
    expect(segments(io.disk).length).toBeLessThanOrEqual(4);
    await open.log.close();
    expect(open.clock.timers).toBe(0);
  });
});

/** A log that appends `perSegmentMs` apart what fills a segment; how many of its further segments were set aside. */
async function setAside(perSegmentMs: number): Promise<{ asked: number; made: number }> {
  const io = new FaultyFileIo(new MemoryDisk());
  const ledger = new Ledger();
  let asked = 0;
  const open = await ledger.reopen(io, {
    allocate: async (path, bytes) => {
      asked++;
      const fd = io.open(path, 'write');
      io.pwriteSync(fd, new Uint8Array(bytes), 0);
      io.close(fd);
      return await Promise.resolve(true);
    },
  });
  // What writing zeros to one takes.
  const pwrite = io.pwrite.bind(io);
  io.pwrite = async (fd, bytes, position) => {
    open.clock.advance(100);
    return await pwrite(fd, bytes, position);
  };
  await quiet(open);
  const before = segments(io.disk).length;
  const isSaid = asked;
  for (let i = 0; i < 30; i++) {
    await ledger.append(open.writer, SEGMENT / 4);
    await quiet(open);
    open.clock.advance(perSegmentMs / 4);
  }
  await open.log.close();
  return { asked: asked - isSaid, made: segments(io.disk).length - before };
}

describe('segments are set aside instead of written', () => {
  test('where the log uses them up nearly as fast as zeros can be written', async () => {
    const { asked, made } = await setAside(200);
    expect(made).toBeGreaterThan(6);
    expect(asked).toBeGreaterThan(made - 4);
  });

  test('and not where it has the time', async () => {
    const { asked, made } = await setAside(20_000);
    expect(made).toBeGreaterThan(6);
    expect(asked).toBe(0);
  });
});

describe('room', () => {
  test('what is reserved can be appended, also when it comes as single records', async () => {
    for (const size of [40, 300, 5000, 30_000]) {
      const io = new FaultyFileIo(new MemoryDisk());
      const { ledger, open } = await opened(io, 6 * SEGMENT);
      const { recordOverheadBytes } = open.log.describe();
      let reserved = 0;
      while (open.writer.reserve(size + recordOverheadBytes)) reserved++;
      expect(reserved).toBeGreaterThan(0);
      io.faults = ({ creates }) => (creates ? 'ENOSPC' : null);
      for (let i = 0; i < reserved; i++) {
        const append = ledger.append(open.writer, size);
        open.writer.release(size + recordOverheadBytes);
        await append;
      }
      await open.log.close();
    }
  });

  test('a limit on the log is kept', async () => {
    const io = new FaultyFileIo(new MemoryDisk());
    const { ledger, open } = await opened(io, 8 * SEGMENT);
    let appended = 0;
    for (let waits = 0; waits < 200; waits++) {
      if (open.writer.reserve(20_120)) {
        await ledger.append(open.writer, 20_000);
        open.writer.release(20_120);
        appended++;
      } else {
        const coming = open.writer.roomComing();
        if (coming === null) break;
        await coming;
      }
      expect(segments(io.disk).length).toBeLessThanOrEqual(8);
    }
    expect(appended).toBeGreaterThan(15);
    expect(open.log.stat().bytes).toBeLessThanOrEqual(8 * SEGMENT);
    await open.log.close();
  });

  test('a request beyond all measure is refused and prepares nothing', async () => {
    const io = new FaultyFileIo(new MemoryDisk());
    const { open } = await opened(io);
    expect(open.writer.reserve(2 ** 40)).toBe(false);
    expect(open.writer.roomComing()).toBeNull();
    await open.log.close();
  });
});

describe('a full disk', () => {
  test('only lowers the room; a trim brings it back at once', async () => {
    const disk = new MemoryDisk();
    const io = smallDisk(disk, { segments: 6 });
    const { ledger, open } = await opened(io);
    for (;;) {
      if (open.writer.reserve(20_120)) {
        await ledger.append(open.writer, 20_000);
        open.writer.release(20_120);
        continue;
      }
      const coming = open.writer.roomComing();
      if (coming === null) break;
      await coming;
    }
    expect(open.log.stat().engineHealthy).toBe(true);
    expect(open.writer.reserve(20_120)).toBe(false);
    // The segment that is kept back still takes what has to be appended.
    await ledger.append(open.writer, 20_000);
    await ledger.trim(open.writer, ledger.entries.length - 1);
    await quiet(open);
    expect(open.writer.reserve(20_120)).toBe(true);
    await open.log.close();
    const again = await ledger.reopen(new FaultyFileIo(disk));
    await again.log.close();
  });

  test('without a segment to keep back nothing is given away', async () => {
    const { ledger, open } = await opened(smallDisk(new MemoryDisk(), { segments: 1 }));
    expect(open.log.stat().room).toBe(0);
    expect(open.writer.reserve(1)).toBe(false);
    await ledger.append(open.writer, 1000);
    await open.log.close();
  });

  test('is tried again by the clock', async () => {
    const most = { segments: 2 };
    const io = smallDisk(new MemoryDisk(), most);
    const { open } = await opened(io);
    expect(segments(io.disk)).toHaveLength(2);
    // One is kept back, so only the rest of the current one is given.
    expect(open.log.stat().room).toBeLessThan(SEGMENT);
    expect(open.writer.reserve(SEGMENT)).toBe(false);
    expect(open.writer.roomComing()).toBeNull();
    most.segments = 10;
    open.clock.advance(6000);
    await quiet(open);
    expect(open.writer.reserve(SEGMENT)).toBe(true);
    await open.log.close();
  });

  test('an append that finds no segment waits for one, is readable meanwhile, and nothing is lost', async () => {
    const disk = new MemoryDisk();
    const most = { segments: 2 };
    const { ledger, open } = await opened(smallDisk(disk, most));
    await ledger.append(open.writer, 40_000);
    await ledger.append(open.writer, 40_000);
    const waiting = ledger.append(open.writer, 40_000);
    let settled = false;
    void waiting.then(() => {
      settled = true;
    });
    await new Promise(setImmediate);
    await ledger.readBack(open.writer, 2);
    expect(settled).toBe(false);
    expect(open.writer.reserve(1)).toBe(false);
    most.segments = 10;
    open.clock.advance(6000);
    await waiting;
    for (let i = 0; i < 5; i++) await ledger.append(open.writer, 40_000);
    await open.log.close();
    const again = await ledger.reopen(new FaultyFileIo(disk));
    expect(again.batches).toBe(8);
    await again.log.close();
  });

  test('what waits keeps its bytes, whatever is read meanwhile', async () => {
    const disk = new MemoryDisk();
    const ledger = new Ledger();
    const first = await ledger.reopen(new FaultyFileIo(disk));
    for (let i = 0; i < 10; i++) await ledger.append(first.writer, 40_000);
    await first.log.close();
    const most = { segments: segments(disk).length };
    // Four pages, fewer than are asked for below.
    const open = await ledger.reopen(smallDisk(disk, most), { cacheBytes: 1024 * 1024 });
    const waiting = ledger.append(open.writer, 220_000);
    for (let i = 0; i < 10; i++) await ledger.readBack(open.writer, i);
    expect(open.writer.cached(ledger.entries[10]?.ref ?? 0, 0, 60_000)).toBeNull();
    most.segments = 30;
    open.clock.advance(6000);
    await waiting;
    await ledger.readBack(open.writer, 10);
    await open.log.close();
    const again = await ledger.reopen(new FaultyFileIo(disk));
    expect(again.batches).toBe(11);
    await again.log.close();
  });

  test('a close gives up an append that waits for a segment', async () => {
    const disk = new MemoryDisk();
    const { ledger, open } = await opened(smallDisk(disk, { segments: 2 }));
    await ledger.append(open.writer, 40_000);
    await ledger.append(open.writer, 40_000);
    const waiting = ledger.append(open.writer, 150_000);
    const reading = open.writer.read(ledger.entries[2]?.ref ?? 0, 0, 150_000);
    await new Promise(setImmediate);
    await open.log.close();
    await expect(waiting).rejects.toMatchObject({ kind: 'Unavailable' });
    await reading.catch(() => {});
    const again = await ledger.reopen(new FaultyFileIo(disk));
    expect(again.batches).toBe(2);
    await again.log.close();
  });

  test('starts on it, with nothing to spare', async () => {
    const disk = new MemoryDisk();
    const { ledger, open } = await opened(new FaultyFileIo(disk));
    for (let i = 0; i < 4; i++) await ledger.append(open.writer, 30_000);
    await open.log.close();
    for (let i = 0; i < 20; i++) {
      const io = new FaultyFileIo(disk);
      io.faults = ({ creates }) => (creates ? 'ENOSPC' : null);
      const again = await ledger.reopen(io);
      await ledger.append(again.writer, 100);
      await ledger.readBack(again.writer, 0);
      await again.log.close();
    }
  });
});

describe('old segments', () => {
  test('are recycled when segments are wanted, else deleted', async () => {
    const io = new FaultyFileIo(new MemoryDisk());
    const { ledger, open } = await opened(io);
    for (let i = 0; i < 60; i++) {
      await ledger.append(open.writer, 20_000);
      if (i % 4 === 3) await ledger.trim(open.writer, ledger.entries.length - 1);
    }
    await quiet(open);
    expect(segments(io.disk).length).toBeLessThanOrEqual(4 + 8);
    expect(io.log.filter((name) => name === 'rename').length).toBeGreaterThan(15);
    await open.log.close();
  });

  test('wait while somebody reads them', async () => {
    const io = new FaultyFileIo(new MemoryDisk());
    const ledger = new Ledger();
    const first = await ledger.reopen(io);
    for (let i = 0; i < 20; i++) await ledger.append(first.writer, 20_000);
    await first.log.close();
    const open = await ledger.reopen(io);
    await quiet(open);
    const release = io.holdReads();
    const reading = ledger.readBack(open.writer, 4);
    await ledger.trim(open.writer, 15);
    expect(segments(io.disk)).not.toContain(segmentPath(1));
    expect(segments(io.disk)).toContain(segmentPath(2));
    release();
    await reading;
    await quiet(open);
    expect(segments(io.disk)).not.toContain(segmentPath(2));
    await open.log.close();
  });

  test('the segment of the last durable batch stays, whatever is asked', async () => {
    const io = new FaultyFileIo(new MemoryDisk());
    const ledger = new Ledger();
    const open = await ledger.reopen(io, { sync: 'worker' });
    await ledger.append(open.writer, 40_000);
    const append = ledger.append(open.writer, 40_000);
    const trim = open.writer.trim(open.writer.nextRef);
    expect(open.log.stat().first).toBe(SEGMENT);
    await append;
    await trim;
    await open.writer.trim(open.writer.nextRef);
    expect(open.log.stat().first).toBe(2 * SEGMENT);
    await open.log.close();
  });

  test('a log never begins where the definitions are missing', async () => {
    const disk = new MemoryDisk();
    const ledger = new Ledger();
    const first = await ledger.reopen(new FaultyFileIo(disk));
    // The next takeover does not fit: it opens a segment whose preamble is bare.
    await ledger.append(first.writer, 1000);
    await ledger.append(first.writer, SEGMENT - 104 - 128 - 1112 - 104 - 60);
    await first.log.close();
    const open = await ledger.reopen(new FaultyFileIo(disk));
    await ledger.append(open.writer, 10);
    await ledger.trim(open.writer, ledger.entries.length - 1);
    expect(segments(disk)).toContain(segmentPath(1));
    while (open.log.stat().last < 4 * SEGMENT) await ledger.append(open.writer, 5000);
    await ledger.trim(open.writer, ledger.entries.length - 1);
    expect(segments(disk)).not.toContain(segmentPath(1));
    await open.log.close();
    const again = await openOn(new FaultyFileIo(disk), {});
    const kinds: string[] = [];
    for await (const batch of again.writer.replay(0)) kinds.push(`${batch.kind} ${batch.records.count}`);
    expect(kinds[0]).toBe('preamble 1');
    await again.log.close();
  });
});

function groupOf(bytes: number): RecordGroup {
  return { bytes: [new Uint8Array(bytes)], starts: new Uint32Array(1), count: 1 };
}

test('what a large batch waits for is not taken back before the batch has entered it', async () => {
  const io = new FaultyFileIo(new MemoryDisk());
  const { open } = await opened(io);
  const { writer } = open;
  const { durable } = writer.append(groupOf(4 * SEGMENT), { space: 0, wall: 0 });
  const end = { reached: false };
  const ended = (): void => {
    end.reached = true;
  };
  durable.then(ended, ended);
  // At every step that the waiting takes the log is told to keep to less.
  for (let i = 0; !end.reached; i++) {
    writer.limitUnits(1);
    await (i % 50 === 49 ? new Promise((resolve) => setImmediate(resolve)) : Promise.resolve());
  }
  await expect(durable).resolves.toBeUndefined();
  await open.log.close();
});

test('nor when all of it was ready before the batch came', async () => {
  const io = new FaultyFileIo(new MemoryDisk());
  const { open } = await opened(io);
  const { writer } = open;
  const time = { space: 0, wall: 0 };
  // Room for more is asked for, so that several segments are ready.
  while (!writer.reserve(4 * SEGMENT)) await writer.roomComing();
  await quiet(open);
  writer.limitUnits(1);
  await quiet(open);
  // As the journal does: the batch's room is given back, and the batch comes in the same turn.
  writer.release(4 * SEGMENT);
  const ready = segments(io.disk).length - 1;
  expect(ready).toBeGreaterThan(2);
  // It ends in the last of them.
  const bytes = Math.floor((ready + 0.3) * SEGMENT);
  await expect(writer.append(groupOf(bytes), time).durable).resolves.toBeUndefined();
  await open.log.close();
});
