// How fast a log's live messages are restated [DESIGN 5, Reclaim]: the larger the log is for what is live, the more bytes for each byte that
// is appended or dies, at most two for one. So restating settles at the pace that the log needs and goes on evenly beside its clients, where
// the full pace would come in bursts that they feel. What shrinks is paid for in full: nothing that is appended pays for it later.
// Pure; sizes are in bytes, `unit` is what one unit of the log holds.

/** Bytes restated for each byte appended or dead, at the full pace. */
const PAY = 2;
/**
 * How much larger than what is live the log may be, beside two units, before restating begins. From there to the bound the live half of a
 * log can be walked through at PAY, and the room that the removal of each message needs be kept ready.
 */
const SLACK = 1.25;
const SLACK_UNITS = 2;
/** The pace grows to the full one over this part of what is live, less a unit: what then remains to the bound suffices at the full pace. */
const RAMP = 0.5;

export interface LogSize {
  /** From the first unit with something live to the current one, both whole. */
  readonly held: number;
  readonly live: number;
  readonly unit: number;
}

/** Whether anything is to be restated. */
export function isTooLarge({ held, live, unit }: LogSize): boolean {
  return held > SLACK * live + SLACK_UNITS * unit;
}

/** What may be restated for `appended` new bytes and `died` ones. */
export function payFor(size: LogSize, { appended, died }: { appended: number; died: number }): number {
  if (!isTooLarge(size)) return 0;
  const shrunk = Math.max(0, died - appended);
  return PAY * (shrunk + paceOf(size) * (appended + died - shrunk));
}

/** Of the full pace, 0 to 1. */
function paceOf({ held, live, unit }: LogSize): number {
  const over = held - SLACK * live - SLACK_UNITS * unit;
  const ramp = RAMP * live - unit;
  return over >= ramp ? 1 : over / ramp;
}
