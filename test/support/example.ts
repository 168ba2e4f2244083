// A program of clients/typescript/examples as a child process, from the built files, and the text of the configuration that all of them work
// on. Owns the process, which ends with the test.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'dist/clients/typescript/examples');

export const EXAMPLES_UBB: string = readFileSync(join(ROOT, 'config/samples/examples.ubb'), 'utf8');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export class Example {
  out = '';
  err = '';
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;

  constructor(address: string, program: string, words: readonly string[] = []) {
    this.child = spawn(process.execPath, [join(EXAMPLES, `${program}.js`), ...words], {
      env: { ...process.env, WSNADDR: address },
      stdio: 'pipe',
    });
    this.child.stdout?.on('data', (part) => (this.out += String(part)));
    this.child.stderr?.on('data', (part) => (this.err += String(part)));
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => resolve({ code, signal, out: this.out, err: this.err }));
    });
    onTestFinished(async () => {
      this.child.kill('SIGKILL');
      await this.ended;
    });
  }
}
