// npm run bench:disk: whether the log's files stay under twice the live bytes and four segments at all times, and whether clients' p99 bears
// what keeps them there. Exit code 1: the bound was broken, or p99 more than doubled; 2: it could not be measured.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BOUND, overshoot } from './disk/bound.ts';
import { DISK_USAGE, readDiskOptions, type DiskOptions } from './disk/options.ts';
import { runDisk, type DiskRun } from './disk/run.ts';
import { exitOnSignals, Scratch } from './scratch.ts';

/** Clients' p99 while live messages are restated, of what it is otherwise. */
const P99_MOST = 2;
const MB = 1e6;

async function main(): Promise<number> {
  if (process.argv.includes('--help') || process.argv.includes('-h')) {
    console.log(DISK_USAGE);
    return 0;
  }
  const options = readDiskOptions(process.argv.slice(2));
  if (typeof options === 'string') {
    console.error(`${options}\n\n${DISK_USAGE}`);
    return 2;
  }
  exitOnSignals();
  const scratch = new Scratch(options.directory, options.keep);
  try {
    if (scratch.inMemory) console.error(`${scratch.path} is in memory: give --dir on a disk`);
    return await measure(options, scratch);
  } finally {
    scratch.remove();
  }
}

async function measure(options: DiskOptions, scratch: Scratch): Promise<number> {
  const runs: DiskRun[] = [];
  console.log(HEAD);
  for (const name of options.only) {
    const directory = join(scratch.path, name);
    const run = await runDisk(name, options, directory);
    scratch.remove(directory);
    console.log(line(run));
    runs.push(run);
  }
  console.log(
    '\nover live: segments by which the log was larger than twice what is live, at most. calm: msg/s with one under way each; p99 of it.',
  );
  const verdicts = runs.flatMap(judge);
  for (const { holds, text } of verdicts) console.log(`${holds ? 'holds ' : 'FAILS '} ${text}`);
  if (options.json !== '')
    writeFileSync(options.json, `${JSON.stringify({ options, verdicts, runs }, null, 2)}\n`);
  return options.reportOnly || verdicts.every(({ holds }) => holds) ? 0 : 1;
}

const WIDTHS = [44, 9, 9, 10, 9, 9, 12, 12] as const;
const HEAD = row(['', 'msg/s', 'live MB', 'log MB', 'over live', 'calm', 'p99', 'restating']);

function line({ title, load, calm, sampled, latencies }: DiskRun): string {
  return row([
    title,
    Math.round(load.rate).toLocaleString('en'),
    (sampled.worst.liveBytes / MB).toFixed(1),
    (sampled.logBytesMax / MB).toFixed(0),
    overshoot(sampled.worst).toFixed(2),
    calm === null ? '' : Math.round(calm.rate).toLocaleString('en'),
    milliseconds(latencies.quietUs),
    milliseconds(latencies.restatingUs),
  ]);
}

function milliseconds(us: number): string {
  return Number.isNaN(us) ? '' : `${(us / 1000).toFixed(2)} ms`;
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, at) => (at === 0 ? cell.padEnd(WIDTHS[0]) : cell.padStart(WIDTHS[at] ?? 0)))
    .join(' ');
}

function judge({ title, sampled, latencies }: DiskRun): { holds: boolean; text: string }[] {
  const { samples, over, worst } = sampled;
  const bound = {
    holds: over === 0,
    text: `${title}: ${over} of ${samples} samples over the bound; ${overshoot(worst).toFixed(2)} of ${BOUND.SEGMENTS} segments`,
  };
  const { quietUs, restatingUs, quietSeconds, restatingSeconds } = latencies;
  const times = restatingUs / quietUs;
  if (Number.isNaN(times)) return [bound];
  const text =
    `${title}: p99 of the ${restatingSeconds} calm seconds in which live messages were restated, of that of the ` +
    `${quietSeconds} others: ${times.toFixed(2)}, at most ${P99_MOST}`;
  return [bound, { holds: times <= P99_MOST, text }];
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
