// The value of an expression for one message, in the three-valued logic of SQL: what compares with something unknown is unknown. A value of the
// wrong kind is an EvaluationError, which nobody sees but condition.ts.
import { unreachable } from '../base/assert.ts';
import { Pattern } from './like.ts';
import type { Arithmetic, Comparison, FunctionName, Operand, Test, Value } from './expression.ts';

/** The message that a condition is about. Values are asked for when they are needed. */
export interface Subject {
  /** By its name in capitals; null: it has none. */
  property(name: string): Value;
  /** Parsed; undefined: it has none, or it is not JSON. */
  payload(): unknown;
}

export class EvaluationError extends Error {}

/** null: unknown. */
export function evaluateTest(test: Test, subject: Subject): boolean | null {
  const value = (operand: Operand): Value => evaluate(operand, subject);
  switch (test.kind) {
    case 'and':
      return both(test.left, test.right, { subject, decides: false });
    case 'or':
      return both(test.left, test.right, { subject, decides: true });
    case 'not':
      return opposite(evaluateTest(test.of, subject));
    case 'comparison':
      return compare(test.op, value(test.left), value(test.right));
    case 'between': {
      const of = value(test.of);
      const isAbove = compare('>=', of, value(test.low));
      const isBelow = compare('<=', of, value(test.high));
      if (isAbove === false || isBelow === false) return false;
      return isAbove === null || isBelow === null ? null : true;
    }
    case 'in':
      return isIn(value(test.of), test.list.map(value));
    case 'like':
      return isLike(value(test.of), value(test.pattern), test.escape === null ? '' : value(test.escape));
    case 'null':
      return isNull(test.of, subject);
    default:
      return unreachable(test);
  }
}

/** AND and OR: one that decides is enough, whatever the other is. */
function both(
  left: Test,
  right: Test,
  { subject, decides }: { subject: Subject; decides: boolean },
): boolean | null {
  const first = evaluateTest(left, subject);
  if (first === decides) return decides;
  const second = evaluateTest(right, subject);
  if (second === decides) return decides;
  return first === null || second === null ? null : !decides;
}

function opposite(of: boolean | null): boolean | null {
  return of === null ? null : !of;
}

/** A part of the payload that is an object or a list is there. */
function isNull(operand: Operand, subject: Subject): boolean {
  if (operand.kind === 'payload') return (fieldOf(operand.path, subject) ?? null) === null;
  return evaluate(operand, subject) === null;
}

function isIn(of: Value, list: readonly Value[]): boolean | null {
  let isUnknown = false;
  for (const one of list) {
    const isEqual = compare('=', of, one);
    if (isEqual === true) return true;
    isUnknown ||= isEqual === null;
  }
  return isUnknown ? null : false;
}

function isLike(of: Value, pattern: Value, escape: Value): boolean | null {
  if (of === null || pattern === null || escape === null) return null;
  const mark = textOf(escape);
  if (Array.from(mark).length > 1) throw new EvaluationError('ESCAPE takes one character');
  const compiled = Pattern.of(textOf(pattern), mark);
  if (compiled === null)
    throw new EvaluationError('the character of ESCAPE stands before %, _ or itself alone');
  return compiled.matches(textOf(of));
}

function compare(op: Comparison, left: Value, right: Value): boolean | null {
  if (left === null || right === null) return null;
  if (typeof left === 'boolean' || typeof right === 'boolean') {
    if (typeof left !== typeof right || (op !== '=' && op !== '<>'))
      throw new EvaluationError('TRUE and FALSE can be compared by = and <> with each other alone');
    return (left === right) === (op === '=');
  }
  // A string that is compared with a number is taken as one.
  if (typeof left === 'string' && typeof right === 'string') return ordered(op, left, right);
  return ordered(op, numberOf(left), numberOf(right));
}

function ordered<T extends string | number>(op: Comparison, left: T, right: T): boolean {
  switch (op) {
    case '=':
      return left === right;
    case '<>':
      return left !== right;
    case '<':
      return left < right;
    case '<=':
      return left <= right;
    case '>':
      return left > right;
    case '>=':
      return left >= right;
    default:
      return unreachable(op);
  }
}

