// A new log written from batches that were read elsewhere, offline: for salvage, backup and restore. One reign, from a segment on that lies
// behind the old log, so that no position, and so no epoch in a message's id, comes twice.
// Invariants: what is there before `finish` is refused by every start; `finish` returns when every byte and name is durable; the lowest
// segment gets its name last. It must not know records.

import { crc32 } from 'node:zlib';
import { dirname } from 'node:path';
import type { BatchTime, RecordGroup } from '../log-store.ts';
import { writeFully } from './file-io.ts';
import type { FileIo } from './file-io.ts';
import {
  FLAG_CONTINUED,
  FLAG_RESUMES,
  FrameHeader,
  HEADER_BYTES,
  encodeHeader,
  frameBytes,
} from './frame.ts';
import { layoutBatch } from './layout.ts';
import type { FramePlan } from './layout.ts';
import { TAKEOVER_NAME_AT } from './scan.ts';
import { firstMarkerName, segmentBitsOf, segmentFileName, TEMPORARY_SUFFIX } from './segment.ts';

/** Bytes that are put together before they are written. */
const WRITE_BYTES = 1024 * 1024;
const ZEROS = Buffer.alloc(WRITE_BYTES);

export interface BuilderOptions {
  /** Made when it does not exist; the caller has seen to it that nothing is in it. */
  readonly dir: string;
  readonly io: FileIo;
  readonly segmentBytes: number;
  readonly firstSegment: number;
  readonly spaceId: number;
  readonly randomU32: () => number;
  /** What is behind the last frame of a segment need not be on the disk: nothing is appended to this log. */
  readonly sparse?: boolean;
  /** Says what a preamble holds, at the moment when one is written. */
  readonly definitions: () => RecordGroup;
}

export class LogBuilder {
  readonly #options: BuilderOptions;
  readonly #header = new FrameHeader();
  #end: number;
  #fd = -1;
  /** The segment that is being written, and how far. */
  #number = 0;
  #written = 0;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;

  private constructor(options: BuilderOptions) {
    this.#options = options;
    this.#end = options.firstSegment * options.segmentBytes;
    const header = this.#header;
    header.keyLow = options.randomU32();
    header.keyHigh = options.randomU32();
    header.nonceLow = options.randomU32();
    header.nonceHigh = options.randomU32();
    header.spaceId = options.spaceId;
    header.segmentBits = segmentBitsOf(options.segmentBytes);
    header.batchNumber = -1;
  }

  /** Begins the log with a takeover that names the batch of the old log which it follows. */
  static async begin(
    options: BuilderOptions,
    follows: { epoch: number; batchNumber: number; time: BatchTime },
    writerName: string,
  ): Promise<LogBuilder> {
    const builder = new LogBuilder(options);
    const name = Buffer.from(writerName);
    const record = Buffer.alloc(TAKEOVER_NAME_AT + name.length);
    record.writeDoubleLE(follows.epoch, 0);
    record.writeDoubleLE(follows.batchNumber, 8);
    record.set(name, TAKEOVER_NAME_AT);
    const { io, dir } = options;
    await io.mkdir(dir);
    // First of all: a directory with a marker and no segments is refused by every start, not taken for a new log.
    io.close(io.open(`${dir}/${firstMarkerName(options.firstSegment)}`, 'create'));
    await io.fsyncDir(dir);
    const group = { bytes: [record], starts: new Uint32Array(1), count: 1 };
    await builder.append(group, follows.time, 'takeover');
    return builder;
  }

  /** Behind the last batch. */
  get end(): number {
    return this.#end;
  }

