// An open-addressing hash of row handles that grows bit by bit: a growth step allocates the next table and every later operation moves
// a few slots, so that no single operation pauses the loop. Keys stay in the rows; a subclass says how a row hashes and compares.
// Invariants: a handle is in exactly one of the two tables; the old table is empty before the next growth begins.

import { assert } from './assert.ts';

const EMPTY = 0;
const TOMBSTONE = 0xffff_ffff;
const SLOTS_MIN = 64;
/** Slots moved per operation: 4 would do; more ends the time of two look-ups sooner. */
const MOVE_STEP = 16;

export abstract class HashIndex {
  private slots = new Uint32Array(SLOTS_MIN);
  /** Slots of the current table that are not EMPTY. */
  private used = 0;
  private old: Uint32Array | null = null;
  private moveAt = 0;
  /** Handles in the index. */
  size = 0;
  /** Nobody waits for a single operation now: it grows all at once, and no look-up goes to two tables. */
  growsAtOnce = false;

  /** The hash of a row that is in the index (any 32-bit integer). */
  protected abstract hashOf(handle: number): number;
  /** Whether the row has the key that the subclass was just asked to find. */
  protected abstract matches(handle: number): boolean;

  /** Makes room for so many handles, so that adding them moves none. Assumes: the index is empty. */
  reserve(count: number): void {
    assert(this.size === 0 && this.old === null, 'an index is sized before it is filled', this.size);
    let slots = SLOTS_MIN;
    while (slots * 3 < (count + 1) * 4) slots *= 2;
    this.slots = new Uint32Array(slots);
    this.used = 0;
  }

  add(handle: number): void {
    this.step();
    if ((this.used + 1) * 4 > this.slots.length * 3) this.regrow();
    this.place(handle);
    this.size++;
  }

  /** Removes a row that is in the index; its key columns must still hold their values. */
  remove(handle: number): void {
    const hash = this.hashOf(handle);
    if (!bury(this.slots, hash, handle) && this.old !== null) bury(this.old, hash, handle);
    this.size--;
    this.step();
  }

  /** Puts `by` in the place of `handle`, which has the same key. */
  replace(handle: number, by: number): void {
    const hash = this.hashOf(by);
    if (!swap(this.slots, hash, { from: handle, to: by }) && this.old !== null) {
      swap(this.old, hash, { from: handle, to: by });
    }
  }

  /** The first row with this hash for which `matches` holds, or 0. */
  protected lookup(hash: number): number {
    const found = this.probe(this.slots, hash);
    return found !== EMPTY || this.old === null ? found : this.probe(this.old, hash);
  }

  get bytes(): number {
    return this.slots.byteLength + (this.old?.byteLength ?? 0);
  }

  private probe(slots: Uint32Array, hash: number): number {
    const mask = slots.length - 1;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const handle = slots[at] as number;
      if (handle === EMPTY) return EMPTY;
      if (handle !== TOMBSTONE && this.matches(handle)) return handle;
    }
  }

  private place(handle: number): void {
    const mask = this.slots.length - 1;
    let at = this.hashOf(handle) & mask;
    while (this.slots[at] !== EMPTY) at = (at + 1) & mask;
    this.slots[at] = handle;
    this.used++;
  }

  private step(): void {
    const old = this.old;
    if (old === null) return;
    const end = Math.min(this.moveAt + MOVE_STEP, old.length);
    for (; this.moveAt < end; this.moveAt++) {
      const handle = old[this.moveAt] as number;
      if (handle === EMPTY || handle === TOMBSTONE) continue;
      // A moved slot becomes a tombstone, so that probes of the old table still pass over it.
      old[this.moveAt] = TOMBSTONE;
      this.place(handle);
    }
    if (this.moveAt === old.length) this.old = null;
  }

  /**
   * Ensures: the next table takes all that is live and every row that can be added before the last slot of this one has been moved, within
   * three quarters of its slots; so no growth begins before the one before it has ended, and a table is never full.
   */
  private regrow(): void {
    assert(this.old === null, 'a growth step ends before the next begins');
    const added = Math.ceil(this.slots.length / MOVE_STEP) + 1;
    const needed = Math.max(this.size * 2, Math.ceil(((this.size + added) * 4) / 3) + 1);
    let slots = SLOTS_MIN;
    while (slots < needed) slots *= 2;
    this.old = this.slots;
    this.moveAt = 0;
    this.slots = new Uint32Array(slots);
    this.used = 0;
    while (this.growsAtOnce && this.old !== null) this.step();
  }
}

function bury(slots: Uint32Array, hash: number, handle: number): boolean {
  return swap(slots, hash, { from: handle, to: TOMBSTONE });
}

function swap(slots: Uint32Array, hash: number, change: { from: number; to: number }): boolean {
  const mask = slots.length - 1;
  for (let at = hash & mask; ; at = (at + 1) & mask) {
    const found = slots[at] as number;
    if (found === change.from) {
      slots[at] = change.to;
      return true;
    }
    if (found === EMPTY) return false;
  }
}

/** Mixes two 32-bit words into a well-spread hash. */
export function hashWords(high: number, low: number): number {
  let h = Math.imul(low ^ (low >>> 16), 0x85eb_ca6b) ^ Math.imul(high ^ (high >>> 15), 0xc2b2_ae35);
  h = Math.imul(h ^ (h >>> 13), 0x27d4_eb2f);
  return h ^ (h >>> 16);
}

/** A hash of bytes (FNV-1a, finished), seeded so that equal bytes of different owners differ. */
export function hashBytes(bytes: Uint8Array, seed: number): number {
  let h = 0x811c_9dc5 ^ seed;
  for (let i = 0; i < bytes.length; i++) h = Math.imul(h ^ (bytes[i] as number), 0x0100_0193);
  return hashWords(seed, h);
}
