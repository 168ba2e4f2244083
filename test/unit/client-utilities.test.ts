// What the SDK does without a daemon: typed buffers, texts of codes, gp_mktime, userlog [spec 3.2, 3.7, 2.8].
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  gp_mktime,
  string,
  type Tm,
  tpalloc,
  TPED,
  TPERRNO,
  tpfree,
  tprealloc,
  tpstrerror,
  tpstrerrordetail,
  tptypes,
} from '../../clients/typescript/index.ts';
import { toWire } from '../../clients/typescript/buffer.ts';

describe('tpalloc', () => {
  it.each([
    ['STRING', '', 0, 512],
    ['STRING', '', 600, 600],
    ['CARRAY', '', 1, 1],
    ['FML32', '', 10, 1024],
    ['VIEW', 'v', 2000, 2000],
  ])('%s of subtype %j and %d bytes has %d', (type, subtype, size, bytes) => {
    expect(tptypes(tpalloc(type, subtype, size))).toEqual({ type, subtype, size: bytes });
  });

  it.each([
    ['CARRAY of 0 bytes', 'CARRAY', '', 0, TPERRNO.TPEINVAL],
    ['X_OCTET of 0 bytes', 'X_OCTET', '', 0, TPERRNO.TPEINVAL],
    ['a negative size', 'STRING', '', -1, TPERRNO.TPEINVAL],
    ['an unknown type', 'NOTYPE', '', 1, TPERRNO.TPENOENT],
    ['a name of Object.prototype', 'toString', '', 1, TPERRNO.TPENOENT],
    ['a view without its name', 'VIEW32', null, 1, TPERRNO.TPENOENT],
  ])('%s fails', (_name, type, subtype, size, tperrno) => {
    expect(() => tpalloc(type, subtype, size)).toThrow(expect.objectContaining({ tperrno }));
  });

  it('only the first 8 bytes of the type and 16 of the subtype count', () => {
    expect(() => tpalloc('STRINGSX', '', 1)).toThrow(/TPENOENT/);
    const view = tpalloc('X_COMMONANDMORE', 'a'.repeat(20), 1);
    expect([view.type, view.subtype]).toEqual(['X_COMMON', 'a'.repeat(16)]);
  });

  it('a STRING is sent up to its NUL, bytes up to `length`', () => {
    const text = tpalloc('STRING', '', 512);
    text.bytes.set(Buffer.from('hello\0garbage'));
    expect(toWire(text)).toMatchObject({ type: 'STRING', data: new Uint8Array(Buffer.from('hello')) });
    const bytes = tpalloc('CARRAY', '', 10);
    bytes.length = 3;
    expect(toWire(bytes).data?.length).toBe(3);
    expect(toWire(tpalloc('STRING', '', 1)).data).toBe(null);
  });

  it('tprealloc keeps what fits; size 0 of CARRAY is TPEINVAL; tpfree empties', () => {
    const bytes = tpalloc('CARRAY', '', 4);
    bytes.bytes.set([1, 2, 3, 4]);
    expect([...tprealloc(bytes, 6).bytes]).toEqual([1, 2, 3, 4, 0, 0]);
    expect([...tprealloc(bytes, 2).bytes]).toEqual([1, 2]);
    expect(() => tprealloc(bytes, 0)).toThrow(/TPEINVAL/);
    tpfree(bytes);
    expect(bytes.data.length).toBe(0);
  });
});

describe('tptypes', () => {
  it('tells of anything that can be sent or was received', () => {
    expect(tptypes('größe')).toEqual({ type: 'STRING', subtype: '', size: 7 });
    expect(tptypes(string('ab'))).toEqual({ type: 'STRING', subtype: '', size: 2 });
    expect(tptypes({ data: 'é', type: 'XML', subtype: '' })).toEqual({ type: 'XML', subtype: '', size: 2 });
    expect(tptypes({ data: { a: 1 }, type: 'JSON', subtype: '' }).size).toBe(7);
    expect(() => tptypes(null)).toThrow(/TPEINVAL/);
  });
});

describe('texts', () => {
  it('every code has a text of its own that begins with its name', () => {
    const texts = Object.entries(TPERRNO).map(([name, value]) => [name, tpstrerror(value)]);
    for (const [name, text] of texts.slice(1)) expect(text).toMatch(new RegExp(`^${name}: .`));
    expect(new Set(texts.map(([, text]) => text)).size).toBe(texts.length);
    for (const [name, value] of Object.entries(TPED)) expect(tpstrerrordetail(value)).toContain(name);
  });

  it('other numbers have none', () => {
    expect([tpstrerror(99), tpstrerror(-1), tpstrerrordetail(0)]).toEqual([undefined, undefined, undefined]);
  });
});

