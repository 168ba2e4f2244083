// The state of one queue space: rows, indexes, queues, open branches. It changes only through `apply` (apply.ts); `decide` (decide.ts)
// reads it. Invariants: a READY entry is in its queue's order tree and, with a corrid, in the corrid index; a DELAYED one in its queue's due
// agenda; both, when they can expire, in its expiry agenda; a LOCKED or PENDING one in a list of its branch; a HELD one in none. An entry
// that was put somewhere is in its queue's tree of places whatever it is doing. While a log is read only the lists of branches are kept:
// load.ts makes the rest at its end. Every queue number is used once for ever.
import { assert } from '../base/assert.ts';
import { NONE } from '../base/column.ts';
import { Heap } from '../base/heap.ts';
import { OrderedTree, type Before } from '../base/ordered-tree.ts';
import { Agenda, type AgendaRules } from './agenda.ts';
import { Arrival } from './arrival.ts';
import {
  PAGE_BYTES,
  QUEUE_DEFAULTS,
  SPACE_DEFAULTS,
  withoutDefaults,
  type QueueAttributes,
  type SpaceAttributes,
} from './attributes.ts';
import { Catalog } from './catalog.ts';
import { agentKey, entryOn } from './recipients.ts';
import { Branches, type Branch, type EntryList } from './branches.ts';
import { DetailTable, PlaceTable } from './details.ts';
import { CLOCK, MEMORY_REF, type ClockKind } from './event.ts';
import { Groups } from './groups.ts';
import { Heuristics } from './heuristics.ts';
import { LiveUnits } from './live-units.ts';
import { MemoryArea } from './memory-area.ts';
import { corridKey, idKeyOf, type MessageId } from './message.ts';
import { ProvenanceTable, type Provenance } from './provenance.ts';
import { orderOf } from './order.ts';
import { Outcomes } from './outcomes.ts';
import { Queue } from './queue.ts';
import { CorridIndex, CorridTable, ENTRY, EntryTable, MessageTable, MsgidIndex } from './tables.ts';
import { TypeCodes } from './type-codes.ts';
import type { Selector } from './waiter.ts';
import { utf8Bytes } from './words.ts';

/** What a row counts whose record another one counts. */
const FOLLOWER_LENGTH = 1;

/** Number and names around the JSON, record heads and starts, thresholds that are not armed, and that it is doomed. */
const DEFINITION_OVERHEAD_BYTES = 128;

export class QueueSpace {
  readonly spaceId: number;
  attributes: SpaceAttributes = SPACE_DEFAULTS;
  /** What persistent and non-persistent messages use, those that open transactions have yet to commit included [spec 11]. */
  readonly usage = { messages: 0, pages: 0 };
  /** Holds the records of non-persistent messages. */
  readonly memory = new MemoryArea();
  readonly units = new LiveUnits();
  /** For apply.ts: the message that is arriving. */
  readonly arrival = new Arrival();
  readonly messages = new MessageTable();
  readonly entries = new EntryTable();
  readonly corrids = new CorridTable(this.entries);
  readonly details = new DetailTable(this.entries);
  readonly places = new PlaceTable(this.entries, this.details);
  readonly provenance = new ProvenanceTable(this.messages);
  readonly msgids = new MsgidIndex(this.messages);
  private readonly corridIndex = new CorridIndex(this.entries, this.corrids);
  readonly tree = new OrderedTree(this.entries);
  private readonly corridTree = new OrderedTree(this.corrids);
  private readonly expiryTree = new OrderedTree(this.details);
  readonly placeTree = new OrderedTree(this.places);
  /** The agendas of all queues that have something on them, the earliest first; by clock. */
  private readonly agendas = [new Heap<Agenda>(earlier), new Heap<Agenda>(earlier)] as const;
  private readonly queuesByName = new Map<string, Queue>();
  private readonly queuesByNumber: (Queue | undefined)[] = [];
  readonly branches = new Branches();
  readonly outcomes = new Outcomes();
  readonly heuristics = new Heuristics();
  readonly catalog = new Catalog();
  /** By entry: the exception queue that the message names, of the few that name one. */
  readonly exceptionNames = new Map<number, string>();
  /** Of queues whose tables group messages by transaction. */
  readonly groups = new Groups();
  /** Entries that were given up, and whose message may have no other recipient any more: the engine empties it. */
  readonly finishing: number[] = [];
  /** Sorts messages by commit: where the record of the last one lay that was put on a queue that sorts so. */
  lastCommit = 0;
  /** Entries that became deliverable on queues where someone waits; the engine empties it. */
  readonly offers: number[] = [];
  /** Bytes of the records of queued messages: what is live in the log. */
  liveBytes = 0;
  /** A log is being read: entries have their states, and no structure has entries [load.ts]. */
  loading = false;
  /** The batch that logged events go to, by the engine's count; apply stamps it on the queues they touch. 0 in replay. */
  batch = 0;
  /** The batch that last made or took away a queue: whoever learns that a name is there or is not waits for it. */
  namesBatch = 0;
  /** Bytes of all definitions, those of doomed queues too: the log repeats them at the start of each segment. */
  definitionBytes = 0;
  private readonly types = new TypeCodes();
  private lastQueue = 0;
  private readonly dueRules: AgendaRules;
  private readonly expiryRules: AgendaRules;

