// Each command of qmadmin, and the shell around them, from a script on a device of its own.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/qmadmin/table.ts';
import { DeviceLock } from '../../src/wal/local/device-lock.ts';
import { localDevice, reachableDevice, runScript, type Ran } from '../support/qmadmin.ts';
import { tempDir } from '../support/temp-dir.ts';

const SPACE = 'qspc SP 230458 100 4 5 5 200 ERR y 16';

function place(): { path: string; run: (...script: string[]) => Promise<Ran> } {
  const path = `${tempDir()}/dev`;
  return { path, run: (...script) => runScript(script, localDevice(path)) };
}

/** A place with a device of 1000 pages and the queue space SP. */
async function withSpace(): Promise<ReturnType<typeof place>> {
  const here = place();
  expect(await here.run(`crdl ${here.path} 0 1000`, SPACE)).toMatchObject({ err: [], failures: 0 });
  return here;
}

const quoted = (name: string): string => JSON.stringify(name);
const withThreshold = (threshold: string, i: number): string =>
  `qcreate -n ${threshold} Q${i} fifo none 0 0 100% 0 ""`;
const errorOf = ({ err }: Ran): string => (err[0] ?? '').replace(/^qmadmin: line \d+: /, '');

describe('crdl', () => {
  it('makes the device with its first entry, which is the QMCONFIG device at 0', async () => {
    const { path, run } = place();
    expect(errorOf(await run(`crdl ${path}x 0 10`))).toBe(
      `crdl: the first entry of the device list is the QMCONFIG device: crdl ${path} 0 SIZE`,
    );
    expect(errorOf(await run(`crdl ${path} 1 10`))).toContain('is the QMCONFIG device');
    expect(existsSync(path)).toBe(false);
    expect(await run(`crdl ${path} 0 10`, 'lidl')).toMatchObject({ err: [], failures: 0 });
    expect(JSON.parse(readFileSync(`${path}/device-list.json`, 'utf8'))).toEqual({
      format: 1,
      entries: [{ device: path, offset: 0, pages: 10 }],
      extents: [],
    });
  });

  it('does not make the folder around it', async () => {
    const dir = tempDir();
    const ran = await runScript([`crdl ${dir}/no/dev 0 10`], localDevice(`${dir}/no/dev`));
    expect(errorOf(ran)).toBe(`crdl: device ${dir}/no/dev: the folder ${dir}/no does not exist`);
    expect(readdirSync(dir)).toEqual([]);
  });

  it('refuses what is there, what overlaps, and a 26th entry', async () => {
    const { path, run } = place();
    symlinkSync(path, `${path}-link`);
    await run(`crdl ${path} 0 10`);
    expect(errorOf(await run(`crdl ${path} 0 10`))).toBe(
      'crdl: the entry exists already, as number 0; nothing was changed',
    );
    expect(errorOf(await run(`crdl ${path} 0 11`))).toBe('crdl: pages 0..10 overlap entry 0, which has 0..9');
    expect(errorOf(await run(`crdl ${path}-link 9 5`))).toBe(
      'crdl: pages 9..13 overlap entry 0, which has 0..9',
    );
    const more = Array.from(
      { length: 24 },
      (_, i) => `crdl ${i % 2 === 0 ? path : '/elsewhere'} ${10 + 5 * i} 5`,
    );
    expect((await run(...more)).err).toEqual([]);
    expect(errorOf(await run('crdl /last 0 5'))).toBe('crdl: the device list is full: 25 entries');
    expect((await run('lidl')).out).toHaveLength(26);
  });
});

