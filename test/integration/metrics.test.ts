// The metrics of a daemon at work: each figure is what was done, counted beside it; after a restart counters begin anew and depths are what is there.
import { describe, expect, it } from 'vitest';
import { TPFLAG, TPQ } from '../../clients/typescript/index.ts';
import { type FileIo, nodeFileIo } from '../../src/wal/local/file-io.ts';
import { daemonForTest, eventually, type InProcess } from '../support/in-process.ts';
import { type ReadFamily, valueOf } from '../support/metrics-text.ts';
import { codeOf, put, putId, take } from './helpers.ts';

/** Reads one figure of a queue now. */
async function ofQueue(daemon: InProcess, queue: string): Promise<Record<string, number>> {
  const found = await daemon.metrics();
  const of = (name: string, labels = {}): number =>
    valueOf(found, `tmqueue_queue_${name}`, { queue, ...labels });
  const ends = ['to_error_queue', 'dropped', 'purged', 'moved_away'];
  const counters = ['enqueued', 'dequeued', 'retried', 'expired', ...ends];
  return Object.fromEntries([
    ...['ready', 'delayed', 'locked', 'pending'].map((state) => [state, of('messages', { state })]),
    ...counters.map((name) => [name, of(`${name}_total`)]),
    ['waiters', of('waiters')],
  ]);
}

const NOTHING = { ready: 0, delayed: 0, locked: 0, pending: 0, waiters: 0, enqueued: 0, dequeued: 0 };
const NO_LOSS = { retried: 0, expired: 0, to_error_queue: 0, dropped: 0, purged: 0, moved_away: 0 };

function ended(found: Map<string, ReadFamily>): number[] {
  const outcomes = ['committed', 'rolled_back', 'timed_out', 'failed'];
  return outcomes.map((outcome) => valueOf(found, 'tmqueue_transactions_ended_total', { outcome }));
}

/** The forwarders and whether they run. */
function up(found: Map<string, ReadFamily>): string[] {
  const samples = found.get('tmqueue_forwarder_up')?.samples ?? [];
  return samples.map(({ labels, value }) => `${labels['srvid']}=${value}`);
}

function failure(): Error {
  return Object.assign(new Error('EIO: i/o error'), { code: 'EIO', syscall: 'fdatasync' });
}

