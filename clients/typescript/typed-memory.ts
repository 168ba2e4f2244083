// tpalloc, tprealloc, tpfree and tptypes [spec 3.2], for programs that keep their messages in buffers as C does. Anything else passes strings,
// bytes and objects to the calls themselves. Invariant: only the first 8 bytes of a type and 16 of a subtype count.
import { LIMIT, TPERRNO } from '../../proto/codes.ts';
import { markTyped, type Received, toWire, TypedBuffer } from './buffer.ts';
import { TpError } from './error.ts';

/** Smallest and default size of the types that have one; 0: a size must be given. */
const DEFAULT_BYTES: Readonly<Record<string, number>> = {
  STRING: 512,
  CARRAY: 0,
  X_OCTET: 0,
  XML: 0,
  MBSTRING: 0,
  JSON: 0,
  FML: 1024,
  FML32: 1024,
  VIEW: 1024,
  VIEW32: 1024,
  X_C_TYPE: 1024,
  X_COMMON: 1024,
  RECORD: 1024,
};
/** Types whose subtype names a view. */
const NEED_SUBTYPE: readonly string[] = ['VIEW', 'VIEW32', 'X_C_TYPE', 'X_COMMON', 'RECORD'];

/** A buffer as tpalloc gives it: memory with a type. It can be passed wherever data is sent. */
export class TpBuffer {
  readonly type: string;
  readonly subtype: string;
  /** The memory. */
  bytes: Uint8Array;
  /** Bytes that are sent of types that need a length (CARRAY, X_OCTET, XML, MBSTRING, JSON); at first all. */
  length: number;

  constructor(type: string, subtype: string, bytes: Uint8Array) {
    this.type = type;
    this.subtype = subtype;
    this.bytes = bytes;
    this.length = bytes.length;
  }

  /** What is sent: of a STRING the bytes before the first NUL. */
  get data(): Uint8Array {
    if (this.type === 'STRING') {
      const end = this.bytes.indexOf(0);
      return this.bytes.subarray(0, end < 0 ? undefined : end);
    }
    return this.bytes.subarray(0, this.length);
  }
}
markTyped(TpBuffer.prototype);

/**
 * Memory of max(size, default) bytes for a typed buffer.
 * @throws TPEINVAL size 0 for a type without a default; TPENOENT unknown type, or no view named [tpalloc(3c)]
 */
export function tpalloc(type: string, subtype: string | null, size: number): TpBuffer {
  const name = cut(type, LIMIT.TYPE_NAME);
  const sub = cut(subtype ?? '', LIMIT.SUBTYPE_NAME);
  const least = Object.hasOwn(DEFAULT_BYTES, name) ? DEFAULT_BYTES[name] : undefined;
  if (least === undefined) throw failure('tpalloc', TPERRNO.TPENOENT, `buffer type ${JSON.stringify(type)}`);
  if (sub === '' && NEED_SUBTYPE.includes(name)) {
    throw failure('tpalloc', TPERRNO.TPENOENT, `${name} needs a subtype, the name of a view`);
  }
  return new TpBuffer(name, sub, new Uint8Array(sized('tpalloc', size, least)));
}

/** Another size; what fits of the contents stays. The same buffer, with `bytes` elsewhere. @throws TPEINVAL [tprealloc(3c)] */
export function tprealloc(buffer: TpBuffer, size: number): TpBuffer {
  if (!(buffer instanceof TpBuffer)) throw failure('tprealloc', TPERRNO.TPEINVAL, 'not a buffer of tpalloc');
  const bytes = new Uint8Array(sized('tprealloc', size, DEFAULT_BYTES[buffer.type] ?? 0));
  bytes.set(buffer.bytes.subarray(0, bytes.length));
  buffer.bytes = bytes;
  buffer.length = bytes.length;
  return buffer;
}

/** Gives the memory back; the buffer is then empty. There is no need to: what is not referred to is freed. */
export function tpfree(buffer: TpBuffer): void {
  if (!(buffer instanceof TpBuffer)) return;
  buffer.bytes = new Uint8Array(0);
  buffer.length = 0;
}

/** Type, subtype and bytes of a buffer, of what a call returned, or of any value that can be sent. @throws TPEINVAL no data [tptypes(3c)] */
export function tptypes(value: unknown): { type: string; subtype: string; size: number } {
  if (value instanceof TpBuffer)
    return { type: value.type, subtype: value.subtype, size: value.bytes.length };
  if (isReceived(value)) {
    const { type, subtype, data } = value;
    const size =
      data instanceof Uint8Array || type === 'JSON' || typeof data === 'string' ? bytesOf(value) : 0;
    return { type, subtype, size };
  }
  const { type, subtype, data } = toWire(value);
  if (data === null) throw failure('tptypes', TPERRNO.TPEINVAL, 'there is no data');
  return { type, subtype, size: data.length };
}

function isReceived(value: unknown): value is Received {
  if (typeof value !== 'object' || value === null || TypedBuffer.is(value)) return false;
  return 'type' in value && 'subtype' in value && 'data' in value && value.type !== '';
}

function bytesOf({ data, type }: Received): number {
  if (data instanceof Uint8Array) return data.length;
  return Buffer.byteLength(type === 'JSON' ? JSON.stringify(data) : String(data));
}

function sized(operation: string, size: number, least: number): number {
  const ok = Number.isSafeInteger(size) && size >= 0 && size <= LIMIT.MESSAGE_BYTES_MAX;
  if (!ok || (least === 0 && size === 0)) throw failure(operation, TPERRNO.TPEINVAL, `size ${size}`);
  return Math.max(size, least);
}

/** The first bytes of a name, whole characters. */
function cut(name: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(name, new Uint8Array(bytes));
  return name.slice(0, read);
}

function failure(operation: string, tperrno: number, text: string): TpError {
  return new TpError({ tperrno, operation, text });
}
