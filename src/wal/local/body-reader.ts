// Bytes of batches by ref and offset: from the pages at once, else from the segment files.
// Invariants: a segment is pinned from the call to its end; what is appended but not written yet (its segment is still being prepared) is
// waited for; a failed read says file and offset and harms nothing else. It must not know who appends.

import { assert } from '../../base/assert.ts';
import { LogError } from '../log-store.ts';
import type { Pos, Ref } from '../log-store.ts';
import { errorText, readFully } from './file-io.ts';
import { RECORD_COUNT_OFFSET, payloadStart } from './frame.ts';
import { LogPages, PAGE_BYTES } from './page-cache.ts';
import type { PageCache, PageSource } from './page-cache.ts';
import { segmentFileName } from './segment.ts';
import type { SegmentFiles } from './segment.ts';
import type { SegmentTable } from './segment-table.ts';

const MEMO_SLOTS = 1024;
const EMPTY = new Uint8Array(0);

interface Extent {
  readonly position: Pos;
  readonly length: number;
}

export class BodyReader implements PageSource {
  readonly pages: LogPages;
  readonly #files: SegmentFiles;
  readonly #table: SegmentTable;
  /** End of what is in the files. */
  #writtenEnd: Pos = 0;
  /** Resolves when what is appended is written. */
  #writing: Promise<boolean> | null = null;
  /** Where the records of recently used batches start: a direct-mapped memo. */
  readonly #memoRefs = new Float64Array(MEMO_SLOTS);
  readonly #memoStarts = new Float64Array(MEMO_SLOTS);

  constructor(files: SegmentFiles, table: SegmentTable, cache: PageCache) {
    this.#files = files;
    this.#table = table;
    this.pages = new LogPages(cache, this, Math.min(PAGE_BYTES, table.segmentBytes));
  }

  /** Told by the writer: where the records of a batch of one frame start. */
  remember(ref: Ref, start: Pos): void {
    const slot = (ref / 8) % MEMO_SLOTS;
    this.#memoRefs[slot] = ref;
    this.#memoStarts[slot] = start;
  }

  setWritten(end: Pos): void {
    this.#writtenEnd = end;
    this.#writing = null;
  }

  setWriting(done: Promise<boolean> | null): void {
    this.#writing = done;
  }

  cached(ref: Ref, offset: number, length: number): Uint8Array | null {
    if (length === 0) return EMPTY;
    const pieces = this.#table.pieces(ref);
    if (pieces !== undefined) {
      const piece = pieces.find(
        (one) => one.batchOffset <= offset && offset + length <= one.batchOffset + one.length,
      );
      return piece === undefined ? null : this.pages.view(piece.payload + offset - piece.batchOffset, length);
    }
    const start = this.#knownStart(ref);
    return start < 0 ? null : this.pages.view(start + offset, length);
  }

  async read(ref: Ref, offset: number, length: number): Promise<Uint8Array> {
    if (length === 0) return EMPTY;
    const pieces = this.#table.pieces(ref);
    const frame = pieces === undefined ? this.#table.frameOf(ref) : 0;
    if (frame < 0) throw new LogError('Corrupt', `${this.#files.dir}: no batch has the ref ${ref}`);
    const numbers = pieces?.map((piece) => this.#table.numberOf(piece.payload)) ?? [
      this.#table.numberOf(frame),
    ];
    for (const number of numbers) this.#files.pin(number);
    const result = Buffer.allocUnsafeSlow(length);
    try {
      const extents = await this.#extents(ref, offset, length);
      for (let done = 0, i = 0; i < extents.length; i++) {
        const extent = extents[i];
        assert(extent !== undefined, 'the index is in range');
        await this.#readExtent(extent, result.subarray(done, done + extent.length));
        done += extent.length;
      }
      return result;
    } finally {
      for (const number of numbers) this.#files.unpin(number);
    }
  }

  /** File and offset of a batch's bytes, for messages; the log's directory when the batch is not known. */
  place(ref: Ref, offset: number): { file: string; offset: number } {
    const piece = this.#table.pieces(ref)?.findLast((one) => one.batchOffset <= offset);
    const start = piece === undefined ? this.#knownStart(ref) : piece.payload - piece.batchOffset;
    const position = start < 0 ? this.#table.frameOf(ref) : start + offset;
    return position < 0 ? { file: this.#files.dir, offset: 0 } : this.#placeOf(position);
  }

  async load(position: Pos, into: Uint8Array): Promise<Pos> {
    const limit = this.#writtenEnd;
    const number = this.#table.numberOf(position);
    if (position >= limit)
      throw new LogError('Unavailable', `${this.#files.dir}: nothing is written at ${position}`);
    this.#files.pin(number);
    try {
      const target = { io: this.#files.io, fd: this.#files.fd(number) };
      const read = await readFully(target, into, position - number * this.#table.segmentBytes);
      return Math.min(limit, position + read);
    } finally {
      this.#files.unpin(number);
    }
  }

  /** Where the records of a batch of one frame start, or -1 when that takes a read. */
  #knownStart(ref: Ref): Pos {
    const slot = (ref / 8) % MEMO_SLOTS;
    if (this.#memoRefs[slot] === ref) return this.#memoStarts[slot] ?? -1;
    const frame = this.#table.frameOf(ref);
    if (frame < 0) return -1;
    const count = this.pages.word(frame + RECORD_COUNT_OFFSET);
    if (count < 0) return -1;
    const start = payloadStart(frame, count);
    this.remember(ref, start);
    return start;
  }

  async #extents(ref: Ref, offset: number, length: number): Promise<Extent[]> {
    const pieces = this.#table.pieces(ref);
    if (pieces === undefined) {
      let start = this.#knownStart(ref);
      if (start < 0) start = await this.#readStart(ref);
      return [{ position: start + offset, length }];
    }
    const extents: Extent[] = [];
    for (const piece of pieces) {
      const from = Math.max(offset, piece.batchOffset);
      const to = Math.min(offset + length, piece.batchOffset + piece.length);
      if (from < to) extents.push({ position: piece.payload + from - piece.batchOffset, length: to - from });
    }
    return extents;
  }

  async #readStart(ref: Ref): Promise<Pos> {
    const frame = this.#table.frameOf(ref);
    const word = Buffer.alloc(4);
    await this.#readExtent({ position: frame + RECORD_COUNT_OFFSET, length: 4 }, word);
    const start = payloadStart(frame, word.readUInt32LE(0));
    this.remember(ref, start);
    return start;
  }

  async #readExtent(extent: Extent, into: Uint8Array): Promise<void> {
    const end = extent.position + extent.length;
    if (end > this.#writtenEnd) {
      const view = this.pages.view(extent.position, extent.length);
      if (view !== null) {
        into.set(view);
        return;
      }
      while (end > this.#writtenEnd && this.#writing !== null) await this.#writing;
    }
    try {
      await this.pages.read(extent.position, into);
    } catch (error) {
      if (error instanceof LogError) throw error;
      const { file, offset } = this.#placeOf(extent.position);
      const text = `${file}: reading ${extent.length} bytes at offset ${offset} failed: ${errorText(error)}`;
      throw new LogError('Unavailable', text, { cause: error });
    }
  }

  #placeOf(position: Pos): { file: string; offset: number } {
    const number = this.#table.numberOf(position);
    const file = `${this.#files.dir}/${segmentFileName(number)}`;
    return { file, offset: position - number * this.#table.segmentBytes };
  }
}
