// A service's part of its caller's transaction, frame by frame [PROTOCOL 7, Services in transactions]: the number that its server names it by, what
// that number is good for and until when, and requests that come too late.
import { describe, expect, it } from 'vitest';
import { JOINED_TX, OP, RVAL, TPERRNO, TPFLAG, TPQ } from '../../proto/codes.ts';
import { daemonForAll, daemonForTest, eventually, type InProcess } from '../support/in-process.ts';
import type { Frame, RawClient, Value } from '../support/raw-client.ts';
import { drain, fresh, put, SPACE } from './helpers.ts';

const queues = fresh('F', 40);
const daemon = daemonForAll({ spaces: [{ queues: queues.names.map((name) => ({ name, retries: 9 })) }] });

let names = 0;
let ids = 1000;
const none: [number, string, null] = [0, '', null];

interface Scene {
  readonly caller: RawClient;
  readonly server: RawClient;
  readonly service: string;
  readonly queue: string;
  /** The caller's transaction, and the number that the server has it by. */
  readonly tx: number;
  readonly joined: number;
  /** The ids of CALL and REQUEST. */
  readonly call: number;
  readonly request: number;
}

const enqueue = (tx: number, queue: string, text: string, flags = 0): Value[] => [
  OP.ENQUEUE,
  ++ids,
  [SPACE, queue],
  null,
  flags,
  tx,
  1,
  '',
  Buffer.from(text),
];
const waiting = (tx: number, queue: string): Value[] => [
  OP.DEQUEUE,
  ++ids,
  [SPACE, queue],
  [TPQ.TPQWAIT],
  0,
  tx,
  0,
  '',
  0,
];
const code = (answer: Frame): unknown => (answer[0] === OP.ERROR ? answer[2] : 'OK');

async function ask(raw: RawClient, values: Value[]): Promise<unknown> {
  raw.send(...values);
  return code(await raw.answer(values[1] as number));
}

async function advertised(raw: RawClient): Promise<string> {
  const service = `FRAME${++names}`;
  await raw.ask(OP.ADVERTISE, ++ids, service, 4);
  return service;
}

async function begun(raw: RawClient, timeoutS = 30): Promise<number> {
  return (await raw.ask(OP.BEGIN, ++ids, timeoutS))[2] as number;
}

/** A call in a transaction that a server has. */
async function scene(timeoutS = 30, where: InProcess = daemon): Promise<Scene> {
  const [caller, server] = [await where.raw(), await where.raw()];
  const service = await advertised(server);
  const tx = await begun(caller, timeoutS);
  const call = ++ids;
  caller.send(OP.CALL, call, service, 0, tx, 0, ...none);
  const pushed = await server.next();
  const request = pushed[1] as number;
  expect([pushed[0], pushed[3]]).toEqual([OP.REQUEST, TPFLAG.TPTRAN]);
  return { caller, server, service, queue: queues.next(), tx, joined: request + JOINED_TX, call, request };
}

const done = (server: RawClient, request: number, rval: number = RVAL.TPSUCCESS): void =>
  server.send(OP.RETURN, request, rval, 0, ...none);

async function left(queue: string): Promise<unknown[]> {
  return drain(await daemon.join(), queue);
}

