// The calls that a context and a transaction have in common: tpenqueue, tpdequeue, tpcall, and queues in words. Owns the checks of arguments
// and of the flags argument [spec 1.6, first rows; 2.2]. Invariants: what is wrong with arguments is found before anything is sent; failures
// are rejections with TpError, never synchronous throws.
import { LIMIT, OP, QME, RVAL, TPERRNO, TPFLAG } from '../../proto/codes.ts';
import { tooLargeText } from '../../proto/frame.ts';
import type { CallReply, QctlIn, QueueNames, TypedData } from '../../proto/message.ts';
import { checkTypeNames, fromWire, type Received, toWire } from './buffer.ts';
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

export interface ServiceExtras extends CallExtras {
  /** Milliseconds until TPETIME; 0: the daemon's blocking time. */
  timeoutMs?: number | undefined;
}

/** The buffer that a dequeue accepts with TPNOCHANGE. */
export interface BufferType {
  readonly type: string;
  readonly subtype?: string;
}

export abstract class Caller {
  protected abstract readonly session: Session;
  /** Whose calls these are, for giving them up together. */
  protected abstract readonly owner: object;
  private urcode = 0;

  /** Aborted when the context ends. */
  protected abstract readonly ended: AbortSignal;

  /** The transaction that calls without TPNOTRAN join. Throws TPEPROTO when the caller may not call any more. */
  protected abstract currentTx(operation: string): TxRef | null;

  /** The calls inside a transaction of its own. */
  protected abstract within(tx: Tx): Transaction;

  /** The rcode of the last service that answered tpcall, also one that failed [spec 3.4]. */
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
      const { type, subtype } = acceptable(buffer, flags);
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
      const call = new DequeueCall({ operation, request, tx, signal: extras.signal }, ctl);
      call.queue = queue;
      call.owner = this.owner;
      return this.session.submit(call).promise;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Calls a service and waits for its answer. Inside a transaction without TPNOTRAN the service joins it.
   * @throws TPENOENT, TPETIME, TPESVCERR, TPETRAN …; TPESVCFAIL with the service's data in `reply` [tpcall(3c)]
   */
  // oxlint-disable-next-line max-params -- the signature is C's
  async tpcall(
    service: string,
    data: unknown,
    flags = 0,
    extras: ServiceExtras = NO_EXTRAS,
  ): Promise<Received> {
    const operation = 'tpcall';
    if (!isName(service)) throw invalid(operation, `service name ${JSON.stringify(service)}`);
    checkFlags(operation, flags, CALL_FLAGS);
    const timeoutMs = wholeMs(operation, extras.timeoutMs);
    const body = this.body(operation, data);
    const tx = this.txFor(operation, flags);
    const request = { op: OP.CALL, id: 0, service, body, flags, tx: tx?.number ?? 0, timeoutMs };
    const call = new PlainCall({ operation, request, tx, signal: extras.signal });
    call.owner = this.owner;
    const reply = await this.session.submit(call).promise;
    if (reply.op !== OP.CALL) throw new TpError({ tperrno: TPERRNO.TPESYSTEM, operation, text: 'no answer' });
    return this.serviceReply(service, reply, (flags & TPFLAG.TPNOCHANGE) === 0 ? null : body);
  }

  /** A queue in words. `T` is what its messages hold; it is not checked. */
  queue<T = unknown>(qspace: string, qname: string): Queue<T> {
    return new Queue<T>(this.scope(), qspace, qname);
  }

  private scope(): Scope {
    const { session, owner, ended } = this;
    return { caller: this, session, owner, ended, within: (tx) => this.within(tx) };
  }

  private serviceReply(service: string, reply: CallReply, only: TypedData | null): Received {
    this.urcode = reply.rcode;
    const received = fromWire(reply.body);
    const operation = 'tpcall';
    if (reply.rval !== RVAL.TPSUCCESS) {
      const text = `service ${service} failed with rcode ${reply.rcode}`;
      throw new TpError({ tperrno: TPERRNO.TPESVCFAIL, operation, text, reply: received });
    }
    if (only !== null && (received.type !== only.type || received.subtype !== only.subtype)) {
      const text = `service ${service} answered with type ${received.type || 'none'}`;
      throw new TpError({ tperrno: TPERRNO.TPEOTYPE, operation, text, reply: received });
    }
    return received;
  }

  private txFor(operation: string, flags: number): TxRef | null {
    const tx = this.currentTx(operation);
    return (flags & TPFLAG.TPNOTRAN) === 0 ? tx : null;
  }

  private queueNames(operation: string, qspace: string, qname: string): QueueNames {
    if (!isName(qspace)) throw invalid(operation, `queue space name ${JSON.stringify(qspace)}`);
    if (!isName(qname)) throw invalid(operation, `queue name ${JSON.stringify(qname)}`);
    return { qspace, qname };
  }

  private body(operation: string, data: unknown): TypedData {
    const body = toWire(data);
    const bytes = body.data?.length ?? 0;
    const limit = this.session.messageBytesMax;
    if (bytes > limit) throw invalid(operation, tooLargeText(bytes, limit));
    return body;
  }
}

const NO_EXTRAS = {};
const ANY_TYPE = { type: '', subtype: '' };

function acceptable(buffer: BufferType | null, flags: number): { type: string; subtype: string } {
  if (buffer === null) {
    if ((flags & TPFLAG.TPNOCHANGE) === 0) return ANY_TYPE;
    throw invalid('tpdequeue', 'TPNOCHANGE without a buffer');
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

function checkFlags(operation: string, flags: number, allowed: number): void {
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

function invalid(operation: string, text: string): TpError {
  return new TpError({ tperrno: TPERRNO.TPEINVAL, operation, text });
}
