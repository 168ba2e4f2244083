// Names of queues and queue tables as the AQ dialect writes them, `[schema.]name` [oracle-aq 1.3; DESIGN 9]: the schema is a queue space, by an alias
// or its own name. Names are taken as they are written, upper and lower case apart, as everywhere in tmqueue.
import { utf8Bytes } from '../queue/words.ts';
import { aqError, type AqRefused } from './asked.ts';

/** Bytes of a queue's or a queue table's name: suffixes and prefixes have to fit behind and before it. */
export const AQ_NAME_BYTES = 122;
const PART = /^[\p{L}_][\p{L}\p{N}_$#]*$/u;

export interface AqName {
  /** '' = none was given. */
  readonly schema: string;
  readonly name: string;
}

/** The parts of a name; 24000 when it has another form. */
export function parseName(text: string): AqName | AqRefused {
  const parts = text.split('.');
  const [first = '', second] = parts;
  if (parts.length > 2 || parts.some((part) => part === '')) return malformed(text);
  return second === undefined ? { schema: '', name: first } : { schema: first, name: second };
}

/** What is wrong with the name of something that is about to be made; null: nothing. */
export function newNameFault(name: string): AqRefused | null {
  if (utf8Bytes(name) > AQ_NAME_BYTES)
    return aqError(24_019, `${name}: a name has at most ${AQ_NAME_BYTES} bytes`);
  if (PART.test(name)) return null;
  return malformed(name);
}

function malformed(text: string): AqRefused {
  return aqError(
    24_000,
    `${text}: a name is [schema.]name, where schema is a queue space; letters, digits, _, $ and #, a letter or _ first`,
  );
}
