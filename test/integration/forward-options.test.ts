// TMQFORWARD's other options and corner cases [spec 4.2]: -e, -n, -f, -b, the priority of the call, reply queues that are full or cannot be had,
// messages that expire on their way, several forwarders and many queues (C33, C71, C73, C83). One test a row.
import { describe, expect, it } from 'vitest';
import { type Context, ServiceFailure, TPQ } from '../../clients/typescript/index.ts';
import { OP, TPFLAG, TPQQOS } from '../../proto/codes.ts';
import { daemonForTest, eventually, type InProcess, pause } from '../support/in-process.ts';
import { type ForwarderText, queueNames, type QueueText } from '../support/ubb-text.ts';
import { ctlOf, drain, Gate, put, SPACE, take } from './helpers.ts';

interface Setting {
  readonly daemon: InProcess;
  readonly ctx: Context;
  readonly server: Context;
}

/** A space with S (10 retries), R, F and the error queue E, and one forwarder on S. */
async function setting(
  options: string,
  more: {
    queue?: Partial<QueueText>;
    space?: string;
    forwarder?: Partial<ForwarderText>;
    forwarders?: readonly ForwarderText[];
    queues?: readonly string[];
    services?: readonly string[];
  } = {},
): Promise<Setting> {
  const daemon = await daemonForTest({
    ...(more.services === undefined ? {} : { services: more.services }),
    spaces: [
      {
        errorQueue: 'E',
        more: more.space ?? '',
        queues: ['E', 'R', 'F', { name: 'S', retries: 10, ...more.queue }, ...(more.queues ?? [])],
        forwarders: more.forwarders ?? [{ queues: ['S'], options, ...more.forwarder }],
      },
    ],
  });
  return { daemon, ctx: await daemon.join(), server: await daemon.join({ onError: () => undefined }) };
}

const replyTo = (members = {}): ReturnType<typeof ctlOf> =>
  ctlOf(TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ, { replyqueue: 'R', failurequeue: 'F', ...members });
const hasEnded = ({ daemon }: Setting): number => daemon.lines('info', 'it has ended [-e]').length;
async function emptied({ daemon }: Setting, queue = 'S'): Promise<void> {
  await eventually(async () => (await daemon.queue(queue)).messages === 0);
}

describe('-e', () => {
  it('nothing found at the start: it ends, the log says so, and an arrival does not start it again', async () => {
    const all = await setting('-e');
    let calls = 0;
    await all.server.tpadvertise('S', () => void calls++);
    await eventually(() => hasEnded(all) === 1);
    await put(all.ctx, 'S', 'too late');
    all.daemon.clock.advance(60_000);
    await all.server.tpadvertise('R', () => undefined);
    await pause(30);
    expect([calls, (await all.daemon.queue('S')).ready, hasEnded(all)]).toEqual([0, 1, 1]);
  });

  it('what is there is forwarded first, each instance ends by itself, and a start of the daemon begins again', async () => {
    const all = await setting('-e', { forwarder: { min: 2 } });
    await eventually(() => hasEnded(all) === 2);
    await put(all.ctx, 'S', ...Array.from({ length: 20 }, (_, i) => i));
    await all.daemon.restart();
    const seen: unknown[] = [];
    // Its queue waits for its service, so it does not end before.
    await (await all.daemon.join()).tpadvertise('S', (call) => void seen.push(call.data));
    await eventually(() => hasEnded(all) === 4);
    expect(seen).toHaveLength(20);
  });

  it('a message whose delay runs is not found', async () => {
    const all = await setting('-e');
    await all.ctx.tpenqueue(SPACE, 'S', ctlOf(TPQ.TPQTIME_REL, { deq_time: 3600 }), 'later');
    await all.daemon.restart();
    await eventually(() => hasEnded(all) >= 2);
    expect((await all.daemon.queue('S')).messages).toBe(1);
  });
});

