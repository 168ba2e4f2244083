// TPQBEFOREMSGID [spec 2.4]: the place directly before a message, as an absolute position. Labels that would grow too long are shortened by
// giving the nearest neighbours new ones, in a window that widens until there is room; the log then holds the new labels themselves.
import { NONE } from '../base/column.ts';
import type { PlaceCommand } from './command.ts';
import type { EventSink, Position } from './event.ts';
import { compareLabels, LABEL_BYTES_MAX, labelBetween, labelsBetween } from './label.ts';
import type { Queue } from './queue.ts';
import type { QueueSpace } from './space.ts';

/** New labels are given only in a gap that keeps them this short, so that the next shortening is far away. */
const FRESH_LABEL_BYTES = LABEL_BYTES_MAX / 2;
/** Neighbours on each side in the first window. */
const WINDOW = 32;

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
  const before = space.entryOf(queue, command.before);
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
  for (let window = WINDOW; ; window *= 2) {
    const left: number[] = [];
    const right: number[] = [];
    let low: Uint8Array | null = null;
    let high: Uint8Array | null = null;
    for (let at = before; ;) {
      at = neighbour(space, queue, { entry: at, standing, side: 'left' });
      if (at === NONE) break;
      low = left.length >= window ? labelOf(space, at) : null;
      if (low !== null) break;
      left.push(at);
    }
    // The message itself, when it has no label, is the end of its group.
    for (let at = isBase(space, before, standing) ? NONE : before; at !== NONE;) {
      if (right.length === window) {
        high = labelOf(space, at);
        break;
      }
      right.push(at);
      at = neighbour(space, queue, { entry: at, standing, side: 'right' });
    }
    if (low !== null && high !== null && compareLabels(low, high) >= 0) continue;
    const entries = [...left.toReversed(), NONE, ...right];
    const labels = labelsBetween(low, high, entries.length);
    const isWhole = low === null && high === null;
    if (isWhole || labels.every((label) => label.length <= FRESH_LABEL_BYTES)) return { entries, labels };
  }
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
    other.base.counter === standing.base.counter;
  return sameGroup && !isBase(space, found, other) ? found : NONE;
}

/** Whether the entry is the message itself that the others were put before. */
function isBase(space: QueueSpace, entry: number, { base }: Position): boolean {
  const { epoch, counter } = space.id(entry);
  return base.epoch === epoch && base.counter === counter;
}

/** No label sorts after all. */
function compareEnds(a: Uint8Array | null, b: Uint8Array | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return compareLabels(a, b);
}

function labelOf(space: QueueSpace, entry: number): Uint8Array | null {
  return standingOf(space, entry).label;
}
