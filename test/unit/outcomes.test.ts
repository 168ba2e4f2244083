// What is remembered of transactions that committed: the last ones by id, of those before only how far they went.
import { describe, expect, it } from 'vitest';
import { NO_TRANSACTION, transactionBytes, transactionOf } from '../../src/base/transaction-id.ts';
import { Outcomes } from '../../src/queue/outcomes.ts';

const KEPT = 262_144;
const id = (serial: number, start = 1) => ({ start, serial });

describe('outcomes', () => {
  it('knows what committed, and that what is not there did not', () => {
    const outcomes = new Outcomes();
    outcomes.note(id(2));
    outcomes.note(id(5));
    expect([1, 2, 3, 5, 6].map((serial) => outcomes.of(id(serial)))).toEqual([
      'not committed',
      'committed',
      'not committed',
      'committed',
      'not committed',
    ]);
    expect(outcomes.through).toEqual(id(5));
  });

  it('forgets the oldest, and says so of everything up to the greatest that it forgot', () => {
    const outcomes = new Outcomes();
    outcomes.note(id(10));
    outcomes.note(id(4));
    for (let i = 0; i < KEPT; i++) outcomes.note(id(100 + i));
    expect(outcomes.size).toBe(KEPT);
    expect([3, 4, 10, 11, 100, 99 + KEPT].map((serial) => outcomes.of(id(serial)))).toEqual([
      'forgotten',
      'forgotten',
      'forgotten',
      'not committed',
      'committed',
      'committed',
    ]);
    expect(outcomes.at(0)).toEqual(id(100));
    expect(outcomes.at(KEPT - 1)).toEqual(id(99 + KEPT));
  });

  it('begins with what a log or a checkpoint says, once, and only before anything else', () => {
    const outcomes = new Outcomes();
    outcomes.begin(id(3), [id(7)]);
    outcomes.begin(id(50), [id(60)]);
    expect([2, 3, 4, 7, 60].map((serial) => outcomes.of(id(serial)))).toEqual([
      'forgotten',
      'forgotten',
      'not committed',
      'committed',
      'not committed',
    ]);
    const used = new Outcomes();
    used.note(id(1));
    used.begin(id(9), []);
    expect(used.of(id(5))).toBe('not committed');
    expect(used.forgottenThrough).toEqual(NO_TRANSACTION);
  });

  it('orders by start, then by serial', () => {
    const outcomes = new Outcomes();
    outcomes.begin(id(5, 2), []);
    expect([id(9, 1), id(5, 2), id(6, 2), id(1, 3)].map((one) => outcomes.of(one))).toEqual([
      'forgotten',
      'forgotten',
      'not committed',
      'not committed',
    ]);
  });
});

it('a transaction id is twelve bytes on the wire, and comes back', () => {
  const one = { start: 0x0192_f3c4_d5e6, serial: 0x0001_0000_0004 };
  const bytes = transactionBytes(one);
  expect(Buffer.from(bytes).toString('hex')).toBe('0192f3c4d5e6000100000004');
  expect(transactionOf(bytes)).toEqual(one);
});
