// What TPQBEFOREMSGID costs after many insertions at one place, beside plain enqueues on a queue of another space, by processor time, the
// two in turns. At the end everything is dequeued and has to come in the order that was asked for.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { EnqueueRequest } from '../../../src/engine/request.ts';
import { msgidBytes, type MessageId } from '../../../src/queue/message.ts';
import { median } from '../figures.ts';
import { serveTask } from '../ipc.ts';
import { cpuSince, DrivenSpace, enqueueOf, STEP } from './driven-space.ts';
import type { Answer, BeforeTask, Pattern } from './task.ts';

const QUEUE = 'BEFORE';
const DATA = Buffer.alloc(16, 0x2e);
const WARM = 20_000;

serveTask(async (asked): Promise<Answer> => {
  const { directory, pattern, messages } = asked as BeforeTask;
  await warm(join(directory, 'warm'), pattern);
  const plain = await open(join(directory, 'plain'));
  const space = await open(join(directory, 'before'));
  const places = new Places(space, pattern);
  const steps: { readonly of: number; readonly beside: number }[] = [];
  await space.calm();
  const recordsBefore = space.engine.journal.recordsAppended;
  for (let done = 0; done < messages; done += STEP) {
    const beside = timed(() => plain.putNow(enqueueOf(QUEUE, { data: DATA })));
    const of = timed(() => places.insert());
    steps.push({ of, beside });
    await plain.durable();
    await space.durable();
  }
  const records = (space.engine.journal.recordsAppended - recordsBefore) / (steps.length * STEP);
  await places.verify();
  return answer(pattern, steps, records);
});

function answer(
  pattern: Pattern,
  steps: readonly { readonly of: number; readonly beside: number }[],
  records: number,
): Answer {
  const tenth = Math.ceil(steps.length / 10);
  const line = (name: string, part: typeof steps) => ({
    what: `put before a message, ${pattern}: ${name}`,
    unit: 'us of processor',
    measured: median(part.map(({ of }) => of)),
    reference: median(part.map(({ beside }) => beside)),
  });
  const lines = [
    line('the first tenth', steps.slice(0, tenth)),
    line('all', steps),
    line('the last tenth', steps.slice(-tenth)),
  ];
  const [first, , last] = lines;
  const logged = {
    what: `put before a message, ${pattern}: records`,
    unit: 'a message',
    measured: records,
    reference: 1,
  };
  return {
    lines: [...lines, logged],
    values: {
      [`before, ${pattern}`]: last!.measured / last!.reference,
      [`before, ${pattern}, growth`]: last!.measured / first!.measured,
    },
  };
}

async function open(directory: string): Promise<DrivenSpace> {
  mkdirSync(directory);
  const space = await DrivenSpace.open(directory);
  space.define({ name: QUEUE, outOfOrder: 'msgid' });
  return space;
}

async function warm(directory: string, pattern: Pattern): Promise<void> {
  const space = await open(directory);
  const places = new Places(space, pattern);
  for (let i = 0; i < WARM; i++) {
    places.insert();
    space.putNow(enqueueOf(QUEUE, { data: DATA }));
    if (i % STEP === 0) await space.durable();
  }
  await space.close();
}

function timed(insert: () => void): number {
  const since = process.cpuUsage();
  for (let i = 0; i < STEP; i++) insert();
  return cpuSince(since) / STEP;
}

/** Puts messages to places of which it knows the order. */
class Places {
  private readonly space: DrivenSpace;
  private readonly pattern: Pattern;
  /** Counters of ids in the order in which they must leave: before the gap, and behind it from the end. */
  private readonly left: number[] = [];
  private readonly right: number[] = [];
  private next: Uint8Array;
  private intoLeft = true;

  constructor(space: DrivenSpace, pattern: Pattern) {
    this.space = space;
    this.pattern = pattern;
    const id = space.putNow(enqueueOf(QUEUE, { data: DATA }));
    this.right.push(id.counter);
    this.next = this.bytesOf(id);
  }

  insert(): void {
    const id = this.space.putNow(this.request());
    if (this.pattern === 'same' || this.intoLeft) {
      this.left.push(id.counter);
    } else {
      this.right.push(id.counter);
      this.next = this.bytesOf(id);
    }
    this.intoLeft = !this.intoLeft;
  }

  /** Takes everything and throws when it comes in another order. */
  async verify(): Promise<void> {
    const expected = [...this.left, ...this.right.toReversed()];
    for (const [at, counter] of expected.entries()) {
      const message = await this.space.take(QUEUE);
      if (message?.id.counter === counter) continue;
      throw new Error(`message ${at} was number ${message?.id.counter ?? 'none'}, not ${counter}`);
    }
  }

  private request(): EnqueueRequest {
    const terms = { availability: null, expiry: null, position: this.next };
    return enqueueOf(QUEUE, { data: DATA, terms });
  }

  private bytesOf(id: MessageId): Uint8Array {
    return msgidBytes(this.space.engine.space.spaceId, id);
  }
}
