// Fenced `console` blocks of a page, run as a reader would type them. A line that begins with `$ ` is a command; what follows is what it
// prints, both streams together; `…` stands for anything within a line, a line of nothing but `…` for any run of lines. A command goes on
// after a trailing backslash and to the end of its here-document. All blocks of a page run in one bash, in their order. Invariants: every
// wait is bounded; a command that fails must show its exit code with `$ echo $?`; when the page ends, so has every process that it started.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

export interface Step {
  readonly command: string;
  readonly expected: readonly string[];
  /** Of the command, in the page. */
  readonly line: number;
}

export interface PageSetup {
  readonly name: string;
  readonly text: string;
  /** Where the commands run. */
  readonly folder: string;
  /** All of their environment. */
  readonly env: NodeJS.ProcessEnv;
}

/** No judgement on speed: a machine under load may take long. */
const STEP_MS = 60_000;
const POLL_MS = 10;
const MARK = '-- end of command --';

/** Runs every command of the page; rejects with place, command, expectation and output of the first that does otherwise. */
export async function runPage(page: PageSetup): Promise<number> {
  const steps = stepsOf(page.text);
  const shell = new Shell(page);
  try {
    for (const [i, step] of steps.entries()) {
      const codeIsShown = steps[i + 1]?.command === 'echo $?';
      await runStep(shell, step, codeIsShown).catch((error: unknown) => {
        const said = error instanceof Error ? error.message : String(error);
        throw new Error(`${page.name}:${step.line}: $ ${step.command}\n${said}`);
      });
    }
  } finally {
    await shell.end();
  }
  return steps.length;
}

/** The commands of a page, in order. */
export function stepsOf(text: string): Step[] {
  const steps: { command: string; expected: string[]; line: number }[] = [];
  const lines = text.split('\n');
  let isInside = false;
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    if (line.startsWith('```')) {
      isInside = !isInside && line.trim() === '```console';
      continue;
    }
    if (!isInside) continue;
    if (!line.startsWith('$ ')) {
      const step = steps.at(-1);
      if (step === undefined) throw new Error(`line ${i + 1}: output without a command`);
      step.expected.push(line.trimEnd());
      continue;
    }
    const first = i;
    let command = line.slice(2);
    while (isUnfinished(command) && i + 1 < lines.length) command += `\n${lines[++i] ?? ''}`;
    steps.push({ command, expected: [], line: first + 1 });
  }
  return steps;
}

function isUnfinished(command: string): boolean {
  if (command.endsWith('\\')) return true;
  const word = /<<'?(\w+)'?/.exec(command)?.[1];
  return word !== undefined && !command.split('\n').slice(1).includes(word);
}

/** Whether the output is what the page says. */
export function matches(expected: readonly string[], output: string): boolean {
  const lines = output.split('\n').map((line) => line.trimEnd());
  while (lines.at(-1) === '') lines.pop();
  while (lines[0] === '') lines.shift();
  const pattern = expected.map((line) => {
    if (line.trim() === '…') return '(?:[^\n]*\n)*';
    return `${line.split('…').map(RegExpEscape).join('[^\n]*')}\n`;
  });
  return new RegExp(`^${pattern.join('')}$`).test(lines.length === 0 ? '' : `${lines.join('\n')}\n`);
}

function RegExpEscape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/**
 * One command and its output. The only thing changed is the port: a daemon that a page starts listens on a free one, also when it is
 * started again, and what follows finds it by WSNADDR.
 */
async function runStep(shell: Shell, step: Step, codeIsShown: boolean): Promise<void> {
  const isStart = /\btmqueue start\b/.test(step.command) && step.command.endsWith('&');
  const command =
    isStart && !step.command.includes('--listen')
      ? step.command.replace('tmqueue start', `tmqueue start --listen ${shell.address}`)
      : step.command;
  const expected = step.expected.map((line) => line.replaceAll('//127.0.0.1:7110', '//127.0.0.1:…'));
  const code = await shell.run(command);
  if (command.endsWith('&')) await shell.until(() => matches(expected, shell.output));
  if (!matches(expected, shell.output)) {
    throw new Error(
      `the page says:\n${expected.join('\n')}\nbut it printed (exit ${code}):\n${shell.output}`,
    );
  }
  if (code !== 0 && !codeIsShown) {
    throw new Error(
      `it ended with exit code ${code}, which the page does not show with "$ echo $?":\n${shell.output}`,
    );
  }
  const address = isStart ? /\/\/127\.0\.0\.1:\d+/.exec(shell.output)?.[0] : undefined;
  if (address === undefined) return;
  shell.address = address;
  await shell.run(`export WSNADDR=${address}`);
}

class Shell {
  /** What the last command printed so far. */
  output = '';
  /** Where a daemon that the page starts listens: any port, then the same again. */
  address = '127.0.0.1:0';
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly exited: Promise<void>;

  constructor({ folder, env }: PageSetup) {
    // A process group of its own: whatever the page started ends with it.
    this.child = spawn('bash', ['--noprofile', '--norc'], {
      cwd: folder,
      env,
      detached: true,
    });
    this.child.stdout.setEncoding('utf8').on('data', (part: string) => (this.output += part));
    this.child.stderr.resume();
    this.child.stdin.on('error', () => {});
    this.exited = new Promise((resolve) => {
      this.child.once('close', () => resolve());
    });
    this.child.stdin.write('exec 2>&1\n');
    process.once('exit', this.kill);
  }

  /** Runs one command to its end (`&`: to its start); returns its exit code. */
  async run(command: string): Promise<number> {
    this.output = '';
    // In braces, so that it does not read the commands that follow; the exit code is put back for `echo $?`.
    this.child.stdin.write(`{ ${command}\n} </dev/null\n`);
    this.child.stdin.write(`code=$?; printf '\\n%s %d\\n' '${MARK}' $code; (exit $code)\n`);
    const mark = new RegExp(`\n${MARK} (\\d+)\n`);
    await this.until(() => mark.test(this.output));
    const found = mark.exec(this.output);
    this.output = this.output.replace(mark, '');
    return Number(found?.[1]);
  }

  /** Polls; leaves the judgement to the caller when the time is over. */
  async until(isSo: () => boolean): Promise<void> {
    const end = performance.now() + STEP_MS;
    while (!isSo() && performance.now() < end && this.child.exitCode === null) {
      await new Promise((resolve) => {
        setTimeout(resolve, POLL_MS);
      });
    }
  }

  async end(): Promise<void> {
    this.kill();
    process.removeListener('exit', this.kill);
    await this.exited;
  }

  private readonly kill = (): void => {
    try {
      if (this.child.pid !== undefined) process.kill(-this.child.pid, 'SIGKILL');
    } catch {
      // It ended by itself, and so did all that it started.
    }
  };
}
