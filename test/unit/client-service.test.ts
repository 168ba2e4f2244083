// Services: serve, tpadvertise, what a service sees and how it fails, and what happens when the daemon goes and comes.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Context,
  type ServiceCall,
  ServiceFailure,
  TPERRNO,
  tpinit,
} from '../../clients/typescript/index.ts';
import { OP, RVAL } from '../../proto/codes.ts';
import type { Return } from '../../proto/message.ts';
import { FakeDaemon } from '../support/fake-daemon.ts';

let daemon: FakeDaemon;
let server: Context;
let client: Context;
const errors: unknown[] = [];

beforeEach(async () => {
  daemon = await FakeDaemon.start();
  errors.length = 0;
  const options = { address: daemon.address, reconnect: { initialMs: 10, maxMs: 50 } };
  server = await tpinit({ ...options, onError: (error) => void errors.push(error) });
  client = await tpinit(options);
});

afterEach(async () => {
  await Promise.all([server.tpterm(), client.tpterm()]);
  await daemon.stop();
});

const service = (): string => '';

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 3000 && !condition(); i++) await sleep(1);
  if (!condition()) throw new Error('it did not come true');
}

const offered = (name: string): boolean => daemon.serverOf(name) !== undefined;

function returned(): Return | undefined {
  return daemon.requests.findLast((request): request is Return => request.op === OP.RETURN);
}

