// A line of qmadmin to its words, and a word to the way in which a line must write it [spec 5.1]: the two are inverse, so a name in a
// listing can be copied into a command. Must not know what the words mean.
export { quoteWord } from '../base/quote-word.ts';

export type Split =
  | { readonly ok: true; readonly words: readonly string[] }
  /** A quote that is never closed, or an escape that names no character. */
  | { readonly ok: false; readonly problem: string };

/** `\u{…}` inside double quotes: a character by its number in hexadecimal digits. */
const ESCAPE = /^\\u\{([0-9a-fA-F]{1,6})\}/;
const CODE_POINT_MAX = 0x10_ff_ff;

/**
 * Blanks and tabs separate words. Double quotes group, with `\"` for the quote itself; single quotes group without exception; `''` and `""`
 * are an empty word. Quoted and bare parts that touch are one word.
 */
export function splitLine(line: string): Split {
  const words: string[] = [];
  let at = 0;
  for (;;) {
    while (isBlank(line[at])) at++;
    if (at >= line.length) return { ok: true, words };
    let word = '';
    while (at < line.length && !isBlank(line[at])) {
      const part = readPart(line, at);
      if ('problem' in part) return { ok: false, problem: part.problem };
      word += part.text;
      at = part.end;
    }
    words.push(word);
  }
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}

type Part = { readonly text: string; readonly end: number } | { readonly problem: string };

function readPart(line: string, at: number): Part {
  const quote = line[at];
  if (quote === '"') return readDoubleQuoted(line, at);
  if (quote !== "'") return { text: quote ?? '', end: at + 1 };
  const end = line.indexOf("'", at + 1);
  return end < 0 ? unclosed(at) : { text: line.slice(at + 1, end), end: end + 1 };
}

function readDoubleQuoted(line: string, start: number): Part {
  let text = '';
  let at = start + 1;
  for (;;) {
    const character = line[at];
    if (character === undefined) return unclosed(start);
    if (character === '"') return { text, end: at + 1 };
    const escape = character === '\\' ? ESCAPE.exec(line.slice(at, at + 10)) : null;
    if (escape !== null) {
      const code = Number.parseInt(escape[1] ?? '', 16);
      if (code > CODE_POINT_MAX) return { problem: `${escape[0]} is no character` };
      text += String.fromCodePoint(code);
      at += escape[0].length;
    } else {
      const isQuote = character === '\\' && line[at + 1] === '"';
      text += isQuote ? '"' : character;
      at += isQuote ? 2 : 1;
    }
  }
}

function unclosed(at: number): Part {
  return { problem: `the quote in column ${at + 1} is never closed` };
}
