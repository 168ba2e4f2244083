// A context: what one thread of a Tuxedo client has [spec 3.1]. Owns joining and leaving. Invariants: after tpterm every call is TPEPROTO;
// contexts made by fork() share the socket, which closes with the last.
import { ADMIN, LIMIT, OP, OUTCOME, TPAUTH, TPERRNO, TPFLAG } from '../../proto/codes.ts';
import type { Admin, AdminReply } from '../../proto/message.ts';
import type { Statistics } from '../../proto/message-statistics.ts';
import type { ServerInfo } from '../../proto/admin.ts';
import { format } from 'node:util';
import { aborted, onAbort, pause } from './abort-hub.ts';
import { parseAddresses } from './address.ts';
import {
  type AdminAnswer,
  type AdminQuestion,
  controlServer,
  listServers,
  QueueAdmin,
  type ReloadAnswer,
  reloadConfiguration,
  type ServerList,
} from './admin.ts';
import { type ConnectSocket, connectTcp } from './byte-socket.ts';
import { checkFlags } from './caller.ts';
import { TpError } from './error.ts';
import { Initiator } from './initiator.ts';
import { PlainCall } from './pending.ts';
import type { MibRequest } from './mib/asked.ts';
import type { MibReply } from './mib/tpadmcall.ts';
import type { Service } from './service.ts';
import { Session } from './session.ts';
import type { Transaction } from './transaction.ts';
import { Tx } from './tx.ts';
import type { UnsolicitedHandler } from './unsolicited.ts';
import { writeLine } from './userlog.ts';
import type { CallExtras } from './queue.ts';

const PRODUCT = '@tmqueue/client 0.1.0';
const BROADCAST_FLAGS = TPFLAG.TPNOBLOCK | TPFLAG.TPNOTIME | TPFLAG.TPSIGRSTRT;
const NOTIFY_FLAGS = BROADCAST_FLAGS | TPFLAG.TPACK;
/** How long tpterm waits for its own last requests. */
const LEAVE_MS = 900;

/** TPINIT's members, and how to connect. */
export interface TpinitOptions {
  /** `//host:port`, several separated by commas. Default: WSNADDR, else //127.0.0.1:7110. */
  address?: string | undefined;
  /** At most 30 bytes each. */
  usrname?: string | undefined;
  cltname?: string | undefined;
  passwd?: string | undefined;
  grpname?: string | undefined;
  flags?: number | undefined;
  /** For the authentication service, at most 4,096 bytes. */
  data?: Uint8Array | undefined;
  /** Aborts joining; later, ends the context as tpterm does. */
  signal?: AbortSignal | undefined;
  /** Milliseconds of own silence before a PING; a third of what may pass without hearing anything. Default: the daemon's. 0: off. */
  heartbeatMs?: number | undefined;
  /** Pauses between attempts to reconnect, in milliseconds (default 100 doubling to 2,000); false: never. */
  reconnect?: boolean | { initialMs?: number; maxMs?: number } | undefined;
  /** Milliseconds for one attempt to connect; default 10,000. */
  connectTimeoutMs?: number | undefined;
  /** Told of what has no caller: a service that threw, a consumer that retries. Default: process.emitWarning. */
  onError?: ((error: unknown) => void) | undefined;
  /** What tpreturn(TPEXIT) of a service does after its answer was sent and the context ended. Default: process.exit(1). */
  onExit?: (() => void) | undefined;
}

export interface TransactionOptions {
  /** Seconds before the daemon rolls back; default 30, 0: the largest it allows. */
  timeoutS?: number | undefined;
  /** Aborting before the transaction began rejects with TPGOTSIG. */
  signal?: AbortSignal | undefined;
}

export interface ServeOptions {
  /** Requests of each service at the same time, 1..1024; default 16. */
  concurrency?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Told of what a service threw. */
  onError?: ((error: unknown) => void) | undefined;
}

/**
 * Joins the application.
 * @throws TPEINVAL, TPEPERM, TPERELEASE, TPELIMIT; TPESYSTEM or TPETIME when no daemon answers; TPGOTSIG
 */
export function tpinit(options: TpinitOptions = {}): Promise<Context> {
  return join(connectTcp, options);
}

