// The Clock port of one process in the world. Each reading is a little later than the one before, since work takes time; the wall clock is
// the world's, off by what the machine's clock is wrong, and may be set while the process runs.
import type { Clock, Timer } from '../../src/base/clock.ts';
import type { Life, World } from './world.ts';

/** What lies between two readings of the clock, in milliseconds: what is done in between takes that long. */
const STEP_MS = 1 / 1024;

/** The machine's wall clock, which outlives its processes. */
export class WallClock {
  /** Milliseconds since 1970 at the world's beginning. */
  aheadMs = 1_800_000_000_000;
}

export class SimClock implements Clock {
  private readonly world: World;
  private readonly life: Life;
  private readonly wall: WallClock;

  constructor(world: World, life: Life, wall: WallClock) {
    this.world = world;
    this.life = life;
    this.wall = wall;
  }

  wallMs(): number {
    return Math.floor(this.world.nowMs + this.wall.aheadMs);
  }

  monoMs(): number {
    this.world.spend(STEP_MS);
    return this.world.nowMs;
  }

  setTimer(atMs: number, run: () => void): Timer {
    return this.world.at(Math.max(atMs, this.world.nowMs), run, this.life);
  }
}
