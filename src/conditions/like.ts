// SQL LIKE: `%` is any characters, `_` is one [oracle-aq 4.2]. Time is at most the product of the two lengths, whatever the pattern: nothing
// from outside becomes a regular expression.

/** A pattern as its parts: a character, any one, any many. */
const ANY_ONE = Symbol('_');
const ANY_MANY = Symbol('%');
type Part = string | typeof ANY_ONE | typeof ANY_MANY;

/** Whether the text has a wildcard in it. */
export function isPattern(text: string): boolean {
  return text.includes('%') || text.includes('_');
}

export class Pattern {
  private readonly parts: readonly Part[];

  private constructor(parts: readonly Part[]) {
    this.parts = parts;
  }

  /**
   * @param escape one character, '' = none: what follows it stands for itself
   * @returns null: the escape is followed by nothing, or by what needs none
   */
  static of(text: string, escape = ''): Pattern | null {
    const parts: Part[] = [];
    const characters = Array.from(text);
    for (let i = 0; i < characters.length; i++) {
      const character = characters[i] as string;
      if (character === escape) {
        const next = characters[++i];
        if (next !== '%' && next !== '_' && next !== escape) return null;
        parts.push(next);
      } else if (character === '_') parts.push(ANY_ONE);
      else if (character !== '%') parts.push(character);
      else if (parts.at(-1) !== ANY_MANY) parts.push(ANY_MANY);
    }
    return new Pattern(parts);
  }

  matches(text: string): boolean {
    const { parts } = this;
    const characters = Array.from(text);
    let at = 0;
    let part = 0;
    // Where the last `%` stands, and how far it has reached.
    let many = -1;
    let reached = 0;
    while (at < characters.length) {
      const wanted = parts[part];
      if (wanted === ANY_MANY) {
        many = part++;
        reached = at;
      } else if (wanted !== undefined && (wanted === ANY_ONE || wanted === characters[at])) {
        at++;
        part++;
      } else if (many >= 0) {
        part = many + 1;
        at = ++reached;
      } else return false;
    }
    if (parts[part] === ANY_MANY) part++;
    return part === parts.length;
  }
}
