// A queue's order as a comparison of entries [spec 5.5]: what TPQTOP brought to the top, then the keys of the queue's order, then arrival.
// An entry put before a message (TPQBEFOREMSGID) sorts with that message's values, and by its label among all that were put there; the
// message itself comes after them. Total, and never changing while an entry is in a tree. Pure. A tree asks some thirty times for each
// change at a depth of a million: nothing here makes an object, and what no entry needs is not looked at.
import { NONE } from '../base/column.ts';
import type { Before } from '../base/ordered-tree.ts';
import type { DetailTable, PlaceTable } from './details.ts';
import { AQ_KEYS, type Key } from './sort-keys.ts';
import type { EntryTable, MessageTable } from './tables.ts';

export interface OrderedTables {
  readonly messages: MessageTable;
  readonly entries: EntryTable;
  readonly details: DetailTable;
  readonly places: PlaceTable;
}

/** How the entries of a queue with this order compare. `order`: a canonical list as QueueAttributes has it. */
export function orderOf(tables: OrderedTables, order: string): Before {
  const compare = new Order(tables, order);
  return (a, b) => compare.isBefore(a, b);
}

class Order {
  private readonly messages: MessageTable;
  private readonly entries: EntryTable;
  private readonly details: DetailTable;
  private readonly places: PlaceTable;
  /** Which sort keys the order names, most significant first. */
  private readonly keys: readonly Key[];
  /** The last to arrive is the first to leave. */
  private readonly lifo: boolean;

  constructor(tables: OrderedTables, order: string) {
    this.messages = tables.messages;
    this.entries = tables.entries;
    this.details = tables.details;
    this.places = tables.places;
    const words = order.split(',');
    this.keys = words.map((word) => AQ_KEYS[word] ?? word).filter(isKey);
    this.lifo = words.includes('lifo');
  }

  isBefore(a: number, b: number): boolean {
    const { entries, messages, places, keys } = this;
    if (places.live > 0 && (this.placeOf(a) !== NONE || this.placeOf(b) !== NONE)) {
      return this.comparePlaced(a, b) < 0;
    }
    const messageA = entries.message.get(a);
    const messageB = entries.message.get(b);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      const difference =
        key === 'priority'
          ? messages.priority.get(messageB) - messages.priority.get(messageA)
          : this.compareTimes(a, b, key);
      if (difference !== 0) return difference < 0;
    }
    return this.lifo ? messages.before(messageB, messageA) : messages.before(messageA, messageB);
  }

  /** One of them at least was put somewhere. Less than 0 when `a` comes before `b`. */
  private comparePlaced(a: number, b: number): number {
    const isTop = this.isTop(a);
    if (isTop !== this.isTop(b)) return isTop ? -1 : 1;
    if (!isTop) {
      for (const key of this.keys) {
        const difference =
          key === 'priority' ? this.priorityOf(b) - this.priorityOf(a) : this.compareTimes(a, b, key);
        if (difference !== 0) return difference;
      }
    }
    const base = this.compareBases(a, b);
    // On top the last to come is the first; below, as the order says.
    if (base !== 0) return isTop || this.lifo ? -base : base;
    return this.places.compareLabels(this.placeOf(a), this.placeOf(b)) || this.compareArrivals(a, b);
  }

  private placeOf(entry: number): number {
    const detail = this.entries.detail.get(entry);
    return detail === NONE ? NONE : this.details.place.get(detail);
  }

  private isTop(entry: number): boolean {
    const place = this.placeOf(entry);
    return place !== NONE && this.places.top.get(place) === 1;
  }

  private priorityOf(entry: number): number {
    const place = this.placeOf(entry);
    if (place !== NONE) return this.places.priority.get(place);
    return this.messages.priority.get(this.entries.message.get(entry));
  }

  private compareTimes(a: number, b: number, key: Key | undefined): number {
    const atA = this.timeOf(a, key);
    const atB = this.timeOf(b, key);
    // Both may be Infinity.
    return atA === atB ? 0 : atA - atB;
  }

  /** A message without the value: see spec 5.5. */
  private timeOf(entry: number, key: Key | undefined): number {
    const detail = this.entries.detail.get(entry);
    if (detail === NONE) return key === 'time' ? 0 : Infinity;
    const place = this.details.place.get(detail);
    const { sortTimeMs, sortExpiryMs } = place === NONE ? this.details : this.places;
    const row = place === NONE ? detail : place;
    return key === 'time' ? sortTimeMs.get(row) : sortExpiryMs.get(row);
  }

  /** By the arrival of what they were put before, or of themselves. */
  private compareBases(a: number, b: number): number {
    const { messages, places, entries } = this;
    const placeA = this.placeOf(a);
    const placeB = this.placeOf(b);
    const messageA = entries.message.get(a);
    const messageB = entries.message.get(b);
    const highA = placeA === NONE ? messages.idHigh.get(messageA) : places.baseHigh.get(placeA);
    const highB = placeB === NONE ? messages.idHigh.get(messageB) : places.baseHigh.get(placeB);
    if (highA !== highB) return messages.compareHigh(highA, highB);
    const lowA = placeA === NONE ? messages.idLow.get(messageA) : places.baseLow.get(placeA);
    const lowB = placeB === NONE ? messages.idLow.get(messageB) : places.baseLow.get(placeB);
    return lowA - lowB;
  }

  private compareArrivals(a: number, b: number): number {
    const messageA = this.entries.message.get(a);
    const messageB = this.entries.message.get(b);
    if (messageA === messageB) return 0;
    return this.messages.before(messageA, messageB) ? -1 : 1;
  }
}

function isKey(word: string): word is Key {
  return word === 'priority' || word === 'time' || word === 'expiration';
}
