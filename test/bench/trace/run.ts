// npm run bench -- --strace: a short W1, W3 and a serial drain with the daemon under strace; counts the syncs at the system, and fails when
// an answer preceded its sync. The rates of a traced daemon mean nothing and are not shown.
import { createReadStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Daemon, QSPACE } from '../daemon.ts';
import type { Figures } from '../figures.ts';
import { runChild } from '../ipc.ts';
import { BODY_BYTES, type LoadTask, type Shape } from '../load/task.ts';
import type { Scratch } from '../scratch.ts';
import { CallReader } from './calls.ts';
import { AnswerCheck } from './check.ts';

const CALLS = 'fdatasync,fsync,pwrite64,pwritev,pwritev2,write,writev,sendto,sendmsg';
/** Longer than a batch of W3. What is cut off a write to the log can only raise an alarm, never hide one. */
const STRING_BYTES = 512 * 1024;
const MEASURE_MS = 1000;
const CHILD_MS = 120_000;
const VIOLATIONS_SHOWN = 10;

/** Returns the exit code. */
export async function runTrace(scratch: Scratch): Promise<number> {
  const directory = join(scratch.path, 'daemon');
  mkdirSync(directory);
  const file = join(scratch.path, 'trace');
  const under = [
    'strace',
    '-f',
    '-ttt',
    '-y',
    '-s',
    String(STRING_BYTES),
    '-e',
    `trace=${CALLS}`,
    '-o',
    file,
  ];
  const daemon = await Daemon.start({ directory, queues: ['W1', 'W3', 'D1'], under });
  const figures: Figures[] = [];
  try {
    const { port, pid } = daemon;
    const task = {
      kind: 'lean',
      port,
      pid,
      qspace: QSPACE,
      warmQueue: '',
      bodyBytes: BODY_BYTES,
      warmupMs: 0,
      measureMs: MEASURE_MS,
    } as const;
    const shapes: readonly Shape[] = ['W1', 'W3', 'D1'];
    for (const [index, shape] of shapes.entries()) {
      const whole: LoadTask = { ...task, shape, qname: shape, firstProducer: index * 8 };
      figures.push(await runChild<Figures>({ script: 'load/main.js', timeoutMs: CHILD_MS }, whole));
    }
  } finally {
    await daemon.stop();
  }
  const check = await readTrace(file, directory);
  return judge(check, figures);
}

/** Checks a trace line by line. */
export async function readTrace(file: string, directory: string): Promise<AnswerCheck> {
  const check = new AnswerCheck(directory);
  const reader = new CallReader(check);
  for await (const line of createInterface({
    input: createReadStream(file, 'latin1'),
    crlfDelay: Infinity,
  })) {
    reader.push(line);
  }
  return check;
}

function judge(check: AnswerCheck, figures: readonly Figures[]): number {
  const { syncs, enqueues, dequeues, violations } = check;
  const [w1, w3, d1] = figures.map((run) => run.messages);
  console.log(`${syncs} syncs at the system for ${enqueues} answers to enqueues and ${dequeues} to dequeues`);
  console.log(`(${w1} messages of W1, ${w3} of W3 were measured, ${d1} drained one at a time)`);
  const expected = (w1 ?? 0) + (w3 ?? 0);
  const complete = enqueues >= expected && dequeues >= (d1 ?? 0) && enqueues > 0 && dequeues > 0;
  if (!complete) console.log('FAILS  the trace does not show all answers: it proves nothing');
  for (const violation of violations.slice(0, VIOLATIONS_SHOWN)) console.log(`FAILS  ${violation}`);
  if (violations.length > VIOLATIONS_SHOWN)
    console.log(`FAILS  and ${violations.length - VIOLATIONS_SHOWN} more`);
  if (complete && violations.length === 0) console.log('holds  no answer left before its sync had returned');
  return complete && violations.length === 0 ? 0 : 1;
}
