// What one run of one workload comes to, and the median of several.

export interface Figures {
  readonly messages: number;
  /** Messages a second. */
  readonly rate: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Processor time of the server, in microseconds a message. */
  readonly serverUs: number;
  /** The same of the load generator. */
  readonly loadUs: number;
  readonly messagesPerSync: number;
}

/** The middle value; the mean of the two middle ones of an even number; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Each figure's own median. */
export function medianFigures(runs: readonly Figures[]): Figures {
  const of = (pick: (figures: Figures) => number) => median(runs.map(pick));
  return {
    messages: of((run) => run.messages),
    rate: of((run) => run.rate),
    p50Us: of((run) => run.p50Us),
    p99Us: of((run) => run.p99Us),
    serverUs: of((run) => run.serverUs),
    loadUs: of((run) => run.loadUs),
    messagesPerSync: of((run) => run.messagesPerSync),
  };
}
