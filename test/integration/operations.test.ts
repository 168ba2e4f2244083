// `tmqueue start` among those who run it: health from the first moment on, the service manager, log rotation, readers of its output that do not
// read, process 1 of a container [DESIGN 11; C27, C69].
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Context, tpinit, TPQ } from '../../clients/typescript/index.ts';
import { eventually, pause } from '../support/in-process.ts';
import { readMetrics, valueOf } from '../support/metrics-text.ts';
import { RawClient } from '../support/raw-client.ts';
import { ubbText } from '../support/ubb-text.ts';
import { CliProcess, folderWith, startCli } from './cli-process.ts';
import { codeOf, ctlOf, put, take } from './helpers.ts';

const LISTEN = ['--listen', '127.0.0.1:0'];
const METRICS = ['--metrics', '127.0.0.1:0'];
/** No judgement on speed: a machine under load may take long. */
const SLOW_START_MS = 60_000;
const SLOW = { timeout: 120_000 };
const text = (): string => ubbText({ spaces: [{ queues: ['Q'] }] });

function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((dir) => existsSync(join(dir, program)));
}

/** A port of loopback that is free now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}

/** Status and text, or null when nobody listens. */
async function ask(port: number, path: string): Promise<[number, string] | null> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
    return [answer.status, (await answer.text()).trim()];
  } catch {
    return null;
  }
}

describe('health', () => {
  it('is answered before recovery; readiness is not said before requests succeed, nor after a stop (C69)', async () => {
    const { config } = folderWith(text());
    const port = await freePort();
    const words = ['start', '-c', config, '--json', ...LISTEN, '--metrics', `127.0.0.1:${port}`];
    const cli = new CliProcess(words);
    const answers: [number, string][] = [];
    for (;;) {
      const [alive, ready] = [await ask(port, '/healthz'), await ask(port, '/readyz')];
      if (alive === null || ready === null) continue;
      expect(alive).toEqual([200, 'alive']);
      answers.push(ready);
      if (ready[0] === 200) break;
    }
    // The line is written before this answer could be read.
    const line = JSON.parse(await cli.ready()) as { address: string; metrics: string };
    expect(line.metrics).toBe(`http://127.0.0.1:${port}`);
    const ctx = await tpinit({ address: line.address });
    await put(ctx, 'Q', 'x');
    expect(answers.at(-1)).toEqual([200, 'ready']);
    const before = answers.slice(0, -1);
    expect(before.length).toBeGreaterThan(0);
    expect(
      before.every(([status, said]) => status === 503 && /^(starting|recovering \d+ %)$/.test(said)),
    ).toBe(true);
    const page = readMetrics((await ask(port, '/metrics'))?.[1] ?? '');
    expect(valueOf(page, 'tmqueue_queue_messages', { queue: 'Q', state: 'ready' })).toBe(1);
    await ctx.tpterm();
    cli.signal('SIGTERM');
    expect((await cli.exit).code).toBe(0);
    expect(await ask(port, '/healthz')).toBeNull();
  });

  it('an address that cannot be had, or that others reach, is an error that names it', async () => {
    const { config } = folderWith(text());
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => void server.close());
    const taken = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const [address, said] of [
      [taken, `--metrics ${taken}: `],
      ['0.0.0.0:0', '--allow-open-network'],
    ] as const) {
      const { code, stdout, stderr } = await new CliProcess([
        'start',
        '-c',
        config,
        ...LISTEN,
        '--metrics',
        address,
      ]).exit;
      expect([code, stdout, stderr.includes(said)]).toEqual([1, '', true]);
    }
  });
});

