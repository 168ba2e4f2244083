// ENQUEUE and ENQUEUE_ARRAY [oracle-aq 4.1, 4.6]: options once, and an item for each message. Everything that can be seen to be wrong is refused
// before anything is enqueued; an array outside a transaction is enqueued whole or not at all.
import { DBMS_AQ } from '../../../proto/aq/constants.ts';
import type { AqItem } from '../../../proto/aq/message.ts';
import { AQ_LIMIT } from '../../../proto/aq/limits.ts';
import { QME, TPERRNO, TPQ } from '../../../proto/codes.ts';
import type { TypedData } from '../../../proto/message.ts';
import { failureName } from '../../atmi/reply-port.ts';
import type { Transactions } from '../../atmi/transactions.ts';
import type { AqEnqueueOutcome, AqEnqueueRequest, Deviation } from '../../engine/aq/request.ts';
import type { BatchNumber, Work } from '../../engine/request.ts';
import { AQ_TYPE, type AqAgent } from '../../queue/attributes.ts';
import type { AqTable } from '../../queue/catalog.ts';
import type { AqProperties, MessageId } from '../../queue/message.ts';
import type { Queue } from '../../queue/queue.ts';
import { utf8Bytes } from '../../queue/words.ts';
import { agentFault } from '../agent.ts';
import { aqError, aqFailed, type AqAsked, type AqRefused } from '../asked.ts';
import { Given } from '../given.ts';
import { aqMsgid, parseAqMsgid } from '../msgid.ts';
import { parseName } from '../names.ts';
import { partOf, type Part } from '../transaction.ts';
import { corridOf } from './correlation.ts';
import { lanesOf, NO_ROOM_YET, recipientsFault, subscribersFor } from './lanes.ts';
import { payloadFault } from './payload.ts';
import { subjectOf } from './subject.ts';

const { IMMEDIATE, ON_COMMIT, BEFORE, TOP, PERSISTENT, BUFFERED, PERSISTENT_OR_BUFFERED } = DBMS_AQ;
const { NEVER } = DBMS_AQ;

/** [oracle-aq 2.7] */
interface Options {
  readonly visibility: number;
  readonly deviation: Deviation | null;
  readonly kind: number;
}

/** One message, ready but for its recipients, who are those of the moment when it is enqueued. */
interface Prepared {
  readonly aq: AqProperties;
  /** null: the subscribers. */
  readonly recipients: readonly AqAgent[] | null;
  readonly body: TypedData;
}

export function enqueue(asked: AqAsked, transactions: Transactions): void {
  const queue = asked.queue(25_205);
  if ('fault' in queue) return asked.refuse(queue);
  const prepared = prepare(asked, queue);
  if ('fault' in prepared) return asked.refuse(prepared, queue.lastBatch);
  const part = partOf(asked, transactions, prepared.options.visibility);
  if ('fault' in part) return asked.refuse(part);
  return new Enqueuing(asked, { queue, part, transactions, ...prepared }).run();
}

function prepare(
  { request, space }: AqAsked,
  queue: Queue,
): { options: Options; messages: Prepared[] } | AqRefused {
  const { aq, enqueuePaused, name } = queue.attributes;
  const table = space.engine.space.catalog.table(aq?.table ?? '');
  if (table === undefined) return aqError(24_085, `queue ${name}: its queue table is not there`);
  const { items } = request;
  if (aq?.type === AQ_TYPE.EXCEPTION) {
    const isTimed = items.some(({ members }) => 'delay' in members || 'expiration' in members);
    return aqError(isTimed ? 25_214 : 25_206);
  }
  if (enqueuePaused) return aqError(25_207, `queue ${name} of ${space.name} is not started for enqueue`);
  const options = optionsOf(request.members, space.engine.space.spaceId);
  if ('fault' in options) return options;
  const fault = optionsFault(options, { items, isNonPersistent: aq?.type === AQ_TYPE.NON_PERSISTENT });
  if (fault !== null) return fault;
  if (items.length === 0) return aqError(25_202, 'there is no message to enqueue');
  const messages: Prepared[] = [];
  for (const [index, item] of items.entries()) {
    const made = messageOf(item, { queue, table, options });
    if (!('fault' in made)) messages.push(made);
    else if (items.length === 1) return made;
    else return { ...made, message: `message ${index + 1} of ${items.length}: ${made.message}` };
  }
  return { options, messages };
}

