// Appends frames to one connection's output: a growing run of blocks that is handed over once per turn. Owns the msgpack formats that this
// protocol writes (always the shortest one for a value). Invariants: bytes handed over by take() are never written again, so they may wait
// in a socket for as long as they must; a frame's length is patched when it ends. Must not know any opcode.
//
// Large data goes out by reference, as a chunk of its own: whoever gives it must leave it unchanged until it has been sent.

const BLOCK_BYTES = 64 * 1024;
const U32 = 0x1_0000_0000;
const EMPTY = Buffer.alloc(0);

export interface FrameWriterOptions {
  /** Data of at least so many bytes is sent by reference, smaller data is copied. Default 16 KiB; Infinity: always copied. */
  byReferenceBytes?: number;
}

export class FrameWriter {
  private readonly byReferenceBytes: number;
  private block: Buffer = EMPTY;
  /** First byte of the block that no chunk covers yet, and the next byte to write. */
  private start = 0;
  private pos = 0;
  private chunks: Buffer[] = [];
  private chunkBytes = 0;
  /** The open frame: where its length goes, and what of its body lies in finished chunks. */
  private headBlock: Buffer = EMPTY;
  private headAt = 0;
  private bodyBytes = 0;
  private bodyFrom = 0;

  constructor(options: FrameWriterOptions = {}) {
    this.byReferenceBytes = options.byReferenceBytes ?? 16 * 1024;
  }

  /** Bytes that wait to be taken. */
  get bytes(): number {
    return this.chunkBytes + this.pos - this.start;
  }

  /** Hands over everything appended so far, in order; [] when there is nothing. Several chunks: cork, write each, uncork. */
  take(): Buffer[] {
    this.seal();
    const { chunks } = this;
    this.chunks = [];
    this.chunkBytes = 0;
    return chunks;
  }

  /** Opens a frame: an array of `count` elements, of which the first two are given here. */
  begin(count: number, op: number, id: number): void {
    if (this.pos + 64 > this.block.length) this.grow(64);
    this.headBlock = this.block;
    this.headAt = this.pos;
    this.pos += 4;
    this.bodyFrom = this.pos;
    this.bodyBytes = 0;
    this.array(count);
    this.int(op);
    this.int(id);
  }

  /** Closes the frame that begin() opened. */
  end(): void {
    const length = this.bodyBytes + this.pos - this.bodyFrom;
    const { headBlock, headAt } = this;
    headBlock[headAt] = length >>> 24;
    headBlock[headAt + 1] = length >>> 16;
    headBlock[headAt + 2] = length >>> 8;
    headBlock[headAt + 3] = length;
  }

  nil(): void {
    this.room(1);
    this.block[this.pos++] = 0xc0;
  }

  bool(value: boolean): void {
    this.room(1);
    this.block[this.pos++] = value ? 0xc3 : 0xc2;
  }

  /** An array header; its elements follow. At most 65,535. */
  array(count: number): void {
    this.room(3);
    if (count < 16) {
      this.block[this.pos++] = 0x90 | count;
      return;
    }
    this.block[this.pos++] = 0xdc;
    this.block[this.pos++] = count >>> 8;
    this.block[this.pos++] = count;
  }

  /** A map header; its pairs follow. At most 65,535. */
  map(count: number): void {
    this.room(3);
    if (count < 16) {
      this.block[this.pos++] = 0x80 | count;
      return;
    }
    this.block[this.pos++] = 0xde;
    this.block[this.pos++] = count >>> 8;
    this.block[this.pos++] = count;
  }

  /** Assumes a safe integer. */
  int(value: number): void {
    this.room(9);
    if (value >= 0 && value < 0x80) this.block[this.pos++] = value;
    else if (value < 0) this.negative(value);
    else this.positive(value);
  }