describe('a signal (C27)', SLOW, () => {
  it('at any moment after exec ends it as is written, and the next start is clean', async () => {
    const { config } = folderWith(text());
    const moments: readonly [number, readonly NodeJS.Signals[]][] = [
      [0, ['SIGTERM']],
      [10, ['SIGHUP', 'SIGTERM']],
      [50, ['SIGINT', 'SIGTERM']],
      [200, ['SIGTERM', 'SIGTERM']],
      [1000, ['SIGHUP', 'SIGINT']],
    ];
    for (const [delayMs, signals] of moments) {
      const cli = new CliProcess(['start', '-c', config, ...LISTEN, ...METRICS]);
      await pause(delayMs);
      for (const signal of signals) cli.signal(signal);
      const { code, stderr } = await cli.exit;
      // Before it hears signals the system ends it by the first.
      const isEarly = cli.child.signalCode === signals[0];
      expect([delayMs, code, isEarly]).toEqual([delayMs, isEarly ? null : 0, isEarly]);
      expect(stderr).not.toMatch(/"level":(40|50)/);
    }
    const last = await startCli(config, ...LISTEN);
    last.signal('SIGTERM');
    const { code, stderr } = await last.exit;
    expect([code, /"level":(40|50)/.test(stderr)]).toEqual([0, false]);
  });

  it('answers 500 dequeues that wait, although a client of health and one of the queues are half open', async () => {
    const { config } = folderWith(text());
    const cli = await startCli(config, ...LISTEN, ...METRICS);
    const { metrics } = JSON.parse(cli.stdout) as { metrics: string };
    const raw = await RawClient.connect(cli.port);
    await raw.hello();
    for (let id = 2; id < 502; id++) raw.send(4, id, ['QSPACE', 'Q'], [TPQ.TPQWAIT], 0x20, 0, 0, '', 0);
    await raw.ask(14, 1000);
    const page = readMetrics(await (await fetch(`${metrics}/metrics`)).text());
    expect(valueOf(page, 'tmqueue_queue_waiters', { queue: 'Q' })).toBe(500);
    const silent = await RawClient.connect(cli.port);
    silent.end();
    const half = await RawClient.connect(Number(/:(\d+)$/.exec(metrics)?.[1]));
    half.write(Buffer.from('GET /metrics HTTP/1.1\r\nHost: x\r\n'));
    cli.signal('SIGTERM');
    cli.signal('SIGTERM');
    expect((await cli.exit).code).toBe(0);
    const frames = await raw.rest();
    expect(frames.filter(([op]) => op === 127)).toHaveLength(500);
    expect(frames.at(-1)?.slice(0, 2)).toEqual([65, 0]);
    half.reset();
    silent.reset();
  });
});

/** A context of the daemon at this port, once it is up: its ready line is not read here. */
async function joined(port: number): Promise<Context> {
  const end = performance.now() + SLOW_START_MS;
  for (;;) {
    try {
      return await tpinit({ address: `//127.0.0.1:${port}` });
    } catch (error) {
      if (performance.now() > end) throw error;
      await pause(100);
    }
  }
}

/** Makes the daemon write some tens of kilobytes to its log: each message, without retries and an error queue, is dropped. */
async function logMuch(ctx: Context): Promise<void> {
  const numbers = Array.from({ length: 300 }, (_, i) => i);
  await Promise.all(numbers.map((i) => put(ctx, 'Q', `${i}`)));
  await ctx.tpbegin(30);
  for (const _ of numbers) await take(ctx, 'Q');
  await ctx.tpabort();
  expect(await codeOf(take(ctx, 'Q', ctlOf(0)))).toBe('QMENOMSG');
}

