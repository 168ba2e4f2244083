// The benchmark's own arithmetic.
import { describe, expect, test } from 'vitest';
import { latencies, overshoot, SEGMENT_BYTES } from '../bench/disk/bound.ts';
import { readDiskOptions } from '../bench/disk/options.ts';
import { median, medianFigures, spreadOf, type Figures } from '../bench/figures.ts';
import { Histogram } from '../bench/histogram.ts';
import { Ledger, numberBase, stampedBody, writeStamp } from '../bench/load/stamp.ts';
import { readOptions } from '../bench/options.ts';
import { readQueueOptions } from '../bench/queue/options.ts';
import { judge, TARGETS } from '../bench/queue/targets.ts';
import type { Round } from '../bench/round.ts';
import { ratio, verdicts } from '../bench/thresholds.ts';

const figures = (rate: number): Figures => ({
  messages: rate,
  rate,
  p50Us: 1,
  p99Us: 1,
  serverUs: 1,
  loadUs: 1,
  messagesPerSync: 1,
});

const round = (w1: number, w3: number): Round => ({
  sync: figures(1000),
  'bare W3': figures(200_000),
  W1: figures(w1),
  W3: figures(w3),
});

const body = (number: number) => {
  const bytes = stampedBody(256);
  writeStamp(bytes, number, 1);
  return bytes;
};

describe('histogram', () => {
  test('percentiles are within a percent', () => {
    const histogram = new Histogram();
    for (let us = 1; us <= 100_000; us++) histogram.record(us);
    for (const part of [0.01, 0.5, 0.99, 1]) {
      expect(Math.abs(histogram.percentile(part) / (part * 100_000) - 1)).toBeLessThan(0.01);
    }
  });

  test.each([0, 1, 127, 128, 255])('%i is exact', (us) => {
    const histogram = new Histogram();
    histogram.record(us);
    expect(Math.floor(histogram.percentile(0.5))).toBe(us);
  });

  test('what is too long is counted at the end', () => {
    const histogram = new Histogram();
    histogram.record(1e12);
    expect(histogram.percentile(0.5)).toBeGreaterThan(66e6);
    histogram.clear();
    expect(histogram.percentile(0.5)).toBe(0);
  });
});

test('median', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(median([])).toBeNaN();
  expect(medianFigures([figures(1), figures(5), figures(2)]).rate).toBe(2);
  const extra = [3, 9, 4].map((ms) => ({ ...figures(1), extra: { ms } }));
  expect(medianFigures(extra).extra).toEqual({ ms: 4 });
  expect(medianFigures([figures(1)])).not.toHaveProperty('extra');
});

test('spread', () => {
  expect(spreadOf([90, 100, 120])).toBeCloseTo(0.3);
  expect(spreadOf([90])).toBeNaN();
});

describe('thresholds', () => {
  test('a ratio is taken within each round', () => {
    const rounds = [round(500, 1), { sync: figures(10), W1: figures(9) }, round(700, 1)];
    expect(ratio(rounds, 'W1', 'sync')).toBeCloseTo(0.7);
    expect(ratio(rounds, 'W2', 'bare W2')).toBeNaN();
  });

  test.each([
    [670, 60_000, [true, true, true]],
    [660, 60_000, [false, true, true]],
    [700, 59_000, [true, false, true]],
  ])('W1 %i, W3 %i', (w1, w3, holds) => {
    const found = verdicts([round(w1, w3)], { 'bare W3': figures(200_000) });
    expect(found.map((verdict) => verdict.holds)).toEqual(holds);
  });

  test('a baseline that is too slow is found', () => {
    expect(verdicts([], { 'bare W3': figures(100_000) }).map((verdict) => verdict.holds)).toEqual([false]);
  });
});

describe('ledger', () => {
  test('everything once', () => {
    const ledger = new Ledger();
    for (const number of [numberBase(0) + 1, numberBase(31) + 100_000]) {
      ledger.send(number);
      expect(ledger.receive(body(number))).toBe(number);
    }
    expect(() => ledger.verify()).not.toThrow();
  });

  test.each([
    ['lost', () => {}],
    ['twice', (ledger: Ledger) => [ledger.receive(body(5)), ledger.receive(body(5))]],
    ['unknown', (ledger: Ledger) => ledger.receive(body(6))],
    ['without a mark', (ledger: Ledger) => ledger.receive(Buffer.alloc(256))],
  ])('%s is found', (_, receive) => {
    const ledger = new Ledger();
    ledger.send(5);
    receive(ledger);
    expect(() => ledger.verify()).toThrow(/sent 1, received/);
  });
});

