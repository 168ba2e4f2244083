// Administration on a disk that fills up or loses its power: a request that has to wait for room is not lost and not overtaken, a full log
// refuses it and still lets a purge free the space, and whatever was answered is so after a power cut in any call of the disk.
import { expect, it, test } from 'vitest';
import { ADMIN, QME } from '../../proto/codes.ts';
import type { Members } from '../../proto/message.ts';
import { Prng } from '../../src/base/prng.ts';
import type { QueueSpace } from '../../src/queue/space.ts';
import type { EngineClient } from './engine-calls.ts';
import { EngineLife, SEGMENT_BYTES } from './engine-life.ts';
import { MemoryDisk } from './faulty-file-io.ts';

const BODY = new Uint8Array(1500);
const OPTIONS = { queues: ['Q'], treason: 'none' } as const;

test('definitions that wait for room are made, in the order in which they were asked for', async () => {
  const life = await EngineLife.open({ ...OPTIONS, disk: new MemoryDisk(), prng: new Prng(3) });
  const { engine } = life;
  const define = engine.define.bind(engine);
  let waited = 0;
  engine.define = (command) => {
    const outcome = define(command);
    if (outcome.later) waited++;
    return outcome;
  };
  const client = life.client();
  const count = 400;
  const changes = Array.from({ length: count }, (_, i) =>
    client.admin(ADMIN.QCHANGE, 'Q', { cmd: cmdOf(i) }),
  );
  const created = client.admin(ADMIN.QCREATE, 'NEW');
  const put = client.put('NEW', BODY);
  const answers = await Promise.all(changes);
  await Promise.all([created, put]);
  expect(waited).toBeGreaterThan(0);
  expect(answers.map(({ cmd }) => cmd)).toEqual(Array.from({ length: count }, (_, i) => cmdOf(i)));
});

test('definitions that a segment of the log could not begin with are refused; the space lives on, and starts', async () => {
  const options = { ...OPTIONS, prng: new Prng(4) };
  let life = await EngineLife.open({ ...options, disk: new MemoryDisk() });
  const client = life.client();
  const names = Array.from({ length: 100 }, (_, i) => `${'é'.repeat(50)}${i}`);
  const ends = await Promise.allSettled(
    names.map((name) => client.admin(ADMIN.QCREATE, name, { cmd: 'é'.repeat(63) })),
  );
  const made = names.filter((_, i) => ends[i]?.status === 'fulfilled');
  expect(made.length).toBeGreaterThan(10);
  expect(made.length).toBeLessThan(names.length);
  const refused = ends.find((end) => end.status === 'rejected');
  expect(String(refused?.reason)).toContain('a segment of the log may begin with');
  for (let i = 0; i < 3; i++) {
    for (let n = 0; n < 60; n++) await client.put('Q', BODY);
    expect(await client.admin(ADMIN.QPURGE, 'Q')).toEqual({ count: 60 });
  }
  await client.admin(ADMIN.QDESTROY, made[0] as string);
  await client.admin(ADMIN.QCREATE, names.at(-1) as string, { cmd: 'é'.repeat(63) });
  life.cut();
  life = await EngineLife.open({ ...options, disk: life.disk });
  const found = life.engine.space.queues().map(({ attributes }) => attributes.name);
  expect(found.filter((name) => name.startsWith('é'))).toEqual([...made.slice(1), names.at(-1)]);
});

function cmdOf(i: number): string {
  return `${i} `.padEnd(127, 'x');
}

/** Puts until the space is full. */
async function fill(client: EngineClient): Promise<void> {
  for (let refused = 0; refused < 5;) {
    const ends = await Promise.allSettled(Array.from({ length: 50 }, () => client.put('Q', BODY)));
    refused += ends.filter(({ status }) => status === 'rejected').length;
  }
}

