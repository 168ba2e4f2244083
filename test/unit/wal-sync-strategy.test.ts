// Where syncs run.

import { describe, expect, test } from 'vitest';
import { SyncStrategy } from '../../src/wal/local/sync-strategy.ts';
import { ManualClock } from '../support/manual-clock.ts';

function auto(): { sync: SyncStrategy; clock: ManualClock; spend: (ms: number, inline?: boolean) => void } {
  const clock = new ManualClock();
  const sync = new SyncStrategy('auto', clock);
  const spend = (ms: number, inline = true): void => {
    const startedAt = sync.now();
    clock.advance(ms);
    sync.measured(inline, startedAt);
  };
  return { sync, clock, spend };
}

describe('sync strategy', () => {
  test('fixed settings', () => {
    const clock = new ManualClock();
    for (const setting of ['inline', 'worker'] as const) {
      const sync = new SyncStrategy(setting, clock);
      const log = sync.join();
      sync.started();
      sync.measured(true, clock.monoMs() - 100);
      expect(sync.chooseInline(log, 10_000_000)).toBe(setting === 'inline');
    }
  });

  test('auto: inline while syncs are quick and batches small', () => {
    const { sync, spend } = auto();
    const log = sync.join();
    for (let i = 0; i < 50; i++) {
      expect(sync.chooseInline(log, 256 * 1024)).toBe(true);
      spend(0.4);
    }
    expect(sync.chooseInline(log, 256 * 1024 + 1)).toBe(false);
  });

  test('auto: a figure over half a millisecond ends it, a probe a second brings it back', () => {
    const { sync, clock, spend } = auto();
    const log = sync.join();
    for (let i = 0; i < 60; i++) {
      sync.chooseInline(log, 100);
      spend(1);
    }
    expect(sync.chooseInline(log, 100)).toBe(false);
    let probes = 0;
    for (let i = 0; i < 100; i++) {
      clock.advance(100);
      if (!sync.chooseInline(log, 100)) continue;
      probes++;
      spend(1);
    }
    expect(probes).toBeGreaterThanOrEqual(8);
    expect(probes).toBeLessThanOrEqual(12);
    for (let i = 0; i < 60; i++) spend(0.1, false);
    expect(sync.chooseInline(log, 100)).toBe(true);
  });

  test('auto: a sync over 5 ms ends it for a minute', () => {
    const { sync, clock, spend } = auto();
    const log = sync.join();
    spend(5.5);
    expect(sync.chooseInline(log, 100)).toBe(false);
    clock.advance(59_000);
    expect(sync.chooseInline(log, 100)).toBe(false);
    clock.advance(1001);
    for (let i = 0; i < 20; i++) spend(0.1, false);
    expect(sync.chooseInline(log, 100)).toBe(true);
  });

  test('auto: a slow sync on a worker says nothing, it may be the loop', () => {
    const { sync, spend } = auto();
    const log = sync.join();
    spend(50, false);
    expect(sync.chooseInline(log, 100)).toBe(true);
  });

  test('auto: only while a single log has work', () => {
    const { sync, clock } = auto();
    const [one, two] = [sync.join(), sync.join()];
    expect(sync.chooseInline(one, 100)).toBe(true);
    expect(sync.chooseInline(two, 100)).toBe(false);
    clock.advance(5);
    expect(sync.chooseInline(one, 100)).toBe(false);
    clock.advance(25);
    expect(sync.chooseInline(one, 100)).toBe(true);
    sync.started();
    expect(sync.chooseInline(one, 100)).toBe(false);
    sync.finished();
    expect(sync.chooseInline(one, 100)).toBe(true);
  });
});
