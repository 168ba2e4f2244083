// Which transactions committed, so that a client whose commit lost its answer can ask. The last ones are remembered; of those before them
// only the greatest id is, so that "not known here" is told from "never committed". Filled by apply, from the log like everything else.
import { NO_TRANSACTION, notAfter, sameTransaction, type TransactionId } from '../base/transaction-id.ts';

/** Remembered: ten seconds and more at any rate this program reaches; 16 bytes each. */
const KEPT = 262_144;
const FIRST_ROOM = 1024;

export type Outcome = 'committed' | 'not committed' | 'forgotten';

export class Outcomes {
  /** Where the next one goes. */
  private next = 0;
  private count = 0;
  private starts = new Float64Array(FIRST_ROOM);
  private serials = new Float64Array(FIRST_ROOM);
  /** The greatest id that was ever noted. */
  private greatest: TransactionId = NO_TRANSACTION;
  /** No id up to this one is said never to have committed. */
  private forgotten: TransactionId = NO_TRANSACTION;
  private begun = false;

  note(id: TransactionId): void {
    this.begun = true;
    if (this.count === this.starts.length) {
      if (this.count < KEPT) this.grow();
      else
        this.forget({ start: this.starts[this.next] as number, serial: this.serials[this.next] as number });
    }
    this.starts[this.next] = id.start;
    this.serials[this.next] = id.serial;
    this.next = (this.next + 1) % this.starts.length;
    this.count = Math.min(this.count + 1, this.starts.length);
    if (notAfter(this.greatest, id)) this.greatest = id;
  }

  /**
   * What a log or a checkpoint begins with: those that it says, and that up to `forgotten` more may have committed. In the middle of a log
   * it says nothing new.
   */
  begin(forgotten: TransactionId, ids: readonly TransactionId[]): void {
    if (this.begun) return;
    this.begun = true;
    this.forgotten = forgotten;
    this.greatest = forgotten;
    for (const id of ids) this.note(id);
  }

  of(id: TransactionId): Outcome {
    for (let i = this.count - 1; i >= 0; i--) {
      if (sameTransaction(this.at(i), id)) return 'committed';
    }
    return notAfter(id, this.forgotten) ? 'forgotten' : 'not committed';
  }

  /** Up to which id a log that begins now may leave some out. */
  get through(): TransactionId {
    return this.greatest;
  }
  /** Up to which id some may be left out that committed. */
  get forgottenThrough(): TransactionId {
    return this.forgotten;
  }
  /** How many are remembered. */
  get size(): number {
    return this.count;
  }

  /** The i-th of those that are remembered, the oldest first. */
  at(i: number): TransactionId {
    const size = this.starts.length;
    const slot = (this.next - this.count + i + size) % size;
    return { start: this.starts[slot] as number, serial: this.serials[slot] as number };
  }

  private forget(id: TransactionId): void {
    if (notAfter(this.forgotten, id)) this.forgotten = id;
  }

  private grow(): void {
    // It is full and starts at 0: what is there stays where it is.
    const size = Math.min(KEPT, this.starts.length * 4);
    const [starts, serials] = [new Float64Array(size), new Float64Array(size)];
    starts.set(this.starts);
    serials.set(this.serials);
    this.next = this.count;
    this.starts = starts;
    this.serials = serials;
  }
}
