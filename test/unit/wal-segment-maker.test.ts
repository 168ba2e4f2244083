// How a segment comes to be: written with zeros, or only set aside when the log has no time for zeros; whole under its name or not there.
import { describe, expect, test } from 'vitest';
import { SegmentMaker } from '../../src/wal/local/segment-maker.ts';
import { SegmentFiles } from '../../src/wal/local/segment.ts';
import { Prng } from '../../src/base/prng.ts';
import { FaultyFileIo, MemoryDisk } from '../fault/faulty-file-io.ts';
import { ManualClock } from '../support/manual-clock.ts';

const BYTES = 8 * 1024 * 1024;

class Bench {
  readonly disk = new MemoryDisk();
  readonly io = new FaultyFileIo(this.disk);
  readonly files: SegmentFiles;
  readonly asked: string[] = [];
  readonly maker: SegmentMaker;
  pressed = false;
  written = 0;

  constructor(can: boolean) {
    const { io } = this;
    const pwrite = io.pwrite.bind(io);
    io.pwrite = async (fd, bytes, position) => {
      this.written += bytes.length;
      this.pressed = true;
      return await pwrite(fd, bytes, position);
    };
    void io.mkdir('/d/log');
    this.files = new SegmentFiles(io, '/d/log');
    this.maker = new SegmentMaker({
      files: this.files,
      segmentBytes: BYTES,
      clock: new ManualClock(),
      allocate: async (path, bytes) => {
        this.asked.push(path);
        if (can) this.io.pwriteSync(this.files.open(path, 'write'), new Uint8Array(bytes), 0);
        return can;
      },
      isPressed: () => this.pressed,
      isClosed: () => false,
    });
  }

  /** What is there after the power went. */
  after(seed: number): [string, number][] {
    this.disk.crash(new Prng(seed));
    return this.disk.files().map((path) => [path, this.disk.read(path).length]);
  }
}

describe('a segment', () => {
  test('is set aside at once when there is no time for zeros, and is durable', async () => {
    const bench = new Bench(true);
    bench.pressed = true;
    await bench.maker.make(1);
    expect(bench.written).toBe(0);
    expect(bench.maker.zerosMs).toBe(0);
    expect(bench.after(1)).toEqual([[bench.files.path(1), BYTES]]);
  });

  test('goes from zeros to setting aside when time runs out', async () => {
    const bench = new Bench(true);
    await bench.maker.make(1);
    expect(bench.written).toBeGreaterThan(0);
    expect(bench.written).toBeLessThan(BYTES);
    expect(bench.asked).toHaveLength(1);
    expect(bench.after(1)).toEqual([[bench.files.path(1), BYTES]]);
  });

  test('is written with zeros where the system cannot set space aside, which is asked once', async () => {
    const bench = new Bench(false);
    bench.pressed = true;
    await bench.maker.make(1);
    expect(bench.written).toBe(BYTES);
    expect(bench.asked).toHaveLength(1);
  });

  test('that fails leaves nothing, and its error', async () => {
    const bench = new Bench(true);
    bench.pressed = true;
    bench.io.faults = ({ name }) => (name === 'rename' ? 'EIO' : null);
    await expect(bench.maker.make(1)).rejects.toThrow(/EIO/u);
    expect(bench.disk.files()).toEqual([]);
  });
});
