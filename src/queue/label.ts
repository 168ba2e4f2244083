// Labels: byte strings between any two of which another fits. They sort the entries that were put before one and the same message. A label
// is an integer, whose first byte says its length and sign, and a fraction; as bytes they compare as they do as numbers. Putting one more
// at either end moves the integer, so that a hundred thousand of them stay short; only halving the same gap again and again grows a label
// by a bit each time. Pure.

/** Labels are kept to this length: longer ones are shortened by giving their neighbours new ones [DESIGN 4, Order]. */
export const LABEL_BYTES_MAX = 64;

/** First byte of the integer 0 with one byte; above it positive ones, below negative ones, each step one byte longer. */
const ZERO_HEAD = 0x80;
const HEAD_MAX = ZERO_HEAD + 6;
const HEAD_MIN = ZERO_HEAD - 7;

/** Less than 0, 0, or more: as the labels sort. */
export function compareLabels(a: Uint8Array, b: Uint8Array): number {
  const common = Math.min(a.length, b.length);
  for (let i = 0; i < common; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** The same where there may be none: that sorts after all. */
export function compareEnds(a: Uint8Array | null, b: Uint8Array | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return compareLabels(a, b);
}

/** A label after `low` and before `high`; null: no bound on that side. `low` must sort before `high`. */
export function labelBetween(low: Uint8Array | null, high: Uint8Array | null): Uint8Array {
  if (low === null) return high === null ? Uint8Array.of(ZERO_HEAD, 0) : beside(high, -1);
  if (high === null) return beside(low, 1);
  const length = integerBytes(low);
  const next = beside(low, 1);
  if (compareLabels(next, high) < 0) return next;
  const sameInteger = compareLabels(low.subarray(0, length), high.subarray(0, integerBytes(high))) === 0;
  const upper = sameInteger ? high.subarray(length) : null;
  return join(low.subarray(0, length), middle(low.subarray(length), upper));
}

/** `count` labels between the bounds, spread evenly, in order. */
export function labelsBetween(low: Uint8Array | null, high: Uint8Array | null, count: number): Uint8Array[] {
  const labels: Uint8Array[] = [];
  labels.length = count;
  if (low !== null && high !== null) {
    fillBetween(labels, { from: 0, to: count }, { low, high });
    return labels;
  }
  const downwards = low === null && high !== null;
  let edge = low ?? high;
  for (let i = 0; i < count; i++) {
    edge = downwards ? labelBetween(null, edge) : labelBetween(edge, null);
    labels[downwards ? count - 1 - i : i] = edge;
  }
  return labels;
}

/** Halves the gap again and again, so that the labels stay short. */
function fillBetween(
  labels: Uint8Array[],
  { from, to }: { from: number; to: number },
  { low, high }: { low: Uint8Array; high: Uint8Array },
): void {
  if (from >= to) return;
  const at = (from + to) >> 1;
  const label = labelBetween(low, high);
  labels[at] = label;
  fillBetween(labels, { from, to: at }, { low, high: label });
  fillBetween(labels, { from: at + 1, to }, { low: label, high });
}

function integerBytes(label: Uint8Array): number {
  const head = label[0] as number;
  return head >= ZERO_HEAD ? 2 + head - ZERO_HEAD : 1 + ZERO_HEAD - head;
}

/** The integer one above or below that of `label`, without a fraction. */
function beside(label: Uint8Array, step: 1 | -1): Uint8Array {
  const length = integerBytes(label);
  // Below an integer with a fraction lies the integer itself.
  if (step === -1 && label.length > length) return label.slice(0, length);
  const result = label.slice(0, length);
  const turn = step === 1 ? 0xff : 0;
  let at = length - 1;
  while (at > 0 && result[at] === turn) {
    result[at] = 0xff - turn;
    at--;
  }
  if (at > 0) {
    result[at] = (result[at] as number) + step;
    return result;
  }
  return endOf((label[0] as number) + step, step === 1 ? 0 : 0xff);
}

/** The least (fill 0) or greatest (fill 0xff) integer with this head. */
function endOf(head: number, fill: number): Uint8Array {
  if (head > HEAD_MAX || head < HEAD_MIN) throw new RangeError('no more labels on this side');
  const bytes = new Uint8Array(integerBytes(Uint8Array.of(head))).fill(fill);
  bytes[0] = head;
  return bytes;
}

/** A fraction after `low` and before `high` (null: 1), neither ending in 0. */
function middle(low: Uint8Array, high: Uint8Array | null): Uint8Array {
  const digits: number[] = [];
  let bounded = high !== null;
  for (let i = 0; ; i++) {
    const a = low[i] ?? 0;
    const b = bounded && high !== null ? (high[i] ?? 0) : 256;
    const half = (a + b) >> 1;
    if (half > a) {
      digits.push(half);
      return Uint8Array.from(digits);
    }
    digits.push(a);
    if (b > a) bounded = false;
  }
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(a.length + b.length);
  bytes.set(a);
  bytes.set(b, a.length);
  return bytes;
}
