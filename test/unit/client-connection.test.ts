// What happens on the connection: coalesced writes, places in flight, heartbeats, loss, reconnecting, leaving.
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Context,
  TPERRNO,
  TpError,
  TPFLAG,
  tpinit,
  TPQ,
  TPQCTL,
} from '../../clients/typescript/index.ts';
import { OP } from '../../proto/codes.ts';
import { FakeDaemon, type FakeOptions } from '../support/fake-daemon.ts';

let daemon: FakeDaemon;
const contexts: Context[] = [];
const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);

beforeEach(async () => {
  daemon = await FakeDaemon.start();
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});

afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(contexts.splice(0).map((ctx) => ctx.tpterm()));
  await daemon.stop();
  await sleep(0);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

async function restartWith(options: FakeOptions): Promise<void> {
  await daemon.stop();
  daemon = await FakeDaemon.start(options);
}

/** Repeats a call until it fails with this code: the client needs a moment to see that a connection is gone. */
async function failsWith(tperrno: number, start: () => Promise<unknown>): Promise<TpError> {
  for (let i = 0; i < 2000; i++) {
    const error = await failure(start());
    if (error.tperrno === tperrno) return error;
    await sleep(1);
  }
  throw new Error(`it never failed with ${tperrno}`);
}

/** Stops the daemon; afterwards the client knows. */
async function stopAndNotice(ctx: Context): Promise<void> {
  await daemon.stop();
  await failsWith(TPERRNO.TPEBLOCK, () => ctx.tpenqueue('Q', 'Q', null, 'x', TPFLAG.TPNOBLOCK));
}

async function join(options: Parameters<typeof tpinit>[0] = {}): Promise<Context> {
  const ctx = await tpinit({ address: daemon.address, reconnect: { initialMs: 10, maxMs: 50 }, ...options });
  contexts.push(ctx);
  return ctx;
}

async function failure(promise: Promise<unknown>): Promise<TpError> {
  const result: unknown = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  if (!TpError.is(result)) throw new Error('it did not fail with a TpError', { cause: result });
  return result;
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 2000 && !condition(); i++) await sleep(1);
  if (!condition()) throw new Error('it did not come true');
}

/** Timers and sockets of this process. */
function left(): string[] {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout' || name === 'TCPSocketWrap');
}

const waiting = (): TPQCTL => new TPQCTL({ flags: TPQ.TPQWAIT });

describe('sending', () => {
  it('coalesces the requests of one turn into one write', async () => {
    const ctx = await join();
    await ctx.tpenqueue('QSPACE', 'Q', null, 'first');
    const writes = vi.spyOn(Socket.prototype, 'write');
    await Promise.all(Array.from({ length: 50 }, (_, i) => ctx.tpenqueue('QSPACE', 'Q', null, `${i}`)));
    const mine = writes.mock.contexts.filter(
      (socket) => socket instanceof Socket && socket.remotePort === daemon.port,
    );
    expect(mine.length).toBe(1);
    expect(daemon.texts('QSPACE/Q').length).toBe(51);
  });

  it('never has more requests in flight than the daemon allows, and loses none', async () => {
    await restartWith({ inFlightMax: 8 });
    const ctx = await join();
    let inFlight = 0;
    let most = 0;
    daemon.script = (request, connection) => {
      if (request.op !== OP.ENQUEUE) return 'default';
      most = Math.max(most, ++inFlight);
      setImmediate(() => {
        inFlight--;
        connection.send({ op: OP.ENQUEUE, id: request.id, msgid: null });
      });
      return null;
    };
    await Promise.all(Array.from({ length: 3000 }, (_, i) => ctx.tpenqueue('QSPACE', 'Q', null, `${i}`)));
    expect(most).toBeLessThanOrEqual(8);
    const order = daemon.requests.flatMap((r) =>
      r.op === OP.ENQUEUE ? [Buffer.from(r.body.data ?? []).toString()] : [],
    );
    expect(order).toEqual(Array.from({ length: 3000 }, (_, i) => `${i}`));
  });

  it('keeps places free for the request that ends the waiting of others', async () => {
    await restartWith({ inFlightMax: 8 });
    const ctx = await join();
    const parked = Array.from({ length: 30 }, () => ctx.tpdequeue('QSPACE', 'Q', waiting(), null));
    for (let i = 0; i < 30; i++) await ctx.tpenqueue('QSPACE', 'Q', null, `${i}`);
    expect((await Promise.all(parked)).map(({ data }) => Number(data)).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 30 }, (_, i) => i),
    );
  });
});

