// One value to its type: number, flag, choice, text, size. Owns the notation of numbers and sizes and the wording of what would be
// legal; must not know which parameter it is about. Also finds unfilled macros.

import { unreachable } from '../base/assert.ts';
import { shown } from './fault.ts';
import type { Value } from './parser.ts';
import type { Shape } from './parameters.ts';

export type Converted = number | boolean | string;

/** A value of the right type, or what is wrong with it and what would be legal. */
export type Conversion =
  { readonly ok: true; readonly value: Converted } | { readonly ok: false; readonly problem: string };

/** Bytes of a disk page, the unit of `B` and of a size without a suffix [spec 5.3, 8.1 U]. */
export const BLOCK_BYTES = 512;

const SIZE_UNITS: Readonly<Record<string, number>> = {
  '': BLOCK_BYTES,
  B: BLOCK_BYTES,
  b: 1,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
};

export function convert(shape: Shape, value: Value): Conversion {
  const { text } = value;
  switch (shape.type) {
    case 'number': {
      const number = parseNumber(text);
      const fits = number !== undefined && number >= shape.min && number <= shape.max;
      return fits
        ? good(number)
        : bad(text, `a number ${shape.min}..${shape.max} (decimal, 0x hex or 0 octal)`);
    }
    case 'flag':
      return text === 'Y' || text === 'N' ? good(text === 'Y') : bad(text, 'Y or N');
    case 'choice':
      return shape.choices.includes(text) ? good(text) : bad(text, shape.choices.join(', '));
    case 'choices': {
      const all = text.split(',').every((item) => shape.choices.includes(item.trim()));
      return all ? good(text) : bad(text, `a list of ${shape.choices.join(', ')}`);
    }
    case 'text': {
      const bytes = byteLength(text);
      const fits = bytes >= shape.min && bytes <= shape.max;
      return fits ? good(text) : bad(text, `a text of ${shape.min}..${shape.max} bytes, this has ${bytes}`);
    }
    case 'names':
      return convertNames(text, shape);
    case 'size': {
      const size = parseSize(text);
      return size === undefined ? bad(text, 'a number with b (bytes), B (blocks), k, m or g') : good(size);
    }
    case 'anything':
      return good(text);
    default:
      return unreachable(shape);
  }
}

function convertNames(text: string, shape: Shape & { type: 'names' }): Conversion {
  const items = text.split(',').map((item) => item.trim());
  const fits = items.every((item) => item !== '' && byteLength(item) <= shape.bytesMax);
  if (fits && items.length <= shape.countMax) return good(items.join(','));
  const count = shape.countMax === 1 ? 'a name' : `up to ${shape.countMax} names`;
  return bad(text, `${count} of 1..${shape.bytesMax} bytes`);
}

function good(value: Converted): Conversion {
  return { ok: true, value };
}

function bad(text: string, legal: string): Conversion {
  return {
    ok: false,
    problem: `${text === '' ? 'an empty value' : shown(text)} is not legal; legal: ${legal}`,
  };
}

/** C notation [spec 6.1]: decimal, 0x hex, 0 octal; undefined when it is none of them. */
export function parseNumber(text: string): number | undefined {
  if (/^0[xX][0-9a-fA-F]+$/.test(text)) return Number.parseInt(text.slice(2), 16);
  if (/^0[0-7]*$/.test(text)) return Number.parseInt(text, 8);
  if (/^[1-9][0-9]*$/.test(text)) return Number.parseInt(text, 10);
  return undefined;
}

/** Bytes of a size such as `64m`; undefined when it is none or beyond what a number holds exactly. */
export function parseSize(text: string): number | undefined {
  const match = /^([0-9]+)([bBkmg]?)$/.exec(text);
  const unit = SIZE_UNITS[match?.[2] ?? ''];
  if (match === null || unit === undefined) return undefined;
  const bytes = Number(match[1]) * unit;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** A macro in a text and where it starts. */
export interface FoundMacro {
  readonly name: string;
  readonly index: number;
}

const ANY_MACRO = /@[A-Za-z_][A-Za-z0-9_]*@|\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$[A-Za-z_][A-Za-z0-9_]*/g;
const AT_MACRO = /@[A-Za-z_][A-Za-z0-9_]*@/g;

/** `@NAME@`, `$NAME` and `${NAME}`; in a shell command only `@NAME@`, since a variable is the shell's own business there. */
export function findMacros(text: string, shell = false): FoundMacro[] {
  return Array.from(text.matchAll(shell ? AT_MACRO : ANY_MACRO), (match) => ({
    name: match[0],
    index: match.index,
  }));
}
