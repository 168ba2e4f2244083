// The data of a message as lines for people: text as it is, anything else as a hexadecimal dump. No line can do anything to a terminal.

const ROW_BYTES = 16;
const INDENT = '  ';

/** null: it is not text that can be shown as it is. */
export function plainText(data: Uint8Array): string | null {
  // What was cut off in the middle of a character is text all the same.
  for (let cut = 0; cut < 4 && cut <= data.length; cut++) {
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(data.subarray(0, data.length - cut));
      return /^[^\p{Cc}\p{Cn}\p{Cs}]*$/u.test(text.replace(/[\n\t]/g, '')) ? text : null;
    } catch {
      continue;
    }
  }
  return null;
}

export function bodyLines(data: Uint8Array, isHex: boolean): string[] {
  if (data.length === 0) return [];
  const text = isHex ? null : plainText(data);
  if (text !== null) return text.split('\n').map((line) => `${INDENT}${line}`);
  const lines: string[] = [];
  for (let at = 0; at < data.length; at += ROW_BYTES) lines.push(hexLine(data, at));
  return lines;
}

/** `  00000010  00 01 … 0f  ................` */
function hexLine(data: Uint8Array, at: number): string {
  const row = data.subarray(at, at + ROW_BYTES);
  const hex = Array.from(row, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  const shown = Array.from(row, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'));
  return `${INDENT}${at.toString(16).padStart(8, '0')}  ${hex.padEnd(3 * ROW_BYTES - 1)}  ${shown.join('')}`;
}
