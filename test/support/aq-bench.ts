// One queue space with queues of the AQ dialect on a log in memory, whose turns and clock are in the test's hands.
import { expect, vi } from 'vitest';
import { QME, TPQ } from '../../proto/codes.ts';
import {
  AqDequeueRequest,
  type AqMessage,
  type AqRefusal,
  type Criterion,
  type Deviation,
} from '../../src/engine/aq/request.ts';
import { MODE, NAVIGATION } from '../../src/engine/aq/scan.ts';
import { AqSession } from '../../src/engine/aq/session.ts';
import type { Work } from '../../src/engine/request.ts';
import { AQ_TYPE, QUEUE_DEFAULTS, type AqAttributes } from '../../src/queue/attributes.ts';
import { OBJECT, orderOfTable, type AqTable } from '../../src/queue/catalog.ts';
import type { AqProperties, MessageId } from '../../src/queue/message.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { Bench } from './engine-bench.ts';
import { properties } from './queue-values.ts';

const READ_TURNS = 1000;

export interface AqPut {
  readonly work?: Work;
  readonly delayS?: number;
  readonly expirationS?: number;
  readonly deviation?: Deviation;
  readonly buffered?: boolean;
  readonly to?: readonly string[];
  readonly aq?: Partial<AqProperties>;
  readonly corrid?: Uint8Array;
}
export interface AqGet {
  readonly consumer?: string;
  readonly work?: Work;
  readonly mode?: number;
  readonly navigation?: number;
  readonly deliveryMode?: number;
  readonly size?: number;
  readonly wait?: boolean;
  readonly deadlineMs?: number;
  readonly criterion?: Criterion;
  readonly session?: AqSession;
}

export class AqTake extends AqDequeueRequest {
  readonly queue: Queue;
  readonly lane: Queue;
  readonly criterion: Criterion;
  readonly mode: number;
  readonly navigation: number;
  readonly deliveryMode: number;
  readonly size: number;
  readonly bytesMax = Infinity;
  readonly work: Work | null;
  readonly session: AqSession;
  readonly wait: boolean;
  readonly deadlineMs: number;
  messages: readonly AqMessage[] | null = null;
  /** Its data, in order; or `fault N` or `code N`. */
  answer: string | null = null;

  constructor(queue: Queue, lane: Queue, given: AqGet) {
    super();
    this.queue = queue;
    this.lane = lane;
    this.criterion = given.criterion ?? { by: 'order' };
    this.mode = given.mode ?? MODE.REMOVE;
    this.navigation = given.navigation ?? NAVIGATION.FIRST;
    this.deliveryMode = given.deliveryMode ?? 1;
    this.size = given.size ?? 1;
    this.work = given.work ?? null;
    this.session = given.session ?? new AqSession();
    this.wait = given.wait === true;
    this.deadlineMs = given.deadlineMs ?? Infinity;
  }
  taken(messages: readonly AqMessage[]): void {
    expect(this.answer).toBeNull();
    this.messages = messages;
    this.answer = messages.map(({ data }) => (data === null ? '-' : Buffer.from(data).toString())).join(' ');
  }
  refused({ fault, code }: AqRefusal): void {
    expect(this.answer).toBeNull();
    this.answer = fault === 0 ? `code ${code}` : `fault ${fault}`;
  }
}

export const PLAIN_TABLE: AqTable = {
  payloadType: 'RAW',
  sortList: '',
  multipleConsumers: false,
  grouping: 0,
  secure: false,
  compatible: '',
  comment: '',
};

/** A subscriber without a rule. */
export const PLAIN_CONSUMER = {
  name: '',
  address: '',
  protocol: 0,
  of: 0,
  subscribed: true,
  rule: '',
  deliveryMode: 3,
  queueToQueue: false,
};

