// Backup and restore [docs/backup.md]: whole beside a daemon that takes its log away from under the reading, never half under its final name,
// refused when it is not what was backed up; a restored space hands out its messages under their ids and makes ids that nobody else makes.
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Context, TPQ } from '../../clients/typescript/index.ts';
import { backup } from '../../src/tools/backup.ts';
import { findSpaces } from '../../src/tools/directories.ts';
import { recordsOf } from '../../src/tools/records.ts';
import { restore, type SpaceRestored } from '../../src/tools/restore.ts';
import { verifySpace } from '../../src/tools/verify.ts';
import { DeviceLock } from '../../src/wal/local/device-lock.ts';
import { nodeFileIo, type FileIo } from '../../src/wal/local/file-io.ts';
import { markedFirst, SegmentFiles } from '../../src/wal/local/segment.ts';
import { Survey } from '../../src/wal/local/survey.ts';
import { surveyRoot } from '../../src/wal/local/survey-root.ts';
import { loadGolden, unpackGolden } from '../support/golden-space.ts';
import { eventually, InProcess } from '../support/in-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { ctlOf, drain, put, putId, SPACE, take } from './helpers.ts';

const SEGMENT = 64 * 1024;
const DEVICE = 'data1';
const SPACES = { spaces: [{ queues: [{ name: 'KEEP', retries: 9 }, 'CHURN', 'ERR'], errorQueue: 'ERR' }] };
const MADE_AT = '2026-11-30T00:00:00.000Z';

async function daemonOn(dir?: string): Promise<{ daemon: InProcess; ctx: Context; device: string }> {
  const daemon = new InProcess(SPACES, { device: { segmentBytes: SEGMENT } });
  onTestFinished(() => daemon.remove());
  const device = join(daemon.dir, DEVICE);
  if (dir !== undefined) cpSync(dir, device, { recursive: true });
  await daemon.start();
  return { daemon, ctx: await daemon.join(), device };
}

async function churn(ctx: Context, count: number): Promise<void> {
  const rounds = Math.ceil((count * SEGMENT) / (32 * 500));
  for (let round = 0; round < rounds; round++) {
    await Promise.all(Array.from({ length: 32 }, () => ctx.tpenqueue(SPACE, 'CHURN', null, 'c'.repeat(400))));
    await Promise.all(Array.from({ length: 32 }, () => ctx.tpdequeue(SPACE, 'CHURN', null, null)));
  }
}

async function backUp(
  device: string,
  into: string,
  more: { io?: FileIo; running?: boolean } = {},
): Promise<void> {
  const found = await findSpaces(device);
  await backup(
    { found, into, besideDaemon: more.running === true, madeAt: MADE_AT },
    more.io === undefined ? {} : { io: more.io },
  );
}

async function restoreInto(from: string, into: string, io: FileIo = nodeFileIo): Promise<SpaceRestored[]> {
  return restore({ found: await findSpaces(from), into }, { io });
}

let original: Promise<string> | null = null;
const lasting = mkdtempSync(join(tmpdir(), 'tmqueue-backup-'));
afterAll(() => rmSync(lasting, { recursive: true, force: true }));

/** A device with a few messages whose daemon is stopped, and its backup: copies of those that are made once. */
async function backedUp(): Promise<{ device: string; saved: string; dir: string }> {
  original ??= makeOriginal();
  const from = await original;
  const device = join(tempDir(), 'device');
  const dir = tempDir();
  cpSync(join(from, 'device'), device, { recursive: true });
  cpSync(join(from, 'saved'), join(dir, 'saved'), { recursive: true });
  return { device, saved: join(dir, 'saved'), dir };
}

async function makeOriginal(): Promise<string> {
  const daemon = await new InProcess(SPACES, { device: { segmentBytes: SEGMENT } }).start();
  const ctx = await daemon.join();
  await put(ctx, 'KEEP', 'one', 'two', 'three');
  await churn(ctx, 2);
  await daemon.stop();
  cpSync(join(daemon.dir, DEVICE), join(lasting, 'device'), { recursive: true });
  await backUp(join(lasting, 'device'), join(lasting, 'saved'));
  await daemon.remove();
  return lasting;
}

