// A queue in the words of TypeScript: put, get, consume, iterate. Translates words into TPQCTL flags and back. Invariants: never needs the
// reader to know a flag; "nothing there" is null, every other failure a TpError. Must not know how calls are sent.
import { LIMIT, QME, TPFLAG, TPQ } from '../../proto/codes.ts';
import type { Received } from './buffer.ts';
import { consume, iterate } from './consumer.ts';
import type { ConsumeOptions, Handler, IterateOptions, OpenMessage } from './consumer.ts';
import { TpError } from './error.ts';
import { Message } from './message.ts';
import type { Session } from './session.ts';
import { TPQCTL } from './tpqctl.ts';
import type { Transaction } from './transaction.ts';
import type { Tx } from './tx.ts';

/** What a queue needs of the context or transaction it belongs to. */
export interface Scope {
  readonly caller: QueueCaller;
  readonly session: Session;
  readonly owner: object;
  /** Aborted when the context ends. */
  readonly ended: AbortSignal;
  /** The calls inside a transaction. */
  readonly within: (tx: Tx) => Transaction;
}

export interface CallExtras {
  /** Aborting ends the call with TPGOTSIG; a dequeue that has taken its message still returns it. */
  signal?: AbortSignal | undefined;
}

export interface DequeueExtras extends CallExtras {
  /** Milliseconds to wait at most with TPQWAIT; 0: as long as the daemon allows. */
  waitMs?: number | undefined;
  /** The data as its bytes, whatever its type: for who passes messages on as they are. */
  raw?: boolean | undefined;
}

interface QueueCaller {
  // oxlint-disable-next-line max-params -- the signature is C's
  tpenqueue(
    qspace: string,
    qname: string,
    ctl: TPQCTL | null,
    data: unknown,
    flags?: number,
    extras?: CallExtras,
  ): Promise<void>;
  // oxlint-disable-next-line max-params -- the signature is C's
  tpdequeue(
    qspace: string,
    qname: string,
    ctl: TPQCTL | null,
    buffer: null,
    flags?: number,
    extras?: DequeueExtras,
  ): Promise<Received>;
}

