// The workloads that get a daemon of their own: what others left on the space, or are still writing, does not weigh on them, and they need
// a configuration that the others must not have.
import { Daemon, QSPACE } from './daemon.ts';
import type { Figures } from './figures.ts';
import { runChild } from './ipc.ts';
import { BODY_BYTES, type LoadTask, type Shape } from './load/task.ts';
import type { Options } from './options.ts';

export type OwnRun = 'W6' | 'W7' | 'W9' | 'W10' | 'W10 of 101' | 'W11' | 'W11 alone';

interface Setting {
  readonly shape: Shape;
  readonly bodyBytes?: number;
  /** Queues beside the one that is named as the shape. */
  readonly queues?: readonly string[];
  readonly otherQueue?: string;
  /** The queues that forwarders look after. */
  readonly forwarded?: readonly string[];
  readonly others?: (options: Options) => number;
}

const KIB = 1024;
export const BYTES = { W6: 4 * KIB, W7: 64 * KIB } as const;
const WARM_QUEUE = 'WARM';
const OTHER_QUEUE = 'OTHER';
const EMPTY_QUEUES = Array.from({ length: 100 }, (_, i) => `EMPTY${i}`);
const FORWARDERS = 8;
const CHILD_MS = 120_000;
/** A message a tenth of a millisecond and more, on a busy machine. */
const FILL_MS_PER_MESSAGE = 0.5;

const SETTINGS: Readonly<Record<OwnRun, Setting>> = {
  W6: { shape: 'W6', bodyBytes: BYTES.W6 },
  W7: { shape: 'W7', bodyBytes: BYTES.W7 },
  W9: { shape: 'W9', queues: [OTHER_QUEUE], otherQueue: OTHER_QUEUE },
  W10: { shape: 'W10', queues: [OTHER_QUEUE], otherQueue: OTHER_QUEUE, forwarded: ['W10'] },
  'W10 of 101': {
    shape: 'W10',
    queues: [OTHER_QUEUE, ...EMPTY_QUEUES],
    otherQueue: OTHER_QUEUE,
    forwarded: [...EMPTY_QUEUES, 'W10'],
  },
  W11: { shape: 'W11', others: ({ others }) => others },
  'W11 alone': { shape: 'W11' },
};

export async function runOnOwnDaemon(name: OwnRun, options: Options, directory: string): Promise<Figures> {
  const { shape, bodyBytes = BODY_BYTES, queues = [], forwarded, ...setting } = SETTINGS[name];
  const nodeOptions = options.cpuProf === '' ? [] : ['--cpu-prof', '--cpu-prof-dir', options.cpuProf];
  const daemon = await Daemon.start({
    directory,
    queues: [shape, ...queues, WARM_QUEUE],
    servers: forwarded === undefined ? [] : [forwarderLine(forwarded)],
    nodeOptions,
  });
  try {
    const { port, pid } = daemon;
    const { warmupMs, measureMs } = options;
    const others = setting.others?.(options) ?? 0;
    const task: LoadTask = {
      kind: 'lean',
      shape,
      port,
      pid,
      qspace: QSPACE,
      qname: shape,
      warmQueue: WARM_QUEUE,
      bodyBytes,
      others,
      warmupMs,
      measureMs,
      firstProducer: 0,
      ...(setting.otherQueue === undefined ? {} : { otherQueue: setting.otherQueue }),
    };
    const timeoutMs = CHILD_MS + warmupMs + measureMs + FILL_MS_PER_MESSAGE * others;
    return await runChild<Figures>({ script: 'load/main.js', timeoutMs }, task);
  } finally {
    await daemon.stop();
  }
}

function forwarderLine(queues: readonly string[]): string {
  return `TMQFORWARD SRVGRP=QUE1 SRVID=100 MIN=${FORWARDERS} MAX=${FORWARDERS} CLOPT="-- -q ${queues.join(',')} -t 30"`;
}
