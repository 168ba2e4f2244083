// Random operations of all kinds; then every counter of QINFO, STAT, qmadmin, the MIB and the metrics equals what a walk over the messages and
// peeks find, also after a restart, and a drain takes as many as they say. TMQUEUE_OPERATIONS=1000000 for the long run, TMQUEUE_SEED=n to
// repeat one.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  type Context,
  type MessageInfo,
  type QueueInfo,
  TPQ,
  TPQCTL,
  TPQQOS,
} from '../../clients/typescript/index.ts';
import { Prng } from '../../src/base/prng.ts';
import { times } from '../support/depth.ts';
import { daemonForTest, eventually, type InProcess } from '../support/in-process.ts';
import { valueOf } from '../support/metrics-text.ts';
import { session } from '../support/qmadmin-place.ts';
import { codeOf, drain, SPACE } from './helpers.ts';

const OPERATIONS = times('TMQUEUE_OPERATIONS', { inTest: 3000, inCi: 10_000 });
const SEED = Number(process.env['TMQUEUE_SEED'] ?? Date.now() % 1_000_000_000);
/** Operations that are under way together. */
const TOGETHER = 100;
const NAMES = ['A', 'B', 'C', 'E'] as const;
/** Refusals that random operations must expect. */
const ORDINARY = new Set(['OK', 'QMENOMSG', 'QMENOSPACE', 'QMESHARE']);

class Load {
  private readonly ctx: Context;
  private readonly prng: Prng;
  /** Messages of queues of their own, so that a queue never grows without end. */
  private surplus = 0;

  constructor(ctx: Context, prng: Prng) {
    this.ctx = ctx;
    this.prng = prng;
  }

  async run(operations: number, burstDone: () => void): Promise<void> {
    for (let left = operations; left > 0; left -= TOGETHER) {
      const burst = Array.from({ length: Math.min(left, TOGETHER) }, () => codeOf(this.operation()));
      for (const code of await Promise.all(burst)) if (!ORDINARY.has(code)) throw new Error(code);
      burstDone();
    }
  }

  private operation(): Promise<unknown> {
    const { prng } = this;
    if (prng.oneIn(300)) return this.administration();
    if (prng.oneIn(8)) return this.transaction();
    this.surplus++;
    return prng.below(1000) < (this.surplus < 2000 ? 550 : 450) ? this.put(this.ctx) : this.take(this.ctx);
  }

  private name(): string {
    return NAMES[this.prng.below(NAMES.length)] ?? 'A';
  }

  private put(calls: Pick<Context, 'tpenqueue'>): Promise<void> {
    const { prng } = this;
    const ctl = new TPQCTL();
    const given = (bit: number, members: Partial<TPQCTL>): void => {
      Object.assign(ctl, members);
      ctl.flags |= bit;
    };
    if (prng.oneIn(3)) given(TPQ.TPQPRIORITY, { priority: prng.between(1, 100) });
    if (prng.oneIn(5)) given(TPQ.TPQCORRID, { corrid: `c${prng.below(20)}` });
    if (prng.oneIn(8)) given(TPQ.TPQTIME_REL, { deq_time: prng.between(1, 3) });
    if (prng.oneIn(8)) given(TPQ.TPQEXPTIME_REL, { exp_time: prng.between(1, 5) });
    if (prng.oneIn(5)) given(TPQ.TPQDELIVERYQOS, { delivery_qos: TPQQOS.TPQQOSNONPERSISTENT });
    if (prng.oneIn(20)) given(TPQ.TPQTOP, {});
    return calls.tpenqueue(SPACE, this.name(), ctl, 'x'.repeat(prng.between(1, 600)));
  }

  private async take(calls: Pick<Context, 'tpdequeue'>): Promise<void> {
    this.surplus--;
    await calls.tpdequeue(SPACE, this.name(), null, null);
  }

