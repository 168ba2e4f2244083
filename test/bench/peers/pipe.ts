// A socket on which requests are answered in the order in which they were sent; what is said in one turn is one write. A protocol reads one
// answer at a time off the received bytes.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** An answer that begins at `at`, and where it ends; null: it is not whole yet. */
export type ReadAnswer<A> = (
  bytes: Buffer,
  at: number,
) => { readonly answer: A; readonly end: number } | null;

const NOTHING = Buffer.alloc(0);

export class Pipe<A> {
  private readonly socket: Socket;
  private readonly read: ReadAnswer<A>;
  private readonly asked: ((answer: A) => void)[] = [];
  private next = 0;
  private rest: Buffer = NOTHING;
  private closing = false;

  private constructor(socket: Socket, read: ReadAnswer<A>) {
    this.socket = socket;
    this.read = read;
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('close', () => {
      if (!this.closing) throw new Error('the server closed the connection');
    });
  }

  static async open<A>(port: number, read: ReadAnswer<A>): Promise<Pipe<A>> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    await once(socket, 'connect');
    return new Pipe(socket, read);
  }

  /** The parts are one request. */
  ask(...parts: readonly (string | Buffer)[]): Promise<A> {
    const { socket } = this;
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(() => socket.uncork());
    }
    for (const part of parts) socket.write(part);
    return new Promise<A>((resolve) => this.asked.push(resolve));
  }

  close(): void {
    this.closing = true;
    this.socket.destroy();
  }

  private receive(chunk: Buffer): void {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    let at = 0;
    for (let found = this.read(bytes, at); found !== null; found = this.read(bytes, at)) {
      at = found.end;
      this.answered(found.answer);
    }
    this.rest = bytes.subarray(at);
  }

  private answered(answer: A): void {
    const resolve = this.asked[this.next];
    if (resolve === undefined) throw new Error('an answer that nobody waits for');
    this.next++;
    if (this.next === this.asked.length) {
      this.asked.length = 0;
      this.next = 0;
    }
    resolve(answer);
  }
}
