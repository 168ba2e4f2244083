// TMQFORWARD -d [spec 4.2]: a failure with data is not retried, its data goes to the failure queue; one test a row of the table. The queues
// of this file have two retries and no delay unless a test says otherwise, so that anyone could take a message that was rolled back.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, type Service, ServiceFailure, TPQ } from '../../clients/typescript/index.ts';
import { OP, RVAL, TPQQOS } from '../../proto/codes.ts';
import { daemonForAll, daemonForTest, eventually, type InProcess } from '../support/in-process.ts';
import { corridOf, ctlOf, drain, fresh, Gate, OUTPUTS, peek, put, SPACE, take } from './helpers.ts';

const queues = fresh('D', 20);
const DELAYED = 'DELAYED';
const ONCE = 'ONCE';
const daemon = daemonForAll({
  spaces: [
    {
      errorQueue: 'ERRQ',
      more: 'NONPERSIST=1000000b',
      queues: [
        'ERRQ',
        'RPLYQ',
        'FAILQ',
        ...queues.names.map((name) => ({ name, retries: 2 })),
        { name: DELAYED, retries: 2, delay: 600 },
        ONCE,
      ],
      forwarders: [{ queues: [...queues.names, DELAYED, ONCE], timeoutS: 20, options: '-d' }],
    },
  ],
});
let ctx: Context;
let server: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  server = await daemon.join({ onError: () => undefined });
});

/** Offers the service of a queue; it counts its calls. */
async function offer(queue: string, service: Service): Promise<{ calls: number }> {
  const count = { calls: 0 };
  await server.tpadvertise(queue, (call) => {
    count.calls++;
    return service(call);
  });
  return count;
}
const fails = (data?: unknown, rcode = 7): Service => {
  return () => Promise.reject(new ServiceFailure(rcode, data));
};
const BOTH = TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ | TPQ.TPQCORRID;
const both = (members = {}): ReturnType<typeof ctlOf> =>
  ctlOf(BOTH, { replyqueue: 'RPLYQ', failurequeue: 'FAILQ', corrid: corridOf(9, 1), ...members });

async function emptied(queue: string, of: InProcess = daemon): Promise<void> {
  await eventually(async () => (await of.queue(queue)).messages === 0);
}

