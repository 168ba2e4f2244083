// How often the long tests do what they do: `npm test` a few times, CI more often (TMQUEUE_DEPTH=ci), and with a flag of their own as often
// as it says. Must not know any test.

/** @param flag the environment variable that decides when it is set, e.g. TMQUEUE_KILLS */
export function times(flag: string, { inTest, inCi }: { inTest: number; inCi: number }): number {
  const asked = process.env[flag];
  if (asked !== undefined) return Number(asked);
  return process.env['TMQUEUE_DEPTH'] === 'ci' ? inCi : inTest;
}
