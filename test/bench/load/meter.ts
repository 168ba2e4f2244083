// The measured part of a run: latencies and counts between two instants, and what the server's and our own processor time were meanwhile.
import { setTimeout as delay } from 'node:timers/promises';
import type { Figures } from '../figures.ts';
import { Histogram } from '../histogram.ts';
import { RAMP_MS } from './task.ts';

export interface MeterSource {
  /** Processor time of the server so far, in microseconds. */
  cpuUs(): number;
  /** Syncs of the server so far. */
  syncs(): Promise<number>;
}

export class Meter {
  private readonly source: MeterSource;
  private readonly latency = new Histogram();
  private running = false;
  private startedAt = 0;
  private serverUs = 0;
  private syncs = 0;
  private own = process.cpuUsage();

  constructor(source: MeterSource) {
    this.source = source;
  }

  /** One message was answered after so many milliseconds. */
  record(ms: number): void {
    if (this.running) this.latency.record(ms * 1000);
  }

  async start(): Promise<void> {
    this.syncs = await this.source.syncs();
    this.latency.clear();
    this.serverUs = this.source.cpuUs();
    this.own = process.cpuUsage();
    this.startedAt = performance.now();
    this.running = true;
  }

  /** Call it when the measured part ends, or soon after and say when that was. */
  async stop(endedAt: number = performance.now()): Promise<Figures> {
    this.running = false;
    const seconds = (endedAt - this.startedAt) / 1000;
    const serverUs = this.source.cpuUs() - this.serverUs;
    const own = process.cpuUsage(this.own);
    const syncs = (await this.source.syncs()) - this.syncs;
    const { latency } = this;
    const messages = latency.count;
    return {
      messages,
      rate: messages / seconds,
      p50Us: latency.percentile(0.5),
      p99Us: latency.percentile(0.99),
      serverUs: serverUs / messages,
      loadUs: (own.user + own.system) / messages,
      messagesPerSync: syncs === 0 ? 0 : messages / syncs,
    };
  }

  /** Measures a load that has just begun. */
  async window(measureMs: number): Promise<Figures> {
    await delay(RAMP_MS);
    await this.start();
    await delay(measureMs);
    return this.stop();
  }
}
