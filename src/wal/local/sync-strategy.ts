// Where a commit's fdatasync runs: in the loop, on a worker thread, or decided by measurement. One object for all logs of a process.
// Invariants of `auto`: inline only while a single log has work, batches are small and syncs stay under a millisecond by a moving figure; a
// sync over 20 ms ends inline for a second, then two, up to a minute. On a disk whose p99 is above 5 ms a single sync of that length says
// little. It must not know files: it is told who appends how much and how long the sync took.

import { assert } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';

export type SyncSetting = 'inline' | 'worker' | 'auto';

const INLINE_BYTES_MAX = 256 * 1024;
const INLINE_MS_MAX = 1;
const SLOW_SYNC_MS = 20;
/** What one sync may say to the moving figure, however long it took. */
const SAMPLE_MS_MAX = 5;
/** How long a slow sync ends inline: this at first, twice as long each time, a minute at most; afresh when none was slow for a minute. */
const SLOW_PAUSE_FIRST_MS = 1000;
const SLOW_PAUSE_MAX_MS = 60_000;
/** While the figure is too high for inline, one sync is tried inline this often. */
const PROBE_EVERY_MS = 250;
/** Another log's append counts as work for this long. */
const COMPANY_MS = 20;
const FIGURE_WEIGHT = 0.1;

export class SyncStrategy {
  readonly #setting: SyncSetting;
  readonly #clock: Clock;
  #logs = 0;
  #lastLog = 0;
  #companyUntil = -Infinity;
  #inFlight = 0;
  /** Moving figure of a sync in milliseconds. */
  #figureMs = 0;
  #pausedUntil = -Infinity;
  #pauseMs = SLOW_PAUSE_FIRST_MS;
  #probeAt = -Infinity;

  constructor(setting: SyncSetting, clock: Clock) {
    this.#setting = setting;
    this.#clock = clock;
  }

  /** A number for a log; it names itself by it. */
  join(): number {
    this.#logs++;
    return this.#logs;
  }

  /** True: sync in the call. Ends with `finished`. */
  chooseInline(log: number, bytes: number): boolean {
    if (this.#setting !== 'auto') return this.#setting === 'inline';
    const now = this.#clock.monoMs();
    if (log !== this.#lastLog) {
      if (this.#lastLog !== 0) this.#companyUntil = now + COMPANY_MS;
      this.#lastLog = log;
    }
    if (this.#inFlight > 0 || bytes > INLINE_BYTES_MAX || now < this.#companyUntil || now < this.#pausedUntil)
      return false;
    if (this.#figureMs <= INLINE_MS_MAX) return true;
    if (now < this.#probeAt) return false;
    this.#probeAt = now + PROBE_EVERY_MS;
    return true;
  }

  /** Before and after a sync off the loop. */
  started(): void {
    this.#inFlight++;
  }

  finished(): void {
    this.#inFlight--;
    assert(this.#inFlight >= 0, 'a sync ends once');
  }

  now(): number {
    return this.#clock.monoMs();
  }

  /** How long a sync took. Off the loop a long time may be the loop's own, so only a short one says something there. */
  measured(inline: boolean, startedAt: number): void {
    if (this.#setting !== 'auto') return;
    const now = this.#clock.monoMs();
    const ms = now - startedAt;
    if (inline && ms > SLOW_SYNC_MS) this.#pause(now);
    if (inline || ms <= INLINE_MS_MAX)
      this.#figureMs += (Math.min(ms, SAMPLE_MS_MAX) - this.#figureMs) * FIGURE_WEIGHT;
  }

  #pause(now: number): void {
    if (now - this.#pausedUntil > SLOW_PAUSE_MAX_MS) this.#pauseMs = SLOW_PAUSE_FIRST_MS;
    this.#pausedUntil = now + this.#pauseMs;
    this.#pauseMs = Math.min(this.#pauseMs * 2, SLOW_PAUSE_MAX_MS);
  }
}
