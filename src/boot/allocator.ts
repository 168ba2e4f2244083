// Sets disk space aside by the system's fallocate program, which Node has no call for. A small shell that is started with the daemon runs it:
// a process of a gigabyte cannot be forked without a pause. Where the program is not there, or the file system cannot, the answer is no.
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { resolve as absolute } from 'node:path';

/** Reads `BYTES PATH` a line; answers each with y or n. It ends with its input, and so with the daemon, however that ends. */
const SCRIPT =
  'while read -r bytes path; do if fallocate -l "$bytes" "$path" 2>/dev/null; then echo y; else echo n; fi; done';
/** What `read` would not give back as it was. */
const UNSAYABLE = /[\n\0]|^[ \t]|[ \t]$/;

export class Allocator {
  private shell: ChildProcessByStdio<Writable, Readable, null> | null;
  private readonly asked: ((done: boolean) => void)[] = [];

  private constructor(shell: ChildProcessByStdio<Writable, Readable, null>) {
    this.shell = shell;
    const end = (): void => this.end();
    shell.on('error', end);
    shell.on('exit', end);
    shell.stdin.on('error', end);
    shell.stdout.setEncoding('latin1').on('data', (text: string) => {
      for (const answer of text) if (answer !== '\n') this.asked.shift()?.(answer === 'y');
      this.keepAlive();
    });
    this.keepAlive();
  }

  /** In a process group of its own: what a terminal sends to the daemon's group is not for it. */
  static start(): Allocator {
    return new Allocator(
      spawn('/bin/sh', ['-c', SCRIPT], { stdio: ['pipe', 'pipe', 'ignore'], detached: true }),
    );
  }

  /** True: the file has so many bytes, all of them the disk's. One after the other. */
  readonly allocate = (path: string, bytes: number): Promise<boolean> => {
    const { shell } = this;
    const whole = absolute(path);
    if (shell === null || UNSAYABLE.test(whole)) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.asked.push(resolve);
      this.keepAlive();
      shell.stdin.write(`${bytes} ${whole}\n`);
    });
  };

  close(): void {
    this.shell?.stdin.end();
    this.end();
  }

  /** The process may end while nothing is asked, and not before the answer when something is. */
  private keepAlive(): void {
    const { shell } = this;
    if (shell === null) return;
    for (const handle of [shell, shell.stdin, shell.stdout] as Partial<Referable>[]) {
      if (this.asked.length > 0) handle.ref?.();
      else handle.unref?.();
    }
  }

  private end(): void {
    this.shell = null;
    for (const answer of this.asked.splice(0)) answer(false);
  }
}

interface Referable {
  ref(): void;
  unref(): void;
}
