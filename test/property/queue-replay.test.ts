// Replay of any prefix of the logged events gives the same state as living through it; and ids lead back to their messages. What the queue
// machine answers is the matter of test/model.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QME } from '../../proto/codes.ts';
import { apply } from '../../src/queue/apply.ts';
import { decide, select } from '../../src/queue/decide.ts';
import type { Branch } from '../../src/queue/branches.ts';
import type { Event, LoggedEvent } from '../../src/queue/event.ts';
import { beginLoading, endLoading } from '../../src/queue/load.ts';
import { msgidBytes, type MessageId } from '../../src/queue/message.ts';
import { enqueuedEvent } from '../../src/queue/enqueue.ts';
import { standingOf } from '../../src/queue/place.ts';
import { REASON } from '../../src/queue/provenance.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { QueueSpace } from '../../src/queue/space.ts';
import { ENTRY } from '../../src/queue/tables.ts';
import { corrid, properties, queueAttributes, spaceAttributes } from '../support/queue-values.ts';

const SPACE_ID = 0xabcd;
const VOLATILE = new Set(['locked', 'unlocked', 'held', 'due']);

class Harness {
  readonly space = new QueueSpace(SPACE_ID);
  readonly logged: LoggedEvent[] = [];
  readonly open: Branch[] = [];
  now = 1;
  private counter = 0;

  constructor() {
    this.run({ kind: 'defineSpace', attributes: spaceAttributes('S', { errorQueue: 'E' }) });
    this.run({ kind: 'defineQueue', attributes: queueAttributes('A', { retries: 2, delayS: 5 }) });
    this.run({ kind: 'defineQueue', attributes: queueAttributes('B', { retries: 0 }) });
    this.run({ kind: 'defineQueue', attributes: queueAttributes('E') });
    this.run({ kind: 'defineQueue', attributes: queueAttributes('T', { order: 'priority,time,lifo' }) });
  }

  run(command: Parameters<typeof decide>[1]): number {
    return decide(this.space, command, { push: (event) => this.take(event) });
  }
  private take(event: Event): void {
    if (!VOLATILE.has(event.kind)) this.logged.push(structuredClone(event) as LoggedEvent);
    apply(this.space, event);
  }
  newId(): MessageId {
    this.counter++;
    return { epoch: 7, counter: this.counter };
  }

  enqueue(queue: string, by: { corrid: number; position: number; times: number }): void {
    const at = this.space.queue(queue) as Queue;
    const target = by.position > 1 ? this.space.firstReady(at) : 0;
    const before = target === 0 ? null : this.space.id(target);
    const position = by.position === 1 ? 'top' : null;
    const id = this.newId();
    const inTime = (bit: number) =>
      (by.times & bit) === 0 ? null : { clock: (by.times >> 2) as 0 | 1, seconds: 3 * bit };
    const terms = { availability: inTime(1), expiry: inTime(2), position } as const;
    const given = { id, properties: properties({ corrid: corrid(by.corrid) }), terms };
    this.take(enqueuedEvent(at, { ...given, nowMs: this.now, wallMs: this.now }));
    if (before === null) return;
    const standing = standingOf(this.space, target);
    this.run({ kind: 'place', id, before, standing, mayRelabel: () => true });
  }

  dequeue(qname: string, by: { corrid: number; tx: number }): void {
    const queue = this.space.queue(qname) as Queue;
    this.run({ kind: 'tick', queue: queue.number, nowMs: this.now, wallMs: this.now, limit: Infinity });
    const wanted = by.corrid === 0 ? null : corrid(by.corrid);
    const found = select(this.space, queue, { msgid: null, corrid: wanted });
    if (found <= 0) return;
    const branch = by.tx === 0 ? undefined : (this.open[by.tx % (this.open.length + 1)] ?? this.begin());
    this.run({ kind: 'take', entry: found, branch: branch?.number ?? 0 });
  }
  /** An administrator's. */
  move(from: string, to: string): void {
    const entry = this.space.firstReady(this.space.queue(from) as Queue);
    const queue = (this.space.queue(to) as Queue).number;
    if (entry !== 0) this.run({ kind: 'move', entry, queue, newId: this.newId(), wallMs: this.now });
  }
  private begin(): Branch {
    const branch = this.space.branches.open();
    this.open.push(branch);
    return branch;
  }

