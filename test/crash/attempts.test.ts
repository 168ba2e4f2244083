// What counts as an attempt, and that the count outlives the daemon [field cases C11, C43; spec 2.6]: RETRIES + 1 rollbacks move a
// message to the error queue, in every mix of kills and stops between them; a kill or a stop of the daemon is none.
import { describe, expect, test } from 'vitest';
import { type Context, QME, TpError } from '../../clients/typescript/index.ts';
import { poll, QSPACE, TestDaemon, within } from '../support/daemon.ts';

const RETRIES = 3;

/** How often each message is rolled back before the first restart, between the restarts, and after the last; in all RETRIES + 1. */
const MIXES = [
  [4, 0, 0, 0, 0],
  [0, 0, 0, 0, 4],
  [1, 1, 1, 1, 0],
  [0, 1, 1, 1, 1],
  [2, 0, 2, 0, 0],
  [0, 2, 0, 0, 2],
  [1, 0, 0, 2, 1],
  [3, 0, 0, 0, 1],
] as const;
const ENDS = ['kill', 'stop', 'kill', 'stop'] as const;

async function rollBackOnce(context: Context, corrid: string): Promise<void> {
  await context.tpbegin(60);
  const message = await context.queue(QSPACE, 'Q').get({ corrid });
  expect(message?.data, `${corrid} is on Q`).toBe(corrid);
  await context.tpabort();
}

async function isOn(context: Context, queue: string, corrid: string): Promise<boolean> {
  return (await context.queue(QSPACE, queue).get({ corrid, peek: true })) !== null;
}

/** Messages and locked ones of each queue. */
async function placesOf(context: Context): Promise<Record<string, [number, number]>> {
  const [space] = (await context.stat()).spaces;
  return Object.fromEntries(
    (space?.queues ?? []).map(({ name, messages, locked }) => [name, [messages, locked]]),
  );
}

async function waitersOn(context: Context, name: string, count: number): Promise<void> {
  const ask = async (): Promise<boolean> => {
    const [space] = (await context.stat()).spaces;
    return space?.queues.find((queue) => queue.name === name)?.waiters === count;
  };
  await poll(ask, () => `${count} waiters on ${name}`);
}

describe('attempts', () => {
  test('are counted over kills and stops in every mix', async () => {
    const daemon = await TestDaemon.start({
      queues: [{ name: 'Q', retries: RETRIES }, 'ERRQ'],
      errorQueue: 'ERRQ',
    });
    let context = await daemon.connect();
    for (const [i] of MIXES.entries()) await context.queue(QSPACE, 'Q').put(`m${i}`, { corrid: `m${i}` });
    const done = MIXES.map(() => 0);
    for (let life = 0; life <= ENDS.length; life++) {
      for (const [i, mix] of MIXES.entries()) {
        for (let left = mix[life] ?? 0; left > 0; left--) {
          await rollBackOnce(context, `m${i}`);
          done[i] = (done[i] ?? 0) + 1;
        }
        const moved = (done[i] ?? 0) > RETRIES;
        expect(await isOn(context, 'Q', `m${i}`), `m${i} after ${done[i]} rollbacks, life ${life}`).toBe(
          !moved,
        );
        expect(await isOn(context, 'ERRQ', `m${i}`), `m${i} after ${done[i]} rollbacks, life ${life}`).toBe(
          moved,
        );
      }
      if (life === ENDS.length) break;
      if (ENDS[life] === 'kill') await daemon.kill();
      else expect(await daemon.stop()).toEqual({ code: 0, signal: null });
      await daemon.restart();
      context = await daemon.connect();
    }
    expect(done).toEqual(MIXES.map(() => RETRIES + 1));
  });

  // With RETRIES 0 one attempt would move the message.
  test.each([
    ['kill', false],
    ['kill', true],
    ['stop', false],
    ['stop', true],
  ] as const)(
    'a %s under an open transaction is none, and leaves no lock (waiting: %s)',
    async (end, waiting) => {
      const daemon = await TestDaemon.start({
        queues: [{ name: 'Q', retries: 0 }, 'EMPTY', 'ERRQ'],
        errorQueue: 'ERRQ',
      });
      const before = await daemon.connect();
      await before.queue(QSPACE, 'Q').put('held');
      await before.tpbegin(60);
      expect((await before.queue(QSPACE, 'Q').get())?.data).toBe('held');
      await before.queue(QSPACE, 'Q').put('never committed');
      if (waiting) {
        before
          .queue(QSPACE, 'EMPTY')
          .get({ wait: true })
          .catch(() => {});
        await waitersOn(await daemon.connect(), 'EMPTY', 1);
      }
      await (end === 'kill' ? daemon.kill() : daemon.stop());
      await daemon.restart();
      const context = await daemon.connect();
      expect(await placesOf(context)).toEqual({ Q: [1, 0], EMPTY: [0, 0], ERRQ: [0, 0] });
      expect((await context.queue(QSPACE, 'Q').get())?.data).toBe('held');
      expect(await context.queue(QSPACE, 'Q').get()).toBeNull();
    },
  );

  test('a peek, an empty wait and a commit that fails at the client are none', async () => {
    const daemon = await TestDaemon.start({
      queues: [{ name: 'Q', retries: 0 }, 'EMPTY', 'ERRQ'],
      errorQueue: 'ERRQ',
    });
    const context = await daemon.connect();
    const queue = context.queue(QSPACE, 'Q');
    await queue.put('looked at');
    for (let i = 0; i < 3; i++) expect((await queue.get({ peek: true }))?.data).toBe('looked at');
    await context.tpbegin(60);
    expect(await context.queue(QSPACE, 'EMPTY').get({ wait: 30 })).toBeNull();
    expect((await queue.get({ peek: true }))?.data).toBe('looked at');
    await context.tpabort();
    expect((await queue.get())?.data).toBe('looked at');
  });
});

describe('a daemon that is killed under waiting clients', () => {
  test('ends their calls, and no ghost of them takes a message after the restart', async () => {
    const daemon = await TestDaemon.start({ queues: ['Q'] });
    const [plain, inTransaction] = [await daemon.connect(), await daemon.connect()];
    await inTransaction.tpbegin(60);
    const waiting = [plain, inTransaction].map((context) => context.queue(QSPACE, 'Q').get({ wait: true }));
    const ends = Promise.allSettled(waiting);
    await waitersOn(await daemon.connect(), 'Q', 2);
    await daemon.kill();
    for (const end of await within(ends, 5000, () => 'a waiting call was not ended by the kill')) {
      expect(end.status).toBe('rejected');
      if (end.status === 'rejected') expect(TpError.is(end.reason)).toBe(true);
    }
    await daemon.restart();
    const context = await daemon.connect();
    await context.queue(QSPACE, 'Q').put('after');
    expect((await context.queue(QSPACE, 'Q').get())?.data).toBe('after');
    await expect(context.tpdequeue(QSPACE, 'Q', null, null)).rejects.toMatchObject({
      diagnostic: QME.QMENOMSG,
    });
  });
});
