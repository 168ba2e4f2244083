// C87: a redrive is cut off half-way in every way there is, again and again: its tool killed, Ctrl-C, the target closed, the daemon stopped, the
// daemon killed. After each the two queues hold every message between them, and at the end each has come once. TMQUEUE_REDRIVE=10000 for more.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Context } from '../../clients/typescript/index.ts';
import { QSPACE, TestDaemon, within } from '../support/daemon.ts';
import { eventually } from '../support/in-process.ts';

const CLI = join(import.meta.dirname, '../../dist/src/cli/tmqueue.js');
const MESSAGES = Number(process.env['TMQUEUE_REDRIVE'] ?? 2000);
/** So slow that it is cut off before its end. */
const RATE = 200;
const SIZES = { batch: 500, endMs: 30_000, minMoved: 5 } as const;

interface Tool {
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly end: Promise<{ code: number | null; out: string; err: string }>;
}

function redrive(daemon: TestDaemon, ...words: string[]): Tool {
  const line = [CLI, 'redrive', QSPACE, 'ERR', '--connect', daemon.address, ...words];
  const child = spawn(process.execPath, line, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (part) => (out += String(part)));
  child.stderr.on('data', (part) => (err += String(part)));
  const ended = new Promise<Awaited<Tool['end']>>((resolve) => {
    child.once('close', (code) => resolve({ code, out, err }));
  });
  return {
    kill: (signal) => void child.kill(signal),
    end: within(ended, SIZES.endMs, () => `the tool did not end: ${out}${err}`),
  };
}

async function inBatches(ctx: Context, work: (tx: Context, i: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < MESSAGES; from += SIZES.batch) {
    const count = Math.min(SIZES.batch, MESSAGES - from);
    await Promise.all(Array.from({ length: count }, (_, i) => work(ctx, from + i)));
  }
}

/** All of them on the error queue, from WORK. */
async function fill(ctx: Context): Promise<void> {
  await inBatches(ctx, (to, i) => to.tpenqueue(QSPACE, 'WORK', null, i));
  await ctx.tpbegin(60);
  await inBatches(ctx, (from) => from.tpdequeue(QSPACE, 'WORK', null, null));
  await ctx.tpabort();
}

async function counts(ctx: Context): Promise<{ work: number; errors: number }> {
  const admin = ctx.admin(QSPACE);
  const [work, errors] = await Promise.all([admin.info('WORK'), admin.info('ERR')]);
  return { work: work.messages, errors: errors.messages };
}

/** Waits until some more have gone; how many were there before. */
async function underWay(ctx: Context, before: number): Promise<void> {
  await eventually(async () => (await counts(ctx)).work >= before + SIZES.minMoved, SIZES.endMs);
}

it(
  'leaves each message in exactly one of the two queues, whatever ends it',
  { timeout: 240_000 },
  async () => {
    const daemon = await TestDaemon.start({
      queues: [{ name: 'WORK', retries: 0 }, 'ERR'],
      errorQueue: 'ERR',
    });
    let ctx = await daemon.connect();
    await fill(ctx);
    expect(await counts(ctx)).toEqual({ work: 0, errors: MESSAGES });
    let moved = 0;
    const settled = async (): Promise<number> => {
      const { work, errors } = await counts(ctx);
      expect(work + errors).toBe(MESSAGES);
      expect(work).toBeGreaterThan(moved);
      expect(errors).toBeGreaterThan(0);
      const gone = work - moved;
      moved = work;
      return gone;
    };

    let tool = redrive(daemon, '--rate', `${RATE}`);
    await underWay(ctx, moved);
    tool.kill('SIGKILL');
    await tool.end;
    await eventually(() => daemon.stderr.includes('redriven (cancelled)'), SIZES.endMs);
    await settled();

    tool = redrive(daemon, '--rate', `${RATE}`);
    await underWay(ctx, moved);
    tool.kill('SIGINT');
    let ended = await tool.end;
    expect(ended).toMatchObject({ code: 1, err: '' });
    expect(ended.out).toContain(`moved ${await settled()} messages; it was cancelled`);

    tool = redrive(daemon, '--rate', `${RATE}`);
    await underWay(ctx, moved);
    await ctx.admin(QSPACE).pause('WORK', { enqueue: true });
    ended = await tool.end;
    const gone = await settled();
    expect(ended).toMatchObject({ code: 1, err: '' });
    expect(ended.out).toBe(
      `moved ${gone} messages\n  ${MESSAGES - moved} stay (WORK): it is paused for enqueues\n  ${gone} to WORK\n`,
    );
    await ctx.admin(QSPACE).resume('WORK');

    tool = redrive(daemon, '--rate', `${RATE}`);
    await underWay(ctx, moved);
    await daemon.stop();
    ended = await tool.end;
    expect(ended.out).toMatch(/^moved \d+ messages; the daemon stopped\n/);
    await daemon.restart();
    ctx = await daemon.connect();
    expect(ended.out).toContain(`moved ${await settled()} messages;`);

    tool = redrive(daemon, '--rate', `${RATE}`);
    await underWay(ctx, moved);
    await daemon.kill();
    expect(await tool.end).toMatchObject({ code: 69, out: '' });
    await daemon.restart();
    ctx = await daemon.connect();
    await settled();

    expect(await redrive(daemon, '--json').end).toMatchObject({ code: 0, err: '' });
    expect(await counts(ctx)).toEqual({ work: MESSAGES, errors: 0 });
    const found = new Set<unknown>();
    await inBatches(ctx, async (from) => found.add((await from.tpdequeue(QSPACE, 'WORK', null, null)).data));
    expect(found).toEqual(new Set(Array.from({ length: MESSAGES }, (_, i) => i)));
  },
);
