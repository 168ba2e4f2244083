// One TCP connection to the daemon, from the handshake to its end. Owns the socket, request ids, the calls in flight and those that wait for a
// place, and heartbeats. Invariants: sends of one turn leave in one write; at most inFlightMax requests are unanswered, and calls that wait at
// the daemon never take the last places; when it ends every call fails at once and nothing of it is left. Must not know contexts,
// transactions or reconnecting.
import { OP } from '../../proto/codes.ts';
import { type FrameReader, messageBytesMax } from '../../proto/frame.ts';
import type { HelloReply, Malformed, Reply, ServiceRequest, Unsolicited } from '../../proto/message.ts';
import { decodeReply } from '../../proto/reply.ts';
import { encodeRequest } from '../../proto/request.ts';
import { FrameWriter } from '../../proto/writer.ts';
import { formatAddress } from './address.ts';
import { Bindings, type Binding } from './bindings.ts';
import type { ByteSocket } from './byte-socket.ts';
import { CallTable, CALLS_MAX } from './call-table.ts';
import { Fifo } from './fifo.ts';
import type { Opened } from './handshake.ts';
import { Heartbeat } from './heartbeat.ts';
import { type Carrier, type OneWay, type PendingCall, PlainCall } from './pending.ts';

/** Unsent bytes in the socket above which no further request is encoded. */
const UNSENT_BYTES_MAX = 1024 * 1024;
/** Places in flight that waiting dequeues and calls leave free, so that the request that would end their waiting can be sent. */
const RESERVED_PLACES = 16;
/** Requests that wait at the daemon and may be cancelled there [PROTOCOL 7]. */
const CANCELLABLE: ReadonlySet<number> = new Set([
  OP.DEQUEUE,
  OP.CALL,
  OP.PRIOCALL,
  OP.NOTIFY,
  OP.ADMIN,
  OP.AQ,
]);
/** How long the end of a connection waits for GOODBYE's answer. */
const GOODBYE_MS = 1000;
const NO_BYTES = Buffer.alloc(0);

export interface ConnectionPort {
  /** A service of this connection is asked for. */
  requested(request: ServiceRequest): void;
  /** An unsolicited message has come. */
  told(message: Unsolicited): void;
  /** The connection has ended; its calls have failed. */
  ended(reason: string): void;
}

export class Connection implements Carrier {
  readonly hello: HelloReply;
  readonly messageBytesMax: number;
  ended = false;
  private readonly socket: ByteSocket;
  private readonly port: ConnectionPort;
  private readonly where: string;
  private readonly reader: FrameReader;
  private readonly writer = new FrameWriter();
  private readonly heartbeat: Heartbeat | null;
  private readonly bindings = new Bindings();
  private readonly calls = new CallTable();
  private readonly queued = new Fifo<PendingCall>();
  private readonly queuedParking = new Fifo<PendingCall>();
  private readonly inFlightMax: number;
  private readonly parkedMax: number;
  private parked = 0;
  private flushing = false;
  private clogged = false;
  private reason = 'closed by the daemon';
  private readonly bind = (binding: Binding): void => this.sendBind(binding);
  private readonly flushNow = (): void => this.flush();

  constructor(opened: Opened, port: ConnectionPort) {
    const { socket, reader, reply, options } = opened;
    this.socket = socket;
    this.port = port;
    this.reader = reader;
    this.hello = reply;
    this.where = formatAddress(options.address);
    this.messageBytesMax = messageBytesMax(reply.frameBytesMax);
    reader.frameBytesMax = reply.frameBytesMax;
    this.inFlightMax = Math.min(CALLS_MAX, Math.max(1, reply.inFlightMax));
    this.parkedMax = Math.max(1, this.inFlightMax - Math.min(RESERVED_PLACES, this.inFlightMax >>> 1));
    const beatMs = options.heartbeatMs ?? reply.heartbeatMs;
    this.heartbeat = beatMs > 0 ? new Heartbeat(beatMs, this.beat()) : null;
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('drain', () => this.unclog());
    socket.on('error', (error) => {
      this.reason = error.message;
    });
    socket.on('close', () => this.end());
  }

  /** Begins to take what the daemon sends, beginning with what came behind HELLO's answer. */
  start(): void {
    this.read(NO_BYTES);
    if (!this.ended) this.socket.resume();
  }

  /** Requests that are sent and not answered. */
  get inFlight(): number {
    return this.calls.size;
  }

  /** Sends a call, or keeps it until there is a place. */
  submit(call: PendingCall): void {
    if (call.settled) return;
    call.carrier = this;
    if (this.ended) call.failLost(this.lostText());
    else if (call.parks && (this.parked >= this.parkedMax || this.isFull())) this.queuedParking.push(call);
    else if (this.isFull() || this.queued.length > 0) this.queued.push(call);
    else this.send(call);
  }

  /** Sends a call whatever is in flight: for requests that the limit does not count [PROTOCOL 7]. */
  submitNow(call: PendingCall): void {
    call.carrier = this;
    if (this.ended) call.failLost(this.lostText());
    else this.send(call);
  }

  /** Answers what the daemon pushed; does nothing when the connection has ended. */
  sendOneWay(reply: OneWay): void {
    if (this.ended) return;
    encodeRequest(this.writer, reply);
    this.scheduleFlush();
  }

