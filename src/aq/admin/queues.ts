// Queues [oracle-aq 5.2]: made stopped in both directions, started, altered, stopped and dropped.
import { AQ_LIMIT } from '../../../proto/aq/limits.ts';
import { DBMS_AQADM } from '../../../proto/aq/constants.ts';
import { TPERRNO } from '../../../proto/codes.ts';
import type { Clock } from '../../base/clock.ts';
import { AQ_TYPE, QUEUE_DEFAULTS, type QueueAttributes } from '../../queue/attributes.ts';
import { orderOfTable } from '../../queue/catalog.ts';
import type { Queue } from '../../queue/queue.ts';
import { aqError, aqFailed, type AqAsked, type AqRefused } from '../asked.ts';
import { Given } from '../given.ts';
import { newNameFault, parseName } from '../names.ts';
import { Changing } from './changing.ts';
import type { Said } from './handlers.ts';

const { NORMAL_QUEUE, EXCEPTION_QUEUE, INFINITE } = DBMS_AQADM;
/** [oracle-aq 5.2] */
const MAX_RETRIES_DEFAULT = 5;
/** How often a stop looks whether the transactions on the queue are over, in milliseconds. */
const STOP_POLL_MS = 50;

interface Settings {
  readonly retries: number;
  readonly delayS: number;
  readonly retentionS: number;
  readonly comment: string;
}

export function createQueue(asked: AqAsked, said: Said): void {
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
    (isException ? exceptionFault(given) : null);
  if (fault !== null || 'fault' in parsed) return asked.refuse(fault ?? (parsed as AqRefused));
  const { engine } = space;
  const table = engine.space.catalog.table(parsed.name);
  if (table === undefined)
    return asked.refuse(aqError(24_002, `there is no queue table ${tableName} in queue space ${space.name}`));
  if (engine.space.queue(name) !== undefined)
    return asked.refuse(aqError(24_006, `there is a queue ${name} in queue space ${space.name}`));
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
  const define = { kind: 'defineQueue', attributes } as const;
  return new Changing(asked, [() => engine.define(define)]).run(said, `queue ${name} created`);
}

/** What is given of a queue's settings, and of the others what they are. */
function settingsOf(given: Given, base: Settings): Settings {
  const { MAX_RETRIES, SECONDS } = AQ_LIMIT;
  return {
    retries: given.whole('maxRetries', base.retries, { min: 0, max: MAX_RETRIES, error: 24_007 }),
    delayS: given.whole('retryDelay', base.delayS, { min: 0, max: SECONDS, error: 24_013 }),
    retentionS: given.whole('retentionTime', base.retentionS, { min: INFINITE, max: SECONDS, error: 24_014 }),
    comment: given.text('comment', base.comment).slice(0, AQ_LIMIT.COMMENT),
  };
}

function exceptionFault(given: Given): AqRefused | null {
  if (given.has('retentionTime')) return aqError(24_073);
  return given.has('maxRetries') || given.has('retryDelay') ? aqError(24_074) : null;
}

export function alterQueue(asked: AqAsked, said: Said): void {
  const queue = asked.queue(24_010);
  if ('fault' in queue) return asked.refuse(queue);
  const { attributes } = queue;
  const { aq } = attributes;
  if (aq === null) return undefined;
  const given = new Given(asked.request.members);
  const { retries, delayS } = attributes;
  const settings = settingsOf(given, { retries, delayS, retentionS: aq.retentionS, comment: aq.comment });
  const fault = given.finish() ?? (aq.type === AQ_TYPE.EXCEPTION ? exceptionFault(given) : null);
  if (fault !== null) return asked.refuse(fault);
  const { retentionS, comment } = settings;
  const changed = {
    ...attributes,
    retries: settings.retries,
    delayS: settings.delayS,
    aq: { ...aq, retentionS, comment },
  };
  return redefine(asked, changed, () => said(`queue ${attributes.name} altered`));
}

