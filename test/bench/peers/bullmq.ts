// BullMQ on Redis: jobs are added, fetched by the worker's own calls, completed and removed.
import { hasModule, loadModule, missingOf } from './modules.ts';
import type { Lane, LaneOptions, Peer } from './peer.ts';
import { missingRedis, REDIS_DURABILITY, startRedis } from './redis.ts';

/** What is used of the package. */
interface Bullmq {
  readonly Queue: new (name: string, options: object) => BullQueue;
  readonly Worker: new (name: string, processor: null, options: object) => BullWorker;
}
interface BullQueue {
  add(name: string, data: object, options: object): Promise<unknown>;
  close(): Promise<void>;
}
interface BullWorker {
  getNextJob(token: string, options?: { block?: boolean }): Promise<BullJob | undefined>;
  close(force?: boolean): Promise<void>;
}
interface BullJob {
  readonly data: { readonly b: string };
  moveToCompleted(value: string, token: string, fetchNext: boolean): Promise<unknown>;
}

export const bullmq: Peer = {
  name: 'bullmq',
  durability: `${REDIS_DURABILITY}; taken = moveToCompleted answered, removeOnComplete`,
  install: 'apt-get install redis-server; npm install bullmq ioredis',
  missing: (modules) =>
    missingOf({
      'redis-server': missingRedis() === '',
      'the package bullmq': hasModule('bullmq', modules),
      'the package ioredis': hasModule('ioredis', modules),
    }),
  start: startRedis,
  connect({ port, queue, modules }: LaneOptions): Promise<Lane> {
    const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
    return Promise.resolve(new BullLane(loadModule('bullmq', modules) as Bullmq, queue, connection));
  },
};

class BullLane implements Lane {
  private readonly package: Bullmq;
  private readonly name: string;
  private readonly connection: object;
  private readonly queue: BullQueue;
  private worker: BullWorker | null = null;

  constructor(bullmqPackage: Bullmq, name: string, connection: object) {
    this.package = bullmqPackage;
    this.name = name;
    this.connection = connection;
    this.queue = new bullmqPackage.Queue(name, { connection });
  }

  async put(body: Buffer): Promise<void> {
    const data = { b: body.toString('latin1') };
    await this.queue.add('m', data, { removeOnComplete: true });
  }

  /** One job after the other is what its workers do; several are fetched at the same time. */
  async take(most: number, onBody: (body: Buffer) => void): Promise<void> {
    const token = 'bench';
    this.worker ??= new this.package.Worker(this.name, null, {
      connection: this.connection,
      autorun: false,
      concurrency: most,
    });
    const { worker } = this;
    const one = async (block: boolean): Promise<void> => {
      const job = await worker.getNextJob(token, { block });
      if (job === undefined) return;
      onBody(Buffer.from(job.data.b, 'latin1'));
      await job.moveToCompleted('', token, false);
    };
    await one(true);
    await Promise.all(Array.from({ length: most - 1 }, () => one(false)));
  }

  async close(): Promise<void> {
    await this.worker?.close(true);
    await this.queue.close();
  }
}
