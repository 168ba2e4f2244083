// What lies on the queues, found out as any client can: in one transaction, which is then rolled back (everything stays) or committed
// (everything is gone).
import { keyOf } from '../support/ledger-body.ts';
import type { Contents, Ledger } from '../support/ledger.ts';
import type { Calls } from './calls.ts';

/** Dequeues under way at a time. */
const WIDTH = 32;

/** All keys on these queues, in order. `keep` false: and takes them away, which the caller enters into its ledger with `tookAll`. */
export async function readAll(calls: Calls, queues: readonly string[], keep: boolean): Promise<Contents> {
  const transaction = await calls.begin();
  const contents = new Map<string, string[]>();
  for (const queue of queues) {
    const keys: string[] = [];
    contents.set(queue, keys);
    for (let more = true; more;) {
      const taken = await Promise.all(Array.from({ length: WIDTH }, () => transaction.take(queue)));
      for (const data of taken) if (data !== null) keys.push(keyOf(data));
      more = !taken.includes(null);
    }
  }
  if (keep) await transaction.abort();
  else await transaction.commit();
  return contents;
}

/** The ledger's entry for contents that were taken for good. */
export function tookAll(ledger: Ledger, contents: Contents): void {
  for (const key of [...contents.values()].flat()) ledger.taken(key);
}
