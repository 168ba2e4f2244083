// Threshold commands: when they run, when not again, in each unit, for each class of messages, over restarts [spec 5.6]. Every command
// writes a line into a file of its queue; that one has not run is asked after another, started later, has.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Context, TPQ } from '../../../clients/typescript/index.ts';
import { daemonForAll, eventually, type InProcess } from '../../support/in-process.ts';
import {
  attempt,
  domain,
  drain,
  got,
  type Members,
  type QueueWords,
  send,
  sendTo,
  SPACE,
} from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'tmq-th-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fired(queue: string): number {
  try {
    return readFileSync(join(folder, queue), 'utf8').split('\n').length - 1;
  } catch {
    return 0;
  }
}

const writes = (name: string): string => `echo fired >> ${join(folder, name)}`;
const watched = (name: string, high: string, low: string, more: Partial<QueueWords> = {}): QueueWords => ({
  name,
  high,
  low,
  cmd: writes(name),
  ...more,
});
const MEMORY: Members = { flags: TPQ.TPQDELIVERYQOS, delivery_qos: 4 };

/** Calls on one daemon's queues, with what their commands did. */
class Watch {
  readonly daemon: InProcess;
  ctx: Context | null = null;
  private probes = 0;

  constructor(daemon: InProcess) {
    this.daemon = daemon;
  }

  get calls(): Context {
    if (this.ctx === null) throw new Error('not joined');
    return this.ctx;
  }

  async put(queue: string, count: number, members: Members = {}, bytes = 1): Promise<void> {
    for (let i = 0; i < count; i++) await send(this.calls, queue, Buffer.alloc(bytes, 1), members);
  }

  async take(queue: string, count: number): Promise<void> {
    for (let i = 0; i < count; i++) expect(typeof (await got(this.calls, queue))).toBe('object');
  }

  /** So often, and not more often. */
  async expectFired(queue: string, times: number): Promise<void> {
    await eventually(() => fired(queue) >= times);
    await this.put('PROBE', 1);
    await eventually(() => fired('PROBE') > this.probes);
    this.probes = fired('PROBE');
    await drain(this.calls, 'PROBE');
    expect([queue, fired(queue)]).toEqual([queue, times]);
  }
}

const daemon = daemonForAll(
  domain([
    {
      words: 'PAGES=200 NONPERSIST="1m" ERRORQ=ERRQ',
      queues: [
        watched('PROBE', '1m', '0'),
        watched('REACH', '5m', '2m'),
        watched('AGAIN', '5m', '2m'),
        watched('ZERO', '3m', '0'),
        watched('ZEROM', '3m', '0m'),
        watched('BYTES', '1000b', '300b'),
        watched('BLOCKS', '10B', '3B'),
        watched('SHARE', '25%', '5%'),
        watched('COMMIT', '5m', '2m'),
        watched('LOCKED', '3m', '1m', { retries: 9 }),
        watched('OPEN', '3m', '1m'),
        watched('LATE', '3m', '1m'),
        watched('BORN', '3m', '1m'),
        watched('LIFE', '3m', '1m'),
        watched('CLASS', '3m', '1m'),
        watched('ERRQ', '2m', '0'),
        watched('STOP', '3m', '1m'),
        watched('STOP2', '3m', '1m'),
        watched('STOP3', '3m', '1m'),
        { name: 'FAILING', retries: 0 },
        { name: 'SHELL', high: '1m', low: '0', cmd: `for i in 1 2; do ${writes('SHELL')}; done; exit 7` },
        { name: 'MISSING', high: '1m', low: '0', cmd: '/no/such/program' },
        { name: 'NOCMD', high: '1m', low: '0' },
        { name: 'OTHER' },
      ],
    },
  ]),
);
const watch = new Watch(daemon);
beforeAll(async () => {
  watch.ctx = await daemon.join();
});
afterEach(async () => {
  if (watch.calls.tpgetlev() === 1) await watch.calls.tpabort();
});

