// Which servers tmboot and tmshutdown mean [tmboot(1)]: the limiting options, alone and together, and what is said when nothing fits.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ServerLine } from '../../clients/typescript/index.ts';
import { commandFolder } from '../../src/boot/own-commands.ts';
import { choose, type ChoiceWords } from '../../src/cli/server-choice.ts';
import { tempDir } from '../support/temp-dir.ts';

const line = (name: string, group: string, [srvid, min, max]: [number, number, number]): ServerLine => ({
  name,
  group,
  srvid,
  min,
  max,
  kind: 'tmqforward',
  running: [],
  why: '',
});
const servers = [
  line('TMQFORWARD', 'QUE1', [10, 1, 3]),
  line('/opt/bin/TMQFORWARD', 'QUE2', [10, 2, 2]),
  line('server', 'APP1', [10, 1, 1]),
];
const chosen = (words: ChoiceWords, until: 'min' | 'max' = 'min'): string[] =>
  choose(words, { lmid: 'SITE1', servers }, until).instances.map(
    ({ line: { group }, srvid }) => `${group}/${srvid}`,
  );

describe('tmboot and tmshutdown mean', () => {
  it.each<[string, ChoiceWords, string[]]>([
    ['all, without options', {}, ['QUE1/10', 'QUE2/10', 'QUE2/11', 'APP1/10']],
    ['all servers', { S: true }, ['QUE1/10', 'QUE2/10', 'QUE2/11', 'APP1/10']],
    ['a machine', { l: ['SITE1'] }, ['QUE1/10', 'QUE2/10', 'QUE2/11', 'APP1/10']],
    ['a name, and a path by its end', { s: ['TMQFORWARD'] }, ['QUE1/10', 'QUE2/10', 'QUE2/11']],
    ['a whole path', { s: ['/opt/bin/TMQFORWARD'] }, ['QUE2/10', 'QUE2/11']],
    ['groups: one or the other', { g: ['QUE1', 'APP1'] }, ['QUE1/10', 'APP1/10']],
    ['an id in every group', { i: [10] }, ['QUE1/10', 'QUE2/10', 'APP1/10']],
    ['an id above MIN', { i: [12] }, ['QUE1/12']],
    [
      'an id and a group and a name: all must fit',
      { i: [10, 11], g: ['QUE2'], s: ['TMQFORWARD'] },
      ['QUE2/10', 'QUE2/11'],
    ],
    ['administration: no servers', { A: true }, []],
  ])('%s', (_name, words, expected) => {
    expect(chosen(words)).toEqual(expected);
  });

  it('all of MAX, for stopping', () => {
    expect(chosen({ g: ['QUE1'] }, 'max')).toEqual(['QUE1/10', 'QUE1/11', 'QUE1/12']);
  });

  it.each<[string, ChoiceWords, string]>([
    ['an id that nobody has', { i: [13] }, 'no such server: -i 13; there are TMQFORWARD QUE1/10, '],
    ['an id that the group lacks', { i: [12], g: ['QUE2'] }, 'no such server: -g QUE2 -i 12'],
    ['a group that is none', { g: ['NONE'] }, 'is in group NONE; there are QUE1, QUE2, APP1'],
    ['TMS of a group that is none', { T: ['NONE'] }, 'is in group NONE'],
    ['another machine', { l: ['SITE2'] }, 'the daemon runs on machine SITE1; of SITE2 it knows nothing'],
  ])('refused: %s', (_name, words, text) => {
    expect(() => chosen(words)).toThrow(text);
  });

  it.each<[ChoiceWords, string[]]>([
    [{}, ['administration of SITE1']],
    [{ A: true }, ['administration of SITE1']],
    [{ M: true, B: ['SITE1'] }, ['administration of SITE1']],
    [{ T: ['QUE1'] }, ['TMS of QUE1']],
    [{ S: true }, []],
  ])('%j: administration is %j', (words, expected) => {
    expect(choose(words, { lmid: 'SITE1', servers }, 'min').administration).toEqual(expected);
  });
});

const place = (...parts: string[]): string => {
  const dir = join(tempDir(), ...parts);
  mkdirSync(dir, { recursive: true });
  return dir;
};

describe('the folder of the commands', () => {
  it('is where the daemon was called from, where that holds tmboot', () => {
    const bin = place('bin');
    expect(commandFolder(join(bin, 'tmqueue'), '/nowhere')).toBeNull();
    writeFileSync(join(bin, 'tmboot'), '');
    expect(commandFolder(join(bin, 'tmqueue'), '/nowhere')).toBe(bin);
  });

  it.each([
    ['of an application', ['node_modules', '.bin'], ['node_modules', 'tmqueue', 'dist', 'src', 'boot']],
    ['of all users', ['bin'], ['lib', 'node_modules', 'tmqueue', 'dist', 'src', 'boot']],
  ])('is that of npm: %s', (_name, bin, folder) => {
    const root = place();
    const from = join(root, ...folder);
    const found = join(root, ...bin);
    mkdirSync(found, { recursive: true });
    writeFileSync(join(found, 'tmboot'), '');
    expect(commandFolder('/elsewhere/tmqueue.js', from)).toBe(found);
  });
});
