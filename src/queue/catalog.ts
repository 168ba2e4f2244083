// What a space knows beside queues and messages: objects of the AQ dialect by class and name. Queue tables are read here; what the values of
// other classes mean only their own rooms know. Logged as JSON, repeated at the start of each segment and in checkpoints.
// Invariant: a name is in its class once; the last value logged counts.
import { AQ_TYPE, type QueueAttributes } from './attributes.ts';
import { utf8Bytes } from './words.ts';

/** Number of a class of objects: it is in the log, and never changed or reused. */
export const OBJECT = {
  /** A queue table [oracle-aq 5.1]. */
  TABLE: 1,
  /** A registration for notifications that survives restarts [oracle-aq 10]. */
  REGISTRATION: 2,
  /** A propagation schedule [oracle-aq 5.5]. */
  SCHEDULE: 3,
  /** A registered agent, and the users that may act for it [oracle-aq 5.6]. */
  AGENT: 4,
  /** A privilege on a queue, or of the system [oracle-aq 5.6]. */
  PRIVILEGE: 5,
  /** What another daemon's propagation has delivered here [oracle-aq 11]. */
  RECEIVED: 6,
} as const;
export type ObjectClass = (typeof OBJECT)[keyof typeof OBJECT];

/** As people write it. */
export function objectClassName(type: ObjectClass): string {
  const found = Object.entries(OBJECT).find(([, number]) => number === type);
  return found?.[0].toLowerCase() ?? `class ${type}`;
}

/** Fixed when it is made, but for its comment [oracle-aq 1.1]. */
export interface AqTable {
  /** RAW, JSON, or the name of a declared object type. */
  readonly payloadType: string;
  /** A list of PRIORITY, ENQ_TIME and COMMIT_TIME as it was given, upper case; '' = enqueue time. */
  readonly sortList: string;
  readonly multipleConsumers: boolean;
  /** DBMS_AQADM.NONE 0, TRANSACTIONAL 1. */
  readonly grouping: number;
  readonly secure: boolean;
  /** 8.0, 8.1 or 10.0; '' = the newest. */
  readonly compatible: string;
  readonly comment: string;
}

/** Beside the JSON: record head, class, braces. */
const OVERHEAD_BYTES = 64;

export class Catalog {
  /** What the log repeats of them at the start of each segment. */
  bytes = 0;
  private readonly classes = new Map<ObjectClass, Map<string, object>>();

  /** null: it is gone. */
  set(type: ObjectClass, name: string, value: object | null): void {
    const known = this.classes.get(type)?.get(name);
    if (known !== undefined) this.bytes -= objectBytes(name, known);
    if (value === null) {
      this.classes.get(type)?.delete(name);
      return;
    }
    this.bytes += objectBytes(name, value);
    let objects = this.classes.get(type);
    if (objects === undefined) this.classes.set(type, (objects = new Map()));
    objects.set(name, value);
  }

  get(type: ObjectClass, name: string): object | undefined {
    return this.classes.get(type)?.get(name);
  }
  table(name: string): AqTable | undefined {
    return this.get(OBJECT.TABLE, name) as AqTable | undefined;
  }

  /** Whether a queue of these attributes has consumers. */
  isMulti({ aq }: QueueAttributes): boolean {
    const isNormal = aq !== null && aq.consumer === null && aq.type !== AQ_TYPE.EXCEPTION;
    return isNormal && this.table(aq.table)?.multipleConsumers === true;
  }

  /** Those of a class in the order of their making. */
  list(type: ObjectClass): [string, object][] {
    return [...(this.classes.get(type) ?? [])];
  }
  *all(): Generator<{ type: ObjectClass; name: string; value: object }> {
    for (const [type, objects] of this.classes)
      for (const [name, value] of objects) yield { type, name, value };
  }
}

/** What the log takes of one. */
export function objectBytes(name: string, value: object): number {
  return utf8Bytes(name) + utf8Bytes(JSON.stringify(value)) + OVERHEAD_BYTES;
}

/** The words of a table's order [oracle-aq 7.1]: equal ranks in the order of enqueue, or of commit. */
export function orderOfTable({ sortList }: AqTable): string {
  const words = sortList.split(',').map((word) => word.trim());
  // Enqueue time is unique here: what is named behind it orders nothing.
  const byRank = words[0] === 'PRIORITY' ? 'rank,' : '';
  return `${byRank}${words.includes('COMMIT_TIME') ? 'commit,' : ''}fifo`;
}
