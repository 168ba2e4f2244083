// The calls that a ledger's clients make, as a port: the SDK implements it for a real daemon, test/fault for an engine in this process.
// Invariant: a failed call says whether it may have taken effect.

/** How a call failed. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  /** `refused`: it did not take effect. `unknown`: it may have. */
  readonly outcome: 'refused' | 'unknown';
  /** The daemon cannot be reached any more: the client's work is over. */
  readonly over: boolean;

  constructor(outcome: 'refused' | 'unknown', over: boolean, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.outcome = outcome;
    this.over = over;
  }
}

/** Rejections are CallFailures. */
export interface QueueCalls {
  put(queue: string, body: Uint8Array): Promise<void>;
  /** The next message's data, or null when there is none; may wait a little for one. */
  take(queue: string): Promise<unknown>;
}

export interface TransactionCalls extends QueueCalls {
  commit(): Promise<void>;
  abort(): Promise<void>;
}

export interface Calls extends QueueCalls {
  begin(): Promise<TransactionCalls>;
}
