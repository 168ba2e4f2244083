// The peer's test of a queue and a database in one transaction, with a second queue space in the database's place: a row is a message there
// [peer-scenarios 1.4, T67]. A service inserts it in the transaction that it was called in.
import { beforeAll, describe, expect } from 'vitest';
import { type Context, type ServiceCall, ServiceFailure } from '../../../clients/typescript/index.ts';
import { daemonForAll, eventually } from '../../support/in-process.ts';
import { code, domain, drain, got, send, SPACE } from '../q/support.ts';
import { emptied, messagesOf, scenario, up } from './support.ts';

const DATABASE = 'DATABASE';
const daemon = daemonForAll(
  domain([
    {
      queues: ['STATQ', { name: 'GOODQ', retries: 3 }, { name: 'BADQ1', retries: 3, delay: 2 }],
      forwarders: ['-q GOODQ -i 1', '-q BADQ1 -i 1'],
    },
    { name: DATABASE, queues: ['ROWS'] },
  ]),
);
let ctx: Context;
let calls = 0;
const insert = async (request: ServiceCall): Promise<void> => {
  calls++;
  await request.tpenqueue(DATABASE, 'ROWS', null, request.data);
};
beforeAll(async () => {
  ctx = await daemon.join();
  const server = await daemon.join({ onError: () => undefined });
  await server.tpadvertise('INSERT', insert);
  await server.tpadvertise('GOODQ', insert);
  await server.tpadvertise('BADQ1', async (request) => {
    await insert(request);
    throw new ServiceFailure(1);
  });
});

const rows = (): Promise<number[]> => messagesOf(daemon, ['ROWS'], DATABASE);
const nothingOpen = async (): Promise<void> => {
  await eventually(async () => (await ctx.stat()).transactions === 0);
};

const hundred = async (timeoutS: number): Promise<void> => {
  await ctx.tpbegin(timeoutS);
  for (const n of up(0, 99)) {
    await ctx.tpcall('INSERT', n);
    await send(ctx, 'STATQ', n);
  }
};

describe('one transaction over a queue and a database', () => {
  scenario('T67-01', async () => {
    await hundred(60);
    await ctx.tpabort();
    expect([await rows(), await got(ctx, 'STATQ')]).toEqual([[0], 'QMENOMSG']);

    await hundred(60);
    expect(await code(ctx.tpcommit())).toBe('OK');
    expect(await drain(ctx, 'ROWS', DATABASE)).toEqual(up(0, 99));
    expect(await drain(ctx, 'STATQ')).toEqual(up(0, 99));

    await hundred(60);
    daemon.clock.advance(70_000);
    await eventually(async () => (await code(ctx.tpenqueue(SPACE, 'STATQ', null, 'late'))) === 'TPETIME');
    expect(await code(ctx.tpcommit())).toBe('TPEABORT');
    expect([await rows(), await got(ctx, 'STATQ')]).toEqual([[0], 'QMENOMSG']);
    await nothingOpen();
  });
});

describe('a forwarder and a service that works on a database', () => {
  scenario('T67-02', async () => {
    await send(ctx, 'GOODQ', 'row');
    await emptied(daemon, 'GOODQ');
    expect(await drain(ctx, 'ROWS', DATABASE)).toEqual(['row']);
    await nothingOpen();
  });

  scenario('T67-03', async () => {
    calls = 0;
    await send(ctx, 'BADQ1', 'row');
    for (const attempt of up(1, 4)) {
      await eventually(() => calls === attempt);
      if (attempt === 4) break;
      // It is back, and waits for its next attempt; that time passes.
      await eventually(async () => (await daemon.queue('BADQ1')).delayed === 1);
      daemon.clock.advance(2000);
    }
    // There is no error queue: it is dropped.
    await emptied(daemon, 'BADQ1');
    expect([calls, await rows()]).toEqual([4, [0]]);
    await nothingOpen();
  });
});
