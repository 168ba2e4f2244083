// Servers of the configuration started and stopped by their id (SRVSTART, SRVSTOP): forwarders, also those above MIN, every refusal, and a forwarder
// with -e that its queue's threshold command starts again [spec 4.2, 5.6, 6.4].
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ADMIN, OP, QME, TPERRNO } from '../../proto/codes.ts';
import { daemonForAll, daemonForTest, eventually, pause } from '../support/in-process.ts';
import { packValue } from '../../proto/codec.ts';
import { Raw } from '../support/raw-client.ts';
import { failureOf, Gate, put } from './helpers.ts';

const CLI = join(import.meta.dirname, '../../dist/src/cli/tmqueue.js');

const mapOf = (members: object): Raw => new Raw(Buffer.from(packValue(members)));

describe('a server by its id', () => {
  const forwarders = [{ queues: ['S'], min: 1, max: 3 }];
  const daemon = daemonForAll({
    listen: ['//127.0.0.1:0'],
    spaces: [
      { name: 'ONE', queues: ['S'], forwarders: [...forwarders, { queues: ['T'] }] },
      { name: 'TWO', queues: ['S'], forwarders },
    ],
  });

  it('of one line of MIN 1 and MAX 3: the second and third start by id only', async () => {
    const ctx = await daemon.join();
    const state = async (srvid: number): Promise<string> => (await ctx.startServer(srvid, 'G1')).state;
    expect([await state(100), await state(101), await state(102)]).toEqual(['running', 'started', 'started']);
    expect(await ctx.stopServer(101, 'G1')).toEqual({
      name: 'TMQFORWARD',
      group: 'G1',
      srvid: 101,
      state: 'stopped',
    });
    expect((await ctx.stopServer(101, 'G1')).state).toBe('down');
    expect(daemon.lines('info', 'server TMQFORWARD G1/101 st')).toHaveLength(2);
  });

  it('an id of one group needs none, an id of two groups does', async () => {
    const ctx = await daemon.join();
    expect(await ctx.startServer(200)).toMatchObject({ group: 'G1', srvid: 200, state: 'running' });
    const { tperrno, message } = await failureOf(ctx.startServer(100));
    expect([tperrno, message]).toEqual([TPERRNO.TPEINVAL, expect.stringContaining('G1, G2; name one')]);
  });

  it.each([
    ['no such id', [103, 'G1'], TPERRNO.TPENOENT, 'no server of this machine has SRVID 103'],
    ['no such id in the group', [200, 'G2'], TPERRNO.TPENOENT, 'group G2 has no server with SRVID 200'],
    ['no such group', [100, 'NONE'], TPERRNO.TPENOENT, 'there is one in G1, G2'],
    ['a TMQUEUE', [1, 'G1'], TPERRNO.TPEPROTO, 'TMQUEUE G1/1 runs as long as the daemon does'],
    ['a listener', [1, 'APP'], TPERRNO.TPEPROTO, 'WSL APP/1 is the listener'],
  ] as const)('refused: %s', async (_name, [srvid, group], tperrno, text) => {
    const ctx = await daemon.join();
    const started = await failureOf(ctx.startServer(srvid, group));
    const stopped = await failureOf(ctx.stopServer(srvid, group));
    expect([started.tperrno, stopped.tperrno]).toEqual([tperrno, tperrno]);
    expect([started.message, stopped.message]).toEqual([
      expect.stringContaining(text),
      expect.stringContaining(text),
    ]);
  });

  it.each([
    ['no id', {}, QME.QMEINVAL, 'srvid: nothing is not legal; legal: a number 1..30000'],
    ['an id that is none', { srvid: 30_001 }, QME.QMEINVAL, 'srvid: 30001'],
    ['a group that is no text', { srvid: 100, group: 1 }, QME.QMEINVAL, 'group: 1 is not legal'],
    ['an empty group', { srvid: 100, group: '' }, QME.QMEINVAL, 'group: "" is not legal'],
    [
      'another member',
      { srvid: 100, purge: true },
      QME.QMEINVAL,
      'purge is no member of this verb; legal: srvid, group',
    ],
  ])('refused: %s', async (_name, members, diagnostic, text) => {
    const raw = await daemon.raw();
    const answer = await raw.ask(OP.ADMIN, 7, ADMIN.SRVSTART, '', '', mapOf(members));
    expect(answer).toMatchObject([OP.ERROR, 7, TPERRNO.TPEDIAGNOSTIC, diagnostic, expect.any(String)]);
    expect(String(answer[4])).toContain(text);
  });

  it('refused: with the name of a queue space or a queue', async () => {
    const raw = await daemon.raw();
    expect(await raw.ask(OP.ADMIN, 7, ADMIN.SRVSTOP, 'ONE', '', mapOf({ srvid: 100 }))).toEqual([
      OP.ERROR,
      7,
      TPERRNO.TPEINVAL,
      QME.OK,
      'this verb takes neither a queue space nor a queue',
    ]);
  });
});

