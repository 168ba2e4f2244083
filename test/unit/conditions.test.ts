// Conditions over messages [oracle-aq 8]: what they say of one, what is wrong with a text, and that no text does harm.
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseCondition, type ConditionKind, type Verdict } from '../../src/conditions/condition.ts';
import { isPattern, Pattern } from '../../src/conditions/like.ts';

const PROPERTIES: Readonly<Record<string, string | number | null>> = {
  PRIORITY: 3,
  CORRID: 'order-17',
  DELAY: 0,
  SENDER_NAME: null,
  MSG_STATE: 'READY',
};
const PAYLOAD = {
  amount: 250.5,
  country: 'DE',
  open: true,
  nothing: null,
  customer: { name: "O'Hara", tags: ['a'] },
  'odd name': 1,
  __proto__x: 2,
};

function verdict(text: string, kind: ConditionKind = 'dequeue', payload: unknown = PAYLOAD): Verdict {
  const parsed = parseCondition(text, kind);
  if (!parsed.ok) throw new Error(parsed.fault);
  return parsed.value.evaluate({
    property: (name) => PROPERTIES[name] ?? null,
    payload: () => payload,
  });
}

function fault(text: string, kind: ConditionKind = 'dequeue'): string {
  const parsed = parseCondition(text, kind);
  return parsed.ok ? '' : parsed.fault;
}

function needs(text: string): boolean {
  const parsed = parseCondition(text, 'rule');
  return parsed.ok && parsed.value.needsPayload;
}

/** By the definition, with no regard to time. */
function naive(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  const [head, rest] = [pattern[0], pattern.slice(1)];
  if (head === '%') return naive(rest, text) || (text !== '' && naive(pattern, text.slice(1)));
  return text !== '' && (head === '_' || head === text[0]) && naive(rest, text.slice(1));
}

test.each<[string, Verdict]>([
  ['priority = 3', true],
  ['tab.priority != 3', false],
  ["PRIORITY < 3 OR corrid = 'order-17'", true],
  ['priority between 1 and 3 and not priority in (1, 2)', true],
  ['priority not between 1 and 3', false],
  ["corrid LIKE 'order-%'", true],
  ["corrid like 'order\\_%' escape '\\'", false],
  ["corrid not like '_rder-1_'", false],
  ['sender_name is null', true],
  ["sender_name = 'x'", null],
  ["not sender_name = 'x'", null],
  ["sender_name = 'x' or priority = 3", true],
  ["sender_name = 'x' and priority = 4", false],
  ['priority in (1, null)', null],
  ['priority in (3, null)', true],
  ['tab.user_data.amount > 250', true],
  ["tab.user_data.country = 'DE' and tab.user_data.customer.name = 'O''Hara'", true],
  ['tab.user_data.customer is not null', true],
  ['tab.user_data.customer.missing is null', true],
  ['tab.user_data.nothing is null', true],
  ['tab.user_data.open = true', true],
  ['tab.user_data."odd name" = 1', true],
  ['tab.user_data.constructor is null', true],
  ['tab.user_data.customer.tags.length is null', false],
  ['tab.user_data.customer = 1', 'error'],
  ["priority > 'three'", 'error'],
  ["priority > '2'", true],
  ['tab.user_data.open > false', 'error'],
  ['priority / 0 = 1', 'error'],
  ['priority + 1 * 2 = 5', true],
  ['(priority + 1) * 2 = 8', true],
  ['-priority = -3', true],
  ["'a' || 'b' = 'ab'", true],
  ["upper(tab.user_data.country) = 'DE' and lower('X') = 'x'", true],
  ["substr(corrid, 1, 5) = 'order' and substr(corrid, -2) = '17'", true],
  ["instr(corrid, '-') = 6 and instr('abcabc', 'b', 1, 2) = 5 and instr('abcabc', 'b', -1) = 5", true],
  ["length('äöü') = 3", true],
  ["nvl(sender_name, 'none') = 'none'", true],
  ["to_number('12.5') = 12.5 and mod(7, 4) = 3", true],
  ["'' is null", true],
  ['((((priority = 3))))', true],
  [Array.from({ length: 200 }, () => 'priority = 3').join(' and '), true],
])('%s: %s', (text, expected) => {
  expect(verdict(text)).toBe(expected);
});