  constructor(spaceId: number) {
    this.spaceId = spaceId;
    const { entries, details } = this;
    const dueOf = (entry: number): number => entries.dueMs.get(entry);
    this.dueRules = { tree: this.tree, before: this.byInstant(dueOf), instantOf: dueOf };
    const expiryOf = (entry: number): number => details.expiryMs.get(entries.detail.get(entry));
    this.expiryRules = { tree: this.expiryTree, before: this.byInstant(expiryOf), instantOf: expiryOf };
  }

  get name(): string {
    return this.attributes.name;
  }
  get errorQueue(): string {
    return this.attributes.errorQueue;
  }
  queue(name: string): Queue | undefined {
    return this.queuesByName.get(name);
  }
  queueByNumber(number: number): Queue | undefined {
    return this.queuesByNumber[number];
  }
  /** Queues in the order of their creation. */
  queues(): Queue[] {
    return [...this.queuesByName.values()];
  }
  /** Queues that are gone but not yet emptied. */
  doomedQueues(): Queue[] {
    return this.queuesByNumber.filter((queue): queue is Queue => queue?.doomed === true);
  }
  get queueCount(): number {
    return this.queuesByName.size;
  }
  nextQueueNumber(): number {
    return this.lastQueue + 1;
  }
  queueOf(entry: number): Queue {
    const queue = this.queuesByNumber[this.entries.queue.get(entry)];
    assert(queue !== undefined, 'an entry names a queue that does not exist', entry);
    return queue;
  }

  define(number: number, attributes: QueueAttributes): void {
    const known = this.queuesByNumber[number];
    if (known !== undefined) {
      this.definitionBytes += definitionBytesOf(attributes) - definitionBytesOf(known.attributes);
      known.attributes = attributes;
      known.lastBatch = this.batch;
      known.lastChange = this.batch;
      return;
    }
    const queue = new Queue(number, attributes, {
      before: orderOf(this, attributes.order),
      due: this.agendasOf(number, this.dueRules),
      expiry: this.agendasOf(number, this.expiryRules),
      isMulti: this.catalog.isMulti(attributes),
      parent: this.queuesByNumber[attributes.aq?.consumer?.of ?? 0] ?? null,
    });
    this.definitionBytes += definitionBytesOf(attributes);
    queue.lastBatch = this.batch;
    queue.lastChange = this.batch;
    this.namesBatch = this.batch;
    this.queuesByNumber[number] = queue;
    this.setName(queue, true);
    this.noteQueueNumber(number);
  }

  private setName(queue: Queue, isThere: boolean): void {
    const { name, aq } = queue.attributes;
    const lanes = queue.parent?.lanes ?? null;
    const [names, key] =
      aq === null || aq.consumer === null ? [this.queuesByName, name] : [lanes, agentKey(aq.consumer)];
    if (isThere) names?.set(key, queue);
    else if (names?.get(key) === queue) names.delete(key);
  }

  defineSpace(attributes: SpaceAttributes, nextQueue: number): void {
    this.attributes = attributes;
    this.memory.limitBytes = attributes.nonPersistentBytes;
    this.noteQueueNumber(nextQueue - 1);
  }

  private noteQueueNumber(number: number): void {
    this.lastQueue = Math.max(this.lastQueue, number);
  }

