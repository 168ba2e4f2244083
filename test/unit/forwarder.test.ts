// A TMQFORWARD server on an engine in memory: what cannot be brought about from outside. Paused queues, a forwarder that fails (RESTART,
// MAXGEN, GRACE, RCMD [spec 6.4]), a transaction whose time is over before its call.
import { describe, expect, it, onTestFinished } from 'vitest';
import { OP, QME, RVAL, TPQ } from '../../proto/codes.ts';
import type { Reply } from '../../proto/message.ts';
import { Client } from '../../src/atmi/client.ts';
import { Joins } from '../../src/atmi/joins.ts';
import type { ServiceCall } from '../../src/atmi/service-call.ts';
import { Services } from '../../src/atmi/services.ts';
import { Transactions } from '../../src/atmi/transactions.ts';
import { AssertionError } from '../../src/base/assert.ts';
import { TimerQueue } from '../../src/base/timer-queue.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import type { QueueAttributes } from '../../src/queue/attributes.ts';
import {
  RESTART_PAUSE_MS,
  SERVICE_GRACE_MS,
  Tmqforward,
  type TmqforwardOptions,
} from '../../src/tmqforward/tmqforward.ts';
import { Lives } from '../../src/tmqforward/lives.ts';
import { openMemoryLog } from '../../src/wal/memory/memory-log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { properties, queueAttributes, spaceAttributes } from '../support/queue-values.ts';

const OPTIONS: TmqforwardOptions = {
  srvgrp: 'G',
  grpno: 7,
  srvid: 100,
  instances: 1,
  instancesMax: 1,
  queues: ['S'],
  timeoutS: 30,
  idleS: 3600,
  exitsWhenEmpty: false,
  keepsFailures: false,
  isOutside: false,
  fireDelayS: null,
  blockTimeS: 0,
  restart: false,
  maxGen: 1,
  graceS: 86_400,
  rcmd: '',
};

const nothing = (): void => {};

/** Throws what it is told to when a service is called. */
class BreakingServices extends Services {
  breaks: Error | null = null;
  override call(call: ServiceCall): void {
    if (this.breaks !== null) throw this.breaks;
    super.call(call);
  }
}

class Bench {
  readonly clock = new ManualClock();
  readonly log: string[] = [];
  readonly commands: string[] = [];
  readonly transactions = new Transactions(this.clock, { maxGtt: 100, maxTranTimeS: 0 });
  readonly services = new BreakingServices({
    clock: this.clock,
    messageBytesMax: 1000,
    joins: new Joins(this.transactions),
  });
  readonly seen: string[] = [];
  /** What the service S returns: data, or null for TPFAIL with the data 'no'. */
  answer: string | null = 'done';
  engine!: SpaceEngine;
  server!: Tmqforward;
  /** Errors that nobody caught: the daemon would end. */
  readonly fatal: unknown[] = [];

  static async open(
    options: Partial<TmqforwardOptions> = {},
    queues: readonly QueueAttributes[] = [],
  ): Promise<Bench> {
    const bench = new Bench();
    const { clock, services, transactions } = bench;
    const say = (level: string) => (message: string) => void bench.log.push(`${level} ${message}`);
    const ulog = { info: say('info'), warn: say('warn'), error: say('error') };
    const soon = (run: () => void): void => {
      setImmediate(() => {
        try {
          run();
        } catch (error) {
          bench.fatal.push(error);
        }
      });
    };
    const store = openMemoryLog({ clock });
    bench.engine = await openSpace(store, new AbortController().signal, {
      clock,
      ulog,
      soon,
      runCommand: nothing,
    });
    bench.engine.define({ kind: 'defineSpace', attributes: spaceAttributes('SPACE', { errorQueue: 'E' }) });
    const all = [queueAttributes('E'), queueAttributes('R'), queueAttributes('S', { retries: 9 }), ...queues];
    for (const attributes of all) bench.engine.define({ kind: 'defineQueue', attributes });
    const timers = new TimerQueue(clock);
    const { engine } = bench;
    const ports = { clock, ulog, soon, services, transactions, timers, engine };
    bench.server = new Tmqforward(
      {
        ...ports,
        runCommand: (command, { grpno, srvid }) => void bench.commands.push(`${command} ${grpno} ${srvid}`),
      },
      { ...OPTIONS, ...options },
    );
    bench.offer();
    bench.server.start();
    onTestFinished(() => engine.close());
    return bench;
  }

