// The bare sync rate, in a process of its own: a small frame written and synced, inline, again and again. Nothing durable that answers one
// request at a time can be faster.
import { join } from 'node:path';
import { Histogram } from '../histogram.ts';
import { serveTask } from '../ipc.ts';
import type { Figures } from '../figures.ts';
import { PreallocatedFile } from './preallocated.ts';

export interface SyncTask {
  readonly directory: string;
  readonly measureMs: number;
}

/** About what one 256-byte message takes in the log. */
const FRAME_BYTES = 400;

serveTask((asked): Promise<Figures> => {
  const task = asked as SyncTask;
  const file = new PreallocatedFile(join(task.directory, `sync-${process.pid}`));
  const frame = Buffer.alloc(FRAME_BYTES, 0x2e);
  const latency = new Histogram();
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  let now = startedAt;
  while (now - startedAt < task.measureMs) {
    file.append(frame, FRAME_BYTES);
    const after = performance.now();
    latency.record((after - now) * 1000);
    now = after;
  }
  file.close();
  const cpu = process.cpuUsage(cpuBefore);
  return Promise.resolve({
    messages: latency.count,
    rate: latency.count / ((now - startedAt) / 1000),
    p50Us: latency.percentile(0.5),
    p99Us: latency.percentile(0.99),
    serverUs: (cpu.user + cpu.system) / latency.count,
    loadUs: 0,
    messagesPerSync: 1,
  });
});
