// What an administrator may give as attributes of a queue: each legal form in its canonical spelling, each illegal one with the member's name
// and what would be legal; and pages of names.
import { describe, expect, it } from 'vitest';
import type { Members } from '../../proto/message.ts';
import { changedAttributes, nameFault } from '../../src/admin/attributes.ts';
import { pageOfNames } from '../../src/admin/page.ts';
import { QUEUE_DEFAULTS, type QueueAttributes } from '../../src/queue/attributes.ts';

const BASE: QueueAttributes = { ...QUEUE_DEFAULTS, name: 'Q', retries: 7, high: '80%', low: '20%', cmd: 'x' };

function faultOf(members: Members, base = BASE): string {
  const checked = changedAttributes(base, members);
  return checked.ok ? '' : checked.fault;
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

describe('attributes', () => {
  it.each<[Members, Partial<QueueAttributes>]>([
    [{}, {}],
    [{ order: 'PRIORITY, time' }, { order: 'priority,time,fifo' }],
    [{ order: 'lifo' }, { order: 'lifo' }],
    [{ outOfOrder: 'msgid,top' }, { outOfOrder: 'top,msgid' }],
    [{ retries: 0 }, { retries: 0 }],
    [
      { retries: 2_147_483_647, delayS: 2_147_483_647 },
      { retries: 2_147_483_647, delayS: 2_147_483_647 },
    ],
    [{ expiryS: -1 }, { expiryS: -1 }],
    [{ expiryS: 0 }, { expiryS: 0 }],
    [{ policy: 'nonpersist' }, { policy: 'nonpersist' }],
    [
      { high: '5m', low: '0' },
      { high: '5m', low: '0' },
    ],
    [
      { high: '5m', low: '0m' },
      { high: '5m', low: '0m' },
    ],
    [{ low: '79%' }, { low: '79%' }],
    [{ nonPersistentHigh: '9B' }, { nonPersistentHigh: '9B' }],
    [
      { cmd: 'y'.repeat(127), nonPersistentCmd: '' },
      { cmd: 'y'.repeat(127), nonPersistentCmd: '' },
    ],
    [
      { enqueuePaused: true, dequeuePaused: false },
      { enqueuePaused: true, dequeuePaused: false },
    ],
  ])('%o', (members, changes) => {
    expect(changedAttributes(BASE, members)).toEqual({ ok: true, value: { ...BASE, ...changes } });
  });

  it.each<[Members, string, string]>([
    [{ color: 'red' }, 'color', 'order, outOfOrder'],
    [{ name: 'P' }, 'name', 'order, outOfOrder'],
    [{ constructor: 1 }, 'constructor', 'order'],
    [{ order: 'fifo,priority' }, 'order', 'priority, time, expiration'],
    [{ order: 'priority,priority' }, 'order', 'each once'],
    [{ order: '' }, 'order', 'a list'],
    [{ order: 1 }, 'order', 'a list'],
    [{ order: ['fifo'] }, 'order', 'a list'],
    [{ outOfOrder: 'top,none' }, 'outOfOrder', 'none, top, msgid'],
    [{ retries: -1 }, 'retries', '0..2147483647'],
    [{ retries: 2_147_483_648 }, 'retries', '0..2147483647'],
    [{ retries: '3' }, 'retries', 'a whole number'],
    [{ delayS: true }, 'delayS', 'seconds'],
    [{ expiryS: -2 }, 'expiryS', '-1'],
    [{ policy: 'PERSIST' }, 'policy', 'persist or nonpersist'],
    [{ high: '0%' }, 'high', 'more than 0'],
    [{ high: '101%' }, 'high', 'at most 100'],
    [{ high: '80' }, 'high', 'b, B, m or %'],
    [{ high: 80 }, 'high', 'b, B, m or %'],
    [{ high: '100m' }, 'low', 'the unit of the high one'],
    [{ high: '20%' }, 'low', 'lower than'],
    [{ low: '80%' }, 'low', 'lower than'],
    [{ low: '10m' }, 'low', 'the unit'],
    [{ nonPersistentHigh: '5m' }, 'nonPersistentHigh', 'b, B, %'],
    [{ nonPersistentHigh: '0B' }, 'nonPersistentHigh', 'more than 0'],
    [{ cmd: 'y'.repeat(128) }, 'cmd', '127 bytes'],
    [{ cmd: 'ä'.repeat(64) }, 'cmd', '127 bytes'],
    [{ cmd: 'a\nb' }, 'cmd', 'control characters'],
    [{ nonPersistentCmd: 7 }, 'nonPersistentCmd', 'a command'],
    [{ enqueuePaused: 1 }, 'enqueuePaused', 'true or false'],
  ])('%o is refused by name', (members, name, legal) => {
    expect(faultOf(members)).toMatch(new RegExp(`^${name}\\b`));
    expect(faultOf(members)).toContain(legal);
  });

  it('a threshold that was not touched is not looked at', () => {
    expect(faultOf({ retries: 1 }, { ...BASE, high: '10%', low: '50%' })).toBe('');
  });

  it('a low limit of nothing that was not given goes with any unit', () => {
    expect(faultOf({ high: '100m' }, { ...BASE, low: '0%' })).toBe('');
    expect(faultOf({ high: '100m', low: '0%' }, BASE)).toContain('unit');
  });

  it('a long value is cut', () => {
    expect(faultOf({ order: 'x'.repeat(1000) }).length).toBeLessThan(250);
  });
});

describe('a name', () => {
  it.each([['a b'], ['../../x'], ['#x'], ['ä'.repeat(63)], ['x'.repeat(127)], [' '], ['📨']])(
    '%j',
    (name) => {
      expect(nameFault(name)).toBeNull();
    },
  );
  it.each([[''], ['a\nb'], ['a\0b'], ['tab\t'], ['x'.repeat(128)], ['ä'.repeat(64)], ['\x7f']])(
    '%j is refused',
    (name) => {
      expect(nameFault(name)).toContain('1..127 bytes without control characters');
    },
  );
});

describe('pages of names', () => {
  const NAMES = [
    'b',
    'a',
    'aa',
    'B',
    'ä',
    'a\u0308',
    '\uffee',
    '📨',
    '📧',
    '\ud7ff',
    '\ue000',
    '__proto__',
    'キュー',
    ' ',
    'c',
  ];

  it.each([1, 2, 3, 14, 15, 16, 100])('of %i show every name once, in the order of the bytes', (limit) => {
    const seen: string[] = [];
    for (let after = '', more = true; more;) {
      const page = pageOfNames(NAMES, after, limit);
      expect(page.names.length).toBeLessThanOrEqual(limit);
      seen.push(...page.names);
      after = page.names.at(-1) ?? '';
      ({ more } = page);
    }
    expect(seen).toEqual([...NAMES].sort(byBytes));
  });

  it('a name that has gone is still a place to begin after', () => {
    expect(pageOfNames(['a', 'c'], 'b', 10)).toEqual({ names: ['c'], more: false });
    expect(pageOfNames([], '', 10)).toEqual({ names: [], more: false });
    expect(pageOfNames(['a', 'c'], 'c', 10)).toEqual({ names: [], more: false });
  });
});