describe('a backup beside a running daemon', () => {
  it('is whole although everything it reads is reclaimed meanwhile', async () => {
    const { daemon, ctx, device } = await daemonOn();
    const ids = new Map<string, Uint8Array>();
    for (const text of ['first', 'second', 'third']) ids.set(text, await putId(ctx, 'KEEP', text));
    await ctx.tpbegin(60);
    await take(ctx, 'KEEP');
    await ctx.tpabort();
    await churn(ctx, 2);
    const linked = firstSegment(device) + readdirSync(join(device, SPACE)).length;
    const held: { open?: () => void } = {};
    const gate = new Promise<void>((resolve) => (held.open = resolve));
    const pread: FileIo['pread'] = async (fd, into, position) => {
      await gate;
      return nodeFileIo.pread(fd, into, position);
    };
    const saved = join(tempDir(), 'saved');
    const copying = backUp(device, saved, { io: { ...nodeFileIo, pread }, running: true });
    await eventually(() => readdirSync(device).includes(`.backup-${SPACE}.tmp`));
    await putId(ctx, 'KEEP', 'after it began');
    await eventually(async () => {
      await churn(ctx, 4);
      return firstSegment(device) > linked;
    }, 30_000);
    held.open?.();
    await copying;
    expect(readdirSync(device).sort()).toEqual(['LOCK', SPACE]);
    await daemon.stop();

    const back = join(tempDir(), 'back');
    await restoreInto(saved, back);
    const restored = await daemonOn(back);
    const ctl = ctlOf(TPQ.TPQMSGID);
    for (const [text, id] of ids) {
      expect((await take(restored.ctx, 'KEEP', ctl)).data).toBe(text);
      expect(ctl.msgid).toEqual(id);
      ctl.flags = TPQ.TPQMSGID;
    }
    const rest = await drain(restored.ctx, 'KEEP');
    expect([[], ['after it began']]).toContainEqual(rest);
  });

  it('is refused a second time while one is under way', async () => {
    const { device } = await daemonOn();
    const other = await DeviceLock.acquire(join(device, `.backup-${SPACE}.tmp`), process.pid);
    const saved = join(tempDir(), 'saved');
    await expect(backUp(device, saved, { running: true })).rejects.toThrow(
      /QSPACE is under way already \(pid \d+\)/,
    );
    other.release();
    expect(existsSync(saved)).toBe(false);
    // What it left counts for nothing.
    writeFileSync(join(device, `.backup-${SPACE}.tmp`, '0000000000ff.log'), 'left behind');
    await backUp(device, saved, { running: true });
    expect(readdirSync(device).sort()).toEqual(['LOCK', SPACE]);
  });
});

describe('a restored space', () => {
  it('keeps ids, and makes none that the original or another copy makes', async () => {
    const { device, saved, dir } = await backedUp();
    const made = new Set<string>();
    const keys = new Set<string>([logKey(device)]);
    const begins = new Set<number>();
    const kept: string[][] = [];
    const places = [device];
    for (const name of ['a', 'b']) {
      const [restored] = await restoreInto(saved, join(dir, name));
      begins.add(restored?.copied.begin ?? 0);
      places.push(join(dir, name));
      keys.add(logKey(join(dir, name)));
    }
    expect(keys.size).toBe(3);
    expect(begins.size).toBe(2);
    for (const place of places) {
      const { daemon, ctx } = await daemonOn(place);
      const ids: string[] = [];
      for (let i = 0; i < 3; i++) {
        const ctl = ctlOf(TPQ.TPQMSGID);
        await take(ctx, 'KEEP', ctl);
        ids.push(Buffer.from(ctl.msgid ?? []).toString('latin1'));
      }
      kept.push(ids);
      for (let start = 0; start < 2; start++) {
        const again = await daemon.join();
        for (let i = 0; i < 3; i++)
          made.add(Buffer.from(await putId(again, 'KEEP', 'new')).toString('latin1'));
        await daemon.restart();
      }
      await daemon.stop();
    }
    expect(made.size).toBe(places.length * 6);
    for (const ids of kept) {
      expect(ids).toEqual(kept[0]);
      for (const id of ids) expect(made.has(id)).toBe(false);
    }
  });

  it('under another name is another queue space', async () => {
    const { saved, dir } = await backedUp();
    const found = await findSpaces(join(saved, SPACE));
    const [made] = await restore({ found, into: join(dir, 'COPY'), rename: 'COPY' });
    expect(made?.copied.spaceId).not.toBe(made?.backup.spaceId);
    const [space] = (await findSpaces(join(dir, 'COPY'))).spaces;
    if (space === undefined) throw new Error('no space');
    expect(await verifySpace(space)).toMatchObject({ findings: [], messages: 3 });
    const daemon = new InProcess({ spaces: [{ name: 'COPY', queues: ['KEEP', 'CHURN'] }] });
    onTestFinished(() => daemon.remove());
    cpSync(join(dir, 'COPY'), join(daemon.dir, DEVICE, 'COPY'), { recursive: true });
    await daemon.start();
    expect(daemon.lines('queue space COPY changed', 'name ')).toEqual([]);
  });
});

