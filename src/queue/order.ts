// A queue's order as a comparison of entries [spec 5.5]: what TPQTOP brought to the top, then the keys of the queue's order, then arrival.
// An entry put before a message (TPQBEFOREMSGID) sorts with that message's values, and by its label among all that were put there; the
// message itself comes after them. Total, and never changing while an entry is in a tree. Pure.
import { NONE } from '../base/column.ts';
import type { Before } from '../base/ordered-tree.ts';
import type { DetailTable, PlaceTable } from './details.ts';
import { compareLabels } from './label.ts';
import type { EntryTable, MessageTable, PackedId } from './tables.ts';

export interface OrderedTables {
  readonly messages: MessageTable;
  readonly entries: EntryTable;
  readonly details: DetailTable;
  readonly places: PlaceTable;
}

type Key = 'priority' | 'time' | 'expiration';

/** Which sort keys a queue's order names, most significant first, and whether the last to arrive is the first to leave. */
export interface OrderKeys {
  readonly keys: readonly Key[];
  readonly lifo: boolean;
}

/** `order`: a canonical list as QueueAttributes has it. */
export function orderKeys(order: string): OrderKeys {
  const words = order.split(',');
  return { keys: words.filter((word): word is Key => word in VALUE), lifo: words.includes('lifo') };
}

/** How the entries of a queue with this order compare. */
export function orderOf(tables: OrderedTables, order: string): Before {
  const { keys, lifo } = orderKeys(order);
  const { entries, messages } = tables;
  const compare: Before = (a, b) =>
    compareStandings(tables, { keys, lifo }, { one: standingOf(tables, a), two: standingOf(tables, b) }) < 0;
  // Most queues are fifo and most entries have no detail.
  if (keys.length > 0) return compare;
  return (a, b) => {
    if (entries.detail.get(a) !== NONE || entries.detail.get(b) !== NONE) return compare(a, b);
    const messageA = entries.message.get(a);
    const messageB = entries.message.get(b);
    return lifo ? messages.before(messageB, messageA) : messages.before(messageA, messageB);
  };
}

/** Where an entry's sort values stand: in its own rows, or in the place it was put to. */
interface Standing extends PackedId {
  readonly message: number;
  readonly detail: number;
  readonly place: number;
}

function standingOf({ entries, messages, details, places }: OrderedTables, entry: number): Standing {
  const detail = entries.detail.get(entry);
  const place = detail === NONE ? NONE : details.place.get(detail);
  const message = entries.message.get(entry);
  const placed = place !== NONE;
  const high = placed ? places.baseHigh.get(place) : messages.idHigh.get(message);
  const low = placed ? places.baseLow.get(place) : messages.idLow.get(message);
  return { message, detail, place, high, low };
}

/** Values that sort ascending. A message without the value: see spec 5.5. */
const VALUE: Readonly<Record<Key, (tables: OrderedTables, at: Standing) => number>> = {
  priority: ({ messages, places }, { message, place }) =>
    -(place === NONE ? messages.priority.get(message) : places.priority.get(place)),
  time: ({ details, places }, { detail, place }) => {
    if (place !== NONE) return places.sortTimeMs.get(place);
    return detail === NONE ? 0 : details.sortTimeMs.get(detail);
  },
  expiration: ({ details, places }, { detail, place }) => {
    if (place !== NONE) return places.sortExpiryMs.get(place);
    return detail === NONE ? Infinity : details.sortExpiryMs.get(detail);
  },
};

/** Less than 0 when `one` comes before `two`. */
function compareStandings(
  tables: OrderedTables,
  { keys, lifo }: OrderKeys,
  { one, two }: { one: Standing; two: Standing },
): number {
  const { messages, places } = tables;
  const topOne = one.place !== NONE && places.top.get(one.place) === 1;
  const topTwo = two.place !== NONE && places.top.get(two.place) === 1;
  if (topOne !== topTwo) return topOne ? -1 : 1;
  if (!topOne) {
    for (const key of keys) {
      const valueOne = VALUE[key](tables, one);
      const valueTwo = VALUE[key](tables, two);
      if (valueOne !== valueTwo) return valueOne < valueTwo ? -1 : 1;
    }
  }
  const base = messages.comparePacked(one, two);
  // On top the last to come is the first; below, as the order says.
  if (base !== 0) return topOne || lifo ? -base : base;
  return compareWithinBase(tables, one, two) || compareOwn(messages, one, two);
}

function compareWithinBase({ places }: OrderedTables, one: Standing, two: Standing): number {
  const labelOne = one.place === NONE ? null : places.label(one.place);
  const labelTwo = two.place === NONE ? null : places.label(two.place);
  if (labelOne === null || labelTwo === null) return Number(labelOne === null) - Number(labelTwo === null);
  return compareLabels(labelOne, labelTwo);
}

function compareOwn(messages: MessageTable, one: Standing, two: Standing): number {
  if (one.message === two.message) return 0;
  return messages.before(one.message, two.message) ? -1 : 1;
}
