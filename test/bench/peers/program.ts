// Programs of other systems: where they are, and one of them at work in a process group of its own, which ends with the benchmark.
import { spawn, type ChildProcess } from 'node:child_process';
import { accessSync, constants, readdirSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PeerServer } from './peer.ts';

const READY_MS = 300_000;
const POLL_MS = 10;
const STOP_MS = 30_000;
const KEPT_BYTES = 4096;
/** Where Debian keeps what is not in the PATH of an ordinary user. */
const FURTHER_PLACES = ['/usr/sbin', '/usr/local/sbin', '/usr/lib/rabbitmq/bin'];
const POSTGRESQL = '/usr/lib/postgresql';

/** The path of a program; '' when it is not installed. */
export function findProgram(name: string): string {
  const places = [...(process.env['PATH'] ?? '').split(delimiter), ...FURTHER_PLACES, ...postgresqlPlaces()];
  return places.map((place) => join(place, name)).find(isExecutable) ?? '';
}

function postgresqlPlaces(): string[] {
  try {
    const versions = readdirSync(POSTGRESQL).sort((a, b) => Number(b) - Number(a));
    return versions.map((version) => join(POSTGRESQL, version, 'bin'));
  } catch {
    return [];
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export interface ProgramOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** For servers that refuse to run as root. */
  readonly user?: { readonly uid: number; readonly gid: number } | null;
  /** Whether it answers; an error counts as no. */
  readonly isReady: () => Promise<boolean>;
}

async function isReady(options: ProgramOptions): Promise<boolean> {
  try {
    return await options.isReady();
  } catch {
    return false;
  }
}

export class Program implements PeerServer {
  readonly pid: number;
  private readonly child: ChildProcess;
  private complaints = '';
  private readonly kill = (): void => this.signal('SIGKILL');

  private constructor(child: ChildProcess) {
    this.child = child;
    this.pid = child.pid ?? 0;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (part: string) => {
        this.complaints = (this.complaints + part).slice(-KEPT_BYTES);
      });
    }
    child.once('error', (error) => {
      this.complaints += error.message;
    });
    process.once('exit', this.kill);
  }

  /** Resolves when it answers. */
  static async start(options: ProgramOptions): Promise<Program> {
    const { program, args, env = {}, user } = options;
    const child = spawn(program, args, {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
      ...user,
    });
    const running = new Program(child);
    const until = performance.now() + READY_MS;
    while (!(await isReady(options))) {
      if (running.hasEnded || performance.now() > until) {
        await running.crash();
        throw new Error(`${program} did not start:\n${running.complaints.trim()}`);
      }
      await delay(POLL_MS);
    }
    return running;
  }

  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  crash(): Promise<void> {
    return this.end('SIGKILL');
  }

  private get hasEnded(): boolean {
    const { exitCode, signalCode, pid } = this.child;
    return exitCode !== null || signalCode !== null || pid === undefined;
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    process.off('exit', this.kill);
    if (!this.hasEnded) {
      const ended = new Promise<void>((resolve) => this.child.once('exit', () => resolve()));
      this.signal(signal);
      const timer = setTimeout(this.kill, STOP_MS);
      await ended;
      clearTimeout(timer);
    }
    // What it started goes with it.
    this.signal('SIGKILL');
  }

  private signal(signal: NodeJS.Signals): void {
    try {
      if (this.pid > 0) process.kill(-this.pid, signal);
    } catch {
      // The group is gone.
    }
  }
}
