// `tmqueue wal …` as an operator runs it: on the device of a daemon that was stopped, is running, or whose log was damaged. Exit codes as
// docs/wal.md says them.
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { QSPACE, TestDaemon } from '../support/daemon.ts';
import { loadGolden, unpackGolden } from '../support/golden-space.ts';
import { tempDir } from '../support/temp-dir.ts';
import { CliProcess, type Exit } from './cli-process.ts';

function wal(...words: string[]): Promise<Exit> {
  return new CliProcess(['wal', ...words]).exit;
}

interface Stopped {
  readonly daemon: TestDaemon;
  readonly device: string;
  readonly space: string;
  /** The segment with the messages. */
  readonly file: string;
}

/** A stopped daemon with messages 5, 7 … on queue B, and 10, 12 … on A. */
async function stopped(): Promise<Stopped> {
  const daemon = await TestDaemon.start({ queues: ['A', 'B'] });
  const ctx = await daemon.connect();
  for (let i = 0; i < 20; i++) await ctx.tpenqueue(QSPACE, i % 2 === 0 ? 'A' : 'B', null, `message ${i}.`, 0);
  for (let i = 0; i < 5; i++) await ctx.tpdequeue(QSPACE, 'A', null, null, 0);
  await ctx.tpterm();
  await daemon.stop();
  const device = join(daemon.directory, 'data');
  const space = join(device, QSPACE);
  return { daemon, device, space, file: join(space, '000000000001.log') };
}

function spoil({ file }: Stopped, text: string): number {
  const offset = readFileSync(file).indexOf(text);
  expect(offset).toBeGreaterThan(0);
  const fd = openSync(file, 'r+');
  writeSync(fd, 'spoilt', offset);
  closeSync(fd);
  return offset;
}

async function drain(daemon: TestDaemon, queue: string): Promise<unknown[]> {
  const ctx = await daemon.connect();
  const found: unknown[] = [];
  for (;;) {
    const one = await ctx.tpdequeue(QSPACE, queue, null, null, 0).catch(() => null);
    if (one === null) break;
    found.push(one.data);
  }
  await ctx.tpterm();
  return found;
}

test('verify, dump and stat of a whole log, by its directory and by its device', async () => {
  const device = tempDir();
  const space = unpackGolden(loadGolden('space-v1.json'), device);
  const [whole, json, dumped, lines, stat, table] = await Promise.all([
    wal('verify', space),
    wal('verify', device, '--json'),
    wal('dump', device, '--queue', 'STRING', '--data'),
    wal('dump', space, '--json'),
    wal('stat', space, '--json'),
    wal('stat', device),
  ]);
  expect(whole).toMatchObject({ code: 0, stderr: '' });
  expect(whole.stdout).toMatch(
    /^GOLDEN \(.*\/GOLDEN\): OK: \d+ segments of 64 KiB, \d+ batches, 8 messages on 4 queues\n$/,
  );
  expect(JSON.parse(json.stdout)).toMatchObject({
    space: 'GOLDEN',
    verdict: 'ok',
    findings: [],
    messages: 8,
  });

  expect(dumped.code).toBe(0);
  expect(dumped.stdout).toMatch(/^# queue space GOLDEN: /);
  const kept =
    / ENQUEUED bytes=\d+ id=[0-9a-f]{32} queue=STRING type=STRING .* corrid=golden replyqueue=R failurequeue=F .* data=kept$/m;
  expect(dumped.stdout).toMatch(kept);
  const records = lines.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { record?: string; reason?: string });
  for (const kind of [
    'ENQUEUED_TIMED',
    'REMOVED',
    'RETRIED',
    'MOVED',
    'PLACED',
    'QUEUE',
    'SPACE',
    'THRESHOLD',
  ])
    expect(
      records.map(({ record }) => record),
      kind,
    ).toContain(kind);

  const found = JSON.parse(stat.stdout) as {
    total: { live: number; dead: number; bytes: number; free: number };
  };
  expect(found).toMatchObject({ space: 'GOLDEN', messages: 8, gaps: 0 });
  expect(found.total.live + found.total.dead + found.total.free).toBe(found.total.bytes);
  expect(table.stdout).toMatch(/^000000000001\.log +65536 +\d+ +\d+ +\d+ +\d+ +\d{4}-\d\d-\d\dT/m);
});

