// Commits and rollbacks of transactions with work in several queue spaces [DESIGN 6]: prepare in each log, the decision in the transaction
// log, then the outcome in all spaces in one turn, so that no reader sees half. Presumed abort: before the decision is durable everything may
// still be rolled back; from then on the outcome reaches every space, after a restart too. With work in one space there is one record.
import { assert } from '../base/assert.ts';
import { formatTransactionId, sameTransaction, type TransactionId } from '../base/transaction-id.ts';
import type { Ulog } from '../base/ulog.ts';
import { OUTCOME, QME, type Qme } from '../../proto/codes.ts';
import { ROLLED_BACK, type Cause } from '../queue/provenance.ts';
import type { Branch, PreparedFor } from '../queue/branches.ts';
import type { Participant } from '../xa/decisions.ts';
import type { Failure, Held, Work } from './request.ts';
import { compareHeuristics } from './heuristic.ts';
import type { SpaceEngine } from './space-engine.ts';
import type { Tlog } from './tlog.ts';

/** Queue spaces of one transaction [spec 3.3]. */
export const PARTICIPANTS_MAX = 16;

/** What a transaction does in one space. */
export interface Part {
  readonly engine: SpaceEngine;
  readonly work: Work;
}

/** An end of a transaction that is under way. */
export interface Ending {
  /** Exactly one of the two of `held` is called, once: when what it came to is durable, or when a log died under it. */
  hold(held: Held): void;
}

/** Nothing was done, so there is nothing to wait for. */
export const NOTHING: Ending = { hold: (held) => held.released() };

/** One of OUTCOME. */
export type Outcome = number;

export interface Recovered {
  readonly committed: number;
  readonly rolledBack: number;
  readonly inDoubt: number;
}

export class TwoPhase {
  /** null: there is none, and no transaction can have work in more than one space. Set once, before any space serves. */
  tlog: Tlog | null = null;
  private readonly underWay = new Set<Commitment>();
  private whenIdle: (() => void)[] = [];
  private engines: readonly SpaceEngine[] = [];
  private isComplete = false;

  /** Sets aside what another part needs, with those that are there already; OK, or why it cannot join. */
  join(parts: readonly Part[], joining: Part): Qme {
    if (parts.length === 0) return QME.OK;
    const { tlog } = this;
    if (tlog === null || tlog.failure !== null) return QME.QMESYSTEM;
    if (parts.length >= PARTICIPANTS_MAX) return QME.QMENOSPACE;
    const all = [...parts, joining];
    for (const { engine, work } of all) {
      if (engine.prepared.promise(work) !== QME.OK) return QME.QMENOSPACE;
    }
    if (!tlog.promise(all.map(participantOf))) return QME.QMENOSPACE;
    if (parts.length > 1) tlog.takeBack(parts.map(participantOf));
    return QME.OK;
  }

  /**
   * The parts that `join` let in commit, all or none; null: none can, and the caller rolls them back. `complete`: the ending is told when the
   * outcome is on disk everywhere [tpscmt].
   */
  commit(
    transaction: TransactionId,
    parts: readonly Part[],
    { remember, complete }: CommitTerms,
  ): Ending | null {
    const { tlog } = this;
    if (parts.length > 1) tlog?.takeBack(parts.map(participantOf));
    const changed = parts.filter(({ engine, work }) => engine.prepared.hasChanges(work));
    // The room was there until a moment ago: only a log that died since then refuses.
    if (changed.length > 1 && tlog?.promise(changed.map(participantOf)) !== true) return null;
    for (const { engine, work } of parts) {
      if (!engine.prepared.hasChanges(work)) engine.commit(work);
    }
    const [first] = changed;
    if (first === undefined) return NOTHING;
    if (changed.length === 1) {
      const batch = first.engine.commit(first.work, remember ? transaction : null);
      return { hold: (held) => first.engine.hold(batch, held) };
    }
    assert(tlog !== null, 'what works in several spaces was let in by a transaction log');
    const commitment = new Commitment({ transaction, parts: changed, tlog, complete }, () => {
      this.underWay.delete(commitment);
      if (this.underWay.size === 0) for (const resolve of this.whenIdle.splice(0)) resolve();
    });
    this.underWay.add(commitment);
    commitment.begin();
    return commitment;
  }

