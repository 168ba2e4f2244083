// The ledger of the crash tests: it accepts what may be, and each kind of violation is found.
import { describe, expect, test } from 'vitest';
import { Ledger, type Contents, type Item } from '../support/ledger.ts';
import { check, settle } from '../support/ledger-check.ts';

function on(...places: [string, readonly (Item | string)[]][]): Contents {
  return new Map(
    places.map(([queue, items]) => [queue, items.map((one) => (typeof one === 'string' ? one : one.key))]),
  );
}

function acknowledged(ledger: Ledger, queue = 'A', stream = 's'): Item {
  const item = ledger.putting(queue, stream);
  item.acknowledged();
  return item;
}

function ledgerOf(): Ledger {
  return new Ledger({ errorQueue: 'ERR', neverRolledBack: ['A'] });
}

describe('what may be', () => {
  test('an acknowledged message is there, on its queue or on the error queue', () => {
    const ledger = ledgerOf();
    const item = acknowledged(ledger);
    expect(check(ledger, on(['A', [item]]))).toEqual([]);
    expect(check(ledger, on(['A', []], ['ERR', [item]]))).toEqual([]);
  });

  test('an enqueue without an answer may have taken effect or not', () => {
    const ledger = ledgerOf();
    const item = ledger.putting('A', 's');
    item.unknown();
    expect(check(ledger, on(['A', [item]]))).toEqual([]);
    expect(check(ledger, on(['A', []]))).toEqual([]);
  });

  test('a dequeue without an answer excuses one message of its queue', () => {
    const ledger = ledgerOf();
    acknowledged(ledger);
    ledger.takeUnknown('A');
    expect(check(ledger, on(['A', []]))).toEqual([]);
  });

  test.each(['committing', 'unknown'] as const)('a transaction left %s is all or nothing', (state) => {
    const ledger = ledgerOf();
    const taken = acknowledged(ledger, 'C', 'c');
    const transaction = ledger.begin();
    const put = ledger.putting('A', 's');
    transaction.putting(put);
    transaction.took(taken.key);
    transaction.committing();
    if (state === 'unknown') transaction.unknown();
    expect(check(ledger, on(['A', [put]], ['C', []]))).toEqual([]);
    expect(check(ledger, on(['A', []], ['C', [taken]]))).toEqual([]);
  });

  test('what an open or aborted transaction took is there, what it put is not', () => {
    const ledger = ledgerOf();
    const [one, two] = [acknowledged(ledger), acknowledged(ledger)];
    const open = ledger.begin();
    open.putting(ledger.putting('B', 'b'));
    open.took(one.key);
    const aborted = ledger.begin();
    aborted.took(two.key);
    aborted.rolledBack();
    expect(check(ledger, on(['A', [one, two]]))).toEqual([]);
  });
});

