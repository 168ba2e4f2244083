// beanstalkd: put, reserve, delete.
import { findProgram, Program } from './program.ts';
import type { Lane, LaneOptions, Peer, PeerPlace, PeerServer } from './peer.ts';
import { Pipe } from './pipe.ts';

interface Line {
  readonly words: readonly string[];
  readonly body: Buffer;
}

const CR = 13;
const NOTHING = Buffer.alloc(0);
const BODY_BYTES_MAX = 1024 * 1024;
/** Seconds that a reserved message is its client's. */
const RUN_S = 120;

export const beanstalkd: Peer = {
  name: 'beanstalkd',
  durability: 'beanstalkd -f 0: a sync of the log for each put and each delete',
  install: 'apt-get install beanstalkd',
  missing: () => (findProgram('beanstalkd') === '' ? 'beanstalkd' : ''),
  start: ({ directory, port }: PeerPlace): Promise<PeerServer> =>
    Program.start({
      program: findProgram('beanstalkd'),
      args: ['-l', '127.0.0.1', '-p', String(port), '-b', directory, '-f', '0', '-z', String(BODY_BYTES_MAX)],
      isReady: async () => {
        const pipe = await Pipe.open(port, readLine);
        pipe.close();
        return true;
      },
    }),
  async connect({ port, queue }: LaneOptions): Promise<Lane> {
    const pipe = await Pipe.open(port, readLine);
    const lane = new TubeLane(pipe);
    await lane.expect(pipe.ask(`use ${queue}\r\n`), 'USING');
    await lane.expect(pipe.ask(`watch ${queue}\r\n`), 'WATCHING');
    await lane.expect(pipe.ask('ignore default\r\n'), 'WATCHING');
    return lane;
  },
};

class TubeLane implements Lane {
  private readonly pipe: Pipe<Line>;

  constructor(pipe: Pipe<Line>) {
    this.pipe = pipe;
  }

  async expect(asked: Promise<Line>, ...words: readonly string[]): Promise<Line> {
    const line = await asked;
    if (!words.includes(line.words[0] ?? '')) throw new Error(`beanstalkd answers ${line.words.join(' ')}`);
    return line;
  }

  async put(body: Buffer): Promise<void> {
    await this.expect(this.pipe.ask(`put 0 0 ${RUN_S} ${body.length}\r\n`, body, '\r\n'), 'INSERTED');
  }

  async take(most: number, onBody: (body: Buffer) => void): Promise<void> {
    const asked = [this.pipe.ask('reserve\r\n')];
    for (let i = 1; i < most; i++) asked.push(this.pipe.ask('reserve-with-timeout 0\r\n'));
    const deleted: Promise<Line>[] = [];
    for (const one of asked) {
      const { words, body } = await this.expect(one, 'RESERVED', 'TIMED_OUT');
      if (words[0] !== 'RESERVED') continue;
      onBody(body);
      deleted.push(this.expect(this.pipe.ask(`delete ${words[1] ?? ''}\r\n`), 'DELETED'));
    }
    await Promise.all(deleted);
  }

  close(): Promise<void> {
    this.pipe.close();
    return Promise.resolve();
  }
}

/** A line, and the data behind it when the line announces some. */
export function readLine(bytes: Buffer, at: number): { answer: Line; end: number } | null {
  const lineEnd = bytes.indexOf(CR, at);
  if (lineEnd < 0 || lineEnd + 2 > bytes.length) return null;
  const words = bytes.toString('latin1', at, lineEnd).split(' ');
  const bodyAt = lineEnd + 2;
  if (words[0] !== 'RESERVED') return { answer: { words, body: NOTHING }, end: bodyAt };
  const bodyEnd = bodyAt + Number(words[2]);
  if (bodyEnd + 2 > bytes.length) return null;
  return { answer: { words, body: bytes.subarray(bodyAt, bodyEnd) }, end: bodyEnd + 2 };
}
