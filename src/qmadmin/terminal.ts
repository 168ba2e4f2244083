// qmadmin's lines from a person at a terminal, by node:readline: editing, recall of earlier lines, BREAK. Lines that are pasted or typed
// ahead wait here. Must not know what a line means.
import { createInterface, type Interface } from 'node:readline';
import type { Input, LineSource } from './lines.ts';

export interface Terminal {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
}

const ignore = (): void => {};

export class TerminalLines implements LineSource {
  readonly isTerminal = true;
  private readonly terminal: Terminal;
  private readonly reader: Interface;
  private readonly waiting: Input[] = [];
  private give: ((input: Input) => void) | null = null;
  private number = 0;
  private ended = false;

  constructor(terminal: Terminal) {
    this.terminal = terminal;
    this.reader = createInterface({ ...terminal, terminal: terminal.output.isTTY });
    this.reader.on('line', (text) => {
      this.number++;
      this.arrived({ kind: 'line', text, number: this.number });
    });
    this.reader.on('SIGINT', () => {
      terminal.output.write('\n');
      this.arrived({ kind: 'break' });
    });
    this.reader.on('close', () => {
      this.ended = true;
      this.arrived({ kind: 'end' });
    });
  }

  next(prompt: string): Promise<Input> {
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

  private arrived(input: Input): void {
    const { give } = this;
    this.give = null;
    if (give === null) this.waiting.push(input);
    else give(input);
  }
}
