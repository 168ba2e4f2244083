// The simulated world: time, and everything that happens in it, one event after the other. Determinism comes from here: an event runs only
// when the loop of the world takes it, in the order of its time and then of its making; before the next one all promises and next ticks have
// run (one turn of Node's loop lies between two events); chance is drawn from streams of the seed. So nothing else may start anything: no
// real timer, socket, file or thread. It must not know what the events are about.
import { Heap, type HeapItem } from '../../src/base/heap.ts';
import { Prng } from '../../src/base/prng.ts';
import type { Trace } from './trace.ts';

/** One process, from its start to its end. What is scheduled for it does not happen after its end. */
export class Life {
  readonly name: string;
  ended = false;
  private readonly atEnd: (() => void)[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** Ends at once, also in the middle of a turn: what it still says or writes in this turn goes nowhere. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    for (const run of this.atEnd) run();
  }

  whenEnded(run: () => void): void {
    this.atEnd.push(run);
  }
}

export interface Happening {
  cancel(): void;
}

class Event implements HeapItem, Happening {
  heapIndex = -1;
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
  readonly life: Life | null;
  private readonly heap: Heap<Event>;
  constructor(heap: Heap<Event>, what: { atMs: number; order: number; run: () => void; life: Life | null }) {
    this.heap = heap;
    this.atMs = what.atMs;
    this.order = what.order;
    this.run = what.run;
    this.life = what.life;
  }
  cancel(): void {
    this.heap.remove(this);
  }
}

/** Why a run of the world ended. */
export type Ending = 'done' | 'nothing left' | 'out of time' | 'too many events';

/** The real one, before a simulation takes the globals over. */
const nextTurn = setImmediate;

export class World {
  readonly seed: number;
  readonly trace: Trace;
  nowMs = 0;
  events = 0;
  /** Something that must not be thrown was, by the process that `where` names. */
  onThrown: (error: unknown, where: string) => void = () => {};
  private readonly heap = new Heap<Event>(
    (a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order),
  );
  private order = 0;

  constructor(seed: number, trace: Trace) {
    this.seed = seed;
    this.trace = trace;
  }

  /** A stream of chance of its own for every part, so that one part that draws more does not change the others. */
  prng(part: string): Prng {
    let hash = 0;
    for (let i = 0; i < part.length; i++) hash = (Math.imul(hash, 31) + part.charCodeAt(i)) >>> 0;
    // As exact as a number is: 53 bits.
    const high = (hash ^ Math.floor(this.seed / 0x1_0000_0000)) & 0x1f_ffff;
    return new Prng(high * 0x1_0000_0000 + ((this.seed ^ Math.imul(hash, 0x85ebca6b)) >>> 0));
  }

  /** Runs something after this time. */
  after(ms: number, run: () => void, life: Life | null = null): Happening {
    return this.at(this.nowMs + ms, run, life);
  }

  at(atMs: number, run: () => void, life: Life | null = null): Happening {
    const event = new Event(this.heap, { atMs, order: this.order++, run, life });
    this.heap.push(event);
    return event;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, resolve);
    });
  }

  /** Time that a call takes while nothing else can happen, e.g. a sync in the loop. */
  spend(ms: number): void {
    this.nowMs += ms;
  }

  /** Lets events happen until `done`. */
  run(done: () => boolean, limits: { untilMs: number; eventsMax: number }): Promise<Ending> {
    return new Promise((resolve) => {
      const step = (): void => {
        if (done()) return resolve('done');
        const event = this.next();
        if (event === undefined) return resolve('nothing left');
        if (event.atMs > limits.untilMs) return resolve('out of time');
        if (this.events++ > limits.eventsMax) return resolve('too many events');
        this.nowMs = Math.max(this.nowMs, event.atMs);
        this.perform(event);
        nextTurn(step);
      };
      nextTurn(step);
    });
  }

  private perform({ run, life }: Event): void {
    try {
      run();
    } catch (error) {
      // In a process that has ended already nothing runs any more.
      if (life?.ended !== true) this.onThrown(error, life?.name ?? 'a client');
    }
  }

  private next(): Event | undefined {
    for (;;) {
      const event = this.heap.first();
      if (event === undefined) return undefined;
      this.heap.remove(event);
      if (event.life?.ended !== true) return event;
    }
  }
}