function optionsOf(members: AqItem['members'], spaceId: number): Options | AqRefused {
  const given = new Given(members);
  const visibility = given.oneOf('visibility', ON_COMMIT, { of: [ON_COMMIT, IMMEDIATE], error: 25_201 });
  const sequence = given.oneOf('sequenceDeviation', 0, { of: [BEFORE, TOP], error: 25_204 });
  const relative = given.hex('relativeMsgid', AQ_LIMIT.MSGID);
  const kinds = [PERSISTENT, BUFFERED, PERSISTENT_OR_BUFFERED];
  const kind = given.oneOf('deliveryMode', PERSISTENT, { of: kinds, error: 25_299 });
  const transformation = given.text('transformation');
  const fault = given.finish();
  if (fault !== null) return fault;
  if (transformation !== '') return aqError(25_229, 'transformation: there are none here');
  if (sequence === BEFORE && relative === null) return aqError(25_208);
  const before = relative === null ? null : parseAqMsgid(spaceId, relative);
  const deviation = sequence === TOP ? 'top' : sequence === BEFORE ? { before } : null;
  return { visibility, deviation, kind };
}

/** What does not go together [oracle-aq 4.5, 4.9]. */
function optionsFault(
  { kind, visibility, deviation }: Options,
  { items, isNonPersistent }: { items: readonly AqItem[]; isNonPersistent: boolean },
): AqRefused | null {
  const isDelayed = items.some(({ members }) => (members['delay'] ?? 0) !== 0);
  if (kind === PERSISTENT_OR_BUFFERED) return aqError(25_299);
  if (isNonPersistent) {
    if (visibility !== IMMEDIATE) return aqError(25_217);
    if (isDelayed) return aqError(25_218);
    if (deviation !== null) return aqError(25_219);
  }
  if (kind !== BUFFERED) return null;
  if (visibility !== IMMEDIATE) return aqError(25_298);
  if (isDelayed || deviation !== null) return aqError(25_297);
  return items.length > 1 ? aqError(25_335) : null;
}

function messageOf(
  { members, body }: AqItem,
  { queue, table, options }: { queue: Queue; table: AqTable; options: Options },
): Prepared | AqRefused {
  const given = new Given(members);
  const { PRIORITY, SECONDS } = AQ_LIMIT;
  const priority = given.whole('priority', 1, { min: -PRIORITY, max: PRIORITY, error: 25_202 });
  const delayS = given.whole('delay', 0, { min: 0, max: SECONDS, error: 25_203 });
  const expirationS = given.whole('expiration', NEVER, { min: NEVER, max: SECONDS, error: 25_209 });
  const correlation = given.text('correlation');
  const exceptionQueue = given.text('exceptionQueue');
  const userProperty = given.text('userProperty');
  const originalMsgid = given.hex('originalMsgid', AQ_LIMIT.MSGID);
  const sender = agentOf(given, 'sender');
  const recipients = agentsOf(given);
  const exception = exceptionQueue === '' ? { schema: '', name: '' } : parseName(exceptionQueue);
  const fault =
    given.finish() ?? payloadFault(table.payloadType, body) ?? ('fault' in exception ? exception : null);
  if (fault !== null || 'fault' in exception) return fault ?? aqError(24_000);
  const wrong =
    textFault(correlation, exceptionQueue, userProperty) ??
    (sender === null ? null : agentFault(sender)) ??
    recipientsOfQueueFault(recipients, queue);
  if (wrong !== null) return wrong;
  if (table.grouping !== 0 && options.kind === BUFFERED) return aqError(25_292);
  const aq: AqProperties = {
    enqueuedMs: 0,
    ...(priority === 1 ? {} : { priority }),
    ...(delayS === 0 ? {} : { delayS }),
    ...(expirationS === NEVER ? {} : { expirationS }),
    ...(correlation === '' ? {} : { correlation }),
    ...(exceptionQueue === '' ? {} : { exceptionQueue: exception.name }),
    ...(userProperty === '' ? {} : { userProperty }),
    ...(originalMsgid === null ? {} : { originalMsgid: originalMsgid.toString('hex') }),
    ...(sender === null ? {} : { sender }),
  };
  return { aq, recipients: recipients.length === 0 ? null : recipients, body };
}

