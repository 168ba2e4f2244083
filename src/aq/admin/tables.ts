// Queue tables [oracle-aq 5.1]: what their queues have in common, with the default exception queue that is made and dropped with each.
import { DBMS_AQADM } from '../../../proto/aq/constants.ts';
import { TPERRNO } from '../../../proto/codes.ts';
import { defaultExceptionQueue } from '../../queue/aq.ts';
import { AQ_TYPE, QUEUE_DEFAULTS } from '../../queue/attributes.ts';
import { OBJECT, type AqTable } from '../../queue/catalog.ts';
import { aqError, aqFailed, type AqAsked, type AqRefused } from '../asked.ts';
import { Given } from '../given.ts';
import { newNameFault } from '../names.ts';
import type { Plan } from './planned.ts';
import { isBusy } from './queues.ts';

const { NONE, TRANSACTIONAL } = DBMS_AQADM;
const COLUMNS: ReadonlySet<string> = new Set(['PRIORITY', 'ENQ_TIME', 'COMMIT_TIME']);
/** [oracle-aq 7.1] */
const SORT_LISTS: ReadonlySet<string> = new Set([
  '',
  'PRIORITY',
  'ENQ_TIME',
  'COMMIT_TIME',
  'PRIORITY,ENQ_TIME',
  'ENQ_TIME,PRIORITY',
  'PRIORITY,COMMIT_TIME',
]);
const COMPATIBLE: ReadonlySet<string> = new Set(['', '8.1', '10.0']);

export function createQueueTable(asked: AqAsked): Plan | AqRefused {
  const { request, space } = asked;
  const { qname: name } = request;
  const table = tableOf(new Given(request.members));
  if ('fault' in table) return table;
  const { engine } = space;
  const exceptionQueue = defaultExceptionQueue(name);
  const fault =
    newNameFault(name) ??
    (engine.space.catalog.table(name) === undefined
      ? null
      : aqError(24_001, `there is a queue table ${name}`)) ??
    (engine.space.queue(exceptionQueue) === undefined
      ? null
      : aqError(24_006, `there is a queue ${exceptionQueue}`));
  if (fault !== null) return fault;
  const aq = { table: name, type: AQ_TYPE.EXCEPTION, retentionS: 0, comment: '', consumer: null };
  const stopped = { enqueuePaused: true, dequeuePaused: true };
  const attributes = { ...QUEUE_DEFAULTS, ...stopped, name: exceptionQueue, order: 'fifo', aq };
  const define = [
    { kind: 'defineObject', type: OBJECT.TABLE, name, value: table },
    { kind: 'defineQueue', attributes },
  ] as const;
  return { change: { define }, said: `queue table ${name} created` };
}

function tableOf(given: Given): AqTable | AqRefused {
  const payloadType = given.text('payloadType');
  const sortList = given.text('sortList').toUpperCase().replaceAll(/\s/g, '');
  const isSecure = given.flag('secure', false);
  const table: AqTable = {
    payloadType:
      payloadType.toUpperCase() === 'RAW'
        ? 'RAW'
        : payloadType.toUpperCase() === 'JSON'
          ? 'JSON'
          : payloadType,
    sortList,
    multipleConsumers: given.flag('multipleConsumers', false),
    grouping: given.oneOf('messageGrouping', NONE, { of: [NONE, TRANSACTIONAL], error: 24_016 }),
    secure: false,
    compatible: given.text('compatible'),
    comment: given.comment(),
  };
  const fault = given.finish();
  if (fault !== null) return fault;
  if (isSecure) return aqFailed(TPERRNO.TPEINVAL, 'secure: queues that know their senders are not there yet');
  if (payloadType === '')
    return aqError(24_025, 'payloadType is missing: RAW, JSON or the name of an object type');
  if (newNameFault(payloadType) !== null) return aqError(24_025);
  for (const column of sortList === '' ? [] : sortList.split(','))
    if (!COLUMNS.has(column))
      return aqError(24_004, `sortList: ${column} is none of ENQ_TIME, PRIORITY, COMMIT_TIME`);
  if (!SORT_LISTS.has(sortList)) return aqError(24_036);
  if (COMPATIBLE.has(table.compatible)) return table;
  return aqError(24_085, `compatible: ${table.compatible} is not legal; legal: 8.1, 10.0`);
}

export function dropQueueTable(asked: AqAsked): Plan | AqRefused {
  const { request, space } = asked;
  const { qname: name } = request;
  const given = new Given(request.members);
  const isForced = given.flag('force', false);
  const fault = given.finish();
  if (fault !== null) return fault;
  const { engine } = space;
  if (engine.space.catalog.table(name) === undefined)
    return aqError(24_002, `there is no queue table ${name} in queue space ${space.name}`);
  const queues = engine.space.queues().filter(({ attributes }) => attributes.aq?.table === name);
  const own = defaultExceptionQueue(name);
  const others = queues.filter(({ attributes }) => attributes.name !== own);
  if (!isForced && others.length > 0)
    return aqError(
      24_012,
      `queue table ${name} has ${others.length} queues still: drop them first, or drop it with force`,
    );
  if (queues.some(isBusy)) return aqError(24_018, `open transactions have work on queues of ${name}`);
  const destroy = queues.map(({ attributes }) => attributes.name);
  const define = [{ kind: 'defineObject', type: OBJECT.TABLE, name, value: null }] as const;
  return { change: { destroy, define }, said: `queue table ${name} dropped` };
}
