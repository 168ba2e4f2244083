// DEQUEUE and DEQUEUE_ARRAY [oracle-aq 4.2 to 4.6]: options checked, the lane of the consumer found, and the one answer of a request that the engine
// carries out now or when something comes.
import { DBMS_AQ } from '../../../proto/aq/constants.ts';
import type { AqItem } from '../../../proto/aq/message.ts';
import { AQ_LIMIT } from '../../../proto/aq/limits.ts';
import { QME, TPERRNO } from '../../../proto/codes.ts';
import type { Members } from '../../../proto/message.ts';
import type { Pending } from '../../atmi/client.ts';
import { failureName } from '../../atmi/reply-port.ts';
import type { Transactions } from '../../atmi/transactions.ts';
import { parseCondition } from '../../conditions/condition.ts';
import { isPattern, Pattern } from '../../conditions/like.ts';
import {
  AqDequeueRequest,
  failure,
  type AqMessage,
  type AqRefusal,
  type Criterion,
} from '../../engine/aq/request.ts';
import type { AqSession } from '../../engine/aq/session.ts';
import type { BatchNumber, Work } from '../../engine/request.ts';
import { AQ_TYPE } from '../../queue/attributes.ts';
import { reasonName } from '../reason.ts';
import type { Queue } from '../../queue/queue.ts';
import { agentKey } from '../../queue/recipients.ts';
import { aqError, aqFailed, type AqAsked, type AqRefused } from '../asked.ts';
import { Given } from '../given.ts';
import { aqMsgid, parseAqMsgid } from '../msgid.ts';
import { partOf, type Part } from '../transaction.ts';
import { corridOf } from './correlation.ts';
import { laneOf, NO_ROOM_YET } from './lanes.ts';
import { subjectOfQueued } from './subject.ts';

const { IMMEDIATE, ON_COMMIT, BROWSE, LOCKED, REMOVE, REMOVE_NODATA } = DBMS_AQ;
const { FIRST_MESSAGE, NEXT_MESSAGE, NEXT_TRANSACTION, FIRST_MESSAGE_MULTI_GROUP, NEXT_MESSAGE_MULTI_GROUP } =
  DBMS_AQ;
const { PERSISTENT, BUFFERED, PERSISTENT_OR_BUFFERED, FOREVER, NO_WAIT, NEVER } = DBMS_AQ;
const NAVIGATIONS = [
  FIRST_MESSAGE,
  NEXT_MESSAGE,
  NEXT_TRANSACTION,
  FIRST_MESSAGE_MULTI_GROUP,
  NEXT_MESSAGE_MULTI_GROUP,
];
const MS = 1000;

/** [oracle-aq 2.8] */
interface Options {
  readonly consumer: string;
  readonly mode: number;
  readonly navigation: number;
  readonly visibility: number;
  readonly waitS: number;
  readonly deliveryMode: number;
  readonly criterion: Criterion;
  /** 0: no array was asked for. */
  readonly arraySize: number;
}

export interface DequeuePorts {
  readonly transactions: Transactions;
  readonly monoMs: () => number;
  readonly sessions: { of(asked: AqAsked, queue: Queue): AqSession };
  /** Bytes of the data of one answer. */
  readonly bytesMax: number;
}

export function dequeue(asked: AqAsked, ports: DequeuePorts): void {
  const queue = asked.queue(25_205);
  if ('fault' in queue) return asked.refuse(queue);
  const { name, dequeuePaused, aq } = queue.attributes;
  if (aq?.type === AQ_TYPE.NON_PERSISTENT)
    return asked.refuse(
      aqError(25_226, `queue ${name} is not persistent: it notifies, and nothing stays on it`),
    );
  if (dequeuePaused) {
    const message = `queue ${name} of ${asked.space.name} is not started for dequeue`;
    return asked.refuse(aqError(25_226, message), queue.lastBatch);
  }
  const options = optionsOf(asked);
  if ('fault' in options) return asked.refuse(options);
  const fault = optionsFault(options, queue);
  if (fault !== null) return asked.refuse(fault);
  const lane = laneFor(asked, queue, options);
  if ('fault' in lane) return asked.refuse(lane, queue.lastBatch);
  const visibility = options.mode === BROWSE ? IMMEDIATE : options.visibility;
  const part = partOf(asked, ports.transactions, visibility);
  if ('fault' in part) return asked.refuse(part);
  const job = new AqDequeueJob(asked, { queue, lane, options, part, ports });
  if (job.wait) asked.client.pending.set(asked.request.id, job);
  return asked.space.engine.aqDequeue(job);
}

