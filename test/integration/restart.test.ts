// A clean stop and a start: what stays as it was (messages, order, fields, retry counts, delays, ids) and what a changed configuration
// does to queues that exist [DESIGN 2, 3, 4 Time, 6; spec 2.6, 8.5; C11, C35, C45, C53].
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Context, TPQ } from '../../clients/typescript/index.ts';
import { daemonForTest, eventually, type InProcess } from '../support/in-process.ts';
import { type QueueText, type SpaceText, ubbText } from '../support/ubb-text.ts';
import { codeOf, corridOf, ctlOf, drain, OUTPUTS, peek, put, putId, SPACE, take } from './helpers.ts';

function start(...queues: (string | QueueText)[]): Promise<InProcess> {
  return daemonForTest(space(...queues));
}

/** A message that waits for the end of its retry delay of 30 s. */
async function delayed(): Promise<{ daemon: InProcess; ctx: Context }> {
  const daemon = await start({ name: 'Q', retries: 5, delay: 30 });
  const ctx = await daemon.join();
  await put(ctx, 'Q', 'x');
  await fail(ctx, 'Q');
  return { daemon, ctx };
}

async function isThere(ctx: Context): Promise<boolean> {
  return (await peek(ctx, 'Q')) === 'x';
}

function space(...queues: (string | QueueText)[]): { spaces: SpaceText[] } {
  return { spaces: [{ errorQueue: 'ERRQ', queues: ['ERRQ', ...queues] }] };
}

function withErrorQueue(errorQueue?: string): string {
  return ubbText({
    spaces: [{ ...(errorQueue === undefined ? {} : { errorQueue }), queues: ['Q', 'E', 'F'] }],
  });
}

async function fail(ctx: Context, queue: string): Promise<void> {
  await ctx.tpbegin(60);
  await take(ctx, queue);
  await ctx.tpabort();
}

describe('a message', () => {
  it('keeps data, type, msgid and every member', async () => {
    const daemon = await start('Q');
    const ctx = await daemon.join();
    const given = ctlOf(0x133, {
      priority: 80,
      corrid: corridOf(5, 9),
      replyqueue: 'R',
      failurequeue: 'F',
      urcode: 7,
    });
    await ctx.tpenqueue(SPACE, 'Q', given, Buffer.from('data'));
    await put(ctx, 'Q', null, { json: [1] });
    const before = ctlOf(OUTPUTS | TPQ.TPQPEEK);
    await take(ctx, 'Q', before);
    await daemon.restart();
    const after = ctlOf(OUTPUTS);
    const received = await take(ctx, 'Q', after);
    expect([received.type, Buffer.from(received.data as Uint8Array).toString()]).toEqual(['CARRAY', 'data']);
    expect(after).toEqual(before);
    expect(await drain(ctx, 'Q')).toEqual([null, { json: [1] }]);
  });

  it('keeps its place: 3,000 messages in four queues over three restarts, with some taken and put between', async () => {
    const names = ['A', 'B', 'C', 'D'];
    const daemon = await start(...names);
    const ctx = await daemon.join();
    const expected = new Map<string, number[]>(names.map((name) => [name, []]));
    for (let round = 0; round < 3; round++) {
      await ctx.tpbegin(60);
      const sent: Promise<void>[] = [];
      for (let i = 0; i < 1000; i++) {
        const name = names[i % 4] as string;
        expected.get(name)?.push(round * 1000 + i);
        sent.push(ctx.tpenqueue(SPACE, name, null, round * 1000 + i));
      }
      await Promise.all(sent);
      await ctx.tpcommit();
      for (const name of names) {
        for (let i = 0; i < 20; i++) expect((await take(ctx, name)).data).toBe(expected.get(name)?.shift());
      }
      await daemon.restart();
    }
    for (const name of names) {
      const want = expected.get(name) ?? [];
      const got = await Promise.all(want.map(() => take(ctx, name)));
      expect(got.map(({ data }) => data)).toEqual(want);
      expect(await codeOf(take(ctx, name))).toBe('QMENOMSG');
    }
  });

  it('can be had by the msgid and corrid that it had', async () => {
    const daemon = await start('Q');
    const ctx = await daemon.join();
    await put(ctx, 'Q', 'first');
    const msgid = await putId(ctx, 'Q', 'second');
    await putId(ctx, 'Q', 'third', { flags: TPQ.TPQCORRID, corrid: 'k' });
    await daemon.restart();
    expect((await take(ctx, 'Q', ctlOf(TPQ.TPQGETBYCORRID, { corrid: 'k' }))).data).toBe('third');
    expect((await take(ctx, 'Q', ctlOf(TPQ.TPQGETBYMSGID, { msgid }))).data).toBe('second');
    expect(await codeOf(take(ctx, 'Q', ctlOf(TPQ.TPQGETBYMSGID, { msgid })))).toBe('QMENOMSG');
  });

  it('never has the msgid of another, before or after', async () => {
    const daemon = await start('Q');
    const ctx = await daemon.join();
    const ids = new Set<string>();
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 20; i++) ids.add(Buffer.from(await putId(ctx, 'Q', i)).toString('hex'));
      await drain(ctx, 'Q');
      await daemon.restart();
    }
    expect(ids.size).toBe(80);
  });

  it('that was taken does not come back', async () => {
    const daemon = await start('Q');
    const ctx = await daemon.join();
    await put(ctx, 'Q', 1, 2, 3);
    await take(ctx, 'Q');
    await ctx.tpbegin(60);
    await take(ctx, 'Q');
    await ctx.tpcommit();
    await daemon.restart();
    expect(await drain(ctx, 'Q')).toEqual([3]);
  });
});

