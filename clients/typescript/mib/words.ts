// The small languages of the classes' values, between what the MIB writes and what ADMIN takes [spec 7.1 to 7.3]. Pure but for the time zone of
// whoever asks.
import { LEGAL_MOMENT, localSeconds } from '../../../proto/moment.ts';
import { corridText } from '../tpqctl.ts';
import { illegal } from './attribute.ts';

/** Bytes of a page, which the MIB calls a block [spec 8.1]. */
const PAGE_BYTES = 512;

/** A moment as ADMIN takes it: `+SECONDS`, or seconds since 1970. */
export function momentIn(name: string, value: string): string {
  if (/^\+\d{1,10}$/.test(value)) return value;
  const seconds = localSeconds(value);
  if (seconds === null) throw illegal(name, value, LEGAL_MOMENT);
  return String(seconds);
}

/** The same, or that it never expires. */
export function expiryIn(name: string, value: string): string {
  return value === '' || value.toUpperCase() === 'NONE' ? 'none' : momentIn(name, value);
}

/** Bytes of `num[bB]`; without a letter they are blocks. */
export function memoryIn(name: string, value: string): number {
  const match = /^(\d{1,12})([bB]?)$/.exec(value);
  if (match === null) throw illegal(name, value, 'a number with b (bytes) or B (blocks); without, blocks');
  return Number(match[1]) * (match[2] === 'b' ? 1 : PAGE_BYTES);
}

const ORDER_WORDS: Readonly<Record<string, string>> = { priority: 'PRIO', expiration: 'EXPIR' };

/** PRIO,TIME,EXPIR,FIFO,LIFO as QCREATE takes them; what else is wrong with the list the daemon says. */
export function orderIn(value: string): string {
  const words = value.split(',').map((word) => word.trim().toUpperCase());
  const own = Object.entries(ORDER_WORDS);
  return words.map((word) => own.find(([, mib]) => mib === word)?.[0] ?? word.toLowerCase()).join(',');
}

export function orderOut(order: string): string {
  const words = order.split(',');
  return words.map((word) => ORDER_WORDS[word] ?? word.toUpperCase()).join(',');
}

/** In the one order that QINFO has. */
export function outOfOrderIn(value: string): string {
  return value.toLowerCase().split(',').toSorted().toReversed().join(',');
}

/** Seconds, -1: never. */
export function defaultExpiryIn(name: string, value: string): number {
  if (value.toUpperCase() === 'NONE') return -1;
  const match = /^\+(\d{1,10})$/.exec(value);
  if (match === null) throw illegal(name, value, '+seconds, NONE');
  return Number(match[1]);
}

export function defaultExpiryOut(seconds: number): string {
  return seconds < 0 ? 'NONE' : `+${seconds}`;
}

const CORRID_BYTES = 32;

/** As 64 hexadecimal digits: given so, or as text, which is padded with NUL. */
export function corridIn(name: string, value: string): string {
  if (/^[0-9a-f]{64}$/i.test(value)) return value.toLowerCase();
  const bytes = Buffer.from(value);
  if (bytes.length === 0 || bytes.length > CORRID_BYTES)
    throw illegal(name, value, '1..32 bytes of text, or 64 hexadecimal digits');
  return Buffer.concat([bytes, Buffer.alloc(CORRID_BYTES - bytes.length)]).toString('hex');
}

/** As text, if that is one which corridIn reads back; else its digits. */
export function corridOut(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  const text = corridText(bytes);
  const isText =
    text !== '' &&
    !text.includes('\0') &&
    Buffer.from(text).equals(bytes.subarray(0, Buffer.byteLength(text)));
  return isText ? text : hex;
}
