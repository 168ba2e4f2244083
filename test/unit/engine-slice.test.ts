// When a slice of long work is over: after so many steps, or when they took long.
import { expect, test } from 'vitest';
import { Slice, SLICE } from '../../src/engine/slice.ts';

/** How many steps one slice takes when each takes `stepMs`. */
function stepsOf(stepMs: number, { steps, at = 1 }: { steps?: number; at?: number } = {}): number {
  let nowMs = 5;
  const slice = new Slice(() => nowMs, steps);
  let count = 0;
  do {
    count += at;
    nowMs += at * stepMs;
  } while (slice.mayGoOn(at));
  return count;
}

test('a slice of quick steps is as many as were given', () => {
  expect(stepsOf(0)).toBe(SLICE.STEPS);
  expect(stepsOf(0, { steps: 7 })).toBe(7);
  expect(stepsOf(0, { at: SLICE.LOOK })).toBe(SLICE.STEPS);
  expect(stepsOf(0, { steps: 7, at: SLICE.LOOK })).toBe(SLICE.LOOK);
});

test('one of slow steps ends at the first look at the clock behind its time', () => {
  expect(stepsOf(10)).toBe(SLICE.LOOK);
  expect(stepsOf((1.5 * SLICE.MS) / SLICE.LOOK / 2)).toBe(2 * SLICE.LOOK);
  expect(stepsOf(10, { at: SLICE.LOOK })).toBe(SLICE.LOOK);
});
