// From a checkpoint to a space: the newest one that reads well and that the log still reaches back to. What follows it in the log makes it
// current. Rows of a queue that was made while the checkpoint was taken wait for its end, where that queue is named.
import type { Ulog } from '../base/ulog.ts';
import { apply, arrive } from '../queue/apply.ts';
import { Arrival } from '../queue/arrival.ts';
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
  CHECKPOINT_FORMATS,
  readRecords,
  SECTION,
  SECTION_HEAD_BYTES,
  type CheckpointHead,
} from './checkpoint-format.ts';
import { RowReader, type RowSink } from './checkpoint-rows.ts';
import { decodeEvent } from './record.ts';

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
  ports: {
    readonly ulog: Ulog;
    readonly signal: AbortSignal;
    /** So many bytes of it are read. */
    readonly onRead?: (bytes: number, info: SnapshotInfo) => void;
  },
): Promise<Restored> {
  const { first } = store.stat();
  for (const info of await store.snapshots.list()) {
    // The log has left its beginning behind: it is enough without it.
    if (info.from < first) continue;
    try {
      if (info.unreadable !== undefined) throw new Error(info.unreadable);
      const reader = new Reader(make(), { rowsMax: info.bytes / ROW_BYTES_MIN, signal: ports.signal });
      let bytes = 0;
      for await (const chunk of store.snapshots.read(info.id)) {
        reader.take(chunk);
        bytes += chunk.length;
        ports.onRead?.(bytes, info);
      }
      return reader.end(info);
    } catch (error) {
      ports.signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      ports.ulog.warn(`checkpoint ${info.id} is of no use: ${reason}; the start goes on without it`, {});
    }
  }
  return { space: make(), after: 0, to: 0, time: null };
}

/** A block's row takes at least this much: what only its number, place and record differ in. */
const ROW_BYTES_MIN = 4;

/** A row of a queue that is named later. */
interface Waiting {
  readonly arrival: Arrival;
  readonly records: readonly Buffer[];
}

class Reader implements RowSink {
  private readonly space: QueueSpace;
  private readonly rowsMax: number;
  private readonly signal: AbortSignal;
  /** What has come and is not read yet. */
  private pending: Buffer = Buffer.alloc(0);
  private filled = 0;
  private head: CheckpointHead | null = null;
  /** Codes of the space by those of the checkpoint. */
  private types: number[] = [];
  private readonly reader = new RowReader();
  private readonly waiting: Waiting[] = [];
  /** What prepared branches held when the checkpoint began: their entries are among the rows. */
  private readonly members: Joined[] = [];
  private rows = 0;
  private expected = -1;

  constructor(space: QueueSpace, { rowsMax, signal }: { rowsMax: number; signal: AbortSignal }) {
    this.space = space;
    this.rowsMax = rowsMax;
    this.signal = signal;
  }

  take(chunk: Uint8Array): void {
    this.signal.throwIfAborted();
    this.keep(chunk);
    let at = 0;
    while (at + SECTION_HEAD_BYTES <= this.filled) {
      const start = at + SECTION_HEAD_BYTES;
      const end = start + this.pending.readUInt32LE(at + 1);
      if (end > this.filled) break;
      this.section(this.pending[at] as number, this.pending.subarray(start, end));
      at = end;
    }
    this.pending.copyWithin(0, at, this.filled);
    this.filled -= at;
  }

  /** Puts the chunk behind what is left of those before it. */
  private keep(chunk: Uint8Array): void {
    const bytes = this.filled + chunk.length;
    if (bytes > this.pending.length) {
      const larger = Buffer.allocUnsafeSlow(2 * bytes);
      this.pending.copy(larger, 0, 0, this.filled);
      this.pending = larger;
    }
    this.pending.set(chunk, this.filled);
    this.filled = bytes;
  }

  end(info: SnapshotInfo): Restored {
    if (this.head === null || this.expected !== this.rows || this.filled > 0)
      throw new LogError('Corrupt', `${info.id} is not whole: ${this.rows} rows of ${this.expected}`);
    for (const { arrival, records } of this.waiting) this.put(arrival, records);
    for (const event of this.members) apply(this.space, event);
    return { space: this.space, after: info.from, to: info.to, time: this.head.time };
  }

  private section(type: number, payload: Buffer): void {
    switch (type) {
      case SECTION.HEAD:
        this.takeHead(JSON.parse(payload.toString()) as CheckpointHead);
        return;
      case SECTION.RECORDS:
        for (const event of readRecords(payload)) {
          if (event.kind === 'joined') this.members.push(event);
          else apply(this.space, event);
        }
        return;
      case SECTION.TYPES:
        this.types = (JSON.parse(payload.toString()) as [string, string][]).map(([name, subtype]) =>
          this.space.typeCode(name, subtype),
        );
        return;
      case SECTION.ROWS:
        this.rows += this.reader.read(payload, this.types, this);
        return;
      case SECTION.END:
        this.expected = (JSON.parse(payload.toString()) as { rows: number }).rows;
        return;
      default:
        throw new LogError('Corrupt', `section ${type} is of a newer release`);
    }
  }

  private takeHead(head: CheckpointHead): void {
    if (!CHECKPOINT_FORMATS.includes(head.format)) {
      const read = `${CHECKPOINT_FORMATS.slice(0, -1).join(', ')} and ${CHECKPOINT_FORMATS.at(-1) ?? ''}`;
      throw new LogError('Corrupt', `it has format ${head.format}, this program reads ${read}`);
    }
    this.head = head;
    this.space.msgids.reserve(Math.min(head.rows, this.rowsMax));
  }

  row(arrival: Arrival, records: readonly Buffer[]): void {
    if (this.space.queueByNumber(arrival.queue) !== undefined) return this.put(arrival, records);
    const corrid = arrival.corrid?.slice() ?? null;
    const kept = Object.assign(new Arrival(), arrival, { corrid });
    this.waiting.push({ arrival: kept, records: records.map((record) => Buffer.from(record)) });
  }

  private put(arrival: Arrival, records: readonly Buffer[]): void {
    arrive(this.space, arrival, true);
    for (const record of records)
      apply(this.space, decodeEvent(record, { ref: 0, offset: 0, length: record.length }));
  }
}
