// From a request's fields to what is asked of a class: the general fields, every attribute against its row, the flags, and the cursor of a GETNEXT.
// Invariants: a field that has no effect is refused, never passed over; a cursor is checked like a request. Must not know the daemon.
import { LIMIT } from '../../../proto/codes.ts';
import {
  type Attribute,
  type Attributes,
  converted,
  illegal,
  longOf,
  MibError,
  type MibValue,
  type Row,
  shown,
  stateOf,
  type States,
} from './attribute.ts';
import { MIB, TAERROR } from './codes.ts';
import type { Reach } from './reach.ts';

/** Fields by their names; a value, or a list of one. What is undefined is as good as absent. */
export type MibRequest = Readonly<Record<string, MibValue | readonly MibValue[] | undefined>>;

/** Some of the objects that were asked for. */
export interface Found {
  readonly rows: readonly Row[];
  /** Where the next page begins; null: there is none. */
  readonly next: string | null;
}

/** What a SET came to. */
export interface Done {
  readonly changed: boolean;
  /** A sentence. */
  readonly status: string;
  /** The object as it is now; none: it is gone. */
  readonly rows: readonly Row[];
}

export interface MibClass {
  readonly name: string;
  readonly attributes: Attributes;
  /** That an object can be in, and that it can be put into. */
  readonly getStates: States;
  readonly setStates: States;
  /** Bits of TA_FLAGS that a SET takes, by the state it asks for. */
  readonly flags: Readonly<Record<string, number>>;
  readonly get: (asked: Asked, reach: Reach) => Promise<Found>;
  readonly set: (asked: Asked, reach: Reach) => Promise<Done>;
}

/** A request that keeps all rules. */
export class Asked {
  readonly class: MibClass;
  readonly isSet: boolean;
  /** Three letters; '': not given. */
  readonly state: string;
  readonly flags: number;
  /** Objects wanted at most. */
  readonly limit: number;
  /** Where the page begins; '': with the first. */
  readonly at: string;
  readonly given: Row;

  constructor(init: Pick<Asked, 'class' | 'isSet' | 'state' | 'flags' | 'limit' | 'at' | 'given'>) {
    this.class = init.class;
    this.isSet = init.isSet;
    this.state = init.state;
    this.flags = init.flags;
    this.limit = init.limit;
    this.at = init.at;
    this.given = init.given;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.given, name);
  }
  /** '' when it is not given. */
  text(name: string): string {
    return String(this.given[name] ?? '');
  }
  /** 0 when it is not given. */
  long(name: string): number {
    return Number(this.given[name] ?? 0);
  }
  forced(bit: number): boolean {
    return (this.flags & bit) !== 0;
  }

  /** For a GETNEXT. */
  cursor(next: string): string {
    const state = this.state === '' ? {} : { TA_STATE: this.state };
    const held = { class: this.class.name, at: next, given: { ...this.given, ...state } };
    return Buffer.from(JSON.stringify(held)).toString('base64url');
  }
}

/** The general fields that a request may have. */
const GENERAL = ['TA_OPERATION', 'TA_CLASS', 'TA_STATE', 'TA_FLAGS', 'TA_OCCURS', 'TA_CURSOR'];
/** General fields of a MIB that have no meaning here. */
const UNSERVED = ['TA_FILTER', 'TA_MIBTIMEOUT', 'TA_CLIENTID'];
const BITS: readonly [string, number][] = Object.entries(MIB);

/** Throws a MibError. */
export function askedOf(request: MibRequest, classes: Readonly<Record<string, MibClass>>): Asked {
  const fields = fieldsOf(request);
  const operation = String(needed(fields, 'TA_OPERATION')).toUpperCase();
  if (operation === 'GETNEXT') return continued(fields, classes);
  if (operation !== 'GET' && operation !== 'SET')
    throw illegal('TA_OPERATION', fields['TA_OPERATION'], 'GET, GETNEXT, SET');
  if (Object.hasOwn(fields, 'TA_CURSOR'))
    throw new MibError(TAERROR.TAEINVAL, 'TA_CURSOR: only GETNEXT takes one', { field: 'TA_CURSOR' });
  const asked = checked(fields, {
    of: classOf(needed(fields, 'TA_CLASS'), classes),
    isSet: operation === 'SET',
  });
  if (asked.isSet && Object.hasOwn(fields, 'TA_OCCURS') && asked.limit !== 1)
    throw illegal('TA_OCCURS', asked.limit, '1: a SET is about one object');
  return asked;
}

/** GETNEXT: all that GET selected by is in the cursor. */
function continued(fields: Row, classes: Readonly<Record<string, MibClass>>): Asked {
  const cursor = needed(fields, 'TA_CURSOR');
  const other = Object.keys(fields).find((name) => !GENERAL.includes(name) || name === 'TA_STATE');
  if (other !== undefined) {
    const text = `${other}: GETNEXT goes on with what GET selected, and takes no keys`;
    throw new MibError(TAERROR.TAEINVAL, text, { field: other });
  }
  const { name, at, given } = cursorOf(cursor);
  const of = classOf(name, classes);
  if (Object.hasOwn(fields, 'TA_CLASS') && classOf(fields['TA_CLASS'] ?? '', classes) !== of)
    throw illegal('TA_CLASS', fields['TA_CLASS'], `${of.name}, which the cursor is of`);
  const { TA_OCCURS, TA_FLAGS } = fields as { TA_OCCURS?: MibValue; TA_FLAGS?: MibValue };
  const general = {
    ...(TA_OCCURS === undefined ? {} : { TA_OCCURS }),
    ...(TA_FLAGS === undefined ? {} : { TA_FLAGS }),
  };
  return checked({ ...given, ...general }, { of, isSet: false, at });
}

