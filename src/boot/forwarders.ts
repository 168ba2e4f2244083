// The forwarders of a daemon: which line of the configuration each is of, and how lines that changed take the place of those before: the message
// under way is done first. Invariant: of one line at most one server takes messages.
import type { ForwarderStatistics } from '../../proto/message-statistics.ts';
import type { SpaceEngine } from '../engine/space-engine.ts';
import type { ForwardCounters } from '../tmqforward/forwarder.ts';
import type { Tmqforward } from '../tmqforward/tmqforward.ts';
import type { ForwarderPlan } from '../ubb/plan.ts';

/** A forwarder, and the line of the configuration that it is of. */
export interface PlacedForwarder {
  readonly group: string;
  readonly srvid: number;
  readonly forwarder: Tmqforward;
}

export type MakeForwarder = (
  plan: ForwarderPlan,
  engine: SpaceEngine,
  counters: ForwardCounters,
) => Tmqforward;

interface Placed extends PlacedForwarder {
  readonly plan: ForwarderPlan;
}

export class Forwarders {
  private readonly make: MakeForwarder;
  private readonly byPlace = new Map<string, Placed>();
  /** Those that take no more, until they are done. */
  private readonly leaving = new Set<Tmqforward>();
  private stopped = false;

  constructor(make: MakeForwarder) {
    this.make = make;
  }

  add(
    plan: ForwarderPlan,
    engine: SpaceEngine,
    counters: ForwardCounters = { forwarded: 0, failed: 0 },
  ): Tmqforward {
    const { group, srvid } = plan;
    const forwarder = this.make(plan, engine, counters);
    this.byPlace.set(placeOf(plan), { group, srvid, forwarder, plan });
    return forwarder;
  }

  get placed(): PlacedForwarder[] {
    return [...this.byPlace.values()];
  }

  start(): void {
    for (const { forwarder } of this.byPlace.values()) forwarder.start();
  }

  stop(): void {
    this.stopped = true;
    for (const { forwarder } of this.byPlace.values()) forwarder.stop();
  }

  get isBusy(): boolean {
    return this.leaving.size > 0 || this.placed.some(({ forwarder }) => forwarder.isBusy);
  }

  statistics(): ForwarderStatistics[] {
    return this.placed.map(({ forwarder }) => forwarder.statistics());
  }

  /** A line that was not there: its forwarders begin. */
  begin(plan: ForwarderPlan, engine: SpaceEngine): void {
    const forwarder = this.add(plan, engine);
    if (!this.stopped) forwarder.start();
  }

  /** A line that is gone: resolves when its messages are done. */
  async end(plan: ForwarderPlan): Promise<void> {
    const old = this.byPlace.get(placeOf(plan));
    this.byPlace.delete(placeOf(plan));
    if (old !== undefined) await this.retire(old.forwarder);
  }

  /** A line that changed: those that ran run again, as it says now, once the messages under way are done; those that were down stay so. */
  async renew(plan: ForwarderPlan, engine: SpaceEngine): Promise<void> {
    const old = this.byPlace.get(placeOf(plan));
    if (old === undefined) return this.begin(plan, engine);
    const ran = old.forwarder.running();
    const { srvid, instances } = plan;
    const isNew = (id: number): boolean => id >= srvid + old.plan.instances && id < srvid + instances;
    const ids = Array.from({ length: plan.instancesMax }, (_, n) => srvid + n).filter(
      (id) => ran.includes(id) || isNew(id),
    );
    const forwarder = this.add(plan, engine, old.forwarder.counters);
    await this.retire(old.forwarder);
    if (!this.stopped) forwarder.start(ids);
  }

  private retire(forwarder: Tmqforward): Promise<void> {
    this.leaving.add(forwarder);
    return new Promise((settle) => {
      forwarder.retire(() => {
        this.leaving.delete(forwarder);
        settle();
      });
    });
  }
}

/** What a line is known by. */
export function placeOf({ group, srvid }: Pick<ForwarderPlan, 'group' | 'srvid'>): string {
  return `${group}/${srvid}`;
}
