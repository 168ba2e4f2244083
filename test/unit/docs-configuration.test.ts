// docs/configuration.md against the table of parameters, both ways: every parameter of every section has its row with the legal values, the
// default and what becomes of it here; and the list of what start refuses is the list in the code.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { NOT_YET } from '../../src/ubb/not-yet.ts';
import { PARAMETERS, type Rule } from '../../src/ubb/parameters.ts';

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');

/** The text under a heading, up to the next of its level. */
function under(heading: string): string {
  const at = page.indexOf(`\n## ${heading}\n`);
  expect(at, heading).toBeGreaterThan(0);
  const rest = page.slice(at + heading.length + 5);
  return rest.split('\n## ')[0] ?? '';
}

const isMode = (rule: Rule): boolean => rule.type === 'number' && rule.max === 0o777;

function legal(rule: Rule): string {
  switch (rule.type) {
    case 'number':
      return isMode(rule) ? '0001..0777' : `${rule.min}..${rule.max}`;
    case 'flag':
      return 'Y, N';
    case 'choice':
      return rule.choices.join(', ');
    case 'choices':
      return `list of ${rule.choices.join(', ')}`;
    case 'text':
      return `${rule.min}..${rule.max} bytes`;
    case 'names':
      return rule.countMax === 1
        ? `a name of 1..${rule.bytesMax} bytes`
        : `1..${rule.countMax} names of 1..${rule.bytesMax} bytes`;
    case 'size':
      return 'number with b, B, k, m, g';
    default:
      return 'anything';
  }
}

/** Defaults that depend on something else; what they come to is tested in ubb-printed.test.ts. */
const DERIVED: Record<string, string> = {
  'RESOURCES UID': "the caller's",
  'RESOURCES GID': "the caller's",
  'RESOURCES BLOCKTIME': 'about 60 s',
  'RESOURCES SANITYSCAN': 'about 120 s',
  'RESOURCES BBLQUERY': 'about 300 s',
  'RESOURCES DBBLWAIT': 'about 20 s',
  'SERVERS MAX': 'MIN',
  'SERVERS SEQUENCE': 'order of the file',
  ...Object.fromEntries(
    ['UID', 'GID', 'PERM', 'MAXACCESSERS', 'MAXCONV', 'MAXGTT'].map((key) => [
      `MACHINES ${key}`,
      'that of RESOURCES',
    ]),
  ),
};

function fallback(section: string, key: string, rule: Rule): string {
  if (rule.required) return 'required';
  const derived = DERIVED[`${section} ${key}`];
  if (derived !== undefined) return derived;
  if (rule.type === 'flag') return rule.fallback ? 'Y' : 'N';
  if (isMode(rule)) return `0${rule.fallback.toString(8)}`;
  if (rule.fallback === '') return rule.type === 'text' && rule.min === 0 ? 'empty' : 'none';
  return String(rule.fallback);
}

function statusOf(said: string): Rule['status'] {
  if (said.startsWith('No meaning here.')) return 'no meaning here';
  return said.startsWith('Not yet in effect:') ? 'not yet in effect' : 'effective';
}

test.each(Object.entries(PARAMETERS))('*%s', (section, rules) => {
  // Rows of the table of parameters: the first cell is a keyword, or several.
  const rows = [...under(`*${section}`).matchAll(/^\| ([A-Z_]+(?:, [A-Z_]+)*) \| (.*) \| (.*) \| (.*) \|$/gm)]
    .filter((row) => !/^(TMQUEUE|TMQFORWARD|WSL)$/.test(row[1] ?? ''))
    .flatMap(([, keys = '', range = '', given = '', said = '']) =>
      keys.split(', ').map((key) => `${key}: ${range}: ${given}: ${statusOf(said)}`),
    );
  const expected = Object.entries(rules).map(
    ([key, rule]) => `${key}: ${legal(rule)}: ${fallback(section, key, rule)}: ${rule.status}`,
  );
  expect(rows.sort()).toEqual(expected.sort());
});

test('what start refuses for now', () => {
  const listed = [...under('What `start` refuses for now').matchAll(/^- (.+)$/gm)].map((item) => item[1]);
  expect(listed).toEqual(Object.values(NOT_YET));
});
