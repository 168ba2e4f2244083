// The TypeScript of docs/from-job-queues.md, run: what stands between `//> name` and `//<` here is the page's next `ts` block, line by line, and
// the daemon runs on the configuration of the page. The clock is set ahead where the page says to wait.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Context, TPERRNO, TPQ, TPQCTL, TpError } from '../../clients/typescript/index.ts';
import { daemonForAll, eventually } from '../support/in-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/from-job-queues.md'), 'utf8');
const blocks = (language: string): string[] =>
  [...page.matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
    .filter(([, name]) => name === language)
    .map(([, , text]) => text ?? '');

/** The page's name for what is here, and its lines without their indent. */
const regions = [
  ...readFileSync(import.meta.filename, 'utf8').matchAll(/^( *)\/\/> (\w+)\n([^]*?)^ *\/\/<$/gm),
].map(([, indent = '', name = '', text = '']) => ({
  name,
  text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
}));

const daemon = daemonForAll(blocks('ubb')[0] ?? '');
let ctx: Context;
beforeAll(async () => {
  ctx = await daemon.join();
});

interface Job {
  readonly url: string;
}

const fetched: string[] = [];
let canFetch = true;
let failed = 0;
async function fetchPage(url: string): Promise<string> {
  await Promise.resolve();
  if (!canFetch) {
    failed++;
    throw new Error(`cannot fetch ${url}`);
  }
  fetched.push(url);
  return `the page ${url}`;
}

const messagesOn = async (queue: string): Promise<number> => (await daemon.queue(queue, 'WORK')).messages;
const pass = (seconds: number): void => daemon.clock.advance(seconds * 1000);

afterEach(async () => {
  canFetch = true;
  failed = 0;
  for (const { name } of (await ctx.stat('WORK')).spaces[0]?.queues ?? [])
    await ctx.admin('WORK').purge(name);
});

it('the blocks of the page are what runs here', () => {
  const [first = '', ...others] = blocks('ts');
  expect(first).toContain("from '@tmqueue/client'");
  expect(others).toEqual(regions.map(({ text }) => text));
  expect(new Set(regions.map(({ name }) => name)).size).toBe(regions.length);
});

describe('a job', () => {
  it('is worked on by eight at a time, and what comes of it is there exactly when the job is gone', async () => {
    for (let i = 0; i < 20; i++) await ctx.queue('WORK', 'JOBS').put({ url: `u${i}` });
    //> consumer
    const stop = new AbortController();
    const consuming = ctx.queue<Job>('WORK', 'JOBS').consume(
      async (job, tx) => {
        const text = await fetchPage(job.data.url);
        await tx.queue('WORK', 'PAGES').put(text); // the same transaction: both or neither
      },
      { concurrency: 8, timeoutS: 60, signal: stop.signal },
    );
    //<
    await eventually(async () => (await messagesOn('PAGES')) === 20);
    stop.abort();
    await consuming;
    expect([await messagesOn('JOBS'), new Set(fetched).size]).toEqual([0, 20]);
  });

  it('waits for its time', async () => {
    //> delay
    const jobs = ctx.queue<Job>('WORK', 'JOBS');
    await jobs.put({ url: 'https://example.org/' }, { delayMs: 60_000 });
    // At a time of day: seconds since 1970, as in C.
    const ctl = new TPQCTL({ flags: TPQ.TPQTIME_ABS, deq_time: Date.parse('2100-01-01T06:00:00Z') / 1000 });
    await ctx.tpenqueue('WORK', 'JOBS', ctl, { url: 'https://example.org/new-year' });
    //<
    expect(await jobs.get()).toBe(null);
    pass(61);
    expect((await jobs.get())?.data).toEqual({ url: 'https://example.org/' });
    expect(await jobs.get()).toBe(null);
    expect(await messagesOn('JOBS')).toBe(1);
  });

  it('that fails is tried again after DELAY, RETRIES times, then it is on the error queue, from where it goes back', async () => {
    canFetch = false;
    await ctx.queue('WORK', 'JOBS').put({ url: 'bad' }, { corrid: 'job 1' });
    const stop = new AbortController();
    const failures: unknown[] = [];
    const consuming = ctx
      .queue<Job>('WORK', 'JOBS')
      .consume(async ({ data }) => void (await fetchPage(data.url)), {
        signal: stop.signal,
        onError: (error) => failures.push(error),
      });
    for (let i = 1; i <= 4; i++) {
      await eventually(() => failed === i);
      if (i < 4) await eventually(async () => (await daemon.queue('JOBS', 'WORK')).delayed === 1);
      pass(31);
    }
    await eventually(async () => (await messagesOn('ERRQ')) === 1);
    stop.abort();
    await consuming;
    expect([failed, failures.length]).toEqual([4, 4]);
    const said: string[] = [];
    const log = (line: string): number => said.push(line);
    //> dead
    const admin = ctx.admin('WORK');
    for await (const { originQueue, reason, moved } of admin.messages('ERRQ')) {
      log(`from ${originQueue}: ${reason}, ${new Date(moved).toISOString()}`);
    }
    const { queues } = await admin.redrive('ERRQ', { origin: 'JOBS', rate: 100 });
    for (const { queue, outcome, count } of queues) log(`${queue}: ${count} ${outcome}`);
    //<
    expect(said).toEqual([expect.stringMatching(/^from JOBS: rollback, 20/), 'JOBS: 1 moved']);
    expect((await ctx.queue('WORK', 'JOBS').get({ corrid: 'job 1' }))?.data).toEqual({ url: 'bad' });
  });

  it('waits longer after each attempt', async () => {
    canFetch = false;
    await ctx.queue('WORK', 'JOBS').put({ url: 'slow', attempt: 0 });
    const stop = new AbortController();
    //> backoff
    const consuming = ctx.queue<Job & { attempt: number }>('WORK', 'JOBS').consume(
      async (job, tx) => {
        const { url, attempt } = job.data;
        try {
          await fetchPage(url);
        } catch {
          // This job ends here, and its successor begins: one transaction, so that there is always exactly one of the two.
          const queue = attempt < 5 ? 'JOBS' : 'REJECTED';
          await tx.queue('WORK', queue).put({ url, attempt: attempt + 1 }, { delayMs: 1000 * 2 ** attempt });
        }
      },
      { signal: stop.signal },
    );
    //<
    for (let i = 0; i < 5; i++) {
      await eventually(async () => failed === i + 1 && (await daemon.queue('JOBS', 'WORK')).delayed === 1);
      pass(2 ** i + 1);
    }
    await eventually(async () => (await messagesOn('REJECTED')) === 1);
    stop.abort();
    await consuming;
    pass(2 ** 5 + 1);
    expect((await ctx.queue('WORK', 'REJECTED').get())?.data).toEqual({ url: 'slow', attempt: 6 });
    expect(await messagesOn('JOBS')).toBe(0);
  });

  it('of a higher priority comes first', async () => {
    //> priority
    const urgent = ctx.queue<string>('WORK', 'URGENT');
    await urgent.put('when there is time', { priority: 10 });
    await urgent.put('as always'); // 50
    await urgent.put('at once', { priority: 100 });
    const first = await urgent.get(); // at once
    //<
    expect([first?.data, (await urgent.get())?.data, (await urgent.get())?.data]).toEqual([
      'at once',
      'as always',
      'when there is time',
    ]);
  });
});

describe('an answer', () => {
  it('comes from a service that a forwarder calls', async () => {
    const over = new AbortController();
    const worker = await daemon.join();
    //> service
    const serving = worker.serve(
      { RESIZE: async ({ data }) => `resized to ${(data as { width: number }).width}` },
      { concurrency: 4, signal: over.signal },
    );
    //<
    //> request
    await ctx.queue('WORK', 'RESIZE').put({ width: 100 }, { replyTo: 'REPLIES', corrid: 'picture 17' });
    const reply = await ctx.queue<string>('WORK', 'REPLIES').get({ corrid: 'picture 17', wait: 30_000 });
    //<
    expect(reply?.data).toBe('resized to 100');
    over.abort();
    await serving;
  });
});

describe('a transaction', () => {
  it('moves jobs with what comes of them, or nothing', async () => {
    await ctx.queue('WORK', 'JOBS').put({ url: 'a' });
    await ctx.queue('WORK', 'JOBS').put({ url: 'b' });
    //> transaction
    const taken = await ctx.transaction(async (tx) => {
      const two = [await tx.queue<Job>('WORK', 'JOBS').get(), await tx.queue<Job>('WORK', 'JOBS').get()];
      const urls = two.flatMap((job) => (job === null ? [] : [job.data.url]));
      await tx.queue('WORK', 'PAGES').put(urls);
      return urls.length;
    });
    //<
    expect([taken, await messagesOn('JOBS'), await messagesOn('PAGES')]).toEqual([2, 0, 1]);
    expect((await ctx.queue('WORK', 'PAGES').get())?.data).toEqual(['a', 'b']);
  });
});

//> once
async function putOnce(job: Job): Promise<void> {
  for (;;) {
    try {
      await ctx.transaction((tx) => tx.queue<Job>('WORK', 'JOBS').put(job));
      return;
    } catch (error) {
      if (!TpError.is(error) || !error.outcomeUnknown || error.transaction === null) throw error;
      const outcome = await ctx.transactionOutcome(error.transaction);
      if (outcome === 'committed') return;
      if (outcome !== 'rolled back') throw error; // not known yet, or not any more
    }
  }
}
//<

it.each([true, false])(
  'a job is put once, also when the answer is lost; committed: %s',
  async (isCommitted) => {
    const other = await daemon.join();
    const transaction = vi.spyOn(ctx, 'transaction').mockImplementationOnce(async () => {
      await other.tpbegin(60);
      const id = other.transactionId;
      await other.tpenqueue('WORK', 'JOBS', null, { url: 'once' });
      await (isCommitted ? other.tpcommit() : other.tpabort());
      const lost = { tperrno: TPERRNO.TPESYSTEM, operation: 'tpcommit', text: 'the connection was lost' };
      throw new TpError({ ...lost, outcomeUnknown: true, transaction: id });
    });
    await putOnce({ url: 'once' });
    expect([transaction.mock.calls.length, await messagesOn('JOBS')]).toEqual([isCommitted ? 1 : 2, 1]);
    transaction.mockRestore();
  },
);

it('what was done within a day is not done again', async () => {
  const jobs = ctx.queue<Job>('WORK', 'JOBS');
  const stop = new AbortController();
  const before = fetched.length;
  for (let i = 0; i < 3; i++) await jobs.put({ url: 'the same' });
  //> seen
  const consuming = ctx.queue<Job>('WORK', 'JOBS').consume(
    async (job, tx) => {
      const seen = ctx.queue('WORK', 'DONE');
      const key = { corrid: job.data.url.slice(-32) }; // at most 32 bytes: of something longer, a hash
      if ((await seen.get({ ...key, peek: true })) !== null) return; // done before: the job goes
      await fetchPage(job.data.url);
      await tx.queue('WORK', 'DONE').put(null, { ...key, expiresInMs: 24 * 3600 * 1000 });
    },
    { concurrency: 1, signal: stop.signal },
  );
  //<
  await eventually(async () => (await messagesOn('JOBS')) === 0);
  expect([fetched.length - before, await messagesOn('DONE')]).toEqual([1, 1]);
  stop.abort();
  await consuming;
  pass(24 * 3600 + 1);
  await eventually(async () => (await messagesOn('DONE')) === 0);
});

it('a job that puts its successor comes every day, and there is always one', async () => {
  const runs: number[] = [];
  const cleanUp = async (): Promise<void> => void (await Promise.resolve(runs.push(runs.length)));
  const stop = new AbortController();
  await ctx.queue('WORK', 'NIGHTLY').put(null);
  //> nightly
  const consuming = ctx.queue('WORK', 'NIGHTLY').consume(
    async (_, tx) => {
      await cleanUp();
      await tx.queue('WORK', 'NIGHTLY').put(null, { delayMs: 24 * 3600 * 1000 });
    },
    { timeoutS: 600, signal: stop.signal },
  );
  //<
  for (let i = 1; i <= 3; i++) {
    await eventually(async () => runs.length === i && (await daemon.queue('NIGHTLY', 'WORK')).delayed === 1);
    pass(24 * 3600 + 1);
  }
  await eventually(() => runs.length === 4);
  stop.abort();
  await consuming;
  expect(await messagesOn('NIGHTLY')).toBe(1);
});