  /** Takes the queue's name away; a queue of that name can be made again at once. */
  doom(queue: Queue): void {
    queue.doomed = true;
    this.namesBatch = this.batch;
    this.setName(queue, false);
    this.forgetEmpty(queue);
  }
  /** A doomed queue that has become empty is nothing any more. */
  forgetEmpty(queue: Queue): void {
    if (!queue.doomed || queue.messages > 0) return;
    this.queuesByNumber[queue.number] = undefined;
    this.definitionBytes -= definitionBytesOf(queue.attributes);
  }

  /** An entry of the queue that no transaction holds and nobody is fetching, or 0. */
  anyUnheld(queue: Queue): number {
    const [space, wall] = queue.due;
    return this.firstReady(queue) || space.first() || wall.first();
  }
  /** The next of those after this one, which is one of them; 0: none. */
  unheldAfter(queue: Queue, entry: number): number {
    const [space, wall] = queue.due;
    if (this.entries.state.get(entry) === ENTRY.READY) {
      return this.tree.after(queue.root, entry, queue.before) || space.first() || wall.first();
    }
    if (this.entries.dueClock.get(entry) === CLOCK.WALL) return wall.after(entry);
    return space.after(entry) || wall.first();
  }

  /** First deliverable entry of the queue in its order, or 0. */
  firstReady(queue: Queue): number {
    return this.tree.first(queue.root);
  }
  /** First deliverable entry with this corrid, or 0. */
  firstByCorrid(queue: Queue, corrid: Uint8Array): number {
    return this.corridTree.first(this.corridIndex.find(queue.number, corrid));
  }
  /** The tree of its deliverable entries, or of those of them with this corrid. */
  line(queue: Queue, corrid: Uint8Array | null): { readonly tree: OrderedTree; readonly root: number } {
    if (corrid === null) return { tree: this.tree, root: queue.root };
    return { tree: this.corridTree, root: this.corridIndex.find(queue.number, corrid) };
  }
  /** The entry of this message on this queue, in whatever state, or 0. */
  entryOf(queue: Queue, id: MessageId): number {
    if (queue.isAq) return entryOn(this, queue, id);
    const entry = this.entryById(id);
    return entry !== NONE && this.entries.queue.get(entry) === queue.number ? entry : NONE;
  }

  /** The entry of this row's message, on whatever queue; 0: it is not known. */
  entryById(id: MessageId): number {
    const message = this.msgids.find(id);
    return message === NONE ? NONE : this.messages.entry.get(message);
  }

  id(entry: number): MessageId {
    return this.messages.id(this.entries.message.get(entry));
  }
  /** The 32 bytes of its corrid (a view), or null. */
  corridOf(entry: number): Uint8Array | null {
    const row = this.entries.corrid.get(entry);
    return row === NONE ? null : this.corrids.value.view(row);
  }
  selectorOf(entry: number): Selector {
    const corrid = this.corridOf(entry);
    return { msgidKey: idKeyOf(this.id(entry)), corridKey: corrid === null ? '' : corridKey(corrid) };
  }

  /** What is known of an entry that was moved to an error queue at some time; null: it never was. */
  provenanceOf(entry: number): Provenance | null {
    const detail = this.entries.detail.get(entry);
    return detail !== NONE && this.details.hasProvenance(detail) ? this.provenance.of(entry) : null;
  }

  /** The earliest instant of that clock at which an entry of any queue becomes due or expires; Infinity: none. */
  nextMs(clock: ClockKind): number {
    return this.agendas[clock].first()?.nextMs ?? Infinity;
  }
  /** The queue whose turn that is. */
  nextQueue(clock: ClockKind): Queue | undefined {
    const agenda = this.agendas[clock].first();
    return agenda === undefined ? undefined : this.queuesByNumber[agenda.queue];
  }

  isPersistent(entry: number): boolean {
    return this.messages.ref.get(this.entries.message.get(entry)) !== MEMORY_REF;
  }

  /** The last entry of the queue's places before `entry`, in whatever state, or 0. */
  placeBefore(queue: Queue, entry: number): number {
    return this.placeTree.before(queue.placeRoot, entry, queue.before);
  }
  placeAfter(queue: Queue, entry: number): number {
    return this.placeTree.after(queue.placeRoot, entry, queue.before);
  }

  typeCode(type: string, subtype: string): number {
    return this.types.code(type, subtype);
  }
  /** Type and subtype by code. */
  typeNames(): (readonly [string, string])[] {
    return this.types.names();
  }
  /** null: the record must be read. */
  typeOf(code: number): { type: string; subtype: string } | null {
    return this.types.of(code);
  }

