// The peer's test of limits, its scenarios with a disk that fails [peer-scenarios 1.2, T86-17, 20, 21, 27]. There every write of a queue's
// files may fail by itself; here there is one log, whose failure ends the daemon, which then starts again on a disk that works. Work of a
// transaction is not written before its commit.
import { describe, expect } from 'vitest';
import type { Context } from '../../../clients/typescript/index.ts';
import { type FileIo, nodeFileIo } from '../../../src/wal/local/file-io.ts';
import { daemonForTest, type InProcess } from '../../support/in-process.ts';
import { code, domain, drain, got, send, sendTo, SPACE } from '../q/support.ts';
import { messagesOf, scenario, up } from './support.ts';

/** The disk of one daemon, and what fails on it. */
class Disk {
  /** Every write of the log. */
  writes = false;
  reads = false;
  /** Every new file, as on a full disk. */
  full = false;
  /** Every write of the transaction log. */
  decisions = false;
  private readonly ofTlog = new Set<number>();

  readonly io: FileIo = {
    ...nodeFileIo,
    open: (path, mode) => {
      if (this.full && mode === 'create') fail('ENOSPC');
      const fd = nodeFileIo.open(path, mode);
      if (/\/TLOG\//.test(path)) this.ofTlog.add(fd);
      else this.ofTlog.delete(fd);
      return fd;
    },
    pwriteSync: (fd, bytes, position) => {
      this.checkWrite(fd);
      return nodeFileIo.pwriteSync(fd, bytes, position);
    },
    pwrite: async (fd, bytes, position) => {
      if (this.full) fail('ENOSPC');
      this.checkWrite(fd);
      return nodeFileIo.pwrite(fd, bytes, position);
    },
    writevSync: (fd, chunks, position) => {
      this.checkWrite(fd);
      return nodeFileIo.writevSync(fd, chunks, position);
    },
    preadSync: (fd, into, position) => {
      if (this.reads) fail('EIO');
      return nodeFileIo.preadSync(fd, into, position);
    },
    pread: async (fd, into, position) => {
      if (this.reads) fail('EIO');
      return nodeFileIo.pread(fd, into, position);
    },
  };

  private checkWrite(fd: number): void {
    if (this.writes || (this.decisions && this.ofTlog.has(fd))) fail('EIO');
  }
}

function fail(name: string): never {
  throw Object.assign(new Error(`${name}: made by the test`), { code: name });
}

/** Where a transaction over two queue spaces goes too. */
const SECOND = 'SECOND';

interface Setting {
  readonly daemon: InProcess;
  readonly disk: Disk;
  readonly ctx: Context;
}

async function setting(cacheBytes = 1024 * 1024): Promise<Setting> {
  const disk = new Disk();
  const device = { io: disk.io, segmentBytes: 1024 * 1024, cacheBytes };
  const text = domain([
    { queues: [{ name: 'TEST1', retries: 9 }, 'FILL'] },
    { name: SECOND, queues: ['TEST1'] },
  ]);
  const daemon = await daemonForTest(text, { device });
  return { daemon, disk, ctx: await daemon.join() };
}

/** What the daemon failed with, and another start. The disk works from now on, the log that failed stays so until then. */
async function startAgain({ daemon, disk }: Setting): Promise<string> {
  Object.assign(disk, { writes: false, reads: false, full: false, decisions: false });
  const reasons = daemon.failures.splice(0).join('; ');
  await daemon.stop();
  await daemon.start();
  return reasons;
}

const sendMany = (ctx: Context, count: number): Promise<unknown> =>
  Promise.all(up(1, count).map((n) => send(ctx, 'TEST1', n)));

describe('a disk that fails', () => {
  scenario('T86-20', async () => {
    const one = await setting();
    const { ctx, daemon, disk } = one;
    disk.full = true;
    const block = Buffer.alloc(100_000);
    let filled = 0;
    while ((await code(ctx.tpenqueue(SPACE, 'FILL', null, block))) === 'OK') filled++;
    expect(filled).toBeGreaterThan(1);
    await ctx.tpbegin(60);
    const codes = await Promise.all(up(1, 10).map(() => code(ctx.tpenqueue(SPACE, 'TEST1', null, block))));
    // Refused before anything has changed [DESIGN 5, Room], so that the transaction stays usable and what it holds is nothing.
    expect(codes).toEqual(Array(10).fill('QMENOSPACE'));
    expect(await code(ctx.tpcommit())).toBe('OK');
    // A full disk can still be drained.
    expect(await drain(ctx, 'FILL')).toHaveLength(filled);
    expect(await startAgain(one)).toBe('');
    expect(await messagesOf(daemon, ['TEST1', 'FILL'])).toEqual([0, 0]);
    await sendMany(ctx, 10);
    expect(await drain(ctx, 'TEST1')).toEqual(up(1, 10));
  });

  scenario('T86-21', async () => {
    const one = await setting();
    const { ctx, daemon, disk } = one;
    await ctx.tpbegin(20);
    await sendMany(ctx, 1);
    disk.writes = true;
    await sendMany(ctx, 99);
    expect(await code(ctx.tpcommit())).not.toBe('OK');
    expect(await startAgain(one)).toContain('EIO');
    expect([await got(ctx, 'TEST1'), await messagesOf(daemon, ['TEST1'])]).toEqual(['QMENOMSG', [0]]);
  });

  scenario(
    'T86-21',
    async () => {
      const one = await setting();
      const { ctx, daemon, disk } = one;
      await ctx.tpbegin(20);
      await sendMany(ctx, 1);
      disk.decisions = true;
      await sendMany(ctx, 49);
      for (const n of up(1, 50)) await sendTo(ctx, SECOND, 'TEST1', n);
      expect(await code(ctx.tpcommit())).not.toBe('OK');
      expect(await startAgain(one)).toContain('EIO');
      // Both were prepared, and nothing says that it was to be committed.
      expect([await messagesOf(daemon, ['TEST1']), await messagesOf(daemon, ['TEST1'], SECOND)]).toEqual([
        [0],
        [0],
      ]);
      expect([await got(ctx, 'TEST1'), await got(ctx, 'TEST1', {}, { qspace: SECOND })]).toEqual([
        'QMENOMSG',
        'QMENOMSG',
      ]);
    },
    { detail: 'the transaction log of two queue spaces' },
  );

  scenario('T86-27', async () => {
    const one = await setting();
    const { ctx, disk } = one;
    await sendMany(ctx, 100);
    disk.writes = true;
    await ctx.tpbegin(60);
    // A dequeue locks, and writes nothing; that it was given back is written.
    expect(await got(ctx, 'TEST1')).toBe(1);
    await code(ctx.tpabort());
    expect(await code(ctx.tpenqueue(SPACE, 'TEST1', null, 'x'))).not.toBe('OK');
    expect(await startAgain(one)).toContain('EIO');
    await ctx.tpbegin(60);
    expect(await drain(ctx, 'TEST1')).toEqual(up(1, 100));
    await ctx.tpcommit();
    expect(await got(ctx, 'TEST1')).toBe('QMENOMSG');
  });

  scenario(
    'T86-17',
    async () => {
      const one = await setting(65_536);
      const { ctx, daemon, disk } = one;
      await send(ctx, 'TEST1', Buffer.alloc(600_000, 1));
      await daemon.restart();
      disk.reads = true;
      await ctx.tpbegin(60);
      expect(await got(ctx, 'TEST1')).toBe('QMEOS');
      expect(await code(ctx.tpcommit())).toBe('TPEABORT');
      expect(await startAgain(one)).toBe('');
      expect(await drain(ctx, 'TEST1')).toHaveLength(1);
    },
    { detail: 'a dequeue whose message cannot be read' },
  );

  scenario(
    'T86-17',
    async () => {
      const one = await setting();
      const { ctx, disk } = one;
      await send(ctx, 'TEST1', 'put before');
      await ctx.tpbegin(60);
      disk.writes = true;
      expect(await code(ctx.tpenqueue(SPACE, 'TEST1', null, 'x'))).toBe('OK');
      expect(await code(ctx.tpcommit())).not.toBe('OK');
      expect(await startAgain(one)).toContain('EIO');
      expect(await drain(ctx, 'TEST1')).toEqual(['put before']);
    },
    { detail: 'an enqueue whose commit cannot be written' },
  );
});
