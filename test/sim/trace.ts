// What happened in a run, line by line: as a number that two runs can be compared by, and the last lines in words for a report of a failure.
// Two 32-bit words are mixed over every character, so that a single other byte anywhere makes another number.

const LINES_KEPT = 400;

export class Trace {
  lines = 0;
  /** Told every line; for --verbose. */
  onLine: ((line: string) => void) | null = null;
  private a = 0x811c9dc5;
  private b = 0x9e3779b9;
  private readonly kept: string[] = [];

  add(line: string): void {
    let { a, b } = this;
    for (let i = 0; i < line.length; i++) {
      const code = line.charCodeAt(i);
      a = Math.imul(a ^ code, 0x01000193);
      b = Math.imul(b ^ code, 0x85ebca6b) ^ (b >>> 15);
    }
    this.a = a;
    this.b = Math.imul(b ^ this.lines, 0xc2b2ae35);
    this.kept[this.lines % LINES_KEPT] = line;
    this.lines++;
    this.onLine?.(line);
  }

  /** The bytes of a message or a write, as a number. */
  static sum(bytes: Uint8Array): number {
    let sum = bytes.length;
    for (let i = 0; i < bytes.length; i++) sum = (Math.imul(sum, 0x01000193) ^ (bytes[i] as number)) >>> 0;
    return sum;
  }

  get hash(): string {
    return `${word(this.a)}${word(this.b)}`;
  }

  last(count: number): string[] {
    const from = Math.max(0, this.lines - Math.min(count, LINES_KEPT));
    return Array.from({ length: this.lines - from }, (_, i) => this.kept[(from + i) % LINES_KEPT] ?? '');
  }
}

function word(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0');
}
