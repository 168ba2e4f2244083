// docs/from-tuxedo.md: its table of what differs or was assumed. It is well formed and says something in every cell; where TMQUEUE_SPEC, or
// ../shared beside the repository, has the specification, every mark **U** or **D** of a section is in a row of that section, by count.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const page = readFileSync(new URL('../../docs/from-tuxedo.md', import.meta.url), 'utf8');
const [, table = ''] = page.split('\n## What differs, or was assumed\n');
const rows = table
  .split('\n')
  .filter((line) => /^\| \d/.test(line))
  .map((line) => {
    const [, sections = '', marks = '', ...cells] = line.split('|');
    return { line, sections: sections.trim().split(', '), marks: Number(marks), cells: cells.slice(0, 3) };
  });

const beside = new URL('../../../shared/spec/tuxedo-q.md', import.meta.url).pathname;
const spec = process.env['TMQUEUE_SPEC'] ?? beside;

const HEADING = /^#{2,3} (\d+(?:\.\d+)?)[ .]/;
const MARK = /\*\*[UD](?:\/[UD])?\b[^*]*\*\*|\(U\)|\(U [^)]*\)|: U\]|\(D throughout/g;

/** Marks by section; those that explain what a mark means are none. */
function marksOf(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  let section = '';
  for (const line of text.split('\n')) {
    section = HEADING.exec(line)?.[1] ?? section;
    if (section === '0' && /^\| (?:plain text|\*\*[UD]\*\*) \|/.test(line)) continue;
    const found = line.match(MARK)?.length ?? 0;
    if (found > 0) counts.set(section, (counts.get(section) ?? 0) + found);
  }
  return counts;
}

/** How many marks the rows of these sections are about. */
const inRows = (sections: readonly string[]): number =>
  rows
    .filter((row) => row.sections.some((section) => sections.includes(section)))
    .reduce((sum, { marks }) => sum + marks, 0);

describe('the table', () => {
  it('says in every row what is open, what is done here, and where more stands', () => {
    expect(rows.length).toBeGreaterThan(80);
    const incomplete = rows.filter(
      ({ marks, cells }) => !(marks > 0) || cells.length !== 3 || cells.some((cell) => cell.trim() === ''),
    );
    expect(incomplete.map(({ line }) => line)).toEqual([]);
  });
});

it('marks are found in a made-up specification', () => {
  const text =
    '## 0. Legend\n| **U** | unknown |\n**D: one**\n### 1.1 A\n(**U** code) and (U)\n## 11. Kernel (D throughout)\nUD';
  expect([...marksOf(text)]).toEqual([
    ['0', 1],
    ['1.1', 2],
    ['11', 1],
  ]);
});

it.skipIf(!existsSync(spec))('every marked point of the specification is in the table', () => {
  const marks = marksOf(readFileSync(spec, 'utf8'));
  const named = new Set(rows.flatMap(({ sections }) => sections));
  expect([...named].filter((section) => !marks.has(section))).toEqual([]);
  expect([...marks.keys()].filter((section) => !named.has(section))).toEqual([]);
  // Sections that share a row are counted together.
  const groups: string[][] = [];
  for (const { sections } of rows) {
    const known = groups.find((group) => group.some((section) => sections.includes(section)));
    if (known === undefined) groups.push([...sections]);
    else known.push(...sections.filter((section) => !known.includes(section)));
  }
  const counted = groups.map((group) => [
    group.join(', '),
    group.reduce((sum, section) => sum + (marks.get(section) ?? 0), 0),
  ]);
  expect(groups.map((group) => [group.join(', '), inRows(group)])).toEqual(counted);
});
