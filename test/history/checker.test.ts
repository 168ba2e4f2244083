// The checker of histories, with histories that are true and histories that are forged: what each kind of fault looks like, and that nothing
// else is taken for one. And that it shares no code with what it checks.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { check } from './checker.ts';
import type { Operation, Transaction } from './history.ts';

/** `>A:k` puts k on A; `<A:k` takes it, `<A` finds nothing there; one moment each. */
function transaction(
  name: string,
  from: number,
  words: string,
  outcome: Transaction['outcome'] = 'committed',
): Transaction {
  let now = from;
  const operations = words
    .split(' ')
    .filter((word) => word !== '')
    .map((word): Operation => {
      const [queue = '', key] = word.slice(1).split(':');
      if (word.startsWith('>')) return { kind: 'put', queue, key: key ?? '' };
      return { kind: 'take', queue, key: key ?? null, asked: now++, answered: now++ };
    });
  return { name, operations, outcome, ending: now++, ended: now++ };
}

const T = transaction;

describe('a history is fine', () => {
  it.each<[string, Transaction[]]>([
    ['with nothing in it', []],
    ['when what is put is taken', [T('a', 0, '>A:1 >B:2'), T('b', 10, '<A:1 <B:2')]],
    [
      'when a rolled-back take is taken again',
      [T('a', 0, '>A:1'), T('b', 10, '<A:1', 'aborted'), T('c', 20, '<A:1')],
    ],
    ['when a rolled-back put is never seen', [T('a', 0, '>A:1', 'aborted'), T('b', 10, '<A')]],
    ['when an unknown put took effect', [T('a', 0, '>A:1 >B:2', 'unknown'), T('b', 10, '<A:1 <B:2')]],
    ['when an unknown put took none', [T('a', 0, '>A:1 >B:2', 'unknown'), T('b', 10, '<A <B')]],
    [
      'when an unknown take took effect',
      [T('a', 0, '>A:1'), T('b', 10, '<A:1', 'unknown'), T('c', 20, '<A')],
    ],
    [
      'when an unknown take took none',
      [T('a', 0, '>A:1'), T('b', 10, '<A:1', 'unknown'), T('c', 20, '<A:1')],
    ],
    [
      'when an unknown move is followed by another',
      [
        T('a', 0, '>A:1'),
        T('b', 10, '<A:1 >B:2', 'unknown'),
        T('c', 20, '<B:2 >A:3', 'unknown'),
        T('d', 30, '<A:3'),
      ],
    ],
    [
      'when what others hold is not found',
      [T('a', 0, '>A:1'), T('b', 10, '<A:1', 'aborted'), T('c', 11, '<A'), T('d', 20, '<A:1')],
    ],
    ['when what is being committed is not found', [T('a', 0, '>A:1'), T('b', 0, '<A'), T('c', 10, '<A:1')]],
  ])('%s', (_name, history) => {
    expect(check(history)).toEqual([]);
  });
});

describe('a forged history is found out:', () => {
  it.each<[string, Transaction[], string]>([
    ['a lost message', [T('a', 0, '>A:1 >A:2'), T('b', 10, '<A:1 <A')], '2, put on A by a, is lost'],
    [
      'a doubled message',
      [T('a', 0, '>A:1'), T('b', 10, '<A:1'), T('c', 20, '<A:1')],
      '1 was taken 2 times: by b and c',
    ],
    ['a message from nowhere', [T('b', 10, '<A:1')], 'b was handed 1 from A, and nobody put it there'],
    [
      'a message on another queue',
      [T('a', 0, '>A:1'), T('b', 10, '<B:1')],
      'b was handed 1 from B, and nobody put it there',
    ],
    [
      'a message of a transaction that was rolled back',
      [T('a', 0, '>A:1', 'aborted'), T('b', 10, '<A:1')],
      'b was handed 1, and a, which put it, was rolled back',
    ],
    [
      'a dirty read, though the put is committed later',
      [T('a', 0, '>A:1 <B <B <B'), T('b', 2, '<A:1')],
      'b was handed 1 before a, which put it, was to commit',
    ],
    [
      'a dirty read by a transaction that is rolled back',
      [T('a', 0, '>A:1', 'aborted'), T('b', 10, '<A:1', 'aborted')],
      'b was handed 1, and a, which put it, was rolled back',
    ],
    [
      'a message in two hands',
      [T('a', 0, '>A:1'), T('b', 10, '<A:1 <B <B <B', 'aborted'), T('c', 12, '<A:1')],
      'c was handed 1 while b held it',
    ],
    [
      'half of an unknown put',
      [T('a', 0, '>A:1 >B:2', 'unknown'), T('b', 10, '<A:1 <B')],
      'no outcome of a explains all of 1, 2',
    ],
    [
      'half of an unknown take',
      [T('a', 0, '>A:1 >B:2'), T('b', 10, '<A:1 <B:2', 'unknown'), T('c', 20, '<A:1 <B')],
      'no outcome of b explains all of 1, 2',
    ],
    [
      'a move that put and did not take',
      [T('a', 0, '>A:1'), T('b', 10, '<A:1 >B:2', 'unknown'), T('c', 20, '<A:1 <B:2')],
      'no outcome of b explains all of 1, 2',
    ],
    [
      'an unknown put that was seen and is gone',
      [T('a', 0, '>A:1', 'unknown'), T('b', 10, '<A:1', 'aborted'), T('c', 20, '<A')],
      'no outcome of a explains all of 1',
    ],
    [
      'two unknown moves of one message',
      [
        T('a', 0, '>A:1'),
        T('b', 10, '<A:1 >B:2', 'unknown'),
        T('c', 20, '<A:1 >B:3', 'unknown'),
        T('d', 30, '<B:2 <B:3'),
      ],
      'no outcome of b, c explains all of 1, 2, 3',
    ],
    [
      'half of a committed transaction, seen for a moment',
      [T('a', 0, '>A:1 >B:2 <C <C <C <C'), T('b', 9, '<A:1'), T('c', 13, '<B'), T('d', 30, '<B:2')].map(
        (one) => (one.name === 'a' ? { ...one, ending: 1, ended: 25 } : one),
      ),
      'c found nothing on B, where 2 of a was',
    ],
    [
      'a message that is not found for a moment',
      [T('a', 0, '>A:1'), T('b', 10, '<A'), T('c', 20, '<A:1')],
      'b found nothing on A',
    ],
  ])('%s', (_name, history, finding) => {
    expect(check(history).join('\n')).toContain(finding);
  });

  it('every finding is told, not the first alone', () => {
    expect(check([T('a', 0, '>A:1 >A:2'), T('b', 10, '<A')])).toHaveLength(2);
  });
});

it('the checker shares no code with what it checks', () => {
  for (const file of ['checker.ts', 'history.ts']) {
    const text = readFileSync(join(import.meta.dirname, file), 'utf8');
    const imports = [...text.matchAll(/from '([^']+)'|import\(/g)].map(([, name]) => name);
    expect(imports.filter((name) => name !== './history.ts')).toEqual([]);
  }
});
