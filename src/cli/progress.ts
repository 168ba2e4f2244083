// A progress bar for long work: on standard error, only when that is a terminal, gone when the work is done.
const WIDTH = 30;
/** Between two drawings, in milliseconds; also how long short work stays without a bar. */
const STEP_MS = 150;

export class Progress {
  private readonly label: string;
  private readonly stream: NodeJS.WriteStream;
  private drawnMs = performance.now();
  private isShown = false;

  constructor(label: string, stream: NodeJS.WriteStream = process.stderr) {
    this.label = label;
    this.stream = stream;
  }

  /** May be called as often as one likes. */
  readonly show = (done: number, total: number): void => {
    if (!this.stream.isTTY) return;
    const now = performance.now();
    if (now - this.drawnMs < STEP_MS) return;
    this.drawnMs = now;
    this.isShown = true;
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const filled = Math.round(share * WIDTH);
    const bar = '#'.repeat(filled) + '-'.repeat(WIDTH - filled);
    this.stream.write(`\r${this.label} [${bar}] ${Math.floor(share * 100)} %`);
  };

  clear(): void {
    if (this.isShown) this.stream.write('\r\x1b[K');
    this.isShown = false;
  }
}
