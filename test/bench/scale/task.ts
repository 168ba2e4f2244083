// What the measurements of a large backlog ask of their children, and hear.

export interface Target {
  readonly port: number;
  /** The daemon's process. */
  readonly pid: number;
  readonly qspace: string;
}

/** Messages of 256 bytes, put on the queues one after the other. */
export interface FillTask extends Target {
  readonly qnames: readonly string[];
  /** On each of them. */
  readonly messages: number;
  /** Goes on enqueuing and kills the daemon (SIGKILL) when so many were acknowledged beyond; null: ends in peace. */
  readonly killAfter: number | null;
}

export interface FillResult {
  readonly acknowledged: number;
  readonly sent: number;
  readonly seconds: number;
}

/** Takes messages off the queues, one queue after the other, and then puts as many on them. */
export interface CostTask extends Target {
  readonly qnames: readonly string[];
  /** From each of them; 0: only the warm-up. */
  readonly messages: number;
  /** A queue for the warm-up, and how long that takes; 0: none. */
  readonly warmQueue: string;
  readonly warmupMs: number;
}

/** Of one kind of request. */
export interface Cost {
  readonly messages: number;
  readonly seconds: number;
  /** Processor time of the daemon. */
  readonly serverUs: number;
}

export interface CostResult {
  readonly dequeue: Cost;
  readonly enqueue: Cost;
}
