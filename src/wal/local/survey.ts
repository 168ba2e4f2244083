// All that can be read of a log, damaged or not: its whole batches in order, and what is missing between them. For the tools; a start reads
// with recovery.ts and replay.ts, which stop at the first damage.
// Invariants: a batch comes out only whole; behind damage reading goes on with the next frame that is valid in itself and not older than
// the last one (a frame of an earlier reign, or of an earlier number, is a remain); what follows the last whole batch is a torn tail when
// it can only belong to the very next batch [FORMAT, The end], else damage. Only reads. It must not know records.

import type { Batch, RecordGroup } from '../log-store.ts';
import * as frames from './frame.ts';
import { FLAG_CONTINUED, FLAG_RESUMES, hasFlag } from './frame.ts';
import type { FrameHeader } from './frame.ts';
import { FrameFinder } from './frame-finder.ts';
import type { TornTail } from './recovery.ts';
import { SegmentWindow, TAKEOVER_NAME_AT } from './scan.ts';
import type { ChainPoint, FrameSpan } from './scan.ts';
import type { SegmentFiles } from './segment.ts';
import type { Piece } from './segment-table.ts';
import type { SurveyRoot } from './survey-root.ts';
import { searchRest } from './tail.ts';

export interface SurveyedBatch {
  readonly kind: 'batch';
  /** As replay hands it out: its views are good until the next item; a preamble comes before the batch that it stands before or in. */
  readonly batch: Batch;
  readonly number: number;
  readonly frames: readonly FrameSpan[];
  /** Where its records lie. */
  readonly pieces: readonly Piece[];
}

/** Bytes that hold nothing that can be used. */
export interface LostRegion {
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
  /** The file does not exist. */
  readonly missing: boolean;
}

/** A frame of a batch that is lost: `whole` when only others of its frames are missing, else its CRC does not match. */
export interface Fragment {
  readonly pos: number;
  readonly whole: boolean;
}

/** Something is missing between two whole batches, or behind the last one. */
export interface Gap {
  readonly kind: 'gap';
  readonly regions: readonly LostRegion[];
  readonly fragments: readonly Fragment[];
  /** How many batches are missing; null: it cannot be known. */
  readonly lostBatches: number | null;
}

export interface SurveyEnd {
  readonly kind: 'end';
  /** The last whole batch; null: there is none. */
  readonly whole: ChainPoint | null;
  readonly tornTail: TornTail | null;
  /** The log goes on in a newer format here. */
  readonly newer: { readonly file: string; readonly offset: number; readonly version: number } | null;
}

export type SurveyItem = SurveyedBatch | Gap | SurveyEnd;

/** What the next frame must carry, at least. */
interface Expected {
  readonly epoch: number;
  readonly batchNumber: number;
  readonly nonceLow: number;
  readonly nonceHigh: number;
}

/** A batch of several frames whose last one is still to come. */
interface OpenBatch {
  readonly pos: number;
  readonly ref: number;
  /** `broken`: some of it is lost; `trimmed`: it began before the log does. */
  state: 'fine' | 'broken' | 'trimmed';
  nextOffset: number;
  readonly bytes: Uint8Array[];
  readonly starts: Uint32Array[];
  readonly frames: FrameSpan[];
  readonly pieces: Piece[];
}

const PROGRESS_BYTES = 1024 * 1024;
const FRAGMENT_WINDOW_BYTES = 4096;

export class Survey {
  readonly root: SurveyRoot;
  readonly #files: SegmentFiles;
  readonly #finder: FrameFinder;
  readonly #onProgress: (bytes: number) => void;
  #reported = 0;
  /** Where the next frame would have to stand, and the position of the one before; -1: there is none. */
  #at: number;
  #lastPos = -1;
  /** End of the last batch; 0: not known. */
  #ref = 0;
  #expected: Expected | null = null;
  #announced = false;
  #open: OpenBatch | null = null;
  #whole: ChainPoint | null = null;
  /** Preambles whose batch has not come yet. */
  #held: SurveyedBatch[] = [];
  #regions: LostRegion[] = [];
  #fragments: Fragment[] = [];
  /** A frame behind the last whole batch proves that one between is missing. */
  #later = false;