  /** `failure`: for requests that still wait in it. */
  rollback(parts: readonly Part[], failure: Failure, cause: Cause = ROLLED_BACK): Ending {
    const ends = parts.map(({ engine, work }) => ({ engine, batch: engine.rollback(work, failure, cause) }));
    return {
      hold: (held) => {
        const all = new HeldByAll(ends.length, held);
        for (const { engine, batch } of ends) engine.hold(batch, all);
      },
    };
  }

  /** What was set aside in the transaction log for these is not needed: they roll back. */
  giveUp(parts: readonly Part[]): void {
    if (parts.length > 1) this.tlog?.takeBack(parts.map(participantOf));
  }

  /** Whether the decision to commit is known here. */
  isCommitted({ transaction, tlog }: PreparedFor): boolean {
    return this.tlog?.decisions.choose({ transaction, tlog }) === 'commit';
  }

  private underWayOf(transaction: TransactionId): Commitment | undefined {
    return [...this.underWay].find((one) => sameTransaction(one.transaction, transaction));
  }

  /** Resolves when no commit is under way: at a stop, before the logs are closed. */
  idle(): Promise<void> {
    if (this.underWay.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.whenIdle.push(resolve));
  }

  /** All that was decided so far is on disk, in every space. */
  get allDurable(): Ending {
    const { engines } = this;
    return {
      hold: (held) => {
        const all = new HeldByAll(engines.length, held);
        for (const engine of engines) engine.hold(engine.journal.batch, all);
      },
    };
  }

  /** What became of a transaction that is not open any more. */
  outcomeOf(transaction: TransactionId): Outcome {
    const underWay = this.underWayOf(transaction);
    if (underWay !== undefined) return underWay.isDecided ? OUTCOME.COMMITTED : OUTCOME.OPEN;
    const known = this.engines.map(({ space }) => space.outcomes.of(transaction));
    if (this.tlog?.decisions.isCommitted(transaction) === true || known.includes('committed'))
      return OUTCOME.COMMITTED;
    if (this.engines.some(({ prepared }) => prepared.find(transaction) !== undefined))
      return OUTCOME.IN_DOUBT;
    const isKnown = this.isComplete && known.every((outcome) => outcome === 'not committed');
    return isKnown ? OUTCOME.ROLLED_BACK : OUTCOME.UNKNOWN;
  }

  /**
   * After a start, once all spaces are open that will be: ends every prepared branch whose outcome is known, and lists the others. Resolves
   * when the outcomes are durable.
   * @param isComplete no space is missing, so that what none of them knows did not happen
   */
  async recover(engines: readonly SpaceEngine[], ulog: Ulog, isComplete = true): Promise<Recovered> {
    this.engines = engines;
    this.isComplete = isComplete;
    const ended: { engine: SpaceEngine; batch: number }[] = [];
    const count = { committed: 0, rolledBack: 0, inDoubt: 0 };
    for (const engine of engines) {
      for (const branch of engine.prepared.list()) {
        const heuristic = engine.prepared.heuristicOf(branch);
        if (heuristic !== undefined) {
          ended.push({ engine, batch: engine.prepared.endAs(branch, heuristic) });
          continue;
        }
        const choice = this.choose(branch);
        if (choice === 'in doubt') {
          count.inDoubt++;
          warnOfDoubt(engine, branch, ulog);
          continue;
        }
        count[choice === 'commit' ? 'committed' : 'rolledBack']++;
        ended.push({ engine, batch: engine.prepared.end(branch, choice === 'commit') });
      }
      if (this.tlog !== null) compareHeuristics(engine, this.tlog.decisions);
    }
    await Promise.all(ended.map(({ engine, batch }) => durable(engine, batch)));
    this.forget(engines);
    return count;
  }

  private choose({ prepared }: Branch): 'commit' | 'rollback' | 'in doubt' {
    if (prepared === null || this.tlog === null) return 'in doubt';
    return this.tlog.decisions.choose(prepared);
  }

  /** Decisions of an earlier start: these spaces are done with them; those that did not open still need them. */
  private forget(engines: readonly SpaceEngine[]): void {
    const { tlog } = this;
    if (tlog === null) return;
    for (const { transaction } of tlog.decisions.list()) {
      for (const { space } of engines) tlog.ended(transaction, space.spaceId);
    }
  }
}