it('prepared work in a restored space is nobody’s to decide: not even of the transaction log that ran it', async () => {
  const dir = tempDir();
  const golden = loadGolden('space-v1b.json');
  unpackGolden(golden, join(dir, 'device'));
  await backUp(join(dir, 'device'), join(dir, 'saved'));
  await restoreInto(join(dir, 'saved'), join(dir, 'back'));
  const [before, saved, after] = await Promise.all(
    ['device', 'saved', 'back'].map((name) => tlogsIn(join(dir, name, golden.space))),
  );
  expect(before?.size).toBe(1);
  expect(saved).toEqual(before);
  expect(after?.size).toBe(1);
  expect(after).not.toEqual(before);
});

describe('nothing is written over, and nothing half', () => {
  it.each(['backup', 'restore'])('%s: into what is there', async (command) => {
    const { device, saved, dir } = await backedUp();
    const into = join(dir, 'used');
    cpSync(saved, into, { recursive: true });
    const before = readdirSync(into, { recursive: true });
    const work = command === 'backup' ? backUp(device, into) : restoreInto(saved, into);
    await expect(work).rejects.toThrow(/used exists and is not empty: name a new directory/);
    expect(readdirSync(into, { recursive: true })).toEqual(before);
  });

  it('a place that is taken while it works stays as it is', async () => {
    const { device, dir } = await backedUp();
    const into = join(dir, 'taken');
    const rename: FileIo['rename'] = (from, to) => {
      if (to === into) cpSync(device, into, { recursive: true });
      return nodeFileIo.rename(from, to);
    };
    await expect(backUp(device, into, { io: { ...nodeFileIo, rename } })).rejects.toThrow(
      /has come into being meanwhile/,
    );
    expect(readdirSync(into).sort()).toEqual(['LOCK', SPACE]);
  });

  it.each(['backup', 'restore'])(
    '%s: any call that fails leaves nothing behind',
    { timeout: 60_000 },
    async (command) => {
      const { device, saved, dir } = await backedUp();
      const into = join(dir, 'new');
      const run = (io: FileIo): Promise<unknown> =>
        command === 'backup' ? backUp(device, into, { io }) : restoreInto(saved, into, io);
      let failing = 1;
      for (; ; failing++) {
        const faulty = new FailingIo(failing);
        const failed = await run(faulty.io).then(
          () => false,
          () => true,
        );
        if (!failed) break;
        expect(readdirSync(dir)).toEqual(['saved']);
      }
      expect(failing).toBeGreaterThan(15);
      expect(readdirSync(dir).sort()).toEqual(['new', 'saved']);
      const [space] = (await findSpaces(into)).spaces;
      if (space === undefined) throw new Error('no space');
      expect(await verifySpace(space)).toMatchObject({ findings: [], messages: 3 });
    },
  );
});

describe('a restore refuses', () => {
  const cases: readonly [string, (saved: string) => void, RegExp][] = [
    ['what is no backup', (saved) => rmSync(join(saved, SPACE, 'BACKUP.json')), /no backup is here/],
    [
      'a backup of a newer format',
      (saved) => change(saved, { format: 2 }),
      /backup format 2, this program reads 1: use the program that wrote it/,
    ],
    [
      'a log of a newer format, before it is read',
      (saved) => change(saved, { logFormat: 9 }),
      /log format 9, this program reads \d+: use the program that wrote it/,
    ],
    ['a log of a newer format', raiseVersion, /format version 255 at offset 0, this program reads \d+/],
    ['a description that says nothing', (saved) => change(saved, { last: 7 }), /is damaged: it does not say/],
    [
      'a count that is none',
      (saved) => change(saved, { messages: 'many' }),
      /is damaged: messages is no number/,
    ],
    [
      'one that lost its end',
      cutEnd,
      /is not what was backed up: it holds 3 messages in \d+ batches.*parts of it are missing/,
    ],
    ['one that was spoilt', spoil, /damage at offset \d+/],
  ];

  it.each(cases)('%s', async (_, harm, message) => {
    const { saved, dir } = await backedUp();
    harm(saved);
    await expect(restoreInto(saved, join(dir, 'back'))).rejects.toThrow(message);
    expect(readdirSync(dir)).toEqual(['saved']);
  });
});

