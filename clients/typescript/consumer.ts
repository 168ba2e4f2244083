// Taking messages in transactions of their own: consume with a handler, and iteration. Invariants: a message is removed only by a commit after
// its handler has succeeded; one that was taken when the signal aborted is still handled, since giving it back would count as an attempt;
// failures that time cures are retried with growing pauses, others end the consumer. Must not know the wire.
import { QME, TPERRNO } from '../../proto/codes.ts';
import { pause } from './abort-hub.ts';
import { TpError } from './error.ts';
import { Message } from './message.ts';
import type { Queue, Scope } from './queue.ts';
import type { Session } from './session.ts';
import type { Transaction } from './transaction.ts';
import { Tx } from './tx.ts';

/** How long one transaction waits for a message before it is replaced, in seconds. */
const WAIT_S = 10;
/** Pauses between attempts after a failure, in milliseconds. */
const RETRY_MS = { first: 100, most: 2000 } as const;

/** Failures that end a consumer: trying again would give the same. */
const LASTING: readonly number[] = [
  TPERRNO.TPEINVAL,
  TPERRNO.TPEPERM,
  TPERRNO.TPEPROTO,
  TPERRNO.TPERELEASE,
  TPERRNO.TPENOENT,
];
const LASTING_QME: readonly number[] = [QME.QMEINVAL, QME.QMEBADQUEUE, QME.QMERELEASE, QME.QMEBADMSGID];

/** @param tx puts and gets through it belong to the same transaction as the message */
export type Handler<T> = (message: Message<T>, tx: Transaction) => unknown;

export interface ConsumeOptions {
  /** Handlers at the same time; default 1. */
  concurrency?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Seconds that a handler has before the daemon rolls back; default 30. */
  timeoutS?: number | undefined;
  /** Told of what a handler threw, and of failures that are retried. */
  onError?: ((error: unknown) => void) | undefined;
}

export interface IterateOptions {
  signal?: AbortSignal | undefined;
  /** Seconds between getting a message and its commit before the daemon rolls back; default 30. */
  timeoutS?: number | undefined;
  /** true: messages are gone when they are yielded, so that one under way is lost with this program (at most once). Default false. */
  autoCommit?: boolean | undefined;
  /** Told of failures that are retried. */
  onError?: ((error: unknown) => void) | undefined;
}

/** Where messages are taken from. */
export interface Source<T> {
  readonly scope: Scope;
  readonly queue: Queue<T>;
}

/** A message together with the transaction that holds it. */
export class OpenMessage<T = unknown> extends Message<T> {
  private tx: Tx | null = null;

  static from<T>(message: Message<T>, tx: Tx | null): OpenMessage<T> {
    const open: OpenMessage<T> = Object.assign(Object.create(OpenMessage.prototype), message);
    open.tx = tx;
    return open;
  }

  /** Removes the message. TPEABORT: it was rolled back instead. With autoCommit it is removed already. */
  async commit(): Promise<void> {
    const tx = this.tx;
    this.tx = null;
    await tx?.commit('commit');
  }

  /** Gives the message back; it counts as a failed attempt [spec 2.6]. */
  async rollback(): Promise<void> {
    const tx = this.tx;
    this.tx = null;
    await tx?.abort('rollback');
  }
}

