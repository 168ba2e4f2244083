// A session of qmadmin: line after line, prompt, echo, comments, repetition, `!`, and one command at a time [spec 5.1]. Invariants: a command
// that fails is reported and the session goes on with the next line; at the end the open space is closed. Listings go to standard output,
// everything else to standard error; a script sees neither prompts nor confirmations. Must not know what the commands do.
import { COMMANDS, findCommand } from './table.ts';
import type { Command, Shell } from './command.ts';
import { closeSpace } from './commands/space.ts';
import { completeAnswer, completeCommand, type Names } from './completion.ts';
import { gather, type Answers, type Fault } from './dialogue.ts';
import type { Asking, Input, LineSource } from './lines.ts';
import type { DevicePort } from './port.ts';
import { quoteWord, splitLine } from './words.ts';

export interface SessionPorts {
  readonly lines: LineSource;
  readonly device: DevicePort;
  /** Both take whole lines without their line feed. */
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  /** Runs a command line by the system's shell; resolves with its exit status, or the signal that ended it. */
  readonly system: (commandLine: string) => Promise<number | string>;
  /** Listings are JSON lines. */
  readonly json?: boolean;
}

const PROMPT = '> ';
const MORE = '-- RETURN: go on, q: no more -- ';
/** Lines that `history` remembers. */
const HISTORY_MAX = 1000;

export class Session implements Shell {
  readonly commands = COMMANDS;
  readonly device: DevicePort;
  space: Shell['space'] = null;
  verbose = false;
  echo = false;
  paginate: boolean;
  leaving = false;
  readonly history: string[] = [];
  readonly json: boolean;
  selected: Shell['selected'] = null;
  /** Lines whose command failed. */
  failures = 0;
  private readonly ports: SessionPorts;
  /** For RETURN and for `!!`. */
  private lastLine = '';
  private lastSystem = '';
  /** The line and command that are being carried out, for messages. */
  private at = { line: 0, command: '' };
  private readonly answers: Answers;
  private readonly names: Names;
  /** Lines of a listing that wait for their screen; null: they are not to wait. */
  private listing: string[] | null = null;
  /** A screen of it has been shown. */
  private isScreenFull = false;
  /** The operator wants no more of it. */
  private isEnough = false;

  constructor(ports: SessionPorts) {
    this.ports = ports;
    this.device = ports.device;
    this.paginate = ports.lines.isTerminal;
    this.names = {
      commands: COMMANDS,
      spaces: async () => (await this.device.spaces()).map(({ name }) => name),
      queues: async () => ((await this.space?.queues()) ?? []).map(({ attributes }) => attributes.name),
    };
    this.json = ports.json ?? false;
    this.answers = {
      isTerminal: ports.lines.isTerminal,
      ask: (prompt, completes) =>
        this.read(prompt, {
          isAnswer: true,
          complete: (line) => completeAnswer(line, completes, this.names),
        }),
      complain: (line, text) => this.report(text, line),
    };
  }

  /** Until `quit` or the end of the input. */
  async run(): Promise<void> {
    this.tell(`qmadmin: device ${quoteWord(this.device.path)}, ${this.device.reached}`);
    try {
      while (!this.leaving) {
        const input = await this.read(PROMPT, { complete: (line) => completeCommand(line, this.names) });
        if (input.kind === 'end') break;
        if (input.kind === 'break') this.lastLine = '';
        else await this.handle(input);
      }
    } finally {
      this.ports.lines.close();
      await closeSpace(this);
    }
  }

  print(line: string): void {
    if (this.listing === null) this.ports.out(line);
    else if (!this.isEnough) this.listing.push(line);
  }

  tell(text: string): void {
    if (this.answers.isTerminal) this.ports.out(text);
  }

  async confirm(what: string): Promise<boolean> {
    if (!this.answers.isTerminal) return true;
    for (;;) {
      const input = await this.read(`Really ${what}? (y, n) [default=n]: `, { isAnswer: true });
      const answer = input.kind === 'line' ? input.text.trim().toLowerCase() : 'n';
      if (answer === 'y' || answer === 'yes') return true;
      if (answer === '' || answer === 'n' || answer === 'no') break;
      this.report('y or n is needed');
    }
    this.tell('nothing was done');
    return false;
  }

