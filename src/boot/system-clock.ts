// The Clock port on the machine's clocks. A timer may be any number of milliseconds away: setTimeout's 24.8 days are taken in steps.
import type { Clock, Timer } from '../base/clock.ts';

const STEP_MAX_MS = 2_000_000_000;

export class SystemClock implements Clock {
  wallMs(): number {
    return Date.now();
  }

  monoMs(): number {
    return performance.now();
  }

  setTimer(atMs: number, run: () => void): Timer {
    const timer = new SteppedTimer(this, atMs, run);
    timer.arm();
    return timer;
  }
}

class SteppedTimer implements Timer {
  private handle: NodeJS.Timeout | null = null;
  private readonly clock: Clock;
  private readonly atMs: number;
  private readonly run: () => void;

  constructor(clock: Clock, atMs: number, run: () => void) {
    this.clock = clock;
    this.atMs = atMs;
    this.run = run;
  }

  arm(): void {
    const leftMs = this.atMs - this.clock.monoMs();
    if (leftMs > STEP_MAX_MS) this.handle = setTimeout(() => this.arm(), STEP_MAX_MS);
    else this.handle = setTimeout(() => this.fire(), Math.max(0, Math.ceil(leftMs)));
  }

  cancel(): void {
    if (this.handle !== null) clearTimeout(this.handle);
    this.handle = null;
  }

  private fire(): void {
    this.handle = null;
    // setTimeout may be up to a millisecond early.
    if (this.clock.monoMs() < this.atMs) this.arm();
    else this.run();
  }
}