  /** An administrator changes what is first on a queue, or moves it to another. */
  administer(qname: string, by: number): void {
    const queue = this.space.queue(qname) as Queue;
    const entry = this.space.anyUnheld(queue);
    if (entry === 0) return;
    const now = { nowMs: this.now, wallMs: this.now };
    const time = { clock: ((by >> 2) & 1) as 0 | 1, seconds: by >> 3 };
    const other = (this.space.queue(qname === 'A' ? 'T' : 'A') as Queue).number;
    if (by % 4 === 0)
      this.run({ kind: 'requeue', entry, queue: other, newId: this.newId(), wallMs: this.now });
    else if (by % 4 === 1) this.run({ kind: 'change', entry, values: { priority: 1 + (by >> 2) }, ...now });
    else if (by % 4 === 2) this.run({ kind: 'change', entry, values: { availability: time }, ...now });
    else this.run({ kind: 'change', entry, values: { expiry: time.seconds === 0 ? 'none' : time }, ...now });
  }

  end(index: number, commit: boolean): void {
    const branch = this.open.splice(index % Math.max(1, this.open.length), 1)[0];
    if (branch === undefined) return;
    const { number } = branch;
    const now = { nowMs: this.now, wallMs: this.now };
    const cause = { reason: REASON.FAILURE, code: index, rcode: -index };
    const moves = { limit: Infinity, cause, newId: () => this.newId(), mayMove: () => true, later: () => {} };
    this.run(
      commit ? { kind: 'commit', branch: number } : { kind: 'rollback', branch: number, ...now, ...moves },
    );
    this.space.branches.close(branch);
  }
}

function keyOf(id: MessageId): string {
  return `${id.epoch}.${id.counter}`;
}

