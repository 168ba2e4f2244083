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
    const { engine } = this;
    const { journal, space } = engine;
    if (journal.failure !== null) return refusal(QME.QMESYSTEM);
    // What is there already needs no room: a start with an unchanged configuration works on a full disk.
    let changes = false;
    const code = decide(space, command, { push: () => (changes = true) });
    if (!changes) return { code, later: false, batch: 0 };
    if (!this.fits(command)) return refusal(QME.QMENOSPACE);
    const bytes = Buffer.byteLength(JSON.stringify(command)) + RECORD_OVERHEAD_BYTES;
    if (!journal.reserve(bytes)) {
      return { code: QME.QMENOSPACE, later: journal.roomComing() !== null, batch: 0 };
    }
    engine.run(command);
    journal.changed(bytes);
    engine.thresholds.redefined();
    engine.dequeues.recheck();
    engine.aq.recheck();
    engine.settle();
    this.changed();
    return { code, later: false, batch: journal.batch };
  }

  /**
   * Gone for everyone at once, emptied in slices [DESIGN 4, Slices]. Who waits there is answered QMEABORTED. A multi-consumer queue's lanes go
   * with it.
   */
  destroy(qname: string | number): Outcome {
    const { engine } = this;
    const { space, journal } = engine;
    if (journal.failure !== null) return refusal(QME.QMESYSTEM);
    const queue = typeof qname === 'string' ? space.queue(qname) : space.queueByNumber(qname);
    if (queue === undefined) return { code: QME.QMEBADQUEUE, later: false, batch: space.namesBatch };
    const all = [...(queue.lanes?.values() ?? []), queue];
    if (all.some(({ locked, pending }) => locked > 0 || pending > 0)) return refusal(QME.QMESHARE);
    if (!engine.reserveChange(QUEUE_CHANGE_BYTES * all.length)) {
      return { code: QME.QMENOSPACE, later: journal.roomComing() !== null, batch: 0 };
    }
    for (const { number } of all) engine.run({ kind: 'doomQueue', qname: number });
    const { batch } = journal;
    // Only now: whoever is refused may roll back a transaction, and what that moves must not come to this queue any more.
    for (const one of all) this.refuse(one);
    engine.thresholds.redefined();
    for (const one of all) engine.upkeep.empty(one);
    engine.settle();
    this.changed();
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

  private changed(): void {
    for (const run of this.watchers) run();
  }

  /** A log whose next segment cannot be opened is dead. */
  private fits(command: Definition): boolean {
    if (command.kind === 'defineSpace') return true;
    const { space, store } = this.engine;
    const grown = command.kind === 'defineObject' ? this.growthOf(command) : this.growthOfQueue(command);
    const most = store.describe().maxPreambleBytes - SPACE_DEFINITION_BYTES;
    return grown <= 0 || space.definitionBytes + grown <= most;
  }
  private growthOfQueue({ attributes }: DefineQueueCommand): number {
    const known = definedAs(this.engine.space, attributes);
    return definitionBytesOf(attributes) - (known ? definitionBytesOf(known.attributes) : 0);
  }
  private growthOf({ type, name, value }: DefineObjectCommand): number {
    const known = this.engine.space.catalog.get(type, name);
    const before = known === undefined ? 0 : objectBytes(name, known);
    return (value === null ? 0 : objectBytes(name, value)) - before;
  }
}
