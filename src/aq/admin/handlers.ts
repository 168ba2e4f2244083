// The verbs of DBMS_AQADM [oracle-aq 5]. Every change is a line of the log.
import { AQ } from '../../../proto/aq/verbs.ts';
import type { Clock } from '../../base/clock.ts';
import type { Ulog } from '../../base/ulog.ts';
import type { AqHandler, AqHandlers } from '../requests.ts';
import { carryOut, type Planner, type PlanPorts } from './planned.ts';
import { alterQueue, createQueue, dropQueue, startQueue, stopQueue } from './queues.ts';
import { addSubscriber, alterSubscriber, queueSubscribers, removeSubscriber } from './subscribers.ts';
import { createQueueTable, dropQueueTable } from './tables.ts';

export interface AdminPorts {
  readonly clock: Clock;
  readonly ulog: Ulog;
}

export function adminHandlers({ clock, ulog }: AdminPorts): AqHandlers {
  const ports: PlanPorts = {
    clock,
    said: ({ client, space }, text) =>
      ulog.info(text, { space: space.name, client: client.remote, user: client.identity.usrname }),
  };
  const planned =
    (planner: Planner): AqHandler =>
    (asked) =>
      carryOut(asked, planner, ports);
  return new Map<number, AqHandler>([
    [AQ.CREATE_QUEUE_TABLE, planned(createQueueTable)],
    [AQ.DROP_QUEUE_TABLE, planned(dropQueueTable)],
    [AQ.CREATE_QUEUE, planned(createQueue)],
    [AQ.ALTER_QUEUE, planned(alterQueue)],
    [AQ.START_QUEUE, planned(startQueue)],
    [AQ.STOP_QUEUE, planned(stopQueue)],
    [AQ.DROP_QUEUE, planned(dropQueue)],
    [AQ.ADD_SUBSCRIBER, planned(addSubscriber)],
    [AQ.ALTER_SUBSCRIBER, planned(alterSubscriber)],
    [AQ.REMOVE_SUBSCRIBER, planned(removeSubscriber)],
    [AQ.QUEUE_SUBSCRIBERS, queueSubscribers],
  ]);
}
