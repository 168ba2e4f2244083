// What services are configured to be and what becomes of calls on the way: priorities, buffer types, BLOCKTIME, LOAD, calls without an answer,
// requests that are passed on [spec 3.4, 3.5, 6.5; PROTOCOL 5]. Frame by frame.
import { describe, expect, it } from 'vitest';
import { RVAL, TPERRNO, TPFLAG } from '../../proto/codes.ts';
import { daemonForAll } from '../support/in-process.ts';
import type { Frame, RawClient } from '../support/raw-client.ts';
import { ubbText } from '../support/ubb-text.ts';

const SERVICES = `*SERVICES
HIGH PRIO=90
TYPED BUFTYPE="STRING;VIEW:v1"
QUICK BLOCKTIME=1
HEAVY LOAD=1000
`;
const daemon = daemonForAll(`${ubbText({ spaces: [{ queues: ['Q'] }] })}\n${SERVICES}`);

const [CALL, ADVERTISE, UNADVERTISE, RETURN, FORWARD, PRIOCALL, REQUEST] = [9, 10, 11, 12, 17, 21, 64];
const text = (value: string): [number, string, Buffer] => [1, '', Buffer.from(value)];

let names = 0;
const fresh = (): string => `SVC${++names}`;
let ids = 100;

async function server(service: string, concurrency = 1): Promise<RawClient> {
  const raw = await daemon.raw();
  await raw.ask(ADVERTISE, ++ids, service, concurrency);
  return raw;
}

function call(raw: RawClient, service: string, value: string, flags = 0): number {
  raw.send(CALL, ++ids, service, flags, 0, 0, ...text(value));
  return ids;
}

/** The next pushed request, answered by nobody yet. */
async function request(
  raw: RawClient,
): Promise<{ id: number; service: string; flags: number; data: string }> {
  const frame = await raw.next();
  expect(frame[0]).toBe(REQUEST);
  const [, id, service, flags] = frame as [number, number, string, number];
  return { id, service, flags, data: Buffer.from(frame[9] as Uint8Array).toString() };
}

const answer = (raw: RawClient, id: number, value = 'done'): void =>
  raw.send(RETURN, id, RVAL.TPSUCCESS, 0, ...text(value));
const code = (frame: Frame): unknown => (frame[0] === 127 ? frame[2] : 'answered');

describe('priorities', () => {
  it('the highest waiting call comes first: PRIOCALL relative and absolute, CALL the service’s own', async () => {
    const caller = await daemon.raw();
    const provider = await server('HIGH');
    call(caller, 'HIGH', 'first');
    const first = await request(provider);
    const say = (value: string, priority: number, absolute: boolean): void =>
      caller.send(PRIOCALL, ++ids, 'HIGH', 0, 0, 0, priority, absolute, ...text(value));
    say('own-50', -50, false);
    call(caller, 'HIGH', 'own');
    say('absolute 101 is 50', 101, true);
    say('100', 100, true);
    await caller.ask(14, ++ids);
    answer(provider, first.id);
    const order = [];
    for (let i = 0; i < 4; i++) {
      const next = await request(provider);
      order.push(next.data);
      answer(provider, next.id);
    }
    expect(order).toEqual(['100', 'own', 'absolute 101 is 50', 'own-50']);
  });

  it('PRIOCALL is answered as CALL is, with its own opcode', async () => {
    const name = fresh();
    const [caller, provider] = [await daemon.raw(), await server(name)];
    caller.send(PRIOCALL, 7, name, 0, 0, 0, 1, true, ...text('x'));
    answer(provider, (await request(provider)).id, 'y');
    expect(await caller.answer(7)).toEqual([149, 7, RVAL.TPSUCCESS, 0, 1, '', Buffer.from('y')]);
  });
});

describe('*SERVICES', () => {
  it('BUFTYPE: data of another type is TPEITYPE and reaches no server; no data does', async () => {
    const [caller, provider] = [await daemon.raw(), await server('TYPED', 5)];
    const ask = (type: number | string, subtype: string): Promise<Frame> =>
      caller.ask(CALL, ++ids, 'TYPED', 0, 0, 0, type, subtype, Buffer.from('x'));
    expect(code(await ask(2, ''))).toBe(TPERRNO.TPEITYPE);
    expect(code(await ask('VIEW', 'v2'))).toBe(TPERRNO.TPEITYPE);
    const good = ask('VIEW', 'v1');
    answer(provider, ((await provider.next()) as number[])[1] ?? 0);
    expect(code(await good)).toBe('answered');
    const none = caller.ask(CALL, ++ids, 'TYPED', 0, 0, 0, 0, '', null);
    answer(provider, ((await provider.next()) as number[])[1] ?? 0);
    expect(code(await none)).toBe('answered');
  });

  it('BLOCKTIME of the service counts instead of that of RESOURCES', async () => {
    const [caller, provider] = [await daemon.raw(), await server('QUICK')];
    const id = call(caller, 'QUICK', 'x');
    await request(provider);
    daemon.clock.advance(1010);
    expect(code(await caller.answer(id))).toBe(TPERRNO.TPETIME);
  });

  it('LOAD: a connection at work on a heavy service is not given what another can do', async () => {
    const name = fresh();
    const [caller, heavy] = [await daemon.raw(), await server('HEAVY')];
    await heavy.ask(ADVERTISE, ++ids, name, 5);
    call(caller, 'HEAVY', 'x');
    await request(heavy);
    const light = await server(name, 5);
    for (const value of ['1', '2', '3']) call(caller, name, value);
    const seen = [];
    for (let i = 0; i < 3; i++) seen.push((await request(light)).data);
    expect(seen).toEqual(['1', '2', '3']);
  });
});

