// Bytes of a UBBCONFIG to tokens with line and column [spec 6.1, ubb-syntax]. Owns quotes, escapes, comments, line ends, the byte
// order mark, and what counts as foreign text; must not know sections or parameters. Every token says whether it opens its line and
// whether that line is indented, so that the parser can tell an entry from a continuation.
//
// Foreign text never stops the run when the damage ends with its line: the rest of that line is skipped and `complete` is false, which
// tells later checks not to complain about what may have stood there. An open quote and binary data end the reading.

import { FaultList, type Fault, shown, type Spot } from './fault.ts';

export type TokenKind = 'section' | 'word' | 'string' | 'equals' | 'comma' | 'bad';

export interface Token extends Spot {
  readonly kind: TokenKind;
  /** What it means: without quotes and escapes; a section's name without the asterisk. */
  readonly text: string;
  /** What stands between the quotes of a string before escapes are resolved; else the same as `text`. */
  readonly raw: string;
  /** First on its line. */
  readonly first: boolean;
  /** Its line starts with a blank or tab; means something only when `first`. */
  readonly indented: boolean;
}

export interface Lexed {
  readonly tokens: readonly Token[];
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
  /** Nothing was skipped: what is not among the tokens is not in the file. */
  readonly complete: boolean;
}

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const BLANK = 0x20;
const QUOTE = 0x22;
const HASH = 0x23;
const STAR = 0x2a;
const COMMA = 0x2c;
const SLASH = 0x2f;
const LESS = 0x3c;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;

const WORD_BYTES = new Set(
  Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@$%+-~', (c) =>
    c.charCodeAt(0),
  ),
);
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const strictDecoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

export function lex(file: string, bytes: Uint8Array): Lexed {
  return new Lexer(file, bytes).run();
}

class Lexer {
  readonly #bytes: Uint8Array;
  readonly #faults: FaultList;
  readonly #warnings: FaultList;
  readonly #tokens: Token[] = [];
  #at = 0;
  #line = 1;
  #column = 1;
  #first = true;
  #complete = true;

  constructor(file: string, bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#faults = new FaultList(file);
    this.#warnings = new FaultList(file);
  }

