// A message that came to be on a queue, as the columns take it: numbers, and no object for each message. Whoever reads a log fills in the same
// one again and again. Live, it is made from the event.
import { CLOCK, type ClockKind, type Enqueued, type EntryTiming } from './event.ts';
import type { MessageId } from './message.ts';
import type { QueueSpace } from './space.ts';

export class Arrival implements MessageId {
  epoch = 0;
  counter = 0;
  ref = 0;
  offset = 0;
  length = 0;
  /** By the space's table of types. */
  typeCode = 0;
  priority = 0;
  queue = 0;
  retries = 0;
  dueMs = 0;
  dueClock: ClockKind = CLOCK.SPACE;
  /** 32 bytes, which are copied, or null. */
  corrid: Uint8Array | null = null;
  timing: EntryTiming | null = null;
  top = false;
  restated = false;
  /** Of a prepared branch; 0: it is there for everyone. */
  branch = 0;
  persistent = true;
  /** Which of the recipients' rows [MessageTable.copyOf]; 0: there is one row only. */
  copy = 0;
  isFollower = false;
  /** The one that it names; '' = none. */
  exceptionQueue = '';
  /** The transaction group that it belongs to; 0: none. */
  group = 0;

  take(space: QueueSpace, event: Enqueued): this {
    const { id, place, properties } = event;
    this.epoch = id.epoch;
    this.counter = id.counter;
    this.ref = place.ref;
    this.offset = place.offset;
    this.length = place.length;
    this.typeCode = space.typeCode(properties.type, properties.subtype);
    this.priority = properties.priority;
    this.queue = event.queue;
    this.retries = event.retries;
    this.dueMs = event.dueMs;
    this.dueClock = event.dueClock;
    this.corrid = properties.corrid;
    this.timing = event.timing;
    this.top = event.top;
    this.restated = event.restated;
    this.branch = event.branch;
    this.persistent = event.persistent;
    this.group = properties.aq?.group ?? 0;
    this.exceptionQueue = properties.aq?.exceptionQueue ?? '';
    return this;
  }
}
