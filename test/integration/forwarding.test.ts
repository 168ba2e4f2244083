// TMQFORWARD: every row of [spec 4.2] that this release serves. Replies, failures, retries, servers that come and go, the time limit -t.
// One forwarder drains all queues of this file in turn; each test offers the service that its queue is named after.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, type Service, ServiceFailure, TPQ, typed } from '../../clients/typescript/index.ts';
import { daemonForAll, daemonForTest, eventually } from '../support/in-process.ts';
import { ubbText } from '../support/ubb-text.ts';
import {
  codeOf,
  corridOf,
  ctlOf,
  drain,
  fresh,
  Gate,
  OUTPUTS,
  peek,
  put,
  putId,
  SPACE,
  take,
} from './helpers.ts';

const queues = fresh('F', 50);
const LIMIT_S = 20;
const daemon = daemonForAll({
  spaces: [
    {
      errorQueue: 'ERRQ',
      queues: ['ERRQ', 'RPLYQ', 'FAILQ', ...queues.names.map((name) => ({ name, retries: 2 }))],
      forwarders: [{ queues: queues.names, timeoutS: LIMIT_S, idleS: 1 }],
    },
  ],
});
let ctx: Context;
let server: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  server = await daemon.join({ onError: () => undefined });
});

/** A queue whose service is offered. */
async function served(service: Service): Promise<string> {
  const queue = queues.next();
  await server.tpadvertise(queue, service);
  return queue;
}

async function emptied(queue: string): Promise<void> {
  await eventually(async () => (await daemon.queue(queue)).messages === 0);
}

const replyTo = (members = {}): ReturnType<typeof ctlOf> =>
  ctlOf(TPQ.TPQREPLYQ | TPQ.TPQCORRID, { replyqueue: 'RPLYQ', corrid: 'k', ...members });

/** Waits for a message on the reply queue. */
async function reply(): Promise<{
  data: unknown;
  type: string;
  subtype: string;
  ctl: ReturnType<typeof ctlOf>;
}> {
  const ctl = ctlOf(OUTPUTS | TPQ.TPQWAIT);
  return { ...(await take(ctx, 'RPLYQ', ctl)), ctl };
}

