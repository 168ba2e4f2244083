// Arithmetic of the specification that needs no state: how two messages compare, what a message takes, when a threshold is reached.
import type { Letter, QueueTerms, SpaceTerms } from './commands.ts';

/** What a message sorts by; those put directly before it share it [2.4, 5.5]. */
export interface Anchor {
  readonly top: boolean;
  readonly priority: number;
  readonly time: number;
  readonly expiry: number;
  readonly seq: number;
}

const PAGE = 512;
const CELL = 256;

/** [5.5] TPQTOP before all, the last first; then the order's keys, the first the most significant; then arrival. */
export function isBefore(order: string, a: Anchor, b: Anchor): boolean {
  if (a.top !== b.top) return a.top;
  if (a.top) return a.seq > b.seq;
  for (const word of order.split(',')) {
    if (word === 'priority' && a.priority !== b.priority) return a.priority > b.priority;
    if (word === 'time' && a.time !== b.time) return a.time < b.time;
    if (word === 'expiration' && a.expiry !== b.expiry) return a.expiry < b.expiry;
  }
  return order.endsWith('lifo') ? a.seq > b.seq : a.seq < b.seq;
}

/** Bytes of a record [FORMAT.md, Records: ENQUEUED; its kind with times has three doubles more]. */
export function recordBytes(letter: Letter, hasTimes: boolean): number {
  let bytes = 72 + textBytes('') + (letter.corrid === 0 ? 0 : 32) + (hasTimes ? 24 : 0);
  if (letter.replyqueue !== '') bytes += textBytes(letter.replyqueue);
  if (letter.failurequeue !== '') bytes += textBytes(letter.failurequeue);
  if (letter.type === 'MYTYPE') bytes += textBytes('MYTYPE');
  return bytes + (letter.type === '' ? 0 : letter.bytes);
}

function textBytes(value: string): number {
  return 1 + value.length;
}

export interface Sized {
  readonly persistent: boolean;
  readonly bytes: number;
}

/** [11] Persistent bytes rounded up to pages, others to cells of the memory area. */
export function measure(all: readonly Sized[]) {
  const total = { messages: 0, persistent: 0, bytes: 0, pages: 0, memory: 0 };
  for (const { persistent, bytes } of all) {
    total.messages++;
    if (persistent) {
      total.persistent++;
      total.bytes += bytes;
      total.pages += Math.ceil(bytes / PAGE);
    } else {
      total.memory += Math.ceil(bytes / CELL) * CELL;
    }
  }
  return total;
}

/** [5.6] For persistent (0) and non-persistent (1) messages: whether usage is at the high limit, and at or below the low one. */
export function threshold(
  terms: QueueTerms,
  space: SpaceTerms,
  about: { all: readonly Sized[]; kind: number },
) {
  const used = measure(about.all);
  const isMemory = about.kind === 1;
  const { high, low } = isMemory ? { high: terms.nonPersistentHigh, low: terms.nonPersistentLow } : terms;
  const capacity = isMemory ? space.nonPersistentBytes : space.pages * PAGE;
  const amount = (mark: string): number => {
    const number = Number(mark.replace(/[bBm%]$/, ''));
    if (number === 0 || !mark.endsWith('%')) return number;
    return capacity === 0 ? Infinity : (capacity * number) / 100;
  };
  const usedIn: Readonly<Record<string, number>> = isMemory
    ? { b: used.memory, B: Math.ceil(used.memory / PAGE), '%': used.memory }
    : { b: used.bytes, B: used.pages, m: used.persistent, '%': used.pages * PAGE };
  const usage = usedIn[high.slice(-1)] as number;
  return {
    command: isMemory ? terms.nonPersistentCmd : terms.cmd,
    isHigh: usage >= amount(high),
    isLow: usage <= amount(low),
  };
}
