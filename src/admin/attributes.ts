// From the members that an administrator gives to the attributes of a queue: each value checked, the words as in *QUEUES and qcreate
// [spec 5.4], what is not given as it was. Pure; the first thing wrong is said with what would be legal.
import { LIMIT } from '../../proto/codes.ts';
import type { Members, MemberValue } from '../../proto/message.ts';
import type { QueueAttributes } from '../queue/attributes.ts';
import {
  nameFits,
  parseOrder,
  parseOutOfOrder,
  parseThreshold,
  thresholdProblem,
  utf8Bytes,
  type Parsed,
} from '../queue/words.ts';

export type CheckedAttributes =
  { readonly ok: true; readonly value: QueueAttributes } | { readonly ok: false; readonly fault: string };

type Settable = Omit<QueueAttributes, 'name' | 'aq'>;
type Setting = keyof Settable;
type Changes = { -readonly [K in Setting]?: Settable[K] };

const LONG_MAX = 2_147_483_647;
/** < 128 characters [spec 5.4 #8]. */
const COMMAND_BYTES_MAX = 127;
const SHOWN_MAX = 60;

const RULES: { readonly [K in Setting]: (value: MemberValue) => Parsed<Settable[K]> } = {
  order: word(parseOrder),
  outOfOrder: word(parseOutOfOrder),
  retries: whole(0),
  delayS: whole(0, 'seconds'),
  policy: (value) =>
    value === 'persist' || value === 'nonpersist' ? { ok: true, value } : bad('persist or nonpersist'),
  expiryS: whole(-1, 'seconds, or -1 for none'),
  high: threshold('bBm%'),
  low: threshold('bBm%'),
  cmd: command,
  nonPersistentHigh: threshold('bB%'),
  nonPersistentLow: threshold('bB%'),
  nonPersistentCmd: command,
  enqueuePaused: flag,
  dequeuePaused: flag,
};
const SETTINGS = Object.keys(RULES) as readonly Setting[];

/** The attributes of `base` with what `members` change. */
export function changedAttributes(base: QueueAttributes, members: Members): CheckedAttributes {
  const changes: Changes = {};
  for (const [name, value] of Object.entries(members)) {
    const setting = SETTINGS.find((one) => one === name);
    if (setting === undefined) {
      return wrong(`${name} is no attribute of a queue; legal: ${SETTINGS.join(', ')}`);
    }
    const legal = set(changes, setting, value);
    if (legal !== '') return wrong(`${name}: ${shown(value)} is not legal; legal: ${legal}`);
  }
  const value: QueueAttributes = { ...base, ...changes };
  const fault =
    limitsFault(['high', 'low'], value, members) ??
    limitsFault(['nonPersistentHigh', 'nonPersistentLow'], value, members);
  return fault === null ? { ok: true, value } : wrong(fault);
}

/** What is wrong with a name for a new queue, or null. */
export function nameFault(name: string): string | null {
  if (nameFits(name, LIMIT.TMQNAMELEN)) return null;
  const legal = `1..${LIMIT.TMQNAMELEN} bytes without control characters`;
  return `name: ${shown(name)} is not legal (${utf8Bytes(name)} bytes); legal: ${legal}`;
}

/** Takes over one value; '' or what would be legal. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it ties the value's type to the setting's
function set<K extends Setting>(changes: Changes, setting: K, value: MemberValue): string {
  const parsed = RULES[setting](value);
  if (!parsed.ok) return parsed.legal;
  changes[setting] = parsed.value;
  return '';
}

/** A low limit that was not given and is nothing goes with a high limit of any unit. */
function limitsFault(
  [highName, lowName]: readonly ['high', 'low'] | readonly ['nonPersistentHigh', 'nonPersistentLow'],
  value: QueueAttributes,
  members: Members,
): string | null {
  if (!(highName in members) && !(lowName in members)) return null;
  const high = parseThreshold(value[highName]);
  const low = parseThreshold(value[lowName]);
  if (!high.ok || !low.ok) return null;
  if (high.value.amount === 0) {
    return `${highName}: ${shown(value[highName])} is not legal; legal: more than 0, with a unit`;
  }
  if (!(lowName in members) && low.value.amount === 0) return null;
  const problem = thresholdProblem(high.value, low.value);
  return problem === undefined ? null : `${lowName}: ${shown(value[lowName])} is not legal: ${problem}`;
}

function word(parse: (text: string) => Parsed<string>): (value: MemberValue) => Parsed<string> {
  return (value) => parse(typeof value === 'string' ? value : '');
}

function whole(min: number, unit = ''): (value: MemberValue) => Parsed<number> {
  return (value) => {
    if (typeof value === 'number' && value >= min && value <= LONG_MAX) return { ok: true, value };
    return bad(`a whole number ${min}..${LONG_MAX}${unit === '' ? '' : `: ${unit}`}`);
  };
}

function threshold(units: string): (value: MemberValue) => Parsed<string> {
  return (value) => {
    const text = typeof value === 'string' ? value : '';
    const parsed = parseThreshold(text);
    if (!parsed.ok) return parsed;
    if (!units.includes(parsed.value.unit))
      return bad(`a number with one of ${Array.from(units).join(', ')}`);
    return { ok: true, value: text };
  };
}

function command(value: MemberValue): Parsed<string> {
  const isLegal =
    typeof value === 'string' &&
    utf8Bytes(value) <= COMMAND_BYTES_MAX &&
    Array.from(value).every((c) => c >= ' ' || c === '\t');
  if (isLegal) return { ok: true, value };
  return bad(`a command of at most ${COMMAND_BYTES_MAX} bytes without control characters, or nothing`);
}

function flag(value: MemberValue): Parsed<boolean> {
  return typeof value === 'boolean' ? { ok: true, value } : bad('true or false');
}

function bad(legal: string): Parsed<never> {
  return { ok: false, legal };
}
function wrong(fault: string): CheckedAttributes {
  return { ok: false, fault };
}

function shown(value: MemberValue): string {
  const text = JSON.stringify(value);
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`;
}
