// `tmqueue restore`: a queue space from its backup, in a new place. Invariants: nothing that is there is written over; the copy counts as a
// log of its own: another log key, and positions, so epochs of new message ids, that neither the original nor another restoration of the same
// backup comes to. Messages keep their ids.
import { randomInt } from 'node:crypto';
import { basename, dirname, resolve } from 'node:path';
import { nodeFileIo } from '../wal/local/file-io.ts';
import { TEMPORARY_SUFFIX } from '../wal/local/segment.ts';
import type { BackupPorts } from './backup.ts';
import { readBackupFile, type BackupFile } from './backup-file.ts';
import type { FoundSpaces, SpaceDirectory } from './directories.ts';
import { copyLog, CopyError, type Copied } from './log-copy.ts';
import { OwnDirectory } from './own-directory.ts';
import { copyDeviceList, finish, refuseUsed } from './target.ts';

/** The copy begins up to so many bytes of positions further on, which segment being left to chance. */
const AHEAD_BYTES_MAX = 2 ** 40;
/** At least so many segments further on: further than an original that goes on is likely to be when both start next. */
const SEGMENTS_AHEAD_MIN = 16;
/** And within its first segments everything is moved by up to so many bytes. */
const PADDING_BYTES_MAX = 1024 * 1024;
const ALIGN = 8;

export interface RestoreOrder {
  readonly found: FoundSpaces;
  readonly into: string;
  /** Of the restored queue space; its own when not given. */
  readonly rename?: string;
}

export interface SpaceRestored {
  readonly into: string;
  readonly backup: BackupFile;
  readonly copied: Copied;
}

export async function restore(order: RestoreOrder, ports: BackupPorts = {}): Promise<SpaceRestored[]> {
  const io = ports.io ?? nodeFileIo;
  const { found, into } = order;
  await refuseUsed(into, io);
  // All are known to be backups before anything is written.
  const backups: BackupFile[] = [];
  for (const space of found.spaces) backups.push(await readBackupFile(space.dir, io));
  const own = await OwnDirectory.claim(`${into}${TEMPORARY_SUFFIX}`, `a backup or restore into ${into}`, io);
  try {
    const done: SpaceRestored[] = [];
    for (const [i, space] of found.spaces.entries()) {
      const backup = backups[i] as BackupFile;
      const name = found.isDevice ? `/${basename(space.dir)}` : '';
      const copied = await one(space, { order, backup, target: own.dir + name }, ports);
      refuseOther(space, backup, copied);
      done.push({ into: into + name, backup, copied });
    }
    if (found.isDevice) await copyDeviceList(found.device, own.dir, io);
    await finish(own, into, dirname(resolve(into)));
    return done;
  } catch (error) {
    await own.remove();
    throw error;
  }
}

function one(
  space: SpaceDirectory,
  { order, backup, target }: { order: RestoreOrder; backup: BackupFile; target: string },
  ports: BackupPorts,
): Promise<Copied> {
  return copyLog(
    {
      source: space,
      shownAs: space.dir,
      into: target,
      writerName: 'tmqueue restore',
      segmentsAhead: (bytes) => SEGMENTS_AHEAD_MIN + randomInt(Math.floor(AHEAD_BYTES_MAX / bytes)),
      paddingBytes: (bytes) => ALIGN * randomInt(1, Math.min(PADDING_BYTES_MAX, bytes / 2) / ALIGN),
      sparse: false,
      inDoubt: true,
      ...(order.rename === undefined || order.rename === backup.space ? {} : { rename: order.rename }),
    },
    {
      ...(ports.io === undefined ? {} : { io: ports.io }),
      progress: (done, total) => ports.progress?.(space.name, done, total),
    },
  );
}

/** A backup whose end is gone reads well; its file knows better. */
function refuseOther({ dir }: SpaceDirectory, backup: BackupFile, copied: Copied): void {
  const isSame = copied.read === backup.batches && copied.messages === backup.messages;
  const isCounted = Object.entries(copied.queues).every(([name, count]) => backup.queues[name] === count);
  if (isSame && isCounted) return;
  throw new CopyError(
    `${dir} is not what was backed up: it holds ${copied.messages} messages in ${copied.read} batches, ` +
      `BACKUP.json says ${backup.messages} in ${backup.batches}: parts of it are missing`,
  );
}
