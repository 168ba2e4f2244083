// Segment files: their names, and the descriptors of one log's segments.
// Invariants: at most `OPEN_FILES_MAX` idle descriptors are kept; a pinned segment's file is neither renamed nor unlinked (the pool asks
// `isPinned` and is told when the last pin goes). It must not know frames or what a segment holds.

import { assert } from '../../base/assert.ts';
import { isOutOfDescriptors } from './file-io.ts';
import type { FileIo, OpenMode } from './file-io.ts';

export const SEGMENT_BYTES_DEFAULT = 64 * 1024 * 1024;
export const SEGMENT_BYTES_MIN = 64 * 1024;
export const SEGMENT_BYTES_MAX = 1024 * 1024 * 1024;
/** The device's lock, beside the directories of its spaces. */
export const LOCK_FILE = 'LOCK';
/** In the directory of a backup, which no daemon writes to. */
export const BACKUP_FILE = 'BACKUP.json';
/** Leftovers with this ending are removed at open. */
export const TEMPORARY_SUFFIX = '.tmp';
const OPEN_FILES_MAX = 64;
const NAME_DIGITS = 12;
const NAME_PATTERN = /^([0-9a-f]{12})\.log$/;

/**
 * The directory name of a queue space: percent-encodes everything but [A-Za-z0-9_-], so it is never '.' or '..'; and the first letter of
 * what would be the device's lock file.
 */
export function spaceDirectoryName(space: string): string {
  let name = '';
  for (const byte of new TextEncoder().encode(space)) {
    const plain =
      (byte >= 48 && byte <= 57) ||
      (byte >= 65 && byte <= 90) ||
      (byte >= 97 && byte <= 122) ||
      byte === 95 ||
      byte === 45;
    name += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  assert(name !== '', 'a queue space has a name');
  return name === LOCK_FILE ? `%4C${name.slice(1)}` : name;
}

/** Directories of transaction logs on a device begin with it. */
export const TLOG_PREFIX = '.tlog-';

/** The directory of a transaction log on its device: no queue space has such a name. */
export function tlogDirectoryName(name: string): string {
  return `${TLOG_PREFIX}${spaceDirectoryName(name)}`;
}

/** The queue space whose directory this is, or null: any other file of a device. */
export function spaceOfDirectory(directory: string): string | null {
  try {
    const name = decodeURIComponent(directory);
    return name !== '' && spaceDirectoryName(name) === directory ? name : null;
  } catch {
    return null;
  }
}

export function segmentFileName(number: number): string {
  return `${number.toString(16).padStart(NAME_DIGITS, '0')}.log`;
}

/** The number in a segment's file name, or 0 when it is not one. */
export function segmentNumber(name: string): number {
  const digits = NAME_PATTERN.exec(name)?.[1];
  return digits === undefined ? 0 : Number.parseInt(digits, 16);
}

/** An empty file whose name says which segment the log begins with: a front that is missing is then not taken for a trimmed one. */
export function firstMarkerName(number: number): string {
  return `${number.toString(16).padStart(NAME_DIGITS, '0')}.first`;
}

/** The number in a marker's file name, or 0 when it is not one. */
export function markedFirst(name: string): number {
  return name.endsWith('.first') ? segmentNumber(name.replace('.first', '.log')) : 0;
}

/** log2 of a legal segment size. */
export function segmentBitsOf(segmentBytes: number): number {
  const bits = Math.log2(segmentBytes);
  assert(Number.isInteger(bits), 'segmentBytes is a power of two');
  assert(
    segmentBytes >= SEGMENT_BYTES_MIN && segmentBytes <= SEGMENT_BYTES_MAX,
    'segmentBytes is between 64 KiB and 1 GiB',
  );
  return bits;
}

export class SegmentFiles {
  readonly dir: string;
  readonly io: FileIo;
  /** Called when a segment's last pin has gone. */
  onUnpinned: () => void = () => {};
  /** Insertion order is order of use. */
  readonly #open = new Map<number, number>();
  readonly #pins = new Map<number, number>();

  constructor(io: FileIo, dir: string) {
    this.io = io;
    this.dir = dir;
  }

  path(number: number): string {
    return `${this.dir}/${segmentFileName(number)}`;
  }

  /** A descriptor for reading and writing; throws what `open` throws. */
  fd(number: number): number {
    const known = this.#open.get(number);
    if (known !== undefined) {
      this.#open.delete(number);
      this.#open.set(number, known);
      return known;
    }
    if (this.#open.size >= OPEN_FILES_MAX) this.#closeOldest();
    const fd = this.open(this.path(number), 'write');
    this.#open.set(number, fd);
    return fd;
  }

  /** Opens a file of the log; when the process has no descriptor left, at the expense of one that is idle, or of the reserve. */
  open(path: string, mode: OpenMode): number {
    for (;;) {
      try {
        return this.io.open(path, mode);
      } catch (error) {
        if (!isOutOfDescriptors(error)) throw error;
        if (!this.#closeOldest()) return this.io.open(path, mode, 'reserve');
      }
    }
  }

  /** Hands over a descriptor that is already open. */
  adopt(number: number, fd: number): void {
    assert(!this.#open.has(number), 'a segment has one descriptor');
    this.#open.set(number, fd);
  }

  pin(number: number): void {
    this.#pins.set(number, (this.#pins.get(number) ?? 0) + 1);
  }

  unpin(number: number): void {
    const pins = this.#pins.get(number) ?? 0;
    assert(pins > 0, 'a segment is unpinned as often as it was pinned');
    if (pins > 1) {
      this.#pins.set(number, pins - 1);
      return;
    }
    this.#pins.delete(number);
    if (this.#open.size > OPEN_FILES_MAX) this.forget(number);
    this.onUnpinned();
  }

  isPinned(number: number): boolean {
    return this.#pins.has(number);
  }

  /** Assumes: not pinned. */
  forget(number: number): void {
    assert(!this.#pins.has(number), 'a pinned segment stays open');
    const fd = this.#open.get(number);
    if (fd === undefined) return;
    this.#open.delete(number);
    this.io.close(fd);
  }

  closeAll(): void {
    for (const fd of this.#open.values()) this.io.close(fd);
    this.#open.clear();
  }

  /** Closes what nobody reads now, and the rest when its last pin goes. */
  closeWhenUnpinned(): void {
    const sweep = (): void => {
      for (const number of this.#open.keys()) if (!this.#pins.has(number)) this.forget(number);
    };
    this.onUnpinned = sweep;
    sweep();
  }

  /** False: all are in use. */
  #closeOldest(): boolean {
    for (const [number, fd] of this.#open) {
      if (this.#pins.has(number)) continue;
      this.#open.delete(number);
      this.io.close(fd);
      return true;
    }
    return false;
  }
}
