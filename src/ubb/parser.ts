// Tokens to sections, entries and parameters [spec 6.1]. Owns what an entry, a continuation line, a DEFAULT: line and a RESOURCES
// line are; must not know which sections or parameters exist (that is sections.ts and parameters.ts).
//
// A line at column 1 that starts with `KEY=` belongs to the entry before it, any other opens an entry. An indented line continues
// the entry; an indented name opens one only where the section's entries are indented themselves.

import { FaultList, type Fault, shown, type Spot } from './fault.ts';
import { lex, type Token } from './lexer.ts';

/** A word or a quoted value. Several joined by commas are one value. */
export interface Value extends Spot {
  readonly text: string;
  /** As written between the quotes, escapes unresolved; columns inside a value are found with it. */
  readonly raw: string;
  readonly quoted: boolean;
  /** Already reported (a placeholder, foreign letters): check nothing more about it. */
  readonly bad: boolean;
  /** Of a value joined by commas: what was joined, each where it stands; else empty. */
  readonly items: readonly Value[];
}

export interface Parameter {
  readonly key: Value;
  readonly value: Value;
}

export interface Entry {
  readonly name: Value;
  readonly own: readonly Parameter[];
  /** Those of the DEFAULT: line in force; an own parameter of the same name wins. */
  readonly defaults: readonly Parameter[];
}

export interface Section extends Spot {
  readonly name: string;
  /** One list a DEFAULT: line, in file order; entries refer to these lists. */
  readonly defaults: readonly (readonly Parameter[])[];
  /** In RESOURCES: the parameters. */
  readonly parameters: readonly Parameter[];
  readonly entries: readonly Entry[];
}

export interface SyntaxTree {
  readonly file: string;
  readonly sections: readonly Section[];
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
  readonly complete: boolean;
}

interface OpenEntry {
  name: Value;
  own: Parameter[];
  defaults: readonly Parameter[];
}

interface OpenSection extends Spot {
  name: string;
  defaults: Parameter[][];
  parameters: Parameter[];
  entries: OpenEntry[];
  /** Where the next KEY=value goes; undefined before the first entry. */
  target: Parameter[] | undefined;
  inForce: readonly Parameter[];
  /** The last entry's name was indented. */
  indentedNames: boolean;
}

export function parse(file: string, bytes: Uint8Array): SyntaxTree {
  const lexed = lex(file, bytes);
  const parser = new Parser(file, lexed.tokens);
  parser.run();
  return {
    file,
    sections: parser.sections,
    faults: [...lexed.faults, ...parser.faults.sorted()],
    warnings: lexed.warnings,
    complete: lexed.complete,
  };
}

class Parser {
  readonly faults: FaultList;
  readonly sections: OpenSection[] = [];
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(file: string, tokens: readonly Token[]) {
    this.faults = new FaultList(file);
    this.#tokens = tokens;
  }

