// Redis' wire protocol, RESP 2: requests are arrays of bulk strings.
import { Pipe } from './pipe.ts';

export type Resp = number | null | Buffer | Error | readonly Resp[];

const CR = 13;

export async function openRedis(port: number): Promise<Redis> {
  return new Redis(await Pipe.open(port, readResp));
}

export class Redis {
  private readonly pipe: Pipe<Resp>;

  constructor(pipe: Pipe<Resp>) {
    this.pipe = pipe;
  }

  /** An error of the server is thrown. */
  async ask(...words: readonly (string | Buffer)[]): Promise<Resp> {
    const parts: (string | Buffer)[] = [];
    let text = `*${words.length}\r\n`;
    for (const word of words) {
      text += `$${Buffer.byteLength(word)}\r\n`;
      if (typeof word === 'string') text += word;
      else {
        parts.push(text, word);
        text = '';
      }
      text += '\r\n';
    }
    const answer = await this.pipe.ask(...parts, text);
    if (answer instanceof Error) throw answer;
    return answer;
  }

  close(): void {
    this.pipe.close();
  }
}

/** One value, when it is there as a whole. */
export function readResp(bytes: Buffer, at: number): { answer: Resp; end: number } | null {
  const lineEnd = bytes.indexOf(CR, at);
  if (lineEnd < 0 || lineEnd + 2 > bytes.length) return null;
  const text = bytes.toString('latin1', at + 1, lineEnd);
  const end = lineEnd + 2;
  switch (String.fromCharCode(bytes[at] ?? 0)) {
    case '+':
      return { answer: Buffer.from(text, 'latin1'), end };
    case '-':
      return { answer: new Error(text), end };
    case ':':
      return { answer: Number(text), end };
    case '$':
      return readBulk(bytes, end, Number(text));
    case '*':
      return readArray(bytes, end, Number(text));
    default:
      throw new Error(`this is not RESP: ${bytes.toString('latin1', at, at + 40)}`);
  }
}

function readBulk(bytes: Buffer, at: number, length: number): { answer: Resp; end: number } | null {
  if (length < 0) return { answer: null, end: at };
  const end = at + length + 2;
  return end > bytes.length ? null : { answer: bytes.subarray(at, at + length), end };
}

function readArray(bytes: Buffer, at: number, count: number): { answer: Resp; end: number } | null {
  if (count < 0) return { answer: null, end: at };
  const values: Resp[] = [];
  let end = at;
  for (let i = 0; i < count; i++) {
    const found = readResp(bytes, end);
    if (found === null) return null;
    values.push(found.answer);
    end = found.end;
  }
  return { answer: values, end };
}
