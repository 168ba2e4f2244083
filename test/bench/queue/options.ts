// The command line of `npm run bench:queue`.
import { parseArgs } from 'node:util';
import { MEASUREMENTS, type Measurement } from './task.ts';

export interface QueueOptions {
  readonly only: readonly Measurement[];
  /** Rounds of what is measured in turns. */
  readonly rounds: number;
  /** Measured time of one round of W11. */
  readonly measureMs: number;
  /** Messages that nobody can have. */
  readonly behind: number;
  /** Others on the queue of W11. */
  readonly corrid: number;
  /** Insertions. */
  readonly before: number;
  readonly delayed: number;
  /** The delayed messages become due within so long. */
  readonly spanMs: number;
  readonly reportOnly: boolean;
  /** File for all figures; '' none. */
  readonly json: string;
  /** Parent of the temporary directory; '' the system's. */
  readonly directory: string;
}

export const QUEUE_USAGE = `usage: npm run bench:queue -- [options]

  --only behind,corrid   only these measurements (behind, corrid, before, delayed)
  --full                 a million delayed messages over ten minutes (200,000 over one)
  --scale N              every number of messages times N, for a quick look (1)
  --rounds N             rounds of what is measured in turns, of which the median counts (50)
  --seconds N            measured seconds of a round of W11 (2)
  --report-only          exit with 0 also when a target is missed
  --json FILE            write every figure
  --dir DIR              where the temporary directory is made
`;

const SHORT = { messages: 200_000, spanMs: 60_000 } as const;
const FULL = { messages: 1_000_000, spanMs: 600_000 } as const;

/** The options, or what is wrong with them. */
export function readQueueOptions(args: readonly string[]): QueueOptions | string {
  try {
    return checked(args);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function checked(args: readonly string[]): QueueOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: MEASUREMENTS.join(',') },
      full: { type: 'boolean', default: false },
      scale: { type: 'string', default: '1' },
      rounds: { type: 'string', default: '50' },
      seconds: { type: 'string', default: '2' },
      'report-only': { type: 'boolean', default: false },
      json: { type: 'string', default: '' },
      dir: { type: 'string', default: '' },
    },
  });
  const scale = number('--scale', values.scale, { min: 0.01, max: 10 });
  const delays = values.full ? FULL : SHORT;
  return {
    only: measurements(values.only),
    rounds: number('--rounds', values.rounds, { min: 1, max: 1000 }),
    measureMs: 1000 * number('--seconds', values.seconds, { min: 0.1, max: 600 }),
    behind: Math.ceil(1_000_000 * scale),
    corrid: Math.ceil(300_000 * scale),
    before: Math.ceil(100_000 * scale),
    delayed: Math.ceil(delays.messages * scale),
    spanMs: delays.spanMs,
    reportOnly: values['report-only'],
    json: values.json,
    directory: values.dir,
  };
}

function measurements(text: string): Measurement[] {
  const asked = text.split(',').map((name) => name.trim());
  const unknown = asked.find((name) => !MEASUREMENTS.some((one) => one === name));
  if (unknown !== undefined) throw new Error(`--only: ${unknown} is none of ${MEASUREMENTS.join(', ')}`);
  return MEASUREMENTS.filter((one) => asked.includes(one));
}

function number(name: string, text: string, range: { min: number; max: number }): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= range.min && value <= range.max) return value;
  throw new Error(`${name}: ${text} is not a number from ${range.min} to ${range.max}`);
}