  async isBroken(): Promise<boolean> {
    // A key that was pressed meanwhile is read in a turn of its own.
    await new Promise((resolve) => void setImmediate(resolve));
    await this.showScreens('full');
    return this.isEnough || this.ports.lines.takeBreak();
  }

  warn(text: string): void {
    this.report(`warning: ${text}`);
  }

  /** Says it with its place: `qmadmin: line 3: qcreate: …`. */
  report(text: string, line = this.at.line): void {
    const place = this.answers.isTerminal || line === 0 ? '' : `line ${line}: `;
    const command = this.at.command === '' ? '' : `${this.at.command}: `;
    this.ports.err(`qmadmin: ${place}${command}${text}`);
  }

  private async read(prompt: string, how: Asking): Promise<Input> {
    const { lines, out } = this.ports;
    const input = await lines.next(prompt, how);
    if (this.echo && !lines.isTerminal && input.kind === 'line') out(`${prompt}${input.text}`);
    return input;
  }

  private async handle(input: Exclude<Input, { kind: 'end' | 'break' }>): Promise<void> {
    this.at = { line: input.number, command: '' };
    if (input.kind === 'bad') return this.fail([{ line: input.number, text: input.problem }]);
    let text = input.text.trim();
    // RETURN repeats for a person. In a script a blank line is a blank line.
    if (text === '' && this.answers.isTerminal) text = this.lastLine;
    if (text === '' || text.startsWith('#')) return undefined;
    this.lastLine = text;
    this.history.push(text);
    if (this.history.length > HISTORY_MAX) this.history.shift();
    if (text.startsWith('!')) return this.runSystem(text);
    const split = splitLine(text);
    if (!split.ok) return this.fail([{ line: input.number, text: split.problem }]);
    const [word = '', ...words] = split.words;
    const found = findCommand(word);
    if (typeof found === 'string') return this.fail([{ line: input.number, text: found }]);
    this.at.command = found.name;
    return this.runCommand(found, words);
  }

  private async runCommand(command: Command, words: readonly string[]): Promise<void> {
    const { line } = this.at;
    const gathered = await gather(command, { words, line }, this.answers);
    if (gathered.kind === 'broken') {
      this.lastLine = '';
      return;
    }
    if (gathered.kind === 'faulty') {
      this.fail(gathered.faults);
      return;
    }
    this.listing = this.paginate && this.ports.lines.rows > 1 ? [] : null;
    this.isScreenFull = false;
    this.isEnough = false;
    try {
      await command.run(this, gathered.values, gathered.options);
      await this.showScreens('all');
    } catch (error) {
      if (!(error instanceof Error) || error.name === 'AssertionError') throw error;
      await this.showScreens('all');
      this.fail([{ line, text: error.message }]);
    } finally {
      this.listing = null;
    }
  }

  /** A screen at a time, full ones or also the last. BREAK and `q` stop the output, not the command [spec 5.1]. */
  private async showScreens(which: 'full' | 'all'): Promise<void> {
    const { listing } = this;
    if (listing === null) return;
    const rows = this.ports.lines.rows - 1;
    const least = which === 'all' ? 1 : rows;
    while (listing.length >= least) {
      if (this.isScreenFull) {
        const input = await this.ports.lines.next(MORE, { isAnswer: true });
        this.isEnough = input.kind !== 'line' || input.text.trim().toLowerCase() === 'q';
        if (this.isEnough) listing.length = 0;
      }
      for (const line of listing.splice(0, rows)) this.ports.out(line);
      this.isScreenFull = true;
    }
  }

  private async runSystem(text: string): Promise<void> {
    const { line } = this.at;
    const asked = text.startsWith('!!') ? this.lastSystem + text.slice(2) : text.slice(1).trim();
    if (asked === '') {
      const missing = text.startsWith('!!') ? 'no command was run by ! yet' : 'a command is missing behind !';
      return this.fail([{ line, text: missing }]);
    }
    this.lastSystem = asked;
    const status = await this.ports.lines.lend(() => this.ports.system(asked));
    if (status === 0) return undefined;
    const how = typeof status === 'number' ? `exit status ${status}` : status;
    return this.fail([{ line, text: `!${asked}: ${how}` }]);
  }

  /** One command failed, for one reason or more. */
  private fail(faults: readonly Fault[]): void {
    this.failures++;
    for (const { line, text } of faults) this.report(text, line);
  }
}
