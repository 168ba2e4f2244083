// What the measurements of the queue machine ask of their children, and hear.

export const MEASUREMENTS = ['behind', 'corrid', 'before', 'delayed'] as const;
export type Measurement = (typeof MEASUREMENTS)[number];

/** What a queue holds that no dequeue gets now. */
export const OBSTACLES = ['locked', 'delayed', 'on retry delay', 'not committed'] as const;
export type Obstacle = (typeof OBSTACLES)[number];

export interface BehindTask {
  readonly directory: string;
  readonly obstacle: Obstacle;
  readonly messages: number;
  readonly rounds: number;
}

export interface CorridTask {
  readonly port: number;
  /** The daemon's process, for its processor time. */
  readonly pid: number;
  readonly qspace: string;
  /** A queue each: with nothing else on it, with messages of a corrid each, with messages that share one. */
  readonly queues: { readonly empty: string; readonly many: string; readonly one: string };
  /** Messages on the second and the third. */
  readonly others: number;
  readonly rounds: number;
  readonly measureMs: number;
}

/** `same`: always before the same message. `halving`: always into the same gap, from both sides in turn. */
export type Pattern = 'same' | 'halving';

export interface BeforeTask {
  readonly directory: string;
  readonly pattern: Pattern;
  readonly messages: number;
}

export interface DelayedTask {
  readonly directory: string;
  readonly messages: number;
  /** Due at random within so long, after a time in which nothing is. */
  readonly spanMs: number;
}

/** One line of the table: something measured, and the same of its reference in the same run. */
export interface Line {
  readonly what: string;
  readonly unit: string;
  readonly measured: number;
  /** null: it has none. */
  readonly reference: number | null;
}

/** What a child answers: lines to print, and values to judge by the name of their target. */
export interface Answer {
  readonly lines: readonly Line[];
  readonly values: Readonly<Record<string, number>>;
}
