// Takes checkpoints while work goes on [DESIGN 5]: all rows in the order of their slots, a slice at a time, at a paced rate, from the last
// batch appended when the scan begins through the last one that it may have seen. Put in place only when the log is durable through that. A
// checkpoint only saves time: one that fails (a full disk) is given up with a line in the log, and the next is tried later.
import { Histogram } from '../base/histogram.ts';
import type { LogStore, LogWriter, SnapshotWriter } from '../wal/log-store.ts';
import { CHECKPOINT_FORMAT, jsonSection, recordsSection, SECTION, section } from './checkpoint-format.ts';
import { BLOCK_ROWS, RowWriter } from './checkpoint-rows.ts';
import { checkpointRecords, definitionRecords } from './definitions.ts';
import type { SpaceEngine } from './space-engine.ts';

/** What is written, per second, once so much of it was. */
const RATE_BYTES = 32 * 1024 * 1024;
const UNPACED_BYTES = 1024 * 1024;
/** The next one begins when so much was appended since the last: units of the log, or this share of what is live. */
const TAIL = { UNITS: 4, SHARE: 1 / 4 } as const;

/** Bounds of what is shown of how long they take. */
const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export class Checkpointer {
  /** Of those that were put in place. */
  readonly seconds = new Histogram(SECONDS);
  /** Given up. */
  failures = 0;
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
    const beganMs = engine.monoMs();
    let writer: SnapshotWriter | null = null;
    try {
      // The oldest batch not wholly applied, and all after it, are read again.
      const from = Math.min(this.writer.lastPos, engine.endings.from);
      writer = await this.store.snapshots.begin(from, this.writer.epoch);
      await this.writeAll(writer);
      await engine.whenDurable();
      if (this.isOver) return await writer.abort();
      await writer.commit(engine.journal.durablePos);
      this.seconds.observe((engine.monoMs() - beganMs) / 1000);
    } catch (error) {
      await writer?.abort().catch(() => {});
      if (this.isOver) return;
      this.failures++;
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
      if (bytes > UNPACED_BYTES && aheadMs > 1) await engine.delay(aheadMs);
    };
    const head = { format: CHECKPOINT_FORMAT, time: engine.time.stamp(), rows: space.messages.live };
    await write(jsonSection(SECTION.HEAD, head));
    await write(recordsSection(checkpointRecords(space)));
    const writer = new RowWriter(space);
    let types = 0;
    // Rows above those of now are enqueued after `from`: the log's tail has them.
    const last = space.messages.rowsMax;
    for (let row = 1; row <= last && !this.isOver; row += BLOCK_ROWS) {
      const rows = writer.write(row, Math.min(last, row + BLOCK_ROWS - 1));
      const known = space.typeNames();
      if (known.length > types) await write(jsonSection(SECTION.TYPES, known));
      types = known.length;
      if (rows !== null) await write(section(SECTION.ROWS, rows));
      await engine.nextTurn();
    }
    // Queues that rows were moved to meanwhile.
    await write(recordsSection(definitionRecords(space)));
    await write(jsonSection(SECTION.END, { rows: writer.rows }));
  }
}
