// The command `tmqueue`: words and options to one function each; nothing is done here. Only what the command at hand needs is loaded.
import { Command, CommanderError, Option } from 'commander';
import { VERSION } from '../boot/version.ts';
import type { CheckOptions } from './check.ts';
import type { DequeueOptions } from './dequeue.ts';
import type { EnqueueOptions } from './enqueue.ts';
import { EXIT, report } from './exit.ts';
import { init, type InitOptions, SAMPLES } from './init.ts';
import { collectEndpoints, parseEndpoint, parseId, parseInteger, parseMsgid, parseSeconds } from './input.ts';
import type { StartOptions } from './start.ts';
import type { StatOptions } from './stat.ts';

/** Told what a command is doing. */
type Done = (work: Promise<number>) => void;
type Add = (tmqueue: Command, done: Done, connect: typeof CONNECT) => void;

const CONNECT = [
  '--connect <address>',
  'the daemon, //host:port; else WSNADDR, else //127.0.0.1:7110',
] as const;

const EXPAND_ENV = [
  '--expand-env',
  'replace $NAME and ${NAME} by the environment variables; one that is not set is a fault',
] as const;

/** In the order of the help. */
const COMMANDS: Readonly<Record<string, () => Promise<Add>>> = {
  init: async () => addInit,
  check: async () => addCheck,
  start: async () => addStart,
  enqueue: async () => addEnqueue,
  dequeue: async () => addDequeue,
  stat: async () => addStat,
  redrive: async () => (await import('./redrive.ts')).addRedrive,
  top: async () => (await import('./top.ts')).addTop,
  server: async () => (await import('./server.ts')).addServer,
  reload: async () => (await import('./reload.ts')).addReload,
  export: async () => (await import('./export.ts')).addExport,
  import: async () => (await import('./import.ts')).addImport,
  wal: async () => (await import('./wal.ts')).addWal,
  backup: async () => (await import('./backup.ts')).addBackup,
};
/** What a module above adds beside the command of its name. */
const TOGETHER: Readonly<Record<string, string>> = { restore: 'backup' };

/** `word`: the first of the command line; when it is no command all are there, for the help and for what is like it. */
async function program(word: string, done: Done): Promise<Command> {
  const tmqueue = new Command('tmqueue')
    .description('A durable message-queue daemon with the semantics of Tuxedo /Q.')
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError('(add --help for the options)')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 refused, 2 no message, 64 wrong usage, 69 daemon not reachable.',
    );
  const one = COMMANDS[TOGETHER[word] ?? word];
  for (const load of one === undefined ? Object.values(COMMANDS) : [one])
    (await load())(tmqueue, done, CONNECT);
  return tmqueue;
}

function addStat(tmqueue: Command, done: Done): void {
  tmqueue
    .command('stat')
    .description('show what the daemon counts')
    .argument('[qspace]', 'only this queue space')
    .option(...CONNECT)
    .option('--json', 'print JSON')
    .action((qspace: string | undefined, options: StatOptions) =>
      done(import('./stat.ts').then(({ stat }) => stat(qspace, options))),
    );
}

function addInit(tmqueue: Command, done: Done): void {
  const names = Object.keys(SAMPLES);
  tmqueue
    .command('init')
    .description('write a commented configuration that starts, as ubbconfig in a directory')
    .argument('<dir>', 'the directory; it is made when it does not exist, and nothing in it is overwritten')
    .addOption(
      new Option('--sample <name>', 'which application it describes').choices(names).default('start'),
    )
    .addHelpText(
      'after',
      `\nSamples:\n${names.map((name) => `  ${name}: ${SAMPLES[name]?.what}`).join('\n')}`,
    )
    .action((dir: string, options: InitOptions) => done(init(dir, options)));
}

function addCheck(tmqueue: Command, done: Done): void {
  tmqueue
    .command('check')
    .description(
      'find every fault of a configuration without starting anything; exit code 1 when there are any',
    )
    .argument('<file>', 'the UBBCONFIG; - is standard input')
    .option('-v, --verbose', 'also list what has no meaning here and what is not yet in effect')
    .option(...EXPAND_ENV)
    .option('--json', 'print the findings (those of -v too) and the checked model as JSON')
    .action((file: string, options: CheckOptions) =>
      done(import('./check.ts').then(({ check }) => check(file, options))),
    );
}

