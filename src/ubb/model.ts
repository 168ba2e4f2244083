// The checked model of a configuration: what every section says, each value converted and every default filled in. Types only; made
// by domain.ts and the files it calls, read by plan.ts and `tmqueue check`. Must not know how a file is read or what a host does.

import type { Fault, Spot } from './fault.ts';
import type { NotYetKind } from './not-yet.ts';
import type { Status } from './parameters.ts';
import type { Entry } from './parser.ts';

/** A finding about one group's servers or queues; undefined group: about the whole file. */
export interface Note extends Fault {
  readonly group: string | undefined;
}
export interface NotYet extends Note {
  readonly kind: NotYetKind;
}

/** Something accepted that does nothing here: never, or not in this release. */
export interface Remark extends Fault {
  readonly status: Exclude<Status, 'effective'>;
}

export interface Resources {
  readonly entry: Entry;
  readonly masters: readonly string[];
  readonly model: string;
  readonly maxGtt: number;
  readonly maxTranTimeS: number;
  readonly scanUnitS: number;
  readonly blockTimeMs: number;
  /** DIPIN, SIGNAL, THREAD or IGNORE. */
  readonly notify: string;
  /** COMPLETE or LOGGED. */
  readonly cmtRet: string;
  readonly security: string;
}

export interface Machine extends Spot {
  readonly entry: Entry;
  readonly node: string;
  readonly lmid: string;
  /** The first directory of APPDIR, as written. */
  readonly appdir: string;
  readonly maxGtt: number;
  /** TLOGDEVICE as written, or the default. */
  readonly tlogDevice: string;
  readonly tlogName: string;
}

export interface Group extends Spot {
  readonly entry: Entry;
  readonly name: string;
  /** The machine it runs on, and the one it may migrate to. */
  readonly lmids: readonly string[];
  readonly grpno: number;
  /** Device and space of a TMS_QM group with a usable OPENINFO. */
  readonly queueSpace: { readonly device: string; readonly space: string } | undefined;
}

export type Role =
  | { readonly kind: 'tmqueue'; readonly aliases: readonly string[]; readonly timeoutS: number }
  | {
      readonly kind: 'tmqforward';
      readonly queues: readonly string[];
      readonly timeoutS: number;
      readonly idleS: number;
      /** -e */
      readonly exitsWhenEmpty: boolean;
      /** -d */
      readonly keepsFailures: boolean;
      /** -n */
      readonly isOutside: boolean;
      /** -f; null: not given. */
      readonly fireDelayS: number | null;
      /** -b; 0: none. */
      readonly blockTimeS: number;
    }
  | { readonly kind: 'wsl'; readonly listen: readonly ListenAddress[] }
  | { readonly kind: 'system' }
  | { readonly kind: 'application' };

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly line: number;
}

export interface Server extends Spot {
  readonly entry: Entry;
  readonly name: string;
  readonly group: string;
  readonly srvid: number;
  readonly min: number;
  readonly max: number;
  /** The exact text of CLOPT. */
  readonly clopt: string;
  readonly rqaddr: string;
  readonly replyq: boolean;
  readonly restart: boolean;
  readonly maxGen: number;
  readonly graceS: number;
  readonly rcmd: string;
  readonly role: Role;
}

export interface Service extends Spot {
  readonly entry: Entry;
  readonly name: string;
  readonly group: string | undefined;
  readonly load: number;
  readonly prio: number;
  /** 0: the value of RESOURCES. */
  readonly blockTimeS: number;
  /** `ALL`, or `TYPE[:SUBTYPE[,SUBTYPE...]][;TYPE...]`. */
  readonly bufferTypes: string;
  readonly tranTimeS: number;
  readonly autotran: boolean;
  readonly routing: string;
}

/** 0 means no limit but disk and memory. */
export interface SpaceLimits {
  readonly pages: number;
  readonly queues: number;
  readonly transactions: number;
  readonly processes: number;
  readonly messages: number;
  readonly actions: number;
  readonly nonPersistentBytes: number;
  readonly blocking: number;
}

export interface Space extends Spot {
  readonly entry: Entry;
  readonly name: string;
  readonly group: string;
  /** '' when it has none. */
  readonly errorQueue: string;
  readonly limits: SpaceLimits;
}

export interface Queue extends Spot {
  readonly entry: Entry;
  readonly name: string;
  readonly space: string;
  readonly retries: number;
  readonly delayS: number;
  /** fifo or lifo always last: `fifo`, `priority,fifo`. */
  readonly order: string;
  readonly outOfOrder: string;
  readonly policy: 'persist' | 'nonpersist';
  readonly expiryS: number | null;
  readonly high: string;
  readonly low: string;
  readonly command: string;
  /** The same of non-persistent messages: NHIGH, NLOW, NCMD. */
  readonly nonPersistentHigh: string;
  readonly nonPersistentLow: string;
  readonly nonPersistentCommand: string;
}

export interface Domain {
  readonly file: string;
  /** Absolute folder of the file. */
  readonly directory: string;
  readonly resources: Resources;
  readonly machines: readonly Machine[];
  readonly groups: readonly Group[];
  readonly servers: readonly Server[];
  readonly services: readonly Service[];
  /** Criteria of ROUTING, as they stand. */
  readonly routing: readonly Entry[];
  readonly spaces: readonly Space[];
  readonly queues: readonly Queue[];
  /** Any: the file is refused. Sorted by place, like the other lists. */
  readonly faults: readonly Fault[];
  readonly warnings: readonly Note[];
  /** Parameters, options, servers and sections that have no meaning here, or none yet: for `check -v`. */
  readonly notes: readonly Remark[];
  readonly notYet: readonly NotYet[];
  /** Every unfilled macro of the file. */
  readonly macros: readonly Fault[];
  /** The same by value, for those who ask what matters to one machine. */
  readonly macrosOf: ReadonlyMap<Spot, readonly Fault[]>;
}