describe('success', () => {
  it('puts the answer on the reply queue with corrid, urcode and type, and removes the request', async () => {
    const queue = await served((call) => {
      call.rcode = 4711;
      return typed('FML32', 'sub', Buffer.from(call.text.toUpperCase()));
    });
    await ctx.tpenqueue(SPACE, queue, replyTo({ corrid: corridOf(9, 1), urcode: 5 }), 'hello');
    const { data, type, subtype, ctl } = await reply();
    expect([Buffer.from(data as Uint8Array).toString(), type, subtype]).toEqual(['HELLO', 'FML32', 'sub']);
    expect(Buffer.from(ctl.corrid as Uint8Array)).toEqual(corridOf(9, 1));
    expect(ctl.urcode).toBe(4711);
    await emptied(queue);
  });

  it('the reply has a msgid of its own, and no reply or failure queue', async () => {
    const queue = await served(() => 'answer');
    const members = { flags: 0x103, replyqueue: 'RPLYQ', failurequeue: 'FAILQ', corrid: 'k' };
    const msgid = await putId(ctx, queue, 'x', members);
    const { ctl } = await reply();
    expect(Buffer.from(ctl.msgid ?? []).equals(msgid)).toBe(false);
    expect(ctl.flags & (TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ | TPQ.TPQCORRID)).toBe(TPQ.TPQCORRID);
  });

  it('a request without corrid: the reply has none', async () => {
    const queue = await served(() => 'answer');
    await ctx.tpenqueue(SPACE, queue, ctlOf(TPQ.TPQREPLYQ, { replyqueue: 'RPLYQ' }), 'x');
    expect((await reply()).ctl.flags & TPQ.TPQCORRID).toBe(0);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['NULL', null],
    ['an empty string', ''],
    ['no bytes', Buffer.alloc(0)],
  ])('an answer of %s is a reply without data, with corrid and urcode', async (_name, value) => {
    const queue = await served((call) => {
      call.rcode = 3;
      return value;
    });
    await ctx.tpenqueue(SPACE, queue, replyTo(), 'x');
    const { data, type, ctl } = await reply();
    expect([data, type, ctl.urcode, ctl.flags & TPQ.TPQCORRID]).toEqual([null, '', 3, TPQ.TPQCORRID]);
  });

  it('without a reply queue the answer is discarded', async () => {
    const queue = await served(() => 'answer');
    await put(ctx, queue, 'x');
    await emptied(queue);
    expect([await peek(ctx, 'RPLYQ'), await peek(ctx, 'ERRQ')]).toEqual([undefined, undefined]);
  });

  it('a reply queue that does not exist: dropped with a log line, once, still success (C73)', async () => {
    let calls = 0;
    const queue = await served(() => `answer ${++calls}`);
    await ctx.tpenqueue(SPACE, queue, replyTo({ replyqueue: 'NOSUCHQ' }), 'x');
    await emptied(queue);
    expect([calls, await peek(ctx, 'ERRQ')]).toEqual([1, undefined]);
    expect(daemon.lines('NOSUCHQ')).toHaveLength(1);
  });

  it('a reply queue that is the queue itself: the reply is the next request (C73)', async () => {
    const seen: string[] = [];
    const queue = await served((call) => {
      seen.push(call.text);
      return `${call.text}!`;
    });
    await ctx.tpenqueue(SPACE, queue, replyTo({ replyqueue: queue }), 'x');
    await eventually(() => seen.length === 2);
    await emptied(queue);
    expect(seen).toEqual(['x', 'x!']);
  });

  it('the service sees the original enqueuer: cltid and appkey, and so does the reader of the reply', async () => {
    let seen: [Buffer, number] | null = null;
    const queue = await served((call) => {
      seen = [Buffer.from(call.cltid), call.appkey];
    });
    const raw = await daemon.socket();
    const [, , , cltid] = (await raw.hello()) as [number, number, number, Buffer];
    await raw.ask(3, 2, [SPACE, queue], [TPQ.TPQREPLYQ, 'RPLYQ'], 0, 0, 1, '', Buffer.from('x'));
    const { ctl } = await reply();
    expect(seen).toEqual([cltid, -1]);
    expect([Buffer.from(ctl.cltid ?? []), ctl.appkey]).toEqual([cltid, -1]);
  });

  it.each([0, 65_535, 65_536, 1_048_576])('a request and a reply of %d bytes', async (bytes) => {
    const data = Buffer.alloc(bytes, 'tmqueue');
    const queue = await served((call) => call.data);
    await ctx.tpenqueue(SPACE, queue, replyTo(), data);
    const got = (await reply()).data;
    expect(bytes === 0 ? got === null : Buffer.from(got as Uint8Array).equals(data)).toBe(true);
  });

  it('the request is seen by nobody while its service works, and others may take the next', async () => {
    const gate = new Gate();
    const queue = await served(gate.service);
    await put(ctx, queue, 'first', 'second');
    await eventually(async () => (await daemon.queue(queue)).locked === 1);
    expect(await drain(ctx, queue)).toEqual(['second']);
    gate.release();
    await emptied(queue);
  });
});

