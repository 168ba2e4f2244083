// What administrators make, change and take away in one space: the space itself, queues, lanes, objects of the catalog [spec 5.2, oracle-aq 5].
// Each is a record that the log repeats at the start of every segment, so all of them have to fit there. Must not know who asks.
import { QME } from '../../proto/codes.ts';
import { objectBytes } from '../queue/catalog.ts';
import type { DefineObjectCommand, DefineQueueCommand, DefineSpaceCommand } from '../queue/command.ts';
import { decide, definedAs } from '../queue/decide.ts';
import type { Queue } from '../queue/queue.ts';
import { definitionBytesOf } from '../queue/space.ts';
import { failure } from './aq/request.ts';
import { RECORD_OVERHEAD_BYTES, refusal } from './enqueues.ts';
import { QUEUE_CHANGE_BYTES } from './record.ts';
import type { EnqueueOutcome } from './request.ts';
import type { SpaceEngine } from './space-engine.ts';

export type Definition = DefineQueueCommand | DefineSpaceCommand | DefineObjectCommand;
/** Queues by their names, lanes by their numbers. */
export interface Change {
  readonly define?: readonly Definition[];
  readonly destroy?: readonly (string | number)[];
}
type Outcome = Omit<EnqueueOutcome, 'id'>;

/** Of the space's own attributes. */
const SPACE_DEFINITION_BYTES = 1024;

export class Defining {
  private readonly engine: SpaceEngine;
  private readonly watchers = new Set<() => void>();

  constructor(engine: SpaceEngine) {
    this.engine = engine;
  }

  define(command: Definition): Outcome {
    return this.change({ define: [command] });
  }

  /**
   * Gone for everyone at once, emptied in slices [DESIGN 4, Slices]. Who waits there is answered QMEABORTED. A multi-consumer queue's lanes go
   * with it.
   */
  destroy(qname: string | number): Outcome {
    return this.change({ destroy: [qname] });
  }

  /** Several things at once, in one batch: all of them or none. What goes, goes first. `later`: nothing has changed, ask again with room. */
  change({ define = [], destroy = [] }: Change): Outcome {
    const { engine } = this;
    const { journal, space } = engine;
    if (journal.failure !== null) return refusal(QME.QMESYSTEM);
    const going = destroy.map((one) =>
      typeof one === 'string' ? space.queue(one) : space.queueByNumber(one),
    );
    const doomed: Queue[] = [];
    for (const queue of going) {
      if (queue === undefined) return { code: QME.QMEBADQUEUE, later: false, batch: space.namesBatch };
      doomed.push(...(queue.lanes?.values() ?? []), queue);
    }
    if (doomed.some(({ locked, pending }) => locked > 0 || pending > 0)) return refusal(QME.QMESHARE);
    // What is there already needs no room: a start with an unchanged configuration works on a full disk.
    const changes: Definition[] = [];
    for (const command of define) {
      let isChange = false;
      const code = decide(space, command, { push: () => (isChange = true) });
      if (code !== QME.OK) return { code, later: false, batch: 0 };
      if (isChange) changes.push(command);
    }
    if (changes.length + doomed.length === 0) return { code: QME.OK, later: false, batch: 0 };
    if (!this.fits(changes)) return refusal(QME.QMENOSPACE);
    const bytes = doomed.length * QUEUE_CHANGE_BYTES + sum(changes, recordBytes);
    // What takes away goes on where what adds has to wait.
    if (!(changes.length === 0 ? journal.reserveSmall(bytes) : journal.reserve(bytes)))
      return { code: QME.QMENOSPACE, later: journal.roomComing() !== null, batch: 0 };
    for (const { number } of doomed) engine.run({ kind: 'doomQueue', qname: number });
    for (const command of changes) engine.run(command);
    journal.changed(bytes);
    const { batch } = journal;
    // Only now: whoever is refused may roll back a transaction, and what that moves must not come to this queue any more.
    for (const queue of doomed) this.refuse(queue);
    engine.thresholds.redefined();
    for (const queue of doomed) engine.upkeep.empty(queue);
    engine.dequeues.recheck();
    engine.aq.recheck();
    engine.settle();
    for (const run of this.watchers) run();
    return { code: QME.OK, later: false, batch };
  }

  watch(run: () => void): () => void {
    this.watchers.add(run);
    return () => this.watchers.delete(run);
  }

  private refuse(queue: Queue): void {
    this.engine.dequeues.refuseQueue(queue, QME.QMEABORTED);
    this.engine.aq.refuseLane(queue, failure(QME.QMEABORTED));
  }

  /** A log whose next segment cannot be opened is dead. */
  private fits(changes: readonly Definition[]): boolean {
    const { space, store } = this.engine;
    const grown = sum(changes, (command) => this.growthOf(command));
    const most = store.describe().maxPreambleBytes - SPACE_DEFINITION_BYTES;
    return grown <= 0 || space.definitionBytes + grown <= most;
  }
  private growthOf(command: Definition): number {
    if (command.kind === 'defineSpace') return 0;
    return command.kind === 'defineObject' ? this.growthOfObject(command) : this.growthOfQueue(command);
  }
  private growthOfQueue({ attributes }: DefineQueueCommand): number {
    const known = definedAs(this.engine.space, attributes);
    return definitionBytesOf(attributes) - (known ? definitionBytesOf(known.attributes) : 0);
  }
  private growthOfObject({ type, name, value }: DefineObjectCommand): number {
    const known = this.engine.space.catalog.get(type, name);
    const before = known === undefined ? 0 : objectBytes(name, known);
    return (value === null ? 0 : objectBytes(name, value)) - before;
  }
}

function recordBytes(command: Definition): number {
  return Buffer.byteLength(JSON.stringify(command)) + RECORD_OVERHEAD_BYTES;
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}
