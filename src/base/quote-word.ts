// A word as a line of qmadmin must write it [spec 5.1]: in messages and listings, so that a name can be copied into a command. The inverse of
// what src/qmadmin/words.ts reads. Must not know what the word means.

const VISIBLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u;

/** A word as a line writes it: bare when it can be, else in double quotes. Names that only look alike are shown apart. */
export function quoteWord(word: string): string {
  const isComposed = word.normalize('NFC') === word;
  const characters = Array.from(word);
  const shows = (c: string): boolean => VISIBLE.test(c) && (isComposed || c < '\x7f') && c !== '\\';
  const isBare = characters.every((c) => shows(c) && c !== '"' && c !== "'") && !/^(?:$|[#!-])/.test(word);
  if (isBare) return word;
  const quoted = characters.map((c) => {
    if (c === '"') return String.raw`\"`;
    return c === ' ' || shows(c) ? c : `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`;
  });
  return `"${quoted.join('')}"`;
}
