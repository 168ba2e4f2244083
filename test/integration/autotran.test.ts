// AUTOTRAN and TRANTIME of *SERVICES [spec 6.5]: a call that is in no transaction gets one of the daemon's, which ends as its service does.
import { describe, expect, it } from 'vitest';
import {
  type Context,
  RVAL,
  type ServiceCall,
  ServiceFailure,
  TPFLAG,
} from '../../clients/typescript/index.ts';
import { daemonForAll, daemonForTest, eventually } from '../support/in-process.ts';
import { codeOf, drain, fresh, gate, peek, put } from './helpers.ts';

const queues = fresh('A', 30);
const names = fresh('AUTO', 30);
const daemon = daemonForAll({
  spaces: [
    {
      queues: [...queues.names, 'NEXTQ', 'FWD', 'FWDN'].map((name) => ({ name, retries: 0 })),
      errorQueue: 'A30',
      forwarders: [{ queues: ['FWD'] }, { queues: ['FWDN'], options: '-n' }],
    },
  ],
  services: [
    ...names.names.map((name) => `${name} AUTOTRAN=Y TRANTIME=20`),
    'FWDN AUTOTRAN=Y',
    'GROUPED SRVGRP=APP AUTOTRAN=Y',
    'GROUPED SRVGRP=G1',
  ],
});

interface Scene {
  readonly ctx: Context;
  readonly server: Context;
  readonly name: string;
  readonly queue: string;
}

/** A caller, a server with an AUTOTRAN service that enqueues and then does `rest`. */
async function scene(rest: (request: ServiceCall) => unknown = () => 'done'): Promise<Scene> {
  const [ctx, server] = [await daemon.join(), await daemon.join({ onError: () => {} })];
  const [name, queue] = [names.next(), queues.next()];
  await server.tpadvertise(name, async (request) => {
    await put(request, queue, 'by the service');
    return rest(request);
  });
  return { ctx, server, name, queue };
}

const open = async (ctx: Context): Promise<number> => (await ctx.stat()).transactions;

describe('a call outside a transaction', () => {
  it('is in one, seen by nobody before the service returns, there when its caller has the answer', async () => {
    const seen: unknown[] = [];
    const { ctx, name, queue } = await scene(async (request) => {
      seen.push(request.flags, request.tpgetlev(), request.timeoutMs <= 20_000, await peek(ctx, queue));
      return 'done';
    });
    expect((await ctx.tpcall(name, null)).data).toBe('done');
    expect(await drain(ctx, queue)).toEqual(['by the service']);
    expect([seen, await open(ctx)]).toEqual([[TPFLAG.TPTRAN, 1, true, undefined], 0]);
  });

  it.each<[string, (request: ServiceCall) => unknown, string]>([
    ['TPFAIL', (request) => request.tpreturn(RVAL.TPFAIL, 3, 'why'), 'TPESVCFAIL'],
    ['a ServiceFailure', () => Promise.reject(new ServiceFailure(3, 'why')), 'TPESVCFAIL'],
    ['tpforward to nobody', (request) => request.tpforward('NOBODY'), 'TPESVCERR'],
    ['a suspended transaction', (request) => request.tpsuspend(), 'TPESVCERR'],
  ])('is rolled back after %s', async (_name, rest, code) => {
    const { ctx, name, queue } = await scene(rest);
    expect(await codeOf(ctx.tpcall(name, null))).toBe(code);
    if (code === 'TPESVCFAIL') expect(ctx.tpurcode).toBe(3);
    expect([await drain(ctx, queue), await open(ctx)]).toEqual([[], 0]);
  });

  it('is rolled back when its server dies: TPESVCERR', async () => {
    const { ctx, server, name, queue } = await scene(() => new Promise(() => {}));
    const call = codeOf(ctx.tpcall(name, null));
    await eventually(async () => (await open(ctx)) === 1);
    await server.tpterm();
    expect(await call).toBe('TPESVCERR');
    expect([await drain(ctx, queue), await open(ctx)]).toEqual([[], 0]);
  });

  it('is rolled back when TRANTIME is over: TPESVCERR at once, the service TPETIME, its late answer nothing', async () => {
    const { opened: held, open: goOn } = gate();
    const seen: unknown[] = [];
    const { ctx, name, queue } = await scene(async (request) => {
      seen.push('working');
      await held;
      seen.push(await codeOf(put(request, queue, 'late')));
    });
    const call = codeOf(ctx.tpcall(name, null));
    await eventually(() => seen.length === 1);
    daemon.clock.advance(20_010);
    expect(await call).toBe('TPESVCERR');
    expect(await open(ctx)).toBe(0);
    goOn();
    expect(await eventually(() => seen[1])).toBe('TPETIME');
    expect(await drain(ctx, queue)).toEqual([]);
  });

  it('is committed though its caller has given up', async () => {
    const { opened: held, open: goOn } = gate();
    const { ctx, name, queue } = await scene(() => held);
    const giveUp = new AbortController();
    const call = codeOf(ctx.tpcall(name, null, 0, { signal: giveUp.signal }));
    await eventually(async () => (await open(ctx)) === 1);
    giveUp.abort();
    expect(await call).toBe('TPGOTSIG');
    expect(await peek(ctx, queue)).toBe(undefined);
    goOn();
    await eventually(async () => (await open(ctx)) === 0);
    expect(await drain(ctx, queue)).toEqual(['by the service']);
  });

  it.each([
    ['TPSUCCESS', RVAL.TPSUCCESS, ['by the service']],
    ['TPFAIL', RVAL.TPFAIL, []],
  ])('with TPNOREPLY it ends as its service does: %s', async (_name, rval, expected) => {
    let ended = false;
    const { ctx, name, queue } = await scene((request) => {
      ended = true;
      return request.tpreturn(rval);
    });
    await ctx.tpacall(name, null, TPFLAG.TPNOREPLY);
    await eventually(async () => ended && (await open(ctx)) === 0);
    expect(await drain(ctx, queue)).toEqual(expected);
  });

  it('takes it along with tpforward, also to a service that has no AUTOTRAN', async () => {
    const { ctx, server, name, queue } = await scene((request) => request.tpforward('PLAIN'));
    await server.tpadvertise('PLAIN', async (request) => {
      await put(request, queue, 'second');
      return request.flags;
    });
    expect((await ctx.tpcall(name, null)).data).toBe(TPFLAG.TPTRAN);
    expect(await drain(ctx, queue)).toEqual(['by the service', 'second']);
  });

  it('is rolled back when the caller gives up while it waits for the service it was passed on to', async () => {
    const { ctx, server, name, queue } = await scene((request) => request.tpforward('BUSY'));
    const { opened, open: release } = gate();
    await server.tpadvertise('BUSY', () => opened, { concurrency: 1 });
    const busy = ctx.tpcall('BUSY', null);
    await eventually(async () =>
      (await ctx.stat()).services.some((one) => one.name === 'BUSY' && one.outstanding === 1),
    );
    const giveUp = new AbortController();
    const call = codeOf(ctx.tpcall(name, null, 0, { signal: giveUp.signal }));
    await eventually(async () =>
      (await ctx.stat()).services.some((one) => one.name === 'BUSY' && one.outstanding === 2),
    );
    giveUp.abort();
    expect([await call, await open(ctx)]).toEqual(['TPGOTSIG', 0]);
    release();
    await busy;
    expect(await drain(ctx, queue)).toEqual([]);
  });
});

