// From a directory to a log that may be written again: which segments there are, where the log begins and ends, what must be repaired.
// Invariants: `inspectLog` only reads, and fails with 'Corrupt' when something acknowledged is missing; `repairLog` makes the end durable
// before anything is appended: names first, then the last batch (written again: after a failed sync its pages may be clean without being
// on disk), then zeros over a torn tail. It must not know records or the writer.

import { assert } from '../../base/assert.ts';
import { LogError } from '../log-store.ts';
import { errorCode, readFully, writeFully } from './file-io.ts';
import * as frames from './frame.ts';
import { FrameHeader, HEADER_BYTES, frameBytes, hasFlag } from './frame.ts';
import { ChainReader, SegmentWindow, crcFits, headerFits, refuseNewerVersion } from './scan.ts';
import type { ChainPoint, FrameSpan, LogIdentity } from './scan.ts';
import {
  markedFirst,
  segmentFileName,
  segmentNumber,
  SEGMENT_BYTES_MAX,
  SEGMENT_BYTES_MIN,
  TEMPORARY_SUFFIX,
} from './segment.ts';
import type { SegmentFiles } from './segment.ts';
import { SegmentTable } from './segment-table.ts';
import type { Piece } from './segment-table.ts';
import { searchRest } from './tail.ts';
import type { SegmentRest, TailSearch } from './tail.ts';

/** A torn tail that is cut, as told to the operator. */
export interface TornTail {
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
}

/** A prepared segment behind the log's end. */
export interface PreparedSegment {
  readonly number: number;
  /** It holds bytes that are not zero. */
  readonly stale: boolean;
}

export interface Inspection {
  /** null: there is no log yet. */
  readonly identity: LogIdentity | null;
  readonly table: SegmentTable;
  readonly whole: ChainPoint;
  readonly wholeFrames: readonly FrameSpan[];
  readonly tornTail: TornTail | null;
  /** What is filled with zeros before the log goes on. */
  readonly wipes: readonly { number: number; from: number; to: number }[];
  readonly prepared: readonly PreparedSegment[];
  /** The segment that the marker names as the first; 0: there is no marker. */
  readonly marked: number;
  /** Files of the wrong length. */
  readonly resizes: readonly { number: number; bytes: number }[];
  /** Files that are of no use: temporary ones and segments behind a gap. */
  readonly leftovers: readonly string[];
}

interface SegmentFile {
  readonly number: number;
  readonly bytes: number;
}

interface Preamble {
  readonly number: number;
  readonly bytes: number;
  readonly header: FrameHeader;
}

interface Findings {
  readonly files: SegmentFiles;
  readonly marked: number;
  /** Number of the segment that the log begins with. */
  readonly first: number;
  readonly names: readonly string[];
  readonly segments: readonly SegmentFile[];
  readonly segmentBytes: number;
  readonly preambles: ReadonlyMap<number, Preamble>;
}

/** Reads enough to know the log's first position and its end. `segmentBytes` is for a log that does not exist yet. */
export async function inspectLog(files: SegmentFiles, segmentBytes: number): Promise<Inspection> {
  const names = await files.io.readdir(files.dir);
  const segments = listSegments(files, names);
  const size = (await sizeFromFrames(files, segments)) ?? sizeFromFile(segments[0]) ?? segmentBytes;
  const preambles = await readPreambles(files, { segments, segmentBytes: size });
  const marked = Math.max(0, ...names.map(markedFirst));
  const first = marked > 0 ? marked : (segments[0]?.number ?? 1);
  const findings: Findings = { files, marked, first, names, segments, segmentBytes: size, preambles };
  const root = preambles.get(first);
  if (root === undefined) return inspectEmpty(findings);
  const identity: LogIdentity = {
    spaceId: root.header.spaceId,
    keyLow: root.header.keyLow,
    keyHigh: root.header.keyHigh,
    segmentBits: root.header.segmentBits,
  };
  const window = new SegmentWindow(files, size);
  const chain = new ChainReader(window, identity, tailStart(findings));
  while (chain.nextInWindow() || (await chain.next()));
  const search: TailSearch = { window, segmentBytes: size, identity, whole: chain.whole };
  const rests = await searchBehind(findings, search, chain.end);
  if (chain.whole.lastPos < 0) return inspectUnborn(findings, rests);
  const table = await indexSegments(findings, chain.whole);
  return { ...conclude(findings, chain.whole, rests), identity, table, wholeFrames: chain.wholeFrames };
}

function listSegments(files: SegmentFiles, names: readonly string[]): SegmentFile[] {
  const numbers = names.map(segmentNumber).filter((number) => number > 0);
  numbers.sort((a, b) => a - b);
  return numbers.map((number) => ({ number, bytes: files.io.fileBytes(files.fd(number)) }));
}

