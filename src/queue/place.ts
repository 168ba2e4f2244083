// TPQBEFOREMSGID [spec 2.4]: the place directly before a message, as an absolute position. Labels that would grow too long are shortened by
// giving the nearest neighbours new ones, in a window that widens until there is room; the log then holds the new labels themselves.
import { NONE } from '../base/column.ts';
import type { PlaceCommand } from './command.ts';
import type { EventSink, Position } from './event.ts';
import { compareEnds, compareLabels, LABEL_BYTES_MAX, labelBetween, labelsBetween } from './label.ts';
import type { Queue } from './queue.ts';
import { hasSameKeys } from './sort-keys.ts';
import type { QueueSpace } from './space.ts';

/** Neighbours on each side in the first window. */
const WINDOW = 64;
/**
 * New labels are given only where they stay this short, so that the next shortening is far away. A window of twice the width has to be worth
 * it: it takes back the bits that two shortenings of half its width spend. So each width comes up half as often as the one below it, and
 * always putting into the same gap costs a few new labels a message, more only with the logarithm of how many there are.
 */
function freshBytesMax(doublings: number): number {
  return 48 - (doublings * (doublings + 16)) / 8;
}

/** Where this entry stands, as a position that another can be put before. */
export function standingOf(space: QueueSpace, entry: number): Position {
  const { entries, messages, details, places } = space;
  const detail = entries.detail.get(entry);
  const place = detail === NONE ? NONE : details.place.get(detail);
  const message = entries.message.get(entry);
  if (place === NONE) {
    return {
      top: false,
      priority: messages.priority.get(message),
      sortTimeMs: detail === NONE ? 0 : details.sortTimeMs.get(detail),
      sortExpiryMs: detail === NONE ? Infinity : details.sortExpiryMs.get(detail),
      base: messages.id(message),
      label: null,
    };
  }
  return {
    top: places.top.get(place) === 1,
    priority: places.priority.get(place),
    sortTimeMs: places.sortTimeMs.get(place),
    sortExpiryMs: places.sortExpiryMs.get(place),
    base: messages.unpack({ high: places.baseHigh.get(place), low: places.baseLow.get(place) }),
    label: places.label(place)?.slice() ?? null,
  };
}

/** Puts the message directly before the one it names, giving others new labels where there is no room between. */
export function decidePlace(space: QueueSpace, command: PlaceCommand, out: EventSink): void {
  const entry = space.entryById(command.id);
  if (entry === NONE) return;
  const queue = space.queueOf(entry);
  const named = space.entryById(command.before);
  const before = named !== NONE && space.entries.queue.get(named) === queue.number ? named : NONE;
  const place = (position: Position, at = entry): void => {
    out.push({ kind: 'placed', id: space.id(at), persistent: space.isPersistent(at), position });
  };
  if (before === NONE) {
    place(command.standing);
    return;
  }
  const standing = standingOf(space, before);
  const previous = neighbour(space, queue, { entry: before, standing, side: 'left' });
  const low = previous === NONE ? null : labelOf(space, previous);
  // Two that took the place of the same message, which has gone, have the same label, or none.
  const isTie = previous !== NONE && compareEnds(low, standing.label) === 0;
  const label = isTie ? null : labelBetween(low, standing.label);
  if (label !== null && label.length <= LABEL_BYTES_MAX) {
    place({ ...standing, label });
    return;
  }
  const fresh = relabel(space, queue, { before, standing });
  if (!command.mayRelabel(fresh.entries.length)) {
    // No room to log new labels: it shares the label of the one before it, and comes after it as the later arrival.
    place({ ...standing, label: low });
    return;
  }
  fresh.entries.forEach((at, i) =>
    place({ ...standing, label: fresh.labels[i] ?? null }, at === NONE ? entry : at),
  );
}

/** The entries of a window around the gap, NONE standing for the one to come, and a new label for each. */
function relabel(
  space: QueueSpace,
  queue: Queue,
  { before, standing }: { before: number; standing: Position },
): { entries: number[]; labels: Uint8Array[] } {
  const left: Side = {
    side: 'left',
    entries: [],
    next: neighbour(space, queue, { entry: before, standing, side: 'left' }),
  };
  // The message itself is the end of its group.
  const right: Side = { side: 'right', entries: [], next: isBase(space, before, standing) ? NONE : before };
  for (let doublings = 0; ; doublings++) {
    const window = WINDOW * 2 ** doublings;
    const low = widen(space, queue, { to: window, side: left, standing });
    const high = widen(space, queue, { to: window, side: right, standing });
    const labelBytesMax = freshBytesMax(doublings);
    if (low !== null && high !== null) {
      if (compareLabels(low, high) >= 0 || commonBytes(low, high) >= labelBytesMax) continue;
    }
    const entries = [...left.entries.toReversed(), NONE, ...right.entries];
    const labels = labelsBetween(low, high, entries.length);
    const isWhole = low === null && high === null;
    if (isWhole || labels.every((label) => label.length <= labelBytesMax)) return { entries, labels };
  }
}

/** One side of a window, from the gap outwards. */
interface Side {
  readonly side: 'left' | 'right';
  readonly entries: number[];
  /** The first entry beyond it; NONE: the group ends here. */
  next: number;
}

/**
 * Widens the window on one side to that many entries; returns the label beyond it, or null at the end of the group. One that took the place
 * of the message itself has no label and bounds nothing on the left.
 */
function widen(
  space: QueueSpace,
  queue: Queue,
  { to, side: at, standing }: { to: number; side: Side; standing: Position },
): Uint8Array | null {
  const isBound = (entry: number): boolean => at.side === 'right' || labelOf(space, entry) !== null;
  while (at.next !== NONE && (at.entries.length < to || !isBound(at.next))) {
    at.entries.push(at.next);
    at.next = neighbour(space, queue, { entry: at.next, standing, side: at.side });
  }
  return at.next === NONE ? null : labelOf(space, at.next);
}

function commonBytes(a: Uint8Array, b: Uint8Array): number {
  let bytes = 0;
  while (bytes < a.length && a[bytes] === b[bytes]) bytes++;
  return bytes;
}

/** The next entry of the same group on that side, or 0; the message itself, its end, does not count. */
function neighbour(
  space: QueueSpace,
  queue: Queue,
  { entry, standing, side }: { entry: number; standing: Position; side: 'left' | 'right' },
): number {
  const found = side === 'left' ? space.placeBefore(queue, entry) : space.placeAfter(queue, entry);
  if (found === NONE) return NONE;
  const other = standingOf(space, found);
  const sameGroup =
    other.top === standing.top &&
    other.base.epoch === standing.base.epoch &&
    other.base.counter === standing.base.counter &&
    // An administrator may have changed the message's values since others were put before it.
    (other.top || hasSameKeys(queue, other, standing));
  return sameGroup && !isBase(space, found, other) ? found : NONE;
}

/** Whether the entry is the message itself that the others were put before. */
function isBase(space: QueueSpace, entry: number, { base }: Position): boolean {
  const { epoch, counter } = space.id(entry);
  return base.epoch === epoch && base.counter === counter;
}

function labelOf(space: QueueSpace, entry: number): Uint8Array | null {
  return standingOf(space, entry).label;
}
