// Queue spaces and the names under which TMQUEUE serves them; what STAT says of them [spec 2.1, 4.1; PROTOCOL 6.1].
import { cpSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Context } from '../../clients/typescript/index.ts';
import { daemonForTest } from '../support/in-process.ts';
import { ubbText } from '../support/ubb-text.ts';
import { codeOf, drain, put, SPACE, take } from './helpers.ts';

const two = [{ queues: ['Q'] }, { name: 'SECOND', queues: ['Q'] }];

async function joined(text: string): Promise<Context> {
  return (await daemonForTest(text)).join();
}

describe('a queue space is served', () => {
  it('under every name of -s, and not under its own then', async () => {
    const ctx = await joined(ubbText().replace('-s QSPACE:TMQUEUE', '-s ONE,TWO:TMQUEUE'));
    await ctx.tpenqueue('ONE', 'Q', null, 'x');
    expect((await ctx.tpdequeue('TWO', 'Q', null, null)).data).toBe('x');
    expect(await codeOf(ctx.tpenqueue(SPACE, 'Q', null, 'x'))).toBe('TPENOENT');
  });

  it('under TMQUEUE when there is no -s', async () => {
    const ctx = await joined(ubbText().replace('-s QSPACE:TMQUEUE', '-A'));
    await ctx.tpenqueue('TMQUEUE', 'Q', null, 'x');
    expect((await ctx.tpdequeue('TMQUEUE', 'Q', null, null)).data).toBe('x');
  });

  it('apart from another: queues of the same name are two', async () => {
    const ctx = await joined(ubbText({ spaces: two }));
    await ctx.tpenqueue('SECOND', 'Q', null, 'second');
    await put(ctx, 'Q', 'first');
    expect(await drain(ctx, 'Q')).toEqual(['first']);
    expect((await ctx.tpdequeue('SECOND', 'Q', null, null)).data).toBe('second');
  });

  it('in one transaction both, whichever came first', async () => {
    const ctx = await joined(ubbText({ spaces: two }));
    for (const [mine, other] of [
      [SPACE, 'SECOND'],
      ['SECOND', SPACE],
    ] as const) {
      await ctx.tpbegin(30);
      await ctx.tpenqueue(mine, 'Q', null, 'x');
      await ctx.tpenqueue(other, 'Q', null, 'y');
      expect(await codeOf(ctx.tpdequeue(other, 'Q', null, null))).toBe('QMENOMSG');
      await ctx.tpcommit();
      expect((await ctx.tpdequeue(mine, 'Q', null, null)).data).toBe('x');
      expect((await ctx.tpdequeue(other, 'Q', null, null)).data).toBe('y');
    }
  });
});

it('a start that finds one space copied as another is refused, and names both', async () => {
  const daemon = await daemonForTest(ubbText({ spaces: [two[0]!] }));
  await put(await daemon.join(), 'Q', 'x');
  await daemon.stop();
  const [device = ''] = readdirSync(daemon.dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => basename(path) === SPACE)
    .map((path) => join(daemon.dir, path));
  cpSync(device, join(daemon.dir, 'data2', 'SECOND'), { recursive: true });
  await expect(daemon.restart(ubbText({ spaces: two }))).rejects.toThrow(
    /queue space SECOND .* has the identity of queue space QSPACE: .* tmqueue backup and tmqueue restore/u,
  );
  await daemon.restart(ubbText({ spaces: [two[0]!] }));
  expect(await drain(await daemon.join(), 'Q')).toEqual(['x']);
});

describe('STAT', () => {
  it('counts what is ready, locked, delayed, enqueued and dequeued', async () => {
    const daemon = await daemonForTest({ spaces: [{ queues: [{ name: 'Q', retries: 9, delay: 60 }] }] });
    const ctx = await daemon.join();
    await put(ctx, 'Q', 'delayed', 'locked', 'ready', 'taken');
    await ctx.tpbegin(60);
    await take(ctx, 'Q');
    await ctx.tpabort();
    await ctx.tpbegin(60);
    await take(ctx, 'Q');
    const other = await daemon.join();
    await take(other, 'Q');
    expect(await daemon.queue('Q')).toMatchObject({
      name: 'Q',
      messages: 3,
      ready: 1,
      delayed: 1,
      locked: 1,
      waiters: 0,
      enqueued: 4,
      dequeued: 1,
    });
    expect(await ctx.stat()).toMatchObject({ lmid: 'SITE1', connections: 2, transactions: 1 });
  });

  it('of one space by its alias, of all by nothing, of none: TPENOENT', async () => {
    const ctx = await joined(ubbText({ spaces: two }));
    expect((await ctx.stat('SECOND')).spaces.map(({ name }) => name)).toEqual(['SECOND']);
    expect((await ctx.stat()).spaces).toMatchObject([
      { name: 'QSPACE', aliases: ['QSPACE'], state: 'open', messages: 0 },
      { name: 'SECOND', aliases: ['SECOND'], state: 'open', messages: 0 },
    ]);
    expect(await codeOf(ctx.stat('NOSPACE'))).toBe('TPENOENT');
  });
});
