// qmadmin as operators run it: the built command, fed from files like those of public applications, then the daemon on a UBBCONFIG without
// *QSPACES, and a message that is forwarded and answered. The public files themselves are tried when they are there.
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tpinit, TPQ, TPQCTL } from '../../clients/typescript/index.ts';
import { eventually, InProcess } from '../support/in-process.ts';
import { localDevice, runScript } from '../support/qmadmin.ts';
import { startCli, startToEnd } from './cli-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const COMMAND = join(ROOT, 'dist/src/cli/qmadmin.js');
const SHARED = process.env['TMQUEUE_SHARED'] ?? join(ROOT, '../shared');

const COMMANDS = `crdl $QMCONFIG 0 400
qspc QSPACE 239999 100 3 5 5 100 ERR y 16
qopen QSPACE
qcr ERR time none 0 0 100% 0% ''
qopen QSPACE
qcr RATES time none 100 5 100% 0% ''
qopen QSPACE
qcr RATES_DONE time none 3 5 100% 0% ''
`;
const UBB = `*RESOURCES
MASTER tuxapp
MODEL SHM
IPCKEY 32769
*MACHINES
"@UNAME@" LMID=tuxapp
    APPDIR="@CURDIR@"
*GROUPS
GROUP1 LMID=tuxapp GRPNO=1 TMSNAME=TMS TMSCOUNT=2
GROUP2 LMID=tuxapp GRPNO=2 TMSNAME=TMS_QM TMSCOUNT=2
    OPENINFO="TUXEDO/QM:@CURDIR@/qmconfig:QSPACE"
*SERVERS
"app.py" SRVGRP=GROUP1 SRVID=2
TMQUEUE SRVGRP=GROUP2 SRVID=3
    CLOPT="-s QSPACE:TMQUEUE -- "
TMQFORWARD SRVGRP=GROUP2 SRVID=4
    CLOPT="-A -- -q RATES,RATES_DONE -i 1"
`;

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function qmadmin(
  input: string,
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<Outcome> {
  const { QMCONFIG: _ours, ...others } = process.env;
  const child = spawn(process.execPath, [COMMAND, ...words], { env: { ...others, ...env } });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'tmqueue-qmadmin-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const filled = (text: string, dir: string): string =>
  text
    .replaceAll('@CURDIR@', dir)
    .replaceAll('@UNAME@', 'localhost')
    .replaceAll('@TUXDIR@', '/opt/tuxedo')
    .replaceAll('$QMCONFIG', `${dir}/qmconfig`);

describe('a UBBCONFIG without *QSPACES', () => {
  const shared = {
    commands: `${SHARED}/qmadmin/03-packt-ch11-retries100.cmds`,
    ubb: `${SHARED}/ubb/16-packt-ch11.ubb`,
  };
  const cases = [
    { name: 'ours', commands: COMMANDS, ubb: UBB, forwarded: 'RATES' },
    ...(existsSync(shared.commands) && existsSync(shared.ubb)
      ? [
          {
            name: 'public',
            commands: readFileSync(shared.commands, 'utf8'),
            ubb: readFileSync(shared.ubb, 'utf8'),
            forwarded: 'GETRATES',
          },
        ]
      : []),
  ];

  it.each(cases)(
    '$name: starts once qmadmin has made its space, and forwards',
    async ({ commands, ubb, forwarded }) => {
      const dir = folder();
      const [config, device] = [`${dir}/ubbconfig`, `${dir}/qmconfig`];
      writeFileSync(config, filled(ubb, dir));
      const early = await startToEnd('-c', config, '--listen', '127.0.0.1:0');
      expect(early).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/QSPACE does not exist.*qmadmin/),
      });

      // The argument, or the variable: both name the device.
      const made = await qmadmin(filled(commands, dir), [], { QMCONFIG: device });
      expect(made).toEqual({ code: 0, out: '', err: '' });

      await runScript(['qspc OTHER 230001 10 1 1 1 1 "" n 16'], localDevice(device));
      const daemon = await startCli(config, '--listen', '127.0.0.1:0');
      expect(daemon.stderr).toContain('but is no longer in the configuration; it stays, with its messages');
      const through = await qmadmin('qopen QSPACE\nqinfo ERR\n', [device]);
      expect(through).toEqual({
        code: 0,
        out: 'Queue ERR: 0 persistent messages in 0 pages, 0 non-persistent messages in 0 bytes\n',
        err: '',
      });

      const ctx = await tpinit({
        address: `//127.0.0.1:${daemon.port}`,
        reconnect: false,
        onError: () => {},
      });
      const over = new AbortController();
      const answered = new Promise<string>((resolve) => {
        const services = {
          [forwarded]: (request: { text: string }) => request.text.toUpperCase(),
          // The reply is forwarded in its turn.
          [`${forwarded}_DONE`]: (request: { text: string }) => {
            resolve(request.text);
            return '';
          },
        };
        void ctx.serve(services, { signal: over.signal }).catch(() => {});
      });
      await ctx.tpenqueue(
        'QSPACE',
        forwarded,
        new TPQCTL({ flags: TPQ.TPQREPLYQ, replyqueue: `${forwarded}_DONE` }),
        'usd',
      );
      expect(await answered).toBe('USD');
      await eventually(async () => (await ctx.stat('QSPACE')).spaces[0]?.messages === 0);
      over.abort();
      for (const body of ['a', 'b'.repeat(600)]) await ctx.tpenqueue('QSPACE', 'ERR', null, body);
      await ctx.tpterm();
      daemon.signal('SIGTERM');
      expect((await daemon.exit).code).toBe(0);

      const looked = await qmadmin('verbose\nqopen QSPACE\nqinfo ERR\nverbose\nqinfo\n', [device]);
      expect(looked).toMatchObject({ code: 0, err: '' });
      const counts = looked.out.split('\n').filter((line) => line.includes('Queue'));
      expect(counts.map((line) => line.split(' ')[2])).toEqual(['2', '2', '0', '0']);
      expect(counts[0]).toMatch(
        /^Queue ERR: 2 persistent messages in [34] pages, 0 non-persistent messages in 0 bytes$/,
      );
    },
  );
});

