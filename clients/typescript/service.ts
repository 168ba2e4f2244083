// One request as a service sees it [TPSVCINFO, spec 3.5]. Invariants: its signal is made only when asked for, and is aborted when nobody waits
// for the answer any more: the caller's time is over, the connection is lost, the service has returned.
import { TPERRNO } from '../../proto/codes.ts';
import type { ServiceRequest } from '../../proto/message.ts';
import { fromWire, ownBytes } from './buffer.ts';
import { TpError } from './error.ts';

/** How tpreturn or tpforward ended a request. */
export type Ending =
  | { readonly kind: 'return'; readonly rval: number; readonly rcode: number; readonly data: unknown }
  | { readonly kind: 'forward'; readonly service: string; readonly data: unknown };

/**
 * A service: its value is the reply's data (TPSUCCESS), unless it called tpreturn or tpforward; a ServiceFailure is TPFAIL with data, any
 * other throw TPFAIL without.
 */
export type Service = (request: ServiceCall) => unknown;

export class ServiceCall {
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
  private readonly request: ServiceRequest;
  private controller: AbortController | null = null;
  private timer: NodeJS.Timeout | undefined;
  private endedBy: Error | null = null;

  constructor(request: ServiceRequest) {
    this.request = request;
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
      throw new TpError({ tperrno: TPERRNO.TPEPROTO, operation, text: 'the service has ended already' });
    }
    this.ending = ending;
  }

  private startTimer(): void {
    const ms = Math.min(this.timeoutMs, 0x7fff_ffff);
    this.timer = setTimeout(() => this.end(new Error(`the caller waited ${ms} ms`)), ms);
    this.timer.unref();
  }
}
