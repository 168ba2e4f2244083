// Queues in words: put, get, consume, iterate.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Context, QME, TPERRNO, TpError, tpinit, TPQ } from '../../clients/typescript/index.ts';
import { OP } from '../../proto/codes.ts';
import { FakeDaemon } from '../support/fake-daemon.ts';

let daemon: FakeDaemon;
let ctx: Context;
const errors: unknown[] = [];

beforeEach(async () => {
  daemon = await FakeDaemon.start();
  errors.length = 0;
  ctx = await tpinit({
    address: daemon.address,
    reconnect: { initialMs: 10, maxMs: 50 },
    onError: (error) => void errors.push(error),
  });
});

afterEach(async () => {
  await ctx.tpterm();
  await daemon.stop();
});

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 3000 && !condition(); i++) await sleep(1);
  if (!condition()) throw new Error('it did not come true');
}

describe('put', () => {
  it('turns words into flags and members', async () => {
    const queue = ctx.queue<string>('QSPACE', 'Q');
    const { msgid } = await queue.put('x', {
      priority: 80,
      corrid: 'order-17',
      replyTo: 'RPLYQ',
      failTo: 'FAILQ',
      urcode: 3,
    });
    expect(msgid.length).toBe(32);
    expect(daemon.requests.at(-1)).toMatchObject({
      ctl: {
        flags: TPQ.TPQMSGID | TPQ.TPQPRIORITY | TPQ.TPQCORRID | TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ,
        priority: 80,
        replyqueue: 'RPLYQ',
        failurequeue: 'FAILQ',
        urcode: 3,
      },
    });
    await queue.put('x', { delayMs: 1500, expiresInMs: 60_000, corrid: new Uint8Array([1]) });
    expect(daemon.requests.at(-1)).toMatchObject({
      ctl: {
        flags: TPQ.TPQMSGID | TPQ.TPQTIME_REL | TPQ.TPQEXPTIME_REL | TPQ.TPQCORRID,
        deqTime: 2,
        expTime: 60,
      },
    });
  });

  it('a corrid that is too long is QMEINVAL', async () => {
    await expect(ctx.queue('QSPACE', 'Q').put('x', { corrid: 'x'.repeat(33) })).rejects.toMatchObject({
      diagnostic: QME.QMEINVAL,
    });
    await expect(ctx.queue('QSPACE', 'Q').put('x', { corrid: new Uint8Array(33) })).rejects.toMatchObject({
      diagnostic: QME.QMEINVAL,
    });
  });

  it('joins the transaction of its context', async () => {
    await ctx.tpbegin(30);
    await ctx.queue('QSPACE', 'Q').put('x');
    expect(daemon.texts('QSPACE/Q')).toEqual([]);
    await ctx.tpcommit();
    expect(daemon.texts('QSPACE/Q')).toEqual(['x']);
  });
});

describe('get', () => {
  it('gives a message with what came with it, and null when there is none', async () => {
    const queue = ctx.queue<{ n: number }>('QSPACE', 'Q');
    expect(await queue.get()).toBeNull();
    const { msgid } = await queue.put({ n: 1 }, { corrid: 'c-1', priority: 7, replyTo: 'R', urcode: 9 });
    const peeked = await queue.get({ peek: true });
    const message = await queue.get();
    expect(peeked?.msgidText).toBe(message?.msgidText);
    expect(message).toMatchObject({
      data: { n: 1 },
      type: 'JSON',
      priority: 7,
      replyTo: 'R',
      failTo: null,
      urcode: 9,
      appkey: -1,
      corridText: 'c-1',
      msgid,
    });
    expect(await queue.get()).toBeNull();
  });

  it('selects by corrid and by msgid, also as text', async () => {
    const queue = ctx.queue<string>('QSPACE', 'Q');
    await queue.put('a', { corrid: 'x' });
    const { msgid } = await queue.put('b', { corrid: 'y' });
    await queue.put('c', { corrid: 'y' });
    expect((await queue.get({ msgid: Buffer.from(msgid).toString('hex') }))?.data).toBe('b');
    expect((await queue.get({ corrid: 'y' }))?.data).toBe('c');
    expect(await queue.get({ corrid: 'y' })).toBeNull();
  });

  it('waits, over the limits of the daemon, for as long as it was told', async () => {
    const queue = ctx.queue<string>('QSPACE', 'Q');
    let answered = 0;
    // The daemon ends every wait at once.
    daemon.script = (request) => {
      if (request.op !== OP.DEQUEUE || answered++ >= 3) return 'default';
      return {
        op: OP.ERROR,
        id: request.id,
        tperrno: TPERRNO.TPEDIAGNOSTIC,
        diagnostic: QME.QMENOMSG,
        message: 'x',
      };
    };
    const got = queue.get({ wait: true });
    await until(() => daemon.waiters.length === 1);
    await queue.put('late');
    expect((await got)?.data).toBe('late');
    const started = performance.now();
    expect(await queue.get({ wait: 30 })).toBeNull();
    expect(performance.now() - started).toBeGreaterThanOrEqual(25);
  });

  it('passes other failures on', async () => {
    await expect(ctx.queue('QSPACE', 'NONE').get()).rejects.toMatchObject({ diagnostic: QME.QMEBADQUEUE });
  });
});

