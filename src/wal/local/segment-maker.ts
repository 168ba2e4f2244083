// Makes one segment file: its bytes are allocated and its name is durable when it is there. Written with zeros, because a small commit into
// written blocks costs the disk least. Where segments are used up so fast that zeros would take the disk from the log itself, the space is
// only set aside, if the system can. It must not know who needs segments, or how many.

import type { Clock } from '../../base/clock.ts';
import { writeFully } from './file-io.ts';
import { TEMPORARY_SUFFIX, segmentFileName } from './segment.ts';
import type { SegmentFiles } from './segment.ts';

/** Sets space for a file of that path aside without writing to it; false: it cannot, now or here, and may have done a part. */
export type Allocate = (path: string, bytes: number) => Promise<boolean>;

/** Written and synced in such steps, so that commits beside it are not held up by one long flush. */
const ZEROS = Buffer.alloc(4 * 1024 * 1024);
/** How much the newest says of the moving figures. */
const WEIGHT = 0.5;

export interface MakerOptions {
  readonly files: SegmentFiles;
  readonly segmentBytes: number;
  readonly clock: Clock;
  readonly allocate: Allocate | null;
  /** Whether there is no time for zeros; asked again and again. */
  readonly isPressed: () => boolean;
  readonly isClosed: () => boolean;
}

export class SegmentMaker {
  readonly #options: MakerOptions;
  /** Moving figures of milliseconds: of making one, and of one that was written with zeros. */
  #ms = 0;
  #zerosMs = 0;

  constructor(options: MakerOptions) {
    this.#options = options;
  }

  get ms(): number {
    return this.#ms;
  }
  get zerosMs(): number {
    return this.#zerosMs;
  }

  /** Rejects with what the disk says, and leaves nothing behind. */
  async make(number: number): Promise<void> {
    const { files, clock } = this.#options;
    const { io, dir } = files;
    const startedAt = clock.monoMs();
    const temporary = `${dir}/${segmentFileName(number)}${TEMPORARY_SUFFIX}`;
    const fd = files.open(temporary, 'ensure');
    let isZeros: boolean;
    try {
      isZeros = await this.#fill(temporary, fd);
      await io.rename(temporary, files.path(number));
      await io.fsyncDir(dir);
    } catch (error) {
      io.close(fd);
      await io.unlink(temporary).catch(() => {});
      throw error;
    }
    files.adopt(number, fd);
    const ms = clock.monoMs() - startedAt;
    this.#ms += (ms - this.#ms) * WEIGHT;
    if (isZeros) this.#zerosMs += (ms - this.#zerosMs) * WEIGHT;
  }

  /** False: some of it was only set aside. */
  async #fill(path: string, fd: number): Promise<boolean> {
    const { files, segmentBytes, isClosed } = this.#options;
    const { io } = files;
    let { allocate } = this.#options;
    for (let at = 0; at < segmentBytes; at += ZEROS.length) {
      if (allocate !== null && this.#options.isPressed()) {
        if (await allocate(path, segmentBytes)) {
          await io.fdatasync(fd);
          return false;
        }
        allocate = null;
      }
      await writeFully({ io, fd }, ZEROS.subarray(0, Math.min(ZEROS.length, segmentBytes - at)), at);
      await io.fdatasync(fd);
      if (isClosed()) throw new Error('the log was closed');
    }
    return true;
  }
}