/** Everything a restart must find again, in the order in which it would be handed out. */
function contents(space: QueueSpace): unknown[] {
  return space.queues().map((queue) => {
    const end = { nowMs: Number.MAX_SAFE_INTEGER, wallMs: Number.MAX_SAFE_INTEGER, limit: Infinity };
    decide(space, { kind: 'tick', queue: queue.number, ...end }, { push: (event) => apply(space, event) });
    const out: unknown[] = [];
    const { entries } = space;
    for (let entry = space.firstReady(queue); entry !== 0; entry = space.firstReady(queue)) {
      const id = space.id(entry);
      const bytes = space.corridOf(entry);
      out.push([
        keyOf(id),
        entries.retries.get(entry),
        space.messages.priority.get(entries.message.get(entry)),
        bytes === null ? '' : Buffer.from(bytes).toString('hex'),
        space.provenanceOf(entry),
      ]);
      apply(space, { kind: 'removed', id, persistent: true, reason: 1 });
    }
    return [queue.attributes, out];
  });
}

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(
      fc.constant('enq' as const),
      fc.constantFrom('A', 'B'),
      fc.integer({ min: 1, max: 127 }),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(
      fc.constant('deq' as const),
      fc.constantFrom('A', 'B', 'E', 'T'),
      fc.integer({ min: 0, max: 39 }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constant('end' as const), fc.boolean(), fc.integer({ min: 0, max: 9 })),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constant('move' as const),
      fc.constantFrom('A', 'B', 'E'),
      fc.integer({ min: 0, max: 2 }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constant('admin' as const),
      fc.constantFrom('A', 'B', 'E', 'T'),
      fc.integer({ min: 0, max: 127 }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constant('time' as const), fc.constant(''), fc.integer({ min: 1, max: 6000 })),
  },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function lived(steps: readonly Step[]): Harness {
  const live = new Harness();
  for (const [kind, what, number] of steps) {
    if (kind === 'enq')
      live.enqueue(what, { corrid: number & 3, position: (number >> 2) & 3, times: number >> 4 });
    else if (kind === 'deq') live.dequeue(what, { corrid: number % 5, tx: number >> 3 });
    else if (kind === 'end') live.end(number, what);
    else if (kind === 'move') live.move(what, ['A', 'B', 'E'][number] as string);
    else if (kind === 'admin') live.administer(what, number);
    else live.now += number;
  }
  return live;
}

/** Every tree, index and agenda, link by link: a treap has one shape for its rows, however it came to be. */
function structures(space: QueueSpace): unknown {
  const { entries, corrids, details, places } = space;
  const rows: unknown[] = [];
  for (let row = 1; row <= entries.rowsMax; row++) {
    const state = entries.state.get(row);
    if (state === ENTRY.FREE) continue;
    const detail = entries.detail.get(row);
    const isFree = state === ENTRY.READY || state === ENTRY.DELAYED;
    const expires = detail !== 0 && isFree && details.expiryMs.get(detail) !== Infinity;
    const isPlaced = detail !== 0 && details.place.get(detail) !== 0;
    const isIndexed = state === ENTRY.READY && entries.corrid.get(row) !== 0;
    rows.push([
      [row, state, entries.message.get(row), entries.queue.get(row), detail, entries.corrid.get(row)],
      space.provenanceOf(row),
      isFree ? [entries.left(row), entries.right(row)] : null,
      expires ? [details.left(row), details.right(row)] : null,
      isPlaced ? [places.left(row), places.right(row)] : null,
      isIndexed ? [corrids.left(row), corrids.right(row)] : null,
    ]);
  }
  const queues = space
    .queues()
    .map((queue) => [
      [queue.root, queue.last, queue.placeRoot, space.firstReady(queue)],
      [queue.ready, queue.delayed, queue.locked, queue.bytes, queue.pages],
      [...queue.due, ...queue.expiry].map((agenda) => [agenda.first(), agenda.nextMs]),
      [0, 1, 2, 3].map((n) => space.firstByCorrid(queue, corrid(n))),
    ]);
  // Of queues with the same instant any may be the next.
  const clocks = ([0, 1] as const).map((clock) => [
    space.nextMs(clock),
    space.nextQueue(clock)?.nextMs(clock),
  ]);
  return { rows, queues, clocks, usage: space.usage, liveBytes: space.liveBytes };
}

describe('queue space', () => {
  it('has the same trees, indexes and agendas when they were made at the end of a replay as when they were kept through it', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const { logged } = lived(steps);
        const [kept, made] = [new QueueSpace(SPACE_ID), new QueueSpace(SPACE_ID)];
        beginLoading(made);
        for (const space of [kept, made]) for (const event of logged) apply(space, event);
        endLoading(made);
        expect(structures(made)).toEqual(structures(kept));
        expect(contents(made)).toEqual(contents(kept));
      }),
      { numRuns: 300 },
    );
  });

  it('is the same after a replay of every prefix as it was live', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const live = lived(steps);
        const replayed = new QueueSpace(SPACE_ID);
        for (const event of live.logged) apply(replayed, event);
        // A restart gives back what was only locked, without an attempt counted; then both hand out the same.
        for (const branch of live.open) {
          for (let entry = branch.first; entry !== 0; entry = branch.first)
            apply(live.space, { kind: 'unlocked', entry });
        }
        expect(contents(replayed)).toEqual(contents(live.space));
      }),
      { numRuns: 300 },
    );
  });

  it('makes 32 printable bytes of an id that lead back to it, and to nothing in another space', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 48 - 1 }),
        fc.integer({ min: 0, max: 2 ** 48 - 1 }),
        (epoch, counter) => {
          const bytes = msgidBytes(SPACE_ID, { epoch, counter });
          expect(Buffer.from(bytes).toString()).toMatch(/^[0-9a-f]{32}$/);
          const space = new QueueSpace(SPACE_ID);
          decide(
            space,
            { kind: 'defineQueue', attributes: queueAttributes('A') },
            { push: (e) => apply(space, e) },
          );
          const queue = space.queue('A') as Queue;
          const enqueue = { id: { epoch, counter }, properties: properties({}), terms: null };
          apply(space, enqueuedEvent(queue, { ...enqueue, nowMs: 0, wallMs: 0 }));
          expect(select(space, queue, { msgid: bytes, corrid: null })).toBeGreaterThan(0);
          const foreign = msgidBytes(SPACE_ID + 1, { epoch, counter });
          expect(select(space, queue, { msgid: foreign, corrid: null })).toBe(QME.QMEBADMSGID);
        },
      ),
    );
  });
});
