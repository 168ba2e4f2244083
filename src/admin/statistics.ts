// STAT: what the daemon knows of itself, as one answer. Counting is done where things happen; this only gathers.
import { OP, TPERRNO } from '../../proto/codes.ts';
import type { Stat } from '../../proto/message.ts';
import type {
  ForwarderStatistics,
  QueueStatistics,
  SpaceStatistics,
} from '../../proto/message-statistics.ts';
import type { Client } from '../atmi/client.ts';
import { errorReply } from '../atmi/reply-port.ts';
import type { Services } from '../atmi/services.ts';
import type { Transactions } from '../atmi/transactions.ts';
import { countsOf } from '../queue/counts.ts';
import type { Queue } from '../queue/queue.ts';
import type { NamedSpace } from './views.ts';

/** A queue space that could not be opened. */
export type ClosedSpace = Omit<NamedSpace, 'engine'>;

export interface StatisticsPorts {
  readonly version: string;
  readonly lmid: string;
  readonly uptimeMs: () => number;
  readonly connections: () => number;
  readonly transactions: Transactions;
  readonly services: Services;
  readonly spaces: () => readonly NamedSpace[];
  readonly closedSpaces: () => readonly ClosedSpace[];
  readonly forwarders: () => ForwarderStatistics[];
}

export function answerStat(ports: StatisticsPorts, client: Client, request: Stat): void {
  const { qspace } = request;
  const isWanted = ({ aliases }: ClosedSpace): boolean => qspace === '' || aliases.includes(qspace);
  const named = ports.spaces().filter(isWanted);
  const closed = ports.closedSpaces().filter(isWanted);
  if (qspace !== '' && named.length + closed.length === 0) {
    return client.port.send(
      errorReply(request.id, TPERRNO.TPENOENT, `no TMQUEUE offers a queue space ${qspace}`),
    );
  }
  return gather(named, (spaces) =>
    client.port.send({
      op: OP.STAT,
      id: request.id,
      stat: {
        version: ports.version,
        lmid: ports.lmid,
        uptimeMs: Math.round(ports.uptimeMs()),
        connections: ports.connections(),
        transactions: ports.transactions.count,
        spaces: [...spaces, ...closed.map(closedStatistics)],
        services: ports.services.statistics(),
        forwarders: ports.forwarders(),
      },
    }),
  );
}

/** Each space as it is when no large transaction is half done there. */
function gather(named: readonly NamedSpace[], done: (spaces: readonly SpaceStatistics[]) => void): void {
  const spaces: SpaceStatistics[] = [];
  let missing = named.length;
  if (missing === 0) return done(spaces);
  for (const [i, space] of named.entries()) {
    const look = (): void => {
      spaces[i] = spaceStatistics(space);
      missing--;
      if (missing === 0) done(spaces);
    };
    const { endings } = space.engine;
    if (endings.isBusy) endings.whenFree(null, look);
    else look();
  }
}

function spaceStatistics({ engine, name, device, aliases }: NamedSpace): SpaceStatistics {
  const log = engine.store.stat();
  return {
    name,
    aliases: [...aliases],
    device,
    state: engine.journal.failure === null ? 'open' : 'failed',
    messages: engine.space.messages.live,
    bytes: engine.space.liveBytes,
    logBytes: log.bytes,
    roomBytes: Math.max(0, log.room),
    batches: engine.journal.durable,
    records: engine.journal.recordsAppended,
    queues: engine.space.queues().map(queueStatistics),
  };
}

function closedStatistics({ name, device, aliases }: ClosedSpace): SpaceStatistics {
  const nothing = { messages: 0, bytes: 0, logBytes: 0, roomBytes: 0, batches: 0, records: 0 };
  return { name, aliases: [...aliases], device, state: 'not open', ...nothing, queues: [] };
}

function queueStatistics(queue: Queue): QueueStatistics {
  const counts = countsOf(queue);
  return {
    name: queue.attributes.name,
    messages: counts.messages,
    ready: counts.ready,
    delayed: counts.delayed,
    locked: counts.locked,
    bytes: counts.bytes + counts.memoryBytes,
    waiters: counts.waiting,
    enqueued: counts.enqueued,
    dequeued: counts.dequeued,
  };
}