  /** A string as UTF-8. */
  str(value: string): void {
    const count = value.length;
    if (count > 31) {
      this.longStr(value);
      return;
    }
    this.room(1 + count);
    const { block } = this;
    let at = this.pos;
    block[at++] = 0xa0 | count;
    for (let i = 0; i < count; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) {
        this.longStr(value);
        return;
      }
      block[at++] = code;
    }
    this.pos = at;
  }

  /** Few bytes, copied: ids and the like. */
  bin(value: Uint8Array): void {
    this.room(5 + value.length);
    this.binHead(value.length);
    this.block.set(value, this.pos);
    this.pos += value.length;
  }

  /** A message's data, or nil for none; zero-length data is none [spec 2.4 point 6]. */
  data(value: Uint8Array | null): void {
    if (value === null || value.length === 0) this.nil();
    else if (value.length < this.byReferenceBytes) this.bin(value);
    else this.reference(value);
  }

  /** The same for data that lies inside a larger buffer: no view is made of what is copied. */
  dataIn(source: Buffer, from: number, to: number): void {
    const length = to - from;
    if (length <= 0) {
      this.nil();
    } else if (length < this.byReferenceBytes) {
      this.room(5 + length);
      this.binHead(length);
      this.pos += source.copy(this.block, this.pos, from, to);
    } else {
      this.reference(source.subarray(from, to));
    }
  }

  /** Bytes that are msgpack already. */
  packed(value: Uint8Array): void {
    this.room(value.length);
    this.block.set(value, this.pos);
    this.pos += value.length;
  }

  private reference(value: Uint8Array): void {
    this.room(5);
    this.binHead(value.length);
    this.bodyBytes += this.pos - this.bodyFrom + value.length;
    this.seal();
    this.bodyFrom = this.pos;
    this.chunks.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    this.chunkBytes += value.length;
  }

  private binHead(length: number): void {
    const { block } = this;
    if (length < 0x100) {
      block[this.pos++] = 0xc4;
      block[this.pos++] = length;
    } else if (length < 0x1_0000) {
      block[this.pos++] = 0xc5;
      this.pos = block.writeUInt16BE(length, this.pos);
    } else {
      block[this.pos++] = 0xc6;
      this.pos = block.writeUInt32BE(length, this.pos);
    }
  }

  private longStr(value: string): void {
    const bytes = Buffer.byteLength(value);
    this.room(5 + bytes);
    const { block } = this;
    if (bytes < 32) {
      block[this.pos++] = 0xa0 | bytes;
    } else if (bytes < 0x100) {
      block[this.pos++] = 0xd9;
      block[this.pos++] = bytes;
    } else if (bytes < 0x1_0000) {
      block[this.pos++] = 0xda;
      this.pos = block.writeUInt16BE(bytes, this.pos);
    } else {
      block[this.pos++] = 0xdb;
      this.pos = block.writeUInt32BE(bytes, this.pos);
    }
    this.pos += block.write(value, this.pos, bytes, 'utf8');
  }

  private positive(value: number): void {
    const { block } = this;
    if (value < 0x100) {
      block[this.pos++] = 0xcc;
      block[this.pos++] = value;
    } else if (value < 0x1_0000) {
      block[this.pos++] = 0xcd;
      block[this.pos++] = value >>> 8;
      block[this.pos++] = value;
    } else if (value < U32) {
      block[this.pos++] = 0xce;
      this.pos = block.writeUInt32BE(value, this.pos);
    } else {
      block[this.pos++] = 0xcf;
      this.pos = block.writeUInt32BE(Math.floor(value / U32), this.pos);
      this.pos = block.writeUInt32BE(value % U32, this.pos);
    }
  }

  private negative(value: number): void {
    const { block } = this;
    if (value >= -32) {
      block[this.pos++] = value & 0xff;
    } else if (value >= -0x80) {
      block[this.pos++] = 0xd0;
      block[this.pos++] = value & 0xff;
    } else if (value >= -0x8000) {
      block[this.pos++] = 0xd1;
      this.pos = block.writeInt16BE(value, this.pos);
    } else if (value >= -0x8000_0000) {
      block[this.pos++] = 0xd2;
      this.pos = block.writeInt32BE(value, this.pos);
    } else {
      const high = Math.floor(value / U32);
      block[this.pos++] = 0xd3;
      this.pos = block.writeInt32BE(high, this.pos);
      this.pos = block.writeUInt32BE(value - high * U32, this.pos);
    }
  }

  private room(bytes: number): void {
    if (this.pos + bytes > this.block.length) this.grow(bytes);
  }

  /** Goes on in a new block. What the open frame has in this one stays here: its length is patched where it lies. */
  private grow(bytes: number): void {
    this.bodyBytes += this.pos - this.bodyFrom;
    this.seal();
    this.block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, bytes));
    this.start = 0;
    this.pos = 0;
    this.bodyFrom = 0;
  }

  /** Ends the chunk that the block's unsent bytes form. */
  private seal(): void {
    if (this.pos === this.start) return;
    this.chunks.push(this.block.subarray(this.start, this.pos));
    this.chunkBytes += this.pos - this.start;
    this.start = this.pos;
  }
}
