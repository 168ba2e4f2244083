// Where qmadmin's lines come from: the port, and its form for pipes and files. Invariants: a line is at most LINE_BYTES_MAX long and valid
// UTF-8, or comes as a `bad` one; the last line counts with and without a line feed; CRLF is LF. Must not know what a line means.

export type Input =
  | { readonly kind: 'line'; readonly text: string; readonly number: number }
  /** A line that cannot be read. */
  | { readonly kind: 'bad'; readonly problem: string; readonly number: number }
  /** The operator interrupted (BREAK). */
  | { readonly kind: 'break' }
  | { readonly kind: 'end' };

/** For the beginning of a line: whole words that could follow, and the part of the line that they would replace. */
export type Complete = (line: string) => Promise<readonly [readonly string[], string]>;

export interface Asking {
  /** Offers what could stand where the line ends. */
  readonly complete?: Complete;
  /** It is not one to be recalled later: an answer, no command. */
  readonly isAnswer?: boolean;
}

export interface LineSource {
  /** A person types: prompts are shown and wrong answers may be given again. */
  readonly isTerminal: boolean;
  next(prompt: string, how?: Asking): Promise<Input>;
  /** Lines that the terminal shows at a time; 0: as many as come. */
  readonly rows: number;
  /** Lets another program use the terminal while `work` runs. */
  lend<T>(work: () => Promise<T>): Promise<T>;
  /** Whether the operator has interrupted what is going on, since this was last asked. */
  takeBreak(): boolean;
  close(): void;
}

const LINE_BYTES_MAX = 65_536;
const LF = 0x0a;
const BYTE_ORDER_MARK = '\u{feff}';

/** Lines of a byte stream. */
export class PipedLines implements LineSource {
  readonly isTerminal = false;
  readonly rows = 0;
  private readonly input: AsyncIterator<Uint8Array>;
  private readonly decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  private pending: Buffer = Buffer.alloc(0);
  private number = 0;
  private ended = false;

  constructor(input: AsyncIterable<Uint8Array>) {
    this.input = input[Symbol.asyncIterator]();
  }

  async next(): Promise<Input> {
    let from = 0;
    let tooLong = false;
    for (;;) {
      const end = this.pending.indexOf(LF, from);
      if (end >= 0) return this.take(end, end + 1, tooLong);
      if (this.pending.length > LINE_BYTES_MAX) {
        // Its end is looked for, its bytes are not kept.
        tooLong = true;
        this.pending = Buffer.alloc(0);
      }
      from = this.pending.length;
      if (!(await this.more())) {
        if (from === 0 && !tooLong) return { kind: 'end' };
        return this.take(from, from, tooLong);
      }
    }
  }

  lend<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  takeBreak(): boolean {
    return false;
  }

  close(): void {
    this.ended = true;
    void this.input.return?.();
  }

  private async more(): Promise<boolean> {
    if (this.ended) return false;
    const { done, value } = await this.input.next();
    if (done === true) {
      this.ended = true;
      return false;
    }
    this.pending = Buffer.concat([this.pending, value]);
    return true;
  }

  private take(end: number, next: number, tooLong: boolean): Input {
    const bytes = this.pending.subarray(0, end);
    this.pending = this.pending.subarray(next);
    this.number++;
    const { number } = this;
    if (tooLong || bytes.length > LINE_BYTES_MAX) {
      return { kind: 'bad', problem: `the line is longer than ${LINE_BYTES_MAX} bytes`, number };
    }
    try {
      let text = this.decoder.decode(bytes);
      if (number === 1 && text.startsWith(BYTE_ORDER_MARK)) text = text.slice(1);
      return { kind: 'line', text: text.replace(/\r$/, ''), number };
    } catch {
      return { kind: 'bad', problem: 'the line is not valid UTF-8', number };
    }
  }
}
