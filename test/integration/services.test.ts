// Services: tpcall, what reaches the service and what comes back, failures and refusals [spec 3.4, 3.5; DESIGN 7; PROTOCOL 5, 8.1].
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Context,
  type ServiceCall,
  ServiceFailure,
  TPFLAG,
  typed,
} from '../../clients/typescript/index.ts';
import { RVAL, TPERRNO } from '../../proto/codes.ts';
import { daemonForAll } from '../support/in-process.ts';
import type { Frame, RawClient } from '../support/raw-client.ts';
import { codeOf, drain, failureOf, put } from './helpers.ts';

const daemon = daemonForAll({ spaces: [{ queues: ['Q'] }] });
let ctx: Context;
let server: Context;
beforeAll(async () => {
  ctx = await daemon.join();
  server = await daemon.join({ onError: () => undefined });
});

let names = 0;
const fresh = (): string => `SVC${++names}`;

describe('a call', () => {
  it('gives the service its data and the caller the answer, its type and tpurcode', async () => {
    const name = fresh();
    let seen: ServiceCall | null = null;
    await server.tpadvertise(name, (call) => {
      seen = call;
      call.rcode = -17;
      return typed('FML32', 'sub', Buffer.from('answer'));
    });
    const reply = await ctx.tpcall(name, typed('VIEW32', 'v', Buffer.from('question')));
    expect(reply).toMatchObject({ type: 'FML32', subtype: 'sub' });
    expect(Buffer.from(reply.data as Uint8Array).toString()).toBe('answer');
    expect(ctx.tpurcode).toBe(-17);
    expect(seen).toMatchObject({
      service: name,
      type: 'VIEW32',
      subtype: 'v',
      text: 'question',
      appkey: -1,
      flags: 0,
    });
  });

  it('carries the CLIENTID of the caller', async () => {
    const name = fresh();
    const raw = await daemon.socket();
    const [, , , cltid] = await raw.hello();
    await server.tpadvertise(name, (call) => Buffer.from(call.cltid));
    expect((await raw.ask(9, 2, name, 0, 0, 0, 0, '', null))[6]).toEqual(cltid);
  });

  it.each([0, 1, 1447, 1448, 65_534, 65_535, 65_536, 65_537, 1_048_576])(
    'data of %d bytes',
    async (bytes) => {
      const name = fresh();
      await server.tpadvertise(name, (call) => call.data);
      const data = Buffer.alloc(bytes, 'abcdefghij');
      const reply = await ctx.tpcall(name, data);
      expect(bytes === 0 ? reply.data === null : Buffer.from(reply.data as Uint8Array).equals(data)).toBe(
        true,
      );
    },
  );

  it('a thousand at once are each answered with their own', async () => {
    const name = fresh();
    await server.tpadvertise(name, (call) => Number(call.data) * 2, { concurrency: 8 });
    const numbers = Array.from({ length: 1000 }, (_, i) => i);
    const replies = await Promise.all(numbers.map((n) => ctx.tpcall(name, n)));
    expect(replies.map(({ data }) => data)).toEqual(numbers.map((n) => n * 2));
  });

  it('from inside a service to another one works', async () => {
    const [outer, inner] = [fresh(), fresh()];
    await server.tpadvertise(inner, (call) => `${call.text}!`);
    await server.tpadvertise(outer, async (call) => (await server.tpcall(inner, call.text)).data);
    expect((await ctx.tpcall(outer, 'x')).data).toBe('x!');
  });
});

