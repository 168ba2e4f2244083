// The bank-transfer example, with kill -9 of the daemon and of the programs that make transfers, at random moments: every account is there once
// and the sum is what it was. TMQUEUE_KILLS=200 for the long run.
import { expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { TestDaemon, within } from '../support/daemon.ts';
import { Example, EXAMPLES_UBB } from '../support/example.ts';

const KILLS = Number(process.env['TMQUEUE_KILLS'] ?? 4);
const SEED = Number(process.env['TMQUEUE_SEED'] ?? Date.now() % 1_000_000_000);
const STEP_MS = 50_000;

/** Random moments are the point here; nothing waits for anything. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

test(`it balances over ${KILLS} kills, seed ${SEED}`, { timeout: 120_000 + KILLS * 60_000 }, async () => {
  const daemon = await TestDaemon.start({ queues: [], text: EXAMPLES_UBB });
  const bank = (...words: string[]): Example => new Example(daemon.address, 'bank-transfer', words);
  const opened = await bank('open').ended;
  expect(opened).toMatchObject({ code: 0, out: '20 accounts are open\n', err: '' });
  const prng = new Prng(SEED);
  for (let kill = 0; kill < KILLS; kill++) {
    const programs = [1, 2, 3].map(() => bank('transfer', '100000'));
    // A program of this size needs a moment to start; then transfers are under way.
    await pause(prng.between(200, 1500));
    programs[0]?.child.kill('SIGKILL');
    await pause(prng.between(0, 100));
    if (prng.oneIn(3)) {
      for (const { child } of programs) child.kill('SIGKILL');
    } else {
      await daemon.kill();
      for (const { child } of programs) child.kill('SIGKILL');
      await daemon.restart();
    }
    await Promise.all(programs.map(({ ended }) => ended));
    const audit = await within(bank('audit').ended, STEP_MS, () => `no audit\n${daemon.stderr}`);
    expect(audit, `seed ${SEED}, kill ${kill}\n${daemon.stderr}`).toMatchObject({
      code: 0,
      out: '20 accounts, 20000 in all: balanced\n',
    });
  }
  const ctx = await daemon.connect();
  const { spaces } = await ctx.stat();
  const counts = spaces.map(({ name, messages }) => `${name} ${messages}`);
  expect(counts.toSorted()).toEqual(['EAST 10', 'QSPACE 0', 'WEST 10']);
});
