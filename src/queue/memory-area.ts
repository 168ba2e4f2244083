// The memory area of a space: the records of its non-persistent messages, in cells of fixed size linked through a column, outside the
// garbage-collected heap. It grows by chunks up to its limit and never spills to disk. A record's cells are taken when its enqueue is
// answered and given back when the message is removed [spec 5.3 -n, 8.4].
import { NONE } from '../base/column.ts';

const CELL_BYTES = 256;
const CHUNK_CELLS = 4096;

export class MemoryArea {
  /** Bytes that may be used; what a message takes is rounded up to cells. */
  limitBytes = 0;
  private readonly chunks: Uint8Array[] = [];
  private readonly links: Uint32Array[] = [];
  private free = NONE;
  private cells = 0;
  private used = 0;
  /** Records that several rows have, by first cell: how many beside one. */
  private readonly shares = new Map<number, number>();

  get usedBytes(): number {
    return this.used * CELL_BYTES;
  }

  /** What a record of this length takes. */
  static bytesFor(length: number): number {
    return Math.ceil(length / CELL_BYTES) * CELL_BYTES;
  }

  hasRoom(length: number): boolean {
    return this.usedBytes + MemoryArea.bytesFor(length) <= this.limitBytes;
  }

  /** Copies a record in; returns its first cell. Ask `hasRoom` first. */
  put(parts: readonly Uint8Array[]): number {
    let first = NONE;
    let cell = NONE;
    let at = CELL_BYTES;
    for (const part of parts) {
      for (let from = 0; from < part.length;) {
        if (at === CELL_BYTES) {
          const next = this.take();
          if (first === NONE) first = next;
          else this.setNext(cell, next);
          cell = next;
          at = 0;
        }
        const piece = part.subarray(from, from + CELL_BYTES - at);
        this.chunkOf(cell).set(piece, this.startOf(cell) + at);
        at += piece.length;
        from += piece.length;
      }
    }
    this.setNext(cell, NONE);
    return first;
  }

  /** A copy of the record that begins in this cell. */
  get(first: number, length: number): Uint8Array {
    const record = new Uint8Array(length);
    let cell = first;
    for (let at = 0; at < length; at += CELL_BYTES) {
      const start = this.startOf(cell);
      record.set(this.chunkOf(cell).subarray(start, start + Math.min(CELL_BYTES, length - at)), at);
      cell = this.next(cell);
    }
    return record;
  }

  /** So many rows have the record: it goes with the last of them. */
  share(first: number, rows: number): void {
    if (rows > 1) this.shares.set(first, rows - 1);
  }

  /** Gives the cells of a record back. */
  release(first: number): void {
    const others = this.shares.get(first) ?? 0;
    if (others > 1) this.shares.set(first, others - 1);
    else this.shares.delete(first);
    if (others > 0) return;
    for (let cell = first; cell !== NONE;) {
      const next = this.next(cell);
      this.setNext(cell, this.free);
      this.free = cell;
      this.used--;
      cell = next;
    }
  }

  private take(): number {
    this.used++;
    const cell = this.free;
    if (cell !== NONE) {
      this.free = this.next(cell);
      return cell;
    }
    if (this.cells % CHUNK_CELLS === 0) {
      this.chunks.push(new Uint8Array(CHUNK_CELLS * CELL_BYTES));
      this.links.push(new Uint32Array(CHUNK_CELLS));
    }
    this.cells++;
    return this.cells;
  }

  // Cells are numbered from 1.
  private chunkOf(cell: number): Uint8Array {
    return this.chunks[Math.floor((cell - 1) / CHUNK_CELLS)] as Uint8Array;
  }
  private startOf(cell: number): number {
    return ((cell - 1) % CHUNK_CELLS) * CELL_BYTES;
  }
  private next(cell: number): number {
    return (this.links[Math.floor((cell - 1) / CHUNK_CELLS)] as Uint32Array)[
      (cell - 1) % CHUNK_CELLS
    ] as number;
  }
  private setNext(cell: number, to: number): void {
    (this.links[Math.floor((cell - 1) / CHUNK_CELLS)] as Uint32Array)[(cell - 1) % CHUNK_CELLS] = to;
  }
}