export interface CommitTerms {
  /** The logs say that this transaction committed, for a client that asks later. */
  readonly remember: boolean;
  readonly complete: boolean;
}

interface CommitmentOf {
  readonly transaction: TransactionId;
  readonly parts: readonly Part[];
  readonly tlog: Tlog;
  readonly complete: boolean;
}

/** One commit over several spaces. */
class Commitment implements Ending {
  readonly transaction: TransactionId;
  private readonly of: CommitmentOf;
  private readonly over: () => void;
  /** It is committed, durably. */
  isDecided = false;
  private held: Held | null = null;
  private result: 'released' | 'failed' | null = null;

  constructor(of: CommitmentOf, over: () => void) {
    this.transaction = of.transaction;
    this.of = of;
    this.over = over;
  }

  hold(held: Held): void {
    if (this.result === null) this.held = held;
    else if (this.result === 'released') held.released();
    else held.failed();
  }

  begin(): void {
    const { parts, tlog, transaction } = this.of;
    const prepared = new HeldByAll(parts.length, {
      released: () => this.decide(),
      failed: () => this.fail(),
    });
    const as = { transaction, tlog: tlog.decisions.tlog };
    const batches = parts.map(({ engine, work }) => engine.prepared.prepare(work, as));
    parts.forEach(({ engine }, i) => engine.hold(batches[i] as number, prepared));
  }

  private decide(): void {
    const { parts, tlog, transaction } = this.of;
    const participants = parts.map(participantOf);
    tlog.decide({ transaction, participants }, { released: () => this.end(), failed: () => this.fail() });
  }

  private end(): void {
    const { parts, tlog, transaction, complete } = this.of;
    this.isDecided = true;
    for (const { engine } of parts) engine.settlesLater = true;
    const batches = parts.map(({ engine, work }) => engine.prepared.end(work.branch, true));
    for (const { engine } of parts) engine.settlesLater = false;
    for (const { engine } of parts) engine.settle();
    const all = new HeldByAll(parts.length, { released: () => this.finish(), failed: () => this.finish() });
    parts.forEach(({ engine }, i) => {
      engine.hold(batches[i] as number, {
        released: () => {
          tlog.ended(transaction, engine.space.spaceId);
          all.released();
        },
        // The decision stays: the next start ends it there.
        failed: () => all.failed(),
      });
    });
    // It is committed whatever comes.
    if (!complete) this.tell('released');
  }

  /** A log died before the decision was known to be durable: the next start finds out. */
  private fail(): void {
    this.tell('failed');
    this.over();
  }
  private finish(): void {
    this.tell('released');
    this.over();
  }

  private tell(result: 'released' | 'failed'): void {
    if (this.result !== null) return;
    this.result = result;
    if (result === 'released') this.held?.released();
    else this.held?.failed();
  }
}

/** Released when all have been, failed with the first that failed. */
class HeldByAll implements Held {
  private left: number;
  private readonly inner: Held;
  private told = false;

  constructor(count: number, inner: Held) {
    this.left = count;
    this.inner = inner;
    if (count === 0) inner.released();
  }

  released(): void {
    this.left--;
    if (this.left > 0 || this.told) return;
    this.told = true;
    this.inner.released();
  }
  failed(): void {
    if (this.told) return;
    this.told = true;
    this.inner.failed();
  }
}

function participantOf({ engine: { space } }: Part): Participant {
  return { spaceId: space.spaceId, name: space.name };
}

function durable(engine: SpaceEngine, batch: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (): void => reject(new Error('the log failed while prepared transactions were ended'));
    engine.hold(batch, { released: resolve, failed });
  });
}

function warnOfDoubt(engine: SpaceEngine, { prepared, count, pending }: Branch, ulog: Ulog): void {
  if (prepared === null) return;
  const transaction = formatTransactionId(prepared.transaction);
  ulog.warn(
    `transaction ${transaction} in queue space ${engine.space.name} is in doubt: its outcome is in transaction log ${prepared.tlog}, ` +
      'which this daemon does not have; its messages stay as they are',
    { space: engine.space.name, transaction, tlog: prepared.tlog, taken: count, enqueued: pending.count },
  );
}
