// The frame: header layout, its checks, nothing else. FORMAT.md draws the same boxes and is normative.
//
//    0 crc-32 of everything behind it   4 magic 'TQL', version      8 own pos           16 log key (two u32)
//   24 writer nonce (two u32)          32 epoch                    40 batch number     48 previous frame's pos
//   56 ref of the batch                64 space time               72 wall time        80 space id
//   84 record count                    88 payload length           92 payload's offset in the batch
//   96 header length (u16)             98 log2 of segment bytes    99 kind            100 flags, 101..103 zero
//  104 record starts (u32 each), records, zeros up to a multiple of 8
//
// Invariants: little-endian; frames start at multiples of 8 and do not span segments; the first 24 bytes keep their meaning in all
// versions, so that an older program recognises a newer log instead of cutting it. It must not know files or the chain's rules.

import { crc32 } from 'node:zlib';
import type { BatchKind } from '../log-store.ts';

export const FORMAT_VERSION = 1;
export const HEADER_BYTES = 104;
export const FRAME_ALIGN = 8;

/** 'T' 'Q' 'L' in the low three bytes of a little-endian word; the version is the fourth. */
const MAGIC = 0x4c5154;
const MAGIC_MASK = 0x00ff_ffff;
const MAGIC_WORD = MAGIC + FORMAT_VERSION * 0x100_0000;
const COUNT_AT = 84;
/** Where the version stands in a frame, of whatever version it is. */
export const VERSION_OFFSET = 7;

/** More frames of this batch follow. */
export const FLAG_CONTINUED = 1;
/** This frame is not the first of its batch; in a preamble: the batch behind it began in an earlier segment. */
export const FLAG_RESUMES = 2;
/** Preamble only: the segment was recycled, so stale bytes may follow the log's end. */
export const FLAG_RECYCLED = 4;
/** Preamble only: written before the engine could say its definitions, so the log cannot begin here. */
export const FLAG_BARE = 8;
const FLAGS_KNOWN = 15;

const KINDS: readonly BatchKind[] = ['data', 'noop', 'takeover', 'preamble'];
const KIND_NUMBER: Readonly<Record<BatchKind, number>> = { data: 0, noop: 1, takeover: 2, preamble: 3 };

/** One object per reader or writer, filled again for every frame. */
export class FrameHeader {
  pos = 0;
  keyLow = 0;
  keyHigh = 0;
  nonceLow = 0;
  nonceHigh = 0;
  epoch = 0;
  batchNumber = 0;
  previousPos = 0;
  ref = 0;
  spaceTime = 0;
  wallTime = 0;
  spaceId = 0;
  recordCount = 0;
  payloadBytes = 0;
  batchOffset = 0;
  segmentBits = 0;
  kind: BatchKind = 'data';
  flags = 0;
}

export function frameBytes(recordCount: number, payloadBytes: number): number {
  return Math.ceil((HEADER_BYTES + 4 * recordCount + payloadBytes) / FRAME_ALIGN) * FRAME_ALIGN;
}

export function hasFlag(header: FrameHeader, flag: number): boolean {
  return (header.flags & flag) !== 0;
}

/** Ensures: `at`..`at + HEADER_BYTES` is a whole header whose CRC is still 0. */
export function encodeHeader(view: DataView, at: number, header: FrameHeader): void {
  view.setUint32(at, 0, true);
  view.setUint32(at + 4, MAGIC_WORD, true);
  view.setFloat64(at + 8, header.pos, true);
  view.setUint32(at + 16, header.keyLow, true);
  view.setUint32(at + 20, header.keyHigh, true);
  view.setUint32(at + 24, header.nonceLow, true);
  view.setUint32(at + 28, header.nonceHigh, true);
  view.setFloat64(at + 32, header.epoch, true);
  view.setFloat64(at + 40, header.batchNumber, true);
  view.setFloat64(at + 48, header.previousPos, true);
  view.setFloat64(at + 56, header.ref, true);
  view.setFloat64(at + 64, header.spaceTime, true);
  view.setFloat64(at + 72, header.wallTime, true);
  view.setUint32(at + 80, header.spaceId, true);
  view.setUint32(at + COUNT_AT, header.recordCount, true);
  view.setUint32(at + 88, header.payloadBytes, true);
  view.setUint32(at + 92, header.batchOffset, true);
  view.setUint16(at + 96, HEADER_BYTES, true);
  view.setUint8(at + 98, header.segmentBits);
  view.setUint8(at + 99, KIND_NUMBER[header.kind]);
  view.setUint8(at + 100, header.flags);
  view.setUint8(at + 101, 0);
  view.setUint16(at + 102, 0, true);
}

/**
 * Reads a header without checking the CRC. Assumes: `HEADER_BYTES` bytes from `at`. False: not a header of this version; then `into`
 * is undefined.
 */
export function decodeHeader(view: DataView, at: number, into: FrameHeader): boolean {
  if (view.getUint32(at + 4, true) !== MAGIC_WORD || view.getUint16(at + 96, true) !== HEADER_BYTES)
    return false;
  const kind = KINDS[view.getUint8(at + 99)];
  if (kind === undefined) return false;
  into.pos = view.getFloat64(at + 8, true);
  into.keyLow = view.getUint32(at + 16, true);
  into.keyHigh = view.getUint32(at + 20, true);
  into.nonceLow = view.getUint32(at + 24, true);
  into.nonceHigh = view.getUint32(at + 28, true);
  into.epoch = view.getFloat64(at + 32, true);
  into.batchNumber = view.getFloat64(at + 40, true);
  into.previousPos = view.getFloat64(at + 48, true);
  into.ref = view.getFloat64(at + 56, true);
  into.spaceTime = view.getFloat64(at + 64, true);
  into.wallTime = view.getFloat64(at + 72, true);
  into.spaceId = view.getUint32(at + 80, true);
  into.recordCount = view.getUint32(at + COUNT_AT, true);
  into.payloadBytes = view.getUint32(at + 88, true);
  into.batchOffset = view.getUint32(at + 92, true);
  into.segmentBits = view.getUint8(at + 98);
  into.kind = kind;
  into.flags = view.getUint8(at + 100);
  return into.flags <= FLAGS_KNOWN && into.segmentBits >= 16 && into.segmentBits <= 40;
}

/** The version of what claims to be a frame at its own place, or 0. Holds for frames of all versions. */
export function claimedVersion(view: DataView, at: number, pos: number): number {
  const word = view.getUint32(at + 4, true);
  if ((word & MAGIC_MASK) !== MAGIC || view.getFloat64(at + 8, true) !== pos) return 0;
  return word >>> 24;
}

/** The same test on a raw word, for the search through a whole segment. */
export function isMagicWord(word: number): boolean {
  return (word & MAGIC_MASK) === MAGIC;
}

export function frameCrc(frame: Uint8Array): number {
  return crc32(frame.subarray(4));
}

/** Where the records of the frame at `framePos` begin, once its record count is known. */
export function payloadStart(framePos: number, recordCount: number): number {
  return framePos + HEADER_BYTES + 4 * recordCount;
}

/** Where in a frame its record count stands; a multiple of 4, so it never straddles a page. */
export const RECORD_COUNT_OFFSET = COUNT_AT;
