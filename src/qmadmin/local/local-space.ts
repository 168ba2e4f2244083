// A queue space whose daemon is stopped: its log is open in this process, which holds the device's lock. Invariant: what resolved is durable.
// Must not know the device list.
import { QME, qmeName } from '../../../proto/codes.ts';
import type { RedriveOptions } from '../../../proto/redrive.ts';
import { define, LOG_FAILED, whenDurable } from '../../device/open-space.ts';
import type { RedriveResult, RedriveTerms } from '../../engine/redrive.ts';
import { redriveTerms } from '../../engine/redrive-terms.ts';
import type { SpaceEngine } from '../../engine/space-engine.ts';
import type { QueueAttributes, SpaceAttributes } from '../../queue/attributes.ts';
import type { Queue } from '../../queue/queue.ts';
import { quoteWord } from '../words.ts';
import type { Decisions } from '../../xa/decisions.ts';
import {
  RefusedError,
  type ChangeCounts,
  type ChangeOrder,
  type ListOrder,
  type MessagePage,
  type QueueChanges,
  type QueueView,
  type Redriven,
  type SpacePort,
  type TransactionView,
} from '../port.ts';
import { changeMessages, endTransaction, listMessages, transactions, type IsDecided } from './messages.ts';

export interface SpaceParts {
  readonly engine: SpaceEngine;
  /** What the device's transaction logs say. */
  readonly readDecisions: () => Promise<Decisions[]>;
  /** Gives the device free. */
  readonly closed: () => void;
}

export class LocalSpace implements SpacePort {
  readonly name: string;
  readonly isServed = false;
  readonly engine: SpaceEngine;
  /** What the device's transaction logs say, once it was asked for. */
  private decisions: Promise<Decisions[]> | null = null;
  private readonly readDecisions: SpaceParts['readDecisions'];
  private readonly closed: SpaceParts['closed'];

  constructor(name: string, parts: SpaceParts) {
    this.name = name;
    this.engine = parts.engine;
    this.closed = parts.closed;
    this.readDecisions = parts.readDecisions;
  }

  get failed(): boolean {
    return this.engine.journal.failure !== null;
  }

  attributes(): Promise<SpaceAttributes> {
    return Promise.resolve(this.engine.space.attributes);
  }

  queues(): Promise<QueueView[]> {
    const views = this.engine.space.queues().map(viewOf);
    return Promise.resolve(views.sort((a, b) => compareNames(a.attributes.name, b.attributes.name)));
  }

  queue(name: string): Promise<QueueView | undefined> {
    const queue = this.engine.space.queue(name);
    return Promise.resolve(queue === undefined ? undefined : viewOf(queue));
  }

  createQueue(attributes: QueueAttributes): Promise<void> {
    return define(this.engine, { kind: 'defineQueue', attributes });
  }

  changeQueue(name: string, changes: QueueChanges): Promise<void> {
    const queue = this.engine.space.queue(name);
    if (queue === undefined)
      throw new RefusedError(`there is no queue ${quoteWord(name)}`, { refusal: 'absent' });
    const attributes = { ...queue.attributes, ...changes };
    return define(this.engine, { kind: 'defineQueue', attributes });
  }

  async destroyQueue(name: string, purge: boolean): Promise<number> {
    const { engine } = this;
    const queue = engine.space.queue(name);
    const messages = queue?.messages ?? 0;
    const what = `queue ${quoteWord(name)}`;
    if (queue !== undefined && queue.locked + queue.pending > 0) {
      throw new RefusedError(
        `${what} is in use: transactions in doubt hold ${queue.locked + queue.pending} messages; it stays`,
      );
    }
    if (messages > 0 && !purge) {
      throw new RefusedError(`${what} holds ${messages} messages; it stays: -p destroys it with them`);
    }
    for (;;) {
      const { code, later, batch } = engine.destroyQueue(name);
      if (code === QME.OK) {
        await whenDurable(engine, batch);
        return messages;
      }
      if (!later) throw new RefusedError(`${what}: refused: ${qmeName(code)}`);
      await new Promise<void>((resolve) => {
        engine.whenRoom(resolve);
      });
    }
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
    await whenDurable(this.engine, batch);
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
}

function viewOf(queue: Queue): QueueView {
  return {
    attributes: queue.attributes,
    persistentMessages: queue.messages - queue.memoryMessages,
    pages: queue.pages,
    nonPersistentMessages: queue.memoryMessages,
    nonPersistentBytes: queue.memoryBytes,
  };
}

/** As a daemon lists them: by the bytes of their names. */
function compareNames(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