describe('-f', () => {
  it('the message is gone when a server has it; answer, reply queue and failure queue are not used', async () => {
    const all = await setting('-f 0');
    const gate = new Gate();
    const flags: number[] = [];
    await all.server.tpadvertise('S', async (call) => {
      flags.push(call.flags);
      await gate.service(call);
      throw new ServiceFailure(1, 'data');
    });
    await all.ctx.tpenqueue(SPACE, 'S', replyTo(), 'x');
    await gate.calls(1);
    await emptied(all);
    gate.release();
    await put(all.ctx, 'S', 'next');
    await gate.calls(1);
    await emptied(all);
    gate.release();
    expect(flags).toEqual([TPFLAG.TPNOREPLY, TPFLAG.TPNOREPLY]);
    expect([await drain(all.ctx, 'R'), await drain(all.ctx, 'F'), await drain(all.ctx, 'E')]).toEqual([
      [],
      [],
      [],
    ]);
    expect((await all.ctx.stat()).forwarders[0]).toMatchObject({ forwarded: 2, failed: 0 });
  });

  it('no server: rolled back by the retry rules', async () => {
    const all = await setting('-f 0', { queue: { retries: 1 } });
    await put(all.ctx, 'S', 'x');
    all.daemon.clock.advance(10_100);
    expect((await take(all.ctx, 'E', ctlOf(TPQ.TPQWAIT))).data).toBe('x');
  });

  it('the delay: seconds between messages, after a failure too; an arriving server does not shorten it', async () => {
    const all = await setting('-f 50');
    const seen: unknown[] = [];
    await all.server.tpadvertise('S', (call) => void seen.push(call.data));
    await put(all.ctx, 'S', 1, 2, 3);
    await eventually(() => seen.length === 1);
    all.daemon.clock.advance(40_000);
    const other = await all.daemon.join();
    await other.tpadvertise('S', (call) => void seen.push(call.data));
    await pause(30);
    expect(seen).toEqual([1]);
    all.daemon.clock.advance(10_100);
    await eventually(() => seen.length === 2);
    all.daemon.clock.advance(50_100);
    await eventually(() => seen.length === 3);
  });

  it('all servers busy: it waits for one with the message still on the queue, at most -b', async () => {
    const all = await setting('-f 0 -b 5');
    const gate = new Gate();
    await all.server.tpadvertise('S', gate.service, { concurrency: 1 });
    await put(all.ctx, 'S', 'first', 'second');
    await gate.calls(1);
    await eventually(async () => (await all.daemon.queue('S')).locked === 1);
    all.daemon.clock.advance(5100);
    await eventually(() => all.daemon.lines('TPETIME').length === 1);
    gate.release();
    await gate.calls(1);
    expect(gate.waiting[0]?.call.data).toBe('second');
    gate.release();
    await emptied(all);
  });
});

describe('-n and -b', () => {
  it('-n: dequeue and reply are still one transaction', async () => {
    const all = await setting('-n');
    await all.server.tpadvertise('S', (call) => `${call.text}!`);
    await all.ctx.tpenqueue(SPACE, 'S', replyTo(), 'x');
    expect((await take(all.ctx, 'R', ctlOf(TPQ.TPQWAIT))).data).toBe('x!');
    await emptied(all);
  });

  it.each([
    ['-n -b 5', 5, 1],
    ['-n', 5, 0],
    ['-n', 30, 1],
    ['-b 5', 5, 0],
  ])('%s: a call that takes over %d s ends with TPETIME %d times', async (options, seconds, times) => {
    const all = await setting(options);
    const gate = new Gate();
    await all.server.tpadvertise('S', gate.service, { concurrency: 2 });
    await all.ctx.tpenqueue(SPACE, 'S', replyTo(), 'x');
    await gate.calls(1);
    all.daemon.clock.advance(seconds * 1000 + 100);
    if (times > 0) await gate.calls(2);
    else await pause(30);
    expect(all.daemon.lines('TPETIME')).toHaveLength(times);
    gate.release('done');
    // The late answer is dropped.
    expect((await take(all.ctx, 'R', ctlOf(TPQ.TPQWAIT))).data).toBe('done');
    await emptied(all);
    expect(await drain(all.ctx, 'R')).toEqual([]);
  });

  it('-n -d -e together, as samples have them', async () => {
    const all = await setting('-e -n -d');
    await put(all.ctx, 'S', 'old');
    await all.ctx.tpenqueue(SPACE, 'S', replyTo(), 'bad');
    await all.daemon.restart();
    await (
      await all.daemon.join({ onError: () => undefined })
    ).tpadvertise('S', (call) => {
      if (call.text === 'bad') throw new ServiceFailure(3, 'why');
    });
    expect((await take(await all.daemon.join(), 'F', ctlOf(TPQ.TPQWAIT))).data).toBe('why');
    await eventually(() => hasEnded(all) >= 1);
  });
});

