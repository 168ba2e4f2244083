// Spaces as earlier releases left them: today's program says that they are whole, starts on each, and hands out what is queued. The files are
// never made again (make-space.ts).
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FORMAT_VERSION } from '../../src/wal/local/frame.ts';
import { findSpaces } from '../../src/tools/directories.ts';
import { verifySpace } from '../../src/tools/verify.ts';
import { GOLDEN, loadGolden, missingIn, unpackGolden } from '../support/golden-space.ts';
import { InProcess } from '../support/in-process.ts';
import { tempDir } from '../support/temp-dir.ts';

const NAMES = readdirSync(GOLDEN).filter((name) => /^space-v\d+[b-z]?\.json$/.test(name));

test.each(NAMES)('a start on %s', async (name) => {
  const golden = loadGolden(name);
  const daemon = new InProcess(golden.ubbconfig);
  onTestFinished(() => daemon.remove());
  unpackGolden(golden, join(daemon.dir, 'data'));
  const [space] = (await findSpaces(join(daemon.dir, 'data'))).spaces;
  if (space === undefined) throw new Error('no space');
  const expected = Object.entries(golden.queued).map(([queue, texts]) => [queue, texts.map(textOf)] as const);
  const verdict = await verifySpace(space);
  expect(verdict).toMatchObject({ space: { name: golden.space }, isDamaged: false });
  // A checkpoint of an older format is passed over; the log is enough.
  expect(verdict.findings.filter(({ text }) => !/ it has format 1, this program/.test(text))).toEqual([]);
  expect(verdict.messages).toBe(expected.reduce((sum, [, texts]) => sum + texts.length, golden.beside ?? 0));

  await daemon.start();
  const ctx = await daemon.join();
  for (const [queue, texts] of expected) {
    for (const text of texts) {
      const received = await ctx.tpdequeue(golden.space, queue, null, null, 0);
      expect(received.data, queue).toBe(text);
    }
    await expect(ctx.tpdequeue(golden.space, queue, null, null, 0)).rejects.toThrow(/QMENOMSG/);
  }
});

test('there is one of every format', () => {
  const formats = new Set(NAMES.map((name) => loadGolden(name).format));
  expect([...formats].sort((a, b) => a - b)).toEqual(Array.from({ length: FORMAT_VERSION }, (_, i) => i + 1));
});

test('the newest one holds every kind of record that is written, and a checkpoint: else `npm run golden`', async () => {
  const newest = NAMES.toSorted().findLast((name) => loadGolden(name).format === FORMAT_VERSION) ?? '';
  expect(await missingIn(unpackGolden(loadGolden(newest), tempDir()))).toEqual([]);
});

function textOf(text: string | readonly [string, number]): string {
  return typeof text === 'string' ? text : text[0].repeat(text[1]);
}