describe('serve', () => {
  it('answers calls until its signal aborts', async () => {
    const stop = new AbortController();
    const done = server.serve(
      { STRING: (request) => request.text.toUpperCase(), SUM: (request) => ({ sum: request.data }) },
      { concurrency: 4, signal: stop.signal },
    );
    await until(() => offered('SUM'));
    expect(daemon.serverOf('STRING')?.services.get('STRING')).toBe(4);
    expect(await client.tpcall('STRING', 'hello')).toMatchObject({ data: 'HELLO', type: 'STRING' });
    expect(await client.tpcall('SUM', [1, 2])).toMatchObject({ data: { sum: [1, 2] }, type: 'JSON' });
    stop.abort();
    await done;
    expect(offered('STRING')).toBe(false);
    await expect(client.tpcall('STRING', 'x')).rejects.toMatchObject({ tperrno: TPERRNO.TPENOENT });
  });

  it('shows the request, and sends rcode with the answer', async () => {
    let seen: ServiceCall | undefined;
    void server.serve({
      S: (request) => {
        seen = request;
        request.rcode = 42;
        return null;
      },
    });
    await until(() => offered('S'));
    daemon.serverOf('S')?.push('S', 'grüße');
    await until(() => returned() !== undefined);
    expect(seen).toMatchObject({ service: 'S', data: 'grüße', text: 'grüße', appkey: 7, type: 'STRING' });
    expect(seen?.cltid).toEqual(new Uint8Array(16).fill(0xc1));
    expect(returned()).toMatchObject({ rval: RVAL.TPSUCCESS, rcode: 42, body: { type: '', data: null } });
  });

  it('ServiceFailure is TPFAIL with data; any other throw TPFAIL without, told to onError', async () => {
    void server.serve({
      BUSINESS: () => {
        throw new ServiceFailure(3, { why: 'no funds' });
      },
      BROKEN: async () => {
        throw new Error('oops');
      },
      UNSENDABLE: () => Symbol('x'),
      TOOBIG: () => new Uint8Array(2_000_000),
    });
    await until(() => offered('TOOBIG'));
    await expect(client.tpcall('BUSINESS', 'x')).rejects.toMatchObject({
      tperrno: TPERRNO.TPESVCFAIL,
      reply: { data: { why: 'no funds' } },
    });
    expect([client.tpurcode, errors.length]).toEqual([3, 0]);
    for (const name of ['BROKEN', 'UNSENDABLE', 'TOOBIG']) {
      await expect(client.tpcall(name, 'x')).rejects.toMatchObject({
        tperrno: TPERRNO.TPESVCFAIL,
        reply: { data: null, type: '' },
      });
    }
    expect(errors.length).toBe(3);
  });

  it('runs requests at the same time and ends after those under way', async () => {
    const stop = new AbortController();
    const gate = new AbortController();
    let running = 0;
    const done = server.serve(
      {
        S: async (request) => {
          running++;
          await new Promise<void>((resolve) => gate.signal.addEventListener('abort', () => resolve()));
          return request.text;
        },
      },
      { signal: stop.signal },
    );
    await until(() => offered('S'));
    const calls = [client.tpcall('S', 'a'), client.tpcall('S', 'b')];
    await until(() => running === 2);
    stop.abort();
    let ended = false;
    void done.then(() => (ended = true));
    await sleep(20);
    expect(ended).toBe(false);
    gate.abort();
    expect((await Promise.all(calls)).map(({ data }) => data)).toEqual(['a', 'b']);
    await done;
  });

  it('rejects when a service is refused, and withdraws the others', async () => {
    daemon.script = (request) =>
      request.op === OP.ADVERTISE && request.service === 'B'
        ? { op: OP.ERROR, id: request.id, tperrno: TPERRNO.TPEPERM, diagnostic: 0, message: 'not yours' }
        : 'default';
    await expect(server.serve({ A: () => '', B: () => '' })).rejects.toMatchObject({
      tperrno: TPERRNO.TPEPERM,
    });
    expect(offered('A')).toBe(false);
  });

  it('announces its services again after the daemon was away', async () => {
    void server.serve({ STRING: (request) => request.text.toUpperCase() });
    await until(() => offered('STRING'));
    await daemon.stop();
    await sleep(40);
    await daemon.listen();
    await until(() => offered('STRING'));
    expect((await client.tpcall('STRING', 'back')).data).toBe('BACK');
  });

  it('an answer of a lost connection is dropped, and its signal tells the service', async () => {
    let signal: AbortSignal | undefined;
    void server.serve({
      S: async (request) => {
        signal = request.signal;
        await new Promise<void>((resolve) => request.signal.addEventListener('abort', () => resolve()));
        return 'late';
      },
    });
    await until(() => offered('S'));
    daemon.serverOf('S')?.push('S', 'x');
    await until(() => signal !== undefined);
    daemon.drop();
    await until(() => signal?.aborted === true && offered('S'));
    await sleep(10);
    expect(returned()).toBeUndefined();
  });

  it('the signal aborts when the caller has waited long enough', async () => {
    let aborted = false;
    void server.serve({
      S: async (request) => {
        await new Promise<void>((resolve) => request.signal.addEventListener('abort', () => resolve()));
        aborted = true;
      },
    });
    await until(() => offered('S'));
    daemon.serverOf('S')?.push('S', 'x', 15);
    await until(() => aborted);
  });
});

describe('tpadvertise', () => {
  it('the same function again sets the concurrency, another one is TPEMATCH', async () => {
    await server.tpadvertise('S', service);
    await server.tpadvertise('S', service, { concurrency: 2 });
    expect(daemon.serverOf('S')?.services.get('S')).toBe(2);
    await expect(server.tpadvertise('S', () => '')).rejects.toMatchObject({ tperrno: TPERRNO.TPEMATCH });
    await server.tpunadvertise('S');
    await expect(server.tpunadvertise('S')).rejects.toMatchObject({ tperrno: TPERRNO.TPENOENT });
  });

  it.each(['', '.TMIB'])('name %j is TPEINVAL', async (name) => {
    await expect(server.tpadvertise(name, () => '')).rejects.toMatchObject({ tperrno: TPERRNO.TPEINVAL });
  });

  it('services of a forked context go with it', async () => {
    const other = server.fork();
    await other.tpadvertise('S', () => '');
    await other.tpterm();
    expect([offered('S'), daemon.connections.length]).toEqual([false, 2]);
  });
});
