// Clients that go without a word [field cases C09, C31]: what they waited for is not given to them, what they held is back at once, in
// order, for whoever waits; the loss counts as one attempt [DESIGN 3]. On a cut network the heartbeat finds out.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Context, Queue, QueueStatistics } from '../../clients/typescript/index.ts';
import { poll, QSPACE, TestDaemon } from '../support/daemon.ts';
import { Proxy } from './proxy.ts';

const WAYS = ['fin', 'rst'] as const;
const HEARTBEAT_MS = 300;
/** Heard nothing for three heartbeats, and then some for a busy machine. */
const FOUND_OUT_MS = 3 * HEARTBEAT_MS + 6000;
/** A queue for each test. */
const NAMES = Array.from({ length: 10 }, (_, i) => `Q${i}`);
let daemon: TestDaemon;
let used = 0;

beforeAll(async () => {
  daemon = await TestDaemon.start({
    queues: [...NAMES.map((name) => ({ name, retries: 1 })), 'ERRQ'],
    errorQueue: 'ERRQ',
    arguments: ['--heartbeat-ms', String(HEARTBEAT_MS)],
    scope: 'caller',
  });
});
afterAll(() => daemon.dispose());

interface Scene {
  readonly name: string;
  readonly proxy: Proxy;
  /** Comes through the proxy and will be lost. */
  readonly victim: Context;
  readonly other: Context;
  readonly lost: Queue;
  readonly queue: Queue;
}

async function scene(): Promise<Scene> {
  const name = NAMES[used++] ?? '';
  const proxy = await Proxy.start(daemon.address);
  const victim = await daemon.connect({ address: proxy.address, heartbeatMs: 0 });
  const other = await daemon.connect();
  onTestFinished(() => other.tpterm());
  const lost = victim.queue(QSPACE, name);
  return { name, proxy, victim, other, lost, queue: other.queue(QSPACE, name) };
}

async function statOf({ other, name }: Scene): Promise<QueueStatistics | undefined> {
  return (await other.stat()).spaces[0]?.queues.find((queue) => queue.name === name);
}

async function waiters(all: Scene, count: number): Promise<void> {
  await poll(
    async () => (await statOf(all))?.waiters === count,
    () => `${count} waiters`,
    FOUND_OUT_MS,
  );
}

/** Lets the victim wait in vain; its call may end as it likes. */
function wait({ lost }: Scene): void {
  lost.get({ wait: true }).catch(() => {});
}

describe('a client that waits', () => {
  test.each([...WAYS, 'cut network'] as const)('and goes (%s) is not handed a message', async (way) => {
    const all = await scene();
    wait(all);
    await waiters(all, 1);
    if (way === 'cut network') all.proxy.swallow();
    else all.proxy.cut(way);
    await waiters(all, 0);
    await all.queue.put('for the living');
    expect((await all.queue.get({ wait: 5000 }))?.data).toBe('for the living');
  });
});

describe('a client that holds messages in a transaction', () => {
  const TEN = Array.from({ length: 10 }, (_, i) => `m${i}`);

  test.each([...WAYS, 'cut network'] as const)(
    'and goes (%s) gives them back to those who wait',
    async (way) => {
      const all = await scene();
      const { queue, lost, victim, proxy, other } = all;
      for (const text of TEN) await queue.put(text);
      await victim.tpbegin(3600);
      for (const text of TEN) expect((await lost.get())?.data).toBe(text);
      await lost.put('never committed');
      expect(await queue.get()).toBeNull();
      const gets = Promise.all(TEN.map(() => queue.get({ wait: FOUND_OUT_MS })));
      await waiters(all, TEN.length);
      if (way === 'cut network') proxy.swallow();
      else proxy.cut(way);
      expect((await gets).map((message) => message?.data)).toEqual(TEN);
      expect(await statOf(all)).toMatchObject({ messages: 0, locked: 0, waiters: 0 });
      expect((await other.stat()).transactions).toBe(0);
    },
  );

  test('has used up one attempt of each, and a waiting dequeue of its transaction none', async () => {
    const all = await scene();
    const { queue, lost, victim, proxy, name } = all;
    await queue.put('poison');
    await victim.tpbegin(3600);
    expect((await lost.get())?.data).toBe('poison');
    wait(all);
    await waiters(all, 1);
    proxy.cut('rst');
    await poll(
      async () => (await statOf(all))?.ready === 1,
      () => `back on ${name}`,
    );
    await daemon.kill();
    await daemon.restart();
    const after = await daemon.connect();
    await after.tpbegin(60);
    expect((await after.queue(QSPACE, name).get())?.data).toBe('poison');
    await after.tpabort();
    expect((await after.queue(QSPACE, 'ERRQ').get())?.data).toBe('poison');
  });
});