describe('lidl', () => {
  it('lists all entries or one; verbose adds what is taken and free', async () => {
    const { path, run } = await withSpace();
    await run('crdl "/with blank" 7 30');
    const { out } = await run('lidl 1', 'verbose', 'lidl');
    const fields = out.map((line) => line.trim().replace(/ {2,}/g, '|'));
    expect(fields).toEqual([
      'INDEX|DEVICE|OFFSET|PAGES',
      '1|"/with blank"|7|30',
      'INDEX|DEVICE|OFFSET|PAGES',
      `0|${path}|0|1000`,
      '1|"/with blank"|7|30',
      'taken by SP: 100 pages',
      'free: 930 pages',
    ]);
    expect(errorOf(await run('lidl 2'))).toBe('lidl: the device list has no entry 2; it has 2');
  });

  it.each([
    ['{"format":1,', 'is damaged: it is no JSON; it is left as it is'],
    ['[]', 'is damaged: it is no object; it is left as it is'],
    ['{"format":2}', 'has format 2; this release reads format 1'],
    ['{}', 'has no format; this release reads format 1'],
    [
      '{"format":1,"entries":[],"extents":[],"more":1}',
      'is damaged: unknown member more; it is left as it is',
    ],
    [
      '{"format":1,"entries":[{"device":"/x","offset":0}],"extents":[]}',
      'is damaged: entries are {device, offset, pages}',
    ],
    [
      '{"format":1,"entries":[],"extents":[{"space":"S","pages":-1}]}',
      'is damaged: extents are {space, pages}',
    ],
  ])('refuses a list that says %s, and leaves it', async (text, problem) => {
    const { path, run } = place();
    mkdirSync(path);
    writeFileSync(`${path}/device-list.json`, text);
    expect(errorOf(await run('lidl'))).toContain(problem);
    expect((await run(`crdl ${path} 0 10`, SPACE)).failures).toBe(2);
    expect(readFileSync(`${path}/device-list.json`, 'utf8')).toBe(text);
  });
});

describe('qspacecreate', () => {
  it('needs pages of the device list, which no other space has', async () => {
    const { path, run } = place();
    mkdirSync(path);
    expect(errorOf(await run(SPACE))).toBe(
      'qspacecreate: the device list is empty; first: crdl DEVICE 0 SIZE',
    );
    await run(`crdl ${path} 0 150`, SPACE);
    const again = SPACE.replace('SP', 'S2');
    expect(errorOf(await run(again))).toBe(
      'qspacecreate: 100 pages do not fit: the device list has 50 free pages',
    );
    expect(readdirSync(path).sort()).toEqual(['LOCK', 'SP', 'device-list.json']);
    // What a killed process left of a space is removed when the next one is made.
    mkdirSync(`${path}/OLD.new`);
    writeFileSync(`${path}/OLD.new/000000000001.log`, 'x');
    expect((await run(`crdl ${path} 150 50`, again, 'qspl')).out).toHaveLength(3);
    expect(readdirSync(path).sort()).toEqual(['LOCK', 'S2', 'SP', 'device-list.json']);
  });

  it('refuses a space that exists and changes nothing', async () => {
    const { path, run } = await withSpace();
    await run('qopen SP', 'qcr Q fifo none 0 0 100% 0 ""');
    const before = readFileSync(`${path}/device-list.json`, 'utf8');
    expect(errorOf(await run(SPACE.replace('100', '50')))).toBe(
      'qspacecreate: queue space SP exists already; nothing was changed',
    );
    expect(readFileSync(`${path}/device-list.json`, 'utf8')).toBe(before);
    expect((await run('qopen SP', 'qinfo', 'qspl')).out.join('\n')).toMatch(
      /^Queue Q: 0 [^]*\nSP +230458 +100 /,
    );
  });

  it('refuses what is not legal, and says what is', async () => {
    const rows = [
      ['qspc S 0 100 1 1 1 1 E y 16', 'IPC key: 0 is not legal; legal: a whole number, 1..262143'],
      ['qspc S 262144 100 1 1 1 1 E y 16', 'IPC key: 262144'],
      ['qspc S 230458 0 1 1 1 1 E y 16', 'size in pages: 0'],
      ['qspc S 230458 1e2 1 1 1 1 E y 16', 'size in pages: 1e2'],
      ['qspc S 230458 100 0 1 1 1 E y 16', 'number of queues: 0'],
      ['qspc S 230458 100 1 x 1 1 E y 16', 'number of concurrent transactions: x'],
      ['qspc S 230458 100 1 1 -1 1 E y 16', 'number of concurrent processes: "-1"'],
      ['qspc S 230458 100 1 1 1 2147483648 E y 16', 'number of messages: 2147483648'],
      ['qspc S 230458 100 1 1 1 1 ABCDEFGHIJKLMNOP y 16', 'error queue name: ABCDEFGHIJKLMNOP'],
      ['qspc S 230458 100 1 1 1 1 E maybe 16', 'initialise extents: maybe is not legal; legal: y or n'],
      [
        'qspc S 230458 100 1 1 1 1 E y 101',
        'blocking factor: 101 is not legal; legal: a whole number, 1..100',
      ],
      [
        'qspc -n 5k S 230458 100 1 1 1 1 E y 16',
        '-n 5k is not legal; legal: a number with b (bytes), B or no suffix',
      ],
      ['qspc -A x S 230458 100 1 1 1 1 E y 16', '-A x is not legal'],
      ['qspc -n', '-n needs a value: nonpersistent_mem[b|B]'],
    ] as const;
    const { path, run } = await withSpace();
    // `qspc -n` alone goes on with its questions until the input ends.
    const { err } = await run(...rows.map(([line]) => line));
    for (const [i, [, problem]] of rows.entries()) expect(err[i]).toContain(`qspacecreate: ${problem}`);
    expect(readdirSync(path).sort()).toEqual(['LOCK', 'SP', 'device-list.json']);
  });
});

