// npm run bench: the workloads W1 to W11 beside the bare sync rate and the bare pipeline of the same rounds. Exit code 1:
// a threshold does not hold; 2: the command line, or a run that could not be made or lost a message.
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { readOptions, USAGE, type Options } from './options.ts';
import { missingPeers } from './peers/run.ts';
import { report } from './report.ts';
import { runRound, type Round } from './round.ts';
import { exitOnSignals, Scratch } from './scratch.ts';
import { runTrace } from './trace/run.ts';

async function main(): Promise<number> {
  if (process.argv.includes('--help') || process.argv.includes('-h')) {
    console.log(USAGE);
    return 0;
  }
  const options = readOptions(process.argv.slice(2));
  if (typeof options === 'string') {
    console.error(`${options}\n\n${USAGE}`);
    return 2;
  }
  const missing = missingPeers(options.peers, options.peerModules);
  if (missing.length > 0) {
    console.error(missing.join('\n'));
    return 2;
  }
  exitOnSignals();
  const scratch = new Scratch(options.directory, options.keep);
  try {
    if (scratch.inMemory) console.error(`${scratch.path} is in memory: give --dir on a disk`);
    return options.strace ? await runTrace(scratch) : await measure(options, scratch);
  } finally {
    scratch.remove();
    if (options.keep) console.error(`kept: ${scratch.path}`);
  }
}

async function measure(options: Options, scratch: Scratch): Promise<number> {
  if (availableParallelism() < 2)
    console.error('the daemon and the load share one core here: rates are halved');
  const rounds: Round[] = [];
  for (let number = 1; number <= options.rounds; number++) {
    const directory = join(scratch.path, `round-${number}`);
    mkdirSync(directory);
    const onRun = (name: string) => progress(`round ${number} of ${options.rounds}: ${name}`);
    rounds.push(await runRound({ options, directory, onRun }));
    scratch.remove(directory);
  }
  progress('');
  const { text, verdicts, medians } = report(rounds);
  console.log(text);
  if (options.json !== '')
    writeFileSync(options.json, `${JSON.stringify({ options, medians, verdicts, rounds }, null, 2)}\n`);
  return options.reportOnly || verdicts.every((verdict) => verdict.holds) ? 0 : 1;
}

/** One line on a terminal that is overwritten; nothing in a file. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
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
