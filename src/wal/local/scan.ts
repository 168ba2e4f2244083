// Reading a log in order: a window onto one segment, and the chain of frames that counts.
// Invariants: a frame counts only if its CRC matches, its pos is its place, it names its predecessor and it carries the nonce found
// through the chain (a takeover brings the next one); the chain goes on in the next segment only through that one's preamble. Nothing is
// written here. It must not know what is done about the chain's end (recovery.ts).

import { LogError } from '../log-store.ts';
import { errorCode, readFully } from './file-io.ts';
import * as frames from './frame.ts';
import { FrameHeader, HEADER_BYTES, frameBytes, hasFlag } from './frame.ts';
import type { SegmentFiles } from './segment.ts';

const WINDOW_BYTES = 4 * 1024 * 1024;

/** What makes a log this log. */
export interface LogIdentity {
  readonly spaceId: number;
  readonly keyLow: number;
  readonly keyHigh: number;
  readonly segmentBits: number;
}

/** The log up to the end of a whole batch. */
export interface ChainPoint {
  end: number;
  lastPos: number;
  epoch: number;
  batchNumber: number;
  nonceLow: number;
  nonceHigh: number;
  spaceTime: number;
}

/** A part of one segment in memory; what the file does not have reads as zeros. */
export class SegmentWindow {
  readonly #files: SegmentFiles;
  readonly #segmentBytes: number;
  readonly #windowBytes: number;
  #buffer = Buffer.allocUnsafeSlow(0);
  view = new DataView(this.#buffer.buffer);
  number = 0;
  from = 0;
  to = 0;

  constructor(files: SegmentFiles, segmentBytes: number, windowBytes: number = WINDOW_BYTES) {
    this.#files = files;
    this.#segmentBytes = segmentBytes;
    this.#windowBytes = windowBytes;
  }

  holds(number: number, offset: number, length: number): boolean {
    return number === this.number && offset >= this.from && offset + length <= this.to;
  }

  /** Ensures: at least `length` bytes from `offset`, as far as the segment goes. */
  async fill(number: number, offset: number, length: number): Promise<void> {
    if (this.holds(number, offset, Math.min(length, this.#segmentBytes - offset))) return;
    const size = Math.max(length, Math.min(this.#windowBytes, this.#segmentBytes));
    if (this.#buffer.length < size) {
      this.#buffer = Buffer.allocUnsafeSlow(size);
      this.view = new DataView(this.#buffer.buffer);
    }
    this.number = 0;
    const wanted = this.#buffer.subarray(0, Math.min(this.#buffer.length, this.#segmentBytes - offset));
    wanted.fill(0, await this.#read(number, wanted, offset));
    this.number = number;
    this.from = offset;
    this.to = offset + wanted.length;
  }

  bytes(offset: number, length: number): Uint8Array {
    return this.#buffer.subarray(offset - this.from, offset - this.from + length);
  }

  /** `count` words from an offset that is a multiple of 4. */
  words(offset: number, count: number): Uint32Array {
    return new Uint32Array(this.#buffer.buffer, offset - this.from, count);
  }

  async #read(number: number, into: Uint8Array, offset: number): Promise<number> {
    this.#files.pin(number);
    try {
      const { io } = this.#files;
      const fd = this.#files.fd(number);
      const read = await readFully({ io, fd }, into, offset);
      // Only the file's end may cut a read short: anything else must not be taken for the log's end.
      if (read < into.length && io.fileBytes(fd) > offset + read)
        throw new Error(`a read ended early at offset ${offset + read}`);
      return read;
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return 0;
      throw error;
    } finally {
      this.#files.unpin(number);
    }
  }
}

/** Whether the window holds, at `offset`, a frame that is valid in itself; fills `header`. Assumes: the header's bytes are in the window. */
export function headerFits(
  window: SegmentWindow,
  offset: number,
  place: { header: FrameHeader; segmentBytes: number },
): boolean {
  const { header, segmentBytes } = place;
  if (!frames.decodeHeader(window.view, offset - window.from, header)) return false;
  return (
    header.pos === window.number * segmentBytes + offset &&
    2 ** header.segmentBits === segmentBytes &&
    offset + frameBytes(header.recordCount, header.payloadBytes) <= segmentBytes
  );
}

export function crcFits(window: SegmentWindow, offset: number, header: FrameHeader): boolean {
  const bytes = window.bytes(offset, frameBytes(header.recordCount, header.payloadBytes));
  return frames.frameCrc(bytes) === window.view.getUint32(offset - window.from, true);
}

export function sameLog(header: FrameHeader, identity: LogIdentity): boolean {
  return (
    header.keyLow === identity.keyLow &&
    header.keyHigh === identity.keyHigh &&
    header.spaceId === identity.spaceId
  );
}

/** A takeover's record: which batch it follows, then the writer's name. */
export const TAKEOVER_NAME_AT = 16;

/** The reign and number that the next frame must carry. */
interface Expected {
  epoch: number;
  batchNumber: number;
  nonceLow: number;
  nonceHigh: number;
}

export interface FrameSpan {
  readonly pos: number;
  readonly bytes: number;
}

export class ChainReader {
  readonly window: SegmentWindow;
  readonly header = new FrameHeader();
  /** The chain up to its last whole batch; `lastPos` is -1 while there is none. */
  readonly whole: ChainPoint;
  /** Where the frames of the last whole batch are, the preambles before and in it included. */
  wholeFrames: FrameSpan[] = [];
  /** Offset of the current frame in its segment. */
  offset = 0;
  /** The current frame belongs to a batch that began before the segment where reading began. */
  skipped = false;
  readonly #identity: LogIdentity;
  readonly #segmentBytes: number;
  /** Position behind the last frame, whole batch or not. */
  #end: number;
  #lastPos = -1;
  #ref = 0;
  #inBatch = false;
  #nextOffset = 0;
  /** A preamble told the epoch and nonce of the takeover behind it. */
  #announced = false;
  #frames: FrameSpan[] = [];
  readonly #expected: Expected = { epoch: 0, batchNumber: 0, nonceLow: 0, nonceHigh: 0 };

  /** Begins before the preamble of segment `number`, which is trusted when its CRC matches. */
  constructor(window: SegmentWindow, identity: LogIdentity, number: number) {
    this.window = window;
    this.#identity = identity;
    this.#segmentBytes = 2 ** identity.segmentBits;
    this.#end = number * this.#segmentBytes;
    const none = { lastPos: -1, epoch: 0, batchNumber: -1, nonceLow: 0, nonceHigh: 0, spaceTime: 0 };
    this.whole = { end: this.#end, ...none };
  }

  /** Where the next frame would have to stand. */
  get end(): number {
    return this.#end;
  }

  /** The next frame when it is in the window; false: ask `next`. */
  nextInWindow(): boolean {
    const number = Math.floor(this.#end / this.#segmentBytes);
    const offset = this.#end - number * this.#segmentBytes;
    if (!this.window.holds(number, offset, HEADER_BYTES)) return false;
    if (!headerFits(this.window, offset, { header: this.header, segmentBytes: this.#segmentBytes }))
      return false;
    const bytes = frameBytes(this.header.recordCount, this.header.payloadBytes);
    if (!this.window.holds(number, offset, bytes)) return false;
    return this.#accept(offset, bytes);
  }

  /** The next frame of the chain in `header`, `offset` and the window; false at the chain's end. */
  async next(): Promise<boolean> {
    const number = Math.floor(this.#end / this.#segmentBytes);
    const offset = this.#end - number * this.#segmentBytes;
    if (this.#segmentBytes - offset >= HEADER_BYTES && (await this.#nextAt(number, offset))) return true;
    // A segment that begins at the chain's end was looked at just now.
    return offset > 0 && (await this.#nextAt(number + 1, 0));
  }

  async #nextAt(number: number, offset: number): Promise<boolean> {
    await this.window.fill(number, offset, HEADER_BYTES);
    const pos = number * this.#segmentBytes + offset;
    refuseNewerVersion(this.window, { offset, pos, identity: this.#identity });
    if (!headerFits(this.window, offset, { header: this.header, segmentBytes: this.#segmentBytes }))
      return false;
    const bytes = frameBytes(this.header.recordCount, this.header.payloadBytes);
    await this.window.fill(number, offset, bytes);
    return this.#accept(offset, bytes);
  }

  #accept(offset: number, bytes: number): boolean {
    const { header } = this;
    const isPreamble = offset === 0;
    if (!sameLog(header, this.#identity) || (header.kind === 'preamble') !== isPreamble) return false;
    const begins = this.#lastPos < 0;
    if (begins ? !isPreamble : !this.#follows(offset)) return false;
    if (!crcFits(this.window, offset, header)) return false;
    if (isPreamble) this.#passPreamble(begins);
    else this.#passFrame(bytes);
    this.offset = offset;
    this.#frames.push({ pos: header.pos, bytes });
    this.#lastPos = header.pos;
    this.#end = header.pos + bytes;
    if (!isPreamble && !this.#inBatch) this.#passBatch();
    return true;
  }

  #follows(offset: number): boolean {
    const { header } = this;
    if (header.previousPos !== this.#lastPos || header.ref !== this.#ref) return false;
    if (hasFlag(header, frames.FLAG_RESUMES) !== this.#inBatch) return false;
    if (header.kind === 'preamble') {
      if (!this.#inBatch && header.batchNumber === 0) return header.epoch > header.pos;
      return this.#isExpected();
    }
    if (this.#inBatch) return (this.skipped || header.batchOffset === this.#nextOffset) && this.#isExpected();
    if (header.batchOffset !== 0) return false;
    return header.kind === 'takeover' ? this.#takeoverFollows(offset) : this.#isExpected();
  }

  #isExpected(): boolean {
    const { header } = this;
    const expected = this.#expected;
    return (
      header.epoch === expected.epoch &&
      header.batchNumber === expected.batchNumber &&
      header.nonceLow === expected.nonceLow &&
      header.nonceHigh === expected.nonceHigh
    );
  }

  #takeoverFollows(offset: number): boolean {
    const { header, whole } = this;
    if (header.flags !== 0 || header.batchNumber !== 0 || header.epoch !== header.pos) return false;
    if (this.#announced && !this.#isExpected()) return false;
    // Reading began right before it: what it follows is not known.
    if (whole.lastPos < 0 && this.#announced) return true;
    const follows = takeoverPredecessor(this.window, offset, header);
    return follows !== null && follows.epoch === whole.epoch && follows.batchNumber === whole.batchNumber;
  }

  #passPreamble(begins: boolean): void {
    const { header } = this;
    if (begins) {
      this.#ref = header.ref;
      this.#inBatch = hasFlag(header, frames.FLAG_RESUMES);
      this.skipped = this.#inBatch;
    }
    this.#announced = header.batchNumber === 0;
    this.#expect(header.batchNumber);
  }

  #passFrame(bytes: number): void {
    const { header } = this;
    if (!this.#inBatch) this.skipped = false;
    this.#inBatch = hasFlag(header, frames.FLAG_CONTINUED);
    this.#nextOffset = header.batchOffset + header.payloadBytes;
    if (!this.#inBatch) this.#ref = header.pos + bytes;
  }

  #passBatch(): void {
    const { header, whole } = this;
    this.#announced = false;
    this.#expect(header.batchNumber + 1);
    whole.end = this.#end;
    whole.lastPos = header.pos;
    whole.epoch = header.epoch;
    whole.batchNumber = header.batchNumber;
    whole.nonceLow = header.nonceLow;
    whole.nonceHigh = header.nonceHigh;
    whole.spaceTime = header.spaceTime;
    this.wholeFrames = this.#frames;
    this.#frames = [];
  }

  #expect(batchNumber: number): void {
    const { header } = this;
    this.#expected.epoch = header.epoch;
    this.#expected.batchNumber = batchNumber;
    this.#expected.nonceLow = header.nonceLow;
    this.#expected.nonceHigh = header.nonceHigh;
  }
}

/** Which batch a takeover frame says it follows. Assumes: the frame's bytes may be in the window; null when not or when it is too short. */
export function takeoverPredecessor(
  window: SegmentWindow,
  offset: number,
  header: FrameHeader,
): { epoch: number; batchNumber: number } | null {
  if (header.payloadBytes < TAKEOVER_NAME_AT) return null;
  if (!window.holds(window.number, offset, frameBytes(header.recordCount, header.payloadBytes))) return null;
  const at = frames.payloadStart(offset, header.recordCount) - window.from;
  return { epoch: window.view.getFloat64(at, true), batchNumber: window.view.getFloat64(at + 8, true) };
}

interface VersionPlace {
  readonly offset: number;
  readonly pos: number;
  /** null: nothing is known of the log yet. */
  readonly identity: LogIdentity | null;
}

/** A newer program's log must not be taken for a torn one and cut. Assumes: a header's bytes are in the window. */
export function refuseNewerVersion(window: SegmentWindow, place: VersionPlace): void {
  const at = place.offset - window.from;
  const version = frames.claimedVersion(window.view, at, place.pos);
  if (version <= frames.FORMAT_VERSION) return;
  const { identity } = place;
  if (identity !== null) {
    if (window.view.getUint32(at + 16, true) !== identity.keyLow) return;
    if (window.view.getUint32(at + 20, true) !== identity.keyHigh) return;
  }
  const where = `segment ${window.number} offset ${place.offset}`;
  throw new LogError(
    'Corrupt',
    `${where}: format version ${version}, this program reads ${frames.FORMAT_VERSION}`,
  );
}