export class AqBench extends Bench {
  /** A queue table with its default exception queue, and a queue of the name of the table with a Q behind it. */
  table(
    name: string,
    over: Partial<AqTable> = {},
    queue: { retries?: number; delayS?: number; retentionS?: number } = {},
  ): void {
    const table = { ...PLAIN_TABLE, ...over };
    expect(this.engine.define({ kind: 'defineObject', type: OBJECT.TABLE, name, value: table }).code).toBe(
      QME.OK,
    );
    const aq = {
      table: name,
      type: AQ_TYPE.NORMAL,
      retentionS: queue.retentionS ?? 0,
      comment: '',
      consumer: null,
    };
    this.defineAq(`AQ$_${name}_E`, { ...aq, type: AQ_TYPE.EXCEPTION, retentionS: 0 }, { order: 'fifo' });
    const { retries = 5, delayS = 0 } = queue;
    this.defineAq(`${name}Q`, aq, { order: orderOfTable(table), retries, delayS, outOfOrder: 'top,msgid' });
  }

  subscriber(qname: string, name: string): Queue {
    const queue = this.queueOf(qname);
    const consumer = { ...PLAIN_CONSUMER, name, of: queue.number };
    const aq = { ...(queue.attributes.aq as AqAttributes), consumer };
    this.defineAq(`${qname}:${name}`, aq, { order: queue.attributes.order, outOfOrder: 'top,msgid' });
    return this.laneOf(qname, name);
  }

  /** No message is in memory any more, in this life. */
  readFromLog(): void {
    vi.spyOn(this.engine.journal, 'cached').mockReturnValue(null);
  }

  queueOf(name: string): Queue {
    const queue = this.engine.space.queue(name);
    if (queue === undefined) throw new Error(`there is no queue ${name}`);
    return queue;
  }
  laneOf(qname: string, consumer: string): Queue {
    const lane = this.queueOf(qname).lanes?.get(`${consumer}\0\u00000`);
    if (lane === undefined) throw new Error(`${qname} has no consumer ${consumer}`);
    return lane;
  }

  putAq(qname: string, data: string, given: AqPut = {}): MessageId {
    const outcome = this.tryAq(qname, data, given);
    expect([outcome.fault, outcome.code]).toEqual([0, QME.OK]);
    return outcome.id as MessageId;
  }
  tryAq(qname: string, data: string, given: AqPut = {}) {
    const queue = this.queueOf(qname);
    const all = queue.lanes === null ? null : [...queue.lanes.values()];
    const to = given.to?.map((name) => this.laneOf(qname, name)) ?? all;
    const { corrid = null } = given;
    return this.engine.aqEnqueue({
      queue,
      recipients: to,
      properties: {
        ...properties({ type: 'CARRAY', corrid, flags: corrid === null ? 0 : TPQ.TPQCORRID }),
        aq: { enqueuedMs: this.clock.wallMs(), ...given.aq },
      },
      delayS: given.delayS ?? 0,
      expirationS: given.expirationS ?? -1,
      deviation: given.deviation ?? null,
      persistent: given.buffered !== true,
      data: Buffer.from(data),
      work: given.work ?? null,
    });
  }

  begin(qname: string, given: AqGet = {}): AqTake {
    const queue = this.queueOf(qname);
    const lane = given.consumer === undefined ? queue : this.laneOf(qname, given.consumer);
    const take = new AqTake(queue, lane, given);
    this.engine.aqDequeue(take);
    return take;
  }
  /** What it answers when all has settled. */
  async get(qname: string, given: AqGet = {}): Promise<string | null> {
    const take = this.begin(qname, given);
    await this.settle();
    // Reads of the log take their time.
    for (let i = 0; i < READ_TURNS && take.underWay; i++) await this.turn();
    return take.answer;
  }

  /** Time goes by. */
  async pass(seconds: number): Promise<void> {
    this.clock.advance(seconds * 1000);
    await this.settle();
  }

  private defineAq(name: string, aq: AqAttributes, over: Partial<typeof QUEUE_DEFAULTS>): void {
    const attributes = { ...QUEUE_DEFAULTS, name, aq, ...over };
    expect(this.engine.define({ kind: 'defineQueue', attributes }).code).toBe(QME.OK);
  }
}
