// The pace of restating, on a model of a log: units with live bytes that stay and bytes that die as soon as others are appended. It must keep
// the log under its bound, and must not come in bursts.
import { describe, expect, test } from 'vitest';
import { isTooLarge, payFor } from '../../src/engine/reclaim-pace.ts';

const UNIT = 64;
/** What is prepared ahead at least, beside the units that hold something; more of them go when the log is near its bound. */
const READY_UNITS = 1;

/** `still` bytes lie at the front; then all that is appended has died when the next comes. */
class Model {
  /** Live bytes in each unit, the front first. */
  readonly units: number[] = [];
  live = 0;
  peak = 0;
  readonly pays: number[] = [];
  private room = 0;
  private budget = 0;

  constructor(still: number) {
    this.append(still, true);
  }

  get size() {
    return { held: this.units.length * UNIT, live: this.live, unit: UNIT };
  }

  step(appended: number, died: number): void {
    this.append(appended, false);
    const paid = payFor(this.size, { appended, died });
    this.pays.push(paid);
    this.budget = isTooLarge(this.size) ? this.budget + paid : 0;
    this.skip();
    while (this.budget > 0 && isTooLarge(this.size)) {
      const front = this.units[0] ?? 0;
      const bytes = Math.min(front, this.budget, 1);
      this.units[0] = front - bytes;
      this.live -= bytes;
      this.append(bytes, true);
      this.budget -= bytes;
      this.skip();
    }
    this.peak = Math.max(this.peak, this.overshoot);
  }

  /** Messages are taken in no order that the log knows: everywhere some. */
  shrink(bytes: number): void {
    const left = 1 - bytes / this.live;
    for (const [at, live] of this.units.entries()) this.units[at] = live * left;
    this.live -= bytes;
  }

  /** Units by which the log is larger than twice what is live. */
  private get overshoot(): number {
    return this.units.length + READY_UNITS - (2 * this.live) / UNIT;
  }

  private append(bytes: number, isLive: boolean): void {
    for (let left = bytes; left > 0;) {
      if (this.room === 0) {
        this.units.push(0);
        this.room = UNIT;
      }
      const part = Math.min(left, this.room);
      this.room -= part;
      left -= part;
      if (!isLive) continue;
      this.units[this.units.length - 1] = (this.units.at(-1) ?? 0) + part;
      this.live += part;
    }
  }

  private skip(): void {
    while (this.units.length > 1 && this.units[0] === 0) this.units.shift();
  }
}

describe('messages that lie there while others come and go', () => {
  test.each([0.01, 0.5, 1, 2, 5, 20, 80])('%f units of them: under the bound', (units) => {
    const model = new Model(units * UNIT);
    for (let i = 0; i < 20_000; i++) model.step(1, 1);
    expect(model.peak).toBeLessThanOrEqual(4);
  });

  test.each([5, 20, 80])('%i units of them: the pace settles below the full one', (units) => {
    const model = new Model(units * UNIT);
    for (let i = 0; i < 40_000; i++) model.step(1, 1);
    const settled = model.pays.slice(20_000);
    const mean = settled.reduce((sum, one) => sum + one, 0) / settled.length;
    expect(mean).toBeGreaterThan(0.5);
    expect(mean).toBeLessThan(2.5);
    expect(Math.max(...settled)).toBeLessThan(4);
  });
});

test('what only dies is paid for in full', () => {
  const size = { held: 40 * UNIT, live: 30 * UNIT, unit: UNIT };
  expect(payFor(size, { appended: 0, died: 10 })).toBe(20);
  expect(payFor(size, { appended: 10, died: 10 })).toBeLessThan(10);
});

test('a log that is not too large owes nothing', () => {
  expect(payFor({ held: 3 * UNIT, live: UNIT, unit: UNIT }, { appended: 10, died: 10 })).toBe(0);
});

test('a queue that is emptied in another order than it was filled stays under the bound', () => {
  const model = new Model(40 * UNIT);
  while (model.live > UNIT) {
    model.shrink(1);
    model.step(0.1, 1);
  }
  expect(model.peak).toBeLessThanOrEqual(4);
});