/** The same over sockets of the caller's, e.g. simulated ones. Not part of the package's interface. */
export async function join(connectSocket: ConnectSocket, options: TpinitOptions): Promise<Context> {
  const { signal } = options;
  const session = await Session.open(
    {
      connectSocket,
      addresses: parseAddresses(options.address),
      hello: {
        usrname: ident('usrname', options.usrname),
        cltname: ident('cltname', options.cltname),
        passwd: ident('passwd', options.passwd),
        grpname: ident('grpname', options.grpname),
        flags: whole('flags', options.flags ?? 0, 0xffff_ffff),
        data: initData(options.data),
        product: PRODUCT,
      },
      connectTimeoutMs: whole('connectTimeoutMs', options.connectTimeoutMs ?? 10_000, 0x7fff_ffff),
      heartbeatMs:
        options.heartbeatMs === undefined
          ? undefined
          : whole('heartbeatMs', options.heartbeatMs, 0x3fff_ffff),
      reconnect: reconnectPauses(options.reconnect ?? true),
      onError: options.onError ?? warn,
      onExit: options.onExit ?? ((): void => process.exit(1)),
    },
    signal,
  );
  const context = new Context(session);
  if (signal?.aborted === true) await context.tpterm();
  else if (signal !== undefined) onAbort(signal, { abort: () => void context.tpterm() });
  return context;
}

let contexts = 0;

export type TransactionOutcome = 'committed' | 'rolled back' | 'open' | 'in doubt' | 'unknown';
const OUTCOME_WORDS: Readonly<Record<number, TransactionOutcome>> = {
  [OUTCOME.UNKNOWN]: 'unknown',
  [OUTCOME.OPEN]: 'open',
  [OUTCOME.COMMITTED]: 'committed',
  [OUTCOME.ROLLED_BACK]: 'rolled back',
  [OUTCOME.IN_DOUBT]: 'in doubt',
};

export class Context extends Initiator {
  protected readonly session: Session;
  private leaving: Promise<void> | null = null;
  private readonly ending = new AbortController();
  /** Services that this context offers. */
  private readonly offered = new Set<string>();
  /** For the log. */
  private readonly number = ++contexts;

  constructor(session: Session) {
    super();
    this.session = session;
    session.users++;
  }

  protected override get owner(): object {
    return this;
  }

  protected override get ended(): AbortSignal {
    return this.ending.signal;
  }

  /** Another context on the same socket and identity, with a transaction and tpurcode of its own. */
  fork(): Context {
    this.check('fork');
    return new Context(this.session);
  }

  /** Leaves: rolls back an open transaction and gives up calls under way. Repeated calls succeed. Takes at most two seconds. */
  tpterm(): Promise<void> {
    this.leaving ??= this.leave();
    return this.leaving;
  }

  /** The same as tpterm. */
  close(): Promise<void> {
    return this.tpterm();
  }

  /** What the application asks of who joins: TPNOAUTH, the only level that this release starts with [tpchkauth(3c)]. */
  tpchkauth(): number {
    this.check('tpchkauth');
    return TPAUTH.TPNOAUTH;
  }

  /**
   * Sends an unsolicited message to a client.
   * @param cltid its CLIENTID, 16 bytes, as a service or a message has it
   * @param flags TPACK wait until its handler has run; TPNOBLOCK, TPNOTIME, TPSIGRSTRT
   * @throws TPEINVAL; with TPACK TPENOENT it is gone or has no handler, TPETIME, TPEBLOCK, TPGOTSIG [tpnotify(3c)]
   */
  // oxlint-disable-next-line max-params -- the signature is C's
  async tpnotify(cltid: Uint8Array, data: unknown, flags = 0, extras: CallExtras = {}): Promise<void> {
    const operation = 'tpnotify';
    this.check(operation);
    checkFlags(operation, flags, NOTIFY_FLAGS);
    if (!(cltid instanceof Uint8Array) || cltid.length !== LIMIT.CLTIDLEN) {
      throw invalid(operation, 'a CLIENTID has 16 bytes');
    }
    const request = { op: OP.NOTIFY, id: 0, cltid, flags, body: this.body(operation, data) };
    const call = new PlainCall({ operation, request, signal: extras.signal });
    call.owner = this;
    await this.session.submit(call).promise;
  }