describe('a command', () => {
  it('[spec 5.6: Fires when usage *reaches* the high limit] with the message that reaches it, once', async () => {
    await watch.put('REACH', 4);
    await watch.expectFired('REACH', 0);
    await watch.put('REACH', 1);
    await watch.expectFired('REACH', 1);
    await watch.put('REACH', 10);
    await watch.expectFired('REACH', 1);
    await drain(watch.calls, 'REACH');
  });

  it('does not run again before usage has fallen below low and reached high anew', async () => {
    await watch.put('AGAIN', 5);
    await watch.expectFired('AGAIN', 1);
    await watch.take('AGAIN', 2);
    await watch.put('AGAIN', 4);
    await watch.expectFired('AGAIN', 1);
    await watch.take('AGAIN', 6);
    await watch.put('AGAIN', 3);
    await watch.expectFired('AGAIN', 1);
    await watch.put('AGAIN', 1);
    await watch.expectFired('AGAIN', 2);
    await drain(watch.calls, 'AGAIN');
  });

  it.each(['ZERO', 'ZEROM'])(
    '[spec 5.6: With low 0 it re-arms when the queue is empty] %s',
    async (queue) => {
      await watch.put(queue, 3);
      await watch.expectFired(queue, 1);
      await watch.take(queue, 2);
      await watch.put(queue, 4);
      await watch.expectFired(queue, 1);
      await drain(watch.calls, queue);
      await watch.put(queue, 3);
      await watch.expectFired(queue, 2);
      await drain(watch.calls, queue);
    },
  );

  it('is run by the shell; its exit status and one that does not exist change nothing', async () => {
    await watch.put('SHELL', 1);
    await watch.put('MISSING', 2);
    await watch.put('NOCMD', 2);
    await watch.expectFired('SHELL', 2);
    for (const queue of ['SHELL', 'MISSING', 'NOCMD'])
      expect(await drain(watch.calls, queue)).not.toEqual([]);
  });
});

describe('units', () => {
  it('b counts bytes', async () => {
    await watch.put('BYTES', 1, {}, 400);
    await watch.expectFired('BYTES', 0);
    await watch.put('BYTES', 1, {}, 1000);
    await watch.expectFired('BYTES', 1);
    await watch.take('BYTES', 1);
    await watch.put('BYTES', 1, {}, 1000);
    await watch.expectFired('BYTES', 1);
    await drain(watch.calls, 'BYTES');
    await watch.put('BYTES', 1, {}, 1000);
    await watch.expectFired('BYTES', 2);
    await drain(watch.calls, 'BYTES');
  });

  it('B counts blocks: a message of one byte is one', async () => {
    await watch.put('BLOCKS', 9);
    await watch.expectFired('BLOCKS', 0);
    await watch.put('BLOCKS', 1);
    await watch.expectFired('BLOCKS', 1);
    await watch.take('BLOCKS', 8);
    await watch.put('BLOCKS', 1, {}, 7 * 512 + 1);
    await watch.expectFired('BLOCKS', 2);
    await drain(watch.calls, 'BLOCKS');
  });

  it('[spec 5.6: Percent = share of queue capacity] pages of this queue in those of the space', async () => {
    await watch.put('OTHER', 60);
    await watch.put('SHARE', 49);
    await watch.expectFired('SHARE', 0);
    await watch.put('SHARE', 1);
    await watch.expectFired('SHARE', 1);
    await watch.take('SHARE', 41);
    await watch.put('SHARE', 41);
    await watch.expectFired('SHARE', 2);
    for (const queue of ['SHARE', 'OTHER']) await drain(watch.calls, queue);
  });
});

describe('transactions and times', () => {
  it('a commit that passes the limit by far runs it once, and nothing before the commit', async () => {
    await watch.calls.tpbegin(60);
    await watch.put('COMMIT', 8);
    expect(fired('COMMIT')).toBe(0);
    await watch.calls.tpcommit();
    await watch.expectFired('COMMIT', 1);
    await watch.calls.tpbegin(60);
    await drain(watch.calls, 'COMMIT');
    await watch.calls.tpcommit();
    await watch.put('COMMIT', 5);
    await watch.expectFired('COMMIT', 2);
    await drain(watch.calls, 'COMMIT');
  });

  it('what was locked and rolled back never left: not armed by it', async () => {
    await watch.put('LOCKED', 3);
    await watch.expectFired('LOCKED', 1);
    await watch.calls.tpbegin(60);
    await drain(watch.calls, 'LOCKED');
    await watch.calls.tpabort();
    await watch.put('LOCKED', 1);
    await watch.expectFired('LOCKED', 1);
    expect(await drain(watch.calls, 'LOCKED')).toHaveLength(4);
  });

  it('a transaction that is rolled back runs nothing', async () => {
    await watch.calls.tpbegin(60);
    await watch.put('OPEN', 9);
    await watch.calls.tpabort();
    await watch.expectFired('OPEN', 0);
  });

  it('delayed messages count, expired ones arm again, born-expired ones never count', async () => {
    const past = { flags: TPQ.TPQEXPTIME_ABS, exp_time: 1 };
    await watch.put('BORN', 2);
    await watch.put('BORN', 5, past);
    await watch.expectFired('BORN', 0);
    await watch.put('BORN', 1);
    await watch.expectFired('BORN', 1);
    await watch.put('LATE', 3, { flags: TPQ.TPQTIME_REL, deq_time: 500 });
    await watch.expectFired('LATE', 1);
    await watch.put('LIFE', 3, { flags: TPQ.TPQEXPTIME_REL, exp_time: 100 });
    await watch.expectFired('LIFE', 1);
    daemon.clock.advance(501_000);
    await eventually(async () => (await daemon.queue('LIFE')).messages === 0);
    await watch.put('LIFE', 3);
    await watch.expectFired('LIFE', 2);
    for (const queue of ['BORN', 'LATE', 'LIFE']) await drain(watch.calls, queue);
  });

  it('a move to the error queue counts there', async () => {
    await watch.put('FAILING', 2);
    for (let i = 0; i < 2; i++) await attempt(watch.calls, 'FAILING');
    await watch.expectFired('ERRQ', 1);
    await drain(watch.calls, 'ERRQ');
  });
});

