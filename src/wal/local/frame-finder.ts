// Frames that are valid in themselves (CRC, own pos = place, log key, space id), wherever they stand: at a place, or the next one behind it.
// Invariants: nothing is searched inside a frame that is valid; a newer format is noted, never passed over as garbage. Only reads. It must
// not know how frames follow each other.

import * as frames from './frame.ts';
import { FRAME_ALIGN, FrameHeader, HEADER_BYTES, frameBytes } from './frame.ts';
import { SegmentWindow, crcFits, headerFits, sameLog } from './scan.ts';
import type { LogIdentity } from './scan.ts';
import type { SegmentFiles } from './segment.ts';

const STEP_BYTES = 1024 * 1024;

export interface FinderOptions {
  readonly segmentBytes: number;
  /** The segments that exist. */
  readonly sizes: ReadonlyMap<number, number>;
  /** null: frames of any log. */
  readonly identity: LogIdentity | null;
  readonly windowBytes?: number;
}

export class FrameFinder {
  readonly header = new FrameHeader();
  /** Where the current frame begins in its segment, and its length. */
  offset = 0;
  bytes = 0;
  /** A frame of a newer format that was met, at its place. */
  newer: { number: number; offset: number; version: number } | null = null;
  readonly #files: SegmentFiles;
  readonly #options: FinderOptions;
  #window: SegmentWindow;

  constructor(files: SegmentFiles, options: FinderOptions) {
    this.#files = files;
    this.#options = options;
    this.#window = this.#newWindow();
  }

  /** What was read is forgotten: a log that is being written to may hold more by now. */
  forget(): void {
    this.#window = this.#newWindow();
  }

  /** Whether a whole frame stands at a position; then it is the current one. */
  async at(pos: number): Promise<boolean> {
    if (!(await this.claimsAt(pos))) return false;
    const number = this.#window.number;
    await this.#window.fill(number, this.offset, this.bytes);
    return crcFits(this.#window, this.offset, this.header);
  }

  /** The same without the CRC: a frame of this log began there, though it may be damaged. */
  async claimsAt(pos: number): Promise<boolean> {
    const { segmentBytes, identity, sizes } = this.#options;
    const number = Math.floor(pos / segmentBytes);
    const offset = pos - number * segmentBytes;
    if (!sizes.has(number) || segmentBytes - offset < HEADER_BYTES) return false;
    const window = this.#window;
    await window.fill(number, offset, HEADER_BYTES);
    await this.#noteVersion(number, offset);
    const { header } = this;
    if (!headerFits(window, offset, { header, segmentBytes })) return false;
    if (identity !== null && !sameLog(header, identity)) return false;
    this.offset = offset;
    this.bytes = frameBytes(header.recordCount, header.payloadBytes);
    return true;
  }

  /** The first whole frame at or behind a position that `accept` takes, which looks at `header`. */
  async search(from: number, accept: () => boolean | Promise<boolean>): Promise<boolean> {
    const { segmentBytes, sizes } = this.#options;
    let number = Math.floor(from / segmentBytes);
    let offset = from - number * segmentBytes;
    const last = Math.max(...sizes.keys());
    for (; number <= last; number++, offset = 0) {
      if (!sizes.has(number)) continue;
      while (segmentBytes - offset >= HEADER_BYTES) {
        const hit = await this.#nextMagic(number, offset);
        if (hit < 0) break;
        const isWhole = await this.at(number * segmentBytes + hit);
        if (this.newer !== null) return false;
        if (isWhole && (await accept())) return true;
        offset = hit + (isWhole ? this.bytes : FRAME_ALIGN);
      }
    }
    return false;
  }

  /** The current frame's records: a view that the next call may overwrite. */
  async payload(): Promise<{ bytes: Uint8Array; starts: Uint32Array }> {
    const { header, offset } = this;
    const number = Math.floor(header.pos / this.#options.segmentBytes);
    await this.#window.fill(number, offset, this.bytes);
    return {
      bytes: this.#window.bytes(frames.payloadStart(offset, header.recordCount), header.payloadBytes),
      starts: this.#window.words(offset + HEADER_BYTES, header.recordCount),
    };
  }

  #newWindow(): SegmentWindow {
    return new SegmentWindow(this.#files, this.#options.segmentBytes, this.#options.windowBytes);
  }

  async #nextMagic(number: number, from: number): Promise<number> {
    const { segmentBytes } = this.#options;
    for (let at = from; at < segmentBytes; at += STEP_BYTES) {
      const length = Math.min(STEP_BYTES, segmentBytes - at);
      await this.#window.fill(number, at, length);
      const words = this.#window.words(at, length / 4);
      for (let i = 1; i < words.length; i += 2)
        if (frames.isMagicWord(words[i] ?? 0)) return at + 4 * (i - 1);
    }
    return -1;
  }

  async #noteVersion(number: number, offset: number): Promise<void> {
    const { segmentBytes, identity } = this.#options;
    const window = this.#window;
    const version = frames.claimedVersion(window.view, offset - window.from, number * segmentBytes + offset);
    if (version <= frames.FORMAT_VERSION) return;
    const at = offset - window.from;
    if (identity !== null) {
      if (window.view.getUint32(at + 16, true) !== identity.keyLow) return;
      if (window.view.getUint32(at + 20, true) !== identity.keyHigh) return;
    }
    // Without a key this may be bytes that someone put into a body: only a segment's start is beyond doubt.
    if (identity === null && offset > 0) return;
    if (await this.#isOwnVersion(number, offset)) return;
    this.newer ??= { number, offset, version };
  }

  /** Whether only the version's own byte is damaged: with ours in its place the CRC matches. */
  async #isOwnVersion(number: number, offset: number): Promise<boolean> {
    const { segmentBytes } = this.#options;
    const window = this.#window;
    const head = Buffer.from(window.bytes(offset, HEADER_BYTES));
    head[frames.VERSION_OFFSET] = frames.FORMAT_VERSION;
    const header = new FrameHeader();
    if (!frames.decodeHeader(new DataView(head.buffer, head.byteOffset, head.length), 0, header))
      return false;
    const bytes = frameBytes(header.recordCount, header.payloadBytes);
    if (offset + bytes > segmentBytes) return false;
    await window.fill(number, offset, bytes);
    const frame = Buffer.from(window.bytes(offset, bytes));
    frame[frames.VERSION_OFFSET] = frames.FORMAT_VERSION;
    return frames.frameCrc(frame) === frame.readUInt32LE(0);
  }
}