  /** Offers S and answers every request at once. */
  private offer(): void {
    const { services } = this;
    const port = {
      send: (reply: Reply): void => {
        if (reply.op !== OP.REQUEST) return;
        const { id, body } = reply;
        this.seen.push(Buffer.from(body.data ?? []).toString());
        const rval = this.answer === null ? RVAL.TPFAIL : RVAL.TPSUCCESS;
        const data = Buffer.from(this.answer ?? 'no');
        const answer = { op: OP.RETURN, id, rval, rcode: 0, body: { type: 'STRING', subtype: '', data } };
        setImmediate(() => services.returned(client, answer));
      },
    };
    const client = new Client({ cltid: new Uint8Array(16), appkey: -1 } as Client['identity'], port);
    services.advertise(client, 'S', 100);
  }

  put(queue: string, text: string, to: { replyqueue?: string; failurequeue?: string } = {}): void {
    const flags = TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ;
    const given = properties({ flags, ...to });
    const data = Buffer.from(text);
    const { code } = this.engine.enqueue({ qname: queue, properties: given, terms: null, data, work: null });
    expect(code).toBe(QME.OK);
  }

  change(name: string, over: Partial<QueueAttributes>): void {
    const attributes = this.engine.space.queue(name)?.attributes ?? queueAttributes(name);
    this.engine.define({ kind: 'defineQueue', attributes: { ...attributes, ...over } });
  }

  count(queue: string): number {
    return this.engine.space.queue(queue)?.messages ?? 0;
  }

  /** Lets everything happen that needs no time. */
  async rest(): Promise<void> {
    for (let i = 0; i < 30; i++) await new Promise<void>((resolve) => void setImmediate(resolve));
  }
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.rest();
  }
  lines(word: string): number {
    return this.log.filter((line) => line.includes(word)).length;
  }
}

describe('-i', () => {
  it.each([
    [5, 5000],
    // "Poll continuously" is once a second: arrivals wake it anyway.
    [0, 1000],
  ])('%d: idle queues are looked at again after %d ms, not before', async (idleS, ms) => {
    const bench = await Bench.open({ idleS });
    await bench.rest();
    let looks = 0;
    const { engine } = bench;
    const dequeue = engine.dequeue.bind(engine);
    engine.dequeue = (request) => {
      looks++;
      dequeue(request);
    };
    await bench.pass(ms - 1);
    expect(looks).toBe(0);
    await bench.pass(1);
    // One look that does not wait, and one that does until the next.
    expect(looks).toBe(2);
    await bench.pass(ms);
    expect(looks).toBe(4);
  });
});

describe('paused queues', () => {
  it('the reply queue: rolled back and retried after a pause (C73)', async () => {
    const bench = await Bench.open();
    bench.change('R', { enqueuePaused: true });
    bench.put('S', 'x', { replyqueue: 'R' });
    await bench.rest();
    expect([bench.seen.length, bench.count('S'), bench.lines('QMESHARE')]).toEqual([1, 1, 1]);
    bench.change('R', { enqueuePaused: false });
    await bench.pass(1001);
    expect([bench.seen.length, bench.count('S'), bench.count('R')]).toEqual([2, 0, 1]);
  });

  it('the failure queue under -d: the request stays, one attempt counted', async () => {
    const bench = await Bench.open({ keepsFailures: true });
    bench.change('R', { enqueuePaused: true });
    bench.answer = null;
    bench.put('S', 'x', { failurequeue: 'R' });
    await bench.rest();
    const { space } = bench.engine;
    const entry = space.firstReady(space.queue('S') as NonNullable<ReturnType<typeof space.queue>>);
    expect([bench.seen.length, space.entries.retries.get(entry)]).toEqual([1, 1]);
    bench.change('R', { enqueuePaused: false });
    await bench.pass(1001);
    expect([bench.seen.length, bench.count('S'), bench.count('R')]).toEqual([2, 0, 1]);
  });

  it('a queue of its own: the others go on, and it is looked at again', async () => {
    const bench = await Bench.open({ queues: ['P', 'S'] }, [queueAttributes('P')]);
    bench.change('P', { dequeuePaused: true });
    await bench.pass(SERVICE_GRACE_MS);
    bench.put('S', 'x');
    await bench.rest();
    expect([bench.seen, bench.count('S')]).toEqual([['x'], 0]);
    await bench.pass(1001);
    bench.put('S', 'y');
    await bench.rest();
    expect(bench.seen).toEqual(['x', 'y']);
  });

  it('all of its queues: no busy loop, and it goes on when they do', async () => {
    const bench = await Bench.open();
    bench.change('S', { dequeuePaused: true });
    bench.put('S', 'x');
    await bench.pass(5000);
    expect(bench.seen).toEqual([]);
    bench.change('S', { dequeuePaused: false });
    await bench.pass(1001);
    expect(bench.seen).toEqual(['x']);
  });

  it('-e: a paused queue has no message to find', async () => {
    const paused = queueAttributes('S', { dequeuePaused: true });
    const bench = await Bench.open({ exitsWhenEmpty: true }, [paused]);
    bench.put('S', 'x');
    await bench.rest();
    expect([bench.lines('info TMQFORWARD: no message found'), bench.count('S')]).toEqual([1, 1]);
  });
});

