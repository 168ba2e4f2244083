// Where batches are: one small entry a segment, and the pieces of the few batches that are cut into several frames.
// Invariants: a ref is the end of the frame before its batch; the batch starts there, or, when it did not fit, in the next segment right
// behind that one's preamble. It must not know bytes or files.

import { assert } from '../../base/assert.ts';
import type { Pos, Ref } from '../log-store.ts';

export interface SegmentEntry {
  readonly number: number;
  /** End of the segment's last frame. */
  usedEnd: Pos;
  /** Where the frame behind the preamble starts. */
  readonly dataStart: Pos;
  /** The ref of the batch behind the preamble. */
  readonly ref: Ref;
  /** That batch began in an earlier segment. */
  readonly resumes: boolean;
  /** The preamble was written before the engine could say its definitions. */
  readonly bare: boolean;
}

/** A frame's share of a batch. */
export interface Piece {
  readonly batchOffset: number;
  readonly payload: Pos;
  readonly length: number;
}

export class SegmentTable {
  readonly segmentBytes: number;
  readonly #entries = new Map<number, SegmentEntry>();
  readonly #pieces = new Map<Ref, Piece[]>();
  #first = 0;
  #last = 0;

  constructor(segmentBytes: number) {
    this.segmentBytes = segmentBytes;
  }

  /** Number of the first segment that belongs to the log. */
  get first(): number {
    return this.#first;
  }

  get last(): number {
    return this.#last;
  }

  numberOf(position: Pos): number {
    return Math.floor(position / this.segmentBytes);
  }

  add(entry: SegmentEntry): void {
    assert(this.#last === 0 || entry.number === this.#last + 1, 'segments are added in order', entry.number);
    if (this.#first === 0) this.#first = entry.number;
    this.#last = entry.number;
    this.#entries.set(entry.number, entry);
  }

  entry(number: number): SegmentEntry | undefined {
    return this.#entries.get(number);
  }

  setUsedEnd(number: number, usedEnd: Pos): void {
    const entry = this.#entries.get(number);
    assert(entry !== undefined, 'only an entered segment is used');
    entry.usedEnd = usedEnd;
  }

  addPieces(ref: Ref, pieces: Piece[]): void {
    this.#pieces.set(ref, pieces);
  }

  /** Of a batch of several frames; undefined: it is one frame. */
  pieces(ref: Ref): Piece[] | undefined {
    return this.#pieces.size === 0 ? undefined : this.#pieces.get(ref);
  }

  /** The position of a batch's first frame, or -1 when the log does not hold it. */
  frameOf(ref: Ref): Pos {
    const number = Math.floor(ref / this.segmentBytes);
    const atBoundary = ref === number * this.segmentBytes;
    const entry = this.#entries.get(number);
    if (entry !== undefined && !atBoundary && ref < entry.usedEnd) return ref;
    const next = this.#entries.get(atBoundary ? number : number + 1);
    if (next === undefined || next.resumes || next.ref !== ref || next.dataStart >= next.usedEnd) return -1;
    return next.dataStart;
  }

  /** Forgets the segments before `number`. */
  removeBefore(number: number): void {
    assert(number <= this.#last, 'the current segment stays');
    for (; this.#first < number; this.#first++) this.#entries.delete(this.#first);
    const start = number * this.segmentBytes;
    for (const [ref, pieces] of this.#pieces) {
      if ((pieces[0]?.payload ?? 0) < start) this.#pieces.delete(ref);
    }
  }
}
