// What clients of a queue system did and were told, as data. Moments are numbers that grow with every event of the run, so that "before" is
// one comparison. Every message has a key of its own and is put once. Must not know any system: nothing here or in checker.ts comes from
// src, proto or the SDK.

export interface Put {
  readonly kind: 'put';
  readonly queue: string;
  readonly key: string;
}

export interface Take {
  readonly kind: 'take';
  readonly queue: string;
  /** null: the answer was that there is nothing. */
  readonly key: string | null;
  /** When it was asked for, and when the answer came. */
  readonly asked: number;
  readonly answered: number;
}

export type Operation = Put | Take;

/** Operations that happen together or not at all. One without others is a transaction too. */
export interface Transaction {
  /** For reports. */
  readonly name: string;
  readonly operations: readonly Operation[];
  /**
   * `committed` and `aborted`: the client was told, or knows, as of a transaction that was open when the system died. `unknown`: commit was
   * asked for and not answered.
   */
  readonly outcome: 'committed' | 'aborted' | 'unknown';
  /** When its end was asked for; of one that was open when the system died: when it died. Before that it holds what it took. */
  readonly ending: number;
  /** When its end was answered; of one that was open, or unanswered, at a crash: when the system was up again. */
  readonly ended: number;
}

/** The queues are drained at the end, by transactions of the history like any others: what was put and not taken is lost. */
export type History = readonly Transaction[];