describe('qspacelist', () => {
  it('shows all spaces but those that are damaged, which it names; one alone by its name', async () => {
    const { path, run } = await withSpace();
    await run(SPACE.replace('SP', 'S2'), SPACE.replace('SP', 'S3'));
    rmSync(`${path}/S2/000000000001.log`);
    const segment = readFileSync(`${path}/S3/000000000001.log`);
    segment.fill(0xff, 0x170, 0x180); // in the definition, which is not the log's last batch
    writeFileSync(`${path}/S3/000000000001.log`, segment);
    const ran = await run('qspacelist', 'qspl SP', 'qspl NONE', 'qopen S3');
    expect(ran.out.map((line) => line.split(' ')[0])).toEqual(['NAME', 'SP', 'NAME', 'SP', 'NAME']);
    expect(ran.failures).toBe(3);
    expect(ran.err[0]).toMatch(
      /^qmadmin: line 1: qspacelist: queue space S2: .*000000000001\.log: .*missing; queue space S3: .*000000000001\.log/,
    );
    expect(ran.err[1]).toBe(`qmadmin: line 3: qspacelist: queue space NONE does not exist on device ${path}`);
    expect(ran.err[2]).toMatch(/^qmadmin: line 4: qopen: .*S3\/000000000001\.log/);
  });
});

describe('qopen and qclose', () => {
  it('a command after a failed qopen does not act on the space before', async () => {
    const { run } = await withSpace();
    const ran = await run('qopen SP', 'qopen NONE', 'qcr Q fifo none 0 0 100% 0 ""', 'qinfo', 'qclose');
    expect(ran.err.map((line) => line.replace(/ on device .*/, ''))).toEqual([
      'qmadmin: line 2: qopen: queue space NONE does not exist',
      ...['qcreate', 'qinfo', 'qclose'].map(
        (name, i) => `qmadmin: line ${3 + i}: ${name}: no queue space is open; first: qopen SPACE`,
      ),
    ]);
    expect((await run('qopen SP', 'qinfo')).out).toEqual([]);
  });

  it('a second qopen works on the new space; the device is free after the end', async () => {
    const { path, run } = await withSpace();
    await run(SPACE.replace('SP', 'S2'));
    await run(
      'qopen SP',
      'qcr A fifo none 0 0 100% 0 ""',
      'qopen S2',
      'qopen S2',
      'qcr B fifo none 0 0 100% 0 ""',
    );
    expect((await run('qopen SP', 'qinfo', 'qopen S2', 'qinfo', 'qclose')).out).toMatchObject([
      expect.stringMatching(/^Queue A:/),
      expect.stringMatching(/^Queue B:/),
    ]);
    (await DeviceLock.acquire(path, process.pid)).release();
  });

  it('a device that another holds is refused, by pid', async () => {
    const { path, run } = await withSpace();
    const lock = await DeviceLock.acquire(path, 4711);
    expect((await run('qopen SP')).err[0]).toContain('in use by another process (pid 4711)');
    await expect(reachableDevice(path).check()).rejects.toThrow(
      /\(pid 4711\).*; it takes no requests: a daemon that is starting or stopping, or another qmadmin or tool$/,
    );
    // Nobody listens on port 1.
    await lock.noteAddress(4711, '//127.0.0.1:1');
    await expect(reachableDevice(path).check()).rejects.toThrow(
      /\(pid 4711\).*; it does not answer at \/\/127\.0\.0\.1:1: .*ECONNREFUSED/,
    );
    lock.release();
    await reachableDevice(path).check();
  });

  it('what is no device is refused before anything is done', async () => {
    const dir = tempDir();
    writeFileSync(`${dir}/file`, 'x');
    await expect(reachableDevice(`${dir}/file`).check()).rejects.toThrow(
      'is a file: here a device is a directory',
    );
    await reachableDevice(`${dir}/none`).check();
    expect(errorOf(await runScript(['qopen SP'], localDevice(`${dir}/none`)))).toBe(
      `qopen: device ${dir}/none does not exist; first: crdl ${dir}/none 0 SIZE`,
    );
    expect(readdirSync(dir)).toEqual(['file']);
  });
});

