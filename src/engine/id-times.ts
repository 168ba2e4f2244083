// When the messages of a space were enqueued, by their ids: an id is younger than every id before it, so a mark now and then (the newest id, and
// the time) tells the age of any message without a word kept for each. Ages are never too long; they are short by a second, and by a thousandth
// part of the age once marks were thinned out. After a start they are known from the newest checkpoint on: what is older counts from its time.
import { isBefore, type MessageId } from '../queue/message.ts';

/** Between two marks, in milliseconds of space time. */
const STEP_MS = 1000;
/** When there are so many, every other one of the older half goes. */
const MARKS_MAX = 4096;

interface Mark {
  /** This id, and all before it, were given out before `atMs`. */
  readonly id: MessageId;
  readonly atMs: number;
}

export class IdTimes {
  private readonly newest: () => MessageId;
  private marks: Mark[] = [];
  private lastMs = -Infinity;

  /** `newest`: the last id that a message came with. */
  constructor(newest: () => MessageId) {
    this.newest = newest;
  }

  /** A batch was made at this space time, from here or by replay. */
  note(spaceMs: number): void {
    if (spaceMs - this.lastMs < STEP_MS) return;
    const id = this.newest();
    const last = this.marks.at(-1);
    if (last !== undefined && !isBefore(last.id, id)) return;
    this.lastMs = spaceMs;
    this.marks.push({ id, atMs: spaceMs });
    if (this.marks.length === MARKS_MAX) this.thin();
  }

  /** Milliseconds since the message was enqueued, at least. */
  ageMs(id: MessageId, nowMs: number): number {
    let low = 0;
    for (let high = this.marks.length; low < high;) {
      const middle = (low + high) >> 1;
      if (isBefore((this.marks[middle] as Mark).id, id)) low = middle + 1;
      else high = middle;
    }
    const mark = this.marks[low];
    return mark === undefined ? 0 : Math.max(0, nowMs - mark.atMs);
  }

  private thin(): void {
    const half = MARKS_MAX / 2;
    this.marks = this.marks.filter((_, i) => i >= half || i % 2 === 1);
  }
}
