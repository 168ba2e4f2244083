// A directory that a tool writes into before it gets its final name, or links files into: one owner at a time, known by an OS lock, and what
// an owner that was killed left there goes. Invariant: nothing outside of it is removed.
import { DeviceLock } from '../wal/local/device-lock.ts';
import { errorCode, type FileIo } from '../wal/local/file-io.ts';
import { LOCK_FILE } from '../wal/local/segment.ts';
import { LogError } from '../wal/log-store.ts';

/** Someone else works there. */
export class BusyError extends Error {
  override name = 'BusyError';
}

export class OwnDirectory {
  readonly dir: string;
  private readonly io: FileIo;
  private readonly lock: DeviceLock;

  private constructor(dir: string, io: FileIo, lock: DeviceLock) {
    this.dir = dir;
    this.io = io;
    this.lock = lock;
  }

  /** Makes it, or takes it over and empties it. `purpose` is for the refusal. */
  static async claim(dir: string, purpose: string, io: FileIo): Promise<OwnDirectory> {
    const isNew = await io.readdir(dir).then(
      () => false,
      (error: unknown) => errorCode(error) === 'ENOENT',
    );
    try {
      const lock = await DeviceLock.acquire(dir, process.pid, io);
      await empty(dir, io, LOCK_FILE);
      return new OwnDirectory(dir, io, lock);
    } catch (error) {
      if (!isBusy(error)) {
        if (isNew) await discard(dir, io);
        throw error;
      }
      const pid = / \(pid \d+\)/.exec(error.message)?.[0] ?? '';
      throw new BusyError(`${purpose} is under way already${pid}: wait until it has ended`);
    }
  }

  /** Gives it its final name, durably. Fails when there is something under that name, other than an empty directory. */
  async become(name: string, parent: string): Promise<void> {
    const { io, dir } = this;
    await io.unlink(`${dir}/${LOCK_FILE}`);
    await io.fsyncDir(dir);
    await io.rename(dir, name);
    try {
      await io.fsyncDir(parent);
    } catch (error) {
      await io.rename(name, dir);
      throw error;
    }
    this.lock.release();
  }

  /** As far as that is possible: it is what an error is answered with, and the next owner finishes it. */
  async remove(): Promise<void> {
    await discard(this.dir, this.io);
    this.lock.release();
  }
}

function isBusy(error: unknown): error is LogError {
  return error instanceof LogError && error.kind === 'Unavailable' && error.cause === undefined;
}

async function discard(dir: string, io: FileIo): Promise<void> {
  try {
    await empty(dir, io);
    await io.rmdir(dir);
  } catch {
    // The error that led here is the one to be told.
  }
}

async function empty(dir: string, io: FileIo, except = ''): Promise<void> {
  for (const name of await io.readdir(dir)) {
    if (name === except) continue;
    const path = `${dir}/${name}`;
    try {
      await io.unlink(path);
    } catch (error) {
      if (!['EISDIR', 'EPERM'].includes(errorCode(error))) throw error;
      await empty(path, io);
      await io.rmdir(path);
    }
  }
}
