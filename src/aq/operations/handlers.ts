// The verbs of DBMS_AQ that work with messages [oracle-aq 4.1 to 4.7].
import { AQ } from '../../../proto/aq/verbs.ts';
import type { AqHandlers } from '../requests.ts';
import { dequeue, type DequeuePorts } from './dequeue.ts';
import { enqueue } from './enqueue.ts';
import { listen, type ListenPorts } from './listen.ts';

export function operationHandlers(ports: DequeuePorts & ListenPorts): AqHandlers {
  return new Map([
    [AQ.ENQUEUE, (asked) => enqueue(asked, ports.transactions)],
    [AQ.DEQUEUE, (asked) => dequeue(asked, ports)],
    [AQ.LISTEN, (asked) => listen(asked, ports)],
  ]);
}