describe('priority of the call: of the message if it was set, else PRIO of the service, else 50', () => {
  it('decides who is next when the servers of the service are busy', async () => {
    // The line without a group counts, whatever stands first.
    const all = await setting('', { services: ['S PRIO=60 SRVGRP=G1', 'S PRIO=80'], forwarder: { min: 5 } });
    const order: string[] = [];
    const gate = new Gate();
    await all.server.tpadvertise(
      'S',
      (call) => {
        order.push(call.text);
        return gate.service(call);
      },
      { concurrency: 1 },
    );
    const outstanding = async (count: number): Promise<void> => {
      await eventually(async () => (await all.ctx.stat()).services[0]?.outstanding === count);
    };
    await put(all.ctx, 'S', 'first');
    await gate.calls(1);
    for (const [i, priority] of [70, 0, 90, 70].entries()) {
      const ctl = priority === 0 ? null : ctlOf(TPQ.TPQPRIORITY, { priority });
      await all.ctx.tpenqueue(SPACE, 'S', ctl, `${i}: ${priority}`);
      await outstanding(i + 2);
    }
    for (let left = 5; left > 0; left--) {
      await gate.calls(1);
      gate.release();
      await outstanding(left - 1);
    }
    expect(order).toEqual(['first', '2: 90', '1: 0', '0: 70', '3: 70']);
  });
});

describe('reply queue (C73)', () => {
  it('QMENOSPACE for the answer: rolled back and retried after a pause, with a log line; then success', async () => {
    const all = await setting('', { space: 'MSGS=2' });
    let calls = 0;
    await all.server.tpadvertise('S', (call) => `${call.text} ${++calls}`);
    await put(all.ctx, 'R', 'in the way');
    await all.ctx.tpenqueue(SPACE, 'S', replyTo(), 'x');
    await eventually(() => all.daemon.lines('QMENOSPACE', 'no room for the reply').length === 1);
    expect([calls, (await all.daemon.queue('S')).ready]).toEqual([1, 1]);
    expect(await drain(all.ctx, 'R')).toEqual(['in the way']);
    all.daemon.clock.advance(1100);
    expect((await take(all.ctx, 'R', ctlOf(TPQ.TPQWAIT))).data).toBe('x 2');
    await emptied(all);
  });

  it('a reply QOS of non-persistent and no memory area: rolled back, retried, then the error queue', async () => {
    const all = await setting('', { queue: { retries: 1 } });
    let calls = 0;
    await all.server.tpadvertise('S', () => `answer ${++calls}`);
    const qos = { replyqueue: 'R', reply_qos: TPQQOS.TPQQOSNONPERSISTENT };
    await all.ctx.tpenqueue(SPACE, 'S', ctlOf(TPQ.TPQREPLYQ | TPQ.TPQREPLYQOS, qos), 'x');
    await eventually(() => calls === 1 && all.daemon.lines('QMENOSPACE').length === 1);
    all.daemon.clock.advance(1100);
    expect((await take(all.ctx, 'E', ctlOf(TPQ.TPQWAIT))).data).toBe('x');
    expect([calls, await drain(all.ctx, 'R')]).toEqual([2, []]);
  });

  it('a reply QOS of non-persistent: the answer is gone after a restart; without one the queue decides', async () => {
    const all = await setting('', { space: 'NONPERSIST=1000000b' });
    await all.server.tpadvertise('S', (call) => call.text);
    const qos = { replyqueue: 'R', reply_qos: TPQQOS.TPQQOSNONPERSISTENT };
    await all.ctx.tpenqueue(SPACE, 'S', ctlOf(TPQ.TPQREPLYQ | TPQ.TPQREPLYQOS, qos), 'memory');
    await all.ctx.tpenqueue(SPACE, 'S', replyTo(), 'disk');
    await eventually(async () => (await all.daemon.queue('R')).messages === 2);
    await all.daemon.restart();
    expect(await drain(await all.daemon.join(), 'R')).toEqual(['disk']);
  });

  it('a non-persistent request: the same retry and error-queue rules', async () => {
    const all = await setting('', { space: 'NONPERSIST=1000000b', queue: { retries: 1 } });
    let calls = 0;
    await all.server.tpadvertise('S', () => {
      calls++;
      throw new ServiceFailure(1);
    });
    const qos = { delivery_qos: TPQQOS.TPQQOSNONPERSISTENT };
    await all.ctx.tpenqueue(SPACE, 'S', ctlOf(TPQ.TPQDELIVERYQOS, qos), 'x');
    await eventually(async () => (await all.daemon.queue('E')).messages === 1);
    expect(calls).toBe(2);
    await all.daemon.restart();
    expect(await drain(await all.daemon.join(), 'E')).toEqual([]);
  });
});

