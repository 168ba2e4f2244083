// tpacall, tpgetrply, tpcancel, tpsprio, tpreturn, tpforward and the calls around them, through the SDK [spec 3.3, 3.4, 3.5].
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Context,
  RVAL,
  type ServiceCall,
  TP_CMT,
  TPAUTH,
  TPFLAG,
} from '../../clients/typescript/index.ts';
import { daemonForAll, daemonForTest, eventually } from '../support/in-process.ts';
import { codeOf, failureOf, Gate } from './helpers.ts';

const daemon = daemonForAll({ spaces: [{ queues: ['Q'] }] });
let ctx: Context;
let server: Context;
const errors: unknown[] = [];
beforeAll(async () => {
  ctx = await daemon.join();
  server = await daemon.join({ onError: (error) => void errors.push(error) });
});

let names = 0;
async function offer(service: (call: ServiceCall) => unknown, concurrency = 16): Promise<string> {
  const name = `SVC${++names}`;
  await server.tpadvertise(name, service, { concurrency });
  return name;
}

describe('tpacall and tpgetrply', () => {
  it('the reply is fetched by its descriptor, whatever the order of the answers', async () => {
    const name = await offer((call) => `${call.text}!`);
    const [a, b] = [await ctx.tpacall(name, 'a'), await ctx.tpacall(name, 'b')];
    expect([a > 0, b > 0, a !== b]).toEqual([true, true, true]);
    expect(await ctx.tpgetrply(b)).toEqual({ cd: b, data: 'b!', type: 'STRING', subtype: '' });
    expect((await ctx.tpgetrply(a)).data).toBe('a!');
  });

  it('TPGETANY takes the reply that came first and says whose it is', async () => {
    const gate = new Gate();
    const [slow, quick] = [await offer(gate.service), await offer(() => 'quick')];
    const [a, b] = [await ctx.tpacall(slow, 'x'), await ctx.tpacall(quick, 'x')];
    expect(await ctx.tpgetrply(a, TPFLAG.TPGETANY)).toMatchObject({ cd: b, data: 'quick' });
    await gate.calls(1);
    const any = ctx.tpgetrply(0, TPFLAG.TPGETANY);
    gate.waiting[0]?.answer('slow');
    expect(await any).toMatchObject({ cd: a, data: 'slow' });
    expect(await codeOf(ctx.tpgetrply(0, TPFLAG.TPGETANY))).toBe('TPEBADDESC');
  });

  it('sets tpurcode, on success and on TPESVCFAIL; the descriptor is then used up', async () => {
    const name = await offer((call) =>
      call.tpreturn(call.text === 'ok' ? RVAL.TPSUCCESS : RVAL.TPFAIL, 7, call.text),
    );
    const good = await ctx.tpacall(name, 'ok');
    await ctx.tpgetrply(good);
    expect(ctx.tpurcode).toBe(7);
    const bad = await ctx.tpacall(name, 'bad');
    const failure = await failureOf(ctx.tpgetrply(bad));
    expect([failure.reply?.data, ctx.tpurcode]).toEqual(['bad', 7]);
    expect(await codeOf(ctx.tpgetrply(bad))).toBe('TPEBADDESC');
    expect(await codeOf(ctx.tpgetrply(good))).toBe('TPEBADDESC');
  });

  it('TPNOBLOCK before the reply is there: TPEBLOCK, and the descriptor stays valid', async () => {
    const gate = new Gate();
    const cd = await ctx.tpacall(await offer(gate.service), 'x');
    expect(await codeOf(ctx.tpgetrply(cd, TPFLAG.TPNOBLOCK))).toBe('TPEBLOCK');
    await gate.calls(1);
    gate.waiting[0]?.answer('late');
    expect((await ctx.tpgetrply(cd)).data).toBe('late');
  });

  it('a blocking timeout: TPETIME, and the descriptor stays valid', async () => {
    const small = await daemonForTest({}, { blockTimeMs: 40 });
    const [caller, provider] = [await small.join(), await small.join()];
    const gate = new Gate();
    await provider.tpadvertise('S', gate.service);
    const cd = await caller.tpacall('S', 'x');
    expect(await codeOf(caller.tpgetrply(cd))).toBe('TPETIME');
    await gate.calls(1);
    const late = caller.tpgetrply(cd, TPFLAG.TPNOTIME);
    gate.waiting[0]?.answer('late');
    expect((await late).data).toBe('late');
  });

  it('in a transaction its own time limit ends the wait', async () => {
    const gate = new Gate();
    const fork = ctx.fork();
    const cd = await fork.tpacall(await offer(gate.service), 'x');
    await fork.tpbegin(1);
    expect(await codeOf(fork.tpgetrply(cd))).toBe('TPETIME');
    await fork.tpabort();
    await gate.calls(1);
    gate.release();
    await fork.tpgetrply(cd);
    await fork.tpterm();
  });

  it('TPNOCHANGE: a reply of another type is TPEOTYPE', async () => {
    const name = await offer(() => 'text');
    const cd = await ctx.tpacall(name, 'x');
    expect(await codeOf(ctx.tpgetrply(cd, TPFLAG.TPNOCHANGE, { type: 'CARRAY' }))).toBe('TPEOTYPE');
    const other = await ctx.tpacall(name, 'x');
    const reply = await ctx.tpgetrply(other, TPFLAG.TPNOCHANGE, { type: 'STRING' });
    expect(reply.data).toBe('text');
  });

  it('what the daemon refuses at once is what tpacall fails with, and leaves no descriptor', async () => {
    expect(await codeOf(ctx.tpacall('NOBODY', 'x'))).toBe('TPENOENT');
    expect(await codeOf(ctx.tpgetrply(0, TPFLAG.TPGETANY))).toBe('TPEBADDESC');
  });

  it('1,000 may be outstanding, one more is TPELIMIT', async () => {
    const gate = new Gate();
    const name = await offer(gate.service, 1);
    const fork = ctx.fork();
    await Promise.all(Array.from({ length: 1000 }, () => fork.tpacall(name, 'x')));
    expect(await codeOf(fork.tpacall(name, 'x'))).toBe('TPELIMIT');
    await fork.tpterm();
    gate.release();
  });

  it.each([
    ['tpacall', () => ctx.tpacall('S', 'x', TPFLAG.TPNOCHANGE)],
    ['tpcall', () => ctx.tpcall('S', 'x', TPFLAG.TPNOREPLY)],
    ['tpgetrply', () => ctx.tpgetrply(1, TPFLAG.TPNOTRAN)],
  ])('%s: a flag that it does not take is TPEINVAL', async (_name, call) => {
    expect(await codeOf(call())).toBe('TPEINVAL');
  });
});

