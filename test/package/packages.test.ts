// The two packages as their user meets them: packed from a tree that holds nothing but sources, installed as tarballs into an empty folder
// outside the checkout, and used by the README's tour and by its TypeScript program. No network: npm asks a registry on loopback.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runPage } from '../support/console.ts';
import { TestDaemon } from '../support/daemon.ts';
import { Registry } from './registry.ts';

const ROOT = join(import.meta.dirname, '../..');
const NPM_MS = 180_000;
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const VERSION = manifestOf(ROOT).version;
const TARBALLS = [`tmqueue-${VERSION}.tgz`, `tmqueue-client-${VERSION}.tgz`] as const;

const folder = mkdtempSync(join(tmpdir(), 'tmqueue-package-'));
const env = npmEnvironment();
let registry: Registry;

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly license: string;
  readonly engines: object;
}

function manifestOf(path: string): Manifest {
  return JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Manifest;
}

/** Without what an npm around this test says of itself, and with a cache and a configuration of its own. */
function npmEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD$|WSNADDR$)/i.test(name));
  writeFileSync(join(folder, 'npmrc'), 'audit=false\nfund=false\nupdate-notifier=false\n');
  return {
    ...Object.fromEntries(inherited),
    npm_config_cache: join(folder, 'cache'),
    npm_config_userconfig: join(folder, 'npmrc'),
  };
}

/** Runs it while this process goes on: the registry is here. */
async function npm(words: readonly string[], cwd: string): Promise<void> {
  await promisify(execFile)('npm', words, { cwd, env, timeout: NPM_MS });
}

/** An empty folder outside the checkout, with the tarballs in it. */
function userFolder(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  for (const file of TARBALLS) copyFileSync(join(folder, 'clone', file), join(path, file));
  return path;
}

beforeAll(async () => {
  const clone = join(folder, 'clone');
  cpSync(ROOT, clone, {
    recursive: true,
    filter: (path) => !['node_modules', 'dist', 'test', '.git', 'coverage'].includes(basename(path)),
  });
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  // The words of the README.
  await npm(['pack', '.', './clients/typescript'], clone);
  registry = await Registry.start({ root: ROOT, folder: join(folder, 'tarballs'), env });
  env['npm_config_registry'] = registry.url;
}, NPM_MS);

