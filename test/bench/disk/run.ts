// One run of the disk measurement: a daemon of its own on an empty device, its load, and the samples of its log's files meanwhile.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { statSpace } from '../../../src/tools/stat.ts';
import { Daemon, QSPACE } from '../daemon.ts';
import { runChild } from '../ipc.ts';
import { latencies, type Latencies } from './bound.ts';
import type { DiskOptions, RunName } from './options.ts';
import { CONNECTIONS } from './churn.ts';
import { Sampler, type Sampled } from './sampler.ts';
import type { DiskAnswer, DiskTask } from './task.ts';

export interface DiskRun {
  readonly name: RunName;
  readonly title: string;
  /** As fast as it goes. */
  readonly load: DiskAnswer;
  /** One message under way for each writer: what p99 is judged by. */
  readonly calm: DiskAnswer | null;
  readonly sampled: Sampled;
  readonly latencies: Latencies;
}

const CHURN = 'CHURN';
const STATIC = 'STATIC';
const ABORT = 'ABORT';
/** Messages under way at full rate. */
const FULL_UNDER_WAY = 128;
const CHILD_MS = 120_000;
const CHILD_MS_PER_MESSAGE = 0.3;
const ASK_MS = 100;
/** With this many queues each answer to STAT is hundreds of kilobytes. */
const ASK_MANY_MS = 5000;
/** After the load: what is due to go goes now, and the bound holds then too. */
const AFTER_MS = 7000;

interface Plan {
  readonly title: (options: DiskOptions) => string;
  /** Messages that lie on another queue than the load's. */
  readonly still: (options: DiskOptions) => number;
  readonly queues: (options: DiskOptions) => readonly string[];
  readonly askMs: number;
}

const TWO = () => [CHURN, STATIC];
const thousands = (count: number): string => count.toLocaleString('en');

const PLANS: Readonly<Record<RunName, Plan>> = {
  old: {
    title: () => 'one old message, 8 writers and 8 readers',
    still: () => 1,
    queues: TWO,
    askMs: ASK_MS,
  },
  static: {
    title: ({ messages }) => `${thousands(messages)} that lie there, 8 and 8`,
    still: ({ messages }) => messages,
    queues: TWO,
    askMs: ASK_MS,
  },
  empty: {
    title: () => 'nothing else on the space, 8 and 8',
    still: () => 0,
    queues: TWO,
    askMs: ASK_MS,
  },
  aborts: {
    title: ({ aborts }) => `one message, ${thousands(aborts)} aborts`,
    still: () => 0,
    queues: () => [`${ABORT} RETRIES=2147483647 DELAY=0`],
    askMs: ASK_MS,
  },
  queues: {
    title: ({ queues }) => `${thousands(queues)} queues, 8 and 8`,
    still: () => 0,
    queues: ({ queues }) => [CHURN, ...Array.from({ length: queues - 1 }, (_, i) => `QUEUE${i}`)],
    askMs: ASK_MANY_MS,
  },
};

export async function runDisk(name: RunName, options: DiskOptions, directory: string): Promise<DiskRun> {
  const plan = PLANS[name];
  mkdirSync(directory);
  const daemon = await Daemon.start({ directory, queues: plan.queues(options) });
  try {
    const { port } = daemon;
    const space = join(directory, 'data', QSPACE);
    const sampler = await Sampler.start({ directory: space, port, qspace: QSPACE, askMs: plan.askMs });
    try {
      const still = plan.still(options);
      if (still > 0) await load({ kind: 'fill', port, qspace: QSPACE, qname: STATIC, messages: still });
      const isChurn = name !== 'aborts';
      const full = isChurn ? await churn(port, options, FULL_UNDER_WAY) : await abort(port, options);
      const calm = isChurn ? await churn(port, options, CONNECTIONS) : null;
      await delay(AFTER_MS);
      const sampled = await sampler.finish();
      await checkLive(space, sampled.liveBytes);
      return {
        name,
        title: plan.title(options),
        load: full,
        calm,
        sampled,
        latencies: latencies(calm?.seconds ?? [], sampled.counts),
      };
    } finally {
      sampler.stop();
    }
  } finally {
    await daemon.stop();
  }
}

/** What the daemon says is live must be what the tool counts in the files. */
async function checkLive(dir: string, liveBytes: number): Promise<void> {
  const { total } = await statSpace({ name: QSPACE, dir });
  if (total.live !== liveBytes)
    throw new Error(`the daemon says ${liveBytes} bytes are live, tmqueue wal stat ${total.live}`);
}

/** Half of the time. */
function churn(port: number, options: DiskOptions, underWay: number): Promise<DiskAnswer> {
  const measureMs = options.measureMs / 2;
  return load({ kind: 'churn', port, qspace: QSPACE, qname: CHURN, measureMs, underWay });
}

async function abort(port: number, { aborts }: DiskOptions): Promise<DiskAnswer> {
  await load({ kind: 'fill', port, qspace: QSPACE, qname: ABORT, messages: 1 });
  return load({ kind: 'aborts', port, qspace: QSPACE, qname: ABORT, aborts });
}

function load(task: DiskTask): Promise<DiskAnswer> {
  const messages = task.kind === 'fill' ? task.messages : task.kind === 'aborts' ? task.aborts : 0;
  const measureMs = task.kind === 'churn' ? task.measureMs : 0;
  const timeoutMs = CHILD_MS + measureMs + CHILD_MS_PER_MESSAGE * messages;
  return runChild<DiskAnswer>({ script: 'disk/load.js', timeoutMs }, task);
}
