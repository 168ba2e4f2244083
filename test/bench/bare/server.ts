// The bare pipeline's process. It keeps no queue: it is the price of the path that every durable server has.
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { serveTask } from '../ipc.ts';
import { Batch } from './batch.ts';
import { BestPipeline } from './best.ts';
import { PlainPipeline } from './plain.ts';
import { PreallocatedFile } from './preallocated.ts';

export interface BareServerTask {
  readonly variant: 'plain' | 'best';
  readonly directory: string;
}
export interface BareServerReady {
  readonly port: number;
}

serveTask((asked): Promise<BareServerReady> => {
  const task = asked as BareServerTask;
  const batch = new Batch(new PreallocatedFile(join(task.directory, `bare-${process.pid}`)));
  const pipeline = task.variant === 'plain' ? new PlainPipeline(batch) : new BestPipeline(batch);
  const server = createServer({ noDelay: true }, (socket) => pipeline.accept(socket));
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve({ port: (server.address() as AddressInfo).port }));
  });
});
