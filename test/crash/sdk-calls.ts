// The ledger's calls over the SDK: what a failed call means for the message is decided here, from what the SDK says.
import { type Context, QME, TPERRNO, TpError, type Transaction } from '../../clients/typescript/index.ts';
import { QSPACE } from '../support/daemon.ts';
import { CallFailure, type Calls, type TransactionCalls } from './calls.ts';

export interface SdkCallsOptions {
  /** How long a take waits for a message, in milliseconds; 0: not at all. */
  readonly waitMs: number;
}

export function sdkCalls(context: Context, options: SdkCallsOptions): Calls {
  return {
    put: (queue, body) => calling(context.tpenqueue(QSPACE, queue, null, body)),
    take: (queue) => calling(take(context, queue, options)),
    begin: () => calling(begin(context, options)),
  };
}

/** A transaction of the context's own, beside others on the same socket. */
async function begin(context: Context, options: SdkCallsOptions): Promise<TransactionCalls> {
  const one = context.fork();
  await one.tpbegin(60);
  const end = async (ending: Promise<void>): Promise<void> => {
    try {
      await ending;
    } finally {
      one.tpterm().catch(() => {});
    }
  };
  return {
    put: (queue, body) => calling(one.tpenqueue(QSPACE, queue, null, body)),
    take: (queue) => calling(take(one, queue, options)),
    commit: () => calling(end(one.tpcommit())),
    abort: () => calling(end(one.tpabort())),
  };
}

async function take(
  caller: Pick<Context | Transaction, 'queue'>,
  queue: string,
  { waitMs }: SdkCallsOptions,
): Promise<unknown> {
  const message = await caller.queue(QSPACE, queue).get(waitMs === 0 ? {} : { wait: waitMs });
  return message === null ? null : message.data;
}

async function calling<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!TpError.is(error)) throw error;
    throw failureOf(error);
  }
}

/**
 * Whether it may have taken effect: the SDK says so when the connection broke; QMESYSTEM, and a commit that failed otherwise than by
 * TPEABORT, say that nobody knows before the next start.
 */
function failureOf(error: TpError): CallFailure {
  const { tperrno, diagnostic, operation, outcomeUnknown } = error;
  const logFailed = diagnostic === QME.QMESYSTEM;
  const openCommit = operation === 'tpcommit' && tperrno !== TPERRNO.TPEABORT;
  const over = logFailed || OVER.includes(tperrno);
  return new CallFailure(outcomeUnknown || logFailed || openCommit ? 'unknown' : 'refused', over, error);
}

/** Without reconnecting these mean that the connection is gone, or the transaction with it. */
const OVER: readonly number[] = [TPERRNO.TPESYSTEM, TPERRNO.TPEPROTO, TPERRNO.TPETIME, TPERRNO.TPEABORT];
