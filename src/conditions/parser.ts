// From words to an expression, by descent, with the precedence of SQL: OR, AND, NOT, comparisons, + - ||, * /, signs. Invariants: it never throws;
// nesting is bounded, so that no text can use up the stack; the first thing wrong is told with its column and what would be right.
import {
  isTest,
  type Arithmetic,
  type Comparison,
  type Expression,
  type FunctionName,
  type Operand,
  type Test,
} from './expression.ts';
import type { Misread, Token } from './lexer.ts';

/** What names may stand for. */
export interface Vocabulary {
  /** Names in capitals. */
  readonly properties: ReadonlySet<string>;
  /** Before a property, with a dot: TAB or QTVIEW. */
  readonly prefix: string;
  /** Whether properties may stand without the prefix. */
  readonly bare: boolean;
}

const DEPTH_MAX = 100;
const COMPARISONS: Readonly<Record<string, Comparison>> = {
  '=': '=',
  '<>': '<>',
  '!=': '<>',
  '^=': '<>',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};
/** Arguments that each function takes. */
const FUNCTIONS: ReadonlyMap<string, readonly [FunctionName, number, number]> = new Map([
  ['UPPER', ['UPPER', 1, 1]],
  ['LOWER', ['LOWER', 1, 1]],
  ['SUBSTR', ['SUBSTR', 2, 3]],
  ['INSTR', ['INSTR', 2, 4]],
  ['LENGTH', ['LENGTH', 1, 1]],
  ['NVL', ['NVL', 2, 2]],
  ['TO_NUMBER', ['TO_NUMBER', 1, 1]],
  ['MOD', ['MOD', 2, 2]],
]);
const WORDS: ReadonlySet<string> = new Set('AND OR NOT IN LIKE BETWEEN IS NULL ESCAPE TRUE FALSE'.split(' '));

class ParseError extends Error {
  readonly column: number;
  constructor(column: number, message: string) {
    super(message);
    this.column = column;
  }
}

export function parseTokens(tokens: readonly Token[], vocabulary: Vocabulary): Test | Misread {
  try {
    return new Parser(tokens, vocabulary).all();
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    return { column: error.column, message: error.message };
  }
}

class Parser {
  private readonly tokens: readonly Token[];
  private readonly vocabulary: Vocabulary;
  private at = 0;
  private depth = 0;

  constructor(tokens: readonly Token[], vocabulary: Vocabulary) {
    this.tokens = tokens;
    this.vocabulary = vocabulary;
  }

  all(): Test {
    const first = this.token;
    const test = this.test(this.or(), first);
    if (this.token.kind !== 'end') this.fail('AND, OR or the end was expected');
    return test;
  }

  private get token(): Token {
    return this.tokens[this.at] as Token;
  }

  private or(): Expression {
    return this.chain('OR', () => this.chain('AND', () => this.not()));
  }

  private chain(word: 'AND' | 'OR', next: () => Expression): Expression {
    this.enter();
    const first = this.token;
    let left = next();
    while (this.takeWord(word)) {
      const second = this.token;
      const kind = word === 'AND' ? 'and' : 'or';
      left = { kind, left: this.test(left, first), right: this.test(next(), second) };
    }
    this.depth--;
    return left;
  }

  private not(): Expression {
    let negations = 0;
    while (this.takeWord('NOT')) negations++;
    const first = this.token;
    const found = this.predicate();
    if (negations === 0) return found;
    const of = this.test(found, first);
    return negations % 2 === 0 ? of : { kind: 'not', of };
  }

  private predicate(): Expression {
    const first = this.token;
    const left = this.sum();
    const comparison = this.token.kind === 'sign' ? COMPARISONS[this.token.text] : undefined;
    if (comparison !== undefined) {
      this.at++;
      const second = this.token;
      const right = this.operand(this.sum(), second);
      return { kind: 'comparison', op: comparison, left: this.operand(left, first), right };
    }
    if (this.takeWord('IS')) {
      const isNot = this.takeWord('NOT');
      this.needWord('NULL');
      return negated(isNot, { kind: 'null', of: this.operand(left, first) });
    }
    const isNot = this.isWord('NOT') && this.takeWord('NOT');
    const rest = this.rest(left, first);
    if (rest !== null) return negated(isNot, rest);
    if (isNot) this.fail('IN, LIKE or BETWEEN was expected');
    return left;
  }

  private rest(left: Expression, first: Token): Test | null {
    if (this.takeWord('BETWEEN')) {
      const of = this.operand(left, first);
      const low = this.nextOperand();
      this.needWord('AND');
      return { kind: 'between', of, low, high: this.nextOperand() };
    }
    if (this.takeWord('LIKE')) {
      const of = this.operand(left, first);
      const pattern = this.nextOperand();
      return { kind: 'like', of, pattern, escape: this.takeWord('ESCAPE') ? this.nextOperand() : null };
    }
    if (!this.takeWord('IN')) return null;
    const of = this.operand(left, first);
    this.needSign('(');
    return { kind: 'in', of, list: this.list() };
  }

  /** Up to the closing parenthesis. */
  private list(): Operand[] {
    const list: Operand[] = [];
    do list.push(this.nextOperand());
    while (this.takeSign(','));
    this.needSign(')');
    return list;
  }

  private sum(): Expression {
    return this.binary(['+', '-', '||'], () => this.binary(['*', '/'], () => this.signed()));
  }