function optionsOf({ request, space }: AqAsked): Options | AqRefused {
  const given = new Given(request.members);
  const modes = [BROWSE, LOCKED, REMOVE, REMOVE_NODATA];
  const kinds = [PERSISTENT, BUFFERED, PERSISTENT_OR_BUFFERED];
  const options = {
    consumer: given.text('consumerName'),
    mode: given.oneOf('dequeueMode', REMOVE, { of: modes, error: 25_225 }),
    navigation: given.oneOf('navigation', NEXT_MESSAGE, { of: NAVIGATIONS, error: 25_233 }),
    visibility: given.oneOf('visibility', ON_COMMIT, { of: [ON_COMMIT, IMMEDIATE], error: 25_201 }),
    waitS: given.whole('wait', FOREVER, { min: FOREVER, max: AQ_LIMIT.SECONDS, error: 25_230 }),
    deliveryMode: given.oneOf('deliveryMode', PERSISTENT, { of: kinds, error: 25_299 }),
    arraySize: given.whole('arraySize', 0, { min: 1, max: AQ_LIMIT.ARRAY, error: 25_327 }),
  };
  const msgid = given.hex('msgid', AQ_LIMIT.MSGID);
  const correlation = given.text('correlation');
  const isExact = given.flag('exactCorrelation', false);
  const condition = given.text('condition');
  const transformation = given.text('transformation');
  const hasSignature = given.text('signature') !== '';
  const fault = given.finish();
  if (fault !== null) return fault;
  if (transformation !== '') return aqError(25_229, 'transformation: there are none here');
  if (hasSignature) return aqError(msgid === null ? 25_266 : 25_221);
  const criteria = [msgid !== null, correlation !== '', condition !== ''].filter(Boolean).length;
  if (criteria > 1) return aqError(25_240);
  const { spaceId } = space.engine.space;
  if (msgid !== null) return { ...options, criterion: { by: 'msgid', id: parseAqMsgid(spaceId, msgid) } };
  if (correlation !== '') return { ...options, criterion: correlated(correlation, isExact) };
  if (condition === '') return { ...options, criterion: { by: 'order' } };
  const parsed = parseCondition(condition, 'dequeue');
  if (!parsed.ok) return aqFailed(TPERRNO.TPEINVAL, `condition: ${parsed.fault}`);
  const matches = (message: AqMessage): boolean =>
    parsed.value.evaluate(subjectOfQueued(spaceId, message)) === true;
  return { ...options, criterion: { by: 'record', key: `d${condition}`, matches } };
}

/** Equal to it, or like it when it has wildcards [oracle-aq 4.2]. */
function correlated(correlation: string, isExact: boolean): Criterion {
  const key = `c${correlation}`;
  const corrid = corridOf(correlation);
  if ((isExact || !isPattern(correlation)) && corrid !== null) return { by: 'corrid', corrid, key };
  const pattern = Pattern.of(correlation);
  const matches = ({ properties }: AqMessage): boolean =>
    pattern?.matches(properties.aq?.correlation ?? '') === true && properties.aq?.correlation !== undefined;
  return { by: 'record', key, matches };
}

function optionsFault(options: Options, queue: Queue): AqRefused | null {
  const { consumer, mode, visibility, deliveryMode, arraySize, criterion } = options;
  const isException = queue.attributes.aq?.type === AQ_TYPE.EXCEPTION;
  if (consumer !== '' && isException) return aqError(25_243);
  if (consumer !== '' && queue.lanes === null) return aqError(25_256);
  if (consumer === '' && queue.lanes !== null) return aqError(25_231);
  if ((deliveryMode & BUFFERED) !== 0) {
    if (visibility === ON_COMMIT && mode !== BROWSE) return aqError(25_298);
    if (arraySize > 1) return aqError(25_335);
  }
  if (criterion.by === 'msgid' && arraySize > 0)
    return aqError(25_240, 'an array is not dequeued by msgid: it names one message');
  return null;
}

function laneFor(asked: AqAsked, queue: Queue, { consumer, waitS }: Options): Queue | AqRefused {
  if (queue.lanes === null) return queue;
  const agent = { name: consumer, address: '', protocol: 0 };
  const known = queue.lanes.get(agentKey(agent));
  if (known !== undefined) return known;
  // Somebody who does not subscribe may be named as a recipient while it waits.
  const made = waitS === NO_WAIT ? NO_ROOM_YET : laneOf(asked.space.engine, queue, agent);
  if (made === NO_ROOM_YET)
    return aqError(
      25_228,
      `there is nothing for ${consumer}, who does not subscribe to ${queue.attributes.name}`,
    );
  return made;
}

