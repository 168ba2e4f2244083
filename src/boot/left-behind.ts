// Which queue spaces a device holds, by its directories alone: for the warning about spaces that are no longer in the configuration.
// Reads names only, opens no log, changes nothing.
import { join } from 'node:path';
import { errorCode, type FileIo } from '../wal/local/file-io.ts';
import { markedFirst, segmentNumber, spaceOfDirectory } from '../wal/local/segment.ts';

const ABSENT: readonly string[] = ['ENOENT', 'ENOTDIR'];

/** The names of the spaces on a device, sorted. A directory without a log is somebody else's. */
export async function spacesOn(io: FileIo, device: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await io.readdir(device)) {
    const space = spaceOfDirectory(name);
    if (space !== null && (await hasLog(io, join(device, name)))) found.push(space);
  }
  return found.toSorted((a, b) => (a < b ? -1 : 1));
}

/** One that is there and cannot be read counts: whoever opens something in it will say why it fails. */
export async function hasDirectory(io: FileIo, directory: string): Promise<boolean> {
  try {
    await io.readdir(directory);
    return true;
  } catch (error) {
    return !ABSENT.includes(errorCode(error));
  }
}

async function hasLog(io: FileIo, directory: string): Promise<boolean> {
  try {
    const names = await io.readdir(directory);
    return names.some((name) => markedFirst(name) > 0 || segmentNumber(name) > 0);
  } catch {
    return false;
  }
}
