// A space while its log is read, and when that ends: meanwhile rows alone are kept, because every tree and index that a message would enter and
// leave again is made faster from what is left, in order and at once. Nothing may be decided before the end.
import { NONE } from '../base/column.ts';
import { RowList } from '../base/row-list.ts';
import { CLOCK, type ClockKind } from './event.ts';
import type { Queue } from './queue.ts';
import { closeRings } from './recipients.ts';
import type { QueueSpace } from './space.ts';
import { ENTRY } from './tables.ts';

/** Events are about to be applied from a log, or messages from a checkpoint. Assumes: the space is empty. */
export function beginLoading(space: QueueSpace): void {
  space.loading = true;
  space.msgids.growsAtOnce = true;
}

/** Ensures: the space is as if every event had been applied to it live. */
export function endLoading(space: QueueSpace): void {
  space.loading = false;
  space.msgids.growsAtOnce = false;
  if (space.queues().some(({ lanes }) => lanes !== null)) closeRings(space);
  for (const { queue, ready, due, expiry, places } of gather(space)) {
    // Places first: they are part of the order.
    if (places !== null) queue.placeRoot = space.placeTree.build(places.sorted(queue.before));
    const rows = ready.sorted(queue.before);
    queue.root = space.tree.build(rows);
    queue.last = rows.at(-1) ?? NONE;
    for (const row of rows) {
      if (space.entries.corrid.get(row) !== NONE) space.indexCorrid(row, queue);
    }
    for (const clock of [CLOCK.SPACE, CLOCK.WALL]) {
      const [dueRows, expiryRows] = [due[clock], expiry[clock]];
      if (dueRows !== null) queue.due[clock].fill(dueRows);
      if (expiryRows !== null) queue.expiry[clock].fill(expiryRows);
    }
  }
}

type ByClock = [RowList | null, RowList | null];

/** The entries of a queue by what they are in. */
class Gathered {
  readonly queue: Queue;
  readonly ready: RowList;
  readonly due: ByClock = [null, null];
  readonly expiry: ByClock = [null, null];
  places: RowList | null = null;

  constructor(queue: Queue) {
    this.queue = queue;
    this.ready = new RowList(queue.ready);
  }
}

function gather(space: QueueSpace): Gathered[] {
  const { entries, details } = space;
  const found: Gathered[] = [];
  const byNumber: (Gathered | undefined)[] = [];
  for (let row = 1; row <= entries.rowsMax; row++) {
    const state = entries.state.get(row);
    if (state === ENTRY.FREE) continue;
    let at = byNumber[entries.queue.get(row)];
    if (at === undefined) {
      at = new Gathered(space.queueOf(row));
      byNumber[at.queue.number] = at;
      found.push(at);
    }
    if (state === ENTRY.READY) at.ready.push(row);
    else if (state === ENTRY.DELAYED || state === ENTRY.PROCESSED || state === ENTRY.EXHAUSTED)
      add(at.due, entries.dueClockOf(row), row);
    const detail = entries.detail.get(row);
    if (detail === NONE) continue;
    if (details.place.get(detail) !== NONE) (at.places ??= new RowList()).push(row);
    const isFree = state === ENTRY.READY || state === ENTRY.DELAYED;
    if (isFree && details.expiryMs.get(detail) !== Infinity) add(at.expiry, details.clockOf(detail), row);
  }
  return found;
}

function add(lists: ByClock, clock: ClockKind, row: number): void {
  (lists[clock] ??= new RowList()).push(row);
}
