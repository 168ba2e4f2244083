// The reader of rows against a made-up specification, and, where TMQUEUE_SPEC names the real one, that no row of it is forgotten.
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { coverage, coverageOf, specRows, tagsOf } from './rows.ts';

const MADE_UP = `# A specification
### 1.1 Not asked for
| a | b |
|---|---|
| hidden | x |
### 1.2 Tables
Text that is no row.

| flag | meaning |
|---|---|
| \`TPQX\` | one |
| **TPQY** *and* more | two |

| caller | flag |
|:--|---|
| in transaction | - |
| in transaction | TPNOTRAN |
| none | any |
### 1.3 Lists
- First: and its text,
  which goes on.
  - **D** (switchable) nested; text.
- **D**: a decision (with a reason), and more
1. Numbered. Text
\`\`\`
if one thing      -> this
else that
  - no item
| no | row |
\`\`\`
## 2 Elsewhere
- not in 1.3
`;

describe('rows of a specification', () => {
  it('are the first cells of tables; the second too where the first occurs twice', () => {
    expect(specRows(MADE_UP, ['1.2'])).toEqual([
      '1.2: TPQX',
      '1.2: TPQY and more',
      '1.2: in transaction / -',
      '1.2: in transaction / TPNOTRAN',
      '1.2: none',
    ]);
  });

  it('are list items up to their first stop, and rules of code blocks', () => {
    expect(specRows(MADE_UP, ['1.3'])).toEqual([
      '1.3: First',
      '1.3: D',
      '1.3: a decision',
      '1.3: Numbered',
      '1.3: if one thing',
      '1.3: else that',
    ]);
  });

  it('of a section that is not there: none', () => {
    expect(specRows(MADE_UP, ['9.9'])).toEqual([]);
  });

  it('are named by tags, whatever their markup', () => {
    const source =
      "it('[spec 1.2: `TPQX`] says', () => {}); // [spec 1.2] is no tag\nit('[spec 1.2: none] x')";
    expect(tagsOf(source)).toEqual(['1.2: TPQX', '1.2: none']);
  });
});

it('what is untested, excused, unknown and needlessly excused is told apart', () => {
  const reasons = { '1.1: b': 'because', '1.1: a': 'needless', '1.1: y': 'no such row' };
  expect(coverage(['1.1: a', '1.1: b', '1.1: c'], ['1.1: a', '1.1: a', '1.1: x'], reasons)).toEqual({
    untested: ['1.1: c'],
    excused: ['1.1: b'],
    unknown: ['1.1: x', '1.1: y'],
    needless: ['1.1: a'],
    tested: 1,
  });
});

const spec = process.env['TMQUEUE_SPEC'] ?? '';
it.skipIf(!existsSync(spec))('every row of the specification has a test or a reason', () => {
  const { untested, unknown, needless } = coverageOf(spec);
  expect({ untested, unknown, needless }).toEqual({ untested: [], unknown: [], needless: [] });
});
