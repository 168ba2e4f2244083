// The verbs of DBMS_AQADM [oracle-aq 5]. Every change is a line of the log.
import { AQ } from '../../../proto/aq/verbs.ts';
import type { Clock } from '../../base/clock.ts';
import type { Ulog } from '../../base/ulog.ts';
import type { AqAsked } from '../asked.ts';
import type { AqHandler, AqHandlers } from '../requests.ts';
import { alterQueue, createQueue, dropQueue, startQueue, stopQueue } from './queues.ts';
import { addSubscriber, alterSubscriber, queueSubscribers, removeSubscriber } from './subscribers.ts';
import { createQueueTable, dropQueueTable } from './tables.ts';

/** Says what has changed. */
export type Said = (text: string) => void;

export interface AdminPorts {
  readonly clock: Clock;
  readonly ulog: Ulog;
}

export function adminHandlers({ clock, ulog }: AdminPorts): AqHandlers {
  const telling =
    (handle: (asked: AqAsked, said: Said) => void): AqHandler =>
    (asked) =>
      handle(asked, (text) => {
        const { client, space } = asked;
        ulog.info(text, { space: space.name, client: client.remote, user: client.identity.usrname });
      });
  return new Map<number, AqHandler>([
    [AQ.CREATE_QUEUE_TABLE, telling(createQueueTable)],
    [AQ.DROP_QUEUE_TABLE, telling(dropQueueTable)],
    [AQ.CREATE_QUEUE, telling(createQueue)],
    [AQ.ALTER_QUEUE, telling(alterQueue)],
    [AQ.START_QUEUE, telling(startQueue)],
    [AQ.STOP_QUEUE, telling((asked, said) => stopQueue(asked, said, clock))],
    [AQ.DROP_QUEUE, telling(dropQueue)],
    [AQ.ADD_SUBSCRIBER, telling(addSubscriber)],
    [AQ.ALTER_SUBSCRIBER, telling(alterSubscriber)],
    [AQ.REMOVE_SUBSCRIBER, telling(removeSubscriber)],
    [AQ.QUEUE_SUBSCRIBERS, queueSubscribers],
  ]);
}
