// Events ↔ record bytes, and the buffer that records are built in: whatever is put in comes out again, at the place that was noted.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TPQ } from '../../proto/codes.ts';
import { RecordBuffer } from '../../src/engine/record-buffer.ts';
import {
  decodeMessage,
  encodeEnqueued,
  enqueuedBytes,
  EVENT_BYTES,
  isIntact,
} from '../../src/engine/message-record.ts';
import { decodeEvent, encodeEvent } from '../../src/engine/record.ts';
import { Replay } from '../../src/engine/replay.ts';
import { apply } from '../../src/queue/apply.ts';
import { OBJECT } from '../../src/queue/catalog.ts';
import { FINISHED, type Enqueued, type LoggedEvent } from '../../src/queue/event.ts';
import { REASON } from '../../src/queue/provenance.ts';
import { QueueSpace } from '../../src/queue/space.ts';
import { queueAttributes, spaceAttributes } from '../support/queue-values.ts';

const part = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const id = fc.record({ epoch: part, counter: part });
const name = fc.string({ maxLength: 31, unit: 'grapheme' }).filter((text) => Buffer.byteLength(text) <= 127);
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const space = fc.double({ min: 0, max: 2 ** 53, noNaN: true });

const properties = fc
  .record({
    priority: fc.integer({ min: 1, max: 100 }),
    corrid: fc.option(bytes(32)),
    replyqueue: name,
    failurequeue: name,
    cltid: bytes(16),
    appkey: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    urcode: fc.maxSafeInteger(),
    type: fc.constantFrom('', 'STRING', 'CARRAY', 'JSON', 'FML32', 'ÄÖ'),
    subtype: fc.constantFrom('', 'sub', 'äöüß'),
    deliveryQos: fc.constantFrom(0, 1, 2, 4),
    replyQos: fc.constantFrom(0, 1, 2, 4),
  })
  .map((given) => ({
    ...given,
    flags:
      (given.corrid === null ? 0 : TPQ.TPQCORRID) |
      (given.replyqueue === '' ? 0 : TPQ.TPQREPLYQ) |
      (given.failurequeue === '' ? 0 : TPQ.TPQFAILUREQ) |
      (given.deliveryQos === 0 ? 0 : TPQ.TPQDELIVERYQOS) |
      (given.replyQos === 0 ? 0 : TPQ.TPQREPLYQOS),
  }));
const body = fc.oneof(
  { weight: 8, arbitrary: fc.uint8Array({ maxLength: 300 }) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 30_000, max: 300_000 }).map((length) => new Uint8Array(length).fill(length)),
  },
);
const instant = fc.oneof(space, fc.constant(Infinity));
const clock = fc.constantFrom(0 as const, 1 as const);
const timing = fc.record({ sortTimeMs: space, sortExpiryMs: instant, expiryMs: instant, expiryClock: clock });
// A wall-clock availability always comes with times.
const times = fc.oneof(
  fc.record({ dueMs: space, dueClock: fc.constant(0 as const), timing: fc.constant(null) }),
  fc.record({ dueMs: space, dueClock: clock, timing }),
);
const message = fc
  .record({
    kind: fc.constant('enqueued' as const),
    id,
    persistent: fc.constant(true),
    restated: fc.boolean(),
    queue: part.map((n) => n % 1000),
    retries: fc.nat(),
    times,
    top: fc.boolean(),
    properties,
    body,
  })
  .map(({ times: given, ...rest }) => ({ ...rest, ...given }));
/** Of the AQ dialect: with its properties, perhaps with recipients. */
const aqMessage = fc
  .record({
    message,
    aq: fc.record({
      enqueuedMs: space,
      correlation: name,
      priority: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
      group: fc.nat(),
    }),
    recipients: fc.option(
      fc.array(
        fc.record({
          queue: fc.nat(),
          copy: fc.integer({ min: 1, max: 1024 }),
          retries: fc.nat(),
          dueMs: space,
        }),
        {
          minLength: 1,
          maxLength: 40,
        },
      ),
    ),
  })
  .map(({ message: own, aq, recipients }) => ({
    ...own,
    properties: { ...own.properties, aq },
    ...(recipients === null ? {} : { recipients }),
  }));
