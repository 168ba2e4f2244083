// One client connection: a socket ↔ frames ↔ typed requests and replies. It owns the hello, the limits that a connection has, heartbeats and
// back-pressure, and writes at most once a turn. A malformed frame costs its own connection, nobody else. It knows no queue and no role:
// requests go to the dispatcher in the order of arrival; replies come back in any order.
import type { Clock, Timer } from '../base/clock.ts';
import { LIMIT, OP, PROTOCOL_VERSION, TPERRNO, TPU } from '../../proto/codes.ts';
import { frameBytesMax, FrameReader, tooLargeText } from '../../proto/frame.ts';
import type { Hello, Malformed, Reply, Request } from '../../proto/message.ts';
import { encodeReply, writeClosing, writeHeartbeat } from '../../proto/reply.ts';
import { decodeRequest } from '../../proto/request.ts';
import { FrameWriter } from '../../proto/writer.ts';
import { Client, type ClientIdentity } from '../atmi/client.ts';
import { errorReply, type ReplyPort } from '../atmi/reply-port.ts';
import type { ByteSocket } from './network.ts';

/** What a connection may do; agreed in the hello. */
export interface ConnectionLimits {
  readonly messageBytesMax: number;
  readonly inFlightMax: number;
  /** Bytes that may wait for a reader that does not read before its requests are not read either. */
  readonly readerBytesMax: number;
  readonly heartbeatMs: number;
  readonly blockTimeMs: number;
}

/** Who takes requests: exactly one reply each, but for RETURN, FORWARD and ACK. */
export interface Dispatcher {
  readonly limits: ConnectionLimits;
  readonly product: string;
  identify(hello: Hello): ClientIdentity;
  joined(client: Client, hello: Hello): void;
  handle(client: Client, request: Request): void;
  gone(client: Client): void;
}

/** Requests that the limit on requests in flight does not hold up [PROTOCOL 9]. */
const ALWAYS_ADMITTED: ReadonlySet<number> = new Set([OP.CANCEL, OP.PING, OP.GOODBYE]);
/** Requests that are not answered. Their ids are the daemon's own. */
const ONE_WAY: ReadonlySet<number> = new Set([OP.RETURN, OP.FORWARD, OP.ACK]);
/** Frames whose ids are not those of requests. */
const PUSHED: ReadonlySet<number> = new Set([OP.REQUEST, OP.CLOSING, OP.UNSOLICITED]);
/** Ways to take unsolicited messages, of which a client has one. */
const NOTIFICATIONS = [TPU.TPU_SIG, TPU.TPU_DIP, TPU.TPU_IGN, TPU.TPU_THREAD] as const;
/** How long a connection that is being closed may take to send its last bytes, in milliseconds. */
const LINGER_MS = 2000;

export class Connection implements ReplyPort {
  readonly remote: string;
  client: Client | null = null;
  /** Monotonic instants of the last bytes in each direction. */
  heardMs: number;
  saidMs: number;
  private readonly socket: ByteSocket;
  private readonly dispatcher: Dispatcher;
  private readonly clock: Clock;
  private readonly onEnd: (connection: Connection) => void;
  private readonly reader = new FrameReader(LIMIT.HELLO_FRAME_BYTES);
  private readonly writer = new FrameWriter();
  /** Ids of requests that have not been answered. */
  private readonly inFlight = new Set<number>();
  private flushing = false;
  private closing = false;
  private ended = false;
  /** Id of a GOODBYE that waits until everything before it has been answered; 0: none. */
  private goodbye = 0;
  private lingering: Timer | null = null;

  constructor(
    socket: ByteSocket,
    ports: { dispatcher: Dispatcher; clock: Clock; onEnd: (connection: Connection) => void },
  ) {
    this.socket = socket;
    this.dispatcher = ports.dispatcher;
    this.clock = ports.clock;
    this.onEnd = ports.onEnd;
    this.remote = `${socket.remoteAddress ?? '?'}:${socket.remotePort ?? 0}`;
    this.heardMs = this.clock.monoMs();
    this.saidMs = this.heardMs;
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('drain', () => socket.resume());
    // A reset is an ordinary end; 'close' follows.
    socket.on('error', () => {});
    socket.on('end', () => this.close(''));
    socket.on('close', () => this.end());
  }

