// The space's own time [DESIGN 4, Time]: relative lengths keep their length whatever the wall clock does.
import { describe, expect, it } from 'vitest';
import { SpaceClock } from '../../src/engine/space-clock.ts';
import { ManualClock } from '../support/manual-clock.ts';

describe('space time', () => {
  it('begins at 0, runs with the monotonic clock and ignores steps of the wall clock', () => {
    const clock = new ManualClock();
    const time = new SpaceClock(clock);
    time.start();
    expect(time.nowMs()).toBe(0);
    clock.advance(500);
    clock.stepWall(-3_600_000);
    expect(time.nowMs()).toBe(500);
    clock.stepWall(7_200_000);
    expect(time.nowMs()).toBe(500);
  });

  it.each([
    ['is carried over a stop by the wall clock', 10_000, 60_000 + 10_000],
    ['never runs backwards when the wall clock was set back meanwhile', -10_000, 60_000],
  ])('%s', (_name, wallPassed, expected) => {
    const clock = new ManualClock({ wallMs: 1_000_000 });
    const time = new SpaceClock(clock);
    time.learn({ space: 60_000, wall: 1_000_000 });
    clock.stepWall(wallPassed);
    time.start();
    expect(time.nowMs()).toBe(expected);
  });

  it('notices that the two clocks have drifted apart since the last stamp', () => {
    const clock = new ManualClock();
    const time = new SpaceClock(clock);
    time.start();
    time.stamp();
    clock.advance(10_000);
    expect(time.drifted).toBe(false);
    clock.stepWall(101);
    expect(time.drifted).toBe(true);
    time.stamp();
    expect(time.drifted).toBe(false);
  });

  it('gives the monotonic instant of a space time', () => {
    const clock = new ManualClock({ monoMs: 77 });
    const time = new SpaceClock(clock);
    time.learn({ space: 1000, wall: clock.wallMs() });
    time.start();
    expect(time.monoAt(1500)).toBe(577);
  });
});