  private async transaction(): Promise<void> {
    const tx = this.ctx.fork();
    await tx.tpbegin(60);
    const calls = Array.from({ length: this.prng.between(1, 4) }, () =>
      codeOf(this.prng.oneIn(2) ? this.put(tx) : this.take(tx)),
    );
    for (const code of await Promise.all(calls)) if (!ORDINARY.has(code)) throw new Error(code);
    await codeOf(this.prng.oneIn(3) ? tx.tpabort() : tx.tpcommit());
    await tx.tpterm();
  }

  private administration(): Promise<unknown> {
    const { prng } = this;
    const admin = this.ctx.admin(SPACE);
    const [queue, other] = [this.name(), this.name()];
    const priorityFrom = prng.between(1, 100);
    const some = { priorityFrom, priorityTo: Math.min(100, priorityFrom + prng.below(10)) };
    switch (prng.below(8)) {
      case 0:
        return admin.changeMessages(queue, some, { action: 'delete' });
      case 1:
        return admin.changeMessages(queue, some, { action: 'priority', priority: prng.between(1, 100) });
      case 2:
        return admin.changeMessages(queue, some, { action: 'time', time: `+${prng.between(1, 3)}` });
      case 3:
        return admin.changeMessages(queue, some, { action: 'expiry', expiry: prng.oneIn(2) ? 'none' : '+3' });
      case 4:
        if (queue === other) return Promise.resolve();
        return admin.changeMessages(queue, some, { action: 'move', queue: other });
      case 5:
        return admin.purge(queue);
      case 6:
        return admin.pause(queue, prng.oneIn(2) ? { enqueue: true } : {}).then(() => admin.resume(queue));
      default:
        return admin.redrive('E', { limit: 20 });
    }
  }
}

/** What a walk over the messages and a peek at each say. */
interface Truth {
  readonly queues: ReadonlyMap<string, readonly MessageInfo[]>;
  readonly all: number;
}

async function truthOf(ctx: Context): Promise<Truth> {
  const queues = new Map<string, MessageInfo[]>();
  for (const name of NAMES) {
    const found: MessageInfo[] = [];
    for await (const message of ctx.admin(SPACE).messages(name)) found.push(message);
    expect(new Set(found.map(({ msgid }) => msgid)).size).toBe(found.length);
    // Some, or a million operations would take a day.
    for (const { msgid, length } of found.slice(0, 300)) {
      const ctl = new TPQCTL({
        flags: TPQ.TPQPEEK | TPQ.TPQGETBYMSGID,
        msgid: Buffer.from(msgid),
      });
      expect(String((await ctx.tpdequeue(SPACE, name, ctl, null)).data).length).toBe(length);
    }
    queues.set(name, found);
  }
  return { queues, all: [...queues.values()].reduce((sum, { length }) => sum + length, 0) };
}

/** Every place that tells a number tells this one. */
async function checkCounters(daemon: InProcess, ctx: Context, { queues, all }: Truth): Promise<void> {
  const device = join(daemon.dir, 'data1');
  const metrics = await daemon.metrics();
  const qmadmin = (await session(device, [`qopen ${SPACE}`, 'qinfo'])).out.join('\n');
  const keys = { TA_QMCONFIG: device, TA_APPQSPACENAME: SPACE };
  for (const [name, messages] of queues) {
    const persistent = messages.filter((message) => message.persistent);
    const [kept, inMemory] = [persistent.length, messages.length - persistent.length];
    const delayed = messages.filter(({ state }) => state === 'delayed').length;
    const info = await ctx.admin(SPACE).info(name);
    expect(info, name).toMatchObject({
      messages: messages.length,
      ready: messages.length - delayed,
      delayed,
      locked: 0,
      pending: 0,
      persistentMessages: kept,
      nonPersistentMessages: inMemory,
    });
    expect(await daemon.queue(name)).toMatchObject({ messages: messages.length, delayed });
    for (const state of ['ready', 'delayed', 'locked', 'pending'] as const)
      expect(valueOf(metrics, 'tmqueue_queue_messages', { queue: name, state })).toBe(info[state]);
    const mib = await ctx.tpadmcall({
      TA_OPERATION: 'GET',
      TA_CLASS: 'T_APPQ',
      ...keys,
      TA_APPQNAME: name,
    });
    expect(mib).toMatchObject({
      TA_CURMSG: [kept],
      TA_CURBLOCKS: [info.pages],
      TA_CURNONPERSISTMSG: [inMemory],
      TA_CURNONPERSISTBYTES: [info.nonPersistentBytes],
    });
    expect(qmadmin).toContain(
      `Queue ${name}: ${kept} persistent messages in ${info.pages} pages, ${inMemory} non-persistent messages in ` +
        `${info.nonPersistentBytes} bytes`,
    );
  }
  const space = await ctx.admin(SPACE).space();
  expect(space).toMatchObject({ curMessages: all, curTransactions: 0 });
  expect(await ctx.tpadmcall({ TA_OPERATION: 'GET', TA_CLASS: 'T_APPQSPACE', ...keys })).toMatchObject({
    TA_CURMSG: [all],
    TA_CURTRANS: [0],
    TA_CURMEMNONPERSIST: [space.curNonPersistentBytes],
  });
}

