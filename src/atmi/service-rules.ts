// What the configuration says of services [spec 6.5]: priority, load, blocking time, AUTOTRAN, buffer types. Invariant: every name has
// values, those of the first line that fits, or the defaults. Must not know who offers a service.
import { LIMIT } from '../../proto/codes.ts';
import type { TypedData } from '../../proto/message.ts';

export interface ServiceRule {
  readonly name: string;
  /** Values for that group's servers only; undefined: for all. */
  readonly group: string | undefined;
  /** 1..100. */
  readonly prio: number;
  /** 1..32767: what one request under way weighs when servers are compared. */
  readonly load: number;
  /** 0: that of the whole configuration. */
  readonly blockTimeS: number;
  /** AUTOTRAN: a call that is in no transaction gets one of its own, of so many seconds. */
  readonly autotran: boolean;
  readonly tranTimeS: number;
  /** `ALL`, or `TYPE[:SUBTYPE[,SUBTYPE...]][;TYPE...]`. */
  readonly bufferTypes: string;
}

export type ServiceValues = Omit<ServiceRule, 'name' | 'group'>;

/** Added to the service's own priority, or instead of it [tpsprio(3c)]. */
export interface PriorityWish {
  readonly priority: number;
  readonly absolute: boolean;
}

const DEFAULTS: ServiceValues = {
  prio: LIMIT.PRIORITY_DEFAULT,
  load: 50,
  blockTimeS: 0,
  autotran: false,
  tranTimeS: 30,
  bufferTypes: 'ALL',
};

export class ServiceRules {
  private rules: readonly ServiceRule[];

  constructor(rules: readonly ServiceRule[] = []) {
    this.rules = rules;
  }

  /** The configuration was read again. */
  replace(rules: readonly ServiceRule[]): void {
    this.rules = rules;
  }

  /** The line of the name and the server's group; else the one of no group; else the first of that name [spec 6.5]. */
  of(name: string, group: string): ServiceValues {
    const named = this.rules.filter((rule) => rule.name === name);
    return (
      named.find((rule) => rule.group === group) ??
      named.find((rule) => rule.group === undefined) ??
      named[0] ??
      DEFAULTS
    );
  }
}

/** Whether a service takes this data. No data part has no type, and is always taken. */
export function acceptsType(bufferTypes: string, body: TypedData): boolean {
  if (body.data === null || bufferTypes === 'ALL' || bufferTypes === '') return true;
  return bufferTypes.split(';').some((entry) => {
    const [type = '', subtypes] = entry.split(':');
    if (type.trim() !== body.type) return false;
    return subtypes === undefined || subtypes.split(',').some((one) => one.trim() === body.subtype);
  });
}

/** The priority of a call: relative sums are brought into 1..100, an absolute one outside is 50 [spec 3.4]. */
export function priorityOf(own: number, wish: PriorityWish | null): number {
  if (wish === null) return own;
  const { PRIORITY_MIN, PRIORITY_MAX, PRIORITY_DEFAULT } = LIMIT;
  if (!wish.absolute) return Math.min(PRIORITY_MAX, Math.max(PRIORITY_MIN, own + wish.priority));
  const inRange = wish.priority >= PRIORITY_MIN && wish.priority <= PRIORITY_MAX;
  return inRange ? wish.priority : PRIORITY_DEFAULT;
}
