// What stands behind the chain's end: nothing, a torn tail, or damage in the middle.
// Invariants: at most one batch is ever in flight, so valid frames there may only belong to the very next batch (the number after the last
// whole one, or a takeover that directly follows it); any later one is damage. Frames count here when they are valid in themselves: CRC,
// own pos = place, space id and log key; so stale bytes of recycled segments and look-alikes in bodies are neither. Only reads.

import * as frames from './frame.ts';
import { FRAME_ALIGN, FrameHeader, HEADER_BYTES, frameBytes } from './frame.ts';
import { crcFits, headerFits, sameLog, takeoverPredecessor } from './scan.ts';
import type { ChainPoint, LogIdentity, SegmentWindow } from './scan.ts';

const STEP_BYTES = 1024 * 1024;

/** What a search through one segment found. */
export interface SegmentRest {
  readonly number: number;
  /** Where the search began. */
  readonly offset: number;
  /** End of the last byte that is not zero; `offset` when there is none. */
  dirtyEnd: number;
  /** A header that claims its own place was seen, whole or torn. */
  claimed: boolean;
  /** Offset of the first frame that belongs to a later batch, or -1. */
  damageAt: number;
}

export interface TailSearch {
  readonly window: SegmentWindow;
  readonly segmentBytes: number;
  /** null: not even the log's first frame is known. */
  readonly identity: LogIdentity | null;
  readonly whole: ChainPoint;
}

/** Looks at every place from `offset` to the segment's end. */
export async function searchRest(search: TailSearch, number: number, offset: number): Promise<SegmentRest> {
  const rest: SegmentRest = { number, offset, dirtyEnd: offset, claimed: false, damageAt: -1 };
  const header = new FrameHeader();
  for (let at = offset; at < search.segmentBytes;) {
    const length = Math.min(STEP_BYTES, search.segmentBytes - at);
    await search.window.fill(number, at, length);
    const words = search.window.words(at, length / 4);
    const hit = nextMagic(words, rest, at);
    if (hit < 0) at += length;
    else at = await inspect(search, { rest, header, offset: at + hit });
  }
  return rest;
}

/** Offset of the next place with a frame's magic, or -1; notes the last byte that is not zero. */
function nextMagic(words: Uint32Array, rest: SegmentRest, base: number): number {
  let dirty = -1;
  let hit = -1;
  for (let i = 0; i < words.length; i += 2) {
    const low = words[i] ?? 0;
    const high = words[i + 1] ?? 0;
    if ((low | high) === 0) continue;
    dirty = i;
    if (!frames.isMagicWord(high)) continue;
    hit = i * 4;
    break;
  }
  if (dirty >= 0) rest.dirtyEnd = Math.max(rest.dirtyEnd, base + dirty * 4 + FRAME_ALIGN);
  return hit;
}

interface Place {
  readonly rest: SegmentRest;
  readonly header: FrameHeader;
  readonly offset: number;
}

/** Judges one place with the magic and returns where the search goes on: behind a frame that is valid, else at the next place. */
async function inspect(search: TailSearch, place: Place): Promise<number> {
  const { window, segmentBytes, identity } = search;
  const { rest, header, offset } = place;
  const next = offset + FRAME_ALIGN;
  if (segmentBytes - offset < HEADER_BYTES) return next;
  await window.fill(rest.number, offset, HEADER_BYTES);
  const pos = rest.number * segmentBytes + offset;
  if (frames.claimedVersion(window.view, offset - window.from, pos) === 0) return next;
  rest.claimed = true;
  if (!headerFits(window, offset, { header, segmentBytes })) return next;
  if (identity !== null && !sameLog(header, identity)) return next;
  const bytes = frameBytes(header.recordCount, header.payloadBytes);
  await window.fill(rest.number, offset, bytes);
  if (!crcFits(window, offset, header)) return next;
  rest.dirtyEnd = Math.max(rest.dirtyEnd, offset + bytes);
  if (rest.damageAt < 0 && isLater(search, header, offset)) rest.damageAt = offset;
  return offset + bytes;
}

/** Whether a frame behind the chain's end proves that a batch before it is missing. */
function isLater(search: TailSearch, header: FrameHeader, offset: number): boolean {
  const { whole, window } = search;
  if (header.epoch < whole.epoch) return false;
  if (header.epoch === whole.epoch) {
    const ofThisReign = header.nonceLow === whole.nonceLow && header.nonceHigh === whole.nonceHigh;
    return ofThisReign && header.batchNumber > whole.batchNumber + 1;
  }
  if (header.batchNumber !== 0) return true;
  if (header.kind === 'preamble') return header.previousPos !== Math.max(0, whole.lastPos);
  if (header.kind !== 'takeover') return true;
  const follows = takeoverPredecessor(window, offset, header);
  return follows === null || follows.epoch !== whole.epoch || follows.batchNumber !== whole.batchNumber;
}
