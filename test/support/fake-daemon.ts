// A small scripted daemon over real loopback TCP, written with proto alone: queues in memory, transactions, waiting dequeues, services. A test
// may answer any request itself with `script`. It keeps nothing over stop(). Knows nothing of src and nothing of the SDK.
import { createServer, type Server, type Socket } from 'node:net';
import { LIMIT, OP, QME, RVAL, TPERRNO, TPFLAG, TPQ } from '../../proto/codes.ts';
import { FrameReader, frameBytesMax } from '../../proto/frame.ts';
import type { Call, Dequeue, Enqueue, QueueRef, Reply, Request, TypedData } from '../../proto/message.ts';
import { dequeueOutputFlags, selectsCorrid, selectsMsgid } from '../../proto/qctl.ts';
import { encodeReply, writeClosing, writeHeartbeat } from '../../proto/reply.ts';
import { decodeRequest } from '../../proto/request.ts';
import { FrameWriter } from '../../proto/writer.ts';

export interface FakeOptions {
  heartbeatMs?: number;
  messageBytesMax?: number;
  inFlightMax?: number;
  blockTimeMs?: number;
}

export interface Stored {
  msgid: Buffer;
  corrid: Buffer | null;
  priority: number;
  replyqueue: string;
  failurequeue: string;
  /** Members that were given. */
  supplied: number;
  urcode: number;
  body: TypedData;
  attempts: number;
}

interface Waiter {
  connection: FakeConnection;
  request: Dequeue;
  queue: string;
  timer: NodeJS.Timeout | undefined;
}

interface FakeTx {
  puts: { queue: string; message: Stored }[];
  takes: { queue: string; message: Stored }[];
}

/** What a script returns: a reply, `default` for the ordinary behaviour, null for no answer at all. */
export type Scripted = Reply | 'default' | null;

export class FakeDaemon {
  port = 0;
  /** Every request, in order of arrival. */
  readonly requests: Request[] = [];
  readonly connections: FakeConnection[] = [];
  readonly queues = new Map<string, Stored[]>();
  readonly waiters: Waiter[] = [];
  commits = 0;
  aborts = 0;
  script: (request: Request, connection: FakeConnection) => Scripted = () => 'default';
  private readonly options: FakeOptions;
  private server: Server | null = null;
  private lastMsgid = 0;

  constructor(options: FakeOptions = {}) {
    this.options = options;
  }

  static async start(options: FakeOptions = {}): Promise<FakeDaemon> {
    const daemon = new FakeDaemon(options);
    await daemon.listen();
    return daemon;
  }

  get address(): string {
    return `//127.0.0.1:${this.port}`;
  }

  get hello(): Required<FakeOptions> {
    return {
      heartbeatMs: 60_000,
      messageBytesMax: 1_000_000,
      inFlightMax: 64,
      blockTimeMs: 5000,
      ...this.options,
    };
  }

  /** Listens, on the port it had before if it had one. */
  listen(): Promise<void> {
    const server = createServer((socket) => {
      this.connections.push(new FakeConnection(this, socket));
    });
    this.server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, '127.0.0.1', () => {
        const address = server.address();
        if (typeof address === 'object' && address !== null) this.port = address.port;
        resolve();
      });
    });
  }

  /** Resets every connection; goes on listening. */
  drop(): void {
    for (const connection of this.connections.splice(0)) connection.reset();
  }

  /** Stops listening and resets every connection. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = null;
    this.drop();
    if (server !== null) await new Promise((resolve) => void server.close(resolve));
  }

  queue(name: string): Stored[] {
    let list = this.queues.get(name);
    if (list === undefined) this.queues.set(name, (list = []));
    return list;
  }

  /** Texts of a queue's messages. */
  texts(name: string): string[] {
    return this.queue(name).map(({ body }) => (body.data === null ? '' : Buffer.from(body.data).toString()));
  }

  put(queue: string, message: Stored): void {
    this.queue(queue).push(message);
    this.wake(queue);
  }

  newMsgid(): Buffer {
    const msgid = Buffer.alloc(LIMIT.TMMSGIDLEN);
    msgid.writeUInt32BE(++this.lastMsgid, 28);
    return msgid;
  }

  /** Takes the first message that the selection fits. */
  take(queue: string, request: Dequeue): Stored | undefined {
    const list = this.queue(queue);
    const flags = request.ctl?.flags ?? 0;
    const index = list.findIndex(
      (message) =>
        (!selectsMsgid(flags) || message.msgid.equals(request.ctl?.msgid ?? Buffer.alloc(0))) &&
        (!selectsCorrid(flags) || message.corrid?.equals(request.ctl?.corrid ?? Buffer.alloc(0)) === true),
    );
    if (index < 0) return undefined;
    return (flags & TPQ.TPQPEEK) === 0 ? list.splice(index, 1)[0] : list[index];
  }

  wake(queue: string): void {
    for (const waiter of this.waiters.filter((one) => one.queue === queue)) {
      const message = this.take(queue, waiter.request);
      if (message === undefined) continue;
      this.unpark(waiter);
      waiter.connection.deliver(waiter.request, queue, message);
    }
  }

  unpark(waiter: Waiter): void {
    clearTimeout(waiter.timer);
    this.waiters.splice(this.waiters.indexOf(waiter), 1);
  }

  /** The connection that offers a service. */
  serverOf(service: string): FakeConnection | undefined {
    return this.connections.find((connection) => connection.services.has(service));
  }
}

