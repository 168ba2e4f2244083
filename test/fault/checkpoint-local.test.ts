// Checkpoints as files: a start from one at the very end of the log, from the older one when the newest is damaged in any byte class, from the
// whole log when all are; a log cut off before its checkpoint's end is damage; a checkpoint of a newer version is named with both versions.
import { describe, expect, it } from 'vitest';
import { openSpace } from '../../src/engine/open-space.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import { openLocalLog } from '../../src/wal/local/local-log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { properties, queueAttributes } from '../support/queue-values.ts';
import { FaultyFileIo, MemoryDisk } from './faulty-file-io.ts';
import { patch } from './frames.ts';

const DIR = '/device/space';
const soon = (run: () => void): void => void setImmediate(run);

class Space {
  readonly disk = new MemoryDisk();
  readonly warnings: string[] = [];
  engine!: SpaceEngine;
  io!: FaultyFileIo;
  /** Of the next start. */
  faults: FaultyFileIo['faults'] = () => null;

  async open(): Promise<this> {
    const clock = new ManualClock();
    const warn = (message: string): void => void this.warnings.push(message);
    const ulog = { info: () => {}, warn, error: () => {} };
    const io = new FaultyFileIo(this.disk);
    io.faults = this.faults;
    this.io = io;
    const store = await openLocalLog({ dir: DIR, clock, ulog, io, segmentBytes: 64 * 1024 });
    const ports = { clock, ulog, soon, runCommand: () => {} };
    this.engine = await openSpace(store, new AbortController().signal, ports);
    for (;;) {
      const { later } = this.engine.define({ kind: 'defineQueue', attributes: queueAttributes('Q') });
      if (!later) break;
      await new Promise<void>((resolve) => this.engine.whenRoom(resolve));
    }
    await this.engine.whenDurable();
    return this;
  }

  async put(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const data = Buffer.alloc(200, i);
      const request = { qname: 'Q', properties: properties({}), terms: null, data, work: null };
      for (;;) {
        const { code, later } = this.engine.enqueue(request);
        if (!later) expect(code).toBe(0);
        if (!later) break;
        await new Promise<void>((resolve) => this.engine.whenRoom(resolve));
      }
      if (i % 20 === 19) await this.engine.whenDurable();
    }
    await this.engine.whenDurable();
  }

  get messages(): number {
    return this.engine.space.messages.live;
  }
  get checkpoints(): string[] {
    return this.disk
      .files()
      .filter((name) => name.endsWith('.checkpoint'))
      .sort();
  }
}

async function lived(): Promise<Space> {
  const space = await new Space().open();
  await space.put(300);
  await space.engine.checkpoint();
  await space.put(60);
  await space.engine.checkpoint();
  return space;
}

describe('checkpoint files', () => {
  it('at the very end of the log', async () => {
    const space = await lived();
    expect(space.checkpoints).toHaveLength(2);
    expect((await space.open()).messages).toBe(360);
    expect(space.warnings).toEqual([]);
  });

  it('a third one sends the first away', async () => {
    const space = await lived();
    const [first] = space.checkpoints;
    await space.put(10);
    await space.engine.checkpoint();
    expect(space.checkpoints).toHaveLength(2);
    expect(space.checkpoints).not.toContain(first);
  });

  it.each([
    ['its first byte', 0],
    ['its middle', 0.5],
    ['its footer', 0.999],
  ])('the newest damaged in %s: the older one; both: the whole log', async (_what, where) => {
    const space = await lived();
    for (const path of space.checkpoints.toReversed()) {
      patch(space.disk, path, (bytes) => {
        const at = Math.floor(bytes.length * where);
        bytes[at] = (bytes[at] ?? 0) ^ 0x40;
      });
      expect((await space.open()).messages).toBe(360);
      expect(space.warnings.at(-1)).toContain(path.split('/').at(-1));
    }
    expect(space.warnings).toHaveLength(3);
  });

  it('of a newer version is passed over, with both versions named', async () => {
    const space = await lived();
    const path = space.checkpoints.at(-1) ?? '';
    patch(space.disk, path, (bytes) => {
      bytes[bytes.length - 60 + 4] = 2;
    });
    expect((await space.open()).messages).toBe(360);
    expect(space.warnings).toHaveLength(1);
  });

  it('that cannot be synced is given up with a line; the log lives, and the next one is taken', async () => {
    const space = await lived();
    const [, newest] = space.checkpoints;
    await space.put(10);
    space.io.faults = ({ name, ofCheckpoint }) => (name === 'fdatasync' && ofCheckpoint ? 'ENOSPC' : null);
    await space.engine.checkpoint();
    expect(space.warnings.at(-1)).toContain('a checkpoint was given up');
    expect(space.checkpoints.at(-1)).toBe(newest);
    expect(space.disk.files().filter((name) => name.endsWith('.tmp'))).toEqual([]);
    space.io.faults = () => null;
    await space.put(10);
    await space.engine.checkpoint();
    expect(space.checkpoints.at(-1)).not.toBe(newest);
    expect((await space.open()).messages).toBe(380);
  });

  it('that can be opened only at the second try is passed over, and the log behind it is read', async () => {
    const space = await lived();
    await space.put(15);
    let tries = 0;
    // Before, what followed such a checkpoint in the log was not applied.
    space.faults = ({ name, path }) =>
      name === 'open' && path.endsWith(space.checkpoints.at(-1) ?? '') && tries++ === 0 ? 'EMFILE' : null;
    expect((await space.open()).messages).toBe(375);
    expect(space.warnings.at(-1)).toMatch(/is of no use: .*EMFILE/);
  });

  it.each(['rename', 'fsyncDir', 'readdir', 'unlink'])(
    'whose %s fails is given up, and nothing is closed twice',
    async (call) => {
      const space = await lived();
      await space.put(10);
      let armed = true;
      space.io.faults = ({ name, path }) => {
        const isIt = name === call && (name !== 'rename' || path.endsWith('.checkpoint'));
        if (!isIt || !armed) return null;
        armed = false;
        return 'ENOSPC';
      };
      await space.engine.checkpoint();
      expect(armed, 'the call was made').toBe(false);
      expect(space.warnings.at(-1)).toContain('a checkpoint was given up');
      expect(space.io.badCloses).toBe(0);
      expect(space.disk.files().filter((name) => name.endsWith('.tmp'))).toEqual([]);
      await space.put(10);
      await space.engine.checkpoint();
      expect(space.checkpoints).toHaveLength(2);
      expect((await space.open()).messages).toBe(380);
    },
  );

  it('a hundred that fail leave nothing behind [C55]', async () => {
    const space = await lived();
    const before = space.disk.files();
    for (const [n, name] of ['open', 'pwrite', 'fdatasync', 'truncate', 'rename'].entries()) {
      space.io.faults = (call) => (call.name === name && call.path.includes('.checkpoint') ? 'EIO' : null);
      for (let i = 0; i < 20; i++) await space.engine.checkpoint();
      expect(space.warnings.filter((line) => line.includes('given up'))).toHaveLength(20 * (n + 1));
    }
    expect(space.disk.files()).toEqual(before);
    expect(space.io.badCloses).toBe(0);
  });

  it('that reaches behind the end of the log: damage', async () => {
    const space = await lived();
    const segments = space.disk.files().filter((name) => name.endsWith('.log'));
    // The last segment that was written to, as it was before: as if the disk had lost what it said was durable.
    for (const path of segments.slice(1)) patch(space.disk, path, (bytes) => void bytes.fill(0));
    await expect(space.open()).rejects.toMatchObject({ kind: 'Corrupt' });
  });
});
