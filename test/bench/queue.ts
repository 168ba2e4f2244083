// npm run bench:queue: what a queue costs that is full of what nobody can have now, or is used in ways that are not first in, first out. Each
// measurement is a process of its own. Exit code 1: a target is missed; 2: the command line, or something could not be measured.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Daemon, QSPACE } from './daemon.ts';
import { runChild } from './ipc.ts';
import { readQueueOptions, QUEUE_USAGE, type QueueOptions } from './queue/options.ts';
import { OBSTACLES, type Answer, type BeforeTask, type BehindTask } from './queue/task.ts';
import type { CorridTask, DelayedTask, Line, Measurement } from './queue/task.ts';
import { judge } from './queue/targets.ts';
import { exitOnSignals, Scratch } from './scratch.ts';

/** A message a tenth of a millisecond and more, on a busy machine, and what a start takes. */
const CHILD_MS_PER_MESSAGE = 1;
const CHILD_MS = 120_000;

async function main(): Promise<number> {
  if (process.argv.includes('--help') || process.argv.includes('-h')) {
    console.log(QUEUE_USAGE);
    return 0;
  }
  const options = readQueueOptions(process.argv.slice(2));
  if (typeof options === 'string') {
    console.error(`${options}\n\n${QUEUE_USAGE}`);
    return 2;
  }
  exitOnSignals();
  const scratch = new Scratch(options.directory, false);
  try {
    return await measure(options, scratch);
  } finally {
    scratch.remove();
  }
}

async function measure(options: QueueOptions, scratch: Scratch): Promise<number> {
  const values: Record<string, number> = {};
  const lines: Line[] = [];
  let runs = 0;
  const take = (answer: Answer): void => {
    for (const line of answer.lines) print(line);
    lines.push(...answer.lines);
    Object.assign(values, answer.values);
  };
  const inScratch = async (run: (directory: string) => Promise<Answer>): Promise<void> => {
    runs++;
    const directory = join(scratch.path, String(runs));
    mkdirSync(directory);
    take(await run(directory));
    scratch.remove(directory);
  };
  printRow(['', 'measured', 'reference', 'ratio', 'unit']);
  for (const name of options.only) {
    for (const run of RUNS[name](options)) await inScratch(run);
  }
  const verdicts = judge(values);
  console.log('');
  for (const { holds, text } of verdicts) console.log(`${holds ? 'holds ' : 'FAILS '} ${text}`);
  if (options.json !== '')
    writeFileSync(options.json, `${JSON.stringify({ options, lines, values }, null, 2)}\n`);
  return options.reportOnly || verdicts.every(({ holds }) => holds) ? 0 : 1;
}

type Run = (directory: string) => Promise<Answer>;

const RUNS: Readonly<Record<Measurement, (options: QueueOptions) => Run[]>> = {
  behind: ({ behind: messages, rounds }) =>
    OBSTACLES.map((obstacle) => (directory) => {
      const task: BehindTask = { directory, obstacle, messages, rounds };
      return child('behind', task, messages);
    }),
  corrid: (options) => [(directory) => overTcp(directory, options)],
  before: ({ before: messages }) =>
    (['same', 'halving'] as const).map((pattern) => (directory) => {
      const task: BeforeTask = { directory, pattern, messages };
      return child('before', task, messages);
    }),
  delayed: ({ delayed: messages, spanMs }) => [
    (directory) => {
      const task: DelayedTask = { directory, messages, spanMs };
      return child('delayed', task, messages + spanMs);
    },
  ],
};

async function overTcp(directory: string, options: QueueOptions): Promise<Answer> {
  const queues = { empty: 'EMPTY', many: 'MANY', one: 'ONE' };
  const daemon = await Daemon.start({ directory, queues: Object.values(queues) });
  try {
    const { port, pid } = daemon;
    const { corrid: others, measureMs } = options;
    const rounds = Math.ceil(options.rounds / CORRID_ROUNDS_PART);
    const task: CorridTask = { port, pid, qspace: QSPACE, queues, others, rounds, measureMs };
    return await child('correlation', task, others + rounds * measureMs);
  } finally {
    await daemon.stop();
  }
}
/** A round of W11 takes seconds, one of the others milliseconds. */
const CORRID_ROUNDS_PART = 10;

function child(script: string, task: object, messages: number): Promise<Answer> {
  const timeoutMs = CHILD_MS + CHILD_MS_PER_MESSAGE * messages;
  return runChild<Answer>({ script: `queue/${script}.js`, timeoutMs }, task);
}

function print({ what, unit, measured, reference }: Line): void {
  const beside = reference === null ? ['', ''] : [reference.toFixed(2), (measured / reference).toFixed(2)];
  printRow([what, measured.toFixed(2), ...beside, unit]);
}

function printRow([
  what = '',
  measured = '',
  reference = '',
  ratio = '',
  unit = '',
]: readonly string[]): void {
  console.log(
    `${what.padEnd(56)}${measured.padStart(10)}${reference.padStart(11)}${ratio.padStart(8)}  ${unit}`,
  );
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error);
    process.exitCode = 2;
  },
);