describe('the number of what a service has joined', () => {
  it('is that of its REQUEST and 0x80000000, and good until RETURN, pipelined in front of it too', async () => {
    const { caller, server, queue, tx, joined, call, request } = await scene();
    server.send(...enqueue(joined, queue, 'one'));
    server.send(...enqueue(joined, queue, 'two'));
    done(server, request);
    expect(await ask(server, enqueue(joined, queue, 'late'))).toBe(TPERRNO.TPEPROTO);
    expect(code(await caller.answer(call))).toBe('OK');
    expect(code(await caller.ask(OP.COMMIT, ++ids, tx))).toBe('OK');
    expect(await left(queue)).toEqual(['one', 'two']);
  });

  it.each([
    ['COMMIT', OP.COMMIT, []],
    ['COMMITAT', OP.COMMITAT, [1]],
    ['ABORT', OP.ABORT, []],
  ])('is not good for %s: TPEPROTO, and the transaction is as before', async (_name, op, more) => {
    const { caller, server, queue, tx, joined, call, request } = await scene();
    expect(code(await server.ask(op, ++ids, joined, ...more))).toBe(TPERRNO.TPEPROTO);
    expect(await ask(server, enqueue(joined, queue, 'x'))).toBe('OK');
    done(server, request);
    await caller.answer(call);
    expect(code(await caller.ask(OP.COMMIT, ++ids, tx))).toBe('OK');
    expect(await left(queue)).toEqual(['x']);
  });

  it('is nobody else’s, and no number of a call outside a transaction', async () => {
    const { caller, server, service, queue, joined } = await scene();
    expect(await ask(caller, enqueue(joined, queue, 'x'))).toBe(TPERRNO.TPEPROTO);
    const outside = await daemon.raw();
    outside.send(OP.CALL, ++ids, service, 0, 0, 0, ...none);
    const pushed = await server.next();
    expect(pushed[3]).toBe(0);
    expect(await ask(server, enqueue((pushed[1] as number) + JOINED_TX, queue, 'x'))).toBe(TPERRNO.TPEPROTO);
  });

  it('dies with FORWARD; the next server has one of its own', async () => {
    const { caller, server, queue, tx, joined, call, request } = await scene();
    const next = await daemon.raw();
    const service = await advertised(next);
    await ask(server, enqueue(joined, queue, 'first'));
    server.send(OP.FORWARD, request, service, ...none);
    const pushed = await next.next();
    expect([pushed[2], pushed[3]]).toEqual([service, TPFLAG.TPTRAN]);
    expect(await ask(server, enqueue(joined, queue, 'late'))).toBe(TPERRNO.TPEPROTO);
    expect(await ask(next, enqueue((pushed[1] as number) + JOINED_TX, queue, 'second'))).toBe('OK');
    done(next, pushed[1] as number);
    expect(code(await caller.answer(call))).toBe('OK');
    await caller.ask(OP.COMMIT, ++ids, tx);
    expect(await left(queue)).toEqual(['first', 'second']);
  });
});

describe('a service that ends with something open', () => {
  it.each([
    ['RETURN', (server: RawClient, request: number) => done(server, request)],
    ['FORWARD', (server: RawClient, request: number) => server.send(OP.FORWARD, request, 'NOBODY', ...none)],
  ])(
    '%s over a DEQUEUE that waits: it is TPGOTSIG, the call TPESVCERR, the commit TPEABORT',
    async (_name, end) => {
      const { caller, server, queue, tx, joined, call, request } = await scene();
      await ask(server, enqueue(joined, queue, 'x'));
      const wait = waiting(joined, queue);
      server.send(...wait);
      end(server, request);
      expect(code(await server.answer(wait[1] as number))).toBe(TPERRNO.TPGOTSIG);
      expect(code(await caller.answer(call))).toBe(TPERRNO.TPESVCERR);
      expect(code(await caller.ask(OP.COMMIT, ++ids, tx))).toBe(TPERRNO.TPEABORT);
      expect(await left(queue)).toEqual([]);
    },
  );

  it('RETURN with TPFAIL over a CALL that has no answer: TPFAIL as it said; the CALL ends, and what it calls works in vain', async () => {
    const { caller, server, queue, joined, call, request } = await scene();
    const deeper = await daemon.raw();
    const service = await advertised(deeper);
    const nested = ++ids;
    server.send(OP.CALL, nested, service, 0, joined, 0, ...none);
    const inner = (await deeper.next())[1] as number;
    done(server, request, RVAL.TPFAIL);
    expect(code(await server.answer(nested))).toBe(TPERRNO.TPGOTSIG);
    expect((await caller.answer(call)).slice(0, 3)).toEqual([137, call, RVAL.TPFAIL]);
    expect(await ask(deeper, enqueue(inner + JOINED_TX, queue, 'x'))).toBe(TPERRNO.TPETIME);
    done(deeper, inner);
    await deeper.ask(OP.PING, ++ids);
    expect(await left(queue)).toEqual([]);
  });
});

