// ADMIN: an administrator's requests, each by its verb: here those about the queues of one space [spec 5.2, 7.2]. Owns what is checked before
// the engine is asked, the texts of refusals, and the log line of every change. Invariants: exactly one answer each, held until what it tells is
// durable; a request that needs room in the log waits for it as an enqueue does; nothing here takes part in a transaction. All requests pass
// through `handle`: rights are asked for there.
import { ADMIN, LIMIT, OP, QME, TPERRNO } from '../../proto/codes.ts';
import { membersBytesMax } from '../../proto/members.ts';
import type { Admin, AdminReply, Members } from '../../proto/message.ts';
import type { LogFields, Ulog } from '../base/ulog.ts';
import type { Client } from '../atmi/client.ts';
import { errorReply, failureName, HeldReply } from '../atmi/reply-port.ts';
import type { Redrive } from '../engine/redrive.ts';
import { redriveTerms, redriveText } from '../engine/redrive-terms.ts';
import type { BatchNumber, EnqueueOutcome, Failure } from '../engine/request.ts';
import { QUEUE_DEFAULTS, type QueueAttributes } from '../queue/attributes.ts';
import type { Queue } from '../queue/queue.ts';
import { changedAttributes, nameFault } from './attributes.ts';
import { DeviceRequests, type HostedDevice, isAboutDevices } from './devices.ts';
import {
  changeSelected,
  endTransaction,
  listPage,
  listTransactions,
  type TransactionPorts,
  withoutFaults,
} from './messages.ts';
import { pageOfNames } from './page.ts';
import { redriveOptions, redriveReply } from './redrive.ts';
import { type Reload, ReloadRequests } from './reload.ts';
import { isAboutServers, type KnownServer, ServerRequests } from './servers.ts';
import { queueView, spaceView, type NamedSpace } from './views.ts';

export interface AdminPorts {
  readonly spaces: () => readonly NamedSpace[];
  readonly servers: () => readonly KnownServer[];
  /** A device that the daemon holds, by the path by which it calls it. */
  readonly device: (path: string) => HostedDevice | undefined;
  readonly transactions: TransactionPorts;
  /** Of this machine. */
  readonly lmid: string;
  readonly reload: Reload;
  readonly ulog: Ulog;
}

interface Refused {
  readonly failure: Failure;
  readonly message: string;
  /** What the refusal tells of is durable with this batch. */
  readonly batch: BatchNumber;
}
interface Done {
  readonly members: Members;
  readonly items?: readonly Members[];
  readonly batch: BatchNumber;
  /** What has changed, for the log; none: nothing has. */
  readonly said?: string;
}
/** `later`: there is no room yet. `started`: it answers by itself. */
type Outcome = Done | Refused | 'later' | 'started';

/** One request on its way. */
interface Asked {
  readonly client: Client;
  readonly request: Admin;
  readonly space: NamedSpace;
}

const VERB_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(ADMIN).map(([name, verb]) => [verb, name]),
);
/** Members that each verb takes; null: they are checked elsewhere. */
const MEMBERS: Readonly<Record<number, readonly string[] | null>> = {
  [ADMIN.QCREATE]: null,
  [ADMIN.QCHANGE]: null,
  [ADMIN.QDESTROY]: ['purge'],
  [ADMIN.QINFO]: [],
  [ADMIN.QLIST]: ['after', 'limit'],
  [ADMIN.QPURGE]: [],
  [ADMIN.QPAUSE]: ['enqueue', 'dequeue'],
  [ADMIN.QRESUME]: ['enqueue', 'dequeue'],
  [ADMIN.QSPACEINFO]: [],
  [ADMIN.QREDRIVE]: null,
  // Checked where they are carried out.
  [ADMIN.MSGLIST]: null,
  [ADMIN.MSGCHANGE]: null,
  [ADMIN.TRANLIST]: null,
  [ADMIN.TRANEND]: null,
};
/** Verbs about a space as a whole: they name no queue. */
const ABOUT_SPACE: ReadonlySet<number> = new Set([
  ADMIN.QLIST,
  ADMIN.QSPACEINFO,
  ADMIN.TRANLIST,
  ADMIN.TRANEND,
]);

export class AdminRequests {
  private readonly ports: AdminPorts;
  private readonly servers: ServerRequests;
  private readonly devices: DeviceRequests;
  private readonly reload: ReloadRequests;

