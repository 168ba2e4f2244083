// How the command line ends: exit codes and refusals. A refusal prints its code first, e.g. `TPEDIAGNOSTIC/QMEBADQUEUE: …`, on stderr.
import { QME, TPERRNO } from '../../proto/codes.ts';
import { TpError } from '../../clients/typescript/index.ts';

export const EXIT = {
  OK: 0,
  /** The daemon refused, or the configuration has faults. */
  REFUSED: 1,
  /** There is no message. */
  NO_MESSAGE: 2,
  /** The command line is wrong. */
  USAGE: 64,
  /** The daemon cannot be reached. */
  UNAVAILABLE: 69,
} as const;

/** A command line that cannot be carried out; the text says what would be right. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** The daemon could not be reached. */
export class UnavailableError extends Error {
  override name = 'UnavailableError';
}

/** Prints what went wrong, after the program's name; returns the exit code that goes with it. */
export function report(error: unknown, program = 'tmqueue'): number {
  if (error instanceof UsageError) {
    process.stderr.write(`${program}: ${error.message}\n`);
    return EXIT.USAGE;
  }
  if (error instanceof UnavailableError) {
    process.stderr.write(`${program}: ${error.message}\n`);
    return EXIT.UNAVAILABLE;
  }
  if (TpError.is(error)) {
    process.stderr.write(`${error.message}\n`);
    const noMessage = error.tperrno === TPERRNO.TPEDIAGNOSTIC && error.diagnostic === QME.QMENOMSG;
    return noMessage ? EXIT.NO_MESSAGE : EXIT.REFUSED;
  }
  process.stderr.write(`${program}: ${error instanceof Error ? error.message : String(error)}\n`);
  return EXIT.REFUSED;
}
