// A call that has been made and not answered. Owns its promise, its abort signal, and how an answer becomes a result or a TpError. Invariants:
// a call is settled exactly once; an aborted call that was already sent is cancelled at the daemon and settled by its own answer, so a
// message that was taken is never lost to the race. Must not know sockets; whoever carries it is a port.
import type { AqErrorReply } from '../../proto/aq/message.ts';
import { AQ } from '../../proto/aq/verbs.ts';
import { ADMIN, OP, QME, TPERRNO, TPFLAG, TPQ } from '../../proto/codes.ts';
import type {
  Ack,
  Dequeue,
  Enqueue,
  ErrorReply,
  Forward,
  QueueNames,
  Reply,
  Request,
  Return,
} from '../../proto/message.ts';
import { type Abortable, offAbort, onAbort } from './abort-hub.ts';
import { fromWire, ownBytes, rawFromWire, type Received } from './buffer.ts';
import { AqError } from './aq/error.ts';
import { TpError } from './error.ts';
import { fillCtl, type TPQCTL } from './tpqctl.ts';

/** Requests that are answered. */
export type AnsweredRequest = Exclude<Request, OneWay>;
/** Requests that answer what the daemon pushed. */
export type OneWay = Return | Forward | Ack;

/** What holds a call: a list of waiting calls, or a connection that has sent it. */
export interface Carrier {
  /** The caller gave up: take the call out, or ask the daemon to cancel it. */
  abandon(call: PendingCall): void;
}

/** The transaction a call belongs to: it can only be sent on that connection. */
export interface TxRef {
  readonly number: number;
  readonly carrier: Carrier;
  /** When the daemon rolls it back, by performance.now(); Infinity: not known. */
  readonly endsAtMs: number;
  /** Something failed on this side that makes it rollback-only. */
  readonly spoiled: boolean;
  spoil(): void;
}

export interface CallOptions {
  operation: string;
  request: AnsweredRequest;
  tx?: TxRef | null;
  signal?: AbortSignal | undefined;
}

/** Declared as a method, so that a PendingCall of any T is a PendingCall. */
interface Resolver<T> {
  resolve(value: T): void;
}

/** A call; T is what its promise gives. */
export abstract class PendingCall<T = unknown> implements Abortable {
  readonly promise: Promise<T>;
  readonly operation: string;
  readonly request: AnsweredRequest;
  readonly tx: TxRef | null;
  /** The queue that the request names; becomes a name or a handle when it is sent. */
  queue: QueueNames | null = null;
  carrier: Carrier | null = null;
  /** Sent, so the daemon will answer it. */
  sent = false;
  settled = false;
  /** May wait at the daemon for long, holding a place among the requests in flight. */
  readonly parks: boolean;
  /** Who made it: contexts give up their own calls when they end. */
  owner: object | null = null;
  protected resolve!: Resolver<T>['resolve'];
  private reject!: (error: unknown) => void;
  private readonly signal: AbortSignal | undefined;

  constructor(options: CallOptions) {
    this.operation = options.operation;
    this.request = options.request;
    this.tx = options.tx ?? null;
    this.signal = options.signal;
    this.parks = isParking(options.request);
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    if (this.signal !== undefined) this.listen(this.signal);
  }

  /** The daemon's answer. */
  answer(reply: Reply): void {
    if (this.settled) return;
    if (reply.op === OP.ERROR || reply.op === OP.AQERROR) {
      this.fail(this.errorOf(reply));
      return;
    }
    try {
      this.succeed(reply);
    } catch (error) {
      this.fail(error);
    }
    this.settle();
  }

  fail(error: unknown): void {
    if (this.settled) return;
    this.settle();
    this.reject(error);
  }

  /** Fails without an answer. */
  failWith(tperrno: number, text: string, more: { cause?: unknown; outcomeUnknown?: boolean } = {}): void {
    if (!this.settled) this.fail(new TpError({ tperrno, operation: this.operation, text, ...more }));
  }

  /** The connection is gone. A request of a transaction has a known outcome: rolled back. */
  failLost(reason: string): void {
    const outcomeUnknown = this.sent && this.changesSomething();
    const suffix = outcomeUnknown
      ? '; the request was sent and its outcome is unknown'
      : this.tx === null || this.request.op === OP.ABORT
        ? ''
        : '; the transaction is rolled back';
    this.failWith(TPERRNO.TPESYSTEM, `${reason}${suffix}`, { outcomeUnknown });
  }

  /** As when the caller's signal aborts. */
  abort(reason: unknown): void {
    if (this.settled) return;
    this.carrier?.abandon(this);
    if (!this.sent)
      this.failWith(TPERRNO.TPGOTSIG, 'aborted by its caller before it was sent', { cause: reason });
  }

  protected abstract succeed(reply: Reply): void;

  protected errorOf(reply: ErrorReply | AqErrorReply): TpError {
    const { tperrno, diagnostic, message } = reply;
    const cause =
      tperrno === TPERRNO.TPGOTSIG && this.signal?.aborted === true ? this.signal.reason : undefined;
    const outcomeUnknown = this.leavesOpen(reply);
    const { operation } = this;
    const init = { tperrno, diagnostic, operation, text: message, cause, outcomeUnknown };
    return reply.op === OP.AQERROR ? new AqError(init, reply.aq) : new TpError(init);
  }

  /** Whether the daemon answered that it does not know: its log failed under the request, or a commit ran out of time [PROTOCOL 8.1]. */
  private leavesOpen({ tperrno, diagnostic }: ErrorReply | AqErrorReply): boolean {
    if (!this.changesSomething()) return false;
    if (diagnostic === QME.QMESYSTEM) return true;
    const { op } = this.request;
    return (
      (op === OP.COMMIT || op === OP.COMMITAT) &&
      (tperrno === TPERRNO.TPESYSTEM || tperrno === TPERRNO.TPETIME)
    );
  }

