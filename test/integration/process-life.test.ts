// The daemon as a process among others: one a device, signals, pipes that close [DESIGN 5 Ownership, 11; C27, C29, C51].
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tpinit, TPQ } from '../../clients/typescript/index.ts';
import { RawClient } from '../support/raw-client.ts';
import { ubbText } from '../support/ubb-text.ts';
import { folderWith, startCli, startToEnd } from './cli-process.ts';
import { codeOf, ctlOf, put, take } from './helpers.ts';

const LISTEN = ['--listen', '127.0.0.1:0'];
const text = (): string => ubbText({ spaces: [{ queues: ['Q'] }] });

describe('one daemon a device (C51)', () => {
  it('a second is refused at once, also over a symbolic link; after kill -9 of the first it starts', async () => {
    const { config, dir } = folderWith(text());
    const first = await startCli(config, ...LISTEN);
    const link = join(folderWith('').dir, 'app');
    symlinkSync(dir, link);
    for (const extra of [[], ['--appdir', link]]) {
      const began = performance.now();
      const { code, stdout, stderr } = await startToEnd('-c', config, ...LISTEN, ...extra);
      expect([code, stdout, stderr.includes('data1')]).toEqual([1, '', true]);
      expect(performance.now() - began).toBeLessThan(8000);
    }
    await first.kill();
    await startCli(config, ...LISTEN);
  });
});

describe('a signal', () => {
  it.each<[string, NodeJS.Signals, boolean]>([
    ['SIGTERM', 'SIGTERM', false],
    ['SIGINT', 'SIGINT', false],
    ['SIGTERM twice', 'SIGTERM', true],
  ])(
    '%s ends with 0 within 5 s, although dequeues wait; these are answered (C27)',
    async (_name, signal, twice) => {
      const { config } = folderWith(text());
      const cli = await startCli(config, ...LISTEN);
      const raw = await RawClient.connect(cli.port);
      await raw.hello();
      for (let id = 2; id < 102; id++) raw.send(4, id, ['QSPACE', 'Q'], [TPQ.TPQWAIT], 0x20, 0, 0, '', 0);
      await raw.ask(14, 500);
      const began = performance.now();
      cli.signal(signal);
      if (twice) {
        await raw.answer(2);
        cli.signal(signal);
      }
      const { code } = await cli.exit;
      expect([code, performance.now() - began < 5500]).toEqual([0, true]);
      const frames = await raw.rest();
      expect(frames.at(-1)?.slice(0, 2)).toEqual([65, 0]);
      expect(frames.filter(([op]) => op === 127)).toHaveLength(twice ? 99 : 100);
    },
  );
});

it('closing the reading ends of its stdout and stderr does not end it (C29)', async () => {
  const { config } = folderWith(text());
  const cli = await startCli(config, ...LISTEN);
  cli.child.stdout?.destroy();
  cli.child.stderr?.destroy();
  const ctx = await tpinit({ address: `//127.0.0.1:${cli.port}` });
  // Each of these writes a log line: a message without retries and error queue is dropped.
  for (let i = 0; i < 20; i++) {
    await put(ctx, 'Q', 'x');
    await ctx.tpbegin(5);
    await take(ctx, 'Q');
    await ctx.tpabort();
  }
  expect(await codeOf(take(ctx, 'Q', ctlOf(0)))).toBe('QMENOMSG');
  expect(cli.child.exitCode).toBeNull();
  await ctx.tpterm();
  cli.signal('SIGTERM');
  expect((await cli.exit).code).toBe(0);
});
