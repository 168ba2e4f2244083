// Spaces of test/golden, unpacked: logs that are there without a daemon having to run first.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { RECORD } from '../../src/engine/record-parts.ts';
import { kindName, recordsOf } from '../../src/tools/records.ts';
import { nodeFileIo } from '../../src/wal/local/file-io.ts';
import { SegmentFiles } from '../../src/wal/local/segment.ts';
import { Survey } from '../../src/wal/local/survey.ts';
import { surveyRoot } from '../../src/wal/local/survey-root.ts';

export interface GoldenSpace {
  readonly format: number;
  readonly space: string;
  readonly ubbconfig: string;
  /** Whole files, deflated, in base64. */
  readonly files: Readonly<Record<string, string>>;
  /** By queue, in order: a text, or one and how often it is repeated. */
  readonly queued: Readonly<Record<string, readonly (string | readonly [string, number])[]>>;
  /** Messages, one for each recipient, on queues of the AQ dialect. */
  readonly beside?: number;
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

/** Read, but no longer written. */
const RETIRED: readonly string[] = ['MOVED_FIRST'];

/** What a golden space of the present format should have and this one has not: kinds of records, a restated message, a checkpoint. */
export async function missingIn(dir: string): Promise<string[]> {
  const files = new SegmentFiles(nodeFileIo, dir);
  const found = new Set<string>(RETIRED);
  const wanted = [...Object.keys(RECORD), 'a restated message', 'a checkpoint', 'a log that was trimmed'];
  try {
    const root = await surveyRoot(files);
    if (root.first > 1) found.add('a log that was trimmed');
    for await (const item of new Survey(files, root).items()) {
      if (item.kind !== 'batch' || item.batch.kind === 'takeover') continue;
      for (const { bytes, event } of recordsOf(item.batch)) {
        found.add(kindName(bytes));
        if (event?.kind === 'enqueued' && event.restated) found.add('a restated message');
      }
    }
    const names = await nodeFileIo.readdir(dir);
    if (names.some((name) => name.endsWith('.checkpoint'))) found.add('a checkpoint');
  } finally {
    files.closeAll();
  }
  return wanted.filter((one) => !found.has(one));
}
