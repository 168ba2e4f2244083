// C87 on a disk that loses its power or fills up: after a cut in any call of the disk each message is in exactly one of the two queues, and what
// was answered has gone; on a full disk what cannot be moved stays, and goes when there is room.
import { expect, it, test } from 'vitest';
import { ADMIN } from '../../proto/codes.ts';
import { Prng } from '../../src/base/prng.ts';
import type { EngineClient } from './engine-calls.ts';
import { EngineLife, ERROR_QUEUE, FEW, SEGMENT_BYTES, turn } from './engine-life.ts';
import { MemoryDisk } from './faulty-file-io.ts';

const OPTIONS = { queues: [FEW, ERROR_QUEUE, 'FILL'], treason: 'none' } as const;
const MESSAGES = 24;

/** All of them on the error queue: FEW has one retry. */
async function fail(client: EngineClient): Promise<void> {
  for (let i = 0; i < MESSAGES; i++) await client.put(FEW, Uint8Array.of(i));
  for (let attempt = 0; attempt < 2; attempt++) {
    const tx = await client.begin();
    for (let i = 0; i < MESSAGES; i++) await tx.take(FEW);
    await tx.abort();
  }
}

async function drain(client: EngineClient, queue: string): Promise<number[]> {
  const found: number[] = [];
  for (;;) {
    const data = await client.take(queue);
    if (!(data instanceof Uint8Array)) return found;
    found.push(data[0] as number);
  }
}

/** Whether there is room for this one, and whatever is prepared for it. */
async function takes(client: EngineClient, bytes: number): Promise<boolean> {
  return client.put('FILL', new Uint8Array(bytes)).then(
    () => true,
    () => false,
  );
}

it('a power cut in any call of the disk leaves each message in one of the two queues', async () => {
  const moved = new Set<number>();
  for (let calls = 0; calls < 40; calls += 2) {
    const prng = new Prng(calls + 1);
    const life = await EngineLife.open({ ...OPTIONS, disk: new MemoryDisk(), prng });
    const { engine } = life;
    engine.redrives.sliceEntries = 2;
    const client = life.client();
    await fail(client);
    expect([engine.space.queue(FEW)?.messages, engine.space.queue(ERROR_QUEUE)?.messages]).toEqual([
      0,
      MESSAGES,
    ]);
    let answered = 0;
    const work = client.admin(ADMIN.QREDRIVE, ERROR_QUEUE, { limit: MESSAGES - 4 });
    const heard = work.then(
      (members) => void (answered = members['moved'] as number),
      () => {},
    );
    await life.runUntilCut(calls, 500);
    await heard;
    const next = await EngineLife.open({ ...OPTIONS, disk: life.disk, prng });
    const again = next.client();
    const [back, left] = [await drain(again, FEW), await drain(again, ERROR_QUEUE)];
    expect([...back, ...left].toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: MESSAGES }, (_, i) => i),
    );
    expect(back.length).toBeGreaterThanOrEqual(answered);
    moved.add(back.length);
    next.cut();
  }
  expect(moved.size).toBeGreaterThan(5);
});

test('a full disk: some may go, the others stay and are counted; with room again they go', async () => {
  const options = { ...OPTIONS, prng: new Prng(7), limitBytes: 8 * SEGMENT_BYTES };
  const life = await EngineLife.open({ ...options, disk: new MemoryDisk() });
  const client = life.client();
  await fail(client);
  for (let bytes = 4000; bytes > 20; bytes = Math.floor(bytes / 2)) {
    while (await takes(client, bytes));
  }
  const full = await client.admin(ADMIN.QREDRIVE, ERROR_QUEUE);
  expect(full['end']).toBe('done');
  expect(full['noRoom']).toBeGreaterThan(0);
  expect((full['moved'] as number) + (full['noRoom'] as number)).toBe(MESSAGES);
  await client.admin(ADMIN.QPURGE, 'FILL');
  // What was purged makes room when its part of the log has gone.
  let moved = full['moved'] as number;
  for (let turns = 0; moved < MESSAGES && turns < 200; turns++) {
    await turn();
    moved += (await client.admin(ADMIN.QREDRIVE, ERROR_QUEUE))['moved'] as number;
  }
  expect((await drain(client, FEW)).length).toBe(MESSAGES);
  life.cut();
});
