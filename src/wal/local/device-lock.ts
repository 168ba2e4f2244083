// The ownership of a device (a directory): an OS lock on its file LOCK, taken once at boot for all spaces of the device.
// Invariants: the lock lives as long as the process at most and is free after a kill; who holds it is decided by the lock alone, what the
// file says of the holder (its pid, and where it can be reached) is for messages and for finding it. It must not know what is in the device.

import { dirname } from 'node:path';
import { LogError } from '../log-store.ts';
import { errorCode, nodeFileIo } from './file-io.ts';
import type { FileIo } from './file-io.ts';
import { asLogError } from './recovery.ts';
import { LOCK_FILE } from './segment.ts';

/** The file: a line each for the pid, the address and the device's name; the last two when there is an address. */
const NOTE_BYTES_MAX = 8192;

/** What the holder of a device says of itself. */
export interface DeviceHolder {
  readonly pid: string;
  /** Where it takes requests about the device; null: nowhere, or not yet. */
  readonly address: string | null;
  /** The path by which it calls the device. */
  readonly device: string;
}

/** null: the file says nothing that makes sense. Whether anybody holds the device is for the lock to say. */
export function deviceHolder(device: string, io: FileIo = nodeFileIo): DeviceHolder | null {
  const fd = io.open(`${device}/${LOCK_FILE}`, 'read');
  try {
    return readHolder(io, fd);
  } finally {
    io.close(fd);
  }
}

export class DeviceLock {
  readonly device: string;
  readonly #io: FileIo;
  #fd: number;

  private constructor(device: string, io: FileIo, fd: number) {
    this.device = device;
    this.#io = io;
    this.#fd = fd;
  }

  /** Makes the directory when it does not exist. Rejects with 'Unavailable' when another process, or this one, holds the device. */
  static async acquire(device: string, pid: number, io: FileIo = nodeFileIo): Promise<DeviceLock> {
    let fd = -1;
    try {
      await io.mkdir(device);
      await io.fsyncDir(dirname(device));
      fd = io.open(`${device}/${LOCK_FILE}`, 'ensure');
      if (!io.lock(fd))
        throw new LogError(
          'Unavailable',
          `device ${device} is in use by another process${holder(io, fd)}: stop that one, or use another device`,
        );
      await note(io, fd, `${pid}\n`);
      return new DeviceLock(device, io, fd);
    } catch (error) {
      if (fd >= 0) io.close(fd);
      throw asLogError(error, `device ${device}`);
    }
  }

  /** Says where the holder, this process, takes requests about the device; null: nowhere. */
  async noteAddress(pid: number, address: string | null): Promise<void> {
    const isOneLine = !this.device.includes('\n');
    const rest = address === null || !isOneLine ? '' : `${address}\n${this.device}\n`;
    if (this.#fd >= 0) await note(this.#io, this.#fd, `${pid}\n${rest}`);
  }

  release(): void {
    if (this.#fd < 0) return;
    this.#io.close(this.#fd);
    this.#fd = -1;
  }
}

/** For finding the holder only: a disk without room for a few bytes is no reason not to start. */
async function note(io: FileIo, fd: number, line: string): Promise<void> {
  const text = Buffer.from(line);
  try {
    // In place, so that a full disk takes it; what a longer text may have left goes then.
    io.pwriteSync(fd, text, 0);
    await io.truncate(fd, text.length);
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(errorCode(error))) throw error;
  }
}

function readHolder(io: FileIo, fd: number): DeviceHolder | null {
  const bytes = Buffer.alloc(NOTE_BYTES_MAX);
  const [pid = '', address = '', device = ''] = bytes
    .toString('utf8', 0, io.preadSync(fd, bytes, 0))
    .split('\n');
  if (!/^\d+$/.test(pid.trim())) return null;
  return { pid: pid.trim(), address: address !== '' && device !== '' ? address : null, device };
}

function holder(io: FileIo, fd: number): string {
  const found = readHolder(io, fd);
  return found === null ? '' : ` (pid ${found.pid})`;
}
