// Services that join their caller's transaction [spec 2.3, 3.3 to 3.5; PROTOCOL 7; C13, C31]: what they do appears or goes with it, what becomes of it
// when they fail, and what they may not do. Through the SDK; frame by frame in service-frames.test.ts.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  type Context,
  RVAL,
  type ServiceCall,
  ServiceFailure,
  TPERRNO,
  TPFLAG,
  TPQ,
} from '../../clients/typescript/index.ts';
import { daemonForAll, daemonForTest, eventually, type InProcess } from '../support/in-process.ts';
import { codeOf, ctlOf, drain, failureOf, fresh, gate, peek, put, take } from './helpers.ts';

const queues = fresh('J', 60);
const daemon = daemonForAll({ spaces: [{ queues: queues.names.map((name) => ({ name, retries: 9 })) }] });
let ctx: Context;
let server: Context;
let other: Context;
const told: unknown[] = [];
beforeAll(async () => {
  ctx = await daemon.join();
  server = await daemon.join({ onError: (error) => told.push(error) });
  other = await daemon.join();
});
afterEach(async () => {
  if (ctx.tpgetlev() === 1) await ctx.tpabort();
});

let names = 0;
/** A service of its own name. */
async function offer(service: (request: ServiceCall) => unknown, by = server): Promise<string> {
  const name = `JOIN${++names}`;
  await by.tpadvertise(name, service);
  return name;
}

/** How the call ended, what the caller may still do, and what is there of both afterwards. */
async function outcome(name: string, queue: string): Promise<unknown[]> {
  await ctx.tpbegin(30);
  await put(ctx, queue, 'mine');
  const code = await codeOf(ctx.tpcall(name, null));
  const late = await codeOf(put(ctx, queue, 'late'));
  const end = await codeOf(ctx.tpcommit());
  return [code, late, end, await drain(other, queue)];
}

/** A service that has enqueued, dequeued and waits; what it is told when it goes on. */
async function atWork(
  where: InProcess,
  by: Context,
): Promise<{
  name: string;
  queue: string;
  started: Promise<void>;
  goOn: () => void;
  late: Promise<unknown>;
}> {
  const queue = queues.next();
  const [began, held] = [gate(), gate()];
  const { opened: late, open: tell } = gate<unknown>();
  const lone = await where.join();
  await put(lone, queue, 'there before');
  const name = await offer(async (request) => {
    await take(request, queue);
    await put(request, queue, 'by the service');
    began.open();
    await held.opened;
    const again = [await codeOf(put(request, queue, 'late')), await codeOf(take(request, queue))];
    tell([...again, await codeOf(request.tpcall(name, null))]);
  }, by);
  return { name, queue, started: began.opened, goOn: held.open, late };
}