  constructor(ports: AdminPorts) {
    this.ports = ports;
    this.servers = new ServerRequests(ports.servers, ports.lmid);
    this.devices = new DeviceRequests(ports.device);
    this.reload = new ReloadRequests(ports.reload);
  }

  handle(client: Client, request: Admin): void {
    const { verb, qspace } = request;
    const refuse = (failure: Failure, message: string): void =>
      this.refuse({ client, request }, { failure, message, batch: 0 });
    if (!VERB_NAMES.has(verb)) return refuse(TPERRNO.TPEINVAL, `ADMIN has no verb ${verb} in this release`);
    const said = (what: string): void => this.ports.ulog.info(what, fieldsOf({ client, request }));
    if (isAboutServers(verb)) return this.servers.handle({ client, request, refuse, said });
    if (isAboutDevices(verb)) return this.devices.handle({ client, request, refuse, said });
    if (verb === ADMIN.RELOAD) return this.reload.handle({ client, request, refuse, said });
    if (qspace === '') return refuse(TPERRNO.TPEINVAL, 'the name of the queue space is empty');
    const space = this.find(qspace);
    if (space === undefined) {
      return refuse(TPERRNO.TPENOENT, `there is no queue space ${qspace}, by alias or by its own name`);
    }
    if (space.engine.journal.failure !== null) return refuse(QME.QMESYSTEM, logFailed(space));
    const fault = argumentFault(request);
    if (fault !== null) return refuse(fault.failure, fault.message);
    return this.attempt({ client, request, space });
  }

  private find(qspace: string): NamedSpace | undefined {
    const spaces = this.ports.spaces();
    return (
      spaces.find((space) => space.aliases.includes(qspace)) ??
      spaces.find(({ name }) => name === qspace) ??
      spaces.find(({ device, name }) => `${device}:${name}` === qspace)
    );
  }

  private attempt(asked: Asked): void {
    const { qname } = asked.request;
    // It may have been closed while the request waited.
    if (!this.ports.spaces().includes(asked.space)) {
      return this.refuse(asked, {
        failure: QME.QMENOTOPEN,
        message: `queue space ${asked.space.name} was closed`,
        batch: 0,
      });
    }
    const { endings, space } = asked.space.engine;
    const queue = space.queue(qname);
    // What a large commit or rollback does to a queue is seen whole or not at all.
    const waits = queue === undefined ? qname === '' && endings.isBusy : endings.isHeld(queue);
    if (!waits) return this.attemptNow(asked);
    const why = 'a large transaction to end';
    return this.attemptLater(asked, why, (retry) =>
      endings.whenFree(queue ?? null, () => retry(() => this.attemptNow(asked))),
    );
  }

  private attemptNow(asked: Asked): void {
    const { engine } = asked.space;
    const outcome = this.perform(asked);
    if (outcome === 'started') return undefined;
    if (outcome !== 'later') return this.settle(asked, outcome);
    return this.attemptLater(asked, 'room in the log', (retry) =>
      engine.whenRoom(() => retry(() => this.attempt(asked))),
    );
  }

  private perform(asked: Asked): Outcome {
    const { request, space } = asked;
    switch (request.verb) {
      case ADMIN.QCREATE:
        return create(space, request);
      case ADMIN.QCHANGE:
        return onQueue(asked, (queue) => change(space, queue, request.members));
      case ADMIN.QPAUSE:
      case ADMIN.QRESUME:
        return onQueue(asked, (queue) => pause(space, queue, request));
      case ADMIN.QDESTROY:
        return onQueue(asked, (queue) => destroy(space, queue, request.members['purge'] === true));
      case ADMIN.QPURGE:
        return onQueue(asked, (queue) => this.purge(asked, queue));
      case ADMIN.QREDRIVE:
        return onQueue(asked, (queue) => this.redrive(asked, queue));
      case ADMIN.MSGLIST:
        return onQueue(asked, (queue) => this.begin(asked, () => listPage(space, queue, request.members)));
      case ADMIN.MSGCHANGE:
        return onQueue(asked, (queue) =>
          this.begin(asked, () => changeSelected(space, queue, request.members)),
        );
      case ADMIN.TRANLIST:
        return this.begin(asked, () => listTransactions(space, this.ports.transactions, request.members));
      case ADMIN.TRANEND:
        return this.begin(asked, () => endTransaction(space, this.ports.transactions, request.members));
      case ADMIN.QINFO:
        return onQueue(asked, (queue) => ({ members: { ...queueView(queue) }, batch: queue.lastBatch }));
      case ADMIN.QLIST:
        return list(space, request.members);
      default:
        return { members: { ...spaceView(space) }, batch: space.engine.space.namesBatch };
    }
  }