const tm = (members: Partial<Tm>): Tm => ({
  tm_sec: 0,
  tm_min: 0,
  tm_hour: 12,
  tm_mday: 1,
  tm_mon: 0,
  tm_year: 100,
  ...members,
});

describe('gp_mktime', () => {
  it('is the local time, and fills in the day of the week and of the year', () => {
    const time = tm({ tm_mon: 11, tm_mday: 31 });
    expect(gp_mktime(time)).toBe(new Date(2000, 11, 31, 12).getTime() / 1000);
    expect(time).toMatchObject({ tm_wday: 0, tm_yday: 365 });
  });

  it('brings members into their ranges', () => {
    const time = tm({ tm_mon: 14, tm_mday: 0, tm_sec: 61 });
    gp_mktime(time);
    expect(time).toMatchObject({ tm_year: 101, tm_mon: 1, tm_mday: 28, tm_min: 1, tm_sec: 1, tm_yday: 58 });
  });

  it('what cannot be expressed is -1', () => {
    expect([gp_mktime(tm({ tm_year: 1e9 })), gp_mktime(tm({ tm_sec: 0.5 }))]).toEqual([-1, -1]);
  });

  it('takes tm_isdst at its word', () => {
    const src = pathToFileURL(join(import.meta.dirname, '../../dist/clients/typescript/index.js')).href;
    const program = `import { gp_mktime } from '${src}';
      const at = (tm_isdst) => { const tm = { tm_sec: 0, tm_min: 0, tm_hour: 12, tm_mday: 1, tm_mon: 6, tm_year: 120, tm_isdst };
        return [gp_mktime(tm), tm.tm_hour, tm.tm_isdst]; };
      console.log(JSON.stringify([at(-1), at(1), at(0)]));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      env: { ...process.env, TZ: 'Europe/Berlin' },
      encoding: 'utf8',
    });
    const noon = Date.UTC(2020, 6, 1, 10) / 1000;
    expect(JSON.parse(stdout)).toEqual([
      [noon, 12, 1],
      [noon, 12, 1],
      [noon + 3600, 13, 1],
    ]);
  });
});

function run(
  env: Record<string, string>,
  code: string,
): { dir: string; files: string[]; out: string; err: string } {
  const dir = mkdtempSync(join(tmpdir(), 'tmqueue-userlog-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const src = pathToFileURL(join(import.meta.dirname, '../../dist/clients/typescript/index.js')).href;
  const program = `import { userlog } from '${src}';\n${code}`;
  const { ULOGPFX: _prefix, APPDIR: _appdir, ULOGDEBUG: _debug, ...rest } = process.env;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...rest, ...env },
    cwd: dir,
    encoding: 'utf8',
  });
  return { dir, files: readdirSync(dir), out: stdout, err: stderr };
}

describe('userlog', () => {
  it('appends to ULOG.mmddyy; the first line of a file names the version', () => {
    const { dir, files, out, err } = run({}, `console.log(userlog('first %d', 1)); userlog('second');`);
    expect(files).toEqual([expect.stringMatching(/^ULOG\.\d{6}$/)]);
    const lines = readFileSync(join(dir, files[0] ?? ''), 'utf8').split('\n');
    const tag = /^\d{6}\..+!.+\.\d+\.0\.0: /;
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`${tag.source}@tmqueue/client `)),
      expect.stringMatching(new RegExp(`${tag.source}first 1$`)),
      expect.stringMatching(new RegExp(`${tag.source}second$`)),
      '',
    ]);
    expect([Number(out), err]).toEqual([(lines[1] ?? '').length + 1, '']);
  });

  it('ULOGPFX is read once, at the first line', () => {
    const code = `userlog('a'); process.env.ULOGPFX = 'other'; userlog('b');`;
    expect(run({ ULOGPFX: 'mine' }, code).files).toEqual([expect.stringMatching(/^mine\.\d{6}$/)]);
  });

  it.each(['1', 'y'])('ULOGDEBUG=%s copies the line to standard error', (value) => {
    expect(run({ ULOGDEBUG: value }, `userlog('seen');`).err).toContain(': seen\n');
  });

  it('a file that cannot be written: -1', () => {
    expect(run({ ULOGPFX: 'no/such/folder/X' }, `console.log(userlog('a'));`).out).toBe('-1\n');
  });
});
