// The small languages of a queue's values, the same words in *QUEUES and for qcreate [spec 5.4]: order, out-of-order, expiry, limits, names.
// Each function gives the value in one canonical form, or what would be legal. Must not know where the value stands.

export type Parsed<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly legal: string };

const good = <T>(value: T): Parsed<T> => ({ ok: true, value });
const bad = (legal: string): Parsed<never> => ({ ok: false, legal });

const ORDER_KEYS = new Set(['priority', 'time', 'expiration']);

/** Sort keys, most significant first; fifo or lifo only last, fifo assumed. The result always ends with one of them. */
export function parseOrder(text: string): Parsed<string> {
  const legal = 'a list of priority, time, expiration, each once, then optionally fifo or lifo';
  const words = items(text);
  const last = words.at(-1);
  const ended = last === 'fifo' || last === 'lifo';
  const keys = ended ? words.slice(0, -1) : words;
  if (words.length === 0 || new Set(keys).size !== keys.length) return bad(legal);
  if (!keys.every((key) => ORDER_KEYS.has(key))) return bad(legal);
  return good([...keys, ended ? last : 'fifo'].join(','));
}

export function parseOutOfOrder(text: string): Parsed<string> {
  const words = items(text);
  const legal = bad('none, top, msgid, or top,msgid');
  if (words.length === 1 && words[0] === 'none') return good('none');
  if (words.length === 0 || words.length > 2 || new Set(words).size !== words.length) return legal;
  if (!words.every((word) => word === 'top' || word === 'msgid')) return legal;
  return good(words.toSorted((a, b) => (a === b ? 0 : a === 'top' ? -1 : 1)).join(','));
}

/** Seconds after which a message expires; null for none. */
export function parseExpiry(text: string): Parsed<number | null> {
  if (text === 'none') return good(null);
  const seconds = /^\+?[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return seconds <= 2_147_483_647 ? good(seconds) : bad('none, or seconds 0..2147483647');
}

export interface Threshold {
  readonly amount: number;
  readonly unit: string;
}

/** A number with `b` bytes, `B` blocks, `m` messages or `%`; the unit is '' for a bare 0. */
export function parseThreshold(text: string): Parsed<Threshold> {
  const match = /^([0-9]{1,15})([bBm%]?)$/.exec(text);
  const amount = Number(match?.[1]);
  const unit = match?.[2] ?? '';
  if (match === null || (unit === '' && amount !== 0))
    return bad('a number with b, B, m or %, such as 80% or 100m');
  if (unit === '%' && amount > 100) return bad('a percentage of at most 100');
  return good({ amount, unit });
}

/** What is wrong between a high and a low limit; undefined when nothing is. */
export function thresholdProblem(high: Threshold, low: Threshold): string | undefined {
  const bareZero = low.unit === '' && low.amount === 0;
  if (!bareZero && low.unit !== high.unit)
    return `the low limit must have the unit of the high one (${high.unit}), or be a bare 0`;
  return low.amount < high.amount ? undefined : 'the low limit must be lower than the high one';
}

/** Blank, slash and letters of any script are legal in a name; a control character would spoil every listing. */
export function nameFits(text: string, bytesMax: number): boolean {
  const bytes = utf8Bytes(text);
  return bytes >= 1 && bytes <= bytesMax && Array.from(text).every((c) => c >= ' ' && c !== '\x7f');
}

export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x1_00_00 ? 3 : 4;
  }
  return bytes;
}

function items(text: string): string[] {
  return text.split(',').map((item) => item.trim().toLowerCase());
}
