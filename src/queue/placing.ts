// Entries that were put somewhere come to their places, and leave them: for apply.ts alone. What a place is says place.ts.
import { NONE } from '../base/column.ts';
import type { Position } from './event.ts';
import type { Queue } from './queue.ts';
import type { QueueSpace } from './space.ts';

/** TPQTOP: before everything that is there. */
export function enterTop(space: QueueSpace, entry: number, queue: Queue): void {
  const position = { ...NOWHERE, top: true, base: space.id(entry) };
  enterPlace(space, entry, { queue, position });
}
const NOWHERE: Omit<Position, 'top' | 'base'> = { priority: 0, sortTimeMs: 0, sortExpiryMs: 0, label: null };

/** The entry stands there from now on. It is in no order tree. */
export function enterPlace(
  space: QueueSpace,
  entry: number,
  { queue, position }: { queue: Queue; position: Position },
): void {
  const { entries, details, places, messages } = space;
  if (entries.detail.get(entry) === NONE) entries.detail.set(entry, details.take(null));
  const place = places.take();
  const { high, low } = messages.pack(position.base);
  places.top.set(place, position.top ? 1 : 0);
  places.priority.set(place, position.priority);
  places.sortTimeMs.set(place, position.sortTimeMs);
  places.sortExpiryMs.set(place, position.sortExpiryMs);
  places.baseHigh.set(place, high);
  places.baseLow.set(place, low);
  places.setLabel(place, position.label);
  details.place.set(entries.detail.get(entry), place);
  space.enterPlaces(entry, queue);
}

/** It stands where its own values say, if it is anywhere. */
export function leavePlace(space: QueueSpace, entry: number, queue: Queue): void {
  const { entries, details, places } = space;
  const detail = entries.detail.get(entry);
  const place = detail === NONE ? NONE : details.place.get(detail);
  if (place === NONE) return;
  space.leavePlaces(entry, queue);
  details.place.set(detail, NONE);
  places.give(place);
}
