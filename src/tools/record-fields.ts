// What a record says, as names and values for people and programs: ids as clients see them, queues by name, instants as dates.
// Invariant: names and values are one flat object, the same for lines and for JSON. It must not know batches.
import { formatTransactionId } from '../base/transaction-id.ts';
import type { AdminEvent } from '../engine/admin-record.ts';
import type { BranchEvent } from '../engine/branch-record.ts';
import { decodeMessage } from '../engine/message-record.ts';
import { objectClassName } from '../queue/catalog.ts';
import {
  CLOCK,
  FINISHED,
  MEMBER,
  REMOVAL,
  THRESHOLD,
  type Enqueued,
  type LoggedEvent,
} from '../queue/event.ts';
import type { MessageId } from '../queue/message.ts';
import { codeName, reasonWord, type Provenance } from '../queue/provenance.ts';
import type { QueueSpace } from '../queue/space.ts';
import { queueName } from './records.ts';
import { corridText, msgidText, plainText, wallText } from './text.ts';

export type Fields = Record<string, string | number | boolean | object>;

export interface FieldOptions {
  /** The message's data too. */
  readonly data: boolean;
}

const REASONS: Readonly<Record<number, string>> = {
  [REMOVAL.DEQUEUED]: 'dequeued',
  [REMOVAL.DROPPED]: 'retries used up',
  [REMOVAL.EXPIRED]: 'expired',
  [REMOVAL.PURGED]: 'by an administrator',
  [REMOVAL.SETTLED]: 'settled',
};

/** `space`: as it was before the event. */
export function fieldsOf(
  record: { event: LoggedEvent; bytes: Uint8Array },
  space: QueueSpace,
  options: FieldOptions,
): Fields {
  const { event, bytes } = record;
  const idOf = (id: MessageId): string => msgidText(space.spaceId, id);
  switch (event.kind) {
    case 'enqueued':
      return {
        id: idOf(event.id),
        queue: queueName(space, event.queue),
        ...messageFields(event, bytes, options),
      };
    case 'removed':
      return {
        id: idOf(event.id),
        ...whereItIs(space, event.id),
        reason: REASONS[event.reason] ?? event.reason,
      };
    case 'retried':
      return {
        id: idOf(event.id),
        ...whereItIs(space, event.id),
        retries: event.retries,
        ...dueFields(event),
      };
    case 'moved':
      return {
        id: idOf(event.id),
        newId: idOf(event.newId),
        from: queueName(space, event.from),
        queue: queueName(space, event.queue),
        retries: event.retries,
        at: wallText(event.atMs),
      };
    case 'provenanceSet':
      return {
        id: idOf(event.id),
        ...whereItIs(space, event.id),
        ...provenanceFields(event.provenance, space),
      };
    case 'changed':
    case 'requeued':
    case 'heuristic':
      return adminFields(event, space);
    case 'placed':
      return { id: idOf(event.id), ...whereItIs(space, event.id), ...placeFields(event, space) };
    case 'thresholdSet': {
      const threshold = event.threshold === THRESHOLD.PERSISTENT ? 'persistent' : 'non-persistent';
      return { queue: queueName(space, event.queue), threshold, armed: event.armed };
    }
    case 'queueDoomed':
      return { queue: queueName(space, event.queue), number: event.queue };
    case 'queueDefined':
      return { queue: event.attributes.name, number: event.queue, attributes: event.attributes };
    case 'finished': {
      const how = event.how === FINISHED.PROCESSED ? 'processed' : 'given up';
      const until = event.untilMs === Infinity ? {} : { untilMs: event.untilMs };
      return { id: idOf(event.id), ...whereItIs(space, event.id), how, at: wallText(event.atMs), ...until };
    }
    case 'objectDefined':
      return { class: objectClassName(event.type), name: event.name, value: event.value ?? 'gone' };
    case 'spaceDefined':
      return { name: event.attributes.name, nextQueue: event.nextQueue, attributes: event.attributes };
    default:
      return branchFields(event, space);
  }
}

function placeFields({ position }: Extract<LoggedEvent, { kind: 'placed' }>, space: QueueSpace): Fields {
  const { base, top, priority, label } = position;
  const place = label === null ? {} : { label: `0x${Buffer.from(label).toString('hex')}` };
  return { before: msgidText(space.spaceId, base), top, priority, ...place };
}