describe('a daemon', () => {
  it('does not serve a space whose log says nothing of it', async () => {
    const daemon = new InProcess(filled(UBB, '.'));
    onTestFinished(() => daemon.remove());
    mkdirSync(`${daemon.dir}/qmconfig/QSPACE`, { recursive: true });
    await expect(daemon.start()).rejects.toThrow('queue space QSPACE is not whole');
  });
});

describe('a command file', () => {
  const dir = `${SHARED}/qmadmin`;
  const files = existsSync(dir) ? readdirSync(dir).filter((name) => name.endsWith('.cmds')) : [];
  const texts = [
    ['ours', COMMANDS],
    ['ours, CRLF', COMMANDS.replaceAll('\n', '\r\n')],
    ...files.map((name) => [name, readFileSync(`${dir}/${name}`, 'utf8')] as const),
  ] as const;

  it.each(texts)(
    '%s: done at the first run, at the second everything exists and nothing changes',
    async (_, text) => {
      const place = folder();
      // Public files name their device as they like: it is put in our folder.
      const device = `${place}/qmconfig`;
      const commands = filled(text, place).replace(/^crdl \S+/m, `crdl ${device}`);
      const run = (script: string): ReturnType<typeof runScript> => runScript(script, localDevice(device));
      expect(await run(commands)).toMatchObject({ failures: 0, out: [], err: [] });
      const look = 'lidl\nqspl\nverbose\nqopen QSPACE\nqinfo\nqopen MYSPACE\nqinfo\n';
      const before = (await run(look)).out;
      const again = await run(commands);
      const makers = commands.split('\n').filter((line) => /^(crdl|qspc|qcr) /.test(line));
      expect(again.err).toHaveLength(makers.length);
      for (const line of again.err) {
        expect(line).toMatch(/^qmadmin: line \d+: (crdl|qspacecreate|qcreate): .* exists already/);
      }
      expect((await run(look)).out).toEqual(before);
    },
  );
});

describe('the command line', () => {
  it('needs a device', async () => {
    const none = { code: 64, out: '', err: expect.stringMatching(/^qmadmin: QMCONFIG not set/) };
    expect(await qmadmin('help\n', [])).toEqual(none);
    expect(await qmadmin('help\n', [], { QMCONFIG: '' })).toEqual(none);
    expect((await qmadmin('', ['a', 'b'])).code).toBe(64);
  });

  it('prefers the argument to QMCONFIG, and ends well on no input', async () => {
    const dir = folder();
    expect(await qmadmin('', [`${dir}/a`], { QMCONFIG: `${dir}/b` })).toEqual({ code: 0, out: '', err: '' });
    const ran = await qmadmin(`crdl ${dir}/a 0 10`, [`${dir}/a`], { QMCONFIG: `${dir}/b` });
    expect(ran).toEqual({ code: 0, out: '', err: '' });
    expect(readdirSync(dir)).toEqual(['a']);
  });

  it('runs system commands among its own, in order, without the script as their input', async () => {
    const dir = folder();
    const ran = await qmadmin('!echo one; cat\nhelp quit\n!exit 3\n!!\nquit\nnever\n', [`${dir}/dev`]);
    expect(ran.out).toBe('one\nquit (q)\n    leave; so does the end of the input\n');
    expect(ran.err).toBe(
      'qmadmin: line 3: !exit 3: exit status 3\nqmadmin: line 4: !exit 3: exit status 3\n',
    );
    expect(ran.code).toBe(1);
  });

  it('has a --help', async () => {
    const { out, code } = await qmadmin('', ['--help']);
    expect(code).toBe(0);
    expect(out).toMatchInlineSnapshot(`
      "Usage: qmadmin [options] [device]

      Administers a device and its queue spaces, by the commands of Tuxedo /Q; type
      help for them.

      Arguments:
        device         the device, a directory; else QMCONFIG

      Options:
        -V, --version  output the version number
        --json         print each listing as JSON lines, for programs
        -h, --help     display help for command

      Commands come from the terminal, or one a line from a pipe or file.
      Exit codes, for a pipe or file: 0 all commands done, 1 a command or the start failed, 64 wrong usage.
      "
    `);
  });
});
