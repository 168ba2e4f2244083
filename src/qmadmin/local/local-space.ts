// A queue space whose daemon is stopped: its log is opened by this process, which holds the device's lock. Invariant: what resolved is
// durable. Must not know the device list.
import { dirname } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Ulog } from '../../base/ulog.ts';
import { QME, qmeName } from '../../../proto/codes.ts';
import type { RedriveOptions } from '../../../proto/redrive.ts';
import { openSpace } from '../../engine/open-space.ts';
import type { RedriveResult, RedriveTerms } from '../../engine/redrive.ts';
import { redriveTerms } from '../../engine/redrive-terms.ts';
import type { EnginePorts, SpaceEngine } from '../../engine/space-engine.ts';
import type { QueueAttributes, SpaceAttributes } from '../../queue/attributes.ts';
import type { Command } from '../../queue/command.ts';
import type { FileIo } from '../../wal/local/file-io.ts';
import { openLocalLog } from '../../wal/local/local-log.ts';
import { PageCache } from '../../wal/local/page-cache.ts';
import { quoteWord } from '../words.ts';
import type { Decisions } from '../../xa/decisions.ts';
import {
  RefusedError,
  type ChangeCounts,
  type ChangeOrder,
  type ListOrder,
  type MessagePage,
  type QueueView,
  type Redriven,
  type SpacePort,
  type TransactionView,
} from '../port.ts';
import { readDecisions } from './decisions.ts';
import { changeMessages, endTransaction, listMessages, transactions, type IsDecided } from './messages.ts';

/** For what listings read of messages that lie beside one another. */
const CACHE_BYTES = 4 * 1024 * 1024;
const soon = (run: () => void): void => void setImmediate(run);

export interface LocalPorts {
  readonly clock: Clock;
  readonly ulog: Ulog;
  readonly io: FileIo;
  /** What a threshold runs, should one be reached while the space is open here [spec 5.6]. */
  readonly runCommand: EnginePorts['runCommand'];
  /** Bytes of a log segment, for new spaces; the log's default when not given. */
  readonly segmentBytes?: number;
}

const LOG_FAILED = 'the log could not be written: open the space again to see what is there';

type Definition = Extract<Command, { kind: 'defineSpace' | 'defineQueue' }>;

export class LocalSpace implements SpacePort {
  readonly name: string;
  private readonly engine: SpaceEngine;
  /** What the device's transaction logs say, once it was asked for. */
  private decisions: Promise<Decisions[]> | null = null;
  private readonly readDecisions: () => Promise<Decisions[]>;
  /** Gives the device free. */
  private readonly closed: () => void;

  private constructor(
    name: string,
    engine: SpaceEngine,
    parts: { closed: () => void; readDecisions: () => Promise<Decisions[]> },
  ) {
    this.name = name;
    this.engine = engine;
    this.closed = parts.closed;
    this.readDecisions = parts.readDecisions;
  }

  /** Opens the log in `dir`, which is made when it does not exist. `closed` is called once, also when this rejects. */
  static async open(
    { name, dir }: { name: string; dir: string },
    { clock, ulog, io, runCommand, segmentBytes }: LocalPorts,
    closed: () => void,
  ): Promise<LocalSpace> {
    try {
      const store = await openLocalLog({
        dir,
        clock,
        ulog,
        io,
        pages: new PageCache(CACHE_BYTES),
        ...(segmentBytes === undefined ? {} : { segmentBytes }),
      });
      const engine = await openSpace(store, new AbortController().signal, { clock, ulog, soon, runCommand });
      engine.onFailure = () => {};
      const decisions = (): Promise<Decisions[]> => readDecisions(io, dirname(dir));
      return new LocalSpace(name, engine, { closed, readDecisions: decisions });
    } catch (error) {
      closed();
      throw error;
    }
  }

  get failed(): boolean {
    return this.engine.journal.failure !== null;
  }

  attributes(): SpaceAttributes {
    return this.engine.space.attributes;
  }

  queues(): QueueView[] {
    return this.engine.space.queues().map((queue) => ({
      attributes: queue.attributes,
      persistentMessages: queue.messages - queue.memoryMessages,
      pages: queue.pages,
      nonPersistentMessages: queue.memoryMessages,
      nonPersistentBytes: queue.memoryBytes,
    }));
  }

  async defineSpace(attributes: SpaceAttributes): Promise<void> {
    await this.define({ kind: 'defineSpace', attributes });
  }

  async defineQueue(attributes: QueueAttributes): Promise<void> {
    await this.define({ kind: 'defineQueue', attributes });
  }

  async redrive(qname: string, options: RedriveOptions): Promise<Redriven> {
    const { space } = this.engine;
    const queue = space.queue(qname);
    if (queue === undefined)
      throw new RefusedError(`queue space ${quoteWord(this.name)} has no queue ${quoteWord(qname)}`);
    const terms = redriveTerms(space, queue, options);
    if ('code' in terms) throw new RefusedError(terms.message);
    const { end, moved, stayed, tallies, batch } = await this.redriven(terms);
    if (end === 'failed') throw new RefusedError(LOG_FAILED);
    await this.durable(batch);
    const queues = tallies.toSorted((a, b) => b.count - a.count);
    return { end, moved, ...stayed, more: false, queues };
  }

  private redriven(terms: RedriveTerms): Promise<RedriveResult> {
    return new Promise((resolve) => {
      this.engine.redrives.begin(terms, resolve);
    });
  }

  listMessages(order: ListOrder): Promise<MessagePage> {
    return listMessages(this.engine, order);
  }

  changeMessages(order: ChangeOrder): Promise<ChangeCounts> {
    return changeMessages(this.engine, order);
  }

  async transactions(decided: boolean): Promise<TransactionView[]> {
    return transactions(this.engine, await this.isDecided(), decided);
  }

  async endTransaction(index: number, committed: boolean): Promise<void> {
    return endTransaction(this.engine, await this.isDecided(), { index, committed });
  }

  private async isDecided(): Promise<IsDecided> {
    this.decisions ??= this.readDecisions();
    const logs = await this.decisions;
    return (prepared) => logs.some((decisions) => decisions.choose(prepared) === 'commit');
  }

  async close(): Promise<void> {
    try {
      await this.engine.close();
    } finally {
      this.closed();
    }
  }

  private async define(definition: Definition): Promise<void> {
    const { engine } = this;
    for (;;) {
      const { code, later, batch } = engine.define(definition);
      if (code === QME.OK) return this.durable(batch);
      if (!later) throw new RefusedError(`refused: ${qmeName(code)}`);
      await new Promise<void>((resolve) => {
        engine.whenRoom(resolve);
      });
    }
  }

  private durable(batch: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.engine.hold(batch, {
        released: resolve,
        failed: () => reject(new RefusedError(LOG_FAILED)),
      });
    });
  }
}
