// `npm run sim -- …`: runs seeds and says which ones fail and why.
//   --seed N            one run; --verbose: with every line of its trace
//   --seeds N           the seeds 1..N (default 200)
//   --from A --count N  the seeds A..A+N-1
//   --fault NAME        with this known fault switched in, which the runs should find out
import { parseArgs } from 'node:util';
import { KNOWN_FAULTS, type KnownFault } from './known-faults.ts';
import { type RunResult, runSeed } from './run.ts';

const SEEDS_DEFAULT = 200;
const PROGRESS_EVERY = 100;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      from: { type: 'string' },
      count: { type: 'string' },
      fault: { type: 'string' },
      verbose: { type: 'boolean', default: false },
    },
  });
  const fault = values.fault === undefined ? {} : { fault: faultNamed(values.fault) };
  const onLine = values.verbose ? { onLine: (line: string): void => console.log(line) } : {};
  if (values.seed !== undefined)
    return report(await runSeed({ seed: whole('seed', values.seed), ...fault, ...onLine }));
  const from = whole('from', values.from ?? '1');
  const count = whole('count', values.count ?? values.seeds ?? `${SEEDS_DEFAULT}`);
  let failed = 0;
  let sum = { messages: 0, takes: 0, ends: 0, events: 0 };
  for (let seed = from; seed < from + count; seed++) {
    const result = await runSeed({ seed, ...fault, ...onLine });
    if (result.violations.length > 0) failed += report(result);
    const { messages, takes, ends, events } = result;
    sum = {
      messages: sum.messages + messages,
      takes: sum.takes + takes,
      ends: sum.ends + ends.length,
      events: sum.events + events,
    };
    if ((seed - from + 1) % PROGRESS_EVERY === 0) say(seed - from + 1, failed, cpuMs());
  }
  say(count, failed, cpuMs());
  console.log(
    `${sum.messages} messages, ${sum.takes} deliveries, ${sum.ends} ends of a daemon, ${sum.events} events`,
  );
  return failed > 0 ? 1 : 0;
}

function say(done: number, failed: number, ms: number): void {
  console.log(`${done} seeds, ${failed} failed, ${(ms / done).toFixed(1)} ms of processor time a seed`);
}

function faultNamed(name: string): KnownFault {
  const fault = KNOWN_FAULTS[name];
  if (fault !== undefined) return fault;
  throw new Error(`--fault ${name}: known are ${Object.keys(KNOWN_FAULTS).join(', ')}`);
}

/** Of this process, so that it says the same on a busy machine. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Prints a run; 1 when it failed. */
function report(result: RunResult): number {
  const { seed, hash, violations, events, simulatedMs, messages, takes, ends } = result;
  if (violations.length > 0) {
    console.log(`seed ${seed}: the last of ${events} events:`);
    for (const line of result.lastLines) console.log(`  ${line}`);
    console.log(
      `seed ${seed}: ${violations.length} violations; repeat with: npm run sim -- --seed ${seed} --verbose`,
    );
    for (const violation of violations.slice(0, 20)) console.log(`  ${violation}`);
    return 1;
  }
  console.log(
    `seed ${seed}: well: ${events} events in ${simulatedMs} ms of simulated time, ${messages} messages, ${takes} deliveries, ` +
      `ends of the daemon: ${ends.join(', ') || 'none'}; trace ${hash}`,
  );
  return 0;
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`--${name} ${text}: a whole number from 0 on is wanted`);
}

process.exitCode = await main();
