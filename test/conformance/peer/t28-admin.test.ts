// The peer's function test of queues: its scenarios of administration [peer-scenarios 1.1, T28-06 to 13], with the tools that this product
// has for them: the SDK's administration, `tmqueue dequeue` for one message by its msgid, and `stat`.
import { beforeAll, describe, expect } from 'vitest';
import { type Context, TPQ } from '../../../clients/typescript/index.ts';
import { CliProcess } from '../../integration/cli-process.ts';
import { daemonForAll } from '../../support/in-process.ts';
import { collect } from '../../support/collect.ts';
import { code, domain, send, SPACE } from '../q/support.ts';
import { inTransaction, scenario, up } from './support.ts';

const CONFIGURATION = domain([
  {
    queues: ['TESTA', 'TESTB', 'TESTC', 'BINQ', { name: 'LTESTA', order: 'lifo' }, 'TESTREPLY', 'TESTFAIL'],
  },
]);
const daemon = daemonForAll(CONFIGURATION);
let ctx: Context;
beforeAll(async () => {
  ctx = await daemon.join();
});

const BYTES = Buffer.from([0, 1, 2, 3, 4, 5, 6, 7]);
/** Puts the eight bytes with a reply and a failure queue; its msgid as the tools take it. */
async function putBinary(queue: string): Promise<string> {
  const msgid = await send(ctx, queue, BYTES, {
    flags: TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ,
    replyqueue: 'TESTREPLY',
    failurequeue: 'TESTFAIL',
  });
  return `0x${msgid.toString('hex')}`;
}

/** What `tmqueue dequeue` printed. */
async function dequeue(...words: string[]): Promise<string> {
  const exit = await new CliProcess(['dequeue', SPACE, ...words, '--connect', daemon.address]).exit;
  expect(exit).toMatchObject({ code: 0, stderr: '' });
  return exit.stdout;
}

describe('administration', () => {
  scenario('T28-06', async () => {
    daemon.rewrite(`${CONFIGURATION}\nBINQ2 QSPACE=${SPACE}\n`);
    const { code: exit, stdout } = await new CliProcess(['reload', '--connect', daemon.address]).exit;
    expect([exit, stdout]).toEqual([0, `queue BINQ2 of ${SPACE} created\n`]);
    const listed: [string, string][] = [];
    for await (const queue of ctx.admin(SPACE).queues()) listed.push([queue.name, queue.order]);
    expect(listed).toContainEqual(['BINQ2', 'fifo']);
  });

  scenario('T28-07', async () => {
    expect(await ctx.admin(SPACE).info('LTESTA')).toMatchObject({ order: 'lifo' });
  });

  scenario('T28-08', async () => {
    await inTransaction(ctx, () =>
      Promise.all(up(1, 300).map((n) => ctx.tpenqueue(SPACE, 'TESTB', null, n))),
    );
    const listed: [string, number][] = [];
    for await (const queue of ctx.admin(SPACE).queues()) listed.push([queue.name, queue.messages]);
    expect(listed).toContainEqual(['TESTB', 300]);
    expect(listed.map(([name]) => name)).toContain('TESTA');
  });

  scenario('T28-09', async () => {
    for (const n of up(1, 3)) await send(ctx, 'TESTC', `TEST HELLO ${n}`);
    const ids: string[] = [];
    for await (const { msgid } of ctx.admin(SPACE).messages('TESTC')) ids.push(msgid);
    expect(ids).toHaveLength(3);
    const msgid = ids.at(-1) ?? '';
    const shown: string[] = [];
    for await (const { data } of ctx.admin(SPACE).messages('TESTC', { msgid, dataBytes: 100 }))
      shown.push(Buffer.from(data.join(''), 'hex').toString());
    expect(shown).toEqual(['TEST HELLO 3']);
    expect(await ctx.admin(SPACE).purge('TESTC')).toBe(3);
  });

  scenario('T28-10', async () => {
    const msgid = await putBinary('BINQ');
    const dump = JSON.parse(await dequeue('BINQ', '--msgid', msgid, '--peek', '--json')) as object;
    expect(dump).toMatchObject({
      type: 'CARRAY',
      hex: '0001020304050607',
      replyqueue: 'TESTREPLY',
      failurequeue: 'TESTFAIL',
    });
    expect(await ctx.admin(SPACE).purge('BINQ')).toBe(1);
  });

  scenario('T28-13', async () => {
    const hex = (await putBinary('BINQ')).slice(2);
    const admin = ctx.admin(SPACE);
    const msgid = Buffer.from(hex, 'hex').toString();
    const to = { action: 'move', queue: 'BINQ2' } as const;
    expect(await admin.changeMessages('BINQ', { msgid }, to)).toEqual({ changed: 1, held: 0 });
    const [moved, ...others] = await collect(admin.messages('BINQ2', { dataBytes: 100 }));
    expect(others).toEqual([]);
    expect(moved).toMatchObject({
      data: ['0001020304050607'],
      replyqueue: 'TESTREPLY',
      failurequeue: 'TESTFAIL',
    });
    const newId = moved?.msgid ?? '';
    expect(newId).not.toBe(msgid);
    const dump = await dequeue('BINQ2', '--msgid', `0x${Buffer.from(newId).toString('hex')}`, '--json');
    expect(JSON.parse(dump)).toMatchObject({
      hex: '0001020304050607',
      replyqueue: 'TESTREPLY',
      failurequeue: 'TESTFAIL',
    });
    expect((await admin.info('BINQ')).messages + (await admin.info('BINQ2')).messages).toBe(0);
  });

  scenario('T28-11', async () => {
    await send(ctx, 'BINQ', 'in front');
    const msgid = await putBinary('BINQ');
    expect(await dequeue('BINQ', '--msgid', msgid, '--hex')).toBe('0001020304050607\n');
    expect(await ctx.admin(SPACE).info('BINQ')).toMatchObject({ messages: 1 });
    expect(await dequeue('BINQ')).toBe('in front\n');
    expect(await ctx.admin(SPACE).info('BINQ')).toMatchObject({ messages: 0 });
  });

  scenario('T28-12', async () => {
    expect(await code(ctx.tpenqueue(SPACE, 'MEMQ', null, 'x'))).toBe('QMEBADQUEUE');
    await ctx.admin(SPACE).create('MEMQ', { policy: 'nonpersist' });
    const { queues } = await ctx.admin(SPACE).list();
    expect(queues.find(({ name }) => name === 'MEMQ')).toMatchObject({ policy: 'nonpersist', order: 'fifo' });
  });
});
