// `tmqueue backup` and `tmqueue restore`: queue spaces, whole, to a directory and back to a new place. They need no configuration and no
// connection: a running daemon is not asked, and not disturbed.
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import { LIMIT } from '../../proto/codes.ts';
import { backup, type SpaceBackup } from '../tools/backup.ts';
import { holdDevice, type FoundSpaces } from '../tools/directories.ts';
import { restore, type SpaceRestored } from '../tools/restore.ts';
import { wallText } from '../tools/text.ts';
import { spaceOfDirectory } from '../wal/local/segment.ts';
import { UsageError } from './exit.ts';
import { guarded, isInUse, locate, refuseInside, WAL_EXIT, withoutSlash, withProgress } from './tool.ts';

const CODES = `
Exit codes: 0 done, 1 refused: damaged, of a newer format, or not whole, 64 wrong usage, 66 nothing there to read, 73 there is something under
the new name, 74 reading or writing failed, 75 another backup or restore works there. Whatever the code, but for 0, nothing is left behind.`;

interface Words {
  readonly into: string;
  readonly json?: boolean;
}

export function addBackup(tmqueue: Command, done: (work: Promise<number>) => void): void {
  tmqueue
    .command('backup')
    .description('write a whole and checked copy of queue spaces, also while a daemon serves them')
    .argument(
      '<dir>',
      "a queue space's directory, such as data/QSPACE, or the device it is on: all its spaces",
    )
    .requiredOption('--into <new>', 'the new directory: of the queue space, or of the device')
    .option('--json', 'print an object a queue space')
    .addHelpText('after', CODES)
    .action((dir: string, words: Words) => done(guarded(() => makeBackup(dir, words))));
  tmqueue
    .command('restore')
    .description('make queue spaces out of their backup, in a new place')
    .argument('<backup>', 'what backup has written: of a queue space, or of a device')
    .requiredOption(
      '--into <new>',
      'the new directory: of the queue space, called after it, or of the device',
    )
    .option('--json', 'print an object a queue space')
    .addHelpText('after', CODES)
    .action((dir: string, words: Words) => done(guarded(() => makeRestored(dir, words))));
}

async function makeBackup(dir: string, { into, json }: Words): Promise<number> {
  const target = withoutSlash(into);
  const found = await locate(dir);
  refuseInside(dir, target);
  const made = await interruptible((check) =>
    inHand(found, (besideDaemon) =>
      withProgress({ label: 'backing up', hidden: json === true }, (show) =>
        backup(
          { found, into: target, besideDaemon, madeAt: new Date().toISOString() },
          { progress: (_, part, whole) => check(() => show(part, whole)) },
        ),
      ),
    ),
  );
  for (const one of made) process.stdout.write(json === true ? `${JSON.stringify(one)}\n` : backupText(one));
  return WAL_EXIT.OK;
}

/** Holds the device while `work` runs, or says that a daemon does. */
async function inHand<T>({ device }: FoundSpaces, work: (besideDaemon: boolean) => Promise<T>): Promise<T> {
  let lock: Awaited<ReturnType<typeof holdDevice>> = null;
  try {
    lock = await holdDevice(device);
  } catch (error) {
    if (!isInUse(error)) throw error;
    return work(true);
  }
  try {
    return await work(false);
  } finally {
    lock?.release();
  }
}

function backupText({ space, into, messages, queues, last, besideDaemon }: SpaceBackup): string {
  const daemon = besideDaemon ? 'while its daemon runs' : 'its daemon is stopped';
  return `${space}: ${into}: ${messages} messages${filled(queues)}, as of ${wallText(last.wall)}; ${daemon}\n`;
}

async function makeRestored(dir: string, { into, json }: Words): Promise<number> {
  const target = withoutSlash(into);
  const found = await locate(dir);
  refuseInside(dir, target);
  const rename = found.isDevice ? undefined : spaceNamed(target);
  const done = await interruptible((check) =>
    withProgress({ label: 'restoring', hidden: json === true }, (show) =>
      restore(
        { found, into: target, ...(rename === undefined ? {} : { rename }) },
        { progress: (_, part, whole) => check(() => show(part, whole)) },
      ),
    ),
  );
  for (const one of done)
    process.stdout.write(json === true ? `${JSON.stringify(asJson(one))}\n` : restoredText(one));
  return WAL_EXIT.OK;
}

/** The name that a daemon will look for it by. */
function spaceNamed(into: string): string {
  const directory = basename(resolve(into));
  const name = spaceOfDirectory(directory);
  if (name === null || name.length > LIMIT.TMQSNAMELEN) {
    throw new UsageError(
      `--into ${into}: the directory of a queue space is called after it, by at most ${LIMIT.TMQSNAMELEN} characters, ` +
        'every one but A-Z a-z 0-9 _ - written as %XX',
    );
  }
  return name;
}

function asJson({ into, backup: file, copied }: SpaceRestored): object {
  const { spaceId, messages, queues, begin, end } = copied;
  const name = basename(resolve(into));
  return { space: spaceOfDirectory(name) ?? name, spaceId, into, backup: file, messages, queues, begin, end };
}

function restoredText({ into, backup: file, copied }: SpaceRestored): string {
  const { messages, queues } = copied;
  const name = spaceOfDirectory(basename(resolve(into))) ?? file.space;
  const was = name === file.space ? '' : `, the backup of ${file.space}`;
  return `${name}${was}: ${into}: ${messages} messages${filled(queues)}, as of ${wallText(file.last.wall)}\n`;
}

function filled(queues: Readonly<Record<string, number>>): string {
  const some = Object.entries(queues).filter(([, count]) => count > 0);
  return some.length === 0 ? '' : ` (${some.map(([name, count]) => `${name} ${count}`).join(', ')})`;
}

/** SIGINT and SIGTERM end the work at its next step, so that it takes away what it has begun. */
async function interruptible<T>(work: (check: (next: () => void) => void) => Promise<T>): Promise<T> {
  let signal: NodeJS.Signals | null = null;
  const note = (caught: NodeJS.Signals): void => {
    signal = caught;
  };
  process.on('SIGINT', note).on('SIGTERM', note);
  try {
    return await work((next) => {
      if (signal !== null) throw new Error(`ended by ${signal}: nothing is left behind`);
      next();
    });
  } finally {
    process.off('SIGINT', note).off('SIGTERM', note);
  }
}