test.each<[string, ConditionKind, RegExp]>([
  ['', 'rule', /column 1: a value was expected.*found the end/],
  ['priority', 'rule', /column 1: a condition was expected/],
  ['priority = ', 'rule', /column 12: a value was expected/],
  ['priority = 3 and', 'rule', /column 17/],
  ['state = 0', 'rule', /column 1: state is no property; legal: PRIORITY/],
  ['priority = 3', 'purge', /column 1: priority is no property; legal: QTVIEW.QUEUE/],
  ["corrid = 'x", 'rule', /column 10: what begins with ' has no end/],
  ['priority = 3 3', 'rule', /column 14: AND, OR or the end was expected, found 3/],
  ['priority = {', 'rule', /column 12: { has no meaning here/],
  ['nope(1) = 1', 'rule', /column 1: nope is no function; legal: UPPER/],
  ['mod(1) = 1', 'rule', /MOD takes 2 arguments, found 1/],
  ['(priority = 1) = 2', 'rule', /column 1: a value was expected, found a condition/],
  ['priority not 3', 'rule', /IN, LIKE or BETWEEN was expected/],
  ['x'.repeat(4001), 'rule', /at most 4000 characters, found 4001/],
  [`${'('.repeat(1000)}1`, 'rule', /nested more than/],
  ['not '.repeat(900), 'rule', /a value was expected/],
])('%s is refused', (text, kind, message) => {
  expect(fault(text, kind)).toMatch(message);
});

describe('a condition', () => {
  it('of a purge names the columns of the view', () => {
    expect(verdict("qtview.msg_state = 'READY' and qtview.user_data.amount < 300", 'purge')).toBe(true);
  });

  it('says whether it looks at the payload', () => {
    expect(needs('priority = 1')).toBe(false);
    expect(needs('priority = 1 or not nvl(tab.user_data.x, 1) in (2)')).toBe(true);
  });

  it('of a payload that is none finds nothing there', () => {
    expect(verdict('tab.user_data.amount > 1', 'rule', null)).toBe(null);
    expect(verdict('tab.user_data.amount is null', 'rule', 7)).toBe(true);
  });

  it('is never nested so deeply, and never so odd, that reading or evaluating it fails', () => {
    const words = [
      '(',
      ')',
      'not ',
      'and ',
      'or ',
      'priority ',
      '= ',
      "'x' ",
      '1 ',
      'tab.',
      'user_data.',
      'in ',
      '- ',
      'like ',
    ];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...words), fc.string()), { maxLength: 60 }), (parts) => {
        const parsed = parseCondition(parts.join(''), 'rule');
        if (parsed.ok) parsed.value.evaluate({ property: () => 1, payload: () => PAYLOAD });
        else expect(parsed.fault).toMatch(/^column \d+: |at most/);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('LIKE', () => {
  it('is what it is defined as', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '%', '_'), maxLength: 10 });
    fc.assert(
      fc.property(text, fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 }), (pattern, subject) => {
        expect(Pattern.of(pattern)?.matches(subject)).toBe(naive(pattern, subject));
      }),
    );
  });

  it('takes no time that grows with the number of its wildcards', () => {
    const pattern = Pattern.of(`${'%a'.repeat(1000)}b`);
    expect(pattern?.matches('a'.repeat(4000))).toBe(false);
  });

  it('knows its wildcards, and an escape that stands before none', () => {
    expect([isPattern('a%'), isPattern('a_b'), isPattern('ab')]).toEqual([true, true, false]);
    expect(Pattern.of('a!b', '!')).toBeNull();
    expect(Pattern.of('100!%', '!')?.matches('100%')).toBe(true);
  });
});
