// What the test has in its hands beside the engine: the clock, and the knowledge of what the log was given and what of that is durable.
import type { MemoryLog } from '../../src/wal/memory/memory-log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { same } from './check.ts';
import type { Saved } from './state.ts';

export /** Calls back after every timer; the timers of a process that has ended never run. */
class SteppedClock extends ManualClock {
  after: () => void = () => {};
  private life = 0;
  endLife(): void {
    this.life++;
  }
  override setTimer(atMs: number, run: () => void) {
    const { life } = this;
    return super.setTimer(atMs, () => {
      if (life !== this.life) return;
      run();
      this.after();
    });
  }
}

interface TimePair {
  readonly space: number;
  readonly wall: number;
}

/** What a start would find, with the clock pair that was logged last. */
interface OnLog {
  readonly saved: Saved;
  readonly time: TimePair | null;
}

export class LogWatch {
  private readonly log: MemoryLog;
  durable: OnLog;
  /** At most one batch is not known to be durable. */
  private inFlight: OnLog | null = null;
  private appends = 0;

  constructor(log: MemoryLog, saved: Saved) {
    this.log = log;
    this.durable = { saved, time: null };
  }

  /** What the last batch held. */
  get last(): Saved {
    return (this.inFlight ?? this.durable).saved;
  }

  get lastDurable(): number {
    const { batches, appends } = this.log;
    return batches.at(-1)?.durable === false ? appends - 1 : appends;
  }

  /** If a batch was appended since it was last asked: notes what it holds, and returns its clock pair. */
  appended(save: () => Saved): TimePair | null {
    const { appends, batches } = this.log;
    if (appends === this.appends) return null;
    same('batches appended at a time', appends, this.appends + 1);
    const saved = save();
    this.synced();
    this.appends = appends;
    const { space, wall } = batches.at(-1)?.time ?? { space: 0, wall: 0 };
    this.inFlight = { saved, time: { space, wall } };
    return { space, wall };
  }

  synced(): void {
    this.durable = this.inFlight ?? this.durable;
    this.inFlight = null;
  }

  killed(keepInFlight: boolean): void {
    if (keepInFlight) this.synced();
    this.inFlight = null;
  }

  /** After a clean stop. */
  stopped(left: OnLog): void {
    this.durable = left;
    this.inFlight = null;
    this.appends = this.log.appends;
  }
}