describe('a violation is found:', () => {
  test('an acknowledged message is lost', () => {
    const ledger = ledgerOf();
    acknowledged(ledger);
    expect(check(ledger, on(['A', []]))).toEqual([
      expect.stringMatching(/its enqueue was acknowledged, it must be on A/),
    ]);
  });

  test('one more message is missing than unanswered dequeues can have taken', () => {
    const ledger = ledgerOf();
    acknowledged(ledger);
    acknowledged(ledger);
    ledger.takeUnknown('A');
    expect(check(ledger, on(['A', []]))).toHaveLength(2);
    ledger.takeUnknown('B');
    expect(check(ledger, on(['A', []]))).toHaveLength(2);
  });

  test('a message is there twice', () => {
    const ledger = ledgerOf();
    const item = acknowledged(ledger);
    expect(check(ledger, on(['A', [item, item]]))).toEqual([expect.stringMatching(/is there twice/)]);
    expect(check(ledger, on(['A', [item]], ['ERR', [item]]))).toEqual([
      expect.stringMatching(/is there twice, on A and ERR/),
    ]);
  });

  test('an unanswered enqueue is there twice', () => {
    const ledger = ledgerOf();
    const item = ledger.putting('A', 's');
    item.unknown();
    expect(check(ledger, on(['A', [item, item]]))).toEqual([expect.stringMatching(/is there twice/)]);
  });

  test('a message that was taken is back', () => {
    const ledger = ledgerOf();
    const item = acknowledged(ledger);
    ledger.taken(item.key);
    expect(check(ledger, on(['A', [item]]))).toEqual([expect.stringMatching(/its dequeue was acknowledged/)]);
  });

  test('a message whose dequeue was committed is back', () => {
    const ledger = ledgerOf();
    const item = acknowledged(ledger);
    const transaction = ledger.begin();
    transaction.took(item.key);
    transaction.committing();
    transaction.committed();
    expect(check(ledger, on(['A', [item]]))).toEqual([expect.stringMatching(/its dequeue was acknowledged/)]);
  });

  test('what a committed transaction put is lost', () => {
    const ledger = ledgerOf();
    const transaction = ledger.begin();
    transaction.putting(ledger.putting('A', 's'));
    transaction.committing();
    transaction.committed();
    expect(check(ledger, on(['A', []]))).toEqual([expect.stringMatching(/its enqueue was acknowledged/)]);
  });

  test('what was refused, rolled back or never committed is there', () => {
    const ledger = ledgerOf();
    const refused = ledger.putting('A', 's');
    refused.refused();
    const items = (['rolled back', 'open', 'aborting'] as const).map((state) => {
      const transaction = ledger.begin();
      const item = ledger.putting('A', 's');
      transaction.putting(item);
      if (state === 'rolled back') transaction.rolledBack();
      if (state === 'aborting') transaction.aborting();
      return item;
    });
    expect(check(ledger, on(['A', [refused, ...items]]))).toEqual([
      expect.stringMatching(/refused or rolled back/),
      expect.stringMatching(/refused or rolled back/),
      expect.stringMatching(/never asked to commit/),
      expect.stringMatching(/never asked to commit/),
    ]);
  });

  test('a message that was handed out and given back is lost, whatever its enqueuer knows', () => {
    const ledger = ledgerOf();
    const item = ledger.putting('A', 's');
    const transaction = ledger.begin();
    transaction.took(item.key);
    transaction.rolledBack();
    item.unknown();
    expect(check(ledger, on(['A', []]))).toEqual([
      expect.stringMatching(/was handed out and given back, must be on A/),
    ]);
  });
});

function unanswered(): { ledger: Ledger; puts: Item[]; taken: Item } {
  const ledger = ledgerOf();
  const taken = acknowledged(ledger, 'C', 'c');
  const transaction = ledger.begin();
  const puts = [ledger.putting('A', 'a'), ledger.putting('B', 'b')];
  for (const item of puts) transaction.putting(item);
  transaction.took(taken.key);
  transaction.committing();
  transaction.unknown();
  return { ledger, puts, taken };
}

describe('half a transaction is found:', () => {
  test('one of its enqueues is not there', () => {
    const { ledger, puts } = unanswered();
    const contents = on(['A', puts.slice(0, 1)], ['B', []], ['C', []]);
    expect(check(ledger, contents)).toEqual([
      expect.stringMatching(/part of a transaction that took effect/),
    ]);
  });

  test('its enqueues are there and its dequeue was not done', () => {
    const { ledger, puts, taken } = unanswered();
    const contents = on(['A', puts.slice(0, 1)], ['B', puts.slice(1)], ['C', [taken]]);
    expect(check(ledger, contents)).toEqual([
      expect.stringMatching(/half a transaction: 2 of 2 enqueues and 0 of 1 dequeues/),
    ]);
  });

  test('its dequeue was done and its enqueues are not there', () => {
    const { ledger } = unanswered();
    expect(check(ledger, on(['A', []]))).toHaveLength(2);
  });

  test('one of its enqueues was taken by another, the other is not there', () => {
    const { ledger, puts } = unanswered();
    ledger.taken(puts[0]?.key ?? '');
    expect(check(ledger, on(['A', []]))).toEqual([
      expect.stringMatching(/part of a transaction that took effect/),
    ]);
  });
});