describe('its output', SLOW, () => {
  it('into full pipes that nobody reads does not hold it up, neither at work nor at its end', async () => {
    const { config } = folderWith(text());
    const port = await freePort();
    // Both pipes are filled before it starts.
    const fill = 'head -c 1000000 /dev/zero & head -c 1000000 /dev/zero >&2 & sleep 0.3; exec "$@"';
    const cli = new CliProcess(['start', '-c', config, '--listen', `127.0.0.1:${port}`], {
      under: ['/bin/sh', '-c', fill, 'sh'],
    });
    cli.child.stdout?.pause();
    cli.child.stderr?.pause();
    const ctx = await joined(port);
    await logMuch(ctx);
    await ctx.tpterm();
    const ended = new Promise<number | null>((resolve) => {
      cli.child.once('exit', resolve);
    });
    cli.signal('SIGTERM');
    expect(await ended).toBe(0);
  });

  it.skipIf(!isOnPath('python3'))('on a terminal that was stopped does not hold it up', async () => {
    const { config, dir } = folderWith(text());
    const port = await freePort();
    const said = join(dir, 'said');
    // The terminal is one that nobody reads: a pseudo terminal holds a few KiB.
    const program = `
import os, pty, signal, sys, time
pid, terminal = pty.fork()
if pid == 0: os.execvp(sys.argv[2], sys.argv[2:])
signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
open(sys.argv[1], 'w').write(str(code))
`;
    const cli = new CliProcess(['start', '-c', config, '--listen', `127.0.0.1:${port}`], {
      under: ['python3', '-c', program, said],
    });
    const ctx = await joined(port);
    await logMuch(ctx);
    await ctx.tpterm();
    cli.signal('SIGTERM');
    await cli.exit;
    expect(readFileSync(said, 'utf8')).toBe('0');
  });

  it('goes to the file of --log, and after SIGHUP to a new one of that name', async () => {
    const { config, dir } = folderWith(text());
    const [log, old] = [join(dir, 'log'), join(dir, 'log.1')];
    const service = standIn(dir);
    const cli = new CliProcess(['start', '-c', config, ...LISTEN, '--log', log], { env: service.env });
    await cli.ready();
    renameSync(log, old);
    cli.signal('SIGHUP');
    await eventually(() => existsSync(log) && readFileSync(log, 'utf8').includes('opened again'));
    await eventually(() => service.said().filter((line) => line.startsWith('READY=1')).length === 2);
    cli.signal('SIGTERM');
    const { code, stderr } = await cli.exit;
    expect([code, stderr]).toEqual([0, '']);
    expect(readFileSync(old, 'utf8')).toContain('queue space QSPACE is new: created');
    const reload = service.said().filter((line) => /^(READY|RELOADING)=1/.test(line));
    expect(reload.map((line) => line.split(' ')[0])).toEqual(['READY=1', 'RELOADING=1', 'READY=1']);
    expect(reload[1]).toMatch(/^RELOADING=1 MONOTONIC_USEC=\d+$/);
  });

  it('to a file that cannot be opened is an error that names it', async () => {
    const { config, dir } = folderWith(text());
    const { code, stderr } = await new CliProcess([
      'start',
      '-c',
      config,
      ...LISTEN,
      '--log',
      join(dir, 'no/log'),
    ]).exit;
    expect([code, stderr.includes(join(dir, 'no/log'))]).toEqual([1, true]);
  });
});

interface StandIn {
  readonly env: Readonly<Record<string, string>>;
  /** What systemd-notify was called with, a line a call. */
  readonly said: () => string[];
}

/** A folder with a systemd-notify that notes what it is told, first in PATH. */
function standIn(dir: string, more = ''): StandIn {
  const [bin, notes] = [join(dir, 'bin'), join(dir, 'notes')];
  mkdirSync(bin);
  const program = join(bin, 'systemd-notify');
  writeFileSync(program, `#!/bin/sh\necho "$@" >>"${notes}"\ntest -n "$NOTIFY_SOCKET" || exit 1\n${more}\n`);
  chmodSync(program, 0o755);
  const PATH = `${bin}:${process.env['PATH']}`;
  const said = (): string[] => (existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : []);
  return { env: { PATH, NOTIFY_SOCKET: join(dir, 'socket') }, said };
}

