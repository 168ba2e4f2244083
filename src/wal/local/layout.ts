// Where the frames of a batch go: pure arithmetic over the log's end, the segment size and the record starts.
// Invariants: no frame spans segments; a batch that fits into the rest of the segment, or else into an empty one, is one frame; a larger
// one is cut anywhere; every segment that is entered begins with a preamble. It must not know bytes.

import { assert } from '../../base/assert.ts';
import type { RecordGroup } from '../log-store.ts';
import { FRAME_ALIGN, HEADER_BYTES, frameBytes, payloadStart } from './frame.ts';
import type { Piece } from './segment-table.ts';

export interface FramePlan {
  readonly preamble: boolean;
  readonly pos: number;
  readonly bytes: number;
  /** The share of the batch's records (of the preamble's, for a preamble). */
  readonly from: number;
  readonly to: number;
  readonly firstRecord: number;
  readonly recordCount: number;
  readonly continued: boolean;
  readonly resumes: boolean;
}

export interface LayoutInput {
  readonly end: number;
  readonly segmentBytes: number;
  readonly total: number;
  readonly group: RecordGroup;
  /** Size of the preamble frame that any segment entered now will get. */
  readonly preambleFrameBytes: () => number;
}

/** The largest batch that is taken. */
export const BATCH_BYTES_MAX = 1024 * 1024 * 1024;
/** A piece with less payload than this is not worth its header. */
const PIECE_BYTES_MIN = 64;

/** Frames in the order they are written; their positions ascend. */
export function layoutBatch(input: LayoutInput): FramePlan[] {
  const { end, segmentBytes, total, group } = input;
  const bytes = frameBytes(group.count, total);
  if (bytes <= restOfSegment(end, segmentBytes)) return [wholePlan(input, end, bytes)];
  const preambleBytes = input.preambleFrameBytes();
  if (preambleBytes + bytes > segmentBytes) return cutBatch(input, preambleBytes);
  const start = nextSegmentStart(end, segmentBytes);
  return [preamblePlan(start, preambleBytes, false), wholePlan(input, start + preambleBytes, bytes)];
}

function wholePlan(input: LayoutInput, pos: number, bytes: number): FramePlan {
  return {
    preamble: false,
    pos,
    bytes,
    from: 0,
    to: input.total,
    firstRecord: 0,
    recordCount: input.group.count,
    continued: false,
    resumes: false,
  };
}

function cutBatch(input: LayoutInput, preambleBytes: number): FramePlan[] {
  const { segmentBytes, total, group } = input;
  const plans: FramePlan[] = [];
  let pos = input.end;
  let from = 0;
  let firstRecord = 0;
  for (;;) {
    const rest = restOfSegment(pos, segmentBytes);
    const to = pieceEnd({ group, total, firstRecord, from }, rest);
    if (to - from >= Math.min(PIECE_BYTES_MIN, total - from) && to > from) {
      const last = to === total;
      const recordCount = (last ? group.count : firstStartAtOrAfter(group, to)) - firstRecord;
      const bytes = frameBytes(recordCount, to - from);
      const [continued, resumes] = [!last, from > 0];
      plans.push({ preamble: false, pos, bytes, from, to, firstRecord, recordCount, continued, resumes });
      if (last) return plans;
      pos += bytes;
      from = to;
      firstRecord += recordCount;
    } else {
      assert(rest < segmentBytes - preambleBytes, 'an empty segment holds a piece of any batch');
    }
    const start = nextSegmentStart(pos, segmentBytes);
    plans.push(preamblePlan(start, preambleBytes, from > 0));
    pos = start + preambleBytes;
  }
}

function preamblePlan(pos: number, bytes: number, resumes: boolean): FramePlan {
  return {
    preamble: true,
    pos,
    bytes,
    from: 0,
    to: 0,
    firstRecord: 0,
    recordCount: 0,
    continued: false,
    resumes,
  };
}

/** The bytes left in the segment that `pos` is in; a boundary belongs to a segment that is not entered yet. */
export function restOfSegment(pos: number, segmentBytes: number): number {
  const offset = pos % segmentBytes;
  return offset === 0 ? 0 : segmentBytes - offset;
}

function nextSegmentStart(pos: number, segmentBytes: number): number {
  return Math.ceil(pos / segmentBytes) * segmentBytes;
}

interface PieceStart {
  readonly group: RecordGroup;
  readonly total: number;
  readonly firstRecord: number;
  readonly from: number;
}

/** The furthest end of a piece from `from` whose frame, record starts included, fits into `room` bytes; `from` when none does. */
function pieceEnd(piece: PieceStart, room: number): number {
  const { group, total, firstRecord, from } = piece;
  const usable = Math.floor(room / FRAME_ALIGN) * FRAME_ALIGN - HEADER_BYTES;
  if (4 * (group.count - firstRecord) + (total - from) <= usable) return total;
  let low = from;
  let high = Math.min(total - 1, from + usable);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const starts = firstStartAtOrAfter(group, middle) - firstRecord;
    if (4 * starts + (middle - from) <= usable) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Index of the first record that starts at or behind an offset. */
function firstStartAtOrAfter(group: RecordGroup, offset: number): number {
  let low = 0;
  let high = group.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((group.starts[middle] ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function maxPreambleBytes(segmentBytes: number): number {
  return segmentBytes / 4;
}

/** A frame's share of its batch. */
export function pieceOf(plan: FramePlan): Piece {
  return {
    batchOffset: plan.from,
    payload: payloadStart(plan.pos, plan.recordCount),
    length: plan.to - plan.from,
  };
}

export function bytesOf(group: RecordGroup): number {
  let bytes = 0;
  for (const chunk of group.bytes) bytes += chunk.length;
  return bytes;
}
