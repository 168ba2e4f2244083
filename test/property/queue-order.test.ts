// The order of every kind of queue, as its trees see it, against the words of the specification [spec 5.5]: on any set of messages, plain,
// on top, and put before one another, comparing two entries is comparing what `standingOf` says of them, key by key.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { apply } from '../../src/queue/apply.ts';
import type { Enqueued, Position } from '../../src/queue/event.ts';
import { compareLabels } from '../../src/queue/label.ts';
import type { MessageId } from '../../src/queue/message.ts';
import { standingOf } from '../../src/queue/place.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { compareStandings, firstBehind, standingIn } from '../../src/queue/standing.ts';
import { QueueSpace } from '../../src/queue/space.ts';
import { properties, queueAttributes } from '../support/queue-values.ts';

const ORDERS = [
  'fifo',
  'lifo',
  'priority',
  'priority,lifo',
  'priority,time,lifo',
  'time,priority,fifo',
  'expiration',
  'expiration,time,priority',
];
// Few values, so that ties are common; epochs that do not ascend with the order of arrival in the tables.
const few = fc.integer({ min: 0, max: 2 });
const instant = fc.constantFrom(0, 1, 2, Infinity);
const messages = fc.array(
  fc.record({
    epoch: few,
    priority: fc.integer({ min: 1, max: 3 }),
    timing: fc.option(fc.record({ sortTimeMs: few, sortExpiryMs: instant })),
    top: fc.boolean(),
    before: fc.option(
      fc.record({ which: fc.nat(), label: fc.option(fc.uint8Array({ minLength: 1, maxLength: 3 })) }),
    ),
  }),
  { minLength: 2, maxLength: 12 },
);

test('comparing entries is comparing their places, values and arrivals', () => {
  const property = fc.property(fc.constantFrom(...ORDERS), messages, (order, given) => {
    const space = new QueueSpace(1);
    apply(space, { kind: 'queueDefined', queue: 1, attributes: queueAttributes('Q', { order }) });
    const ids = given.map(({ epoch }, i): MessageId => ({ epoch, counter: i + 1 }));
    given.forEach((message, i) => apply(space, enqueued(ids[i]!, message)));
    given.forEach(({ before }, i) => {
      const base = before === null ? undefined : space.entryById(ids[before.which % ids.length]!);
      if (before === null || base === undefined) return;
      const position = { ...standingOf(space, base), label: before.label };
      apply(space, { kind: 'placed', id: ids[i]!, persistent: true, position });
    });
    const isBefore = space.queue('Q')!.before;
    const entries = ids.map((id) => space.entryById(id));
    const all = entries.flatMap((a) => entries.map((b) => [a, b] as const));
    const wrong = all.filter(
      ([a, b]) => isBefore(a, b) !== compare(order, seen(space, a), seen(space, b)) < 0,
    );
    expect(wrong).toEqual([]);
    const queue = space.queue('Q')!;
    const [standing, inOrder] = [
      entries.map((entry) => standingIn(space, entry)),
      entriesInOrder(space, queue),
    ];
    const apart = all.filter(([a, b]) => {
      const [placeA, placeB] = [standing[entries.indexOf(a)]!, standing[entries.indexOf(b)]!];
      return isBefore(a, b) !== compareStandings(queue, placeA, placeB) < 0;
    });
    expect(apart).toEqual([]);
    // Behind one that has gone comes the one that came behind it.
    inOrder.forEach((entry, i) => {
      const place = standingIn(space, entry);
      expect(firstBehind(space, queue, place)).toBe(inOrder[i + 1] ?? 0);
      const id = space.id(entry);
      apply(space, { kind: 'removed', id, persistent: true, reason: 1 });
      expect(firstBehind(space, queue, place)).toBe(inOrder[i + 1] ?? 0);
    });
  });
  fc.assert(property, { numRuns: 100 });
});

function entriesInOrder(space: QueueSpace, queue: Queue): number[] {
  const found: number[] = [];
  for (let entry = space.firstReady(queue); entry !== 0; entry = space.unheldAfter(queue, entry))
    found.push(entry);
  return found;
}

interface Seen extends Position {
  readonly id: MessageId;
}

function seen(space: QueueSpace, entry: number): Seen {
  return { ...standingOf(space, entry), id: space.id(entry) };
}

function compare(order: string, a: Seen, b: Seen): number {
  if (a.top !== b.top) return a.top ? -1 : 1;
  if (!a.top) {
    for (const key of order.split(',')) {
      if (key === 'priority' && a.priority !== b.priority) return b.priority - a.priority;
      if (key === 'time' && a.sortTimeMs !== b.sortTimeMs) return a.sortTimeMs < b.sortTimeMs ? -1 : 1;
      if (key === 'expiration' && a.sortExpiryMs !== b.sortExpiryMs)
        return a.sortExpiryMs < b.sortExpiryMs ? -1 : 1;
    }
  }
  const base = arrival(a.base, b.base);
  if (base !== 0) return a.top || order.includes('lifo') ? -base : base;
  if (a.label === null || b.label === null) {
    return Number(a.label === null) - Number(b.label === null) || arrival(a.id, b.id);
  }
  return compareLabels(a.label, b.label) || arrival(a.id, b.id);
}

function arrival(a: MessageId, b: MessageId): number {
  return a.epoch - b.epoch || a.counter - b.counter;
}

function enqueued(
  id: MessageId,
  {
    priority,
    timing,
    top,
  }: { priority: number; timing: { sortTimeMs: number; sortExpiryMs: number } | null; top: boolean },
): Enqueued {
  return {
    kind: 'enqueued',
    restated: false,
    branch: 0,
    id,
    queue: 1,
    persistent: true,
    retries: 0,
    dueMs: 0,
    dueClock: 0,
    timing: timing === null ? null : { ...timing, expiryMs: Infinity, expiryClock: 0 },
    top,
    properties: properties({ priority }),
    place: { ref: 1, offset: 0, length: 100 },
  };
}