function evaluate(operand: Operand, subject: Subject): Value {
  switch (operand.kind) {
    case 'literal':
      return operand.value === '' ? null : operand.value;
    case 'property':
      return subject.property(operand.name);
    case 'payload': {
      const field = fieldOf(operand.path, subject) ?? null;
      if (field !== null && typeof field === 'object')
        throw new EvaluationError(`${operand.path.join('.')} is no single value`);
      return field as Value;
    }
    case 'negated': {
      const of = evaluate(operand.of, subject);
      return of === null ? null : -numberOf(of);
    }
    case 'arithmetic':
      return calculate(operand.op, evaluate(operand.left, subject), evaluate(operand.right, subject));
    case 'call':
      return call(
        operand.name,
        operand.given.map((one) => evaluate(one, subject)),
      );
    default:
      return unreachable(operand);
  }
}

function fieldOf(path: readonly string[], subject: Subject): unknown {
  let at = subject.payload();
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

function calculate(op: Arithmetic, left: Value, right: Value): Value {
  // As in SQL, nothing and a text is the text.
  if (op === '||')
    return emptyAsNull(`${left === null ? '' : textOf(left)}${right === null ? '' : textOf(right)}`);
  if (left === null || right === null) return null;
  const [a, b] = [numberOf(left), numberOf(right)];
  if (op === '+') return a + b;
  if (op === '-') return a - b;
  if (op === '*') return a * b;
  if (b === 0) throw new EvaluationError('division by 0');
  return a / b;
}

function call(name: FunctionName, given: readonly Value[]): Value {
  const [first = null, second = null, third = 1, fourth = 1] = given;
  if (name === 'NVL') return first ?? second;
  if (given.includes(null)) return null;
  switch (name) {
    case 'UPPER':
      return textOf(first).toUpperCase();
    case 'LOWER':
      return textOf(first).toLowerCase();
    case 'LENGTH':
      return Array.from(textOf(first)).length;
    case 'TO_NUMBER':
      return numberOf(first);
    case 'MOD': {
      const [a, b] = [numberOf(first), numberOf(second)];
      return b === 0 ? a : a % b;
    }
    case 'SUBSTR':
      return substring(textOf(first), numberOf(second), given.length > 2 ? numberOf(third) : Infinity);
    case 'INSTR':
      return position(textOf(first), textOf(second), { from: numberOf(third), nth: numberOf(fourth) });
    default:
      return unreachable(name);
  }
}

/** From the first character on, which is 1; a negative start counts from the end. */
function substring(text: string, start: number, length: number): Value {
  const characters = Array.from(text);
  const whole = Math.trunc(start);
  const from = whole > 0 ? whole - 1 : whole === 0 ? 0 : characters.length + whole;
  if (from < 0 || length < 1) return null;
  return emptyAsNull(
    characters.slice(from, length === Infinity ? undefined : from + Math.trunc(length)).join(''),
  );
}

/** The place of the nth occurrence, from 1 on; 0: there is none. A negative start looks backwards from the end. */
function position(text: string, wanted: string, { from, nth }: { from: number; nth: number }): number {
  const characters = Array.from(text);
  const sought = Array.from(wanted);
  const step = from < 0 ? -1 : 1;
  let left = Math.trunc(nth);
  if (left < 1) throw new EvaluationError('INSTR counts occurrences from 1');
  const begin = from < 0 ? characters.length + Math.trunc(from) : Math.trunc(from) - 1;
  for (
    let at = begin;
    at >= 0 && at + sought.length <= characters.length + (step < 0 ? sought.length : 0);
    at += step
  ) {
    if (!sought.every((one, i) => characters[at + i] === one)) continue;
    left--;
    if (left === 0) return at + 1;
  }
  return 0;
}

function textOf(value: Value): string {
  if (typeof value === 'boolean') throw new EvaluationError('TRUE and FALSE are no texts');
  return String(value ?? '');
}

function numberOf(value: Value): number {
  if (typeof value === 'number') return value;
  const text = typeof value === 'string' ? value.trim() : '';
  const number = text === '' ? Number.NaN : Number(text);
  if (Number.isFinite(number) && /^[+-]?[\d.]/.test(text) && !/^[+-]?0[xob]/i.test(text)) return number;
  throw new EvaluationError(`${typeof value === 'string' ? `'${value}'` : String(value)} is no number`);
}

/** In SQL a text of no characters is none. */
function emptyAsNull(text: string): Value {
  return text === '' ? null : text;
}
