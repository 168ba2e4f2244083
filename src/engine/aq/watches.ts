// Who wants to know that a lane has something to dequeue, without taking it [oracle-aq 4.7, 10]: listeners, told once, and watchers, told of every
// entry. Also the count of all that wait on a lane, so that nothing is noted where nobody does. Must not take or lock anything.
import { NONE } from '../../base/column.ts';
import { MEMORY_REF } from '../../queue/event.ts';
import type { Queue } from '../../queue/queue.ts';
import { ENTRY } from '../../queue/tables.ts';
import type { Deadline } from '../../base/timer-queue.ts';
import type { SpaceEngine } from '../space-engine.ts';
import { fault, type AqRefusal, type ListenRequest } from './request.ts';

const FAULT = { NOT_ENABLED: 25_253, TIMED_OUT: 25_254 } as const;
/** Entries looked at for one of the wanted kind. */
const LOOKED_AT = 1000;

export type Watcher = (entry: number) => void;

export class Watches {
  private readonly engine: SpaceEngine;
  private readonly listening = new Map<ListenRequest, Deadline | null>();
  private readonly watchers = new Map<number, Set<Watcher>>();

  constructor(engine: SpaceEngine) {
    this.engine = engine;
  }

  /** One more, or one less, waits on this lane. */
  count(lane: Queue, change: 1 | -1): void {
    lane.waiting += change;
  }

  /** Answers when one of the lanes has a message of a wanted kind, or at the deadline with 25254. */
  listen(request: ListenRequest): void {
    if (this.answered(request)) return;
    if (request.deadlineMs <= this.engine.monoMs()) return request.refused(fault(FAULT.TIMED_OUT));
    for (const { lane } of request.agents) this.count(lane, 1);
    const expire = (): void => {
      if (this.leave(request)) request.refused(fault(FAULT.TIMED_OUT));
    };
    const deadline =
      request.deadlineMs === Infinity ? null : this.engine.timers.set(request.deadlineMs, expire);
    this.listening.set(request, deadline);
  }

  /** false: it has been answered. */
  cancel(request: ListenRequest, refusal: AqRefusal): boolean {
    if (!this.leave(request)) return false;
    request.refused(refusal);
    return true;
  }

  /** Calls `run` with every entry that becomes deliverable there; returns how to stop that. */
  watch(lane: Queue, run: Watcher): () => void {
    this.count(lane, 1);
    const { number } = lane;
    const watchers = this.watchers.get(number);
    if (watchers === undefined) this.watchers.set(number, new Set([run]));
    else watchers.add(run);
    return () => {
      if (this.watchers.get(number)?.delete(run) === true) this.count(lane, -1);
    };
  }

  offered({ number }: Queue, entry: number): void {
    for (const run of this.watchers.get(number) ?? []) run(entry);
    this.lookAgain(number);
  }

  lookAgain(number: number): void {
    for (const request of Array.from(this.listening.keys())) {
      if (request.agents.some(({ lane }) => lane.number === number) && this.answered(request))
        this.leave(request);
    }
  }

  recheck(): void {
    for (const request of Array.from(this.listening.keys())) {
      const isStopped = request.agents.some(({ lane }) => (lane.parent ?? lane).attributes.dequeuePaused);
      if (isStopped) this.cancel(request, fault(FAULT.NOT_ENABLED));
    }
  }

  refuseLane(number: number, refusal: AqRefusal): void {
    for (const request of Array.from(this.listening.keys())) {
      if (request.agents.some(({ lane }) => lane.number === number)) this.cancel(request, refusal);
    }
    this.watchers.delete(number);
  }

  refuseAll(refusal: AqRefusal): void {
    for (const request of Array.from(this.listening.keys())) this.cancel(request, refusal);
  }

  private leave(request: ListenRequest): boolean {
    const deadline = this.listening.get(request);
    if (deadline === undefined) return false;
    this.listening.delete(request);
    if (deadline !== null) this.engine.timers.cancel(deadline);
    for (const { lane } of request.agents) this.count(lane, -1);
    return true;
  }

  /** Tells it of the first agent, in the order of its list, that has something. */
  private answered(request: ListenRequest): boolean {
    for (const [index, { lane, deliveryMode }] of request.agents.entries()) {
      const kind = this.kindAt(lane, deliveryMode);
      if (kind === 0) continue;
      request.found(index, kind, lane.lastBatch);
      return true;
    }
    return false;
  }

  /** The kind of the first message there of a wanted kind: 1 persistent, 2 buffered; 0: there is none. */
  private kindAt(lane: Queue, deliveryMode: number): number {
    const { space, upkeep } = this.engine;
    if (!lane.walked) upkeep.bring(lane);
    let entry = space.firstReady(lane);
    for (let looked = 0; entry !== NONE && looked < LOOKED_AT; looked++) {
      const isMemory = space.messages.ref.get(space.entries.message.get(entry)) === MEMORY_REF;
      const kind = isMemory ? 2 : 1;
      if ((deliveryMode & kind) !== 0 && space.entries.state.get(entry) === ENTRY.READY) return kind;
      entry = space.tree.after(lane.root, entry, lane.before);
    }
    return 0;
  }
}
