// Messages and transactions through a running daemon: what it shows is what is shown when it is stopped, and changes mean the same.
import { expect, it } from 'vitest';
import { TPQ, TPQCTL } from '../../clients/typescript/index.ts';
import { withDaemon } from '../support/qmadmin-place.ts';

/** A cursor names no place in the log, but it may name the epoch. */
const plain = (lines: string[]): string[] => lines.map((line) => line.replace(/^more: .*/, 'more'));
const START = ['qopen SERVED', 'qset Q'];

it('lists and shows the same as with the daemon stopped', async () => {
  const { daemon, run } = await withDaemon();
  const ctx = await daemon.join();
  const put = (flags: number, rest: Partial<TPQCTL>, data: string | Uint8Array): Promise<unknown> =>
    ctx.tpenqueue('ALIAS', 'Q', new TPQCTL({ flags, ...rest }), data);
  await put(
    TPQ.TPQPRIORITY | TPQ.TPQCORRID,
    { priority: 70, corrid: Buffer.from('order 7'.padEnd(32, '\0')) },
    'text',
  );
  await put(
    TPQ.TPQTIME_REL | TPQ.TPQEXPTIME_REL,
    { deq_time: 1000, exp_time: 5000 },
    Buffer.from([0, 255, 1]),
  );
  await put(TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ, { replyqueue: 'R', failurequeue: 'F' }, 'x'.repeat(9000));
  await ctx.tpenqueue('ALIAS', 'Q', null, null);
  const look = [
    ...START,
    'qlist',
    'verbose',
    'qlist',
    'qpeek -b 20',
    'qpeek 2',
    'qpeek -x 1',
    'qscan -p 60-80',
    'qlist',
    'qscan -i "order 7"',
    'qscan',
    'qpeek',
    'qscan -t +0-+2000 -e +1-+6000',
    'qlist',
    'qscan none',
    'qprinttrans',
  ];
  const through = await run(...look);
  await daemon.stop();
  const stopped = await run(...look);
  expect(through.err).toEqual([]);
  expect(plain(through.out)).toEqual(plain(stopped.out));
  expect(through.out.filter((line) => /^[0-9a-f]{32} /.test(line))).toHaveLength(4 + 4 + 1 + 1);
});

it('says of what is on the error queue what is said with the daemon stopped', async () => {
  const { daemon, run } = await withDaemon();
  const ctx = await daemon.join();
  await run('qopen SERVED', 'qcr ERR fifo none 0 0 100% 0 ""');
  await ctx.tpenqueue('ALIAS', 'Q', null, 'x');
  await ctx.tpbegin(60);
  await ctx.tpdequeue('ALIAS', 'Q', null, null);
  await ctx.tpabort();
  const look = ['qopen SERVED', 'qset ERR', 'v', 'qlist', 'qpeek'];
  const through = await run(...look);
  await daemon.stop();
  expect(through).toEqual(await run(...look));
  expect(through.out.join('\n')).toMatch(/\bQ\b/);
});

it('goes on where a page ended, and changes what is selected', async () => {
  const { daemon, run } = await withDaemon();
  const ctx = await daemon.join();
  for (let i = 0; i < 12; i++) await ctx.tpenqueue('ALIAS', 'Q', null, `m${i}`);
  const first = await run(...START, 'qpeek 5');
  const more = first.out.at(-1)?.replace('more: ', '') ?? '';
  expect(more).toMatch(/^qpeek 5 \S+$/);
  const next = await run(...START, more);
  expect(next.out.filter((line) => /^ +m\d+$/.test(line)).map((line) => line.trim())).toEqual([
    'm5',
    'm6',
    'm7',
    'm8',
    'm9',
  ]);

  await ctx.tpbegin(60);
  await ctx.tpdequeue('ALIAS', 'Q', null, null);
  const id = (next.out[0] ?? '').slice(0, 32);
  const ran = await run(
    ...START,
    `qscan -m ${id}`,
    'qchangeprio 90',
    'qscan -p 90',
    'qcr OTHER fifo none 0 0 100% 0 ""',
    'qchangequeue OTHER',
    'qchangequeue NONE',
    'qscan none',
    'qct +5000',
    'qcet none',
    'qdltm',
    'qinfo',
    'qset NONE',
    'qset OTHER',
    'qcet +0',
    'qcommittrans 999',
    'qpt',
  );
  expect(ran.out.map((line) => line.replace(/ in \d+ pages.*/, ''))).toEqual([
    '1 message changed',
    expect.stringMatching(/^1 message moved/),
    '10 messages changed; 1 held by a transaction, left',
    '10 messages changed; 1 held by a transaction, left',
    '10 messages deleted; 1 held by a transaction, left',
    'Queue OTHER: 1 persistent messages',
    'Queue Q: 1 persistent messages',
    expect.stringMatching(/^1 message /),
    expect.stringMatching(/^INDEX +TRANSACTION +STATE$/),
    expect.stringMatching(/ ACTIVE$/),
  ]);
  expect(ran.err).toEqual([
    expect.stringMatching(/qchangequeue: .*NONE/),
    expect.stringMatching(/qset: .*NONE/),
    expect.stringMatching(/qcommittrans: .*999/),
  ]);
  await ctx.tpabort();
});