function addStart(tmqueue: Command, done: Done): void {
  tmqueue
    .command('start')
    .description('run the daemon until SIGTERM or SIGINT')
    .requiredOption('-c, --config <file>', 'the UBBCONFIG; - is standard input')
    .option(
      '--listen <address>',
      'HOST:PORT or //host:port, repeatable; port 0: any free one',
      collectEndpoints,
    )
    .option(...EXPAND_ENV)
    .option('--appdir <dir>', "instead of the machine's APPDIR")
    .option('--lmid <id>', 'which machine of the file this is')
    .option('--allow-open-network', 'listen beyond loopback although there is no TLS and no SECURITY')
    .option(
      '--heartbeat-ms <ms>',
      'silence after which a side sends a heartbeat; three times that is the limit',
      parseInteger,
    )
    .option(
      '--metrics <address>',
      'HOST:PORT for /metrics, /healthz and /readyz over HTTP; port 0: any free one',
      parseEndpoint,
    )
    .option('--log <file>', 'write the log there; SIGHUP opens it again (default: standard error)')
    .option('--json', 'print the ready line as JSON')
    .action((options: StartOptions) => done(import('./start.ts').then(({ start }) => start(options))));
}

function addEnqueue(tmqueue: Command, done: Done): void {
  tmqueue
    .command('enqueue')
    .description('put one message on a queue; prints its msgid')
    .argument('<qspace>', 'the name under which TMQUEUE offers the queue space')
    .argument('<queue>', 'the queue')
    .option('--data <data>', 'the text, @FILE, or - for standard input; none: a message without data')
    .option('--hex', 'the data is written in hexadecimal digits')
    .option(
      '--type <type>',
      'buffer type: STRING, CARRAY, JSON, XML … (default: STRING for text, CARRAY for bytes and with --hex)',
    )
    .option('--corrid <id>', 'at most 32 bytes of text, or 0x and 64 hexadecimal digits', parseId)
    .option('--priority <n>', '1 to 100', parseInteger)
    .option('--reply-queue <queue>', 'where the reply goes')
    .option('--failure-queue <queue>', 'where a failure reply goes')
    .option('--urcode <n>', "the application's own code", parseInteger)
    .option('--timeout <s>', 'seconds to wait for the daemon', parseSeconds)
    .option(...CONNECT)
    .option('--json', 'print JSON')
    .action((qspace: string, queue: string, options: EnqueueOptions) =>
      done(import('./enqueue.ts').then(({ enqueue }) => enqueue(qspace, queue, options))),
    );
}

function addDequeue(tmqueue: Command, done: Done): void {
  tmqueue
    .command('dequeue')
    .description('take one message from a queue and print its data; exit code 2 when there is none')
    .argument('<qspace>', 'the name under which TMQUEUE offers the queue space')
    .argument('<queue>', 'the queue')
    .option('--wait', 'wait for a message, as long as TMQUEUE -t allows')
    .option('--timeout <s>', 'wait for a message, so many seconds at most', parseSeconds)
    .option('--corrid <id>', 'only a message with this correlation id', parseId)
    .option('--msgid <id>', 'only this message: the 32 characters that enqueue printed', parseMsgid)
    .option('--peek', 'look at it and leave it')
    .option('--hex', 'print the data in hexadecimal digits')
    .option(...CONNECT)
    .option('--json', 'print everything that came with it as JSON')
    .action((qspace: string, queue: string, options: DequeueOptions) =>
      done(import('./dequeue.ts').then(({ dequeue }) => dequeue(qspace, queue, options))),
    );
}

/** Runs the command line; resolves with the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  // Whoever reads our output may stop early: that is an ordinary end.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  let work = Promise.resolve<number>(EXIT.OK);
  try {
    const tmqueue = await program(argv[2] ?? '', (started) => {
      work = started;
    });
    await tmqueue.parseAsync(argv);
    return await work;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.OK : EXIT.USAGE;
    return report(error);
  }
}
