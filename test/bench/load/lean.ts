// The workloads of a running daemon on lean connections. Each ends by counting: what was acknowledged is on the queue (W1 to W3, W6, W7),
// what was sent was received once (W4, W5), is still there once (W9), came back as a reply once (W10).
import { TPQ } from '../../../proto/codes.ts';
import { emptyQctl } from '../../../proto/qctl.ts';
import { cpuTimeUs } from '../cpu-time.ts';
import type { Figures } from '../figures.ts';
import { LeanConnection } from './connection.ts';
import { Consumer, type ConsumerOptions } from './consumer.ts';
import { Loop } from './loop.ts';
import { Meter } from './meter.ts';
import { Producer, type ProducerOptions } from './producer.ts';
import { Ledger, sentMsOf } from './stamp.ts';
import { EchoService } from './service.ts';
import { QueueStatus } from './status.ts';
import {
  DRAIN_MESSAGES,
  MOVED_MESSAGES,
  PREFETCHED,
  SERIAL_MESSAGES,
  SHAPES,
  WARM_MESSAGES,
  type LoadTask,
} from './task.ts';
import { Mover } from './transactions.ts';
import { fillWithCorrids, WaitingClients } from './waiting.ts';

/** How long the last messages of a run may take, in milliseconds. */
const SETTLE_MS = 10_000;
/** The same for a pass of W4. */
const PASS_MS = 60_000;
/** Index of the first producer of the warm-up. */
const WARM_PRODUCER = 100;
const UNLIMITED = 2 ** 24 - 2;

export async function runLean(task: LoadTask): Promise<Figures> {
  const control = await LeanConnection.open(task.port);
  const status = new QueueStatus(control, task);
  const meter = new Meter({ cpuUs: () => cpuTimeUs(task.pid), syncs: () => status.batches() });
  await warm(task, meter);
  if (task.shape === 'W4') return drain(task, meter, status);
  if (task.shape === 'D1') return drainOnce(task, SERIAL_MESSAGES, meter);
  if (task.shape === 'W5') return endToEnd(task, meter, status);
  if (task.shape === 'W9') return move(task, meter, status);
  if (task.shape === 'W10') return forward(task, meter);
  if (task.shape === 'W11') return correlate(task, meter, control);
  return enqueue(task, meter, status);
}

/** W1 to W3, W6 and W7. */
async function enqueue(task: LoadTask, meter: Meter, status: QueueStatus): Promise<Figures> {
  const { connections, inFlight } = SHAPES[task.shape];
  const producers = await openProducers(task, connections, {
    inFlight,
    bodyBytes: task.bodyBytes,
    messagesMax: UNLIMITED,
    onSend: () => {},
    onAnswer: (ms) => meter.record(ms),
  });
  const running = producers.map((producer) => producer.run());
  const figures = await meter.window(task.measureMs);
  for (const producer of producers) producer.stop();
  await settled(Promise.all(running));
  const acknowledged = producers.reduce((sum, producer) => sum + producer.acknowledged, 0);
  const queued = await status.messages();
  if (queued !== acknowledged) throw new Error(`${acknowledged} were acknowledged, ${queued} are queued`);
  return figures;
}

/** Runs the code of both sides at a high rate, enqueues and dequeues, on a queue of its own that is empty afterwards. */
async function warm(task: LoadTask, meter: Meter): Promise<void> {
  const until = performance.now() + task.warmupMs;
  const drained: LoadTask = { ...task, shape: 'W4', qname: task.warmQueue, firstProducer: WARM_PRODUCER };
  while (performance.now() < until) await drainOnce(drained, WARM_MESSAGES, meter);
}

/** W4. */
async function drain(task: LoadTask, meter: Meter, status: QueueStatus): Promise<Figures> {
  const figures = await drainOnce(task, DRAIN_MESSAGES, meter);
  const queued = await status.messages();
  if (queued !== 0) throw new Error(`${queued} messages are queued after the drain`);
  return figures;
}

async function drainOnce(task: LoadTask, messages: number, meter: Meter): Promise<Figures> {
  const { connections, inFlight } = SHAPES[task.shape];
  const ledger = await fill(task, messages);
  let last = 0;
  const consumers = await openConsumers(task, connections, {
    inFlight,
    wait: false,
    onMessage: (data, nowMs, ms) => {
      ledger.receive(data);
      meter.record(ms);
      last = nowMs;
    },
  });
  await meter.start();
  await settled(Promise.all(consumers.map((consumer) => consumer.run())), PASS_MS);
  const figures = await meter.stop(last);
  ledger.verify();
  for (const consumer of consumers) consumer.close();
  return figures;
}

async function fill(task: LoadTask, messages: number, ledger = new Ledger()): Promise<Ledger> {
  const sentBefore = ledger.sent;
  const { connections, inFlight } = task.shape === 'D1' ? SHAPES.D1 : SHAPES.W3;
  const producers = await openProducers(task, connections, {
    inFlight,
    messagesMax: messages / connections,
    onSend: (number) => ledger.send(number),
    onAnswer: () => {},
  });
  await settled(Promise.all(producers.map((producer) => producer.run())), PASS_MS);
  const sent = ledger.sent - sentBefore;
  if (sent !== messages) throw new Error(`${sent} of ${messages} messages were sent`);
  for (const producer of producers) producer.close();
  return ledger;
}

