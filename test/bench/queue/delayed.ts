// Delayed messages with random due times: how late they become deliverable, and what the processor does meanwhile and before the first. They
// become so in the order of their times, so the count of deliverable ones, looked at often, tells for each when it was.
import { setTimeout as delay } from 'node:timers/promises';
import { CLOCK } from '../../../src/queue/event.ts';
import type { EnqueueTerms } from '../../../src/queue/command.ts';
import type { Queue } from '../../../src/queue/queue.ts';
import { serveTask } from '../ipc.ts';
import { cpuSince, DrivenSpace, enqueueOf, STEP } from './driven-space.ts';
import type { Answer, DelayedTask } from './task.ts';

const QUEUE = 'DELAYED';
const DATA = Buffer.alloc(16, 0x2e);
/** Time for a message to be enqueued, on a busy machine, and the quiet time before the first is due. */
const FILL_MS_PER_MESSAGE = 0.05;
const QUIET_MS = 3000;
const LOOK_MS = 20;
/** How much later than the last due time the measurement gives up. */
const GIVE_UP_MS = 10_000;
const LATE_MS = 1000;

serveTask(async (asked): Promise<Answer> => {
  const task = asked as DelayedTask;
  const space = await DrivenSpace.open(task.directory);
  const queue = space.define({ name: QUEUE });
  const firstMs = performance.now() + task.messages * FILL_MS_PER_MESSAGE + QUIET_MS;
  const dueMs = await fill(space, task, firstMs);
  await space.calm();
  const quietMs = firstMs - performance.now() - LOOK_MS;
  if (quietMs < QUIET_MS / 3)
    throw new Error('the machine is too slow to fill the queue before the first is due');
  const quiet = await shareOf(() => delay(quietMs));
  if (queue.delayed !== task.messages) throw new Error(`${queue.delayed} messages are delayed`);
  let late: Lateness = { ms99: NaN, inTime: 0 };
  const busy = await shareOf(async () => {
    late = await watch(queue, dueMs);
  });
  await space.close();
  return answer(task, { quiet, busy, late });
});

interface Share {
  /** Of one processor, 0 to 1. */
  readonly share: number;
  readonly us: number;
}
interface Lateness {
  /** What 99 of 100 do not exceed. */
  readonly ms99: number;
  readonly inTime: number;
}

function answer(
  task: DelayedTask,
  { quiet, busy, late }: { quiet: Share; busy: Share; late: Lateness },
): Answer {
  const title = `${task.messages.toLocaleString('en')} due within ${task.spanMs / 1000} s`;
  const line = (what: string, unit: string, measured: number) => ({
    what: `${title}: ${what}`,
    unit,
    measured,
    reference: null,
  });
  return {
    lines: [
      line('available within 1 s', '%', late.inTime * 100),
      line('99 % available after', 'ms', late.ms99),
      line('before the first is due', '% of a processor', quiet.share * 100),
      line('while they become due', '% of a processor', busy.share * 100),
      line('the same', 'us of processor a message', busy.us / task.messages),
    ],
    values: { 'in time': late.inTime, 'idle before': quiet.share, 'idle between': busy.share },
  };
}

/** Returns the due times, ascending, on this process's monotonic clock. */
async function fill(space: DrivenSpace, task: DelayedTask, firstMs: number): Promise<Float64Array> {
  const dueMs = new Float64Array(task.messages);
  for (let i = 0; i < task.messages; i++) {
    const atMs = firstMs + Math.random() * task.spanMs;
    const seconds = (atMs - performance.now()) / 1000;
    const terms: EnqueueTerms = {
      availability: { clock: CLOCK.SPACE, seconds },
      expiry: null,
      position: null,
    };
    await space.put(enqueueOf(QUEUE, { data: DATA, terms }));
    dueMs[i] = atMs;
    if (i % STEP === STEP - 1) await space.durable();
  }
  return dueMs.toSorted();
}

async function watch(queue: Queue, dueMs: Float64Array): Promise<Lateness> {
  const lateMs = new Float64Array(dueMs.length);
  const giveUpMs = (dueMs.at(-1) ?? 0) + GIVE_UP_MS;
  for (let seen = 0; seen < dueMs.length;) {
    await delay(LOOK_MS);
    const now = performance.now();
    for (; seen < queue.ready; seen++) lateMs[seen] = now - dueMs[seen]!;
    if (now > giveUpMs) throw new Error(`only ${seen} of ${dueMs.length} messages became available`);
  }
  const inTime = lateMs.reduce((count, ms) => count + Number(ms <= LATE_MS), 0) / lateMs.length;
  return { ms99: lateMs.sort()[Math.ceil(lateMs.length * 0.99) - 1]!, inTime };
}

async function shareOf(run: () => Promise<void>): Promise<Share> {
  const since = process.cpuUsage();
  const startedAt = performance.now();
  await run();
  const us = cpuSince(since);
  return { us, share: us / 1000 / (performance.now() - startedAt) };
}
