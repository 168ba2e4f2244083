// How long the loop stands still while a million messages are purged, expire in the same second, or are given back, and while large
// transactions are committed: the gaps of a probe that wants to run every millisecond. Not in CI: it says how the machine was loaded, and
// what an idle loop shows beside it. Run: node --expose-gc dist/test/bench/pauses/main.js [messages] [names of cases]
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { TPERRNO } from '../../../proto/codes.ts';
import type { BatchNumber, Work } from '../../../src/engine/request.ts';
import { CLOCK } from '../../../src/queue/event.ts';
import { DrivenSpace, enqueueOf, Taking } from '../queue/driven-space.ts';

const MESSAGES = Number(process.argv[2] ?? 1_000_000);
const WANTED = process.argv.slice(3);
/** What one transaction takes. */
const TRANSACTION_MESSAGES = 250_000;
const BODY = Buffer.alloc(100, 'x');
const QUEUE = 'Q';

/** Gaps between the runs of something that wants to run every millisecond, and how much processor time this process used in each. */
class Probe {
  private readonly gaps: number[] = [];
  private readonly ownGaps: number[] = [];
  private last = performance.now();
  private lastCpu = process.cpuUsage();
  private running = true;

  constructor() {
    this.arm();
  }

  private arm(): void {
    setTimeout(() => {
      const now = performance.now();
      const { user, system } = process.cpuUsage(this.lastCpu);
      const gap = now - this.last - 1;
      this.gaps.push(gap);
      // On a loaded machine most of a long gap is another process's turn.
      this.ownGaps.push(Math.min(gap, (user + system) / 1000));
      this.last = now;
      this.lastCpu = process.cpuUsage();
      if (this.running) this.arm();
    }, 1);
  }

  stop(): string {
    this.running = false;
    return `${this.gaps.length} looks, pause ${figures(this.gaps)}; of it own processor time ${figures(this.ownGaps)}`;
  }
}

function figures(gaps: number[]): string {
  const sorted = gaps.sort((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(1);
  const long = sorted.filter((gap) => gap > 20).length;
  return `p99 ${at(0.99)} max ${at(1)} ms (${long} over 20)`;
}

async function probed(name: string, work: () => Promise<void>): Promise<void> {
  await delay(200);
  globalThis.gc?.();
  const probe = new Probe();
  const started = performance.now();
  await work();
  const ms = performance.now() - started;
  console.log(`${name.padEnd(34)} ${ms.toFixed(0).padStart(6)} ms: ${probe.stop()}`);
}

async function fill(
  space: DrivenSpace,
  count: number,
  how: { expiresAtMs?: number; work?: Work; data?: Buffer },
): Promise<void> {
  const { expiresAtMs, work = null, data = BODY } = how;
  const terms =
    expiresAtMs === undefined
      ? null
      : {
          availability: null,
          expiry: { clock: CLOCK.WALL, seconds: Math.ceil(expiresAtMs / 1000) },
          position: null,
        };
  for (let i = 0; i < count; i++) {
    await space.put(enqueueOf(QUEUE, { data, terms, work }));
    if (i % 5000 === 0) await space.durable();
  }
  await space.durable();
}

async function lock(space: DrivenSpace, count: number): Promise<Work> {
  const work = space.engine.openWork();
  for (let i = 0; i < count; i++) {
    await new Promise<void>((resolve, reject) => {
      const taking = new Taking(QUEUE, work);
      taking.answered = () =>
        taking.message === null ? reject(new Error(`no message: ${taking.failure}`)) : resolve();
      space.engine.dequeue(taking);
    });
    if (i % 5000 === 0) await delay(0);
  }
  return work;
}

async function lockAll(space: DrivenSpace): Promise<Work[]> {
  const works: Work[] = [];
  for (let left = MESSAGES; left > 0; left -= TRANSACTION_MESSAGES)
    works.push(await lock(space, Math.min(left, TRANSACTION_MESSAGES)));
  return works;
}

function ended({ engine }: DrivenSpace, batch: BatchNumber): Promise<void> {
  return new Promise((resolve, reject) => {
    engine.hold(batch, { released: resolve, failed: () => reject(new Error('the log failed')) });
  });
}

async function rollBack(space: DrivenSpace, works: readonly Work[]): Promise<void> {
  const batches = works.map((work) => space.engine.rollback(work, TPERRNO.TPGOTSIG));
  await Promise.all(batches.map((batch) => ended(space, batch)));
}

async function commit(space: DrivenSpace, works: readonly Work[]): Promise<void> {
  const batches = works.map((work) => space.engine.commit(work));
  await Promise.all(batches.map((batch) => ended(space, batch)));
}

function purge({ engine }: DrivenSpace): Promise<void> {
  const queue = engine.space.queue(QUEUE);
  if (queue === undefined) throw new Error('the queue is gone');
  return new Promise((resolve) => {
    engine.purgeQueue(queue, () => resolve());
  });
}

const CASES: Readonly<Record<string, (space: DrivenSpace) => Promise<void>>> = {
  idle: () => probed('an idle loop', () => delay(1000)),
  purge: async (space) => {
    await fill(space, MESSAGES, {});
    await probed(`purge of ${MESSAGES}`, () => purge(space));
  },
  expiry: async (space) => {
    const atMs = Date.now() + 30_000 + MESSAGES / 20;
    await fill(space, MESSAGES, { expiresAtMs: atMs });
    await delay(Math.max(0, atMs - Date.now() - 500));
    await probed(`expiry of ${MESSAGES} in one second`, async () => {
      while (space.engine.space.messages.live > 0) await delay(10);
    });
  },
  rollback: async (space) => {
    await fill(space, MESSAGES, {});
    const works = await lockAll(space);
    await probed(`rollback of ${MESSAGES}, ${works.length} transactions`, () => rollBack(space, works));
  },
  rollback200k: async (space) => {
    await fill(space, 200_000, {});
    const work = await lock(space, 200_000);
    await probed('rollback of 200000', () => rollBack(space, [work]));
  },
  commitTaken: async (space) => {
    await fill(space, MESSAGES, {});
    const works = await lockAll(space);
    await probed(`commit of ${MESSAGES} taken, ${works.length} transactions`, () => commit(space, works));
  },
  commitPut: async (space) => {
    const work = space.engine.openWork();
    await fill(space, TRANSACTION_MESSAGES, { work });
    await probed(`commit of ${TRANSACTION_MESSAGES} put`, () => commit(space, [work]));
  },
  commitBytes: async (space) => {
    const work = space.engine.openWork();
    await fill(space, 250, { work, data: Buffer.alloc(1_000_000, 'y') });
    await probed('commit of 250 put, 250 MB', () => commit(space, [work]));
  },
};

const load = (): string =>
  loadavg()
    .map((value) => value.toFixed(2))
    .join(' ');
console.log(`load ${load()}`);
for (const [name, run] of Object.entries(CASES)) {
  if (WANTED.length > 0 && !WANTED.includes(name)) continue;
  const directory = mkdtempSync(join(tmpdir(), 'tmqueue-pauses-'));
  try {
    const space = await DrivenSpace.open(directory);
    space.define({ name: QUEUE, retries: 10 });
    await run(space);
    await space.close();
  } finally {
    rmSync(directory, { recursive: true });
  }
}
console.log(`load ${load()}`);
