// The administrator's view of one queue space: create, change, destroy, list, look at, purge, pause and resume queues; and of the servers inside
// the daemon. Owns the checks that keep what a caller gives within what can be sent; whether it is legal is for the daemon. Invariants: nothing
// here joins a transaction; failures are rejections with TpError.
import { ADMIN, type AdminVerb, LIMIT, OP, QME, TPERRNO } from '../../proto/codes.ts';
import {
  isQueueInfo,
  isReloadItem,
  isReloadOutcome,
  isServerInfo,
  isServerLine,
  isSpaceInfo,
  type QueueInfo,
  type QueueSettings,
  type ReloadItem,
  type ReloadOutcome,
  type ServerInfo,
  type ServerLine,
  type SpaceInfo,
} from '../../proto/admin.ts';
import {
  isChangeInfo,
  isMessageInfo,
  isTransactionInfo,
  type ChangeInfo,
  type MessageAction,
  type MessageInfo,
  type MessageSelection,
  type TransactionInfo,
} from '../../proto/message-admin.ts';
import { isMemberName } from '../../proto/members.ts';
import {
  isRedriveInfo,
  isRedriveItem,
  type RedriveInfo,
  type RedriveItem,
  type RedriveOptions,
} from '../../proto/redrive.ts';
import type { Admin, AdminReply, Members, MemberValue } from '../../proto/message.ts';
import { TpError } from './error.ts';

/** What of a queue is to be set; what is not given has its default (create) or stays (change). */
export type QueueOptions = { readonly [K in keyof QueueSettings]?: QueueSettings[K] | undefined };

/** Which ways a queue is paused or resumed; neither given: both. */
export interface Directions {
  readonly enqueue?: boolean | undefined;
  readonly dequeue?: boolean | undefined;
}

export interface DestroyOptions {
  /** Also when messages are on it, which then go with it. */
  readonly purge?: boolean | undefined;
}

export interface ListOptions {
  /** Begin after this name. */
  readonly after?: string | undefined;
  /** Queues in one answer, 1..1000; default 100. An answer may hold fewer. */
  readonly limit?: number | undefined;
}

/** Some queues in the order of their names. */
export interface QueuePage {
  readonly queues: readonly QueueInfo[];
  /** There are more: ask again with the last name as `after`. */
  readonly more: boolean;
}

/** What a request of administration is about; what is not given is empty. */
export interface AdminQuestion {
  readonly qspace?: string | undefined;
  readonly qname?: string | undefined;
  readonly members?: Members | undefined;
}

export interface AdminAnswer {
  readonly members: Members;
  readonly items: readonly Members[];
}

/** They name no queue. */
const ABOUT_SPACE: ReadonlySet<number> = new Set([
  ADMIN.QLIST,
  ADMIN.QSPACEINFO,
  ADMIN.TRANLIST,
  ADMIN.TRANEND,
]);

/** What a redrive did, and what stayed for which reason; by queue, the largest number first. */
export interface Redriven extends RedriveInfo {
  readonly queues: readonly RedriveItem[];
}

/** How requests are sent: the context's matter. The signal's abort is a CANCEL. */
export type AskAdmin = (operation: string, request: Admin, signal?: AbortSignal) => Promise<AdminReply>;

export class QueueAdmin {
  /** As it was given: an alias, or the queue space's own name. */
  readonly qspace: string;
  private readonly ask: AskAdmin;

  /** @param qspace an alias under which the queue space is served, or its own name */
  constructor(qspace: string, ask: AskAdmin) {
    this.qspace = qspace;
    this.ask = ask;
  }

  /**
   * Creates a queue; what is now in effect.
   * @throws TPEMATCH there is one; QMEINVAL an attribute; QMENOSPACE the space's number of queues, or no room
   */
  create(qname: string, options: QueueOptions = {}): Promise<QueueInfo> {
    return this.queue('create', { verb: ADMIN.QCREATE, qname, given: options });
  }