describe('stop', () => {
  it('is answered when the message under way is forwarded; nothing more is taken until a start', async () => {
    const daemon = await daemonForTest({ spaces: [{ queues: ['S'], forwarders: [{ queues: ['S'] }] }] });
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    const gate = new Gate();
    await server.tpadvertise('S', gate.service, { concurrency: 9 });
    await put(ctx, 'S', 'first', 'second');
    await gate.calls(1);
    let stopped = '';
    const stopping = ctx.stopServer(100).then(({ state }) => (stopped = state));
    await ctx.stat();
    await pause(20);
    expect(stopped).toBe('');
    gate.release();
    expect(await stopping).toBe('stopped');
    expect(await daemon.queue('S')).toMatchObject({ messages: 1, locked: 0, waiters: 0 });
    expect((await ctx.startServer(100)).state).toBe('started');
    await gate.calls(1);
    expect(gate.waiting[0]?.call.data).toBe('second');
    gate.release();
    await eventually(async () => (await daemon.queue('S')).messages === 0);
    expect((await ctx.stat()).forwarders[0]).toMatchObject({ forwarded: 2, failed: 0 });
  });

  it('a start meanwhile begins at once, beside the message under way', async () => {
    const daemon = await daemonForTest({ spaces: [{ queues: ['S'], forwarders: [{ queues: ['S'] }] }] });
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    const gate = new Gate();
    await server.tpadvertise('S', gate.service, { concurrency: 9 });
    await put(ctx, 'S', 'first', 'second');
    await gate.calls(1);
    const stopping = ctx.stopServer(100);
    expect((await ctx.startServer(100)).state).toBe('started');
    await gate.calls(2);
    gate.release();
    gate.release();
    expect((await stopping).state).toBe('stopped');
    expect((await ctx.stopServer(100)).state).toBe('stopped');
  });

  it('given up by the caller is not taken back', async () => {
    const daemon = await daemonForTest({ spaces: [{ queues: ['S'], forwarders: [{ queues: ['S'] }] }] });
    const [ctx, server, raw] = [await daemon.join(), await daemon.join(), await daemon.raw()];
    const gate = new Gate();
    await server.tpadvertise('S', gate.service);
    await put(ctx, 'S', 'x');
    await gate.calls(1);
    raw.send(OP.ADMIN, 7, ADMIN.SRVSTOP, '', '', mapOf({ srvid: 100 }));
    raw.send(OP.CANCEL, 8, 7);
    expect(await raw.answer(7)).toMatchObject([OP.ERROR, 7, TPERRNO.TPGOTSIG, 0, expect.any(String)]);
    expect(await raw.answer(8)).toEqual([OP.CANCEL + 128, 8, true]);
    gate.release();
    await eventually(async () => (await daemon.queue('S')).messages === 0);
    await put(ctx, 'S', 'y');
    expect((await ctx.stopServer(100)).state).toBe('down');
    expect((await daemon.queue('S')).ready).toBe(1);
  });
});

it(
  '-e: the threshold command of the queue starts it again, by `tmqueue server start`',
  { timeout: 60_000 },
  async () => {
    const spaces = [
      {
        queues: [{ name: 'S', more: 'HIGH=1m LOW=0 CMD="./again"' }],
        forwarders: [{ queues: ['S'], options: '-e' }],
      },
    ];
    const daemon = await daemonForTest({ spaces });
    const script = join(daemon.dir, 'again');
    writeFileSync(script, `#!/bin/sh\n"${process.execPath}" "${CLI}" server start 100 >>said 2>&1\n`);
    chmodSync(script, 0o755);
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    const seen: unknown[] = [];
    await server.tpadvertise('S', (call) => void seen.push(call.data));
    const ends = (): number => daemon.lines('info', 'it has ended [-e]').length;
    for (const round of [1, 2]) {
      await eventually(() => ends() === round);
      await put(ctx, 'S', `message ${round}`);
      await eventually(() => seen.length === round, 25_000);
    }
    await eventually(() => ends() === 3);
    expect(seen).toEqual(['message 1', 'message 2']);
  },
);
