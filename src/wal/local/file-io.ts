// The file port of the log and its Node implementation: the only file of this folder that knows node:fs and the lock library.
// Invariants: every call either did what it says or threw; `pwrite`, `pread` and `writev` may do less than asked and say how much.
// Positions are byte offsets in one file. It must not know segments, frames or who calls it.

import * as fs from 'node:fs';
import { devNull } from 'node:os';
import { promisify } from 'node:util';
import { tryLock } from 'fs-native-extensions';

/** `read`: an existing file; `write`: an existing file, for both; `create`: a new one, for both; `ensure`: either, for both. */
export type OpenMode = 'read' | 'write' | 'create' | 'ensure';

export interface FileIo {
  /** `reserve`: also with a descriptor that is kept for bad days; else it fails when the process has no other. */
  open(path: string, mode: OpenMode, reserve?: 'reserve'): number;
  close(fd: number): void;
  preadSync(fd: number, into: Uint8Array, position: number): number;
  pread(fd: number, into: Uint8Array, position: number): Promise<number>;
  pwriteSync(fd: number, bytes: Uint8Array, position: number): number;
  pwrite(fd: number, bytes: Uint8Array, position: number): Promise<number>;
  writevSync(fd: number, chunks: readonly Uint8Array[], position: number): number;
  fdatasyncSync(fd: number): void;
  fdatasync(fd: number): Promise<void>;
  truncate(fd: number, bytes: number): Promise<void>;
  fileBytes(fd: number): number;
  mkdir(dir: string): Promise<void>;
  /** Makes the names in a directory durable. */
  fsyncDir(dir: string): Promise<void>;
  readdir(dir: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** A second name for a file. */
  link(from: string, to: string): Promise<void>;
  /** How many names a file has. */
  linkCount(path: string): Promise<number>;
  /** An empty directory. */
  rmdir(dir: string): Promise<void>;
  /** An exclusive lock that lasts as long as the descriptor; false when someone else holds it. */
  lock(fd: number): boolean;
}

const FLAGS: Record<OpenMode, number> = {
  read: fs.constants.O_RDONLY,
  write: fs.constants.O_RDWR,
  create: fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL,
  ensure: fs.constants.O_RDWR | fs.constants.O_CREAT,
};

const readAsync = promisify(fs.read);
const writeAsync = promisify(fs.write);
const fdatasyncAsync = promisify(fs.fdatasync);
const fsyncAsync = promisify(fs.fsync);

/**
 * Descriptors that are given up when there are no others: clients that take all of them must not end the log. Whatever is closed fills
 * them up again, at once, before a client that waits can take it.
 */
const RESERVE = 8;
const reserve: number[] = [];
const MODE = 0o640;

export const nodeFileIo: FileIo = {
  open: (path, mode, reserved) =>
    reserved === undefined ? fs.openSync(path, FLAGS[mode], MODE) : openWithReserve(path, FLAGS[mode]),
  close: (fd) => {
    fs.closeSync(fd);
    fillReserve();
  },
  preadSync: (fd, into, position) => fs.readSync(fd, into, 0, into.length, position),
  pread: async (fd, into, position) => (await readAsync(fd, into, 0, into.length, position)).bytesRead,
  pwriteSync: (fd, bytes, position) => fs.writeSync(fd, bytes, 0, bytes.length, position),
  pwrite: async (fd, bytes, position) =>
    (await writeAsync(fd, bytes, 0, bytes.length, position)).bytesWritten,
  writevSync: (fd, chunks, position) => fs.writevSync(fd, chunks, position),
  fdatasyncSync: (fd) => fs.fdatasyncSync(fd),
  fdatasync: (fd) => fdatasyncAsync(fd),
  truncate: (fd, bytes) => promisify(fs.ftruncate)(fd, bytes),
  fileBytes: (fd) => fs.fstatSync(fd).size,
  mkdir: async (dir) => {
    await fs.promises.mkdir(dir, { recursive: true, mode: 0o750 });
  },
  fsyncDir: async (dir) => {
    const fd = openWithReserve(dir, FLAGS.read);
    try {
      await fsyncAsync(fd);
    } finally {
      fs.closeSync(fd);
      fillReserve();
    }
  },
  readdir: async (dir) => {
    try {
      return await fs.promises.readdir(dir);
    } catch (error) {
      const spare = isOutOfDescriptors(error) ? reserve.pop() : undefined;
      if (spare === undefined) throw error;
      fs.closeSync(spare);
      const names = fs.readdirSync(dir);
      fillReserve();
      return names;
    }
  },
  rename: (from, to) => fs.promises.rename(from, to),
  unlink: (path) => fs.promises.unlink(path),
  link: (from, to) => fs.promises.link(from, to),
  linkCount: async (path) => (await fs.promises.stat(path)).nlink,
  rmdir: (dir) => fs.promises.rmdir(dir),
  lock: (fd) => tryLock(fd),
};

function openWithReserve(path: string, flags: number): number {
  for (;;) {
    try {
      return fs.openSync(path, flags, MODE);
    } catch (error) {
      const spare = isOutOfDescriptors(error) ? reserve.pop() : undefined;
      if (spare === undefined) throw error;
      fs.closeSync(spare);
    }
  }
}

function fillReserve(): void {
  try {
    while (reserve.length < RESERVE) reserve.push(fs.openSync(devNull, 'r'));
  } catch {
    // The next file that is closed makes room for another try.
  }
}

/** The process, or the machine, has no descriptor left. */
export function isOutOfDescriptors(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'EMFILE' || code === 'ENFILE';
}

/** The error code of a failed call, or '' when it has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Writes all chunks one behind the other; a write that makes no progress is an error. */
export function writeFullySync(
  target: { io: FileIo; fd: number },
  chunks: Uint8Array[],
  position: number,
): void {
  const { io, fd } = target;
  let rest = chunks;
  let at = position;
  for (;;) {
    const only = rest.length === 1 ? rest[0] : undefined;
    const written = only === undefined ? io.writevSync(fd, rest, at) : io.pwriteSync(fd, only, at);
    at += written;
    rest = withoutFront(rest, written);
    if (rest.length === 0) return;
    if (written <= 0) throw new Error(`short write: no progress at offset ${at}`);
  }
}

export async function writeFully(
  target: { io: FileIo; fd: number },
  bytes: Uint8Array,
  position: number,
): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const rest = done === 0 ? bytes : bytes.subarray(done);
    const written = await target.io.pwrite(target.fd, rest, position + done);
    if (written <= 0) throw new Error(`short write: no progress at offset ${position + done}`);
    done += written;
  }
}

/** Fills `into` as far as the file goes and says how many bytes that were. */
export async function readFully(
  target: { io: FileIo; fd: number },
  into: Uint8Array,
  position: number,
): Promise<number> {
  let done = 0;
  while (done < into.length) {
    const read = await target.io.pread(target.fd, done === 0 ? into : into.subarray(done), position + done);
    if (read <= 0) break;
    done += read;
  }
  return done;
}

function withoutFront(chunks: Uint8Array[], bytes: number): Uint8Array[] {
  let skipped = bytes;
  let index = 0;
  while (index < chunks.length) {
    const chunk = chunks[index];
    if (chunk === undefined || skipped < chunk.length) break;
    skipped -= chunk.length;
    index++;
  }
  const rest = chunks.slice(index);
  const front = rest[0];
  if (front !== undefined && skipped > 0) rest[0] = front.subarray(skipped);
  return rest;
}
