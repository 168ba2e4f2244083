// `npm run demo` as it is, and with a reply taken away: a demo whose ledger cannot notice a loss would show nothing.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const DEMO = join(import.meta.dirname, '../../dist/clients/typescript/examples/demo.js');

function run(env: Record<string, string>): { code: number | null; lastLine: string; left: string[] } {
  const TMPDIR = tempDir();
  const { status, stdout } = spawnSync(process.execPath, [DEMO], {
    env: { ...process.env, ...env, TMPDIR },
    encoding: 'utf8',
  });
  return { code: status, lastLine: stdout.trimEnd().split('\n').at(-1) ?? '', left: readdirSync(TMPDIR) };
}

describe('the demo', () => {
  it('loses nothing over a SIGKILL and leaves nothing behind', () => {
    const { code, lastLine, left } = run({});
    expect(lastLine).toMatch(/^demo: (\d{3}) requests, \1 replies, 0 lost$/);
    expect(code).toBe(0);
    expect(left).toEqual([]);
  });

  it('notices one reply taken away', () => {
    const { code, lastLine, left } = run({ TMQUEUE_DEMO_LOSE: '1' });
    expect(lastLine).toMatch(/^demo: \d{3} requests, \d{3} replies, 1 lost$/);
    expect(code).toBe(1);
    expect(left).toEqual([]);
  });
});