  send(reply: Reply): void {
    if (this.ended || this.closing) return;
    if (!PUSHED.has(reply.op)) this.inFlight.delete(reply.id);
    encodeReply(this.writer, reply);
    this.flushSoon();
    if (this.goodbye !== 0) this.sayGoodbye();
  }

  get isClogged(): boolean {
    return this.socket.writableLength > this.dispatcher.limits.readerBytesMax;
  }

  /** Says why and closes once what is queued has been sent. Idempotent. */
  close(reason: string): void {
    if (this.closing || this.ended) return;
    this.leave();
    if (reason !== '') writeClosing(this.writer, reason);
    this.flush();
    this.closing = true;
    this.socket.end();
    const { clock, socket } = this;
    this.lingering = clock.setTimer(clock.monoMs() + LINGER_MS, () => socket.destroy());
  }

  /** Called now and then: sends a heartbeat when nothing was said for long, ends a connection that nothing was heard from. */
  checkHeartbeat(nowMs: number): void {
    const { heartbeatMs } = this.dispatcher.limits;
    if (heartbeatMs === 0) return;
    if (nowMs - this.heardMs > 3 * heartbeatMs) {
      this.close(`nothing was heard for ${3 * heartbeatMs} ms`);
      return;
    }
    if (this.client === null || nowMs - this.saidMs < heartbeatMs || this.closing) return;
    writeHeartbeat(this.writer);
    this.flush();
  }

  private receive(chunk: Buffer): void {
    this.heardMs = this.clock.monoMs();
    if (this.isLeaving) return;
    this.reader.push(chunk);
    for (let frame = this.reader.next(); frame !== null && !this.isLeaving; frame = this.reader.next()) {
      const request = decodeRequest(frame);
      if (request.op === 0) this.refuse(request);
      else this.accept(request);
    }
    if (this.reader.oversize > 0 && !this.isLeaving) {
      this.close(
        `a frame of ${this.reader.oversize} bytes is larger than the limit of ${this.reader.frameBytesMax} bytes`,
      );
    }
  }

  private accept(request: Request): void {
    if (ONE_WAY.has(request.op) && this.client !== null) {
      return this.dispatcher.handle(this.client, request);
    }
    if (this.inFlight.has(request.id)) {
      this.send(
        errorReply(
          request.id,
          TPERRNO.TPEPROTO,
          `request id ${request.id} is in use by a request that waits for its answer`,
        ),
      );
      this.close('a request id was used twice');
      return;
    }
    if (this.client === null) return this.hello(request);
    if (this.inFlight.size >= this.dispatcher.limits.inFlightMax && !ALWAYS_ADMITTED.has(request.op)) {
      const message = `${this.dispatcher.limits.inFlightMax} requests are in flight on this connection`;
      return this.send(errorReply(request.id, TPERRNO.TPELIMIT, message));
    }
    const bytes = 'body' in request ? (request.body.data?.length ?? 0) : 0;
    const { messageBytesMax } = this.dispatcher.limits;
    if (bytes > messageBytesMax) {
      return this.send(errorReply(request.id, TPERRNO.TPEINVAL, tooLargeText(bytes, messageBytesMax)));
    }
    this.inFlight.add(request.id);
    switch (request.op) {
      case OP.HELLO:
        return this.send(errorReply(request.id, TPERRNO.TPEPROTO, 'HELLO was answered already'));
      case OP.PING:
        return this.send({ op: OP.PING, id: request.id });
      case OP.GOODBYE:
        this.leave();
        this.goodbye = request.id;
        return this.sayGoodbye();
      default:
        return this.dispatcher.handle(this.client, request);
    }
  }

