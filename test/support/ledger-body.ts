// Bodies that say which message they are and show damage: a message's key determines every byte of its body.
import { Prng } from '../../src/base/prng.ts';

const PATTERN_BYTES = 251;

/** The body of the message with this key; the key's last part is its length. */
export function bodyOf(key: string): Buffer {
  const head = Buffer.from(`${key}\n`, 'latin1');
  const bytes = Number(key.slice(key.lastIndexOf('/') + 1));
  const body = Buffer.alloc(Math.max(head.length, bytes));
  let seed = 0;
  for (const byte of head) seed = (seed * 31 + byte) >>> 0;
  const prng = new Prng(seed);
  body.fill(Uint8Array.from({ length: Math.min(PATTERN_BYTES, body.length) }, () => prng.below(256)));
  head.copy(body);
  return body;
}

/** The key of the message that these bytes are; a text that is no key when they are not what was put. */
export function keyOf(data: unknown): string {
  if (!(data instanceof Uint8Array)) return `not bytes: ${typeof data}`;
  const body = Buffer.from(data.buffer, data.byteOffset, data.length);
  const key = body.toString('latin1', 0, Math.max(0, body.indexOf(10)));
  return /^[^/]+\/\d+\/\d+$/.test(key) && bodyOf(key).equals(body)
    ? key
    : `damaged body of ${body.length} bytes (${key})`;
}
