// The space's own time [DESIGN 4, Time]: relative lengths (delays, retry delays) live in it. It runs with the monotonic clock while the
// daemon is up, is carried over a stop by the wall clock, and never runs backwards whatever the wall clock does.
import type { Clock } from '../base/clock.ts';
import type { BatchTime } from '../wal/log-store.ts';
import type { IdTimes } from './id-times.ts';

/** How far the two clocks may drift apart before the pair is logged, in milliseconds. */
export const DRIFT_MAX_MS = 100;

export class SpaceClock {
  private readonly clock: Clock;
  private spaceAtBase = 0;
  private monoAtBase: number;
  private lastWall = 0;
  private lastSpace = 0;
  /** Takes note of every batch that is stamped, as soon as there is a space. */
  ids: IdTimes | null = null;

  constructor(clock: Clock) {
    this.clock = clock;
    this.monoAtBase = clock.monoMs();
  }

  /** Takes in a pair that was logged: the last one counts. */
  learn(time: BatchTime): void {
    this.lastSpace = Math.max(this.lastSpace, time.space);
    this.lastWall = time.wall;
  }

  /** Ends replay: the time since the last logged pair has passed, by the wall clock. */
  start(): void {
    const passed = this.lastWall === 0 ? 0 : Math.max(0, this.clock.wallMs() - this.lastWall);
    this.spaceAtBase = this.lastSpace + passed;
    this.monoAtBase = this.clock.monoMs();
  }

  /** Milliseconds of space time, now. */
  nowMs(): number {
    return this.spaceAtBase + (this.clock.monoMs() - this.monoAtBase);
  }

  /** The instant of the monotonic clock at which space time reads `spaceMs`. */
  monoAt(spaceMs: number): number {
    return this.monoAtBase + (spaceMs - this.spaceAtBase);
  }

  /** The pair for a batch. */
  stamp(): BatchTime {
    const time = { space: this.nowMs(), wall: this.clock.wallMs() };
    this.lastSpace = time.space;
    this.lastWall = time.wall;
    this.ids?.note(time.space);
    return time;
  }

  /** Whether wall and space time have moved by different lengths since the last stamp: the wall clock was stepped. */
  get drifted(): boolean {
    const wallMoved = this.clock.wallMs() - this.lastWall;
    return Math.abs(wallMoved - (this.nowMs() - this.lastSpace)) > DRIFT_MAX_MS;
  }
}
