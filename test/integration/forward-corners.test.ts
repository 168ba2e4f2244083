// TMQFORWARD's corner cases that need no options of their own [spec 4.2]: the reply's priority, a server that comes back under the same name,
// a service that does not take the type (TPEITYPE), when the reply is seen.
import { expect, it } from 'vitest';
import { ServiceFailure, TPQ } from '../../clients/typescript/index.ts';
import { OP, RVAL } from '../../proto/codes.ts';
import { daemonForTest, eventually, type InProcess } from '../support/in-process.ts';
import { ctlOf, drain, put, SPACE, take } from './helpers.ts';

function daemonOf(options = '', services: readonly string[] = []): Promise<InProcess> {
  const queues = ['E', { name: 'R', more: 'ORDER=priority' }, 'F', { name: 'S', retries: 2 }];
  return daemonForTest({
    ...(services.length === 0 ? {} : { services }),
    spaces: [{ errorQueue: 'E', queues, forwarders: [{ queues: ['S'], options }] }],
  });
}

it("the reply's priority is 50 and it does not expire, whatever the request's", async () => {
  const daemon = await daemonOf();
  const ctx = await daemon.join();
  await (await daemon.join()).tpadvertise('S', (call) => call.text);
  const flags = TPQ.TPQREPLYQ | TPQ.TPQPRIORITY | TPQ.TPQEXPTIME_REL;
  await ctx.tpenqueue(SPACE, 'S', ctlOf(flags, { replyqueue: 'R', priority: 90, exp_time: 3600 }), 'x');
  await eventually(async () => (await daemon.queue('R')).ready === 1);
  daemon.clock.advance(7_200_000);
  for (const priority of [49, 51])
    await ctx.tpenqueue(SPACE, 'R', ctlOf(TPQ.TPQPRIORITY, { priority }), `${priority}`);
  expect(await drain(ctx, 'R')).toEqual(['51', 'x', '49']);
});

it('a server that dies in mid-call and comes back under the same name gets the message again: one reply', async () => {
  const daemon = await daemonOf();
  const [ctx, first, again] = [await daemon.join(), await daemon.raw(), await daemon.raw()];
  await first.ask(OP.ADVERTISE, 2, 'S', 1);
  await ctx.tpenqueue(SPACE, 'S', ctlOf(TPQ.TPQREPLYQ, { replyqueue: 'R' }), 'x');
  const asked = await first.next();
  first.reset();
  await again.ask(OP.ADVERTISE, 2, 'S', 1);
  const asked2 = await again.next();
  expect([asked[2], asked2[2]]).toEqual(['S', 'S']);
  // An answer to the call of its former life is none of this one.
  const [, old] = asked;
  const [, id] = asked2;
  if (old !== id) again.send(OP.RETURN, Number(old), RVAL.TPSUCCESS, 0, 'STRING', '', Buffer.from('late'));
  again.send(OP.RETURN, Number(id), RVAL.TPSUCCESS, 0, 'STRING', '', Buffer.from('done'));
  expect((await take(ctx, 'R', ctlOf(TPQ.TPQWAIT))).data).toBe('done');
  await eventually(async () => (await daemon.queue('S')).messages === 0);
  expect([await drain(ctx, 'R'), await drain(ctx, 'E')]).toEqual([[], []]);
});

it('TPEITYPE: the service is not called, -d does not apply, the retries are used up', async () => {
  const daemon = await daemonOf('-d', ['S BUFTYPE="CARRAY"']);
  const ctx = await daemon.join();
  let calls = 0;
  await (
    await daemon.join()
  ).tpadvertise('S', () => {
    calls++;
    throw new ServiceFailure(1, 'data');
  });
  await ctx.tpenqueue(SPACE, 'S', ctlOf(TPQ.TPQFAILUREQ, { failurequeue: 'F' }), 'a STRING');
  expect((await take(ctx, 'E', ctlOf(TPQ.TPQWAIT))).data).toBe('a STRING');
  expect([calls, await drain(ctx, 'F')]).toEqual([0, []]);
  expect(daemon.lines('TMQFORWARD: TPEITYPE')).toHaveLength(3);
});

it('an expected reply is seen when its request is gone, and not before', async () => {
  const daemon = await daemonOf();
  const ctx = await daemon.join();
  await (await daemon.join()).tpadvertise('S', (call) => call.text);
  for (let i = 0; i < 20; i++) {
    await ctx.tpenqueue(SPACE, 'S', ctlOf(TPQ.TPQREPLYQ, { replyqueue: 'R' }), `${i}`);
    expect((await take(ctx, 'R', ctlOf(TPQ.TPQWAIT))).data).toBe(`${i}`);
    expect((await daemon.queue('S')).messages).toBe(0);
  }
  await put(ctx, 'S', 'no reply queue');
  await eventually(async () => (await daemon.queue('S')).messages === 0);
});