describe('TPNOREPLY', () => {
  it('is answered when a server has the request; the service sees the flag and its answer goes nowhere', async () => {
    const name = fresh();
    const [caller, provider] = [await daemon.raw(), await server(name)];
    const first = call(caller, name, 'one', TPFLAG.TPNOREPLY);
    expect(await caller.answer(first)).toEqual([137, first, RVAL.TPSUCCESS, 0, 0, '', null]);
    const second = call(caller, name, 'two', TPFLAG.TPNOREPLY);
    const one = await request(provider);
    expect([one.data, one.flags]).toEqual(['one', TPFLAG.TPNOREPLY]);
    await caller.ask(14, 3);
    expect(caller.frames).toEqual([]);
    answer(provider, one.id);
    expect(code(await caller.answer(second))).toBe('answered');
    answer(provider, (await request(provider)).id);
    await provider.ask(14, 3);
    await caller.ask(14, 3);
    expect(caller.frames).toEqual([]);
  });

  it('with TPNOBLOCK while every server is busy: TPEBLOCK, and the request is dropped', async () => {
    const name = fresh();
    const [caller, provider] = [await daemon.raw(), await server(name)];
    call(caller, name, 'busy');
    const busy = await request(provider);
    const late = call(caller, name, 'late', TPFLAG.TPNOREPLY | TPFLAG.TPNOBLOCK);
    expect(code(await caller.answer(late))).toBe(TPERRNO.TPEBLOCK);
    answer(provider, busy.id);
    await provider.ask(14, 3);
    expect(provider.frames).toEqual([]);
  });

  it('in a transaction without TPNOTRAN: TPEINVAL', async () => {
    const name = fresh();
    const [caller] = [await daemon.raw(), await server(name)];
    const tx = (await caller.ask(5, ++ids, 30))[2] as number;
    const frame = await caller.ask(CALL, ++ids, name, TPFLAG.TPNOREPLY, tx, 0, ...text('x'));
    expect(code(frame)).toBe(TPERRNO.TPEINVAL);
  });
});

describe('FORWARD', () => {
  it('the next service answers the original caller, with what the first one gave it', async () => {
    const [one, two] = [fresh(), fresh()];
    const [caller, first, second] = [await daemon.raw(), await server(one), await server(two)];
    const id = call(caller, one, 'question');
    first.send(FORWARD, (await request(first)).id, two, ...text('half'));
    const passed = await request(second);
    expect([passed.service, passed.data]).toEqual([two, 'half']);
    // The first server is free again, before the call is answered.
    call(caller, one, 'more');
    expect((await request(first)).data).toBe('more');
    answer(second, passed.id, 'answer');
    expect(await caller.answer(id)).toEqual([137, id, RVAL.TPSUCCESS, 0, 1, '', Buffer.from('answer')]);
  });

  it.each<[string, string, number | string]>([
    ['a service that nobody offers', 'NOBODY', 1],
    ['a name of no bytes', '', 1],
    ['data of a type that the service does not take', 'TYPED', 2],
  ])('%s: the caller gets TPESVCERR', async (_name, target, type) => {
    const name = fresh();
    const [caller, first] = [await daemon.raw(), await server(name)];
    if (target === 'TYPED') await server('TYPED');
    const id = call(caller, name, 'x');
    first.send(FORWARD, (await request(first)).id, target, type, '', Buffer.from('x'));
    expect(code(await caller.answer(id))).toBe(TPERRNO.TPESVCERR);
  });

  it('waiting for the next service when its last server withdraws: TPESVCERR', async () => {
    const [one, two] = [fresh(), fresh()];
    const [caller, first, second] = [await daemon.raw(), await server(one), await server(two)];
    call(caller, two, 'busy');
    await request(second);
    const id = call(caller, one, 'x');
    first.send(FORWARD, (await request(first)).id, two, ...text('x'));
    await first.ask(14, 3);
    await second.ask(UNADVERTISE, ++ids, two);
    expect(code(await caller.answer(id))).toBe(TPERRNO.TPESVCERR);
  });

  it('a caller that gives up while it waits for the next service is answered, and the request dropped', async () => {
    const [one, two] = [fresh(), fresh()];
    const [caller, first, second] = [await daemon.raw(), await server(one), await server(two)];
    call(caller, two, 'busy');
    const busy = await request(second);
    const id = call(caller, one, 'x');
    first.send(FORWARD, (await request(first)).id, two, ...text('x'));
    await first.ask(14, 3);
    expect(await caller.ask(8, ++ids, id)).toEqual([136, ids, true]);
    expect(code(await caller.answer(id))).toBe(TPERRNO.TPGOTSIG);
    answer(second, busy.id);
    await second.ask(14, 3);
    expect(second.frames).toEqual([]);
  });

  it('a request without answer is passed on as well', async () => {
    const [one, two] = [fresh(), fresh()];
    const [caller, first, second] = [await daemon.raw(), await server(one), await server(two)];
    call(caller, one, 'x', TPFLAG.TPNOREPLY);
    first.send(FORWARD, (await request(first)).id, two, ...text('half'));
    const passed = await request(second);
    expect([passed.data, passed.flags]).toEqual(['half', TPFLAG.TPNOREPLY]);
  });

  it('an id that is unknown, or another server’s, is ignored', async () => {
    const name = fresh();
    const [caller, first] = [await daemon.raw(), await server(name)];
    const id = call(caller, name, 'x');
    const { id: number } = await request(first);
    const stranger = await server(fresh());
    stranger.send(FORWARD, number, 'NOBODY', ...text('x'));
    stranger.send(FORWARD, 99_999_999, 'NOBODY', ...text('x'));
    await stranger.ask(14, 3);
    answer(first, number);
    expect(code(await caller.answer(id))).toBe('answered');
  });
});
