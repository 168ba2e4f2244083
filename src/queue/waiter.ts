// Dequeues that wait on one queue, indexed by what they select and merged by arrival, so that a change looks only at those it can satisfy.
// Waiters are volatile: a restart has none. First come, first served [spec 2.5, fairness].

/** What a dequeue asks for beside "the first": both given means both must match [spec 2.5]. */
export interface Selector {
  /** Packed key of the msgid (`idKey`), or '' for none. */
  readonly msgidKey: string;
  /** Packed key of the corrid (`corridKey`), or '' for none. */
  readonly corridKey: string;
}

export class Waiter<T> implements Selector {
  readonly msgidKey: string;
  readonly corridKey: string;
  readonly request: T;
  /** Order of arrival over all queues. */
  arrival = 0;
  parked = false;
  previous: Waiter<T> | null = null;
  next: Waiter<T> | null = null;

  constructor(selector: Selector, request: T) {
    this.msgidKey = selector.msgidKey;
    this.corridKey = selector.corridKey;
    this.request = request;
  }
}

class WaiterList<T> {
  first: Waiter<T> | null = null;
  private last: Waiter<T> | null = null;

  append(waiter: Waiter<T>): void {
    waiter.previous = this.last;
    waiter.next = null;
    if (this.last === null) this.first = waiter;
    else this.last.next = waiter;
    this.last = waiter;
  }

  remove(waiter: Waiter<T>): void {
    if (waiter.previous === null) this.first = waiter.next;
    else waiter.previous.next = waiter.next;
    if (waiter.next === null) this.last = waiter.previous;
    else waiter.next.previous = waiter.previous;
    waiter.previous = null;
    waiter.next = null;
  }
}

export class Waiters<T> {
  private readonly plain = new WaiterList<T>();
  private readonly byMsgid = new Map<string, WaiterList<T>>();
  private readonly byCorrid = new Map<string, WaiterList<T>>();
  private arrivals = 0;
  size = 0;

  add(waiter: Waiter<T>): void {
    this.arrivals++;
    waiter.arrival = this.arrivals;
    waiter.parked = true;
    this.size++;
    this.listOf(waiter).append(waiter);
  }

  remove(waiter: Waiter<T>): void {
    if (!waiter.parked) return;
    waiter.parked = false;
    this.size--;
    const list = this.listOf(waiter);
    list.remove(waiter);
    if (list.first !== null) return;
    if (waiter.msgidKey !== '') this.byMsgid.delete(waiter.msgidKey);
    else if (waiter.corridKey !== '') this.byCorrid.delete(waiter.corridKey);
  }

  /** The longest waiting one, after arrival `after`, that an entry with these keys satisfies. */
  firstFor(entry: Selector, after = 0): Waiter<T> | null {
    const plain = next(this.plain.first, after);
    const byMsgid = next(this.byMsgid.get(entry.msgidKey)?.first ?? null, after, entry.corridKey);
    const byCorrid = next(this.byCorrid.get(entry.corridKey)?.first ?? null, after);
    return earlier(earlier(plain, byMsgid), byCorrid);
  }

  /** Any waiter, the longest waiting of some list; for emptying the index. */
  any(): Waiter<T> | null {
    const lists = [this.plain, ...this.byMsgid.values(), ...this.byCorrid.values()];
    return lists.find((list) => list.first !== null)?.first ?? null;
  }

  /** All, the longest waiting first. */
  inOrder(): Waiter<T>[] {
    const found: Waiter<T>[] = [];
    for (const list of [this.plain, ...this.byMsgid.values(), ...this.byCorrid.values()]) {
      for (let at = list.first; at !== null; at = at.next) found.push(at);
    }
    return found.sort((a, b) => a.arrival - b.arrival);
  }

  private listOf(waiter: Waiter<T>): WaiterList<T> {
    if (waiter.msgidKey !== '') return listIn(this.byMsgid, waiter.msgidKey);
    if (waiter.corridKey !== '') return listIn(this.byCorrid, waiter.corridKey);
    return this.plain;
  }
}

function listIn<T>(lists: Map<string, WaiterList<T>>, key: string): WaiterList<T> {
  let list = lists.get(key);
  if (list === undefined) {
    list = new WaiterList<T>();
    lists.set(key, list);
  }
  return list;
}

/** The first in the chain that came after `after` and, when it also wants a corrid, wants this one. */
function next<T>(from: Waiter<T> | null, after: number, corridKey?: string): Waiter<T> | null {
  for (let at = from; at !== null; at = at.next) {
    if (at.arrival <= after) continue;
    if (corridKey === undefined || at.corridKey === '' || at.corridKey === corridKey) return at;
  }
  return null;
}

function earlier<T>(a: Waiter<T> | null, b: Waiter<T> | null): Waiter<T> | null {
  if (a === null) return b;
  return b === null || a.arrival < b.arrival ? a : b;
}
