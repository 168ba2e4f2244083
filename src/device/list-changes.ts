// The device list after a change: each function gives the new list, or throws a RefusedError that says why there is none [spec 5.2, 8.1]. Reads
// nothing of the device but whether two paths are one file.
import { quoteWord } from '../base/quote-word.ts';
import { freePages, RefusedError, type DeviceContents, type DeviceEntry, type Extent } from './device.ts';
import { sameFile } from './files.ts';

/** [spec 8.1] */
const ENTRIES_MAX = 25;

/** crdl. The first entry is the device itself, at `path`. */
export function withEntry(contents: DeviceContents, entry: DeviceEntry, path: string): DeviceContents {
  const { entries, extents } = contents;
  if (entries.length === 0) checkFirst(entry, path);
  checkOverlap(entries, entry);
  if (entries.length >= ENTRIES_MAX) {
    throw new RefusedError(`the device list is full: ${ENTRIES_MAX} entries`, { refusal: 'no room' });
  }
  return { entries: [...entries, entry], extents };
}

/** chdl. */
export function withRenamed(contents: DeviceContents, index: number, device: string): DeviceContents {
  const { entries, extents } = contents;
  const entry = { ...entryAt(entries, index), device };
  const others = entries.filter((_, i) => i !== index);
  checkOverlap(others, entry, entries);
  return { entries: entries.with(index, entry), extents };
}

/** dsdl. The first entry stands for what is in the device: it goes last, and not before all spaces. */
export function withoutEntry(contents: DeviceContents, index: number): DeviceContents {
  const { entries, extents } = contents;
  const { pages } = entryAt(entries, index);
  if (index === 0 && entries.length > 1) {
    const message = `entry 0 holds the tables of the device: it can only be removed as the last of ${entries.length}`;
    throw new RefusedError(message, { refusal: 'in use' });
  }
  const left = { entries: entries.filter((_, i) => i !== index), extents };
  if (freePages(left) < 0) {
    const message = `entry ${index} is in use: queue spaces have all but ${freePages(contents)} pages of the device list, and it gives ${pages}`;
    throw new RefusedError(message, { refusal: 'in use' });
  }
  return left;
}

/** With other extents, the last of which is new. */
export function withExtents(
  { entries, extents }: DeviceContents,
  changed: readonly Extent[],
): DeviceContents {
  if (entries.length === 0) throw new RefusedError('the device list is empty; first: crdl DEVICE 0 SIZE');
  const after = { entries, extents: changed };
  if (freePages(after) < 0) {
    const pages = changed.at(-1)?.pages ?? 0;
    const free = freePages({ entries, extents });
    const message = `${pages} pages do not fit: the device list has ${free} free pages`;
    throw new RefusedError(message, { refusal: 'no room' });
  }
  return after;
}

/** The first of these extents, as far as so many pages go. */
export function partOf(extents: readonly Extent[], pages: number): Extent[] {
  const kept: Extent[] = [];
  let left = pages;
  for (const extent of extents) {
    const part = Math.min(left, extent.pages);
    if (part > 0) kept.push({ ...extent, pages: part });
    left -= part;
  }
  return kept;
}

export function checkFirst({ device, offset }: DeviceEntry, path: string): void {
  if (sameFile(device, path) && offset === 0) return;
  throw new RefusedError(
    `the first entry of the device list is the QMCONFIG device: crdl ${quoteWord(path)} 0 SIZE`,
  );
}

export function entryAt<T>(entries: readonly T[], index: number): T {
  const entry = entries[index];
  if (entry !== undefined) return entry;
  throw new RefusedError(`the device list has no entry ${index}; it has ${entries.length}`, {
    refusal: 'absent',
  });
}

/** `numbered`: the entries as they are listed. */
function checkOverlap(
  entries: readonly DeviceEntry[],
  { device, offset, pages }: DeviceEntry,
  numbered: readonly DeviceEntry[] = entries,
): void {
  for (const entry of entries) {
    if (!sameFile(entry.device, device)) continue;
    const index = numbered.indexOf(entry);
    if (entry.offset === offset && entry.pages === pages) {
      const message = `the entry exists already, as number ${index}; nothing was changed`;
      throw new RefusedError(message, { refusal: 'exists' });
    }
    if (offset < entry.offset + entry.pages && entry.offset < offset + pages) {
      const theirs = `${entry.offset}..${entry.offset + entry.pages - 1}`;
      throw new RefusedError(
        `pages ${offset}..${offset + pages - 1} overlap entry ${index}, which has ${theirs}`,
      );
    }
  }
}
