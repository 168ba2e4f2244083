// The state of one queue space: rows, indexes, queues, open branches. It changes only through `apply` (apply.ts); `decide` (decide.ts)
// reads it. Invariants: a READY entry is in its queue's order tree and, with a corrid, in the corrid index; a DELAYED one in the due
// tree; a LOCKED one in its branch's list; a HELD one in none. Every queue number is used once for ever.
import { assert } from '../base/assert.ts';
import { NONE } from '../base/column.ts';
import { OrderedTree, type Before } from '../base/ordered-tree.ts';
import type { QueueAttributes } from './event.ts';
import { idKeyOf, corridKey, type MessageId } from './message.ts';
import { CorridIndex, CorridTable, ENTRY, EntryTable, MessageTable, MsgidIndex } from './tables.ts';
import type { Selector } from './waiter.ts';

export class Queue {
  readonly number: number;
  attributes: QueueAttributes;
  /** Root of the tree of READY entries. */
  root = NONE;
  ready = 0;
  delayed = 0;
  locked = 0;
  bytes = 0;
  /** Since this start, for statistics. */
  enqueued = 0;
  dequeued = 0;
  /** The batch that last touched it, by the engine's count: a read waits for it. */
  lastBatch = 0;
  /** Dequeues parked here: while 0, nothing is noted for waking. */
  waiting = 0;

  constructor(number: number, attributes: QueueAttributes) {
    this.number = number;
    this.attributes = attributes;
  }

  get messages(): number {
    return this.ready + this.delayed + this.locked;
  }
}

/** The part of a transaction that lies in this space: the entries it holds, in the order in which it took them. */
export class Branch {
  readonly number: number;
  first = NONE;
  last = NONE;
  locks = 0;

  constructor(number: number) {
    this.number = number;
  }
}

export class QueueSpace {
  readonly spaceId: number;
  name = '';
  errorQueue = '';
  readonly messages = new MessageTable();
  readonly entries = new EntryTable();
  readonly corrids = new CorridTable(this.entries);
  readonly msgids = new MsgidIndex(this.messages);
  private readonly corridIndex = new CorridIndex(this.entries, this.corrids);
  private readonly tree = new OrderedTree(this.entries);
  private readonly corridTree = new OrderedTree(this.corrids);
  private dueRoot = NONE;
  private readonly queuesByName = new Map<string, Queue>();
  private readonly queuesByNumber: (Queue | undefined)[] = [];
  private readonly branches = new Map<number, Branch>();
  private lastBranch = 0;
  /** Entries that became deliverable on queues where someone waits; the engine empties it. */
  readonly offers: number[] = [];
  /** Bytes of the records of queued messages: what is live in the log. */
  liveBytes = 0;
  /** The batch that logged events go to, by the engine's count; apply stamps it on the queues they touch. 0 in replay. */
  batch = 0;
  private readonly types: { readonly type: string; readonly subtype: string }[] = [{ type: '', subtype: '' }];
  private readonly typeCodes = new Map<string, number>([['\0', 0]]);
  private readonly byArrival: Before;
  private readonly byDue: Before;