const persistent = fc.constant(true);
const position = fc.record({
  top: fc.boolean(),
  priority: fc.integer({ min: 0, max: 100 }),
  sortTimeMs: space,
  sortExpiryMs: instant,
  base: id,
  label: fc.option(fc.uint8Array({ minLength: 1, maxLength: 64 })),
});
const provenance = fc.record({
  queue: fc.nat(),
  name,
  id,
  reason: fc.constantFrom(...Object.values(REASON)),
  code: fc.integer(),
  rcode: fc.maxSafeInteger(),
  retries: fc.nat(),
  atMs: space,
  count: fc.nat(),
});
const change = fc.oneof(
  fc.record({
    kind: fc.constant('removed' as const),
    id,
    persistent,
    reason: fc.constantFrom(1 as const, 2 as const, 3 as const, 4 as const),
  }),
  fc.record({ kind: fc.constant('retried' as const), id, persistent, retries: fc.nat(), dueMs: space }),
  fc.record({
    kind: fc.constant('moved' as const),
    id,
    newId: id,
    persistent,
    queue: fc.nat(),
    from: fc.nat(),
    retries: fc.nat(),
    atMs: space,
  }),
  fc.record({ kind: fc.constant('provenanceSet' as const), id, persistent, provenance }),
  fc.record({ kind: fc.constant('placed' as const), id, persistent, position }),
  fc.record({
    kind: fc.constant('changed' as const),
    id,
    persistent,
    priority: fc.integer({ min: 1, max: 100 }),
    dueMs: space,
    dueClock: clock,
    timing: fc.option(timing),
  }),
  fc.record({
    kind: fc.constant('requeued' as const),
    id,
    newId: id,
    persistent,
    queue: fc.nat(),
    from: fc.nat(),
    atMs: space,
  }),
  fc.record({
    kind: fc.constant('heuristic' as const),
    transaction: fc.record({ start: part, serial: part }),
    tlog: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((one) => Buffer.from(one).toString('hex')),
    committed: fc.boolean(),
    compared: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('finished' as const),
    id,
    persistent,
    how: fc.constantFrom(FINISHED.PROCESSED, FINISHED.EXHAUSTED),
    untilMs: instant,
    atMs: space,
  }),
  fc.record({
    kind: fc.constant('objectDefined' as const),
    type: fc.constantFrom(...Object.values(OBJECT)),
    name,
    value: fc.option(fc.record({ text: name })),
  }),
  fc.record({ kind: fc.constant('queueDoomed' as const), queue: fc.nat() }),
  fc.record({
    kind: fc.constant('thresholdSet' as const),
    queue: fc.nat(),
    threshold: clock,
    armed: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('queueDefined' as const),
    queue: fc.nat(),
    attributes: name.map((text) => queueAttributes(text)),
  }),
  fc.record({
    kind: fc.constant('spaceDefined' as const),
    attributes: name.map((text) => spaceAttributes(text, { errorQueue: text, pages: 7 })),
    nextQueue: fc.nat(),
  }),
);
type Step = { kind: 'enqueued'; body: Uint8Array } | LoggedEvent;

function write(buffer: RecordBuffer, step: Step): { event: LoggedEvent; data: Uint8Array | null } {
  if (step.kind !== 'enqueued' || !('body' in step)) {
    encodeEvent(buffer, step as Exclude<LoggedEvent, Enqueued>);
    return { event: step, data: null };
  }
  const { body: given, ...rest } = step;
  const event: Enqueued = {
    ...(rest as Omit<Enqueued, 'place'>),
    place: { ref: 0, offset: 0, length: 0 },
    branch: 0,
  };
  const data = event.properties.type === '' ? null : given;
  encodeEnqueued(buffer, event, data);
  expect(event.place.length).toBe(enqueuedBytes(event, data));
  return { event, data };
}

function check(
  buffer: RecordBuffer,
  index: number,
  expected: { event: LoggedEvent; data: Uint8Array | null },
): void {
  const offset = buffer.startOf(index);
  const length = buffer.endOf(index) - offset;
  const record = Buffer.from(buffer.slice(offset, length));
  const { event } = expected;
  const read = decodeEvent(record.subarray(0, event.kind === 'enqueued' ? EVENT_BYTES : length), {
    ref: 9,
    offset,
    length,
  });
  if (event.kind !== 'enqueued') {
    expect(read).toEqual(event);
    return;
  }
  expect(plain(read)).toEqual(plain({ ...event, place: { ref: 9, offset, length } }));
  expect(isIntact(record)).toBe(true);
  const whole = decodeMessage(record, event.id);
  expect(plain(whole.properties)).toEqual(plain(event.properties));
  expect(whole.data === null ? null : Buffer.from(whole.data).equals(Buffer.from(expected.data ?? []))).toBe(
    expected.data === null ? null : true,
  );
}

