// The calls in flight, by request id. An array of slots instead of a Map: a Map under constant insertion and deletion leaves a chain of
// outgrown tables that keep dead calls alive through minor collections (measured: a third of the client's time with 256 dequeues in flight).
// Invariant: an id names its slot and how often the slot was used, so that it is not used again soon, and is never 0.
import type { PendingCall } from './pending.ts';

const SLOT_BITS = 16;
const SLOTS_MAX = 1 << SLOT_BITS;
const USES_MAX = 0xffff;

export class CallTable {
  private readonly slots: (PendingCall | null)[] = [];
  /** How often a slot was used, 1..USES_MAX. */
  private readonly uses: number[] = [];
  private readonly free: number[] = [];

  get size(): number {
    return this.slots.length - this.free.length;
  }

  /** Keeps a call and gives it an id. Assumes fewer than 65,536 calls. */
  add(call: PendingCall): number {
    const slot = this.free.pop() ?? this.slots.length;
    const uses = ((this.uses[slot] ?? 0) % USES_MAX) + 1;
    this.slots[slot] = call;
    this.uses[slot] = uses;
    return uses * SLOTS_MAX + slot;
  }

  /** Removes and returns the call with this id. */
  take(id: number): PendingCall | null {
    const slot = id % SLOTS_MAX;
    const call = this.slots[slot];
    if (call === undefined || call === null || this.uses[slot] !== Math.floor(id / SLOTS_MAX)) return null;
    this.slots[slot] = null;
    this.free.push(slot);
    return call;
  }

  list(): PendingCall[] {
    return this.slots.filter((call) => call !== null);
  }

  /** Empties it; the calls that were in it. */
  drain(): PendingCall[] {
    const all = this.list();
    this.slots.length = 0;
    this.free.length = 0;
    this.uses.length = 0;
    return all;
  }
}

/** The most calls in flight; as many again may be cancellations, which the limit in flight does not count. */
export const CALLS_MAX: number = SLOTS_MAX / 2 - 1024;
