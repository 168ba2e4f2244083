// A whole terminal for a while: another screen, no cursor, keys as they are pressed. Invariant: whatever ends it, the terminal is as it was before.

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_REST = '\x1b[J';
const ENDS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface ScreenPorts {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  /** A key, as the terminal sends it. */
  readonly key: (key: string) => void;
  readonly resized: () => void;
  /** A signal, or the end of the input. */
  readonly ended: () => void;
}

export class Screen {
  private readonly ports: ScreenPorts;
  private isOpen = true;

  constructor(ports: ScreenPorts) {
    const { input, output } = ports;
    this.ports = ports;
    output.write(ENTER);
    output.on('resize', ports.resized);
    process.once('exit', this.close);
    for (const signal of ENDS) process.on(signal, ports.ended);
    if (!input.isTTY) return;
    input.setRawMode(true);
    input.setEncoding('utf8');
    input.on('data', this.keys);
    input.on('end', ports.ended);
    input.resume();
  }

  get width(): number {
    return this.ports.output.columns;
  }
  get height(): number {
    return this.ports.output.rows;
  }

  /** Shows these lines in place of the last ones. */
  draw(lines: readonly string[]): void {
    // No line feed behind the last: the screen would move.
    this.ports.output.write(`${HOME}${lines.map((line) => `${line}${CLEAR_LINE}`).join('\n')}${CLEAR_REST}`);
  }

  readonly close = (): void => {
    if (!this.isOpen) return;
    this.isOpen = false;
    const { input, output, resized, ended } = this.ports;
    output.off('resize', resized);
    process.off('exit', this.close);
    for (const signal of ENDS) process.off(signal, ended);
    output.write(LEAVE);
    if (!input.isTTY) return;
    input.off('data', this.keys);
    input.off('end', ended);
    input.setRawMode(false);
    input.pause();
  };

  private readonly keys = (data: string | Buffer): void => {
    for (const key of String(data)) this.ports.key(key);
  };
}
