// The age of messages from marks of their ids: held against the times at which they were really given out.
import { describe, expect, it } from 'vitest';
import { IdTimes, MARKS_MAX } from '../../src/engine/id-times.ts';

class Ids {
  counter = 0;
  epoch = 1;
  readonly given: { id: { epoch: number; counter: number }; atMs: number }[] = [];
  readonly times = new IdTimes(() => ({ epoch: this.epoch, counter: this.counter }));

  /** A batch with a message, at this time. */
  batch(atMs: number): void {
    this.counter++;
    this.given.push({ id: { epoch: this.epoch, counter: this.counter }, atMs });
    this.times.note(atMs);
  }

  /** By how much each age is short; below 0: too long. */
  errors(nowMs: number): { shortMs: number; ageMs: number }[] {
    return this.given.map(({ id, atMs }) => {
      const ageMs = nowMs - atMs;
      return { shortMs: ageMs - this.times.ageMs(id, nowMs), ageMs };
    });
  }
}

describe('the age of a message', () => {
  it('is right to a second, over bursts and pauses', () => {
    const ids = new Ids();
    let atMs = 0;
    for (let i = 0; i < 300; i++) {
      atMs += i % 7 === 0 ? 100_000 : 130;
      ids.batch(atMs);
    }
    const errors = ids.errors(atMs + 500);
    expect(Math.min(...errors.map(({ shortMs }) => shortMs))).toBeGreaterThanOrEqual(0);
    expect(Math.max(...errors.map(({ shortMs }) => shortMs))).toBeLessThanOrEqual(1000);
  });

  it('goes over a restart, where ids begin with another epoch', () => {
    const ids = new Ids();
    ids.batch(1000);
    ids.epoch = 7;
    ids.counter = 0;
    ids.batch(50_000);
    expect(ids.errors(60_000).map(({ shortMs }) => shortMs)).toEqual([0, 0]);
  });

  it('of one that no batch has named yet is nothing', () => {
    const ids = new Ids();
    ids.batch(1000);
    expect(ids.times.ageMs({ epoch: 1, counter: 99 }, 5000)).toBe(0);
  });

  it.each([
    ['a steady stream', (i: number) => i * 1000],
    ['two batches a minute', (i: number) => Math.floor(i / 2) * 60_000 + (i % 2) * 200],
  ])('stays right to a fiftieth when marks go, in %s', (_name, timeOf) => {
    const ids = new Ids();
    for (let i = 0; i < 40_000; i++) ids.batch(timeOf(i));
    expect(ids.times.count).toBeLessThanOrEqual(MARKS_MAX);
    const wrong = ids
      .errors(timeOf(40_000))
      .filter(({ shortMs, ageMs }) => shortMs < 0 || shortMs > 1000 + ageMs / 50);
    expect(wrong).toEqual([]);
  });
});
