// The servers behind services: time limits of calls, cancelling, concurrency, which server is chosen, advertising [spec 3.4, 3.5; DESIGN
// 7; PROTOCOL 5, 7, 8.1].
import { beforeAll, describe, expect, it } from 'vitest';
import { type Context, ServiceFailure, TPFLAG } from '../../clients/typescript/index.ts';
import { TPERRNO } from '../../proto/codes.ts';
import { daemonForAll, daemonForTest, eventually } from '../support/in-process.ts';
import { codeOf, Gate } from './helpers.ts';

const daemon = daemonForAll({ spaces: [{ queues: ['Q'] }] });
let ctx: Context;
let server: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  server = await daemon.join({ onError: () => undefined });
});

let names = 0;
const fresh = (): string => `SVC${++names}`;

describe('time', () => {
  it('the caller’s limit: TPETIME on time; the late answer is dropped and the next call is not disturbed', async () => {
    const name = fresh();
    const gate = new Gate();
    await server.tpadvertise(name, gate.service);
    const began = performance.now();
    expect(await codeOf(ctx.tpcall(name, 'x', 0, { timeoutMs: 200 }))).toBe('TPETIME');
    const tookMs = performance.now() - began;
    expect([tookMs > 190, tookMs < 2000]).toEqual([true, true]);
    const next = ctx.tpcall(name, 'y');
    await gate.calls(2);
    gate.waiting[0]?.answer('late');
    gate.waiting[1]?.answer('in time');
    expect((await next).data).toBe('in time');
  });

  it.each([
    ['BLOCKTIME counts when no limit is given', 0, 'TPETIME'],
    ['with TPNOTIME it does not', TPFLAG.TPNOTIME, 'OK'],
  ])('%s', async (_name, flags, code) => {
    const small = await daemonForTest({});
    const [caller, provider] = [await small.join(), await small.join()];
    const gate = new Gate();
    await provider.tpadvertise('S', gate.service);
    const call = codeOf(caller.tpcall('S', 'x', flags));
    await gate.calls(1);
    small.clock.advance(60_010);
    if (code === 'OK') {
      await caller.stat();
      gate.release();
    }
    expect(await call).toBe(code);
    gate.release();
  });

  it('the service is told how long its caller waits', async () => {
    const name = fresh();
    await server.tpadvertise(name, (call) => call.timeoutMs);
    const { data } = await ctx.tpcall(name, 'x', 0, { timeoutMs: 5000 });
    expect([Number(data) > 0, Number(data) <= 5000]).toEqual([true, true]);
  });

  it.each([2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER])(
    'a limit of %d ms does not overflow',
    async (timeoutMs) => {
      const name = fresh();
      const gate = new Gate();
      await server.tpadvertise(name, gate.service);
      const call = ctx.tpcall(name, 'x', 0, { timeoutMs });
      await gate.calls(1);
      await ctx.stat();
      gate.release('answer');
      expect((await call).data).toBe('answer');
    },
  );

  it('a call under way when its caller says GOODBYE is answered TPGOTSIG first', async () => {
    const name = fresh();
    const gate = new Gate();
    await server.tpadvertise(name, gate.service);
    const raw = await daemon.raw();
    raw.send(9, 5, name, 0, 0, 0, 0, '', null);
    raw.send(2, 6);
    expect((await raw.rest()).map((frame) => frame.slice(0, 3))).toEqual([
      [127, 5, TPERRNO.TPGOTSIG],
      [130, 6],
    ]);
    gate.release();
  });

  it('a call that waits for a free server times out too', async () => {
    const name = fresh();
    const gate = new Gate();
    await server.tpadvertise(name, gate.service, { concurrency: 1 });
    const first = ctx.tpcall(name, 1);
    await gate.calls(1);
    expect(await codeOf(ctx.tpcall(name, 2, 0, { timeoutMs: 100 }))).toBe('TPETIME');
    gate.release();
    expect((await first).data).toBe('done');
    expect(gate.waiting).toEqual([]);
  });

  it('CANCEL ends a call with TPGOTSIG; its RETURN is ignored', async () => {
    const name = fresh();
    const provider = await daemon.raw();
    await provider.ask(10, 2, name, 1);
    const raw = await daemon.raw();
    raw.send(9, 5, name, 0, 0, 0, 0, '', null);
    const request = await provider.next();
    raw.send(8, 6, 5);
    expect((await raw.next()).slice(0, 3)).toEqual([127, 5, TPERRNO.TPGOTSIG]);
    expect(await raw.next()).toEqual([136, 6, true]);
    provider.send(12, request[1] as number, 2, 0, 0, '', null);
    expect(await provider.ask(14, 9)).toEqual([142, 9]);
    expect(await raw.ask(14, 9)).toEqual([142, 9]);
  });

  it('a RETURN of an unknown id, or a second one, is ignored', async () => {
    const name = fresh();
    const provider = await daemon.raw();
    await provider.ask(10, 2, name, 1);
    provider.send(12, 4711, 2, 0, 0, '', null);
    const call = ctx.tpcall(name, 'x');
    const request = await provider.next();
    for (const text of ['one', 'two']) {
      provider.send(12, request[1] as number, 2, 0, 1, '', Buffer.from(text));
    }
    expect((await call).data).toBe('one');
    expect(await provider.ask(14, 9)).toEqual([142, 9]);
  });
});

