// What a dequeue and an enqueue cost the daemon, with its code warm.
import { cpuTimeUs } from '../cpu-time.ts';
import { serveTask } from '../ipc.ts';
import { LeanConnection } from '../load/connection.ts';
import { Consumer } from '../load/consumer.ts';
import { Producer } from '../load/producer.ts';
import type { Cost, CostResult, CostTask } from './task.ts';

const CONNECTIONS = 4;
const IN_FLIGHT = 64;
const WARM_MESSAGES = 20_000;

serveTask(async (asked): Promise<CostResult> => {
  const task = asked as CostTask;
  const until = performance.now() + task.warmupMs;
  while (performance.now() < until) {
    await enqueue(task, task.warmQueue, WARM_MESSAGES);
    await dequeue(task, task.warmQueue, WARM_MESSAGES);
  }
  const taken = await measure(task, dequeue);
  return { dequeue: taken, enqueue: await measure(task, enqueue) };
});

type Run = (task: CostTask, qname: string, messages: number) => Promise<number>;

async function measure(task: CostTask, run: Run): Promise<Cost> {
  const serverUs = cpuTimeUs(task.pid);
  const startedAt = performance.now();
  let messages = 0;
  if (task.messages > 0) {
    for (const qname of task.qnames) messages += await run(task, qname, task.messages);
  }
  const expected = task.qnames.length * task.messages;
  if (messages !== expected) throw new Error(`${messages} messages instead of ${expected}`);
  const seconds = (performance.now() - startedAt) / 1000;
  return { messages, seconds, serverUs: cpuTimeUs(task.pid) - serverUs };
}

async function enqueue(task: CostTask, qname: string, messages: number): Promise<number> {
  const producers = await onConnections(task, qname, (connection, { index, handle }) => {
    const messagesMax = messages / CONNECTIONS;
    const quiet = { onSend: () => {}, onAnswer: () => {} };
    return new Producer(connection, { index, handle, inFlight: IN_FLIGHT, messagesMax, ...quiet });
  });
  await Promise.all(producers.map((producer) => producer.run()));
  for (const producer of producers) producer.close();
  return producers.reduce((sum, producer) => sum + producer.acknowledged, 0);
}

async function dequeue(task: CostTask, qname: string, messages: number): Promise<number> {
  let taken = 0;
  const consumers = await onConnections(task, qname, (connection, { handle }) => {
    const messagesMax = messages / CONNECTIONS;
    return new Consumer(connection, {
      handle,
      inFlight: IN_FLIGHT,
      wait: false,
      messagesMax,
      onMessage: () => taken++,
    });
  });
  await Promise.all(consumers.map((consumer) => consumer.run()));
  for (const consumer of consumers) consumer.close();
  return taken;
}

async function onConnections<T>(
  task: CostTask,
  qname: string,
  make: (connection: LeanConnection, bound: { index: number; handle: number }) => T,
): Promise<T[]> {
  const made: T[] = [];
  for (let index = 0; index < CONNECTIONS; index++) {
    const connection = await LeanConnection.open(task.port);
    made.push(make(connection, { index, handle: await connection.bind(task.qspace, qname) }));
  }
  return made;
}