export interface PutOptions {
  /** Milliseconds before the message can be taken; rounded up to whole seconds. */
  delayMs?: number | undefined;
  /** 1 (last) to 100 (first). */
  priority?: number | undefined;
  /** At most 32 bytes; text is UTF-8. */
  corrid?: string | Uint8Array | undefined;
  /** Milliseconds after which the message is removed unread; rounded up to whole seconds. */
  expiresInMs?: number | undefined;
  /** Queue of the same space for the answer. */
  replyTo?: string | undefined;
  /** Queue of the same space for a failed service's data. */
  failTo?: string | undefined;
  /** The application's own number. */
  urcode?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface GetOptions {
  /** false: answer at once. true: until there is a message. A number: at most so many milliseconds. Default false. */
  wait?: boolean | number | undefined;
  /** Only a message with this corrid. */
  corrid?: string | Uint8Array | undefined;
  /** Only this message; bytes, or 64 hexadecimal digits. */
  msgid?: string | Uint8Array | undefined;
  /** Leave the message on the queue. */
  peek?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

const NO_BYTES = new Uint8Array(0);
const OUTPUTS = TPQ.TPQMSGID | TPQ.TPQCORRID | TPQ.TPQPRIORITY | TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ;

export class Queue<T = unknown> {
  readonly qspace: string;
  readonly qname: string;
  private readonly scope: Scope;

  constructor(scope: Scope, qspace: string, qname: string) {
    this.scope = scope;
    this.qspace = qspace;
    this.qname = qname;
  }

  /** Puts a message. Durable when it resolves; inside a transaction it appears with the commit. */
  async put(data: T, options: PutOptions = {}): Promise<{ msgid: Uint8Array }> {
    const ctl = putCtl(options);
    await this.scope.caller.tpenqueue(this.qspace, this.qname, ctl, data, 0, options);
    return { msgid: ctl.msgid ?? NO_BYTES };
  }

  /**
   * Takes the next message, or null. Outside a transaction it is then gone from the queue: if this program dies before it has worked on it,
   * it is lost. consume() and iteration do not have that gap.
   */
  async get(options: GetOptions = {}): Promise<Message<T> | null> {
    const { wait = false, signal } = options;
    if (wait === false) return this.take(options, { signal });
    const endMs = wait === true ? Infinity : performance.now() + wait;
    for (;;) {
      const leftMs = Math.max(0, Math.ceil(endMs - performance.now()));
      // The daemon ends a wait after a time of its own: go on until ours is over. 0 would mean "no limit of ours".
      const waitMs = leftMs === Infinity ? 0 : Math.max(1, leftMs);
      const message = await this.take(options, { signal, waitMs });
      if (message !== null || performance.now() >= endMs) return message;
    }
  }

  /**
   * Gives every message to `handler`, in a transaction of its own: committed when the handler resolves, rolled back when it throws or the
   * connection ends; the queue's retry rules then say what happens. Resolves when the signal aborts or the context ends, after the handlers
   * under way. Goes on by itself after the daemon was away. Rejects when the queue cannot be read at all.
   */
  consume(handler: Handler<T>, options: ConsumeOptions = {}): Promise<void> {
    return consume({ scope: this.scope, queue: this }, handler, options);
  }

  /** Messages one after the other; each must be ended with commit() or rollback(), one left open is rolled back. */
  messages(options: IterateOptions = {}): AsyncGenerator<OpenMessage<T>, void, undefined> {
    return iterate({ scope: this.scope, queue: this }, options);
  }

  [Symbol.asyncIterator](): AsyncGenerator<OpenMessage<T>, void, undefined> {
    return this.messages();
  }

  private async take(options: GetOptions, extras: DequeueExtras): Promise<Message<T> | null> {
    const ctl = getCtl(options);
    if (extras.waitMs !== undefined) ctl.flags |= TPQ.TPQWAIT;
    // Waiting is the caller's wish, so the daemon's blocking time does not apply to it [spec 2.5].
    const flags = extras.waitMs === undefined ? 0 : TPFLAG.TPNOTIME;
    try {
      const received = await this.scope.caller.tpdequeue(this.qspace, this.qname, ctl, null, flags, extras);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- T is the program's word about its own messages
      return new Message(received as { data: T; type: string; subtype: string }, ctl);
    } catch (error) {
      if (TpError.is(error) && error.diagnostic === QME.QMENOMSG) return null;
      throw error;
    }
  }
}

function putCtl(options: PutOptions): TPQCTL {
  const ctl = new TPQCTL();
  let flags: number = TPQ.TPQMSGID;
  if (options.priority !== undefined) {
    flags |= TPQ.TPQPRIORITY;
    ctl.priority = options.priority;
  }
  if (options.corrid !== undefined) {
    flags |= TPQ.TPQCORRID;
    ctl.corrid = padded(options.corrid);
  }
  if (options.replyTo !== undefined) {
    flags |= TPQ.TPQREPLYQ;
    ctl.replyqueue = options.replyTo;
  }
  if (options.failTo !== undefined) {
    flags |= TPQ.TPQFAILUREQ;
    ctl.failurequeue = options.failTo;
  }
  if (options.delayMs !== undefined) {
    flags |= TPQ.TPQTIME_REL;
    ctl.deq_time = Math.ceil(options.delayMs / 1000);
  }
  if (options.expiresInMs !== undefined) {
    flags |= TPQ.TPQEXPTIME_REL;
    ctl.exp_time = Math.ceil(options.expiresInMs / 1000);
  }
  ctl.urcode = options.urcode ?? 0;
  ctl.flags = flags;
  return ctl;
}

function getCtl(options: GetOptions): TPQCTL {
  const ctl = new TPQCTL();
  let flags = OUTPUTS;
  if (options.corrid !== undefined) {
    flags |= TPQ.TPQGETBYCORRID;
    ctl.corrid = padded(options.corrid);
  }
  if (options.msgid !== undefined) {
    flags |= TPQ.TPQGETBYMSGID;
    ctl.msgid = typeof options.msgid === 'string' ? Buffer.from(options.msgid, 'hex') : options.msgid;
  }
  if (options.peek === true) flags |= TPQ.TPQPEEK;
  ctl.flags = flags;
  return ctl;
}

/** Fewer bytes than 32 are padded with NUL, like text; more are left to be refused. */
function padded(corrid: string | Uint8Array): string | Uint8Array {
  if (typeof corrid === 'string' || corrid.length >= LIMIT.TMCORRIDLEN) return corrid;
  const bytes = new Uint8Array(LIMIT.TMCORRIDLEN);
  bytes.set(corrid);
  return bytes;
}