/** The segment size as the first segment that says it does. */
async function sizeFromFrames(files: SegmentFiles, segments: readonly SegmentFile[]): Promise<number | null> {
  const bytes = Buffer.alloc(HEADER_BYTES);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const header = new FrameHeader();
  for (const { number } of segments) {
    const read = await readFully({ io: files.io, fd: files.fd(number) }, bytes, 0);
    if (read < HEADER_BYTES || !frames.decodeHeader(view, 0, header)) continue;
    const size = 2 ** header.segmentBits;
    if (header.pos === number * size && size >= SEGMENT_BYTES_MIN && size <= SEGMENT_BYTES_MAX) return size;
  }
  return null;
}

/** Segments get their names when they have their full length: the first one's tells the size when its frame does not. */
function sizeFromFile(segment: SegmentFile | undefined): number | null {
  const bytes = segment?.bytes ?? 0;
  const legal =
    Number.isInteger(Math.log2(bytes)) && bytes >= SEGMENT_BYTES_MIN && bytes <= SEGMENT_BYTES_MAX;
  return legal ? bytes : null;
}

async function readPreambles(
  files: SegmentFiles,
  log: { segments: readonly SegmentFile[]; segmentBytes: number },
): Promise<Map<number, Preamble>> {
  const found = new Map<number, Preamble>();
  const { segmentBytes } = log;
  // A window of its own: most preambles are small, and only their first bytes are wanted.
  for (const { number } of log.segments) {
    const window = new SegmentWindow(files, segmentBytes, 4096);
    const header = new FrameHeader();
    await window.fill(number, 0, HEADER_BYTES);
    refuseNewerVersion(window, { offset: 0, pos: number * segmentBytes, identity: null });
    if (!headerFits(window, 0, { header, segmentBytes }) || header.kind !== 'preamble') continue;
    const bytes = frameBytes(header.recordCount, header.payloadBytes);
    await window.fill(number, 0, bytes);
    if (crcFits(window, 0, header)) found.set(number, { number, bytes, header });
  }
  return found;
}

/** No segment, or the first one does not begin a log: fine only when nothing durable can have been there. */
async function inspectEmpty(findings: Findings): Promise<Inspection> {
  const { files, marked, segments, segmentBytes } = findings;
  // Segments are made in order: one that is there means that the first one was.
  if (marked > 0 && segments.length > 0 && segments[0]?.number !== marked)
    throw damage(files, { number: marked, offset: 0 }, 'the first segment is missing');
  const whole: ChainPoint = { ...NO_BATCH, end: segmentBytes };
  const search = { window: new SegmentWindow(files, segmentBytes), segmentBytes, identity: null, whole };
  const rests: SegmentRest[] = [];
  for (const { number } of segments) rests.push(await searchRest(search, number, 0));
  return inspectUnborn(findings, rests);
}

const NO_BATCH = { lastPos: -1, epoch: 0, batchNumber: -1, nonceLow: 0, nonceHigh: 0, spaceTime: 0 };

/** What a first takeover and its preamble may have written. */
const BIRTH_BYTES_MAX = 512;

/** A log whose first takeover was never durable: everything there is wiped and it begins anew. */
function inspectUnborn(findings: Findings, rests: readonly SegmentRest[]): Inspection {
  const { first, segmentBytes } = findings;
  refuseDamage(findings, rests, first * segmentBytes);
  if (first > 1)
    throw damage(
      findings.files,
      { number: first, offset: 0 },
      'the first segment does not begin with a preamble',
    );
  const lived = rests.find((rest) => rest.dirtyEnd > (rest.number === 1 ? BIRTH_BYTES_MAX : 0));
  if (lived !== undefined)
    throw damage(findings.files, { number: first, offset: 0 }, 'the log does not begin with a preamble');
  const whole: ChainPoint = { ...NO_BATCH, end: segmentBytes };
  const result = conclude(findings, whole, rests);
  return { ...result, identity: null, table: new SegmentTable(segmentBytes), wholeFrames: [] };
}

/** The segment where the chain is read from to find the log's end: the batch before the last preamble begins in or before it. */
function tailStart(findings: Findings): number {
  const { preambles, first } = findings;
  let last = first;
  while (preambles.has(last + 1)) last++;
  let start = last;
  do {
    if (start === first) break;
    start--;
  } while (resumes(preambles.get(start + 1)) || resumes(preambles.get(start)));
  return start;
}

function resumes(preamble: Preamble | undefined): boolean {
  return preamble !== undefined && hasFlag(preamble.header, frames.FLAG_RESUMES);
}