describe('servers', () => {
  it('concurrency is kept, the other calls wait their turn', async () => {
    const name = fresh();
    let active = 0;
    let most = 0;
    await server.tpadvertise(
      name,
      async () => {
        most = Math.max(most, ++active);
        await new Promise(setImmediate);
        active--;
      },
      { concurrency: 3 },
    );
    await Promise.all(Array.from({ length: 50 }, () => ctx.tpcall(name, null)));
    expect(most).toBe(3);
  });

  it('advertising again with the same function changes the concurrency', async () => {
    const name = fresh();
    const gate = new Gate();
    await server.tpadvertise(name, gate.service, { concurrency: 1 });
    const calls = [1, 2, 3].map((n) => ctx.tpcall(name, n));
    await gate.calls(1);
    await server.tpadvertise(name, gate.service, { concurrency: 3 });
    await gate.calls(3);
    gate.release();
    expect(await Promise.all(calls)).toHaveLength(3);
  });

  it('the one with the fewest outstanding is chosen, equal ones in turn', async () => {
    const name = fresh();
    const second = await daemon.join();
    const gate = new Gate();
    let busy = true;
    await server.tpadvertise(name, (call) => (busy ? gate.service(call) : 'a'));
    const held = ctx.tpcall(name, 'held');
    await gate.calls(1);
    await second.tpadvertise(name, () => 'b');
    const first: unknown[] = [];
    for (let i = 0; i < 4; i++) first.push((await ctx.tpcall(name, 'x')).data);
    expect(first).toEqual(['b', 'b', 'b', 'b']);
    busy = false;
    gate.release('a');
    await held;
    const then: unknown[] = [];
    for (let i = 0; i < 6; i++) then.push((await ctx.tpcall(name, 'x')).data);
    expect(then.filter((one) => one === 'a')).toHaveLength(3);
    expect(new Set(then.slice(0, 2))).toEqual(new Set(['a', 'b']));
  });

  it('when one dies, calls that had not reached it go to the other', async () => {
    const name = fresh();
    const raw = await daemon.raw();
    await raw.ask(10, 2, name, 1);
    const running = codeOf(ctx.tpcall(name, 1));
    await raw.next();
    const waiting = ctx.tpcall(name, 2);
    await eventually(async () => (await daemonService(name)).outstanding >= 1);
    await server.tpadvertise(name, () => 'other');
    raw.reset();
    expect(await running).toBe('TPESVCERR');
    expect((await waiting).data).toBe('other');
  });

  it('unadvertised: no new calls, the running one is answered', async () => {
    const name = fresh();
    const gate = new Gate();
    await server.tpadvertise(name, gate.service);
    const running = ctx.tpcall(name, 'x');
    await gate.calls(1);
    await server.tpunadvertise(name);
    expect(await codeOf(ctx.tpcall(name, 'x'))).toBe('TPENOENT');
    gate.release('still');
    expect((await running).data).toBe('still');
  });

  it('the last one gone: calls that waited for it are answered, and not by nothing until BLOCKTIME', async () => {
    const name = fresh();
    const raw = await daemon.raw();
    await raw.ask(10, 2, name, 1);
    const running = codeOf(ctx.tpcall(name, 1));
    await raw.next();
    const waiting = codeOf(ctx.tpcall(name, 2));
    await ctx.stat();
    raw.reset();
    expect(await running).toBe('TPESVCERR');
    expect(['TPENOENT', 'TPESVCERR']).toContain(await waiting);
  });

  it('advertised again after that: served', async () => {
    const name = fresh();
    for (const text of ['one', 'two']) {
      await server.tpadvertise(name, () => text);
      expect((await ctx.tpcall(name, 'x')).data).toBe(text);
      await server.tpunadvertise(name);
    }
  });

  it('STAT counts them', async () => {
    const name = fresh();
    await server.tpadvertise(name, (call) => {
      if (call.text === 'bad') throw new ServiceFailure(1);
    });
    await ctx.tpcall(name, 'good');
    await codeOf(ctx.tpcall(name, 'bad'));
    expect(await daemonService(name)).toEqual({ name, servers: 1, outstanding: 0, completed: 1, failed: 1 });
  });
});

