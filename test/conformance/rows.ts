// Which rows of the specification have a test: reads the specification's tables, lists and rules as data, and the tags `[spec 1.6: first
// cell]` of the tests below q/. Run as `node dist/test/conformance/rows.js tuxedo-q.md`; it ends with 1 when a row has neither a test nor
// a reason, or when a tag or a reason names no row. Invariant: a row's name is its first cell without markup; a cell that occurs twice in
// a section is followed by ` / ` and the second cell. Must not know what the rows say.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WITHOUT_TEST } from './without-test.ts';

/** The sections whose rows must have tests. */
export const SECTIONS: readonly string[] =
  '1.2 1.3 1.4 1.5 1.6 2.2 2.3 2.4 2.5 2.6 2.7 5.5 5.6 8.2 8.3 8.4 8.7'.split(' ');

export interface Coverage {
  /** Rows with neither a test nor a reason. */
  readonly untested: readonly string[];
  /** Rows with a reason instead of a test. */
  readonly excused: readonly string[];
  /** Tags and reasons that name no row. */
  readonly unknown: readonly string[];
  /** Rows that have both a test and a reason. */
  readonly needless: readonly string[];
  readonly tested: number;
}

/** Every row of the sections, as `1.6: first cell`. */
export function specRows(text: string, sections: readonly string[] = SECTIONS): string[] {
  return sections.flatMap((section) => {
    const cells = cellsOf(sectionText(text, section));
    return cells.map(([first, second]) => {
      const twice = cells.filter(([other]) => other === first).length > 1;
      return `${section}: ${twice ? `${first} / ${second}` : first}`;
    });
  });
}

/** The rows that a test's source names. */
export function tagsOf(source: string): string[] {
  return [...source.matchAll(/\[spec (\d+\.\d+): ([^\]]+)\]/g)].map(
    ([, section, cell]) => `${section}: ${plain(cell ?? '')}`,
  );
}

export function coverage(
  rows: readonly string[],
  tags: readonly string[],
  reasons: Readonly<Record<string, string>>,
): Coverage {
  const tested = new Set(tags);
  const known = new Set(rows);
  const named = [...new Set([...tags, ...Object.keys(reasons)])];
  return {
    untested: rows.filter((row) => !tested.has(row) && !(row in reasons)),
    excused: rows.filter((row) => !tested.has(row) && row in reasons),
    unknown: named.filter((row) => !known.has(row)),
    needless: rows.filter((row) => tested.has(row) && row in reasons),
    tested: rows.filter((row) => tested.has(row)).length,
  };
}

/** The tags of every test of a folder. */
export function tagsBelow(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .flatMap((name) => tagsOf(readFileSync(join(folder, name), 'utf8')));
}

export function coverageOf(specFile: string): Coverage {
  const rows = specRows(readFileSync(specFile, 'utf8'));
  return coverage(rows, tagsBelow(join(REPOSITORY, 'test/conformance/q')), WITHOUT_TEST);
}

/** This file runs compiled, below dist, or from a test, in place. */
const REPOSITORY = import.meta.dirname.replace(/(\/dist)?\/test\/conformance$/, '');

/** What stands between a section's heading and the next heading. */
function sectionText(text: string, section: string): string {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`### ${section} `));
  if (start < 0) return '';
  const length = lines.slice(start + 1).findIndex((line) => /^#{1,3} /.test(line));
  return lines.slice(start + 1, length < 0 ? undefined : start + 1 + length).join('\n');
}

/** First and second cell of table rows; list items up to their first stop; rules (`if …`, `else …`) of code blocks up to their arrow. */
function cellsOf(text: string): [first: string, second: string][] {
  const cells: [string, string][] = [];
  let [inCode, inTable] = [false, false];
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) inCode = !inCode;
    const isRow = !inCode && line.startsWith('|');
    const item = /^\s*(?:-|\d+\.) (.*)$/.exec(line)?.[1];
    if (isRow && inTable && !/^\|[-:| ]+$/.test(line)) {
      const [, first = '', second = ''] = line.split('|');
      cells.push([plain(first), plain(second)]);
    } else if (inCode && /^(if|else) /.test(line)) cells.push([plain(line.replace(/->.*/, '')), '']);
    else if (!inCode && item !== undefined) cells.push([itemName(item), '']);
    inTable = isRow;
  }
  return cells;
}

function itemName(item: string): string {
  const text = plain(item).replace(/^[UD]: /, '');
  return text.replace(/(?:[:.;,](?: .*)?| \(.*| -> .*)$/, '').replace(/[:.;,] .*$|\(.*$/, '');
}

/** Without emphasis, code marks and doubled blanks. */
function plain(cell: string): string {
  return cell.replace(/[*`]/g, '').replace(/\s+/g, ' ').trim();
}

function main(specFile: string | undefined): void {
  if (specFile === undefined) {
    console.error('usage: node dist/test/conformance/rows.js tuxedo-q.md');
    process.exitCode = 2;
    return;
  }
  const { untested, excused, unknown, needless, tested } = coverageOf(specFile);
  for (const row of untested) console.log(`no test: ${row}`);
  for (const row of unknown) console.log(`no such row: ${row}`);
  for (const row of needless) console.log(`has a test, needs no reason: ${row}`);
  for (const row of excused) console.log(`without a test: ${row}: ${WITHOUT_TEST[row]}`);
  console.log(`${tested} rows with a test, ${excused.length} with a reason, ${untested.length} with neither`);
  if (untested.length + unknown.length + needless.length > 0) process.exitCode = 1;
}

if (process.argv[1] === import.meta.filename) main(process.argv[2]);
