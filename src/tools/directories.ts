// What an operator names: the directory of one queue space, or a device with several. Who owns the device is asked by its lock, as a daemon
// does. It must not know what the logs hold.
import { basename, dirname, join, resolve } from 'node:path';
import { LogError } from '../wal/log-store.ts';
import { DeviceLock } from '../wal/local/device-lock.ts';
import { errorCode, nodeFileIo, type FileIo } from '../wal/local/file-io.ts';
import { asLogError } from '../wal/local/recovery.ts';
import { TEMPORARY_SUFFIX } from '../wal/local/segment.ts';
import { isLogDirectory } from '../wal/local/survey-root.ts';

export interface SpaceDirectory {
  /** As it is shown: below what the operator typed. */
  readonly dir: string;
  /** The queue space's name, as its directory's name says. */
  readonly name: string;
}

export interface FoundSpaces {
  readonly device: string;
  /** `DIR` was the device, so that there may be several. */
  readonly isDevice: boolean;
  readonly spaces: readonly SpaceDirectory[];
}

/** `DIR` names no log. */
export class NoLogError extends Error {
  override name = 'NoLogError';
}

const LOCK_FILE = 'LOCK';

/** Rejects with a NoLogError when there is no log. */
export async function findSpaces(dir: string, io: FileIo = nodeFileIo): Promise<FoundSpaces> {
  const names = await listing(dir, io);
  if (isLogDirectory(names)) {
    const real = resolve(dir);
    return { device: dirname(real), isDevice: false, spaces: [{ dir, name: spaceNameOf(basename(real)) }] };
  }
  const spaces: SpaceDirectory[] = [];
  for (const name of names.toSorted()) {
    // Of a tool that is at work, or was cut short; or a transaction log.
    if (name.endsWith(TEMPORARY_SUFFIX) || name.startsWith('.')) continue;
    const below = join(dir, name);
    const inner = await io.readdir(below).catch(() => []);
    if (isLogDirectory(inner)) spaces.push({ dir: below, name: spaceNameOf(name) });
  }
  if (spaces.length > 0) return { device: resolve(dir), isDevice: true, spaces };
  throw new NoLogError(
    `${dir}: no log is here: name the directory of a queue space, such as data/QSPACE, or the device that it is on`,
  );
}

async function listing(dir: string, io: FileIo): Promise<string[]> {
  try {
    return await io.readdir(dir);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') throw new NoLogError(`${dir}: no such directory`);
    if (code === 'ENOTDIR') throw new NoLogError(`${dir}: not a directory`);
    throw asLogError(error, dir);
  }
}

function spaceNameOf(directoryName: string): string {
  try {
    return decodeURIComponent(directoryName);
  } catch {
    return directoryName;
  }
}

/**
 * Keeps daemons off a device while its logs are read. null: it has no lock file, as in a copy, or is on a read-only file system, so no
 * daemon has it. Rejects with 'Unavailable', naming the pid, when a daemon runs on it.
 */
export async function holdDevice(device: string, io: FileIo = nodeFileIo): Promise<DeviceLock | null> {
  const names = await listing(device, io);
  if (!names.includes(LOCK_FILE)) return null;
  try {
    return await DeviceLock.acquire(device, process.pid, io);
  } catch (error) {
    if (error instanceof LogError && errorCode(error.cause) === 'EROFS') return null;
    throw error;
  }
}
