// A program at a real terminal, by `script` of util-linux where there is one: keys go in, what the screen would show comes out. Invariants: every
// wait is bounded; the program has ended when the test has.
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { onTestFinished } from 'vitest';

const WAIT_MS = 20_000;
/** Also the beginning of one, at the end of what has come. */
// oxlint-disable-next-line no-control-regex -- that is what they are made of
const MOVEMENT = /\u001b\[[0-9;?]*[A-Za-z]|\u001b(?:\[[0-9;?]*)?$/g;

/** Whether this machine can do it. */
export const hasPty =
  spawnSync('script', ['-qec', 'test -t 0', '/dev/null'], { timeout: WAIT_MS }).status === 0;

export interface PtySize {
  readonly rows: number;
  readonly columns: number;
}

export class Pty {
  /** All that was shown so far, without the cursor's movements. */
  screen = '';
  private raw = '';
  readonly exit: Promise<number | null>;
  private readonly child: ChildProcessWithoutNullStreams;
  /** How much of the screen was looked at. */
  private seen = 0;
  private wake: () => void = () => {};

  /** `words` are run without a shell's help: none may hold a quote. */
  constructor(words: readonly string[], { rows, columns }: PtySize) {
    const line = words.map((word) => `'${word}'`).join(' ');
    this.child = spawn('script', ['-qfec', `stty rows ${rows} cols ${columns}; exec ${line}`, '/dev/null'], {
      env: { ...process.env, TERM: 'xterm' },
    });
    this.child.stdin.on('error', () => {});
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.raw += text;
      this.screen = this.raw.replace(MOVEMENT, '');
      this.wake();
    });
    this.exit = new Promise((resolve) => {
      this.child.once('close', (code) => {
        resolve(code);
        this.wake();
      });
    });
    onTestFinished(async () => {
      this.child.kill('SIGKILL');
      await this.exit;
    });
  }

  /** Types `keys`, then waits until something that matches is shown that was not looked at yet; what was shown up to its end. */
  async type(keys: string, until: RegExp): Promise<string> {
    this.child.stdin.write(keys);
    return this.shown(until);
  }

  async shown(until: RegExp): Promise<string> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.wake();
    }, WAIT_MS);
    try {
      for (;;) {
        const rest = this.screen.slice(this.seen);
        const found = until.exec(rest);
        if (found !== null) {
          const end = found.index + found[0].length;
          this.seen += end;
          return rest.slice(0, end);
        }
        if (isLate) throw new Error(`${String(until)} was not shown, but: ${JSON.stringify(rest)}`);
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      }
    } finally {
      clearTimeout(timer);
    }
  }
}
