// Correlations as the index of a space has them: 32 bytes. A short one is padded, a longer one is hashed.
import { createHash } from 'node:crypto';

const INDEXED_BYTES = 32;

/** null: none. */
export function corridOf(correlation: string): Uint8Array | null {
  if (correlation === '') return null;
  const text = Buffer.from(correlation);
  if (text.length > INDEXED_BYTES) return createHash('sha256').update(text).digest();
  const bytes = new Uint8Array(INDEXED_BYTES);
  bytes.set(text);
  return bytes;
}
