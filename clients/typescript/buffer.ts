// Typed buffers ↔ values: STRING ↔ string, CARRAY and X_OCTET ↔ bytes, JSON ↔ value, MBSTRING ↔ string in an encoding, XML ↔ string; any other
// type is type, subtype and bytes. Invariants: an empty value is "no data part" [spec 2.4 point 6]; bytes that a caller receives are his
// own. Must not know calls or sockets.
import { LIMIT, TPERRNO } from '../../proto/codes.ts';
import type { TypedData } from '../../proto/message.ts';
import { TpError } from './error.ts';

const TYPED_BUFFER = Symbol.for('@tmqueue/client.TypedBuffer');

/** Bytes of this size lie in a buffer of their own when they arrive [proto/frame.ts] and need no copy. */
const OWN_BUFFER_BYTES = 64 * 1024;

/** What a call returns: `data` as its type says, null when there is no data part (type '' then). */
export interface Received {
  data: unknown;
  type: string;
  subtype: string;
}

/** A value with its buffer type. Made by the functions below. */
export class TypedBuffer {
  readonly type: string;
  readonly subtype: string;
  readonly data: Uint8Array | null;

  constructor(type: string, subtype: string, data: Uint8Array | null) {
    this.type = type;
    this.subtype = subtype;
    this.data = data;
  }

  static is(value: unknown): value is TypedBuffer {
    return typeof value === 'object' && value !== null && TYPED_BUFFER in value;
  }
}

/** Makes objects of a class pass as typed buffers. On the prototype, where every copy of the package finds it. */
export function markTyped(prototype: { readonly type: string; readonly data: Uint8Array | null }): void {
  Object.defineProperty(prototype, TYPED_BUFFER, { value: true });
}
markTyped(TypedBuffer.prototype);

/** STRING: UTF-8 text. The same as passing the string itself. */
export function string(text: string): TypedBuffer {
  return new TypedBuffer('STRING', '', Buffer.from(text));
}

/** CARRAY: bytes. The same as passing them. Not copied: leave them unchanged until the call is answered. */
export function carray(bytes: Uint8Array): TypedBuffer {
  return new TypedBuffer('CARRAY', '', bytes);
}

/** X_OCTET: bytes, as carray. */
export function xOctet(bytes: Uint8Array): TypedBuffer {
  return new TypedBuffer('X_OCTET', '', bytes);
}

/** JSON: any value that JSON can express, strings and null too. */
export function json(value: unknown): TypedBuffer {
  return new TypedBuffer('JSON', '', jsonBytes(value));
}

/** XML: the text of a document, in UTF-8. */
export function xml(text: string): TypedBuffer {
  return new TypedBuffer('XML', '', Buffer.from(text));
}

/**
 * MBSTRING: text in a named encoding. Text can be encoded as UTF-8, UTF-16LE, ISO-8859-1 and US-ASCII; for other encodings pass the bytes.
 */
export function mbstring(text: string | Uint8Array, encoding = 'UTF-8'): TypedBuffer {
  if (typeof text !== 'string') return new TypedBuffer('MBSTRING', encoding, text);
  const known = NODE_ENCODINGS.get(encoding.toLowerCase());
  if (known === undefined) throw invalid(`text cannot be encoded as ${encoding} here; pass its bytes`);
  return new TypedBuffer('MBSTRING', encoding, Buffer.from(text, known));
}

/** Any type, with the bytes as they are: FML32, VIEW … */
export function typed(type: string, subtype: string, bytes: Uint8Array | null): TypedBuffer {
  return new TypedBuffer(type, subtype, bytes);
}

const NODE_ENCODINGS: ReadonlyMap<string, 'utf8' | 'utf16le' | 'latin1'> = new Map([
  ['utf-8', 'utf8'],
  ['utf8', 'utf8'],
  ['utf-16le', 'utf16le'],
  ['iso-8859-1', 'latin1'],
  ['latin1', 'latin1'],
  ['us-ascii', 'latin1'],
  ['ascii', 'latin1'],
]);

const NOTHING: TypedData = { type: '', subtype: '', data: null };

/** What is sent for a value: a string is STRING, bytes are CARRAY, null and undefined nothing, anything else JSON. Throws TPEINVAL. */
export function toWire(value: unknown): TypedData {
  if (typeof value === 'string') {
    return value === '' ? NOTHING : { type: 'STRING', subtype: '', data: Buffer.from(value) };
  }
  if (value === null || value === undefined) return NOTHING;
  if (value instanceof Uint8Array)
    return value.length === 0 ? NOTHING : { type: 'CARRAY', subtype: '', data: value };
  if (!TypedBuffer.is(value)) return { type: 'JSON', subtype: '', data: jsonBytes(value) };
  checkTypeNames(value.type, value.subtype);
  return value.data === null || value.data.length === 0 ? NOTHING : value;
}

/** What a caller gets for a typed buffer that arrived. Throws TPEOTYPE, with the bytes in `reply`, when they are not of their type. */
export function fromWire(body: TypedData): Received {
  const { type, subtype, data } = body;
  if (data === null) return { data: null, type: '', subtype: '' };
  switch (type) {
    case 'STRING':
    case 'XML':
      return { data: textOf(data), type, subtype };
    case 'JSON':
      return { data: jsonValue(body, data), type, subtype };
    case 'MBSTRING':
      return { data: decodeText(data, subtype), type, subtype };
    default:
      return { data: ownBytes(data), type, subtype };
  }
}

/** The same as bytes, whatever the type. */
export function rawFromWire({ type, subtype, data }: TypedData): Received {
  return data === null ? { data: null, type: '', subtype: '' } : { data: ownBytes(data), type, subtype };
}

/** Whether type and subtype can be sent: at most 8 and 16 bytes [spec 3.2]. Throws TPEINVAL. */
export function checkTypeNames(type: string, subtype: string): void {
  if (type === '' || Buffer.byteLength(type) > LIMIT.TYPE_NAME)
    throw invalid(`buffer type ${JSON.stringify(type)}`);
  if (Buffer.byteLength(subtype) > LIMIT.SUBTYPE_NAME)
    throw invalid(`buffer subtype ${JSON.stringify(subtype)}`);
}

/** The bytes as the caller's own: a copy, unless they have a buffer to themselves. */
export function ownBytes(view: Uint8Array): Uint8Array {
  if (view.length >= OWN_BUFFER_BYTES) return new Uint8Array(view.buffer, view.byteOffset, view.length);
  return new Uint8Array(view);
}

function textOf(data: Uint8Array): string {
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8');
}

function jsonBytes(value: unknown): Uint8Array {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw invalid('the value has no JSON form', cause);
  }
  if (text === undefined) throw invalid(`a ${typeof value} has no JSON form`);
  return Buffer.from(text);
}

function jsonValue(body: TypedData, data: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(data));
  } catch (cause) {
    throw new TpError({
      tperrno: TPERRNO.TPEOTYPE,
      operation: 'decode',
      text: 'the data is not JSON, as its type says; the bytes are in `reply`',
      cause,
      reply: { data: ownBytes(data), type: body.type, subtype: body.subtype },
    });
  }
}

/** Text when this platform knows the encoding, else the bytes. */
function decodeText(data: Uint8Array, encoding: string): string | Uint8Array {
  try {
    return new TextDecoder(encoding === '' ? 'utf-8' : encoding).decode(data);
  } catch {
    return ownBytes(data);
  }
}

function invalid(text: string, cause?: unknown): TpError {
  return new TpError({ tperrno: TPERRNO.TPEINVAL, operation: 'encode', text, cause });
}
