// The manual as its reader types it: every `console` block of every page in docs/, against a daemon on ubbconfig.example with a server for
// STRING, in a folder that holds ubbconfig.example and finds @tmqueue/client. A page that starts a daemon itself gets none. The README's tour
// is run by test/package, from the packages.
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runPage, stepsOf } from '../support/console.ts';
import { InProcess } from '../support/in-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const DOCS = join(ROOT, 'docs');
const EXAMPLE = join(ROOT, 'ubbconfig.example');
/** Where nobody listens. */
const NOBODY = '//127.0.0.1:1';
const PAGE_MS = 180_000;
const pages = readdirSync(DOCS)
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, text: readFileSync(join(DOCS, name), 'utf8') }));
const withExamples = pages.filter((page) => stepsOf(page.text).length > 0);

describe.concurrent('the examples of', () => {
  it.each(withExamples)('docs/$name do what they say', { timeout: PAGE_MS }, async ({ name, text }) => {
    const startsItself = stepsOf(text).some((step) => /\btmqueue start\b/.test(step.command));
    const place = startsItself ? ownFolder() : await withDaemon();
    try {
      copyFileSync(EXAMPLE, join(place.folder, 'ubbconfig.example'));
      linkClient(place.folder);
      const PATH = `${commands(place.folder)}:${process.env['PATH']}`;
      const env = { ...process.env, PATH, WSNADDR: place.address };
      expect(await runPage({ name: `docs/${name}`, text, folder: place.folder, env })).toBeGreaterThan(0);
    } finally {
      await place.remove();
    }
  });
});

interface Place {
  readonly folder: string;
  readonly address: string;
  readonly remove: () => Promise<void>;
}

function ownFolder(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'tmqueue-manual-'));
  const remove = async (): Promise<void> => rmSync(folder, { recursive: true, force: true });
  return { folder, address: NOBODY, remove };
}

async function withDaemon(): Promise<Place> {
  const daemon = await new InProcess(readFileSync(EXAMPLE, 'utf8')).start();
  daemon.fileName = 'ubbconfig.example';
  const server = await daemon.join();
  const over = new AbortController();
  const serving = server.serve({ STRING: (request) => request.text.toUpperCase() }, { signal: over.signal });
  const remove = async (): Promise<void> => {
    over.abort();
    await serving;
    await daemon.remove();
  };
  return { folder: daemon.dir, address: daemon.address, remove };
}

/** So that a program in this folder may import '@tmqueue/client', as after `npm install`. */
function linkClient(folder: string): void {
  const place = join(folder, 'node_modules/@tmqueue/client');
  mkdirSync(place, { recursive: true });
  const entry = pathToFileURL(join(ROOT, 'dist/clients/typescript/index.js')).href;
  writeFileSync(join(place, 'package.json'), '{"type":"module","exports":"./index.js"}\n');
  writeFileSync(join(place, 'index.js'), `export * from '${entry}';\n`);
}

/** A folder with the package's commands, as npm would link them. */
function commands(folder: string): string {
  const bin = join(folder, '.bin');
  mkdirSync(bin);
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    bin: Record<string, string>;
  };
  for (const [name, file] of Object.entries(manifest.bin)) {
    writeFileSync(join(bin, name), `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, file)}" "$@"\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}