  /** It cannot be done yet: nothing else of this client overtakes the request meanwhile. */
  private attemptLater(
    asked: Asked,
    why: string,
    wait: (retry: (attempt: () => void) => void) => void,
  ): void {
    const { client, request, space } = asked;
    let cancelled = false;
    client.pending.set(request.id, {
      cancel: () => {
        if (cancelled) return false;
        cancelled = true;
        const message = `cancelled while it waited for ${why}; nothing has changed`;
        client.port.send(errorReply(request.id, TPERRNO.TPGOTSIG, message));
        return true;
      },
    });
    client.block();
    wait((attempt) => {
      client.pending.delete(request.id);
      const hasFailed = space.engine.journal.failure !== null;
      if (!cancelled && hasFailed)
        this.refuse(asked, { failure: QME.QMESYSTEM, message: logFailed(space), batch: 0 });
      else if (!cancelled) attempt();
      // It may have to wait again.
      if (!client.pending.has(request.id)) client.unblock();
    });
  }

  /** It answers when it is done, and lets others go on meanwhile. */
  private begin(asked: Asked, work: Parameters<typeof withoutFaults>[0]): 'started' {
    void withoutFaults(work).then((outcome) => this.settle(asked, outcome));
    return 'started';
  }

  private purge(asked: Asked, queue: Queue): Outcome {
    const { engine } = asked.space;
    engine.purgeQueue(queue, (count, batch, code) => {
      if (code === QME.OK) {
        return this.settle(asked, { members: { count }, batch, said: `purged of ${count} messages` });
      }
      const message = `purge of ${placeText(asked)} stopped after ${count} messages: the daemon ends`;
      return this.settle(asked, { failure: code, message, batch });
    });
    return 'started';
  }

  private redrive(asked: Asked, queue: Queue): Outcome {
    const { client, request, space } = asked;
    const { engine } = space;
    const options = redriveOptions(request.members);
    if (typeof options === 'string') return invalid(options);
    const terms = redriveTerms(engine.space, queue, options);
    if ('code' in terms)
      return { failure: terms.code, message: terms.message, batch: engine.space.namesBatch };
    let redrive: Redrive | null = null;
    client.pending.set(request.id, { cancel: () => redrive?.stop('cancelled') === true });
    redrive = engine.redrives.begin(terms, (result) => {
      client.pending.delete(request.id);
      const failed = { failure: QME.QMESYSTEM, message: logFailed(space), batch: 0 };
      if (result.end === 'failed') return this.refuse(asked, failed);
      const said = redriveText(result, terms.dryRun);
      return this.settle(asked, { ...redriveReply(result), batch: result.batch, said });
    });
    return 'started';
  }

  private settle(asked: Asked, outcome: Done | Refused): void {
    const { client, request, space } = asked;
    if ('failure' in outcome) return this.refuse(asked, outcome, space);
    const { members, items = [], batch, said } = outcome;
    const about = request.qname === '' ? '' : `queue ${request.qname} `;
    if (said !== undefined) this.ports.ulog.info(`${about}${said}`, fieldsOf(asked));
    const reply: AdminReply = { op: OP.ADMIN, id: request.id, members, items };
    return space.engine.hold(batch, new HeldReply(client.port, reply));
  }

  private refuse(asked: Omit<Asked, 'space'>, refused: Refused, space?: NamedSpace): void {
    const { client, request } = asked;
    const reply = errorReply(request.id, refused.failure, refused.message);
    this.ports.ulog.warn(`refused: ${failureName(refused.failure)}: ${refused.message}`, fieldsOf(asked));
    if (space === undefined) client.port.send(reply);
    else space.engine.hold(refused.batch, new HeldReply(client.port, reply));
  }
}

