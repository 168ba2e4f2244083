// The manual as data: every code once in errors.md, every command and option on its page, every page in the index, no link astray.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { QME, TPERRNO } from '../../proto/codes.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const pages = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));

interface Row {
  readonly code: string;
  readonly value: number;
  readonly section: string;
}

/** The rows of all tables that begin with a code and its value. */
function rowsOf(page: string): Row[] {
  let section = '';
  return page.split('\n').flatMap((line) => {
    section = /^#+ (.*)$/.exec(line)?.[1] ?? section;
    const found = /^\| `((?:TP|QM)E?\w+)` \| (-?\d+) \|/.exec(line);
    return found === null ? [] : [{ code: found[1] ?? '', value: Number(found[2]), section }];
  });
}

describe('errors.md', () => {
  const rows = rowsOf(read('docs/errors.md'));
  // OK is ours and TPMINVAL is no code.
  const codes = Object.entries({ ...TPERRNO, ...QME }).filter(
    ([name]) => name !== 'OK' && name !== 'TPMINVAL',
  );

  it('lists every code of proto/codes.ts exactly once, with its value', () => {
    const listed = rows.map(({ code, value }) => `${code} ${value}`).sort();
    expect(listed).toEqual(codes.map(([code, value]) => `${code} ${value}`).sort());
  });

  it('keeps those that no call returns apart', () => {
    const apart = rows.filter(({ section }) => section === 'Never returned').map(({ code }) => code);
    expect(apart.sort()).toEqual(['QMEINUSE', 'QMEINVHANDLE', 'QMETRAN']);
  });

  it('names each table after what is in it', () => {
    const astray = rows.filter(({ code, section }) => (section === 'tperrno') !== code.startsWith('TP'));
    expect(astray).toEqual([]);
  });
});

/** What a command says of itself, from the built files. */
function helpOf(...words: string[]): string {
  return helpOfProgram('tmqueue', ...words);
}

function helpOfProgram(program: string, ...words: string[]): string {
  const entry = join(ROOT, `dist/src/cli/${program}.js`);
  return spawnSync(process.execPath, [entry, ...words, '--help'], { encoding: 'utf8' }).stdout;
}

describe('a command', () => {
  const commands = [...helpOf().matchAll(/^ {2}([a-z]+) (?:\[options\]|<)/gm)].map((match) => match[1] ?? '');

  it('is found in the help', () => {
    expect(commands).toEqual(expect.arrayContaining(['start', 'enqueue', 'dequeue', 'stat']));
  });

  it.each(['server start', 'server stop'])('%s: every option is on its page', (command) => {
    const options = [...helpOf(...command.split(' ')).matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(
      (match) => match[1] ?? '',
    );
    const page = read(`docs/${command.split(' ')[0]}.md`);
    expect(options).toEqual(expect.arrayContaining(['--group', '--connect', '--json', '--help']));
    const own = options.filter((option) => option !== '--version');
    expect(own.filter((option) => !new RegExp(`\`${option}[ \`]`).test(page))).toEqual([]);
    expect(page).toMatch(/^## Exit codes$/m);
  });

  it.each(['tmboot', 'tmshutdown'])(
    '%s has a page with every option, also those that it refuses',
    (program) => {
      const page = read(`docs/${program}.md`);
      const options = [...helpOfProgram(program).matchAll(/^ {2}(-\w)/gm)].map((match) => match[1] ?? '');
      const notHere = [...read(`src/cli/${program}.ts`).matchAll(/^ {4}'(-\w)[^']*':/gm)].map(
        (match) => match[1] ?? '',
      );
      expect(options.length).toBeGreaterThan(9);
      expect(notHere.length).toBeGreaterThan(4);
      expect([...options, ...notHere].filter((option) => !new RegExp(`\`${option}[ \`]`).test(page))).toEqual(
        [],
      );
      expect(page).toMatch(/^## Exit codes$/m);
      expect(page).toContain('```console\n$ ');
    },
  );

  it.each(commands)('%s has a page with every option and the exit codes', (command) => {
    const page = read(`docs/${command}.md`);
    const options = [...helpOf(command).matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(
      (match) => match[1] ?? '',
    );
    expect(options).toContain('--help');
    const own = options.filter((option) => option !== '--version');
    expect(own.filter((option) => !new RegExp(`\`${option}[ \`]`).test(page))).toEqual([]);
    expect(page).toMatch(/^## Exit codes$/m);
    expect(page).toContain('```console\n$ ');
  });
});

describe('links', () => {
  const sources = ['README.md', 'clients/typescript/README.md', ...pages.map((name) => `docs/${name}`)];

  it.each(sources)('of %s lead to a file, and to a heading in it', (source) => {
    const targets = [...read(source).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
    const wrong = targets.filter((target) => {
      if (/^https?:/.test(target)) return false;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? source : join(dirname(source), path);
      return (
        !existsSync(join(ROOT, file)) || (anchor !== undefined && !anchorsOf(read(file)).includes(anchor))
      );
    });
    expect(wrong).toEqual([]);
  });

  it('of the index lead to every page', () => {
    const index = read('docs/README.md');
    expect(pages.filter((name) => name !== 'README.md' && !index.includes(`](${name})`))).toEqual([]);
  });
});

/** The names that a forge gives to headings. */
function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('durability.md', () => {
  it('names tests that exist', () => {
    const named = [...read('docs/durability.md').matchAll(/`(test\/[\w/.-]+)`/g)].map(
      (match) => match[1] ?? '',
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});
