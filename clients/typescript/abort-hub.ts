// One listener for each abort signal, however many calls wait on it: a signal that a program shares among its calls must not gather
// thousands of listeners (Node warns from the eleventh). Owns nothing but the lists; a list lives as long as it is not empty.

export interface Abortable {
  /** The signal was aborted. */
  abort(reason: unknown): void;
}

const lists = new WeakMap<AbortSignal, SignalList>();

class SignalList {
  readonly members = new Set<Abortable>();
  private readonly signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  /** The signal's listener. */
  handleEvent(): void {
    const members = [...this.members];
    this.members.clear();
    lists.delete(this.signal);
    for (const member of members) member.abort(this.signal.reason);
  }
}

/** Tells `member` when the signal aborts. Assumes that it is not aborted yet. */
export function onAbort(signal: AbortSignal, member: Abortable): void {
  let list = lists.get(signal);
  if (list === undefined) {
    list = new SignalList(signal);
    lists.set(signal, list);
    signal.addEventListener('abort', list);
  }
  list.members.add(member);
}

/** Undoes onAbort; idempotent. */
export function offAbort(signal: AbortSignal, member: Abortable): void {
  const list = lists.get(signal);
  if (list === undefined || !list.members.delete(member) || list.members.size > 0) return;
  signal.removeEventListener('abort', list);
  lists.delete(signal);
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    onAbort(signal, { abort: () => resolve() });
  });
}

/** Waits; ends early when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const member = { abort: (): void => done() };
    const done = (): void => {
      clearTimeout(timer);
      offAbort(signal, member);
      resolve();
    };
    const timer = setTimeout(done, ms);
    onAbort(signal, member);
  });
}
