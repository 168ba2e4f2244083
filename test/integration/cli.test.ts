// The command line as its user meets it: words, exit codes, output, help. The daemon runs in the test's process, the commands do not.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, afterAll, describe, expect, it } from 'vitest';
import { typed } from '../../clients/typescript/index.ts';
import { eventually, InProcess } from '../support/in-process.ts';

const COMMAND = join(import.meta.dirname, '../../dist/src/cli/tmqueue.js');

interface Outcome {
  code: number | null;
  out: string;
  err: string;
}

const daemon = new InProcess({ spaces: [{ name: 'QSPACE', queues: [{ name: 'Q' }, { name: 'RPLYQ' }] }] });
beforeAll(() => daemon.start());
afterAll(() => daemon.remove());

function tmqueue(
  words: string[],
  options: { input?: string | Buffer; address?: string } = {},
): Promise<Outcome> {
  const env = { ...process.env, WSNADDR: options.address ?? daemon.address };
  const child = spawn(process.execPath, [COMMAND, ...words], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const outcome: Outcome = { code: null, out: '', err: '' };
  child.stdout.setEncoding('latin1').on('data', (text: string) => (outcome.out += text));
  child.stderr.on('data', (text: Buffer) => (outcome.err += text.toString()));
  child.stdin.end(options.input ?? '');
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ ...outcome, code }));
  });
}

describe('enqueue and dequeue', () => {
  it('carry text, and everything that goes with it', async () => {
    const words = [
      '--corrid',
      'order 17',
      '--priority',
      '80',
      '--reply-queue',
      'RPLYQ',
      '--failure-queue',
      'FQ',
    ];
    const put = await tmqueue(['enqueue', 'QSPACE', 'Q', '--data', 'hello', '--urcode', '9', ...words]);
    expect(put).toMatchObject({ code: 0, err: '' });
    expect(put.out).toMatch(/^[0-9a-f]{32}\n$/);
    const got = await tmqueue(['dequeue', 'QSPACE', 'Q', '--json']);
    expect(got.code).toBe(0);
    expect(JSON.parse(got.out)).toEqual({
      msgid: put.out.trim(),
      type: 'STRING',
      corrid: 'order 17',
      priority: 80,
      replyqueue: 'RPLYQ',
      failurequeue: 'FQ',
      urcode: 9,
      appkey: -1,
      data: 'hello',
    });
  });

  it('show what was taken also when it is not what its type says', async () => {
    const ctx = await daemon.join();
    for (const type of ['JSON', 'JSON', 'STRING', 'MBSTRING'])
      await ctx.tpenqueue('QSPACE', 'Q', null, typed(type, '', Buffer.from('7bff', 'hex')));
    expect(await tmqueue(['dequeue', 'QSPACE', 'Q', '--hex'])).toMatchObject({ code: 0, out: '7bff\n' });
    const json = await tmqueue(['dequeue', 'QSPACE', 'Q', '--json']);
    expect(JSON.parse(json.out)).toMatchObject({ type: 'JSON', hex: '7bff' });
    for (let i = 0; i < 2; i++)
      expect(await tmqueue(['dequeue', 'QSPACE', 'Q'])).toMatchObject({ code: 0, out: '{\xff' });
  });

  it('take data from a file, from standard input and as hexadecimal digits', async () => {
    const file = join(daemon.dir, 'body');
    writeFileSync(file, 'from a file');
    expect((await tmqueue(['enqueue', 'QSPACE', 'Q', '--data', `@${file}`])).code).toBe(0);
    expect((await tmqueue(['enqueue', 'QSPACE', 'Q', '--data', '-'], { input: 'from stdin' })).code).toBe(0);
    expect((await tmqueue(['enqueue', 'QSPACE', 'Q', '--data', '00ff 7f', '--hex'])).code).toBe(0);
    expect((await tmqueue(['enqueue', 'QSPACE', 'Q'])).code).toBe(0);
    expect((await tmqueue(['dequeue', 'QSPACE', 'Q'])).out).toBe('from a file\n');
    expect((await tmqueue(['dequeue', 'QSPACE', 'Q', '--peek', '--hex'])).out).toBe(
      `${Buffer.from('from stdin').toString('hex')}\n`,
    );
    expect((await tmqueue(['dequeue', 'QSPACE', 'Q'])).out).toBe('from stdin\n');
    expect((await tmqueue(['dequeue', 'QSPACE', 'Q'])).out).toBe('\x00\xff\x7f');
    expect(await tmqueue(['dequeue', 'QSPACE', 'Q'])).toEqual({ code: 0, out: '', err: '' });
  });

  it('select by msgid and corrid, and wait', async () => {
    const waiting = tmqueue(['dequeue', 'QSPACE', 'Q', '--wait', '--corrid', 'mine', '--timeout', '20']);
    await eventually(async () => (await daemon.queue('Q')).waiters === 1);
    await tmqueue(['enqueue', 'QSPACE', 'Q', '--data', 'other', '--corrid', 'other']);
    const { out: msgid } = await tmqueue(['enqueue', 'QSPACE', 'Q', '--data', 'third']);
    await tmqueue(['enqueue', 'QSPACE', 'Q', '--data', 'for me', '--corrid', 'mine']);
    expect(await waiting).toMatchObject({ code: 0, out: 'for me\n' });
    expect((await tmqueue(['dequeue', 'QSPACE', 'Q', '--msgid', msgid.trim()])).out).toBe('third\n');
    expect((await tmqueue(['dequeue', 'QSPACE', 'Q'])).out).toBe('other\n');
  });
});

