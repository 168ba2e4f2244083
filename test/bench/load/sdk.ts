// W3 through the TypeScript client, as an application would write it: an awaited call a message, many at a time on each connection.
import { setTimeout as delay } from 'node:timers/promises';
import { tpinit, type Context } from '../../../clients/typescript/index.ts';
import { cpuTimeUs } from '../cpu-time.ts';
import type { Figures } from '../figures.ts';
import { Meter } from './meter.ts';
import { BODY_BYTES, SHAPES, type LoadTask } from './task.ts';

export async function runSdk(task: LoadTask): Promise<Figures> {
  const { connections, inFlight } = SHAPES[task.shape];
  const address = `//127.0.0.1:${task.port}`;
  const control = await tpinit({ address });
  const syncs = async () => (await control.stat(task.qspace)).spaces[0]?.batches ?? 0;
  const meter = new Meter({ cpuUs: () => cpuTimeUs(task.pid), syncs });
  const load = new SdkLoad(task, meter);
  const running: Promise<void>[] = [];
  for (let i = 0; i < connections; i++) {
    const context = await tpinit({ address });
    for (let slot = 0; slot < inFlight; slot++) running.push(load.run(context));
  }
  await delay(task.warmupMs);
  const figures = await meter.window(task.measureMs);
  load.stopped = true;
  await Promise.all(running);
  return figures;
}

class SdkLoad {
  stopped = false;
  private readonly task: LoadTask;
  private readonly meter: Meter;
  private readonly body = Buffer.alloc(BODY_BYTES, 0x2e);

  constructor(task: LoadTask, meter: Meter) {
    this.task = task;
    this.meter = meter;
  }

  async run(context: Context): Promise<void> {
    const { qspace, qname } = this.task;
    while (!this.stopped) {
      const sentAt = performance.now();
      await context.tpenqueue(qspace, qname, null, this.body);
      this.meter.record(performance.now() - sentAt);
    }
  }
}
