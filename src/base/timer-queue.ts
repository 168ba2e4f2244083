// Any number of deadlines on one armed timer of the Clock port. Deadlines are in monotonic milliseconds. A deadline that passed runs
// once, in order of time; what it starts may set or cancel others.
import type { Clock, Timer } from './clock.ts';
import { Heap, type HeapItem } from './heap.ts';

export interface Deadline extends HeapItem {
  readonly atMs: number;
}

class Entry implements Deadline {
  heapIndex = -1;
  readonly atMs: number;
  readonly run: () => void;
  constructor(atMs: number, run: () => void) {
    this.atMs = atMs;
    this.run = run;
  }
}

export class TimerQueue {
  private readonly clock: Clock;
  private readonly heap = new Heap<Entry>((a, b) => a.atMs < b.atMs);
  private armed: Timer | null = null;
  private armedAtMs = Infinity;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get size(): number {
    return this.heap.size;
  }

  /** Calls `run` once at or after `atMs` (monotonic). */
  set(atMs: number, run: () => void): Deadline {
    const entry = new Entry(atMs, run);
    this.heap.push(entry);
    this.arm();
    return entry;
  }

  cancel(deadline: Deadline): void {
    this.heap.remove(deadline as Entry);
    // The armed timer may now be too early: it will find nothing due and re-arm. That is cheaper than re-arming at each cancel.
    if (this.heap.size === 0) this.disarm();
  }

  /** Forgets every deadline. */
  close(): void {
    for (let first = this.heap.first(); first !== undefined; first = this.heap.first())
      this.heap.remove(first);
    this.disarm();
  }

  private arm(): void {
    const first = this.heap.first();
    if (first === undefined || first.atMs >= this.armedAtMs) return;
    this.disarm();
    this.armedAtMs = first.atMs;
    this.armed = this.clock.setTimer(first.atMs, () => this.fire());
  }

  private disarm(): void {
    this.armed?.cancel();
    this.armed = null;
    this.armedAtMs = Infinity;
  }

  private fire(): void {
    this.armed = null;
    this.armedAtMs = Infinity;
    const now = this.clock.monoMs();
    for (let first = this.heap.first(); first !== undefined && first.atMs <= now; first = this.heap.first()) {
      this.heap.remove(first);
      first.run();
    }
    this.arm();
  }
}