describe('qcreate', () => {
  it('refuses a queue that exists, and more queues than the space was created for', async () => {
    const { run } = await withSpace();
    const ran = await run(
      'qopen SP',
      'qcr Q time none 3 5 100% 0% ""',
      'qcr Q fifo none 0 0 1m 0 ""',
      ...['A', 'B', 'C', 'D'].map((name) => `qcr ${name} fifo none 0 0 100% 0 ""`),
    );
    expect(ran.err).toEqual([
      'qmadmin: line 3: qcreate: queue Q exists already; nothing was changed (1216)',
      'qmadmin: line 7: qcreate: queue space SP was created for 4 queues and has them (1216)',
    ]);
    const { out } = await run('qopen SP', 'v', 'qi Q');
    expect(out).toEqual([
      'Queue Q: 0 persistent messages in 0 pages, 0 non-persistent messages in 0 bytes',
      '  order: time,fifo',
      '  out-of-order enqueuing: none',
      '  retries: 3',
      '  retry delay: 5 seconds',
      '  limits: high 100%, low 0%, command none',
      '  non-persistent limits: high 100%, low 0%, command none',
      '  delivery policy: persist',
      '  expiry: none',
      '  paused: no',
    ]);
  });

  it('refuses what is not legal, and says what is', async () => {
    const rows = [
      ['fifo,time none 0 0 100% 0 ""', 'queue order: fifo,time is not legal'],
      ['fifo top,top 0 0 100% 0 ""', 'out-of-order enqueuing: top,top is not legal'],
      ['fifo none -1 0 100% 0 ""', 'retries: "-1" is not legal'],
      [
        'fifo none 0 1s 100% 0 ""',
        'retry delay in seconds: 1s is not legal; legal: seconds, 0..2147483647 (1201)',
      ],
      [
        'fifo none 0 0 5x 0 ""',
        'high limit: 5x is not legal; legal: a number with b, B, m or %, such as 80% or 100m (1205)',
      ],
      [
        'fifo none 0 0 x% 0 ""',
        'high limit: x% is not legal; legal: a number with b, B, m or %, such as 80% or 100m (1206)',
      ],
      ['fifo none 0 0 0m 0 ""', 'high limit: 0m is not legal; legal: more than 0, with b, B, m or % (1207)'],
      ['fifo none 0 0 0 0 ""', 'high limit: 0 is not legal; legal: more than 0, with b, B, m or % (1207)'],
      ['fifo none 0 0 101% 0 ""', 'high limit: 101% is not legal; legal: a percentage of at most 100 (1207)'],
      [
        'fifo none 0 0 10m 0% ""',
        'limits 10m and 0%: the low limit must have the unit of the high one (m), or be a bare 0 (1210)',
      ],
      [
        'fifo none 0 0 10m 10m ""',
        'limits 10m and 10m: the low limit must be lower than the high one (1212)',
      ],
      [`fifo none 0 0 10m 0 ${'x'.repeat(128)}`, 'threshold command: '],
    ] as const;
    const { run } = await withSpace();
    const { err, out } = await run('qopen SP', ...rows.map(([words]) => `qcreate Q ${words}`), 'qinfo');
    for (const [i, [, problem]] of rows.entries()) expect(err[i]).toContain(`qcreate: ${problem}`);
    expect({ errors: err.length, out }).toEqual({ errors: rows.length, out: [] });
  });

  it('takes limits for non-persistent messages, with defaults for what is left out', async () => {
    const { run } = await withSpace();
    const wrong = ['80%,90%', '10m,0', '5b,1B', 'x'];
    const refused = await run('qopen SP', ...wrong.map(withThreshold), 'qinfo');
    expect({ errors: refused.err.length, out: refused.out }).toEqual({ errors: wrong.length, out: [] });
    const { err, out } = await run(
      'qopen SP',
      ...['1b,0,', '50%', ',,"a,b"'].map(withThreshold),
      'v',
      'qinfo',
    );
    expect(err).toEqual([]);
    expect(out.filter((line) => line.includes('non-persistent limits'))).toEqual([
      '  non-persistent limits: high 1b, low 0b, command none',
      '  non-persistent limits: high 50%, low 0%, command none',
      '  non-persistent limits: high 100%, low 0%, command a,b',
    ]);
  });
});

