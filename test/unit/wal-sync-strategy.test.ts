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

  test('auto: a figure over a millisecond ends it, four probes a second bring it back', () => {
    const { sync, clock, spend } = auto();
    const log = sync.join();
    for (let i = 0; i < 60; i++) {
      sync.chooseInline(log, 100);
      spend(2);
    }
    expect(sync.chooseInline(log, 100)).toBe(false);
    let probes = 0;
    for (let i = 0; i < 100; i++) {
      clock.advance(100);
      if (!sync.chooseInline(log, 100)) continue;
      probes++;
      spend(2);
    }
    // In ten seconds: every 300 ms, since the test looks every 100.
    expect(probes).toBeGreaterThanOrEqual(30);
    expect(probes).toBeLessThanOrEqual(40);
    for (let i = 0; i < 60; i++) spend(0.1, false);
    expect(sync.chooseInline(log, 100)).toBe(true);
  });

  test('auto: one sync of 15 ms among quick ones changes nothing', () => {
    const { sync, spend } = auto();
    const log = sync.join();
    for (let i = 0; i < 50; i++) spend(0.3);
    spend(15);
    expect(sync.chooseInline(log, 100)).toBe(true);
    for (let i = 0; i < 5; i++) spend(15);
    expect([sync.chooseInline(log, 100), sync.chooseInline(log, 100)]).toEqual([true, false]);
  });

  test('auto: each sync over 20 ms ends it for longer, from a second to a minute; a quiet minute forgets them', () => {
    const { sync, clock, spend } = auto();
    const log = sync.join();
    const pauseAfterSlowSync = (): number => {
      spend(20.5);
      let seconds = 0;
      while (seconds < 100 && !sync.chooseInline(log, 100)) {
        clock.advance(500);
        seconds += 0.5;
        spend(0.1, false);
      }
      return seconds;
    };
    const pauses = Array.from({ length: 9 }, pauseAfterSlowSync).map(Math.round);
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    clock.advance(61_000);
    expect(Math.round(pauseAfterSlowSync())).toBe(1);
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
