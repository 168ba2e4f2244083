// The parts of transactions that lie in one space. A branch is open until its transaction ends; a prepared one waits for the outcome that was
// decided elsewhere, over restarts too [DESIGN 6]. Invariant: a LOCKED or PENDING entry is in exactly one list of exactly one branch.
import { assert } from '../base/assert.ts';
import { NONE } from '../base/column.ts';
import type { TransactionId } from '../base/transaction-id.ts';
import type { EntryTable } from './tables.ts';

/** Entries in the order in which they came, linked through the rows (left = next). */
export class EntryList {
  first = NONE;
  last = NONE;
  count = 0;

  add(entries: EntryTable, entry: number): void {
    entries.setLeft(entry, NONE);
    entries.setRight(entry, this.last);
    if (this.last === NONE) this.first = entry;
    else entries.setLeft(this.last, entry);
    this.last = entry;
    this.count++;
  }

  remove(entries: EntryTable, entry: number): void {
    const next = entries.left(entry);
    const previous = entries.right(entry);
    if (previous === NONE) this.first = next;
    else entries.setLeft(previous, next);
    if (next === NONE) this.last = previous;
    else entries.setRight(next, previous);
    entries.setLeft(entry, NONE);
    entries.setRight(entry, NONE);
    this.count--;
  }
}

/** Whose outcome a prepared branch waits for. */
export interface PreparedFor {
  readonly transaction: TransactionId;
  /** The log that knows the outcome: 32 hexadecimal digits. */
  readonly tlog: string;
}

/** The entries a transaction holds, in the order in which it took them; once it is prepared, also those it enqueued. */
export class Branch extends EntryList {
  readonly number: number;
  /** Enqueued, and visible only after a commit. Empty before the branch is prepared. */
  readonly pending = new EntryList();
  prepared: PreparedFor | null = null;
  /** Its outcome is in the log; what that does to the entries it holds follows. */
  ended = false;
  /** The queues that it ever held something of, pending or not, by number: the first, and the others if there were more. */
  private queue = NONE;
  private otherQueues: Set<number> | null = null;
  /** It holds or has enqueued something, ever: it counts as a transaction of the space. */
  active = false;

  constructor(number: number) {
    super();
    this.number = number;
  }

  get queues(): number[] {
    if (this.queue === NONE) return [];
    return [this.queue, ...(this.otherQueues ?? [])];
  }
  noteQueue(queue: number): void {
    if (queue === this.queue) return;
    if (this.queue === NONE) this.queue = queue;
    else (this.otherQueues ??= new Set()).add(queue);
  }

  get locks(): number {
    return this.count;
  }
}

export class Branches {
  private readonly byNumber = new Map<number, Branch>();
  private last = 0;
  /** Transactions with work in this space. */
  active = 0;

  open(): Branch {
    return this.make(this.last + 1);
  }

  get(number: number): Branch {
    const branch = this.byNumber.get(number);
    assert(branch !== undefined, 'a branch is not open', number);
    return branch;
  }
  find(number: number): Branch | undefined {
    return this.byNumber.get(number);
  }
  /** In replay a branch is met before the record that says what it is, or again after its end. */
  findOrMake(number: number): Branch {
    return this.byNumber.get(number) ?? this.make(number);
  }

  activate(branch: Branch): void {
    if (branch.active) return;
    branch.active = true;
    this.active++;
  }

  close(branch: Branch): void {
    assert(branch.count === 0 && branch.pending.count === 0, 'a branch still holds entries', branch.number);
    this.byNumber.delete(branch.number);
    if (branch.active) this.active--;
  }

  /** Those whose outcome is still to come. */
  prepared(): Branch[] {
    return this.begun().filter(({ ended }) => !ended);
  }
  /** Those that were prepared and still hold something, or may. */
  begun(): Branch[] {
    return [...this.byNumber.values()].filter(({ prepared }) => prepared !== null);
  }

  /** Of all that are open, ascending. */
  numbers(): number[] {
    return [...this.byNumber.keys()].sort((a, b) => a - b);
  }

  private make(number: number): Branch {
    this.last = Math.max(this.last, number);
    const branch = new Branch(number);
    this.byNumber.set(number, branch);
    return branch;
  }
}
