// Disk space set aside by the system's own program, through a shell that outlives nothing.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { Allocator } from '../../src/boot/allocator.ts';
import { tempDir } from '../support/temp-dir.ts';

const BYTES = 1024 * 1024;

function allocator(): Allocator {
  const made = Allocator.start();
  onTestFinished(() => made.close());
  return made;
}

/** A PATH on which fallocate is this shell script. */
function withProgram(script: string): void {
  const bin = join(tempDir(), 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'fallocate'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, 'fallocate'), 0o755);
  const { PATH } = process.env;
  process.env['PATH'] = `${bin}:${PATH}`;
  onTestFinished(() => {
    process.env['PATH'] = PATH;
  });
}

test('a file gets its bytes, whatever its name, and requests are answered in their order', async () => {
  withProgram('truncate -s "$2" "$3"');
  const { allocate } = allocator();
  const paths = ['plain', 'it\'s $(a) "name" with  blanks\\', 'ü'].map((name) => join(tempDir(), name));
  expect(await Promise.all(paths.map((path, i) => allocate(path, BYTES + i)))).toEqual([true, true, true]);
  expect(paths.map((path) => statSync(path).size)).toEqual([BYTES, BYTES + 1, BYTES + 2]);
});

test('the answer is no for a name that cannot be said, where the program fails, and when the shell is gone', async () => {
  withProgram('exit 1');
  const { allocate, close } = bound(allocator());
  expect(await allocate(join(tempDir(), 'a\nb'), BYTES)).toBe(false);
  expect(await allocate(join(tempDir(), 'c'), BYTES)).toBe(false);
  const open = allocate(join(tempDir(), 'd'), BYTES);
  close();
  expect(await open).toBe(false);
  expect(await allocate(join(tempDir(), 'e'), BYTES)).toBe(false);
});

test('a process with nothing else to do lives until the answer, and no longer', () => {
  withProgram('sleep 0.3');
  const module = pathToFileURL(join(import.meta.dirname, '../../dist/src/boot/allocator.js')).href;
  const script = `import { Allocator } from '${module}'; console.log(await Allocator.start().allocate('/nowhere', 1));`;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  expect([status, stdout]).toEqual([0, 'true\n']);
});

test('a system without the program says no', async () => {
  const { PATH } = process.env;
  process.env['PATH'] = tempDir();
  onTestFinished(() => {
    process.env['PATH'] = PATH;
  });
  expect(await allocator().allocate(join(tempDir(), 'f'), BYTES)).toBe(false);
});

function bound(made: Allocator): Pick<Allocator, 'allocate' | 'close'> {
  return { allocate: made.allocate, close: () => made.close() };
}
