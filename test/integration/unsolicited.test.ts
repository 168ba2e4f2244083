// tpnotify, tpbroadcast, tpsetunsol and tpchkunsol through the SDK [spec 3.6].
import { describe, expect, it } from 'vitest';
import { type Context, type TpinitOptions, TPFLAG, TPU } from '../../clients/typescript/index.ts';
import { daemonForAll, eventually } from '../support/in-process.ts';
import { codeOf } from './helpers.ts';

const daemon = daemonForAll({ spaces: [{ queues: ['Q'] }] });

/** A context and its CLIENTID, which a service of its own tells it. */
async function join(
  options: TpinitOptions = {},
): Promise<{ ctx: Context; cltid: Uint8Array; got: unknown[] }> {
  const ctx = await daemon.join({ onError: () => undefined, ...options });
  const name = `ID${++names}`;
  await ctx.tpadvertise(name, (call) => Buffer.from(call.cltid));
  const cltid = (await ctx.tpcall(name, null)).data as Uint8Array;
  await ctx.tpunadvertise(name);
  return { ctx, cltid, got: [] };
}
let names = 0;
const deaf = (): void => undefined;

describe('dip-in, as by default', () => {
  it('a message waits until the program calls something; tpchkunsol says how many came', async () => {
    const [from, to] = [await join(), await join()];
    expect(to.ctx.tpsetunsol(({ data }) => void to.got.push(data))).toBe(null);
    await from.ctx.tpnotify(to.cltid, 'one');
    await from.ctx.tpnotify(to.cltid, { two: 2 });
    let came = 0;
    await eventually(() => (came += to.ctx.tpchkunsol()) === 2);
    expect(to.got).toEqual(['one', { two: 2 }]);
    expect(to.ctx.tpchkunsol()).toBe(0);
  });

  it('any request dips in as well', async () => {
    const [from, to] = [await join(), await join()];
    to.ctx.tpsetunsol(({ data }) => void to.got.push(data));
    await from.ctx.tpnotify(to.cltid, 'news');
    await eventually(async () => {
      await to.ctx.stat();
      return to.got.length === 1;
    });
  });
});

describe('TPU_THREAD and TPU_SIG', () => {
  it.each([TPU.TPU_THREAD, TPU.TPU_SIG])('%d: a message is handled when it arrives', async (flags) => {
    const [from, to] = [await join(), await join({ flags })];
    const came = new Promise((resolve) => void to.ctx.tpsetunsol(({ data, type }) => resolve([data, type])));
    await from.ctx.tpnotify(to.cltid, Buffer.from('bytes'));
    expect(await came).toEqual([new Uint8Array(Buffer.from('bytes')), 'CARRAY']);
  });
});

describe('TPACK', () => {
  it('resolves when the handler has run', async () => {
    const [from, to] = [await join(), await join({ flags: TPU.TPU_THREAD })];
    to.ctx.tpsetunsol(({ data }) => void to.got.push(data));
    await from.ctx.tpnotify(to.cltid, 'news', TPFLAG.TPACK);
    expect(to.got).toEqual(['news']);
  });

  it('a handler that throws has run', async () => {
    const [from, to] = [await join(), await join({ flags: TPU.TPU_THREAD })];
    to.ctx.tpsetunsol(() => {
      throw new Error('oops');
    });
    expect(await codeOf(from.ctx.tpnotify(to.cltid, 'news', TPFLAG.TPACK))).toBe('OK');
  });

  it('without a handler, with TPU_IGN, or when the client is gone: TPENOENT', async () => {
    const [from, none, ignores, gone] = [
      await join(),
      await join(),
      await join({ flags: TPU.TPU_IGN }),
      await join(),
    ];
    ignores.ctx.tpsetunsol(() => undefined);
    await gone.ctx.tpterm();
    for (const { cltid } of [none, ignores, gone]) {
      expect(await codeOf(from.ctx.tpnotify(cltid, 'news', TPFLAG.TPACK))).toBe('TPENOENT');
    }
  });

  it('an aborted signal ends the wait with TPGOTSIG', async () => {
    const [from, to] = [await join(), await join()];
    to.ctx.tpsetunsol(() => undefined);
    const stop = new AbortController();
    const call = codeOf(from.ctx.tpnotify(to.cltid, 'x', TPFLAG.TPACK, { signal: stop.signal }));
    await from.ctx.stat();
    stop.abort();
    expect(await call).toBe('TPGOTSIG');
  });
});

describe('tpbroadcast', () => {
  it('reaches whom the names say', async () => {
    const from = await join();
    const flags = TPU.TPU_THREAD;
    const all = [await join({ usrname: 'u', cltname: 'B', flags }), await join({ cltname: 'B', flags })];
    for (const { ctx, got } of all) ctx.tpsetunsol(({ data }) => void got.push(data));
    await from.ctx.tpbroadcast(null, null, 'B', 'all');
    await from.ctx.tpbroadcast('SITE1', 'u', 'B', 'one');
    await from.ctx.tpbroadcast(null, '', 'B', 'unnamed');
    await from.ctx.tpbroadcast('SITE9', null, 'B', 'nobody');
    await Promise.all(all.map(({ ctx }) => ctx.stat()));
    expect(all.map(({ got }) => got)).toEqual([
      ['all', 'one'],
      ['all', 'unnamed'],
    ]);
  });
});

describe('the handler', () => {
  it('tpsetunsol returns the one before; null disables', async () => {
    const [from, to] = [await join(), await join({ flags: TPU.TPU_THREAD })];
    expect([to.ctx.tpsetunsol(deaf), to.ctx.tpsetunsol(null)]).toEqual([null, deaf]);
    expect(await codeOf(from.ctx.tpnotify(to.cltid, 'x', TPFLAG.TPACK))).toBe('TPENOENT');
  });

  it('may ask tpgetlev, and nothing that goes to the daemon: TPEPROTO', async () => {
    const [from, to] = [await join(), await join({ flags: TPU.TPU_THREAD })];
    const calls: Promise<string>[] = [];
    to.ctx.tpsetunsol(() => {
      to.got.push(to.ctx.tpgetlev());
      calls.push(codeOf(to.ctx.tpcall('S', 'x')), codeOf(to.ctx.stat()));
    });
    await from.ctx.tpnotify(to.cltid, 'x', TPFLAG.TPACK);
    expect([to.got, await Promise.all(calls)]).toEqual([[0], ['TPEPROTO', 'TPEPROTO']]);
    await to.ctx.stat();
  });
});

it.each([
  ['a CLIENTID of another length', (ctx: Context) => ctx.tpnotify(new Uint8Array(15), 'x')],
  ['tpnotify with TPNOTRAN', (ctx: Context) => ctx.tpnotify(new Uint8Array(16), 'x', TPFLAG.TPNOTRAN)],
  ['tpbroadcast with TPACK', (ctx: Context) => ctx.tpbroadcast(null, null, null, 'x', TPFLAG.TPACK)],
  ['a name of 31 bytes', (ctx: Context) => ctx.tpbroadcast(null, 'u'.repeat(31), null, 'x')],
])('%s: TPEINVAL', async (_name, call) => {
  expect(await codeOf(call((await join()).ctx))).toBe('TPEINVAL');
});