  private changesSomething(): boolean {
    const { request } = this;
    if (request.op === OP.COMMIT || request.op === OP.COMMITAT) return true;
    if (request.op === OP.ADMIN) return !READING_VERBS.includes(request.verb);
    if (request.op === OP.NOTIFY || request.op === OP.BROADCAST) return true;
    if (request.op === OP.AQ) return this.tx === null && !READING_AQ.includes(request.verb);
    if (request.op === OP.ENQUEUE || request.op === OP.CALL || request.op === OP.PRIOCALL) {
      return this.tx === null;
    }
    return request.op === OP.DEQUEUE && this.tx === null && ((request.ctl?.flags ?? 0) & TPQ.TPQPEEK) === 0;
  }

  private listen(signal: AbortSignal): void {
    if (signal.aborted) {
      this.failWith(TPERRNO.TPGOTSIG, 'its signal was aborted already', { cause: signal.reason });
      return;
    }
    onAbort(signal, this);
  }

  private settle(): void {
    this.settled = true;
    if (this.signal !== undefined) offAbort(this.signal, this);
  }
}

/** Verbs of ADMIN that change nothing. */
const READING_VERBS: readonly number[] = [
  ADMIN.QINFO,
  ADMIN.QLIST,
  ADMIN.QSPACEINFO,
  ADMIN.DEVLIST,
  ADMIN.QSPACELIST,
  ADMIN.QSPACEATTR,
  ADMIN.QSPACEOPEN,
  ADMIN.MSGLIST,
  ADMIN.TRANLIST,
];

/** Verbs of AQ that change nothing. */
const READING_AQ: readonly number[] = [AQ.LISTEN, AQ.QUEUE_SUBSCRIBERS];

/** A request whose answer is passed on as it is. */
export class PlainCall extends PendingCall<Reply> {
  protected override succeed(reply: Reply): void {
    if (reply.op !== this.request.op) throw unexpected(this.operation);
    this.resolve(reply);
  }
}

export class EnqueueCall extends PendingCall<void> {
  private readonly ctl: TPQCTL | null;

  constructor(options: CallOptions & { request: Enqueue }, ctl: TPQCTL | null) {
    super(options);
    this.ctl = ctl;
  }

  protected override succeed(reply: Reply): void {
    if (reply.op !== OP.ENQUEUE) throw unexpected(this.operation);
    if (this.ctl !== null && reply.msgid !== null) this.ctl.msgid = ownBytes(reply.msgid);
    this.resolve();
  }

  protected override errorOf(reply: ErrorReply | AqErrorReply): TpError {
    noteDiagnostic(this.ctl, reply);
    return super.errorOf(reply);
  }
}

export class DequeueCall extends PendingCall<Received> {
  private readonly ctl: TPQCTL | null;
  private readonly raw: boolean;

  constructor(options: CallOptions & { request: Dequeue }, ctl: TPQCTL | null, raw = false) {
    super(options);
    this.ctl = ctl;
    this.raw = raw;
  }

  protected override succeed(reply: Reply): void {
    if (reply.op !== OP.DEQUEUE) throw unexpected(this.operation);
    if (this.ctl !== null) fillCtl(this.ctl, reply.ctl);
    this.resolve(this.raw ? rawFromWire(reply.body) : fromWire(reply.body));
  }

  protected override errorOf(reply: ErrorReply | AqErrorReply): TpError {
    noteDiagnostic(this.ctl, reply);
    return super.errorOf(reply);
  }
}

/** Whether a call with these flags must not wait for a connection [spec 2.2 TPNOBLOCK]. */
export function mustNotBlock(request: AnsweredRequest): boolean {
  return 'flags' in request && request.op !== OP.HELLO && (request.flags & TPFLAG.TPNOBLOCK) !== 0;
}

/** Whether the blocking timeout does not apply to a call [spec 2.2 TPNOTIME]. */
export function isUntimed(request: AnsweredRequest): boolean {
  return 'flags' in request && request.op !== OP.HELLO && (request.flags & TPFLAG.TPNOTIME) !== 0;
}

/** They are answered when all is done, which may be long. */
const LONG_VERBS: ReadonlySet<number> = new Set([ADMIN.QPURGE, ADMIN.QREDRIVE, ADMIN.MSGCHANGE]);

/** Verbs of AQ that wait: a stop for open transactions. */
const WAITING_AQ: ReadonlySet<number> = new Set([AQ.DEQUEUE, AQ.LISTEN, AQ.STOP_QUEUE]);

function isParking(request: AnsweredRequest): boolean {
  if (request.op === OP.DEQUEUE) return ((request.ctl?.flags ?? 0) & TPQ.TPQWAIT) !== 0;
  if (request.op === OP.ADMIN) return LONG_VERBS.has(request.verb);
  if (request.op === OP.AQ) return WAITING_AQ.has(request.verb) && request.members['wait'] !== 0;
  if (request.op === OP.NOTIFY) return (request.flags & TPFLAG.TPACK) !== 0;
  return request.op === OP.CALL || request.op === OP.PRIOCALL;
}

function noteDiagnostic(ctl: TPQCTL | null, reply: ErrorReply | AqErrorReply): void {
  if (ctl !== null && reply.tperrno === TPERRNO.TPEDIAGNOSTIC) ctl.diagnostic = reply.diagnostic;
}

function unexpected(operation: string): TpError {
  return new TpError({
    tperrno: TPERRNO.TPESYSTEM,
    operation,
    text: 'the daemon answered with something else than the request asks for',
  });
}
