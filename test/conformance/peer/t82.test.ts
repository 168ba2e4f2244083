// The peer's test of services whose transaction the service table begins (AUTOTRAN) and which enqueue [peer-scenarios 1.4, T82]: how many
// messages are on MSGQ afterwards. Most are two services, one calling the other, that enqueue one each. The daemon is the transaction
// manager, so that "no transaction manager" is one that has MAXGTT transactions already.
import { beforeAll, expect } from 'vitest';
import {
  type Context,
  RVAL,
  type ServiceCall,
  ServiceFailure,
  TPFLAG,
} from '../../../clients/typescript/index.ts';
import { Gate } from '../../integration/helpers.ts';
import { daemonForAll, eventually } from '../../support/in-process.ts';
import { code, domain, drain, SPACE } from '../q/support.ts';
import { scenario, up } from './support.ts';

const AUTOMATIC = ['OK', 'OK2', 'OK1', 'COMMIT', 'ABORT', 'ABORT2', 'ABORT3', 'FAIL', 'ILLEGAL', 'SLEEP'];
const daemon = daemonForAll(
  [
    domain([{ queues: ['MSGQ'] }]),
    '*SERVICES',
    ...AUTOMATIC.map((name) => `${name} AUTOTRAN=Y TRANTIME=10`),
    'PLAIN',
    'STEP',
    '',
  ].join('\n'),
);
let ctx: Context;
let server: Context;
const seen: unknown[] = [];
const gate = new Gate();

const enqueue = (request: ServiceCall): Promise<void> =>
  request.tpenqueue(SPACE, 'MSGQ', null, request.service);
/** Enqueues, and has STEP enqueue. */
async function both(request: ServiceCall): Promise<void> {
  await enqueue(request);
  await request.tpcall('STEP', null);
}
/** What only the initiator may do is refused, and the service says in the way it has that it failed. */
async function aborting(request: ServiceCall): Promise<void> {
  await both(request);
  seen.push(await code(request.tpabort()));
  request.tpreturn(RVAL.TPFAIL);
}
async function failing(request: ServiceCall): Promise<void> {
  await both(request);
  throw new ServiceFailure(1);
}

beforeAll(async () => {
  ctx = await daemon.join();
  server = await daemon.join({ onError: () => undefined });
  const services: Record<string, (request: ServiceCall) => Promise<unknown>> = {
    STEP: enqueue,
    OK: both,
    OK1: enqueue,
    OK2: async (request) => {
      await enqueue(request);
      request.tpforward('STEP');
    },
    COMMIT: async (request) => {
      await both(request);
      seen.push(await code(request.tpcommit()));
    },
    ABORT: aborting,
    ABORT2: aborting,
    FAIL: failing,
    PLAIN: failing,
    ILLEGAL: async (request) => {
      await enqueue(request);
      // A reply that it does not wait for.
      await request.tpacall('STEP', null);
    },
    SLEEP: async (request) => {
      await enqueue(request);
      await gate.service(request);
    },
  };
  for (const [name, service] of Object.entries(services)) await server.tpadvertise(name, service);
});

/** What a call came to, what its service noted, and how many messages are on MSGQ when no transaction is left. */
async function outcome(service: string): Promise<unknown[]> {
  const ended = await code(ctx.tpcall(service, null));
  return [ended, ...seen.splice(0), await left()];
}

async function left(): Promise<number> {
  await eventually(async () => (await ctx.stat()).transactions === 0);
  return (await drain(ctx, 'MSGQ')).length;
}

scenario('T82-01', async () => expect(await outcome('OK')).toEqual(['OK', 2]));

scenario('T82-02', async () => expect(await outcome('OK2')).toEqual(['OK', 2]));

scenario('T82-03', async () => {
  await ctx.tpacall('OK1', null, TPFLAG.TPNOREPLY);
  await eventually(async () => (await daemon.queue('MSGQ')).messages === 1);
  expect(await left()).toBe(1);
});

scenario('T82-04', async () => expect(await outcome('COMMIT')).toEqual(['OK', 'TPEPROTO', 2]));

scenario('T82-05', async () => expect(await outcome('ABORT')).toEqual(['TPESVCFAIL', 'TPEPROTO', 0]));

// The peer sends it to a group by routing; here the service is offered by two servers.
scenario('T82-06', async () => {
  const second = await daemon.join({ onError: () => undefined });
  await second.tpadvertise('ABORT2', aborting);
  for (let call = 0; call < 2; call++) expect(await outcome('ABORT2')).toEqual(['TPESVCFAIL', 'TPEPROTO', 0]);
});

// Offered when the server is at work already, and withdrawn again.
scenario('T82-07', async () => {
  expect(await outcome('ABORT3')).toEqual(['TPENOENT', 0]);
  await server.tpadvertise('ABORT3', aborting);
  expect(await outcome('ABORT3')).toEqual(['TPESVCFAIL', 'TPEPROTO', 0]);
  await server.tpunadvertise('ABORT3');
});

scenario('T82-08', async () => expect(await outcome('FAIL')).toEqual(['TPESVCFAIL', 0]));

scenario('T82-09', async () => expect(await outcome('ILLEGAL')).toEqual(['TPESVCERR', 0]));

scenario('T82-10', async () => {
  const others = up(1, 100).map(() => ctx.fork());
  for (const other of others) await other.tpbegin(60);
  expect(await code(ctx.tpcall('OK', null))).toBe('TPENOENT');
  await Promise.all(others.map((other) => other.tpterm()));
  expect(await left()).toBe(0);
});

scenario('T82-11', async () => {
  const call = outcome('SLEEP');
  await gate.calls(1);
  daemon.clock.advance(15_000);
  expect(await call).toEqual(['TPESVCERR', 0]);
  gate.release();
});

// Each enqueue is then committed alone.
scenario('T82-12', async () => expect(await outcome('PLAIN')).toEqual(['TPESVCFAIL', 2]));

// Refused here [docs/atmi.md]: no service is conversational, so nothing runs, nothing is enqueued, and no transaction is left.
scenario('T82-13', async () => {
  for (const service of ['OK', 'FAIL', 'PLAIN']) {
    expect(await code(ctx.tpconnect(service))).toBe('TPENOENT');
    expect(await left()).toBe(0);
  }
  expect((await ctx.stat()).transactions).toBe(0);
});
