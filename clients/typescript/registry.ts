// The services that a session offers. Owns their names, their handlers and the requests that run. Invariants: a service is announced on every
// new connection; a request is answered on the connection it came by, or not at all; a handler that throws fails its own request only.
// Must not know how the connection is made.
import { LIMIT, OP, RVAL, TPERRNO } from '../../proto/codes.ts';
import { tooLargeText } from '../../proto/frame.ts';
import type { Forward, Return, ServiceRequest, TypedData } from '../../proto/message.ts';
import { toWire } from './buffer.ts';
import type { Connection } from './connection.ts';
import { ServiceFailure, TpError } from './error.ts';
import { PlainCall } from './pending.ts';
import { type Ending, type Service, ServiceCall } from './service.ts';
import type { Session } from './session.ts';

interface Offer {
  readonly service: Service;
  concurrency: number;
  active: number;
  onError: (error: unknown) => void;
  /** Told when the last running request has ended. */
  idle: (() => void)[];
}

export interface OfferOptions {
  concurrency: number;
  onError: (error: unknown) => void;
}

const NO_DATA: TypedData = { type: '', subtype: '', data: null };

export class ServiceRegistry {
  private readonly offers = new Map<string, Offer>();
  private readonly running = new Set<ServiceCall>();
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  get size(): number {
    return this.offers.size;
  }

  /** Offers a service. TPEMATCH: the name has another handler; else as the daemon says. */
  async advertise(given: string, service: Service, options: OfferOptions): Promise<void> {
    const name = checkName('tpadvertise', given);
    if (typeof service !== 'function') throw failure('tpadvertise', TPERRNO.TPEINVAL, 'no function');
    if (name !== given) options.onError(new Error(`tpadvertise: the name ${given} is cut to ${name}`));
    const known = this.offers.get(name);
    if (known !== undefined && known.service !== service) {
      throw failure('tpadvertise', TPERRNO.TPEMATCH, `${name} is offered by another function`);
    }
    if (known === undefined) this.offers.set(name, { service, active: 0, idle: [], ...options });
    else known.concurrency = options.concurrency;
    try {
      await this.session.submit(advertiseCall(name, options.concurrency)).promise;
    } catch (error) {
      if (known === undefined) this.offers.delete(name);
      throw error;
    }
  }

  /** Withdraws a service; requests that arrived before the daemon's answer still run. TPENOENT: not offered. */
  async unadvertise(given: string): Promise<void> {
    const name = checkName('tpunadvertise', given);
    if (!this.offers.has(name)) throw failure('tpunadvertise', TPERRNO.TPENOENT, `${name} is not offered`);
    if (this.session.connection === null) {
      this.offers.delete(name);
      return;
    }
    const request = { op: OP.UNADVERTISE, id: 0, service: name } as const;
    try {
      await this.session.submit(new PlainCall({ operation: 'tpunadvertise', request })).promise;
    } finally {
      this.offers.delete(name);
    }
  }

  /** Resolves when no request of the service runs. */
  async idle(name: string, offer: Offer | undefined = this.offers.get(name)): Promise<void> {
    if (offer === undefined || offer.active === 0) return;
    await new Promise<void>((resolve) => {
      offer.idle.push(resolve);
    });
  }

  /** Withdraws a service and waits for its running requests; never fails. */
  async retire(name: string): Promise<void> {
    const offer = this.offers.get(name);
    try {
      await this.unadvertise(name);
    } catch (error) {
      if (!this.session.closed) offer?.onError(error);
    }
    await this.idle(name, offer);
  }

  /** Sends the offers on a new connection. */
  announce(connection: Connection): void {
    for (const [name, offer] of this.offers) {
      const call = advertiseCall(name, offer.concurrency);
      call.promise.catch((error: unknown) => {
        if (!connection.ended) offer.onError(error);
      });
      connection.submitNow(call);
    }
  }

  connectionEnded(): void {
    for (const call of this.running) call.end(new Error('the connection was lost'));
  }

