// The progress bar of the tools: on a terminal only, never for programs, gone when the work is done or has failed.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { withProgress } from '../../src/cli/tool.ts';

function terminal(isTTY: boolean): string[] {
  const written: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  process.stderr.isTTY = isTTY;
  return written;
}

/** Two drawings' worth of time passes at each step. */
function slowClock(): void {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 300));
}

function work(show: (done: number, total: number) => void): Promise<string> {
  show(1, 4);
  show(4, 4);
  return Promise.resolve('done');
}

async function failing(show: (done: number, total: number) => void): Promise<void> {
  await work(show);
  throw new Error('no');
}

describe('withProgress', () => {
  const { isTTY } = process.stderr;
  afterEach(() => {
    vi.restoreAllMocks();
    process.stderr.isTTY = isTTY;
  });

  it('draws on a terminal, and takes it away', async () => {
    slowClock();
    const written = terminal(true);
    expect(await withProgress({ label: 'backing up' }, work)).toBe('done');
    expect(written).toEqual([
      `\rbacking up [${'#'.repeat(8)}${'-'.repeat(22)}] 25 %`,
      `\rbacking up [${'#'.repeat(30)}] 100 %`,
      '\r\x1b[K',
    ]);
  });

  it.each([
    ['standard error is no terminal', false, {}],
    ['the output is for a program', true, { hidden: true }],
  ])('draws nothing when %s', async (_, isTerminal, bar) => {
    slowClock();
    const written = terminal(isTerminal);
    expect(await withProgress({ label: 'backing up', ...bar }, work)).toBe('done');
    expect(written).toEqual([]);
  });

  it('takes it away when the work fails', async () => {
    slowClock();
    const written = terminal(true);
    await expect(withProgress({ label: 'backing up' }, failing)).rejects.toThrow('no');
    expect(written.at(-1)).toBe('\r\x1b[K');
  });
});