describe('TPNOREPLY', () => {
  it('gives descriptor 0, and nothing to fetch; the service sees the flag', async () => {
    const seen: number[] = [];
    const name = await offer((call) => void seen.push(call.flags));
    expect(await ctx.tpacall(name, 'x', TPFLAG.TPNOREPLY)).toBe(0);
    await eventually(() => seen.length === 1);
    expect(seen).toEqual([TPFLAG.TPNOREPLY]);
    expect(await codeOf(ctx.tpgetrply(0, TPFLAG.TPGETANY))).toBe('TPEBADDESC');
  });

  it('inside a transaction it needs TPNOTRAN', async () => {
    const name = await offer(() => '');
    const fork = ctx.fork();
    await fork.tpbegin(30);
    expect(await codeOf(fork.tpacall(name, 'x', TPFLAG.TPNOREPLY))).toBe('TPEINVAL');
    expect(await fork.tpacall(name, 'x', TPFLAG.TPNOREPLY | TPFLAG.TPNOTRAN)).toBe(0);
    await fork.tpterm();
  });
});

describe('tpcancel', () => {
  it('discards the reply; the service goes on; the descriptor is not valid any more', async () => {
    const gate = new Gate();
    const cd = await ctx.tpacall(await offer(gate.service), 'x');
    await gate.calls(1);
    await ctx.tpcancel(cd);
    expect(gate.waiting.length).toBe(1);
    gate.release();
    expect(await codeOf(ctx.tpgetrply(cd))).toBe('TPEBADDESC');
    expect(await codeOf(ctx.tpcancel(cd))).toBe('TPEBADDESC');
  });

  it('ends a tpgetrply that waits for it', async () => {
    const gate = new Gate();
    const cd = await ctx.tpacall(await offer(gate.service), 'x');
    const waiting = codeOf(ctx.tpgetrply(cd));
    await ctx.tpcancel(cd);
    expect(await waiting).toBe('TPEBADDESC');
    gate.release();
  });
});