describe('COMMIT and ABORT over a CALL that has no answer', () => {
  it.each([
    ['COMMIT', OP.COMMIT, TPERRNO.TPEABORT],
    ['ABORT', OP.ABORT, 'OK'],
  ])('%s: the CALL is TPGOTSIG, everything is rolled back', async (_name, op, expected) => {
    const { caller, server, queue, tx, joined, call, request } = await scene();
    await ask(caller, enqueue(tx, queue, 'x'));
    await ask(server, enqueue(joined, queue, 'y'));
    expect(code(await caller.ask(op, ++ids, tx))).toBe(expected);
    expect(code(await caller.answer(call))).toBe(TPERRNO.TPGOTSIG);
    expect(await ask(server, enqueue(joined, queue, 'z'))).toBe(TPERRNO.TPETIME);
    done(server, request);
    await server.ask(OP.PING, ++ids);
    expect(await left(queue)).toEqual([]);
    expect(await ask(caller, enqueue(tx, queue, 'late'))).toBe(TPERRNO.TPEPROTO);
  });
});

describe('CANCEL of a call in a transaction', () => {
  it('at a server: TPGOTSIG, and the transaction is rollback-only; the server’s end changes nothing', async () => {
    const { caller, server, queue, tx, joined, call, request } = await scene();
    await ask(server, enqueue(joined, queue, 'x'));
    expect(await caller.ask(OP.CANCEL, ++ids, call)).toEqual([136, ids, true]);
    expect(code(await caller.answer(call))).toBe(TPERRNO.TPGOTSIG);
    expect(await ask(caller, enqueue(tx, queue, 'y'))).toBe(TPERRNO.TPETIME);
    expect(await ask(server, enqueue(joined, queue, 'z'))).toBe(TPERRNO.TPETIME);
    done(server, request);
    await server.ask(OP.PING, ++ids);
    expect(code(await caller.ask(OP.COMMIT, ++ids, tx))).toBe(TPERRNO.TPEABORT);
    expect(await left(queue)).toEqual([]);
  });

  it('that waits for a server: it is withdrawn, and the transaction can be committed', async () => {
    const [caller, server, queue] = [await daemon.raw(), await daemon.raw(), queues.next()];
    const service = `FRAME${++names}`;
    await server.ask(OP.ADVERTISE, ++ids, service, 1);
    caller.send(OP.CALL, ++ids, service, 0, 0, 0, ...none);
    await server.next();
    const tx = await begun(caller);
    await ask(caller, enqueue(tx, queue, 'x'));
    const call = ++ids;
    caller.send(OP.CALL, call, service, 0, tx, 0, ...none);
    await caller.ask(OP.CANCEL, ++ids, call);
    expect(code(await caller.answer(call))).toBe(TPERRNO.TPGOTSIG);
    expect(code(await caller.ask(OP.COMMIT, ++ids, tx))).toBe('OK');
    expect(await left(queue)).toEqual(['x']);
  });
});

describe('CALL', () => {
  it.each([
    ['an unknown transaction', 4711, 0, TPERRNO.TPEPROTO],
    ['an unknown number of a service', JOINED_TX + 7, 0, TPERRNO.TPEPROTO],
    ['TPNOREPLY without TPNOTRAN', 4711, TPFLAG.TPNOREPLY, TPERRNO.TPEINVAL],
    ['an unknown transaction, with TPNOTRAN', 4711, TPFLAG.TPNOTRAN, TPERRNO.TPENOENT],
  ])('with %s', async (_name, tx, flags, expected) => {
    const raw = await daemon.raw();
    expect(code(await raw.ask(OP.CALL, ++ids, 'NOBODY', flags, tx, 0, ...none))).toBe(expected);
  });

  it('with a timeoutMs of its own in a transaction: TPETIME, and it is rollback-only', async () => {
    const [caller, server] = [await daemon.raw(), await daemon.raw()];
    const service = await advertised(server);
    const tx = await begun(caller, 0);
    const call = ++ids;
    caller.send(OP.CALL, call, service, 0, tx, 500, ...none);
    await server.next();
    daemon.clock.advance(510);
    expect(code(await caller.answer(call))).toBe(TPERRNO.TPETIME);
    expect(code(await caller.ask(OP.COMMIT, ++ids, tx))).toBe(TPERRNO.TPEABORT);
  });

  it('with TPNOTRAN: the time of the caller’s transaction ends it too', async () => {
    const [caller, server] = [await daemon.raw(), await daemon.raw()];
    const service = await advertised(server);
    const tx = await begun(caller, 5);
    const call = ++ids;
    caller.send(OP.CALL, call, service, TPFLAG.TPNOTRAN | TPFLAG.TPNOTIME, tx, 0, ...none);
    await server.next();
    daemon.clock.advance(5010);
    expect(code(await caller.answer(call))).toBe(TPERRNO.TPETIME);
    expect(code(await caller.ask(OP.COMMIT, ++ids, tx))).toBe(TPERRNO.TPEABORT);
  });
});

