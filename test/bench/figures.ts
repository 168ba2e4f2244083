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
  /** What only some workloads have, by name. */
  readonly extra?: Readonly<Record<string, number>>;
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
    ...extraOf(runs),
  };
}

function extraOf(runs: readonly Figures[]): { extra?: Record<string, number> } {
  const names = Object.keys(runs[0]?.extra ?? {});
  if (names.length === 0) return {};
  const medians = names.map((name) => [name, median(runs.map((run) => run.extra?.[name] ?? NaN))]);
  return { extra: Object.fromEntries(medians) as Record<string, number> };
}

/** By how much the rates of several runs differ: the range, of the median; NaN of fewer than two. */
export function spreadOf(rates: readonly number[]): number {
  if (rates.length < 2) return NaN;
  return (Math.max(...rates) - Math.min(...rates)) / median(rates);
}
