// What contexts share: an identity, the connection of the moment, and the services offered on it. Owns reconnecting. Invariants: a call that
// was sent is never sent again; a call made while there is no connection waits for one, at most the daemon's blocking time; offered services
// are announced on every new connection before any waiting call; after close() nothing is left, within two seconds, in every state.
// Must not know transactions or queues.
import { TPERRNO } from '../../proto/codes.ts';
import type { ServiceRequest, Unsolicited } from '../../proto/message.ts';
import { pause } from './abort-hub.ts';
import type { Address } from './address.ts';
import type { ConnectSocket } from './byte-socket.ts';
import { Connection, type ConnectionPort } from './connection.ts';
import { TpError } from './error.ts';
import { type ConnectOptions, type Opened, openSocket } from './handshake.ts';
import { type Carrier, isUntimed, mustNotBlock, type PendingCall } from './pending.ts';
import { ServiceRegistry } from './registry.ts';
import { UnsolicitedHub } from './unsolicited.ts';

export interface SessionOptions {
  readonly connectSocket: ConnectSocket;
  readonly addresses: readonly Address[];
  readonly hello: ConnectOptions['hello'];
  readonly connectTimeoutMs: number;
  readonly heartbeatMs: number | undefined;
  /** Milliseconds of the first and the longest pause between attempts to reconnect; null: never reconnect. */
  readonly reconnect: { readonly initialMs: number; readonly maxMs: number } | null;
  /** What has no caller to be told to. */
  readonly onError: (error: unknown) => void;
  /** What tpreturn(TPEXIT) does in the end. */
  readonly onExit: () => void;
}

/** Refusals of HELLO that time may cure. */
const PASSING: readonly number[] = [TPERRNO.TPESYSTEM, TPERRNO.TPETIME, TPERRNO.TPEOS, TPERRNO.TPELIMIT];

export class Session implements Carrier, ConnectionPort {
  readonly services: ServiceRegistry;
  readonly unsolicited: UnsolicitedHub;
  readonly onError: (error: unknown) => void;
  /** Contexts that use this session. */
  users = 0;
  closed = false;
  private current: Connection | null = null;
  private readonly options: SessionOptions;
  /** Calls without a connection, with the timer of their blocking time. */
  private readonly waiting = new Map<PendingCall, NodeJS.Timeout | null>();
  private readonly closing = new AbortController();
  private connecting = false;
  private pauseMs = 0;
  private connectedAtMs = 0;
  private dataBytesMax = 0;
  private blockTimeMs = 0;
  private lastReason = '';

  private constructor(options: SessionOptions) {
    this.options = options;
    this.onError = options.onError;
    this.services = new ServiceRegistry(this);
    this.unsolicited = new UnsolicitedHub(options.onError);
  }

  /** Connects for the first time; fails at once when that fails. */
  static async open(options: SessionOptions, signal: AbortSignal | undefined): Promise<Session> {
    const session = new Session(options);
    session.adopt(await session.connectOnce(signal));
    return session;
  }

  /** The connection of the moment. */
  get connection(): Connection | null {
    return this.current;
  }

  /** Bytes of data that a message may have, as the daemon said last. */
  get messageBytesMax(): number {
    return this.dataBytesMax;
  }

  /** BLOCKTIME, as the daemon said last; 0: none. */
  get blockMs(): number {
    return this.blockTimeMs;
  }

  /** Sends a call, now or when there is a connection. A call of a transaction whose connection is gone fails. */
  submit<C extends PendingCall>(call: C): C {
    if (call.settled) return call;
    if (this.closed) call.failWith(TPERRNO.TPEPROTO, 'the context was ended');
    else if (call.tx !== null && call.tx.carrier !== this.current) {
      call.failWith(
        TPERRNO.TPETIME,
        'the transaction was rolled back when its connection was lost: end it with tpabort',
      );
    } else if (this.current !== null) this.current.submit(call);
    else this.wait(call);
    return call;
  }

  /** Takes out a call that waits for a connection. */
  abandon(call: PendingCall): void {
    clearTimeout(this.waiting.get(call) ?? undefined);
    this.waiting.delete(call);
  }

  /** Calls of one owner that are not answered. */
  callsOf(owner: object): PendingCall[] {
    const waiting = [...this.waiting.keys()].filter((call) => call.owner === owner);
    return [...waiting, ...(this.current?.callsOf(owner) ?? [])];
  }

