// A log's checkpoints as `wal verify` sees them: each must read well, and the newest together with what follows it in the log must give the
// same queues as the log alone. Invariant: a checkpoint that is of no use is no damage, since a start goes on without it; one that reads well
// and says something else than the log is.
import { restore } from '../engine/restore.ts';
import { NONE } from '../base/column.ts';
import type { LoggedEvent } from '../queue/event.ts';
import { QueueSpace } from '../queue/space.ts';
import { LocalSnapshots } from '../wal/local/snapshots.ts';
import type { SegmentFiles } from '../wal/local/segment.ts';
import type { SurveyRoot } from '../wal/local/survey-root.ts';
import { queuedMessages, queueName, tryApply } from './records.ts';
import { msgidText } from './text.ts';

export interface CheckpointFault {
  readonly file: string;
  readonly text: string;
}

export class CheckpointCheck {
  /** Checkpoints that a start would not use. */
  readonly useless: CheckpointFault[] = [];
  private readonly files: SegmentFiles;
  private readonly root: SurveyRoot;
  /** The newest good one. */
  private file = '';
  private space: QueueSpace | null = null;
  private after = 0;
  private to = 0;

  constructor(files: SegmentFiles, root: SurveyRoot) {
    this.files = files;
    this.root = root;
  }

  /** Reads all checkpoints; keeps the state of the newest one that is good. */
  async read(): Promise<void> {
    const { identity, first, segmentBytes } = this.root;
    const snapshots = new LocalSnapshots(this.files, {
      identity: () => identity,
      durablePos: () => 0,
      epoch: () => 0,
    });
    for (const info of await snapshots.list()) {
      const file = `${this.files.dir}/${info.id}`;
      const note = (text: string): void => void this.useless.push({ file, text });
      const store = {
        stat: () => ({ first: first * segmentBytes }),
        snapshots: { list: () => Promise.resolve([info]), read: (id: string) => snapshots.read(id) },
      };
      const ports = {
        ulog: { info: () => {}, warn: note, error: note },
        signal: new AbortController().signal,
      };
      const found = await restore(store, () => new QueueSpace(identity?.spaceId ?? 0), ports);
      if (found.to === 0 || this.space !== null) continue;
      this.file = file;
      this.space = found.space;
      this.after = found.after;
      this.to = found.to;
    }
  }

  /** An event of the log, at the batch with this position. */
  pass(pos: number, event: LoggedEvent): void {
    if (this.space !== null && pos > this.after) tryApply(this.space, event);
  }

  /** What the good one says against the log, which was read to the batch at `last`; null: nothing. */
  contradiction(log: QueueSpace, last: number): CheckpointFault | null {
    const { space, file } = this;
    if (space === null) return null;
    if (last < this.to)
      return { file, text: `the log ends at ${last}, before the end of its checkpoint at ${this.to}` };
    const text = difference(log, space);
    return text === null
      ? null
      : { file, text: `with what follows it in the log it gives other queues than the log: ${text}` };
  }
}

function difference(log: QueueSpace, other: QueueSpace): string | null {
  if (log.entries.live !== other.entries.live)
    return `${other.entries.live} messages instead of ${log.entries.live}`;
  for (const { id, queue, place } of queuedMessages(log)) {
    const entry = other.entryById(id);
    const row = entry === NONE ? NONE : other.entries.message.get(entry);
    const same =
      entry !== NONE &&
      other.entries.queue.get(entry) === queue &&
      other.messages.ref.get(row) === place.ref &&
      other.messages.offset.get(row) === place.offset;
    if (!same) return `message ${msgidText(log.spaceId, id)} on ${queueName(log, queue)} differs`;
  }
  return null;
}