describe('a service called in a transaction', () => {
  it.each([
    ['tpcommit', ['mine', 'by the service']],
    ['tpabort', []],
  ] as const)('its enqueue goes with %s', async (end, expected) => {
    const queue = queues.next();
    const seen: unknown[] = [];
    const name = await offer(async (request) => {
      seen.push(request.flags, request.tpgetlev());
      await put(request, queue, 'by the service');
      return 'done';
    });
    await ctx.tpbegin(30);
    await put(ctx, queue, 'mine');
    expect((await ctx.tpcall(name, 'x')).data).toBe('done');
    expect(await peek(other, queue)).toBe(undefined);
    await ctx[end]();
    expect([seen, await drain(other, queue)]).toEqual([[TPFLAG.TPTRAN, 1], expected]);
  });

  it('what it dequeues is locked until the end, and comes back with an abort', async () => {
    const queue = queues.next();
    await put(other, queue, 'x');
    const name = await offer(async (request) => (await take(request, queue)).data);
    await ctx.tpbegin(30);
    expect((await ctx.tpcall(name, null)).data).toBe('x');
    expect(await codeOf(take(other, queue))).toBe('QMENOMSG');
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual(['x']);
  });

  it('with TPNOTRAN it is outside: no TPTRAN, and what it enqueues stays whatever the caller does', async () => {
    const queue = queues.next();
    const name = await offer(async (request) => {
      await put(request, queue, 'outside');
      return request.flags;
    });
    await ctx.tpbegin(30);
    expect((await ctx.tpcall(name, null, TPFLAG.TPNOTRAN)).data).toBe(0);
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual(['outside']);
  });

  it('calls on its context do not join: they are of no request', async () => {
    const queue = queues.next();
    const name = await offer(() => put(server, queue, 'beside'));
    await ctx.tpbegin(30);
    await ctx.tpcall(name, null);
    await ctx.tpabort();
    expect(await drain(other, queue)).toEqual(['beside']);
  });

  it('takes it along to the services that it calls, and passes it on with tpforward', async () => {
    const queue = queues.next();
    const third = await offer((request) => put(request, queue, 'third'));
    const second = await offer(async (request) => {
      await put(request, queue, 'second');
      await request.tpcall(third, null);
      return 'from the second';
    });
    const first = await offer(async (request) => {
      await put(request, queue, 'first');
      return request.tpforward(second);
    });
    await ctx.tpbegin(30);
    expect((await ctx.tpcall(first, null)).data).toBe('from the second');
    expect(await peek(other, queue)).toBe(undefined);
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual(['first', 'second', 'third']);
  });

  it.each(['tpbegin', 'tpcommit', 'tpabort'] as const)(
    '%s in it: TPEPROTO, and nothing happens',
    async (call) => {
      const queue = queues.next();
      const name = await offer(async (request) => {
        const code = await codeOf(call === 'tpbegin' ? request.tpbegin(5) : request[call]());
        await put(request, queue, 'x');
        return code;
      });
      await ctx.tpbegin(30);
      expect((await ctx.tpcall(name, null)).data).toBe('TPEPROTO');
      await ctx.tpcommit();
      expect(await drain(other, queue)).toEqual(['x']);
    },
  );

  it('called in none, it may have one of its own; what it leaves open is rolled back, and the caller told TPESVCERR', async () => {
    const queue = queues.next();
    const whole = await offer(async (request) => {
      await request.tpbegin(30);
      await put(request, queue, 'whole');
      await request.tpcommit();
    });
    const half = await offer(async (request) => {
      await request.tpbegin(30);
      await put(request, queue, 'half');
    });
    expect([await codeOf(ctx.tpcall(whole, null)), await codeOf(ctx.tpcall(half, null))]).toEqual([
      'OK',
      'TPESVCERR',
    ]);
    expect(await drain(other, queue)).toEqual(['whole']);
    expect((await ctx.stat()).transactions).toBe(0);
  });

  it('its calls end with it: TPEPROTO afterwards', async () => {
    const queue = queues.next();
    const kept: ServiceCall[] = [];
    const name = await offer((request) => {
      kept.push(request);
    });
    await ctx.tpbegin(30);
    await ctx.tpcall(name, null);
    for (const request of kept) expect(await codeOf(put(request, queue, 'late'))).toBe('TPEPROTO');
    expect(kept).toHaveLength(1);
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual([]);
  });
});

describe('a failure of the service', () => {
  it.each<[string, (request: ServiceCall) => unknown, string]>([
    ['TPFAIL', (request) => request.tpreturn(RVAL.TPFAIL), 'TPESVCFAIL'],
    ['any other rval', (request) => request.tpreturn(17), 'TPESVCFAIL'],
    ['a ServiceFailure', () => Promise.reject(new ServiceFailure(1)), 'TPESVCFAIL'],
    ['a throw', () => Promise.reject(new Error('oops')), 'TPESVCFAIL'],
    ['tpforward to nobody', (request) => request.tpforward('NOBODY'), 'TPESVCERR'],
  ])('%s: the transaction is rollback-only, and all of it is gone', async (_name, service, code) => {
    const queue = queues.next();
    const name = await offer(async (request) => {
      await put(request, queue, 'by the service');
      return service(request);
    });
    expect(await outcome(name, queue)).toEqual([code, 'TPETIME', 'TPEABORT', []]);
  });

  it('TPFAIL brings its data and rcode all the same', async () => {
    const name = await offer((request) => request.tpreturn(RVAL.TPFAIL, 7, 'why'));
    await ctx.tpbegin(30);
    const failure = await failureOf(ctx.tpcall(name, null));
    expect([failure.tperrno, failure.reply?.data, ctx.tpurcode]).toEqual([TPERRNO.TPESVCFAIL, 'why', 7]);
    expect(await codeOf(ctx.tpabort())).toBe('OK');
  });

  it('TPEXIT: as TPFAIL, and its server is gone', async () => {
    const queue = queues.next();
    const leaving = await daemon.join({ onExit: () => {} });
    const name = await offer(async (request) => {
      await put(request, queue, 'x');
      return request.tpreturn(RVAL.TPEXIT);
    }, leaving);
    expect(await outcome(name, queue)).toEqual(['TPESVCFAIL', 'TPETIME', 'TPEABORT', []]);
  });

  it('of one that it called spoils the transaction for both', async () => {
    const queue = queues.next();
    const inner = await offer((request) => request.tpreturn(RVAL.TPFAIL));
    const name = await offer(async (request) => {
      const code = await codeOf(request.tpcall(inner, null));
      const late = await codeOf(put(request, queue, 'late'));
      told.push([code, late]);
      return 'as if nothing had happened';
    });
    expect(await outcome(name, queue)).toEqual(['TPESVCERR', 'TPETIME', 'TPEABORT', []]);
    expect(told.at(-1)).toEqual(['TPESVCFAIL', 'TPETIME']);
  });

  it('TPENOENT and TPEITYPE leave the transaction as it was', async () => {
    const queue = queues.next();
    await ctx.tpbegin(30);
    await put(ctx, queue, 'mine');
    expect(await codeOf(ctx.tpcall('NOBODY', null))).toBe('TPENOENT');
    await ctx.tpcommit();
    expect(await drain(other, queue)).toEqual(['mine']);
  });

  it('a refused type of the reply (TPNOCHANGE) makes it rollback-only: TPEOTYPE', async () => {
    const queue = queues.next();
    const name = await offer(() => Buffer.from('bytes'));
    await ctx.tpbegin(30);
    await put(ctx, queue, 'mine');
    expect(await codeOf(ctx.tpcall(name, 'text', TPFLAG.TPNOCHANGE))).toBe('TPEOTYPE');
    expect(await codeOf(put(ctx, queue, 'late'))).toBe('TPETIME');
    expect([await codeOf(ctx.tpcommit()), await drain(other, queue)]).toEqual(['TPEABORT', []]);
  });
});

