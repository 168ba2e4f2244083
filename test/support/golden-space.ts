// Spaces of test/golden, unpacked: logs that are there without a daemon having to run first.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';

export interface GoldenSpace {
  readonly format: number;
  readonly space: string;
  readonly ubbconfig: string;
  /** Whole files, deflated, in base64. */
  readonly files: Readonly<Record<string, string>>;
  /** By queue, in order: a text, or one and how often it is repeated. */
  readonly queued: Readonly<Record<string, readonly (string | readonly [string, number])[]>>;
}

export const GOLDEN = join(import.meta.dirname, '../golden');

export function loadGolden(name: string): GoldenSpace {
  // The file is ours, and its shape is checked by what is done with it.
  const golden: GoldenSpace = JSON.parse(readFileSync(join(GOLDEN, name), 'utf8'));
  return golden;
}

/** Writes the space's files below a device; returns its directory. */
export function unpackGolden(golden: GoldenSpace, device: string): string {
  const dir = join(device, golden.space);
  mkdirSync(dir, { recursive: true });
  for (const [file, base64] of Object.entries(golden.files))
    writeFileSync(join(dir, file), inflateRawSync(Buffer.from(base64, 'base64')));
  return dir;
}