  run(): void {
    let foreign = false;
    for (let token = this.#peek(); token !== undefined; token = this.#peek()) {
      const section = this.sections.at(-1);
      if (token.kind === 'section') this.#section(token);
      else if (section === undefined) {
        if (!foreign)
          this.#fault(
            token,
            `${shown(token.text)} stands before the first section; a file starts with *RESOURCES`,
          );
        foreign = true;
        this.#at += 1;
      } else if (section.name === 'RESOURCES') this.#resource(section, token);
      else this.#part(section, token);
    }
  }

  #peek(ahead = 0): Token | undefined {
    return this.#tokens[this.#at + ahead];
  }

  #fault(token: Token, message: string): void {
    if (token.kind !== 'bad') this.faults.add({ at: token, word: token.text, message });
  }

  #section(token: Token): void {
    this.#at += 1;
    this.sections.push({
      name: token.text,
      line: token.line,
      column: token.column,
      defaults: [],
      parameters: [],
      entries: [],
      target: undefined,
      inForce: [],
      indentedNames: false,
    });
    const next = this.#peek();
    if (next === undefined || next.first) return;
    this.#fault(
      next,
      `${shown(next.text)} stands on the line of *${token.text}; its entries start on the next line`,
    );
    this.#skipLine();
  }

  #skipLine(): void {
    for (let token = this.#peek(); token !== undefined && !token.first; token = this.#peek()) this.#at += 1;
  }

  /** `KEYWORD value`: the value on the same line, or alone on an indented one. */
  #resource(section: OpenSection, token: Token): void {
    this.#at += 1;
    const next = this.#peek();
    if (!token.first || !isName(token)) {
      const text = shown(token.text);
      this.#fault(token, `${text} is one word too many; a line of RESOURCES is KEYWORD value (a list: A,B)`);
      return;
    }
    if (token.kind === 'word' && token.text === 'DEFAULT:') {
      this.#fault(token, 'DEFAULT: has no place in RESOURCES; it is legal in every other section');
      return this.#skipLine();
    }
    if (next?.kind === 'equals' && !next.first) {
      const message = `${shown(token.text)} is followed by "="; in RESOURCES a line is KEYWORD value, without "="`;
      this.#fault(token, message);
      section.parameters.push({ key: toValue(token), value: badValue(token) });
      return this.#skipLine();
    }
    if (next === undefined || !isName(next) || (next.first && !this.#standsAlone(next))) {
      section.parameters.push({ key: toValue(token), value: badValue(token) });
      return this.#fault(token, `${shown(token.text)} has no value; a line of RESOURCES is KEYWORD value`);
    }
    section.parameters.push({ key: toValue(token), value: this.#value(next) });
  }

  #standsAlone(token: Token): boolean {
    const after = this.#peek(1);
    return token.indented && (after === undefined || after.first);
  }

  /** One part of a section that is not RESOURCES: a name, DEFAULT:, or KEY=value. */
  #part(section: OpenSection, token: Token): void {
    const next = this.#peek(1);
    if (token.kind === 'word' && next?.kind === 'equals') return this.#parameter(section, token);
    if (token.kind === 'word' && token.text === 'DEFAULT:' && token.first) return this.#default(section);
    if (token.first && isName(token) && this.#opensEntry(section, token)) return this.#entry(section, token);
    this.#at += 1;
    this.#stray(token, next);
  }

  #stray(token: Token, next: Token | undefined): void {
    const text = shown(token.text);
    if (token.kind === 'equals')
      return this.#fault(token, '"=" without a key; a value that holds "=" must stand in double quotes');
    if (token.kind === 'string' && next?.kind === 'equals') {
      return this.#fault(token, `"${text}" is a key in quotes; legal: KEY=value, the key without quotes`);
    }
    const where = token.first ? 'on an indented line' : 'after a name';
    this.#fault(token, `${text} is neither a key nor a value; legal ${where}: KEY=value`);
  }

  #opensEntry(section: OpenSection, token: Token): boolean {
    return !token.indented || section.target === undefined || section.indentedNames;
  }

  #default(section: OpenSection): void {
    this.#at += 1;
    const parameters: Parameter[] = [];
    section.defaults.push(parameters);
    section.inForce = parameters;
    section.target = parameters;
    section.indentedNames = false;
  }

  #entry(section: OpenSection, token: Token): void {
    this.#at += 1;
    const own: Parameter[] = [];
    section.entries.push({ name: toValue(token), own, defaults: section.inForce });
    section.target = own;
    section.indentedNames = token.indented;
  }

  #parameter(section: OpenSection, key: Token): void {
    const equals = this.#peek(1);
    this.#at += 2;
    const next = this.#peek();
    let value = badValue(key);
    if (next === undefined || !isName(next) || (next.first && !next.indented) || this.#isKey(equals, next)) {
      this.#fault(key, `${shown(key.text)} has no value; an empty one is written ${shown(key.text)}=""`);
    } else {
      value = this.#value(next);
      const after = this.#peek();
      if (after?.kind === 'equals' && !after.first) this.#refuseEquals(key, after);
    }
    if (section.target === undefined) {
      const text = shown(key.text);
      return this.#fault(
        key,
        `${text} stands before the first entry of *${section.name}; an entry is NAME KEY=value`,
      );
    }
    section.target.push({ key: toValue(key), value });
  }

  /** After `A=`, `B=` is the next key unless it is glued to the first "=": then it is a value that holds "=". */
  #isKey(equals: Token | undefined, next: Token): boolean {
    const glued = equals?.line === next.line && equals.column + 1 === next.column;
    return next.kind === 'word' && !glued && this.#peek(1)?.kind === 'equals';
  }

  #refuseEquals(key: Token, equals: Token): void {
    this.#fault(
      equals,
      `the value of ${shown(key.text)} holds "="; such a value must stand in double quotes`,
    );
    this.#at += 1;
    const rest = this.#peek();
    if (rest !== undefined && !rest.first && isName(rest)) this.#at += 1;
  }

  /** The value that starts with this token, the one at the cursor, with all that is joined to it by commas. */
  #value(head: Token): Value {
    const first = toValue(head);
    const items = [first];
    this.#at += 1;
    for (let comma = this.#peek(); comma?.kind === 'comma'; comma = this.#peek()) {
      const item = this.#peek(1);
      if (item === undefined || !isName(item) || (item.first && !item.indented)) {
        this.#at += 1;
        this.#fault(comma, 'nothing follows the comma; a list is A,B');
        break;
      }
      this.#at += 2;
      items.push(toValue(item));
    }
    if (items.length === 1) return first;
    const text = items.map((item) => item.text).join(',');
    return { ...first, text, raw: text, bad: items.some((item) => item.bad), items };
  }
}

function isName(token: Token): boolean {
  return token.kind === 'word' || token.kind === 'string' || token.kind === 'bad';
}

/** Stands in for a value that was reported, so that its key counts as given. */
function badValue(at: Spot): Value {
  return { text: '', raw: '', quoted: false, bad: true, items: [], line: at.line, column: at.column };
}

function toValue(token: Token): Value {
  const { text, raw, line, column } = token;
  return { text, raw, quoted: token.kind === 'string', bad: token.kind === 'bad', items: [], line, column };
}

/** The place of character `index` of a value's text, in the file. */
export function spotInside(value: Value, index: number): Spot {
  let start = 0;
  for (const item of value.items) {
    if (index <= start + item.text.length) return spotInside(item, index - start);
    start += item.text.length + 1;
  }
  let { line, column } = value;
  if (value.quoted) column += 1;
  let left = index;
  for (let at = 0; at < value.raw.length && left > 0;) {
    const code = value.raw.codePointAt(at) ?? 0;
    const next = value.raw[at + 1];
    const escaped = value.quoted && code === 0x5c && (next === '"' || next === '\\');
    const width = escaped || code > 0xffff ? 2 : 1;
    const lineEnd = code === 0x0a || (code === 0x0d && next !== '\n');
    left -= code > 0xffff ? 2 : 1;
    at += width;
    if (lineEnd) {
      line += 1;
      column = 1;
    } else if (code !== 0x0d) {
      column += escaped ? 2 : 1;
    }
  }
  return { line, column };
}
