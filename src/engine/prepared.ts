// Prepared branches of one space [DESIGN 6]: a transaction's work becomes durable without being visible, and ends when the outcome is known,
// which may be after restarts. Room for both records is set aside before the work begins, so that a full disk stops no outcome.
import { NONE } from '../base/column.ts';
import { sameTransaction, type TransactionId } from '../base/transaction-id.ts';
import { beginEnd, endOne } from '../queue/apply.ts';
import type { Branch, PreparedFor } from '../queue/branches.ts';
import type { BranchEnded, Heuristic } from '../queue/event.ts';
import { isLooked, isRetained } from '../queue/aq.ts';
import { heldIn, locked } from '../queue/prepared.ts';
import { ROLLED_BACK } from '../queue/provenance.ts';
import { QME, type Qme } from '../../proto/codes.ts';
import { HEURISTIC_BYTES } from './admin-record.ts';
import { BRANCH_BYTES, PREPARED_DEFINITION_BYTES } from './branch-record.ts';
import type { Given, Steps } from './endings.ts';
import { compareHeuristic } from './heuristic.ts';
import { encodeEvent, REMOVAL_BYTES } from './record.ts';
import { RecordBuffer } from './record-buffer.ts';
import type { BatchNumber, Work } from './request.ts';
import type { SpaceEngine } from './space-engine.ts';

/** Of the log's preamble, how much definitions may not take. */
const PREAMBLE_SHARE = 1 / 2;

