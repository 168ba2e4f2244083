// What a condition consists of when it has been read: a tree whose nodes say which kind of result they have. Names are resolved: a property by its
// name in capitals, a field of the payload by its path.

/** A value of SQL; null is unknown. */
export type Value = string | number | boolean | null;

export type Comparison = '=' | '<>' | '<' | '<=' | '>' | '>=';
export type Arithmetic = '+' | '-' | '*' | '/' | '||';
export type FunctionName = 'UPPER' | 'LOWER' | 'SUBSTR' | 'INSTR' | 'LENGTH' | 'NVL' | 'TO_NUMBER' | 'MOD';

/** Has a value. */
export type Operand =
  | { readonly kind: 'literal'; readonly value: Value }
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'payload'; readonly path: readonly string[] }
  | { readonly kind: 'negated'; readonly of: Operand }
  | {
      readonly kind: 'arithmetic';
      readonly op: Arithmetic;
      readonly left: Operand;
      readonly right: Operand;
    }
  | { readonly kind: 'call'; readonly name: FunctionName; readonly given: readonly Operand[] };

/** Is true, false or unknown. */
export type Test =
  | { readonly kind: 'and' | 'or'; readonly left: Test; readonly right: Test }
  | { readonly kind: 'not'; readonly of: Test }
  | {
      readonly kind: 'comparison';
      readonly op: Comparison;
      readonly left: Operand;
      readonly right: Operand;
    }
  | { readonly kind: 'between'; readonly of: Operand; readonly low: Operand; readonly high: Operand }
  | { readonly kind: 'in'; readonly of: Operand; readonly list: readonly Operand[] }
  | {
      readonly kind: 'like';
      readonly of: Operand;
      readonly pattern: Operand;
      readonly escape: Operand | null;
    }
  | { readonly kind: 'null'; readonly of: Operand };

export type Expression = Operand | Test;

const TESTS: ReadonlySet<string> = new Set([
  'and',
  'or',
  'not',
  'comparison',
  'between',
  'in',
  'like',
  'null',
]);

export function isTest(expression: Expression): expression is Test {
  return TESTS.has(expression.kind);
}