describe('receiving', () => {
  it('takes what came behind the answer to HELLO', async () => {
    daemon.script = (request, connection) => {
      if (request.op !== OP.HELLO) return 'default';
      connection.socket.cork();
      connection.send({
        op: OP.HELLO,
        id: request.id,
        version: 1,
        cltid: new Uint8Array(16),
        heartbeatMs: 0,
        frameBytesMax: 100_000,
        inFlightMax: 8,
        blockTimeMs: 1000,
        product: 'fake',
      });
      connection.closing('full house');
      connection.socket.uncork();
      return null;
    };
    const ctx = await join({ reconnect: false });
    expect((await failsWith(TPERRNO.TPESYSTEM, () => ctx.stat())).message).toContain('full house');
  });

  it('megabytes in both directions', async () => {
    const ctx = await join();
    const bodies = Array.from({ length: 24 }, (_, i) => Buffer.alloc(1_000_000 - i, i));
    await Promise.all(bodies.map((data) => ctx.tpenqueue('QSPACE', 'Q', null, data)));
    const got = await Promise.all(bodies.map(() => ctx.tpdequeue('QSPACE', 'Q', null, null)));
    const same = got.map(
      ({ data }, i) => data instanceof Uint8Array && Buffer.compare(data, bodies[i] ?? Buffer.alloc(0)),
    );
    expect(same).toEqual(bodies.map(() => 0));
  });
});

describe('abort', () => {
  it('of a waiting dequeue cancels it', async () => {
    const ctx = await join();
    const controller = new AbortController();
    const call = ctx.tpdequeue('QSPACE', 'Q', waiting(), null, 0, { signal: controller.signal });
    await until(() => daemon.waiters.length === 1);
    controller.abort(new Error('enough'));
    const error = await failure(call);
    expect(error.tperrno).toBe(TPERRNO.TPGOTSIG);
    expect(error.cause).toMatchObject({ message: 'enough' });
    expect(daemon.waiters.length).toBe(0);
  });

  it('that loses the race still returns the message', async () => {
    const ctx = await join();
    const controller = new AbortController();
    const call = ctx.tpdequeue('QSPACE', 'Q', waiting(), null, 0, { signal: controller.signal });
    await until(() => daemon.waiters.length === 1);
    // The message leaves the daemon before the CANCEL arrives.
    daemon.script = (request) => {
      if (request.op === OP.CANCEL) {
        daemon.put('QSPACE/Q', {
          msgid: daemon.newMsgid(),
          corrid: null,
          priority: 0,
          replyqueue: '',
          failurequeue: '',
          supplied: 0,
          urcode: 0,
          body: { type: 'STRING', subtype: '', data: Buffer.from('won') },
          attempts: 0,
        });
      }
      return 'default';
    };
    controller.abort();
    expect((await call).data).toBe('won');
  });

  it('before anything is sent rejects at once; fifty calls may share a signal without a warning', async () => {
    const ctx = await join();
    const warnings = vi.spyOn(process, 'emitWarning');
    const controller = new AbortController();
    const calls = Array.from({ length: 50 }, () =>
      failure(ctx.tpdequeue('QSPACE', 'Q', waiting(), null, 0, { signal: controller.signal })),
    );
    controller.abort();
    for (const error of await Promise.all(calls)) expect(error.tperrno).toBe(TPERRNO.TPGOTSIG);
    const before = daemon.requests.length;
    const late = failure(ctx.tpenqueue('QSPACE', 'Q', null, 'x', 0, { signal: controller.signal }));
    expect((await late).tperrno).toBe(TPERRNO.TPGOTSIG);
    expect(daemon.requests.length).toBe(before);
    expect(warnings).not.toHaveBeenCalled();
  });
});

