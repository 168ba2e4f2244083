// One request as a service sees it [TPSVCINFO, spec 3.5], and what the service works with: its calls are part of the caller's transaction when
// the request came in one. Invariants: a service that leaves something unfinished has not succeeded; its signal is made only when asked
// for, and is aborted when nobody waits for the answer any more: the caller's time is over, the connection is lost, the service has returned.
import { OP, TPERRNO, TPFLAG } from '../../proto/codes.ts';
import type { ServiceRequest } from '../../proto/message.ts';
import { fromWire, ownBytes } from './buffer.ts';
import type { Connection } from './connection.ts';
import { TpError } from './error.ts';
import { Initiator } from './initiator.ts';
import type { Session } from './session.ts';
import { Tx } from './tx.ts';

/** How tpreturn or tpforward ended a request. */
export type Ending =
  | { readonly kind: 'return'; readonly rval: number; readonly rcode: number; readonly data: unknown }
  | { readonly kind: 'forward'; readonly service: string; readonly data: unknown };

/**
 * A service: its value is the reply's data (TPSUCCESS), unless it called tpreturn or tpforward; a ServiceFailure is TPFAIL with data, any
 * other throw TPFAIL without.
 */
export type Service = (request: ServiceCall) => unknown;

export class ServiceCall extends Initiator {
  readonly id: number;
  readonly service: string;
  /** TPFLAG bits: TPTRAN in the caller's transaction, TPNOREPLY nobody wants an answer. */
  readonly flags: number;
  readonly type: string;
  readonly subtype: string;
  /** As the buffer's type says; null when there is no data. */
  data: unknown = null;
  /** 16 opaque bytes: the client that asked; through a forwarder, the one that enqueued. */
  readonly cltid: Uint8Array;
  /** The client's application key; -1: none. */
  readonly appkey: number;
  /** Milliseconds that the caller waits; 0: no limit. */
  readonly timeoutMs: number;
  /** What the caller finds in tpurcode; an integer, 0 unless the service sets it. */
  rcode = 0;
  /** What tpreturn or tpforward said. */
  ending: Ending | null = null;
  protected readonly session: Session;
  private readonly request: ServiceRequest;
  /** It has made calls. */
  private isBusy = false;
  /** The service has returned. */
  private closed = false;
  /** What it joined. */
  private readonly joined: Tx | null;
  private controller: AbortController | null = null;
  private timer: NodeJS.Timeout | undefined;
  private endedBy: Error | null = null;

  constructor(
    request: ServiceRequest,
    { session, connection }: { session: Session; connection: Connection },
  ) {
    super();
    this.session = session;
    this.request = request;
    const { id, timeoutMs } = request;
    const isJoining = (request.flags & TPFLAG.TPTRAN) !== 0;
    this.joined = isJoining ? Tx.joined(session, { id, carrier: connection, timeoutMs }) : null;
    this.tx = this.joined;
    this.id = request.id;
    this.service = request.service;
    this.flags = request.flags;
    this.type = request.body.type;
    this.subtype = request.body.subtype;
    this.cltid = ownBytes(request.cltid);
    this.appkey = request.appkey;
    this.timeoutMs = request.timeoutMs;
  }

  /** The same as `service` [TPSVCINFO]. */
  get name(): string {
    return this.service;
  }

  /** Bytes of the data as it came [TPSVCINFO]. */
  get len(): number {
    return this.request.body.data?.length ?? 0;
  }

  /**
   * Says how the service ends: to be the last thing it does, as `return request.tpreturn(…)`. The answer leaves when its function resolves.
   * @param rval TPSUCCESS; TPFAIL, or anything else: the caller gets TPESVCFAIL; TPEXIT: as TPFAIL, then this process ends
   * @param rcode what the caller finds in tpurcode
   * @throws TPEPROTO it has said so already [tpreturn(3c)]
   */
  // oxlint-disable-next-line max-params -- the signature is C's
  tpreturn(rval: number, rcode = 0, data: unknown = null, flags = 0): void {
    this.conclude('tpreturn', flags, { kind: 'return', rval, rcode, data });
  }

  /**
   * Passes the request on: the other service answers the caller. What cannot be passed on, also because nobody offers the service, is
   * TPESVCERR for the caller. Leaves when the function of this service resolves.
   * @throws TPEPROTO it has said how it ends already [tpforward(3c)]
   */
  tpforward(service: string, data: unknown = null, flags = 0): void {
    this.conclude('tpforward', flags, { kind: 'forward', service, data });
  }

  /** The data as text, whatever its type. */
  get text(): string {
    const { data } = this.request.body;
    if (typeof this.data === 'string') return this.data;
    return data === null ? '' : Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8');
  }

  /** Aborted when the answer has become useless. */
  get signal(): AbortSignal {
    if (this.controller === null) {
      this.controller = new AbortController();
      if (this.endedBy !== null) this.controller.abort(this.endedBy);
      else if (this.timeoutMs > 0) this.startTimer();
    }
    return this.controller.signal;
  }

  /**
   * The service has returned: no more calls. What it left unfinished is given up, and named: requests without an answer, replies that it
   * did not fetch, a transaction that it began and did not end, or left with tpsuspend. null: nothing.
   */
  close(): string | null {
    this.closed = true;
    if (!this.isBusy) return null;
    const reason = protocolError('tpreturn', 'the service has returned');
    const { tx } = this;
    const isOwn = tx !== null && !tx.isJoined;
    const calls = this.session.callsOf(this).filter(({ request }) => request.op !== OP.PING);
    const isOwed = this.descriptors.giveUp(reason);
    for (const call of calls) call.abort(reason);
    if (isOwn) tx.abort('tpreturn').catch(this.session.onError);
    if (this.joined !== null && (tx === null || isOwn))
      return 'it has not resumed the transaction of its caller';
    if (isOwn) return 'it has not ended its transaction';
    if (isOwed) return 'replies of tpacall are outstanding';
    if (tx?.isJoined === true && tx.spoiled) return 'it refused a reply in the transaction of its caller';
    return calls.length > 0 ? 'calls that it made have not been answered' : null;
  }

  protected override get owner(): object {
    return this;
  }

  protected override get ended(): AbortSignal {
    return this.signal;
  }

  protected override check(operation: string): void {
    if (this.closed) throw protocolError(operation, 'the service has returned');
    this.isBusy = true;
    this.session.unsolicited.dip(operation);
  }

  /** Reads the data; throws TPEOTYPE when it is not of its type. */
  decode(): void {
    this.data = fromWire(this.request.body).data;
  }

  end(reason: Error): void {
    if (this.endedBy !== null) return;
    this.endedBy = reason;
    clearTimeout(this.timer);
    this.controller?.abort(reason);
  }

  private conclude(operation: string, flags: number, ending: Ending): void {
    if (flags !== 0) {
      throw new TpError({ tperrno: TPERRNO.TPEINVAL, operation, text: `flags ${flags}` });
    }
    if (this.ending !== null) {
      throw protocolError(operation, 'the service has ended already');
    }
    this.ending = ending;
  }

  private startTimer(): void {
    const ms = Math.min(this.timeoutMs, 0x7fff_ffff);
    this.timer = setTimeout(() => this.end(new Error(`the caller waited ${ms} ms`)), ms);
    this.timer.unref();
  }
}

function protocolError(operation: string, text: string): TpError {
  return new TpError({ tperrno: TPERRNO.TPEPROTO, operation, text });
}
