// `tmqueue check` and `tmqueue init` as their users meet them: exit codes, output, and what is never touched.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SAMPLES } from '../../src/cli/init.ts';
import { PARAMETERS } from '../../src/ubb/parameters.ts';
import { ubbText } from '../support/ubb-text.ts';

const ROOT = join(import.meta.dirname, '../..');
const COMMAND = join(ROOT, 'dist/src/cli/tmqueue.js');

interface Outcome {
  code: number | null;
  out: string;
  err: string;
}

/** Runs in a folder; paths in the output are then short. */
function tmqueue(dir: string, words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const child = spawn(process.execPath, [COMMAND, ...words], { cwd: dir, env: { ...process.env, ...env } });
  const outcome: Outcome = { code: null, out: '', err: '' };
  child.stdout.on('data', (text: Buffer) => (outcome.out += text.toString()));
  child.stderr.on('data', (text: Buffer) => (outcome.err += text.toString()));
  child.stdin.end(env['STDIN'] ?? '');
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ ...outcome, code }));
  });
}

function folder(files: Record<string, string | Buffer> = {}): string {
  const dir = mkdtempSync(join(tmpdir(), 'tmqueue-check-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}

const good = ubbText({ spaces: [{ errorQueue: 'E', queues: ['Q', 'E'], forwarders: [{ queues: ['Q'] }] }] });
const counts = '1 machine, 2 groups, 2 servers, 0 services, 1 queue space, 2 queues';

describe('check', () => {
  it('of a file without faults: one line, exit 0, and nothing that the file names is looked at or made', async () => {
    const dir = folder({ ubb: good.replace('APPDIR="."', 'APPDIR="/no/such/place"') });
    const idle = '-v lists 2 things that do nothing here';
    expect(await tmqueue(dir, ['check', 'ubb'])).toEqual({
      code: 0,
      out: `ubb: no faults; ${counts}; ${idle}\n`,
      err: '',
    });
    expect(readdirSync(dir)).toEqual(['ubb']);
  });

  it('lists every fault at its place, with what would be legal, and counts them: exit 1', async () => {
    const dir = folder({ ubb: good.replace('MAXGTT 100', 'MAXGTT x').replace('RETRIES=0', 'RETRY=0') });
    const { code, out, err } = await tmqueue(dir, ['check', 'ubb']);
    expect([code, err]).toEqual([1, '']);
    expect(out.split('\n')).toEqual([
      'ubb:5:8: MAXGTT: x is not legal; legal: a number 0..32767 (decimal, 0x hex or 0 octal)',
      `ubb:19:19: RETRY is no parameter of *QUEUES; legal: ${Object.keys(PARAMETERS.QUEUES ?? {}).join(' ')}`,
      'ubb: 2 faults; -v lists 2 things that do nothing here',
      '',
    ]);
  });

  it('says what start says about the same faults', async () => {
    const dir = folder({ ubb: good.replace('MAXGTT 100', 'MAXGTT x').replace('MODEL SHM', 'MODEL=SHM') });
    const checked = await tmqueue(dir, ['check', 'ubb']);
    const started = await tmqueue(dir, ['start', '-c', 'ubb', '--listen', '127.0.0.1:0']);
    expect(started.code).toBe(1);
    expect(started.err.split('\n').slice(0, 2)).toEqual(checked.out.split('\n').slice(0, 2));
  });

  it('warns, and names what start refuses and every macro, with exit 0', async () => {
    const text = good
      .replace('MAXGTT 100', 'MAXGTT ${GTT}\nDOMAINID $NAME')
      .replace(' ERRORQ="E"', ' ERRORQ="F"')
      .replace('MAXTRANTIME 0', 'SECURITY ACL');
    const { code, out } = await tmqueue(folder({ ubb: text }), ['check', 'ubb']);
    expect(code).toBe(0);
    expect(out.split('\n')).toEqual([
      'ubb:5:8: start refuses this: the macro ${GTT} is not filled in; replace it by its value',
      'ubb:6:10: note: the macro $NAME is not filled in; replace it by its value',
      'ubb:7:10: start refuses this: not yet supported: SECURITY other than NONE',
      'ubb:18:25: warning: ERRORQ: F is no queue of *QUEUES in QSPACE; it must be created by qmadmin',
      `ubb: no faults; 1 warning; start refuses it for 2 reasons; 1 other macro not filled in; ${counts}; ` +
        '-v lists 3 things that do nothing here',
      '',
    ]);
  });

  it('-v lists what has no meaning here, and what is not yet in effect', async () => {
    const { code, out } = await tmqueue(folder({ ubb: good.replace('MAXGTT 100', 'LDBAL Y') }), [
      'check',
      '-v',
      'ubb',
    ]);
    expect(code).toBe(0);
    expect(out.split('\n')).toEqual([
      'No meaning here: 2',
      'ubb:2:1: IPCKEY of *RESOURCES has no meaning here',
      'ubb:15:44: REPLYQ of *SERVERS has no meaning here',
      'Not yet in effect: 1',
      'ubb:5:1: LDBAL of *RESOURCES is not yet in effect',
      `ubb: no faults; ${counts}`,
      '',
    ]);
  });

  it('--json prints findings and model in the documented shape, -v or not', async () => {
    const dir = folder({ ubb: good.replace('SRVGRP=G1 SRVID=1 ', 'SRVGRP=G1 SRVID=1 MIN=$M ') });
    const { code, out } = await tmqueue(dir, ['check', 'ubb', '--json']);
    expect(code).toBe(0);
    expect((await tmqueue(dir, ['check', 'ubb', '-v', '--json'])).out).toBe(out);
    const found = JSON.parse(out) as Record<string, unknown> & { model: Record<string, unknown> };
    expect(found).toMatchObject({
      file: 'ubb',
      ok: true,
      faults: [],
      warnings: [],
      startRefuses: [{ line: 14, column: 31, word: '$M' }],
      otherMacros: [],
      noMeaningHere: [{ line: 2, column: 1, word: 'IPCKEY' }, { line: 14, word: 'MIN' }, { word: 'REPLYQ' }],
      notYetInEffect: [],
    });
    expect(Object.keys(found.model)).toEqual(
      'RESOURCES MACHINES GROUPS SERVERS SERVICES ROUTING QSPACES QUEUES'.split(' '),
    );
    expect(found.model).toMatchObject({
      RESOURCES: { IPCKEY: 52_617, MASTER: ['SITE1'], BLOCKTIME: 6 },
      GROUPS: [
        { name: 'APP', queueSpace: null },
        { name: 'G1', queueSpace: { device: 'data1', space: 'QSPACE' } },
      ],
      SERVERS: [
        {
          name: 'TMQUEUE',
          line: 14,
          parameters: { MIN: '$M' },
          role: { kind: 'tmqueue', aliases: ['QSPACE'] },
        },
        { name: 'TMQFORWARD', role: { kind: 'tmqforward', queues: ['Q'], timeoutS: 30, idleS: 1 } },
      ],
      QUEUES: [{ name: 'Q', parameters: { RETRIES: 0, ORDER: 'fifo' } }, { name: 'E' }],
    });
    expect(out).not.toContain('"entry"');
  });

  it('--json of a file with faults: the faults and no model, exit 1', async () => {
    const dir = folder({ ubb: good.replace('MAXGTT 100', 'MAXGTT x') });
    const { code, out } = await tmqueue(dir, ['check', '--json', 'ubb']);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      faults: [{ line: 5, column: 8, word: 'x' }],
      model: null,
    });
  });

  it('--expand-env takes variables from the environment, in check and in start; without it nothing is expanded', async () => {
    const dir = folder({ ubb: good.replace('MAXGTT 100', 'MAXGTT $GTT').replace('data1:', '${DEVICE}/d:') });
    const env = { GTT: '7', DEVICE: 'no/folder' };
    expect((await tmqueue(dir, ['check', 'ubb'], env)).out).toContain('$GTT is not filled in');
    const { code, out } = await tmqueue(dir, ['check', '--expand-env', '--json', 'ubb'], env);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ model: { RESOURCES: { MAXGTT: 7 } } });
    const unset = await tmqueue(dir, ['check', '--expand-env', 'ubb'], { GTT: '7' });
    expect(unset.out.split('\n')[0]).toBe(
      'ubb:12:47: the environment variable DEVICE is not set; set it, or write its value',
    );
    expect(unset.code).toBe(1);
    const started = await tmqueue(dir, ['start', '-c', 'ubb', '--expand-env'], env);
    expect([started.code, started.err]).toEqual([1, expect.stringContaining('no/folder/d')]);
  });

  it.each<[string, string[], string]>([
    [
      'a name that is wrong',
      ['check', 'nosuch'],
      'nosuch: cannot be read: there is no such file\nnosuch: 1 fault\n',
    ],
    ['a directory', ['check', '.'], '.: is a directory; legal: the name of a UBBCONFIG file\n.: 1 fault\n'],
    [
      'an empty file',
      ['check', 'empty'],
      'empty: section *RESOURCES is missing\nempty: section *MACHINES is missing\nempty: 2 faults\n',
    ],
    [
      'a binary file',
      ['check', 'binary'],
      'binary:1:1: byte 0x7f does not belong in a text file (ASCII or UTF-8 is expected); reading stops here\nbinary: 1 fault\n',
    ],
    ['standard input', ['check', '-'], `-: no faults; ${counts}; -v lists 2 things that do nothing here\n`],
    [
      'a file with CRLF',
      ['check', 'crlf'],
      `crlf: no faults; ${counts}; -v lists 2 things that do nothing here\n`,
    ],
  ])('%s', async (_what, words, expected) => {
    const crlf = good.replaceAll('\n', '\r\n');
    const dir = folder({ empty: '', binary: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2]), crlf });
    const { code, out, err } = await tmqueue(dir, words, { STDIN: good });
    expect({ out, err }).toEqual({ out: expected, err: '' });
    expect(code).toBe(expected.includes('no faults') ? 0 : 1);
  });

  it('without a file: usage', async () => {
    expect(await tmqueue(folder(), ['check'])).toMatchObject({ code: 64, out: '' });
  });
});

