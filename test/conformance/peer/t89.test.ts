// The peer's test of transactions that nobody ends any more because their client or their transaction manager died [peer-scenarios 1.4, T89]:
// here the daemon is killed while many commit over two queue spaces, and ends them itself at its next start.
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type Context, TpError } from '../../../clients/typescript/index.ts';
import { QME } from '../../../proto/codes.ts';
import { SystemClock } from '../../../src/boot/system-clock.ts';
import { openSpace } from '../../../src/engine/open-space.ts';
import { nodeFileIo } from '../../../src/wal/local/file-io.ts';
import { openLocalLog } from '../../../src/wal/local/local-log.ts';
import { PageCache } from '../../../src/wal/local/page-cache.ts';
import { InProcess } from '../../support/in-process.ts';
import { properties } from '../../support/queue-values.ts';
import { TestDaemon } from '../../support/daemon.ts';
import { collect } from '../../support/collect.ts';
import { code, domain, drain, SPACE } from '../q/support.ts';
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

const PREPARED = 550;

/** Transactions that are prepared in the space of a daemon that is down, two messages in each, whose transaction log is nowhere. */
async function prepareMany(dir: string): Promise<void> {
  const clock = new SystemClock();
  const ulog = { info: () => {}, warn: () => {}, error: () => {} };
  const log = { dir, clock, ulog, io: nodeFileIo, pages: new PageCache(1) };
  const ports = { clock, ulog, soon: setImmediate, runCommand: () => {} };
  const engine = await openSpace(await openLocalLog(log), new AbortController().signal, ports);
  for (const serial of up(1, PREPARED)) {
    const work = engine.openWork();
    for (const n of up(1, 2)) {
      const message = { properties: properties({}), terms: null, data: Buffer.from(`${serial} ${n}`), work };
      expect(engine.enqueue({ qname: 'TEST1', ...message }).code).toBe(QME.OK);
    }
    expect(engine.prepared.promise(work)).toBe(QME.OK);
    engine.prepared.prepare(work, { transaction: { start: 1, serial }, tlog: '0123456789abcdef'.repeat(2) });
  }
  await engine.close();
}

scenario('T89-01', async () => {
  const daemon = new InProcess(domain([{ queues: ['TEST1'] }]));
  onTestFinished(() => daemon.remove());
  await daemon.start();
  await daemon.stop();
  await prepareMany(join(daemon.dir, 'data1', SPACE));
  await daemon.start();
  const ctx = await daemon.join();
  const admin = ctx.admin(SPACE);
  const listed = await collect(admin.transactions());
  expect(listed).toHaveLength(PREPARED);
  expect(listed.every(({ state, enqueued }) => state === 'READY' && enqueued === 2)).toBe(true);
  expect(await admin.info('TEST1')).toMatchObject({ messages: 0, pending: 2 * PREPARED });
  for (const { index } of listed) await admin.endTransaction(index, false);
  expect(await collect(admin.transactions())).toEqual([]);
  expect(await admin.info('TEST1')).toMatchObject({ messages: 0, pending: 0 });
  expect(await collect(admin.transactions({ decided: true }))).toHaveLength(500);
});

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