  async append(group: RecordGroup, time: BatchTime, kind: 'data' | 'noop' | 'takeover'): Promise<void> {
    const { segmentBytes, definitions } = this.#options;
    const header = this.#header;
    let preamble: RecordGroup | null = null;
    const makePreamble = (): RecordGroup => (preamble ??= definitions());
    const preambleFrameBytes = (): number => {
      const made = makePreamble();
      return frameBytes(made.count, bytesOf(made));
    };
    const total = bytesOf(group);
    const plans = layoutBatch({ end: this.#end, segmentBytes, total, group, preambleFrameBytes });
    header.batchNumber++;
    header.ref = this.#end;
    header.spaceTime = time.space;
    header.wallTime = time.wall;
    if (kind === 'takeover') header.epoch = plans.at(-1)?.pos ?? 0;
    const records = {
      ...group,
      bytes: group.bytes.length === 1 ? group.bytes : [Buffer.concat(group.bytes)],
    };
    for (const plan of plans) {
      header.kind = plan.preamble ? 'preamble' : kind;
      if (plan.preamble) await this.#writePreamble(plan, makePreamble());
      else await this.#writeFrame(plan, records);
      this.#end = plan.pos + plan.bytes;
    }
  }

  /** Makes everything durable and gives it its names. */
  async finish(): Promise<void> {
    const { io, dir, firstSegment } = this.#options;
    await this.#closeSegment();
    for (let number = this.#number; number >= firstSegment; number--) {
      const path = `${dir}/${segmentFileName(number)}`;
      await io.rename(path + TEMPORARY_SUFFIX, path);
    }
    for (const one of [dir, dirname(dir)]) await io.fsyncDir(one);
  }

  async #writePreamble(plan: FramePlan, made: RecordGroup): Promise<void> {
    const bytes = bytesOf(made);
    if (bytes + 4 * made.count > this.#options.segmentBytes / 4)
      throw new Error(`the definitions of the space take ${bytes} bytes, more than a quarter of a segment`);
    const whole = { ...plan, from: 0, to: bytes, recordCount: made.count, continued: false };
    await this.#writeFrame(whole, { ...made, bytes: [Buffer.concat(made.bytes)] });
  }

  /** Assumes: the records are one chunk. */
  async #writeFrame(plan: FramePlan, { bytes: [chunk], starts }: RecordGroup): Promise<void> {
    const header = this.#header;
    header.pos = plan.pos;
    header.flags = (plan.continued ? FLAG_CONTINUED : 0) | (plan.resumes ? FLAG_RESUMES : 0);
    header.recordCount = plan.recordCount;
    header.payloadBytes = plan.to - plan.from;
    header.batchOffset = plan.from;
    const frame = Buffer.alloc(plan.bytes);
    encodeHeader(new DataView(frame.buffer, frame.byteOffset, frame.length), 0, header);
    for (let i = 0; i < plan.recordCount; i++)
      frame.writeUInt32LE(starts[plan.firstRecord + i] ?? 0, HEADER_BYTES + 4 * i);
    if (chunk !== undefined)
      frame.set(chunk.subarray(plan.from, plan.to), HEADER_BYTES + 4 * plan.recordCount);
    frame.writeUInt32LE(crc32(frame.subarray(4)), 0);
    header.previousPos = plan.pos;
    await this.#write(plan.pos, frame);
  }

  async #write(pos: number, frame: Uint8Array): Promise<void> {
    const { segmentBytes, io, dir } = this.#options;
    const number = Math.floor(pos / segmentBytes);
    if (number !== this.#number) {
      await this.#closeSegment();
      this.#fd = io.open(`${dir}/${segmentFileName(number)}${TEMPORARY_SUFFIX}`, 'create');
      this.#number = number;
    }
    this.#pending.push(frame);
    this.#pendingBytes += frame.length;
    if (this.#pendingBytes >= WRITE_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#pending);
    await writeFully({ io: this.#options.io, fd: this.#fd }, bytes, this.#written);
    this.#written += bytes.length;
    this.#pending = [];
    this.#pendingBytes = 0;
  }

  /** A segment has its full length, zeros behind its last frame. */
  async #closeSegment(): Promise<void> {
    if (this.#fd < 0) return;
    const { io, segmentBytes, sparse } = this.#options;
    await this.#flush();
    if (sparse === true && this.#written < segmentBytes) {
      await io.truncate(this.#fd, segmentBytes);
      this.#written = segmentBytes;
    }
    for (; this.#written < segmentBytes; this.#written += ZEROS.length) {
      const zeros = ZEROS.subarray(0, Math.min(ZEROS.length, segmentBytes - this.#written));
      await writeFully({ io, fd: this.#fd }, zeros, this.#written);
    }
    await io.fdatasync(this.#fd);
    io.close(this.#fd);
    this.#fd = -1;
    this.#written = 0;
  }
}

function bytesOf(group: RecordGroup): number {
  return group.bytes.reduce((sum, chunk) => sum + chunk.length, 0);
}
