// C63: queue names that look like paths, patterns, comments or other names. Each is refused by the configuration or works wholly:
// messages go in and out, nothing is written outside the device, the name is listed as it is, and a restart changes nothing.
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { daemonForTest, InProcess } from '../support/in-process.ts';
import { codeOf, drain, put, SPACE } from './helpers.ts';

const NAMES = [
  ' ',
  'a b',
  'a/b',
  '/',
  '../../x',
  '.',
  '..',
  'tab\there',
  'quote"inside',
  'back\\slash',
  "single'quote",
  '#x',
  '*x',
  'DEFAULT:',
  'ä',
  'a\u0308',
  'キュー',
  '📨',
  'x'.repeat(15),
  'x'.repeat(16),
  'x'.repeat(127),
  'Case',
  'CASE',
  'case',
  'TMQUEUE',
  SPACE,
  '__proto__',
  'constructor',
];

/** Whether the configuration takes a queue of this name. */
async function isAccepted(name: string): Promise<boolean> {
  const daemon = new InProcess({ spaces: [{ queues: [name] }] });
  try {
    await daemon.start();
    return true;
  } catch (error) {
    expect(String(error)).toContain('ubbconfig:');
    return false;
  } finally {
    await daemon.remove();
  }
}

describe('a queue name', () => {
  it.each([
    ['empty', ''],
    ['NUL inside', 'a\0b'],
    ['128 bytes', 'x'.repeat(128)],
    ['129 bytes', 'x'.repeat(129)],
    ['64 letters of two bytes', 'ä'.repeat(64)],
  ])('%s is a fault of the configuration', async (_name, queue) => {
    expect(await isAccepted(queue)).toBe(false);
  });

  it('that is accepted works, is told from its like, and survives a restart', async () => {
    const accepted: string[] = [];
    for (const name of NAMES) if (await isAccepted(name)) accepted.push(name);
    expect(accepted).toEqual(
      expect.arrayContaining(['a b', 'a/b', '../../x', '..', 'ä', 'a\u0308', 'Case', 'CASE']),
    );
    const daemon = await daemonForTest({ spaces: [{ queues: accepted }] });
    const ctx = await daemon.join();
    for (const name of accepted) await put(ctx, name, `for ${name}`);
    await daemon.restart();
    const listed = (await ctx.stat(SPACE)).spaces[0]?.queues.map(({ name }) => name) ?? [];
    expect([...listed].sort()).toEqual([...accepted].sort());
    for (const name of accepted) expect([name, await drain(ctx, name)]).toEqual([name, [`for ${name}`]]);
    expect(readdirSync(daemon.dir)).toEqual(['data1']);
  });

  it('with a line break is one name or a fault, never two queues', async () => {
    const name = 'line\nbreak';
    if (!(await isAccepted(name))) return;
    const daemon = await daemonForTest({ spaces: [{ queues: [name] }] });
    const ctx = await daemon.join();
    await put(ctx, name, 'x');
    expect(await codeOf(put(ctx, 'line', 'x'))).toBe('QMEBADQUEUE');
    expect(await drain(ctx, name)).toEqual(['x']);
  });
});
