// Where a message on the error queue came from, why, when, and how often [spec 2.6, D]: of the entries that were ever moved to one, and of no
// others. Rows are found by entry, through an index of their own, so that no other table has a column for them; whether an entry has a row
// says its row of the detail table. The name of a queue that is gone is known as long as a message came from it. Nothing here decides.
import { qmeName, tperrnoName } from '../../proto/codes.ts';
import { f64Column, NONE, RowAllocator, u32Column, u8Column } from '../base/column.ts';
import { HashIndex, hashWords } from '../base/hash-index.ts';
import type { MessageId } from './message.ts';
import type { MessageTable } from './tables.ts';

/** Why a dequeue was rolled back for the last time. A number is never changed or reused: it is in the log. */
export const REASON = {
  /** By the application, or by nobody in particular. */
  ROLLBACK: 1,
  /** The time of its transaction was over. */
  TIMEOUT: 2,
  /** The connection of its transaction ended. */
  DISCONNECT: 3,
  /** A request in its transaction failed in a way that ends it [spec 2.3]. */
  FAILURE: 4,
  /** The forwarder's call of the service failed: TPENOENT, TPESVCFAIL, TPESVCERR, TPETIME, or in any other way. */
  NO_SERVICE: 5,
  SERVICE_FAILED: 6,
  SERVICE_ERROR: 7,
  SERVICE_TIMEOUT: 8,
  CALL: 9,
  /** The forwarder had the service's reply, and could not queue it. */
  REPLY: 10,
  /** AQ: attempts above max_retries; its expiration; its propagation failed for good [oracle-aq 6.3]. */
  MAX_RETRIES: 11,
  TIME_EXPIRATION: 12,
  PROPAGATION: 13,
} as const;
export type Reason = (typeof REASON)[keyof typeof REASON];

/** As people and programs write it. */
const WORDS: Readonly<Record<Reason, string>> = {
  [REASON.ROLLBACK]: 'rollback',
  [REASON.TIMEOUT]: 'timeout',
  [REASON.DISCONNECT]: 'disconnect',
  [REASON.FAILURE]: 'failure',
  [REASON.NO_SERVICE]: 'no-service',
  [REASON.SERVICE_FAILED]: 'service-failed',
  [REASON.SERVICE_ERROR]: 'service-error',
  [REASON.SERVICE_TIMEOUT]: 'service-timeout',
  [REASON.CALL]: 'call',
  [REASON.REPLY]: 'reply',
  [REASON.MAX_RETRIES]: 'max-retries',
  [REASON.TIME_EXPIRATION]: 'expiration',
  [REASON.PROPAGATION]: 'propagation',
};
export const REASON_WORDS: readonly string[] = Object.values(WORDS);

/** undefined: there is no such reason. */
export function reasonOfWord(word: string): Reason | undefined {
  return Object.values(REASON).find((reason) => WORDS[reason] === word);
}

export function reasonWord(reason: Reason): string {
  // A later release may have more of them.
  return WORDS[reason] ?? `reason-${reason}`;
}

/** Why a dequeue is rolled back. */
export interface Cause {
  readonly reason: Reason;
  /** The tperrno (above 0) or QME diagnostic (below 0) that goes with it; 0: none. */
  readonly code: number;
  /** What the service gave tpreturn as its rcode. */
  readonly rcode: number;
}
/** The code that goes with a reason by its name, or '' when none does. */
export function codeName(code: number): string {
  if (code === 0) return '';
  return code < 0 ? qmeName(code) : tperrnoName(code);
}
export const ROLLED_BACK: Cause = { reason: REASON.ROLLBACK, code: 0, rcode: 0 };

export interface Provenance extends Cause {
  /** The queue it was moved from, by number, and the name of that. */
  readonly queue: number;
  readonly name: string;
  /** Its id there. */
  readonly id: MessageId;
  /** How often it had been retried there. */
  readonly retries: number;
  /** Wall instant of the move. */
  readonly atMs: number;
  /** How often it has been moved to an error queue, this one included. */
  readonly count: number;
}

export class ProvenanceTable extends HashIndex {
  private readonly messages: MessageTable;
  private readonly entry = u32Column();
  private readonly queue = u32Column();
  /** Packed. */
  private readonly idHigh = u32Column();
  private readonly idLow = u32Column();
  private readonly reason = u8Column();
  /** Two's complement. */
  private readonly code = u32Column();
  private readonly rcode = f64Column();
  private readonly retries = u32Column();
  private readonly atMs = f64Column();
  private readonly count = u32Column();
  private readonly rows: RowAllocator;
  /** Names of queues by number, and how many rows need them. */
  private readonly names = new Map<number, { readonly name: string; rows: number }>();
  private wanted = NONE;

  constructor(messages: MessageTable) {
    super();
    this.messages = messages;
    this.rows = new RowAllocator(this.entry, (row) => {
      for (const column of this.columns()) column.ensure(row);
    });
  }

  /** Instead of what was known of this entry. */
  set(entry: number, provenance: Provenance): void {
    this.remember(provenance);
    let row = this.find(entry);
    if (row === NONE) {
      row = this.rows.take();
      this.entry.set(row, entry);
      this.add(row);
    } else {
      this.forget(this.queue.get(row));
    }
    const id = this.messages.pack(provenance.id);
    this.queue.set(row, provenance.queue);
    this.idHigh.set(row, id.high);
    this.idLow.set(row, id.low);
    this.reason.set(row, provenance.reason);
    this.code.set(row, provenance.code >>> 0);
    this.rcode.set(row, provenance.rcode);
    this.retries.set(row, provenance.retries);
    this.atMs.set(row, provenance.atMs);
    this.count.set(row, provenance.count);
  }

  /** Assumes: the entry has a row. */
  of(entry: number): Provenance {
    const row = this.find(entry);
    const queue = this.queue.get(row);
    return {
      queue,
      name: this.names.get(queue)?.name ?? '',
      id: this.messages.unpack({ high: this.idHigh.get(row), low: this.idLow.get(row) }),
      reason: this.reason.get(row) as Reason,
      code: this.code.get(row) | 0,
      rcode: this.rcode.get(row),
      retries: this.retries.get(row),
      atMs: this.atMs.get(row),
      count: this.count.get(row),
    };
  }

  /** Assumes: the entry has a row. */
  drop(entry: number): void {
    const row = this.find(entry);
    this.forget(this.queue.get(row));
    this.remove(row);
    this.rows.give(row);
  }

  override get bytes(): number {
    return super.bytes + this.columns().reduce((sum, column) => sum + column.bytes, 0);
  }

  protected hashOf(row: number): number {
    return hashWords(this.entry.get(row), 0);
  }
  protected matches(row: number): boolean {
    return this.entry.get(row) === this.wanted;
  }

  private find(entry: number): number {
    this.wanted = entry;
    return this.lookup(hashWords(entry, 0));
  }

  private remember({ queue, name }: Provenance): void {
    const known = this.names.get(queue);
    if (known === undefined) this.names.set(queue, { name, rows: 1 });
    else known.rows++;
  }
  private forget(queue: number): void {
    const known = this.names.get(queue);
    if (known === undefined) return;
    known.rows--;
    if (known.rows === 0) this.names.delete(queue);
  }

  private columns() {
    const { entry, queue, idHigh, idLow, reason, code, rcode, retries, atMs, count } = this;
    return [entry, queue, idHigh, idLow, reason, code, rcode, retries, atMs, count];
  }
}
