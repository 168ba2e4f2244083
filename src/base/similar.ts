// Which known word a misspelt one may stand for. Used to hint at it, and to not complain twice: about the unknown word and about the
// missing one. Must not know what the words mean.

const CHANGES_MAX = 2;

/** The nearest of the words, when at most two letters differ. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = CHANGES_MAX + 1;
  for (const candidate of words) {
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const changes = distance(word.toUpperCase(), candidate);
    if (changes < least) {
      least = changes;
      best = candidate;
    }
  }
  return best;
}

/** Letters to put in, take out or replace (Levenshtein), one row at a time. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