describe('a call in a transaction', () => {
  it('joins that one and gets none of its own; with TPNOTRAN it gets one', async () => {
    const { ctx, name, queue } = await scene();
    await ctx.tpbegin(30);
    await ctx.tpcall(name, null);
    expect(await open(ctx)).toBe(1);
    await ctx.tpcall(name, null, TPFLAG.TPNOTRAN);
    await ctx.tpabort();
    expect(await drain(ctx, queue)).toEqual(['by the service']);
  });
});

describe('the configuration', () => {
  it('the line of the server’s group counts', async () => {
    const ctx = await daemon.join();
    const flags: number[] = [];
    for (const grpname of ['APP', 'G1']) {
      const server = await daemon.join({ grpname });
      await server.tpadvertise('GROUPED', (request) => void flags.push(request.flags));
      await ctx.tpcall('GROUPED', null);
      await server.tpterm();
    }
    expect(flags).toEqual([TPFLAG.TPTRAN, 0]);
  });

  it('MAXGTT counts them: TPENOENT when there is no room, and the server is free for others', async () => {
    const small = await daemonForTest({ maxGtt: 1, services: ['S AUTOTRAN=Y'], spaces: [{ queues: ['Q'] }] });
    const [ctx, other] = [await small.join(), await small.join()];
    await other.tpadvertise('S', (request) => put(request, 'Q', 'x'), { concurrency: 1 });
    await ctx.tpbegin(30);
    expect(await codeOf(other.tpcall('S', null))).toBe('TPENOENT');
    await ctx.tpabort();
    expect(await codeOf(other.tpcall('S', null))).toBe('OK');
    expect(await drain(ctx, 'Q')).toEqual(['x']);
  });

  it('MAXTRANTIME is the ceiling of TRANTIME', async () => {
    const small = await daemonForTest({ maxTranTime: 5, services: ['S AUTOTRAN=Y TRANTIME=60'] });
    const ctx = await small.join();
    await ctx.tpadvertise('S', (request) => request.timeoutMs);
    expect((await ctx.tpcall('S', null)).data).toBeLessThanOrEqual(5000);
  });
});

describe('a forwarder', () => {
  it.each([
    ['without -n: the service joins its transaction, and its work goes with a failure', 'FWD', []],
    ['with -n and AUTOTRAN: it has one of its own, which goes with a failure too', 'FWDN', []],
  ])('%s', async (_name, queue, expected) => {
    const [ctx, server] = [await daemon.join(), await daemon.join({ onError: () => {} })];
    const flags: number[] = [];
    await server.tpadvertise(queue, async (request) => {
      flags.push(request.flags);
      await put(request, 'NEXTQ', request.text);
      if (request.text === 'bad') request.tpreturn(RVAL.TPFAIL);
    });
    await put(ctx, queue, 'bad');
    await eventually(async () => (await daemon.queue(queue)).messages === 0 && flags.length === 1);
    expect(await drain(ctx, 'NEXTQ')).toEqual(expected);
    await put(ctx, queue, 'good');
    await eventually(async () => (await daemon.queue('NEXTQ')).messages === 1);
    expect(flags).toEqual([TPFLAG.TPTRAN, TPFLAG.TPTRAN]);
    expect(await drain(ctx, 'NEXTQ')).toEqual(['good']);
    await server.tpterm();
  });

  it('without -n: what the service enqueues is seen only when the request is gone', async () => {
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    const seen: unknown[] = [];
    await server.tpadvertise('FWD', async (request) => {
      await put(request, 'NEXTQ', 'next');
      seen.push(await peek(ctx, 'NEXTQ'), (await daemon.queue('FWD')).locked);
    });
    await put(ctx, 'FWD', 'x');
    await eventually(async () => (await daemon.queue('NEXTQ')).messages === 1);
    expect([seen, (await daemon.queue('FWD')).messages]).toEqual([[undefined, 1], 0]);
    await drain(ctx, 'NEXTQ');
    await server.tpterm();
  });
});
