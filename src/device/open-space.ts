// A queue space whose log nobody has open: opened for administration, defined, read, closed. Invariant: whoever calls holds the device's lock,
// and what resolved is durable. Must not know the device list.
import type { Clock } from '../base/clock.ts';
import type { Ulog } from '../base/ulog.ts';
import { QME, qmeName } from '../../proto/codes.ts';
import { openSpace } from '../engine/open-space.ts';
import type { EnginePorts, SpaceEngine } from '../engine/space-engine.ts';
import type { Command } from '../queue/command.ts';
import type { FileIo } from '../wal/local/file-io.ts';
import { openLocalLog } from '../wal/local/local-log.ts';
import { PageCache } from '../wal/local/page-cache.ts';
import { RefusedError } from './device.ts';

/** For what listings read of messages that lie beside one another. */
const CACHE_BYTES = 4 * 1024 * 1024;
export const LOG_FAILED = 'the log could not be written: open the space again to see what is there';
const soon = (run: () => void): void => void setImmediate(run);

export interface SpacePorts {
  readonly clock: Clock;
  readonly ulog: Ulog;
  readonly io: FileIo;
  /** What a threshold runs, should one be reached while the space is open [spec 5.6]. */
  readonly runCommand: EnginePorts['runCommand'];
  /** Bytes of a log segment, for new spaces; the log's default when not given. */
  readonly segmentBytes?: number;
}

/** Opens the log in `dir`, which is made when it does not exist. The owner sets `onFailure` when it wants to be told. */
export async function openEngine(dir: string, ports: SpacePorts): Promise<SpaceEngine> {
  const { clock, ulog, io, runCommand, segmentBytes } = ports;
  const store = await openLocalLog({
    dir,
    clock,
    ulog,
    io,
    pages: new PageCache(CACHE_BYTES),
    ...(segmentBytes === undefined ? {} : { segmentBytes }),
  });
  const engine = await openSpace(store, new AbortController().signal, { clock, ulog, soon, runCommand });
  engine.onFailure = () => {};
  return engine;
}

/** With the log in `dir` open, which is closed afterwards. */
export async function withEngine<T>(
  dir: string,
  ports: SpacePorts,
  work: (engine: SpaceEngine) => Promise<T> | T,
): Promise<T> {
  const engine = await openEngine(dir, ports);
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

type Definition = Extract<Command, { kind: 'defineSpace' | 'defineQueue' }>;

/** As soon as the log has room for saying so. */
export async function define(engine: SpaceEngine, definition: Definition): Promise<void> {
  for (;;) {
    const { code, later, batch } = engine.define(definition);
    if (code === QME.OK) return whenDurable(engine, batch);
    if (!later) throw new RefusedError(`refused: ${qmeName(code)}`);
    await new Promise<void>((resolve) => {
      engine.whenRoom(resolve);
    });
  }
}

export function whenDurable(engine: SpaceEngine, batch: number): Promise<void> {
  return new Promise((resolve, reject) => {
    engine.hold(batch, {
      released: resolve,
      failed: () => reject(new RefusedError(LOG_FAILED, { refusal: 'failed' })),
    });
  });
}

/** Removes the non-persistent messages that no transaction holds; how many. */
export async function removeMemoryMessages(engine: SpaceEngine): Promise<number> {
  const { space } = engine;
  let removed = 0;
  for (const queue of space.queues()) {
    if (queue.memoryMessages === 0) continue;
    removed += await new Promise<number>((resolve) => {
      engine.upkeep.purge(queue, resolve, (entry) => !space.isPersistent(entry));
    });
  }
  return removed;
}