describe('consume', () => {
  it('commits what resolves, rolls back what throws, and ends with its signal', async () => {
    const queue = ctx.queue<string>('QSPACE', 'Q');
    const seen: string[] = [];
    const stop = new AbortController();
    const done = queue.consume(
      async (message, tx) => {
        seen.push(message.data);
        await tx.queue('QSPACE', 'OUT').put(`${message.data}!`);
        if (message.data === 'bad' && seen.filter((text) => text === 'bad').length === 1)
          throw new Error('once');
      },
      { signal: stop.signal },
    );
    for (const text of ['a', 'bad', 'c']) await queue.put(text);
    await until(() => daemon.commits === 3);
    stop.abort();
    await done;
    expect(seen).toEqual(['a', 'bad', 'c', 'bad']);
    expect(daemon.texts('QSPACE/OUT')).toEqual(['a!', 'c!', 'bad!']);
    expect(daemon.texts('QSPACE/Q')).toEqual([]);
    expect(errors).toMatchObject([{ message: 'once' }]);
    expect(daemon.waiters.length).toBe(0);
  });

  it('runs as many handlers at the same time as told, and waits for those under way', async () => {
    const queue = ctx.queue<string>('QSPACE', 'Q');
    const stop = new AbortController();
    let running = 0;
    let most = 0;
    const done = queue.consume(
      async () => {
        most = Math.max(most, ++running);
        await sleep(20);
        running--;
      },
      { concurrency: 3, signal: stop.signal },
    );
    await Promise.all(Array.from({ length: 9 }, (_, i) => queue.put(`${i}`)));
    await until(() => running === 3);
    stop.abort();
    await done;
    expect([running, most]).toEqual([0, 3]);
    expect(daemon.commits + daemon.texts('QSPACE/Q').length).toBe(9);
  });

  it('handles a message that was taken when the signal aborted: giving it back would count as an attempt', async () => {
    const queue = ctx.queue<string>('QSPACE', 'Q');
    const stop = new AbortController();
    const seen: string[] = [];
    const done = queue.consume((message) => void seen.push(message.data), { signal: stop.signal });
    await until(() => daemon.waiters.length === 1);
    daemon.script = (request) => {
      if (request.op === OP.CANCEL) {
        daemon.put('QSPACE/Q', {
          msgid: daemon.newMsgid(),
          corrid: null,
          priority: 0,
          replyqueue: '',
          failurequeue: '',
          supplied: 0,
          urcode: 0,
          body: { type: 'STRING', subtype: '', data: Buffer.from('raced') },
          attempts: 0,
        });
      }
      return 'default';
    };
    stop.abort();
    await done;
    expect([seen, daemon.commits]).toEqual([['raced'], 1]);
  });

  it('resumes by itself when the daemon was away, and gives back what was under way', async () => {
    const queue = ctx.queue<string>('QSPACE', 'Q');
    const stop = new AbortController();
    const seen: string[] = [];
    let lost: boolean | null = null;
    const done = queue.consume(
      async (message, tx) => {
        seen.push(message.data);
        if (seen.length > 1) return;
        await daemon.stop();
        await until(() => tx.lost);
        lost = tx.lost;
        await daemon.listen();
      },
      { signal: stop.signal },
    );
    await queue.put('again');
    await until(() => daemon.commits === 1);
    stop.abort();
    await done;
    expect([seen, lost]).toEqual([['again', 'again'], true]);
    expect(errors.some((error) => TpError.is(error) && error.tperrno === TPERRNO.TPEABORT)).toBe(true);
  });

  it('rejects when the queue cannot be read at all', async () => {
    await expect(ctx.queue('QSPACE', 'NONE').consume(() => 1, { concurrency: 2 })).rejects.toMatchObject({
      diagnostic: QME.QMEBADQUEUE,
    });
    await expect(ctx.queue('QSPACE', 'Q').consume(() => 1, { concurrency: 0 })).rejects.toMatchObject({
      tperrno: TPERRNO.TPEINVAL,
    });
  });

  it('retries what passes', async () => {
    const queue = ctx.queue<string>('QSPACE', 'Q');
    let refused = 0;
    daemon.script = (request) =>
      request.op === OP.BEGIN && refused++ < 2
        ? { op: OP.ERROR, id: request.id, tperrno: TPERRNO.TPETRAN, diagnostic: 0, message: 'too many' }
        : 'default';
    const stop = new AbortController();
    const done = queue.consume(() => stop.abort(), { signal: stop.signal });
    await queue.put('x');
    await done;
    expect([daemon.commits, errors.length]).toEqual([1, 2]);
  });

  it('ends when its context ends, also a forked one', async () => {
    const other = ctx.fork();
    const done = other.queue('QSPACE', 'Q').consume(() => 1);
    await until(() => daemon.waiters.length === 1);
    await other.tpterm();
    await done;
    expect(daemon.connections.length).toBe(1);
  });
});