/** Bytes as text: what kind of array holds them does not matter. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, one: unknown) =>
      isBytes(one) ? Buffer.from(one.data ?? one).toString('hex') : one,
    ),
  );
}
function isBytes(value: unknown): value is Uint8Array & { data?: number[] } {
  return (
    value instanceof Uint8Array ||
    (typeof value === 'object' &&
      value !== null &&
      'data' in value &&
      'type' in value &&
      value.type === 'Buffer')
  );
}

/** What the columns say of every message. */
function rowsOf(from: QueueSpace): unknown[] {
  const { messages, entries, details, places } = from;
  const rows: unknown[] = [];
  for (let row = 1; row <= messages.rowsMax; row++) {
    const entry = messages.entry.get(row);
    const detail = entries.detail.get(entry);
    const corrid = from.corridOf(entry);
    const place = detail === 0 ? 0 : details.place.get(detail);
    rows.push([
      [messages.id(row), messages.ref.get(row), messages.offset.get(row), messages.length.get(row)],
      [from.typeOf(messages.typeCode.get(row)), messages.priority.get(row), entries.queue.get(entry)],
      [entries.state.get(entry), entries.dueMs.get(entry), entries.dueClock.get(entry)],
      [entries.retries.get(entry), corrid === null ? '' : Buffer.from(corrid).toString('hex')],
      detail === 0 ? null : details.timing(detail),
      place === 0 ? 0 : places.top.get(place),
    ]);
  }
  return [rows, from.liveBytes, from.usage];
}

describe('records', () => {
  it('come out as they went in, also after a transaction was adopted, and lie in the group as the log is told', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(message, aqMessage, change), { maxLength: 30 }),
        fc.nat(),
        (steps, cut) => {
          const batch = new RecordBuffer();
          const work = new RecordBuffer(4096);
          const own = steps.slice(0, cut % (steps.length + 1)).map((step) => write(batch, step as Step));
          const adopted = steps.slice(own.length).map((step) => write(work, step as Step));
          batch.adopt(work);
          const expected = [...own, ...adopted];
          expect(batch.count).toBe(expected.length);
          expected.forEach((one, i) => check(batch, i, one));
          const group = batch.group();
          const flat = Buffer.concat(group.bytes);
          expect(flat.length).toBe(batch.length);
          for (let i = 0; i < expected.length; i++) {
            const start = group.starts[i] as number;
            expect(start).toBe(batch.startOf(i));
            expect(
              flat.subarray(start, batch.endOf(i)).equals(batch.slice(start, batch.endOf(i) - start)),
            ).toBe(true);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('are replayed as if each were decoded and applied', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 30 }), (steps) => {
        const buffer = new RecordBuffer();
        for (const step of steps) write(buffer, { ...step, queue: step.queue % 3 });
        const [replayed, applied] = [new QueueSpace(1), new QueueSpace(1)];
        for (const one of [replayed, applied]) {
          // Number 0 is no queue's: its messages are passed over.
          for (const number of [1, 2]) one.define(number, queueAttributes(`Q${number}`, { order: 'fifo' }));
        }
        const group = buffer.group();
        const records = { ...group, bytes: [Buffer.concat(group.bytes)] };
        const time = { space: 0, wall: 0 };
        new Replay(replayed).batch({ ref: 9, pos: 8, epoch: 8, kind: 'data', time, records });
        for (let i = 0; i < buffer.count; i++) {
          const offset = buffer.startOf(i);
          const length = buffer.endOf(i) - offset;
          apply(applied, decodeEvent(buffer.slice(offset, length), { ref: 9, offset, length }));
        }
        expect(rowsOf(replayed)).toEqual(rowsOf(applied));
      }),
      { numRuns: 150 },
    );
  });

  it('of a message that are cut short are refused by name of their place', () => {
    const records = { bytes: [Buffer.from([1, 1, 50, 2])], starts: Uint32Array.of(0), count: 1 };
    const time = { space: 0, wall: 0 };
    const replay = new Replay(new QueueSpace(1));
    expect(() => replay.batch({ ref: 9, pos: 8, epoch: 8, kind: 'data', time, records })).toThrow(
      /batch at 8, record at 0/,
    );
  });

  it('of definitions hold what is not the default, and older ones that hold everything are read alike', () => {
    const attributes = queueAttributes('Q', { retries: 3 });
    const buffer = new RecordBuffer();
    encodeEvent(buffer, { kind: 'queueDefined', queue: 4, attributes });
    const record = Buffer.from(buffer.slice(0, buffer.length));
    expect(record.subarray(4).toString()).toBe('{"queue":4,"name":"Q","retries":3}');
    const older = Buffer.concat([
      record.subarray(0, 4),
      Buffer.from(JSON.stringify({ queue: 4, ...attributes })),
    ]);
    for (const one of [record, older]) {
      const event = decodeEvent(one, { ref: 0, offset: 0, length: one.length });
      expect(event).toEqual({ kind: 'queueDefined', queue: 4, attributes });
    }
  });

  it('notices a flipped bit anywhere in a message', () => {
    fc.assert(
      fc.property(fc.oneof(message, aqMessage), fc.nat(), (step, where) => {
        const buffer = new RecordBuffer();
        write(buffer, step);
        const record = Buffer.from(buffer.slice(0, buffer.length));
        const at = 4 + (where % (record.length - 4));
        record[at] = (record[at] as number) ^ (1 << (where % 8));
        expect(isIntact(record)).toBe(false);
      }),
      { numRuns: 60 },
    );
  });
});
