// The list of peer scenarios against the tests of this folder and, where TMQUEUE_SPEC names the specification, against peer-scenarios.md
// beside it: none is missing, and none is told twice.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SCENARIOS } from './scenarios.ts';

const entries = Object.entries(SCENARIOS);
/** The ids that the sources of these tests name as the first argument of `scenario`. */
const tested = new Set(
  readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.test.ts'))
    .flatMap((name) => [
      ...readFileSync(join(import.meta.dirname, name), 'utf8').matchAll(/scenario\(\s*'(T\d+-\d+)'/g),
    ])
    .map(([, id]) => id ?? ''),
);

/** Ids and names of the rows of the tables; T82's are told in one row, without numbers of their own. */
function rowsOf(spec: string): string[] {
  return [...spec.matchAll(/^\| (T\d+-\d+) ([^|]+?) \|/gm)].map(([, id, name]) => `${id} ${name}`);
}

describe('the list of peer scenarios', () => {
  it('has a test for each that is not without meaning, and for no other', () => {
    const expected = entries.filter(([, { noMeaning }]) => noMeaning === undefined);
    const missing = expected.filter(([id]) => !tested.has(id)).map(([id]) => id);
    const needless = [...tested].filter((id) => SCENARIOS[id]?.noMeaning !== undefined || !(id in SCENARIOS));
    expect({ missing, needless }).toEqual({ missing: [], needless: [] });
  });

  it('gives a reason for each that is', () => {
    expect(entries.filter(([, { noMeaning }]) => noMeaning === '')).toEqual([]);
  });

  it('is numbered without a gap', () => {
    const families = [...new Set(entries.map(([id]) => id.slice(0, 3)))];
    expect(families).toEqual(['T28', 'T86', 'T67', 'T82', 'T89']);
    for (const family of families) {
      const ids = entries.map(([id]) => id).filter((id) => id.startsWith(family));
      expect(ids).toEqual(ids.map((_, i) => `${family}-${String(i + 1).padStart(2, '0')}`));
    }
  });
});

/** Without the mark of a restart. */
const spelt = (row: string): string => row.replace(/[*⟲ ]+/g, ' ').trim();
const spec = join(dirname(process.env['TMQUEUE_SPEC'] ?? ''), 'peer-scenarios.md');
it.skipIf(!existsSync(spec))('the list has every row of peer-scenarios.md, by its name', () => {
  const rows = rowsOf(readFileSync(spec, 'utf8')).filter((row) => /^T(28|86|67|89)-/.test(row));
  const listed = entries.filter(([id]) => !id.startsWith('T82')).map(([id, { name }]) => `${id} ${name}`);
  expect(rows.map(spelt).toSorted()).toEqual(listed.toSorted());
});
