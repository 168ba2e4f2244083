// Columns: per-row state kept in typed arrays, outside the garbage-collected heap. Rows are small integers from 1 (0 means "none").
// A column grows by whole chunks, so that growing never copies what is there and never pauses the loop; it does not shrink. Only the first
// chunk starts small and doubles: an empty space costs kilobytes, not megabytes.
// All rows of a table share one RowAllocator; a column knows nothing of which rows are in use. What was never written takes no memory: a value
// that most rows do not have is 0 in those, and not set.

const CHUNK_BITS = 16;
const CHUNK_ROWS = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_ROWS - 1;
const FIRST_ROWS = 256;

/** "No row": handles start at 1. */
export const NONE = 0;

type NumberArray = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** Rows to have when `row` is needed: the first chunk doubles, later ones come whole. */
function rowsFor(row: number): number {
  if (row >= CHUNK_ROWS / 2) return ((row >>> CHUNK_BITS) + 1) * CHUNK_ROWS;
  let rows = FIRST_ROWS;
  while (rows <= row) rows *= 2;
  return rows;
}

/** One value a row, 0 in a row that nobody set. `get` of a row that was never ensured is a programming error. */
export abstract class Column<A extends NumberArray> {
  protected readonly chunks: A[] = [];

  abstract get(row: number): number;
  abstract set(row: number, value: number): void;
  protected abstract make(length: number): A;

  /** Makes rows up to and including `row` usable. */
  ensure(row: number): void {
    const rows = rowsFor(row);
    const [first] = this.chunks;
    if (first === undefined || first.length < Math.min(rows, CHUNK_ROWS)) {
      this.chunks[0] = this.make(Math.min(rows, CHUNK_ROWS));
      if (first !== undefined) this.chunks[0].set(first);
    }
    while (this.chunks.length * CHUNK_ROWS < rows) this.chunks.push(this.make(CHUNK_ROWS));
  }

  get bytes(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  }
}

// Each kind has a `get` and a `set` of its own: one that meets four kinds of arrays looks at each access which it is. The index is in range
// by construction; the check is the array's own.

class U8Column extends Column<Uint8Array> {
  get(row: number): number {
    return (this.chunks[row >>> CHUNK_BITS] as Uint8Array)[row & CHUNK_MASK] as number;
  }
  set(row: number, value: number): void {
    (this.chunks[row >>> CHUNK_BITS] as Uint8Array)[row & CHUNK_MASK] = value;
  }
  protected make(length: number): Uint8Array {
    return new Uint8Array(length);
  }
}

class U16Column extends Column<Uint16Array> {
  get(row: number): number {
    return (this.chunks[row >>> CHUNK_BITS] as Uint16Array)[row & CHUNK_MASK] as number;
  }
  set(row: number, value: number): void {
    (this.chunks[row >>> CHUNK_BITS] as Uint16Array)[row & CHUNK_MASK] = value;
  }
  protected make(length: number): Uint16Array {
    return new Uint16Array(length);
  }
}

class U32Column extends Column<Uint32Array> {
  get(row: number): number {
    return (this.chunks[row >>> CHUNK_BITS] as Uint32Array)[row & CHUNK_MASK] as number;
  }
  set(row: number, value: number): void {
    (this.chunks[row >>> CHUNK_BITS] as Uint32Array)[row & CHUNK_MASK] = value;
  }
  protected make(length: number): Uint32Array {
    return new Uint32Array(length);
  }
}

class F64Column extends Column<Float64Array> {
  get(row: number): number {
    return (this.chunks[row >>> CHUNK_BITS] as Float64Array)[row & CHUNK_MASK] as number;
  }
  set(row: number, value: number): void {
    (this.chunks[row >>> CHUNK_BITS] as Float64Array)[row & CHUNK_MASK] = value;
  }
  protected make(length: number): Float64Array {
    return new Float64Array(length);
  }
}

export function u8Column(): Column<Uint8Array> {
  return new U8Column();
}
export function u16Column(): Column<Uint16Array> {
  return new U16Column();
}
export function u32Column(): Column<Uint32Array> {
  return new U32Column();
}
export function f64Column(): Column<Float64Array> {
  return new F64Column();
}

/** A fixed number of bytes a row. */
export class BytesColumn {
  private readonly chunks: Uint8Array[] = [];
  readonly width: number;

  constructor(width: number) {
    this.width = width;
  }

  ensure(row: number): void {
    const rows = rowsFor(row);
    const [first] = this.chunks;
    const firstBytes = Math.min(rows, CHUNK_ROWS) * this.width;
    if (first === undefined || first.length < firstBytes) {
      this.chunks[0] = new Uint8Array(firstBytes);
      if (first !== undefined) this.chunks[0].set(first);
    }
    while (this.chunks.length * CHUNK_ROWS < rows) this.chunks.push(new Uint8Array(CHUNK_ROWS * this.width));
  }

  set(row: number, bytes: Uint8Array): void {
    (this.chunks[row >>> CHUNK_BITS] as Uint8Array).set(bytes, (row & CHUNK_MASK) * this.width);
  }

  /** A view into the column: copy what is kept. */
  view(row: number): Uint8Array {
    const start = (row & CHUNK_MASK) * this.width;
    return (this.chunks[row >>> CHUNK_BITS] as Uint8Array).subarray(start, start + this.width);
  }

  /** Less than 0 when the first `length` bytes of row `a` sort before those of row `b`; 0 when they are equal. */
  compare(a: number, b: number, length: number): number {
    const chunkA = this.chunks[a >>> CHUNK_BITS] as Uint8Array;
    const chunkB = this.chunks[b >>> CHUNK_BITS] as Uint8Array;
    const startA = (a & CHUNK_MASK) * this.width;
    const startB = (b & CHUNK_MASK) * this.width;
    for (let i = 0; i < length; i++) {
      const difference = (chunkA[startA + i] as number) - (chunkB[startB + i] as number);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  equals(row: number, bytes: Uint8Array): boolean {
    const chunk = this.chunks[row >>> CHUNK_BITS] as Uint8Array;
    const start = (row & CHUNK_MASK) * this.width;
    for (let i = 0; i < this.width; i++) if (chunk[start + i] !== bytes[i]) return false;
    return true;
  }

  get bytes(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  }
}

/** Hands out rows, the most recently freed first, through a free list that lives in one of the table's own columns. */
export class RowAllocator {
  private readonly next: Column<Uint32Array>;
  private readonly grow: (row: number) => void;
  private free = NONE;
  private top = 0;
  private rows = 0;
  /** Rows in use. */
  live = 0;

  /** `next` may be any column whose value means nothing while a row is free; `grow` ensures every column of the table. */
  constructor(next: Column<Uint32Array>, grow: (row: number) => void) {
    this.next = next;
    this.grow = grow;
  }

  /** The highest row ever taken. */
  get rowsMax(): number {
    return this.top;
  }

  /** Whether the next row was never in use: its columns are all 0. */
  get nextIsFresh(): boolean {
    return this.free === NONE;
  }

  take(): number {
    this.live++;
    const row = this.free;
    if (row !== NONE) {
      this.free = this.next.get(row);
      return row;
    }
    this.top++;
    if (this.top >= this.rows) {
      this.grow(this.top);
      this.rows = rowsFor(this.top);
    }
    return this.top;
  }

  give(row: number): void {
    this.live--;
    this.next.set(row, this.free);
    this.free = row;
  }
}
