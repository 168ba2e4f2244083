// The log's disk use beside its live bytes, sampled while others work. What a file uses are the blocks that are allocated to it; what is live
// is what the daemon says, which counts as `tmqueue wal stat` does. A sample is held against the larger of the live bytes before and after
// it, because the two cannot be read in the same instant.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { OP } from '../../../proto/codes.ts';
import type { SpaceStatistics } from '../../../proto/message-statistics.ts';
import { markedFirst } from '../../../src/wal/local/segment.ts';
import { LeanConnection } from '../load/connection.ts';
import { BOUND, overshoot, type Count, type Sample } from './bound.ts';

const SAMPLE_MS = 100;
const BLOCK_BYTES = 512;
/** Also files of segments that are only being prepared. */
const LOG_FILE = /\.log(\.|$)/;

export interface SamplerOptions {
  /** The space's directory. */
  readonly directory: string;
  readonly port: number;
  readonly qspace: string;
  /** How often the daemon is asked for what is live; with many queues its answer is long. */
  readonly askMs: number;
}

export interface Sampled {
  readonly samples: number;
  /** The sample that was nearest to the bound, or furthest over it. */
  readonly worst: Sample;
  readonly over: number;
  /** The log at its largest. */
  readonly logBytesMax: number;
  /** Wall times at which the log was seen to begin with another segment. */
  readonly movedMs: readonly number[];
  readonly checkpointBytesMax: number;
  /** At the end. */
  readonly liveBytes: number;
  readonly counts: readonly Count[];
}

export class Sampler {
  private readonly options: SamplerOptions;
  private readonly connection: LeanConnection;
  private readonly movedMs: number[] = [];
  private readonly counts: Count[] = [];
  /** Those that wait for the live bytes after them. */
  private waiting: Sample[] = [];
  private samples = 0;
  private over = 0;
  private worst: Sample | null = null;
  private logBytesMax = 0;
  private checkpointBytesMax = 0;
  private liveBytes = 0;
  private first = 0;
  private askedAt = -Infinity;
  private asking: Promise<void> | null = null;
  private timer: NodeJS.Timeout | null = null;

  private constructor(options: SamplerOptions, connection: LeanConnection) {
    this.options = options;
    this.connection = connection;
  }

  static async start(options: SamplerOptions): Promise<Sampler> {
    const sampler = new Sampler(options, await LeanConnection.open(options.port));
    await sampler.ask();
    sampler.timer = setInterval(() => sampler.tick(), SAMPLE_MS);
    return sampler;
  }

  /** Takes the last sample. */
  async finish(): Promise<Sampled> {
    if (this.timer !== null) clearInterval(this.timer);
    await this.asking;
    this.sample();
    await this.ask();
    const { samples, worst, over, logBytesMax, movedMs, checkpointBytesMax, liveBytes, counts } = this;
    if (worst === null) throw new Error('nothing was sampled');
    return { samples, worst, over, logBytesMax, movedMs, checkpointBytesMax, liveBytes, counts };
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.connection.close();
  }

  private tick(): void {
    this.sample();
    const now = performance.now();
    if (this.asking !== null || now - this.askedAt < this.options.askMs) return;
    this.askedAt = now;
    this.asking = this.ask().finally(() => {
      this.asking = null;
    });
  }

  private sample(): void {
    const { directory } = this.options;
    let logBytes = 0;
    let otherBytes = 0;
    let first = 0;
    for (const name of readdirSync(directory)) {
      const bytes = allocatedBytes(join(directory, name));
      if (LOG_FILE.test(name)) logBytes += bytes;
      else otherBytes += bytes;
      first = Math.max(first, markedFirst(name));
    }
    if (first > this.first) this.movedMs.push(Date.now());
    this.first = Math.max(this.first, first);
    this.logBytesMax = Math.max(this.logBytesMax, logBytes);
    this.checkpointBytesMax = Math.max(this.checkpointBytesMax, otherBytes);
    this.waiting.push({ atMs: Date.now(), logBytes, liveBytes: this.liveBytes });
  }

  private async ask(): Promise<void> {
    const { bytes, records } = await this.space();
    this.counts.push({ atMs: Date.now(), records });
    const { waiting } = this;
    this.waiting = [];
    for (const sample of waiting) this.judge({ ...sample, liveBytes: Math.max(sample.liveBytes, bytes) });
    this.liveBytes = bytes;
  }

  private judge(sample: Sample): void {
    this.samples++;
    if (overshoot(sample) > BOUND.SEGMENTS) this.over++;
    if (this.worst === null || overshoot(sample) > overshoot(this.worst)) this.worst = sample;
  }

  private async space(): Promise<SpaceStatistics> {
    const { qspace } = this.options;
    const reply = await this.connection.ask((id) => ({ op: OP.STAT, id, qspace }));
    const space = reply.op === OP.STAT ? reply.stat.spaces[0] : undefined;
    if (space === undefined) throw new Error(`the daemon gives no statistics of ${qspace}`);
    return space;
  }
}

/** 0 for a file that is gone. */
function allocatedBytes(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * BLOCK_BYTES;
}
