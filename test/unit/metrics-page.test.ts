// The page of /metrics from numbers that the test makes up: its text, its slices, and that the manual, the dashboard and the alerts name what is there.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Histogram } from '../../src/base/histogram.ts';
import {
  DAEMON,
  FORWARDER_RESULTS,
  FORWARDERS,
  QUEUES,
  READINESS,
  SERVICES,
  SPACES,
} from '../../src/metrics/families.ts';
import { MetricsPage } from '../../src/metrics/page.ts';
import { Readiness } from '../../src/metrics/readiness.ts';
import type { MetricsSource, OpenSpaceNumbers, QueueNumbers } from '../../src/metrics/source.ts';
import { readMetrics, valueOf } from '../support/metrics-text.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const FAMILIES = [DAEMON, FORWARDER_RESULTS, FORWARDERS, QUEUES, READINESS, SERVICES, SPACES].flat();

function spread(bounds: number[], ...values: number[]): Histogram {
  const histogram = new Histogram(bounds);
  for (const value of values) histogram.observe(value);
  return histogram;
}

const OPEN: OpenSpaceNumbers = {
  queues: 1,
  messages: 2,
  transactions: 3,
  memoryBytes: 4,
  nonPersistentBytes: 5,
  liveBytes: 6,
  deadBytes: 7,
  logBytes: 8,
  roomBytes: 9,
  appendedBytes: 10,
  records: 11,
  batchRecords: spread([1, 10], 1, 2, 10, 11),
  syncSeconds: spread([0.5], 0.25, 0.5),
  checkpointSeconds: spread([1]),
  checkpointFailures: 12,
  reclaimSeconds: spread([1]),
  restatedBytes: 13,
};

function queueNumbers(queue: string, ready: number): QueueNumbers {
  const none = { delayed: 0, locked: 0, pending: 0, bytes: 0, nonPersistentBytes: 0, oldestSeconds: 0 };
  const counts = {
    enqueued: 0,
    dequeued: 0,
    retried: 0,
    expired: 0,
    moved: 0,
    dropped: 0,
    purged: 0,
    movedAway: 0,
  };
  return { space: 'S', queue, ready, waiters: 0, ...none, ...counts };
}

function sourceOf(queues: readonly QueueNumbers[]): MetricsSource {
  return {
    daemon: () => ({
      version: '1.2.3',
      lmid: 'SITE1',
      connections: 1,
      connectionsMax: 2,
      accepted: 3,
      refused: 4,
      transactions: 5,
      ended: { committed: 6, rolledBack: 7, timedOut: 8, failed: 9 },
    }),
    spaces: () => [
      { space: 'S', isUp: true, open: OPEN },
      { space: 'DAMAGED', isUp: false, open: null },
    ],
    queues: () => queues,
    forwarders: () => [{ srvgrp: 'G', srvid: 30, isUp: true }],
    forwarderResults: () => [{ srvgrp: 'G', srvid: 30, forwarded: 1, failed: 2 }],
    services: () => [{ service: 'SVC', servers: 1, outstanding: 2, completed: 3, failed: 4 }],
  };
}

function pageOf(queues: readonly QueueNumbers[]): { page: MetricsPage; turns: () => number } {
  let turns = 0;
  const nextTurn = async (): Promise<void> => void turns++;
  const page = new MetricsPage({ readiness: new Readiness(), nextTurn });
  page.source = sourceOf(queues);
  return { page, turns: () => turns };
}

async function textOf(page: MetricsPage): Promise<string> {
  return Buffer.concat(await page.make()).toString();
}

