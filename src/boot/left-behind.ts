// Which queue spaces a device holds, by its directories alone: for the warning about spaces that are no longer in the configuration.
// Reads names only, opens no log, changes nothing.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { markedFirst, segmentNumber, spaceOfDirectory } from '../wal/local/segment.ts';

/** The names of the spaces on a device, sorted. A directory without a log is somebody else's. */
export function spacesOn(device: string): string[] {
  const directories = readdirSync(device, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return directories
    .flatMap(({ name }) => (hasLog(join(device, name)) ? (spaceOfDirectory(name) ?? []) : []))
    .toSorted((a, b) => (a < b ? -1 : 1));
}

function hasLog(directory: string): boolean {
  try {
    return readdirSync(directory).some((name) => markedFirst(name) > 0 || segmentNumber(name) > 0);
  } catch {
    return false;
  }
}
