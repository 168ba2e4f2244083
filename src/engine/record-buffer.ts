// Records under construction: the open batch, or the enqueues of an open transaction. Bytes are encoded once, into chunks that are never
// moved; a big body is a chunk of its own, by reference. Invariants: the fixed and variable head of a record lies within one chunk; memory
// of its own is used again only after `clear`.
import type { RecordGroup } from '../wal/log-store.ts';

const CHUNK_BYTES = 256 * 1024;
const NOTHING = Buffer.alloc(0);
/** Chunks kept for the next batch: fresh memory costs more than what is written to it. */
const SPARE_MAX = 16;
/** Bodies from this size on are not copied into a chunk. */
export const BY_REFERENCE_BYTES = 32 * 1024;

export class RecordBuffer {
  private chunks: Uint8Array[] = [];
  private chunkStarts: number[] = [];
  private current: Buffer = NOTHING;
  private used = 0;
  /** Bytes of closed chunks. */
  private closed = 0;
  private starts: Uint32Array;
  /** Whole chunks of its own that are in use, and that are not. */
  private whole: Buffer[] = [];
  private readonly spare: Buffer[] = [];
  private readonly chunkBytes: number;
  count = 0;

  /** `chunkBytes`: what is allocated at a time, nothing before the first record. */
  constructor(chunkBytes: number = CHUNK_BYTES) {
    this.chunkBytes = chunkBytes;
    this.starts = new Uint32Array(chunkBytes >>> 7);
  }

  get length(): number {
    return this.closed + this.used;
  }

  /** Opens a record whose first `bytes` bytes will lie together; returns the buffer to write them to, at `writeAt`. */
  open(bytes: number): Buffer {
    this.ensure(bytes);
    this.growStarts(this.count + 1);
    this.starts[this.count] = this.length;
    this.count++;
    return this.current;
  }
  get writeAt(): number {
    return this.used;
  }
  /** Ends what was written since `open`. */
  advance(bytes: number): void {
    this.used += bytes;
  }
  /** Continues the record with bytes that stay where they are. The caller gives them away. */
  attach(bytes: Uint8Array): void {
    this.closeChunk();
    this.push(bytes);
  }

  /** Takes over all records of `other`, which must not be used afterwards; returns the offset at which they begin. */
  adopt(other: RecordBuffer): number {
    other.closeChunk();
    const byReference = other.length >= BY_REFERENCE_BYTES;
    if (byReference) this.closeChunk();
    else this.ensure(other.length);
    const base = this.length;
    for (const chunk of other.chunks) {
      if (byReference) this.push(chunk);
      else this.copy(chunk);
    }
    this.growStarts(this.count + other.count);
    for (let i = 0; i < other.count; i++) this.starts[this.count + i] = base + (other.starts[i] as number);
    this.count += other.count;
    return base;
  }

  startOf(index: number): number {
    return this.starts[index] as number;
  }
  endOf(index: number): number {
    return index + 1 < this.count ? (this.starts[index + 1] as number) : this.length;
  }

  /** A view of bytes that lie within one chunk, or a copy of bytes that do not. */
  slice(offset: number, length: number): Uint8Array {
    if (offset >= this.closed)
      return this.current.subarray(offset - this.closed, offset - this.closed + length);
    let index = this.chunkAt(offset);
    const chunk = this.chunks[index] as Uint8Array;
    const from = offset - (this.chunkStarts[index] as number);
    if (from + length <= chunk.length) return chunk.subarray(from, from + length);
    const copy = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const last = index === this.chunks.length;
      const source = last ? this.current : (this.chunks[index] as Uint8Array);
      const start = offset + filled - (last ? this.closed : (this.chunkStarts[index] as number));
      const part = source.subarray(start, start + length - filled);
      copy.set(part, filled);
      filled += part.length;
      index++;
    }
    return copy;
  }

  /** The records as the log takes them. The buffer must not be written to until they are durable. */
  group(): RecordGroup {
    const bytes = this.used > 0 ? [...this.chunks, this.current.subarray(0, this.used)] : [...this.chunks];
    return { bytes, starts: this.starts, count: this.count };
  }

  /** Empties it for the next batch; its chunks are used again. */
  clear(): void {
    this.chunks = [];
    this.chunkStarts = [];
    this.current = this.whole.shift() ?? NOTHING;
    for (const chunk of this.whole) if (this.spare.length < SPARE_MAX) this.spare.push(chunk);
    this.whole = this.current === NOTHING ? [] : [this.current];
    this.used = 0;
    this.closed = 0;
    this.count = 0;
  }

  /** Makes the current chunk hold `bytes` more. */
  private ensure(bytes: number): void {
    if (this.used + bytes <= this.current.length) return;
    this.closeChunk();
    if (this.current.length < bytes) this.current = this.chunkFor(bytes);
  }

  private chunkFor(bytes: number): Buffer {
    if (bytes > this.chunkBytes) return Buffer.allocUnsafe(bytes);
    const chunk = this.spare.pop() ?? Buffer.allocUnsafe(this.chunkBytes);
    this.whole.push(chunk);
    return chunk;
  }

  /** What is in the current chunk will not move any more; its rest goes on being written to. */
  private closeChunk(): void {
    if (this.used === 0) return;
    const filled = this.current.subarray(0, this.used);
    this.current = this.current.subarray(this.used);
    this.used = 0;
    this.push(filled);
  }

  private copy(bytes: Uint8Array): void {
    this.current.set(bytes, this.used);
    this.used += bytes.length;
  }

  private growStarts(count: number): void {
    if (count <= this.starts.length) return;
    const larger = new Uint32Array(Math.max(count, this.starts.length * 2));
    larger.set(this.starts);
    this.starts = larger;
  }

  private push(bytes: Uint8Array): void {
    this.chunkStarts.push(this.closed);
    this.chunks.push(bytes);
    this.closed += bytes.length;
  }

  private chunkAt(offset: number): number {
    let low = 0;
    let high = this.chunkStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.chunkStarts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
