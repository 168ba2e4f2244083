// kill -9 while a destroyed queue of 200,000 messages is being emptied, at two starts in a row: each start goes on with it, nothing of it
// comes back, and the new queue of that name is empty.
import { expect, it } from 'vitest';
import type { Context } from '../../clients/typescript/index.ts';
import { QSPACE, TestDaemon } from '../support/daemon.ts';
import { eventually } from '../support/in-process.ts';

const MESSAGES = 200_000;
const KEPT = 10;
/** Enqueues in one transaction, pipelined. */
const BATCH = 1000;

async function fill(ctx: Context): Promise<void> {
  for (let i = 0; i < MESSAGES; i += BATCH) {
    await ctx.transaction(async (tx) => {
      await Promise.all(Array.from({ length: BATCH }, () => tx.tpenqueue(QSPACE, 'BIG', null, 'x')));
    });
  }
}

/** Messages that the log held when the space was opened last, by the daemon's own word. */
function foundAtStart(stderr: string): number {
  const line = stderr.split('\n').findLast((one) => one.includes(`queue space ${QSPACE} is open`)) ?? '';
  return Number(/messages"?[=:] ?(\d+)/.exec(line)?.[1] ?? -1);
}

it(
  'a destroyed queue that is being emptied when the daemon is killed stays destroyed',
  { timeout: 240_000 },
  async () => {
    const daemon = await TestDaemon.start({ queues: ['KEPT'] });
    let ctx = await daemon.connect();
    await ctx.admin(QSPACE).create('BIG');
    for (let i = 0; i < KEPT; i++) await ctx.tpenqueue(QSPACE, 'KEPT', null, i);
    await fill(ctx);
    const count = await ctx.admin(QSPACE).destroy('BIG', { purge: true });
    expect(count).toBe(MESSAGES);
    const again = await ctx.admin(QSPACE).create('BIG', { order: 'lifo' });
    expect(again.messages).toBe(0);
    await daemon.kill();

    let before = KEPT + MESSAGES + 1;
    for (let life = 0; life < 2; life++) {
      await daemon.restart();
      const found = foundAtStart(daemon.stderr);
      expect(found).toBeGreaterThanOrEqual(KEPT);
      expect(found).toBeLessThan(before);
      before = found + 1;
      ctx = await daemon.connect();
      expect(await ctx.admin(QSPACE).info('BIG')).toMatchObject({ messages: 0, order: 'lifo' });
      if (life === 0) await daemon.kill();
    }
    await eventually(async () => (await ctx.admin(QSPACE).space()).doomedQueues === 0, 60_000);
    await ctx.tpenqueue(QSPACE, 'BIG', null, 'new');
    expect(await ctx.admin(QSPACE).space()).toMatchObject({ curMessages: KEPT + 1, curQueues: 2 });
    await daemon.stop();
    await daemon.restart();
    expect(foundAtStart(daemon.stderr)).toBe(KEPT + 1);
    ctx = await daemon.connect();
    expect((await ctx.tpdequeue(QSPACE, 'BIG', null, null)).data).toBe('new');
    expect(await ctx.admin(QSPACE).info('KEPT')).toMatchObject({ messages: KEPT });
  },
);
