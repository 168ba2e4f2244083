// What an administrator does to the selected messages of a queue, in slices beside everything else [spec 5.2; DESIGN 4, Slices]: delete them, give
// them other values, move them to another queue. First it is noted which they are, then each is changed if it still is one of them; what comes
// meanwhile is not. Invariants: each change of one message is one record, so a kill leaves every message in one place, as it was or as it was to
// be; a message that a transaction holds is left and counted; on a full disk deletions go on, and other changes end before the first message
// that there is no room for.
import { NONE } from '../base/column.ts';
import { QME, type Qme } from '../../proto/codes.ts';
import { endsAtOnce, isFree } from '../queue/change.ts';
import type { NewValues } from '../queue/command.ts';
import { REMOVAL } from '../queue/event.ts';
import { isBefore, type MessageId } from '../queue/message.ts';
import type { Queue } from '../queue/queue.ts';
import { matches, type By, type Criteria, type Now } from '../queue/selection.ts';
import { ENTRY } from '../queue/tables.ts';
import { CHANGE_STAGES, Walk, type Cursor } from '../queue/walk.ts';
import { CHANGE_BYTES } from './record.ts';
import type { BatchNumber } from './request.ts';
import type { SpaceEngine } from './space-engine.ts';
import { Slice } from './slice.ts';
import type { Chore } from './upkeep.ts';

/** Entries of a slice. */
const SLICE_ENTRIES = 500;

export type MessageChange =
  | { readonly kind: 'delete' }
  | { readonly kind: 'values'; readonly values: NewValues }
  /** To this queue, which is another one. */
  | { readonly kind: 'move'; readonly to: Queue };

/** What came of it. `code`: OK, or why it ended early: QMENOSPACE, QMEABORTED, QMESYSTEM, QMEBADQUEUE when a queue was destroyed meanwhile. */
export interface Changed {
  readonly code: Qme;
  readonly changed: number;
  /** Messages that were left because transactions hold them. */
  readonly held: number;
  /** Wait for it before telling. */
  readonly batch: BatchNumber;
}

export interface ChangeOrder {
  readonly queue: Queue;
  readonly criteria: Criteria;
  readonly change: MessageChange;
  readonly done: (result: Changed) => void;
}

/** Begins it; `done` is called once, later. */
export function changeMessages(engine: SpaceEngine, order: ChangeOrder): void {
  engine.upkeep.add(new Change(engine, order));
}

class Change implements Chore {
  readonly queue: Queue;
  waits = false;
  private readonly engine: SpaceEngine;
  private readonly order: ChangeOrder;
  /** Messages that come later are not meant. */
  private readonly upTo: MessageId;
  /** All times are those of the moment at which it was asked for. */
  private readonly asked: Now;
  private cursor: Cursor | null = null;
  private isNoted = false;
  /** Those that are deliverable, in their order, and then the others. */
  private readonly ready = new Noted();
  private readonly delayed = new Noted();
  private next = 0;
  private changed = 0;
  private held = 0;

  constructor(engine: SpaceEngine, order: ChangeOrder) {
    this.engine = engine;
    this.queue = order.queue;
    this.order = order;
    this.upTo = engine.newId();
    this.asked = engine.now();
  }

  private get by(): By {
    return { criteria: this.order.criteria, now: this.asked };
  }

  slice(): boolean {
    if (this.queue.doomed) return this.end(QME.QMEBADQUEUE);
    if (this.isNoted) return this.changeSome();
    this.isNoted = this.noteSome();
    return true;
  }

  given(code: Qme): void {
    this.end(code);
  }

  /** Notes messages that match; true: all have been looked at. */
  private noteSome(): boolean {
    const { space } = this.engine;
    const { criteria } = this.order;
    if (criteria.msgid !== null) return this.noteOne(criteria.msgid);
    const walk = new Walk(space, this.queue, { stages: CHANGE_STAGES, cursor: this.cursor });
    const slice = this.newSlice();
    do {
      const entry = walk.next();
      if (entry === NONE) return true;
      const isHere = space.entries.queue.get(entry) === this.queue.number;
      if (isHere && matches(space, entry, this.by)) this.note(entry, walk.stage);
    } while (slice.mayGoOn());
    this.cursor = walk.cursor();
    return false;
  }

