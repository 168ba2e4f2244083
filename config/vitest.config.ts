// How vitest runs: every *.test.ts below test/, in forked processes (the daemon tests start children and count descriptors).
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: `${import.meta.dirname}/..`,
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most of the time goes into waiting for child processes and disks: two cores serve two files.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 30_000,
  },
});
