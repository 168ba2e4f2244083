// The temporary directory of a run, on the file system that is measured.
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const TMPFS = 0x0102_1994;

export class Scratch {
  readonly path: string;
  private readonly keep: boolean;

  /** @param parent '' for the system's directory of temporary files */
  constructor(parent: string, keep: boolean) {
    this.path = mkdtempSync(join(parent === '' ? tmpdir() : parent, 'tmqueue-bench-'));
    this.keep = keep;
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
