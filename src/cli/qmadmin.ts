#!/usr/bin/env node
// The command `qmadmin`: which device, where its lines come from, how it ends. What is done with them is src/qmadmin.
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { Command, CommanderError } from 'commander';
import type { Ulog } from '../base/ulog.ts';
import { SystemClock } from '../boot/system-clock.ts';
import { runThresholdCommand } from '../boot/shell-commands.ts';
import { VERSION } from '../boot/version.ts';
import { PipedLines, type LineSource } from '../qmadmin/lines.ts';
import { LocalDevice } from '../qmadmin/local/local-device.ts';
import { ReachableDevice } from '../qmadmin/reachable-device.ts';
import { Session } from '../qmadmin/session.ts';
import { TerminalLines } from '../qmadmin/terminal.ts';
import { nodeFileIo } from '../wal/local/file-io.ts';
import { EXIT } from './exit.ts';
import { connectTo } from './qmadmin-link.ts';

const out = (line: string): void => void process.stdout.write(`${line}\n`);
const err = (line: string): void => void process.stderr.write(`${line}\n`);
/** Of what the log has to say only what an operator must know. */
const ulog: Ulog = {
  info: () => {},
  warn: (message, fields) => err(`qmadmin: warning: ${message}${inBrackets(fields)}`),
  error: (message, fields) => err(`qmadmin: ${message}${inBrackets(fields)}`),
};

function inBrackets(fields: Parameters<Ulog['warn']>[1] = {}): string {
  const words = Object.entries(fields).map(([name, value]) => `${name} ${value}`);
  return words.length === 0 ? '' : ` (${words.join(', ')})`;
}

/** Resolves with the exit code. */
async function administer(given: string | undefined, json: boolean): Promise<number> {
  const named = given ?? process.env['QMCONFIG'] ?? '';
  if (named === '') {
    err('qmadmin: QMCONFIG not set: name the device, as in qmadmin DEVICE, or set QMCONFIG');
    return EXIT.USAGE;
  }
  const local = new LocalDevice(resolve(named), {
    clock: new SystemClock(),
    ulog,
    io: nodeFileIo,
    runCommand: (command, about) => runThresholdCommand(command, about, { ulog, appdir: process.cwd() }),
  });
  const device = new ReachableDevice({ local, connect: connectTo, io: nodeFileIo });
  let lines: LineSource | null = null;
  try {
    await device.check();
    lines = process.stdin.isTTY
      ? new TerminalLines({ input: process.stdin, output: process.stdout })
      : new PipedLines(process.stdin);
    const session = new Session({ lines, device, out, err, system, json });
    await session.run();
    // A person has seen what failed; a script is told.
    return session.failures > 0 && !lines.isTerminal ? EXIT.REFUSED : EXIT.OK;
  } catch (error) {
    err(`qmadmin: ${error instanceof Error ? error.message : String(error)}`);
    return EXIT.REFUSED;
  } finally {
    lines?.close();
    await device.close();
  }
}

/** A script's further lines are not for the program: it gets no input then. */
function system(commandLine: string): Promise<number | string> {
  const stdin = process.stdin.isTTY ? 'inherit' : 'ignore';
  const child = spawn(commandLine, { shell: true, stdio: [stdin, 'inherit', 'inherit'] });
  return new Promise((settle) => {
    child.once('error', (error) => settle(error.message));
    child.once('close', (code, signal) => settle(code ?? `ended by ${signal}`));
  });
}

function program(run: (device: string | undefined, options: { json?: true }) => void): Command {
  return new Command('qmadmin')
    .description(
      'Administers a device and its queue spaces, by the commands of Tuxedo /Q; type help for them.',
    )
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError('(add --help)')
    .argument('[device]', 'the device, a directory; else QMCONFIG')
    .option('--json', 'print each listing as JSON lines, for programs')
    .addHelpText(
      'after',
      '\nCommands come from the terminal, or one a line from a pipe or file.' +
        '\nExit codes, for a pipe or file: 0 all commands done, 1 a command or the start failed, 64 wrong usage.',
    )
    .action(run);
}

async function main(argv: readonly string[]): Promise<number> {
  let work = Promise.resolve<number>(EXIT.OK);
  try {
    await program((device, { json }) => {
      work = administer(device, json === true);
    }).parseAsync(argv);
    return await work;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.OK : EXIT.USAGE;
    throw error;
  }
}

// Whoever reads our output may stop early: that is an ordinary end.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
process.exitCode = await main(process.argv);
