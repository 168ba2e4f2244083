// The local log as a LogStore: a directory of segments. It owns the directory's files and at most one writer at a time.
// Invariants: nothing here takes an OS lock (the device's lock does, device-lock.ts); a second takeover in the process fences the first.
// It must not know records or queues.

import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Ulog } from '../../base/ulog.ts';
import { LogError } from '../log-store.ts';
import type { LogDescription, LogStat, LogStore } from '../log-store.ts';
import { nodeFileIo } from './file-io.ts';
import type { FileIo } from './file-io.ts';
import { FRAME_ALIGN, HEADER_BYTES } from './frame.ts';
import { PageCache } from './page-cache.ts';
import { BATCH_BYTES_MAX, maxPreambleBytes } from './layout.ts';
import { asLogError, inspectLog } from './recovery.ts';
import { BACKUP_FILE, SEGMENT_BYTES_DEFAULT, SegmentFiles, segmentBitsOf } from './segment.ts';
import type { Allocate } from './segment-maker.ts';
import { LocalSnapshots } from './snapshots.ts';
import { SyncStrategy } from './sync-strategy.ts';
import { LocalWriter } from './writer.ts';

export interface LocalLogOptions {
  /** The space's directory; made when it does not exist. */
  readonly dir: string;
  readonly clock: Clock;
  readonly ulog: Ulog;
  /** For a new log; an existing one keeps its own. Default: random. */
  readonly spaceId?: number;
  /** For a new log: a power of two from 64 KiB. */
  readonly segmentBytes?: number;
  /** The most the log may occupy on disk. Default: what the disk gives. */
  readonly limitBytes?: number;
  /** Shared by all logs of the process. */
  readonly sync?: SyncStrategy;
  readonly pages?: PageCache;
  readonly io?: FileIo;
  /** Absent: the system cannot. */
  readonly allocate?: Allocate;
  readonly randomU32?: () => number;
}

/** What the writer gets from its log. */
export interface LocalLogParts {
  readonly files: SegmentFiles;
  readonly clock: Clock;
  readonly ulog: Ulog;
  readonly sync: SyncStrategy;
  readonly pages: PageCache;
  readonly limitBytes: number;
  readonly allocate: Allocate | null;
  readonly randomU32: () => number;
}

export async function openLocalLog(options: LocalLogOptions): Promise<LocalLog> {
  const io = options.io ?? nodeFileIo;
  const { dir } = options;
  segmentBitsOf(options.segmentBytes ?? SEGMENT_BYTES_DEFAULT);
  try {
    await io.mkdir(dir);
    for (const parent of [dirname(dir), dirname(dirname(dir))]) await io.fsyncDir(parent);
  } catch (error) {
    throw asLogError(error, `${dir}: making the directory`);
  }
  return new LocalLog(options, io);
}

export class LocalLog implements LogStore {
  readonly #options: LocalLogOptions;
  readonly #io: FileIo;
  readonly #sync: SyncStrategy;
  readonly #pages: PageCache;
  #segmentBytes: number;
  #writer: LocalWriter | null = null;
  readonly snapshots: LocalSnapshots;

  constructor(options: LocalLogOptions, io: FileIo) {
    this.#options = options;
    this.#io = io;
    this.#sync = options.sync ?? new SyncStrategy('auto', options.clock);
    this.#pages = options.pages ?? new PageCache();
    this.#segmentBytes = options.segmentBytes ?? SEGMENT_BYTES_DEFAULT;
    this.snapshots = new LocalSnapshots(
      { io, dir: options.dir },
      {
        identity: () => this.#writer?.identity ?? null,
        durablePos: () => this.#writer?.durablePos ?? 0,
        epoch: () => this.#writer?.epoch ?? 0,
      },
    );
  }

  describe(): LogDescription {
    return {
      durability: 'disk-local',
      maxBatchBytes: BATCH_BYTES_MAX,
      maxPreambleBytes: maxPreambleBytes(this.#segmentBytes),
      recordOverheadBytes: HEADER_BYTES + 4 + FRAME_ALIGN,
      readFence: 'none',
    };
  }

  stat(): LogStat {
    const limitBytes = this.#options.limitBytes ?? Number.MAX_SAFE_INTEGER;
    if (this.#writer === null)
      return { first: 0, last: 0, bytes: 0, limitBytes, room: 0, batches: 0, engineHealthy: true };
    const { first, last, bytes, room, batches, healthy } = this.#writer.stat;
    return { first, last, bytes, limitBytes, room, batches, engineHealthy: healthy };
  }

  /** Reads as much as is needed to know the log's end; nothing is written before `replay` has come there. */
  async takeover(writerId: string, signal: AbortSignal): Promise<LocalWriter> {
    signal.throwIfAborted();
    await this.#writer?.fence();
    const files = new SegmentFiles(this.#io, this.#options.dir);
    try {
      await this.#refuseBackup();
      const found = await inspectLog(files, this.#segmentBytes);
      signal.throwIfAborted();
      this.#segmentBytes = found.table.segmentBytes;
      this.#writer = new LocalWriter(this.#partsFor(files), {
        found,
        identity: found.identity ?? this.#newIdentity(),
        writerId,
      });
      return this.#writer;
    } catch (error) {
      files.closeAll();
      signal.throwIfAborted();
      throw asLogError(error, `${this.#options.dir}: opening the log`);
    }
  }

  async close(): Promise<void> {
    await this.#writer?.close();
  }

  /** Two daemons on two copies of a backup would hand out the same ids: a restored one is another log. */
  async #refuseBackup(): Promise<void> {
    const { dir } = this.#options;
    if (!(await this.#io.readdir(dir)).includes(BACKUP_FILE)) return;
    throw new LogError('Corrupt', `${dir} is a backup: nothing is written there; use tmqueue restore`);
  }

  #partsFor(files: SegmentFiles): LocalLogParts {
    const { clock, ulog, limitBytes } = this.#options;
    const [sync, pages] = [this.#sync, this.#pages];
    return {
      files,
      clock,
      ulog,
      sync,
      pages,
      limitBytes: limitBytes ?? Number.MAX_SAFE_INTEGER,
      allocate: this.#options.allocate ?? null,
      randomU32: this.#randomU32,
    };
  }

  #newIdentity(): { spaceId: number; keyLow: number; keyHigh: number; segmentBits: number } {
    return {
      spaceId: this.#options.spaceId ?? this.#randomU32(),
      keyLow: this.#randomU32(),
      keyHigh: this.#randomU32(),
      segmentBits: segmentBitsOf(this.#segmentBytes),
    };
  }

  readonly #randomU32 = (): number => this.#options.randomU32?.() ?? randomBytes(4).readUInt32LE(0);
}
