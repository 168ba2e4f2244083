// qmadmin's lines from a person at a terminal, by node:readline: editing, recall of earlier lines, completion, BREAK. Lines that are pasted or typed
// ahead wait here. Must not know what a line means.
import { createInterface, type Interface } from 'node:readline';
import type { Asking, Input, LineSource } from './lines.ts';

export interface Terminal {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
}

const HISTORY_LINES = 1000;
const ignore = (): void => {};

export class TerminalLines implements LineSource {
  readonly isTerminal = true;
  private readonly terminal: Terminal;
  private readonly reader: Interface;
  private readonly waiting: Input[] = [];
  private give: ((input: Input) => void) | null = null;
  private number = 0;
  private ended = false;
  private how: Asking = {};

  constructor(terminal: Terminal) {
    this.terminal = terminal;
    this.reader = createInterface({
      ...terminal,
      terminal: terminal.output.isTTY,
      historySize: HISTORY_LINES,
      removeHistoryDuplicates: true,
      completer: (line: string, done: (error: null, found: [string[], string]) => void) => {
        void this.completed(line).then((found) => done(null, found));
      },
    });
    this.reader.on('line', (text) => {
      this.number++;
      this.arrived({ kind: 'line', text, number: this.number });
    });
    this.reader.on('history', (lines) => {
      if (this.how.isAnswer === true) lines.shift();
    });
    this.reader.on('SIGINT', () => {
      // What was typed so far is not for the next line.
      this.reader.write(null, { ctrl: true, name: 'e' });
      this.reader.write(null, { ctrl: true, name: 'u' });
      terminal.output.write('\n');
      this.arrived({ kind: 'break' });
    });
    this.reader.on('close', () => {
      this.ended = true;
      this.arrived({ kind: 'end' });
    });
  }

  get rows(): number {
    const { output } = this.terminal;
    return output.isTTY ? output.rows : 0;
  }

  next(prompt: string, how: Asking = {}): Promise<Input> {
    this.how = how;
    const ready = this.waiting.shift();
    if (ready !== undefined) {
      // What was typed ahead was shown when it was typed, without its prompt.
      if (ready.kind === 'line') this.terminal.output.write(`${prompt}${ready.text}\n`);
      return Promise.resolve(ready);
    }
    if (this.ended) return Promise.resolve({ kind: 'end' });
    this.reader.setPrompt(prompt);
    this.reader.prompt();
    return new Promise((resolve) => {
      this.give = resolve;
    });
  }

  async lend<T>(work: () => Promise<T>): Promise<T> {
    const { input } = this.terminal;
    this.reader.pause();
    if (input.isTTY) input.setRawMode(false);
    // BREAK is for the other program alone.
    process.on('SIGINT', ignore);
    try {
      return await work();
    } finally {
      process.off('SIGINT', ignore);
      if (input.isTTY && this.terminal.output.isTTY && !this.ended) input.setRawMode(true);
    }
  }

  takeBreak(): boolean {
    const at = this.waiting.findIndex(({ kind }) => kind === 'break');
    if (at >= 0) this.waiting.splice(at, 1);
    return at >= 0;
  }

  close(): void {
    this.give = null;
    this.reader.close();
  }

  /** A daemon that cannot say what there is has nothing to offer; that is no reason to disturb the line. */
  private async completed(line: string): Promise<[string[], string]> {
    try {
      const [words, part] = (await this.how.complete?.(line)) ?? [[], line];
      return [[...words], part];
    } catch {
      return [[], line];
    }
  }

  private arrived(input: Input): void {
    const { give } = this;
    this.give = null;
    if (give === null) this.waiting.push(input);
    else give(input);
  }
}