  private binary(signs: readonly Arithmetic[], next: () => Expression): Expression {
    this.enter();
    const first = this.token;
    let left = next();
    for (;;) {
      const op = this.token.kind === 'sign' ? signs.find((sign) => sign === this.token.text) : undefined;
      if (op === undefined) break;
      this.at++;
      const second = this.token;
      left = {
        kind: 'arithmetic',
        op,
        left: this.operand(left, first),
        right: this.operand(next(), second),
      };
    }
    this.depth--;
    return left;
  }

  private signed(): Expression {
    let isNegative = false;
    let isSigned = false;
    for (; this.isSign('-') || this.isSign('+'); this.at++) {
      isSigned = true;
      if (this.isSign('-')) isNegative = !isNegative;
    }
    const first = this.token;
    const found = this.primary();
    if (!isSigned) return found;
    const of = this.operand(found, first);
    return isNegative ? { kind: 'negated', of } : of;
  }

  private primary(): Expression {
    const { token } = this;
    if (token.kind === 'number' || token.kind === 'string') {
      this.at++;
      return { kind: 'literal', value: token.kind === 'number' ? Number(token.text) : token.text };
    }
    if (this.takeSign('(')) {
      this.enter();
      const inner = this.or();
      this.depth--;
      this.needSign(')');
      return inner;
    }
    if (this.takeWord('NULL')) return { kind: 'literal', value: null };
    if (this.takeWord('TRUE')) return { kind: 'literal', value: true };
    if (this.takeWord('FALSE')) return { kind: 'literal', value: false };
    if (token.kind !== 'name' || WORDS.has(token.text.toUpperCase()))
      return this.fail('a value was expected: a property, a field of the payload, a number or a string');
    return this.named();
  }

  private named(): Operand {
    const { token } = this;
    this.at++;
    const name = token.text.toUpperCase();
    if (this.takeSign('(')) return this.call(name, token);
    const { prefix, bare, properties } = this.vocabulary;
    if (name === prefix && this.takeSign('.')) {
      const member = this.needName();
      const text = member.text.toUpperCase();
      if (text === 'USER_DATA') return this.payload();
      return this.property(text, member);
    }
    if (bare && properties.has(name)) return { kind: 'property', name };
    return this.unknown(token);
  }

  private property(name: string, token: Token): Operand {
    if (this.vocabulary.properties.has(name)) return { kind: 'property', name };
    return this.unknown(token);
  }

  private unknown(token: Token): never {
    const { prefix, bare, properties } = this.vocabulary;
    const before = bare ? `, also with ${prefix}. before them` : '';
    const names = [...properties].map((name) => (bare ? name : `${prefix}.${name}`)).join(', ');
    throw new ParseError(
      token.column,
      `${token.text} is no property; legal: ${names}${before}, and ${prefix}.USER_DATA.field`,
    );
  }

  /** USER_DATA alone is the payload itself. */
  private payload(): Operand {
    const path: string[] = [];
    while (this.takeSign('.')) path.push(this.needName().text);
    return { kind: 'payload', path };
  }

  private call(name: string, token: Token): Operand {
    const known = FUNCTIONS.get(name);
    if (known === undefined) {
      const legal = [...FUNCTIONS.keys()].join(', ');
      throw new ParseError(token.column, `${token.text} is no function; legal: ${legal}`);
    }
    const [own, least, most] = known;
    this.enter();
    const given = this.list();
    this.depth--;
    if (given.length >= least && given.length <= most) return { kind: 'call', name: own, given };
    const wanted = least === most ? String(least) : `${least} to ${most}`;
    throw new ParseError(token.column, `${own} takes ${wanted} arguments, found ${given.length}`);
  }

  private nextOperand(): Operand {
    const { token } = this;
    return this.operand(this.sum(), token);
  }

  private operand(expression: Expression, token: Token): Operand {
    if (!isTest(expression)) return expression;
    throw new ParseError(token.column, 'a value was expected, found a condition');
  }

  private test(expression: Expression, token: Token): Test {
    if (isTest(expression)) return expression;
    throw new ParseError(token.column, 'a condition was expected, found a value: compare it with something');
  }

  private enter(): void {
    this.depth++;
    if (this.depth > DEPTH_MAX) this.fail(`it is nested more than ${DEPTH_MAX} deep`);
  }

  private isWord(word: string): boolean {
    return this.token.kind === 'name' && this.token.text.toUpperCase() === word;
  }
  private takeWord(word: string): boolean {
    if (!this.isWord(word)) return false;
    this.at++;
    return true;
  }
  private needWord(word: string): void {
    if (!this.takeWord(word)) this.fail(`${word} was expected`);
  }
  private isSign(sign: string): boolean {
    return this.token.kind === 'sign' && this.token.text === sign;
  }
  private takeSign(sign: string): boolean {
    if (!this.isSign(sign)) return false;
    this.at++;
    return true;
  }
  private needSign(sign: string): void {
    if (!this.takeSign(sign)) this.fail(`${sign} was expected`);
  }
  private needName(): Token {
    const { token } = this;
    if (token.kind !== 'name') this.fail('a name was expected');
    this.at++;
    return token;
  }

  private fail(wanted: string): never {
    const { token } = this;
    const found = token.kind === 'end' ? 'the end' : token.text;
    throw new ParseError(token.column, `${wanted}, found ${found}`);
  }
}

function negated(isNot: boolean, of: Test): Test {
  return isNot ? { kind: 'not', of } : of;
}
