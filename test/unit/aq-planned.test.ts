// An administrator's request that has to wait for room in the log: what it does is decided when it is done, from what is there then.
import { expect, it, vi } from 'vitest';
import { AQ } from '../../proto/aq/verbs.ts';
import { OP, QME } from '../../proto/codes.ts';
import type { Reply } from '../../proto/message.ts';
import { carryOut, type Plan, type Planner } from '../../src/aq/admin/planned.ts';
import { alterQueue, startQueue } from '../../src/aq/admin/queues.ts';
import { AqAsked } from '../../src/aq/asked.ts';
import { Client } from '../../src/atmi/client.ts';
import type { Held } from '../../src/engine/request.ts';
import { AqBench } from '../support/aq-bench.ts';
import { ManualClock } from '../support/manual-clock.ts';

const identity = { cltid: new Uint8Array(16), usrname: '', cltname: '', grpname: '', appkey: -1 };

interface Setup {
  readonly bench: AqBench;
  readonly client: Client;
  readonly replies: Reply[];
  readonly clock: ManualClock;
  readonly ask: (planner: Planner, verb: number, members?: Record<string, number | boolean>) => void;
  /** Lets who waits for room go on. */
  readonly room: () => void;
}

async function setup(): Promise<Setup> {
  const bench = new AqBench();
  await bench.open();
  bench.table('T');
  await bench.settle();
  const replies: Reply[] = [];
  const client = new Client(identity, { send: (reply) => void replies.push(reply) });
  const { engine } = bench;
  const waiting: (() => void)[] = [];
  vi.spyOn(engine, 'whenRoom').mockImplementation((retry) => void waiting.push(retry));
  vi.spyOn(engine, 'hold').mockImplementation((_batch, held: Held) => held.released());
  // No room, once.
  vi.spyOn(engine.defining, 'change').mockReturnValueOnce({ code: QME.QMENOSPACE, later: true, batch: 0 });
  const clock = new ManualClock();
  const space = { engine, name: 'S', aliases: [] };
  const ask = (planner: Planner, verb: number, members = {}): void => {
    const request = { op: OP.AQ, id: 7, verb, qspace: 'S', qname: 'TQ', tx: 0, members, items: [] };
    carryOut(new AqAsked(client, request, space), planner, { clock, said: () => {} });
  };
  return { bench, client, replies, clock, ask, room: () => waiting.shift()?.() };
}

it('does not undo what another one changed meanwhile', async () => {
  const { bench, client, replies, ask, room } = await setup();
  ask(alterQueue, AQ.ALTER_QUEUE, { retryDelay: 9 });
  expect([client.isBlocked, replies]).toEqual([true, []]);
  const { attributes } = bench.queueOf('TQ');
  expect(bench.engine.define({ kind: 'defineQueue', attributes: { ...attributes, retries: 77 } }).code).toBe(
    0,
  );
  room();
  expect(bench.queueOf('TQ').attributes).toMatchObject({ retries: 77, delayS: 9 });
  expect([client.isBlocked, replies.map(({ op }) => op)]).toEqual([false, [OP.AQ]]);
});

it('does not bring back a queue that was dropped meanwhile', async () => {
  const { bench, replies, ask, room } = await setup();
  ask(startQueue, AQ.START_QUEUE);
  expect(bench.engine.destroyQueue('TQ').code).toBe(0);
  room();
  expect(bench.engine.space.queue('TQ')).toBeUndefined();
  expect(replies).toMatchObject([{ op: OP.AQERROR, aq: 24_010 }]);
});

it('that is cancelled while it waits has changed nothing, and lets the client go on', async () => {
  const { bench, client, replies, ask, room } = await setup();
  ask(alterQueue, AQ.ALTER_QUEUE, { retryDelay: 9 });
  expect(client.pending.get(7)?.cancel()).toBe(true);
  room();
  expect(bench.queueOf('TQ').attributes.delayS).toBe(0);
  expect([client.isBlocked, client.pending.size, replies.length]).toEqual([false, 0, 1]);
});

it('is answered when what it waits for is so', async () => {
  const { replies, clock, ask, room } = await setup();
  let isIdle = false;
  const plan: Plan = { change: {}, said: 'stopped', until: () => isIdle };
  ask(() => plan, AQ.STOP_QUEUE);
  room();
  clock.advance(1000);
  expect(replies).toEqual([]);
  isIdle = true;
  clock.advance(1000);
  expect(replies).toHaveLength(1);
});