function textFault(correlation: string, exceptionQueue: string, userProperty: string): AqRefused | null {
  return (
    lengthFault('correlation', correlation, AQ_LIMIT.CORRELATION) ??
    lengthFault('exceptionQueue', exceptionQueue, AQ_LIMIT.EXCEPTION_QUEUE) ??
    lengthFault('userProperty', userProperty, AQ_LIMIT.USER_PROPERTY)
  );
}

function lengthFault(name: string, text: string, most: number): AqRefused | null {
  const bytes = utf8Bytes(text);
  return bytes <= most
    ? null
    : aqFailed(TPERRNO.TPEINVAL, `${name} has at most ${most} bytes, found ${bytes}`);
}

function recipientsOfQueueFault(recipients: readonly AqAgent[], queue: Queue): AqRefused | null {
  if (recipients.length === 0) return null;
  return queue.lanes === null ? aqError(24_039) : recipientsFault(recipients);
}

/** `senderName`, `senderAddress`, `senderProtocol`; null: none is given. */
function agentOf(given: Given, prefix: string): AqAgent | null {
  const name = given.text(`${prefix}Name`);
  const address = given.text(`${prefix}Address`);
  const protocol = given.whole(`${prefix}Protocol`, 0, { min: 0, max: 255, error: 24_046 });
  return name === '' && address === '' && protocol === 0 ? null : { name, address, protocol };
}

/** `recipients`, and as many `recipientAddresses` and `recipientProtocols` where there are any. */
function agentsOf(given: Given): AqAgent[] {
  const names = given.list('recipients');
  const addresses = given.list('recipientAddresses');
  const protocols = given.list('recipientProtocols');
  const isEven = [addresses, protocols].every(({ length }) => length === 0 || length === names.length);
  if (!isEven)
    given.fault ??= aqFailed(
      TPERRNO.TPEINVAL,
      'recipientAddresses and recipientProtocols have as many members as recipients, or none',
    );
  return names.map((name, i) => ({
    name,
    address: addresses[i] ?? '',
    protocol: Number(protocols[i] ?? '0'),
  }));
}

interface Job {
  readonly queue: Queue;
  readonly part: Part;
  readonly transactions: Transactions;
  readonly options: Options;
  readonly messages: readonly Prepared[];
}

/** Messages on their way into the queue, one after the other, with pauses when there is no room yet. */
class Enqueuing {
  private readonly asked: AqAsked;
  private readonly job: Job;
  /** The caller's transaction, or one of our own for an array. */
  private work: Work | null;
  private readonly isOwn: boolean;
  private readonly ids: MessageId[] = [];
  private batch: BatchNumber = 0;

  constructor(asked: AqAsked, job: Job) {
    this.asked = asked;
    this.job = job;
    this.isOwn = job.part.work === null && job.messages.length > 1;
    this.work = this.isOwn ? asked.space.engine.openWork() : job.part.work;
  }

  run(): void {
    const { messages } = this.job;
    while (this.ids.length < messages.length) {
      const outcome = this.put(messages[this.ids.length] as Prepared);
      if (outcome === NO_ROOM_YET) return this.wait();
      if ('message' in outcome) return this.giveUp(outcome);
      if (outcome.later) return this.wait();
      if (outcome.fault !== 0) return this.giveUp(aqError(outcome.fault), outcome.batch);
      if (outcome.code !== QME.OK || outcome.id === null)
        return this.giveUp(aqFailed(outcome.code, this.explain(outcome)), outcome.batch);
      this.ids.push(outcome.id);
      this.batch = Math.max(this.batch, outcome.batch);
    }
    return this.done();
  }

