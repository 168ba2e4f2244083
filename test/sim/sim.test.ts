// The simulation: 30 seeds, in CI 200 (TMQUEUE_SIM_SEEDS: more or fewer), are well, the same seed is the same run byte for byte, and a build with
// any known fault is found out. A failure prints the seed; `npm run sim -- --seed N --verbose` repeats it.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { KNOWN_FAULTS, type KnownFault } from './known-faults.ts';
import { type RunResult, runSeed } from './run.ts';
import { times } from '../support/depth.ts';

const SEEDS = times('TMQUEUE_SIM_SEEDS', { inTest: 30, inCi: 200 });
/** A known fault is found out within so many seeds. */
const SEEDS_TO_FIND = 60;
const MINUTES_MAX = 3;
const MAIN = join(import.meta.dirname, '../../dist/test/sim/main.js');

function explain({ seed, violations, lastLines }: RunResult): string {
  return [
    `seed ${seed}, repeat with: npm run sim -- --seed ${seed} --verbose`,
    ...violations.slice(0, 10),
    'the last events:',
    ...lastLines.slice(-30),
  ].join('\n  ');
}

/** The first seed whose run is not well. */
async function findOut(fault: KnownFault): Promise<RunResult | null> {
  for (let seed = 1; seed <= SEEDS_TO_FIND; seed++) {
    const result = await runSeed({ seed, fault });
    if (result.violations.length > 0) return result;
  }
  return null;
}

describe('the simulated daemon', { timeout: MINUTES_MAX * 60_000 }, () => {
  test(`is well over ${SEEDS} seeds`, async () => {
    const sum = { messages: 0, takes: 0, ends: new Set<string>() };
    for (let seed = 1; seed <= SEEDS; seed++) {
      const result = await runSeed({ seed });
      if (result.violations.length > 0) throw new Error(explain(result));
      sum.messages += result.messages;
      sum.takes += result.takes;
      for (const end of result.ends) sum.ends.add(end);
    }
    // That much must have happened, or the clients have stopped to work.
    expect(sum.messages).toBeGreaterThan(40 * SEEDS);
    expect(sum.takes).toBeGreaterThan(20 * SEEDS);
    if (SEEDS >= 100) {
      expect([...sum.ends].toSorted()).toEqual([
        'its log failed',
        'killed',
        'power gone',
        'stopped',
        'the start failed',
      ]);
    }
  });

  test('does the same for the same seed, byte for byte, and something else for another', async () => {
    const first = [await runSeed({ seed: 1 }), await runSeed({ seed: 2 })];
    const again = [await runSeed({ seed: 1 }), await runSeed({ seed: 2 })];
    expect(again).toEqual(first);
    expect(first[0]?.hash).not.toBe(first[1]?.hash);
  });

  test('does so in another process too', async () => {
    const { hash } = await runSeed({ seed: 4 });
    const { stdout, stderr } = spawnSync(process.execPath, [MAIN, '--seed', '4'], { encoding: 'utf8' });
    expect(stdout, stderr).toContain(`trace ${hash}`);
  });
});

describe('a build with a known fault', { timeout: MINUTES_MAX * 60_000 }, () => {
  test.each(Object.entries(KNOWN_FAULTS))('is found out: %s', async (_, fault) => {
    expect(await findOut(fault), `not within ${SEEDS_TO_FIND} seeds`).not.toBeNull();
  });

  test('is none any more when the run is over', async () => {
    for (const fault of Object.values(KNOWN_FAULTS)) fault.switchIn()();
    expect((await runSeed({ seed: 1 })).violations).toEqual([]);
  });
});
