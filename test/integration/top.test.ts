// `tmqueue top` as a process: pictures without a terminal, JSON lines, and on a real (pseudo) terminal, which it leaves as it found it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { daemonForAll } from '../support/in-process.ts';
import { CliProcess } from './cli-process.ts';
import { put } from './helpers.ts';

const daemon = daemonForAll({ spaces: [{ queues: ['Q', 'R'], forwarders: [{ queues: ['R'] }] }] });

describe('without a terminal', () => {
  it('it prints one picture with rates', async () => {
    const ctx = await daemon.join();
    await put(ctx, 'Q', 'x');
    const cli = new CliProcess(['top', '--connect', daemon.address, '-i', '0.2']);
    const { code, stdout, stderr } = await cli.exit;
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^QSPACE +open +2 +1 /m);
    expect(stdout).toMatch(/^G1\/\d+ +1\/1 +0 /m);
    expect(stdout).toMatch(/^Q +QSPACE +1 /m);
    expect(stdout).not.toContain('\x1b');
  });

  it('it prints a JSON object a line, as many as are asked for', async () => {
    const cli = new CliProcess([
      'top',
      'QSPACE',
      '--connect',
      daemon.address,
      '--json',
      '-n',
      '2',
      '-i',
      '0.2',
    ]);
    const { code, stdout } = await cli.exit;
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { queues: { name: string }[] });
    expect([code, lines.map(({ queues }) => queues.map(({ name }) => name))]).toEqual([
      0,
      [
        ['Q', 'R'],
        ['Q', 'R'],
      ],
    ]);
  });

  it('it ends when its reader has gone', async () => {
    const cli = new CliProcess(['top', '--connect', daemon.address, '--json', '-i', '0.2']);
    await cli.ready();
    cli.child.stdout?.destroy();
    expect((await cli.exit).code).toBe(0);
  });

  it('it refuses what cannot be meant', async () => {
    for (const words of [
      ['-i', '0.1'],
      ['-n', '0'],
      ['--sort', 'age'],
    ]) {
      const { code } = await new CliProcess(['top', '--connect', daemon.address, ...words]).exit;
      expect([words, code]).toEqual([words, 64]);
    }
    expect((await new CliProcess(['top', '--connect', '//127.0.0.1:1']).exit).code).toBe(69);
  });
});

const hasPython = (process.env['PATH'] ?? '').split(':').some((dir) => existsSync(join(dir, 'python3')));

/** Runs it on a terminal, does what `how` says once it is drawn, and prints exit code, the terminal's modes before and after, and what was shown. */
const ON_TERMINAL = `
import json, os, pty, select, signal, sys, termios, time
how, *words = sys.argv[1:]
master, slave = pty.openpty()
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    for fd in (0, 1, 2): os.dup2(slave, fd)
    os.execvp(words[0], words)
shown, acted, end = b'', False, time.time() + 30
while time.time() < end:
    if select.select([master], [], [], 0.05)[0]: shown += os.read(master, 65536)
    if not acted and b'q quit' in shown:
        acted = True
        raw = not termios.tcgetattr(slave)[3] & termios.ICANON
        if how.startswith('SIG'): os.kill(pid, getattr(signal, how))
        else: os.write(master, how.encode())
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        while select.select([master], [], [], 0)[0]: shown += os.read(master, 65536)
        same = termios.tcgetattr(slave) == before
        print(json.dumps([os.waitstatus_to_exitcode(status), raw, same, shown.decode()]))
        break
else: os.kill(pid, 9)
`;

describe.skipIf(!hasPython)('on a terminal', () => {
  it.each(['sq', '\x03', 'SIGTERM'])(
    'it draws, and after %j the terminal is as it was',
    { timeout: 60_000 },
    async (how) => {
      const cli = new CliProcess(['top', '--connect', daemon.address, '-i', '5'], {
        under: ['python3', '-c', ON_TERMINAL, how],
      });
      const { stdout } = await cli.exit;
      const [code, wasRaw, isSame, shown] = JSON.parse(stdout) as [number, boolean, boolean, string];
      expect([code, wasRaw, isSame]).toEqual([0, true, true]);
      expect(shown.startsWith('\x1b[?1049h\x1b[?25l')).toBe(true);
      expect(shown.endsWith('\x1b[?25h\x1b[?1049l')).toBe(true);
      if (how === 'sq') expect(shown).toContain('by in ');
    },
  );
});