  /** A call that was not sent leaves the queue when its turn comes; one that was sent is cancelled and then answered. */
  abandon(call: PendingCall): void {
    if (!call.sent || this.ended) return;
    const { op, id } = call.request;
    if (!CANCELLABLE.has(op)) return;
    const cancel = new PlainCall({ operation: 'cancel', request: { op: OP.CANCEL, id: 0, target: id } });
    cancel.promise.catch(ignore);
    this.submitNow(cancel);
  }

  /** Calls of one owner, sent or waiting for a place. */
  callsOf(owner: object): PendingCall[] {
    const all = [...this.calls.list(), ...this.queued.list(), ...this.queuedParking.list()];
    return all.filter((call) => call.owner === owner && !call.settled);
  }

  /** Takes leave and closes; at most about a second. */
  async goodbye(): Promise<void> {
    if (this.ended) return;
    const call = new PlainCall({ operation: 'tpterm', request: { op: OP.GOODBYE, id: 0 } });
    this.submitNow(call);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, GOODBYE_MS);
    });
    await Promise.race([call.promise.then(ignore, ignore), late]);
    clearTimeout(timer);
    this.destroy('closed by this client');
  }

  /** Ends the connection at once. */
  destroy(reason: string): void {
    if (this.ended) return;
    this.reason = reason;
    this.socket.destroy();
    this.end();
  }

  private isFull(): boolean {
    return this.calls.size >= this.inFlightMax || this.clogged;
  }

  private send(call: PendingCall): void {
    const { request } = call;
    request.id = this.calls.add(call);
    if (call.queue !== null && (request.op === OP.ENQUEUE || request.op === OP.DEQUEUE)) {
      request.queue = this.bindings.refOf(call.queue, this.bind);
    }
    if (call.parks) this.parked++;
    call.sent = true;
    encodeRequest(this.writer, request);
    this.scheduleFlush();
  }

  private sendBind(binding: Binding): void {
    if (this.isFull()) {
      binding.asked = false;
      return;
    }
    const { qspace, qname } = binding.names;
    const call = new PlainCall({ operation: 'bind', request: { op: OP.BIND, id: 0, qspace, qname } });
    this.submitNow(call);
    call.promise.then((reply) => {
      if (reply.op === OP.BIND) binding.handle = reply.handle;
    }, ignore);
  }

  private scheduleFlush(): void {
    if (this.flushing) return;
    this.flushing = true;
    process.nextTick(this.flushNow);
  }

  private flush(): void {
    this.flushing = false;
    if (this.ended) return;
    const chunks = this.writer.take();
    const [first] = chunks;
    if (first === undefined) return;
    this.heartbeat?.noteSent();
    if (chunks.length === 1) {
      this.socket.write(first);
    } else {
      this.socket.cork();
      for (const chunk of chunks) this.socket.write(chunk);
      this.socket.uncork();
    }
    if (this.socket.writableLength > UNSENT_BYTES_MAX) this.clogged = true;
  }

  private unclog(): void {
    this.clogged = false;
    this.pump();
  }

  private read(chunk: Buffer): void {
    this.heartbeat?.noteHeard();
    this.reader.push(chunk);
    for (let frame = this.reader.next(); frame !== null; frame = this.reader.next()) {
      this.dispatch(decodeReply(frame));
      if (this.ended) return;
    }
    if (this.reader.oversize > 0) {
      this.destroy(
        `the daemon sent a frame of ${this.reader.oversize} bytes, above the limit it gave itself`,
      );
    } else {
      this.pump();
    }
  }

  private dispatch(reply: Reply | Malformed): void {
    if (reply.op === 0) {
      if (reply.close) this.destroy(`the daemon sent what is no answer: ${reply.reason}`);
    } else if (reply.op === OP.REQUEST) {
      this.port.requested(reply);
    } else if (reply.op === OP.UNSOLICITED) {
      this.port.told(reply);
    } else if (reply.op === OP.CLOSING) {
      this.reason = `closed by the daemon: ${reply.message}`;
    } else {
      this.answer(reply);
    }
  }

  /** An id that is unknown is a heartbeat, or the answer to a frame that the daemon could not read; it says why with CLOSING. */
  private answer(reply: Reply): void {
    const call = this.calls.take(reply.id);
    if (call === null) return;
    if (call.parks) this.parked--;
    call.answer(reply);
  }

  /** Sends what has waited for a place. */
  private pump(): void {
    while (!this.isFull() && this.queued.length > 0) this.sendNext(this.queued);
    while (!this.isFull() && this.parked < this.parkedMax && this.queuedParking.length > 0) {
      this.sendNext(this.queuedParking);
    }
  }

  private sendNext(queue: Fifo<PendingCall>): void {
    const call = queue.shift();
    if (call !== undefined && !call.settled) this.send(call);
  }

  private beat(): { ping: () => void; dead: () => void } {
    return {
      ping: () => {
        const call = new PlainCall({ operation: 'ping', request: { op: OP.PING, id: 0 } });
        call.promise.catch(ignore);
        this.submitNow(call);
      },
      dead: () => this.destroy('nothing was heard from the daemon for three heartbeats'),
    };
  }

  private lostText(): string {
    return `the connection to ${this.where} was lost: ${this.reason}`;
  }

  private end(): void {
    if (this.ended) return;
    this.ended = true;
    this.heartbeat?.stop();
    const text = this.lostText();
    for (const call of this.calls.drain()) call.failLost(text);
    for (const call of this.queued.drain()) call.failLost(text);
    for (const call of this.queuedParking.drain()) call.failLost(text);
    this.port.ended(text);
  }
}

function ignore(): void {}
