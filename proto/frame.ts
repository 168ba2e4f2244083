// Cuts a byte stream into frames: u32 big-endian length, then that many bytes. Owns the pieces of a frame that has not wholly arrived.
// Invariants: a length is checked against the cap before memory is taken; a frame inside one chunk is not copied; one that spans chunks is
// copied once into a buffer of its own (twice only the first 64 KiB of one above 256 KiB), so the work is linear in the bytes for every
// split of the stream. A frame's bytes are never overwritten afterwards: views of it stay valid as long as they are held (and pin the chunk
// they are in). Must not know what a frame means.
//
//      0        4
//     +--------+------------------- … ---+
//     | length | body, `length` bytes    |
//     +--------+------------------- … ---+
import { LIMIT } from './codes.ts';

/** The body of one frame: `bytes` from `start` up to `end`. */
export interface Frame {
  bytes: Buffer;
  start: number;
  end: number;
}

/** So much of a large frame must have arrived before memory for all of it is taken. */
const TRUST_BYTES = 64 * 1024;
/** A frame up to this length gets its memory at once. */
const SMALL_BYTES = 256 * 1024;
const EMPTY = Buffer.alloc(0);

/** The cap on a frame's length that goes with a limit on a message's data, both in bytes. */
export function frameBytesMax(messageBytes: number): number {
  return messageBytes + LIMIT.FRAME_OVERHEAD_BYTES + LIMIT.FRAME_SLACK_BYTES;
}

/** The limit on a message's data that goes with a cap on a frame's length: the inverse of frameBytesMax. */
export function messageBytesMax(frameBytes: number): number {
  return Math.max(0, frameBytes - LIMIT.FRAME_OVERHEAD_BYTES - LIMIT.FRAME_SLACK_BYTES);
}

/** What a refusal of too much data says; it names both sizes. */
export function tooLargeText(bytes: number, limit: number): string {
  return `message of ${bytes} bytes is larger than the limit of ${limit} bytes`;
}

export class FrameReader {
  /** Largest length accepted from now on; raised when HELLO has been answered. */
  frameBytesMax: number;
  /** The length of a frame that was above the cap, else 0. No frame comes after it. */
  oversize = 0;

  private chunk: Buffer = EMPTY;
  private pos = 0;
  private readonly waiting: Buffer[] = [];
  private readonly frame: Frame = { bytes: EMPTY, start: 0, end: 0 };
  /** Bytes and value of a length that was split between chunks. */
  private headBytes = 0;
  private headValue = 0;
  /** A frame that has begun and is not whole: its length, what has arrived, and how much that is. */
  private need = -1;
  private partial: Buffer = EMPTY;
  private have = 0;

  /** @param cap largest frame length in bytes */
  constructor(cap: number) {
    this.frameBytesMax = cap;
  }

  /** Takes the next bytes of the stream. They must not be overwritten later. */
  push(chunk: Uint8Array): void {
    const bytes = Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (this.oversize > 0 || bytes.length === 0) return;
    if (this.pos < this.chunk.length) this.waiting.push(bytes);
    else this.take(bytes);
  }

  /** The next whole frame, or null. The object is reused by the following call; the bytes are not. */
  next(): Frame | null {
    while (this.oversize === 0) {
      if (this.need >= 0 ? this.fill() : this.begin()) return this.frame;
      if (this.pos < this.chunk.length) continue;
      const chunk = this.waiting.shift();
      if (chunk === undefined) {
        this.take(EMPTY);
        return null;
      }
      this.take(chunk);
    }
    return null;
  }

  /** Bytes held of a frame that is not whole. */
  get pendingBytes(): number {
    return this.have + this.headBytes;
  }

  private take(chunk: Buffer): void {
    this.chunk = chunk;
    this.pos = 0;
  }

  /** Reads a length. True: the whole frame is in this chunk and set. */
  private begin(): boolean {
    const { chunk } = this;
    while (this.headBytes < 4) {
      if (this.pos >= chunk.length) return false;
      this.headValue = this.headValue * 256 + chunk[this.pos++]!;
      this.headBytes++;
    }
    const length = this.headValue;
    this.headBytes = 0;
    this.headValue = 0;
    if (length > this.frameBytesMax) {
      this.oversize = length;
      this.waiting.length = 0;
      this.take(EMPTY);
      return false;
    }
    if (this.pos + length <= chunk.length) {
      this.set(chunk, this.pos, length);
      this.pos += length;
      return true;
    }
    this.need = length;
    return this.fill();
  }

  /** Moves what this chunk has of the unfinished frame. True: it is whole and set. */
  private fill(): boolean {
    const taken = Math.min(this.need - this.have, this.chunk.length - this.pos);
    const have = this.have + taken;
    if (have > this.partial.length || this.have === 0) {
      const isTrusted = this.need <= SMALL_BYTES || have > TRUST_BYTES;
      const grown = Buffer.allocUnsafe(isTrusted ? this.need : TRUST_BYTES);
      this.partial.copy(grown, 0, 0, this.have);
      this.partial = grown;
    }
    this.chunk.copy(this.partial, this.have, this.pos, this.pos + taken);
    this.pos += taken;
    this.have = have;
    if (have < this.need) return false;
    this.set(this.partial, 0, this.need);
    this.partial = EMPTY;
    this.need = -1;
    this.have = 0;
    return true;
  }

  private set(bytes: Buffer, start: number, length: number): void {
    this.frame.bytes = bytes;
    this.frame.start = start;
    this.frame.end = start + length;
  }
}
