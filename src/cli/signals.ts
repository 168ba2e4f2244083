// Signals of the daemon, heard from the first moment of the program: what comes before somebody takes them is kept. It is loaded before anything
// else, so that process 1 of a container, for which the system ignores a signal that nobody hears, misses none while the program is read.

const HEARD = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
export type HeardSignal = (typeof HEARD)[number];

const early: HeardSignal[] = [];
let isHearing = false;
let take: ((signal: HeardSignal) => void) | null = null;

/** From now on none of them ends the process. */
export function hearSignals(): void {
  if (isHearing) return;
  isHearing = true;
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