describe('replies that are owed', () => {
  it('tpcommit over a call that has no answer: TPEABORT, rolled back, the descriptor gone', async () => {
    const queue = queues.next();
    const late: string[] = [];
    const { opened, open } = gate();
    const name = await offer(async (request) => {
      await opened;
      late.push(await codeOf(put(request, queue, 'by the service')));
    });
    await ctx.tpbegin(30);
    await put(ctx, queue, 'mine');
    const cd = await ctx.tpacall(name, null);
    expect([await codeOf(ctx.tpcommit()), await codeOf(ctx.tpgetrply(cd))]).toEqual([
      'TPEABORT',
      'TPEBADDESC',
    ]);
    open();
    expect(await eventually(() => late[0])).toBe('TPETIME');
    expect(await drain(other, queue)).toEqual([]);
  });

  it('tpcommit over a reply that came and was not fetched: TPEABORT; fetched: committed', async () => {
    const queue = queues.next();
    const name = await offer((request) => put(request, queue, request.data));
    for (const [data, fetches, code] of [
      ['left', false, 'TPEABORT'],
      ['fetched', true, 'OK'],
    ] as const) {
      await ctx.tpbegin(30);
      const cd = await ctx.tpacall(name, data);
      await eventually(
        async () =>
          (await daemon.queue(queue)).messages === 0 &&
          (await ctx.stat()).services.every(({ outstanding }) => outstanding === 0),
      );
      if (fetches) await ctx.tpgetrply(cd);
      expect(await codeOf(ctx.tpcommit())).toBe(code);
    }
    expect(await drain(other, queue)).toEqual(['fetched']);
  });

  it('tpcancel: TPETRAN, and the descriptor stays valid', async () => {
    const name = await offer(() => 'answer');
    await ctx.tpbegin(30);
    const cd = await ctx.tpacall(name, null);
    expect(await codeOf(ctx.tpcancel(cd))).toBe('TPETRAN');
    expect((await ctx.tpgetrply(cd)).data).toBe('answer');
    await ctx.tpcommit();
  });

  it('tpabort gives them up', async () => {
    const { opened, open } = gate();
    const name = await offer(() => opened);
    await ctx.tpbegin(30);
    const cd = await ctx.tpacall(name, null);
    expect([await codeOf(ctx.tpabort()), await codeOf(ctx.tpgetrply(cd))]).toEqual(['OK', 'TPEBADDESC']);
    open();
  });

  it.each([
    ['in a transaction', true],
    ['outside of one', false],
  ])('tpreturn with replies outstanding, %s: TPESVCERR', async (_name, isInside) => {
    const queue = queues.next();
    const { opened, open } = gate();
    const slow = await offer(() => opened);
    const name = await offer(async (request) => {
      await put(request, queue, 'x');
      await request.tpacall(slow, null);
      return 'too early';
    });
    if (isInside) await ctx.tpbegin(30);
    expect(await codeOf(ctx.tpcall(name, null))).toBe('TPESVCERR');
    expect(String(told.at(-1))).toContain('replies of tpacall are outstanding');
    open();
    if (isInside) expect(await codeOf(ctx.tpcommit())).toBe('TPEABORT');
    expect(await drain(other, queue)).toEqual(isInside ? [] : ['x']);
  });

  it('tpreturn with a call that was not waited for: TPESVCERR', async () => {
    const empty = queues.next();
    const name = await offer((request) => {
      void codeOf(take(request, empty, ctlOf(TPQ.TPQWAIT))).then((code) => told.push(code));
      return 'too early';
    });
    await ctx.tpbegin(30);
    expect(await codeOf(ctx.tpcall(name, null))).toBe('TPESVCERR');
    expect(await codeOf(ctx.tpcommit())).toBe('TPEABORT');
    expect(await eventually(() => told.includes('TPGOTSIG'))).toBe(true);
  });
});

