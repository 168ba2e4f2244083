// The temporary directory of a run, on the file system that is measured. It is removed when the run ends, also by a signal.
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const TMPFS = 0x0102_1994;

/** Lets a signal end the process as `exit` does, so that what is cleaned up then is. */
export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
}

export class Scratch {
  readonly path: string;
  private readonly keep: boolean;

  /** @param parent '' for the system's directory of temporary files */
  constructor(parent: string, keep: boolean) {
    this.path = mkdtempSync(join(parent === '' ? tmpdir() : parent, 'tmqueue-bench-'));
    // A server that does not run as root works in it too.
    chmodSync(this.path, 0o755);
    this.keep = keep;
    process.once('exit', () => this.remove());
  }

  /** Whether it is in memory, where a sync costs nothing and no figure means anything. */
  get inMemory(): boolean {
    return statfsSync(this.path).type === TMPFS;
  }

  /** Removes one of its directories, or all of it; never when it is to be kept. */
  remove(path: string = this.path): void {
    if (!this.keep) rmSync(path, { recursive: true, force: true });
  }
}