describe('a service that fails', () => {
  it.each<[string, () => unknown, unknown, number]>([
    ['with data and rcode', () => Promise.reject(new ServiceFailure(42, 'why')), 'why', 42],
    ['with rcode alone', () => Promise.reject(new ServiceFailure(-1)), null, -1],
    ['by any other throw', () => Promise.reject(new Error('oops')), null, 0],
  ])('%s: TPESVCFAIL', async (_name, service, data, rcode) => {
    const name = fresh();
    await server.tpadvertise(name, service);
    const failure = await failureOf(ctx.tpcall(name, 'x'));
    expect(failure.tperrno).toBe(TPERRNO.TPESVCFAIL);
    expect([failure.reply?.data, ctx.tpurcode]).toEqual([data, rcode]);
  });

  it.each([
    ['TPSUCCESS', RVAL.TPSUCCESS, RVAL.TPSUCCESS],
    ['TPFAIL', RVAL.TPFAIL, RVAL.TPFAIL],
    ['TPEXIT', RVAL.TPEXIT, RVAL.TPFAIL],
    ['0', 0, RVAL.TPFAIL],
    ['3', 3, RVAL.TPFAIL],
    ['-1', -1, RVAL.TPFAIL],
    ['2^40', 2 ** 40, RVAL.TPFAIL],
  ])(
    'RETURN with rval %s reaches the caller as it should, with data and rcode',
    async (_name, rval, seen) => {
      const name = fresh();
      const raw = await daemon.raw();
      await raw.ask(10, 2, name, 1);
      const caller = await daemon.raw();
      caller.send(9, 5, name, 0, 0, 0, 1, '', Buffer.from('in'));
      const request = await raw.next();
      raw.send(12, request[1] as number, rval, Number.MAX_SAFE_INTEGER, 1, '', Buffer.from('out'));
      expect(await caller.answer(5)).toEqual([
        137,
        5,
        seen,
        Number.MAX_SAFE_INTEGER,
        1,
        '',
        Buffer.from('out'),
      ]);
    },
  );

  it('because its connection ends in mid-call: TPESVCERR at once', async () => {
    const name = fresh();
    const raw = await daemon.raw();
    await raw.ask(10, 2, name, 1);
    const call = codeOf(ctx.tpcall(name, 'x'));
    await raw.next();
    raw.reset();
    expect(await call).toBe('TPESVCERR');
    expect(await codeOf(ctx.tpcall(name, 'x'))).toBe('TPENOENT');
  });

  it('because its connection says GOODBYE in mid-call: TPESVCERR', async () => {
    const name = fresh();
    const raw = await daemon.raw();
    await raw.ask(10, 2, name, 1);
    const call = codeOf(ctx.tpcall(name, 'x'));
    await raw.next();
    raw.send(2, 3);
    expect(await call).toBe('TPESVCERR');
  });
});

describe('a call is refused', () => {
  it('no such service: TPENOENT, and the text names it', async () => {
    const failure = await failureOf(ctx.tpcall('NOSERVICE', 'x'));
    expect(failure.tperrno).toBe(TPERRNO.TPENOENT);
    expect(failure.message).toContain('NOSERVICE');
  });

  it('or answered with TPNOTRAN in a transaction: that can be committed', async () => {
    const name = fresh();
    await server.tpadvertise(name, () => 'answer');
    await ctx.tpbegin(30);
    await put(ctx, 'Q', 'x');
    expect(await codeOf(ctx.tpcall('NOSERVICE', 'x'))).toBe('TPENOENT');
    expect((await ctx.tpcall(name, 'x', TPFLAG.TPNOTRAN)).data).toBe('answer');
    await ctx.tpcommit();
    expect(await drain(ctx, 'Q')).toEqual(['x']);
  });

  it.each<[string, (raw: RawClient) => Promise<Frame>]>([
    ['no name', (raw) => raw.ask(9, 5, '', 0, 0, 0, 0, '', null)],
    ['a name of 128 bytes', (raw) => raw.ask(9, 5, 's'.repeat(128), 0, 0, 0, 0, '', null)],
    ['a name with NUL', (raw) => raw.ask(9, 5, 'a\0b', 0, 0, 0, 0, '', null)],
    ['a flag that tpcall does not take', (raw) => raw.ask(9, 5, 'S', 0x10, 0, 0, 0, '', null)],
  ])('%s: TPEINVAL', async (_name, call) => {
    expect((await call(await daemon.raw())).slice(0, 3)).toEqual([127, 5, TPERRNO.TPEINVAL]);
  });

  it('an answer of another type with TPNOCHANGE: TPEOTYPE', async () => {
    const name = fresh();
    await server.tpadvertise(name, () => Buffer.from('bytes'));
    expect(await codeOf(ctx.tpcall(name, 'text', TPFLAG.TPNOCHANGE))).toBe('TPEOTYPE');
  });
});
