// How `tmqueue start` ends: by the first SIGTERM or SIGINT, with 0, or by a failure of the daemon, with 1. More signals change nothing, and
// whatever holds up a stop, the process ends in time.
import { EXIT } from './exit.ts';
import { takeSignals } from './signals.ts';

/** A stop takes less than 5 s [DESIGN 11]: after this the process ends, e.g. with a disk that does not answer. In milliseconds. */
const STOP_MAX_MS = 4800;

export class Ending {
  /** The exit code. */
  readonly reached: Promise<number>;
  private readonly controller = new AbortController();
  private resolve: (code: number) => void = () => {};

  /** `hangup`: SIGHUP came. */
  constructor(hangup: () => void) {
    this.reached = new Promise((resolve) => {
      this.resolve = resolve;
    });
    takeSignals((signal) => {
      if (signal === 'SIGHUP') hangup();
      else this.end(EXIT.OK);
    });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  fail(): void {
    this.end(EXIT.REFUSED);
  }

  private end(code: number): void {
    if (this.signal.aborted) return;
    this.controller.abort();
    this.resolve(code);
    setTimeout(() => process.exit(EXIT.REFUSED), STOP_MAX_MS).unref();
  }
}