describe('found while the clients work:', () => {
  test.each([
    ['delivered, and never enqueued', (ledger: Ledger) => ledger.taken('nobody/0/1')],
    [
      'delivered, and taken before',
      (ledger: Ledger) => {
        const { key } = acknowledged(ledger);
        ledger.taken(key);
        ledger.taken(key);
      },
    ],
    [
      'delivered while an open transaction holds it',
      (ledger: Ledger) => {
        const { key } = acknowledged(ledger);
        ledger.begin().took(key);
        ledger.begin().took(key);
      },
    ],
    [
      'delivered before its transaction committed',
      (ledger: Ledger) => {
        const item = ledger.putting('A', 's');
        ledger.begin().putting(item);
        ledger.begin().took(item.key);
      },
    ],
    [
      'delivered, and its enqueue was refused',
      (ledger: Ledger) => {
        const item = ledger.putting('A', 's');
        item.refused();
        ledger.taken(item.key);
      },
    ],
    [
      'was handed out, and its enqueue was rolled back',
      (ledger: Ledger) => {
        const transaction = ledger.begin();
        const item = ledger.putting('A', 's');
        transaction.putting(item);
        transaction.committing();
        ledger.taken(item.key);
        transaction.rolledBack();
      },
    ],
    [
      'a transaction committed what had been given to another client',
      (ledger: Ledger) => {
        const item = acknowledged(ledger);
        const transaction = ledger.begin();
        transaction.took(item.key);
        transaction.committing();
        ledger.begin().took(item.key);
        transaction.committed();
      },
    ],
    [
      'got it after number 1',
      (ledger: Ledger) => {
        const [first, second] = [acknowledged(ledger), acknowledged(ledger)];
        ledger.taken(second.key, 'consumer');
        ledger.taken(first.key, 'consumer');
      },
    ],
  ])('%s', (text, work) => {
    const ledger = ledgerOf();
    work(ledger);
    expect(ledger.found.join('\n')).toContain(text);
    expect(check(ledger, new Map()).join('\n')).toContain(text);
  });
});

describe('places, order and restarts:', () => {
  test('a message is on another queue than it was put on, or nobody put it', () => {
    const ledger = ledgerOf();
    const item = acknowledged(ledger);
    expect(check(ledger, on(['B', [item]]))).toEqual([expect.stringMatching(/is on B, and was put on A/)]);
    expect(check(ledger, on(['A', [item, 'nobody/0/1']]))).toEqual([
      expect.stringMatching(/was never enqueued/),
    ]);
  });

  test('a stream is out of order, on a plain queue', () => {
    const ledger = ledgerOf();
    const [first, second] = [acknowledged(ledger), acknowledged(ledger)];
    expect(check(ledger, on(['A', [second, first]]))).toEqual([
      expect.stringMatching(/lies on A behind number 1/),
    ]);
    expect(check(ledger, on(['A', []], ['ERR', [second, first]]))).toEqual([]);
  });

  test('what a restart came up without is back later', () => {
    const ledger = ledgerOf();
    const item = ledger.putting('A', 's');
    item.unknown();
    settle(ledger, on(['A', []]));
    expect(check(ledger, on(['A', [item]]))).toEqual([
      expect.stringMatching(/an earlier restart had come up without it/),
    ]);
    ledger.taken(item.key);
    expect(ledger.found).toEqual([expect.stringMatching(/a restart had come up without it/)]);
  });

  test('what a restart came up with must stay', () => {
    const ledger = ledgerOf();
    const item = ledger.putting('A', 's');
    item.unknown();
    settle(ledger, on(['A', [item]]));
    expect(check(ledger, on(['A', []]))).toEqual([expect.stringMatching(/it must be on A/)]);
    expect(check(ledger, on(['A', [item]]))).toEqual([]);
  });

  test('it says how much was said', () => {
    const ledger = ledgerOf();
    acknowledged(ledger);
    ledger.taken(acknowledged(ledger).key);
    ledger.putting('A', 's').unknown();
    expect(ledger.counts()).toEqual({ puts: 2, takes: 1, unknown: 1 });
  });
});