describe('retry counts (C11)', () => {
  it('go on: the number of aborts before the move is the same with restarts between', async () => {
    const daemon = await start({ name: 'Q', retries: 3 });
    const ctx = await daemon.join();
    await put(ctx, 'Q', 'x');
    for (let i = 0; i < 4; i++) {
      expect((await daemon.queue('Q')).messages).toBe(1);
      await fail(ctx, 'Q');
      await daemon.restart();
    }
    expect([await drain(ctx, 'Q'), await drain(ctx, 'ERRQ')]).toEqual([[], ['x']]);
  });

  it('a stop with the message in an open transaction is no attempt (C43)', async () => {
    const daemon = await start('Q');
    const ctx = await daemon.join();
    await put(ctx, 'Q', 'x');
    for (let i = 0; i < 3; i++) {
      await ctx.tpbegin(60);
      await take(ctx, 'Q');
      await put(ctx, 'ERRQ', 'never committed');
      await daemon.restart();
      expect(await codeOf(ctx.tpcommit())).toBe('TPEABORT');
    }
    expect([await drain(ctx, 'Q'), await drain(ctx, 'ERRQ')]).toEqual([['x'], []]);
  });
});

describe('a retry delay (C35)', () => {
  it('goes on where it was, and time passes while the daemon is down', async () => {
    const { daemon, ctx } = await delayed();
    daemon.clock.advance(10_000);
    await daemon.stop();
    daemon.clock.advance(10_000);
    await daemon.start();
    daemon.clock.advance(9000);
    expect(await isThere(ctx)).toBe(false);
    daemon.clock.advance(1100);
    await eventually(() => isThere(ctx));
  });

  it('that ended meanwhile: the message is there at once, once', async () => {
    const { daemon, ctx } = await delayed();
    await daemon.stop();
    daemon.clock.advance(31_000);
    await daemon.start();
    expect(await drain(ctx, 'Q')).toEqual(['x']);
  });

  it('is no longer when the wall clock was set back by an hour meanwhile (C21)', async () => {
    const { daemon, ctx } = await delayed();
    await daemon.stop();
    daemon.clock.stepWall(-3_600_000);
    await daemon.start();
    expect(await isThere(ctx)).toBe(false);
    daemon.clock.advance(30_100);
    await eventually(() => isThere(ctx));
  });

  it('is not affected by a step of the wall clock while the daemon runs (C21)', async () => {
    const { daemon, ctx } = await delayed();
    for (const stepMs of [7_200_000, -10_800_000]) {
      daemon.clock.stepWall(stepMs);
      expect(await isThere(ctx)).toBe(false);
    }
    daemon.clock.advance(30_100);
    await eventually(() => isThere(ctx));
  });
});

