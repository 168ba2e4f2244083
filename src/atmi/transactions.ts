// Transactions of the domain [spec 2.3, 3.3]. A transaction belongs to the client that began it and ends with its connection; it has a part
// in each queue space that it works in, and the engine's two-phase commit ends them as one. A transaction that timed out, or that a failure
// made rollback-only, is rolled back at once and remembered until its initiator ends it: requests in it get TPETIME, its commit TPEABORT.
// Nothing revives an ended transaction.
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { Branch } from '../queue/branches.ts';
import { TimerQueue, type Deadline } from '../base/timer-queue.ts';
import { sameTransaction, type TransactionId } from '../base/transaction-id.ts';
import { JOINED_TX, OUTCOME, QME, TP_CMT, TPERRNO, type Qme } from '../../proto/codes.ts';
import type { Failure, Work } from '../engine/request.ts';
import type { SpaceEngine } from '../engine/space-engine.ts';
import { REASON, ROLLED_BACK, type Cause } from '../queue/provenance.ts';
import {
  NOTHING,
  PARTICIPANTS_MAX,
  type Ending,
  type Outcome,
  type Part,
  TwoPhase,
} from '../engine/two-phase.ts';
import type { Client } from './client.ts';

/** "The largest value the system supports" [tpbegin], in seconds: its milliseconds are exact on any clock. Larger ones are taken as this. */
const TIMEOUT_MAX_S = 8_000_000_000_000;
const TWO_32 = 2 ** 32;
/** The numbers above are those of joined transactions [PROTOCOL 7]. */
const NUMBER_MAX = JOINED_TX - 1;

/** Something that ends with a transaction: a call in it that has no answer yet, or its suspension. */
export interface Dependent {
  /** Its time is over (TPETIME), or whoever began it gave it up (TPGOTSIG). */
  over(failure: Failure): void;
}

export class Transaction {
  /** On the connection of its owner. */
  number: number;
  /** null: the daemon's own, e.g. a forwarder's, or a suspended one. */
  owner: Client | null;
  /** Calls in it that its owner or a service in it made and that have no answer. */
  readonly calls = new Set<Dependent>();
  /** Its suspensions, also those that are over by tpresume; made with the first. */
  suspensions: Set<Dependent> | null = null;
  /**
   * One of TP_CMT: when tpcommit is to return, with the decision or with the outcome in every space. Over one space both are one. null: as
   * the daemon is configured.
   */
  commitReturn: number | null = null;
  state: 'active' | 'rollback-only' | 'ended' = 'active';
  /** For its whole life and after. */
  readonly id: TransactionId;
  /** What it does, by queue space. */
  parts: Part[] = [];
  deadline: Deadline | null = null;
  /** A forwarder's. */
  isOwn = false;
  /** Of the rollback that a time-out or a failure brought about: whoever ends the transaction then is answered when that is on disk. */
  undone: Ending = NOTHING;

  constructor(id: TransactionId, number: number, owner: Client | null) {
    this.id = id;
    this.number = number;
    this.owner = owner;
  }

  /** What it does in the only space that it works in. */
  get work(): Work | null {
    return this.parts[0]?.work ?? null;
  }
}

/** Why a transaction cannot work in another queue space. */
export interface NotEnlisted {
  readonly failure: Qme;
  readonly message: string;
}

/**
 * Failures that make the caller's transaction rollback-only, in one table [spec 2.3, "Effect of failure"]; all others leave it usable.
 */
const FATAL: ReadonlySet<Failure> = new Set([
  TPERRNO.TPETIME,
  TPERRNO.TPEOTYPE,
  TPERRNO.TPESYSTEM,
  TPERRNO.TPEOS,
  TPERRNO.TPESVCERR,
  TPERRNO.TPESVCFAIL,
  QME.QMEABORTED,
  QME.QMESYSTEM,
  QME.QMEOS,
]);

export interface TransactionLimits {
  /** MAXGTT: simultaneous transactions. */
  readonly maxGtt: number;
  /** MAXTRANTIME in seconds, 0: no ceiling. */
  readonly maxTranTimeS: number;
  /** CMTRET: one of TP_CMT, for callers that do not say; TP_CMT_COMPLETE when it is not given. */
  readonly commitReturn?: number;
}

export interface TransactionParts {
  readonly twoPhase?: TwoPhase;
  /** 16 random bits, so that two starts in one millisecond differ. */
  readonly chance?: number;
  /** The number before the first one that is given out. */
  readonly last?: number;
}

/** How transactions ended since the start, each counted once; not those in which a forwarder found nothing. */
export interface TransactionCounts {
  committed: number;
  /** Asked for, or because a connection ended. */
  rolledBack: number;
  timedOut: number;
  /** Made rollback-only by a failure, or could not be committed. */
  failed: number;
}

