// The file that import reads, line by line: its first line may be what export began it with, the others are messages. Owns where each line begins
// and ends, which messages stand twice, and a digest that knows the file again. Never holds more than a line and the ids that it has seen.
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { EXPORT_VERSION, headerOf } from './export.ts';
import { type ParsedMessage, parseMessage } from './message-line.ts';

/** A message that is to be put, or a line that is none. */
export interface FileLine {
  /** From 1. */
  readonly number: number;
  /** The position behind it. */
  readonly end: number;
  /** null: the head of the file, or a message that stood in it before. */
  readonly message: ParsedMessage | null;
  readonly isDouble: boolean;
  /** What is wrong with it, or ''. */
  readonly fault: string;
}

const LINE_FEED = 10;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads all lines, also those of an earlier run: a message stands twice wherever the first one is. */
export async function* linesOf(path: string): AsyncGenerator<FileLine, void, undefined> {
  const seen = new Set<string>();
  let number = 0;
  for await (const { bytes, end, isWhole } of rawLines(path)) {
    number++;
    const line = { number, end, message: null, isDouble: false, fault: '' };
    const text = decoded(bytes);
    if (text === null) yield { ...line, fault: 'it is not UTF-8' };
    else if (text.trim() === '') yield line;
    else if (number === 1 && headerOf(text) !== null) {
      const version = headerOf(text)?.['tmqueue-export'];
      const fault = `tmqueue-export: ${version} is a format that this release does not know; legal: ${EXPORT_VERSION}`;
      yield version === EXPORT_VERSION ? line : { ...line, fault };
    } else {
      const parsed = parseMessage(text);
      if (!parsed.ok) {
        const cut = isWhole ? '' : '; the file ends in the middle of this line: was its export ended early?';
        yield { ...line, fault: `${parsed.fault}${cut}` };
        continue;
      }
      const { msgid } = parsed.value;
      if (seen.has(msgid)) yield { ...line, isDouble: true };
      else yield { ...line, message: parsed.value };
      if (msgid !== '') seen.add(msgid);
    }
  }
}

/** SHA-256 of the first `bytes` of a file; null: it is shorter. */
export async function digestOf(path: string, bytes: number): Promise<string | null> {
  const hash: Hash = createHash('sha256');
  let left = bytes;
  if (left > 0) {
    for await (const chunk of createReadStream(path, { end: bytes - 1 })) {
      const part = chunk as Buffer;
      hash.update(part);
      left -= part.length;
    }
  }
  return left > 0 ? null : hash.digest('hex');
}

interface RawLine {
  readonly bytes: Buffer;
  readonly end: number;
  /** It ends with a line feed. */
  readonly isWhole: boolean;
}

async function* rawLines(path: string): AsyncGenerator<RawLine, void, undefined> {
  let held: Buffer[] = [];
  let end = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    let rest = chunk as Buffer;
    for (let at = rest.indexOf(LINE_FEED); at >= 0; at = rest.indexOf(LINE_FEED)) {
      const bytes = Buffer.concat([...held, rest.subarray(0, at)]);
      held = [];
      end += bytes.length + 1;
      yield { bytes, end, isWhole: true };
      rest = rest.subarray(at + 1);
    }
    if (rest.length > 0) held.push(rest);
  }
  const bytes = Buffer.concat(held);
  if (bytes.length > 0) yield { bytes, end: end + bytes.length, isWhole: false };
}

function decoded(bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