describe('loss of the connection', () => {
  it.each([
    ['an enqueue', (ctx: Context) => ctx.tpenqueue('QSPACE', 'Q', null, 'x'), OP.ENQUEUE, true],
    ['a dequeue', (ctx: Context) => ctx.tpdequeue('QSPACE', 'Q', waiting(), null), OP.DEQUEUE, true],
    [
      'a peek',
      (ctx: Context) => ctx.tpdequeue('QSPACE', 'Q', new TPQCTL({ flags: TPQ.TPQPEEK }), null),
      OP.DEQUEUE,
      false,
    ],
    ['a call', (ctx: Context) => ctx.tpcall('S', 'x'), OP.CALL, true],
    ['stat', (ctx: Context) => ctx.stat(), OP.STAT, false],
  ])('fails %s at once and says whether its outcome is known', async (_name, start, op, outcomeUnknown) => {
    const ctx = await join();
    daemon.script = (request) => (request.op === op ? null : 'default');
    const call = failure(start(ctx));
    await until(() => daemon.requests.at(-1)?.op === op);
    daemon.drop();
    const error = await call;
    expect(error).toMatchObject({ tperrno: TPERRNO.TPESYSTEM, outcomeUnknown });
    expect(error.message).toMatch(/lost/);
  });

  it('of a commit that was sent leaves the outcome unknown, and the context in no transaction', async () => {
    const ctx = await join();
    await ctx.tpbegin(30);
    daemon.script = (request, connection) => {
      if (request.op !== OP.COMMIT) return 'default';
      connection.reset();
      return null;
    };
    expect(await failure(ctx.tpcommit())).toMatchObject({ tperrno: TPERRNO.TPESYSTEM, outcomeUnknown: true });
    expect(ctx.tpgetlev()).toBe(0);
  });

  it('ends the transaction: work in it is TPETIME, commit TPEABORT, abort succeeds', async () => {
    const ctx = await join();
    for (const end of ['tpcommit', 'tpabort'] as const) {
      await ctx.tpbegin(30);
      await ctx.tpenqueue('QSPACE', 'Q', null, 'gone');
      daemon.drop();
      await failsWith(TPERRNO.TPETIME, () => ctx.tpenqueue('QSPACE', 'Q', null, 'x'));
      expect(ctx.tpgetlev()).toBe(1);
      if (end === 'tpabort') await ctx.tpabort();
      else expect((await failure(ctx.tpcommit())).tperrno).toBe(TPERRNO.TPEABORT);
      expect(ctx.tpgetlev()).toBe(0);
    }
    expect(daemon.texts('QSPACE/Q')).toEqual([]);
  });

  it('a request of a transaction is known to be rolled back', async () => {
    const ctx = await join();
    await ctx.tpbegin(30);
    daemon.script = (request) => (request.op === OP.ENQUEUE ? null : 'default');
    const call = failure(ctx.tpenqueue('QSPACE', 'Q', null, 'x'));
    await until(() => daemon.requests.at(-1)?.op === OP.ENQUEUE);
    daemon.drop();
    expect(await call).toMatchObject({ tperrno: TPERRNO.TPESYSTEM, outcomeUnknown: false });
  });

  it('says what the daemon gave as its reason', async () => {
    const ctx = await join();
    const call = failure(ctx.tpdequeue('QSPACE', 'Q', waiting(), null));
    await until(() => daemon.waiters.length === 1);
    daemon.connections[0]?.closing('maintenance at noon');
    expect((await call).message).toContain('maintenance at noon');
  });

  it('comes with bytes that are no protocol', async () => {
    const ctx = await join();
    const call = failure(ctx.tpdequeue('QSPACE', 'Q', waiting(), null));
    await until(() => daemon.waiters.length === 1);
    daemon.connections[0]?.raw(Buffer.from([0, 0, 0, 1, 0xc1]));
    expect((await call).message).toContain('what is no answer');
    await until(() => daemon.connections.length === 0);
    const second = failure(ctx.tpdequeue('QSPACE', 'Q', waiting(), null));
    await until(() => daemon.waiters.length === 1);
    daemon.connections[0]?.raw(Buffer.from([0xff, 0, 0, 1]));
    expect((await second).message).toContain('above the limit');
  });
});

