// The calls that a context and a transaction have in common: on queues, on services, and queues in words. Owns the checks of arguments
// and of the flags argument [spec 1.6, first rows; 2.2]. Invariants: what is wrong with arguments is found before anything is sent; failures
// are rejections with TpError, never synchronous throws.
import { LIMIT, OP, QME, RVAL, TPERRNO, TPFLAG } from '../../proto/codes.ts';
import { tooLargeText } from '../../proto/frame.ts';
import { membersBytesMax } from '../../proto/members.ts';
import type { Members, QctlIn, QueueNames, Reply, TypedData } from '../../proto/message.ts';
import type { AqReply } from '../../proto/aq/message.ts';
import { Aq, type AqQuestion } from './aq/aq.ts';
import { checkTypeNames, fromWire, type Received, toWire } from './buffer.ts';
import { Descriptors, type Outstanding } from './descriptors.ts';
import { TpError } from './error.ts';
import { DequeueCall, EnqueueCall, PlainCall, type TxRef } from './pending.ts';
import { type CallExtras, type DequeueExtras, Queue, type Scope } from './queue.ts';
import type { Session } from './session.ts';
import { dequeueCtl, enqueueCtl, type TPQCTL } from './tpqctl.ts';
import type { Transaction } from './transaction.ts';
import type { Tx } from './tx.ts';

const ENQUEUE_FLAGS = TPFLAG.TPNOBLOCK | TPFLAG.TPSIGRSTRT | TPFLAG.TPNOTRAN | TPFLAG.TPNOTIME;
const DEQUEUE_FLAGS = ENQUEUE_FLAGS | TPFLAG.TPNOCHANGE;
const CALL_FLAGS = DEQUEUE_FLAGS;
const ACALL_FLAGS = ENQUEUE_FLAGS | TPFLAG.TPNOREPLY;
const GETRPLY_FLAGS =
  TPFLAG.TPGETANY | TPFLAG.TPNOBLOCK | TPFLAG.TPNOTIME | TPFLAG.TPSIGRSTRT | TPFLAG.TPNOCHANGE;

export interface ServiceExtras extends CallExtras {
  /** Milliseconds until TPETIME; 0: the daemon's blocking time. */
  timeoutMs?: number | undefined;
}

/** What tpgetrply returns. */
export interface AnsweredCall extends Received {
  cd: number;
}

/** The buffer that a dequeue or a reply accepts with TPNOCHANGE. */
export interface BufferType {
  readonly type: string;
  readonly subtype?: string;
}

export abstract class Caller {
  protected abstract readonly session: Session;
  /** Whose calls these are, for giving them up together. */
  protected abstract readonly owner: object;
  private own: Descriptors | null = null;
  private urcode = 0;
  /** What tpsprio said for the next request. */
  private wish: { priority: number; absolute: boolean } | null = null;

  protected get descriptors(): Descriptors {
    return (this.own ??= new Descriptors());
  }

  /** Aborted when the context ends. */
  protected abstract readonly ended: AbortSignal;

  /** The transaction that calls without TPNOTRAN join. Throws TPEPROTO when the caller may not call any more. */
  protected abstract currentTx(operation: string): TxRef | null;

  /** The calls inside a transaction of its own. */
  protected abstract within(tx: Tx): Transaction;

  /** The rcode of the last service that answered tpcall or tpgetrply, also one that failed [spec 3.4]. */
  get tpurcode(): number {
    return this.urcode;
  }

