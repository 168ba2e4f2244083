// What the disk measurement asks of its load processes, and hears.

export interface ServerOfLoad {
  readonly port: number;
  readonly qspace: string;
}

/** So many messages onto a queue. */
export interface FillTask extends ServerOfLoad {
  readonly kind: 'fill';
  readonly qname: string;
  readonly messages: number;
}

/** Eight writers and eight readers on a queue, for so long. */
export interface ChurnTask extends ServerOfLoad {
  readonly kind: 'churn';
  readonly qname: string;
  readonly measureMs: number;
  /** Messages under way. */
  readonly underWay: number;
}

/** One message is taken in a transaction and rolled back, so many times. */
export interface AbortsTask extends ServerOfLoad {
  readonly kind: 'aborts';
  readonly qname: string;
  readonly aborts: number;
}

export type DiskTask = FillTask | ChurnTask | AbortsTask;

/** One second of a load. */
export interface Second {
  /** When it ended, on the wall clock. */
  readonly endedMs: number;
  readonly messages: number;
  readonly p99Us: number;
}

export interface DiskAnswer {
  readonly messages: number;
  readonly rate: number;
  readonly seconds: readonly Second[];
}
