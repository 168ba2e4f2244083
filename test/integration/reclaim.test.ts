// Reclaim [DESIGN 5]: old messages of every kind survive while the log around them is written over many times, with their place, times,
// counts and properties, over restarts; the log stays small.
import { describe, expect, it } from 'vitest';
import { type Context, TPQ, TPQCTL, type TPQCTL as Ctl } from '../../clients/typescript/index.ts';
import { daemonForTest, eventually } from '../support/in-process.ts';
import { codeOf, corridOf, ctlOf, drain, OUTPUTS, putId, SPACE, take } from './helpers.ts';

const SEGMENT = 64 * 1024;
const CHURN = 'c'.repeat(400);

/** Writes the log over: `segments` times a segment of messages put and taken. */
async function churn(ctx: Context, segments: number): Promise<void> {
  const rounds = Math.ceil((segments * SEGMENT) / (32 * 500));
  for (let round = 0; round < rounds; round++) {
    await Promise.all(Array.from({ length: 32 }, () => ctx.tpenqueue(SPACE, 'CHURN', null, CHURN)));
    await Promise.all(Array.from({ length: 32 }, () => ctx.tpdequeue(SPACE, 'CHURN', null, null)));
  }
}

async function expectSmall(ctx: Context): Promise<void> {
  await eventually(async () => {
    const [space] = (await ctx.stat()).spaces;
    return (space?.logBytes ?? 0) <= 2 * (space?.bytes ?? 0) + 4 * SEGMENT;
  });
}

const queues = [
  { name: 'OLD', retries: 9, more: 'ORDER="priority" OUTOFORDER="top,msgid"' },
  { name: 'LATE', retries: 9, delay: 3600 },
  { name: 'FEW', retries: 0 },
  'ERR',
  'CHURN',
];

describe('a log that is written over', () => {
  it('keeps old messages as they are, and stays small', async () => {
    const daemon = await daemonForTest(
      { spaces: [{ queues, errorQueue: 'ERR' }] },
      { device: { segmentBytes: SEGMENT } },
    );
    let ctx = await daemon.join();
    const all: Partial<Ctl> = {
      flags: OUTPUTS | TPQ.TPQDELIVERYQOS | TPQ.TPQREPLYQOS,
      corrid: Uint8Array.from(corridOf(7)),
      priority: 60,
      replyqueue: 'RPLY',
      failurequeue: 'FAIL',
      delivery_qos: 2,
      reply_qos: 4,
    };
    await putId(ctx, 'OLD', 'everything', all);
    const low = await putId(ctx, 'OLD', 'low', { flags: TPQ.TPQPRIORITY, priority: 1 });
    await putId(ctx, 'OLD', 'before low', { flags: TPQ.TPQBEFOREMSGID, msgid: low });
    await putId(ctx, 'OLD', 'top', { flags: TPQ.TPQTOP });
    await putId(ctx, 'OLD', 'expires', { flags: TPQ.TPQEXPTIME_REL, exp_time: 7200 });
    await putId(ctx, 'OLD', 'later', { flags: TPQ.TPQTIME_REL, deq_time: 3600 });
    await putId(ctx, 'LATE', 'retried');
    await putId(ctx, 'FEW', 'moved');
    for (const queue of ['LATE', 'FEW']) {
      await ctx.tpbegin(60);
      await take(ctx, queue);
      await ctx.tpabort();
    }
    const holder = await daemon.join();
    await holder.tpbegin(600);
    expect((await take(holder, 'OLD')).data).toBe('top');
    for (let life = 0; life < 2; life++) {
      await churn(ctx, 12);
      await expectSmall(ctx);
      if (life === 0) await holder.tpabort();
      await daemon.restart();
      ctx = await daemon.join();
    }
    const { messages } = (await ctx.stat()).spaces[0] ?? { messages: 0 };
    expect(messages).toBe(8);
    expect((await take(ctx, 'OLD')).data).toBe('top');
    const ctl = new TPQCTL({ flags: all.flags ?? 0 });
    expect((await take(ctx, 'OLD', ctl)).data).toBe('everything');
    expect(ctl).toMatchObject({ ...all, flags: (all.flags ?? 0) | TPQ.TPQMSGID });
    expect(await drain(ctx, 'OLD')).toEqual(['expires', 'before low', 'low']);
    expect(await drain(ctx, 'ERR')).toEqual(['moved']);
    expect(await codeOf(take(ctx, 'LATE'))).toBe('QMENOMSG');
    daemon.clock.advance(3600 * 1000);
    await eventually(async () => (await codeOf(take(ctx, 'OLD', ctlOf(TPQ.TPQPEEK)))) === 'OK');
    expect(await drain(ctx, 'OLD')).toEqual(['later']);
    expect(await drain(ctx, 'LATE')).toEqual(['retried']);
  });
});
