// npm run bench:fanout: what a message costs that goes to 100 subscribers: processor time for each of them, and bytes in the log, beside a message
// of a queue with one consumer, in one process and on one log. Exit code 1: a target is missed (2 µs a subscriber, its body once).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SystemClock } from '../../src/boot/system-clock.ts';
import type { AqEnqueueRequest } from '../../src/engine/aq/request.ts';
import type { Definition } from '../../src/engine/defining.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import { QUEUE_DEFAULTS, SPACE_DEFAULTS, type AqAttributes } from '../../src/queue/attributes.ts';
import { OBJECT } from '../../src/queue/catalog.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { nodeFileIo } from '../../src/wal/local/file-io.ts';
import { openLocalLog } from '../../src/wal/local/local-log.ts';
import { PageCache } from '../../src/wal/local/page-cache.ts';
import { properties } from '../support/queue-values.ts';

const SUBSCRIBERS = 100;
const MESSAGES = 5000;
const BODY_BYTES = 1024;
const MICROS_MAX = 2;
/** Of a record beside its body, and 18 bytes for each recipient. */
const RECORD_BYTES_MAX = BODY_BYTES + SUBSCRIBERS * 18 + 512;
const SILENT = { info: (): void => {}, warn: (): void => {}, error: (): void => {} };
const TABLE = { payloadType: 'RAW', sortList: '', grouping: 0, secure: false, compatible: '', comment: '' };

const dir = mkdtempSync(join(tmpdir(), 'tmqueue-fan-out-'));
try {
  process.exitCode = await measure();
} finally {
  rmSync(dir, { recursive: true, force: true });
}

async function measure(): Promise<number> {
  const clock = new SystemClock();
  const log = await openLocalLog({ dir, clock, ulog: SILENT, io: nodeFileIo, pages: new PageCache(16) });
  const ports = { clock, ulog: SILENT, soon: setImmediate, runCommand: (): void => {} };
  const engine = await openSpace(log, new AbortController().signal, ports);
  await define(engine, { kind: 'defineSpace', attributes: { ...SPACE_DEFAULTS, name: 'FAN' } });
  const one = await queueOf(engine, 'ONE', 0);
  const many = await queueOf(engine, 'MANY', SUBSCRIBERS);
  // Warm, then measured.
  for (const queue of [one, many]) await run(engine, queue, MESSAGES / 5);
  const single = await run(engine, one, MESSAGES);
  const fanned = await run(engine, many, MESSAGES);
  await engine.close();
  const share = (fanned.micros - single.micros) / SUBSCRIBERS;
  const rows: [string, number, string][] = [
    ['one consumer, a message', single.micros, 'µs'],
    [`${SUBSCRIBERS} subscribers, a message`, fanned.micros, 'µs'],
    ['for each of them', share, 'µs'],
    ['one consumer, a message in the log', single.bytes, 'B'],
    [`${SUBSCRIBERS} subscribers, a message in the log`, fanned.bytes, 'B'],
  ];
  for (const [what, value, unit] of rows)
    console.log(`${what.padEnd(44)}${value.toFixed(2).padStart(12)} ${unit}`);
  const holds = share < MICROS_MAX && fanned.bytes < RECORD_BYTES_MAX;
  console.log(
    `${holds ? 'holds ' : 'FAILS '} each subscriber costs less than ${MICROS_MAX} µs, and the body is written once`,
  );
  return holds ? 0 : 1;
}

async function queueOf(engine: SpaceEngine, name: string, subscribers: number): Promise<Queue> {
  const value = { ...TABLE, multipleConsumers: subscribers > 0 };
  await define(engine, { kind: 'defineObject', type: OBJECT.TABLE, name: `${name}_T`, value });
  const make = (own: string, consumer: AqAttributes['consumer']): Promise<void> => {
    const aq = { table: `${name}_T`, type: 0, retentionS: 0, comment: '', consumer };
    return define(engine, { kind: 'defineQueue', attributes: { ...QUEUE_DEFAULTS, name: own, aq } });
  };
  await make(name, null);
  const queue = engine.space.queue(name) as Queue;
  const agent = { address: '', protocol: 0, of: queue.number, subscribed: true, rule: '', deliveryMode: 3 };
  for (let i = 0; i < subscribers; i++)
    await make(`${name}:S${i}`, { ...agent, name: `S${i}`, queueToQueue: false });
  return queue;
}

async function define(engine: SpaceEngine, definition: Definition): Promise<void> {
  for (;;) {
    const { code, later } = engine.define(definition);
    if (code === 0) return;
    if (!later) throw new Error(`${definition.kind}: code ${code}`);
    await new Promise<void>((resolve) => engine.whenRoom(resolve));
  }
}

async function run(
  engine: SpaceEngine,
  queue: Queue,
  count: number,
): Promise<{ micros: number; bytes: number }> {
  const data = Buffer.alloc(BODY_BYTES, 7);
  const request: AqEnqueueRequest = {
    queue,
    recipients: queue.lanes === null ? null : [...queue.lanes.values()],
    properties: properties({ type: 'CARRAY' }),
    delayS: 0,
    expirationS: -1,
    deviation: null,
    persistent: true,
    data,
    work: null,
  };
  const liveBytes = engine.space.liveBytes;
  let micros = 0;
  for (let i = 0; i < count; i++) {
    const from = process.hrtime.bigint();
    const outcome = engine.aqEnqueue({
      ...request,
      properties: { ...request.properties, aq: { enqueuedMs: i } },
    });
    micros += Number(process.hrtime.bigint() - from) / 1000;
    if (outcome.later) {
      i--;
      await new Promise<void>((resolve) => engine.whenRoom(resolve));
    } else if (outcome.code !== 0) throw new Error(`code ${outcome.code}`);
    if (i % 100 === 99) await engine.whenDurable();
  }
  await engine.whenDurable();
  return { micros: micros / count, bytes: (engine.space.liveBytes - liveBytes) / count };
}
