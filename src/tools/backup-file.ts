// BACKUP.json beside the segments of a backup: what it is a backup of and what must be in it, so that one which has lost its end is not taken
// for a shorter log. Its presence keeps every start away (local-log.ts). FORMAT.md, "Backups".
import { errorCode, writeFully, type FileIo } from '../wal/local/file-io.ts';
import { FORMAT_VERSION } from '../wal/local/frame.ts';
import { BACKUP_FILE } from '../wal/local/segment.ts';
import { CopyError, type LastBatch } from './log-copy.ts';

export const BACKUP_FORMAT = 1;

export interface BackupFile {
  /** Of this file and of what it says about the directory. */
  readonly format: number;
  /** Of the log in it. */
  readonly logFormat: number;
  readonly space: string;
  readonly spaceId: number;
  /** The directory it was made from, and when. */
  readonly from: string;
  readonly madeAt: string;
  readonly besideDaemon: boolean;
  /** The last batch of the original that is in it. */
  readonly last: LastBatch;
  readonly batches: number;
  readonly end: number;
  readonly messages: number;
  readonly queues: Readonly<Record<string, number>>;
}

export async function writeBackupFile(dir: string, file: BackupFile, io: FileIo): Promise<void> {
  const fd = io.open(`${dir}/${BACKUP_FILE}`, 'create');
  try {
    await writeFully({ io, fd }, Buffer.from(`${JSON.stringify(file, null, 2)}\n`), 0);
    await io.fdatasync(fd);
  } finally {
    io.close(fd);
  }
  await io.fsyncDir(dir);
}

/** Rejects with a CopyError when it is not there, of a newer format, or makes no sense. */
export async function readBackupFile(dir: string, io: FileIo): Promise<BackupFile> {
  const path = `${dir}/${BACKUP_FILE}`;
  let parsed: unknown;
  try {
    const fd = io.open(path, 'read');
    try {
      const bytes = Buffer.alloc(io.fileBytes(fd));
      await io.pread(fd, bytes, 0);
      parsed = JSON.parse(bytes.toString('utf8'));
    } finally {
      io.close(fd);
    }
  } catch (error) {
    if (errorCode(error) === 'ENOENT')
      throw new CopyError(`${dir}: no backup is here (${BACKUP_FILE} is missing)`, { cause: error });
    if (!(error instanceof SyntaxError)) throw error;
    throw new CopyError(`${path} is damaged: ${error.message}`, { cause: error });
  }
  const numbers = fieldsOf(parsed);
  if (numbers === null) throw new CopyError(`${path} is damaged: it does not say what a backup says`);
  refuseNewer(path, 'backup format', { found: numbers['format'] ?? 0, known: BACKUP_FORMAT });
  refuseNewer(path, 'log format', { found: numbers['logFormat'] ?? 0, known: FORMAT_VERSION });
  for (const name of ['batches', 'end', 'messages'])
    if (!Number.isSafeInteger(numbers[name])) throw new CopyError(`${path} is damaged: ${name} is no number`);
  // Every field that is judged was looked at above; the others are shown only.
  return parsed as BackupFile;
}

function fieldsOf(parsed: unknown): Record<string, number> | null {
  if (typeof parsed !== 'object' || parsed === null) return null;
  const { format, space, queues, last } = parsed as Record<string, unknown>;
  if (typeof format !== 'number') return null;
  if (format <= BACKUP_FORMAT) {
    if (typeof space !== 'string' || typeof queues !== 'object' || queues === null) return null;
    if (typeof last !== 'object' || last === null) return null;
  }
  const numbers = Object.entries(parsed).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );
  return Object.fromEntries(numbers);
}

function refuseNewer(path: string, what: string, { found, known }: { found: number; known: number }): void {
  if (found <= known) return;
  throw new CopyError(
    `${path}: ${what} ${found}, this program reads ${known}: use the program that wrote it`,
  );
}
