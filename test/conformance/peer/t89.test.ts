// The peer's test of transactions that nobody ends any more because their client or their transaction manager died [peer-scenarios 1.4, T89]:
// here the daemon is killed while many commit over two queue spaces, and ends them itself at its next start.
import { expect } from 'vitest';
import { type Context, TpError } from '../../../clients/typescript/index.ts';
import { TestDaemon } from '../../support/daemon.ts';
import { code, domain, drain } from '../q/support.ts';
import { inTransaction, scenario, sorted, up } from './support.ts';

const NODES = ['NODE1', 'NODE2'];
const ORPHANS = 150;

/** Transactions that are being committed, one message in each queue space. */
async function commitMany(ctx: Context): Promise<Promise<unknown>[]> {
  const clients = up(1, ORPHANS).map(() => ctx.fork());
  await Promise.all(
    clients.map(async (client, n) => {
      await client.tpbegin(600);
      await Promise.all(NODES.map((space) => client.tpenqueue(space, 'TEST1', null, n)));
    }),
  );
  return clients.map((client) =>
    client.tpcommit().catch((error: unknown) => {
      if (!TpError.is(error)) throw error;
    }),
  );
}

scenario('T89-02', async () => {
  const text = domain(NODES.map((name) => ({ name, queues: ['TEST1', 'TEST2'] }))).replace(
    'MAXGTT 100',
    'MAXGTT 1000',
  );
  const daemon = await TestDaemon.start({ queues: [], text });
  const commits = await commitMany(await daemon.connect());
  await Promise.race(commits);
  await daemon.kill();
  await Promise.all(commits);
  await daemon.restart();
  const ctx = await daemon.connect();
  // Normal traffic, from the first moment on.
  for (const n of up(1, 20)) {
    for (const space of NODES) {
      expect(await code(ctx.tpenqueue(space, 'TEST2', null, n))).toBe('OK');
      expect((await ctx.tpdequeue(space, 'TEST2', null, null)).data).toBe(n);
    }
  }
  const { spaces, transactions } = await ctx.stat();
  expect(transactions).toBe(0);
  for (const { queues } of spaces)
    for (const queue of queues) expect(queue).toMatchObject({ locked: 0, ready: queue.messages });
  const [first, second] = await Promise.all(
    NODES.map((space) => inTransaction(ctx.fork(), (fork) => drain(fork, 'TEST1', space))),
  );
  expect(first?.length).toBeGreaterThan(0);
  expect(sorted(second ?? [])).toEqual(sorted(first ?? []));
});
