// One queue space on a log in memory, whose turns of the loop are in the test's hands, one life after the other. Large is what has more than
// three entries.
import { expect } from 'vitest';
import { QME } from '../../proto/codes.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import type { StoredMessage } from '../../src/engine/message-record.ts';
import { DequeueRequest, type BatchNumber, type Failure, type Work } from '../../src/engine/request.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import { CLOCK } from '../../src/queue/event.ts';
import { msgidBytes } from '../../src/queue/message.ts';
import { openMemoryLog, type MemoryLog, type MemoryLogOptions } from '../../src/wal/memory/memory-log.ts';
import { ManualClock } from './manual-clock.ts';
import { properties, queueAttributes, spaceAttributes } from './queue-values.ts';

const SLICE = 3;
const TURNS_MAX = 200;

export class Take extends DequeueRequest {
  readonly qname: string;
  readonly selection = { msgid: null, corrid: null };
  readonly work: Work | null;
  readonly wait: boolean;
  readonly peek = false;
  readonly deadlineMs = Infinity;
  readonly timeoutFailure = QME.QMENOMSG;
  readonly log: string[];
  answer: string | null = null;
  constructor(qname: string, given: { work?: Work; wait?: boolean; log?: string[] } = {}) {
    super();
    this.qname = qname;
    this.work = given.work ?? null;
    this.wait = given.wait === true;
    this.log = given.log ?? [];
  }
  accepts(): boolean {
    return true;
  }
  taken({ data }: StoredMessage): void {
    this.say(Buffer.from(data ?? []).toString());
  }
  refused(failure: Failure): void {
    this.say(`failure ${failure}`);
  }
  private say(answer: string): void {
    expect(this.answer).toBeNull();
    this.answer = answer;
    this.log.push(answer);
  }
}

interface Put {
  readonly qname?: string;
  readonly work?: Work;
  readonly priority?: number;
  readonly before?: Uint8Array;
  readonly top?: boolean;
  /** By the wall clock. */
  readonly expiresAtS?: number;
}

export class Bench {
  readonly clock = new ManualClock();
  readonly log: MemoryLog;
  engine!: SpaceEngine;
  /** What the operator was warned of. */
  readonly warned: string[] = [];
  private due: (() => void)[] = [];

  constructor(options: Partial<MemoryLogOptions> = {}) {
    this.log = openMemoryLog({ clock: this.clock, ...options });
  }

  async open(): Promise<this> {
    // What the life before still wants to do it does not do any more.
    const due: (() => void)[] = [];
    this.due = due;
    const soon = (run: () => void): void => void due.push(run);
    const warn = (message: string): void => void this.warned.push(message);
    const ulog = { info: () => {}, warn, error: () => {} };
    const ports = { clock: this.clock, ulog, soon, runCommand: () => {} };
    this.engine = await openSpace(this.log, new AbortController().signal, ports);
    this.engine.endings.sliceEntries = SLICE;
    this.engine.define({ kind: 'defineSpace', attributes: spaceAttributes('S', { errorQueue: 'ERR' }) });
    for (const name of ['Q', 'OTHER', 'ERR'])
      this.engine.define({
        kind: 'defineQueue',
        attributes: queueAttributes(name, { retries: 1, order: 'priority,fifo', outOfOrder: 'top,msgid' }),
      });
    await this.settle();
    return this;
  }

  /** The process is gone; another one opens the log. */
  async crash(keepInFlight: boolean): Promise<void> {
    this.log.crash(keepInFlight);
    await this.open();
  }

  async turn(): Promise<void> {
    for (const run of this.due.splice(0)) run();
    for (let i = 0; i < 20; i++) await Promise.resolve();
  }
  async settle(): Promise<void> {
    for (let i = 0; i < TURNS_MAX && (this.due.length > 0 || i < 2); i++) await this.turn();
  }

  put(data: string, given: Put = {}) {
    const position = given.before ?? (given.top === true ? 'top' : null);
    const expiry = given.expiresAtS === undefined ? null : { clock: CLOCK.WALL, seconds: given.expiresAtS };
    return this.engine.enqueue({
      qname: given.qname ?? 'Q',
      properties: properties({ priority: given.priority ?? 50 }),
      terms: position === null && expiry === null ? null : { availability: null, expiry, position },
      data: Buffer.from(data),
      work: given.work ?? null,
    });
  }
  putMany(count: number, given: { qname?: string; work?: Work } = {}): void {
    for (let i = 1; i <= count; i++) expect(this.put(`m${i}`, given).code).toBe(QME.OK);
  }
  msgid({ id }: ReturnType<Bench['put']>): Uint8Array {
    if (id === null) throw new Error('it was refused');
    return msgidBytes(this.engine.space.spaceId, id);
  }

  take(qname = 'Q', given: { work?: Work; wait?: boolean; log?: string[] } = {}): Take {
    const take = new Take(qname, given);
    this.engine.dequeue(take);
    return take;
  }
  lock(count: number): Work {
    const work = this.engine.openWork();
    for (let i = 0; i < count; i++) expect(this.take('Q', { work }).answer).toMatch(/^m/);
    return work;
  }

  /** Turns until a large ending is in the log and not wholly applied. */
  async untilApplying(): Promise<void> {
    const { endings } = this.engine;
    for (let i = 0; i < TURNS_MAX && endings.from === Infinity; i++) await this.turn();
    expect([endings.from < Infinity, endings.isBusy]).toEqual([true, true]);
  }

  /** What an ending says when it is over and durable. */
  end(batch: BatchNumber): { state: string } {
    const held = { state: 'held' };
    this.engine.hold(batch, {
      released: () => (held.state = 'released'),
      failed: () => (held.state = 'failed'),
    });
    return held;
  }

  /** What is on a queue, in its order, with how often each was retried. */
  contents(qname = 'Q'): string[] {
    const { space } = this.engine;
    const queue = space.queue(qname);
    if (queue === undefined) throw new Error(`there is no queue ${qname}`);
    const found: string[] = [];
    for (let entry = space.firstReady(queue); entry !== 0; entry = space.unheldAfter(queue, entry))
      found.push(`${space.id(entry).counter} ${space.entries.retries.get(entry)}`);
    return found;
  }
}