export class Transactions {
  readonly counts: TransactionCounts = { committed: 0, rolledBack: 0, timedOut: 0, failed: 0 };
  private readonly clock: Clock;
  private readonly limits: TransactionLimits;
  private readonly timers: TimerQueue;
  private readonly open = new Set<Transaction>();
  private readonly twoPhase: TwoPhase;
  /** Parts of every id: when the daemon started, and 16 random bits. */
  private readonly start: number;
  private readonly chance: number;
  private serial = 0;
  private last: number;
  private stopping = false;

  constructor(
    clock: Clock,
    limits: TransactionLimits,
    { twoPhase = new TwoPhase(), chance = 0, last = 0 }: TransactionParts = {},
  ) {
    this.clock = clock;
    this.limits = limits;
    this.twoPhase = twoPhase;
    this.start = clock.wallMs();
    this.chance = chance;
    this.last = last;
    this.timers = new TimerQueue(clock);
  }

  /** Whose part of an open transaction that is; null: nobody's. */
  ofBranch(branch: Branch): TransactionId | null {
    for (const { id, parts } of this.open) if (parts.some(({ work }) => work.branch === branch)) return id;
    return null;
  }

  get count(): number {
    return this.open.size;
  }

  /** tpbegin for a client; null: MAXGTT is reached (TPENOENT, spec 8.4). `timeoutS` 0: the largest the system supports. */
  begin(client: Client, timeoutS: number): Transaction | null {
    if (this.open.size >= this.limits.maxGtt) return null;
    const transaction = this.create(client);
    client.transactions.set(transaction.number, transaction);
    this.arm(transaction, timeoutS);
    return transaction;
  }

  /** AUTOTRAN: the daemon's own, for a service; null: MAXGTT is reached. */
  beginFor(timeoutS: number): Transaction | null {
    if (this.open.size >= this.limits.maxGtt) return null;
    const transaction = this.create(null);
    this.arm(transaction, timeoutS);
    return transaction;
  }

  /** tpsuspend: it is on no connection any more, and its time runs on. */
  detach(transaction: Transaction): void {
    transaction.owner?.transactions.delete(transaction.number);
    transaction.owner = null;
  }

  /** tpresume: it is this client's now, under a number of that connection. */
  attach(transaction: Transaction, client: Client): void {
    transaction.number = this.nextNumber(client);
    transaction.owner = client;
    client.transactions.set(transaction.number, transaction);
  }

  /** A transaction of the daemon's own; it has a time limit and counts against MAXGTT from `arm` on. */
  beginOwn(): Transaction {
    const transaction = this.create(null);
    transaction.isOwn = true;
    return transaction;
  }

  /** Starts the time limit of a transaction. */
  arm(transaction: Transaction, timeoutS: number): void {
    this.open.add(transaction);
    const ceiling = this.limits.maxTranTimeS === 0 ? TIMEOUT_MAX_S : this.limits.maxTranTimeS;
    const seconds = Math.min(timeoutS === 0 ? TIMEOUT_MAX_S : timeoutS, ceiling);
    transaction.deadline = this.timers.set(this.clock.monoMs() + seconds * 1000, () => {
      transaction.deadline = null;
      this.doom(transaction, TPERRNO.TPETIME);
      // After another failure a service may go on to its end, and say itself what became of it; now nobody waits any more.
      tellDependents(transaction, TPERRNO.TPETIME);
    });
  }

  /** The work of this transaction in this space, begun on first use. */
  enlist(transaction: Transaction, engine: SpaceEngine): Work | NotEnlisted {
    const { parts } = transaction;
    const known = parts.find((part) => part.engine === engine);
    if (known !== undefined) return known.work;
    const part = { engine, work: engine.openWork() };
    const failure = this.twoPhase.join(parts, part);
    if (failure !== QME.OK) {
      engine.rollback(part.work, failure);
      return { failure, message: whyNot(failure, engine.space.name) };
    }
    parts.push(part);
    return part.work;
  }

  /** The same for a new transaction. */
  enlistFirst(transaction: Transaction, engine: SpaceEngine): Work {
    const work = this.enlist(transaction, engine);
    assert(!('failure' in work), 'a new transaction works nowhere else');
    return work;
  }

  /** Takes note that a request of this transaction failed; some failures end it. */
  failed(transaction: Transaction, failure: Failure): void {
    if (FATAL.has(failure)) this.doom(transaction, failure);
  }

  /** Nothing of it can be committed any more: rolled back, and TPETIME to whoever works in it until it is ended. */
  spoil(transaction: Transaction): void {
    this.doom(transaction, TPERRNO.TPGOTSIG);
  }