  /**
   * Sends an unsolicited message to every client whose machine and names are these; null matches all, '' what is empty.
   * @param flags TPNOBLOCK, TPNOTIME, TPSIGRSTRT
   * @throws TPEINVAL [tpbroadcast(3c)]
   */
  // oxlint-disable-next-line max-params -- the signature is C's
  async tpbroadcast(
    lmid: string | null,
    usrname: string | null,
    cltname: string | null,
    data: unknown,
    flags = 0,
  ): Promise<void> {
    const operation = 'tpbroadcast';
    this.check(operation);
    checkFlags(operation, flags, BROADCAST_FLAGS);
    for (const name of [lmid, usrname, cltname]) {
      if (name !== null && Buffer.byteLength(name) > LIMIT.MAXTIDENT)
        throw invalid(operation, `name ${name}`);
    }
    const body = this.body(operation, data);
    const call = new PlainCall({
      operation,
      request: { op: OP.BROADCAST, id: 0, lmid, usrname, cltname, flags, body },
    });
    call.owner = this;
    await this.session.submit(call).promise;
  }

  /**
   * Sets what takes unsolicited messages, null: nothing. In dip-in mode it runs inside the next call, else when a message arrives. It may
   * only call what is about buffers, and tpgetlev; anything else is TPEPROTO. Contexts of one fork() share it, as they share the identity.
   * @returns the handler before [tpsetunsol(3c)]
   */
  tpsetunsol(handler: UnsolicitedHandler | null): UnsolicitedHandler | null {
    this.check('tpsetunsol');
    return this.session.unsolicited.set(handler);
  }

  /** Hands the unsolicited messages that have come to the handler; how many [tpchkunsol(3c)]. */
  tpchkunsol(): number {
    this.checkEnded('tpchkunsol');
    return this.session.unsolicited.dip('tpchkunsol');
  }

  /** The same as userlog, with the context's number, and in transaction mode the transaction, in the line's tag. */
  userlog(text: string, ...values: unknown[]): number {
    const cltid = this.session.connection?.hello.cltid;
    let gtrid = '';
    if (this.tx !== null && cltid !== undefined) {
      const bytes = Buffer.from(cltid);
      gtrid = `x${bytes.toString('hex', 0, 8)} x${bytes.readUIntBE(10, 6).toString(16)} x${this.tx.number.toString(16)}`;
    }
    return writeLine({ context: this.number, gtrid }, format(text, ...values));
  }

  /**
   * Offers a service; a second call with the same function changes the concurrency.
   * @throws TPEINVAL, TPELIMIT, TPEPERM, TPEMATCH the name has another function [tpadvertise(3c)]
   */
  async tpadvertise(name: string, service: Service, options: ServeOptions = {}): Promise<void> {
    this.check('tpadvertise');
    const concurrency = whole('concurrency', options.concurrency ?? 16, LIMIT.IN_FLIGHT_DEFAULT);
    if (concurrency === 0) throw invalid('tpadvertise', 'concurrency 0');
    const onError = options.onError ?? this.session.onError;
    await this.session.services.advertise(name, service, { concurrency, onError });
    this.offered.add(name);
  }

  /** Withdraws a service. @throws TPENOENT not offered [tpunadvertise(3c)] */
  async tpunadvertise(name: string): Promise<void> {
    this.check('tpunadvertise');
    await this.session.services.unadvertise(name);
    this.offered.delete(name);
  }

  /** Offers services until the signal aborts or the context ends; resolves after the requests under way. */
  async serve(services: Readonly<Record<string, Service>>, options: ServeOptions = {}): Promise<void> {
    const { signal } = options;
    try {
      for (const [name, service] of Object.entries(services)) await this.tpadvertise(name, service, options);
      await aborted(signal === undefined ? this.ended : AbortSignal.any([signal, this.ended]));
    } finally {
      await Promise.all(Object.keys(services).map((name) => this.retire(name)));
    }
  }

