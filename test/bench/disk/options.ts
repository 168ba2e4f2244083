// The command line of `npm run bench:disk`.
import { parseArgs } from 'node:util';

export const RUNS = ['old', 'static', 'empty', 'aborts', 'queues'] as const;
export type RunName = (typeof RUNS)[number];

export interface DiskOptions {
  readonly only: readonly RunName[];
  /** How long eight writers and eight readers work in each run. */
  readonly measureMs: number;
  /** Messages that only lie there. */
  readonly messages: number;
  readonly aborts: number;
  readonly queues: number;
  readonly reportOnly: boolean;
  /** File for all figures; '' none. */
  readonly json: string;
  /** Parent of the temporary directory; '' the system's. */
  readonly directory: string;
  readonly keep: boolean;
}

export const DISK_USAGE = `usage: npm run bench:disk -- [options]

  --only old,static   only these runs (old, static, empty, aborts, queues)
  --seconds N         how long eight writers and eight readers work in each, half of it at full
                      rate, half with one message under way each (60)
  --full              ten million messages that only lie there (one million)
  --scale N           numbers of messages, aborts and queues times N, for a quick look (1)
  --report-only       exit with 0 also when the bound is broken
  --json FILE         write every figure
  --dir DIR           where the temporary directory is made; the file system is what is measured
  --keep              leave the temporary directory
`;

const STATIC = { SHORT: 1_000_000, FULL: 10_000_000 } as const;
const ABORTS = 1_000_000;
const QUEUES = 10_000;

/** The options, or what is wrong with them. */
export function readDiskOptions(args: readonly string[]): DiskOptions | string {
  try {
    return checked(args);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function checked(args: readonly string[]): DiskOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: RUNS.join(',') },
      seconds: { type: 'string', default: '60' },
      full: { type: 'boolean', default: false },
      scale: { type: 'string', default: '1' },
      'report-only': { type: 'boolean', default: false },
      json: { type: 'string', default: '' },
      dir: { type: 'string', default: '' },
      keep: { type: 'boolean', default: false },
    },
  });
  const scale = number('--scale', values.scale, { min: 0.001, max: 10 });
  return {
    only: runs(values.only),
    measureMs: 1000 * number('--seconds', values.seconds, { min: 1, max: 3600 }),
    messages: Math.ceil((values.full ? STATIC.FULL : STATIC.SHORT) * scale),
    aborts: Math.ceil(ABORTS * scale),
    queues: Math.ceil(QUEUES * scale),
    reportOnly: values['report-only'],
    json: values.json,
    directory: values.dir,
    keep: values.keep,
  };
}

function runs(text: string): RunName[] {
  const asked = text.split(',').map((name) => name.trim());
  const unknown = asked.find((name) => !RUNS.some((one) => one === name));
  if (unknown !== undefined) throw new Error(`--only: ${unknown} is none of ${RUNS.join(', ')}`);
  return RUNS.filter((one) => asked.includes(one));
}

function number(name: string, text: string, range: { min: number; max: number }): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= range.min && value <= range.max) return value;
  throw new Error(`${name}: ${text} is not a number from ${range.min} to ${range.max}`);
}
