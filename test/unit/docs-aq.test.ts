// docs/aq.md against the code: every constant with its number, every error with its text and what it is in /Q.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DBMS_AQ, DBMS_AQADM } from '../../proto/aq/constants.ts';
import { AQ_ERRORS, aqFailure } from '../../proto/aq/errors.ts';
import { AQ } from '../../proto/aq/verbs.ts';
import { qmeName, tperrnoName } from '../../proto/codes.ts';

const TEXT = readFileSync(new URL('../../docs/aq.md', import.meta.url), 'utf8');
const PROTOCOL = readFileSync(new URL('../../proto/PROTOCOL.md', import.meta.url), 'utf8');

test('every constant stands there with its number, and no other', () => {
  const found = [...TEXT.matchAll(/^\| `(\w+\.\w+)` +\| (−?\d+) +\|$/gm)].map(([, name, value]) => [
    name,
    Number(value?.replace('−', '-')),
  ]);
  const real = Object.entries({ DBMS_AQ, DBMS_AQADM }).flatMap(([scope, constants]) =>
    Object.entries(constants).map(([name, value]) => [`${scope}.${name}`, value]),
  );
  expect(found).toEqual(real);
});

test('every error stands there, and no other', () => {
  const found = [...TEXT.matchAll(/^\| (\d{5}) +\| (.*?) +\| (\w+) +\|$/gm)].map(
    ([, number, text, nearest]) => `${number} ${text} ${nearest}`,
  );
  const real = [...AQ_ERRORS].map(([number, text]) => {
    const { tperrno, diagnostic } = aqFailure(number);
    return `${number} ${text} ${diagnostic === 0 ? tperrnoName(tperrno) : qmeName(diagnostic)}`;
  });
  expect(found).toEqual(real);
});

test('PROTOCOL.md has a row for every verb', () => {
  const from = PROTOCOL.indexOf('### 6.3 AQ');
  const section = PROTOCOL.slice(from, PROTOCOL.indexOf('\n## 7', from));
  const found = [...section.matchAll(/^\| (\d+) (\w+) +\|/gm)].map(([, number, name]) => [
    name,
    Number(number),
  ]);
  expect(Object.fromEntries(found)).toEqual(AQ);
});
