// Request ids of calls in flight: never 0, unique, not used again soon, within u32 for ever.
import { describe, expect, it } from 'vitest';
import { CallTable } from '../../clients/typescript/call-table.ts';
import { PlainCall } from '../../clients/typescript/pending.ts';
import { OP } from '../../proto/codes.ts';

function call(): PlainCall {
  return new PlainCall({ operation: 'ping', request: { op: OP.PING, id: 0 } });
}

describe('CallTable', () => {
  it('gives unique ids and finds calls by them once', () => {
    const table = new CallTable();
    const calls = Array.from({ length: 100 }, call);
    const ids = calls.map((one) => table.add(one));
    expect(new Set(ids).size).toBe(100);
    expect(ids.every((id) => id > 0 && id <= 0xffff_ffff)).toBe(true);
    expect(table.size).toBe(100);
    expect(ids.map((id) => table.take(id))).toEqual(calls);
    expect(ids.map((id) => table.take(id))).toEqual(calls.map(() => null));
    expect(table.size).toBe(0);
  });

  it('does not take an id of an earlier call for a later one in the same place', () => {
    const table = new CallTable();
    const [first, second] = [call(), call()];
    const early = table.add(first);
    table.take(early);
    const late = table.add(second);
    expect(late).not.toBe(early);
    expect(table.take(early)).toBeNull();
    expect(table.take(late)).toBe(second);
    expect(table.take(0)).toBeNull();
  });

  it('wraps after many uses of a place without ever giving 0 or more than u32', () => {
    const table = new CallTable();
    const one = call();
    let least = Infinity;
    let most = 0;
    for (let i = 0; i < 140_000; i++) {
      const id = table.add(one);
      least = Math.min(least, id);
      most = Math.max(most, id);
      table.take(id);
    }
    expect([least, most]).toEqual([65_536, 0xffff_0000]);
  });

  it('is empty after drain', () => {
    const table = new CallTable();
    const one = call();
    table.add(one);
    expect(table.drain()).toEqual([one]);
    expect([table.size, table.list()]).toEqual([0, []]);
  });
});