describe('init', () => {
  it('makes the directory, writes ubbconfig, says what to run next; the file has no fault', async () => {
    const dir = folder();
    const { code, out, err } = await tmqueue(dir, ['init', 'a/new app']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toBe(
      "a/new app/ubbconfig is written. Look at it, then:\n  tmqueue check 'a/new app/ubbconfig'\n  tmqueue start -c 'a/new app/ubbconfig'\n",
    );
    const text = readFileSync(join(dir, 'a/new app/ubbconfig'), 'utf8');
    const example = readFileSync(join(ROOT, 'ubbconfig.example'), 'utf8');
    expect(text).toBe(example.replaceAll('ubbconfig.example', 'ubbconfig'));
    expect((await tmqueue(dir, ['check', 'a/new app/ubbconfig'])).code).toBe(0);
  });

  it('--sample writes another one', async () => {
    const dir = folder();
    expect(await tmqueue(dir, ['init', '.', '--sample', 'two-spaces'])).toMatchObject({ code: 0, err: '' });
    const sample = readFileSync(join(ROOT, 'config/samples/two-spaces.ubb'), 'utf8');
    expect(readFileSync(join(dir, 'ubbconfig'), 'utf8')).toBe(sample);
  });

  it('knows every sample that there is', () => {
    const files = Object.values(SAMPLES).map(({ file }) => file);
    const there = readdirSync(join(ROOT, 'config/samples')).map((name) => `config/samples/${name}`);
    expect(files.sort()).toEqual(['ubbconfig.example', ...there].sort());
  });

  it('overwrites nothing', async () => {
    const dir = folder({ ubbconfig: 'mine' });
    expect(await tmqueue(dir, ['init', '.'])).toEqual({
      code: 1,
      out: '',
      err: 'tmqueue: ubbconfig exists, and init overwrites nothing: take it away first, or name another directory\n',
    });
    expect(readFileSync(join(dir, 'ubbconfig'), 'utf8')).toBe('mine');
  });

  it.each([
    ['a file in the place of the directory', 'file', 'file is no directory'],
    ['a file above it', 'file/below', 'file/below is no directory'],
    ['a place where nothing can be made', '/proc/tmqueue', '/proc/tmqueue cannot be made: ENOENT'],
  ])('%s: refused', async (_what, place, expected) => {
    const dir = folder({ file: '' });
    const { code, out, err } = await tmqueue(dir, ['init', place]);
    expect([code, out, err]).toEqual([1, '', expect.stringContaining(`tmqueue: ${expected}`)]);
  });

  it('a sample that there is none of: usage, with those that there are', async () => {
    const { code, err } = await tmqueue(folder(), ['init', '.', '--sample', 'x']);
    expect(code).toBe(64);
    for (const name of Object.keys(SAMPLES)) expect(err).toContain(name);
  });
});