interface Place {
  readonly queue: Queue;
  readonly lane: Queue;
  readonly options: Options;
  readonly part: Part;
  readonly ports: DequeuePorts;
}

class AqDequeueJob extends AqDequeueRequest implements Pending {
  readonly queue: Queue;
  readonly lane: Queue;
  readonly criterion: Criterion;
  readonly mode: number;
  readonly navigation: number;
  readonly deliveryMode: number;
  readonly size: number;
  readonly work: Work | null;
  readonly session: AqSession;
  readonly wait: boolean;
  readonly deadlineMs: number;
  readonly bytesMax: number;
  readonly tx: number;
  private readonly asked: AqAsked;
  private readonly place: Place;

  constructor(asked: AqAsked, place: Place) {
    super();
    const { options, part, ports } = place;
    this.asked = asked;
    this.place = place;
    this.queue = place.queue;
    this.lane = place.lane;
    this.criterion = options.criterion;
    this.mode = options.mode;
    this.navigation = options.navigation;
    this.deliveryMode = options.deliveryMode;
    this.size = Math.max(1, options.arraySize);
    this.work = part.work;
    this.tx = part.transaction === null ? 0 : asked.request.tx;
    this.session = ports.sessions.of(asked, place.queue);
    // One that is named by its id is there or not [DESIGN 9].
    this.wait = options.waitS !== NO_WAIT && options.criterion.by !== 'msgid';
    this.deadlineMs = options.waitS === FOREVER ? Infinity : ports.monoMs() + options.waitS * MS;
    this.bytesMax = ports.bytesMax;
  }

  taken(messages: readonly AqMessage[], batch: BatchNumber): void {
    const isArray = this.place.options.arraySize > 0;
    const items = messages.map((message) => itemOf(this.asked, message, isArray));
    this.asked.answer(batch, {}, items);
  }

  refused(refusal: AqRefusal, batch: BatchNumber): void {
    const { transaction } = this.place.part;
    if (transaction !== null && refusal.fault === 0)
      this.place.ports.transactions.failed(transaction, refusal.code);
    this.asked.refuse(this.explain(refusal), batch);
  }

  cancel(): boolean {
    return this.asked.space.engine.aq.cancel(this, failure(TPERRNO.TPGOTSIG));
  }

  private explain({ fault, code }: AqRefusal): AqRefused {
    const where = `queue ${this.queue.attributes.name} of ${this.asked.space.name}`;
    if (fault === 25_228) return aqError(fault, `no message on ${where} in the time given`);
    if (fault === 25_226) return aqError(fault, `${where} is not started for dequeue`);
    if (fault !== 0) return aqError(fault);
    switch (code) {
      case TPERRNO.TPGOTSIG:
        return aqFailed(code, 'cancelled by the caller');
      case QME.QMEABORTED:
        return aqFailed(code, `${where}: it was dropped, the daemon is stopping, or the transaction ended`);
      default:
        return aqFailed(code, `${where} cannot answer (${failureName(code)}); see the daemon's log`);
    }
  }
}

/** A message as it is answered: properties that have their default are not there. */
export function itemOf(asked: AqAsked, message: AqMessage, isArray: boolean): AqItem {
  const { properties, data, group, originalQueue, reason } = message;
  const { spaceId } = asked.space.engine.space;
  const aq = properties.aq ?? { enqueuedMs: 0 };
  const members: Record<string, Members[string]> = {
    msgid: aqMsgid(spaceId, message.id),
    priority: aq.priority ?? 1,
    delay: aq.delayS ?? 0,
    expiration: aq.expirationS ?? NEVER,
    attempts: message.attempts,
    enqueueTime: aq.enqueuedMs,
    state: message.state,
    deliveryMode: message.persistent ? PERSISTENT : BUFFERED,
  };
  if (aq.correlation !== undefined) members['correlation'] = aq.correlation;
  if (aq.exceptionQueue !== undefined) members['exceptionQueue'] = aq.exceptionQueue;
  if (aq.originalMsgid !== undefined) members['originalMsgid'] = aq.originalMsgid;
  if (aq.userProperty !== undefined) members['userProperty'] = aq.userProperty;
  if (aq.sender !== undefined) {
    members['senderName'] = aq.sender.name;
    members['senderAddress'] = aq.sender.address;
    members['senderProtocol'] = aq.sender.protocol;
  }
  if (isArray && group !== 0) members['transactionGroup'] = String(group);
  if (originalQueue !== '') {
    members['originalQueue'] = originalQueue;
    members['expirationReason'] = reasonName(reason);
  }
  return { members, body: { type: data === null ? '' : properties.type, subtype: properties.subtype, data } };
}
