// The check itself: what a ledger says against what was found on the queues after a restart. Invariant: it reports every message that is
// missing, doubled, back or misplaced, each half of a transaction, and each stream out of order, in words that name the message.
import type { Contents, Item, Ledger, LedgerTransaction } from './ledger.ts';

/** Everything that is wrong, each in a sentence; empty when the queues hold exactly what they must and may. */
export function check(ledger: Ledger, contents: Contents): string[] {
  const wrong = [...ledger.found, ...checkPlaces(ledger, contents), ...checkOrder(ledger, contents)];
  const here = new Set([...contents.values()].flat());
  /** Messages that are not there and must be, unless an unanswered dequeue took them. */
  const missing: Item[] = [];
  for (const item of ledger.items.values()) {
    if (here.has(item.key)) wrong.push(...checkPresent(item));
    else if (mustBeThere(item)) missing.push(item);
  }
  for (const transaction of ledger.transactions) {
    if (transaction.state === 'committing' || transaction.state === 'unknown') {
      wrong.push(...checkWhole(transaction, here, missing));
    }
  }
  return [...wrong, ...beyondUnknownTakes(ledger, missing)];
}

/** Fails with all that is wrong; what was found is then the truth from which the next round begins. */
export function checkAndSettle(ledger: Ledger, contents: Contents, about = ''): void {
  const wrong = check(ledger, contents);
  if (wrong.length > 0) {
    const shown = wrong.slice(0, 20).join('\n  ');
    throw new Error(`${wrong.length} violations${about === '' ? '' : ` (${about})`}\n  ${shown}`);
  }
  settle(ledger, contents);
}

/** Takes what was found as the truth: unknown outcomes are known now, and what is not there may never be there again. */
export function settle(ledger: Ledger, contents: Contents): void {
  const here = new Set([...contents.values()].flat());
  for (const item of ledger.items.values()) {
    if (here.has(item.key)) {
      item.put = 'there';
      item.taken = 'no';
    } else if (item.taken !== 'yes') item.gone = true;
    item.putIn = null;
    item.takenIn = null;
  }
  ledger.transactions.length = 0;
  ledger.unknownTakes.clear();
}

function checkPlaces(ledger: Ledger, contents: Contents): string[] {
  const wrong: string[] = [];
  const at = new Map<string, string>();
  for (const [place, keys] of contents) {
    for (const key of keys) {
      const item = ledger.items.get(key);
      const before = at.get(key);
      if (item === undefined) wrong.push(`${key}: is on ${place}, and was never enqueued`);
      else if (place !== item.queue && place !== ledger.options.errorQueue) {
        wrong.push(`${key}: is on ${place}, and was put on ${item.queue}`);
      }
      if (before !== undefined) wrong.push(`${key}: is there twice, on ${before} and ${place}`);
      at.set(key, place);
    }
  }
  return wrong;
}

/** What one client put on a queue in sequence lies there in sequence. */
function checkOrder(ledger: Ledger, contents: Contents): string[] {
  const wrong: string[] = [];
  for (const [place, keys] of contents) {
    if (place === ledger.options.errorQueue) continue;
    const last = new Map<string, number>();
    for (const key of keys) {
      const item = ledger.items.get(key);
      if (item === undefined) continue;
      const before = last.get(item.stream) ?? -1;
      if (item.number < before) wrong.push(`${key}: lies on ${place} behind number ${before} of its stream`);
      last.set(item.stream, item.number);
    }
  }
  return wrong;
}

function checkPresent(item: Item): string[] {
  if (item.gone) return [`${item.key}: is there, and an earlier restart had come up without it`];
  if (item.put === 'refused') return [`${item.key}: is there, and its enqueue was refused or rolled back`];
  const state = item.putIn?.state;
  if (state === 'open' || state === 'aborting') {
    return [`${item.key}: is there, and its transaction never asked to commit`];
  }
  if (item.taken === 'yes') return [`${item.key}: is there again, and its dequeue was acknowledged`];
  return [];
}

function mustBeThere(item: Item): boolean {
  if (item.gone || item.taken !== 'no' || item.put === 'refused') return false;
  // A commit that was sent and not answered is looked at as a whole.
  if (item.takenIn?.state === 'committing') return false;
  return item.put === 'there' || item.seen;
}

/** A transaction of which nobody knows whether it was committed: all of it, or nothing. Adds what then is missing to `missing`. */
function checkWhole(transaction: LedgerTransaction, here: ReadonlySet<string>, missing: Item[]): string[] {
  const puts = transaction.puts.filter((item) => item.put !== 'refused');
  const takes = transaction.takes.filter((item) => item.takenIn === transaction);
  const put = puts.filter((item) => item.seen || here.has(item.key));
  const back = takes.filter((item) => here.has(item.key));
  const committed = put.length > 0 || back.length < takes.length;
  if (!committed) return [];
  const names = [...puts, ...takes].map((item) => item.key).join(', ');
  if (back.length > 0) {
    const what = `${put.length} of ${puts.length} enqueues and ${takes.length - back.length} of ${takes.length} dequeues`;
    return [`half a transaction: ${what} took effect (${names})`];
  }
  for (const item of puts) if (!item.seen && !here.has(item.key)) missing.push(item);
  return [];
}

/** An unanswered dequeue excuses one missing message of its queue. */
function beyondUnknownTakes(ledger: Ledger, missing: readonly Item[]): string[] {
  const wrong: string[] = [];
  for (const queue of new Set(missing.map((item) => item.queue))) {
    const items = missing.filter((item) => item.queue === queue);
    const excused = ledger.unknownTakes.get(queue) ?? 0;
    if (items.length <= excused) continue;
    const because =
      excused === 0 ? '' : `; ${items.length} are missing, unanswered dequeues may have taken ${excused}`;
    for (const item of items)
      wrong.push(`${item.key}: ${sayMissing(item)} on ${queue} and is not there${because}`);
  }
  return wrong;
}

function sayMissing(item: Item): string {
  if (item.putIn?.state === 'committing' || item.putIn?.state === 'unknown') {
    return 'is part of a transaction that took effect, must be';
  }
  return item.put === 'there'
    ? 'its enqueue was acknowledged, it must be'
    : 'was handed out and given back, must be';
}