/** W5: the latency is from the enqueue's call to the message's arrival. */
async function endToEnd(task: LoadTask, meter: Meter, status: QueueStatus): Promise<Figures> {
  const { connections, inFlight } = SHAPES.W5;
  const ledger = new Ledger();
  let received: (() => void) | null = null;
  const consumers = await openConsumers(task, connections, {
    inFlight: PREFETCHED,
    wait: true,
    onMessage: (data, nowMs) => {
      if (ledger.receive(data) !== 0 && Buffer.isBuffer(data)) meter.record(nowMs - sentMsOf(data));
      if (ledger.received === ledger.sent) received?.();
    },
  });
  for (const consumer of consumers) void consumer.run();
  const producers = await openProducers(task, connections, {
    inFlight,
    messagesMax: UNLIMITED,
    onSend: (number) => ledger.send(number),
    onAnswer: () => {},
  });
  const running = producers.map((producer) => producer.run());
  const figures = await meter.window(task.measureMs);
  for (const producer of producers) producer.stop();
  await settled(Promise.all(running));
  await settled(
    new Promise<void>((resolve) => {
      received = resolve;
      if (ledger.received === ledger.sent) resolve();
    }),
  );
  ledger.verify();
  if ((await status.messages()) !== 0) throw new Error('messages are queued after all were received');
  return figures;
}

/** W9: the latency is that of a whole transaction. */
async function move(task: LoadTask, meter: Meter, status: QueueStatus): Promise<Figures> {
  const { connections, inFlight } = SHAPES.W9;
  const queues = [task.qname, task.otherQueue ?? ''] as const;
  const ledger = new Ledger();
  for (const [at, qname] of queues.entries()) {
    await fill({ ...task, shape: 'W4', qname, firstProducer: at * connections }, MOVED_MESSAGES, ledger);
  }
  const movers: Mover[] = [];
  for (let i = 0; i < connections; i++) {
    const { connection, handle } = await openBound({ ...task, qname: queues[i % 2]! });
    const to = await connection.bind(task.qspace, queues[1 - (i % 2)]!);
    const onCommit = (ms: number): void => meter.record(ms);
    movers.push(new Mover(connection, { from: handle, to, inFlight, onCommit }));
  }
  const running = movers.map((mover) => mover.run());
  const figures = await meter.window(task.measureMs);
  for (const mover of movers) mover.stop();
  await settled(Promise.all(running));
  const queued = (await status.messages(queues[0])) + (await status.messages(queues[1]));
  if (queued !== ledger.sent) throw new Error(`${ledger.sent} were put there, ${queued} are queued`);
  for (const qname of queues) await empty({ ...task, qname }, ledger);
  ledger.verify();
  return figures;
}

async function empty(task: LoadTask, ledger: Ledger): Promise<void> {
  const onMessage = (data: Uint8Array | null): void => void ledger.receive(data);
  const { connections, inFlight } = SHAPES.W4;
  const consumers = await openConsumers(task, connections, { inFlight, wait: false, onMessage });
  await settled(Promise.all(consumers.map((consumer) => consumer.run())), PASS_MS);
  for (const consumer of consumers) consumer.close();
}

/** W10: the latency is from the enqueue's call to the arrival of the reply. */
async function forward(task: LoadTask, meter: Meter): Promise<Figures> {
  const { connections, inFlight } = SHAPES.W10;
  const { port, qspace, qname, otherQueue = '', bodyBytes } = task;
  const underWay = connections * inFlight;
  const service = await EchoService.advertise(port, { service: qname, concurrency: underWay });
  const ctl = { ...emptyQctl(TPQ.TPQREPLYQ), replyqueue: otherQueue };
  const onMessage = (ms: number): void => meter.record(ms);
  const ends = { to: qname, from: otherQueue, writers: connections, readers: connections };
  const loop = await Loop.start({ port, qspace, ...ends, underWay, bodyBytes, ctl, onMessage });
  const figures = await meter.window(task.measureMs);
  await loop.stop();
  service.close();
  return figures;
}

/** W11: the latency is from the enqueue's call to the message's arrival at its client. */
async function correlate(task: LoadTask, meter: Meter, control: LeanConnection): Promise<Figures> {
  const { qspace, qname, others = 0 } = task;
  const handle = await control.bind(qspace, qname);
  await fillWithCorrids(control, handle, { count: others, corrid: (n) => `other ${n}` });
  const clients = await WaitingClients.park(task, qname, (ms) => meter.record(ms));
  clients.start();
  const figures = await meter.window(task.measureMs);
  await clients.stop();
  return figures;
}

async function openProducers(
  task: LoadTask,
  count: number,
  options: Omit<ProducerOptions, 'index' | 'handle'>,
): Promise<Producer[]> {
  const producers: Producer[] = [];
  for (let index = 0; index < count; index++) {
    const { connection, handle } = await openBound(task);
    producers.push(new Producer(connection, { ...options, index: task.firstProducer + index, handle }));
  }
  return producers;
}

async function openConsumers(
  task: LoadTask,
  count: number,
  options: Omit<ConsumerOptions, 'handle'>,
): Promise<Consumer[]> {
  const consumers: Consumer[] = [];
  for (let i = 0; i < count; i++) {
    const { connection, handle } = await openBound(task);
    consumers.push(new Consumer(connection, { ...options, handle }));
  }
  return consumers;
}

async function openBound(task: LoadTask): Promise<{ connection: LeanConnection; handle: number }> {
  const connection = await LeanConnection.open(task.port);
  return { connection, handle: await connection.bind(task.qspace, task.qname) };
}

/** Rejects when the promise takes too long. */
async function settled(promise: Promise<unknown>, timeoutMs: number = SETTLE_MS): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`the last answers did not come within ${timeoutMs} ms`));
    }, timeoutMs);
  });
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