describe('the service manager', () => {
  it('is told that the start goes on, READY, that it lives, and STOPPING, in this order', async () => {
    const { config, dir } = folderWith(text());
    const { env, said } = standIn(dir);
    const cli = new CliProcess(['start', '-c', config, ...LISTEN], {
      env: { ...env, WATCHDOG_USEC: '200000' },
    });
    await cli.ready();
    await eventually(() => said().includes('WATCHDOG=1'));
    cli.signal('SIGTERM');
    expect((await cli.exit).code).toBe(0);
    const lines = said();
    expect(lines[0]).toBe('EXTEND_TIMEOUT_USEC=60000000 STATUS=starting');
    const later = lines.filter((line) => !line.startsWith('EXTEND_') && line !== 'WATCHDOG=1');
    expect(later).toEqual(['READY=1 STATUS=ready', 'STOPPING=1 STATUS=stopping']);
    expect(lines.indexOf('WATCHDOG=1')).toBeGreaterThan(lines.indexOf('READY=1 STATUS=ready'));
  });

  it('is told nothing when it did not start the daemon, or gave the watchdog to another process', async () => {
    const { config, dir } = folderWith(text());
    const { env, said } = standIn(dir);
    const alone = new CliProcess(['start', '-c', config, ...LISTEN], { env: { ...env, NOTIFY_SOCKET: '' } });
    await alone.ready();
    alone.signal('SIGTERM');
    await alone.exit;
    expect(said()).toEqual([]);
    const watchdog = { WATCHDOG_USEC: '20000', WATCHDOG_PID: '1' };
    const cli = new CliProcess(['start', '-c', config, ...LISTEN], { env: { ...env, ...watchdog } });
    await cli.ready();
    await eventually(() => said().includes('READY=1 STATUS=ready'));
    await pause(200);
    cli.signal('SIGTERM');
    await cli.exit;
    expect(said()).not.toContain('WATCHDOG=1');
  });

  it.each([
    ['hangs', 'sleep 60'],
    ['fails', 'exit 3'],
  ])('whose program %s changes nothing for the daemon', async (_name, more) => {
    const { config, dir } = folderWith(text());
    const cli = new CliProcess(['start', '-c', config, ...LISTEN], { env: standIn(dir, more).env });
    await cli.ready();
    cli.signal('SIGTERM');
    expect((await cli.exit).code).toBe(0);
    if (more === 'exit 3') expect(cli.stderr).toContain('systemd-notify does not work');
  });

  it('is not known to the commands that the daemon runs', async () => {
    const threshold = { name: 'Q', more: 'HIGH="1m" LOW="0m" CMD="env >part; mv part said"' };
    const { config, dir } = folderWith(ubbText({ spaces: [{ queues: [threshold] }] }));
    const cli = new CliProcess(['start', '-c', config, '--json', ...LISTEN], { env: standIn(dir).env });
    const { address } = JSON.parse(await cli.ready()) as { address: string };
    const ctx = await tpinit({ address });
    await put(ctx, 'Q', 'x');
    const env = await eventually(
      () => existsSync(join(dir, 'said')) && readFileSync(join(dir, 'said'), 'utf8'),
    );
    expect([env.includes('WSNADDR='), env.includes('NOTIFY_SOCKET')]).toEqual([true, false]);
    await ctx.tpterm();
  });
});

/** The process that is number 1 inside. */
function insidePid(outside: number): number {
  return Number(readFileSync(`/proc/${outside}/task/${outside}/children`, 'utf8').trim().split(' ')[0]);
}

const UNSHARE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];
const mayUnshare = spawnSync('unshare', [...UNSHARE.slice(1), 'true']).status === 0;