describe('failure with data, -d', () => {
  it('one call; the data on the failure queue with corrid and urcode; request and reply queue empty', async () => {
    const queue = queues.next();
    const count = await offer(queue, fails('why not', 4711));
    await ctx.tpenqueue(SPACE, queue, both({ urcode: 5 }), 'request');
    const ctl = ctlOf(OUTPUTS | TPQ.TPQWAIT);
    expect((await take(ctx, 'FAILQ', ctl)).data).toBe('why not');
    expect(Buffer.from(ctl.corrid ?? [])).toEqual(corridOf(9, 1));
    expect([ctl.urcode, ctl.flags & BOTH]).toEqual([4711, TPQ.TPQCORRID]);
    await emptied(queue);
    expect([count.calls, await drain(ctx, 'RPLYQ'), await drain(ctx, 'ERRQ')]).toEqual([1, [], []]);
  });

  it('a queue with a delay: the request is deleted though its delay runs', async () => {
    const count = await offer(DELAYED, fails('late'));
    await ctx.tpenqueue(SPACE, DELAYED, both(), 'x');
    expect((await take(ctx, 'FAILQ', ctlOf(TPQ.TPQWAIT))).data).toBe('late');
    await emptied(DELAYED);
    daemon.clock.advance(601_000);
    expect([count.calls, await peek(ctx, DELAYED)]).toEqual([1, undefined]);
  });

  it('a queue without delay: a consumer that waits does not get the request between the two transactions', async () => {
    const queue = queues.next();
    const gate = new Gate();
    await server.tpadvertise(queue, (call) => gate.service(call).then(() => fails('no')(call)));
    await ctx.tpenqueue(SPACE, queue, both(), 'mine');
    await gate.calls(1);
    const waiting = take(await daemon.join(), queue, ctlOf(TPQ.TPQWAIT));
    await eventually(async () => (await daemon.queue(queue)).waiters === 1);
    gate.release();
    expect((await take(ctx, 'FAILQ', ctlOf(TPQ.TPQWAIT))).data).toBe('no');
    await server.tpunadvertise(queue);
    await put(ctx, queue, 'next');
    expect((await waiting).data).toBe('next');
  });

  it('the last retry: the data on the failure queue and the request on the error queue as well', async () => {
    const count = await offer(ONCE, fails('the reason'));
    await ctx.tpenqueue(SPACE, ONCE, both(), 'request');
    expect((await take(ctx, 'FAILQ', ctlOf(TPQ.TPQWAIT))).data).toBe('the reason');
    expect([count.calls, await drain(ctx, 'ERRQ'), await drain(ctx, 'FAILQ')]).toEqual([1, ['request'], []]);
  });

  it.each<[string, ReturnType<typeof ctlOf> | null]>([
    ['no failure queue', null],
    ['a failure queue that does not exist', ctlOf(TPQ.TPQFAILUREQ, { failurequeue: 'NOSUCHQ' })],
  ])('%s: the request is deleted, the data discarded', async (_name, ctl) => {
    const queue = queues.next();
    const count = await offer(queue, fails('nobody reads this'));
    await ctx.tpenqueue(SPACE, queue, ctl, 'x');
    await emptied(queue);
    expect([count.calls, await drain(ctx, 'ERRQ'), await drain(ctx, 'FAILQ')]).toEqual([1, [], []]);
    expect(daemon.lines(`"service":"${queue}"`, 'not retried')).toHaveLength(1);
    expect(daemon.lines('NOSUCHQ')).toHaveLength(ctl === null ? 0 : 1);
  });

  it('a failure queue that is the queue itself: the data is the next request', async () => {
    const queue = queues.next();
    const seen: string[] = [];
    await server.tpadvertise(queue, (call) => {
      seen.push(call.text);
      if (call.text === 'x') throw new ServiceFailure(1, 'y');
    });
    await ctx.tpenqueue(SPACE, queue, ctlOf(TPQ.TPQFAILUREQ, { failurequeue: queue }), 'x');
    await emptied(queue);
    expect(seen).toEqual(['x', 'y']);
  });

  it('TPEXIT is as TPFAIL', async () => {
    const queue = queues.next();
    const raw = await daemon.raw();
    await raw.ask(OP.ADVERTISE, 2, queue, 1);
    await ctx.tpenqueue(SPACE, queue, both(), 'x');
    const [, id] = await raw.next();
    raw.send(OP.RETURN, id as number, RVAL.TPEXIT, 3, 'STRING', '', Buffer.from('bye'));
    expect((await take(ctx, 'FAILQ', ctlOf(TPQ.TPQWAIT))).data).toBe('bye');
    await emptied(queue);
  });

  it('reply_qos decides where the data is kept: non-persistent is gone after a restart, the default is not', async () => {
    const small = await daemonForTest({
      spaces: [
        {
          more: 'NONPERSIST=1000000b',
          queues: ['F', { name: 'S', retries: 1 }],
          forwarders: [{ queues: ['S'], options: '-d' }],
        },
      ],
    });
    const [caller, provider] = [await small.join(), await small.join({ onError: () => undefined })];
    await provider.tpadvertise('S', (call) => Promise.reject(new ServiceFailure(1, call.text)));
    const qos = { failurequeue: 'F', reply_qos: TPQQOS.TPQQOSNONPERSISTENT };
    await caller.tpenqueue(SPACE, 'S', ctlOf(TPQ.TPQFAILUREQ | TPQ.TPQREPLYQOS, qos), 'memory');
    await caller.tpenqueue(SPACE, 'S', ctlOf(TPQ.TPQFAILUREQ, { failurequeue: 'F' }), 'disk');
    await eventually(async () => (await small.queue('F')).messages === 2);
    await small.restart();
    expect(await drain(await small.join(), 'F')).toEqual(['disk']);
  });

  it('no room on the failure queue: the attempt counts once, and the last one leaves the request on the error queue', async () => {
    const small = await daemonForTest({
      spaces: [
        {
          errorQueue: 'E',
          queues: ['E', 'F', { name: 'S', retries: 2 }],
          forwarders: [{ queues: ['S'], options: '-d' }],
        },
      ],
    });
    const [caller, provider] = [await small.join(), await small.join({ onError: () => undefined })];
    let calls = 0;
    await provider.tpadvertise('S', () => {
      calls++;
      return Promise.reject(new ServiceFailure(1, 'too much'));
    });
    // The space has no memory for it.
    const qos = { failurequeue: 'F', reply_qos: TPQQOS.TPQQOSNONPERSISTENT };
    await caller.tpenqueue(SPACE, 'S', ctlOf(TPQ.TPQFAILUREQ | TPQ.TPQREPLYQOS, qos), 'request');
    for (let attempt = 1; attempt <= 3; attempt++) {
      await eventually(
        () => calls === attempt && small.lines('QMENOSPACE', 'F took nothing').length === attempt,
      );
      if (attempt < 3) expect((await small.queue('S')).ready).toBe(1);
      small.clock.advance(1100);
    }
    expect((await take(caller, 'E', ctlOf(TPQ.TPQWAIT))).data).toBe('request');
    expect([await drain(caller, 'F'), small.lines('the answer is lost').length]).toEqual([[], 1]);
  });
});

