// Free-form values ↔ msgpack bytes, for the one reply that carries maps (STAT). The only importer of msgpackr. Invariant: bytes reach
// msgpackr only after a walk over them has shown that they are exactly one value of nil, booleans, numbers, strings, arrays and maps with
// string keys, not nested deeply, whose declared sizes lie inside the bytes: so it can neither throw nor allocate beyond them.
import { Packr } from 'msgpackr';

/** Levels of arrays and maps. */
const DEPTH_MAX = 8;
/** Bytes that follow a format byte 0xc0..0xdf (fixed-size values) or that hold its length (sized ones); −1: refused. */
const FIXED_BYTES = [0, -1, 0, 0, -1, -1, -1, -1, -1, -1, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, -1, -1, -1, -1, -1];

const packr = new Packr({ useRecords: false, mapsAsObjects: true, variableMapSize: true });

/** The value as msgpack; maps for objects. The bytes are the caller's own. */
export function packValue(value: object): Uint8Array {
  return Uint8Array.prototype.slice.call(packr.pack(value));
}

/** The one value that `bytes` hold, or undefined when they hold something else. */
export function unpackValue(bytes: Uint8Array): unknown {
  if (skip(bytes, 0, DEPTH_MAX) !== bytes.length) return undefined;
  try {
    return packr.unpack(bytes);
  } catch {
    return undefined; // unreachable after the walk, as far as we know; a peer's bytes must not decide that
  }
}

/** The position after the value at `at`, or −1. */
function skip(bytes: Uint8Array, at: number, depth: number): number {
  const byte = bytes[at];
  if (byte === undefined || depth < 0) return -1;
  const next = at + 1;
  if (byte < 0x80 || byte >= 0xe0) return next;
  if (byte <= 0x8f) return skipMany(bytes, next, { entries: byte & 0x0f, map: true, depth });
  if (byte <= 0x9f) return skipMany(bytes, next, { entries: byte & 0x0f, map: false, depth });
  if (byte <= 0xbf) return within(bytes, next, byte & 0x1f);
  if (byte >= 0xd9 && byte <= 0xdb) return skipSized(bytes, next, 1 << (byte - 0xd9));
  if (byte >= 0xdc) {
    const width = (byte & 1) === 0 ? 2 : 4;
    const entries = readLength(bytes, next, width);
    return skipMany(bytes, next + width, { entries, map: byte >= 0xde, depth });
  }
  const fixed = FIXED_BYTES[byte - 0xc0] ?? -1;
  return fixed < 0 ? -1 : within(bytes, next, fixed);
}

function skipMany(
  bytes: Uint8Array,
  from: number,
  shape: { entries: number; map: boolean; depth: number },
): number {
  if (shape.entries < 0 || shape.entries > bytes.length - from) return -1;
  let at = from;
  for (let i = 0; i < shape.entries; i++) {
    if (shape.map) {
      if (!isStr(bytes[at])) return -1;
      at = skip(bytes, at, 0);
      if (at < 0) return -1;
    }
    at = skip(bytes, at, shape.depth - 1);
    if (at < 0) return -1;
  }
  return at;
}

function skipSized(bytes: Uint8Array, at: number, width: number): number {
  const length = readLength(bytes, at, width);
  return length < 0 ? -1 : within(bytes, at + width, length);
}

function readLength(bytes: Uint8Array, at: number, width: number): number {
  if (at + width > bytes.length) return -1;
  let value = 0;
  for (let i = 0; i < width; i++) value = value * 256 + bytes[at + i]!;
  return value;
}

function within(bytes: Uint8Array, at: number, length: number): number {
  return at + length <= bytes.length ? at + length : -1;
}

function isStr(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0xa0 && byte <= 0xbf) || (byte >= 0xd9 && byte <= 0xdb));
}
