// W11: clients that wait for a message with a corrid of their own, while others lie on the same queue. The latency is from the enqueue's call
// to the message's arrival at its client. The same on a queue with nothing else, in turns; and a drain of those that share a corrid.
import { setTimeout as delay } from 'node:timers/promises';
import { TPQ } from '../../../proto/codes.ts';
import { emptyQctl } from '../../../proto/qctl.ts';
import { cpuTimeUs } from '../cpu-time.ts';
import { median } from '../figures.ts';
import { Histogram } from '../histogram.ts';
import { serveTask } from '../ipc.ts';
import { LeanConnection } from '../load/connection.ts';
import {
  Client,
  corridOf,
  fillWithCorrids as fill,
  openClients,
  UNDER_WAY,
  unexpected,
  WaitingClients,
} from '../load/waiting.ts';
import type { Answer, CorridTask } from './task.ts';

const SHARED = 'shared by all';
/** Messages of one drain of those that share a corrid. */
const DRAIN = 5000;
const WARM_ROUNDS = 1;

serveTask(async (asked): Promise<Answer> => {
  const task = asked as CorridTask;
  const { queues, others } = task;
  const control = await LeanConnection.open(task.port);
  await fill(control, await control.bind(task.qspace, queues.many), {
    count: others,
    corrid: (n) => `other ${n}`,
  });
  await fill(control, await control.bind(task.qspace, queues.one), { count: others, corrid: () => SHARED });
  const runs = { empty: [] as Run[], many: [] as Run[], one: [] as Run[], drain: [] as Run[] };
  for (let round = 0; round < WARM_ROUNDS + task.rounds; round++) {
    for (const name of ['empty', 'many', 'one'] as const) {
      const run = await waiting(task, queues[name]);
      if (round >= WARM_ROUNDS) runs[name].push(run);
    }
    const run = await drain(task, queues.one);
    if (round >= WARM_ROUNDS) runs.drain.push(run);
    await fill(control, await control.bind(task.qspace, queues.one), { count: DRAIN, corrid: () => SHARED });
  }
  control.close();
  return answer(others, runs);
});

interface Run {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the daemon, a message. */
  readonly serverUs: number;
}

function answer(
  others: number,
  { empty, many, one, drain: drained }: Readonly<Record<'empty' | 'many' | 'one' | 'drain', readonly Run[]>>,
): Answer {
  const line = (
    what: string,
    unit: string,
    { of, pick }: { of: readonly Run[]; pick: (run: Run) => number },
  ) => ({
    what: `W11, ${what}`,
    unit,
    measured: median(of.map(pick)),
    reference: median(empty.map(pick)),
  });
  const count = others.toLocaleString('en');
  const cases = [
    [`${count} others`, many],
    [`${count} others of one corrid`, one],
    [`taking those of one corrid`, drained],
  ] as const;
  const lines = cases.flatMap(([what, of]) => [
    line(`${what}: p50`, 'ms', { of, pick: (run) => run.p50Ms }),
    line(`${what}: p99`, 'ms', { of, pick: (run) => run.p99Ms }),
    line(`${what}: daemon`, 'us of processor', { of, pick: (run) => run.serverUs }),
  ]);
  const growth = (of: readonly Run[]) => median(of.map((run, i) => run.serverUs / empty[i]!.serverUs));
  return {
    lines,
    values: {
      'W11 p99 ms': median(many.map((run) => run.p99Ms)),
      'W11 p99 ms, one corrid': median(one.map((run) => run.p99Ms)),
      'W11 p99 ms, taking one corrid': median(drained.map((run) => run.p99Ms)),
      'W11 growth': growth(many),
      'W11 growth, one corrid': growth(one),
    },
  };
}

/** Messages to waiting clients, so many under way, for the measured time. */
async function waiting(task: CorridTask, qname: string): Promise<Run> {
  const latency = new Histogram();
  const clients = await WaitingClients.park(task, qname, (ms) => latency.record(ms * 1000));
  const serverUs = cpuTimeUs(task.pid);
  clients.start();
  await delay(task.measureMs);
  await clients.stop();
  return runOf(latency, cpuTimeUs(task.pid) - serverUs);
}

/** The clients take, in turn and so many at a time, messages that share a corrid. */
async function drain(task: CorridTask, qname: string): Promise<Run> {
  const opened = await openClients(task, qname);
  const latency = new Histogram();
  let asked = 0;
  let done: (() => void) | null = null;
  const ask = (): void => {
    if (asked === DRAIN) return;
    const client = clients[asked % clients.length]!;
    asked++;
    client.sentAt = performance.now();
    client.ask();
    client.connection.flush();
  };
  const onMessage = (client: Client): void => {
    latency.record((performance.now() - client.sentAt) * 1000);
    if (latency.count === DRAIN) done?.();
    else ask();
  };
  const ctl = { ...emptyQctl(TPQ.TPQGETBYCORRID), corrid: corridOf(SHARED) };
  const clients = opened.map(
    ({ connection, queue }) =>
      new Client(connection, { queue, ctl }, { message: onMessage, empty: unexpected }),
  );
  const serverUs = cpuTimeUs(task.pid);
  await new Promise<void>((resolve) => {
    done = resolve;
    for (let i = 0; i < UNDER_WAY; i++) ask();
  });
  const run = runOf(latency, cpuTimeUs(task.pid) - serverUs);
  for (const { connection } of clients) connection.close();
  return run;
}

function runOf(latency: Histogram, serverUs: number): Run {
  return {
    p50Ms: latency.percentile(0.5) / 1000,
    p99Ms: latency.percentile(0.99) / 1000,
    serverUs: serverUs / latency.count,
  };
}