describe('the page', () => {
  it('has every family, with its kind and help, and nothing else', async () => {
    const found = readMetrics(await textOf(pageOf([queueNumbers('Q', 1)]).page));
    const kinds = FAMILIES.map(({ name, kind, help }) => `${name} ${kind} ${help}`).sort();
    expect([...found].map(([name, { type, help }]) => `${name} ${type} ${help}`).sort()).toEqual(kinds);
  });

  it('reads labels and values from the numbers', async () => {
    const found = readMetrics(await textOf(pageOf([queueNumbers('Q', 17)]).page));
    const values: [string, Record<string, string>, number][] = [
      ['tmqueue_info', { lmid: 'SITE1', version: '1.2.3' }, 1],
      ['tmqueue_ready', {}, 0],
      ['tmqueue_transactions_ended_total', { outcome: 'timed_out' }, 8],
      ['tmqueue_space_up', { space: 'S' }, 1],
      ['tmqueue_space_up', { space: 'DAMAGED' }, 0],
      ['tmqueue_space_dead_bytes', {}, 7],
      ['tmqueue_queue_messages', { space: 'S', queue: 'Q', state: 'ready' }, 17],
      ['tmqueue_forwarder_up', { srvgrp: 'G', srvid: '30' }, 1],
      ['tmqueue_forwarder_messages_total', { result: 'failed' }, 2],
      ['tmqueue_service_outstanding', { service: 'SVC' }, 2],
    ];
    for (const [name, labels, value] of values) {
      expect([name, labels, valueOf(found, name, labels)]).toEqual([name, labels, value]);
    }
  });

  it('counts a histogram up to each of its bounds', async () => {
    const found = readMetrics(await textOf(pageOf([]).page));
    const upTo = (le: string): number => valueOf(found, 'tmqueue_space_batch_records_bucket', { le });
    expect(['1', '10', '+Inf'].map(upTo)).toEqual([1, 3, 4]);
    expect(valueOf(found, 'tmqueue_space_batch_records_count')).toBe(4);
    expect(valueOf(found, 'tmqueue_space_batch_records_sum')).toBe(24);
  });

  it('carries any name', async () => {
    const names = ['WEIRD NAME', 'a"b', 'back\\slash', '€ and 統一', 'x,y="z"'];
    const queues = names.map((name, i) => queueNumbers(name, i));
    const found = readMetrics(await textOf(pageOf(queues).page));
    for (const [i, queue] of names.entries()) {
      expect(valueOf(found, 'tmqueue_queue_messages', { queue, state: 'ready' })).toBe(i);
    }
  });

  it('gives the loop a turn after a few queues, whatever their number, and shows each of them once', async () => {
    const queues = Array.from({ length: 2000 }, (_, i) => queueNumbers(`Q${i}`, i));
    const { page, turns } = pageOf(queues);
    const found = readMetrics(await textOf(page));
    expect(turns()).toBeGreaterThan(2000 / 100);
    const shown = (found.get('tmqueue_queue_waiters')?.samples ?? []).map(({ labels }) => labels['queue']);
    expect(shown).toEqual(queues.map(({ queue }) => queue));
    expect(valueOf(found, 'tmqueue_queue_messages', { queue: 'Q1999', state: 'ready' })).toBe(1999);
  });

  it('is made once for all who ask at the same time, and afresh for the next', async () => {
    const { page } = pageOf([queueNumbers('Q', 1)]);
    const [first, second] = [page.make(), page.make()];
    expect(await second).toBe(await first);
    expect(await page.make()).not.toBe(await first);
  });

  it('has the figures of recovery and nothing of the daemon before there is one', async () => {
    const { page } = pageOf([]);
    page.source = null;
    expect([...readMetrics(await textOf(page)).keys()].sort()).toEqual(
      READINESS.map(({ name }) => name).sort(),
    );
  });

  it('shows the process when it is to', async () => {
    const page = new MetricsPage({
      readiness: new Readiness(),
      nextTurn: () => Promise.resolve(),
      ofProcess: true,
    });
    const names = [...readMetrics(await textOf(page)).keys()];
    expect(names).toEqual(expect.arrayContaining(['process_resident_memory_bytes', 'process_open_fds']));
  });
});

describe('what is written about the metrics', () => {
  const known = new Set(FAMILIES.flatMap(namesOf));

  it('docs/operations.md lists every family once, with its kind and labels', () => {
    const rows = [...read('docs/operations.md').matchAll(/^\| `(tmqueue_\w+)` \| (\w+) \| ([^|]*) \|/gm)];
    const listed = rows.map(([, name, kind, labels]) => `${name} ${kind} ${labels?.trim()}`);
    const labelsOf = new Map<string, string[]>(
      [
        [READINESS, []],
        [DAEMON, ['lmid']],
        [SPACES, ['space']],
        [QUEUES, ['space', 'queue']],
        [FORWARDERS, ['srvgrp', 'srvid']],
        [FORWARDER_RESULTS, ['srvgrp', 'srvid']],
        [SERVICES, ['service']],
      ].flatMap(([families, labels]) =>
        (families as typeof FAMILIES).map(({ name, label }) => [
          name,
          [...(labels as string[]), label].filter((one) => one !== ''),
        ]),
      ),
    );
    const expected = FAMILIES.map(
      ({ name, kind }) => `${name} ${kind} ${(labelsOf.get(name) ?? []).join(', ')}`,
    );
    expect(listed.sort()).toEqual(expected.sort());
  });

  it.each(['config/grafana/tmqueue.json', 'config/prometheus/alerts.yml'])(
    '%s names what is there',
    (file) => {
      const named = [
        ...new Set([...read(file).matchAll(/\b(?:tmqueue|process|nodejs)_\w+/g)].map(([name]) => name)),
      ];
      const own = named.filter((name) => name.startsWith('tmqueue_'));
      expect(own.length).toBeGreaterThan(3);
      expect(own.filter((name) => !known.has(name))).toEqual([]);
    },
  );
});

function namesOf({ name, kind }: { name: string; kind: string }): string[] {
  return kind === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
}
