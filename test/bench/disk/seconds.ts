// Latencies second by second, so that what happened at a time can be told apart.
import { Histogram } from '../histogram.ts';
import type { DiskAnswer, Second } from './task.ts';

const SECOND_MS = 1000;

export class Seconds {
  private readonly latency = new Histogram();
  private readonly ended: Second[] = [];
  private readonly startedAt = performance.now();
  private readonly timer = setInterval(() => this.next(), SECOND_MS);
  private messages = 0;

  record(ms: number): void {
    this.latency.record(ms * 1000);
  }

  /** Ends the measurement. */
  stop(): DiskAnswer {
    clearInterval(this.timer);
    this.messages += this.latency.count;
    const rate = this.messages / ((performance.now() - this.startedAt) / 1000);
    return { messages: this.messages, rate, seconds: this.ended };
  }

  private next(): void {
    const { latency } = this;
    this.messages += latency.count;
    this.ended.push({
      endedMs: Date.now(),
      messages: latency.count,
      p99Us: latency.percentile(0.99),
    });
    latency.clear();
  }
}