afterAll(() => {
  registry?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The files of a tarball. */
function contents(file: string): string[] {
  const listed = execFileSync('tar', ['tzf', join(folder, 'clone', file)], { encoding: 'utf8' });
  return listed
    .trim()
    .split('\n')
    .map((name) => name.replace(/^package\//, ''));
}

describe('the tarballs', () => {
  it('are what the README says to make, and leave the tree as it was', () => {
    expect(README).toContain('npm pack . ./clients/typescript');
    const left = readdirSync(join(folder, 'clone/clients/typescript'));
    expect(left.filter((name) => /^(dist|LICENSE|PROTOCOL\.md)$/.test(name))).toEqual([]);
    for (const file of TARBALLS) console.log(`${file}: ${statSync(join(folder, 'clone', file)).size} bytes`);
  });

  it.each([
    [TARBALLS[0], ['README.md', 'LICENSE', 'CHANGELOG.md', 'proto/PROTOCOL.md', 'src/wal/FORMAT.md']],
    [TARBALLS[0], ['config/tmqueue.service', 'config/grafana/tmqueue.json', 'config/prometheus/alerts.yml']],
    [TARBALLS[0], ['ubbconfig.example', 'docs/README.md', 'dist/src/cli/tmqueue.js', 'dist/proto/codes.js']],
    [TARBALLS[1], ['README.md', 'LICENSE', 'PROTOCOL.md', 'dist/proto/codes.js', 'dist/proto/codes.d.ts']],
  ])('%s holds %j', (file, wanted) => {
    expect(contents(file)).toEqual(expect.arrayContaining(wanted));
  });

  it.each(TARBALLS)('%s holds no tests, no benchmarks, no maps and no sources', (file) => {
    const strange =
      /(^|\/)(tests?|bench|node_modules|config(?!\/(samples|grafana|prometheus)\/|\/tmqueue\.service$)|\.ci)\/|\.map$|(?<!\.d)\.ts$|\.tsbuildinfo$|\.build/;
    expect(contents(file).filter((name) => strange.test(name))).toEqual([]);
  });

  it('the client is nothing but the client', () => {
    const rest = contents(TARBALLS[1]).filter(
      (name) => !/^dist\/(clients\/typescript\/((mib|aq)\/)?[\w-]+|proto\/(aq\/)?[\w-]+)\./.test(name),
    );
    expect(rest.sort()).toEqual(['LICENSE', 'PROTOCOL.md', 'README.md', 'package.json']);
  });

  it('agree on version, licence, engine and the range of msgpackr', () => {
    const [daemon, client] = [manifestOf(ROOT), manifestOf(join(ROOT, 'clients/typescript'))];
    expect(client.dependencies).toEqual({ msgpackr: daemon.dependencies['msgpackr'] });
    expect(client).toMatchObject({
      version: daemon.version,
      license: daemon.license,
      engines: daemon.engines,
    });
  });

  it('the links of every page lead to a file of the package', () => {
    const files = contents(TARBALLS[0]);
    const pages = files.filter((name) => /^(README\.md|docs\/[\w-]+\.md)$/.test(name));
    const wrong = pages.flatMap((page) =>
      [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
        .map((match) => match[1] ?? '')
        .filter((target) => !/^https?:/.test(target))
        .map((target) => join(dirname(page), target))
        // What the checkout does not have either is the business of test/manual.
        .filter((target) => existsSync(join(ROOT, target)) && !files.includes(target))
        .map((target) => `${page}: ${target}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe('@tmqueue/client alone', () => {
  const program = /```ts\n\/\/ (order\.mts)\n([^]*?)```/.exec(README);

  it('compiles and runs in a folder that has nothing else', { timeout: NPM_MS }, async () => {
    const place = userFolder('client-only');
    writeFileSync(join(place, 'package.json'), '{}');
    registry.served.clear();
    await npm(['install', `./${TARBALLS[1]}`], place);
    expect([...registry.served].filter((name) => !/msgpackr|node-gyp|detect-libc/.test(name))).toEqual([]);
    expect(program?.[2]?.trim().split('\n').length).toBeLessThanOrEqual(12);
    writeFileSync(join(place, 'order.mts'), program?.[2] ?? '');

    // Instead of an installation of typescript and @types/node, those of the checkout.
    const types = ['--typeRoots', join(ROOT, 'node_modules/@types'), '--types', 'node'];
    const strict = ['--strict', '--exactOptionalPropertyTypes', '--target', 'es2023'];
    const asInReadme = /`npx tsc (.*?) order\.mts && node order\.mjs`/.exec(README)?.[1]?.split(' ') ?? [];
    const bundler = ['--module', 'esnext', '--moduleResolution', 'bundler'];
    compile(place, [
      ...strict,
      '--types',
      '',
      '--skipLibCheck',
      '--lib',
      'es2023,dom',
      ...bundler,
      '--noEmit',
    ]);
    compile(place, [...types, ...asInReadme]);
    // The types are looked at: a wrong use is refused.
    writeFileSync(join(place, 'wrong.mts'), `${program?.[2]}\nawait ctx.tpenqueue(17);\n`);
    expect(() =>
      compile(place, [...strict, ...types, '--module', 'nodenext', '--noEmit'], 'wrong.mts'),
    ).toThrow(/wrong\.mts/);

    // So do the snippets of the client's own README, each in a block of its own.
    writeFileSync(join(place, 'snippets.mts'), snippets());
    compile(place, [...strict, ...types, ...bundler, '--noEmit', 'snippets.mts']);

    const daemon = await TestDaemon.start({
      queues: ['STRING', 'RPLYQ'],
      forwarders: ['-q STRING -i 1'],
    });
    const server = await daemon.connect();
    const over = new AbortController();
    const serving = server.serve(
      { STRING: (request) => request.text.toUpperCase() },
      { signal: over.signal },
    );
    const run = await promisify(execFile)(process.execPath, ['order.mjs'], {
      cwd: place,
      env: { ...env, WSNADDR: daemon.address },
      timeout: 20_000,
    });
    over.abort();
    await serving;
    await server.tpterm();
    expect(run).toEqual({ stdout: 'HELLO\n', stderr: '' });
  });
});

/** What the client's README shows, with what it takes for granted. */
function snippets(): string {
  const text = readFileSync(join(ROOT, 'clients/typescript/README.md'), 'utf8');
  const blocks = [...text.matchAll(/^```ts\n([^]*?)^```$/gm)].map((match) => match[1] ?? '');
  expect(blocks.length).toBeGreaterThan(4);
  return [
    "import { ServiceFailure, tpinit, TPFLAG, TPQ, TPQCTL } from '@tmqueue/client';",
    'declare function ship(order: unknown): Promise<boolean>;',
    'declare function debit(order: unknown): Promise<boolean>;',
    'const ctx = await tpinit();',
    "const orders = ctx.queue<{ item: string }>('QSPACE', 'ORDERS');",
    'const stop = new AbortController();',
    ...blocks.map((block) => `{\n${block.replace(/^import .*$/gm, '')}}`),
  ].join('\n');
}

function compile(place: string, words: readonly string[], file = 'order.mts'): void {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(process.execPath, [tsc, ...words, file], {
    cwd: place,
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (status !== 0) throw new Error(`tsc ${words.join(' ')}: ${stdout}`);
}

describe('the README', () => {
  it('every command of the tour does what it says, from the tarballs', { timeout: NPM_MS }, async () => {
    const place = userFolder('tour');
    const steps = await runPage({ name: 'README.md', text: README, folder: place, env });
    expect(steps).toBeGreaterThan(8);
  });
});
