// Transactions over two queue spaces [DESIGN 6, spec 2.3]: all or nothing for every reader, over restarts and crashes; the transaction log;
// what cannot join; what a client can ask afterwards.
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '../../clients/typescript/index.ts';
import { daemonForAll, daemonForTest, type InProcess } from '../support/in-process.ts';
import { prepareOffline } from '../support/prepared.ts';
import { codeOf } from './helpers.ts';

const daemon = daemonForAll({
  spaces: [
    { name: 'ONE', queues: [{ name: 'A', retries: 9 }, 'B'] },
    { name: 'TWO', queues: [{ name: 'C', retries: 9 }, 'D'] },
  ],
});
let ctx: Context;
let other: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  other = await daemon.join();
});
const put = (c: Context, space: string, queue: string, data: string): Promise<unknown> =>
  c.tpenqueue(space, queue, null, data);
const get = async (c: Context, space: string, queue: string): Promise<unknown> =>
  (await c.tpdequeue(space, queue, null, null)).data;

describe('a transaction over two queue spaces', () => {
  it('is there in both after its commit, and in none before', async () => {
    await ctx.tpbegin(60);
    await put(ctx, 'ONE', 'A', 'a');
    await put(ctx, 'TWO', 'C', 'c');
    expect(await codeOf(get(other, 'ONE', 'A'))).toBe('QMENOMSG');
    expect(await codeOf(get(other, 'TWO', 'C'))).toBe('QMENOMSG');
    await ctx.tpcommit();
    await daemon.restart();
    expect(await get(other, 'ONE', 'A')).toBe('a');
    expect(await get(other, 'TWO', 'C')).toBe('c');
  });

  it('moves a message from one to the other, or leaves it', async () => {
    await put(ctx, 'ONE', 'A', 'm');
    await ctx.tpbegin(60);
    await put(ctx, 'TWO', 'C', String(await get(ctx, 'ONE', 'A')));
    await ctx.tpabort();
    await ctx.tpbegin(60);
    await put(ctx, 'TWO', 'C', String(await get(ctx, 'ONE', 'A')));
    await ctx.tpcommit();
    expect(await codeOf(get(other, 'ONE', 'A'))).toBe('QMENOMSG');
    expect(await get(other, 'TWO', 'C')).toBe('m');
    await daemon.restart();
    expect(await codeOf(get(other, 'ONE', 'A'))).toBe('QMENOMSG');
    expect(await codeOf(get(other, 'TWO', 'C'))).toBe('QMENOMSG');
  });
});

describe('what became of it', () => {
  it('can be asked on any connection, before and after a restart', async () => {
    const idOf = async (end: 'tpcommit' | 'tpabort', spaces: readonly string[]): Promise<string> => {
      await ctx.tpbegin(60);
      const id = ctx.transactionId ?? '';
      expect(await other.transactionOutcome(id)).toBe('open');
      for (const space of spaces) await put(ctx, space, space === 'ONE' ? 'B' : 'D', 'x');
      await ctx[end]();
      return id;
    };
    const ids = [
      await idOf('tpcommit', ['ONE']),
      await idOf('tpcommit', ['ONE', 'TWO']),
      await idOf('tpabort', ['TWO']),
      await idOf('tpabort', ['ONE', 'TWO']),
    ];
    const outcomes = (): Promise<string[]> => Promise.all(ids.map((id) => other.transactionOutcome(id)));
    expect(await outcomes()).toEqual(['committed', 'committed', 'rolled back', 'rolled back']);
    await daemon.restart();
    expect(await outcomes()).toEqual(['committed', 'committed', 'rolled back', 'rolled back']);
    expect(await other.transactionOutcome('0'.repeat(24))).toBe('unknown');
    expect(await codeOf(other.transactionOutcome('xyz'))).toBe('TPEINVAL');
  });
});

/** A daemon that ended between the decision and the outcome: its spaces hold prepared branches. */
async function interrupted(): Promise<InProcess> {
  const own = await daemonForTest({
    spaces: [
      { name: 'ONE', queues: [{ name: 'A', retries: 9 }] },
      { name: 'TWO', queues: [{ name: 'C', retries: 9 }] },
    ],
  });
  const c = await own.join();
  await put(c, 'ONE', 'A', 'taken');
  await own.stop();
  await prepareOffline(join(own.dir, 'data1', 'ONE'), 'A');
  await prepareOffline(join(own.dir, 'data2', 'TWO'), 'C');
  return own;
}

describe('without its transaction log', () => {
  it('what was prepared stays in doubt, over restarts, and is listed; all else is served', async () => {
    const own = await interrupted();
    for (let i = 0; i < 2; i++) {
      await own.start();
      const c = await own.join();
      expect(own.lines('in doubt', 'ONE', '000000000005000000000006')).toHaveLength(i + 1);
      expect(own.lines('in doubt', 'TWO')).toHaveLength(i + 1);
      expect(await c.transactionOutcome('000000000005000000000006')).toBe('in doubt');
      expect(await codeOf(get(c, 'TWO', 'C'))).toBe('QMENOMSG');
      expect((await own.queue('C', 'TWO')).messages).toBe(0);
      await own.stop();
    }
    await own.start();
    expect(await get(await own.join(), 'ONE', 'A')).toBe('taken');
  });
});