describe('the metrics', () => {
  it('count what happens to messages, by queue', async () => {
    const queues = [{ name: 'Q', retries: 1 }, 'E', { name: 'X', more: 'EXPIRY="+5"' }, 'P'];
    const daemon = await daemonForTest({ spaces: [{ queues, errorQueue: 'E' }] });
    const ctx = await daemon.join();
    for (const word of ['a', 'b', 'c']) await put(ctx, 'Q', word);
    await take(ctx, 'Q');
    expect(await ofQueue(daemon, 'Q')).toEqual({
      ...NOTHING,
      ...NO_LOSS,
      ready: 2,
      enqueued: 3,
      dequeued: 1,
    });
    // One attempt is given back, the second moves it.
    for (const _ of [1, 2]) {
      await ctx.tpbegin(30);
      await take(ctx, 'Q');
      expect((await ofQueue(daemon, 'Q'))['locked']).toBe(1);
      await ctx.tpabort();
    }
    expect(await ofQueue(daemon, 'Q')).toMatchObject({ ready: 1, retried: 1, to_error_queue: 1, dropped: 0 });
    expect(await ofQueue(daemon, 'E')).toMatchObject({ ready: 1, enqueued: 0 });
    await ctx.admin('QSPACE').redrive('E');
    expect(await ofQueue(daemon, 'E')).toMatchObject({ ready: 0, moved_away: 1, to_error_queue: 0 });
    expect(await ofQueue(daemon, 'Q')).toMatchObject({
      ready: 2,
      enqueued: 3,
      to_error_queue: 1,
      moved_away: 0,
    });
    await take(ctx, 'Q');
    await put(ctx, 'X', 'x');
    daemon.clock.advance(6000);
    expect(await eventually(async () => (await ofQueue(daemon, 'X'))['expired'] === 1)).toBe(true);
    for (const word of ['a', 'b']) await put(ctx, 'P', word);
    await ctx.admin('QSPACE').purge('P');
    expect(await ofQueue(daemon, 'P')).toMatchObject({ ready: 0, purged: 2, enqueued: 2, dequeued: 0 });
    await putId(ctx, 'P', 'later', { flags: TPQ.TPQTIME_REL, deq_time: 60 });
    expect(await ofQueue(daemon, 'P')).toMatchObject({ ready: 0, delayed: 1 });
    await daemon.restart();
    expect(await ofQueue(daemon, 'Q')).toEqual({ ...NOTHING, ...NO_LOSS, ready: 1 });
    expect(await ofQueue(daemon, 'P')).toEqual({ ...NOTHING, ...NO_LOSS, delayed: 1 });
  });

  it('count transactions by their outcome, and what a space drops without an error queue', async () => {
    const daemon = await daemonForTest({ spaces: [{ queues: [{ name: 'Q', retries: 0 }] }] });
    const ctx = await daemon.join();
    for (const word of ['a', 'b', 'c']) await put(ctx, 'Q', word);
    await ctx.tpbegin(30);
    await take(ctx, 'Q');
    expect(valueOf(await daemon.metrics(), 'tmqueue_transactions')).toBe(1);
    await ctx.tpcommit();
    await ctx.tpbegin(30);
    await take(ctx, 'Q');
    await ctx.tpabort();
    await ctx.tpbegin(5);
    await take(ctx, 'Q');
    daemon.clock.advance(6000);
    await eventually(async () => ended(await daemon.metrics())[2] === 1);
    expect(await codeOf(ctx.tpcommit())).toBe('TPEABORT');
    await ctx.tpbegin(30);
    expect(await codeOf(ctx.tpcall('NOBODY', 'x'))).toBe('TPENOENT');
    await ctx.tpabort();
    const found = await daemon.metrics();
    expect(ended(found)).toEqual([1, 2, 1, 0]);
    expect(valueOf(found, 'tmqueue_transactions')).toBe(0);
    expect(await ofQueue(daemon, 'Q')).toMatchObject({ ready: 0, dropped: 2, dequeued: 1 });
  });

  it('say how old the oldest message is, also after a restart, and not how old one is that waits for its time', async () => {
    const daemon = await daemonForTest({ spaces: [{ queues: ['F', { name: 'L', more: 'ORDER=lifo' }] }] });
    const ctx = await daemon.join();
    const age = async (queue: string): Promise<number> =>
      valueOf(await daemon.metrics(), 'tmqueue_queue_oldest_age_seconds', { queue });
    await putId(ctx, 'F', 'delayed', { flags: TPQ.TPQTIME_REL, deq_time: 10_000_000 });
    daemon.clock.advance(1000_000);
    for (const queue of ['F', 'L']) await put(ctx, queue, 'old');
    daemon.clock.advance(100_000);
    for (const queue of ['F', 'L']) await put(ctx, queue, 'new');
    for (const queue of ['F', 'L']) expect(Math.abs((await age(queue)) - 100)).toBeLessThan(10);
    daemon.clock.advance(50_000);
    await daemon.restart();
    for (const queue of ['F', 'L']) expect(Math.abs((await age(queue)) - 150)).toBeLessThan(10);
    await take(ctx, 'F');
    expect(Math.abs((await age('F')) - 50)).toBeLessThan(10);
    await take(ctx, 'F');
    expect(await age('F')).toBe(0);
  });

  it('show who waits, who is connected, which forwarders run and what services do', async () => {
    const forwarders = [{ queues: ['SVC'], min: 2, max: 3, options: '-i 1' }];
    const daemon = await daemonForTest({ spaces: [{ queues: ['Q', 'SVC'], forwarders }] });
    const ctx = await daemon.join();
    const server = await daemon.join();
    const over = new AbortController();
    const serving = server.serve(
      { SVC: (request) => (request.text === 'bad' ? Promise.reject(new Error()) : 'ok') },
      {
        signal: over.signal,
      },
    );
    const waiter = await daemon.raw();
    waiter.send(4, 2, ['QSPACE', 'Q'], [TPQ.TPQWAIT], TPFLAG.TPNOTIME, 0, 0, '', 0);
    await waiter.ask(14, 3);
    expect((await ofQueue(daemon, 'Q'))['waiters']).toBe(1);
    await put(ctx, 'SVC', 'good');
    await put(ctx, 'SVC', 'bad');
    const results = async (): Promise<number[]> => {
      const found = await daemon.metrics();
      return ['forwarded', 'failed'].map((result) =>
        valueOf(found, 'tmqueue_forwarder_messages_total', { result }),
      );
    };
    await eventually(async () => (await results()).join() === '1,1');
    const found = await daemon.metrics();
    const first = Number(found.get('tmqueue_forwarder_messages_total')?.samples[0]?.labels['srvid']);
    expect(up(found)).toEqual([`${first}=1`, `${first + 1}=1`]);
    expect(valueOf(found, 'tmqueue_connections')).toBe(3);
    expect(valueOf(found, 'tmqueue_service_servers', { service: 'SVC' })).toBe(1);
    expect(valueOf(found, 'tmqueue_service_calls_total', { service: 'SVC', result: 'completed' })).toBe(1);
    await ctx.stopServer(first);
    await ctx.startServer(first + 2);
    expect(up(await daemon.metrics())).toEqual([`${first}=0`, `${first + 1}=1`, `${first + 2}=1`]);
    const { forwarders: said } = await ctx.stat();
    expect(said[0]).toMatchObject({ running: 2, instances: 2 });
    over.abort();
    await serving;
  });

  it('count batches, their records and syncs, and what lies in the log', async () => {
    const daemon = await daemonForTest({ spaces: [{ queues: ['Q'] }] });
    const ctx = await daemon.join();
    const before = await daemon.metrics();
    const numbers = Array.from({ length: 100 }, (_, i) => i);
    await Promise.all(numbers.map((i) => put(ctx, 'Q', `${i}`)));
    const found = await daemon.metrics();
    const grown = (name: string): number => valueOf(found, name) - valueOf(before, name);
    expect(grown('tmqueue_space_batch_records_sum')).toBe(100);
    expect(grown('tmqueue_space_records_total')).toBe(100);
    expect(grown('tmqueue_space_sync_seconds_count')).toBe(grown('tmqueue_space_batch_records_count'));
    expect(valueOf(found, 'tmqueue_space_sync_seconds_sum')).toBeGreaterThan(0);
    expect(grown('tmqueue_space_live_bytes')).toBe(
      valueOf(found, 'tmqueue_queue_bytes', { kind: 'persistent' }),
    );
    for (const _ of numbers) await take(ctx, 'Q');
    const empty = await daemon.metrics();
    expect(valueOf(empty, 'tmqueue_space_live_bytes')).toBe(0);
    expect(valueOf(empty, 'tmqueue_space_dead_bytes')).toBeGreaterThan(
      valueOf(found, 'tmqueue_space_live_bytes'),
    );
    expect(valueOf(empty, 'tmqueue_space_messages')).toBe(0);
  });

  it('and readiness say when the log of a space has failed', async () => {
    let fails = false;
    const io: FileIo = {
      ...nodeFileIo,
      fdatasyncSync: (fd) => {
        if (fails) throw failure();
        nodeFileIo.fdatasyncSync(fd);
      },
      fdatasync: (fd) => (fails ? Promise.reject(failure()) : nodeFileIo.fdatasync(fd)),
    };
    const daemon = await daemonForTest({ spaces: [{ queues: ['Q'] }] }, { device: { io } });
    const ctx = await daemon.join();
    await put(ctx, 'Q', 'x');
    expect([daemon.readiness, valueOf(await daemon.metrics(), 'tmqueue_ready')]).toEqual(['ready', 1]);
    fails = true;
    expect(await codeOf(put(ctx, 'Q', 'y'))).toBe('QMESYSTEM');
    const found = await daemon.metrics();
    expect(daemon.readiness).toBe('failed: the log of queue space QSPACE failed');
    expect([valueOf(found, 'tmqueue_ready'), valueOf(found, 'tmqueue_space_up')]).toEqual([0, 0]);
    expect(daemon.failures.splice(0)).toHaveLength(1);
  });
});
