// What the command line's words mean: data, addresses, numbers, ids. A word that cannot be meant is a UsageError that says what can.
import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import type { Endpoint } from '../net/network.ts';
import { UsageError } from './exit.ts';

/** `HOST:PORT` or `//host:port`; port 0 is any free one. */
export function parseEndpoint(word: string): Endpoint {
  const match = /^(?:\/\/)?(\[[0-9a-fA-F:]+\]|[^:/\s]+):(\d{1,5})$/.exec(word);
  const port = Number(match?.[2] ?? -1);
  if (match === null || port > 65_535) {
    throw new InvalidArgumentError('An address is HOST:PORT or //host:port, e.g. 127.0.0.1:7110');
  }
  return { host: (match[1] as string).replace(/^\[|\]$/g, ''), port };
}

export function collectEndpoints(word: string, before: Endpoint[] | undefined): Endpoint[] {
  return [...(before ?? []), parseEndpoint(word)];
}

/** A number of seconds above 0, fractions allowed. */
export function parseSeconds(word: string): number {
  const seconds = Number(word);
  if (!Number.isFinite(seconds) || seconds <= 0)
    throw new InvalidArgumentError('It must be a number of seconds above 0, e.g. 5 or 0.5.');
  return seconds;
}

export function parseInteger(word: string): number {
  const value = Number(word);
  if (!Number.isSafeInteger(value) || word.trim() === '')
    throw new InvalidArgumentError('It must be a whole number.');
  return value;
}

/** The bytes that --data names: the text itself, `@FILE`, or `-` for standard input. */
export function readData(word: string): Buffer {
  if (word === '-') return readFileSync(0);
  if (!word.startsWith('@')) return Buffer.from(word);
  try {
    return readFileSync(word.slice(1));
  } catch (error) {
    throw new UsageError(`--data ${word}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Bytes written as hexadecimal digits; blanks are passed over. */
export function parseHex(text: string): Buffer {
  const digits = text.replace(/\s+/g, '');
  if (!/^([0-9a-fA-F]{2})*$/.test(digits))
    throw new UsageError('--hex: the data must be pairs of hexadecimal digits');
  return Buffer.from(digits, 'hex');
}

/** A msgid as the commands print it: 32 characters, or 0x and 64 hexadecimal digits. */
export function parseMsgid(word: string): Uint8Array | string {
  if (/^0x[0-9a-fA-F]{64}$/.test(word)) return Buffer.from(word.slice(2), 'hex');
  if (Buffer.byteLength(word) === 32) return word;
  throw new InvalidArgumentError('A msgid has 32 characters, as enqueue prints it.');
}

/** A msgid of the daemon's own making, as enqueue prints it. */
export function parseMsgidText(word: string): string {
  if (/^[0-9a-f]{32}$/.test(word)) return word;
  throw new InvalidArgumentError('A msgid has 32 hexadecimal digits, as enqueue prints it.');
}

/** A corrid: text of at most 32 bytes, or `0x` and 64 hexadecimal digits. */
export function parseId(word: string): Uint8Array | string {
  if (/^0x[0-9a-fA-F]{64}$/.test(word)) return Buffer.from(word.slice(2), 'hex');
  if (Buffer.byteLength(word) > 32 || word.startsWith('0x')) {
    throw new InvalidArgumentError('an id is a text of at most 32 bytes, or 0x and 64 hexadecimal digits');
  }
  return word;
}

/** An id as it is shown: its text when it is printable once the NUL padding is off, else `0x…`. */
export function showId(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('latin1').replace(/\0+$/, '');
  return /^[\x21-\x7e][\x20-\x7e]*$/.test(text) && !text.startsWith('0x')
    ? text
    : `0x${Buffer.from(bytes).toString('hex')}`;
}