export class FakeConnection {
  readonly daemon: FakeDaemon;
  readonly services = new Map<string, number>();
  readonly transactions = new Map<number, FakeTx>();
  readonly socket: Socket;
  private readonly reader = new FrameReader(LIMIT.HELLO_FRAME_BYTES);
  private readonly writer = new FrameWriter();
  private readonly handles: string[] = [];
  private readonly pushed = new Map<number, { from: FakeConnection; call: Call }>();
  private lastId = 0;
  private heartbeat: NodeJS.Timeout | undefined;

  constructor(daemon: FakeDaemon, socket: Socket) {
    this.daemon = daemon;
    this.socket = socket;
    socket.setNoDelay();
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('close', () => this.end());
  }

  send(reply: Reply): void {
    encodeReply(this.writer, reply);
    this.flush();
  }

  error(id: number, tperrno: number, diagnostic = 0, message = 'scripted'): void {
    this.send({ op: OP.ERROR, id, tperrno, diagnostic, message });
  }

  /** Raw bytes, for what no daemon would send. */
  raw(bytes: Buffer): void {
    this.socket.write(bytes);
  }

  closing(text: string): void {
    writeClosing(this.writer, text);
    this.flush();
    this.socket.end();
  }

  reset(): void {
    this.socket.resetAndDestroy();
    this.end();
  }

  deliver(request: Dequeue, queue: string, message: Stored): void {
    const asked = request.ctl?.flags ?? 0;
    const tx = this.transactions.get(request.tx);
    if (tx !== undefined && (request.flags & TPFLAG.TPNOTRAN) === 0) tx.takes.push({ queue, message });
    this.send({
      op: OP.DEQUEUE,
      id: request.id,
      ctl: {
        flags: dequeueOutputFlags(asked, message.supplied),
        priority: message.priority,
        msgid: message.msgid,
        corrid: message.corrid,
        replyqueue: message.replyqueue,
        failurequeue: message.failurequeue,
        cltid: Buffer.alloc(LIMIT.CLTIDLEN, 0xc1),
        urcode: message.urcode,
        appkey: -1,
        deliveryQos: 0,
        replyQos: 0,
      },
      body: message.body,
    });
  }

  /** Pushes a service request as if a caller had asked. */
  push(service: string, text: string, timeoutMs = 0): number {
    const id = ++this.lastId;
    const body = { type: 'STRING', subtype: '', data: Buffer.from(text) };
    const cltid = Buffer.alloc(LIMIT.CLTIDLEN, 0xc1);
    this.send({ op: OP.REQUEST, id, service, body, flags: 0, cltid, appkey: 7, timeoutMs });
    return id;
  }

  private read(chunk: Buffer): void {
    this.reader.push(chunk);
    for (let frame = this.reader.next(); frame !== null; frame = this.reader.next()) {
      const request = decodeRequest(frame);
      if (request.op === 0) {
        this.error(request.id, request.tperrno, 0, request.reason);
        if (request.close) this.closing(request.reason);
        return;
      }
      keepBytes(request);
      this.daemon.requests.push(request);
      const scripted = this.daemon.script(request, this);
      if (scripted === 'default') this.handle(request);
      else if (scripted !== null) this.send(scripted);
    }
  }

