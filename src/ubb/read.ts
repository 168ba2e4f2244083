// Loads a configuration file: the one place of src/ubb that touches the file system. Never throws: what cannot be read is a fault.

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseDomain } from './domain.ts';
import type { Environment } from './expand.ts';
import { shown } from './fault.ts';
import type { Domain } from './model.ts';

/** A UBBCONFIG of 10,000 servers is about 2 MiB; what is larger than this is something else. */
export const FILE_BYTES_MAX = 16 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
const STDIN = 0;

export interface ReadOptions {
  /** With --expand-env: the environment to expand variables from. */
  readonly env?: Environment | undefined;
}

/** `-` is standard input; relative directories are then looked for from the working directory. */
export function readDomain(path: string, options: ReadOptions = {}): Domain {
  const directory = dirname(resolve(path));
  let bytes: Uint8Array;
  try {
    const descriptor = path === '-' ? STDIN : openSync(path, 'r');
    try {
      if (fstatSync(descriptor).isDirectory())
        return unreadable(path, 'is a directory; legal: the name of a UBBCONFIG file');
      bytes = readUpTo(descriptor, FILE_BYTES_MAX + 1);
    } finally {
      if (descriptor !== STDIN) closeSync(descriptor);
    }
  } catch (error) {
    return unreadable(path, `cannot be read: ${reasonOf(error)}`);
  }
  if (bytes.length > FILE_BYTES_MAX)
    return unreadable(path, `is larger than a UBBCONFIG may be; legal: up to ${FILE_BYTES_MAX} bytes`);
  return parseDomain({ file: path, directory, bytes, env: options.env });
}

/** Pipes say no size, and some files have no end: reads to the end or to the limit. */
function readUpTo(descriptor: number, bytesMax: number): Uint8Array {
  const chunks: Uint8Array[] = [];
  for (let length = 0; length < bytesMax;) {
    const chunk = new Uint8Array(Math.min(CHUNK_BYTES, bytesMax - length));
    const count = readSync(descriptor, chunk);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    length += count;
  }
  return Buffer.concat(chunks);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EACCES':
      return 'permission is denied';
    default:
      return error.message;
  }
}

function unreadable(path: string, message: string): Domain {
  const empty = parseDomain({ file: path, directory: dirname(resolve(path)), bytes: new Uint8Array() });
  return { ...empty, faults: [{ file: path, line: 0, column: 0, word: shown(path), message }] };
}