describe('reconnecting', () => {
  it('later calls succeed when the daemon is back; handles are bound anew', async () => {
    const ctx = await join();
    for (let i = 0; i < 3; i++) await ctx.tpenqueue('QSPACE', 'Q', null, 'before');
    await stopAndNotice(ctx);
    const call = ctx.tpenqueue('QSPACE', 'Q', null, 'after');
    await sleep(60);
    await daemon.listen();
    await call;
    expect(daemon.texts('QSPACE/Q').at(-1)).toBe('after');
    expect(daemon.requests.at(-1)).toMatchObject({ queue: { qspace: 'QSPACE', qname: 'Q' } });
  });

  it('nothing that was sent is sent again', async () => {
    const ctx = await join();
    daemon.script = (request, connection) => {
      if (request.op !== OP.ENQUEUE) return 'default';
      connection.reset();
      return null;
    };
    await failure(ctx.tpenqueue('QSPACE', 'Q', null, 'once'));
    daemon.script = () => 'default';
    await ctx.tpenqueue('QSPACE', 'Q', null, 'other');
    expect(daemon.requests.filter((request) => request.op === OP.ENQUEUE).length).toBe(2);
  });

  it('a call waits for a connection at most the blocking time; TPNOBLOCK does not wait, TPNOTIME does', async () => {
    await restartWith({ blockTimeMs: 40 });
    const ctx = await join();
    await stopAndNotice(ctx);
    expect((await failure(ctx.tpenqueue('Q', 'Q', null, 'x', TPFLAG.TPNOBLOCK))).tperrno).toBe(
      TPERRNO.TPEBLOCK,
    );
    const untimed = ctx.tpenqueue('Q', 'Q', null, 'x', TPFLAG.TPNOTIME);
    expect((await failure(ctx.tpenqueue('Q', 'Q', null, 'x'))).tperrno).toBe(TPERRNO.TPETIME);
    await daemon.listen();
    await untimed;
  });

  it('an abort takes a call out that waits for a connection', async () => {
    const ctx = await join();
    await stopAndNotice(ctx);
    const error = await failure(ctx.tpenqueue('Q', 'Q', null, 'x', 0, { signal: AbortSignal.timeout(20) }));
    expect(error.tperrno).toBe(TPERRNO.TPGOTSIG);
  });

  it('reconnect: false fails later calls', async () => {
    const ctx = await join({ reconnect: false });
    daemon.drop();
    const error = await failure(ctx.stat()).then(() => failure(ctx.tpenqueue('Q', 'Q', null, 'x')));
    expect([error.tperrno, error.outcomeUnknown]).toEqual([TPERRNO.TPESYSTEM, false]);
  });

  it('a daemon that now refuses is not asked for ever', async () => {
    const ctx = await join({ onError: () => {} });
    daemon.script = (request) =>
      request.op === OP.HELLO
        ? { op: OP.ERROR, id: request.id, tperrno: TPERRNO.TPEPERM, diagnostic: 0, message: 'locked out' }
        : 'default';
    daemon.drop();
    const error = await failsWith(TPERRNO.TPEPERM, () => ctx.tpenqueue('Q', 'Q', null, 'x'));
    expect(error.operation).toBe('tpenqueue');
  });
});

