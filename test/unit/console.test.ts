// The runner of the manual's examples must be able to fail: each way in which a page can be wrong is one here.
import { describe, expect, it } from 'vitest';
import { matches, runPage, stepsOf } from '../support/console.ts';
import { tempDir } from '../support/temp-dir.ts';

const page = (...lines: string[]): string =>
  ['# A page', '```console', ...lines, '```', 'the end'].join('\n');
const run = (...lines: string[]): Promise<number> =>
  runPage({ name: 'page', text: page(...lines), folder: tempDir(), env: process.env });

describe('output', () => {
  it.each<[string, string[], string, boolean]>([
    ['is the same', ['a', 'b'], 'a\nb\n', true],
    ['differs', ['a', 'b'], 'a\nc\n', false],
    ['is missing', ['a'], '', false],
    ['is unexpected', [], 'a\n', false],
    ['goes on', ['a'], 'a\nb\n', false],
    ['has something within a line', ['a … c'], 'a b c\n', true],
    ['has something within a line, but not more lines', ['a … c'], 'a b\nb c\n', false],
    ['has a run of lines', ['a', '…', 'd'], 'a\nb\nc\nd\n', true],
    ['has no run of lines', ['a', '…'], 'a\n', true],
    ['is text, not a pattern', ['a.c [x]'], 'abc x\n', false],
  ])('that %s', (_name, expected, output, isRight) => {
    expect(matches(expected, output)).toBe(isRight);
  });
});

describe('a page', () => {
  it('has its commands, with continuations and here-documents', () => {
    const text = page('$ a \\', '  b', 'out', '$ cat <<EOF', 'in', 'EOF', 'in');
    expect(stepsOf(text)).toEqual([
      { command: 'a \\\n  b', expected: ['out'], line: 3 },
      { command: 'cat <<EOF\nin\nEOF', expected: ['in'], line: 6 },
    ]);
    expect(stepsOf('```sh\n$ a\n```')).toEqual([]);
  });

  it('runs in one shell, and exit codes are seen', async () => {
    expect(await run('$ x=1; cd /', '$ echo $x $PWD', '1 /', '$ (exit 3)', '$ echo $?', '3')).toBe(4);
  });

  it('fails where the output is another', async () => {
    await expect(run('$ echo a', 'a', '$ echo b', 'c')).rejects.toThrow(
      /page:5: \$ echo b[^]*says:\nc[^]*printed[^]*b/,
    );
  });

  it('fails where a command fails and does not say so', async () => {
    await expect(run('$ echo a; false', '…')).rejects.toThrow(/exit code 1/);
  });

  it(
    'ends with everything that it started: whoever lives on would hold its output open',
    { timeout: 10_000 },
    async () => {
      expect(await run('$ sleep 1000 &', '$ (trap "" TERM; sleep 1000) &')).toBe(2);
    },
  );
});
