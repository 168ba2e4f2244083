// What a log's directory says of itself when nothing in it may be trusted: its files, its segment size, and what makes it this log.
// Invariants: only reads; offset 0 of a segment is never inside a body, so what stands there in most segments decides; a log of a newer
// format is recognised by bytes 0 to 23 alone. It must not know the chain.

import { readFully } from './file-io.ts';
import * as frames from './frame.ts';
import { HEADER_BYTES } from './frame.ts';
import type { FrameHeader } from './frame.ts';
import { FrameFinder } from './frame-finder.ts';
import type { LogIdentity } from './scan.ts';
import {
  markedFirst,
  segmentNumber,
  SEGMENT_BYTES_MAX,
  SEGMENT_BYTES_MIN,
  TEMPORARY_SUFFIX,
} from './segment.ts';
import type { SegmentFiles } from './segment.ts';

export interface SurveyRoot {
  /** By number, ascending: bytes of each segment's file. */
  readonly sizes: ReadonlyMap<number, number>;
  /** The segment that the log begins with, as the marker or else the lowest number says; 0: there is none. */
  readonly first: number;
  /** The highest number of a segment; 0: there is none. */
  readonly last: number;
  readonly segmentBytes: number;
  /** null: no frame of this program's format was found anywhere. */
  readonly identity: LogIdentity | null;
  /** A frame of a newer format at a segment's start, or null. */
  readonly newer: { readonly number: number; readonly version: number } | null;
  /** Bytes of all segment files. */
  readonly bytes: number;
}

/** Whether a directory's names are those of a log. */
export function isLogDirectory(names: readonly string[]): boolean {
  return names.some((name) => {
    const plain = name.endsWith(TEMPORARY_SUFFIX) ? name.slice(0, -TEMPORARY_SUFFIX.length) : name;
    return segmentNumber(plain) > 0 || markedFirst(name) > 0;
  });
}

export async function surveyRoot(files: SegmentFiles): Promise<SurveyRoot> {
  const names = await files.io.readdir(files.dir);
  const numbers = names.map(segmentNumber).filter((number) => number > 0);
  numbers.sort((a, b) => a - b);
  const sizes = new Map(numbers.map((number) => [number, files.io.fileBytes(files.fd(number))]));
  const heads = await readHeads(files, numbers);
  const segmentBytes = mostOf(heads.map(sizeIn)) ?? mostOf([...sizes.values()].map(legalSize)) ?? 0;
  const newer = heads.find((head) => head.version > frames.FORMAT_VERSION) ?? null;
  const marked = Math.max(0, ...names.map(markedFirst));
  const root = {
    sizes,
    first: marked > 0 ? marked : (numbers[0] ?? 0),
    last: numbers.at(-1) ?? 0,
    segmentBytes,
    newer,
    bytes: [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0),
  };
  const identity = segmentBytes === 0 ? null : await identityOf(files, root);
  return { ...root, identity };
}

interface Head {
  readonly number: number;
  readonly version: number;
  readonly pos: number;
}

/** What stands at the start of each segment and claims to be a frame there. */
async function readHeads(files: SegmentFiles, numbers: readonly number[]): Promise<Head[]> {
  const bytes = Buffer.alloc(HEADER_BYTES);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const heads: Head[] = [];
  for (const number of numbers) {
    const read = await readFully({ io: files.io, fd: files.fd(number) }, bytes, 0);
    const pos = view.getFloat64(8, true);
    if (read < bytes.length || legalSize(pos / number) === null) continue;
    const version = frames.claimedVersion(view, 0, pos);
    if (version > 0) heads.push({ number, version, pos });
  }
  return heads;
}

function sizeIn({ pos, number }: Head): number | null {
  return legalSize(pos / number);
}

function legalSize(bytes: number): number | null {
  const legal =
    Number.isInteger(Math.log2(bytes)) && bytes >= SEGMENT_BYTES_MIN && bytes <= SEGMENT_BYTES_MAX;
  return legal ? bytes : null;
}

/** The value that comes most often; the first of several; null: there is none. */
function mostOf(values: readonly (number | null)[]): number | null {
  const counts = new Map<number, number>();
  let most: number | null = null;
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  for (const [value, count] of counts) if (most === null || count > (counts.get(most) ?? 0)) most = value;
  return most;
}

/** From the preambles, by majority; with none, from the first frame that is whole, which stands before any body. */
async function identityOf(
  files: SegmentFiles,
  root: { sizes: ReadonlyMap<number, number>; segmentBytes: number },
): Promise<LogIdentity | null> {
  const { segmentBytes } = root;
  const preambles = new FrameFinder(files, { ...root, identity: null, windowBytes: 4096 });
  const { header } = preambles;
  const counts = new Map<string, { identity: LogIdentity; count: number }>();
  for (const number of root.sizes.keys()) {
    if (!(await preambles.at(number * segmentBytes)) || header.kind !== 'preamble') continue;
    const key = `${header.keyLow} ${header.keyHigh} ${header.spaceId}`;
    const known = counts.get(key) ?? { identity: identityIn(header), count: 0 };
    known.count++;
    counts.set(key, known);
  }
  const [best] = [...counts.values()].toSorted((a, b) => b.count - a.count);
  if (best !== undefined) return best.identity;
  const finder = new FrameFinder(files, { ...root, identity: null });
  return (await finder.search(Math.min(...root.sizes.keys()) * segmentBytes, () => true))
    ? identityIn(finder.header)
    : null;
}

function identityIn({ spaceId, keyLow, keyHigh, segmentBits }: FrameHeader): LogIdentity {
  return { spaceId, keyLow, keyHigh, segmentBits };
}