  // What follows is for apply.ts alone: an entry leaves one state and enters another.

  enterReady(entry: number, queue: Queue = this.queueOf(entry)): void {
    this.entries.state.set(entry, ENTRY.READY);
    queue.ready++;
    if (this.loading) return;
    if (queue.last === NONE || queue.before(queue.last, entry)) {
      queue.root = this.tree.append(queue.root, entry);
      queue.last = entry;
    } else {
      queue.root = this.tree.insert(queue.root, entry, queue.before);
    }
    this.indexCorrid(entry, queue);
    this.expiryAgenda(entry, queue)?.add(entry);
    if (queue.waiting > 0 && !queue.walked) this.offers.push(entry);
  }
  leaveReady(entry: number): void {
    const queue = this.queueOf(entry);
    queue.ready--;
    if (this.loading) return;
    queue.root = this.tree.remove(queue.root, entry, queue.before);
    if (entry === queue.last) queue.last = this.tree.last(queue.root);
    this.unindexCorrid(entry, queue);
    this.expiryAgenda(entry, queue)?.remove(entry);
  }

  enterDelayed(entry: number): void {
    const queue = this.queueOf(entry);
    this.entries.state.set(entry, ENTRY.DELAYED);
    queue.delayed++;
    if (this.loading) return;
    queue.due[this.entries.dueClockOf(entry)].add(entry);
    this.expiryAgenda(entry, queue)?.add(entry);
  }
  leaveDelayed(entry: number): void {
    const queue = this.queueOf(entry);
    queue.delayed--;
    if (this.loading) return;
    queue.due[this.entries.dueClockOf(entry)].remove(entry);
    this.expiryAgenda(entry, queue)?.remove(entry);
  }

  enterLocked(entry: number, branch: Branch, looks = false): void {
    this.entries.state.set(entry, looks ? ENTRY.LOOKED : ENTRY.LOCKED);
    this.enterBranch(entry, branch, branch);
    this.queueOf(entry).locked++;
  }
  leaveLocked(entry: number): void {
    this.leaveBranch(entry, this.branches.get(this.entries.owner.get(entry)));
    this.queueOf(entry).locked--;
  }

  /** Enqueued by a prepared branch: not on the queue yet. */
  enterPending(entry: number, branch: Branch): void {
    this.entries.state.set(entry, ENTRY.PENDING);
    this.enterBranch(entry, branch, branch.pending);
    this.queueOf(entry).pending++;
  }
  leavePending(entry: number): void {
    this.leaveBranch(entry, this.branches.get(this.entries.owner.get(entry)).pending);
    this.queueOf(entry).pending--;
  }

  private enterBranch(entry: number, branch: Branch, list: EntryList): void {
    this.entries.owner.set(entry, branch.number);
    list.add(this.entries, entry);
    branch.noteQueue(this.entries.queue.get(entry));
    this.branches.activate(branch);
  }
  private leaveBranch(entry: number, list: EntryList): void {
    list.remove(this.entries, entry);
    this.entries.owner.set(entry, NONE);
  }

  /** Consumed and kept, or given up: in the due tree until its time comes, so that it is found. */
  enterFinished(entry: number, state: typeof ENTRY.PROCESSED | typeof ENTRY.EXHAUSTED): void {
    const queue = this.queueOf(entry);
    this.entries.state.set(entry, state);
    if (state === ENTRY.PROCESSED) queue.processed++;
    else queue.exhausted++;
    if (!this.loading) queue.due[CLOCK.SPACE].add(entry);
  }
  leaveFinished(entry: number): void {
    const queue = this.queueOf(entry);
    if (this.entries.state.get(entry) === ENTRY.PROCESSED) queue.processed--;
    else queue.exhausted--;
    if (!this.loading) queue.due[CLOCK.SPACE].remove(entry);
  }

  enterHeld(entry: number): void {
    this.entries.state.set(entry, ENTRY.HELD);
    this.queueOf(entry).locked++;
  }
  leaveHeld(entry: number): void {
    this.queueOf(entry).locked--;
  }

