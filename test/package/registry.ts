// A registry on loopback that serves what `npm ci` has installed, so that an install from tarballs needs no network: npm asks it for the
// dependencies that the packages declare, exactly as it would ask any other. Owns its folder of tarballs and its server.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

interface Packed {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly integrity: string;
}

export interface RegistrySetup {
  /** The checkout, with its node_modules. */
  readonly root: string;
  /** For the tarballs. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

export class Registry {
  /** Every package that was asked for and is there. */
  readonly served = new Set<string>();
  private readonly server: Server;

  private constructor(server: Server) {
    this.server = server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  /** Packs the run-time dependencies of the lock file that are installed here, and serves them. */
  static async start({ root, folder, env }: RegistrySetup): Promise<Registry> {
    mkdirSync(folder, { recursive: true });
    const installed = runTimePackages(root);
    const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const packed = JSON.parse(
      execFileSync('npm', [...words, ...installed], { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' }),
    ) as Packed[];
    const pages = new Map(packed.map((one, i) => [one.name, { ...one, path: installed[i] ?? '' }]));
    const server = createServer((request, response) => {
      const name = decodeURIComponent((request.url ?? '').slice(1));
      const found = pages.get(name);
      if (name.endsWith('.tgz')) response.end(readFileSync(join(folder, name)));
      else if (found === undefined) response.writeHead(404).end('{"error":"not found"}');
      else {
        registry.served.add(name);
        response.end(JSON.stringify(packument(found, registry.url)));
      }
    });
    const registry = new Registry(server);
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return registry;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Folders of node_modules that the lock file wants at run time; those for other platforms are not there. */
function runTimePackages(root: string): string[] {
  type Lock = Record<string, { readonly dev?: boolean }>;
  const read = (file: string): Lock =>
    (JSON.parse(readFileSync(join(root, file), 'utf8')) as { packages: Lock }).packages;
  const installed = read('node_modules/.package-lock.json');
  return Object.entries(read('package-lock.json'))
    .filter(([path, { dev }]) => path !== '' && dev !== true && path in installed)
    .map(([path]) => join(root, path));
}

function packument(one: Packed & { readonly path: string }, url: string): object {
  const manifest = JSON.parse(readFileSync(join(one.path, 'package.json'), 'utf8')) as object;
  const dist = { tarball: `${url}${one.filename}`, integrity: one.integrity };
  return {
    name: one.name,
    'dist-tags': { latest: one.version },
    versions: { [one.version]: { ...manifest, dist } },
  };
}