  private handle(request: Request): void {
    const { op, id } = request;
    switch (op) {
      case OP.HELLO:
        return this.greet(id);
      case OP.ENQUEUE:
        return this.enqueue(request);
      case OP.DEQUEUE:
        return this.dequeue(request);
      case OP.BEGIN:
        this.transactions.set(++this.lastId, { puts: [], takes: [] });
        return this.send({ op, id, tx: this.lastId, transaction: Buffer.alloc(12, this.lastId) });
      case OP.OUTCOME:
        return this.send({ op, id, outcome: 0 });
      case OP.SUSPEND:
      case OP.RESUME:
        return this.error(id, TPERRNO.TPEPROTO, 0, 'nothing is suspended here');
      case OP.COMMIT:
      case OP.COMMITAT:
      case OP.ABORT:
        return this.endTx(op, id, request.tx);
      case OP.CANCEL:
        return this.cancel(id, request.target);
      case OP.CALL:
        return this.call(request);
      case OP.PRIOCALL:
        return this.call({ ...request, op: OP.CALL });
      case OP.NOTIFY:
      case OP.BROADCAST:
        return this.send({ op, id });
      case OP.FORWARD:
      case OP.ACK:
        return;
      case OP.ADVERTISE:
        this.services.set(request.service, request.concurrency);
        return this.send({ op, id });
      case OP.UNADVERTISE:
        this.services.delete(request.service);
        return this.send({ op, id });
      case OP.RETURN: {
        const pushed = this.pushed.get(id);
        this.pushed.delete(id);
        const { rval, rcode, body } = request;
        return pushed?.from.send({ op: OP.CALL, id: pushed.call.id, rval, rcode, body });
      }
      case OP.STAT: {
        const stat = {
          version: '0.1.0',
          lmid: 'L1',
          uptimeMs: 1,
          connections: this.daemon.connections.length,
          transactions: 0,
        };
        return this.send({ op, id, stat: { ...stat, spaces: [], services: [], forwarders: [] } });
      }
      case OP.BIND:
        return this.send({ op, id, handle: this.handles.push(`${request.qspace}/${request.qname}`) - 1 });
      case OP.ADMIN:
        return this.send({ op, id, members: { count: 0 }, items: [] });
      case OP.AQ:
        return this.send({ op, id, members: {}, items: [] });
      case OP.PING:
        return this.send({ op, id });
      case OP.GOODBYE:
        for (const waiter of this.daemon.waiters.filter((one) => one.connection === this)) {
          this.daemon.unpark(waiter);
          this.error(waiter.request.id, TPERRNO.TPGOTSIG);
        }
        this.send({ op, id });
        this.socket.end();
    }
  }

  private greet(id: number): void {
    const { heartbeatMs, messageBytesMax, inFlightMax, blockTimeMs } = this.daemon.hello;
    this.reader.frameBytesMax = frameBytesMax(messageBytesMax);
    this.send({
      op: OP.HELLO,
      id,
      version: 1,
      cltid: Buffer.alloc(LIMIT.CLTIDLEN, 1),
      heartbeatMs,
      frameBytesMax: this.reader.frameBytesMax,
      inFlightMax,
      blockTimeMs,
      product: 'fake 0',
    });
    if (heartbeatMs > 0) {
      this.heartbeat = setInterval(() => {
        writeHeartbeat(this.writer);
        this.flush();
      }, heartbeatMs);
    }
  }

  private nameOf(queue: QueueRef): string {
    return typeof queue === 'number' ? (this.handles[queue] ?? '?') : `${queue.qspace}/${queue.qname}`;
  }

  private enqueue(request: Enqueue): void {
    const { ctl, body, tx, id } = request;
    const queue = this.nameOf(request.queue);
    if (queue.endsWith('/NONE'))
      return this.error(id, TPERRNO.TPEDIAGNOSTIC, QME.QMEBADQUEUE, 'no such queue');
    const message: Stored = {
      msgid: this.daemon.newMsgid(),
      corrid: ctl?.corrid === null || ctl?.corrid === undefined ? null : Buffer.from(ctl.corrid),
      priority: ctl?.priority ?? 0,
      replyqueue: ctl?.replyqueue ?? '',
      failurequeue: ctl?.failurequeue ?? '',
      supplied: ctl?.flags ?? 0,
      urcode: ctl?.urcode ?? 0,
      body,
      attempts: 0,
    };
    const transaction = (request.flags & TPFLAG.TPNOTRAN) === 0 ? this.transactions.get(tx) : undefined;
    if (transaction === undefined) this.daemon.put(queue, message);
    else transaction.puts.push({ queue, message });
    this.send({ op: OP.ENQUEUE, id, msgid: ((ctl?.flags ?? 0) & TPQ.TPQMSGID) === 0 ? null : message.msgid });
  }

