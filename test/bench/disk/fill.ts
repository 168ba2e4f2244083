// Fills a queue over TCP, as fast as it goes.
import { LeanConnection } from '../load/connection.ts';
import { Producer } from '../load/producer.ts';
import { SHAPES } from '../load/task.ts';
import { Seconds } from './seconds.ts';
import type { DiskAnswer, FillTask } from './task.ts';

export async function runFill(task: FillTask): Promise<DiskAnswer> {
  const { connections, inFlight } = task.messages < SHAPES.W3.inFlight ? SHAPES.W1 : SHAPES.W3;
  const seconds = new Seconds();
  const running: Promise<void>[] = [];
  for (let index = 0; index < connections; index++) {
    const connection = await LeanConnection.open(task.port);
    const handle = await connection.bind(task.qspace, task.qname);
    const messagesMax = Math.floor((task.messages + index) / connections);
    const onAnswer = (ms: number) => seconds.record(ms);
    const producer = new Producer(connection, {
      index,
      handle,
      inFlight,
      messagesMax,
      onSend: () => {},
      onAnswer,
    });
    running.push(producer.run().then(() => producer.close()));
  }
  await Promise.all(running);
  return seconds.stop();
}