it('STAT shows a delay that ended after the restart', async () => {
  const daemon = await start({ name: 'Q', retries: 5, delay: 30 });
  const ctx = await daemon.join();
  await put(ctx, 'Q', 'x');
  await fail(ctx, 'Q');
  await daemon.restart();
  expect(await daemon.queue('Q')).toMatchObject({ ready: 0, delayed: 1 });
  daemon.clock.advance(30_100);
  await eventually(async () => (await daemon.queue('Q')).ready === 1, 1000);
});

describe('a changed configuration (C53)', () => {
  it('more retries hold for messages that are there; the change is reported', async () => {
    const daemon = await start({ name: 'Q', retries: 1 });
    const ctx = await daemon.join();
    await put(ctx, 'Q', 'x');
    await fail(ctx, 'Q');
    await daemon.restart(space({ name: 'Q', retries: 2 }));
    expect(daemon.lines('Q', 'retries')).not.toEqual([]);
    await fail(ctx, 'Q');
    expect((await daemon.queue('Q')).ready).toBe(1);
    await fail(ctx, 'Q');
    expect(await drain(ctx, 'ERRQ')).toEqual(['x']);
  });

  it('fewer retries: the next rollback moves the message', async () => {
    const daemon = await start({ name: 'Q', retries: 9 });
    const ctx = await daemon.join();
    await put(ctx, 'Q', 'x');
    await fail(ctx, 'Q');
    await daemon.restart(space({ name: 'Q', retries: 0 }));
    await fail(ctx, 'Q');
    expect(await drain(ctx, 'ERRQ')).toEqual(['x']);
  });

  it('another delay holds from the next rollback on', async () => {
    const daemon = await start({ name: 'Q', retries: 9, delay: 100 });
    const ctx = await daemon.join();
    await put(ctx, 'Q', 'x');
    await daemon.restart(space({ name: 'Q', retries: 9, delay: 1 }));
    await fail(ctx, 'Q');
    daemon.clock.advance(1100);
    await eventually(async () => (await daemon.queue('Q')).ready === 1);
  });

  it('a queue that is no longer in the file keeps its messages, is warned about, and is as before when it is back', async () => {
    const daemon = await start('Q', 'GONE');
    const ctx = await daemon.join();
    await put(ctx, 'GONE', 1, 2);
    await daemon.restart(space('Q'));
    expect(
      daemon.log.filter(
        ({ level, message, fields }) =>
          level === 'warn' && `${message} ${JSON.stringify(fields)}`.includes('GONE'),
      ),
    ).toHaveLength(1);
    expect(['OK', 'QMEBADQUEUE']).toContain(await codeOf(take(ctx, 'GONE', ctlOf(TPQ.TPQPEEK))));
    await daemon.restart(space('Q', 'GONE'));
    expect(await drain(ctx, 'GONE')).toEqual([1, 2]);
  });

  it('a space that is no longer in the file is untouched, and is as before when it is back', async () => {
    const both = { spaces: [{ queues: ['Q'] }, { name: 'SECOND', queues: ['Q'] }] };
    const daemon = await daemonForTest(both);
    const ctx = await daemon.join();
    await ctx.tpenqueue('SECOND', 'Q', null, 'x');
    await daemon.restart({ spaces: [{ queues: ['Q'] }] });
    expect(await codeOf(ctx.tpdequeue('SECOND', 'Q', null, null))).toBe('TPENOENT');
    // Its device is not in the file any more: nobody knows that it is there.
    expect(daemon.lines('warn', 'SECOND')).toEqual([]);
    await daemon.restart(both);
    expect((await ctx.tpdequeue('SECOND', 'Q', null, null)).data).toBe('x');
  });

  it('a space that is no longer in the file, on a device that is, is warned about', async () => {
    const both = ubbText({ spaces: [{ queues: ['Q'] }, { name: 'a/b ä', alias: 'SECOND', queues: ['Q'] }] })
      .replace('data2:', 'data1:')
      .replace('a/b ä SRVGRP=G2', '"a/b ä" SRVGRP=G2')
      .replace('QSPACE=a/b ä', 'QSPACE="a/b ä"');
    const daemon = await daemonForTest(both);
    const ctx = await daemon.join();
    await ctx.tpenqueue('SECOND', 'Q', null, 'x');
    expect(daemon.lines('warn')).toEqual([]);
    mkdirSync(join(daemon.dir, 'data1', 'lost+found'));
    await daemon.restart(ubbText({ spaces: [{ queues: ['Q'] }] }));
    const device = join(daemon.dir, 'data1');
    expect(daemon.lines('warn')).toEqual([
      `warn queue space a/b ä lies on device ${device} but is no longer in the configuration; it stays, with its messages ` +
        JSON.stringify({ space: 'a/b ä', device }),
    ]);
    await daemon.restart(both);
    expect((await ctx.tpdequeue('SECOND', 'Q', null, null)).data).toBe('x');
  });

  it('a space whose line in *QSPACES was taken out is used as it is', async () => {
    const text = ubbText({ spaces: [{ errorQueue: 'E', queues: ['Q', 'E'] }] });
    const daemon = await daemonForTest(text);
    const ctx = await daemon.join();
    await put(ctx, 'Q', 'x');
    await daemon.restart(text.replace(/^QSPACE SRVGRP[^]*/m, ''));
    expect((await daemon.queue('Q')).messages).toBe(1);
    await fail(ctx, 'Q');
    expect(await drain(ctx, 'E')).toEqual(['x']);
  });

  it('another error queue, or none, is reported', async () => {
    const daemon = await daemonForTest(withErrorQueue('E'));
    expect(daemon.lines('changed')).toEqual([]);
    await daemon.restart(withErrorQueue('E'));
    expect(daemon.lines('changed')).toEqual([]);
    await daemon.restart(withErrorQueue('F'));
    await daemon.restart(withErrorQueue());
    expect(daemon.log.map(({ message }) => message).filter((message) => message.includes('changed'))).toEqual(
      ['queue space QSPACE changed: errorQueue E → F', 'queue space QSPACE changed: errorQueue F → none'],
    );
  });

  it('a changed ORDER is refused with its place, all of them at once, and nothing is changed', async () => {
    const daemon = await start({ name: 'Q', retries: 1 }, 'R');
    await daemon.stop();
    const changed = ['Q', 'R'].map((name) => ({ name, retries: 7, more: 'ORDER=lifo' }));
    const lines = ubbText(space(...changed)).split('\n');
    const expected = ['Q', 'R'].map((name) => {
      const place = `ubbconfig:${lines.findIndex((line) => line.startsWith(`"${name}"`)) + 1}:1`;
      const what = 'ORDER is fixed when a queue is created: it is fifo, the configuration says lifo';
      return `${place}: queue ${name}: ${what}; legal: ORDER="fifo", or a queue of another name`;
    });
    await expect(daemon.restart(space(...changed))).rejects.toThrow(new Error(expected.join('\n')));
    await daemon.restart(space({ name: 'Q', retries: 1 }, 'R'));
    expect(daemon.lines('changed')).toEqual([]);
  });

  it('a new queue is created, an error queue is added to a space that had none', async () => {
    const daemon = await daemonForTest({ spaces: [{ queues: ['Q'] }] });
    const ctx = await daemon.join();
    await put(ctx, 'Q', 'x');
    await daemon.restart({ spaces: [{ errorQueue: 'NEWERR', queues: ['Q', 'NEWERR'] }] });
    await fail(ctx, 'Q');
    expect(await drain(ctx, 'NEWERR')).toEqual(['x']);
  });

  it('another alias for the same space: the old name is gone, the messages are there', async () => {
    const daemon = await daemonForTest({ spaces: [{ alias: 'OLD', queues: ['Q'] }] });
    const ctx = await daemon.join();
    await ctx.tpenqueue('OLD', 'Q', null, 'x');
    await daemon.restart({ spaces: [{ alias: 'NEW', queues: ['Q'] }] });
    expect(await codeOf(ctx.tpdequeue('OLD', 'Q', null, null))).toBe('TPENOENT');
    expect((await ctx.tpdequeue('NEW', 'Q', null, null)).data).toBe('x');
  });
});
