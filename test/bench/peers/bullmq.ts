// BullMQ on Redis: jobs are added; a worker with as many at a time as are in flight takes, completes and removes them.
import { hasModule, loadModule, missingOf } from './modules.ts';
import type { Lane, LaneOptions, Peer } from './peer.ts';
import { missingRedis, REDIS_DURABILITY, startRedis } from './redis.ts';

/** What is used of the package. */
interface Bullmq {
  readonly Queue: new (name: string, options: object) => BullQueue;
  readonly Worker: new (name: string, processor: Processor, options: object) => BullWorker;
}
type Processor = (job: BullJob) => Promise<null>;
interface BullQueue {
  add(name: string, data: object, options: object): Promise<unknown>;
  close(): Promise<void>;
}
interface BullWorker {
  on(event: 'completed' | 'error', listener: (about: unknown) => void): void;
  close(force: boolean): Promise<void>;
}
interface BullJob {
  readonly data: { readonly b: string };
}

export const bullmq: Peer = {
  name: 'bullmq',
  durability: `${REDIS_DURABILITY}; taken = completed and removed`,
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
  private completed = 0;
  private onBody: (body: Buffer) => void = () => {};
  private wake: () => void = () => {};

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

  /** The worker goes on by itself; each call waits until it has completed one more. */
  async take(most: number, onBody: (body: Buffer) => void): Promise<void> {
    this.onBody = onBody;
    this.worker ??= this.work(most);
    if (this.completed === 0) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    this.completed = 0;
  }

  async close(): Promise<void> {
    await this.worker?.close(true);
    await this.queue.close();
  }

  private work(concurrency: number): BullWorker {
    const take: Processor = (job) => {
      this.onBody(Buffer.from(job.data.b, 'latin1'));
      return Promise.resolve(null);
    };
    const { connection } = this;
    const worker = new this.package.Worker(this.name, take, { connection, concurrency });
    worker.on('error', (error) => {
      throw error;
    });
    worker.on('completed', () => {
      this.completed++;
      this.wake();
    });
    return worker;
  }
}
