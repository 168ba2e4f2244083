// The load generator's process for other systems: the workloads of load/ through Lanes. Latencies are of a put until it is answered; in W4 of
// a take until its messages are gone for good; in W5 from the put's call to the message's arrival.
import { setTimeout as delay } from 'node:timers/promises';
import type { Figures } from '../figures.ts';
import { serveTask } from '../ipc.ts';
import { Meter } from '../load/meter.ts';
import { Ledger, numberBase, sentMsOf, stampedBody, writeStamp } from '../load/stamp.ts';
import { PREFETCHED, DRAIN_MESSAGES, SHAPES } from '../load/task.ts';
import type { Lane } from './peer.ts';
import { PEER } from './table.ts';
import type { PeerTask } from './task.ts';
import { treeCpuUs } from './tree.ts';

/** A slow system drains what it took in within so long. */
const FILL_MS = 5000;
/** W8 likewise. */
const BACKLOG_MS = 20_000;
/** How long the last messages of a run may take. */
const SETTLE_MS = 30_000;

serveTask((asked): Promise<Figures> => {
  const task = asked as PeerTask;
  if (task.shape === 'W4') return drain(task);
  if (task.shape === 'W5') return endToEnd(task);
  if (task.shape === 'W8') return fillBacklog(task);
  return enqueue(task);
});

function meterOf(task: PeerTask): Meter {
  return new Meter({ cpuUs: () => treeCpuUs(task.pid), syncs: () => Promise.resolve(NaN) });
}

/** One after the other: the first makes the queue. */
async function openLanes(task: PeerTask, count: number, inFlight: number): Promise<Lane[]> {
  const { port, queue, modules } = task;
  const lanes: Lane[] = [];
  for (let i = 0; i < count; i++)
    lanes.push(await PEER[task.peer].connect({ port, queue, inFlight, modules }));
  return lanes;
}

/** Puts with so many in flight on each lane; each message has a number of its own. */
class Putting {
  readonly ledger = new Ledger();
  answered = 0;
  stopped = false;
  private readonly bodyBytes: number;
  private readonly most: number;
  private readonly onAnswer: (ms: number) => void;

  constructor(bodyBytes: number, most: number, onAnswer: (ms: number) => void) {
    this.bodyBytes = bodyBytes;
    this.most = most;
    this.onAnswer = onAnswer;
  }

  /** Resolves when it was stopped, or all are there, and the last answer has come. */
  async run(lanes: readonly Lane[], inFlight: number): Promise<void> {
    const numbers = lanes.map((_, index) => numberBase(index));
    const work = lanes.flatMap((lane, index) =>
      Array.from({ length: inFlight }, async () => {
        const body = stampedBody(this.bodyBytes);
        while (!this.stopped && this.ledger.sent < this.most) {
          const number = ++numbers[index]!;
          const sentMs = performance.now();
          writeStamp(body, number, sentMs);
          this.ledger.send(number);
          await lane.put(body);
          this.answered++;
          this.onAnswer(performance.now() - sentMs);
        }
      }),
    );
    await Promise.all(work);
  }
}

/** W1 to W3, W6 and W7. */
async function enqueue(task: PeerTask): Promise<Figures> {
  const { connections, inFlight } = SHAPES[task.shape === 'W8' ? 'W3' : task.shape];
  const lanes = await openLanes(task, connections, inFlight);
  const meter = meterOf(task);
  const putting = new Putting(task.bodyBytes, Infinity, (ms) => meter.record(ms));
  const running = putting.run(lanes, inFlight);
  await delay(task.warmupMs);
  const figures = await meter.window(task.measureMs);
  putting.stopped = true;
  await running;
  return figures;
}

/** A moment that is waited for; an instance of its own for each wait. */
class Moment {
  resolve: () => void = () => {};
  readonly reached = new Promise<void>((resolve) => {
    this.resolve = resolve;
  });
}

/** Takes until everything of the ledger has come; answers when that was. */
async function takeAll(lanes: readonly Lane[], ledger: Ledger, meter: Meter): Promise<number> {
  const all = new Moment();
  const { inFlight } = SHAPES.W4;
  let last = 0;
  const loop = async (lane: Lane): Promise<void> => {
    while (ledger.received < ledger.sent) {
      const askedAt = performance.now();
      let count = 0;
      await lane.take(inFlight, (body) => {
        ledger.receive(body);
        count++;
      });
      last = performance.now();
      for (let i = 0; i < count; i++) meter.record(last - askedAt);
    }
    all.resolve();
  };
  for (const lane of lanes) void loop(lane);
  await all.reached;
  // Others may still wait for the answer to what they took.
  await delay(LAST_MS);
  ledger.verify();
  return last;
}
const LAST_MS = 200;

async function drain(task: PeerTask): Promise<Figures> {
  const fill = SHAPES.W3;
  const putting = new Putting(task.bodyBytes, DRAIN_MESSAGES, () => {});
  const producers = await openLanes(task, fill.connections, fill.inFlight);
  const stop = setTimeout(() => (putting.stopped = true), FILL_MS);
  await putting.run(producers, fill.inFlight);
  clearTimeout(stop);
  const { connections, inFlight } = SHAPES.W4;
  const meter = meterOf(task);
  const lanes = await openLanes(task, connections, inFlight);
  await meter.start();
  const last = await takeAll(lanes, putting.ledger, meter);
  return meter.stop(last);
}

async function endToEnd(task: PeerTask): Promise<Figures> {
  const { connections, inFlight } = SHAPES.W5;
  const meter = meterOf(task);
  const putting = new Putting(task.bodyBytes, Infinity, () => {});
  const { ledger } = putting;
  const all = new Moment();
  const consumers = await openLanes(task, connections, PREFETCHED);
  const onBody = (body: Buffer): void => {
    if (ledger.receive(body) !== 0) meter.record(performance.now() - sentMsOf(body));
    if (putting.stopped && ledger.received === ledger.sent) all.resolve();
  };
  const consume = async (lane: Lane): Promise<void> => {
    for (;;) await lane.take(PREFETCHED, onBody);
  };
  for (const lane of consumers) void consume(lane);
  const producers = await openLanes(task, connections, inFlight);
  const running = putting.run(producers, inFlight);
  await delay(task.warmupMs);
  const figures = await meter.window(task.measureMs);
  putting.stopped = true;
  await running;
  if (ledger.received !== ledger.sent) await Promise.race([all.reached, delay(SETTLE_MS)]);
  ledger.verify();
  return figures;
}

async function fillBacklog(task: PeerTask): Promise<Figures> {
  const { connections, inFlight } = SHAPES.W3;
  const lanes = await openLanes(task, connections, inFlight);
  const meter = meterOf(task);
  const putting = new Putting(task.bodyBytes, task.backlog, (ms) => meter.record(ms));
  const stop = setTimeout(() => (putting.stopped = true), BACKLOG_MS);
  await meter.start();
  await putting.run(lanes, inFlight);
  clearTimeout(stop);
  return meter.stop();
}
