// A real queue space on a real log, driven in this process without a daemon: what the measurements of the queue machine stand on.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LIMIT, QME, qmeName, TPQ } from '../../../proto/codes.ts';
import type { Ulog } from '../../../src/base/ulog.ts';
import { SystemClock } from '../../../src/boot/system-clock.ts';
import { openSpace } from '../../../src/engine/open-space.ts';
import {
  DequeueRequest,
  type EnqueueOutcome,
  type EnqueueRequest,
  type Failure,
  type Work,
} from '../../../src/engine/request.ts';
import type { StoredMessage } from '../../../src/engine/message-record.ts';
import type { SpaceEngine } from '../../../src/engine/space-engine.ts';
import { QUEUE_DEFAULTS, type QueueAttributes } from '../../../src/queue/attributes.ts';
import type { EnqueueTerms } from '../../../src/queue/command.ts';
import type { Selection } from '../../../src/queue/decide.ts';
import type { MessageId, MessageProperties } from '../../../src/queue/message.ts';
import type { Queue } from '../../../src/queue/queue.ts';
import { openLocalLog } from '../../../src/wal/local/local-log.ts';

/** Messages between two looks at whether they are durable. */
export const STEP = 1000;

/** The process rests when it uses less than this share of a processor for so long. It is waited for a while. */
const CALM_SHARE = 0.03;
const CALM_MS = 100;
const CALM_LOOKS_MAX = 100;

const quiet: Ulog = { info: () => {}, warn: console.warn, error: console.error };
const soon = (run: () => void) => {
  setImmediate(run);
};

/** What a message of these measurements has: CARRAY data, and a corrid if one is given. */
export function plainProperties(over: Partial<MessageProperties> = {}): MessageProperties {
  return {
    flags: (over.corrid ?? null) === null ? 0 : TPQ.TPQCORRID,
    priority: LIMIT.PRIORITY_DEFAULT,
    corrid: null,
    replyqueue: '',
    failurequeue: '',
    cltid: Buffer.alloc(LIMIT.CLTIDLEN),
    appkey: -1,
    urcode: 0,
    type: 'CARRAY',
    subtype: '',
    deliveryQos: 0,
    replyQos: 0,
    ...over,
  };
}

export class DrivenSpace {
  readonly engine: SpaceEngine;

  private constructor(engine: SpaceEngine) {
    this.engine = engine;
  }

  /** @param directory an existing one, for this space alone */
  static async open(directory: string): Promise<DrivenSpace> {
    const clock = new SystemClock();
    const store = await openLocalLog({ dir: join(directory, 'log'), clock, ulog: quiet });
    const ports = { clock, ulog: quiet, soon, runCommand: () => {} };
    const engine = await openSpace(store, new AbortController().signal, ports);
    // A new log's first segments are being prepared.
    for (let room = engine.journal.roomComing(); room !== null; room = engine.journal.roomComing())
      await room;
    return new DrivenSpace(engine);
  }

  define(attributes: Partial<QueueAttributes> & { name: string }): Queue {
    const whole = { ...QUEUE_DEFAULTS, ...attributes };
    const { code } = this.engine.define({ kind: 'defineQueue', attributes: whole });
    const queue = this.engine.space.queue(attributes.name);
    if (code !== QME.OK || queue === undefined) throw new Error(`the queue cannot be made: ${qmeName(code)}`);
    return queue;
  }

  /** Enqueues one, waiting for room in the log if it must; returns its id. */
  async put(request: EnqueueRequest): Promise<MessageId> {
    for (;;) {
      const outcome = this.engine.enqueue(request);
      if (!outcome.later) return idIn(outcome);
      await this.roomFor();
    }
  }

  /** Dequeues one, also when its data has to be read from the log; null: there is none. */
  take(qname: string): Promise<StoredMessage | null> {
    return new Promise<StoredMessage | null>((resolve, reject) => {
      const taking = new Taking(qname);
      taking.answered = () => {
        if (taking.message !== null || taking.failure === QME.QMENOMSG) resolve(taking.message);
        else reject(new Error(`a dequeue was refused: ${qmeName(taking.failure)}`));
      };
      this.engine.dequeue(taking);
    });
  }

  /** Enqueues one where nothing may be waited for, because the processor's time is being taken. */
  putNow(request: EnqueueRequest): MessageId {
    return idIn(this.engine.enqueue(request));
  }

  /** Resolves when all that was decided is durable. */
  durable(): Promise<void> {
    const { engine } = this;
    return new Promise<void>((resolve, reject) => {
      engine.hold(engine.journal.batch, {
        released: resolve,
        failed: () => reject(new Error('the log failed')),
      });
    });
  }

  /** Resolves when the process has come to rest: segments are no longer being prepared, pages no longer written. */
  async calm(): Promise<void> {
    for (let look = 0; look < CALM_LOOKS_MAX; look++) {
      const since = process.cpuUsage();
      await delay(CALM_MS);
      if (cpuSince(since) < CALM_SHARE * CALM_MS * 1000) return;
    }
  }

  close(): Promise<void> {
    return this.engine.close();
  }

  private roomFor(): Promise<void> {
    return new Promise<void>((resolve) => this.engine.whenRoom(resolve));
  }
}

function idIn({ code, id }: EnqueueOutcome): MessageId {
  if (code === QME.OK && id !== null) return id;
  throw new Error(`an enqueue was refused: ${qmeName(code)}`);
}

export interface Putting {
  readonly data: Uint8Array;
  readonly properties?: MessageProperties;
  readonly terms?: EnqueueTerms | null;
  readonly work?: Work | null;
}

export function enqueueOf(qname: string, { data, properties, terms, work }: Putting): EnqueueRequest {
  return {
    qname,
    data,
    properties: properties ?? plainProperties(),
    terms: terms ?? null,
    work: work ?? null,
  };
}

const NOTHING: Selection = { msgid: null, corrid: null };

/** A dequeue of the first message, answered at once when what it asks for is in memory or is not there. */
export class Taking extends DequeueRequest {
  override readonly selection = NOTHING;
  override readonly peek = false;
  override readonly wait = false;
  override readonly deadlineMs = Infinity;
  override readonly timeoutFailure = 0;
  override readonly qname: string;
  override readonly work: Work | null;
  message: StoredMessage | null = null;
  failure: Failure = 0;
  answered: () => void = () => {};

  constructor(qname: string, work: Work | null = null) {
    super();
    this.qname = qname;
    this.work = work;
  }

  override accepts(): boolean {
    return true;
  }
  override taken(message: StoredMessage): void {
    this.message = message;
    this.answered();
  }
  override refused(failure: Failure): void {
    this.failure = failure;
    this.answered();
  }
}

/** Processor time of this process since `since`, in microseconds. */
export function cpuSince(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}