describe('iteration', () => {
  it('yields messages that are ended with commit() or rollback(); one left open is rolled back', async () => {
    const queue = ctx.queue<string>('QSPACE', 'Q');
    for (const text of ['a', 'b', 'c']) await queue.put(text);
    const seen: string[] = [];
    for await (const message of queue) {
      seen.push(message.data);
      if (message.data === 'a') await message.commit();
      if (message.data === 'b') await message.rollback();
      if (message.data === 'c') break;
    }
    expect(seen).toEqual(['a', 'b', 'c']);
    expect([daemon.commits, daemon.aborts]).toEqual([1, 2]);
    expect(daemon.texts('QSPACE/Q')).toEqual(['b', 'c']);
  });

  it('waits for messages and ends with its signal', async () => {
    const queue = ctx.queue<string>('QSPACE', 'Q');
    const stop = new AbortController();
    const seen: string[] = [];
    const loop = (async () => {
      for await (const message of queue.messages({ signal: stop.signal })) {
        seen.push(message.data);
        await message.commit();
        if (seen.length === 2) stop.abort();
      }
    })();
    await until(() => daemon.waiters.length === 1);
    await queue.put('a');
    await queue.put('b');
    await loop;
    expect([seen, daemon.commits]).toEqual([['a', 'b'], 2]);
  });

  it('autoCommit takes without a transaction', async () => {
    const queue = ctx.queue<string>('QSPACE', 'Q');
    await queue.put('a');
    for await (const message of queue.messages({ autoCommit: true })) {
      expect(message.data).toBe('a');
      await message.commit();
      break;
    }
    expect(daemon.requests.some(({ op }) => op === OP.BEGIN)).toBe(false);
    expect(daemon.texts('QSPACE/Q')).toEqual([]);
  });

  it('a throw inside the loop rolls back', async () => {
    const queue = ctx.queue<string>('QSPACE', 'Q');
    await queue.put('a');
    const loop = async (): Promise<void> => {
      for await (const message of queue) throw new Error(message.data);
    };
    await expect(loop()).rejects.toThrow('a');
    expect([daemon.aborts, daemon.texts('QSPACE/Q')]).toEqual([1, ['a']]);
  });
});