it('a queue that is not there is reported once, and drained when it is made', async () => {
  const bench = await Bench.open({ queues: ['NONE', 'S'], idleS: 1 });
  await bench.pass(SERVICE_GRACE_MS);
  for (let i = 0; i < 5; i++) {
    bench.put('S', `${i}`);
    await bench.pass(1001);
  }
  expect([bench.seen.length, bench.lines('no such queue')]).toEqual([5, 1]);
  bench.change('NONE', {});
  bench.put('NONE', 'its service is not there');
  await bench.pass(1001);
  expect([bench.count('NONE'), bench.count('E')]).toEqual([0, 1]);
});

/** Makes it fail once. */
async function fail(bench: Bench, text: string): Promise<void> {
  bench.services.breaks = new TypeError('broken');
  bench.put('S', text);
  await bench.rest();
  bench.services.breaks = null;
}

describe('a forwarder that fails', () => {
  const life = { restart: true, maxGen: 3, graceS: 60, rcmd: './told' };

  it('without RESTART: its message is rolled back, the log says so, and nothing more is taken', async () => {
    const bench = await Bench.open({ rcmd: './told' });
    await fail(bench, 'x');
    await bench.pass(10 * RESTART_PAUSE_MS);
    const queue = bench.engine.space.queue('S');
    expect([queue?.ready, queue?.locked, queue?.waiting]).toEqual([1, 0, 0]);
    expect([bench.seen, bench.lines('failed: broken; it stays down'), bench.commands]).toEqual([[], 1, []]);
    expect(bench.engine.space.branches.active).toBe(0);
  });

  it('RESTART=Y: the next life takes the message; RCMD ran once, with GRPNO and SRVID', async () => {
    const bench = await Bench.open(life);
    await fail(bench, 'x');
    expect([bench.seen, bench.commands]).toEqual([[], ['./told 7 100']]);
    await bench.pass(RESTART_PAUSE_MS + 1);
    expect([bench.seen, bench.count('S')]).toEqual([['x'], 0]);
  });

  it('MAXGEN lives within GRACE, each instance by itself', async () => {
    const bench = await Bench.open({ ...life, instances: 2 });
    bench.services.breaks = new TypeError('broken');
    bench.put('S', 'x');
    for (let i = 0; i < 20; i++) await bench.pass(RESTART_PAUSE_MS + 1);
    expect([bench.lines('it is started again'), bench.lines('it stays down')]).toEqual([4, 2]);
    expect(new Set(bench.commands)).toEqual(new Set(['./told 7 100', './told 7 101']));
  });

  it('an assertion is not its own failure: it ends the process', async () => {
    const bench = await Bench.open(life);
    bench.services.breaks = new AssertionError('a queue is broken');
    bench.put('S', 'x');
    const uncaught = await caught(() => bench.rest());
    expect([...bench.fatal, ...uncaught].map(String)).toEqual(['AssertionError: a queue is broken']);
  });

  it('a stop while it waits for its next life: there is none', async () => {
    const bench = await Bench.open(life);
    await fail(bench, 'x');
    bench.server.stop();
    await bench.pass(10 * RESTART_PAUSE_MS);
    expect(bench.seen).toEqual([]);
  });
});

