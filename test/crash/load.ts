// Clients that put and take messages and enter into a ledger what they were told. Each works until its calls say that the daemon is gone or
// `until` says enough. All choices come from a seed. It must not know what is behind the calls.
import type { Prng } from '../../src/base/prng.ts';
import { bodyOf, keyOf } from '../support/ledger-body.ts';
import type { Item, Ledger, LedgerTransaction } from '../support/ledger.ts';
import { CallFailure, type Calls, type TransactionCalls } from './calls.ts';

/** One client: who it is, what it calls, and where it draws its numbers from. */
export interface Client {
  readonly name: string;
  readonly calls: Calls;
  readonly prng: Prng;
  readonly ledger: Ledger;
  /** True: stop before the next call. */
  readonly until: () => boolean;
  /** The length of the next body. */
  readonly bytes: (prng: Prng) => number;
}

/** Queues of the load: PLAIN never sees a rollback; WORK, LEFT and RIGHT are used in transactions. */
export const QUEUES = ['PLAIN', 'WORK', 'LEFT', 'RIGHT'] as const;

/** One message after the other. */
export async function putPlainly(client: Client, queue: string): Promise<void> {
  await untilOver(client, async () => {
    await put(client, queue, client.name);
  });
}

/** Many messages at a time. */
export async function putPipelined(client: Client, queue: string, width: number): Promise<void> {
  await untilOver(client, async () => {
    const puts = Array.from({ length: client.prng.between(2, width) }, () => put(client, queue, client.name));
    failAs(await Promise.allSettled(puts));
  });
}

/** Transactions that put on two queues and take from a third; one in six is rolled back. */
export async function transfer(
  client: Client,
  queues: { from: string; to: readonly string[] },
): Promise<void> {
  await untilOver(client, () =>
    inTransaction(client, 6, async (calls, transaction) => {
      const { ledger, name, prng } = client;
      for (const queue of queues.to) {
        const item = ledger.putting(queue, `${name}-${queue}`, client.bytes(prng));
        transaction.putting(item);
        await calls.put(queue, bodyOf(item.key));
      }
      await takeInto(calls, transaction, queues.from);
    }),
  );
}

/** Transactions that put on several queues and commit without waiting for the answers of the puts. */
export async function putPipelinedInTransactions(client: Client, queues: readonly string[]): Promise<void> {
  await untilOver(client, async () => {
    const { ledger, name, prng } = client;
    const calls = await client.calls.begin();
    const transaction = ledger.begin();
    const items = queues.map((queue) => ledger.putting(queue, `${name}-${queue}`, client.bytes(prng)));
    for (const item of items) transaction.putting(item);
    const puts = items.map((item) => calls.put(item.queue, bodyOf(item.key)));
    transaction.committing();
    const [commit, ...ends] = await Promise.allSettled([calls.commit(), ...puts]);
    for (const [i, end] of ends.entries()) if (wasAnswered(end)) items[i]?.refused();
    endAs(transaction, commit);
    failAs([commit, ...ends]);
  });
}

/** Refused by an answer, not by the loss of the connection: the commit may have taken effect without it. */
function wasAnswered(end: PromiseSettledResult<unknown>): boolean {
  if (end.status === 'fulfilled' || !(end.reason instanceof CallFailure)) return false;
  return end.reason.outcome === 'refused' && !end.reason.over;
}

/** What the end of a commit says of its transaction. */
function endAs(transaction: LedgerTransaction, commit: PromiseSettledResult<unknown>): void {
  if (commit.status === 'fulfilled') transaction.committed();
  else if (commit.reason instanceof CallFailure && commit.reason.outcome === 'refused')
    transaction.rolledBack();
  else transaction.unknown();
}

/** Takes some messages in a transaction; one in three is rolled back. */
export async function consumeInTransactions(client: Client, queue: string): Promise<void> {
  await untilOver(client, () =>
    inTransaction(client, 3, async (calls, transaction) => {
      for (let left = client.prng.between(1, 4); left > 0; left--) {
        if (!(await takeInto(calls, transaction, queue))) break;
      }
    }),
  );
}

/** Takes messages outside transactions, `width` calls at a time. */
export async function consumePlainly(client: Client, queue: string, width = 1): Promise<void> {
  await untilOver(client, async () => {
    const { ledger, calls, name } = client;
    const ends = await Promise.allSettled(Array.from({ length: width }, () => calls.take(queue)));
    // In the order of asking: an answer may overtake one whose message is being fetched.
    for (const end of ends) {
      if (end.status === 'fulfilled' && end.value !== null) ledger.taken(keyOf(end.value), name);
      if (isUnknown(end)) ledger.takeUnknown(queue);
    }
    failAs(ends);
  });
}

function isUnknown(end: PromiseSettledResult<unknown>): boolean {
  return end.status === 'rejected' && end.reason instanceof CallFailure && end.reason.outcome === 'unknown';
}

async function put(client: Client, queue: string, stream: string): Promise<void> {
  const item = client.ledger.putting(queue, stream, client.bytes(client.prng));
  try {
    await client.calls.put(queue, bodyOf(item.key));
    item.acknowledged();
  } catch (error) {
    if (error instanceof CallFailure) note(item, error);
    throw error;
  }
}

function note(item: Item, failure: CallFailure): void {
  if (failure.outcome === 'unknown') item.unknown();
  else item.refused();
}

async function takeInto(
  calls: TransactionCalls,
  transaction: LedgerTransaction,
  queue: string,
): Promise<boolean> {
  const data = await calls.take(queue);
  if (data === null) return false;
  transaction.took(keyOf(data));
  return true;
}

/** Begins, works, and ends: once in `abortOneIn` by a rollback. */
async function inTransaction(
  client: Client,
  abortOneIn: number,
  work: (calls: TransactionCalls, transaction: LedgerTransaction) => Promise<void>,
): Promise<void> {
  const calls = await client.calls.begin();
  const transaction = client.ledger.begin();
  try {
    await work(calls, transaction);
  } catch (error) {
    // Nothing of it was asked to commit.
    transaction.rolledBack();
    if (error instanceof CallFailure && !error.over) await calls.abort();
    throw error;
  }
  if (client.prng.oneIn(abortOneIn)) {
    transaction.aborting();
    await calls.abort().finally(() => transaction.rolledBack());
    return;
  }
  transaction.committing();
  const [commit] = await Promise.allSettled([calls.commit()]);
  endAs(transaction, commit);
  failAs([commit]);
}

/** Repeats until it is enough or the daemon is gone; refusals are part of life, anything else is a fault of the test. */
async function untilOver(client: Client, work: () => Promise<void>): Promise<void> {
  while (!client.until()) {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      if (error.over) return;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  }
}

/** Fails as one that failed did. */
function failAs(ends: readonly PromiseSettledResult<unknown>[]): void {
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
