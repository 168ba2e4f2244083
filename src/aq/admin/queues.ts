// Queues [oracle-aq 5.2]: made stopped in both directions, started, altered, stopped and dropped.
import { AQ_LIMIT } from '../../../proto/aq/limits.ts';
import { DBMS_AQADM } from '../../../proto/aq/constants.ts';
import { AQ_TYPE, QUEUE_DEFAULTS, type QueueAttributes } from '../../queue/attributes.ts';
import { orderOfTable } from '../../queue/catalog.ts';
import type { Queue } from '../../queue/queue.ts';
import { aqError, type AqAsked, type AqRefused } from '../asked.ts';
import { Given } from '../given.ts';
import { newNameFault, parseName } from '../names.ts';
import type { Plan } from './planned.ts';

const { NORMAL_QUEUE, EXCEPTION_QUEUE, INFINITE } = DBMS_AQADM;
/** [oracle-aq 5.2] */
const MAX_RETRIES_DEFAULT = 5;

interface Settings {
  readonly retries: number;
  readonly delayS: number;
  readonly retentionS: number;
  readonly comment: string;
}

export function createQueue(asked: AqAsked): Plan | AqRefused {
  const { request, space } = asked;
  const { qname: name } = request;
  const given = new Given(request.members);
  const tableName = given.text('queueTable');
  const type = given.oneOf('queueType', NORMAL_QUEUE, { of: [NORMAL_QUEUE, EXCEPTION_QUEUE], error: 24_009 });
  const isException = type === EXCEPTION_QUEUE;
  const retriesDefault = isException ? 0 : MAX_RETRIES_DEFAULT;
  const settings = settingsOf(given, { retries: retriesDefault, delayS: 0, retentionS: 0, comment: '' });
  const parsed = parseName(tableName);
  const fault =
    given.finish() ??
    newNameFault(name) ??
    ('fault' in parsed ? parsed : null) ??
    (isException ? exceptionFault(given, settings) : null);
  if (fault !== null || 'fault' in parsed) return fault ?? (parsed as AqRefused);
  const { engine } = space;
  const table = engine.space.catalog.table(parsed.name);
  if (table === undefined)
    return aqError(24_002, `there is no queue table ${tableName} in queue space ${space.name}`);
  if (engine.space.queue(name) !== undefined)
    return aqError(24_006, `there is a queue ${name} in queue space ${space.name}`);
  const { retries, delayS, retentionS, comment } = settings;
  const attributes: QueueAttributes = {
    ...QUEUE_DEFAULTS,
    name,
    order: isException ? 'fifo' : orderOfTable(table),
    outOfOrder: 'top,msgid',
    retries,
    delayS,
    enqueuePaused: true,
    dequeuePaused: true,
    aq: { table: parsed.name, type, retentionS, comment, consumer: null },
  };
  return defining(attributes, `queue ${name} created`);
}

/** What is given of a queue's settings, and of the others what they are. */
function settingsOf(given: Given, base: Settings): Settings {
  const { MAX_RETRIES, SECONDS } = AQ_LIMIT;
  return {
    retries: given.whole('maxRetries', base.retries, { min: 0, max: MAX_RETRIES, error: 24_007 }),
    delayS: given.whole('retryDelay', base.delayS, { min: 0, max: SECONDS, error: 24_013 }),
    retentionS: given.whole('retentionTime', base.retentionS, { min: INFINITE, max: SECONDS, error: 24_014 }),
    comment: given.comment(base.comment),
  };
}

function exceptionFault(given: Given, { retentionS }: Settings): AqRefused | null {
  if (retentionS !== 0) return aqError(24_073);
  return given.has('maxRetries') || given.has('retryDelay') ? aqError(24_074) : null;
}

export function alterQueue(asked: AqAsked): Plan | AqRefused {
  const queue = asked.queue(24_010);
  if ('fault' in queue) return queue;
  const { attributes } = queue;
  const { aq } = attributes;
  if (aq === null) return aqError(24_010);
  const given = new Given(asked.request.members);
  const { retries, delayS } = attributes;
  const settings = settingsOf(given, { retries, delayS, retentionS: aq.retentionS, comment: aq.comment });
  const fault = given.finish() ?? (aq.type === AQ_TYPE.EXCEPTION ? exceptionFault(given, settings) : null);
  if (fault !== null) return fault;
  const { retentionS, comment } = settings;
  const changed = {
    ...attributes,
    retries: settings.retries,
    delayS: settings.delayS,
    aq: { ...aq, retentionS, comment },
  };
  return defining(changed, `queue ${attributes.name} altered`);
}

export function startQueue(asked: AqAsked): Plan | AqRefused {
  const queue = asked.queue(24_010);
  if ('fault' in queue) return queue;
  const given = new Given(asked.request.members);
  const enqueue = given.flag('enqueue', true);
  const dequeue = given.flag('dequeue', true);
  const fault = given.finish();
  if (fault !== null) return fault;
  const { attributes } = queue;
  if (enqueue && attributes.aq?.type === AQ_TYPE.EXCEPTION) return aqError(24_017);
  const { enqueuePaused, dequeuePaused, name } = attributes;
  // TRUE starts, FALSE leaves as it is [oracle-aq 5.2].
  const changed = {
    ...attributes,
    enqueuePaused: enqueue ? false : enqueuePaused,
    dequeuePaused: dequeue ? false : dequeuePaused,
  };
  return defining(changed, `queue ${name} started`);
}

export function stopQueue(asked: AqAsked): Plan | AqRefused {
  const queue = asked.queue(24_010);
  if ('fault' in queue) return queue;
  const given = new Given(asked.request.members);
  const enqueue = given.flag('enqueue', true);
  const dequeue = given.flag('dequeue', true);
  const waits = given.flag('wait', true);
  const fault = given.finish();
  if (fault !== null) return fault;
  const { attributes } = queue;
  if (!waits && isBusy(queue)) return aqError(24_018);
  const changed = {
    ...attributes,
    enqueuePaused: enqueue || attributes.enqueuePaused,
    dequeuePaused: dequeue || attributes.dequeuePaused,
  };
  // Newcomers are refused from now on; who is there may end what he began.
  return { ...defining(changed, `queue ${attributes.name} stopped`), until: () => !isBusy(queue) };
}

export function dropQueue(asked: AqAsked): Plan | AqRefused {
  const queue = asked.queue(24_010);
  if ('fault' in queue) return queue;
  const given = new Given(asked.request.members);
  const fault = given.finish();
  if (fault !== null) return fault;
  const { name, enqueuePaused, dequeuePaused } = queue.attributes;
  if (!enqueuePaused || !dequeuePaused) return aqError(24_011);
  if (isBusy(queue)) return aqError(24_018, `open transactions have work on queue ${name}`);
  return { change: { destroy: [name] }, said: `queue ${name} dropped` };
}

function defining(attributes: QueueAttributes, said: string): Plan {
  return { change: { define: [{ kind: 'defineQueue', attributes }] }, said };
}

/** Whether open transactions have work on it. */
export function isBusy(queue: Queue): boolean {
  return [queue, ...(queue.lanes?.values() ?? [])].some(({ locked, pending }) => locked + pending > 0);
}
