// Prepared branches of one space [DESIGN 6]: a transaction's work becomes durable without being visible, and ends when the outcome is known,
// which may be after restarts. Room for both records is set aside before the work begins, so that a full disk stops no outcome.
import { sameTransaction, type TransactionId } from '../base/transaction-id.ts';
import type { Branch, PreparedFor } from '../queue/branches.ts';
import { QME, type Qme } from '../../proto/codes.ts';
import { BRANCH_BYTES, PREPARED_DEFINITION_BYTES } from './branch-record.ts';
import { REMOVAL_BYTES } from './record.ts';
import type { BatchNumber, Work } from './request.ts';
import type { SpaceEngine } from './space-engine.ts';

/** Of the log's preamble, how much definitions may not take. */
const PREAMBLE_SHARE = 1 / 2;

export class PreparedBranches {
  private readonly engine: SpaceEngine;
  /** Branches that are prepared or may be. */
  private promised = 0;

  constructor(engine: SpaceEngine) {
    this.engine = engine;
    const { space, journal } = engine;
    for (const branch of space.branches.prepared()) {
      this.promised++;
      journal.reserveAnyway(BRANCH_BYTES.ENDED);
      // Their removal is said by the outcome.
      journal.release(branch.locks * REMOVAL_BYTES);
    }
  }

  /** Sets aside what a work needs to be prepared and ended; OK, or QMENOSPACE. Once for each work. */
  promise(work: Work): Qme {
    if (work.promised) return QME.OK;
    const { journal, store } = this.engine;
    const preamble = (this.promised + 1) * PREPARED_DEFINITION_BYTES;
    if (preamble > store.describe().maxPreambleBytes * PREAMBLE_SHARE) return QME.QMENOSPACE;
    if (!journal.reserveSmall(BRANCH_BYTES.PREPARED + BRANCH_BYTES.ENDED)) return QME.QMENOSPACE;
    work.promised = true;
    this.promised++;
    return QME.OK;
  }
  /** The work ends without having been prepared. */
  takeBack(work: Work): void {
    if (!work.promised) return;
    work.promised = false;
    this.promised--;
    this.engine.journal.release(BRANCH_BYTES.PREPARED + BRANCH_BYTES.ENDED);
  }

  /** Whether there is anything to prepare; without, the work may simply end. */
  hasChanges(work: Work): boolean {
    return work.messages > 0 || work.branch.locks > 0;
  }

  /** Makes a promised work durable and invisible; returns the batch to wait for. */
  prepare(work: Work, as: PreparedFor): BatchNumber {
    const { engine } = this;
    const { journal } = engine;
    if (journal.failure !== null) return journal.batch;
    const { branch } = work;
    const { transaction, tlog } = as;
    const enqueued = work.records.count;
    engine.say({ kind: 'branchPrepared', branch: branch.number, transaction, tlog, enqueued });
    journal.changed(BRANCH_BYTES.PREPARED);
    engine.enqueues.prepare(work);
    engine.run({ kind: 'prepare', branch: branch.number });
    engine.settle();
    return journal.batch;
  }

  /** Ends a prepared branch; returns the batch to wait for. */
  end(branch: Branch, committed: boolean): BatchNumber {
    const { engine } = this;
    const { journal } = engine;
    const { prepared, number } = branch;
    if (journal.failure !== null || prepared === null) return journal.batch;
    const { transaction } = prepared;
    if (!committed) this.giveBack(branch);
    engine.run({ kind: 'end', branch: number, transaction, committed });
    journal.changed(BRANCH_BYTES.ENDED);
    this.promised--;
    engine.settle();
    return journal.batch;
  }

  /** This transaction's. */
  find(transaction: TransactionId): Branch | undefined {
    return this.list().find(
      ({ prepared }) => prepared !== null && sameTransaction(prepared.transaction, transaction),
    );
  }
  list(): Branch[] {
    return this.engine.space.branches.prepared();
  }

  /** What it took goes back by the rules of a rollback [spec 2.6]; what it enqueued needs no removal any more. */
  private giveBack(branch: Branch): void {
    const { engine } = this;
    const { journal } = engine;
    journal.reserveAnyway(branch.locks * REMOVAL_BYTES);
    engine.rollbackEntries(branch);
    journal.release(branch.pending.count * REMOVAL_BYTES);
  }
}