  private put(message: Prepared): AqEnqueueOutcome | AqRefused | typeof NO_ROOM_YET {
    const { asked, job } = this;
    const { engine } = asked.space;
    const { queue, options } = job;
    const { kind, deviation } = options;
    const aq = { ...message.aq, enqueuedMs: engine.wallMs() };
    const { type, subtype, data } = message.body;
    const recipients = this.recipientsOf(message);
    if (recipients !== null && !Array.isArray(recipients)) return recipients;
    const corrid = corridOf(aq.correlation ?? '');
    const { identity } = asked.client;
    const request: AqEnqueueRequest = {
      queue,
      recipients,
      properties: {
        flags: corrid === null ? 0 : TPQ.TPQCORRID,
        priority: 50,
        corrid,
        replyqueue: '',
        failurequeue: '',
        cltid: identity.cltid,
        appkey: identity.appkey,
        urcode: 0,
        type,
        subtype,
        deliveryQos: 0,
        replyQos: 0,
        aq,
      },
      delayS: aq.delayS ?? 0,
      expirationS: aq.expirationS ?? NEVER,
      deviation,
      persistent: kind === PERSISTENT && queue.attributes.aq?.type !== AQ_TYPE.NON_PERSISTENT,
      data,
      work: this.work,
    };
    return engine.aqEnqueue(request);
  }

  /** null: the queue has no consumers. */
  private recipientsOf({ aq, recipients, body }: Prepared): Queue[] | null | AqRefused | typeof NO_ROOM_YET {
    const { queue, options } = this.job;
    if (queue.lanes === null) return null;
    const { engine } = this.asked.space;
    const lanes =
      recipients === null
        ? subscribersFor(queue, subjectOf(aq, { ...body, kind: options.kind }), options.kind)
        : lanesOf(engine, queue, recipients);
    return Array.isArray(lanes) && lanes.length === 0 ? aqError(24_033) : lanes;
  }

  private done(): void {
    const { asked, ids, work } = this;
    const { engine } = asked.space;
    if (this.isOwn && work !== null) this.batch = engine.commit(work);
    const msgids = ids.map((id) => aqMsgid(engine.space.spaceId, id));
    return asked.answer(this.batch, { msgids });
  }

  private giveUp(refused: AqRefused, batch: BatchNumber = 0): void {
    const { asked, job } = this;
    const { transaction } = job.part;
    if (transaction !== null && refused.fault === 0) job.transactions.failed(transaction, refused.failure);
    this.undo();
    if (transaction === null || this.ids.length === 0) return asked.refuse(refused, batch);
    const message = `${refused.message}; ${this.ids.length} messages of the array were enqueued: the transaction can only be rolled back`;
    return asked.refuse({ ...refused, message }, batch);
  }

  /** There is no room yet. What has not begun begins again; an array goes on where it is, and keeps the room that it has. */
  private wait(): void {
    const { asked, job, ids } = this;
    if (ids.length > 0)
      return asked.whenRoom(
        () => this.goOn(),
        () => this.undo(),
      );
    this.undo();
    return asked.whenRoom(() => enqueue(asked, job.transactions));
  }

  private goOn(): void {
    const { asked, job } = this;
    const { transaction } = job.part;
    if (transaction !== null && transaction.state !== 'active')
      return asked.refuse(
        aqFailed(TPERRNO.TPETIME, 'the transaction has been rolled back: end it with tpabort'),
      );
    const { doomed, attributes } = job.queue;
    if (doomed) return this.giveUp(aqError(25_205));
    return attributes.enqueuePaused ? this.giveUp(aqError(25_207)) : this.run();
  }

  /** Nothing of it is left: a part of an array in the caller's transaction would be half of what was asked for. */
  private undo(): void {
    const { asked, work, job } = this;
    const { transaction } = job.part;
    if (this.isOwn && work !== null) asked.space.engine.rollback(work, QME.QMEABORTED);
    this.work = null;
    if (transaction !== null && this.ids.length > 0) job.transactions.spoil(transaction);
  }

  private explain({ code }: AqEnqueueOutcome): string {
    const { name } = this.asked.space;
    if (code === QME.QMENOSPACE)
      return `queue space ${name} has no room for this message: disk, the limits of the space, or those of one transaction`;
    if (code === QME.QMEABORTED) return 'the daemon is stopping';
    return `queue space ${name} cannot answer (${failureName(code)}); see the daemon's log`;
  }
}
