// What all classes have in common: attributes as rows of a table, values against their row, states by their first letters, and the one way to
// refuse. Invariant: a refusal names the field and what would be legal. Must not know requests or the daemon.
import { TAERROR, type TaError } from './codes.ts';

export type MibValue = string | number;
/** One occurrence: values by the names of attributes. */
export type Row = Readonly<Record<string, MibValue>>;

/**
 * rw: shown and set; ru: shown, set when the object is made, and fixed then; r: only shown; w: only set; k: only selects.
 */
export type Permission = 'rw' | 'ru' | 'r' | 'w' | 'k';

export interface Attribute {
  readonly type: 'string' | 'long';
  readonly perms: Permission;
  /** GET selects by it. */
  readonly key?: true;
  /** In a SET it says which object is meant. */
  readonly names?: true;
  /** Who must give it: every request, every SET, or the SET that makes the object. */
  readonly needed?: 'always' | 'set' | 'new';
  /** Of a long: the smallest and largest value; of a string: bytes. */
  readonly min?: number;
  readonly max?: number;
  /** The only values, in upper case. */
  readonly words?: readonly string[];
}
export type Attributes = Readonly<Record<string, Attribute>>;

/** The three letters by which a state is told, and its whole name. */
export type States = Readonly<Record<string, string>>;

/** What ends a request with TPEMIB. */
export class MibError extends Error {
  override readonly name = 'MibError';
  readonly code: TaError;
  /** TA_BADFLD: the field that is to blame; '': no single one. */
  readonly field: string;
  /** What the request names is not there. */
  readonly isAbsent: boolean;

  constructor(
    code: TaError,
    text: string,
    more: { field?: string; isAbsent?: boolean; cause?: unknown } = {},
  ) {
    super(text, more.cause === undefined ? {} : { cause: more.cause });
    this.code = code;
    this.field = more.field ?? '';
    this.isAbsent = more.isAbsent ?? false;
  }
}

export function illegal(field: string, value: unknown, legal: string): MibError {
  const text = `${field}: ${shown(value)} is not legal; legal: ${legal}`;
  return new MibError(TAERROR.TAEINVAL, text, { field });
}

export function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}

const LONG_MAX = 2_147_483_647;
const STRING_BYTES_MAX = 1024;
/** Of a device's path: requests name a space as `device:space`. */
const DEVICE_BYTES = 1008;
/** The keys that say where an object is: the device, and the machine, which may be left out. */
export const DEVICE_KEY: Attribute = {
  type: 'string',
  perms: 'ru',
  key: true,
  names: true,
  needed: 'always',
  min: 1,
  max: DEVICE_BYTES,
};
export const LMID_KEY: Attribute = { type: 'string', perms: 'ru', key: true, names: true, min: 1, max: 30 };

/** The value as its attribute has it: strings that are numbers are good for a long, numbers for a string, as FML32 converts them. */
export function converted(name: string, attribute: Attribute, value: MibValue): MibValue {
  return attribute.type === 'long' ? longOf(name, value, attribute) : textOf(name, attribute, String(value));
}

export function longOf(
  name: string,
  value: MibValue,
  { min = 0, max = LONG_MAX }: { min?: number; max?: number },
): number {
  const number = typeof value === 'string' && /^\s*[+-]?\d{1,15}\s*$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= min && number <= max)
    return number;
  throw illegal(name, value, `a whole number ${min}..${max}`);
}

function textOf(name: string, { min = 0, max = STRING_BYTES_MAX, words }: Attribute, value: string): string {
  if (words !== undefined) {
    const word = value.toUpperCase();
    if (words.includes(word)) return word;
    throw illegal(name, value, words.join(', '));
  }
  const bytes = Buffer.byteLength(value);
  if (bytes >= min && bytes <= max && !value.includes('\0')) return value;
  throw illegal(name, value, `${min}..${max} bytes of text`);
}

/** The three letters: given as such, or as the beginning of one state's name, three letters at least, in either case. */
export function stateOf(states: States, value: MibValue): string {
  const word = String(value).toUpperCase();
  if (Object.hasOwn(states, word)) return word;
  const found = Object.entries(states).filter(([, whole]) => word.length >= 3 && whole.startsWith(word));
  if (found.length === 1) return found[0]?.[0] ?? '';
  throw illegal('TA_STATE', value, Object.keys(states).join(', ') || 'none here');
}