describe.skipIf(!mayUnshare)(
  'as process 1 of a pid namespace (skipped where unshare is not permitted)',
  () => {
    it('it ends with 0 by a signal', async () => {
      const { config } = folderWith(text());
      const cli = new CliProcess(['start', '-c', config, '--json', ...LISTEN], { under: UNSHARE });
      expect(JSON.parse(await cli.ready())).toMatchObject({ ready: true, pid: 1 });
      process.kill(insidePid(cli.child.pid ?? 0), 'SIGTERM');
      expect((await cli.exit).code).toBe(0);
    });

    // Node catches SIGTERM for itself from its own start on; SIGHUP is heard by nothing but the program.
    it.each([
      ['Node itself', 15n],
      ['the program', 1n],
    ])('a signal that came while %s started is not lost', async (_name, heard) => {
      const { config } = folderWith(text());
      const cli = new CliProcess(['start', '-c', config, ...LISTEN], { under: UNSHARE });
      const pid = await eventually(() => insidePid(cli.child.pid ?? 0) || null);
      const hears = (): boolean => {
        const mask = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
        return (BigInt(`0x${mask}`) & (1n << (heard - 1n))) !== 0n;
      };
      // Without a pause: these moments are short.
      while (!hears());
      process.kill(pid, 'SIGTERM');
      const { code, stdout } = await cli.exit;
      expect([code, stdout]).toEqual([0, '']);
    });
  },
);

/** Where the installed program, its configuration and its data lie in the files of config/, and here. */
function placedHere(word: string, folder: string): string {
  return word
    .replace(/^\/etc\/tmqueue\/ubbconfig$/, join(folder, 'ubbconfig'))
    .replace(/^\/var\/lib\/tmqueue$/, folder)
    .replace(/:\d+$/, ':0');
}

function configFile(file: string): string {
  return readFileSync(join(import.meta.dirname, '../../config', file), 'utf8');
}

/** Starts the program with these words, its configuration and data here, and stops it when it is ready. */
async function becomesReady(words: readonly string[]): Promise<void> {
  const { dir } = folderWith(readFileSync(join(import.meta.dirname, '../../ubbconfig.example'), 'utf8'));
  const placed = words.map((word) => placedHere(word, dir));
  const listen = placed.includes('--listen') ? [] : LISTEN;
  const cli = new CliProcess([...placed, ...listen, '--json']);
  const { metrics } = JSON.parse(await cli.ready()) as { metrics: string };
  const port = Number(/:(\d+)$/.exec(metrics)?.[1]);
  expect(await ask(port, '/readyz')).toEqual([200, 'ready']);
  cli.signal('SIGTERM');
  expect((await cli.exit).code).toBe(0);
}

describe('what config/ starts', () => {
  it('as an image is this program, as a plain user, and it becomes ready', async () => {
    const file = configFile('Dockerfile');
    const listOf = (instruction: string): string[] =>
      JSON.parse(new RegExp(`^${instruction} (\\[.*\\])$`, 'm').exec(file)?.[1] ?? '[]') as string[];
    expect(listOf('ENTRYPOINT')).toEqual(['node', '/opt/tmqueue/dist/src/cli/tmqueue.js']);
    expect(/^USER (\d+):/m.exec(file)?.[1]).toMatch(/^[1-9]\d*$/);
    const copied = [...file.matchAll(/^COPY --from=build (.*) \S+$/gm)].flatMap(([, from = '']) =>
      from.split(' '),
    );
    expect(copied.length).toBeGreaterThan(4);
    const missing = copied.filter(
      (from) => !existsSync(from.replace(/^\/build/, join(import.meta.dirname, '../..'))),
    );
    expect(missing).toEqual([]);
    await becomesReady(listOf('CMD'));
  });

  it('as a unit is this program, and systemd can follow it', async () => {
    const unit = configFile('tmqueue.service');
    const words = /^ExecStart=\/usr\/bin\/tmqueue (.*)$/m.exec(unit)?.[1]?.split(' ') ?? [];
    expect(unit).toMatch(/^Type=notify$/m);
    expect(unit).toMatch(/^NotifyAccess=all$/m);
    await becomesReady(words);
  });
});
