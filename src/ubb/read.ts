// Loads a configuration file: the one place of src/ubb that touches the file system. Never throws: what cannot be read is a fault.

import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseDomain } from './domain.ts';
import type { Environment } from './expand.ts';
import { shown } from './fault.ts';
import type { Domain } from './model.ts';

/** A UBBCONFIG of 10,000 servers is about 2 MiB; what is larger than this is something else. */
export const FILE_BYTES_MAX = 16 * 1024 * 1024;

export interface ReadOptions {
  /** With --expand-env: the environment to expand variables from. */
  readonly env?: Environment | undefined;
}

export function readDomain(path: string, options: ReadOptions = {}): Domain {
  const directory = dirname(resolve(path));
  let bytes: Uint8Array;
  try {
    const { size } = statSync(path);
    if (size > FILE_BYTES_MAX)
      return unreadable(path, `the file has ${size} bytes; legal: up to ${FILE_BYTES_MAX}`);
    bytes = readFileSync(path);
  } catch (error) {
    return unreadable(path, `cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  return parseDomain({ file: path, directory, bytes, env: options.env });
}

function unreadable(path: string, message: string): Domain {
  const empty = parseDomain({ file: path, directory: dirname(resolve(path)), bytes: new Uint8Array() });
  return { ...empty, faults: [{ file: path, line: 0, column: 0, word: shown(path), message }] };
}
