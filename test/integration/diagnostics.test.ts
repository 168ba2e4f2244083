// Diagnostics that depend on the state of a queue space or of a transaction [spec 1.3]: what is not open, no queue space, being committed.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { daemonForTest } from '../support/in-process.ts';
import { valueOf } from '../support/metrics-text.ts';
import { ubbText } from '../support/ubb-text.ts';
import { codeOf, drain, failureOf, put, SPACE } from './helpers.ts';

/** Flips a byte of the first message that the space's log holds. */
function damage(dir: string, body: string): void {
  const space = readdirSync(dir).find((name) => name.includes('SECOND')) as string;
  const segment = readdirSync(join(dir, space))
    .filter((name) => name.endsWith('.log'))
    .sort()[0] as string;
  const path = join(dir, space, segment);
  const bytes = readFileSync(path);
  const at = bytes.indexOf(body);
  expect(at).toBeGreaterThan(0);
  bytes[at] = (bytes[at] as number) ^ 0xff;
  writeFileSync(path, bytes);
}

describe('QMENOTOPEN', () => {
  const spaces = [{ queues: ['Q'] }, { name: 'SECOND', queues: ['Q'], forwarders: [{ queues: ['Q'] }] }];

  it('a space with a damaged log is not open, says why, and the others are served', async () => {
    const daemon = await daemonForTest({ spaces });
    const ctx = await daemon.join();
    await put(ctx, 'Q', 'kept');
    for (const data of ['first message', 'second message', 'third message']) {
      await ctx.tpenqueue('SECOND', 'Q', null, data);
    }
    await daemon.stop();
    damage(join(daemon.dir, 'data2'), 'first message');
    await daemon.start();
    const again = await daemon.join();
    expect(daemon.readiness).toBe('ready; queue space SECOND is not open: its log is damaged');
    const metrics = await daemon.metrics();
    expect([SPACE, 'SECOND'].map((space) => valueOf(metrics, 'tmqueue_space_up', { space }))).toEqual([1, 0]);
    expect(await drain(again, 'Q')).toEqual(['kept']);
    for (const call of [
      again.tpenqueue('SECOND', 'Q', null, 'x'),
      again.tpdequeue('SECOND', 'Q', null, null),
    ]) {
      const { message } = await failureOf(call);
      for (const word of ['QMENOTOPEN', 'SECOND', '.log']) expect(message).toContain(word);
    }
    // Its forwarder cannot be started either.
    expect(await codeOf(again.startServer(100))).toBe('QMENOTOPEN');
    const { spaces: stat } = await again.stat();
    expect(stat.map(({ name, state }) => [name, state])).toEqual([
      [SPACE, 'open'],
      ['SECOND', 'not open'],
    ]);
    expect(daemon.log.some((line) => line.level === 'error' && line.message.includes('SECOND'))).toBe(true);
  });

  it('alone it ends the start', async () => {
    const text = ubbText({ spaces: [{ name: 'SECOND', queues: ['Q'] }] });
    const daemon = await daemonForTest(text);
    const ctx = await daemon.join();
    for (const data of ['first message', 'second message']) await ctx.tpenqueue('SECOND', 'Q', null, data);
    await daemon.stop();
    damage(join(daemon.dir, 'data1'), 'first message');
    await expect(daemon.start()).rejects.toThrow(/\.log/);
  });
});

describe('QMEBADRMID', () => {
  it('the queue space names a service of an application server', async () => {
    const daemon = await daemonForTest({});
    const server = await daemon.join();
    await server.tpadvertise('ECHO', (call) => Promise.resolve(call.data));
    const ctx = await daemon.join();
    expect(await codeOf(ctx.tpenqueue('ECHO', 'Q', null, 'x'))).toBe('QMEBADRMID');
    expect(await codeOf(ctx.tpdequeue('ECHO', 'Q', null, null))).toBe('QMEBADRMID');
    expect(await codeOf(ctx.tpenqueue('NOBODY', 'Q', null, 'x'))).toBe('TPENOENT');
  });
});

describe('QMEPROTO', () => {
  it('work in a transaction that is being committed', async () => {
    const daemon = await daemonForTest({});
    const raw = await daemon.raw();
    const [, , tx] = (await raw.ask(5, 10, 60)) as [number, number, number];
    expect((await raw.ask(3, 11, [SPACE, 'Q'], null, 0, tx, 1, '', Buffer.from('in time')))[0]).toBe(131);
    raw.send(6, 12, tx);
    raw.send(3, 13, [SPACE, 'Q'], null, 0, tx, 1, '', Buffer.from('too late'));
    const answers = [await raw.next(), await raw.next()];
    const late = answers.find((answer) => answer[1] === 13);
    expect(late?.slice(0, 4)).toEqual([127, 13, 24, -9]);
    const ctx = await daemon.join();
    expect(await drain(ctx, 'Q')).toEqual(['in time']);
  });
});