function adminFields(event: AdminEvent, space: QueueSpace): Fields {
  switch (event.kind) {
    case 'changed':
      return {
        id: msgidText(space.spaceId, event.id),
        ...whereItIs(space, event.id),
        priority: event.priority,
        ...dueFields(event),
        ...(event.timing === null ? {} : timingFields(event.timing)),
      };
    case 'requeued':
      return {
        id: msgidText(space.spaceId, event.id),
        newId: msgidText(space.spaceId, event.newId),
        from: queueName(space, event.from),
        queue: queueName(space, event.queue),
        at: wallText(event.atMs),
      };
    default: {
      const { kind: _kind, transaction, ...rest } = event;
      return { transaction: formatTransactionId(transaction), ...rest };
    }
  }
}

function branchFields(event: BranchEvent, space: QueueSpace): Fields {
  switch (event.kind) {
    case 'branchPrepared':
    case 'branchEnded':
    case 'committed': {
      const { kind: _kind, transaction, ...rest } = event;
      return { transaction: formatTransactionId(transaction), ...rest };
    }
    case 'joined': {
      const member = event.member === MEMBER.LOCKED ? 'taken' : 'enqueued';
      return {
        id: msgidText(space.spaceId, event.id),
        ...whereItIs(space, event.id),
        branch: event.branch,
        member,
      };
    }
    case 'outcomesBegin':
      return { forgottenThrough: formatTransactionId(event.forgotten), committed: event.ids.length };
    default:
      return event;
  }
}

function provenanceFields(provenance: Provenance, space: QueueSpace): Fields {
  const { name, queue, id, reason, code, rcode, retries, atMs, count } = provenance;
  return {
    from: name,
    fromNumber: queue,
    idThere: msgidText(space.spaceId, id),
    reason: reasonWord(reason),
    ...(code === 0 ? {} : { code: codeName(code) }),
    ...(rcode === 0 ? {} : { rcode }),
    retries,
    at: wallText(atMs),
    count,
  };
}

function whereItIs(space: QueueSpace, id: MessageId): Fields {
  const entry = space.entryById(id);
  return entry === 0 ? {} : { queue: queueName(space, space.entries.queue.get(entry)) };
}

function messageFields(event: Enqueued, bytes: Uint8Array, options: FieldOptions): Fields {
  const { properties: given, timing } = event;
  const { data } = decodeMessage(bytes, event.id);
  return {
    type: given.type === '' ? 'none' : given.type,
    ...(given.subtype === '' ? {} : { subtype: given.subtype }),
    dataBytes: data?.length ?? 0,
    priority: given.priority,
    ...(given.corrid === null ? {} : { corrid: corridText(given.corrid) }),
    ...(given.replyqueue === '' ? {} : { replyqueue: given.replyqueue }),
    ...(given.failurequeue === '' ? {} : { failurequeue: given.failurequeue }),
    flags: `0x${given.flags.toString(16)}`,
    ...(given.deliveryQos === 0 ? {} : { deliveryQos: given.deliveryQos }),
    ...(given.replyQos === 0 ? {} : { replyQos: given.replyQos }),
    urcode: given.urcode,
    appkey: given.appkey,
    cltid: Buffer.from(given.cltid).toString('hex'),
    retries: event.retries,
    ...dueFields(event),
    ...(event.top ? { top: true } : {}),
    ...(timing === null ? {} : timingFields(timing)),
    ...(options.data && data !== null ? dataFields(data) : {}),
  };
}

/** Instants of the space's own time are numbers, those of the wall clock dates. */
function dueFields({ dueMs, dueClock }: { dueMs: number; dueClock?: number }): Fields {
  if (dueMs === 0) return {};
  return { due: dueClock === CLOCK.WALL ? wallText(dueMs) : dueMs };
}

function timingFields(timing: NonNullable<Enqueued['timing']>): Fields {
  const { sortTimeMs, sortExpiryMs, expiryMs, expiryClock } = timing;
  const expires =
    expiryMs === Infinity ? 'never' : expiryClock === CLOCK.WALL ? wallText(expiryMs) : expiryMs;
  return {
    sortTime: wallText(sortTimeMs),
    sortExpiry: sortExpiryMs === Infinity ? 'never' : wallText(sortExpiryMs),
    expires,
  };
}

function dataFields(data: Uint8Array): Fields {
  const text = plainText(data);
  return text === null ? { hex: Buffer.from(data).toString('hex') } : { data: text };
}
