// npm run bench:scale: a backlog of a million messages (--full: ten million) in one queue: memory, time to ready after kill -9 from the newest
// checkpoint and by reading the whole log, and what an enqueue and a dequeue cost beside those of ten thousand. Exit code 1: a target is
// missed; 2: the command line, or something could not be measured.
import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Prng } from '../../src/base/prng.ts';
import { Backlog } from './scale/backlog.ts';
import type { Cost, CostResult } from './scale/task.ts';
import { exitOnSignals, Scratch } from './scratch.ts';

const MILLION = 1_000_000;
const USAGE = `usage: npm run bench:scale -- [options]

  --full             ten million messages (a million)
  --messages N       so many instead
  --no-cost          only memory and restarts
  --seed N           when the daemon is killed (at random)
  --report-only      exit with 0 also when a target is missed
  --json FILE        write every figure
  --cpu-prof DIR     profiles of the daemons
  --dir DIR          where the temporary directory is made
  --keep             leave it there
`;
/** Messages taken and put at a time, at both depths in turns: ten times as many in all, consecutive ones. */
const COST_MESSAGES = 10_000;
const COST_ROUNDS = 10;
/** Depth that the costs are compared with. */
const SMALL_DEPTH = 10_000;
const WARMUP_MS = 5000;
/** It is killed within so many messages behind the last one of the backlog. */
const KILL_WITHIN = 1 / 10;

/** What must hold at one million and at ten; between them what is asked of ten. */
const TARGETS = {
  residentBytes: 160,
  costRatio: 1.3,
  readyMs: (messages: number) => (messages <= MILLION ? 2000 : 20_000),
  replayMs: (messages: number) => (messages <= MILLION ? 12_000 : 120_000),
};

interface Options {
  readonly messages: number;
  readonly cost: boolean;
  readonly seed: number;
  readonly reportOnly: boolean;
  readonly json: string;
  readonly cpuProf: string;
  readonly directory: string;
  readonly keep: boolean;
}

async function main(): Promise<number> {
  if (process.argv.includes('--help')) {
    console.log(USAGE);
    return 0;
  }
  const options = readOptions(process.argv.slice(2));
  exitOnSignals();
  const scratch = new Scratch(options.directory, options.keep);
  try {
    const values = await measure(options, scratch);
    const verdicts = judge(options, values);
    console.log('');
    for (const { holds, text } of verdicts) console.log(`${holds ? 'holds ' : 'FAILS '} ${text}`);
    if (options.json !== '') writeFileSync(options.json, `${JSON.stringify({ options, values }, null, 2)}\n`);
    return options.reportOnly || verdicts.every(({ holds }) => holds) ? 0 : 1;
  } finally {
    scratch.remove();
  }
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      full: { type: 'boolean', default: false },
      messages: { type: 'string', default: '' },
      cost: { type: 'boolean', default: true },
      seed: { type: 'string', default: String(Date.now() % MILLION) },
      'report-only': { type: 'boolean', default: false },
      json: { type: 'string', default: '' },
      'cpu-prof': { type: 'string', default: '' },
      dir: { type: 'string', default: '' },
      keep: { type: 'boolean', default: false },
    },
  });
  const asked = values.messages === '' ? MILLION * (values.full ? 10 : 1) : Number(values.messages);
  if (!Number.isSafeInteger(asked) || asked < COST_MESSAGES * COST_ROUNDS)
    throw new Error(`--messages ${values.messages}: at least ${COST_MESSAGES * COST_ROUNDS}\n${USAGE}`);
  return {
    messages: asked,
    cost: values.cost,
    seed: Number(values.seed),
    reportOnly: values['report-only'],
    json: values.json,
    cpuProf: values['cpu-prof'],
    directory: values.dir,
    keep: values.keep,
  };
}

type Values = Record<string, number>;