describe('tpsprio', () => {
  it('counts for the next call only, and puts it before the others', async () => {
    const gate = new Gate();
    const order: string[] = [];
    const name = await offer(async (call) => {
      order.push(call.text);
      return order.length === 1 ? gate.service(call) : '';
    }, 1);
    const calls = [await ctx.tpacall(name, 'first')];
    await gate.calls(1);
    calls.push(await ctx.tpacall(name, 'plain'));
    ctx.tpsprio(100, TPFLAG.TPABSOLUTE);
    calls.push(await ctx.tpacall(name, 'urgent'));
    calls.push(await ctx.tpacall(name, 'plain again'));
    ctx.tpsprio(-1);
    calls.push(await ctx.tpacall(name, 'less'));
    gate.release();
    for (const cd of calls) await ctx.tpgetrply(cd);
    expect(order).toEqual(['first', 'urgent', 'plain', 'plain again', 'less']);
  });

  it('other flags than TPABSOLUTE: TPEINVAL', () => {
    expect(() => ctx.tpsprio(1, TPFLAG.TPNOTRAN)).toThrow(/TPEINVAL/);
    expect(() => ctx.tpsprio(1.5)).toThrow(/TPEINVAL/);
  });
});

describe('tpreturn', () => {
  it.each([
    ['TPSUCCESS', RVAL.TPSUCCESS, 'OK'],
    ['TPFAIL', RVAL.TPFAIL, 'TPESVCFAIL'],
    ['anything else', 99, 'TPESVCFAIL'],
  ])('%s', async (_name, rval, code) => {
    const name = await offer((call) => call.tpreturn(rval, -3, 'data'));
    expect(await codeOf(ctx.tpcall(name, 'x'))).toBe(code);
    expect(ctx.tpurcode).toBe(-3);
  });

  it('counts whatever the function resolves with; a second one is TPEPROTO', async () => {
    const second: unknown[] = [];
    const name = await offer((call) => {
      call.tpreturn(RVAL.TPSUCCESS, 0, 'this');
      try {
        call.tpforward('NOBODY');
      } catch (error) {
        second.push(error);
      }
      return 'not this';
    });
    expect((await ctx.tpcall(name, 'x')).data).toBe('this');
    expect(String(second[0])).toContain('TPEPROTO');
  });

  it('TPEXIT: the caller gets TPESVCFAIL with the data, then the server’s context ends and its process would', async () => {
    let exits = 0;
    const leaving = await daemon.join({ onExit: () => void exits++ });
    await leaving.tpadvertise('LEAVING', (call) => call.tpreturn(RVAL.TPEXIT, 5, 'bye'));
    const failure = await failureOf(ctx.tpcall('LEAVING', 'x'));
    expect([failure.reply?.data, ctx.tpurcode]).toEqual(['bye', 5]);
    await eventually(() => exits === 1);
    expect(await codeOf(ctx.tpcall('LEAVING', 'x'))).toBe('TPENOENT');
  });
});