/** Searches everything behind the chain's end. */
async function searchBehind(findings: Findings, search: TailSearch, gap: number): Promise<SegmentRest[]> {
  const { segmentBytes, segments } = findings;
  const number = Math.floor(search.whole.end / segmentBytes);
  const rests: SegmentRest[] = [];
  const last = segments.at(-1)?.number ?? 0;
  for (let next = number; next <= last; next++) {
    rests.push(await searchRest(search, next, next === number ? search.whole.end % segmentBytes : 0));
  }
  refuseDamage(findings, rests, gap);
  return rests;
}

/** `gap` is where the chain breaks. */
function refuseDamage(findings: Findings, rests: readonly SegmentRest[], gap: number): void {
  const later = rests.find((rest) => rest.damageAt >= 0);
  if (later === undefined) return;
  const number = Math.floor(gap / findings.segmentBytes);
  const text = `valid frames follow in ${segmentFileName(later.number)} at offset ${later.damageAt}`;
  throw damage(findings.files, { number, offset: gap % findings.segmentBytes }, text);
}

function damage(files: SegmentFiles, place: { number: number; offset: number }, text: string): LogError {
  return new LogError('Corrupt', `${files.path(place.number)}: damage at offset ${place.offset}: ${text}`);
}

/** What is to be done behind the last whole batch. */
function conclude(
  findings: Findings,
  whole: ChainPoint,
  rests: readonly SegmentRest[],
): Omit<Inspection, 'identity' | 'table' | 'wholeFrames'> {
  const { segmentBytes, files, first, marked, segments, names, preambles } = findings;
  const current =
    whole.end % segmentBytes === 0 ? whole.end / segmentBytes - 1 : Math.floor(whole.end / segmentBytes);
  const sizes = new Map(segments.map(({ number, bytes }) => [number, bytes]));
  const wipes: { number: number; from: number; to: number }[] = [];
  const prepared: PreparedSegment[] = [];
  const torn: SegmentRest[] = [];
  for (const rest of rests) {
    const dirty = rest.dirtyEnd > rest.offset;
    const entered = rest.number === current;
    const recycled =
      entered && hasFlag(preambles.get(current)?.header ?? new FrameHeader(), frames.FLAG_RECYCLED);
    if (dirty && (rest.claimed || (entered && !recycled))) torn.push(rest);
    const wipe = dirty && (entered || rest.claimed);
    if (wipe && sizes.has(rest.number))
      wipes.push({ number: rest.number, from: rest.offset, to: rest.dirtyEnd });
    const complete = (sizes.get(rest.number) ?? 0) >= segmentBytes;
    if (!entered && complete && rest.number === current + 1 + prepared.length) {
      prepared.push({ number: rest.number, stale: dirty && !wipe });
    }
  }
  const known = current + prepared.length;
  const head = torn[0];
  const bytes = torn.reduce((sum, rest) => sum + rest.dirtyEnd - rest.offset, 0);
  return {
    whole,
    tornTail: head === undefined ? null : { file: files.path(head.number), offset: head.offset, bytes },
    wipes: wipes.filter((wipe) => wipe.number <= known),
    prepared,
    marked,
    resizes: segments.filter(
      ({ number, bytes: size }) => size !== segmentBytes && number >= first && number <= known,
    ),
    leftovers: names.filter((name) => isLeftover(name, { first, known })),
  };
}

function isLeftover(name: string, log: { first: number; known: number }): boolean {
  const number = segmentNumber(name);
  if (number > 0) return number < log.first || number > log.known;
  const marked = markedFirst(name);
  return marked > 0 ? marked < log.first : name.endsWith(TEMPORARY_SUFFIX);
}

/** Builds the table from the preambles; the batches of several frames from the headers of their pieces. */
async function indexSegments(findings: Findings, whole: ChainPoint): Promise<SegmentTable> {
  const { files, first, segmentBytes, preambles } = findings;
  const table = new SegmentTable(segmentBytes);
  const last = Math.floor((whole.end - 1) / segmentBytes);
  for (let number = first; number <= last; number++) {
    const preamble = preambles.get(number);
    if (preamble === undefined)
      throw damage(files, { number, offset: 0 }, 'the segment is missing or has no preamble');
    const { header, bytes } = preamble;
    const following = preambles.get(number + 1)?.header;
    let usedEnd = whole.end;
    if (number < last) {
      const end = following === undefined || resumes(preambles.get(number + 1)) ? 0 : following.ref;
      usedEnd = end > number * segmentBytes ? end : (number + 1) * segmentBytes;
    }
    table.add({
      number,
      usedEnd,
      dataStart: header.pos + bytes,
      ref: header.ref,
      resumes: hasFlag(header, frames.FLAG_RESUMES),
      bare: hasFlag(header, frames.FLAG_BARE),
    });
  }
  await indexPieces(findings, table);
  return table;
}