describe('state', () => {
  it('[spec 5.6: State = armed/disarmed bit per queue and per class] non-persistent messages do not count to HIGH', async () => {
    await watch.put('CLASS', 2);
    await watch.put('CLASS', 5, MEMORY);
    await watch.expectFired('CLASS', 0);
    await watch.put('CLASS', 1);
    await watch.expectFired('CLASS', 1);
    await drain(watch.calls, 'CLASS');
  });

  it('a restart keeps the bit; a queue that is at its low limit then is armed', async () => {
    for (const queue of ['STOP', 'STOP2', 'STOP3']) {
      await watch.put(queue, queue === 'STOP3' ? 2 : 3);
      await watch.expectFired(queue, queue === 'STOP3' ? 0 : 1);
    }
    // STOP2 falls to its low limit and not below.
    await watch.take('STOP2', 2);
    await daemon.restart();
    for (const queue of ['STOP', 'STOP2']) await watch.put(queue, 2);
    await watch.expectFired('STOP', 1);
    await watch.expectFired('STOP2', 2);
    // Two messages from before and one from after.
    await watch.put('STOP3', 1);
    await watch.expectFired('STOP3', 1);
    for (const queue of ['STOP', 'STOP2', 'STOP3']) await drain(watch.calls, queue);
  });
});

describe('the second threshold, of non-persistent messages', () => {
  const second = (name: string, high: string, low: string): QueueWords => ({
    name,
    policy: 'nonpersist',
    more: `NHIGH="${high}" NLOW="${low}" NCMD="${writes(name)}"`,
  });
  const memory = daemonForAll(
    domain([
      {
        words: 'NONPERSIST="64k"',
        queues: [
          watched('PROBE', '1m', '0'),
          second('NBYTES', '9000b', '1000b'),
          second('NSHARE', '50%', '5%'),
          { ...second('NBOTH', '9000b', '1000b'), high: '3m', low: '0', cmd: writes('NBOTH.disk') },
        ],
      },
    ]),
  );
  const small = new Watch(memory);
  beforeAll(async () => {
    small.ctx = await memory.join();
    rmSync(join(folder, 'PROBE'), { force: true });
  });

  it.each(['NBYTES', 'NSHARE'])('%s: reaches, stays silent, falls, reaches again', async (queue) => {
    const [few, many] = queue === 'NBYTES' ? [2, 1] : [6, 3];
    await small.put(queue, few, {}, 4096);
    await small.expectFired(queue, 0);
    await small.put(queue, many, {}, 4096);
    await small.expectFired(queue, 1);
    await small.take(queue, many);
    await small.put(queue, many, {}, 4096);
    await small.expectFired(queue, 1);
    await drain(small.calls, queue);
    await small.put(queue, few + many, {}, 4096);
    await small.expectFired(queue, 2);
    await drain(small.calls, queue);
  });

  it('each class has its own bit and command; a restart empties the memory and arms it', async () => {
    const disk: Members = { flags: TPQ.TPQDELIVERYQOS, delivery_qos: 2 };
    await small.put('NBOTH', 3, disk, 4096);
    await small.expectFired('NBOTH.disk', 1);
    await small.expectFired('NBOTH', 0);
    await small.put('NBOTH', 3, {}, 4096);
    await small.expectFired('NBOTH', 1);
    await memory.restart();
    await small.put('NBOTH', 3, {}, 4096);
    await small.expectFired('NBOTH', 2);
    await sendTo(small.calls, SPACE, 'NBOTH', 'x', disk);
    await small.expectFired('NBOTH.disk', 1);
    await drain(small.calls, 'NBOTH');
  });
});