  /**
   * Runs `work` in a transaction of its own, beside others: commits when it resolves, rolls back when it throws.
   * @throws what `work` throws; TPEABORT when the commit ended in a rollback
   */
  async transaction<R>(
    work: (tx: Transaction) => Promise<R> | R,
    options: TransactionOptions = {},
  ): Promise<R> {
    const operation = 'transaction';
    this.check(operation);
    const { timeoutS = 30, signal } = options;
    const tx = await Tx.begin(this.session, { operation, timeoutS, signal, owner: this });
    let result: R;
    try {
      result = await work(this.within(tx));
    } catch (error) {
      await tx.abort(operation).catch(this.session.onError);
      throw error;
    }
    await tx.commit(operation);
    return result;
  }

  /**
   * What became of a transaction, by the id that `transactionId` showed or the error of its tpcommit carries: for a commit whose answer was
   * lost. 'open' also while its commit is being decided: ask again. 'unknown': too long ago, or a queue space of the daemon is not open.
   * @throws TPEINVAL no such id; TPESYSTEM
   */
  async transactionOutcome(transaction: string): Promise<TransactionOutcome> {
    const operation = 'transactionOutcome';
    this.check(operation);
    if (!/^[0-9a-f]{24}$/i.test(transaction)) {
      const text = `a transaction's id has 24 hexadecimal digits, not ${JSON.stringify(transaction)}`;
      throw new TpError({ tperrno: TPERRNO.TPEINVAL, operation, text });
    }
    const request = { op: OP.OUTCOME, id: 0, transaction: Buffer.from(transaction, 'hex') } as const;
    const call = new PlainCall({ operation, request });
    call.owner = this;
    const reply = await this.session.submit(call).promise;
    const word = reply.op === OP.OUTCOME ? OUTCOME_WORDS[reply.outcome] : undefined;
    if (word === undefined) throw new TpError({ tperrno: TPERRNO.TPESYSTEM, operation, text: 'no answer' });
    return word;
  }

  /** What the daemon counts; of one queue space, or of everything. @throws TPENOENT no such queue space */
  async stat(qspace = ''): Promise<Statistics> {
    this.check('stat');
    const call = new PlainCall({ operation: 'stat', request: { op: OP.STAT, id: 0, qspace } });
    call.owner = this;
    const reply = await this.session.submit(call).promise;
    if (reply.op !== OP.STAT)
      throw new TpError({ tperrno: TPERRNO.TPESYSTEM, operation: 'stat', text: 'no answer' });
    return reply.stat;
  }

  /** Administration of a queue space, named by an alias or by its own name. */
  admin(qspace: string): QueueAdmin {
    return new QueueAdmin(qspace, (operation, request, signal) => this.askAdmin(operation, request, signal));
  }

  /**
   * Starts one server of the daemon's configuration that runs inside the daemon, i.e. a forwarder, e.g. one that ended by -e; the state says
   * `started`, or that it was `running` already.
   * @param group needed when several groups have a server of this id
   * @throws TPENOENT no such server; TPEINVAL in several groups; TPEPROTO no forwarder; QMENOTOPEN its queue space is not open
   */
  startServer(srvid: number, group?: string): Promise<ServerInfo> {
    return controlServer(this.askAdmin.bind(this), ADMIN.SRVSTART, { srvid, group });
  }

  /** Stops one until it is started again, or the daemon is; resolves when it has finished its message: `stopped`, or `down` already. */
  stopServer(srvid: number, group?: string): Promise<ServerInfo> {
    return controlServer(this.askAdmin.bind(this), ADMIN.SRVSTOP, { srvid, group });
  }

  /**
   * Any request of administration, as PROTOCOL.md 6.2 has it: for tools, and for verbs that have no method here.
   * @param verb one of ADMIN
   */
  async administer(
    verb: number,
    { qspace = '', qname = '', members = {} }: AdminQuestion = {},
  ): Promise<AdminAnswer> {
    const request = { op: OP.ADMIN, id: 0, verb, qspace, qname, members } as const;
    const { members: answered, items } = await this.askAdmin('administer', request);
    return { members: answered, items };
  }

  /** The servers of the daemon's configuration on its machine, and which forwarders are up. */
  listServers(): Promise<ServerList> {
    return listServers(this.askAdmin.bind(this));
  }

