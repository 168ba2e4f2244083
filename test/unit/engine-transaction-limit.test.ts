// The limits of one transaction [DESIGN 6]: 250,000 messages and 256 MiB; the enqueue that exceeds them is QMENOSPACE, and the transaction is as before.
import { expect, it, onTestFinished } from 'vitest';
import { QME } from '../../proto/codes.ts';
import { TRANSACTION_LIMIT } from '../../src/engine/enqueues.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import type { EnqueueOutcome, Work } from '../../src/engine/request.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import { openMemoryLog } from '../../src/wal/memory/memory-log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { properties, queueAttributes, spaceAttributes } from '../support/queue-values.ts';

const nothing = (): void => {};

async function opened(): Promise<SpaceEngine> {
  const clock = new ManualClock();
  const engine = await openSpace(openMemoryLog({ clock }), new AbortController().signal, {
    clock,
    ulog: { info: nothing, warn: nothing, error: nothing },
    soon: (run) => void setImmediate(run),
    runCommand: nothing,
  });
  onTestFinished(() => engine.close());
  engine.define({ kind: 'defineSpace', attributes: spaceAttributes('SPACE') });
  engine.define({ kind: 'defineQueue', attributes: queueAttributes('Q') });
  return engine;
}

async function put(
  engine: SpaceEngine,
  work: Work | null,
  data: Uint8Array | null = null,
): Promise<EnqueueOutcome> {
  for (;;) {
    const outcome = engine.enqueue({ qname: 'Q', properties: properties({}), terms: null, data, work });
    if (!outcome.later) return outcome;
    await new Promise<void>((resolve) => engine.whenRoom(resolve));
  }
}

it('250,000 messages; the next is QMENOSPACE, others may go on, and what there was commits', async () => {
  const engine = await opened();
  const work = engine.openWork();
  for (let i = 0; i < TRANSACTION_LIMIT.MESSAGES; i++) {
    const { code } = await put(engine, work);
    if (code !== QME.OK) throw new Error(`message ${i}: ${code}`);
  }
  expect(TRANSACTION_LIMIT.MESSAGES).toBe(250_000);
  expect([(await put(engine, work)).code, (await put(engine, null)).code]).toEqual([QME.QMENOSPACE, QME.OK]);
  const batch = engine.commit(work);
  await new Promise<void>((resolve, reject) => {
    engine.hold(batch, { released: resolve, failed: () => reject(new Error('the log failed')) });
  });
  expect(engine.space.queue('Q')?.ready).toBe(250_001);
});

it('256 MiB of records; what goes above is QMENOSPACE, a smaller one is taken', async () => {
  const engine = await opened();
  const work = engine.openWork();
  await put(engine, work, Buffer.alloc(1000));
  // As if so much had been put: the memory for it is not what is tested.
  const real = work.bytes;
  const left = 10_000;
  work.bytes = TRANSACTION_LIMIT.BYTES - left;
  expect((await put(engine, work, Buffer.alloc(left))).code).toBe(QME.QMENOSPACE);
  const before = work.bytes;
  expect((await put(engine, work, Buffer.alloc(left - 1000))).code).toBe(QME.OK);
  work.bytes = real + work.bytes - before;
  expect(TRANSACTION_LIMIT.BYTES).toBe(268_435_456);
  engine.commit(work);
  await engine.whenDurable();
  expect(engine.space.queue('Q')?.ready).toBe(2);
});
