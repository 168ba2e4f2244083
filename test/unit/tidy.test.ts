// The sources read as data: rules that nobody must remember are kept here.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ADMIN, OP, QME, TPERRNO } from '../../proto/codes.ts';
import { NOT_YET } from '../../src/ubb/not-yet.ts';

const ROOT = join(import.meta.dirname, '../..');

function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !/(^|\/)(node_modules|dist)\//.test(name))
    .map((name) => join(folder, name));
}
const sources = ['src', 'proto', 'clients'].flatMap((folder) => filesBelow(folder, '.ts'));
const text = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

function importsOf(file: string): string[] {
  const found = text(file).matchAll(/^(?:import|export)[^;'"]*?from\s+'([^']+)'|^import\s+'([^']+)'/gms);
  return [...found].map((match) => match[1] ?? match[2] ?? '');
}
/** What is loaded when it is wanted. */
function laterImportsOf(file: string): string[] {
  return [...text(file).matchAll(/\bimport\('([^']+)'\)/g)].map((match) => match[1] ?? '');
}
/** `src/queue` for src/queue/decide.ts, `proto` for proto/codes.ts. */
function roomOf(file: string): string {
  const parts = file.split('/');
  return parts[0] === 'src' ? `src/${parts[1]}` : (parts[0] as string);
}

/** Which rooms a room may import from, beside itself. proto/codes.ts is open to everyone. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  proto: [],
  clients: ['proto'],
  'src/base': [],
  'src/queue': ['src/base'],
  'src/xa': ['src/base'],
  'src/wal': ['src/base'],
  'src/engine': ['src/base', 'src/queue', 'src/xa', 'src/wal'],
  'src/atmi': ['src/base', 'src/queue', 'src/wal', 'src/engine', 'proto'],
  'src/tmqueue': ['src/base', 'src/queue', 'src/engine', 'src/atmi', 'proto'],
  'src/tmqforward': ['src/base', 'src/queue', 'src/engine', 'src/atmi', 'proto'],
  'src/conditions': ['src/base', 'proto'],
  'src/aq': ['src/base', 'src/queue', 'src/engine', 'src/atmi', 'src/conditions', 'proto'],
  'src/admin': ['src/base', 'src/queue', 'src/engine', 'src/atmi', 'src/device', 'proto'],
  'src/device': ['src/base', 'src/queue', 'src/wal', 'src/engine'],
  'src/net': ['src/base', 'src/engine', 'src/atmi', 'src/tmqueue', 'src/tmqforward', 'src/admin', 'proto'],
  'src/ubb': ['src/base', 'src/queue'],
  'src/ulog': ['src/base'],
  'src/metrics': ['src/base'],
  'src/boot': [
    'src/base',
    'src/queue',
    'src/wal',
    'src/engine',
    'src/atmi',
    'src/tmqueue',
    'src/tmqforward',
    'src/admin',
    'src/aq',
    'src/net',
    'src/ubb',
    'src/ulog',
    'src/device',
    'src/metrics',
    'proto',
  ],
  'src/qmadmin': ['src/base', 'src/queue', 'src/xa', 'src/wal', 'src/engine', 'src/device', 'proto'],
  'src/tools': ['src/base', 'src/queue', 'src/wal', 'src/engine'],
  'src/cli': [
    'src/base',
    'src/metrics',
    'src/wal',
    'src/tools',
    'src/net',
    'src/boot',
    'src/qmadmin',
    'src/ubb',
    'src/ulog',
    'proto',
    'clients',
  ],
};
const MAY_USE_FS = [
  'src/wal/local/file-io.ts',
  'src/ubb/',
  'src/auth/',
  'src/boot/',
  'src/ulog/',
  'src/device/',
  'src/cli/',
  'clients/typescript/examples/',
  'clients/typescript/userlog.ts',
];
const PURE = ['src/base', 'src/queue', 'src/xa'];

describe('the house', () => {
  it('has no room but the known ones', () => {
    const rooms = readdirSync(join(ROOT, 'src')).map((name) => `src/${name}`);
    expect(rooms.filter((room) => !(room in MAY_IMPORT))).toEqual([]);
  });

  it('imports in one direction', () => {
    const wrong: string[] = [];
    for (const file of sources) {
      const room = roomOf(file);
      for (const name of [...importsOf(file), ...laterImportsOf(file)]) {
        if (!name.startsWith('.')) continue;
        const target = relative(ROOT, join(ROOT, dirname(file), name));
        const open = target === 'proto/codes.ts' || roomOf(target) === room;
        if (!open && !(MAY_IMPORT[room] ?? []).includes(roomOf(target)))
          wrong.push(`${file} imports ${target}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('touches files in few places, and no Node module in the pure rooms', () => {
    const wrong: string[] = [];
    for (const file of sources) {
      for (const name of importsOf(file)) {
        if (name.startsWith('node:fs') && !MAY_USE_FS.some((place) => file.startsWith(place)))
          wrong.push(`${file}: ${name}`);
        if (name.startsWith('node:') && PURE.includes(roomOf(file))) wrong.push(`${file}: ${name}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('has an independent client that knows nothing but the page: no proto, no SDK, no source', () => {
    const allowed: Readonly<Record<string, RegExp>> = {
      'client.ts': /^(node:net|msgpackr|\.\/numbers\.ts)$/,
      'numbers.ts': /^$/,
    };
    // The tests themselves may also start a daemon, as a child process.
    const ofTests = /^(vitest|\.\/[\w-]+\.ts|\.\.\/support\/daemon\.ts)$/;
    const files = filesBelow('test/independent', '.ts');
    const wrong = files.flatMap((file) => {
      const rule = allowed[basename(file)] ?? ofTests;
      return importsOf(file)
        .filter((name) => !rule.test(name))
        .map((name) => `${file} imports ${name}`);
    });
    expect(files).toContain('test/independent/client.ts');
    expect(wrong).toEqual([]);
    expect(files.filter((file) => /\bimport\(|\brequire\(/.test(text(file)))).toEqual([]);
  });

  it('imports msgpackr, pino, commander, prom-client and the lock library in one place each', () => {
    const places = new Map<string, Set<string>>();
    for (const file of sources) {
      for (const name of importsOf(file)) {
        if (name.startsWith('.') || name.startsWith('node:')) continue;
        places.set(name, (places.get(name) ?? new Set()).add(roomOf(file)));
      }
    }
    const found = Object.fromEntries([...places].map(([name, rooms]) => [name, [...rooms]]));
    expect(found).toEqual({
      msgpackr: ['proto'],
      pino: ['src/ulog'],
      'prom-client': ['src/metrics'],
      commander: ['src/cli'],
      'fs-native-extensions': ['src/wal'],
    });
  });
});

describe('a file', () => {
  it('opens with what it owns', () => {
    const bare = sources.filter(
      (file) =>
        !text(file)
          .replace(/^#!.*\n/, '')
          .startsWith('// ') && !file.endsWith('.d.ts'),
    );
    expect(bare).toEqual([]);
  });

  it('has at most 500 lines', () => {
    expect(sources.filter((file) => text(file).split('\n').length > 500)).toEqual([]);
  });

  it('has no line over 150 characters', () => {
    const long = sources.flatMap((file) =>
      text(file)
        .split('\n')
        .map((line, i) => ({ line, at: `${file}:${i + 1}` }))
        .filter(({ line }) => line.length > 150)
        .map(({ at }) => at),
    );
    expect(long).toEqual([]);
  });

  it('leaves nothing unfinished and silences no checker', () => {
    // Written apart, so that this file does not find itself.
    const marks = /TO[D]O|FIX[M]E|XX[X]|@ts-[i]gnore|as unknown [a]s|: an[y]([;,)>]|\[| =|$)/m;
    expect(sources.filter((file) => marks.test(text(file)))).toEqual([]);
  });

  it('is imported by another, or is where a program starts', () => {
    const imported = new Set(
      [...sources, ...filesBelow('test', '.ts')].flatMap((file) =>
        [...importsOf(file), ...laterImportsOf(file)]
          .filter((name) => name.startsWith('.'))
          .map((name) => relative(ROOT, join(ROOT, dirname(file), name))),
      ),
    );
    const starts =
      /^(src\/cli\/(tmqueue|qmadmin|tmboot|tmshutdown)|clients\/typescript\/(index|examples\/.*))\.ts$|\.d\.ts$/;
    expect(sources.filter((file) => !imported.has(file) && !starts.test(file))).toEqual([]);
  });
});

describe('what a later release brings', () => {
  // These lists only ever get shorter; each issue that serves one of them takes it out here too.
  it('is refused by name: configuration', () => {
    expect(Object.keys(NOT_YET)).toHaveLength(4);
  });
});

describe('the pages', () => {
  it('list every code', () => {
    const protocol = text('proto/PROTOCOL.md');
    for (const table of [TPERRNO, QME, OP, ADMIN]) {
      // OK is ours and TPMINVAL is no code.
      const names = Object.keys(table).filter((name) => name !== 'OK' && name !== 'TPMINVAL');
      expect(names.filter((name) => !protocol.includes(name))).toEqual([]);
    }
  });
  it('are there', () => {
    for (const file of [
      'README.md',
      'CHANGELOG.md',
      'LICENSE',
      'proto/PROTOCOL.md',
      'src/wal/FORMAT.md',
      'ubbconfig.example',
    ]) {
      expect(statSync(join(ROOT, file)).size, file).toBeGreaterThan(0);
    }
  });
});
