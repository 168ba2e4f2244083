// Questions about paths that a device needs answered by the file system itself.
import { realpathSync, statSync, type Stats } from 'node:fs';
import { errorCode, errorText } from '../wal/local/file-io.ts';
import { RefusedError } from './device.ts';

/** null: nothing is there. */
export function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return null;
    throw new RefusedError(errorText(error), { cause: error });
  }
}

/** The same path, or another way to the same file. */
export function sameFile(one: string, other: string): boolean {
  return one === other || realPathOf(one) === realPathOf(other);
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