function create({ name, engine }: NamedSpace, { qname, members }: Admin): Outcome {
  const { space } = engine;
  const known = space.queue(qname);
  if (known !== undefined) {
    const message = `there is a queue ${qname} in queue space ${name} already; it has not been changed`;
    return { failure: TPERRNO.TPEMATCH, message, batch: known.lastBatch };
  }
  const checked = changedAttributes({ ...QUEUE_DEFAULTS, name: qname }, members);
  if (!checked.ok) return invalid(checked.fault);
  const { queues: limit } = space.attributes;
  if (limit !== 0 && space.queueCount >= limit) {
    const message = `queue space ${name} has ${space.queueCount} queues, as many as it may have (QUEUES ${limit})`;
    return { failure: QME.QMENOSPACE, message, batch: 0 };
  }
  const outcome = engine.define({ kind: 'defineQueue', attributes: checked.value });
  return defined({ name, qname, engine }, outcome, 'created');
}

function change(named: NamedSpace, queue: Queue, members: Members): Outcome {
  const { attributes } = queue;
  const checked = changedAttributes(attributes, members);
  if (!checked.ok) return invalid(checked.fault);
  if (checked.value.order !== attributes.order) {
    return invalid(
      `order: it is fixed when a queue is created; that of ${attributes.name} is ${attributes.order}`,
    );
  }
  return redefine(named, queue, checked.value);
}

function pause(named: NamedSpace, queue: Queue, { verb, members }: Admin): Outcome {
  const both = members['enqueue'] === undefined && members['dequeue'] === undefined;
  const paused = verb === ADMIN.QPAUSE;
  const { attributes } = queue;
  return redefine(named, queue, {
    ...attributes,
    enqueuePaused: both || members['enqueue'] === true ? paused : attributes.enqueuePaused,
    dequeuePaused: both || members['dequeue'] === true ? paused : attributes.dequeuePaused,
  });
}

function redefine({ name, engine }: NamedSpace, queue: Queue, attributes: QueueAttributes): Outcome {
  const before = queue.attributes;
  const names = Object.keys(attributes).filter((key) => key !== 'aq') as Exclude<
    keyof QueueAttributes,
    'aq'
  >[];
  const changes = names
    .filter((key) => attributes[key] !== before[key])
    .map((key) => `${key} ${before[key]} → ${attributes[key]}`);
  const outcome = engine.define({ kind: 'defineQueue', attributes });
  const said = changes.length === 0 ? undefined : `changed: ${changes.join(', ')}`;
  return defined({ name, qname: attributes.name, engine }, outcome, said);
}

function defined(
  { name, qname, engine }: { name: string; qname: string; engine: NamedSpace['engine'] },
  outcome: Omit<EnqueueOutcome, 'id'>,
  said: string | undefined,
): Outcome {
  if (outcome.later) return 'later';
  const queue = engine.space.queue(qname);
  if (outcome.code !== QME.OK || queue === undefined) return noRoom(outcome.code, name);
  return {
    members: { ...queueView(queue) },
    batch: queue.lastBatch,
    ...(said === undefined ? {} : { said }),
  };
}

function destroy({ name, engine }: NamedSpace, queue: Queue, purge: boolean): Outcome {
  const { messages, locked, pending } = queue;
  const where = `queue ${queue.attributes.name} of ${name}`;
  if (locked > 0 || pending > 0) {
    const work = `${locked} of its messages are held, ${pending} are enqueued but not committed`;
    const message = `${where} is in use by open transactions: ${work}; it stays, with everything on it`;
    return { failure: QME.QMESHARE, message, batch: 0 };
  }
  if (messages > 0 && !purge) {
    const message = `${where} holds ${messages} messages; it stays: take them out or purge it first, or destroy it with purge`;
    return { failure: QME.QMEINUSE, message, batch: queue.lastBatch };
  }
  const outcome = engine.destroyQueue(queue.attributes.name);
  if (outcome.later) return 'later';
  if (outcome.code !== QME.OK) return noRoom(outcome.code, name);
  const load = messages === 0 ? '' : ` with ${messages} messages`;
  const isErrorQueue = engine.space.errorQueue === queue.attributes.name;
  const also = isErrorQueue
    ? '; it was the error queue: messages whose retries are used up will be dropped'
    : '';
  const said = `destroyed${load}${also}`;
  return { members: { count: messages }, batch: outcome.batch, said };
}

