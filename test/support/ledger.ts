// What clients were told about their messages, and the check that a queue space found after a crash agrees with it. A message is known
// by its key, which its body carries. Invariants: an answer only makes the ledger stricter; what nobody was told stays open both ways,
// but once; a transaction of unknown outcome is all or nothing. It must not know how calls are made or where the messages come from.

export interface LedgerOptions {
  /** Where messages whose retries are used up go: a place like their own queue. */
  readonly errorQueue?: string;
  /** Queues from which no dequeue is ever rolled back: every consumer then sees each stream in order. */
  readonly neverRolledBack?: readonly string[];
}

/** What lies where: the keys on each queue, in the queue's order. */
export type Contents = ReadonlyMap<string, readonly string[]>;

/** One message: who put it where as which of its stream, and what was said about it. */
export class Item {
  readonly key: string;
  readonly queue: string;
  readonly stream: string;
  readonly number: number;
  put: 'asked' | 'there' | 'refused' | 'unknown' = 'asked';
  taken: 'no' | 'yes' | 'unknown' = 'no';
  /** Was handed to somebody, so its enqueue had taken effect. */
  seen = false;
  /** A restart came up without it: it may never be there again. */
  gone = false;
  /** The transaction that puts it, and the last one that took it. */
  putIn: LedgerTransaction | null = null;
  takenIn: LedgerTransaction | null = null;

  constructor(place: { key: string; queue: string; stream: string; number: number }) {
    this.key = place.key;
    this.queue = place.queue;
    this.stream = place.stream;
    this.number = place.number;
  }

  acknowledged(): void {
    this.put = 'there';
  }
  refused(): void {
    this.put = 'refused';
  }
  unknown(): void {
    this.put = 'unknown';
  }
}

/** A transaction as its client sees it. One that is open when the connection breaks is rolled back. */
export class LedgerTransaction {
  state: 'open' | 'committing' | 'aborting' | 'committed' | 'rolled back' | 'unknown' = 'open';
  readonly puts: Item[] = [];
  readonly takes: Item[] = [];
  /** Somebody got what it held: it was rolled back, whatever its client does not know yet. */
  gaveBack = false;
  private readonly ledger: Ledger;

  constructor(ledger: Ledger) {
    this.ledger = ledger;
  }

  /** The enqueue of `item` is about to be asked for. */
  putting(item: Item): void {
    item.putIn = this;
    this.puts.push(item);
  }

  /** A dequeue was answered with this message. */
  took(key: string): void {
    const item = this.ledger.delivered(key);
    if (item === null) return;
    item.takenIn = this;
    this.takes.push(item);
  }

  /** The request to commit, or to abort, is about to be sent. */
  committing(): void {
    this.state = 'committing';
  }
  aborting(): void {
    this.state = 'aborting';
  }

  committed(): void {
    if (this.gaveBack) this.ledger.violation('a transaction committed what had been given to another client');
    this.state = 'committed';
    for (const item of this.puts) if (item.put === 'asked') item.put = 'there';
    for (const item of this.takes) {
      if (item.taken === 'yes') this.ledger.violation(`${item.key}: taken for good twice`);
      item.taken = 'yes';
    }
  }

  /** Abort was answered, the daemon said it was rolled back, or the connection broke before commit was sent. */
  rolledBack(): void {
    this.state = 'rolled back';
    for (const item of this.puts) {
      if (item.seen) this.ledger.violation(`${item.key}: was handed out, and its enqueue was rolled back`);
      item.put = 'refused';
    }
    for (const item of this.takes) if (item.takenIn === this) item.takenIn = null;
  }

  /** Commit was sent and not answered. */
  unknown(): void {
    this.state = 'unknown';
    for (const item of this.puts) if (item.put === 'asked') item.put = 'unknown';
    for (const item of this.takes) if (item.takenIn === this) item.taken = 'unknown';
  }
}

export class Ledger {
  readonly options: LedgerOptions;
  readonly items = new Map<string, Item>();
  /** Since the last settlement. */
  readonly transactions: LedgerTransaction[] = [];
  /** Dequeues outside transactions whose answer never came: each may have removed any one message of its queue. */
  readonly unknownTakes = new Map<string, number>();
  /** What was wrong already while the clients worked. */
  readonly found: string[] = [];
  private readonly numbers = new Map<string, number>();
  private readonly lastSeen = new Map<string, number>();

  constructor(options: LedgerOptions = {}) {
    this.options = options;
  }

  /** The next message of a stream, whose enqueue is about to be asked for. A stream is what one client enqueues in sequence. */
  putting(queue: string, stream: string, bytes = 64): Item {
    const number = this.numbers.get(stream) ?? 0;
    this.numbers.set(stream, number + 1);
    const item = new Item({ key: `${stream}/${number}/${bytes}`, queue, stream, number });
    this.items.set(item.key, item);
    return item;
  }

  begin(): LedgerTransaction {
    const transaction = new LedgerTransaction(this);
    this.transactions.push(transaction);
    return transaction;
  }

  /** A dequeue outside transactions was answered with this message. `consumer` names who, to check the order of what it gets. */
  taken(key: string, consumer = ''): void {
    const item = this.delivered(key);
    if (item === null) return;
    item.taken = 'yes';
    item.takenIn = null;
    if (consumer !== '') this.checkSequence(item, consumer);
  }

  /** A dequeue outside transactions was sent and not answered. */
  takeUnknown(queue: string): void {
    this.unknownTakes.set(queue, (this.unknownTakes.get(queue) ?? 0) + 1);
  }

  /** Somebody was handed this message: its enqueue took effect, and nobody else may hold it. Null: it is nobody's message. */
  delivered(key: string): Item | null {
    const item = this.items.get(key);
    if (item === undefined) {
      this.violation(`${key}: delivered, and never enqueued`);
      return null;
    }
    if (item.taken === 'yes') this.violation(`${key}: delivered, and taken before`);
    if (item.gone) this.violation(`${key}: delivered, and a restart had come up without it`);
    if (item.put === 'refused')
      this.violation(`${key}: delivered, and its enqueue was refused or rolled back`);
    const holder = item.takenIn;
    if (holder?.state === 'open') this.violation(`${key}: delivered while an open transaction holds it`);
    if (holder?.state === 'committed') this.violation(`${key}: delivered after the commit of its dequeue`);
    if (holder?.state === 'committing') holder.gaveBack = true;
    if (item.putIn?.state === 'open') this.violation(`${key}: delivered before its transaction committed`);
    item.seen = true;
    return item;
  }

  violation(text: string): void {
    this.found.push(text);
  }

  /** How much was said, to see that a run had substance. */
  counts(): { puts: number; takes: number; unknown: number } {
    const items = [...this.items.values()];
    return {
      puts: items.filter((item) => item.put === 'there').length,
      takes: items.filter((item) => item.taken === 'yes').length,
      unknown: items.filter((item) => item.put === 'unknown' || item.taken === 'unknown').length,
    };
  }

  private checkSequence(item: Item, consumer: string): void {
    if (this.options.neverRolledBack?.includes(item.queue) !== true) return;
    const name = `${consumer} ${item.queue} ${item.stream}`;
    const last = this.lastSeen.get(name) ?? -1;
    if (item.number <= last) this.violation(`${item.key}: ${consumer} got it after number ${last}`);
    this.lastSeen.set(name, item.number);
  }
}
