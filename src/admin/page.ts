// One page of a long list: the first names after a given one, in the order of their bytes, found in one pass without sorting everything.
// Names that come or go between two pages neither repeat nor hide others.

export interface PageOfNames {
  readonly names: readonly string[];
  /** Whether there are names after these. */
  readonly more: boolean;
}

export function pageOfNames(all: Iterable<string>, after: string, limit: number): PageOfNames {
  const names: string[] = [];
  let more = false;
  for (const name of all) {
    if (!isBefore(after, name)) continue;
    if (names.length === limit) {
      more = true;
      if (!isBefore(name, names[limit - 1] as string)) continue;
      names.pop();
    }
    names.splice(placeOf(names, name), 0, name);
  }
  return { names, more };
}

/** How many of the sorted names come before this one. */
function placeOf(names: readonly string[], name: string): number {
  let low = 0;
  for (let high = names.length; low < high;) {
    const middle = (low + high) >> 1;
    if (isBefore(names[middle] as string, name)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether the bytes of `a` in UTF-8 come before those of `b`: as code points do, which a UTF-16 comparison gets wrong for surrogates. */
function isBefore(a: string, b: string): boolean {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left === right) continue;
    const isHigh = left >= 0xd800 && right >= 0xd800;
    return isHigh ? aboveAll(left) < aboveAll(right) : left < right;
  }
  return a.length < b.length;
}

/** Surrogates stand for what lies above every other unit. */
function aboveAll(unit: number): number {
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