describe('a message that expires while its service works', () => {
  const expiring = replyTo();
  it.each([
    ['success: the reply is queued, the request gone', true, ['done'], []],
    ['failure: removed, neither retried nor on the error queue', false, [], []],
  ])('%s', async (_name, succeeds, replies, errors) => {
    const all = await setting('');
    const gate = new Gate();
    let calls = 0;
    await all.server.tpadvertise('S', async (call) => {
      calls++;
      await gate.service(call);
      if (!succeeds) throw new ServiceFailure(1);
      return 'done';
    });
    const ctl = ctlOf(expiring.flags | TPQ.TPQEXPTIME_REL, {
      replyqueue: 'R',
      failurequeue: 'F',
      exp_time: 5,
    });
    await all.ctx.tpenqueue(SPACE, 'S', ctl, 'x');
    await gate.calls(1);
    all.daemon.clock.advance(6000);
    gate.release();
    await emptied(all);
    expect([calls, await drain(all.ctx, 'R'), await drain(all.ctx, 'E')]).toEqual([1, replies, errors]);
  });

  it('messages of one transaction keep their own times and priorities (C33)', async () => {
    const all = await setting('', { queue: { more: 'ORDER=priority,fifo' } });
    await all.ctx.tpbegin(60);
    const send = (flags: number, members: object, data: string): Promise<void> =>
      all.ctx.tpenqueue(SPACE, 'S', ctlOf(flags, members), data);
    await send(TPQ.TPQEXPTIME_REL, { exp_time: 2 }, 'm1');
    await send(TPQ.TPQEXPTIME_REL, { exp_time: 3600 }, 'm2');
    await send(0, {}, 'm3');
    await send(TPQ.TPQTIME_REL, { deq_time: 8 }, 'm4');
    await send(TPQ.TPQPRIORITY, { priority: 90 }, 'm5');
    all.daemon.clock.advance(3000);
    await all.ctx.tpcommit();
    const seen: string[] = [];
    await all.server.tpadvertise('S', (call) => void seen.push(call.text));
    await eventually(() => seen.length === 3);
    all.daemon.clock.advance(6000);
    await eventually(() => seen.length === 4);
    expect(seen).toEqual(['m5', 'm2', 'm3', 'm4']);
  });
});

describe('several forwarders, many queues', () => {
  it('two servers on one queue hand out every message once', async () => {
    const all = await setting('', { forwarders: [{ queues: ['S'], min: 2 }, { queues: ['S', 'F'] }] });
    const seen: number[] = [];
    await all.server.tpadvertise('S', async (call) => {
      await pause(1);
      seen.push(Number(call.data));
    });
    const numbers = Array.from({ length: 200 }, (_, i) => i);
    await Promise.all(numbers.map((n) => all.ctx.tpenqueue(SPACE, 'S', null, n)));
    await emptied(all);
    expect(seen.sort((a, b) => a - b)).toEqual(numbers);
  });

  it('C71: of 100 queues with a flood in one and a message in each other, all others are served within one round', async () => {
    const names = queueNames('N', 100);
    const all = await setting('', { queues: names, forwarders: [{ queues: names }] });
    const order: string[] = [];
    const gate = new Gate();
    const first = names[40] ?? '';
    for (const name of names) {
      await all.server.tpadvertise(name, (call) => {
        order.push(name);
        return order.length === 1 ? gate.service(call) : undefined;
      });
    }
    await Promise.all(Array.from({ length: 50 }, () => all.ctx.tpenqueue(SPACE, first, null, 'flood')));
    await gate.calls(1);
    await Promise.all(names.map((name) => all.ctx.tpenqueue(SPACE, name, null, 'one')));
    gate.release();
    await eventually(() => new Set(order).size === 100);
    // The first call was of the flood; then every queue has its turn before the flood has its second.
    expect(new Set(order.slice(0, 100)).size).toBe(100);
  });

  it('C83: a service that never answers pins its message for -t and no longer', async () => {
    const all = await setting('', { forwarder: { timeoutS: 3600 } });
    const raw = await all.daemon.raw();
    await raw.ask(OP.ADVERTISE, 2, 'S', 1);
    await put(all.ctx, 'S', 'x');
    await raw.next();
    expect((await all.daemon.queue('S')).locked).toBe(1);
    await raw.ask(OP.UNADVERTISE, 3, 'S');
    all.daemon.clock.advance(3_600_100);
    await eventually(() => all.daemon.lines('TPETIME').length === 1);
    expect((await all.ctx.stat()).services.find(({ name }) => name === 'S')?.outstanding ?? 0).toBeLessThan(
      2,
    );
  });
});
