// `tmqueue backup`: queue spaces as they are at one batch each, complete in themselves. Beside a running daemon the segments are linked under
// a second name first: the daemon then lets them go instead of writing over them (segment-pool.ts), so that no reclaim, however fast, takes
// anything away from under the reading. Invariants: the original is only read; what stands under the final name is whole, synced and read back.
import { basename, dirname, resolve } from 'node:path';
import { errorCode, nodeFileIo, type FileIo } from '../wal/local/file-io.ts';
import { FORMAT_VERSION } from '../wal/local/frame.ts';
import {
  firstMarkerName,
  markedFirst,
  segmentFileName,
  segmentNumber,
  TEMPORARY_SUFFIX,
} from '../wal/local/segment.ts';
import { BACKUP_FORMAT, writeBackupFile, type BackupFile } from './backup-file.ts';
import type { FoundSpaces, SpaceDirectory } from './directories.ts';
import { copyLog, CopyError } from './log-copy.ts';
import { BusyError, OwnDirectory } from './own-directory.ts';
import { copyDeviceList, finish, refuseUsed } from './target.ts';
import type { ToolPorts } from './verify.ts';

export interface BackupOrder {
  readonly found: FoundSpaces;
  /** The new directory: of the queue space, or of the device. */
  readonly into: string;
  /** A daemon has the device. */
  readonly besideDaemon: boolean;
  /** As ISO 8601. */
  readonly madeAt: string;
}

export interface BackupPorts extends Omit<ToolPorts, 'progress'> {
  readonly progress?: (space: string, done: number, total: number) => void;
}

export interface SpaceBackup extends BackupFile {
  readonly into: string;
}

/** Backs up all spaces that were found. Rejects with a TargetError when there is something under the new name. */
export async function backup(order: BackupOrder, ports: BackupPorts = {}): Promise<SpaceBackup[]> {
  const io = ports.io ?? nodeFileIo;
  const { found, into } = order;
  await refuseUsed(into, io);
  const parent = dirname(resolve(into));
  const own = await OwnDirectory.claim(`${into}${TEMPORARY_SUFFIX}`, `a backup or restore into ${into}`, io);
  const staged: Staged[] = [];
  try {
    // All at once, so that the spaces of a device are of about the same moment.
    for (const space of found.spaces)
      staged.push(order.besideDaemon ? await Staged.link(space, io) : new Staged(space.dir, null));
    const made: SpaceBackup[] = [];
    for (const [i, space] of found.spaces.entries()) {
      const name = found.isDevice ? `/${basename(space.dir)}` : '';
      const file = await one(
        space,
        { order, dir: staged[i]?.dir ?? space.dir, target: own.dir + name },
        ports,
      );
      made.push({ ...file, into: into + name });
    }
    if (found.isDevice) await copyDeviceList(found.device, own.dir, io);
    await finish(own, into, parent);
    return made;
  } catch (error) {
    await own.remove();
    throw error;
  } finally {
    for (const stage of staged) await stage.release();
  }
}

async function one(
  space: SpaceDirectory,
  { order, dir, target }: { order: BackupOrder; dir: string; target: string },
  ports: BackupPorts,
): Promise<BackupFile> {
  const io = ports.io ?? nodeFileIo;
  const copied = await copyLog(
    {
      source: { ...space, dir },
      shownAs: space.dir,
      into: target,
      writerName: 'tmqueue backup',
      segmentsAhead: () => 1,
      sparse: true,
      inDoubt: false,
    },
    { io, progress: (done, total) => ports.progress?.(space.name, done, total) },
  );
  const { spaceId, last, written, end, messages, queues } = copied;
  const file: BackupFile = {
    format: BACKUP_FORMAT,
    logFormat: FORMAT_VERSION,
    space: space.name,
    spaceId,
    from: resolve(space.dir),
    madeAt: order.madeAt,
    besideDaemon: order.besideDaemon,
    last,
    batches: written,
    end,
    messages,
    queues,
  };
  await writeBackupFile(target, file, io);
  return file;
}

/** The segments of a space where they stay readable. */
class Staged {
  readonly dir: string;
  private readonly own: OwnDirectory | null;

  constructor(dir: string, own: OwnDirectory | null) {
    this.dir = dir;
    this.own = own;
  }

  /** Links every segment of a log that is being written to. */
  static async link(space: SpaceDirectory, io: FileIo): Promise<Staged> {
    const real = resolve(space.dir);
    const dir = `${dirname(real)}/.backup-${basename(real)}${TEMPORARY_SUFFIX}`;
    const own = await OwnDirectory.claim(dir, `a backup of queue space ${space.name}`, io);
    try {
      const names = (await io.readdir(real)).filter((name) => segmentNumber(name) > 0);
      for (const name of names) await linkOne(`${real}/${name}`, `${dir}/${name}`, io);
      // Segments before the one that the log begins with now may have been on their way out when they were linked; those from it on were not.
      const first = Math.max(0, ...(await io.readdir(real)).map(markedFirst));
      if (first === 0 || !names.includes(segmentFileName(first)))
        throw new BusyError(`${space.dir}: its segments change too fast to be linked: try again`);
      for (const name of names) if (segmentNumber(name) < first) await unlinkIfThere(`${dir}/${name}`, io);
      io.close(io.open(`${dir}/${firstMarkerName(first)}`, 'create'));
      return new Staged(dir, own);
    } catch (error) {
      await own.remove();
      throw error;
    }
  }

  async release(): Promise<void> {
    await this.own?.remove();
  }
}

async function linkOne(from: string, to: string, io: FileIo): Promise<void> {
  try {
    await io.link(from, to);
  } catch (error) {
    const code = errorCode(error);
    // It went or became another one since the directory was read.
    if (code === 'ENOENT') return;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS'].includes(code)) throw error;
    throw new CopyError(
      `${from}: this file system has no second names for files (${code}), which a backup beside a running daemon needs: stop the daemon`,
      { cause: error },
    );
  }
}

async function unlinkIfThere(path: string, io: FileIo): Promise<void> {
  try {
    await io.unlink(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}
