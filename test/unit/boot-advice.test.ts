// What the operator is told to do, by the code of a disk's error, wherever in the chain of causes it stands.
import { expect, test } from 'vitest';
import { adviceFor } from '../../src/boot/advice.ts';
import { LogError } from '../../src/wal/log-store.ts';

function failed(code: string): Error {
  return Object.assign(new Error(`${code}: failed`), { code });
}

test.each([
  ['EIO', 'dmesg'],
  ['ENOSPC', 'free some'],
  ['EDQUOT', 'free some'],
  ['EROFS', 'mount it for writing'],
  ['ENOENT', 'put it back'],
  ['ENOTDIR', 'put it back'],
  ['EACCES', 'owner and mode'],
  ['EPERM', 'owner and mode'],
  ['EMFILE', 'ulimit -n'],
  ['ENFILE', 'fs.file-max'],
])('%s', (code, words) => {
  expect(adviceFor(failed(code))).toContain(words);
  const deep = new Error('start', { cause: new LogError('Unavailable', 'the log', { cause: failed(code) }) });
  expect(adviceFor(deep)).toContain(words);
  expect(adviceFor(deep)).toMatch(/then start again/);
});

test('what is no error of a disk has none', () => {
  for (const error of [failed('ECONNRESET'), new Error('x'), new LogError('Corrupt', 'damage'), 'text', null])
    expect(adviceFor(error)).toBe('');
});