describe('TPSVCINFO', () => {
  it('has name, flags, data, len, appkey and cltid', async () => {
    let seen: ServiceCall | null = null;
    const name = await offer((call) => void (seen = call));
    await ctx.tpcall(name, 'größe');
    expect(seen).toMatchObject({ name, flags: 0, data: 'größe', len: 7, appkey: -1 });
    expect((seen as ServiceCall | null)?.cltid.length).toBe(16);
  });
});

describe('tpforward', () => {
  it('another service answers the caller, who sees one call', async () => {
    const last = await offer((call) => call.tpreturn(RVAL.TPSUCCESS, 9, `${call.text} done`));
    const first = await offer((call) => call.tpforward(last, `${call.text} forwarded`));
    expect((await ctx.tpcall(first, 'x')).data).toBe('x forwarded done');
    expect(ctx.tpurcode).toBe(9);
  });

  it.each(['NOBODY', '', 'N'.repeat(128), '.reserved'])(
    'to %j: the caller gets TPESVCERR',
    async (target) => {
      const name = await offer((call) => call.tpforward(target, 'x'));
      expect(await codeOf(ctx.tpcall(name, 'x'))).toBe('TPESVCERR');
    },
  );
});

const service = (): string => 'me';

describe('tpadvertise', () => {
  it('a name of more than 127 bytes is cut, and a line says so', async () => {
    const long = `L${'é'.repeat(80)}`;
    errors.length = 0;
    await server.tpadvertise(long, service);
    expect(String(errors[0])).toContain('is cut to');
    expect((await ctx.tpcall(`L${'é'.repeat(63)}`, 'x')).data).toBe('me');
    await server.tpunadvertise(long);
    expect(await codeOf(ctx.tpcall(`L${'é'.repeat(63)}`, 'x'))).toBe('TPENOENT');
  });

  it('the same function again succeeds, another one is TPEMATCH and the old one stays', async () => {
    const name = await offer(service);
    await server.tpadvertise(name, service);
    expect(await codeOf(server.tpadvertise(name, () => 'other'))).toBe('TPEMATCH');
    expect((await ctx.tpcall(name, 'x')).data).toBe('me');
  });

  it('an empty name, one with a leading dot, or no function: TPEINVAL', async () => {
    expect(await codeOf(server.tpadvertise('', service))).toBe('TPEINVAL');
    expect(await codeOf(server.tpadvertise('.X', service))).toBe('TPEINVAL');
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as an untyped program would
    expect(await codeOf(server.tpadvertise('X', null as unknown as () => string))).toBe('TPEINVAL');
  });
});

describe('the rest', () => {
  it('tpscmt returns the value before; anything else is TPEINVAL', () => {
    expect(ctx.tpscmt(TP_CMT.TP_CMT_LOGGED)).toBe(TP_CMT.TP_CMT_COMPLETE);
    expect(ctx.tpscmt(TP_CMT.TP_CMT_COMPLETE)).toBe(TP_CMT.TP_CMT_LOGGED);
    expect(() => ctx.tpscmt(0)).toThrow(/TPEINVAL/);
  });

  it('tpchkauth is TPNOAUTH', () => {
    expect(ctx.tpchkauth()).toBe(TPAUTH.TPNOAUTH);
  });

  it('tpgetlev says whether there is a transaction', async () => {
    const fork = ctx.fork();
    expect(fork.tpgetlev()).toBe(0);
    await fork.tpbegin(30);
    expect(fork.tpgetlev()).toBe(1);
    await fork.tpterm();
  });

  it('conversations are refused', async () => {
    expect(await codeOf(ctx.tpconnect('S'))).toBe('TPENOENT');
    for (const call of [ctx.tpsend(1), ctx.tprecv(1), ctx.tpdiscon(1)])
      expect(await codeOf(call)).toBe('TPEBADDESC');
  });
});
