// What is to happen on a queue and when: the entries that become due or expire, in the order of their instants, on one clock. A space
// keeps the agendas of one clock in a heap, so that the next instant of all queues is known at once. Times stay in the rows.
import { assert } from '../base/assert.ts';
import { NONE } from '../base/column.ts';
import type { HeapItem } from '../base/heap.ts';
import type { RowList } from '../base/row-list.ts';
import type { Before, OrderedTree } from '../base/ordered-tree.ts';

export interface AgendaRules {
  readonly tree: OrderedTree;
  /** By instant, then by arrival. */
  readonly before: Before;
  readonly instantOf: (entry: number) => number;
}

export class Agenda implements HeapItem {
  heapIndex = -1;
  /** Instant of the earliest entry; Infinity: none. */
  nextMs = Infinity;
  /** The queue's number. */
  readonly queue: number;
  private readonly rules: AgendaRules;
  private readonly changed: (agenda: Agenda) => void;
  private root = NONE;

  constructor(queue: number, rules: AgendaRules, changed: (agenda: Agenda) => void) {
    this.queue = queue;
    this.rules = rules;
    this.changed = changed;
  }

  add(entry: number): void {
    const { tree, before, instantOf } = this.rules;
    this.root = tree.insert(this.root, entry, before);
    if (instantOf(entry) < this.nextMs) this.setNext(instantOf(entry));
  }

  /** What is on it after a log was read; nothing was before. */
  fill(entries: RowList): void {
    const { tree, before, instantOf } = this.rules;
    this.root = tree.build(entries.sorted(before));
    const first = this.first();
    if (first !== NONE) this.setNext(instantOf(first));
  }

  remove(entry: number): void {
    const { tree, before, instantOf } = this.rules;
    const wasNext = instantOf(entry) === this.nextMs;
    this.root = tree.remove(this.root, entry, before);
    if (!wasNext) return;
    const first = this.first();
    const nextMs = first === NONE ? Infinity : instantOf(first);
    assert(nextMs >= this.nextMs, 'an agenda goes forward');
    if (nextMs !== this.nextMs) this.setNext(nextMs);
  }

  /** The earliest entry, or 0. */
  first(): number {
    return this.rules.tree.first(this.root);
  }

  /** The one after `entry`, which is on it; 0: none. */
  after(entry: number): number {
    return this.rules.tree.after(this.root, entry, this.rules.before);
  }

  /** The first entry of which `isBehind` is true, or 0 [OrderedTree]. */
  firstThat(isBehind: (entry: number) => boolean): number {
    return this.rules.tree.firstThat(this.root, isBehind);
  }

  private setNext(nextMs: number): void {
    this.nextMs = nextMs;
    this.changed(this);
  }
}
