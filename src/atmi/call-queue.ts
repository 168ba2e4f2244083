// The calls of one service that wait for a server, as Tuxedo's server queue has them [spec 3.4]: the highest priority first, calls of one
// priority in the order of arrival, and every tenth call that waited is the oldest, whatever its priority. Invariant: a call is in
// both orders or in none. Must not know servers.
import { LIMIT } from '../../proto/codes.ts';

/** "Every tenth message of a server queue is taken in arrival order" [spec 3.4]. */
const OLDEST_EVERY = 10;

export interface Prioritised {
  /** 1..100. */
  readonly rank: number;
}

export class CallQueue<C extends Prioritised> {
  private readonly arrivals = new Set<C>();
  /** By priority. */
  private readonly ranks: (Set<C> | undefined)[] = [];
  private taken = 0;

  get length(): number {
    return this.arrivals.size;
  }

  push(call: C): void {
    this.arrivals.add(call);
    const rank = this.ranks[call.rank];
    if (rank === undefined) this.ranks[call.rank] = new Set([call]);
    else rank.add(call);
  }

  /** The next call; undefined: none waits. */
  shift(): C | undefined {
    this.taken++;
    const call = this.taken % OLDEST_EVERY === 0 ? first(this.arrivals) : this.highest();
    if (call !== undefined) this.remove(call);
    return call;
  }

  /** Takes out a call; false: it was not there. */
  remove(call: C): boolean {
    if (!this.arrivals.delete(call)) return false;
    this.ranks[call.rank]?.delete(call);
    return true;
  }

  /** Takes out all, in the order of arrival. */
  drain(): C[] {
    const calls = [...this.arrivals];
    this.arrivals.clear();
    this.ranks.length = 0;
    return calls;
  }

  private highest(): C | undefined {
    for (let priority = LIMIT.PRIORITY_MAX; priority >= LIMIT.PRIORITY_MIN; priority--) {
      const call = first(this.ranks[priority]);
      if (call !== undefined) return call;
    }
    return undefined;
  }
}

function first<C>(calls: Set<C> | undefined): C | undefined {
  for (const call of calls ?? []) return call;
  return undefined;
}