function list({ engine }: NamedSpace, { after = '', limit = LIMIT.PAGE_DEFAULT }: Members): Outcome {
  const { space } = engine;
  const names = space.queues().map((queue) => queue.attributes.name);
  const page = pageOfNames(names, String(after), Number(limit));
  const items: Members[] = [];
  let bytes = 0;
  let batch = space.namesBatch;
  for (const name of page.names) {
    const queue = space.queue(name) as Queue;
    const view: Members = { ...queueView(queue) };
    bytes += membersBytesMax(view);
    if (items.length > 0 && bytes > LIMIT.PAGE_BYTES) break;
    items.push(view);
    batch = Math.max(batch, queue.lastBatch);
  }
  return { members: { more: page.more || items.length < page.names.length }, items, batch };
}

/** Finds the queue that the request names. */
function onQueue({ request, space }: Asked, work: (queue: Queue) => Outcome): Outcome {
  const queue = space.engine.space.queue(request.qname);
  if (queue?.isAq === true && request.verb !== ADMIN.QINFO)
    return invalid(
      `queue ${request.qname} of ${space.name} is one of the AQ dialect: it is administered by the requests of that`,
    );
  if (queue !== undefined) return work(queue);
  const message = `there is no queue ${request.qname} in queue space ${space.name}`;
  return { failure: QME.QMEBADQUEUE, message, batch: space.engine.space.namesBatch };
}

/** What can be seen to be wrong without looking at the space. */
function argumentFault({ verb, qname, members }: Admin): Omit<Refused, 'batch'> | null {
  if (verb === ADMIN.QCREATE) {
    const fault = nameFault(qname);
    return fault === null ? null : { failure: QME.QMEINVAL, message: fault };
  }
  const isAboutSpace = ABOUT_SPACE.has(verb);
  if ((qname === '') !== isAboutSpace) {
    const message = isAboutSpace ? 'this verb takes no queue name' : 'the name of the queue is empty';
    return { failure: TPERRNO.TPEINVAL, message };
  }
  const known = MEMBERS[verb];
  if (known === null || known === undefined) return null;
  for (const [name, value] of Object.entries(members)) {
    const legal = memberLegal(known, name, value);
    if (legal !== '') {
      return {
        failure: QME.QMEINVAL,
        message: `${name}: ${JSON.stringify(value)} is not legal; legal: ${legal}`,
      };
    }
  }
  const isPausing = verb === ADMIN.QPAUSE || verb === ADMIN.QRESUME;
  if (isPausing && Object.keys(members).length > 0 && !Object.values(members).includes(true)) {
    return {
      failure: QME.QMEINVAL,
      message: 'enqueue, dequeue: neither is true; legal: one or both, or neither given',
    };
  }
  return null;
}

/** '' or what would be legal. */
function memberLegal(known: readonly string[], name: string, value: Members[string]): string {
  if (!known.includes(name)) return known.length === 0 ? 'no members' : `the members ${known.join(', ')}`;
  if (name === 'after') return typeof value === 'string' ? '' : 'the name of a queue';
  if (name !== 'limit') return typeof value === 'boolean' ? '' : 'true or false';
  const fits = typeof value === 'number' && value >= 1 && value <= LIMIT.PAGE_MAX;
  return fits ? '' : `a number 1..${LIMIT.PAGE_MAX}`;
}

function invalid(message: string): Refused {
  return { failure: QME.QMEINVAL, message, batch: 0 };
}
function noRoom(code: Failure, space: string): Refused {
  const message =
    `the log of queue space ${space} has no room for this change: the disk is full, or the definitions of all queues ` +
    'take more than a segment of the log may begin with; nothing has changed';
  return { failure: code, message, batch: 0 };
}

function logFailed({ name }: NamedSpace): string {
  return `the log of queue space ${name} failed; see the daemon's log`;
}

function placeText({ request, space }: Asked): string {
  return `queue ${request.qname} of ${space.name}`;
}

/** Who asked what of what, for the log. */
function fieldsOf({ client, request }: Omit<Asked, 'space'>): LogFields {
  const { usrname, cltname } = client.identity;
  const { qspace, qname } = request;
  return {
    verb: VERB_NAMES.get(request.verb) ?? request.verb,
    qspace,
    qname,
    client: client.remote,
    usrname,
    cltname,
  };
}