it('a backup of a damaged log is refused, with the place in the original', async () => {
  const { device, dir } = await backedUp();
  spoil(device);
  const place = new RegExp(`${device}/${SPACE}/[0-9a-f]+\\.log: damage at offset \\d+.*tmqueue wal verify`);
  await expect(backUp(device, join(dir, 'again'))).rejects.toThrow(place);
  expect(readdirSync(dir)).toEqual(['saved']);
});

it('a start on a backup is refused', async () => {
  const { saved } = await backedUp();
  const before = readdirSync(join(saved, SPACE));
  await expect(daemonOn(saved)).rejects.toThrow(
    /QSPACE is a backup: nothing is written there; use tmqueue restore/,
  );
  expect(readdirSync(join(saved, SPACE))).toEqual(before);
});

/** Fails the nth call that changes something. */
class FailingIo {
  private calls = 0;
  private readonly failing: number;

  constructor(failing: number) {
    this.failing = failing;
  }

  readonly io: FileIo = {
    ...nodeFileIo,
    open: (path, mode) => {
      if (mode === 'create' || mode === 'ensure') this.count();
      return nodeFileIo.open(path, mode);
    },
    pwrite: async (...words) => this.async(() => nodeFileIo.pwrite(...words)),
    fdatasync: async (...words) => this.async(() => nodeFileIo.fdatasync(...words)),
    truncate: async (...words) => this.async(() => nodeFileIo.truncate(...words)),
    mkdir: async (...words) => this.async(() => nodeFileIo.mkdir(...words)),
    fsyncDir: async (...words) => this.async(() => nodeFileIo.fsyncDir(...words)),
    rename: async (...words) => this.async(() => nodeFileIo.rename(...words)),
  };

  private count(): void {
    this.calls++;
    if (this.calls === this.failing)
      throw Object.assign(new Error('EIO: injected'), { code: 'EIO', syscall: 'write' });
  }

  private async<T>(run: () => Promise<T>): Promise<T> {
    this.count();
    return run();
  }
}

/** The transaction logs that prepared records name. */
async function tlogsIn(dir: string): Promise<Set<string>> {
  const files = new SegmentFiles(nodeFileIo, dir);
  const tlogs = new Set<string>();
  for await (const item of new Survey(files, await surveyRoot(files)).items()) {
    if (item.kind !== 'batch' || item.batch.kind === 'takeover') continue;
    for (const { event } of recordsOf(item.batch))
      if (event?.kind === 'branchPrepared') tlogs.add(event.tlog);
  }
  files.closeAll();
  return tlogs;
}

function firstSegment(device: string): number {
  return Math.max(0, ...readdirSync(join(device, SPACE)).map(markedFirst));
}

function segments(device: string): string[] {
  const dir = join(device, SPACE);
  return readdirSync(dir)
    .filter((name) => name.endsWith('.log'))
    .sort()
    .map((name) => join(dir, name));
}

function logKey(device: string): string {
  const [first = ''] = segments(device);
  return readFileSync(first).subarray(16, 24).toString('hex');
}

function change(saved: string, members: object): void {
  const path = join(saved, SPACE, 'BACKUP.json');
  const file: unknown = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify(Object.assign(file as object, members)));
}

/** As a newer program would have written it: another version, and a CRC that fits. */
function raiseVersion(saved: string): void {
  for (const path of segments(saved)) {
    const bytes = readFileSync(path);
    const length = Math.ceil((104 + 4 * bytes.readUInt32LE(84) + bytes.readUInt32LE(88)) / 8) * 8;
    bytes[7] = 255;
    bytes.writeUInt32LE(crc32(bytes.subarray(4, length)), 0);
    writeFileSync(path, bytes);
  }
}

/** The last batches go, as when its last bytes never came to the disk: what is left is a whole log. */
function cutEnd(saved: string): void {
  const path = segments(saved).at(-1) ?? '';
  const bytes = readFileSync(path);
  const last = bytes.lastIndexOf('TQL');
  bytes.fill(0, last - 4);
  writeFileSync(path, bytes);
}

function spoil(device: string): void {
  const path = segments(device).find((one) => readFileSync(one).includes('two')) ?? '';
  const bytes = readFileSync(path);
  bytes.write('TWO', bytes.indexOf('two'));
  writeFileSync(path, bytes);
}