async function measure(options: Options, scratch: Scratch): Promise<Values> {
  const { messages, seed } = options;
  const killAfter = new Prng(seed).below(messages * KILL_WITHIN) + 1;
  console.log(`${messages} messages, seed ${seed}: killed after ${killAfter} more; ${load()}`);
  const large = makeBacklog(options, scratch, { name: 'large', qnames: ['ONE'], messages });
  const values: Values = { killAfter };
  await large.start();
  const filled = await large.fill(killAfter);
  print('filled', `${filled.acknowledged} in ${filled.seconds.toFixed(1)} s`);
  const { log, checkpoint } = large.files();
  print('log, newest checkpoint', `${megabytes(log)}, ${megabytes(checkpoint)}`);
  const count = filled.acknowledged;
  const start = async (name: string): Promise<void> => {
    const { readyMs, cpuMs } = await large.start();
    const { resident, peak } = large.memory();
    values[`${name} cpu ms`] = cpuMs;
    Object.assign(values, {
      [`${name} ms`]: readyMs,
      [`${name} resident`]: resident,
      [`${name} peak`]: peak,
    });
    const perMessage = `${(resident / count).toFixed(1)} B a message`;
    print(
      `ready, ${name}`,
      `${(readyMs / 1000).toFixed(2)} s, ${(cpuMs / 1000).toFixed(2)} s of a processor; resident ${megabytes(resident)}, ${perMessage}, peak ${megabytes(peak)}; ${load()}`,
    );
  };
  await start('from checkpoint');
  await large.crash();
  const damaged = large.damageCheckpoints();
  await start('full replay');
  print('checkpoints damaged', String(damaged));
  values['messages'] = count;
  if (options.cost) await compare(options, scratch, { large, values });
  await large.crash();
  return values;
}

/** The large backlog, right after its start, and a small one in turns. */
async function compare(
  options: Options,
  scratch: Scratch,
  { large, values }: { large: Backlog; values: Values },
): Promise<void> {
  // As many queues as rounds, so that as many consecutive messages are taken, none of them from a deeper queue.
  const qnames = Array.from({ length: COST_ROUNDS }, (_, i) => `SMALL${i}`);
  const small = qnames.map((qname) =>
    makeBacklog(options, scratch, { name: qname, qnames: [qname], messages: SMALL_DEPTH }),
  );
  const costs: { large: CostResult[]; small: CostResult[] } = { large: [], small: [] };
  await large.cost(COST_MESSAGES, WARMUP_MS);
  for (const one of small) {
    await one.start();
    await one.fill(1);
    await one.start();
    await one.cost(0, WARMUP_MS);
    costs.small.push(await one.cost(COST_MESSAGES, 0));
    costs.large.push(await large.cost(COST_MESSAGES, 0));
    await one.crash();
  }
  for (const what of ['dequeue', 'enqueue'] as const) {
    const [at, beside] = [total(costs.large, what), total(costs.small, what)];
    values[`${what} us`] = at.serverUs / at.messages;
    values[`${what} ratio`] = at.serverUs / at.messages / (beside.serverUs / beside.messages);
    print(what, `${describe(at)}; at ${SMALL_DEPTH}: ${describe(beside)}; ${load()}`);
  }
}

function makeBacklog(
  options: Options,
  scratch: Scratch,
  backlog: { name: string; qnames: readonly string[]; messages: number },
): Backlog {
  const directory = join(scratch.path, backlog.name);
  mkdirSync(directory);
  const nodeOptions = options.cpuProf === '' ? [] : ['--cpu-prof', '--cpu-prof-dir', options.cpuProf];
  return new Backlog({ directory, qnames: backlog.qnames, messages: backlog.messages, nodeOptions });
}

function total(results: readonly CostResult[], what: keyof CostResult): Cost {
  const sum = { messages: 0, seconds: 0, serverUs: 0 };
  for (const result of results) {
    sum.messages += result[what].messages;
    sum.seconds += result[what].seconds;
    sum.serverUs += result[what].serverUs;
  }
  return sum;
}

function describe({ messages, seconds, serverUs }: Cost): string {
  return `${(serverUs / messages).toFixed(2)} us of the daemon a message, ${Math.round(messages / seconds)}/s`;
}

function judge(options: Options, values: Values): { holds: boolean; text: string }[] {
  const { messages } = options;
  const atMost = (name: string, most: number, by = 1) => {
    const value = (values[name] ?? NaN) / by;
    return { holds: value <= most, text: `${name}: ${value.toFixed(2)}, at most ${most}` };
  };
  const count = values['messages'] ?? NaN;
  const verdicts = [
    atMost('from checkpoint ms', TARGETS.readyMs(messages)),
    atMost('full replay ms', TARGETS.replayMs(messages)),
  ];
  // Of fewer messages what the process needs anyway is most of it: see npm run bench:memory.
  if (messages >= 10 * MILLION) {
    verdicts.push(atMost('from checkpoint peak', TARGETS.residentBytes, count));
    verdicts.push(atMost('full replay peak', TARGETS.residentBytes, count));
  }
  if (!options.cost) return verdicts;
  const ratios = ['enqueue', 'dequeue'].map((what) => atMost(`${what} ratio`, TARGETS.costRatio));
  return [...verdicts, ...ratios];
}

function print(what: string, text: string): void {
  console.log(`${what.padEnd(24)} ${text}`);
}
function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
function load(): string {
  return `load ${(loadavg()[0] ?? 0).toFixed(1)}`;
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
