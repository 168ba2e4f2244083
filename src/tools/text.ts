// Ids, instants and bytes as the tools print them.
import { msgidBytes, type MessageId } from '../queue/message.ts';

/** The 32 characters that a client sees. */
export function msgidText(spaceId: number, id: MessageId): string {
  return Buffer.from(msgidBytes(spaceId, id)).toString('latin1');
}

const WALL_MS_MAX = 8.64e15;

/** An instant of the wall clock; the number itself when it is none. */
export function wallText(ms: number): string {
  return Number.isFinite(ms) && Math.abs(ms) <= WALL_MS_MAX ? new Date(ms).toISOString() : String(ms);
}

/** Printable text without its NUL padding, or null. */
export function plainText(bytes: Uint8Array): string | null {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
  return /^[^\p{Cc}\p{Cn}\p{Cs}]*$/u.test(text.replace(/[\n\t]/g, '')) ? text : null;
}

export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[unit]}`;
}

/** A correlation id: its text when it is printable, else `0x…`. */
export function corridText(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('latin1').replace(/\0+$/, '');
  return /^[\x21-\x7e][\x20-\x7e]*$/.test(text) && !text.startsWith('0x')
    ? text
    : `0x${Buffer.from(bytes).toString('hex')}`;
}
