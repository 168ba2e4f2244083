// The release's own name and number, from the package that it was installed as.
import { readFileSync } from 'node:fs';

interface PackageJson {
  readonly version: string;
}

/** e.g. `0.1.0`. */
export const VERSION: string = findVersion(import.meta.dirname);

function findVersion(folder: string): string {
  // src/boot when run as written, dist/src/boot when built.
  for (const up of ['../..', '../../..']) {
    try {
      const found = JSON.parse(readFileSync(`${folder}/${up}/package.json`, 'utf8')) as PackageJson & {
        name?: string;
      };
      if (found.name === 'tmqueue') return found.version;
    } catch {
      // Not there: one level further up.
    }
  }
  return 'unknown';
}