function cursorOf(cursor: MibValue): { name: MibValue; at: string; given: Row } {
  const bad = illegal('TA_CURSOR', cursor, 'what the answer to the GET or GETNEXT before had');
  let held: unknown;
  try {
    held = JSON.parse(Buffer.from(String(cursor), 'base64url').toString());
  } catch {
    throw bad;
  }
  if (typeof held !== 'object' || held === null) throw bad;
  const { class: name, at, given } = held as Readonly<Record<string, unknown>>;
  const isWhole = typeof name === 'string' && typeof at === 'string' && at !== '';
  if (!isWhole || typeof given !== 'object' || given === null || Array.isArray(given)) throw bad;
  return { name, at, given: fieldsOf(given as MibRequest) };
}

/** Each field's one value. */
function fieldsOf(request: MibRequest): Row {
  const fields: Record<string, MibValue> = {};
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined) continue;
    const one: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
    if (typeof one !== 'string' && typeof one !== 'number')
      throw illegal(name, value, 'a string, a number, or a list of one: a request is about one object');
    fields[name] = one;
  }
  return fields;
}

function needed(fields: Row, name: string): MibValue {
  const value = fields[name];
  if (value !== undefined) return value;
  throw new MibError(TAERROR.TAEREQUIRED, `${name} is not given`, { field: name });
}

function classOf(name: MibValue, classes: Readonly<Record<string, MibClass>>): MibClass {
  const found = Object.hasOwn(classes, name) ? classes[name] : undefined;
  if (found !== undefined) return found;
  const text = `TA_CLASS: ${shown(name)} is not served; legal: ${Object.keys(classes).join(', ')}`;
  throw new MibError(TAERROR.TAESUPPORT, text, { field: 'TA_CLASS' });
}

interface Rules {
  readonly of: MibClass;
  readonly isSet: boolean;
  readonly at?: string;
}

function checked(fields: Row, { of, isSet, at = '' }: Rules): Asked {
  const states = isSet ? of.setStates : of.getStates;
  const state = fields['TA_STATE'] === undefined ? '' : stateOf(states, fields['TA_STATE']);
  const given: Record<string, MibValue> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (GENERAL.includes(name)) continue;
    const attribute = attributeOf(name, of);
    if (isSet) checkSet(name, attribute, state);
    else if (attribute.key !== true) {
      const text = `${name}: GET does not select by it; keys: ${keysOf(of).join(', ')}`;
      throw new MibError(TAERROR.TAEINVAL, text, { field: name });
    }
    given[name] = converted(name, attribute, value);
  }
  for (const [name, { needed: by }] of Object.entries(of.attributes)) {
    const isNeeded = by === 'always' || (isSet && (by === 'set' || (by === 'new' && state === 'NEW')));
    if (isNeeded) needed(given, name);
  }
  const limit = longOf('TA_OCCURS', fields['TA_OCCURS'] ?? LIMIT.PAGE_DEFAULT, {
    min: 1,
    max: LIMIT.PAGE_MAX,
  });
  return new Asked({
    class: of,
    isSet,
    state,
    flags: flagsOf(fields, { of, isSet }, state),
    limit,
    at,
    given,
  });
}

function attributeOf(name: string, of: MibClass): Attribute {
  const attribute = Object.hasOwn(of.attributes, name) ? of.attributes[name] : undefined;
  if (attribute !== undefined) return attribute;
  if (UNSERVED.includes(name))
    throw new MibError(TAERROR.TAESUPPORT, `${name}: this field is not served`, { field: name });
  throw new MibError(TAERROR.TAEINVAL, `${name} is no field of ${of.name}`, { field: name });
}

function keysOf(of: MibClass): string[] {
  return Object.keys(of.attributes).filter((name) => of.attributes[name]?.key === true);
}

function checkSet(name: string, { perms, names }: Attribute, state: string): void {
  if (names === true) return;
  if (perms === 'r') throw new MibError(TAERROR.TAEPERM, `${name} can only be read`, { field: name });
  if (perms === 'k')
    throw new MibError(TAERROR.TAEINVAL, `${name}: it selects, and has no meaning for SET`, { field: name });
  if (state !== '' && state !== 'NEW')
    throw new MibError(TAERROR.TAEINVAL, `${name}: nothing else is set with TA_STATE ${state}`, {
      field: name,
    });
}

/** MIB_LOCAL asks for nothing but what is on this machine, which is all there is. */
function flagsOf(fields: Row, { of, isSet }: Rules, state: string): number {
  const flags = longOf('TA_FLAGS', fields['TA_FLAGS'] ?? 0, {});
  const allowed = MIB.MIB_LOCAL | (isSet ? (of.flags[state] ?? 0) : 0);
  const wrong = flags & ~allowed;
  if (wrong === 0) return flags;
  const [name, bit] = BITS.find(([, one]) => (wrong & one) !== 0) ?? [];
  if (bit === MIB.MIB_PREIMAGE || bit === MIB.MIB_SELF)
    throw new MibError(TAERROR.TAESUPPORT, `TA_FLAGS: ${name} is not served`, { field: 'TA_FLAGS' });
  const legal = BITS.filter(([, one]) => (allowed & one) !== 0).map(([one]) => one);
  throw illegal('TA_FLAGS', name ?? flags, `${legal.join(', ')} for this request`);
}
