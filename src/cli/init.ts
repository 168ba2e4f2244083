// `tmqueue init DIR`: writes a configuration to begin with. Nothing that exists is overwritten, and a file that could not be written whole
// is taken away again. The texts are files of the package.
import { closeSync, mkdirSync, openSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { EXIT } from './exit.ts';

export interface InitOptions {
  readonly sample: string;
}

interface Sample {
  readonly file: string;
  readonly what: string;
}

/** What can be written, with the file of the package that holds it. */
export const SAMPLES: Readonly<Record<string, Sample>> = {
  start: { file: 'ubbconfig.example', what: 'one queue space with a forwarder, every line explained' },
  'request-reply': {
    file: 'config/samples/request-reply.ubb',
    what: 'requests, replies and failures on queues',
  },
  'two-spaces': { file: 'config/samples/two-spaces.ubb', what: 'two queue spaces on two devices' },
  'many-forwarders': {
    file: 'config/samples/many-forwarders.ubb',
    what: 'forwarders side by side and in turn',
  },
  examples: {
    file: 'config/samples/examples.ubb',
    what: 'what the examples of @tmqueue/client work on',
  },
  converted: { file: 'config/samples/converted.ubb', what: 'a Tuxedo application brought here' },
};

/** The name of the file that is written. */
const FILE = 'ubbconfig';

export function init(dir: string, { sample }: InitOptions): Promise<number> {
  const text = readPackageFile(SAMPLES[sample]?.file ?? '');
  const path = join(dir, FILE);
  const problem = makeDirectory(dir) ?? create(path, text);
  if (problem !== undefined) {
    process.stderr.write(`tmqueue: ${problem}\n`);
    return Promise.resolve(EXIT.REFUSED);
  }
  const word = /^[\w./+:@-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
  process.stdout.write(
    `${path} is written. Look at it, then:\n  tmqueue check ${word}\n  tmqueue start -c ${word}\n`,
  );
  return Promise.resolve(EXIT.OK);
}

/** What is wrong; undefined when the directory is there. */
function makeDirectory(dir: string): string | undefined {
  try {
    makeWithParents(resolve(dir));
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST' && code !== 'ENOTDIR') return `${dir} cannot be made: ${message}`;
    return `${dir} is no directory: name one, or a place where one can be made`;
  }
}

/** Not the recursive form of mkdir, which never returns where nothing can be made, such as below /proc. */
function makeWithParents(dir: string): void {
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = dirname(dir);
  if (parent !== dir) makeWithParents(parent);
  mkdirSync(dir);
}

function create(path: string, text: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'wx');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'EEXIST'
      ? `${path} exists, and init overwrites nothing: take it away first, or name another directory`
      : `${path} cannot be written: ${message}`;
  }
  try {
    writeFileSync(descriptor, text);
    return undefined;
  } catch (error) {
    unlinkSync(path);
    return `${path} cannot be written: ${(error as Error).message}`;
  } finally {
    closeSync(descriptor);
  }
}

/** The package's own folder is src/cli/../.. as written, dist/src/cli/../../.. when built. */
function readPackageFile(name: string): string {
  for (const up of ['../..', '../../..']) {
    try {
      return readFileSync(join(import.meta.dirname, up, name), 'utf8').replaceAll('ubbconfig.example', FILE);
    } catch {
      // Not there: one level further up.
    }
  }
  throw new Error(`this installation is not whole: ${name} is missing`);
}
