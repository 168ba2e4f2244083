// How much long work does before others have their turn: so many steps, and fewer when they take long, because code that is not compiled yet
// takes ten times as long as later, and so does a busy machine [DESIGN 4, Slices].

export const SLICE = { STEPS: 1000, MS: 2, LOOK: 25 } as const;

export class Slice {
  private readonly monoMs: () => number;
  private readonly steps: number;
  private readonly untilMs: number;
  private done = 0;

  /** @param monoMs the clock, in milliseconds */
  constructor(monoMs: () => number, steps: number = SLICE.STEPS) {
    this.monoMs = monoMs;
    this.steps = steps;
    this.untilMs = monoMs() + SLICE.MS;
  }

  /** Counts steps that were taken; false: they were the last of this slice. */
  mayGoOn(steps = 1): boolean {
    const before = this.done;
    this.done += steps;
    if (this.done >= this.steps) return false;
    const isLook = Math.floor(this.done / SLICE.LOOK) > Math.floor(before / SLICE.LOOK);
    return !isLook || this.monoMs() < this.untilMs;
  }
}