  private dequeue(request: Dequeue): void {
    const queue = this.nameOf(request.queue);
    if (queue.endsWith('/NONE')) {
      return this.error(request.id, TPERRNO.TPEDIAGNOSTIC, QME.QMEBADQUEUE, 'no such queue');
    }
    const message = this.daemon.take(queue, request);
    if (message !== undefined) return this.deliver(request, queue, message);
    const nothing = (): void => this.error(request.id, TPERRNO.TPEDIAGNOSTIC, QME.QMENOMSG, 'no message');
    if (((request.ctl?.flags ?? 0) & TPQ.TPQWAIT) === 0) return nothing();
    const waiter: Waiter = { connection: this, request, queue, timer: undefined };
    if (request.waitMs > 0) {
      waiter.timer = setTimeout(() => {
        this.daemon.unpark(waiter);
        nothing();
      }, request.waitMs);
    }
    this.daemon.waiters.push(waiter);
  }

  private endTx(
    op: typeof OP.COMMIT | typeof OP.COMMITAT | typeof OP.ABORT,
    id: number,
    number: number,
  ): void {
    const tx = this.transactions.get(number);
    if (tx === undefined) return this.error(id, TPERRNO.TPEPROTO, 0, 'no such transaction');
    this.transactions.delete(number);
    if (op !== OP.ABORT) {
      this.daemon.commits++;
      for (const { queue, message } of tx.puts) this.daemon.put(queue, message);
    } else {
      this.daemon.aborts++;
      this.giveBack(tx);
    }
    this.send({ op, id });
  }

  private giveBack(tx: FakeTx): void {
    for (const { queue, message } of tx.takes) {
      message.attempts++;
      this.daemon.put(queue, message);
    }
  }

  private cancel(id: number, target: number): void {
    const waiter = this.daemon.waiters.find((one) => one.connection === this && one.request.id === target);
    if (waiter !== undefined) {
      this.daemon.unpark(waiter);
      this.error(target, TPERRNO.TPGOTSIG, 0, 'cancelled');
    }
    this.send({ op: OP.CANCEL, id, found: waiter !== undefined });
  }

  private call(request: Call): void {
    if (request.tx !== 0 && (request.flags & TPFLAG.TPNOTRAN) === 0) {
      return this.error(request.id, TPERRNO.TPETRAN, 0, 'services take no part in transactions');
    }
    const server = this.daemon.serverOf(request.service);
    if (server === undefined) return this.error(request.id, TPERRNO.TPENOENT, 0, 'no such service');
    const id = ++server.lastId;
    server.pushed.set(id, { from: this, call: request });
    const cltid = Buffer.alloc(LIMIT.CLTIDLEN, 1);
    const { service, body, timeoutMs } = request;
    server.send({ op: OP.REQUEST, id, service, body, flags: 0, cltid, appkey: -1, timeoutMs });
  }

  private flush(): void {
    for (const chunk of this.writer.take()) if (!this.socket.destroyed) this.socket.write(chunk);
  }

  private end(): void {
    clearInterval(this.heartbeat);
    const { connections, waiters } = this.daemon;
    if (connections.includes(this)) connections.splice(connections.indexOf(this), 1);
    for (const waiter of waiters.filter((one) => one.connection === this)) this.daemon.unpark(waiter);
    for (const tx of this.transactions.values()) this.giveBack(tx);
    this.transactions.clear();
  }
}

/** rval of a failed service, for tests that answer calls themselves. */
export const FAILED: number = RVAL.TPFAIL;

/** Requests hold views of their chunk; what is looked at later needs bytes of its own. */
function keepBytes(request: Request): void {
  if ('body' in request && request.body.data !== null)
    request.body = { ...request.body, data: Buffer.from(request.body.data) };
  if (!('ctl' in request) || request.ctl === null) return;
  if (request.ctl.msgid !== null) request.ctl.msgid = Buffer.from(request.ctl.msgid);
  if (request.ctl.corrid !== null) request.ctl.corrid = Buffer.from(request.ctl.corrid);
}
