// A clock that stands still until a test advances it; timers run in order of their time, those of one time in order of their setting.

import type { Clock, Timer } from '../../src/base/clock.ts';

interface Armed {
  readonly atMs: number;
  readonly run: () => void;
}

export class ManualClock implements Clock {
  #wallMs: number;
  #monoMs: number;
  #armed: Armed[] = [];

  constructor(start: { wallMs?: number; monoMs?: number } = {}) {
    this.#wallMs = start.wallMs ?? 1_700_000_000_000;
    this.#monoMs = start.monoMs ?? 1000;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  monoMs(): number {
    return this.#monoMs;
  }

  setTimer(atMs: number, run: () => void): Timer {
    const armed: Armed = { atMs, run };
    this.#armed.push(armed);
    return {
      cancel: () => {
        this.#armed = this.#armed.filter((one) => one !== armed);
      },
    };
  }

  /** Both clocks go on; timers that become due run at their time. */
  advance(ms: number): void {
    const end = this.#monoMs + ms;
    for (;;) {
      let next: Armed | null = null;
      for (const armed of this.#armed)
        if (armed.atMs <= end && (next === null || armed.atMs < next.atMs)) next = armed;
      if (next === null) break;
      const due = next;
      this.#armed = this.#armed.filter((one) => one !== due);
      this.#step(Math.max(0, due.atMs - this.#monoMs));
      due.run();
    }
    this.#step(end - this.#monoMs);
  }

  /** Only the wall clock jumps. */
  stepWall(ms: number): void {
    this.#wallMs += ms;
  }

  get timers(): number {
    return this.#armed.length;
  }

  #step(ms: number): void {
    this.#monoMs += ms;
    this.#wallMs += ms;
  }
}