describe('qchange', () => {
  it('changes what may change and keeps what is not asked for', async () => {
    const { run } = await withSpace();
    await run('qopen SP', 'qcr -d nonpersist -e 9 -n 50%,1% Q time none 3 5 100% 0% ""');
    const { err, out } = await run(
      'qopen SP',
      'qchange Q top 1 2 5m 1m "echo hi"',
      'qch -e none Q top 1 2 5m 1m "echo hi"',
      'qchange NONE top 1 2 5m 1m ""',
      'verbose on',
      'qinfo',
    );
    expect(err).toEqual(['qmadmin: line 4: qchange: queue space SP has no queue NONE']);
    expect(out.slice(1)).toEqual([
      '  order: time,fifo',
      '  out-of-order enqueuing: top',
      '  retries: 1',
      '  retry delay: 2 seconds',
      '  limits: high 5m, low 1m, command "echo hi"',
      '  non-persistent limits: high 50%, low 1%, command none',
      '  delivery policy: nonpersist',
      '  expiry: none',
      '  paused: no',
    ]);
  });
});

describe('qinfo', () => {
  it('gives one line a queue that scripts can take apart [spec 5.7]', async () => {
    const { run } = await withSpace();
    const { out } = await run(
      'qopen SP',
      'qcr A fifo none 0 0 100% 0 ""',
      'qcr B fifo none 0 0 100% 0 ""',
      'qinfo',
      'qi B',
    );
    expect(out).toHaveLength(3);
    for (const line of out) expect(line).toMatch(/^Queue [AB]: 0 \S+( \S+)*$/);
    expect(out[2]).toBe(out[1]);
    expect(errorOf(await run('qopen SP', 'qinfo C'))).toBe('qinfo: queue space SP has no queue C');
  });
});

describe('names [C63]', () => {
  const LONG = 'é'.repeat(63);
  const spaces = ['a b', 'a/b', '../../x', '.', '..', '日本', 'LOCK'];
  const queues = [
    ...spaces,
    '#x',
    '*x',
    'DEFAULT:',
    'ä',
    'a\u{308}',
    '😀',
    ' ',
    'it"s',
    "it's",
    '-y',
    'q',
    'Q',
  ];

  it('of every kind are spaces and queues, and nothing outside the device', async () => {
    const { path, run } = place();
    await run(`crdl ${path} 0 1000`);
    const made = await run(
      ...spaces.map((name) => `qspc ${quoted(name)} 230458 10 40 5 5 200 "" y 16`),
      `qopen ${quoted('..')}`,
      ...queues.map((name) => `qcr -- ${quoted(name)} fifo none 0 0 100% 0 ""`),
    );
    expect(made.err).toEqual([]);
    const listing = await run('qspl', 'qopen ..', 'qinfo');
    const shownSpaces = listing.out
      .slice(1, spaces.length + 1)
      .map((line) => /^(".*?[^\\]"|\S+) /.exec(line)?.[1] ?? '');
    const shownQueues = listing.out
      .slice(spaces.length + 1)
      .map((line) => /^Queue (.*): 0 persistent/.exec(line)?.[1] ?? '');
    expect(new Set(shownSpaces).size).toBe(spaces.length);
    expect(new Set(shownQueues).size).toBe(queues.length);
    // What the listing shows can be given back.
    const again = await run(
      ...shownSpaces.map((word) => `qopen ${word}`),
      'qopen ..',
      ...shownQueues.map((word) => `qinfo -- ${word}`),
    );
    expect(again.err).toEqual([]);
    expect(again.out).toEqual(listing.out.slice(spaces.length + 1));
    expect(readdirSync(`${path}/..`)).toEqual(['dev']);
    expect(readdirSync(path)).toHaveLength(spaces.length + 2);
  });

  it('that only look alike are listed apart, and so are those that differ in case', async () => {
    const { run } = await withSpace();
    const names = ['ä', 'a\u{308}', 'x', 'X'];
    const { out } = await run(
      'qopen SP',
      ...names.map((name) => `qcr ${name} fifo none 0 0 100% 0 ""`),
      'qinfo',
    );
    expect(out.map((line) => /^Queue (\S+):/.exec(line)?.[1])).toEqual([
      'X',
      String.raw`"a\u{308}"`,
      'x',
      'ä',
    ]);
  });

  it('that are no names are refused', async () => {
    const rows = [
      ['qspc', '""', 'an empty value'],
      ['qspc', 'ABCDEFGHIJKLMNOP', 'ABCDEFGHIJKLMNOP'],
      ['qspc', '"a\tb"', String.raw`"a\u{9}b"`],
      ['qspc', '"a\0b"', String.raw`"a\u{0}b"`],
      ['qspc', String.raw`"a\u{a}b"`, String.raw`"a\u{a}b"`],
      ['qcr', `${LONG}ab`, `${LONG}ab`],
      ['qcr', "''", 'an empty value'],
    ] as const;
    const { path, run } = await withSpace();
    const rest = { qspc: '230458 100 4 5 5 200 "" y 16', qcr: 'fifo none 0 0 100% 0 ""' };
    const { err } = await run(
      'qopen SP',
      ...rows.map(([command, word]) => `${command} ${word} ${rest[command]}`),
    );
    expect(err).toHaveLength(rows.length);
    for (const [i, [, , shown]] of rows.entries()) {
      expect(err[i]).toContain(`name: ${shown} is not legal; legal: 1..`);
    }
    expect(readdirSync(path).sort()).toEqual(['LOCK', 'SP', 'device-list.json']);
  });

  it('of 15 and 127 bytes are the longest', async () => {
    const { run } = await withSpace();
    const ran = await run(
      'qspc ABCDEFGHIJKLMNO 230458 100 4 5 5 200 ABCDEFGHIJKLMNO y 16',
      'qopen SP',
      `qcr ${LONG}a fifo none 0 0 1m 0 ""`,
    );
    expect(ran).toMatchObject({ err: [], failures: 0 });
  });
});

