// Reads the msgpack subset of this protocol from one frame, strictly. Owns a position; reads never pass the frame's end. Invariants: the
// first thing wrong is kept in `fault` and ends the frame, so that every later read returns its zero value at once: callers read all members
// and look at `fault` once. Allocates nothing in proportion to a declared length. Must not know any opcode.
//
// Accepted: nil, booleans, integers of every width within ±(2^53−1), str of valid UTF-8, bin, and arrays and maps where one is asked
// for. Never accepted: floats, extensions, the unused byte 0xC1, a length that points beyond the frame.
import { isUtf8 } from 'node:buffer';
import type { Frame } from './frame.ts';

const EMPTY = Buffer.alloc(0);
const NOTHING = new Uint8Array(0);
const U32 = 0x1_0000_0000;
/** Short names recur in every message: they are found here instead of being made again. Fixed size; a miss costs what no cache would. */
const NAME_SLOTS = 1024;
const NAME_CACHED_BYTES = 32;

export class Cursor {
  bytes: Buffer = EMPTY;
  pos = 0;
  end = 0;
  /** What was wrong first, in words; '' while nothing is. */
  fault = '';
  private readonly names: string[] = Array.from({ length: NAME_SLOTS }, () => '');

  /** Begins a frame. */
  open(frame: Frame): void {
    this.bytes = frame.bytes;
    this.pos = frame.start;
    this.end = frame.end;
    this.fault = '';
  }

  /** Drops the reference to the frame's bytes. */
  close(): void {
    this.bytes = EMPTY;
    this.pos = 0;
    this.end = 0;
  }

  /** Notes what is wrong, unless something was before. */
  fail(reason: string): void {
    if (this.fault === '') this.fault = reason;
    this.pos = this.end;
  }

  /** To be called after the last member. */
  finish(): void {
    if (this.pos !== this.end) this.fail(`${this.end - this.pos} bytes after the last member`);
  }

  /** Number of elements of the array that begins here, or -1. Each element takes a byte at least. */
  array(name: string): number {
    const byte = this.byte(name);
    let count = -1;
    if (byte >= 0x90 && byte <= 0x9f) count = byte & 0x0f;
    else if (byte === 0xdc) count = this.length(2, name);
    else if (byte === 0xdd) count = this.length(4, name);
    else if (byte >= 0) this.unexpected('array', name, byte);
    if (count > this.end - this.pos) {
      this.fail(`${name}: array of ${count} elements in ${this.end - this.pos} bytes`);
      return -1;
    }
    return this.fault === '' ? count : -1;
  }

  /** Number of pairs of the map that begins here, or -1. Each pair takes two bytes at least. */
  map(name: string): number {
    const byte = this.byte(name);
    let count = -1;
    if (byte >= 0x80 && byte <= 0x8f) count = byte & 0x0f;
    else if (byte === 0xde) count = this.length(2, name);
    else if (byte === 0xdf) count = this.length(4, name);
    else if (byte >= 0) this.unexpected('map', name, byte);
    if (count * 2 > this.end - this.pos) {
      this.fail(`${name}: map of ${count} pairs in ${this.end - this.pos} bytes`);
      return -1;
    }
    return this.fault === '' ? count : -1;
  }

  /** Whether the next element is a boolean; reads nothing. */
  atBool(): boolean {
    const byte = this.pos < this.end ? this.bytes[this.pos]! : 0;
    return byte === 0xc2 || byte === 0xc3;
  }

  /** Whether the next element is an array; reads nothing. */
  atArray(): boolean {
    const byte = this.pos < this.end ? this.bytes[this.pos]! : 0;
    return (byte >= 0x90 && byte <= 0x9f) || byte === 0xdc || byte === 0xdd;
  }

  /** Whether the next element is an integer; reads nothing. */
  atInt(): boolean {
    const byte = this.pos < this.end ? this.bytes[this.pos]! : 0xc1;
    return byte < 0x80 || byte >= 0xe0 || (byte >= 0xcc && byte <= 0xd3);
  }

  /** Reads a nil if the next element is one. */
  nil(): boolean {
    if (this.pos >= this.end || this.bytes[this.pos] !== 0xc0) return false;
    this.pos++;
    return true;
  }

  bool(name: string): boolean {
    const byte = this.byte(name);
    if (byte === 0xc3) return true;
    if (byte !== 0xc2 && byte >= 0) this.unexpected('boolean', name, byte);
    return false;
  }

  /** An integer of any width within ±(2^53−1). */
  int(name: string): number {
    const byte = this.byte(name);
    if (byte < 0) return 0;
    if (byte < 0x80) return byte;
    if (byte >= 0xe0) return byte - 0x100;
    return this.wideInt(byte, name);
  }

  /** An integer in 0..max. */
  uint(name: string, max: number): number {
    const value = this.int(name);
    if (value >= 0 && value <= max) return value;
    this.fail(`${name}: ${value} is not in 0..${max}`);
    return 0;
  }

