// Payloads and the type of a queue table [oracle-aq 1.1, 4.1; DESIGN 9]: RAW is bytes or text, JSON is JSON, and a declared object type is a JSON
// object with its attributes.
import { AQ_LIMIT } from '../../../proto/aq/limits.ts';
import type { TypedData } from '../../../proto/message.ts';
import { aqError, type AqRefused } from '../asked.ts';

const RAW_TYPES: ReadonlySet<string> = new Set(['CARRAY', 'X_OCTET', 'STRING']);
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** What is wrong with a payload for a table of this type; null: nothing. No payload is one of any type [oracle-aq 1.3]. */
export function payloadFault(payloadType: string, { type, data }: TypedData): AqRefused | null {
  if (data === null) return null;
  if (payloadType === 'RAW') {
    if (RAW_TYPES.has(type)) return null;
    return aqError(25_215, `the payload is a ${type}; the queue table has RAW: CARRAY, X_OCTET or STRING`);
  }
  if (type !== 'JSON')
    return aqError(25_215, `the payload is a ${type}; the queue table has ${payloadType}: JSON`);
  const value = parsed(data);
  if (value === undefined) return aqError(25_215, 'the payload is no JSON text in UTF-8');
  if (payloadType === 'JSON') return null;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return aqError(25_215, `the payload is no object; the queue table has ${payloadType}`);
  const { length } = Object.keys(value);
  if (length <= AQ_LIMIT.ATTRIBUTES) return null;
  return aqError(25_215, `an object has at most ${AQ_LIMIT.ATTRIBUTES} attributes, found ${length}`);
}

/** undefined: it is no JSON. */
export function parsed(data: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(data)) as unknown;
  } catch {
    return undefined;
  }
}
