// A lean client connection: proto's codecs on a socket, one write for everything said in a turn. Hot requests are written by the caller
// into `writer`; rare ones go through `ask`. What goes wrong is thrown, which ends the load with a message.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { LIMIT, OP, PROTOCOL_VERSION, qmeName, tperrnoName } from '../../../proto/codes.ts';
import { FrameReader, type Frame } from '../../../proto/frame.ts';
import type { ErrorReply, Reply, Request } from '../../../proto/message.ts';
import { decodeReply } from '../../../proto/reply.ts';
import { encodeRequest } from '../../../proto/request.ts';
import { FrameWriter } from '../../../proto/writer.ts';

/** Ids of rare requests, above those that stamp.ts gives to messages. */
const ASK_ID = 0xff00_0000;

/** Takes the answers of the hot requests. */
export interface Answers {
  /** A frame arrived; false: it is not one of ours. The frame is valid during the call. */
  answered(frame: Frame, nowMs: number): boolean;
}

export class LeanConnection {
  readonly writer = new FrameWriter();
  answers: Answers = { answered: () => false };
  private readonly socket: Socket;
  private readonly reader = new FrameReader(LIMIT.HELLO_FRAME_BYTES);
  private readonly asked = new Map<number, (reply: Reply) => void>();
  private lastAsk = ASK_ID;
  private closing = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('close', () => {
      if (!this.closing) throw new Error('the daemon closed the connection');
    });
  }

  static async open(port: number): Promise<LeanConnection> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    await once(socket, 'connect');
    const connection = new LeanConnection(socket);
    const { MIN, MAX } = PROTOCOL_VERSION;
    const none = { usrname: '', cltname: '', passwd: '', grpname: '', flags: 0, data: null };
    const hello = { ...none, versionMin: MIN, versionMax: MAX, product: 'bench' };
    const reply = await connection.ask((id) => ({ op: OP.HELLO, id, ...hello }));
    if (reply.op !== OP.HELLO) throw new Error('HELLO was not answered');
    connection.reader.frameBytesMax = reply.frameBytesMax;
    return connection;
  }

  /** A handle for the queue. */
  async bind(qspace: string, qname: string): Promise<number> {
    const reply = await this.ask((id) => ({ op: OP.BIND, id, qspace, qname }));
    if (reply.op !== OP.BIND) throw new Error(describe(reply));
    return reply.handle;
  }

  /** One rare request, by its answer; an ERROR is returned, not thrown. */
  ask(make: (id: number) => Request): Promise<Reply> {
    this.lastAsk++;
    const id = this.lastAsk;
    return new Promise<Reply>((resolve) => {
      this.asked.set(id, resolve);
      encodeRequest(this.writer, make(id));
      this.flush();
    });
  }

  /** Sends what was written. */
  flush(): void {
    const chunks = this.writer.take();
    if (chunks.length > 1) this.socket.cork();
    for (const chunk of chunks) this.socket.write(chunk);
    if (chunks.length > 1) this.socket.uncork();
  }

  close(): void {
    this.closing = true;
    this.socket.destroy();
  }

  /** The daemon is about to be killed: that the connection breaks is no failure. */
  expectEnd(): void {
    this.closing = true;
    this.socket.on('error', () => {});
  }

  private receive(chunk: Buffer): void {
    const now = performance.now();
    this.reader.push(chunk);
    for (let frame = this.reader.next(); frame !== null; frame = this.reader.next()) {
      if (!this.answers.answered(frame, now)) this.take(decodeReply(frame));
    }
    this.flush();
  }

  private take(reply: ReturnType<typeof decodeReply>): void {
    if (reply.op === OP.PING && reply.id === 0) return;
    const resolve = this.asked.get(reply.id);
    if (reply.op === 0 || resolve === undefined) throw new Error(`unexpected answer: ${describe(reply)}`);
    this.asked.delete(reply.id);
    resolve(reply);
  }
}

export function describe(reply: { op: number; id: number } | ErrorReply): string {
  if (!('tperrno' in reply) || !('diagnostic' in reply)) return `opcode ${reply.op}, id ${reply.id}`;
  const diagnostic = reply.diagnostic === 0 ? '' : ` ${qmeName(reply.diagnostic)}`;
  return `${tperrnoName(reply.tperrno)}${diagnostic}: ${reply.message}`;
}