  private hello(request: Request): void {
    if (request.op !== OP.HELLO) {
      this.send(errorReply(request.id, TPERRNO.TPEPROTO, 'the first request must be HELLO'));
      return this.close('no HELLO');
    }
    const version = Math.min(request.versionMax, PROTOCOL_VERSION.MAX);
    if (version < request.versionMin || version < PROTOCOL_VERSION.MIN) {
      const { MIN, MAX } = PROTOCOL_VERSION;
      const message = `this daemon speaks protocol versions ${MIN} to ${MAX}, the client ${request.versionMin} to ${request.versionMax}`;
      this.send(errorReply(request.id, TPERRNO.TPERELEASE, message));
      return this.close(message);
    }
    const fault = identityFault(request);
    if (fault !== null) {
      this.send(errorReply(request.id, TPERRNO.TPEINVAL, fault));
      return this.close(fault);
    }
    const { limits, product } = this.dispatcher;
    const identity = this.dispatcher.identify(request);
    this.client = new Client(identity, this, this.remote);
    this.dispatcher.joined(this.client, request);
    this.reader.frameBytesMax = frameBytesMax(limits.messageBytesMax);
    return this.send({
      op: OP.HELLO,
      id: request.id,
      version,
      cltid: identity.cltid,
      heartbeatMs: limits.heartbeatMs,
      frameBytesMax: this.reader.frameBytesMax,
      inFlightMax: limits.inFlightMax,
      blockTimeMs: limits.blockTimeMs,
      product,
    });
  }

  /** What comes after GOODBYE, or after a fault that ends the connection, is not looked at. */
  private get isLeaving(): boolean {
    return this.closing || this.goodbye !== 0;
  }

  /** GOODBYE's answer is the last frame: what is still being made durable is answered before it. */
  private sayGoodbye(): void {
    const id = this.goodbye;
    if (id === 0 || this.inFlight.size > 1) return;
    this.goodbye = 0;
    this.send({ op: OP.GOODBYE, id });
    this.close('');
  }

  private refuse(fault: Malformed): void {
    this.send(errorReply(fault.id, fault.tperrno, fault.reason));
    if (fault.close || this.client === null) this.close(fault.reason);
  }

  /** One write a turn, after everything that this turn has to say. */
  private flushSoon(): void {
    if (this.flushing) return;
    this.flushing = true;
    queueMicrotask(() => {
      this.flushing = false;
      this.flush();
    });
  }

  private flush(): void {
    const chunks = this.writer.take();
    if (chunks.length === 0 || this.socket.destroyed || this.closing) return;
    this.saidMs = this.clock.monoMs();
    if (chunks.length > 1) this.socket.cork();
    for (const chunk of chunks) this.socket.write(chunk);
    if (chunks.length > 1) this.socket.uncork();
    if (this.isClogged) this.socket.pause();
  }

  private leave(): void {
    const { client } = this;
    if (client === null || client.gone) return;
    this.dispatcher.gone(client);
  }

  private end(): void {
    if (this.ended) return;
    this.leave();
    this.lingering?.cancel();
    this.ended = true;
    this.onEnd(this);
  }
}

/** What is wrong with the members of TPINIT: a name that is too long, two ways to take unsolicited messages [spec 3.1]. */
function identityFault(hello: Hello): string | null {
  const ways = NOTIFICATIONS.filter((bit) => (hello.flags & bit) !== 0);
  if (ways.length > 1) return 'flags: at most one of TPU_SIG, TPU_DIP, TPU_IGN and TPU_THREAD';
  const { usrname, cltname, passwd, grpname } = hello;
  for (const [name, value] of Object.entries({ usrname, cltname, passwd, grpname })) {
    if (Buffer.byteLength(value) > LIMIT.MAXTIDENT) return `${name} has at most ${LIMIT.MAXTIDENT} bytes`;
  }
  return null;
}
