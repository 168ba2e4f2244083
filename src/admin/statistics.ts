// STAT: what the daemon knows of itself, as one answer. Counting is done where things happen; this only gathers.
import { OP, TPERRNO } from '../../proto/codes.ts';
import type { ForwarderStatistics, QueueStatistics, SpaceStatistics, Stat } from '../../proto/message.ts';
import type { Client } from '../atmi/client.ts';
import { errorReply } from '../atmi/reply-port.ts';
import type { Services } from '../atmi/services.ts';
import type { Transactions } from '../atmi/transactions.ts';
import type { SpaceEngine } from '../engine/space-engine.ts';
import type { Queue } from '../queue/queue.ts';

/** A queue space as administration sees it. */
export interface NamedSpace {
  readonly engine: SpaceEngine;
  readonly name: string;
  readonly device: string;
  readonly aliases: readonly string[];
}

export interface StatisticsPorts {
  readonly version: string;
  readonly lmid: string;
  readonly uptimeMs: () => number;
  readonly connections: () => number;
  readonly transactions: Transactions;
  readonly services: Services;
  readonly spaces: () => readonly NamedSpace[];
  readonly forwarders: () => ForwarderStatistics[];
}

export function answerStat(ports: StatisticsPorts, client: Client, request: Stat): void {
  const { qspace } = request;
  const named = ports.spaces().filter((space) => qspace === '' || space.aliases.includes(qspace));
  if (qspace !== '' && named.length === 0) {
    return client.port.send(
      errorReply(request.id, TPERRNO.TPENOENT, `no TMQUEUE offers a queue space ${qspace}`),
    );
  }
  return client.port.send({
    op: OP.STAT,
    id: request.id,
    stat: {
      version: ports.version,
      lmid: ports.lmid,
      uptimeMs: Math.round(ports.uptimeMs()),
      connections: ports.connections(),
      transactions: ports.transactions.count,
      spaces: named.map(spaceStatistics),
      services: ports.services.statistics(),
      forwarders: ports.forwarders(),
    },
  });
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

function queueStatistics(queue: Queue): QueueStatistics {
  return {
    name: queue.attributes.name,
    messages: queue.messages,
    ready: queue.ready,
    delayed: queue.delayed,
    locked: queue.locked,
    bytes: queue.bytes,
    waiters: queue.waiting,
    enqueued: queue.enqueued,
    dequeued: queue.dequeued,
  };
}