  /** Runs a pushed request and answers it. */
  run(request: ServiceRequest, connection: Connection): void {
    const offer = this.offers.get(request.service);
    if (offer === undefined) {
      connection.sendOneWay(failed(request.id, 0));
      return;
    }
    const call = new ServiceCall(request, { session: this.session, connection });
    this.running.add(call);
    offer.active++;
    this.outcome(offer, call)
      .then((reply) => this.answer(reply, connection), this.session.onError)
      .finally(() => {
        this.running.delete(call);
        call.end(new Error('the service has returned'));
        if (--offer.active === 0) for (const idle of offer.idle.splice(0)) idle();
      });
  }

  private answer(reply: Return | Forward, connection: Connection): void {
    connection.sendOneWay(reply);
    if (reply.op === OP.RETURN && reply.rval === RVAL.TPEXIT) this.session.exit();
  }

  private async outcome(offer: Offer, call: ServiceCall): Promise<Return | Forward> {
    const reply = await this.reply(offer, call);
    const unfinished = call.close();
    if (unfinished === null || (reply.op === OP.RETURN && reply.rval !== RVAL.TPSUCCESS)) return reply;
    report(
      offer,
      failure('tpreturn', TPERRNO.TPESVCERR, `service ${call.service} ended too early: ${unfinished}`),
    );
    return broken(call.id);
  }

  private async reply(offer: Offer, call: ServiceCall): Promise<Return | Forward> {
    try {
      call.decode();
      const value = await offer.service(call);
      const { ending } = call;
      if (ending !== null) return this.ended(call.id, ending);
      const body = this.checked(toWire(value));
      return { op: OP.RETURN, id: call.id, rval: RVAL.TPSUCCESS, rcode: integer(call.rcode), body };
    } catch (error) {
      if (ServiceFailure.is(error)) {
        try {
          return { ...failed(call.id, error.rcode), body: this.checked(toWire(error.data)) };
        } catch (second) {
          report(offer, second);
          return failed(call.id, error.rcode);
        }
      }
      report(offer, error);
      return failed(call.id, call.rcode);
    }
  }

  /** What tpreturn or tpforward said. */
  private ended(id: number, ending: Ending): Return | Forward {
    const body = this.checked(toWire(ending.data));
    if (ending.kind === 'forward') {
      // A name that cannot be sent is one that nobody offers: the caller gets TPESVCERR [spec 3.5].
      const service = Buffer.byteLength(ending.service) > LIMIT.TMQNAMELEN ? '' : ending.service;
      return { op: OP.FORWARD, id, service, body };
    }
    return { op: OP.RETURN, id, rval: integer(ending.rval), rcode: integer(ending.rcode), body };
  }

  private checked(body: TypedData): TypedData {
    const bytes = body.data?.length ?? 0;
    const limit = this.session.messageBytesMax;
    if (bytes > limit) throw failure('tpreturn', TPERRNO.TPEINVAL, tooLargeText(bytes, limit));
    return body;
  }
}

function report(offer: Offer, error: unknown): void {
  try {
    offer.onError(error);
  } catch {
    // What a reporter throws has nobody left to be told to; the request is answered all the same.
  }
}

function failed(id: number, rcode: number): Return {
  return {
    op: OP.RETURN,
    id,
    rval: RVAL.TPFAIL,
    rcode: integer(rcode),
    body: NO_DATA,
  };
}

/** TPESVCERR for the caller, as passing on to a name that nobody can offer [PROTOCOL 6]. */
function broken(id: number): Forward {
  return { op: OP.FORWARD, id, service: '', body: NO_DATA };
}

/** An rcode that can be sent. */
function integer(rcode: number): number {
  return Number.isSafeInteger(rcode) ? rcode : 0;
}

function advertiseCall(service: string, concurrency: number): PlainCall {
  return new PlainCall({
    operation: 'tpadvertise',
    request: { op: OP.ADVERTISE, id: 0, service, concurrency },
  });
}

/** The name, cut to 127 bytes [tpadvertise(3c)]. */
function checkName(operation: string, name: string): string {
  if (name !== '' && !name.startsWith('.')) {
    const { read } = new TextEncoder().encodeInto(name, new Uint8Array(LIMIT.TMQNAMELEN));
    return name.slice(0, read);
  }
  throw failure(operation, TPERRNO.TPEINVAL, `service name ${JSON.stringify(name)}`);
}

function failure(operation: string, tperrno: number, text: string): TpError {
  return new TpError({ tperrno, operation, text });
}
