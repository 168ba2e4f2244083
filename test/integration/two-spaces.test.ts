// Transactions over two queue spaces [DESIGN 6, spec 2.3]: all or nothing for every reader, over restarts and crashes; the transaction log;
// what cannot join; what a client can ask afterwards.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '../../clients/typescript/index.ts';
import { daemonForAll } from '../support/in-process.ts';
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