test('a full log refuses definitions and purges; then there is room again, also after a power cut', async () => {
  const options = { ...OPTIONS, prng: new Prng(5), limitBytes: 8 * SEGMENT_BYTES };
  let life = await EngineLife.open({ ...options, disk: new MemoryDisk() });
  await fill(life.client());
  const client = life.client();
  const many = Array.from({ length: 200 }, (_, i) => client.admin(ADMIN.QCHANGE, 'Q', { cmd: cmdOf(i) }));
  const ends = await Promise.allSettled(many);
  const refusals = ends.filter((end) => end.status === 'rejected');
  expect(refusals.length).toBeGreaterThan(0);
  for (const { reason } of refusals) {
    expect(String(reason)).toMatch(new RegExp(`diagnostic ${QME.QMENOSPACE}: .*QSPACE has no room.*disk`));
  }
  const last = ends.findLastIndex(({ status }) => status === 'fulfilled');
  const { messages } = life.engine.space.queue('Q') ?? { messages: 0 };
  expect(messages).toBeGreaterThan(100);
  expect(await client.admin(ADMIN.QPURGE, 'Q')).toEqual({ count: messages });
  life.cut();
  life = await EngineLife.open({ ...options, queues: [], disk: life.disk });
  const queue = life.engine.space.queue('Q');
  expect([queue?.messages, queue?.attributes.cmd]).toEqual([0, last < 0 ? '' : cmdOf(last)]);
  expect(await life.client().admin(ADMIN.QCREATE, 'NEW')).toMatchObject({ name: 'NEW' });
});

type Step = readonly [verb: number, qname: string, members?: Members];
const STEPS: readonly Step[] = [
  [ADMIN.QCREATE, 'A', { retries: 3 }],
  [ADMIN.QCREATE, 'B', { order: 'lifo' }],
  [ADMIN.QCHANGE, 'A', { retries: 4, delayS: 9 }],
  [ADMIN.QPAUSE, 'A', { dequeue: true }],
  [ADMIN.QDESTROY, 'B'],
  [ADMIN.QPURGE, 'Q'],
  [ADMIN.QCREATE, 'B', { order: 'priority' }],
  [ADMIN.QRESUME, 'A'],
  [ADMIN.QDESTROY, 'Q'],
];

/** What of a space the steps change. */
function stateOf(space: QueueSpace): unknown {
  const queues = ['A', 'B', 'Q'].map((name) => space.queue(name));
  return queues.map((queue) => queue && { ...queue.attributes, messages: queue.messages });
}

/** Runs the steps one after the other; how many were answered. */
async function runSteps(client: EngineClient, after: (done: number) => void): Promise<void> {
  for (let i = 0; i < 5; i++) await client.put('Q', BODY);
  for (const [i, [verb, qname, members]] of STEPS.entries()) {
    await client.admin(verb, qname, members);
    after(i + 1);
  }
}

it('whatever was answered is so after a power cut, and what was not is so wholly or not at all', async () => {
  const states: unknown[] = [];
  const whole = await EngineLife.open({ ...OPTIONS, disk: new MemoryDisk(), prng: new Prng(1) });
  const noteState = (done: number): void => void (states[done] = stateOf(whole.engine.space));
  await runSteps(whole.client(), noteState);
  const cuts = new Set<number>();
  for (let calls = 8; calls < 60; calls += 2) {
    const life = await EngineLife.open({ ...OPTIONS, disk: new MemoryDisk(), prng: new Prng(calls) });
    let done = 0;
    const steps = runSteps(life.client(), (n) => void (done = n)).catch(() => {});
    await life.runUntilCut(calls, 2000);
    await steps;
    const next = await EngineLife.open({ ...OPTIONS, queues: [], disk: life.disk, prng: new Prng(calls) });
    cuts.add(done);
    if (done === 0) continue; // the messages of Q are on their way
    const found = JSON.stringify(stateOf(next.engine.space));
    // A purge goes message by message: its state between is told apart by the count alone.
    const expected = [states[done], states[done + 1]].map((state) => JSON.stringify(state));
    const partly = (n: number): string => (expected[0] ?? '').replace('"messages":5', `"messages":${n}`);
    if (done === 5) expected.push(...[1, 2, 3, 4].map(partly));
    expect(expected).toContain(found);
  }
  expect(cuts.size).toBeGreaterThan(5);
});