describe('options', () => {
  test('defaults', () => {
    const only = ['W1', 'W2', 'W3', 'W4', 'W5', 'W6', 'W7', 'W8', 'W9', 'W10', 'W11'];
    expect(readOptions([])).toMatchObject({ only, rounds: 5, sdk: true, backlog: 1_000_000 });
    expect(readOptions(['--full'])).toMatchObject({ backlog: 10_000_000 });
  });
  test('some workloads, in their order', () => {
    expect(readOptions(['--only', 'w3,W1', '--no-sdk'])).toMatchObject({ only: ['W1', 'W3'], sdk: false });
  });
  test.each([['--only', 'W12'], ['--scale', '0'], ['--rounds', '0'], ['--seconds', 'x'], ['--what']])(
    '%s %s is refused',
    (...args) => {
      expect(typeof readOptions(args)).toBe('string');
    },
  );
});

describe('bench:queue', () => {
  test('measures everything in the short version when nothing is said', () => {
    const only = ['behind', 'corrid', 'before', 'delayed'];
    expect(readQueueOptions([])).toMatchObject({ only, behind: 1_000_000, delayed: 200_000, spanMs: 60_000 });
    expect(readQueueOptions(['--full'])).toMatchObject({ delayed: 1_000_000, spanMs: 600_000 });
  });
  test.each([['--only', 'ahead'], ['--scale', '0'], ['--rounds', ''], ['--half']])(
    '%s %s is refused',
    (...args) => {
      expect(typeof readQueueOptions(args)).toBe('string');
    },
  );
  test('a target holds up to its limit, and only what was measured is judged', () => {
    expect(judge({ 'W11 p99 ms': 10, 'in time': 0.99 }).map(({ holds }) => holds)).toEqual([true, true]);
    expect(judge({ 'W11 p99 ms': 10.1, 'in time': 0.98 }).map(({ holds }) => holds)).toEqual([false, false]);
    expect(judge({ 'idle before': NaN })).toMatchObject([{ holds: false }]);
  });
  test('a value that no target names is a mistake', () => {
    expect(() => judge({ 'W12 p99 ms': 1 })).toThrow('W12 p99 ms');
    expect(new Set(TARGETS.map(({ value }) => value)).size).toBe(TARGETS.length);
  });
});

const second = (endedMs: number, p99Us: number) => ({ endedMs, messages: 100, p99Us });
const counts = (records: readonly number[]) =>
  records.flatMap((_, i) => {
    const total = records.slice(0, i).reduce((sum, one) => sum + one, 0);
    return [0, 250, 500, 750].map((ms) => ({
      atMs: 1000 * i + ms,
      records: total + (records[i]! * ms) / 1000,
    }));
  });

describe('bench:disk', () => {
  test('what is sampled is held against twice what is live', () => {
    const liveBytes = 3 * SEGMENT_BYTES;
    expect(overshoot({ atMs: 0, logBytes: 10 * SEGMENT_BYTES, liveBytes })).toBe(4);
  });

  test('seconds in which more was appended than the messages need are told apart', () => {
    const seconds = [1000, 2000, 3000, 4000, 5000].map((ms, i) => second(ms, [9, 9, 1, 4, 2][i]!));
    expect(latencies(seconds, counts([200, 200, 200, 900, 210, 0]))).toEqual({
      quietUs: 1.5,
      restatingUs: 4,
      quietSeconds: 2,
      restatingSeconds: 1,
    });
  });
  test('without counts close enough nothing is told', () => {
    const seconds = [1000, 2000, 3000].map((ms) => second(ms, 1));
    const far = [0, 5000].map((atMs) => ({ atMs, records: atMs }));
    expect(latencies(seconds, far)).toMatchObject({ quietSeconds: 0, restatingSeconds: 0 });
  });

  test('options', () => {
    expect(readDiskOptions([])).toMatchObject({ messages: 1_000_000, aborts: 1_000_000, queues: 10_000 });
    expect(readDiskOptions(['--full', '--only', 'static'])).toMatchObject({
      messages: 10_000_000,
      only: ['static'],
    });
  });
  test.each([['--only', 'new'], ['--seconds', '0'], ['--quick']])('%s %s is refused', (...args) => {
    expect(typeof readDiskOptions(args)).toBe('string');
  });
});