  /**
   * Changes what is given; what is now in effect. Messages that are queued stay as they are.
   * @throws QMEBADQUEUE; QMEINVAL an attribute, or another order
   */
  change(qname: string, options: QueueOptions): Promise<QueueInfo> {
    return this.queue('change', { verb: ADMIN.QCHANGE, qname, given: options });
  }

  /**
   * Takes a queue away; how many messages went with it. Dequeues that wait on it end with QMEABORTED, and its name is free.
   * @throws QMEBADQUEUE; QMEINUSE it holds messages and `purge` was not given; QMESHARE an open transaction has work on it
   */
  destroy(qname: string, options: DestroyOptions = {}): Promise<number> {
    return this.count('destroy', { verb: ADMIN.QDESTROY, qname, given: { ...options } });
  }

  /** Removes what is on a queue now, but for what open transactions hold; how many. @throws QMEBADQUEUE */
  purge(qname: string): Promise<number> {
    return this.count('purge', { verb: ADMIN.QPURGE, qname, given: {} });
  }

  /**
   * Moves messages of an error queue back to where each came from, as if they had never been tried, or to the queue `to`. Each move is
   * durable for itself: whatever happens, a message is in exactly one of the two queues. With `signal` aborted it ends between two messages
   * and says how many went.
   * @throws QMEBADQUEUE this queue, or `to`; QMEINVAL an option; QMEBADMSGID
   */
  async redrive(
    qname: string,
    { signal, ...given }: RedriveOptions & { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Redriven> {
    const operation = 'redrive';
    const { members, items } = await this.send(operation, { verb: ADMIN.QREDRIVE, qname, given, signal });
    if (isRedriveInfo(members) && items.every(isRedriveItem)) return { ...members, queues: items };
    throw unexpected(operation);
  }

  /** Closes a queue: calls that way, also those that wait, end with QMESHARE. It stays so over a restart. @throws QMEBADQUEUE */
  pause(qname: string, directions: Directions = {}): Promise<QueueInfo> {
    return this.queue('pause', { verb: ADMIN.QPAUSE, qname, given: { ...directions } });
  }

  /** Opens it again. @throws QMEBADQUEUE */
  resume(qname: string, directions: Directions = {}): Promise<QueueInfo> {
    return this.queue('resume', { verb: ADMIN.QRESUME, qname, given: { ...directions } });
  }

  /** A queue and what is on it. @throws QMEBADQUEUE */
  info(qname: string): Promise<QueueInfo> {
    return this.queue('info', { verb: ADMIN.QINFO, qname, given: {} });
  }

  /** One page of queues in the order of the bytes of their names. */
  async list(options: ListOptions = {}): Promise<QueuePage> {
    const operation = 'list';
    const reply = await this.send(operation, { verb: ADMIN.QLIST, qname: '', given: { ...options } });
    return {
      queues: reply.items.map((item) => queueOf(operation, item)),
      more: reply.members['more'] === true,
    };
  }

  /** All queues, page by page; one that is made or destroyed meanwhile may be seen or not. */
  async *queues(): AsyncGenerator<QueueInfo, void, undefined> {
    for (let after = '', more = true; more;) {
      const page = await this.list({ after, limit: LIMIT.PAGE_MAX });
      yield* page.queues;
      after = page.queues.at(-1)?.name ?? '';
      more = page.more && after !== '';
    }
  }

  /** The queue space: its attributes and what is used of them. */
  async space(): Promise<SpaceInfo> {
    const operation = 'space';
    const { members } = await this.send(operation, { verb: ADMIN.QSPACEINFO, qname: '', given: {} });
    if (isSpaceInfo(members)) return members;
    throw unexpected(operation);
  }

  /**
   * Messages of a queue in its order, then those that are not available yet, then those that transactions hold; page by page, so what comes or
   * goes meanwhile may be seen or not. `dataBytes`: so much of the data of each, at most 16384 bytes. @throws QMEBADQUEUE; QMEINVAL; QMEBADMSGID
   */
  async *messages(
    qname: string,
    { dataBytes = 0, ...selection }: MessageSelection & { readonly dataBytes?: number } = {},
  ): AsyncGenerator<MessageInfo, void, undefined> {
    const operation = 'messages';
    for (let cursor: MemberValue = '', more = true; more;) {
      const given = { ...selection, dataBytes, cursor, limit: LIMIT.PAGE_MAX };
      const { members, items } = await this.send(operation, { verb: ADMIN.MSGLIST, qname, given });
      for (const item of items) {
        if (!isMessageInfo(item)) throw unexpected(operation);
        yield item;
      }
      cursor = members['cursor'] ?? '';
      more = cursor !== '';
    }
  }

  /**
   * Deletes, changes or moves the selected messages, but for those that transactions hold; a moved one gets another msgid. Each is durable for
   * itself. @throws QMEBADQUEUE; QMEINVAL; QMEBADMSGID; QMENOSPACE the log has no room, and how many were changed is in the text
   */
  async changeMessages(
    qname: string,
    selection: MessageSelection,
    action: MessageAction,
  ): Promise<ChangeInfo> {
    const operation = 'changeMessages';
    const given = { ...selection, ...action };
    const { members } = await this.send(operation, { verb: ADMIN.MSGCHANGE, qname, given });
    if (isChangeInfo(members)) return members;
    throw unexpected(operation);
  }

  /** Transactions with work in this space that have not ended; `decided`: also those that an administrator ended. */
  async *transactions({ decided = false }: { readonly decided?: boolean } = {}): AsyncGenerator<
    TransactionInfo,
    void,
    undefined
  > {
    const operation = 'transactions';
    for (let after = 0, more = true; more;) {
      const reply = await this.send(operation, {
        verb: ADMIN.TRANLIST,
        qname: '',
        given: { after, decided },
      });
      for (const item of reply.items) {
        if (!isTransactionInfo(item)) throw unexpected(operation);
        yield item;
        after = Math.max(after, item.index);
      }
      more = reply.members['more'] === true;
    }
  }

  /**
   * Ends a prepared transaction's part in this space, whatever it comes to elsewhere: for when its outcome cannot be had any more.
   * @throws TPENOENT there is none of this index; TPEPROTO it is known to be committed and `commit` is false; QMENOSPACE
   */
  async endTransaction(index: number, commit: boolean): Promise<void> {
    await this.send('endTransaction', { verb: ADMIN.TRANEND, qname: '', given: { index, commit } });
  }

  private async queue(operation: string, asked: Asked): Promise<QueueInfo> {
    return queueOf(operation, (await this.send(operation, asked)).members);
  }

  private async count(operation: string, asked: Asked): Promise<number> {
    const { count } = (await this.send(operation, asked)).members;
    if (typeof count === 'number') return count;
    throw unexpected(operation);
  }

  private async send(operation: string, { verb, qname, given, signal }: Asked): Promise<AdminReply> {
    const { qspace } = this;
    checkName(operation, 'queue space', qspace);
    if (!ABOUT_SPACE.has(verb)) checkName(operation, 'queue', qname);
    const members = membersOf(operation, given);
    return this.ask(operation, { op: OP.ADMIN, id: 0, verb, qspace, qname, members }, signal);
  }
}

/** SRVSTART and SRVSTOP. */
export async function controlServer(
  ask: AskAdmin,
  verb: typeof ADMIN.SRVSTART | typeof ADMIN.SRVSTOP,
  given: { srvid: number; group: string | undefined },
): Promise<ServerInfo> {
  const operation = verb === ADMIN.SRVSTART ? 'startServer' : 'stopServer';
  const members = membersOf(operation, given);
  const reply = await ask(operation, { op: OP.ADMIN, id: 0, verb, qspace: '', qname: '', members });
  if (isServerInfo(reply.members)) return reply.members;
  throw unexpected(operation);
}

/** The servers of the daemon's machine, in the order of its configuration. */
export interface ServerList {
  readonly lmid: string;
  readonly servers: readonly ServerLine[];
}

/** SRVLIST, page by page. */
export async function listServers(ask: AskAdmin): Promise<ServerList> {
  const operation = 'listServers';
  const servers: ServerLine[] = [];
  for (;;) {
    const members = { skip: servers.length };
    const reply = await ask(operation, {
      op: OP.ADMIN,
      id: 0,
      verb: ADMIN.SRVLIST,
      qspace: '',
      qname: '',
      members,
    });
    const { lmid, more } = reply.members;
    for (const item of reply.items) {
      if (!isServerLine(item)) throw unexpected(operation);
      servers.push(item);
    }
    if (typeof lmid !== 'string' || (more === true && reply.items.length === 0)) throw unexpected(operation);
    if (more !== true) return { lmid, servers };
  }
}

/** What RELOAD came to, and each thing that it changed, found strange, or refused. */
export interface ReloadAnswer {
  readonly outcome: ReloadOutcome;
  readonly items: readonly ReloadItem[];
  /** So many items more than an answer holds; the daemon's log has them. */
  readonly unlisted: number;
}

/** RELOAD. */
export async function reloadConfiguration(ask: AskAdmin, file: string | undefined): Promise<ReloadAnswer> {
  const operation = 'reload';
  const members = membersOf(operation, { file });
  const reply = await ask(operation, {
    op: OP.ADMIN,
    id: 0,
    verb: ADMIN.RELOAD,
    qspace: '',
    qname: '',
    members,
  });
  const { outcome, unlisted } = reply.members;
  if (!isReloadOutcome(outcome) || typeof unlisted !== 'number') throw unexpected(operation);
  const items = reply.items.map((item) => {
    if (!isReloadItem(item)) throw unexpected(operation);
    return item;
  });
  return { outcome, items, unlisted };
}

interface Asked {
  readonly verb: AdminVerb;
  readonly qname: string;
  readonly given: Readonly<Record<string, unknown>> | QueueOptions | RedriveOptions;
  readonly signal?: AbortSignal | undefined;
}

function queueOf(operation: string, members: Members): QueueInfo {
  if (isQueueInfo(members)) return members;
  throw unexpected(operation);
}

/** What can be sent of what was given; undefined is as good as absent. */
function membersOf(operation: string, given: Asked['given']): Members {
  const members: Record<string, MemberValue> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!isMemberName(name)) throw illegal(operation, `${JSON.stringify(name)} is no attribute`);
    if (!isMemberValue(value)) {
      const legal = `true, false, a whole number, text of at most ${LIMIT.STRING_BYTES} bytes, or a list of texts`;
      throw illegal(
        operation,
        `${name}: ${JSON.stringify(value)?.slice(0, 60)} is not legal; legal: ${legal}`,
      );
    }
    members[name] = value;
  }
  return members;
}

function isMemberValue(value: unknown): value is MemberValue {
  if (typeof value === 'string') return Buffer.byteLength(value) <= LIMIT.STRING_BYTES;
  if (Array.isArray(value)) return value.every((one) => typeof one === 'string' && isMemberValue(one));
  return typeof value === 'boolean' || Number.isSafeInteger(value);
}

/** Short enough to be sent; the daemon knows what is legal. */
function checkName(operation: string, what: string, name: unknown): void {
  if (typeof name === 'string' && name !== '' && Buffer.byteLength(name) <= LIMIT.STRING_BYTES) return;
  const text = `${what} name ${JSON.stringify(name)?.slice(0, 60)}`;
  throw new TpError({ tperrno: TPERRNO.TPEINVAL, operation, text });
}

function illegal(operation: string, text: string): TpError {
  return new TpError({ tperrno: TPERRNO.TPEDIAGNOSTIC, diagnostic: QME.QMEINVAL, operation, text });
}

function unexpected(operation: string): TpError {
  const text = 'the daemon answered with something else than the request asks for';
  return new TpError({ tperrno: TPERRNO.TPESYSTEM, operation, text });
}