  /** tpcommit. null: it could not be committed and has been rolled back (TPEABORT), see its `undone`. */
  commit(transaction: Transaction): Ending | null {
    const { parts } = transaction;
    // Its time may be over before the timer's turn has come.
    if (transaction.deadline !== null && this.clock.monoMs() >= transaction.deadline.atMs) {
      this.doom(transaction, TPERRNO.TPETIME);
    }
    if (transaction.state === 'rollback-only') {
      this.end(transaction);
      return null;
    }
    if (parts.some(({ work }) => work.waiting.size > 0)) {
      this.doom(transaction, TPERRNO.TPGOTSIG);
      this.end(transaction);
      return null;
    }
    const remember = transaction.owner !== null;
    const when = transaction.commitReturn ?? this.limits.commitReturn;
    const complete = when !== TP_CMT.TP_CMT_LOGGED;
    this.end(transaction);
    const ending = this.twoPhase.commit(transaction.id, parts, { remember, complete });
    if (ending === null) {
      this.counts.failed++;
      transaction.undone = this.twoPhase.rollback(parts, QME.QMESYSTEM);
    } else this.counts.committed++;
    return ending;
  }

  /** tpabort, or the end of the connection. `cause`: kept with messages that move to the error queue. */
  rollback(transaction: Transaction, cause: Cause = ROLLED_BACK): Ending {
    if (transaction.state !== 'active') {
      this.end(transaction);
      return transaction.undone;
    }
    const { parts } = transaction;
    // One without a time limit is a forwarder's that has no message.
    if (transaction.deadline !== null) this.counts.rolledBack++;
    this.end(transaction);
    return this.stopping ? NOTHING : this.undo(parts, TPERRNO.TPGOTSIG, cause);
  }

  /** What became of a transaction, also one of an earlier start. */
  outcomeOf(id: TransactionId): Outcome {
    for (const one of this.open) {
      if (sameTransaction(one.id, id)) return one.state === 'active' ? OUTCOME.OPEN : OUTCOME.ROLLED_BACK;
    }
    return this.twoPhase.outcomeOf(id);
  }
  /** What can be seen now is on disk. */
  get allDurable(): Ending {
    return this.twoPhase.allDurable;
  }

  /** Rolls back everything that this client left open. */
  clientGone(client: Client): void {
    for (const transaction of client.transactions.values()) this.rollback(transaction, DISCONNECTED);
  }

  /**
   * The daemon stops: what is still open ends without a trace, as in a crash, so that a stop counts as no attempt [DESIGN 3]. What was
   * locked is there at the next start.
   */
  stop(): void {
    this.stopping = true;
    this.timers.close();
  }

  private create(owner: Client | null): Transaction {
    this.serial++;
    const id = { start: this.start, serial: this.chance * TWO_32 + this.serial };
    return new Transaction(id, this.nextNumber(owner), owner);
  }

  private nextNumber(owner: Client | null): number {
    do this.last = this.last >= NUMBER_MAX ? 1 : this.last + 1;
    while (owner?.transactions.has(this.last) === true);
    return this.last;
  }

  private doom(transaction: Transaction, failure: Failure): void {
    if (transaction.state !== 'active' || this.stopping) return;
    transaction.state = 'rollback-only';
    if (failure === TPERRNO.TPETIME) this.counts.timedOut++;
    else this.counts.failed++;
    this.disarm(transaction);
    const { parts } = transaction;
    transaction.parts = [];
    transaction.undone = this.undo(parts, failure, causeOf(transaction, failure));
  }

  private end(transaction: Transaction): void {
    transaction.state = 'ended';
    this.disarm(transaction);
    transaction.parts = [];
    this.open.delete(transaction);
    transaction.owner?.transactions.delete(transaction.number);
    tellDependents(transaction, TPERRNO.TPGOTSIG);
  }

  private undo(parts: readonly Part[], failure: Failure, cause: Cause): Ending {
    this.twoPhase.giveUp(parts);
    return this.twoPhase.rollback(parts, failure, cause);
  }

  private disarm(transaction: Transaction): void {
    if (transaction.deadline !== null) this.timers.cancel(transaction.deadline);
    transaction.deadline = null;
  }
}

const DISCONNECTED: Cause = { reason: REASON.DISCONNECT, code: 0, rcode: 0 };

/** Of a transaction that a failure ends, or that its time does: a forwarder's is up when its service did not answer. */
function causeOf({ isOwn }: Transaction, failure: Failure): Cause {
  if (failure !== TPERRNO.TPETIME) return { reason: REASON.FAILURE, code: failure, rcode: 0 };
  return { reason: isOwn ? REASON.SERVICE_TIMEOUT : REASON.TIMEOUT, code: failure, rcode: 0 };
}

function whyNot(failure: Qme, space: string): string {
  if (failure === QME.QMESYSTEM) {
    return `queue space ${space} cannot join: a transaction over several queue spaces needs the transaction log, which is not open`;
  }
  return (
    `queue space ${space} cannot join: a transaction works in at most ${PARTICIPANTS_MAX} queue spaces, ` +
    'and there must be room in their logs and in the transaction log'
  );
}

/** Each is told once: what it does then may end the transaction. */
function tellDependents(transaction: Transaction, failure: Failure): void {
  const { calls, suspensions } = transaction;
  if (calls.size === 0 && suspensions === null) return;
  const dependents = [...calls, ...(suspensions ?? [])];
  calls.clear();
  transaction.suspensions = null;
  for (const dependent of dependents) dependent.over(failure);
}