export function startQueue(asked: AqAsked, said: Said): void {
  const queue = asked.queue(24_010);
  if ('fault' in queue) return asked.refuse(queue);
  const given = new Given(asked.request.members);
  const enqueue = given.flag('enqueue', true);
  const dequeue = given.flag('dequeue', true);
  const fault = given.finish();
  if (fault !== null) return asked.refuse(fault);
  const { attributes } = queue;
  if (enqueue && attributes.aq?.type === AQ_TYPE.EXCEPTION) return asked.refuse(aqError(24_017));
  const { enqueuePaused, dequeuePaused, name } = attributes;
  // TRUE starts, FALSE leaves as it is [oracle-aq 5.2].
  const changed = {
    ...attributes,
    enqueuePaused: enqueue ? false : enqueuePaused,
    dequeuePaused: dequeue ? false : dequeuePaused,
  };
  return redefine(asked, changed, () => said(`queue ${name} started`));
}

export function stopQueue(asked: AqAsked, said: Said, clock: Clock): void {
  const queue = asked.queue(24_010);
  if ('fault' in queue) return asked.refuse(queue);
  const given = new Given(asked.request.members);
  const enqueue = given.flag('enqueue', true);
  const dequeue = given.flag('dequeue', true);
  const waits = given.flag('wait', true);
  const fault = given.finish();
  if (fault !== null) return asked.refuse(fault);
  const { attributes } = queue;
  if (!waits && isBusy(queue)) return asked.refuse(aqError(24_018));
  const changed = {
    ...attributes,
    enqueuePaused: enqueue || attributes.enqueuePaused,
    dequeuePaused: dequeue || attributes.dequeuePaused,
  };
  const whenIdle = (): void => {
    said(`queue ${attributes.name} stopped`);
  };
  if (!isBusy(queue)) return redefine(asked, changed, whenIdle);
  return new Stopping(asked, queue, clock).run(changed, whenIdle);
}

/** Nothing new begins on the queue; answered when the transactions on it are over. */
class Stopping {
  private readonly asked: AqAsked;
  private readonly queue: Queue;
  private readonly clock: Clock;
  private isCancelled = false;

  constructor(asked: AqAsked, queue: Queue, clock: Clock) {
    this.asked = asked;
    this.queue = queue;
    this.clock = clock;
  }

  run(attributes: QueueAttributes, done: () => void): void {
    const { asked } = this;
    const { client, request, space } = asked;
    const { code, later, batch } = space.engine.define({ kind: 'defineQueue', attributes });
    if (later || code !== 0)
      return asked.refuse(
        aqFailed(code, `queue space ${space.name} has no room for this; nothing has changed`),
      );
    client.pending.set(request.id, {
      cancel: () => {
        if (this.isCancelled) return false;
        this.isCancelled = true;
        asked.refuse(
          aqFailed(TPERRNO.TPGOTSIG, 'cancelled while transactions were open; the queue is stopped'),
        );
        return true;
      },
    });
    return this.look(batch, done);
  }

  private look(batch: number, done: () => void): void {
    if (this.isCancelled) return;
    if (!isBusy(this.queue) || this.asked.space.engine.journal.failure !== null) {
      done();
      this.asked.answer(batch);
      return;
    }
    this.clock.setTimer(this.clock.monoMs() + STOP_POLL_MS, () => this.look(batch, done));
  }
}

export function dropQueue(asked: AqAsked, said: Said): void {
  const queue = asked.queue(24_010);
  if ('fault' in queue) return asked.refuse(queue);
  const given = new Given(asked.request.members);
  const fault = given.finish();
  if (fault !== null) return asked.refuse(fault);
  const { name, enqueuePaused, dequeuePaused } = queue.attributes;
  if (!enqueuePaused || !dequeuePaused) return asked.refuse(aqError(24_011));
  if (isBusy(queue)) return asked.refuse(aqError(24_018, `open transactions have work on queue ${name}`));
  const { engine } = asked.space;
  return new Changing(asked, [() => engine.destroyQueue(name)]).run(said, `queue ${name} dropped`);
}

function redefine(asked: AqAsked, attributes: QueueAttributes, said: () => void): void {
  const { engine } = asked.space;
  const steps = [() => engine.define({ kind: 'defineQueue', attributes } as const)];
  new Changing(asked, steps).run(said, '');
}

/** Whether open transactions have work on it. */
export function isBusy(queue: Queue): boolean {
  return [queue, ...(queue.lanes?.values() ?? [])].some(({ locked, pending }) => locked + pending > 0);
}