/** What came is there, or has gone in a way that is counted. */
async function checkFlow(daemon: InProcess, ctx: Context, all: number): Promise<void> {
  const infos: QueueInfo[] = [];
  for await (const info of ctx.admin(SPACE).queues()) infos.push(info);
  const metrics = await daemon.metrics();
  const sum = (name: string): number =>
    infos.reduce(
      (total, { name: queue }) => total + valueOf(metrics, `tmqueue_queue_${name}_total`, { queue }),
      0,
    );
  expect(sum('enqueued') - sum('dequeued') - sum('expired') - sum('purged') - sum('dropped')).toBe(all);
  for (const counter of ['enqueued', 'dequeued', 'expired'] as const)
    expect(infos.reduce((total, info) => total + info[counter], 0)).toBe(sum(counter));
}

const order = (text: string): string => `ORDER="${text}" OUTOFORDER="top,msgid"`;

/** The msgids of the persistent messages of each queue. */
const kept = ({ queues }: Truth): string[][] =>
  NAMES.map((name) =>
    (queues.get(name) ?? []).filter(({ persistent }) => persistent).map(({ msgid }) => msgid),
  );

const timeout = 120_000 + OPERATIONS * 5;
test(`after ${OPERATIONS} operations, seed ${SEED}, all say what is there`, { timeout }, async () => {
  const daemon = await daemonForTest({
    maxGtt: 1000,
    spaces: [
      {
        errorQueue: 'E',
        more: 'NONPERSIST=200000b',
        queues: [
          { name: 'A', retries: 1, more: order('fifo') },
          { name: 'B', retries: 0, more: order('priority,lifo') },
          { name: 'C', retries: 2, delay: 1, more: order('time,expiration') },
          { name: 'E', retries: 5, more: order('fifo') },
        ],
      },
    ],
  });
  const ctx = await daemon.join();
  await new Load(ctx, new Prng(SEED)).run(OPERATIONS, () => daemon.clock.advance(20));
  // Nothing is due or expires any more.
  daemon.clock.advance(10_000);
  await eventually(async () => (await ctx.admin(SPACE).list()).queues.every(({ delayed }) => delayed === 0));
  const before = await truthOf(ctx);
  expect(before.all).toBeGreaterThan(100);
  await checkCounters(daemon, ctx, before);
  await checkFlow(daemon, ctx, before.all);

  await daemon.restart();
  const after = await truthOf(ctx);
  expect(kept(after)).toEqual(kept(before));
  expect(after.all).toBe(kept(before).flat().length);
  await checkCounters(daemon, ctx, after);

  for (const name of NAMES) expect(await drain(ctx, name)).toHaveLength(after.queues.get(name)?.length ?? 0);
  await checkCounters(daemon, ctx, await truthOf(ctx));
});