describe('heartbeats', () => {
  it('a silent client sends PING, and closes when it hears nothing', async () => {
    await restartWith({ heartbeatMs: 20 });
    const ctx = await join();
    await until(() => daemon.requests.some(({ op }) => op === OP.PING));
    await sleep(120);
    expect(daemon.connections.length).toBe(1);
    const call = failure(ctx.tpdequeue('QSPACE', 'Q', waiting(), null));
    await until(() => daemon.waiters.length === 1);
    // From now on the daemon is a black hole.
    daemon.script = () => null;
    const [connection] = daemon.connections;
    if (connection !== undefined) connection.socket.write = () => true;
    expect((await call).message).toContain('three heartbeats');
  });

  it('a heartbeat that the daemon pushes counts as heard', async () => {
    await restartWith({ heartbeatMs: 15 });
    daemon.script = (request) => (request.op === OP.PING ? null : 'default');
    await join();
    await sleep(150);
    expect(daemon.connections.length).toBe(1);
  });

  it('the client may ask for shorter ones', async () => {
    await join({ heartbeatMs: 10 });
    await until(() => daemon.requests.filter(({ op }) => op === OP.PING).length >= 3);
  });
});

describe('tpterm', () => {
  it('is repeatable, and every call after it is TPEPROTO', async () => {
    const ctx = await join();
    await Promise.all([ctx.tpterm(), ctx.tpterm()]);
    await ctx.close();
    const calls = [
      ctx.tpenqueue('Q', 'Q', null, 'x'),
      ctx.tpbegin(1),
      ctx.tpcommit(),
      ctx.tpcall('S', 'x'),
      ctx.stat(),
      ctx.transaction(() => 1),
      ctx.tpadvertise('S', () => ''),
    ].map(failure);
    for (const error of await Promise.all(calls)) expect(error.tperrno).toBe(TPERRNO.TPEPROTO);
  });

  it('answers what waits', async () => {
    const ctx = await join();
    const call = failure(ctx.tpdequeue('QSPACE', 'Q', waiting(), null));
    await until(() => daemon.waiters.length === 1);
    await ctx.tpterm();
    expect((await call).tperrno).toBe(TPERRNO.TPGOTSIG);
  });

  it.each([
    ['the daemon does not answer', () => (daemon.script = () => null)],
    ['the daemon is gone', () => void daemon.stop()],
    ['the daemon drops the connection', () => daemon.drop()],
  ])('ends within two seconds when %s', async (_name, spoil) => {
    const ctx = await join();
    await ctx.tpbegin(30);
    const calls: Promise<unknown>[] = [
      failure(ctx.tpdequeue('QSPACE', 'Q', waiting(), null)),
      ctx.stat().catch(() => null),
    ];
    await until(() => daemon.requests.at(-1)?.op === OP.STAT);
    spoil();
    calls.push(failure(ctx.tpenqueue('QSPACE', 'Q', null, 'x', TPFLAG.TPNOTRAN)));
    const started = performance.now();
    await ctx.tpterm();
    expect(performance.now() - started).toBeLessThan(2000);
    expect((await Promise.all(calls)).length).toBe(3);
  });

  it('leaves no timer and no socket behind', async () => {
    await until(() => daemon.connections.length === 0);
    const before = left();
    const ctx = await tpinit({ address: daemon.address, heartbeatMs: 5000, reconnect: { initialMs: 1000 } });
    const calls = [failure(ctx.tpdequeue('QSPACE', 'Q', waiting(), null))];
    daemon.drop();
    calls.push(failure(ctx.tpenqueue('QSPACE', 'Q', null, 'x')));
    await sleep(10);
    await ctx.tpterm();
    await Promise.all(calls);
    await sleep(10);
    expect(left()).toEqual(before);
  });

  it('comes with the abort of the signal that tpinit was given', async () => {
    const controller = new AbortController();
    const ctx = await join({ signal: controller.signal });
    controller.abort();
    await until(() => daemon.connections.length === 0);
    expect((await failure(ctx.stat())).tperrno).toBe(TPERRNO.TPEPROTO);
  });
});