/** See Queue.consume. */
export async function consume<T>(
  source: Source<T>,
  handler: Handler<T>,
  options: ConsumeOptions,
): Promise<void> {
  const { concurrency = 1, signal } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new TpError({
      tperrno: TPERRNO.TPEINVAL,
      operation: 'consume',
      text: `concurrency ${concurrency}`,
    });
  }
  // One worker that cannot go on stops the others.
  const stop = new AbortController();
  const taker = new Taker(source, {
    timeoutS: options.timeoutS ?? 30,
    signal: anySignal([signal, stop.signal, source.scope.ended]),
    onError: options.onError ?? source.scope.session.onError,
  });
  const worker = async (): Promise<void> => {
    try {
      await handleAll(taker, handler, source.scope);
    } catch (error) {
      stop.abort();
      throw error;
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** See Queue.messages. */
export async function* iterate<T>(
  source: Source<T>,
  options: IterateOptions,
): AsyncGenerator<OpenMessage<T>, void, undefined> {
  const { session } = source.scope;
  const taker = new Taker(source, {
    timeoutS: options.timeoutS ?? 30,
    signal: anySignal([options.signal, source.scope.ended]),
    onError: options.onError ?? session.onError,
  });
  for (;;) {
    const taken = options.autoCommit === true ? await taker.takeForGood() : await taker.take();
    if (taken === null) return;
    const open = OpenMessage.from(taken.message, taken.tx);
    try {
      yield open;
    } finally {
      await open.rollback();
    }
  }
}

/** One worker: takes and handles until there is nothing to take any more. */
async function handleAll<T>(taker: Taker<T>, handler: Handler<T>, scope: Scope): Promise<void> {
  for (let taken = await taker.take(); taken !== null; taken = await taker.take()) {
    const { message, tx } = taken;
    try {
      await handler(message, scope.within(tx));
    } catch (error) {
      taker.report(error);
      await taker.quietly(tx.abort('consume'));
      continue;
    }
    await taker.quietly(tx.commit('consume'));
  }
}

interface Taken<T, X> {
  readonly message: Message<T>;
  readonly tx: X;
}

interface TakerOptions {
  readonly timeoutS: number;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
}

/** Waits for messages, over failures that pass. */
class Taker<T> {
  private readonly source: Source<T>;
  private readonly options: TakerOptions;
  private readonly session: Session;
  private worked = false;
  private pauseMs = 0;

  constructor(source: Source<T>, options: TakerOptions) {
    this.source = source;
    this.options = options;
    this.session = source.scope.session;
  }

  /** The next message and the transaction that holds it; null: the signal was aborted. */
  take(): Promise<Taken<T, Tx> | null> {
    return this.retrying(async () => {
      const { owner, within } = this.source.scope;
      const { signal, timeoutS } = this.options;
      const tx = await Tx.begin(this.session, {
        operation: 'tpbegin',
        timeoutS: timeoutS + WAIT_S,
        signal,
        owner,
      });
      let message: Message<T> | null = null;
      try {
        const { qspace, qname } = this.source.queue;
        message = await within(tx)
          .queue<T>(qspace, qname)
          .get({ wait: WAIT_S * 1000, signal });
      } finally {
        if (message === null) await this.quietly(tx.abort('consume'));
      }
      return message === null ? null : { message, tx };
    });
  }

  /** The next message, removed already. */
  takeForGood(): Promise<Taken<T, null> | null> {
    return this.retrying(async () => {
      const message = await this.source.queue.get({ wait: true, signal: this.options.signal });
      return message === null ? null : { message, tx: null };
    });
  }

  report(error: unknown): void {
    this.options.onError(error);
  }

  /** Waits for what may fail without consequence for the consumer; the failure is reported. */
  async quietly(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (!this.session.closed) this.report(error);
    }
  }

  private async retrying<R>(attempt: () => Promise<R | null>): Promise<R | null> {
    const { signal } = this.options;
    while (!signal.aborted) {
      try {
        const taken = await attempt();
        this.worked = true;
        this.pauseMs = 0;
        if (taken !== null) return taken;
      } catch (error) {
        if (signal.aborted) return null;
        if (this.isLasting(error)) throw error;
        this.report(error);
        this.pauseMs = Math.min(RETRY_MS.most, Math.max(RETRY_MS.first, this.pauseMs * 2));
        await pause(this.pauseMs, signal);
      }
    }
    return null;
  }

  /** A queue that was there before may come back; anything but a TpError is a fault of this program. */
  private isLasting(error: unknown): boolean {
    if (!TpError.is(error)) return true;
    // From tpbegin it means that MAXGTT transactions are open, which passes.
    if (error.tperrno === TPERRNO.TPENOENT) return !this.worked && error.operation !== 'tpbegin';
    return LASTING.includes(error.tperrno) || LASTING_QME.includes(error.diagnostic);
  }
}

function anySignal(signals: (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined));
}
