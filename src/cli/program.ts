// The command `tmqueue`: words and options to one function each; nothing is done here.
import { Command, CommanderError, Option } from 'commander';
import { VERSION } from '../boot/version.ts';
import { addBackup } from './backup.ts';
import { check, type CheckOptions } from './check.ts';
import { dequeue, type DequeueOptions } from './dequeue.ts';
import { enqueue, type EnqueueOptions } from './enqueue.ts';
import { EXIT, report } from './exit.ts';
import { init, type InitOptions, SAMPLES } from './init.ts';
import { collectEndpoints, parseEndpoint, parseId, parseInteger, parseMsgid, parseSeconds } from './input.ts';
import { addRedrive } from './redrive.ts';
import { addExport } from './export.ts';
import { addImport } from './import.ts';
import { addReload } from './reload.ts';
import { addServer } from './server.ts';
import { start, type StartOptions } from './start.ts';
import { stat, type StatOptions } from './stat.ts';
import { addTop } from './top.ts';
import { addWal } from './wal.ts';

const CONNECT = [
  '--connect <address>',
  'the daemon, //host:port; else WSNADDR, else //127.0.0.1:7110',
] as const;

const EXPAND_ENV = [
  '--expand-env',
  'replace $NAME and ${NAME} by the environment variables; one that is not set is a fault',
] as const;

function program(done: (work: Promise<number>) => void): Command {
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
  addInit(tmqueue, done);
  addCheck(tmqueue, done);
  addStart(tmqueue, done);
  addEnqueue(tmqueue, done);
  addDequeue(tmqueue, done);
  tmqueue
    .command('stat')
    .description('show what the daemon counts')
    .argument('[qspace]', 'only this queue space')
    .option(...CONNECT)
    .option('--json', 'print JSON')
    .action((qspace: string | undefined, options: StatOptions) => done(stat(qspace, options)));
  addRedrive(tmqueue, done, CONNECT);
  addTop(tmqueue, done, CONNECT);
  addServer(tmqueue, done, CONNECT);
  addReload(tmqueue, done, CONNECT);
  addExport(tmqueue, done, CONNECT);
  addImport(tmqueue, done, CONNECT);
  addWal(tmqueue, done);
  addBackup(tmqueue, done);
  return tmqueue;
}

function addInit(tmqueue: Command, done: (work: Promise<number>) => void): void {
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

function addCheck(tmqueue: Command, done: (work: Promise<number>) => void): void {
  tmqueue
    .command('check')
    .description(
      'find every fault of a configuration without starting anything; exit code 1 when there are any',
    )
    .argument('<file>', 'the UBBCONFIG; - is standard input')
    .option('-v, --verbose', 'also list what has no meaning here and what is not yet in effect')
    .option(...EXPAND_ENV)
    .option('--json', 'print the findings (those of -v too) and the checked model as JSON')
    .action((file: string, options: CheckOptions) => done(check(file, options)));
}

function addStart(tmqueue: Command, done: (work: Promise<number>) => void): void {
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
    .action((options: StartOptions) => done(start(options)));
}

function addEnqueue(tmqueue: Command, done: (work: Promise<number>) => void): void {
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
      done(enqueue(qspace, queue, options)),
    );
}

function addDequeue(tmqueue: Command, done: (work: Promise<number>) => void): void {
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
      done(dequeue(qspace, queue, options)),
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
    await program((started) => {
      work = started;
    }).parseAsync(argv);
    return await work;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.OK : EXIT.USAGE;
    return report(error);
  }
}