export class PreparedBranches {
  private readonly engine: SpaceEngine;
  /** Branches that are prepared or may be. */
  private promised = 0;
  /** Those that are being prepared in slices: they can be ended when that is over. */
  private readonly preparing = new Set<Branch>();
  /** Those that an administrator ended: that may take a while, and nobody ends them again. */
  private readonly decided = new WeakSet<Branch>();

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
    const { size } = this.engine.space.heuristics;
    const preamble = (this.promised + size + 1) * PREPARED_DEFINITION_BYTES;
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
    // What it locked without consuming it is free from now on: whatever comes of it changes nothing there.
    for (const entry of heldIn(engine.space, branch, isLooked)) engine.run({ kind: 'unhold', entry });
    if (engine.endings.isLarge(work.messages + branch.locks)) {
      // Nobody sees what is walked; but who wants a place among what it puts before others waits.
      this.preparing.add(branch);
      const queues = work.placements.length > 0 ? work.queues.keys() : [];
      return engine.endings.begin({ queues, steps: this.prepareSteps(work, as) });
    }
    this.sayPrepared(work, as);
    engine.enqueues.prepare(work);
    engine.run({ kind: 'prepare', branch: branch.number });
    engine.settle();
    return journal.batch;
  }

  /**
   * The outcome of a prepared branch has come: ends it; returns the batch to wait for. When it returns nobody sees the state before any more, nor
   * half of that after. An administrator may have been before it: then it is compared with what he decided.
   */
  end(branch: Branch, committed: boolean): BatchNumber {
    const { engine } = this;
    const heuristic = this.heuristicOf(branch);
    if (heuristic === undefined) return this.endNow(branch, committed);
    compareHeuristic(engine, heuristic, committed);
    return engine.journal.batch;
  }

  /**
   * An administrator ends a prepared branch, one of `list`, by his own decision, which is remembered until its outcome comes [spec 5.2].
   * Refused with QMENOSPACE when the log has no room to remember it, with QMESHARE when the other was decided, and a process that carried it out
   * ended in the middle.
   */
  decideHeuristically(branch: Branch, committed: boolean): { code: Qme; batch: BatchNumber } {
    const { engine } = this;
    const { prepared } = branch;
    if (engine.journal.failure !== null || prepared === null) return { code: QME.QMESYSTEM, batch: 0 };
    const before = this.heuristicOf(branch);
    if (before !== undefined && before.committed !== committed) return { code: QME.QMESHARE, batch: 0 };
    const heuristic: Heuristic = { kind: 'heuristic', ...prepared, committed, compared: false };
    if (before === undefined) {
      if (!engine.reserveChange(HEURISTIC_BYTES)) return { code: QME.QMENOSPACE, batch: 0 };
      engine.say(heuristic);
    }
    return { code: QME.OK, batch: this.endAs(branch, heuristic) };
  }

  /** After a start: what an administrator had decided about it when the process before ended. */
  heuristicOf({ prepared }: Branch): Heuristic | undefined {
    return prepared === null ? undefined : this.engine.space.heuristics.find(prepared.transaction);
  }
  endAs(branch: Branch, { committed }: Heuristic): BatchNumber {
    this.decided.add(branch);
    return this.endNow(branch, committed);
  }

  private endNow(branch: Branch, committed: boolean): BatchNumber {
    const { engine } = this;
    const { journal } = engine;
    const { prepared, number } = branch;
    if (journal.failure !== null || prepared === null) return journal.batch;
    const { transaction } = prepared;
    if (committed) this.keepRetained(branch);
    if (engine.endings.isLarge(branch.locks + branch.pending.count)) {
      return this.walkEnd(branch, { kind: 'branchEnded', branch: number, transaction, committed });
    }
    if (!committed) {
      this.reserveRemovals(branch);
      engine.endings.giveBackAtOnce(branch, ROLLED_BACK);
      this.releasePending(branch);
    }
    engine.run({ kind: 'end', branch: number, transaction, committed });
    this.hasEnded();
    engine.settle();
    return journal.batch;
  }

  /** What a queue keeps of what it consumed stays, in the same batch [oracle-aq 6.5]. */
  private keepRetained(branch: Branch): void {
    const { engine } = this;
    for (const entry of heldIn(engine.space, branch, isRetained)) {
      // It will be removed some day.
      engine.journal.reserveAnyway(REMOVAL_BYTES);
      engine.run({ kind: 'take', entry, branch: NONE, aq: engine.aqTerms });
    }
  }

  /** This transaction's. */
  find(transaction: TransactionId): Branch | undefined {
    return this.list().find(
      ({ prepared }) => prepared !== null && sameTransaction(prepared.transaction, transaction),
    );
  }
  list(): Branch[] {
    const { preparing, decided } = this;
    const { branches } = this.engine.space;
    return branches.prepared().filter((branch) => !preparing.has(branch) && !decided.has(branch));
  }

  private sayPrepared({ branch, records }: Work, { transaction, tlog }: PreparedFor): void {
    const { engine } = this;
    const enqueued = records.count;
    engine.say({ kind: 'branchPrepared', branch: branch.number, transaction, tlog, enqueued });
    engine.journal.changed(BRANCH_BYTES.PREPARED);
  }

  private hasEnded(): void {
    this.engine.journal.changed(BRANCH_BYTES.ENDED);
    this.promised--;
  }

  /** What a rolled back branch took is there again, and will be removed some day. */
  private reserveRemovals(branch: Branch): void {
    this.engine.journal.reserveAnyway(branch.locks * REMOVAL_BYTES);
  }
  /** What it enqueued needs no removal any more. */
  private releasePending(branch: Branch): void {
    this.engine.journal.release(branch.pending.count * REMOVAL_BYTES);
  }

  /** What it took is encoded first, then everything is in the log in one piece, then it is applied. */
  private *prepareSteps(work: Work, as: PreparedFor): Steps {
    const { engine } = this;
    const { endings, journal } = engine;
    const joins = new RecordBuffer();
    let done = 0;
    for (const event of locked(engine.space, work.branch)) {
      if (event.persistent) encodeEvent(joins, event);
      if (endings.isPause(++done)) yield;
    }
    const batch = endings.beginApplying(NONE);
    if (work.placements.length > 0) journal.keepOpen(true);
    this.sayPrepared(work, as);
    const arrivals = engine.enqueues.beginSteps(work, work.branch.number);
    if (joins.count > 0) journal.records.adopt(joins);
    journal.changed(joins.count * REMOVAL_BYTES);
    yield;
    for (const _ of arrivals) if (endings.isPause(++done)) yield;
    journal.keepOpen(false);
    endings.endApplying();
    this.preparing.delete(work.branch);
    return batch;
  }

  private walkEnd(branch: Branch, event: BranchEnded): BatchNumber {
    const { endings } = this.engine;
    if (event.committed)
      return endings.begin({ queues: endings.queuesOf(branch), steps: this.endSteps(branch, event) });
    const steps = this.rollbackSteps(branch, event, endings.givenNow(branch, ROLLED_BACK));
    return endings.begin({ queues: endings.queuesOfRollback(branch), steps });
  }

  /** Until its outcome is in the log it is a prepared branch: after a crash it is rolled back once more, what is left of it. */
  private *rollbackSteps(branch: Branch, event: BranchEnded, given: Given): Steps {
    this.reserveRemovals(branch);
    yield* this.engine.endings.giveBack(branch, given);
    this.releasePending(branch);
    return yield* this.endSteps(branch, event);
  }

  /** One record, whose effect is walked. */
  private *endSteps(branch: Branch, event: BranchEnded): Steps {
    const { engine } = this;
    const { space, endings } = engine;
    const batch = endings.beginApplying(branch.number);
    engine.announce(event);
    this.hasEnded();
    beginEnd(space, event);
    let done = 0;
    while (endOne(space, branch, event.committed)) if (endings.isPause(++done)) yield;
    endings.endApplying();
    space.branches.close(branch);
    return batch;
  }
}