describe('the end of the transaction while a service works in it', () => {
  it('its timeout: the call TPETIME on time, later calls of the service TPETIME, nothing of it stays', async () => {
    const { name, queue, started, goOn, late } = await atWork(daemon, server);
    await ctx.tpbegin(5);
    const call = codeOf(ctx.tpcall(name, null));
    await started;
    daemon.clock.advance(5010);
    expect(await call).toBe('TPETIME');
    expect((await daemon.queue(queue)).ready).toBe(1);
    goOn();
    expect(await late).toEqual(['TPETIME', 'TPETIME', 'TPETIME']);
    expect([await codeOf(ctx.tpcommit()), await drain(other, queue)]).toEqual(['TPEABORT', ['there before']]);
    expect((await ctx.stat()).transactions).toBe(0);
  });

  it('its time is what the service is told, and TPNOTIME or BLOCKTIME change nothing', async () => {
    const quick = await daemonForTest({ services: ['S BLOCKTIME=1'] }, { blockTimeMs: 1000 });
    const [caller, provider] = [await quick.join(), await quick.join()];
    const { opened, open } = gate();
    const seen: number[] = [];
    await provider.tpadvertise('S', async (request) => {
      seen.push(request.timeoutMs);
      await opened;
    });
    await caller.tpbegin(60);
    const call = codeOf(caller.tpcall('S', null));
    await eventually(() => seen.length > 0);
    quick.clock.advance(20_000);
    await caller.stat();
    open();
    expect(await call).toBe('OK');
    expect(seen[0]).toBeGreaterThan(50_000);
    await caller.tpcommit();
  });

  it('tpabort of its initiator', async () => {
    const { name, queue, started, goOn, late } = await atWork(daemon, server);
    await ctx.tpbegin(30);
    const call = codeOf(ctx.tpcall(name, null));
    await started;
    await ctx.tpabort();
    expect(await call).toBe('TPGOTSIG');
    expect((await daemon.queue(queue)).ready).toBe(1);
    goOn();
    expect(await late).toEqual(['TPETIME', 'TPETIME', 'TPETIME']);
    expect(await drain(other, queue)).toEqual(['there before']);
  });

  it('the end of its initiator’s connection, at once', async () => {
    const { name, queue, started, goOn, late } = await atWork(daemon, server);
    const raw = await daemon.raw();
    const tx = (await raw.ask(5, 2, 0))[2] as number;
    raw.send(9, 3, name, 0, tx, 0, 0, '', null);
    await started;
    raw.reset();
    await eventually(async () => (await daemon.queue(queue)).ready === 1);
    goOn();
    expect(await late).toEqual(['TPETIME', 'TPETIME', 'TPETIME']);
    expect(await drain(other, queue)).toEqual(['there before']);
    expect((await ctx.stat()).transactions).toBe(0);
  });

  it('the end of the server’s connection: TPESVCERR, and the transaction is rollback-only', async () => {
    const dying = await daemon.join({ reconnect: false, onError: () => {} });
    const { name, queue, started, goOn } = await atWork(daemon, dying);
    await ctx.tpbegin(30);
    const call = codeOf(ctx.tpcall(name, null));
    await started;
    await dying.tpterm();
    goOn();
    expect(await call).toBe('TPESVCERR');
    expect(await codeOf(put(ctx, queue, 'x'))).toBe('TPETIME');
    expect([await codeOf(ctx.tpcommit()), await drain(other, queue)]).toEqual(['TPEABORT', ['there before']]);
  });

  it('a stop of the daemon: no attempt is counted, nothing half is there', async () => {
    const stopped = await daemonForTest({
      spaces: [{ queues: queues.names.map((name) => ({ name, retries: 0 })) }],
    });
    const provider = await stopped.join({ onError: () => {} });
    const { name, queue, started, goOn } = await atWork(stopped, provider);
    const caller = await stopped.join();
    await caller.tpbegin(30);
    const call = codeOf(caller.tpcall(name, null));
    await started;
    await stopped.restart();
    goOn();
    expect(['TPESVCERR', 'TPESYSTEM', 'TPETIME', 'TPGOTSIG']).toContain(await call);
    expect(await codeOf(caller.tpcommit())).toBe('TPEABORT');
    // With RETRIES=0 an attempt would have dropped it.
    expect(await drain(caller, queue)).toEqual(['there before']);
  });
});