  /**
   * Puts a message on a queue. With TPQMSGID its id is written into `ctl`. Outside a transaction (or with TPNOTRAN) the message is durable
   * when the promise resolves; inside one it appears with the commit.
   * @param data a string is STRING, bytes are CARRAY, null no data, other values JSON; see buffer.ts for other types
   * @param flags TPNOBLOCK, TPSIGRSTRT, TPNOTRAN, TPNOTIME
   * @throws TPEINVAL, TPENOENT, TPETIME, TPEBLOCK, TPGOTSIG, TPESYSTEM, TPEDIAGNOSTIC with `ctl.diagnostic` set [tpenqueue(3c)]
   */
  // oxlint-disable-next-line max-params -- the signature is C's
  tpenqueue(
    qspace: string,
    qname: string,
    ctl: TPQCTL | null,
    data: unknown,
    flags = 0,
    extras: CallExtras = NO_EXTRAS,
  ): Promise<void> {
    try {
      const operation = 'tpenqueue';
      const queue = this.queueNames(operation, qspace, qname);
      checkFlags(operation, flags, ENQUEUE_FLAGS);
      const body = this.body(operation, data);
      const wireCtl = ctl === null ? null : sendable(operation, ctl, enqueueCtl(ctl));
      const tx = this.txFor(operation, flags);
      const request = { op: OP.ENQUEUE, id: 0, queue, ctl: wireCtl, body, flags, tx: tx?.number ?? 0 };
      this.wish = null; // TMQUEUE takes every request at once, so that a priority changes nothing
      const call = new EnqueueCall({ operation, request, tx, signal: extras.signal }, ctl);
      call.queue = queue;
      call.owner = this.owner;
      return this.session.submit(call).promise;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Takes a message from a queue, or looks at it with TPQPEEK. Outputs are written into `ctl` [spec 1.4].
   * @param buffer with TPNOCHANGE the only acceptable type; otherwise null
   * @param flags TPNOBLOCK, TPSIGRSTRT, TPNOTRAN, TPNOTIME, TPNOCHANGE
   * @throws as tpenqueue, and TPEOTYPE; nothing there is TPEDIAGNOSTIC/QMENOMSG [tpdequeue(3c)]
   */
  // oxlint-disable-next-line max-params -- the signature is C's
  tpdequeue(
    qspace: string,
    qname: string,
    ctl: TPQCTL | null,
    buffer: BufferType | null,
    flags = 0,
    extras: DequeueExtras = NO_EXTRAS,
  ): Promise<Received> {
    try {
      const operation = 'tpdequeue';
      const queue = this.queueNames(operation, qspace, qname);
      checkFlags(operation, flags, DEQUEUE_FLAGS);
      const waitMs = wholeMs(operation, extras.waitMs);
      const { type, subtype } = acceptable(operation, buffer, flags);
      const wireCtl = ctl === null ? null : sendable(operation, ctl, dequeueCtl(ctl));
      const tx = this.txFor(operation, flags);
      // With TPNOTRAN the transaction's time limit still ends the wait [spec 2.2].
      const number = (tx ?? this.currentTx(operation))?.number ?? 0;
      const request = {
        op: OP.DEQUEUE,
        id: 0,
        queue,
        ctl: wireCtl,
        type,
        subtype,
        flags,
        tx: number,
        waitMs,
      };
      this.wish = null;
      const call = new DequeueCall({ operation, request, tx, signal: extras.signal }, ctl, extras.raw);
      call.queue = queue;
      call.owner = this.owner;
      return this.session.submit(call).promise;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Calls a service and waits for its answer. Inside a transaction without TPNOTRAN the service joins it.
   * @throws TPENOENT, TPETIME, TPESVCERR …; TPESVCFAIL with the service's data in `reply` [tpcall(3c)]
   */
  // oxlint-disable-next-line max-params -- the signature is C's
  async tpcall(
    service: string,
    data: unknown,
    flags = 0,
    extras: ServiceExtras = NO_EXTRAS,
  ): Promise<Received> {
    const operation = 'tpcall';
    checkFlags(operation, flags, CALL_FLAGS);
    const timeoutMs = wholeMs(operation, extras.timeoutMs);
    const body = this.body(operation, data);
    const call = this.callOf(operation, { service, body, flags, timeoutMs }, extras.signal);
    const reply = await this.session.submit(call).promise;
    const only = (flags & TPFLAG.TPNOCHANGE) === 0 ? null : body;
    return this.serviceReply(operation, { service, reply, tx: call.tx }, only);
  }

  /**
   * Calls a service and does not wait for its answer, which tpgetrply fetches. Resolves when the daemon has taken the request.
   * @param flags TPNOREPLY nobody wants an answer; TPNOTRAN, TPNOBLOCK, TPNOTIME, TPSIGRSTRT
   * @returns the descriptor, above 0; 0 with TPNOREPLY
   * @throws TPEINVAL, also TPNOREPLY in a transaction without TPNOTRAN; TPELIMIT 1,000 are outstanding; TPENOENT, TPEITYPE … [tpacall(3c)]
   */
  // oxlint-disable-next-line max-params -- the signature is C's
  async tpacall(service: string, data: unknown, flags = 0, extras: CallExtras = NO_EXTRAS): Promise<number> {
    const operation = 'tpacall';
    checkFlags(operation, flags, ACALL_FLAGS);
    const body = this.body(operation, data);
    const noReply = (flags & TPFLAG.TPNOREPLY) !== 0;
    if (noReply && (flags & TPFLAG.TPNOTRAN) === 0 && this.currentTx(operation) !== null) {
      throw invalid(operation, 'TPNOREPLY in a transaction needs TPNOTRAN');
    }
    if (noReply) {
      const call = this.callOf(operation, { service, body, flags, timeoutMs: 0 }, extras.signal);
      await this.session.submit(call).promise;
      return 0;
    }
    this.descriptors.checkRoom();
    // The time for the answer is that of whoever waits for it, in tpgetrply.
    const untimed = flags | TPFLAG.TPNOTIME;
    const call = this.callOf(operation, { service, body, flags: untimed, timeoutMs: 0 }, extras.signal);
    const one = this.descriptors.add(service, this.session.submit(call));
    await this.taken(one);
    return one.cd;
  }

  /**
   * Fetches the answer of a tpacall, and waits for it.
   * @param cd its descriptor; with TPGETANY any answer is taken, and its descriptor is in the result
   * @param flags TPGETANY, TPNOBLOCK, TPNOTIME, TPSIGRSTRT, TPNOCHANGE
   * @param buffer with TPNOCHANGE the only acceptable type
   * @throws TPEBADDESC; TPEBLOCK; TPETIME, the descriptor stays valid; TPEOTYPE, TPESVCFAIL, TPESVCERR [tpgetrply(3c)]
   */
  // oxlint-disable-next-line max-params -- the signature is C's
  async tpgetrply(
    cd: number,
    flags = 0,
    buffer: BufferType | null = null,
    extras: CallExtras = NO_EXTRAS,
  ): Promise<AnsweredCall> {
    const operation = 'tpgetrply';
    checkFlags(operation, flags, GETRPLY_FLAGS);
    const only = acceptable(operation, buffer, flags);
    const wanted = (flags & TPFLAG.TPGETANY) === 0 ? cd : null;
    const tx = this.currentTx(operation);
    const untimed = (flags & TPFLAG.TPNOTIME) !== 0 || this.session.blockMs === 0;
    // In a transaction only its own time counts [spec 3.4].
    const endMs = tx?.endsAtMs ?? (untimed ? Infinity : performance.now() + this.session.blockMs);
    let one = this.descriptors.take(wanted);
    while (one === null) {
      if ((flags & TPFLAG.TPNOBLOCK) !== 0) {
        throw new TpError({ tperrno: TPERRNO.TPEBLOCK, operation, text: 'there is no reply yet' });
      }
      const limitMs = Math.max(0, endMs - performance.now());
      await this.descriptors.changed({ limitMs, signal: extras.signal });
      one = this.descriptors.take(wanted);
    }
    if (one.reply === null) throw one.error;
    const { service, reply, tx: within } = one;
    const noChange = (flags & TPFLAG.TPNOCHANGE) !== 0;
    const received = this.serviceReply(operation, { service, reply, tx: within }, noChange ? only : null);
    return { cd: one.cd, ...received };
  }

  /**
   * Gives up the answer of a tpacall; a service that is at work goes on.
   * @throws TPEBADDESC; TPETRAN the call belongs to the transaction, the descriptor stays valid [tpcancel(3c)]
   */
  async tpcancel(cd: number): Promise<void> {
    const operation = 'tpcancel';
    const tx = this.currentTx(operation);
    const one = this.descriptors.find(operation, cd);
    if (tx !== null && one.tx === tx) {
      throw new TpError({ tperrno: TPERRNO.TPETRAN, operation, text: 'the call belongs to the transaction' });
    }
    this.descriptors.remove(one);
    one.call.abort(new Error('cancelled by tpcancel'));
  }

  /**
   * The priority of the next request that is sent, only of that.
   * @param flags 0: added to the service's own priority; TPABSOLUTE: instead of it, 1..100, anything else is 50
   * @throws TPEINVAL [tpsprio(3c)]
   */
  tpsprio(priority: number, flags = 0): void {
    const operation = 'tpsprio';
    this.currentTx(operation);
    checkFlags(operation, flags, TPFLAG.TPABSOLUTE);
    if (!Number.isSafeInteger(priority)) throw invalid(operation, `priority ${priority}`);
    this.wish = { priority, absolute: flags !== 0 };
  }

  /** Conversations are not in this release: no service is conversational. @throws TPENOENT always [tpconnect(3c)] */
  async tpconnect(service: string, _data: unknown = null, _flags = 0): Promise<number> {
    const text = `service ${JSON.stringify(service)} is not conversational; this release has no conversations`;
    throw new TpError({ tperrno: TPERRNO.TPENOENT, operation: 'tpconnect', text });
  }

  /** @throws TPEBADDESC always: tpconnect opens no conversation in this release */
  async tpsend(cd: number, _data: unknown = null, _flags = 0): Promise<never> {
    throw noConversation('tpsend', cd);
  }

  /** @throws TPEBADDESC always: tpconnect opens no conversation in this release */
  async tprecv(cd: number, _flags = 0): Promise<never> {
    throw noConversation('tprecv', cd);
  }

  /** @throws TPEBADDESC always: tpconnect opens no conversation in this release */
  async tpdiscon(cd: number): Promise<never> {
    throw noConversation('tpdiscon', cd);
  }

  /** A queue in words. `T` is what its messages hold; it is not checked. */
  queue<T = unknown>(qspace: string, qname: string): Queue<T> {
    return new Queue<T>(this.scope(), qspace, qname);
  }

  /**
   * The AQ dialect [docs/aq.md].
   * @param qspace the queue space whose queues are named without a schema; '' = all names have one
   */
  aq(qspace = ''): Aq {
    return new Aq(qspace, (question) => this.askAq(question));
  }

  private async askAq({ operation, signal, ...asked }: AqQuestion): Promise<AqReply> {
    const bytes = asked.items.reduce((sum, { members, body }) => sum + aqItemBytes(members, body), 0);
    const limit = this.session.messageBytesMax + AQ_SLACK_BYTES;
    if (bytes > limit) throw invalid(operation, tooLargeText(bytes, limit));
    const tx = this.txFor(operation, 0);
    const request = { op: OP.AQ, id: 0, tx: tx?.number ?? 0, ...asked } as const;
    const call = new PlainCall({ operation, request, tx, signal });
    call.owner = this.owner;
    const reply = await this.session.submit(call).promise;
    if (reply.op === OP.AQ) return reply;
    throw new TpError({ tperrno: TPERRNO.TPESYSTEM, operation, text: 'no answer' });
  }

  private scope(): Scope {
    const { session, owner, ended } = this;
    return { caller: this, session, owner, ended, within: (tx) => this.within(tx) };
  }

  private callOf(
    operation: string,
    what: { service: string; body: TypedData; flags: number; timeoutMs: number },
    signal: AbortSignal | undefined,
  ): PlainCall {
    if (!isName(what.service)) throw invalid(operation, `service name ${JSON.stringify(what.service)}`);
    const tx = this.txFor(operation, what.flags);
    const { wish } = this;
    this.wish = null;
    // With TPNOTRAN the transaction's time limit still ends the wait [spec 2.2].
    const number = (tx ?? this.currentTx(operation))?.number ?? 0;
    const members = { id: 0, ...what, tx: number };
    const request = wish === null ? { op: OP.CALL, ...members } : { op: OP.PRIOCALL, ...members, ...wish };
    const call = new PlainCall({ operation, request, tx, signal });
    call.owner = this.owner;
    return call;
  }

  /**
   * Waits until the daemon has taken a request of tpacall; throws what it was refused with. The PING behind it is answered after the
   * refusal [PROTOCOL 7], so that no more than its answer need be waited for.
   */
  private async taken(one: Outstanding): Promise<void> {
    const ping = new PlainCall({ operation: 'tpacall', request: { op: OP.PING, id: 0 } });
    ping.owner = this.owner;
    this.session.submit(ping);
    try {
      await Promise.race([one.call.promise, ping.promise]);
    } catch (error) {
      this.descriptors.remove(one);
      one.call.abort(error);
      throw error;
    }
  }

  private serviceReply(
    operation: string,
    { service, reply, tx }: { service: string; reply: Reply; tx: TxRef | null },
    only: { type: string; subtype: string } | null,
  ): Received {
    if (reply.op !== OP.CALL && reply.op !== OP.PRIOCALL) {
      throw new TpError({ tperrno: TPERRNO.TPESYSTEM, operation, text: 'no answer' });
    }
    this.urcode = reply.rcode;
    const received = fromWire(reply.body);
    if (reply.rval !== RVAL.TPSUCCESS) {
      const text = `service ${service} failed with rcode ${reply.rcode}`;
      throw new TpError({ tperrno: TPERRNO.TPESVCFAIL, operation, text, reply: received });
    }
    if (only !== null && (received.type !== only.type || received.subtype !== only.subtype)) {
      // A reply that is refused is one that the transaction cannot do without [spec 2.3].
      tx?.spoil();
      const text = `service ${service} answered with type ${received.type || 'none'}`;
      throw new TpError({ tperrno: TPERRNO.TPEOTYPE, operation, text, reply: received });
    }
    return received;
  }

  private txFor(operation: string, flags: number): TxRef | null {
    const tx = this.currentTx(operation);
    if (tx === null || (flags & TPFLAG.TPNOTRAN) !== 0) return null;
    if (!tx.spoiled) return tx;
    throw new TpError({ tperrno: TPERRNO.TPETIME, operation, text: 'the transaction is rollback-only' });
  }

  private queueNames(operation: string, qspace: string, qname: string): QueueNames {
    if (!isName(qspace)) throw invalid(operation, `queue space name ${JSON.stringify(qspace)}`);
    if (!isName(qname)) throw invalid(operation, `queue name ${JSON.stringify(qname)}`);
    return { qspace, qname };
  }

  protected body(operation: string, data: unknown): TypedData {
    const body = toWire(data);
    const bytes = body.data?.length ?? 0;
    const limit = this.session.messageBytesMax;
    if (bytes > limit) throw invalid(operation, tooLargeText(bytes, limit));
    return body;
  }
}

/** Properties of one message beside data of the largest size: they fit a frame still. */
const AQ_SLACK_BYTES = LIMIT.PAGE_BYTES;

function aqItemBytes(members: Members, { data }: TypedData): number {
  return membersBytesMax(members) + (data?.length ?? 0);
}

const NO_EXTRAS = {};
const ANY_TYPE = { type: '', subtype: '' };

function acceptable(
  operation: string,
  buffer: BufferType | null,
  flags: number,
): { type: string; subtype: string } {
  if (buffer === null) {
    if ((flags & TPFLAG.TPNOCHANGE) === 0) return ANY_TYPE;
    throw invalid(operation, 'TPNOCHANGE without a buffer');
  }
  const { type, subtype = '' } = buffer;
  checkTypeNames(type, subtype);
  return { type, subtype };
}

/** What can be sent of a control structure; else QMEINVAL, in `ctl.diagnostic` too. */
function sendable(operation: string, ctl: TPQCTL, wire: QctlIn | string): QctlIn {
  if (typeof wire !== 'string') return wire;
  ctl.diagnostic = QME.QMEINVAL;
  throw new TpError({ tperrno: TPERRNO.TPEDIAGNOSTIC, diagnostic: QME.QMEINVAL, operation, text: wire });
}

export function checkFlags(operation: string, flags: number, allowed: number): void {
  if (Number.isInteger(flags) && flags >= 0 && flags <= allowed && (flags & ~allowed) === 0) return;
  throw invalid(operation, `flags ${flags}`);
}

function wholeMs(operation: string, ms: number | undefined): number {
  if (ms === undefined) return 0;
  if (Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw invalid(operation, `${ms} ms`);
}

/** Short enough to be sent, and not empty; the daemon knows whether it exists. */
function isName(name: unknown): boolean {
  return typeof name === 'string' && name !== '' && name.length <= LIMIT.TMQNAMELEN && !name.includes('\0');
}

function noConversation(operation: string, cd: number): TpError {
  return new TpError({ tperrno: TPERRNO.TPEBADDESC, operation, text: `${cd} is no conversation` });
}

function invalid(operation: string, text: string): TpError {
  return new TpError({ tperrno: TPERRNO.TPEINVAL, operation, text });
}