  /** A string of at most `max` bytes. */
  str(name: string, max: number): string {
    const byte = this.byte(name);
    let length = -1;
    if (byte >= 0xa0 && byte <= 0xbf) length = byte & 0x1f;
    else if (byte === 0xd9) length = this.length(1, name);
    else if (byte === 0xda) length = this.length(2, name);
    else if (byte === 0xdb) length = this.length(4, name);
    else if (byte >= 0) this.unexpected('string', name, byte);
    if (!this.fits(length, max, name) || length === 0) return '';
    return this.text(length, name);
  }

  /** Bytes, at most `max`, as a view of the frame. */
  bin(name: string, max: number): Uint8Array {
    const byte = this.byte(name);
    let length = -1;
    if (byte === 0xc4) length = this.length(1, name);
    else if (byte === 0xc5) length = this.length(2, name);
    else if (byte === 0xc6) length = this.length(4, name);
    else if (byte >= 0) this.unexpected('bytes', name, byte);
    if (!this.fits(length, max, name)) return NOTHING;
    const from = this.pos;
    this.pos = from + length;
    return this.bytes.subarray(from, from + length);
  }

  /** Exactly `size` bytes. */
  binOf(name: string, size: number): Uint8Array {
    const value = this.bin(name, size);
    if (value.length !== size) this.fail(`${name}: ${value.length} bytes, expected ${size}`);
    return value;
  }

  private byte(name: string): number {
    if (this.pos < this.end) return this.bytes[this.pos++]!;
    this.fail(`${name}: the frame ends before it`);
    return -1;
  }

  /** A big-endian length of 1, 2 or 4 bytes. */
  private length(width: number, name: string): number {
    if (this.pos + width > this.end) {
      this.fail(`${name}: the frame ends inside it`);
      return -1;
    }
    const value = this.bytes.readUIntBE(this.pos, width);
    this.pos += width;
    return value;
  }

  private fits(length: number, max: number, name: string): boolean {
    if (length < 0) return false;
    if (length > this.end - this.pos)
      this.fail(`${name}: ${length} bytes declared, ${this.end - this.pos} left`);
    else if (length > max) this.fail(`${name}: ${length} bytes, at most ${max} allowed`);
    else return true;
    return false;
  }

  private wideInt(byte: number, name: string): number {
    if (byte < 0xcc || byte > 0xd3) {
      this.unexpected('integer', name, byte);
      return 0;
    }
    const width = 1 << (byte & 3);
    const at = this.pos;
    if (at + width > this.end) {
      this.fail(`${name}: the frame ends inside it`);
      return 0;
    }
    this.pos = at + width;
    const signed = byte >= 0xd0;
    if (width < 8) return signed ? this.bytes.readIntBE(at, width) : this.bytes.readUIntBE(at, width);
    const high = signed ? this.bytes.readInt32BE(at) : this.bytes.readUInt32BE(at);
    const value = high * U32 + this.bytes.readUInt32BE(at + 4);
    if (Number.isSafeInteger(value)) return value;
    this.fail(`${name}: integer beyond 2^53-1`);
    return 0;
  }

  /** Reads `length` bytes as text; a short ASCII name comes from the cache. */
  private text(length: number, name: string): string {
    const { bytes } = this;
    const from = this.pos;
    const to = from + length;
    this.pos = to;
    if (length > NAME_CACHED_BYTES) return this.decode(from, to, name);
    let hash = length;
    let all = 0;
    for (let at = from; at < to; at++) {
      const code = bytes[at]!;
      hash = (Math.imul(hash, 31) + code) | 0;
      all |= code;
    }
    if (all > 0x7f) return this.decode(from, to, name);
    const slot = (hash ^ (hash >>> 15)) & (NAME_SLOTS - 1);
    const known = this.names[slot]!;
    if (known.length === length && same(known, bytes, from)) return known;
    const made = bytes.toString('latin1', from, to);
    this.names[slot] = made;
    return made;
  }

  private decode(from: number, to: number, name: string): string {
    if (isUtf8(this.bytes.subarray(from, to))) return this.bytes.toString('utf8', from, to);
    this.fail(`${name}: not valid UTF-8`);
    return '';
  }

  private unexpected(expected: string, name: string, byte: number): void {
    this.fail(`${name}: ${expected} expected, found ${formatName(byte)}`);
  }
}

function same(known: string, bytes: Buffer, from: number): boolean {
  for (let i = 0; i < known.length; i++) if (known.charCodeAt(i) !== bytes[from + i]) return false;
  return true;
}

/** What a first byte announces, in words. */
function formatName(byte: number): string {
  if (byte < 0x80 || byte >= 0xe0 || (byte >= 0xcc && byte <= 0xd3)) return 'integer';
  if (byte <= 0x8f || byte === 0xde || byte === 0xdf) return 'map';
  if (byte <= 0x9f || byte === 0xdc || byte === 0xdd) return 'array';
  if (byte <= 0xbf || (byte >= 0xd9 && byte <= 0xdb)) return 'string';
  if (byte === 0xc0) return 'nil';
  if (byte === 0xc1) return 'the unused byte 0xc1';
  if (byte === 0xc2 || byte === 0xc3) return 'boolean';
  if (byte >= 0xc4 && byte <= 0xc6) return 'bytes';
  if (byte === 0xca || byte === 0xcb) return 'float';
  return 'extension';
}
