// Fills a real queue space on a real log, in this process, and measures what the messages take. What the process needs anyway is in memory
// before the first reading: the code is warm and the cache of recent bodies is full.
import { randomFillSync } from 'node:crypto';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LIMIT, QME, qmeName, TPQ } from '../../../proto/codes.ts';
import type { Ulog } from '../../../src/base/ulog.ts';
import { SystemClock } from '../../../src/boot/system-clock.ts';
import { openSpace } from '../../../src/engine/open-space.ts';
import type { SpaceEngine } from '../../../src/engine/space-engine.ts';
import { QUEUE_DEFAULTS } from '../../../src/queue/attributes.ts';
import type { MessageProperties } from '../../../src/queue/message.ts';
import { openLocalLog } from '../../../src/wal/local/local-log.ts';
import { median } from '../figures.ts';
import { serveTask } from '../ipc.ts';
import type { FillResult, FillTask } from './task.ts';

const QUEUE = 'MEMORY';
/** Enqueued before the first reading: more than the cache of recent bodies (64 MiB) holds. */
const WARM_MESSAGES = 300_000;
const BODY_BYTES = 256;
/** Messages between two looks at whether they are durable. */
const STEP = 1000;
const COLLECTIONS = 5;

const soon = (run: () => void) => {
  setImmediate(run);
};
const quiet: Ulog = { info: () => {}, warn: console.warn, error: console.error };

serveTask(async (asked): Promise<FillResult> => {
  const task = asked as FillTask;
  const engine = await openEngine(task.directory);
  const filler = new Filler(engine, task.corrids);
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

async function openEngine(directory: string): Promise<SpaceEngine> {
  const clock = new SystemClock();
  const store = await openLocalLog({ dir: join(directory, 'log'), clock, ulog: quiet });
  const engine = await openSpace(store, new AbortController().signal, {
    clock,
    ulog: quiet,
    soon,
    runCommand: () => {},
  });
  // A new log's first segments are being prepared.
  for (let room = engine.journal.roomComing(); room !== null; room = engine.journal.roomComing()) await room;
  const { code } = engine.define({
    kind: 'defineQueue',
    attributes: { ...QUEUE_DEFAULTS, name: QUEUE },
  });
  if (code !== QME.OK) throw new Error(`the queue cannot be made: ${qmeName(code)}`);
  return engine;
}

class Filler {
  private readonly engine: SpaceEngine;
  private readonly properties: MessageProperties;
  private readonly corrid: Buffer | null;
  private readonly data = Buffer.alloc(BODY_BYTES, 0x2e);

  constructor(engine: SpaceEngine, corrids: boolean) {
    this.engine = engine;
    this.corrid = corrids ? Buffer.alloc(LIMIT.TMCORRIDLEN) : null;
    this.properties = {
      flags: corrids ? TPQ.TPQCORRID : 0,
      priority: LIMIT.PRIORITY_DEFAULT,
      corrid: this.corrid,
      replyqueue: '',
      failurequeue: '',
      cltid: Buffer.alloc(LIMIT.CLTIDLEN),
      appkey: -1,
      urcode: 0,
      type: 'CARRAY',
      subtype: '',
      deliveryQos: 0,
      replyQos: 0,
    };
  }

  /** Resolves when so many more messages are queued and durable. */
  async fill(messages: number): Promise<void> {
    for (let done = 0; done < messages;) {
      const step = Math.min(STEP, messages - done);
      for (let i = 0; i < step; i++) await this.enqueue();
      done += step;
      await this.durable();
    }
  }

  private async enqueue(): Promise<void> {
    const { engine, properties, data, corrid } = this;
    if (corrid !== null) randomFillSync(corrid);
    for (;;) {
      const outcome = engine.enqueue({ qname: QUEUE, properties, terms: null, data, work: null });
      if (outcome.code === QME.OK) return;
      if (!outcome.later) throw new Error(`an enqueue was refused: ${qmeName(outcome.code)}`);
      await new Promise<void>((resolve) => engine.whenRoom(resolve));
    }
  }

  private durable(): Promise<void> {
    const { engine } = this;
    return new Promise<void>((resolve, reject) => {
      engine.hold(engine.journal.batch, {
        released: resolve,
        failed: () => reject(new Error('the log failed')),
      });
    });
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