  /** Makes sure that a connection is sought while somebody needs one. */
  seek(): void {
    if (this.closed || this.connecting || this.current !== null || this.options.reconnect === null) return;
    this.connecting = true;
    this.reconnect(this.options.reconnect)
      .catch(this.onError)
      .finally(() => {
        this.connecting = false;
        if (this.isWanted()) this.seek();
      });
  }

  /** Ends everything; idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.closing.abort();
    this.failWaiting(() => this.error(TPERRNO.TPEPROTO, 'the context was ended'));
    await this.current?.goodbye();
  }

  /** A service said TPEXIT: everything ends, then the process. */
  exit(): void {
    this.close().catch(this.onError).finally(this.options.onExit);
  }

  told(message: Unsolicited): void {
    if (this.current !== null) this.unsolicited.arrived(message, this.current);
  }

  requested(request: ServiceRequest): void {
    if (this.current !== null) this.services.run(request, this.current);
  }

  ended(reason: string): void {
    this.current = null;
    this.lastReason = reason;
    const { reconnect } = this.options;
    // A daemon that drops connections at once is not asked again at once.
    if (reconnect !== null && performance.now() - this.connectedAtMs >= reconnect.maxMs) this.pauseMs = 0;
    this.services.connectionEnded();
    if (this.isWanted()) this.seek();
  }

  private isWanted(): boolean {
    return !this.closed && (this.waiting.size > 0 || this.services.size > 0) && this.current === null;
  }

  private wait(call: PendingCall): void {
    if (this.options.reconnect === null) {
      call.failWith(TPERRNO.TPESYSTEM, `there is no connection, and none is sought: ${this.lastReason}`);
      return;
    }
    if (mustNotBlock(call.request)) {
      call.failWith(TPERRNO.TPEBLOCK, `there is no connection: ${this.lastReason}`);
      return;
    }
    call.carrier = this;
    this.waiting.set(call, this.blockTimeMs > 0 && !isUntimed(call.request) ? this.limit(call) : null);
    this.seek();
  }

  private limit(call: PendingCall): NodeJS.Timeout {
    return setTimeout(() => {
      this.waiting.delete(call);
      call.failWith(TPERRNO.TPETIME, `no connection within ${this.blockTimeMs} ms: ${this.lastReason}`);
    }, this.blockTimeMs);
  }

  private async reconnect(pauses: { initialMs: number; maxMs: number }): Promise<void> {
    while (this.isWanted()) {
      if (this.pauseMs > 0) await pause(this.pauseMs, this.closing.signal);
      if (!this.isWanted()) return;
      this.pauseMs = Math.min(pauses.maxMs, this.pauseMs === 0 ? pauses.initialMs : this.pauseMs * 2);
      try {
        this.adopt(await this.connectOnce(this.closing.signal));
        return;
      } catch (error) {
        if (this.closed) return;
        this.lastReason = error instanceof Error ? error.message : String(error);
        if (TpError.is(error) && PASSING.includes(error.tperrno)) continue;
        this.failWaiting((call) => this.refusal(call, error));
        this.onError(error);
      }
    }
  }

  private async connectOnce(signal: AbortSignal | undefined): Promise<Opened> {
    let failure: unknown;
    for (const address of this.options.addresses) {
      try {
        const { connectSocket, hello, connectTimeoutMs, heartbeatMs } = this.options;
        return await openSocket({ connectSocket, address, hello, connectTimeoutMs, heartbeatMs, signal });
      } catch (error) {
        failure = error;
        if (signal?.aborted === true) break;
      }
    }
    throw failure;
  }

  private adopt(opened: Opened): void {
    const connection = new Connection(opened, this);
    if (this.closed) {
      connection.destroy('closed by this client');
      return;
    }
    this.current = connection;
    this.connectedAtMs = performance.now();
    this.dataBytesMax = connection.messageBytesMax;
    this.blockTimeMs = connection.hello.blockTimeMs;
    this.services.announce(connection);
    const calls = [...this.waiting.keys()];
    for (const call of calls) this.abandon(call);
    for (const call of calls) connection.submit(call);
    connection.start();
  }

  private failWaiting(errorFor: (call: PendingCall) => TpError): void {
    const calls = [...this.waiting.keys()];
    for (const call of calls) {
      this.abandon(call);
      call.fail(errorFor(call));
    }
  }

  private refusal(call: PendingCall, cause: unknown): TpError {
    const tperrno = TpError.is(cause) ? cause.tperrno : TPERRNO.TPESYSTEM;
    return new TpError({ tperrno, operation: call.operation, text: this.lastReason, cause });
  }

  private error(tperrno: number, text: string): TpError {
    return new TpError({ tperrno, operation: 'tpterm', text });
  }
}
