// Fills a real queue space on a real log, in this process, and measures what the messages take. What the process needs anyway is in memory
// before the first reading: the code is warm and the cache of recent bodies is full.
import { randomFillSync } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LIMIT } from '../../../proto/codes.ts';
import type { EnqueueRequest } from '../../../src/engine/request.ts';
import { median } from '../figures.ts';
import { serveTask } from '../ipc.ts';
import { DrivenSpace, enqueueOf, plainProperties, STEP } from '../queue/driven-space.ts';
import type { FillResult, FillTask } from './task.ts';

const QUEUE = 'MEMORY';
/** Enqueued before the first reading: more than the cache of recent bodies (64 MiB) holds. */
const WARM_MESSAGES = 300_000;
const BODY_BYTES = 256;
const COLLECTIONS = 5;

serveTask(async (asked): Promise<FillResult> => {
  const task = asked as FillTask;
  const driven = await DrivenSpace.open(task.directory);
  driven.define({ name: QUEUE });
  const { engine } = driven;
  const filler = new Filler(driven, task.corrids);
  const collect = collector();
  await filler.fill(WARM_MESSAGES);
  const residentBefore = resident(collect);
  const tablesBefore = engine.space.tableBytes;
  const startedAt = performance.now();
  await filler.fill(task.messages);
  const seconds = (performance.now() - startedAt) / 1000;
  const residentAfter = resident(collect);
  const queued = engine.space.messages.live;
  if (queued !== WARM_MESSAGES + task.messages) throw new Error(`${queued} messages are queued`);
  const collections = Array.from({ length: COLLECTIONS }, () => timed(collect));
  return {
    residentBytes: (residentAfter - residentBefore) / task.messages,
    tableBytes: (engine.space.tableBytes - tablesBefore) / task.messages,
    collectionMs: median(collections),
    heapBytes: process.memoryUsage().heapUsed,
    seconds,
  };
});

class Filler {
  private readonly space: DrivenSpace;
  private readonly corrid: Buffer | null;
  private readonly request: EnqueueRequest;

  constructor(space: DrivenSpace, corrids: boolean) {
    this.space = space;
    this.corrid = corrids ? Buffer.alloc(LIMIT.TMCORRIDLEN) : null;
    const properties = plainProperties({ corrid: this.corrid });
    this.request = enqueueOf(QUEUE, { data: Buffer.alloc(BODY_BYTES, 0x2e), properties });
  }

  /** Resolves when so many more messages are queued and durable. */
  async fill(messages: number): Promise<void> {
    for (let done = 0; done < messages;) {
      const step = Math.min(STEP, messages - done);
      for (let i = 0; i < step; i++) {
        if (this.corrid !== null) randomFillSync(this.corrid);
        await this.space.put(this.request);
      }
      done += step;
      await this.space.durable();
    }
  }
}

/** A full garbage collection, without an option on node's command line. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

function resident(collect: () => void): number {
  collect();
  collect();
  return process.memoryUsage().rss;
}

function timed(collect: () => void): number {
  const startedAt = performance.now();
  collect();
  return performance.now() - startedAt;
}