describe('the shell', () => {
  it('knows every name and abbreviation, also in capitals', async () => {
    const { run } = place();
    const words = COMMANDS.flatMap((one) => [one.name, ...one.abbreviations]);
    expect(new Set(words).size).toBe(words.length);
    expect(words.map((word) => word.toLowerCase())).toEqual(words);
    const { err } = await run('qcraete', 'wibble', 'HELP qcr');
    expect(err).toEqual([
      'qmadmin: line 1: there is no command qcraete; did you mean qcreate?',
      'qmadmin: line 2: there is no command wibble; help lists the commands',
    ]);
  });

  it('passes over comments and blank lines, and goes on after what fails', async () => {
    const { run } = await withSpace();
    const ran = await run(
      '# qopen NONE',
      '',
      '  \t',
      '   # x',
      'nonsense',
      '"open',
      'qopen SP',
      '',
      '',
      'q',
      'qopen NONE',
    );
    expect(ran).toMatchObject({ out: [], failures: 2 });
    expect(ran.err[1]).toBe('qmadmin: line 6: the quote in column 1 is never closed');
  });

  it('runs system commands, the last one again, and counts those that fail', async () => {
    const { run } = place();
    const ran = await run('!!', '! tmshutdown -g QUE1', '!!', '!! -y', '!', '!false');
    expect(ran.system).toEqual([
      'tmshutdown -g QUE1',
      'tmshutdown -g QUE1',
      'tmshutdown -g QUE1 -y',
      'false',
    ]);
    expect(ran.err).toEqual([
      'qmadmin: line 1: no command was run by ! yet',
      'qmadmin: line 5: a command is missing behind !',
      'qmadmin: line 6: !false: exit status 1',
    ]);
    expect(ran.failures).toBe(3);
  });

  it('flips or sets echo and verbose', async () => {
    const { run } = await withSpace();
    const ran = await run('echo on', 'verbose', 'verbose off', 'echo OFF', 'qopen SP', 'verbose maybe');
    expect(ran.out).toEqual(['> verbose', '> verbose off', '> echo OFF']);
    expect(errorOf(ran)).toBe('verbose: state: maybe is not legal; legal: on or off');
  });

  it('helps', async () => {
    const { run } = place();
    const { out, err } = await run('help', 'help crdl', 'h nonsense');
    for (const { name } of COMMANDS) expect(out.some((line) => line.startsWith(name))).toBe(true);
    expect(out.slice(-2)).toEqual([
      'crdl [device offset size]',
      '    add an entry to the device list; the first one makes the device',
    ]);
    expect(err).toEqual(['qmadmin: line 3: help: there is no command nonsense; help lists them']);
  });

  it('reads bytes that are no text as failures', async () => {
    const { path } = await withSpace();
    const ran = await runScript(Buffer.from([0x71, 0xff, 0x0a, 0x71, 0x0a]), localDevice(path));
    expect(ran).toMatchObject({ failures: 1, err: ['qmadmin: line 1: the line is not valid UTF-8'] });
  });
});