  private noteOne(id: MessageId): boolean {
    const { space } = this.engine;
    const entry = space.entryOf(this.queue, id);
    if (entry === NONE || !matches(space, entry, this.by)) return true;
    if (isFree(space, entry)) this.note(entry, 'ready');
    else if (space.entries.state.get(entry) !== ENTRY.PENDING) this.held++;
    return true;
  }

  private note(entry: number, stage: Cursor['stage']): void {
    const id = this.engine.space.id(entry);
    if (isBefore(this.upTo, id)) return;
    if (stage === 'held') this.held++;
    else (stage === 'ready' ? this.ready : this.delayed).add(entry, id);
  }

  private newSlice(): Slice {
    return new Slice(() => this.engine.monoMs(), SLICE_ENTRIES);
  }

  /** true: there is more. */
  private changeSome(): boolean {
    const { engine } = this;
    const { change } = this.order;
    if (change.kind === 'move' && change.to.doomed) return this.end(QME.QMEBADQUEUE);
    if (change.kind === 'move' && change.to.walked)
      return this.waitFor((run) => engine.endings.whenFree(change.to, run));
    const { ready, delayed } = this;
    const count = ready.length + delayed.length;
    const end = Math.min(count, this.next + SLICE_ENTRIES);
    const bytes = this.needsNoRoom ? 0 : (end - this.next) * CHANGE_BYTES;
    if (bytes > 0 && !engine.journal.reserve(bytes)) {
      if (engine.journal.roomComing() === null) return this.end(QME.QMENOSPACE);
      return this.waitFor((run) => engine.whenRoom(run));
    }
    let used = 0;
    const slice = this.newSlice();
    for (let goesOn = true; goesOn && this.next < end; this.next++, goesOn = slice.mayGoOn()) {
      const isReady = this.next < ready.length;
      const noted = isReady ? ready : delayed;
      const at = isReady ? this.next : this.next - ready.length;
      if (this.changeOne(noted.entry(at), noted.id(at))) used += CHANGE_BYTES;
    }
    if (bytes > 0) engine.journal.release(bytes - used);
    return this.next < count ? true : this.end(QME.OK);
  }

  /** What removes messages has its room from the moment they were queued. */
  private get needsNoRoom(): boolean {
    const { change } = this.order;
    return change.kind === 'delete' || (change.kind === 'values' && endsAtOnce(change.values, this.asked));
  }

  /** Whether the room for a change was used. */
  private changeOne(entry: number, id: MessageId): boolean {
    const { engine, queue, asked } = this;
    const { space } = engine;
    const { change } = this.order;
    if (space.entryById(id) !== entry || space.queueOf(entry) !== queue) return false;
    if (!matches(space, entry, this.by)) return false;
    if (!isFree(space, entry)) {
      this.held++;
      return false;
    }
    this.changed++;
    const isLogged = space.isPersistent(entry);
    if (change.kind === 'delete') engine.run({ kind: 'remove', entry, reason: REMOVAL.PURGED });
    else if (change.kind === 'values') engine.run({ kind: 'change', entry, values: change.values, ...asked });
    else {
      const { wallMs } = engine.now();
      engine.run({ kind: 'requeue', entry, queue: change.to.number, newId: engine.newId(), wallMs });
    }
    return isLogged && !this.needsNoRoom;
  }

  private waitFor(wait: (run: () => void) => void): boolean {
    this.waits = true;
    wait(() => {
      this.waits = false;
      this.engine.upkeep.goOn();
    });
    return true;
  }

  private end(code: Qme): false {
    const { changed, held } = this;
    const { batch } = this.engine.journal;
    this.order.done({ code, changed, held, batch });
    return false;
  }
}

/** Messages by their entries, each with the id by which it is known again: rows are used anew. */
class Noted {
  private readonly entries: number[] = [];
  private readonly epochs: number[] = [];
  private readonly counters: number[] = [];

  get length(): number {
    return this.entries.length;
  }
  add(entry: number, { epoch, counter }: MessageId): void {
    this.entries.push(entry);
    this.epochs.push(epoch);
    this.counters.push(counter);
  }
  entry(at: number): number {
    return this.entries[at] as number;
  }
  id(at: number): MessageId {
    return { epoch: this.epochs[at] as number, counter: this.counters[at] as number };
  }
}
