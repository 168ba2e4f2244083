// Opens a socket and says HELLO [PROTOCOL 4]. Invariants: ends within the time it is given, whatever the other side is; a socket that did not
// become a connection is destroyed. Bytes behind HELLO's answer stay in the reader and the paused socket for the connection.
import { LIMIT, OP, PROTOCOL_VERSION, TPERRNO } from '../../proto/codes.ts';
import { FrameReader } from '../../proto/frame.ts';
import type { Hello, HelloReply } from '../../proto/message.ts';
import { decodeReply } from '../../proto/reply.ts';
import { encodeRequest } from '../../proto/request.ts';
import { FrameWriter } from '../../proto/writer.ts';
import { type Abortable, offAbort, onAbort } from './abort-hub.ts';
import { formatAddress, type Address } from './address.ts';
import { TpError } from './error.ts';
import type { ByteSocket, ConnectSocket } from './byte-socket.ts';

export interface ConnectOptions {
  readonly connectSocket: ConnectSocket;
  readonly address: Address;
  readonly hello: Omit<Hello, 'op' | 'id' | 'versionMin' | 'versionMax'>;
  /** Milliseconds for connecting and HELLO together. */
  readonly connectTimeoutMs: number;
  /** Milliseconds; undefined: what the daemon says. */
  readonly heartbeatMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A socket on which HELLO has been answered; paused, nobody listens to it yet. */
export interface Opened {
  readonly socket: ByteSocket;
  readonly reader: FrameReader;
  readonly reply: HelloReply;
  readonly options: ConnectOptions;
}

/** Rejects with a TpError: TPESYSTEM no connection, TPETIME too slow, TPGOTSIG aborted, else the daemon's refusal. */
export function openSocket(options: ConnectOptions): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const handshake = new Handshake(options, (outcome) => {
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    });
    handshake.start();
  });
}

class Handshake implements Abortable {
  private readonly options: ConnectOptions;
  private readonly done: (outcome: Opened | TpError) => void;
  private readonly socket: ByteSocket;
  private readonly reader = new FrameReader(LIMIT.HELLO_FRAME_BYTES);
  private timer: NodeJS.Timeout | undefined;

  constructor(options: ConnectOptions, done: (outcome: Opened | TpError) => void) {
    this.options = options;
    this.done = done;
    this.socket = options.connectSocket(options.address);
  }

  start(): void {
    const { socket } = this;
    const { connectTimeoutMs, signal } = this.options;
    socket.on('connect', this.onConnect);
    socket.on('data', this.onData);
    socket.on('error', this.onError);
    socket.on('close', this.onClose);
    this.timer = setTimeout(
      () => this.refuse(TPERRNO.TPETIME, `no answer within ${connectTimeoutMs} ms`),
      connectTimeoutMs,
    );
    if (signal?.aborted === true) this.abort(signal.reason);
    else if (signal !== undefined) onAbort(signal, this);
  }

  private readonly onConnect = (): void => {
    const writer = new FrameWriter();
    encodeRequest(writer, {
      op: OP.HELLO,
      id: 1,
      versionMin: PROTOCOL_VERSION.MIN,
      versionMax: PROTOCOL_VERSION.MAX,
      ...this.options.hello,
    });
    this.socket.write(Buffer.concat(writer.take()));
  };

  private readonly onData = (chunk: Buffer): void => {
    this.reader.push(chunk);
    const frame = this.reader.next();
    if (frame === null) {
      if (this.reader.oversize > 0) this.refuse(TPERRNO.TPESYSTEM, 'this is not a tmqueue daemon');
      return;
    }
    const reply = decodeReply(frame);
    if (reply.op === OP.HELLO) this.accept(reply);
    else if (reply.op === OP.ERROR) this.refuse(reply.tperrno, reply.message);
    else if (reply.op === OP.CLOSING) this.refuse(TPERRNO.TPESYSTEM, reply.message);
    else this.refuse(TPERRNO.TPESYSTEM, 'this is not a tmqueue daemon');
  };

  private readonly onError = (error: Error): void => this.refuse(TPERRNO.TPESYSTEM, error.message, error);
  private readonly onClose = (): void => this.refuse(TPERRNO.TPESYSTEM, 'closed before HELLO was answered');

  abort(reason: unknown): void {
    this.refuse(TPERRNO.TPGOTSIG, 'aborted by its caller', reason);
  }

  private accept(reply: HelloReply): void {
    const { socket, reader, options } = this;
    socket.pause();
    this.stop();
    this.done({ socket, reader, reply, options });
  }

  private refuse(tperrno: number, text: string, cause?: unknown): void {
    this.stop();
    this.socket.on('error', ignore);
    this.socket.destroy();
    const where = formatAddress(this.options.address);
    this.done(new TpError({ tperrno, operation: 'tpinit', text: `${where}: ${text}`, cause }));
  }

  private stop(): void {
    const { socket } = this;
    clearTimeout(this.timer);
    if (this.options.signal !== undefined) offAbort(this.options.signal, this);
    socket.off('connect', this.onConnect);
    socket.off('data', this.onData);
    socket.off('error', this.onError);
    socket.off('close', this.onClose);
  }
}

function ignore(): void {}
