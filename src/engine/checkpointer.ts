// Takes checkpoints while work goes on [DESIGN 5]: all rows in the order of their slots, a slice at a time, at a paced rate, from the last
// batch appended when the scan begins through the last one that it may have seen. Put in place only when the log is durable through that. A
// checkpoint only saves time: one that fails (a full disk) is given up with a line in the log, and the next is tried later.
import type { LogStore, LogWriter, SnapshotWriter } from '../wal/log-store.ts';
import {
  CHECKPOINT_FORMAT,
  jsonSection,
  recordsSection,
  ROW_BYTES_MAX,
  SECTION,
  section,
  writeRow,
} from './checkpoint-format.ts';
import { checkpointRecords, definitionRecords } from './definitions.ts';
import type { SpaceEngine } from './space-engine.ts';

/** Rows of one slice: about a millisecond. */
const SLICE_ROWS = 4096;
const CHUNK_BYTES = SLICE_ROWS * ROW_BYTES_MAX;
/** What is written, per second. */
const RATE_BYTES = 32 * 1024 * 1024;
/** The next one begins when so much was appended since the last: units of the log, or this share of what is live. */
const TAIL = { UNITS: 4, SHARE: 1 / 4 } as const;

export class Checkpointer {
  private readonly engine: SpaceEngine;
  private readonly store: LogStore;
  private readonly writer: LogWriter;
  /** Bytes appended since the last one began. */
  private tail: number;
  private running: Promise<void> | null = null;
  private stopped = false;

  /** `tail`: bytes that the start had to replay. */
  constructor(engine: SpaceEngine, log: { store: LogStore; writer: LogWriter; tail: number }) {
    this.engine = engine;
    this.store = log.store;
    this.writer = log.writer;
    this.tail = log.tail;
  }

  /** A batch was appended. */
  appended(bytes: number): void {
    this.tail += bytes;
    const due = Math.max(TAIL.UNITS * this.writer.unitBytes, TAIL.SHARE * this.engine.space.liveBytes);
    if (this.tail > due && this.running === null && !this.stopped) void this.make();
  }

  /** Takes one now, or waits for the one that is being taken. */
  make(): Promise<void> {
    this.running ??= this.take().finally(() => {
      this.running = null;
    });
    return this.running;
  }

  /** Gives up what is under way. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private async take(): Promise<void> {
    const { engine } = this;
    this.tail = 0;
    let writer: SnapshotWriter | null = null;
    try {
      // The oldest batch not wholly applied, and all after it, are read again.
      const from = Math.min(this.writer.lastPos, engine.endings.from);
      writer = await this.store.snapshots.begin(from, this.writer.epoch);
      await this.writeAll(writer);
      await engine.whenDurable();
      if (this.isOver) await writer.abort();
      else await writer.commit(engine.journal.durablePos);
    } catch (error) {
      await writer?.abort().catch(() => {});
      if (this.isOver) return;
      const reason = error instanceof Error ? error.message : String(error);
      engine.warn(`a checkpoint was given up: ${reason}; the next start reads more of the log`, {});
    }
  }

  private get isOver(): boolean {
    return this.stopped || this.engine.journal.failure !== null;
  }

  private async writeAll(out: SnapshotWriter): Promise<void> {
    const { engine } = this;
    const { space } = engine;
    const startedMs = engine.monoMs();
    let bytes = 0;
    const write = async (part: Buffer): Promise<void> => {
      await out.write(part);
      bytes += part.length;
      const aheadMs = (bytes / RATE_BYTES) * 1000 - (engine.monoMs() - startedMs);
      if (bytes > CHUNK_BYTES && aheadMs > 1) await engine.delay(aheadMs);
    };
    await write(jsonSection(SECTION.HEAD, { format: CHECKPOINT_FORMAT, time: engine.time.stamp() }));
    await write(recordsSection(checkpointRecords(space)));
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let types = 0;
    let rows = 0;
    // Rows above those of now are enqueued after `from`: the log's tail has them.
    const last = space.messages.rowsMax;
    for (let row = 1; row <= last && !this.isOver;) {
      let at = 0;
      const end = Math.min(last, row + SLICE_ROWS - 1);
      for (; row <= end; row++) {
        const to = writeRow(space, row, { into: chunk, at });
        if (to > at) rows++;
        at = to;
      }
      const known = space.typeNames();
      if (known.length > types) await write(jsonSection(SECTION.TYPES, known));
      types = known.length;
      if (at > 0) await write(section(SECTION.ROWS, chunk.subarray(0, at)));
      await engine.nextTurn();
    }
    // Queues that rows were moved to meanwhile.
    await write(recordsSection(definitionRecords(space)));
    await write(jsonSection(SECTION.END, { rows }));
  }
}