describe('failure', () => {
  it.each<[string, () => unknown]>([
    ['TPFAIL without data', () => Promise.reject(new ServiceFailure(1))],
    ['TPFAIL with data', () => Promise.reject(new ServiceFailure(1, 'reply data'))],
    ['a throw', () => Promise.reject(new Error('oops'))],
  ])('%s: retried, then the error queue; nothing on reply and failure queue', async (_name, service) => {
    let calls = 0;
    const queue = await served(() => {
      calls++;
      return service();
    });
    const given = ctlOf(0x103, { replyqueue: 'RPLYQ', failurequeue: 'FAILQ', corrid: 'k', urcode: 8 });
    await ctx.tpenqueue(SPACE, queue, given, 'request');
    const ctl = ctlOf(OUTPUTS | TPQ.TPQWAIT);
    expect((await take(ctx, 'ERRQ', ctl)).data).toBe('request');
    expect(calls).toBe(3);
    expect([ctl.flags, ctl.replyqueue, ctl.failurequeue, ctl.urcode]).toEqual([0x113, 'RPLYQ', 'FAILQ', 8]);
    expect([await peek(ctx, 'RPLYQ'), await peek(ctx, 'FAILQ')]).toEqual([undefined, undefined]);
  });

  it('a failure that passes costs retries and nothing else', async () => {
    let calls = 0;
    const queue = await served((call) => {
      if (++calls < 3) throw new ServiceFailure(1);
      return call.text;
    });
    await ctx.tpenqueue(SPACE, queue, replyTo(), 'x');
    expect((await reply()).data).toBe('x');
    expect([calls, await peek(ctx, 'ERRQ')]).toEqual([3, undefined]);
  });

  it('a server that dies in mid-call: the next server gets the message', async () => {
    const queue = queues.next();
    const dying = await daemon.raw();
    await dying.ask(10, 2, queue, 1);
    await ctx.tpenqueue(SPACE, queue, replyTo(), 'x');
    const request = await dying.next();
    expect(request[2]).toBe(queue);
    await server.tpadvertise(queue, (call) => `second server: ${call.text}`);
    dying.reset();
    expect((await reply()).data).toBe('second server: x');
  });

  it('no server: every pass costs a retry, then the error queue', async () => {
    const queue = await served(() => undefined);
    await put(ctx, queue, 'first');
    await emptied(queue);
    await server.tpunadvertise(queue);
    await put(ctx, queue, 'nobody');
    daemon.clock.advance(5000);
    expect((await take(ctx, 'ERRQ', ctlOf(TPQ.TPQWAIT))).data).toBe('nobody');
  });

  it('-t elapsed: rolled back and retried; the late answer is dropped', async () => {
    const answers: ((value: string) => void)[] = [];
    const queue = await served(() => new Promise((resolve) => answers.push(resolve)));
    await ctx.tpenqueue(SPACE, queue, replyTo(), 'x');
    await eventually(() => answers.length === 1);
    daemon.clock.advance(LIMIT_S * 1000 + 10);
    await eventually(() => answers.length === 2);
    answers[0]?.('late');
    answers[1]?.('in time');
    expect((await reply()).data).toBe('in time');
    await emptied(queue);
    expect(await peek(ctx, 'RPLYQ')).toBeUndefined();
  });

  it('-t elapsed every time: the error queue', async () => {
    const answers: unknown[] = [];
    const queue = await served(() => new Promise((resolve) => answers.push(resolve)));
    await put(ctx, queue, 'slow');
    for (let attempt = 1; attempt <= 3; attempt++) {
      await eventually(() => answers.length === attempt);
      daemon.clock.advance(LIMIT_S * 1000 + 10);
    }
    expect((await take(ctx, 'ERRQ', ctlOf(TPQ.TPQWAIT))).data).toBe('slow');
  });

  it('with a retry delay the messages behind go on meanwhile', async () => {
    const small = await daemonForTest({
      spaces: [{ queues: [{ name: 'S', retries: 5, delay: 10 }, 'R'], forwarders: [{ queues: ['S'] }] }],
    });
    const [caller, provider] = [await small.join(), await small.join({ onError: () => undefined })];
    const seen: string[] = [];
    await provider.tpadvertise('S', (call) => {
      seen.push(call.text);
      if (call.text === 'bad' && seen.filter((one) => one === 'bad').length === 1)
        throw new ServiceFailure(1);
    });
    await put(caller, 'S', 'bad', 'good');
    await eventually(() => seen.length === 2);
    small.clock.advance(10_000);
    await eventually(() => seen.length === 3);
    expect(seen).toEqual(['bad', 'good', 'bad']);
  });
});

it('a daemon that has just started leaves a queue alone until its service is offered', async () => {
  const text = ubbText({
    spaces: [{ errorQueue: 'E', queues: ['E', 'S'], forwarders: [{ queues: ['S'], idleS: 1 }] }],
  });
  const small = await daemonForTest(text);
  const [caller, provider] = [await small.join(), await small.join()];
  await put(caller, 'S', 'x');
  small.clock.advance(8000);
  await eventually(async () => (await small.queue('S')).ready === 1);
  const seen: string[] = [];
  await provider.tpadvertise('S', (call) => void seen.push(call.text));
  await eventually(() => seen.length === 1);
  expect([seen, await drain(caller, 'E')]).toEqual([['x'], []]);
});

it('but no longer than 10 s', async () => {
  const small = await daemonForTest({
    spaces: [{ errorQueue: 'E', queues: ['E', 'S'], forwarders: [{ queues: ['S'], idleS: 1 }] }],
  });
  const caller = await small.join();
  await put(caller, 'S', 'x');
  const waiting = take(caller, 'E', ctlOf(TPQ.TPQWAIT));
  small.clock.advance(10_100);
  expect((await waiting).data).toBe('x');
  expect(await codeOf(take(caller, 'S'))).toBe('QMENOMSG');
});
