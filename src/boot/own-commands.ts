// Where the commands of this installation lie, so that what the daemon runs by the shell finds its own tmboot, tmqueue and qmadmin, whatever the
// PATH says: an old Tuxedo may be installed beside it. Looks at names only.
import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';

/** Any of them would do. */
const SIGN = 'tmboot';

/**
 * The folder that holds the commands, or null: in a clone they lie nowhere.
 * @param entry what was started, as it was named
 * @param folder any in the package
 */
export function commandFolder(entry: string, folder: string): string | null {
  const places = entry === '' ? [] : [dirname(entry)];
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    if (basename(at) !== 'node_modules') continue;
    // npm links commands beside the packages, or, for all users, in the prefix's own folder.
    places.push(join(at, '.bin'), join(at, '..', '..', 'bin'));
  }
  return places.find((place) => existsSync(join(place, SIGN))) ?? null;
}

/** The PATH for what the daemon runs: its own commands come first. */
export function pathWithOwn(path: string | undefined): string | undefined {
  const own = commandFolder(process.argv[1] ?? '', import.meta.dirname);
  if (own === null) return path;
  return path === undefined || path === '' ? own : `${own}${delimiter}${path}`;
}