  indexCorrid(entry: number, queue: Queue): void {
    const corrid = this.corridOf(entry);
    if (corrid === null) return;
    const root = this.corridIndex.find(queue.number, corrid);
    if (root === NONE) {
      this.corridIndex.add(entry);
      return;
    }
    const newRoot = this.corridTree.insert(root, entry, queue.before);
    if (newRoot !== root) this.corridIndex.replace(root, newRoot);
  }
  private unindexCorrid(entry: number, queue: Queue): void {
    const corrid = this.corridOf(entry);
    if (corrid === null) return;
    const root = this.corridIndex.find(queue.number, corrid);
    const newRoot = this.corridTree.remove(root, entry, queue.before);
    if (newRoot === NONE) this.corridIndex.remove(root);
    else if (newRoot !== root) this.corridIndex.replace(root, newRoot);
  }

  /** Counts a message of this many record bytes in (1) or out (-1). */
  count(entry: number, length: number, sign: 1 | -1): void {
    const { messages } = this;
    const message = this.entries.message.get(entry);
    const counted = messages.isFollower(message) ? FOLLOWER_LENGTH : length;
    this.countIn(this.queueOf(entry), messages.ref.get(message), sign * counted);
  }
  /** `length`: below 0 for a message that leaves. A record is never empty. */
  countIn(queue: Queue, ref: number, length: number): void {
    const sign = Math.sign(length);
    this.usage.messages += sign;
    if (ref === MEMORY_REF) {
      queue.memoryMessages += sign;
      queue.memoryBytes += sign * MemoryArea.bytesFor(sign * length);
      return;
    }
    if (length > 0) this.units.add(ref, length);
    else this.units.remove(ref, -length);
    const pages = sign * pagesOf(sign * length);
    this.usage.pages += pages;
    this.liveBytes += length;
    queue.bytes += length;
    queue.pages += pages;
  }

  enterPlaces(entry: number, queue: Queue): void {
    if (this.loading) return;
    queue.placeRoot = this.placeTree.insert(queue.placeRoot, entry, queue.before);
  }
  leavePlaces(entry: number, queue: Queue): void {
    if (this.loading) return;
    queue.placeRoot = this.placeTree.remove(queue.placeRoot, entry, queue.before);
  }

  private expiryAgenda(entry: number, queue: Queue): Agenda | null {
    const detail = this.entries.detail.get(entry);
    if (detail === NONE || this.details.expiryMs.get(detail) === Infinity) return null;
    return queue.expiry[this.details.clockOf(detail)];
  }

  private agendasOf(queue: number, rules: AgendaRules): readonly [Agenda, Agenda] {
    const on = (clock: ClockKind): Agenda =>
      new Agenda(queue, rules, (agenda) => this.sortAgenda(agenda, clock));
    return [on(CLOCK.SPACE), on(CLOCK.WALL)];
  }
  private sortAgenda(agenda: Agenda, clock: ClockKind): void {
    const heap = this.agendas[clock];
    heap.remove(agenda);
    if (agenda.nextMs !== Infinity && this.queuesByNumber[agenda.queue]?.walked !== true) heap.push(agenda);
  }

  /** Says that a large ending touches the queue, or that none does any more: meanwhile nothing on it is offered, becomes due or expires. */
  setWalked(queue: Queue, walked: boolean): void {
    queue.walked = walked;
    for (const clock of [CLOCK.SPACE, CLOCK.WALL]) {
      this.sortAgenda(queue.due[clock], clock);
      this.sortAgenda(queue.expiry[clock], clock);
    }
  }

  private byInstant(instantOf: (entry: number) => number): Before {
    const { entries, messages } = this;
    return (a, b) => {
      const atA = instantOf(a);
      const atB = instantOf(b);
      return atA === atB ? messages.before(entries.message.get(a), entries.message.get(b)) : atA < atB;
    };
  }
  /** Bytes of columns and indexes, for the memory figures. */
  get tableBytes(): number {
    const { messages, entries, details, places, provenance, corrids, msgids, corridIndex } = this;
    const tables = [messages, entries, details, places, provenance, corrids, msgids, corridIndex];
    return tables.reduce((sum, table) => sum + table.bytes, 0);
  }
}

/** Pages that a persistent record of this length takes: bytes rounded up [spec 11]. */
export function pagesOf(length: number): number {
  return Math.ceil(length / PAGE_BYTES);
}

/** What the definition of a queue takes at most where it is repeated: its JSON, and the small records about it. */
export function definitionBytesOf(attributes: QueueAttributes): number {
  return utf8Bytes(JSON.stringify(withoutDefaults(attributes, QUEUE_DEFAULTS))) + DEFINITION_OVERHEAD_BYTES;
}

function earlier(a: Agenda, b: Agenda): boolean {
  return a.nextMs < b.nextMs;
}