  /**
   * The daemon reads its configuration again, all or nothing; resolves when the messages under way of forwarders that changed are done.
   * @param file another one, in the folder of the one it was started with
   * @throws TPEPROTO another one is under way; QMEINVAL
   */
  reload(file?: string): Promise<ReloadAnswer> {
    return reloadConfiguration(this.askAdmin.bind(this), file);
  }

  /**
   * A request of the MIB [APPQ_MIB(5)]: GET, GETNEXT or SET of a class, fields by their TA_ names; docs/mib.md. It joins no transaction.
   * @throws TPEMIB, whose `reply.data` is the answer with TA_ERROR, TA_STATUS and perhaps TA_BADFLD; TPESYSTEM
   */
  async tpadmcall(request: MibRequest): Promise<MibReply> {
    this.check('tpadmcall');
    // Few programs administer: the others do not load it.
    const { tpadmcall } = await import('./mib/tpadmcall.ts');
    return tpadmcall(this.askAdmin.bind(this), request);
  }

  private async askAdmin(operation: string, request: Admin, signal?: AbortSignal): Promise<AdminReply> {
    this.check(operation);
    const call = new PlainCall({ operation, request, signal });
    call.owner = this;
    const reply = await this.session.submit(call).promise;
    if (reply.op === OP.ADMIN) return reply;
    throw new TpError({ tperrno: TPERRNO.TPESYSTEM, operation, text: 'no answer' });
  }

  /** Withdraws a service of this context and waits for its running requests. */
  private async retire(name: string): Promise<void> {
    if (this.offered.delete(name)) await this.session.services.retire(name);
  }

  protected override check(operation: string): void {
    this.checkEnded(operation);
    this.session.unsolicited.dip(operation);
  }

  private checkEnded(operation: string): void {
    if (this.leaving !== null) throw protocol(operation, 'the context was ended');
  }

  private async leave(): Promise<void> {
    const { session, tx } = this;
    this.tx = null;
    this.ending.abort(protocol('tpterm', 'the context was ended'));
    if (--session.users === 0) {
      await session.close();
      return;
    }
    const calls = session.callsOf(this);
    for (const call of calls) call.abort(protocol('tpterm', 'the context was ended'));
    const last: Promise<unknown>[] = calls.map((call) => call.promise.catch(ignore));
    last.push(...[...this.offered].map((name) => this.retire(name)));
    if (tx !== null) last.push(tx.abort('tpterm').catch(ignore));
    const late = new AbortController();
    await Promise.race([Promise.all(last), pause(LEAVE_MS, late.signal)]);
    late.abort();
  }
}

function reconnectPauses(given: boolean | { initialMs?: number; maxMs?: number }): {
  initialMs: number;
  maxMs: number;
} | null {
  if (given === false) return null;
  const { initialMs = 100, maxMs = 2000 } = given === true ? {} : given;
  const first = whole('reconnect.initialMs', initialMs, 0x7fff_ffff);
  return { initialMs: first, maxMs: Math.max(first, whole('reconnect.maxMs', maxMs, 0x7fff_ffff)) };
}

function ident(member: string, value = ''): string {
  if (Buffer.byteLength(value) <= LIMIT.MAXTIDENT && !value.includes('\0')) return value;
  throw invalid('tpinit', `${member} is longer than ${LIMIT.MAXTIDENT} bytes`);
}

function initData(data: Uint8Array | undefined): Uint8Array | null {
  if (data === undefined) return null;
  if (data.length <= LIMIT.HELLO_DATA_BYTES) return data;
  throw invalid('tpinit', `data is longer than ${LIMIT.HELLO_DATA_BYTES} bytes`);
}

function whole(member: string, value: number, max: number): number {
  if (Number.isSafeInteger(value) && value >= 0 && value <= max) return value;
  throw invalid('tpinit', `${member} ${value}`);
}

function invalid(operation: string, text: string): TpError {
  return new TpError({ tperrno: TPERRNO.TPEINVAL, operation, text });
}

function protocol(operation: string, text: string): TpError {
  return new TpError({ tperrno: TPERRNO.TPEPROTO, operation, text });
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : new Error(String(error)));
}

function ignore(): void {}
