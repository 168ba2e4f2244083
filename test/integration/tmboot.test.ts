// The programs tmboot and tmshutdown against a running daemon: what each option does or why it is refused, exit codes, and threshold commands as
// they stand in real queue definitions, unchanged [spec 5.4, 5.6; tmboot(1), tmshutdown(1)].
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tpinit } from '../../clients/typescript/index.ts';
import { daemonForAll, eventually } from '../support/in-process.ts';
import { ubbText } from '../support/ubb-text.ts';
import { folderWith } from './cli-process.ts';
import { put } from './helpers.ts';

const DIST = join(import.meta.dirname, '../../dist/src/cli');
const NOBODY = '//127.0.0.1:1';

interface Ended {
  readonly code: number | null;
  readonly out: string[];
  readonly err: string;
}

function run(program: string, args: readonly string[], address: string): Promise<Ended> {
  const child = spawn(process.execPath, [join(DIST, `${program}.js`), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, WSNADDR: address },
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  return new Promise((settle) => {
    child.once('close', (code) => settle({ code, out: out.split('\n').filter((line) => line !== ''), err }));
  });
}

describe('by a person or a script', () => {
  const forwarders = [{ queues: ['S'], min: 2, max: 3 }];
  const daemon = daemonForAll(
    ubbText({
      listen: ['//127.0.0.1:0'],
      spaces: [
        { name: 'ONE', queues: ['S'], forwarders },
        { name: 'TWO', queues: ['S'], forwarders },
      ],
    }).replace('*QSPACES', 'appserver SRVGRP=APP SRVID=7\n*QSPACES'),
  );
  const tmboot = (...args: string[]): Promise<Ended> => run('tmboot', args, daemon.address);
  const tmshutdown = (...args: string[]): Promise<Ended> => run('tmshutdown', args, daemon.address);
  const running = async (): Promise<string[]> =>
    (await (await daemon.join()).listServers()).servers.flatMap(({ group, running: ids }) =>
      ids.map((id) => `${group}/${id}`),
    );
  const MIN = ['G1/100', 'G1/101', 'G2/100', 'G2/101'];

  it('one by its id, in every group or in one; stopped, started, and again', async () => {
    expect(await tmshutdown('-i', '100')).toEqual({
      code: 0,
      out: ['TMQFORWARD G2/100 stopped', 'TMQFORWARD G1/100 stopped'],
      err: '',
    });
    expect(await running()).toEqual(['G1/101', 'G2/101']);
    expect(await tmshutdown('-i100', '-gG1')).toMatchObject({
      code: 0,
      out: ['TMQFORWARD G1/100 is down already'],
    });
    expect(await tmboot('-i', '100', '-g', 'G1')).toEqual({
      code: 0,
      out: ['TMQFORWARD G1/100 started'],
      err: '',
    });
    expect((await tmboot('-yi100')).out).toEqual([
      'TMQFORWARD G1/100 is running already',
      'TMQFORWARD G2/100 started',
    ]);
    expect(await running()).toEqual(MIN);
  });

  it('by name: MIN of each line start, all of MAX stop, one above MIN starts by its id', async () => {
    expect((await tmboot('-i', '102', '-g', 'G1')).out).toEqual(['TMQFORWARD G1/102 started']);
    const stopped = await tmshutdown('-s', 'TMQFORWARD', '-g', 'G1');
    expect(stopped).toMatchObject({
      code: 0,
      out: [102, 101, 100].map((id) => `TMQFORWARD G1/${id} stopped`),
    });
    expect(await tmboot('-n', '-s', 'TMQFORWARD', '-g', 'G1')).toMatchObject({
      code: 0,
      out: [100, 101].map((id) => `TMQFORWARD G1/${id} would be started`),
    });
    expect(await running()).toEqual(['G2/100', 'G2/101']);
    expect(await tmboot('-q', '-w', '-s', 'TMQFORWARD')).toEqual({ code: 0, out: [], err: '' });
    expect(await running()).toEqual(MIN);
  });

  it('everything: each line says what becomes of it', async () => {
    const { code, out, err } = await tmboot('-y');
    expect([code, err]).toEqual([0, '']);
    expect(out).toEqual([
      'administration of SITE1 is part of the daemon, which runs',
      'WSL APP/1 is the listener of the daemon, and runs as long as the daemon does',
      'TMQUEUE G1/1 runs as long as the daemon does; a queue is closed by pausing it',
      'TMQFORWARD G1/100 is running already',
      'TMQFORWARD G1/101 is running already',
      'TMQUEUE G2/1 runs as long as the daemon does; a queue is closed by pausing it',
      'TMQFORWARD G2/100 is running already',
      'TMQFORWARD G2/101 is running already',
      'appserver APP/7 is an application server: a process of its own, which the daemon neither starts nor stops',
    ]);
    const down = await tmshutdown('-S');
    expect([down.code, down.err]).toEqual([0, '']);
    expect(down.out).toContain(
      'TMQUEUE G1/1 is not stopped: it runs as long as the daemon does; a queue is closed by pausing it',
    );
    expect(await running()).toEqual([]);
    await tmboot('-S');
    expect(await running()).toEqual(MIN);
  });

  it.each<[string, string[], number, string]>([
    ['tmboot', [], 64, 'tmboot: no servers are named, which means all of them: say -y'],
    [
      'tmboot',
      ['-i', '103'],
      1,
      'tmboot: no such server: -i 103; there are WSL APP/1, TMQUEUE G1/1, TMQFORWARD G1/100',
    ],
    ['tmboot', ['-i', 'x'], 64, 'It must be a number 1..30000.'],
    ['tmboot', ['-i', '7'], 1, 'start its program, and it connects by itself'],
    ['tmboot', ['-l', 'SITE2'], 1, 'the daemon runs on machine SITE1'],
    ['tmboot', ['-o', '3'], 64, '-o chooses by SEQUENCE, which has no meaning here: choose by -i, -s or -g'],
    ['tmboot', ['-y', 'more'], 64, 'too many arguments'],
    ['tmshutdown', ['-y'], 1, 'the daemon is stopped by SIGTERM'],
    [
      'tmshutdown',
      ['-A'],
      1,
      'administration of SITE1 is part of the daemon: the daemon is stopped by SIGTERM',
    ],
    [
      'tmshutdown',
      ['-i', '1', '-g', 'G1'],
      1,
      'TMQUEUE G1/1 is not stopped: it runs as long as the daemon does',
    ],
    ['tmshutdown', ['-k', 'KILL', '-y'], 64, '-k kills a server process'],
    ['tmshutdown', ['-w', '5', '-S'], 64, '-w kills server processes after a delay'],
  ])('refused: %s %j', async (program, args, code, text) => {
    const ended = await run(program, args, daemon.address);
    expect(ended.err).toContain(text);
    expect(ended.code).toBe(code);
  });

  it('-e runs a command when something could not be started', async () => {
    const { code, out } = await tmboot('-i', '7', '-e', 'echo "that failed"; exit 3');
    expect([code, out]).toEqual([1, ['that failed']]);
    expect((await tmboot('-i', '100', '-e', 'echo no')).out).not.toContain('no');
  });

  it('without a daemon: says what starts one', async () => {
    const [up, down] = await Promise.all([run('tmboot', ['-y'], NOBODY), run('tmshutdown', ['-S'], NOBODY)]);
    expect([up.code, down.code]).toEqual([69, 69]);
    expect(up.err).toContain('tmqueue start -c UBBCONFIG starts it');
    expect(down.err).toContain('no daemon runs there');
    expect((await run('tmboot', ['-S', '--connect', daemon.address], NOBODY)).code).toBe(0);
  });
});

/** The commands as npm links them; PATH does not hold them. */
function installed(dir: string): string {
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  symlinkSync(join(DIST, 'tmqueue.js'), join(bin, 'tmqueue'));
  writeFileSync(
    join(bin, 'tmboot'),
    `#!/bin/sh\nexec "${process.execPath}" "${join(DIST, 'tmboot.js')}" "$@"\n`,
  );
  chmodSync(join(bin, 'tmboot'), 0o755);
  return join(bin, 'tmqueue');
}

const queue = (name: string, cmd: string): { name: string; more: string } => ({
  name,
  more: `HIGH=1m LOW=0 CMD="${cmd}"`,
});

describe('as a threshold command', () => {
  it(
    'tmboot -i and tmboot -s, with nothing more, reach the daemon that ran them',
    { timeout: 180_000 },
    async () => {
      const spaces = [
        {
          queues: [queue('A', 'tmboot -i 100'), queue('B', 'tmboot -s TMQFORWARD >said 2>&1')],
          forwarders: [
            { queues: ['A'], options: '-e' },
            { queues: ['B'], options: '-e' },
          ],
        },
      ];
      const { dir, config } = folderWith(ubbText({ spaces }));
      const daemon = spawn(
        process.execPath,
        [installed(dir), 'start', '-c', config, '--listen', '127.0.0.1:0'],
        {
          stdio: ['ignore', 'pipe', 'ignore'],
        },
      );
      onTestFinished(async () => {
        const over = new Promise((settle) => daemon.once('close', settle));
        daemon.kill('SIGKILL');
        await over;
      });
      let said = '';
      daemon.stdout.on('data', (chunk) => (said += String(chunk)));
      const address = await eventually(() => /\/\/\S+/.exec(said)?.[0], 60_000);
      const ctx = await tpinit({ address });
      onTestFinished(() => ctx.tpterm());
      const seen: unknown[] = [];
      for (const name of ['A', 'B']) await ctx.tpadvertise(name, (call) => void seen.push(call.data));
      const up = async (): Promise<number> =>
        (await ctx.listServers()).servers.reduce((sum, { running }) => sum + running.length, 0);
      await eventually(async () => (await up()) === 0, 60_000);
      await put(ctx, 'A', 'of A');
      await eventually(() => seen.includes('of A'), 60_000);
      await put(ctx, 'B', 'of B');
      await eventually(() => seen.includes('of B'), 60_000);
    },
  );
});
