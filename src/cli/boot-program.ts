// What the programs tmboot and tmshutdown have in common: a command line in Tuxedo's form, the daemon that is asked, and how they end.
import { Command, CommanderError, Option } from 'commander';
import type { Context } from '../../clients/typescript/index.ts';
import { VERSION } from '../boot/version.ts';
import { withContext } from './connect.ts';
import { EXIT, report, UnavailableError, UsageError } from './exit.ts';
import { addChoice, type ChoiceWords, meansAll, type NotHere, refuseNotHere } from './server-choice.ts';

export interface BootWords extends ChoiceWords {
  readonly y?: true;
  readonly q?: true;
  readonly n?: true;
  readonly w?: true;
  readonly e?: string;
  readonly connect?: string;
}

export interface BootProgram {
  readonly name: 'tmboot' | 'tmshutdown';
  readonly description: string;
  /** Its own options. */
  readonly options: readonly (readonly [flags: string, description: string])[];
  readonly notHere: NotHere;
  /** Said when no daemon answers. */
  readonly whenDown: string;
  /** Resolves with the exit code. */
  readonly run: (ctx: Context, words: BootWords) => Promise<number>;
  /** What is asked before everything is meant; null: everything is refused by `run`. */
  readonly question: string | null;
}

const CODES =
  '\nValues of one option are alternatives; of several options all must fit.' +
  '\nExit codes: 0 done, 1 refused or not all done, 64 wrong usage, 69 daemon not reachable.';

/** Runs the command line; resolves with the exit code. */
export async function runBootProgram(program: BootProgram, argv: readonly string[]): Promise<number> {
  // Whoever reads our output may stop early: that is an ordinary end.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  try {
    const command = commandOf(program);
    await command.parseAsync(argv);
    return await serve(program, command.opts());
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.OK : EXIT.USAGE;
    if (error instanceof UnavailableError) error.message += `; ${program.whenDown}`;
    return report(error, program.name);
  }
}

function commandOf({ name, description, options, notHere }: BootProgram): Command {
  const command = addChoice(
    new Command(name).description(description).version(VERSION, '-v').exitOverride(),
  ).showHelpAfterError('(add --help for the options)');
  for (const [flags, text] of options) command.option(flags, text);
  for (const flags of Object.keys(notHere)) command.addOption(new Option(flags).hideHelp());
  return command
    .option('--connect <address>', 'the daemon, //host:port; else WSNADDR, else //127.0.0.1:7110')
    .addHelpText('after', CODES)
    .allowExcessArguments(false);
}

async function serve(program: BootProgram, words: BootWords): Promise<number> {
  refuseNotHere({ ...words }, program.notHere);
  const mustAsk = meansAll(words) && words.y !== true && words.q !== true && words.n !== true;
  if (mustAsk && program.question !== null && !(await confirmed(program.question))) return EXIT.OK;
  return withContext(words.connect === undefined ? {} : { connect: words.connect }, (ctx) =>
    program.run(ctx, words),
  );
}

/** Asks on the terminal; without one -y must be given. */
async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    throw new UsageError(
      'no servers are named, which means all of them: say -y, or name some by -i, -s or -g',
    );
  }
  process.stdout.write(`${question} (y/n): `);
  for await (const chunk of process.stdin) {
    return /^\s*y/i.test(String(chunk));
  }
  return false;
}

/** Prints a line unless -q. */
export function say(words: BootWords, line: string): void {
  if (words.q !== true) process.stdout.write(`${line}\n`);
}

/** Prints what could not be done; returns false, for counting. */
export function complain(program: BootProgram['name'], line: string): false {
  process.stderr.write(`${program}: ${line}\n`);
  return false;
}
