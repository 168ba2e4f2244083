// The ownership of a device (a directory): an OS lock on its file LOCK, taken once at boot for all spaces of the device.
// Invariants: the lock lives as long as the process at most and is free after a kill; who holds it is decided by the lock alone, the pid
// in the file is for the message. It must not know what is in the device.

import { dirname } from 'node:path';
import { LogError } from '../log-store.ts';
import { errorCode, nodeFileIo } from './file-io.ts';
import type { FileIo } from './file-io.ts';
import { asLogError } from './recovery.ts';
import { LOCK_FILE } from './segment.ts';

const PID_BYTES_MAX = 20;

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
      await notePid(io, fd, pid);
      return new DeviceLock(device, io, fd);
    } catch (error) {
      if (fd >= 0) io.close(fd);
      throw asLogError(error, `device ${device}`);
    }
  }

  release(): void {
    if (this.#fd < 0) return;
    this.#io.close(this.#fd);
    this.#fd = -1;
  }
}

/** For the message only: a disk without room for a few bytes is no reason not to start. */
async function notePid(io: FileIo, fd: number, pid: number): Promise<void> {
  const text = Buffer.from(`${pid}\n`);
  try {
    // In place, so that a full disk takes it; what a longer text may have left goes then.
    io.pwriteSync(fd, text, 0);
    await io.truncate(fd, text.length);
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(errorCode(error))) throw error;
  }
}

function holder(io: FileIo, fd: number): string {
  const bytes = Buffer.alloc(PID_BYTES_MAX);
  const text = bytes.toString('latin1', 0, io.preadSync(fd, bytes, 0)).trim();
  return /^\d+$/.test(text) ? ` (pid ${text})` : '';
}
