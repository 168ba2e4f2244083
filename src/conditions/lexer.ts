// A condition as words: names, numbers, strings and signs, each with its column. Reading never throws.

export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'sign' | 'end';
  /** A name as it was written; a string without its quotes. */
  readonly text: string;
  /** From 1 on, in characters of the text. */
  readonly column: number;
}

export interface Misread {
  readonly column: number;
  readonly message: string;
}

const NAME = /[\p{L}_][\p{L}\p{N}_$#]*/uy;
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const SIGN = /<=|>=|<>|!=|\^=|\|\||[=<>(),.+\-*/]/y;
const SPACE = /\s+/y;

/** The words of a condition, the last one `end`; or what cannot be read. */
export function tokensOf(text: string): readonly Token[] | Misread {
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0] ?? null;
  };
  while (at < text.length) {
    const column = at + 1;
    const space = take(SPACE);
    if (space !== null) {
      at += space.length;
      continue;
    }
    if (text[at] === "'" || text[at] === '"') {
      const end = endOfQuoted(text, at);
      if (end < 0) return { column, message: `what begins with ${text[at] ?? ''} has no end` };
      const quote = text[at] as string;
      const inner = text.slice(at + 1, end).replaceAll(quote + quote, quote);
      tokens.push({ kind: quote === '"' ? 'name' : 'string', text: inner, column });
      at = end + 1;
      continue;
    }
    const number = take(NUMBER);
    const name = number === null ? take(NAME) : null;
    const sign = number === null && name === null ? take(SIGN) : null;
    const found = number ?? name ?? sign;
    if (found === null)
      return { column, message: `${Array.from(text.slice(at))[0] ?? ''} has no meaning here` };
    tokens.push({ kind: kindOf(number, name), text: found, column });
    at += found.length;
  }
  tokens.push({ kind: 'end', text: '', column: text.length + 1 });
  return tokens;
}

function kindOf(number: string | null, name: string | null): Token['kind'] {
  if (number !== null) return 'number';
  return name === null ? 'sign' : 'name';
}

/** The closing quote: a doubled one is part of the text. -1: there is none. */
function endOfQuoted(text: string, from: number): number {
  const quote = text[from] as string;
  for (let at = text.indexOf(quote, from + 1); at >= 0; at = text.indexOf(quote, at + 2))
    if (text[at + 1] !== quote) return at;
  return -1;
}
