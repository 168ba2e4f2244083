// Eight writers and eight waiting readers on one queue, as fast as it goes with so many messages under way.
import { setTimeout as delay } from 'node:timers/promises';
import { Loop } from '../load/loop.ts';
import { Seconds } from './seconds.ts';
import type { ChurnTask, DiskAnswer } from './task.ts';

export const CONNECTIONS = 8;
/** Large enough that segments are entered every few seconds. */
const BODY_BYTES = 2048;

export async function runChurn(task: ChurnTask): Promise<DiskAnswer> {
  const { port, qspace, qname, underWay } = task;
  const seconds = new Seconds();
  const loop = await Loop.start({
    port,
    qspace,
    to: qname,
    from: qname,
    writers: CONNECTIONS,
    readers: CONNECTIONS,
    underWay,
    bodyBytes: BODY_BYTES,
    ctl: null,
    onMessage: (ms) => seconds.record(ms),
  });
  await delay(task.measureMs);
  const answer = seconds.stop();
  await loop.stop();
  return answer;
}