describe('exit codes', () => {
  const rows: [string, string[], number, RegExp][] = [
    ['no message', ['dequeue', 'QSPACE', 'Q'], 2, /^TPEDIAGNOSTIC\/QMENOMSG: /],
    [
      'no such queue',
      ['enqueue', 'QSPACE', 'NOQ', '--data', 'x'],
      1,
      /^TPEDIAGNOSTIC\/QMEBADQUEUE: .*NOQ.*QSPACE/,
    ],
    ['no such space', ['enqueue', 'NOSPACE', 'Q', '--data', 'x'], 1, /^TPENOENT: .*NOSPACE/],
    [
      'priority out of range',
      ['enqueue', 'QSPACE', 'Q', '--priority', '101'],
      1,
      /^TPEDIAGNOSTIC\/QMEINVAL: .*101/,
    ],
    ['priority no number', ['enqueue', 'QSPACE', 'Q', '--priority', 'high'], 64, /whole number/],
    [
      'hexadecimal digits that are none',
      ['enqueue', 'QSPACE', 'Q', '--data', 'zz', '--hex'],
      64,
      /hexadecimal/,
    ],
    ['a file that is not there', ['enqueue', 'QSPACE', 'Q', '--data', '@/no/such/file'], 64, /no such file/],
    ['a corrid that is too long', ['enqueue', 'QSPACE', 'Q', '--corrid', 'x'.repeat(33)], 64, /32 bytes/],
    ['an argument missing', ['enqueue', 'QSPACE'], 64, /missing required argument/],
    ['an option unknown', ['dequeue', 'QSPACE', 'Q', '--nope'], 64, /unknown option/],
    ['a command unknown', ['remove'], 64, /unknown command/],
    ['an address that is none', ['start', '-c', 'x', '--listen', 'here'], 64, /HOST:PORT/],
    ['a configuration that is not there', ['start', '-c', '/no/such/ubb'], 1, /cannot be read/],
  ];
  it.each(rows)('%s', async (_name, words, code, text) => {
    const outcome = await tmqueue(words);
    expect(outcome.err).toMatch(text);
    expect(outcome).toMatchObject({ code, out: '' });
  });

  it('daemon not reachable', async () => {
    const outcome = await tmqueue(['stat'], { address: '//127.0.0.1:1' });
    expect(outcome.err).toMatch(/127\.0\.0\.1:1/);
    expect(outcome).toMatchObject({ code: 69, out: '' });
  });
});

describe('stat', () => {
  it('shows queues as a table, or everything as JSON', async () => {
    await tmqueue(['enqueue', 'QSPACE', 'RPLYQ', '--data', 'counted']);
    const shown = await tmqueue(['stat']);
    expect(shown.code).toBe(0);
    expect(shown.out).toMatch(/^RPLYQ +1 +1 +0 +0 /m);
    const { out } = await tmqueue(['stat', 'QSPACE', '--json']);
    expect(JSON.parse(out)).toMatchObject({ spaces: [{ name: 'QSPACE', state: 'open', messages: 1 }] });
    expect(await tmqueue(['stat', 'OTHER'])).toMatchObject({ code: 1, out: '' });
  });
});

it('server: what cannot be, and a wrong id, say so', async () => {
  const refused = await tmqueue(['server', 'start', '1', '--json']);
  expect(refused).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/^TPEPROTO: .* TMQUEUE G1\/1 runs/),
  });
  expect(await tmqueue(['server', 'stop', '30001'])).toMatchObject({
    code: 64,
    err: expect.stringContaining('1..30000'),
  });
});

describe('help', () => {
  it.each([
    [[]],
    [['init']],
    [['check']],
    [['start']],
    [['enqueue']],
    [['dequeue']],
    [['stat']],
    [['backup']],
    [['restore']],
    [['server']],
    [['server', 'start']],
    [['redrive']],
    [['reload']],
    [['export']],
    [['import']],
    [['wal']],
    [['wal', 'dump']],
    [['wal', 'salvage']],
  ])('of %j', async (words) => {
    const { code, out } = await tmqueue([...words, '--help']);
    expect(code).toBe(0);
    expect(out).toMatchSnapshot();
  });
  it('names the version', async () => {
    expect((await tmqueue(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
