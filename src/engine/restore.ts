// From a checkpoint to a space: the newest one that reads well and that the log still reaches back to. What follows it in the log makes it
// current. Rows of a queue that was made while the checkpoint was taken wait for its end, where that queue is named.
import type { Ulog } from '../base/ulog.ts';
import { apply } from '../queue/apply.ts';
import type { Joined } from '../queue/event.ts';
import type { QueueSpace } from '../queue/space.ts';
import {
  LogError,
  type BatchTime,
  type Pos,
  type SnapshotInfo,
  type SnapshotStore,
} from '../wal/log-store.ts';
import {
  CHECKPOINT_FORMAT,
  readRecords,
  readRow,
  SECTION,
  type CheckpointHead,
  type ReadRow,
} from './checkpoint-format.ts';

export interface Restored {
  readonly space: QueueSpace;
  /** Batches after this one are still to be applied; 0: all. */
  readonly after: Pos;
  /** The log must reach at least to this one. */
  readonly to: Pos;
  readonly time: BatchTime | null;
}

/** What is asked of a log here. */
export interface LogBeginning {
  stat(): { readonly first: Pos };
  readonly snapshots: Pick<SnapshotStore, 'list' | 'read'>;
}

export async function restore(
  store: LogBeginning,
  make: () => QueueSpace,
  ports: { readonly ulog: Ulog; readonly signal: AbortSignal },
): Promise<Restored> {
  const { first } = store.stat();
  for (const info of await store.snapshots.list()) {
    // The log has left its beginning behind: it is enough without it.
    if (info.from < first) continue;
    try {
      if (info.unreadable !== undefined) throw new Error(info.unreadable);
      const reader = new Reader(make(), ports.signal);
      for await (const chunk of store.snapshots.read(info.id)) reader.take(chunk);
      return reader.end(info);
    } catch (error) {
      ports.signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      ports.ulog.warn(`checkpoint ${info.id} is of no use: ${reason}; the start goes on without it`, {});
    }
  }
  return { space: make(), after: 0, to: 0, time: null };
}

class Reader {
  private readonly space: QueueSpace;
  private readonly signal: AbortSignal;
  private rest: Buffer = Buffer.alloc(0);
  private head: CheckpointHead | null = null;
  private types: [string, string][] = [];
  private readonly waiting: ReadRow[] = [];
  /** What prepared branches held when the checkpoint began: their entries are among the rows. */
  private readonly members: Joined[] = [];
  private rows = 0;
  private expected = -1;

  constructor(space: QueueSpace, signal: AbortSignal) {
    this.space = space;
    this.signal = signal;
  }

  take(chunk: Uint8Array): void {
    this.signal.throwIfAborted();
    const bytes = this.rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.rest, chunk]);
    let at = 0;
    while (at + 5 <= bytes.length) {
      const end = at + 5 + bytes.readUInt32LE(at + 1);
      if (end > bytes.length) break;
      this.section(bytes[at] as number, bytes.subarray(at + 5, end));
      at = end;
    }
    this.rest = bytes.subarray(at);
  }

  end(info: SnapshotInfo): Restored {
    if (this.head === null || this.expected !== this.rows || this.rest.length > 0)
      throw new LogError('Corrupt', `${info.id} is not whole: ${this.rows} rows of ${this.expected}`);
    for (const row of this.waiting) this.put(row);
    for (const event of this.members) apply(this.space, event);
    return { space: this.space, after: info.from, to: info.to, time: this.head.time };
  }

  private section(type: number, payload: Buffer): void {
    switch (type) {
      case SECTION.HEAD:
        this.head = JSON.parse(payload.toString()) as CheckpointHead;
        if (this.head.format > CHECKPOINT_FORMAT)
          throw new LogError(
            'Corrupt',
            `format ${this.head.format}, this program reads up to ${CHECKPOINT_FORMAT}`,
          );
        return;
      case SECTION.RECORDS:
        for (const event of readRecords(payload)) {
          if (event.kind === 'joined') this.members.push(event);
          else apply(this.space, event);
        }
        return;
      case SECTION.TYPES:
        this.types = JSON.parse(payload.toString()) as [string, string][];
        return;
      case SECTION.ROWS:
        this.readRows(payload);
        return;
      case SECTION.END:
        this.expected = (JSON.parse(payload.toString()) as { rows: number }).rows;
        return;
      default:
        throw new LogError('Corrupt', `section ${type} is of a newer release`);
    }
  }

  private readRows(payload: Buffer): void {
    for (let at = 0; at < payload.length;) {
      const row = readRow(payload, at, this.types);
      at = row.end;
      this.rows++;
      if (this.space.queueByNumber(row.enqueued.queue) === undefined) this.waiting.push(row);
      else this.put(row);
    }
  }

  private put({ enqueued, placed }: ReadRow): void {
    apply(this.space, enqueued);
    if (placed !== null) apply(this.space, placed);
  }
}
