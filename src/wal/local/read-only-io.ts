// A FileIo for programs that only look: files are opened for reading, whatever would change something is an assertion, and blocks that the
// disk cannot give any more read as zeros and are reported, so that what is around them can still be had.
// Invariants: nothing is written, created, renamed or locked through it; zeros are never taken for content, since every frame has a CRC. It
// must not know what the files mean.

import { AssertionError } from '../../base/assert.ts';
import { errorCode } from './file-io.ts';
import type { FileIo } from './file-io.ts';

/** What is tried again on its own when a longer read fails. */
const BLOCK_BYTES = 4096;

export interface Unreadable {
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
  readonly code: string;
}

/** The same files, without a way to change them. */
export function readOnly(io: FileIo, onUnreadable: (block: Unreadable) => void): FileIo {
  const paths = new Map<number, string>();
  const pread = async (fd: number, into: Uint8Array, position: number): Promise<number> => {
    try {
      return await io.pread(fd, into, position);
    } catch (error) {
      if (errorCode(error) !== 'EIO') throw error;
      if (into.length > BLOCK_BYTES) return pread(fd, into.subarray(0, BLOCK_BYTES), position);
      into.fill(0);
      const bytes = Math.min(into.length, io.fileBytes(fd) - position);
      onUnreadable({ file: paths.get(fd) ?? '', offset: position, bytes, code: 'EIO' });
      return bytes;
    }
  };
  return {
    open: (path) => {
      const fd = io.open(path, 'read');
      paths.set(fd, path);
      return fd;
    },
    close: (fd) => io.close(fd),
    preadSync: refuse,
    pread,
    fileBytes: (fd) => io.fileBytes(fd),
    readdir: (dir) => io.readdir(dir),
    pwriteSync: refuse,
    pwrite: refuse,
    writevSync: refuse,
    fdatasyncSync: refuse,
    fdatasync: refuse,
    truncate: refuse,
    mkdir: refuse,
    fsyncDir: refuse,
    rename: refuse,
    unlink: refuse,
    link: refuse,
    linkCount: (path) => io.linkCount(path),
    rmdir: refuse,
    lock: refuse,
  };
}

function refuse(): never {
  throw new AssertionError('a program that only reads must not change a file');
}