/** What is thrown into the loop, and what is rejected, while `run` runs. */
async function caught(run: () => Promise<void>): Promise<unknown[]> {
  const errors: unknown[] = [];
  const note = (error: unknown): void => void errors.push(error);
  const before = { uncaughtException: process.listeners('uncaughtException') };
  const rejections = process.listeners('unhandledRejection');
  process.removeAllListeners('uncaughtException').on('uncaughtException', note);
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
  await run();
  process.removeAllListeners('uncaughtException').removeAllListeners('unhandledRejection');
  for (const listener of before.uncaughtException) process.on('uncaughtException', listener);
  for (const listener of rejections) process.on('unhandledRejection', listener);
  return errors;
}

/** What stopping one says, and when. */
function stopped(bench: Bench, srvid: number): { state: string } {
  const seen = { state: 'waits' };
  bench.server.stopOne(srvid, (state) => (seen.state = state));
  return seen;
}

describe('one instance by its id', () => {
  it('stopped while it waits for its next life: there is none, and a start is a new count of lives', async () => {
    const bench = await Bench.open({ restart: true, maxGen: 2 });
    await fail(bench, 'x');
    expect([stopped(bench, 100), stopped(bench, 100)]).toEqual([{ state: 'stopped' }, { state: 'down' }]);
    await bench.pass(RESTART_PAUSE_MS + 1);
    expect([bench.seen, bench.count('S')]).toEqual([[], 1]);
    expect([bench.server.startOne(100), bench.server.startOne(100)]).toEqual(['started', 'running']);
    await bench.rest();
    await fail(bench, 'y');
    await bench.pass(RESTART_PAUSE_MS + 1);
    expect(bench.seen).toEqual(['x', 'y']);
  });

  it('started while it waits for its next life: one life, not two', async () => {
    const bench = await Bench.open({ restart: true, maxGen: 9 });
    await fail(bench, 'x');
    expect(bench.server.startOne(100)).toBe('started');
    await bench.pass(RESTART_PAUSE_MS + 1);
    const queue = bench.engine.space.queue('S');
    expect([bench.seen, queue?.waiting]).toEqual([['x'], 1]);
  });

  it('that fails while it finishes stays down, and who stopped it is told', async () => {
    const bench = await Bench.open({ restart: true, maxGen: 9 });
    await bench.rest();
    bench.services.breaks = new TypeError('broken');
    bench.put('S', 'x');
    const seen = stopped(bench, 100);
    await bench.pass(RESTART_PAUSE_MS + 1);
    bench.services.breaks = null;
    await bench.rest();
    expect([seen.state, bench.seen, bench.count('S')]).toEqual(['stopped', [], 1]);
    expect(bench.lines('it stays down')).toBe(1);
  });

  it('after the end of the daemon: none', async () => {
    const bench = await Bench.open();
    bench.server.stop();
    expect(bench.server.startOne(100)).toBeNull();
  });
});

describe('lives', () => {
  it.each([
    ['RESTART=N', { restart: false, maxGen: 5, graceS: 0 }, [0, 1], [false, false]],
    ['MAXGEN=1', { restart: true, maxGen: 1, graceS: 60 }, [1], [false]],
    ['MAXGEN=3', { restart: true, maxGen: 3, graceS: 60 }, [1, 2, 3, 59], [true, true, false, false]],
    // The first life began at 0; GRACE is over at 60, and the count begins anew with the life of that moment.
    ['GRACE is over', { restart: true, maxGen: 2, graceS: 60 }, [1, 60, 61, 62], [true, true, true, false]],
    ['GRACE=0', { restart: true, maxGen: 1, graceS: 0 }, [1, 1, 1, 1], [true, true, true, true]],
  ])('%s', (_name, terms, seconds, expected) => {
    const lives = new Lives(terms, 0);
    expect(seconds.map((second) => lives.again(second * 1000))).toEqual(expected);
  });
});
