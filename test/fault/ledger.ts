// What was appended and acknowledged, and the check that a log which is opened again holds exactly a prefix of it with all that was
// acknowledged. Batch i has bytes that depend on i alone, so a mix-up shows.

import { expect } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import type { Batch, LogWriter, RecordGroup } from '../../src/wal/log-store.ts';
import { openLocalLog } from '../../src/wal/local/local-log.ts';
import type { LocalLog } from '../../src/wal/local/local-log.ts';
import type { LocalWriter } from '../../src/wal/local/writer.ts';
import { PageCache } from '../../src/wal/local/page-cache.ts';
import type { Allocate } from '../../src/wal/local/segment-maker.ts';
import { SyncStrategy } from '../../src/wal/local/sync-strategy.ts';
import type { SyncSetting } from '../../src/wal/local/sync-strategy.ts';
import { ManualClock } from '../support/manual-clock.ts';
import type { FaultyFileIo } from './faulty-file-io.ts';

export const SEGMENT = 64 * 1024;
export const DIR = '/device/space';
export const SILENT = { info: (): void => {}, warn: (): void => {}, error: (): void => {} };

/** The records of batch `index`: a few, of odd lengths, together `bytes` long. */
export function makeGroup(index: number, bytes: number): RecordGroup {
  const data = Buffer.alloc(bytes);
  data.fill(new Prng(index * 7919 + 1).bytes(Math.min(251, bytes)));
  data.writeUInt32LE(index, 0);
  const count = Math.min(1 + (index % 5), Math.max(1, Math.floor(bytes / 8)));
  const starts = Uint32Array.from({ length: count }, (_, i) => Math.floor((i * bytes) / count));
  const cut = Math.floor(bytes / 3);
  return { bytes: bytes < 9 ? [data] : [data.subarray(0, cut), data.subarray(cut)], starts, count };
}

export function flat(group: RecordGroup): Buffer {
  return Buffer.concat(group.bytes);
}

interface Entry {
  readonly index: number;
  readonly bytes: number;
  readonly ref: number;
}

export interface Opened {
  readonly log: LocalLog;
  readonly writer: LocalWriter;
  readonly clock: ManualClock;
  readonly batches: number;
}

export class Ledger {
  /** In order; the last one may be unacknowledged. */
  entries: Entry[] = [];
  acknowledged = 0;
  /** Batches before this index may be gone. */
  trimmed = 0;

  /** Appends the next batch and waits for it. */
  async append(writer: LogWriter, bytes: number): Promise<void> {
    const index = this.entries.length;
    const next = writer.nextRef;
    const { ref, durable } = writer.append(makeGroup(index, bytes), { space: index, wall: 5 * index });
    if (ref !== next) throw new Error('the ref is not the one that was announced');
    this.entries.push({ index, bytes, ref });
    await durable;
    this.acknowledged = index + 1;
  }

  async trim(writer: LogWriter, index: number): Promise<void> {
    const entry = this.entries[index];
    if (entry === undefined) return;
    this.trimmed = Math.max(this.trimmed, index);
    await writer.trim(entry.ref);
  }

  /** Checks one batch against the ledger; `expected` is the index that must come, -1: any that may be first. */
  check(batch: Batch, expected: number): number {
    const [bytes] = batch.records.bytes;
    if (bytes === undefined) throw new Error('a batch without bytes');
    const index = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).readUInt32LE(0);
    // Plain comparisons: this runs some hundred thousand times.
    const fits = expected >= 0 ? index === expected : index <= this.trimmed;
    if (!fits)
      throw new Error(`batch ${index} came, ${expected} was due, before ${this.trimmed} may be gone`);
    const entry = this.entries[index];
    if (entry === undefined) throw new Error(`batch ${index} was never appended`);
    const group = makeGroup(index, entry.bytes);
    const { count, starts } = batch.records;
    const same =
      Buffer.compare(flat(group), bytes) === 0 &&
      batch.ref === entry.ref &&
      batch.time.space === index &&
      batch.time.wall === 5 * index &&
      count === group.count &&
      starts.subarray(0, count).join() === group.starts.join();
    if (!same) throw new Error(`batch ${index} is not what was appended`);
    return index;
  }

  /** Opens the log and checks what is there; the ledger then holds what was found. */
  async reopen(io: FaultyFileIo, options: OpenOptions = {}): Promise<Opened> {
    const { log, writer, clock } = await openOn(io, options);
    try {
      return { log, writer, clock, batches: await this.#replay(writer) };
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  async #replay(writer: LogWriter): Promise<number> {
    let expected = -1;
    let batches = 0;
    let lastPos = 0;
    for await (const batch of writer.replay(0)) {
      if (batch.pos < lastPos) throw new Error('positions go back');
      lastPos = batch.pos;
      if (batch.kind !== 'data') continue;
      expected = this.check(batch, expected) + 1;
      batches++;
    }
    expect(lastPos).toBe(writer.epoch);
    if (expected >= 0) expect(expected).toBeGreaterThanOrEqual(this.acknowledged);
    else expect(this.acknowledged, 'acknowledged batches are gone').toBe(0);
    this.entries = this.entries.slice(0, Math.max(0, expected));
    this.acknowledged = this.entries.length;
    return batches;
  }

  /** Reads a batch's bytes back by its ref. */
  async readBack(writer: LogWriter, index: number): Promise<void> {
    const entry = this.entries[index];
    if (entry === undefined) throw new Error(`no batch ${index}`);
    const bytes = flat(makeGroup(index, entry.bytes));
    expect(
      Buffer.compare(bytes, await writer.read(entry.ref, 0, bytes.length)),
      `read of batch ${index}`,
    ).toBe(0);
    const middle = Math.floor(bytes.length / 2);
    const view = writer.cached(entry.ref, middle, bytes.length - middle);
    if (view !== null && Buffer.compare(bytes.subarray(middle), view) !== 0)
      throw new Error(`view of batch ${index}`);
  }
}

export interface OpenOptions {
  readonly segmentBytes?: number;
  readonly sync?: SyncSetting;
  readonly cacheBytes?: number;
  readonly limitBytes?: number;
  readonly allocate?: Allocate;
  readonly preamble?: () => RecordGroup;
}

export async function openOn(io: FaultyFileIo, options: OpenOptions): Promise<Omit<Opened, 'batches'>> {
  const clock = new ManualClock();
  const log = await openLocalLog({
    dir: DIR,
    clock,
    ulog: SILENT,
    io,
    segmentBytes: options.segmentBytes ?? SEGMENT,
    sync: new SyncStrategy(options.sync ?? 'inline', clock),
    pages: new PageCache(options.cacheBytes ?? 2 * 1024 * 1024),
    ...(options.limitBytes === undefined ? {} : { limitBytes: options.limitBytes }),
    ...(options.allocate === undefined ? {} : { allocate: options.allocate }),
  });
  const writer = await log.takeover('test', new AbortController().signal);
  writer.setPreamble(options.preamble ?? definitions);
  return { log, writer, clock };
}

export function definitions(): RecordGroup {
  return { bytes: [Buffer.from('definitions')], starts: new Uint32Array(1), count: 1 };
}
