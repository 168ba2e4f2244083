// The clock port: the only source of time in the daemon. Tests hand in a manual one and advance it.

export interface Clock {
  /** Milliseconds since 1970-01-01 UTC; may step in either direction. */
  wallMs(): number;
  /** Milliseconds of a clock that never steps and never runs backwards; its zero means nothing. */
  monoMs(): number;
  /** Calls back once at or after `monoMs() === atMs`. Any distance up to 2^53 ms is honoured. */
  setTimer(atMs: number, run: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}
