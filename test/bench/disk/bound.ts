// The bound of the log's disk use [DESIGN 5, Reclaim]: under twice what is live and four segments, prepared and reserve segments included.
import { median } from '../figures.ts';
import type { Second } from './task.ts';

export const SEGMENT_BYTES = 64 * 1024 * 1024;
export const BOUND = { LIVE: 2, SEGMENTS: 4 } as const;

export interface Sample {
  readonly atMs: number;
  /** Allocated to the files of the log. */
  readonly logBytes: number;
  readonly liveBytes: number;
}

/** Segments by which the log is larger than twice what is live; over four breaks the bound. */
export function overshoot({ logBytes, liveBytes }: Sample): number {
  return (logBytes - BOUND.LIVE * liveBytes) / SEGMENT_BYTES;
}

/** The code of both sides is not warm before. */
const WARM_SECONDS = 2;
/** Records that a message needs: that it came and that it went. */
const RECORDS = 2;
/** From so many times of that on, live messages are being restated. */
const RESTATING_TIMES = 1.3;

/** How many records the log has had appended. */
export interface Count {
  readonly atMs: number;
  readonly records: number;
}

export interface Latencies {
  /** The median of the seconds' p99 in which nothing was restated; NaN when there was no such second. */
  readonly quietUs: number;
  /** The same of the seconds in which live messages were restated. */
  readonly restatingUs: number;
  readonly quietSeconds: number;
  readonly restatingSeconds: number;
}

/** Parts a load's seconds by whether more was appended than its messages need. */
export function latencies(seconds: readonly Second[], counts: readonly Count[]): Latencies {
  const quiet: number[] = [];
  const restating: number[] = [];
  for (const { endedMs, messages, p99Us } of seconds.slice(WARM_SECONDS)) {
    const records = recordsAt(counts, endedMs) - recordsAt(counts, endedMs - 1000);
    if (messages === 0 || Number.isNaN(records)) continue;
    if (records > RESTATING_TIMES * RECORDS * messages) restating.push(p99Us);
    else quiet.push(p99Us);
  }
  return {
    quietUs: median(quiet),
    restatingUs: median(restating),
    quietSeconds: quiet.length,
    restatingSeconds: restating.length,
  };
}

/** Between two counts as if they had come evenly; NaN outside of them, or when they lie too far apart to tell. */
function recordsAt(counts: readonly Count[], atMs: number): number {
  const next = counts.findIndex((count) => count.atMs >= atMs);
  const after = counts[next];
  const before = counts[next - 1];
  if (after === undefined || before === undefined || after.atMs - before.atMs > APART_MS) return NaN;
  const part = (atMs - before.atMs) / (after.atMs - before.atMs);
  return before.records + part * (after.records - before.records);
}
const APART_MS = 500;
