// Fills queues of a running daemon, and kills it in the middle if asked to.
import { serveTask } from '../ipc.ts';
import { LeanConnection } from '../load/connection.ts';
import { Producer } from '../load/producer.ts';
import type { FillResult, FillTask } from './task.ts';

const CONNECTIONS = 4;
const IN_FLIGHT = 256;
const UNLIMITED = 2 ** 24 - 2;

serveTask(async (asked): Promise<FillResult> => {
  const task = asked as FillTask;
  const startedAt = performance.now();
  let acknowledged = 0;
  let sent = 0;
  for (const [at, qname] of task.qnames.entries()) {
    const isLast = at === task.qnames.length - 1;
    const killAt = isLast && task.killAfter !== null ? task.messages + task.killAfter : Infinity;
    const filled = await fillQueue(task, { qname, killAt });
    acknowledged += filled.acknowledged;
    sent += filled.sent;
  }
  return { acknowledged, sent, seconds: (performance.now() - startedAt) / 1000 };
});

async function fillQueue(
  task: FillTask,
  { qname, killAt }: { qname: string; killAt: number },
): Promise<{ acknowledged: number; sent: number }> {
  let sent = 0;
  let acknowledged = 0;
  let kill: (() => void) | null = null;
  const killed = new Promise<void>((resolve) => {
    kill = resolve;
  });
  const producers: Producer[] = [];
  for (let index = 0; index < CONNECTIONS; index++) {
    const connection = await LeanConnection.open(task.port);
    const handle = await connection.bind(task.qspace, qname);
    producers.push(
      new Producer(connection, {
        index,
        handle,
        inFlight: IN_FLIGHT,
        messagesMax: killAt === Infinity ? share(task.messages, index) : UNLIMITED,
        onSend: () => sent++,
        onAnswer: () => {
          acknowledged++;
          if (acknowledged === killAt) kill?.();
        },
      }),
    );
  }
  const done = Promise.all(producers.map((producer) => producer.run()));
  await Promise.race([done, killed]);
  if (killAt !== Infinity) {
    for (const producer of producers) producer.expectEnd();
    process.kill(task.pid, 'SIGKILL');
  }
  for (const producer of producers) producer.close();
  return { acknowledged, sent };
}

function share(messages: number, index: number): number {
  return Math.floor((messages * (index + 1)) / CONNECTIONS) - Math.floor((messages * index) / CONNECTIONS);
}
