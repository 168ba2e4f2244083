// Messages with several recipients [oracle-aq 6.4]: a row and an entry for each in the lane of its consumer, their ids following one another
// from the message's own, their record the same place in the log. Invariants: the entries of one message are a ring; exactly one row of a
// ring counts the record's bytes. While a log is read the rings of what a checkpoint held are not closed: `closeRings` does it at the end.
import { NONE } from '../base/column.ts';
import { FINISHED, MEMORY_REF, type Enqueued, type Finished, type Recipient } from './event.ts';
import type { AqAgent } from './attributes.ts';
import type { MessageId } from './message.ts';
import type { Queue } from './queue.ts';
import type { QueueSpace } from './space.ts';
import { ENTRY, RECIPIENTS_MAX } from './tables.ts';

/** An agent as a key: equal for equal agents [oracle-aq 2.1]. */
export function agentKey({ name, address, protocol }: AqAgent): string {
  return `${name}\0${address}\0${protocol}`;
}

/** The id of a recipient's row. */
export function idOfCopy({ epoch, counter }: MessageId, copy: number): MessageId {
  return { epoch, counter: counter + copy - 1 };
}

/** Rows that an `enqueued` event makes. */
export function rowsOf({ recipients }: Pick<Enqueued, 'recipients'>): number {
  return recipients?.length ?? 1;
}

/** Some entry of the message that everybody knows by this id, or 0. */
export function anyEntry(space: QueueSpace, id: MessageId): number {
  const { messages } = space;
  for (let copy = 1; copy <= RECIPIENTS_MAX; copy++) {
    const row = space.msgids.find(idOfCopy(id, copy));
    if (row === NONE) continue;
    // Further ids are other messages'.
    if (messages.copyOf(row) !== copy && (copy > 1 || messages.copyOf(row) !== 0)) return NONE;
    return messages.entry.get(row);
  }
  return NONE;
}

/** The entry on this queue of the message that everybody knows by this id, in whatever state, or 0. */
export function entryOn(space: QueueSpace, queue: Queue, id: MessageId): number {
  const { entries } = space;
  for (const entry of ringOf(space, anyEntry(space, id))) {
    if (entries.queue.get(entry) === queue.number) return entry;
  }
  return NONE;
}

/** The entry and the others of its message. */
export function* ringOf({ entries }: QueueSpace, entry: number): Generator<number> {
  if (entry === NONE) return;
  yield entry;
  for (let at = entries.sibling.get(entry); at !== NONE && at !== entry;) {
    const next = entries.sibling.get(at);
    yield at;
    at = next;
  }
}

/** The entries become one ring. */
export function closeRing({ entries }: QueueSpace, ring: readonly number[]): void {
  if (ring.length < 2) return;
  ring.forEach((entry, i) => entries.sibling.set(entry, ring[(i + 1) % ring.length] as number));
}

/** The entry is about to go: another one counts the record from now on, if there is one. */
export function leaveRing(space: QueueSpace, entry: number): void {
  const { entries, messages } = space;
  const next = entries.sibling.get(entry);
  if (next === NONE) return;
  let previous = next;
  while (entries.sibling.get(previous) !== entry) previous = entries.sibling.get(previous);
  entries.sibling.set(previous, next === previous ? NONE : next);
  entries.sibling.set(entry, NONE);
  if (!messages.isFollower(entries.message.get(entry))) setFollower(space, next, false);
}

/** Whether the entry's row counts the record of its message. */
export function setFollower(space: QueueSpace, entry: number, isFollower: boolean): void {
  const { messages, entries } = space;
  const row = entries.message.get(entry);
  if (messages.isFollower(row) === isFollower) return;
  const length = messages.length.get(row);
  space.count(entry, length, -1);
  messages.setCopy(row, messages.copyOf(row), isFollower);
  space.count(entry, length, 1);
}

/** At the end of reading a log. */
export function closeRings(space: QueueSpace): void {
  const { messages, entries } = space;
  for (let row = 1; row <= messages.rowsMax; row++) {
    // From the first that is left of a message.
    if (
      !messages.isLive(row) ||
      messages.copyOf(row) === 0 ||
      anyEntry(space, messages.commonId(row)) !== messages.entry.get(row)
    )
      continue;
    const id = messages.commonId(row);
    const ring: number[] = [];
    for (let copy = messages.copyOf(row); copy <= RECIPIENTS_MAX; copy++) {
      const other = space.msgids.find(idOfCopy(id, copy));
      if (other === NONE) continue;
      if (messages.copyOf(other) !== copy) break;
      ring.push(messages.entry.get(other));
    }
    closeRing(space, ring);
    const [first, ...others] = ring;
    for (const entry of others) setFollower(space, entry, true);
    if (first !== undefined) setFollower(space, first, false);
    noteFinishing(space, messages.entry.get(row));
  }
  for (let entry = 1; entry <= entries.rowsMax; entry++) {
    if (entries.state.get(entry) === ENTRY.EXHAUSTED && entries.sibling.get(entry) === NONE)
      space.finishing.push(entry);
  }
}

/** Something became of one of the recipients: if others were given up, they may have been the last that waited. */
export function noteFinishing(space: QueueSpace, entry: number): void {
  const { entries } = space;
  for (const one of ringOf(space, entry)) {
    if (entries.state.get(one) !== ENTRY.EXHAUSTED) continue;
    space.finishing.push(one);
    return;
  }
}

/** Whether a recipient of this entry's message may get it still. */
export function isWanted(space: QueueSpace, entry: number): boolean {
  const { entries } = space;
  for (const one of ringOf(space, entry)) {
    const state = entries.state.get(one);
    const isDone = state === ENTRY.PROCESSED || state === ENTRY.EXHAUSTED;
    if (!isDone && space.queueOf(one).parent !== null) return true;
  }
  return false;
}

/** That the entry is done but there; null: it is not. */
export function finishedOf({ entries, details, messages }: QueueSpace, entry: number): Finished | null {
  const state = entries.state.get(entry);
  if (state !== ENTRY.PROCESSED && state !== ENTRY.EXHAUSTED) return null;
  const row = entries.message.get(entry);
  return {
    kind: 'finished',
    id: messages.id(row),
    persistent: messages.ref.get(row) !== MEMORY_REF,
    how: state === ENTRY.PROCESSED ? FINISHED.PROCESSED : FINISHED.EXHAUSTED,
    untilMs: entries.dueMs.get(entry),
    atMs: details.expiryMs.get(entries.detail.get(entry)),
  };
}

/** What a restated record says of the recipients whose rows are at its place. */
export function recipientsAt(
  space: QueueSpace,
  entry: number,
  isLeft: (entry: number) => boolean,
): Recipient[] {
  const { entries, messages } = space;
  const place = (one: number): readonly number[] => {
    const row = entries.message.get(one);
    return [messages.ref.get(row), messages.offset.get(row)];
  };
  const [ref, offset] = place(entry);
  const found: Recipient[] = [];
  for (const one of ringOf(space, entry)) {
    const [oneRef, oneOffset] = place(one);
    if (oneRef !== ref || oneOffset !== offset || !isLeft(one)) continue;
    found.push({
      queue: entries.queue.get(one),
      copy: messages.copyOf(entries.message.get(one)),
      retries: entries.retries.get(one),
      dueMs: entries.dueMs.get(one),
    });
  }
  return found.sort((a, b) => a.copy - b.copy);
}
