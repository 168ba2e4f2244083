// What a dequeue costs behind messages that it cannot have, beside the same on a queue of another space that has nothing else on it: by
// processor time, the two in turns. Each round takes some messages that were put last, then asks in vain.
import { join } from 'node:path';
import { mkdirSync } from 'node:fs';
import { QME, qmeName } from '../../../proto/codes.ts';
import { CLOCK } from '../../../src/queue/event.ts';
import type { Queue } from '../../../src/queue/queue.ts';
import type { Work } from '../../../src/engine/request.ts';
import { TRANSACTION_LIMIT } from '../../../src/engine/enqueues.ts';
import { median } from '../figures.ts';
import { serveTask } from '../ipc.ts';
import { cpuSince, DrivenSpace, enqueueOf, STEP, Taking } from './driven-space.ts';
import type { Answer, BehindTask, Obstacle } from './task.ts';

const QUEUE = 'BEHIND';
const DATA = Buffer.alloc(16, 0x2e);
const FAR_S = 1_000_000;
/** Dequeues of one round: few milliseconds. */
const ROUND = 1000;
const WARM_ROUNDS = 10;

serveTask(async (asked): Promise<Answer> => {
  const task = asked as BehindTask;
  const empty = await Side.open(join(task.directory, 'empty'));
  const full = await Side.open(join(task.directory, 'full'));
  await full.obstruct(task.obstacle, task.messages);
  await full.calm();
  const { hidden } = full;
  if (hidden !== task.messages) throw new Error(`${hidden} messages are ${task.obstacle}`);
  const rounds: Round[] = [];
  for (let number = 0; number < WARM_ROUNDS + task.rounds; number++) {
    // Whoever is second has the warmer caches.
    const first = number % 2 === 0 ? empty : full;
    const one = await first.round();
    const two = await (first === empty ? full : empty).round();
    const [of, beside] = first === empty ? [two, one] : [one, two];
    if (number >= WARM_ROUNDS) rounds.push({ of, beside });
  }
  if (full.hidden !== task.messages) throw new Error('a message was taken that nobody may have');
  return answer(task.obstacle, rounds);
});

interface Costs {
  readonly takeUs: number;
  readonly vainUs: number;
}
interface Round {
  readonly of: Costs;
  readonly beside: Costs;
}

function answer(obstacle: Obstacle, rounds: readonly Round[]): Answer {
  const line = (what: string, pick: (costs: Costs) => number) => ({
    what: `${what} ${obstacle}`,
    unit: 'us of processor',
    measured: median(rounds.map(({ of }) => pick(of))),
    reference: median(rounds.map(({ beside }) => pick(beside))),
  });
  return {
    lines: [
      line('dequeue behind', ({ takeUs }) => takeUs),
      line('dequeue in vain behind', ({ vainUs }) => vainUs),
    ],
    values: {
      [`behind ${obstacle}`]: median(rounds.map(({ of, beside }) => of.takeUs / beside.takeUs)),
      [`in vain behind ${obstacle}`]: median(rounds.map(({ of, beside }) => of.vainUs - beside.vainUs)),
    },
  };
}

class Side {
  private readonly space: DrivenSpace;
  private readonly queue: Queue;
  private readonly works: Work[] = [];

  private constructor(space: DrivenSpace) {
    this.space = space;
    this.queue = space.define({ name: QUEUE, retries: 5, delayS: FAR_S });
  }

  static async open(directory: string): Promise<Side> {
    mkdirSync(directory);
    return new Side(await DrivenSpace.open(directory));
  }

  get hidden(): number {
    const { locked, delayed, pending } = this.queue;
    return locked + delayed + pending;
  }

  calm(): Promise<void> {
    return this.space.calm();
  }

  async obstruct(obstacle: Obstacle, messages: number): Promise<void> {
    for (let done = 0; done < messages; done += STEP) {
      const step = Math.min(STEP, messages - done);
      if (obstacle === 'delayed') await this.put(step, { seconds: FAR_S });
      else if (obstacle === 'not committed') await this.put(step, { work: this.workFor(step) });
      else await this.hold(step, obstacle === 'on retry delay');
      await this.space.durable();
    }
  }

  async round(): Promise<Costs> {
    await this.put(ROUND, {});
    await this.space.durable();
    const takeUs = this.timed(QME.OK);
    const vainUs = this.timed(QME.QMENOMSG);
    await this.space.durable();
    return { takeUs, vainUs };
  }

  private timed(expected: number): number {
    const { engine } = this.space;
    let failures = 0;
    const since = process.cpuUsage();
    for (let i = 0; i < ROUND; i++) {
      const taking = new Taking(QUEUE);
      engine.dequeue(taking);
      if (taking.failure !== expected) failures++;
    }
    const us = cpuSince(since) / ROUND;
    if (failures > 0)
      throw new Error(`${failures} of ${ROUND} dequeues did not end with ${qmeName(expected)}`);
    return us;
  }

  private async put(count: number, given: { seconds?: number; work?: Work }): Promise<void> {
    const availability = given.seconds === undefined ? null : { clock: CLOCK.SPACE, seconds: given.seconds };
    const terms = availability === null ? null : { availability, expiry: null, position: null };
    const request = enqueueOf(QUEUE, { data: DATA, terms, work: given.work ?? null });
    for (let i = 0; i < count; i++) await this.space.put(request);
  }

  /** Takes new messages into a transaction, which stays open or is rolled back. */
  private async hold(count: number, isRolledBack: boolean): Promise<void> {
    await this.put(count, {});
    const { engine } = this.space;
    const work = isRolledBack ? engine.openWork() : this.workFor(count);
    for (let i = 0; i < count; i++) {
      const taking = new Taking(QUEUE, work);
      engine.dequeue(taking);
      if (taking.message === null) throw new Error(`a dequeue failed: ${qmeName(taking.failure)}`);
    }
    if (isRolledBack) engine.rollback(work, 0);
  }

  /** A transaction that takes so many more. */
  private workFor(count: number): Work {
    const last = this.works.at(-1);
    if (last !== undefined && last.messages + count <= TRANSACTION_LIMIT.MESSAGES) return last;
    const work = this.space.engine.openWork();
    this.works.push(work);
    return work;
  }
}