  /** `onProgress` is told how many bytes are behind it, of `root.bytes`. */
  constructor(files: SegmentFiles, root: SurveyRoot, onProgress: (bytes: number) => void = () => {}) {
    this.root = root;
    this.#files = files;
    this.#onProgress = onProgress;
    this.#finder = new FrameFinder(files, root);
    this.#at = root.first * root.segmentBytes;
  }

  async *items(): AsyncGenerator<SurveyItem, void> {
    if (this.root.identity === null) {
      yield this.#end(null);
      return;
    }
    while ((await this.#nextLinked()) || (await this.#resync())) {
      const item = await this.#take();
      if (item === null) continue;
      const gap = this.#gapBefore(item);
      this.#passWhole();
      if (gap !== null) yield gap;
      yield* this.#held;
      this.#held = [];
      if (item.kind === 'batch') yield item;
    }
    if (this.#later && this.#finder.newer === null) yield this.#lastGap();
    yield this.#end(this.#later ? null : await this.#tornTail());
  }

  /** The records of a fragment: copies. `starts` count from the beginning of `bytes`; what lies before the first is a record's end. */
  async fragment({ pos }: Fragment): Promise<{ bytes: Uint8Array; starts: Uint32Array }> {
    // Apart from the reading that goes on: its last item is still looked at.
    const finder = new FrameFinder(this.#files, { ...this.root, windowBytes: FRAGMENT_WINDOW_BYTES });
    if (!(await finder.claimsAt(pos))) return { bytes: new Uint8Array(0), starts: new Uint32Array(0) };
    const { bytes, starts } = await finder.payload();
    const { batchOffset } = finder.header;
    return { bytes: Buffer.from(bytes), starts: Uint32Array.from(starts, (start) => start - batchOffset) };
  }

  place(pos: number): { file: string; offset: number } {
    const number = Math.floor(pos / this.root.segmentBytes);
    return { file: this.#files.path(number), offset: pos - number * this.root.segmentBytes };
  }

  /** Whether the frame that continues the chain is where it should be; it is the current one then. */
  async #nextLinked(): Promise<boolean> {
    const { segmentBytes } = this.root;
    const offset = this.#at % segmentBytes;
    if ((await this.#finder.at(this.#at)) && (await this.#isLinked())) return true;
    if (offset === 0 || this.#finder.newer !== null) return false;
    return (await this.#finder.at(this.#at - offset + segmentBytes)) && this.#isLinked();
  }

  async #isLinked(): Promise<boolean> {
    const { header } = this.#finder;
    const isPreamble = header.kind === 'preamble';
    if (!this.#isPlausible()) return false;
    if (this.#lastPos < 0) return isPreamble;
    if (header.previousPos !== this.#lastPos) return false;
    if (this.#ref > 0 && header.ref !== this.#ref) return false;
    const resumes = hasFlag(header, FLAG_RESUMES);
    if (resumes !== (this.#open !== null)) return false;
    if (isPreamble) return header.batchNumber === 0 || this.#isExpected();
    if (this.#open !== null) {
      const contiguous = this.#open.state !== 'fine' || header.batchOffset === this.#open.nextOffset;
      return contiguous && this.#isExpected();
    }
    if (header.batchOffset !== 0) return false;
    if (header.kind !== 'takeover' || this.#announced) return this.#isExpected();
    const follows = await this.#predecessor();
    return this.#whole === null || isPoint(follows, this.#whole);
  }

  #isExpected(): boolean {
    const { header } = this.#finder;
    return (
      this.#expected !== null &&
      header.batchNumber === this.#expected.batchNumber &&
      isOfReign(header, this.#expected)
    );
  }

  /** What must hold of any frame at its place, whatever is before it. */
  #isPlausible(): boolean {
    const { header, offset } = this.#finder;
    const { kind, epoch, pos, batchNumber } = header;
    if ((kind === 'preamble') !== (offset === 0) || header.previousPos >= pos || header.ref > pos)
      return false;
    if (kind === 'takeover') return epoch === pos && batchNumber === 0;
    return kind === 'preamble' && batchNumber === 0 ? epoch > pos : epoch < pos;
  }

  /** Finds where reading goes on behind a break; false: nothing more of this log follows. */
  async #resync(): Promise<boolean> {
    if (this.#finder.newer !== null) return false;
    const from = this.#at;
    // A log that is being written to may have gone on meanwhile.
    this.#finder.forget();
    if (await this.#nextLinked()) return true;
    const wrecks = await this.#wrecksAt(from);
    if (!(await this.#finder.search(from, () => this.#isAcceptable()))) return false;
    const { pos } = this.#finder.header;
    this.#finder.forget();
    if (await this.#nextLinked()) return true;
    if (!(await this.#finder.at(pos))) return this.#resync();
    this.#fragments.push(...wrecks);
    this.#regions.push(...this.#regionsFrom(from));
    if (this.#open !== null && !this.#resumesOpen(this.#open)) this.#abandon(this.#open);
    const { header } = this.#finder;
    if (this.#open === null && header.kind !== 'preamble' && hasFlag(header, FLAG_RESUMES))
      this.#openBatch('broken');
    return true;
  }

  #isAcceptable(): boolean {
    const { header } = this.#finder;
    const expected = this.#expected;
    if (!this.#isPlausible()) return false;
    if (expected === null || header.epoch > expected.epoch) return true;
    return isOfReign(header, expected) && header.batchNumber >= expected.batchNumber;
  }

  /** Frames of this log that are damaged, one behind the other from a position. */
  async #wrecksAt(from: number): Promise<Fragment[]> {
    const wrecks: Fragment[] = [];
    for (let pos = from; await this.#finder.claimsAt(pos); pos += this.#finder.bytes) {
      const { kind } = this.#finder.header;
      if (!this.#isAcceptable() || (await this.#finder.at(pos))) break;
      if (kind === 'data') wrecks.push({ pos, whole: false });
    }
    return wrecks;
  }

  /** Whether the current frame belongs to the open batch right behind what is there of it: then only a preamble was lost. */
  #resumesOpen(open: OpenBatch): boolean {
    const { header } = this.#finder;
    if (!hasFlag(header, FLAG_RESUMES) || header.ref !== open.ref || !this.#isExpected()) return false;
    return header.kind === 'preamble' || open.state !== 'fine' || header.batchOffset === open.nextOffset;
  }

  #abandon(open: OpenBatch): void {
    for (const { pos } of open.frames) this.#fragments.push({ pos, whole: true });
    this.#open = null;
  }

  #openBatch(state: OpenBatch['state']): OpenBatch {
    const { pos, ref, batchOffset } = this.#finder.header;
    const open = { pos, ref, state, nextOffset: batchOffset, bytes: [], starts: [], frames: [], pieces: [] };
    this.#open = open;
    return open;
  }

  /** Goes past the current frame; returns what became whole with it. */
  async #take(): Promise<SurveyedBatch | { kind: 'trimmed' } | null> {
    const { header, bytes } = this.#finder;
    const begins = this.#lastPos < 0 && this.#regions.length === 0;
    await this.#noteLater();
    this.#lastPos = header.pos;
    this.#at = header.pos + bytes;
    this.#progress();
    if (header.kind === 'preamble') {
      await this.#takePreamble(begins);
      return null;
    }
    const isContinued = hasFlag(header, FLAG_CONTINUED);
    this.#expect(isContinued ? header.batchNumber : header.batchNumber + 1);
    this.#announced = false;
    if (this.#open === null && !isContinued) {
      this.#ref = this.#at;
      const { bytes: payload, starts } = await this.#finder.payload();
      const where = { frames: [{ pos: header.pos, bytes }], pieces: [this.#piece()] };
      return this.#batch({ bytes: [payload], starts, count: starts.length }, where);
    }
    const open = this.#open ?? this.#openBatch('fine');
    this.#ref = isContinued ? open.ref : this.#at;
    await this.#addFrame(open);
    return isContinued ? null : this.#finish(open);
  }

  async #takePreamble(begins: boolean): Promise<void> {
    const { header, bytes } = this.#finder;
    const { bytes: payload, starts } = await this.#finder.payload();
    const records = { bytes: [Buffer.from(payload)], starts: Uint32Array.from(starts), count: starts.length };
    const item = this.#batch(records, { frames: [{ pos: header.pos, bytes }], pieces: [this.#piece()] });
    this.#held.push(this.#open === null ? item : { ...item, batch: { ...item.batch, pos: this.#open.pos } });
    this.#expect(header.batchNumber);
    this.#announced = header.batchNumber === 0;
    this.#ref = header.ref;
    if (this.#open === null && hasFlag(header, FLAG_RESUMES)) this.#openBatch(begins ? 'trimmed' : 'broken');
  }

  async #addFrame(open: OpenBatch): Promise<void> {
    const { header, bytes } = this.#finder;
    open.frames.push({ pos: header.pos, bytes });
    open.pieces.push(this.#piece());
    open.nextOffset = header.batchOffset + header.payloadBytes;
    if (open.state !== 'fine') return;
    const { bytes: payload, starts } = await this.#finder.payload();
    open.bytes.push(Buffer.from(payload));
    open.starts.push(Uint32Array.from(starts));
  }

  #finish(open: OpenBatch): SurveyedBatch | { kind: 'trimmed' } | null {
    if (open.state === 'broken') {
      this.#abandon(open);
      return null;
    }
    this.#open = null;
    if (open.state === 'trimmed') return { kind: 'trimmed' };
    const count = open.starts.reduce((sum, part) => sum + part.length, 0);
    const starts = new Uint32Array(count);
    let at = 0;
    for (const part of open.starts) {
      starts.set(part, at);
      at += part.length;
    }
    const item = this.#batch({ bytes: [Buffer.concat(open.bytes)], starts, count }, open);
    return { ...item, batch: { ...item.batch, pos: open.pos } };
  }

  #piece(): Piece {
    const { pos, recordCount, batchOffset, payloadBytes } = this.#finder.header;
    return { batchOffset, payload: frames.payloadStart(pos, recordCount), length: payloadBytes };
  }

  #batch(records: RecordGroup, where: Pick<SurveyedBatch, 'frames' | 'pieces'>): SurveyedBatch {
    const { ref, pos, epoch, spaceTime, wallTime, kind, batchNumber } = this.#finder.header;
    const time = { space: spaceTime, wall: wallTime };
    return {
      kind: 'batch',
      batch: { ref, pos, epoch, time, records, kind },
      number: batchNumber,
      frames: where.frames,
      pieces: where.pieces,
    };
  }

  #expect(batchNumber: number): void {
    const { epoch, nonceLow, nonceHigh } = this.#finder.header;
    this.#expected = { epoch, batchNumber, nonceLow, nonceHigh };
  }

  #passWhole(): void {
    const { epoch, batchNumber, nonceLow, nonceHigh, spaceTime } = this.#finder.header;
    const [end, lastPos] = [this.#at, this.#lastPos];
    this.#whole = { end, lastPos, epoch, batchNumber, nonceLow, nonceHigh, spaceTime };
    this.#later = false;
  }

  async #noteLater(): Promise<void> {
    const { header } = this.#finder;
    const whole = this.#whole;
    if (whole === null) this.#later ||= this.#regions.length > 0 && header.batchNumber > 0;
    else if (header.epoch === whole.epoch) this.#later ||= header.batchNumber > whole.batchNumber + 1;
    else if (header.batchNumber > 0) this.#later = true;
    else if (header.kind === 'preamble') this.#later ||= header.previousPos !== whole.lastPos;
    else this.#later ||= !isPoint(await this.#predecessor(), whole);
  }

  /** What is missing before a batch that is whole again; null: nothing. */
  #gapBefore(item: SurveyedBatch | { kind: 'trimmed' }): Gap | null {
    const regions = this.#regions;
    const fragments = this.#fragments;
    this.#regions = [];
    this.#fragments = [];
    if (regions.length === 0) return null;
    const lostBatches = item.kind === 'trimmed' ? 0 : this.#lostBefore(item);
    return { kind: 'gap', regions, fragments, lostBatches };
  }

  #lostBefore({ batch, number }: SurveyedBatch): number | null {
    const whole = this.#whole;
    const [bytes] = batch.records.bytes;
    const follows = batch.kind === 'takeover' && bytes !== undefined ? predecessorIn(bytes) : null;
    if (whole === null) return follows !== null && follows.epoch === 0 ? 0 : null;
    if (batch.epoch === whole.epoch) return number - whole.batchNumber - 1;
    return follows?.epoch === whole.epoch ? follows.batchNumber - whole.batchNumber : null;
  }

  #lastGap(): Gap {
    const whole = this.#whole;
    if (this.#open !== null) this.#abandon(this.#open);
    const known = whole !== null && this.#expected?.epoch === whole.epoch;
    const lostBatches = known ? (this.#expected?.batchNumber ?? 0) - whole.batchNumber - 1 : null;
    return { kind: 'gap', regions: this.#regions, fragments: this.#fragments, lostBatches };
  }

  /** The bytes between a break and the current frame, a region a segment. */
  #regionsFrom(from: number): LostRegion[] {
    const { segmentBytes, sizes } = this.root;
    const { header } = this.#finder;
    const { pos, ref } = header;
    const isNext = !hasFlag(header, FLAG_RESUMES);
    const regions: LostRegion[] = [];
    const last = Math.floor(pos / segmentBytes);
    for (let number = Math.floor(from / segmentBytes); number <= last; number++) {
      const start = Math.max(from, number * segmentBytes);
      let end = Math.min(pos, (number + 1) * segmentBytes);
      // The end of the batch before is known: what is behind it in that segment was never used.
      if (isNext && number < last && ref >= start && ref < end) end = ref;
      const missing = !sizes.has(number);
      if (end > start || missing) regions.push({ ...this.place(start), bytes: end - start, missing });
    }
    const isNoted = regions.length > 0 || this.#regions.length > 0;
    return isNoted ? regions : [{ ...this.place(from), bytes: 0, missing: false }];
  }

  /** As a start would cut it. */
  async #tornTail(): Promise<TornTail | null> {
    const { segmentBytes, identity, last, sizes } = this.root;
    const whole = this.#whole;
    if (whole === null || this.#finder.newer !== null) return null;
    const current = Math.floor((whole.end - 1) / segmentBytes);
    const isRecycled =
      (await this.#finder.at(current * segmentBytes)) && hasFlag(this.#finder.header, frames.FLAG_RECYCLED);
    const search = { window: new SegmentWindow(this.#files, segmentBytes), segmentBytes, identity, whole };
    let head: { file: string; offset: number } | null = null;
    let torn = 0;
    for (let number = Math.floor(whole.end / segmentBytes); number <= last; number++) {
      if (!sizes.has(number)) continue;
      const offset = Math.max(0, whole.end - number * segmentBytes);
      const rest = await searchRest(search, number, offset);
      const bytes = rest.dirtyEnd - rest.offset;
      if (bytes === 0 || !(rest.claimed || (number === current && !isRecycled))) continue;
      head ??= { file: this.#files.path(number), offset };
      torn += bytes;
    }
    return head === null ? null : { ...head, bytes: torn };
  }

  #end(tornTail: TornTail | null): SurveyEnd {
    const newer =
      this.#finder.newer ??
      (this.root.identity === null && this.root.newer !== null ? { ...this.root.newer, offset: 0 } : null);
    const where = newer === null ? null : { ...newer, file: this.#files.path(newer.number) };
    this.#onProgress(this.root.bytes);
    return { kind: 'end', whole: this.#whole, tornTail, newer: where };
  }

  async #predecessor(): Promise<{ epoch: number; batchNumber: number } | null> {
    return predecessorIn((await this.#finder.payload()).bytes);
  }

  #progress(): void {
    const bytes = this.#at - this.root.first * this.root.segmentBytes;
    if (bytes - this.#reported < PROGRESS_BYTES) return;
    this.#reported = bytes;
    this.#onProgress(Math.min(bytes, this.root.bytes));
  }
}

function isOfReign(header: FrameHeader, reign: Omit<Expected, 'batchNumber'>): boolean {
  return (
    header.epoch === reign.epoch && header.nonceLow === reign.nonceLow && header.nonceHigh === reign.nonceHigh
  );
}

function isPoint(
  found: { epoch: number; batchNumber: number } | null,
  point: { epoch: number; batchNumber: number },
): boolean {
  return found !== null && found.epoch === point.epoch && found.batchNumber === point.batchNumber;
}

function predecessorIn(record: Uint8Array): { epoch: number; batchNumber: number } | null {
  if (record.length < TAKEOVER_NAME_AT) return null;
  const view = new DataView(record.buffer, record.byteOffset, record.length);
  return { epoch: view.getFloat64(0, true), batchNumber: view.getFloat64(8, true) };
}
