// Signals of the daemon, heard from the first moment of the program: what comes before somebody takes them is kept. It is loaded before anything
// else, so that process 1 of a container, for which the system ignores a signal that nobody hears, misses none while the program is read.
import { readFileSync } from 'node:fs';

const HEARD = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
export type HeardSignal = (typeof HEARD)[number];

const early: HeardSignal[] = [];
let isHearing = false;
let take: ((signal: HeardSignal) => void) | null = null;

/** From now on none of them ends the process. */
export function hearSignals(): void {
  if (isHearing) return;
  isHearing = true;
  if (process.pid === 1) early.push(...swallowed());
  for (const signal of HEARD) {
    process.on(signal, () => {
      if (take === null) early.push(signal);
      else take(signal);
    });
  }
}

/** Hands over those that came, and each that comes. */
export function takeSignals(run: (signal: HeardSignal) => void): void {
  hearSignals();
  take = run;
  for (const signal of early.splice(0)) run(signal);
}

/**
 * Node itself catches a first SIGTERM or SIGINT from before any program is read, to end the process by it; but process 1 is not ended, and the
 * signal would be lost. What it has caught it does not catch any more: that tells. A Node that catches neither tells nothing.
 */
function swallowed(): HeardSignal[] {
  try {
    const mask = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
    const caught = BigInt(`0x${mask}`);
    const isCaught = (number: bigint): boolean => (caught & (1n << (number - 1n))) !== 0n;
    if (isCaught(SIGTERM) === isCaught(SIGINT)) return [];
    return [isCaught(SIGTERM) ? 'SIGINT' : 'SIGTERM'];
  } catch {
    return [];
  }
}
const SIGINT = 2n;
const SIGTERM = 15n;
