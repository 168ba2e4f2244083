// What is wrong in a configuration file and where. Owns the type Fault, its printed form and its order; must not know what any
// section or parameter means. Lines and columns count from 1; a column counts characters, not bytes. Line 0 means the whole file.

/** A place in the file. */
export interface Spot {
  readonly line: number;
  readonly column: number;
}

/** One finding: the word it is about, and a message that says what is wrong and what would be legal. */
export interface Fault extends Spot {
  readonly file: string;
  readonly word: string;
  readonly message: string;
}

/** What a check knows when it finds something; the list adds the file. */
export interface Finding {
  readonly at: Spot;
  readonly word: string;
  readonly message: string;
}

/** Findings kept of one kind: a file of garbage must not fill the memory. */
export const FINDINGS_MAX = 1000;

const WORD_SHOWN_MAX = 60;
const LIST_SHOWN_MAX = 20;

/** `file:line:column: message`, the form editors understand. */
export function formatFault(fault: Fault): string {
  if (fault.line === 0) return `${fault.file}: ${fault.message}`;
  return `${fault.file}:${fault.line}:${fault.column}: ${fault.message}`;
}

/** By line, then column; findings at one place keep the order in which they were made. */
export function sortFaults<T extends Fault>(faults: readonly T[]): T[] {
  return faults.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

/** A word as it may stand in a message: one line, no control characters, not endless. */
export function shown(word: string): string {
  const points = Array.from(word, (c) => (c < ' ' || c === '\x7f' ? '?' : c));
  return points.length <= WORD_SHOWN_MAX ? points.join('') : `${points.slice(0, WORD_SHOWN_MAX).join('')}…`;
}

/** Names that would be legal, for a message: the first ones when there are many. */
export function shownList(words: readonly string[]): string {
  if (words.length === 0) return 'none is defined';
  const some = words.slice(0, LIST_SHOWN_MAX).map(shown).join(', ');
  return words.length <= LIST_SHOWN_MAX ? some : `${some} … (${words.length} in all)`;
}

/** Collects findings about one file. The same message at the same place is kept once. */
export class FaultList {
  readonly file: string;
  readonly #items: Fault[] = [];
  readonly #seen = new Set<string>();

  constructor(file: string) {
    this.file = file;
  }

  add(finding: Finding): void {
    const { at, word, message } = finding;
    const key = `${at.line}:${at.column}:${message}`;
    if (this.#seen.has(key) || this.#items.length >= FINDINGS_MAX) return;
    this.#seen.add(key);
    this.#items.push({ file: this.file, line: at.line, column: at.column, word: shown(word), message });
  }

  get size(): number {
    return this.#items.length;
  }

  sorted(): Fault[] {
    return sortFaults(this.#items);
  }
}
