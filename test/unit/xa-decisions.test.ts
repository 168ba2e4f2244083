// The table of decisions: what is committed until every participant is done with it, and what a start chooses for a prepared branch.
import { expect, it } from 'vitest';
import { Decisions } from '../../src/xa/decisions.ts';

const TLOG = 'ab'.repeat(16);
const transaction = { start: 1, serial: 2 };
const participants = [
  { spaceId: 7, name: 'ONE' },
  { spaceId: 8, name: 'TWO' },
];

function decided(): Decisions {
  const decisions = new Decisions();
  decisions.apply({ kind: 'identity', tlog: TLOG });
  decisions.apply({ kind: 'decided', transaction, participants });
  return decisions;
}

it('is kept until the last participant is done', () => {
  const decisions = decided();
  expect([decisions.size, decisions.isCommitted(transaction)]).toEqual([1, true]);
  expect(decisions.waitingFor(transaction)).toEqual(participants);
  expect(decisions.ended(transaction, 7)).toBe(false);
  expect(decisions.ended(transaction, 7)).toBe(false);
  expect(decisions.ended(transaction, 99)).toBe(false);
  expect(decisions.waitingFor(transaction)).toEqual([{ spaceId: 8, name: 'TWO' }]);
  expect(decisions.ended(transaction, 8)).toBe(true);
  expect(decisions.list()).toEqual([{ transaction, participants }]);
  decisions.apply({ kind: 'forgotten', transaction });
  expect([decisions.size, decisions.isCommitted(transaction), decisions.ended(transaction, 8)]).toEqual([
    0,
    false,
    false,
  ]);
  expect(decisions.waitingFor(transaction)).toEqual([]);
});

it('chooses commit for what was decided, rollback for what was not, nothing for another log', () => {
  const decisions = decided();
  const other = { start: 1, serial: 3 };
  expect(decisions.choose({ transaction, tlog: TLOG })).toBe('commit');
  expect(decisions.choose({ transaction: other, tlog: TLOG })).toBe('rollback');
  expect(decisions.choose({ transaction, tlog: 'cd'.repeat(16) })).toBe('in doubt');
});