test('what a start mends: exit code 2', async () => {
  const space = unpackGolden(loadGolden('space-v1.json'), tempDir());
  writeFileSync(join(space, 'left.tmp'), 'x');
  const found = await wal('verify', space);
  expect(found).toMatchObject({ code: 2 });
  expect(found.stdout).toMatch(/left\.tmp: offset 0: leftover: /);
});

test('damage: exit code 1 with file, offset and kind; a salvage that a daemon opens', async () => {
  const log = await stopped();
  const { daemon, device, space, file } = log;
  const offset = spoil(log, 'message 7.');
  const before = readFileSync(file);
  const found = await wal('verify', device);
  expect(found).toMatchObject({ code: 1 });
  const [, at] =
    /000000000001\.log: offset (\d+): damage: \d+ bytes .* 1 batch is lost/.exec(found.stdout) ?? [];
  expect(Number(at)).toBeLessThan(offset);
  expect(offset - Number(at)).toBeLessThan(300);

  const fresh = join(daemon.directory, 'fresh');
  const salvaged = await wal('salvage', device, '--into', fresh);
  expect(salvaged).toMatchObject({ code: 1, stderr: '' });
  expect(salvaged.stdout).toMatch(/14 messages queued \(A 5, B 9\)/);
  expect(salvaged.stdout).toMatch(/possibly delivered before: 3 messages \(B 3\)/);
  const report = readFileSync(join(fresh, QSPACE, 'SALVAGE.txt'), 'utf8');
  expect(report).toMatch(/Messages that may have been delivered before: 3\n( {2}[0-9a-f]{32} on B\n){3}/);
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(await wal('salvage', device, '--into', fresh)).toMatchObject({ code: 73 });

  renameSync(space, join(daemon.directory, 'damaged'));
  renameSync(join(fresh, QSPACE), space);
  await daemon.restart();
  expect(await drain(daemon, 'B')).toEqual([1, 3, 5, 9, 11, 13, 15, 17, 19].map((i) => `message ${i}.`));
  expect(await drain(daemon, 'A')).toEqual([10, 12, 14, 16, 18].map((i) => `message ${i}.`));
  await daemon.stop();
  expect(await wal('verify', space)).toMatchObject({ code: 0 });
});

test('a daemon on the device: verify and salvage refuse with its pid, dump and stat read beside it', async () => {
  const { daemon, device, space } = await stopped();
  await daemon.restart();
  for (const words of [
    ['verify', space],
    ['salvage', device, '--into', join(daemon.directory, 'fresh')],
  ]) {
    const refused = await wal(...words);
    expect(refused).toMatchObject({ code: 75, stdout: '' });
    expect(refused.stderr).toContain(`(pid ${daemon.pid})`);
  }
  expect(readdirSync(daemon.directory)).not.toContain('fresh');
  for (const words of [
    ['dump', space],
    ['stat', device],
  ]) {
    const beside = await wal(...words);
    expect(beside).toMatchObject({ code: 0 });
    expect(beside.stderr).toMatch(
      new RegExp(`^tmqueue: note: device .*\\(pid ${daemon.pid}\\): its log is read while it moves`),
    );
    expect(beside.stdout).not.toBe('');
  }
  await daemon.stop();
});

test('wrong words and places', async () => {
  const device = tempDir();
  const space = unpackGolden(loadGolden('space-v1.json'), device);
  const rows: [string[], number, RegExp][] = [
    [['verify', join(device, 'nope')], 66, /no such directory/],
    [['verify', tempDir()], 66, /no log is here/],
    [['verify', join(space, '000000000001.log')], 66, /not a directory/],
    [['verify'], 64, /missing required argument/],
    [['salvage', space], 64, /--into/],
    [['salvage', space, '--into', join(space, 'inside')], 64, /inside the old one/],
    [['dump', space, '--msgid', 'short'], 64, /32 hexadecimal digits/],
    [['mend', space], 64, /unknown command/],
  ];
  await Promise.all(
    rows.map(async ([words, code, text]) => {
      const outcome = await wal(...words);
      expect(outcome.stderr, words.join(' ')).toMatch(text);
      expect(outcome, words.join(' ')).toMatchObject({ code, stdout: '' });
    }),
  );
});