  run(): Lexed {
    if (this.#bytes[0] === 0xef && this.#bytes[1] === 0xbb && this.#bytes[2] === 0xbf) this.#at = 3;
    while (this.#at < this.#bytes.length) this.#next();
    return {
      tokens: this.#tokens,
      faults: this.#faults.sorted(),
      warnings: this.#warnings.sorted(),
      complete: this.#complete,
    };
  }

  #next(): void {
    const byte = this.#peek();
    if (isBlank(byte) || isLineEnd(byte)) this.#step();
    else if (byte === HASH) this.#skipLine();
    else if (byte === QUOTE) this.#string();
    else if (byte === EQUALS) this.#single('equals');
    else if (byte === COMMA) this.#single('comma');
    else if (byte === STAR && this.#first) this.#section();
    else if (byte === SLASH && this.#peek(1) === STAR) this.#cComment();
    else if (byte === LESS) this.#placeholder();
    else if (byte === BACKSLASH) this.#backslash();
    else if (WORD_BYTES.has(byte)) this.#word();
    else if (byte < BLANK || byte === 0x7f) this.#binary();
    else if (byte >= 0x80) this.#nonAscii();
    else this.#foreign();
  }

  /** The byte `ahead` places on; -1 after the end. */
  #peek(ahead = 0): number {
    return this.#bytes[this.#at + ahead] ?? -1;
  }

  /** One byte on; CR LF is one line end, a CR or LF alone is one too. */
  #step(): void {
    const byte = this.#peek();
    this.#at += 1;
    if (byte === LF || (byte === CR && this.#peek() !== LF)) {
      this.#line += 1;
      this.#column = 1;
      this.#first = true;
    } else if ((byte & 0xc0) !== 0x80 && byte !== CR) {
      this.#column += 1;
    }
  }

  #stepTo(end: number): void {
    while (this.#at < end) this.#step();
  }

  #skipLine(): void {
    while (this.#at < this.#bytes.length && !isLineEnd(this.#peek())) this.#step();
  }

  #spot(): Spot {
    return { line: this.#line, column: this.#column };
  }

  #text(from: number, to: number): string {
    return decoder.decode(this.#bytes.subarray(from, to));
  }

  #push(kind: TokenKind, at: Spot, content: string | { text: string; raw: string }): void {
    const { text, raw } = typeof content === 'string' ? { text: content, raw: content } : content;
    const first = this.#first;
    this.#tokens.push({
      kind,
      text,
      raw,
      first,
      indented: first && at.column > 1,
      line: at.line,
      column: at.column,
    });
    this.#first = false;
  }

  #single(kind: TokenKind): void {
    const at = this.#spot();
    this.#push(kind, at, String.fromCharCode(this.#peek()));
    this.#step();
  }

  #section(): void {
    let end = this.#at + 1;
    while (isNameByte(this.#bytes[end] ?? -1)) end += 1;
    if (end === this.#at + 1) return this.#foreign();
    const at = this.#spot();
    this.#push('section', at, this.#text(this.#at + 1, end));
    this.#stepTo(end);
  }

  #word(): void {
    let end = this.#at;
    for (;;) {
      const byte = this.#bytes[end] ?? -1;
      const braced = byte === 0x24 ? bracedMacroEnd(this.#bytes, end) : 0;
      if (braced > 0) end = braced;
      else if (WORD_BYTES.has(byte)) end += 1;
      else break;
    }
    const text = this.#text(this.#at, end);
    if (text === '//' || (this.#first && text.startsWith('//'))) return this.#foreign();
    this.#push('word', this.#spot(), text);
    this.#stepTo(end);
  }

  #string(): void {
    const at = this.#spot();
    const firstLine = this.#line;
    const first = this.#first;
    const start = this.#at + 1;
    const value: number[] = [];
    this.#step();
    for (let byte = this.#peek(); byte !== QUOTE; byte = this.#peek()) {
      if (byte === -1) {
        this.#first = first;
        this.#push('bad', at, '"');
        return this.#openQuote(at, 'is never closed; a value in quotes ends with another double quote');
      }
      const next = this.#peek(1);
      if (byte === BACKSLASH && (next === QUOTE || next === BACKSLASH)) this.#step();
      else if (byte === BACKSLASH && isLineEnd(next)) this.#warnBackslash();
      else if (byte < BLANK && !isBlank(byte) && !isLineEnd(byte)) {
        this.#faults.add({ at: this.#spot(), word: '', message: controlMessage(byte) });
      }
      value.push(this.#peek());
      this.#step();
    }
    const raw = this.#text(start, this.#at);
    this.#step();
    const text = this.#decodeValue(Uint8Array.from(value), at);
    this.#first = first;
    this.#push('string', at, { text, raw });
    this.#checkClosing(at, this.#line > firstLine, raw);
  }

  /** After a closing quote only a blank, a line end, a comma, `=` or a comment may stand; else a quote before it was left open. */
  #checkClosing(at: Spot, overLines: boolean, raw: string): void {
    const byte = this.#peek();
    const glued = !(
      byte === -1 ||
      isBlank(byte) ||
      isLineEnd(byte) ||
      byte === COMMA ||
      byte === EQUALS ||
      byte === HASH
    );
    if (overLines && (glued || /[\r\n][^\r\n]*[A-Z_]\s*=\s*$/.test(raw))) {
      const end = `line ${this.#line}, column ${this.#column - 1}`;
      return this.#openQuote(
        at,
        `is perhaps not closed: it would end at ${end}, where another value seems to begin`,
      );
    }
    if (glued) {
      const message = 'a blank must follow the closing quote; a quote inside quotes is written \\"';
      this.#faults.add({ at: this.#spot(), word: '"', message });
    }
  }

  #openQuote(at: Spot, what: string): void {
    this.#faults.add({ at, word: '"', message: `the quote opened here ${what}` });
    this.#stop();
  }

  #stop(): void {
    this.#at = this.#bytes.length;
    this.#complete = false;
  }

  #decodeValue(value: Uint8Array, at: Spot): string {
    try {
      return strictDecoder.decode(value);
    } catch {
      const text = decoder.decode(value);
      this.#faults.add({ at, word: text, message: 'the value is not valid UTF-8' });
      return text;
    }
  }

  #warnBackslash(): void {
    const message =
      'a backslash at the end of a line does not join lines; inside quotes it is kept, and so is the line end';
    this.#warnings.add({ at: this.#spot(), word: '\\', message });
  }

  #backslash(): void {
    if (!this.#restIsBlank(this.#at + 1)) return this.#foreign();
    const message = 'a backslash does not continue a line; indent the next line by a blank or tab instead';
    this.#faults.add({ at: this.#spot(), word: '\\', message });
    this.#step();
  }

  #restIsBlank(from: number): boolean {
    let end = from;
    while (isBlank(this.#bytes[end] ?? -1)) end += 1;
    const byte = this.#bytes[end] ?? -1;
    return byte === -1 || isLineEnd(byte);
  }

  /** `<…>` on one line stands for a value that was never filled in. */
  #placeholder(): void {
    let end = this.#at + 1;
    while (end < this.#bytes.length && !isLineEnd(this.#bytes[end] ?? -1) && this.#bytes[end] !== 0x3e)
      end += 1;
    if (this.#bytes[end] !== 0x3e || end === this.#at + 1) return this.#foreign();
    const at = this.#spot();
    const text = this.#text(this.#at, end + 1);
    const message = `${shown(text)} is a placeholder: replace it, brackets included, by a value`;
    this.#faults.add({ at, word: text, message });
    this.#push('bad', at, text);
    this.#stepTo(end + 1);
  }

  #cComment(): void {
    this.#faults.add({
      at: this.#spot(),
      word: '/*',
      message: '/* */ is not a comment here; a comment starts with #',
    });
    this.#complete = false;
    let end = this.#at + 2;
    while (end < this.#bytes.length && !(this.#bytes[end - 1] === STAR && this.#bytes[end] === SLASH))
      end += 1;
    if (end >= this.#bytes.length) this.#stop();
    else this.#stepTo(end + 1);
  }

  #nonAscii(): void {
    let end = this.#at;
    while (end < this.#bytes.length && (this.#bytes[end] ?? 0) > BLANK && !isSyntax(this.#bytes[end] ?? -1))
      end += 1;
    const text = this.#text(this.#at, end);
    if (text.includes('\ufffd')) return this.#binary();
    const at = this.#spot();
    const message = `${shown(text)}: letters outside ASCII must stand in double quotes`;
    this.#faults.add({ at, word: text, message });
    this.#complete = false;
    this.#push('bad', at, text);
    this.#stepTo(end);
  }

  #binary(): void {
    const hex = this.#peek().toString(16).padStart(2, '0');
    const message = `byte 0x${hex} does not belong in a text file (ASCII or UTF-8 is expected); reading stops here`;
    this.#faults.add({ at: this.#spot(), word: '', message });
    this.#stop();
  }

  /** Text that is no UBBCONFIG: shell, C, prose. The rest of its line is skipped. */
  #foreign(): void {
    const at = this.#spot();
    const from = this.#at;
    this.#skipLine();
    const word = this.#text(from, this.#at).split(/\s/, 1)[0] ?? '';
    const message = word.startsWith('//')
      ? '// is not a comment here; a comment starts with #'
      : `${shown(word)} is no UBBCONFIG text; legal: *SECTION, NAME KEY=value, "text in quotes", # comment`;
    this.#faults.add({ at, word, message });
    this.#complete = false;
  }
}

function isBlank(byte: number): boolean {
  return byte === BLANK || byte === TAB || byte === 0x0b || byte === 0x0c;
}

function isLineEnd(byte: number): boolean {
  return byte === LF || byte === CR;
}

function isSyntax(byte: number): boolean {
  return byte === EQUALS || byte === COMMA || byte === QUOTE || byte === HASH;
}

function isNameByte(byte: number): boolean {
  return (
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x5f
  );
}

/** Where `${NAME}` that starts at `at` ends; 0 when it is none. */
function bracedMacroEnd(bytes: Uint8Array, at: number): number {
  if (bytes[at + 1] !== 0x7b) return 0;
  let end = at + 2;
  while (isNameByte(bytes[end] ?? -1)) end += 1;
  return bytes[end] === 0x7d && end > at + 2 ? end + 1 : 0;
}

function controlMessage(byte: number): string {
  return `byte 0x${byte.toString(16).padStart(2, '0')} may not stand in a value; legal are printable characters, tab and line end`;
}
