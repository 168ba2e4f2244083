// When the messages of a space were enqueued, by their ids: an id is younger than every id before it, so a mark now and then (the newest id, and
// the time) tells the age of any message without a word kept for each. Ages are never too long; they are short by a second at most, or by a
// small part of the age once marks were thinned out. After a start they are known from the newest checkpoint on: what is older counts from its time.
import { isBefore, type MessageId } from '../queue/message.ts';

/** Between two marks, in milliseconds of space time. */
const STEP_MS = 1000;
export const MARKS_MAX = 4096;
/** A mark goes when the next one says the same but for this part of the age. */
const PART = 1 / 256;

interface Mark {
  /** This id, and all before it, were given out before `atMs`. */
  readonly id: MessageId;
  readonly atMs: number;
}

export class IdTimes {
  private readonly newest: () => MessageId;
  private marks: Mark[] = [];
  /** Less than a step after the last mark: the end of a burst that a pause may follow. */
  private recent: Mark | null = null;
  private lastMs = -Infinity;

  /** `newest`: the last id that a message came with. */
  constructor(newest: () => MessageId) {
    this.newest = newest;
  }

  /** A batch was made at this space time, from here or by replay. */
  note(spaceMs: number): void {
    const id = this.newest();
    const last = this.recent ?? this.marks.at(-1);
    if (last !== undefined && !isBefore(last.id, id)) return;
    const mark = { id, atMs: spaceMs };
    if (spaceMs - this.lastMs < STEP_MS) {
      this.recent = mark;
      return;
    }
    if (this.recent !== null) this.marks.push(this.recent);
    this.recent = null;
    this.marks.push(mark);
    this.lastMs = spaceMs;
    if (this.marks.length >= MARKS_MAX) this.thin(spaceMs);
  }

  /** Milliseconds since the message was enqueued, at least. */
  ageMs(id: MessageId, nowMs: number): number {
    let low = 0;
    for (let high = this.marks.length; low < high;) {
      const middle = (low + high) >> 1;
      if (isBefore((this.marks[middle] as Mark).id, id)) low = middle + 1;
      else high = middle;
    }
    const { recent } = this;
    const mark = this.marks[low] ?? (recent !== null && !isBefore(recent.id, id) ? recent : null);
    return mark === null ? 0 : Math.max(0, nowMs - mark.atMs);
  }

  get count(): number {
    return this.marks.length;
  }

  private thin(nowMs: number): void {
    const needed: Mark[] = [];
    for (const mark of this.marks.toReversed()) {
      const next = needed.at(-1);
      if (next === undefined || next.atMs - mark.atMs > (nowMs - next.atMs) * PART) needed.push(mark);
    }
    needed.reverse();
    // Pauses without end: every other one then.
    this.marks = needed.length < MARKS_MAX ? needed : needed.filter((_, i) => i % 2 === 1);
  }
}