async function indexPieces(findings: Findings, table: SegmentTable): Promise<void> {
  const { files, segmentBytes } = findings;
  const window = new SegmentWindow(files, segmentBytes, 4096);
  const header = new FrameHeader();
  let pieces: Piece[] = [];
  for (let number = table.first; number <= table.last; number++) {
    const entry = table.entry(number);
    assert(entry !== undefined, 'the table was filled a moment ago');
    if (!entry.resumes) continue;
    const before = table.entry(number - 1);
    if (before === undefined) continue;
    if (table.pieces(entry.ref) === undefined) {
      const start = table.frameOf(entry.ref);
      if (start < 0) continue;
      pieces = [];
      table.addPieces(entry.ref, pieces);
      await addPiece(start);
    }
    await addPiece(entry.dataStart);
  }

  async function addPiece(pos: number): Promise<void> {
    const number = table.numberOf(pos);
    const offset = pos - number * segmentBytes;
    await window.fill(number, offset, HEADER_BYTES);
    if (!headerFits(window, offset, { header, segmentBytes }))
      throw damage(files, { number, offset }, 'no frame');
    const payload = frames.payloadStart(pos, header.recordCount);
    pieces.push({ batchOffset: header.batchOffset, payload, length: header.payloadBytes });
  }
}

const ZEROS = Buffer.alloc(1024 * 1024);

/** Ensures: the log up to its last whole batch is durable, and nothing stands behind it in its segment. */
export async function repairLog(files: SegmentFiles, found: Inspection): Promise<void> {
  const { io, dir } = files;
  const { segmentBytes } = found.table;
  // A name that is seen may not be durable yet: the last process may have died between renaming and syncing.
  await io.fsyncDir(dir);
  for (const name of found.leftovers) {
    const number = segmentNumber(name);
    if (number > 0) files.forget(number);
    await io.unlink(`${dir}/${name}`);
  }
  if (found.leftovers.length > 0) await io.fsyncDir(dir);
  const touched = new Set<number>();
  for (const { number, bytes } of found.resizes) {
    await resize(files, { number, bytes, segmentBytes });
    touched.add(number);
  }
  for (const frame of found.wholeFrames) {
    await rewrite(files, frame, segmentBytes);
    touched.add(Math.floor(frame.pos / segmentBytes));
  }
  for (const { number, from, to } of found.wipes) {
    await zero(files, { number, from, to });
    touched.add(number);
  }
  for (const number of touched) await io.fdatasync(files.fd(number));
}

async function resize(
  files: SegmentFiles,
  file: { number: number; bytes: number; segmentBytes: number },
): Promise<void> {
  if (file.bytes > file.segmentBytes) await files.io.truncate(files.fd(file.number), file.segmentBytes);
  else await zero(files, { number: file.number, from: file.bytes, to: file.segmentBytes });
}

async function rewrite(files: SegmentFiles, frame: FrameSpan, segmentBytes: number): Promise<void> {
  const number = Math.floor(frame.pos / segmentBytes);
  const target = { io: files.io, fd: files.fd(number) };
  const bytes = Buffer.allocUnsafeSlow(frame.bytes);
  const read = await readFully(target, bytes, frame.pos % segmentBytes);
  if (read < bytes.length) throw new Error(`a read ended early at position ${frame.pos + read}`);
  if (frames.frameCrc(bytes) !== bytes.readUInt32LE(0)) {
    throw damage(
      files,
      { number, offset: frame.pos % segmentBytes },
      'the last batch changed while the log was opened',
    );
  }
  await writeFully(target, bytes, frame.pos % segmentBytes);
}

export async function zero(
  files: SegmentFiles,
  range: { number: number; from: number; to: number },
): Promise<void> {
  const target = { io: files.io, fd: files.fd(range.number) };
  for (let at = range.from; at < range.to; at += ZEROS.length) {
    await writeFully(target, ZEROS.subarray(0, Math.min(ZEROS.length, range.to - at)), at);
  }
}

/** A failed call as the port reports it. */
export function asLogError(error: unknown, doing: string): LogError {
  if (error instanceof LogError) return error;
  const code = errorCode(error);
  const text = error instanceof Error ? error.message : String(error);
  return new LogError('Unavailable', `${doing}: ${text.includes(code) ? text : `${code}: ${text}`}`, {
    cause: error,
  });
}