describe('requests that come too late (C13)', () => {
  it('100 pipelined by a service with the timeout in their middle: each answered, nothing stored or locked', async () => {
    const ctx = await daemon.join();
    const before = (await ctx.stat()).transactions;
    const { caller, server, queue, tx, joined, call } = await scene(5);
    const sent: number[] = [];
    for (let i = 0; i < 100; i++) {
      if (i === 50) {
        await server.answer(sent[49] ?? 0);
        daemon.clock.advance(5010);
        expect(code(await caller.answer(call))).toBe(TPERRNO.TPETIME);
      }
      const one = enqueue(joined, queue, `m${i}`);
      sent.push(one[1] as number);
      server.send(...one);
    }
    const codes = [];
    for (const id of sent.filter((_, i) => i !== 49)) codes.push(code(await server.answer(id)));
    expect(new Set(codes.slice(0, 49))).toEqual(new Set(['OK']));
    expect(new Set(codes.slice(49))).toEqual(new Set([TPERRNO.TPETIME]));
    expect(code(await caller.ask(OP.COMMIT, ++ids, tx))).toBe(TPERRNO.TPEABORT);
    expect(await ask(server, enqueue(joined, queue, 'later'))).toBe(TPERRNO.TPETIME);
    expect(await left(queue)).toEqual([]);
    expect((await ctx.stat()).transactions).toBe(before);
  });

  it('a service’s dequeue that waits ends with the transaction: TPETIME by its time, TPGOTSIG by ABORT', async () => {
    for (const [end, expected] of [
      ['time', TPERRNO.TPETIME],
      ['abort', TPERRNO.TPGOTSIG],
    ] as const) {
      const { caller, server, queue, tx, joined, request } = await scene(5);
      const wait = waiting(joined, queue);
      server.send(...wait);
      await server.ask(OP.PING, ++ids);
      if (end === 'time') daemon.clock.advance(5010);
      else await caller.ask(OP.ABORT, ++ids, tx);
      expect(code(await server.answer(wait[1] as number))).toBe(expected);
      await put(await daemon.join(), queue, 'not for it');
      done(server, request);
      expect(await left(queue)).toEqual(['not for it']);
    }
  });
});

describe('a side that falls silent', () => {
  it.each(['caller', 'server'] as const)(
    'the %s: found by heartbeat, the work of the service is gone',
    async (who) => {
      const beating = await daemonForTest(
        { spaces: [{ queues: queues.names.map((name) => ({ name, retries: 9 })) }] },
        { heartbeatMs: 600 },
      );
      const ctx = await beating.join();
      const { caller, server, queue, tx, joined, call } = await scene(0, beating);
      await put(ctx, queue, 'there before');
      expect(await ask(server, enqueue(joined, queue, 'x'))).toBe('OK');
      expect(code(await server.ask(OP.DEQUEUE, ++ids, [SPACE, queue], null, 0, joined, 0, '', 0))).toBe('OK');
      const [silent, speaking] = who === 'caller' ? [caller, server] : [server, caller];
      const beat = setInterval(() => speaking.send(OP.PING, ++ids), 100);
      try {
        await eventually(() => silent.closed, 10_000);
        if (who === 'server') {
          expect(code(await caller.answer(call))).toBe(TPERRNO.TPESVCERR);
          expect(code(await caller.ask(OP.COMMIT, ++ids, tx))).toBe(TPERRNO.TPEABORT);
        } else {
          expect(await ask(server, enqueue(joined, queue, 'late'))).toBe(TPERRNO.TPETIME);
        }
        expect(await drain(ctx, queue)).toEqual(['there before']);
        expect((await ctx.stat()).transactions).toBe(0);
      } finally {
        clearInterval(beat);
      }
    },
  );
});