describe('-d never applies', () => {
  it('to a failure without data: retried', async () => {
    const queue = queues.next();
    const count = await offer(queue, fails());
    await ctx.tpenqueue(SPACE, queue, both(), 'x');
    expect((await take(ctx, 'ERRQ', ctlOf(TPQ.TPQWAIT))).data).toBe('x');
    expect([count.calls, await drain(ctx, 'FAILQ')]).toEqual([3, []]);
  });

  it('to a server that dies in mid-call (TPESVCERR): retried', async () => {
    const queue = queues.next();
    const dying = await daemon.raw();
    await dying.ask(OP.ADVERTISE, 2, queue, 1);
    await ctx.tpenqueue(SPACE, queue, both(), 'x');
    await dying.next();
    await offer(queue, () => 'second');
    dying.reset();
    expect((await take(ctx, 'RPLYQ', ctlOf(TPQ.TPQWAIT))).data).toBe('second');
    expect(await drain(ctx, 'FAILQ')).toEqual([]);
  });

  it('to an answer after -t (TPETIME): retried, the late failure is dropped', async () => {
    const queue = queues.next();
    const gate = new Gate();
    let first = true;
    await server.tpadvertise(queue, async (call) => {
      if (!first) return 'in time';
      first = false;
      await gate.service(call);
      throw new ServiceFailure(1, 'late');
    });
    await ctx.tpenqueue(SPACE, queue, both(), 'x');
    await gate.calls(1);
    daemon.clock.advance(20_010);
    await eventually(() => daemon.lines('TPETIME', `"service":"${queue}"`).length === 1);
    gate.release();
    expect((await take(ctx, 'RPLYQ', ctlOf(TPQ.TPQWAIT))).data).toBe('in time');
    expect(await drain(ctx, 'FAILQ')).toEqual([]);
  });

  it('to success: the reply queue', async () => {
    const queue = queues.next();
    await offer(queue, () => 'fine');
    await ctx.tpenqueue(SPACE, queue, both(), 'x');
    expect((await take(ctx, 'RPLYQ', ctlOf(TPQ.TPQWAIT))).data).toBe('fine');
    expect(await drain(ctx, 'FAILQ')).toEqual([]);
  });
});

it('the message expires while its service fails: gone, not on the error queue; its data is kept', async () => {
  const queue = queues.next();
  const gate = new Gate();
  await server.tpadvertise(queue, (call) => gate.service(call).then(() => fails('too late')(call)));
  const flags = TPQ.TPQFAILUREQ | TPQ.TPQEXPTIME_REL;
  await ctx.tpenqueue(SPACE, queue, ctlOf(flags, { failurequeue: 'FAILQ', exp_time: 5 }), 'x');
  await gate.calls(1);
  daemon.clock.advance(6000);
  gate.release();
  expect((await take(ctx, 'FAILQ', ctlOf(TPQ.TPQWAIT))).data).toBe('too late');
  await emptied(queue);
  expect(await drain(ctx, 'ERRQ')).toEqual([]);
});
