// Lines of `strace -f -y -o FILE` → system calls as they begin and end. The order of the lines is the order of events, also between threads:
// a call that others interrupted stands on two lines. Data come out as latin1 text, one character a byte.
//
//     1234  1700000000.1 write(5</data/log>, "…", 3) = 3
//     1234  1700000000.2 fdatasync(5</data/log> <unfinished ...>
//     1235  1700000000.3 write(7<socket:[9]>, "…", 2) = 2
//     1234  1700000000.4 <... fdatasync resumed>) = 0

export interface Call {
  readonly name: string;
  /** What strace says the descriptor is: a path, or `socket:[…]`. */
  readonly target: string;
  /** All bytes of its buffers, in order. */
  readonly data: string;
  /** strace cut the data: -s is too small. */
  readonly cut: boolean;
  /** Line on which it began. */
  readonly began: number;
}

export interface CallSink {
  begin(call: Call): void;
  /** It returned, on line `ended`. */
  end(call: Call, ended: number, result: number): void;
}

const HEAD = /^(\d+)\s+[\d.]+\s+(.*)$/s;
const ENTRY = /^(\w+)\((?:AT_FDCWD|-?\d+)(?:<((?:[^<>\\]|\\.)*)>)?/s;
const RESUMED = /^<\.\.\. (\w+) resumed>/;
const RESULT = /\)\s+= (-?\d+)(?:\s[^"]*)?$/;
const STRING = /"((?:[^"\\]|\\.)*)"(\.\.\.)?/gs;
const UNFINISHED = ' <unfinished ...>';

export class CallReader {
  private readonly sink: CallSink;
  private readonly open = new Map<string, Call>();
  private line = 0;

  constructor(sink: CallSink) {
    this.sink = sink;
  }

  /** Takes the next line; lines that are no calls (signals, exits) are passed over. */
  push(text: string): void {
    this.line++;
    const [, thread, rest] = HEAD.exec(text) ?? [];
    if (thread === undefined || rest === undefined) return;
    const resumed = RESUMED.test(rest);
    const call = resumed ? this.open.get(thread) : this.entry(rest);
    if (call === undefined) return;
    if (resumed) this.open.delete(thread);
    else this.sink.begin(call);
    if (rest.endsWith(UNFINISHED)) {
      this.open.set(thread, call);
      return;
    }
    const result = RESULT.exec(rest)?.[1];
    if (result !== undefined) this.sink.end(call, this.line, Number(result));
  }

  private entry(rest: string): Call | undefined {
    const entry = ENTRY.exec(rest);
    if (entry === null) return undefined;
    let data = '';
    let cut = false;
    for (const [, text = '', dots] of rest.slice(entry[0].length).matchAll(STRING)) {
      data += unescape(text);
      cut ||= dots !== undefined;
    }
    return { name: entry[1] ?? '', target: entry[2] ?? '', data, cut, began: this.line };
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  f: '\f',
  a: '\u0007',
  b: '\b',
};

const ZEROS = /^(?:\\0)+$/;

/** C string escapes → bytes. */
function unescape(text: string): string {
  // What a segment is filled with would be most of the work.
  if (ZEROS.test(text)) return '\0'.repeat(text.length / 2);
  return text.replace(
    /\\(?:x([\da-fA-F]{2})|([0-7]{1,3})|(.))/gs,
    (_, hex?: string, octal?: string, other?: string) => {
      if (hex !== undefined) return String.fromCharCode(parseInt(hex, 16));
      if (octal !== undefined) return String.fromCharCode(parseInt(octal, 8));
      return ESCAPES[other ?? ''] ?? other ?? '';
    },
  );
}
