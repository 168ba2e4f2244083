// What decides which call of a service comes next, and what the configuration says of services [spec 3.4, 6.5].
import { describe, expect, it } from 'vitest';
import { CallQueue } from '../../src/atmi/call-queue.ts';
import { acceptsType, priorityOf, type ServiceRule, ServiceRules } from '../../src/atmi/service-rules.ts';

interface Named {
  name: string;
  rank: number;
}

function queueOf(...calls: [string, number][]): CallQueue<Named> {
  const queue = new CallQueue<Named>();
  for (const [name, priority] of calls) queue.push({ name, rank: priority });
  return queue;
}

const order = (queue: CallQueue<Named>): string =>
  Array.from({ length: queue.length }, () => queue.shift()?.name).join('');

describe('the queue of a service', () => {
  it('gives the highest priority first, in the order of arrival within one', () => {
    expect(order(queueOf(['a', 50], ['b', 1], ['c', 100], ['d', 50], ['e', 51]))).toBe('ceadb');
  });

  it('takes every tenth call in the order of arrival, whatever its priority', () => {
    const queue = queueOf(['z', 1], ...'abcdefghijk'.split('').map((name): [string, number] => [name, 90]));
    expect(order(queue)).toBe('abcdefghizjk');
  });

  it('a low priority does not starve while higher ones keep coming', () => {
    const queue = queueOf(['low', 1]);
    let taken = 0;
    for (let name = ''; name !== 'low'; taken++) {
      queue.push({ name: 'high', rank: 100 });
      name = queue.shift()?.name ?? '';
    }
    expect(taken).toBe(10);
  });

  it('a call that was taken out does not come, and a second time is not there', () => {
    const queue = queueOf(['a', 50]);
    const call = { name: 'b', rank: 60 };
    queue.push(call);
    expect([queue.remove(call), queue.remove(call), order(queue)]).toEqual([true, false, 'a']);
  });

  it('drained, it gives all in the order of arrival and is empty', () => {
    const queue = queueOf(['a', 1], ['b', 100], ['c', 50]);
    expect(queue.drain().map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect([queue.length, queue.shift()]).toEqual([0, undefined]);
  });
});

describe('priority [tpsprio(3c)]', () => {
  it.each<[string, number, { priority: number; absolute: boolean } | null, number]>([
    ['none said: the service’s', 70, null, 70],
    ['relative', 50, { priority: -10, absolute: false }, 40],
    ['relative, clamped above', 60, { priority: 100, absolute: false }, 100],
    ['relative, clamped below', 60, { priority: -100, absolute: false }, 1],
    ['absolute', 70, { priority: 100, absolute: true }, 100],
    ['absolute 0: 50', 70, { priority: 0, absolute: true }, 50],
    ['absolute 101: 50', 70, { priority: 101, absolute: true }, 50],
    ['absolute -5: 50', 70, { priority: -5, absolute: true }, 50],
  ])('%s', (_name, own, wish, expected) => {
    expect(priorityOf(own, wish)).toBe(expected);
  });
});

const line = (name: string, group: string | undefined, prio: number): ServiceRule => ({
  name,
  group,
  prio,
  load: 1,
  blockTimeS: 0,
  bufferTypes: 'ALL',
  autotran: false,
  tranTimeS: 30,
});

describe('values of a service [spec 6.5]', () => {
  const rules = new ServiceRules([
    line('S', 'G1', 1),
    line('S', undefined, 2),
    line('S', 'G2', 3),
    line('T', 'G1', 4),
  ]);
  it.each([
    ['the server’s group', 'S', 'G2', 3],
    ['else the line of no group', 'S', 'G9', 2],
    ['else the first of that name', 'T', 'G2', 4],
    ['else the defaults', 'U', 'G1', 50],
  ])('%s', (_name, name, group, prio) => {
    expect(rules.of(name, group).prio).toBe(prio);
  });
});

describe('BUFTYPE', () => {
  const data = Buffer.from('x');
  it.each([
    ['ALL', 'FML32', '', true],
    ['STRING', 'STRING', '', true],
    ['STRING', 'STRING', 'any', true],
    ['STRING', 'CARRAY', '', false],
    ['STRING;CARRAY', 'CARRAY', '', true],
    ['VIEW:v1,v2', 'VIEW', 'v2', true],
    ['VIEW:v1,v2', 'VIEW', 'v3', false],
    ['VIEW:v1', 'VIEW', '', false],
    ['VIEW:v1; STRING', 'STRING', '', true],
  ])('%s and %s:%s: %s', (types, type, subtype, expected) => {
    expect(acceptsType(types, { type, subtype, data })).toBe(expected);
  });

  it('no data part is always taken', () => {
    expect(acceptsType('STRING', { type: '', subtype: '', data: null })).toBe(true);
  });
});