  constructor(spaceId: number) {
    this.spaceId = spaceId;
    const { entries, messages } = this;
    this.byArrival = (a, b) => messages.before(entries.message.get(a), entries.message.get(b));
    this.byDue = (a, b) => {
      const dueA = entries.dueMs.get(a);
      const dueB = entries.dueMs.get(b);
      return dueA === dueB ? this.byArrival(a, b) : dueA < dueB;
    };
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
  nextQueueNumber(): number {
    return Math.max(1, this.queuesByNumber.length);
  }
  queueOf(entry: number): Queue {
    const queue = this.queuesByNumber[this.entries.queue.get(entry)];
    assert(queue !== undefined, `entry ${entry} names a queue that does not exist`);
    return queue;
  }

  define(number: number, attributes: QueueAttributes): void {
    const known = this.queuesByNumber[number];
    if (known !== undefined) {
      this.queuesByName.delete(known.attributes.name);
      known.attributes = attributes;
      this.queuesByName.set(attributes.name, known);
      return;
    }
    const queue = new Queue(number, attributes);
    this.queuesByNumber[number] = queue;
    this.queuesByName.set(attributes.name, queue);
  }

  openBranch(): Branch {
    this.lastBranch++;
    const branch = new Branch(this.lastBranch);
    this.branches.set(branch.number, branch);
    return branch;
  }
  branch(number: number): Branch {
    const branch = this.branches.get(number);
    assert(branch !== undefined, `branch ${number} is not open`);
    return branch;
  }
  closeBranch(branch: Branch): void {
    assert(branch.locks === 0, `branch ${branch.number} still holds entries`);
    this.branches.delete(branch.number);
  }

  /** First deliverable entry of the queue in its order, or 0. */
  firstReady(queue: Queue): number {
    return this.tree.first(queue.root);
  }
  /** First deliverable entry with this corrid, or 0. */
  firstByCorrid(queue: Queue, corrid: Uint8Array): number {
    return this.corridTree.first(this.corridIndex.find(queue.number, corrid));
  }
  /** The entry of this message on this queue, in whatever state, or 0. */
  entryOf(queue: Queue, id: MessageId): number {
    const message = this.msgids.find(id);
    if (message === NONE) return NONE;
    let entry = this.messages.firstEntry.get(message);
    while (entry !== NONE && this.entries.queue.get(entry) !== queue.number)
      entry = this.entries.sibling.get(entry);
    return entry;
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

  /** The earliest DELAYED entry, or 0. */
  nextDue(): number {
    return this.tree.first(this.dueRoot);
  }
  /** Space time at which `nextDue` becomes deliverable; Infinity when nothing waits. */
  nextDueMs(): number {
    const entry = this.nextDue();
    return entry === NONE ? Infinity : this.entries.dueMs.get(entry);
  }

  typeCode(type: string, subtype: string): number {
    const key = `${type}\0${subtype}`;
    let code = this.typeCodes.get(key);
    if (code === undefined) {
      code = this.types.length < 0xffff ? this.types.length : 0xffff;
      if (code === this.types.length) this.types.push({ type, subtype });
      this.typeCodes.set(key, code);
    }
    return code;
  }
  /** Type and subtype behind a code, or null when the space has more kinds than codes and the record must be read. */
  typeOf(code: number): { type: string; subtype: string } | null {
    return this.types[code] ?? null;
  }

  // What follows is for apply.ts alone: an entry leaves one state and enters another.

  enterReady(entry: number): void {
    const queue = this.queueOf(entry);
    this.entries.state.set(entry, ENTRY.READY);
    queue.root = this.tree.insert(queue.root, entry, this.byArrival);
    queue.ready++;
    this.indexCorrid(entry, queue);
    if (queue.waiting > 0) this.offers.push(entry);
  }
  leaveReady(entry: number): void {
    const queue = this.queueOf(entry);
    queue.root = this.tree.remove(queue.root, entry, this.byArrival);
    queue.ready--;
    this.unindexCorrid(entry, queue);
  }

  enterDelayed(entry: number): void {
    this.entries.state.set(entry, ENTRY.DELAYED);
    this.dueRoot = this.tree.insert(this.dueRoot, entry, this.byDue);
    this.queueOf(entry).delayed++;
  }
  leaveDelayed(entry: number): void {
    this.dueRoot = this.tree.remove(this.dueRoot, entry, this.byDue);
    this.queueOf(entry).delayed--;
  }

  enterLocked(entry: number, branch: Branch): void {
    const { entries } = this;
    entries.state.set(entry, ENTRY.LOCKED);
    entries.owner.set(entry, branch.number);
    entries.setLeft(entry, NONE);
    entries.setRight(entry, branch.last);
    if (branch.last === NONE) branch.first = entry;
    else entries.setLeft(branch.last, entry);
    branch.last = entry;
    branch.locks++;
    this.queueOf(entry).locked++;
  }
  leaveLocked(entry: number): void {
    const { entries } = this;
    const branch = this.branch(entries.owner.get(entry));
    const next = entries.left(entry);
    const previous = entries.right(entry);
    if (previous === NONE) branch.first = next;
    else entries.setLeft(previous, next);
    if (next === NONE) branch.last = previous;
    else entries.setRight(next, previous);
    entries.setLeft(entry, NONE);
    entries.setRight(entry, NONE);
    entries.owner.set(entry, NONE);
    branch.locks--;
    this.queueOf(entry).locked--;
  }

  enterHeld(entry: number): void {
    this.entries.state.set(entry, ENTRY.HELD);
    this.queueOf(entry).locked++;
  }
  leaveHeld(entry: number): void {
    this.queueOf(entry).locked--;
  }

  private indexCorrid(entry: number, queue: Queue): void {
    const corrid = this.corridOf(entry);
    if (corrid === null) return;
    const root = this.corridIndex.find(queue.number, corrid);
    if (root === NONE) {
      this.corridIndex.add(entry);
      return;
    }
    const newRoot = this.corridTree.insert(root, entry, this.byArrival);
    if (newRoot !== root) this.corridIndex.replace(root, newRoot);
  }
  private unindexCorrid(entry: number, queue: Queue): void {
    const corrid = this.corridOf(entry);
    if (corrid === null) return;
    const root = this.corridIndex.find(queue.number, corrid);
    const newRoot = this.corridTree.remove(root, entry, this.byArrival);
    if (newRoot === NONE) this.corridIndex.remove(root);
    else if (newRoot !== root) this.corridIndex.replace(root, newRoot);
  }

  /** Bytes of columns and indexes, for the memory figures. */
  get tableBytes(): number {
    const tables = [this.messages, this.entries, this.corrids, this.msgids, this.corridIndex];
    return tables.reduce((sum, table) => sum + table.bytes, 0);
  }
}
