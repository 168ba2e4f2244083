// What `tmqueue top` makes of two pictures: rates, order, and lines that fit the terminal.
import { describe, expect, it } from 'vitest';
import type { QueueStatistics, Statistics } from '../../proto/message-statistics.ts';
import { snapshotOf, sortedQueues } from '../../src/cli/rates.ts';
import { topLines } from '../../src/cli/top-view.ts';

function queue(name: string, numbers: Partial<QueueStatistics> = {}): QueueStatistics {
  const none = {
    messages: 0,
    ready: 0,
    delayed: 0,
    locked: 0,
    bytes: 0,
    waiters: 0,
    enqueued: 0,
    dequeued: 0,
  };
  return { name, ...none, ...numbers };
}

function statistics(
  uptimeMs: number,
  queues: QueueStatistics[],
  forwarders: Statistics['forwarders'] = [],
): Statistics {
  const sizes = { messages: 0, bytes: 0, logBytes: 0, roomBytes: 0, batches: uptimeMs / 100, records: 0 };
  const space = { name: 'S', aliases: ['S'], device: '/d', state: 'open' as const, ...sizes, queues };
  return {
    version: '1',
    lmid: 'L',
    uptimeMs,
    connections: 0,
    transactions: 0,
    spaces: [space],
    services: [],
    forwarders,
  };
}

describe('rates', () => {
  it('are what was counted between two pictures, a second', () => {
    const forwarder = { srvgrp: 'G', srvid: 1, queues: ['A'], forwarded: 10, failed: 1 };
    const before = statistics(1000, [queue('A', { enqueued: 10, dequeued: 5 })], [forwarder]);
    const now = statistics(
      3000,
      [queue('A', { enqueued: 30, dequeued: 6, waiters: 2 }), queue('NEW', { enqueued: 9 })],
      [{ ...forwarder, forwarded: 14, failed: 2 }],
    );
    const { queues, spaces, forwarders } = snapshotOf(before, now, 2);
    expect(queues.map(({ name, inPerS, outPerS }) => [name, inPerS, outPerS])).toEqual([
      ['A', 10, 0.5],
      ['NEW', 0, 0],
    ]);
    expect(spaces[0]).toMatchObject({ queues: 2, waiters: 2, inPerS: 10, outPerS: 0.5, batchesPerS: 10 });
    expect(forwarders[0]).toMatchObject({ donePerS: 2, failedPerS: 0.5 });
  });

  it('are none over a restart of the daemon', () => {
    const now = statistics(500, [queue('A', { enqueued: 99 })]);
    expect(snapshotOf(statistics(1000, [queue('A', { enqueued: 10 })]), now, 1).queues[0]?.inPerS).toBe(0);
  });
});

describe('the order of queues', () => {
  const queues = snapshotOf(
    statistics(0, [queue('B'), queue('A'), queue('C', { messages: 0 })]),
    statistics(1000, [
      queue('B', { messages: 5, enqueued: 1 }),
      queue('A', { messages: 5, waiters: 3 }),
      queue('C', { messages: 9, bytes: 1, dequeued: 7 }),
    ]),
    1,
  ).queues;

  it.each([
    ['messages', 'CAB'],
    ['in', 'BAC'],
    ['out', 'CAB'],
    ['waiters', 'ABC'],
    ['bytes', 'CAB'],
    ['name', 'ABC'],
  ] as const)('by %s is %s', (key, order) => {
    expect(
      sortedQueues(queues, key)
        .map(({ name }) => name)
        .join(''),
    ).toBe(order);
  });
});

describe('the picture', () => {
  const many = Array.from({ length: 50 }, (_, i) => queue(`QUEUE${i}`, { messages: i }));
  const forwarders = Array.from({ length: 20 }, (_, srvid) => {
    return { srvgrp: 'G', srvid, queues: ['Q'], forwarded: 0, failed: 0, running: 1, instances: 2 };
  });
  const picture = statistics(61_000, many, forwarders);
  const snapshot = snapshotOf(picture, picture, 1);

  it('fits the terminal, shows the first queues, and says how many there are beside them', () => {
    const lines = topLines(snapshot, { sort: 'messages', width: 50, height: 24 });
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(50);
    expect(lines[0]).toBe('tmqueue 1 on L, up 1m 1s, 0 connections, 0 transac');
    expect(lines.find((line) => line.startsWith('QUEUE49'))).toBeDefined();
    expect(lines.at(-1)).toMatch(/^… and 4\d more$/);
    expect(lines).toContain('… and 12 more');
    expect(lines.find((line) => line.startsWith('G/0 '))).toMatch(/^G\/0 +1\/2 /);
  });

  it('without a terminal is whole', () => {
    const lines = topLines(snapshot, { sort: 'name', width: Infinity, height: Infinity });
    expect(lines.filter((line) => line.startsWith('QUEUE')).length).toBe(51);
  });

  it('of a small terminal is cut off', () => {
    expect(topLines(snapshot, { sort: 'name', width: 10, height: 3 })).toHaveLength(3);
  });
});