describe('advertising is refused', () => {
  it.each<[string, string, number]>([
    ['no name', '', TPERRNO.TPEINVAL],
    ['a leading dot', '.SVC', TPERRNO.TPEINVAL],
    ['128 bytes', 's'.repeat(128), TPERRNO.TPEINVAL],
    ['NUL', 'a\0b', TPERRNO.TPEINVAL],
    ['the name of a queue space', 'QSPACE', TPERRNO.TPEMATCH],
  ])('%s', async (_name, name, tperrno) => {
    const raw = await daemon.raw();
    expect((await raw.ask(10, 5, name, 1)).slice(0, 3)).toEqual([127, 5, tperrno]);
    expect(await raw.ask(14, 6)).toEqual([142, 6]);
  });

  it('a name of 127 bytes is not', async () => {
    expect(await (await daemon.raw()).ask(10, 5, 's'.repeat(127), 1)).toEqual([138, 5]);
  });

  it('another function under the same name of one server: TPEMATCH, the old one stays', async () => {
    const name = fresh();
    await server.tpadvertise(name, () => 'old');
    expect(await codeOf(server.tpadvertise(name, () => 'new'))).toBe('TPEMATCH');
    expect((await ctx.tpcall(name, 'x')).data).toBe('old');
  });

  it('more than 1,024 services of one connection: TPELIMIT', async () => {
    const raw = await daemon.raw();
    for (let i = 0; i < 1024; i++) raw.send(10, 10 + i, `MANY${i}`, 1);
    for (let i = 0; i < 1024; i++) expect((await raw.answer(10 + i))[0]).toBe(138);
    expect((await raw.ask(10, 5, 'ONE', 1)).slice(0, 3)).toEqual([127, 5, TPERRNO.TPELIMIT]);
    raw.reset();
  });

  it('unadvertising what is not one’s own: TPENOENT', async () => {
    const name = fresh();
    await server.tpadvertise(name, () => 'x');
    const raw = await daemon.raw();
    expect((await raw.ask(11, 5, name)).slice(0, 3)).toEqual([127, 5, TPERRNO.TPENOENT]);
    expect((await ctx.tpcall(name, 'x')).data).toBe('x');
  });
});

async function daemonService(name: string): Promise<{ outstanding: number }> {
  const found = (await ctx.stat()).services.find((service) => service.name === name);
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
}
