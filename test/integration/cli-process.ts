// The daemon as an operator starts it: `tmqueue start` as a process of its own, from the built files. Owns the process and its folder;
// both are gone when the test ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { eventually } from '../support/in-process.ts';

const CLI = join(import.meta.dirname, '../../dist/src/cli/tmqueue.js');
const READY_MS = 15_000;

export interface CliSetup {
  /** More variables of its environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Words of another program before the daemon's command line. */
  readonly under?: readonly string[];
}

export interface Exit {
  code: number | null;
  stdout: string;
  stderr: string;
}

export class CliProcess {
  stdout = '';
  stderr = '';
  readonly child: ChildProcess;
  readonly exit: Promise<Exit>;

  constructor(args: readonly string[], { env = {}, under = [] }: CliSetup = {}) {
    const [program = '', ...words] = [...under, process.execPath, CLI, ...args];
    this.child = spawn(program, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    this.child.stdout?.on('data', (chunk) => (this.stdout += String(chunk)));
    this.child.stderr?.on('data', (chunk) => (this.stderr += String(chunk)));
    this.exit = new Promise((resolve) => {
      this.child.once('close', (code) => {
        resolve({ code, stdout: this.stdout, stderr: this.stderr });
      });
    });
    onTestFinished(() => this.kill());
  }

  /** The first line on standard output, once it is there; fails with what the process said when it ended instead. */
  async ready(): Promise<string> {
    return eventually(() => {
      if (this.child.exitCode !== null) throw new Error(`exit ${this.child.exitCode}: ${this.stderr}`);
      return this.stdout.includes('\n') ? this.stdout.split('\n')[0] : undefined;
    }, READY_MS);
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.exit;
  }
}

/** A folder with this configuration in it, as `ubbconfig`. */
export function folderWith(text: string): { dir: string; config: string } {
  const dir = mkdtempSync(join(tmpdir(), 'tmqueue-cli-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const config = join(dir, 'ubbconfig');
  writeFileSync(config, text);
  return { dir, config };
}

/** Starts and waits for the ready line. */
export async function startCli(config: string, ...args: string[]): Promise<CliProcess & { port: number }> {
  const cli = new CliProcess(['start', '-c', config, '--json', ...args]);
  const { address } = JSON.parse(await cli.ready()) as { address: string };
  return Object.assign(cli, { port: Number(/:(\d+)$/.exec(address)?.[1]) });
}

/** A start that must end by itself. */
export function startToEnd(...args: string[]): Promise<Exit> {
  return new CliProcess(['start', ...args]).exit;
}
