// Large transactions over real connections [DESIGN 4, Slices]: while one ends, the other connections are answered between its slices; who asks
// for one of its queues waits and finds all of it. Slices are made small, so that few messages make many turns.
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Context } from '../../clients/typescript/index.ts';
import { Endings } from '../../src/engine/endings.ts';
import { daemonForAll } from '../support/in-process.ts';
import { codeOf, nameOf } from './helpers.ts';

const SLICE_ENTRIES = 2;
const MESSAGES = 160;

/** Of the spaces that asked for a large ending so far. */
const seen = new Set<Endings>();
const isLarge = vi.spyOn(Endings.prototype, 'isLarge');
isLarge.mockImplementation(function (this: Endings, entries) {
  seen.add(this);
  this.sliceEntries = SLICE_ENTRIES;
  return entries > SLICE_ENTRIES;
});
const isWalking = (): boolean => [...seen].some(({ isBusy }) => isBusy);

const daemon = daemonForAll({
  spaces: [
    { name: 'ONE', queues: [{ name: 'A', retries: 9 }, 'FREE'] },
    { name: 'TWO', queues: [{ name: 'B', retries: 9 }] },
  ],
});
let ctx: Context;
let other: Context;
let third: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  other = await daemon.join();
  third = await daemon.join();
});

const queueIn = (space: string): string => (space === 'ONE' ? 'A' : 'B');
const get = async (c: Context, space: string, queue: string): Promise<unknown> =>
  (await c.tpdequeue(space, queue, null, null)).data;

async function many(run: (i: number) => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: MESSAGES }, (_, i) => run(i)));
}

/**
 * Calls on another connection while `ending` is under way; how many were answered between its slices, and what a third connection read from
 * its queue: nothing, as long as it is not decided, and then the first of all.
 */
async function during(ending: Promise<unknown>, read: () => Promise<unknown>): Promise<[number, unknown]> {
  const progress = { over: false };
  let between = 0;
  void ending.then(() => (progress.over = true));
  const reading = (async () => {
    for (;;) {
      const answer = await read().catch(nameOf);
      if (answer !== 'QMENOMSG') return answer;
    }
  })();
  while (!progress.over) {
    // A call that waits for no disk: the walk has many more turns than it needs.
    expect(await codeOf(get(other, 'ONE', 'FREE'))).toBe('QMENOMSG');
    if (isWalking()) between++;
  }
  return [between, await reading];
}

describe.each([[['ONE']], [['ONE', 'TWO']]])('a large transaction over %s', (spaces) => {
  const last = spaces.at(-1) ?? '';
  const read = (): Promise<unknown> => get(third, last, queueIn(last));

  it('lets others be answered while it commits and while it rolls back', async () => {
    await ctx.tpbegin(600);
    for (const space of spaces) await many((i) => ctx.tpenqueue(space, queueIn(space), null, `m${i}`));
    const [atCommit, first] = await during(ctx.tpcommit(), read);
    expect([atCommit > 1, first]).toEqual([true, 'm0']);
    await ctx.tpbegin(600);
    for (const space of spaces) {
      for (let i = space === last ? 1 : 0; i < MESSAGES; i++)
        expect(await get(ctx, space, queueIn(space))).toBe(`m${i}`);
    }
    const [atRollback, second] = await during(ctx.tpabort(), read);
    expect([atRollback > 1, second]).toEqual([true, 'm1']);
    await ctx.tpbegin(600);
    for (const space of spaces) {
      for (let i = space === last ? 2 : 0; i < MESSAGES; i++) await get(ctx, space, queueIn(space));
    }
    await ctx.tpcommit();
    for (const space of spaces) expect(await codeOf(get(third, space, queueIn(space)))).toBe('QMENOMSG');
  });
});
