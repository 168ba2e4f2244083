// Redis Streams: XADD, and a consumer group that acknowledges and deletes.
import { findProgram, Program } from './program.ts';
import type { Lane, LaneOptions, Peer, PeerPlace, PeerServer } from './peer.ts';
import { openRedis, type Redis, type Resp } from './resp.ts';

const GROUP = 'bench';

/** A server whose every answer to a write comes after the sync of the append-only file; BullMQ uses it too. */
export function startRedis({ directory, port }: PeerPlace): Promise<PeerServer> {
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
  return Program.start({
    program: findProgram('redis-server'),
    args: ['--bind', '127.0.0.1', '--port', String(port), '--dir', directory, ...durable],
    isReady: async () => {
      const redis = await openRedis(port);
      try {
        await redis.ask('PING');
        return true;
      } finally {
        redis.close();
      }
    },
  });
}

export const REDIS_DURABILITY = 'redis-server --appendonly yes --appendfsync always';
export const REDIS_INSTALL = 'apt-get install redis-server';
export const missingRedis = (): string => (findProgram('redis-server') === '' ? 'redis-server' : '');

export const redis: Peer = {
  name: 'redis',
  durability: `${REDIS_DURABILITY}; taken = XACK and XDEL answered`,
  install: REDIS_INSTALL,
  missing: missingRedis,
  start: startRedis,
  async connect({ port, queue }: LaneOptions): Promise<Lane> {
    const client = await openRedis(port);
    // Whoever comes second is told that it is there.
    await client.ask('XGROUP', 'CREATE', queue, GROUP, '0', 'MKSTREAM').catch(() => null);
    return new StreamLane(client, queue);
  },
};

class StreamLane implements Lane {
  private readonly redis: Redis;
  private readonly queue: string;

  constructor(client: Redis, queue: string) {
    this.redis = client;
    this.queue = queue;
  }

  async put(body: Buffer): Promise<void> {
    await this.redis.ask('XADD', this.queue, '*', 'b', body);
  }

  async take(most: number, onBody: (body: Buffer) => void): Promise<void> {
    const { queue } = this;
    const read = [
      'XREADGROUP',
      'GROUP',
      GROUP,
      'c',
      'COUNT',
      String(most),
      'BLOCK',
      '0',
      'STREAMS',
      queue,
      '>',
    ];
    const ids: Buffer[] = [];
    for (const [id, fields] of entriesIn(await this.redis.ask(...read))) {
      ids.push(id);
      onBody(fields);
    }
    if (ids.length === 0) return;
    const acknowledged = this.redis.ask('XACK', queue, GROUP, ...ids);
    const deleted = this.redis.ask('XDEL', queue, ...ids);
    await Promise.all([acknowledged, deleted]);
  }

  close(): Promise<void> {
    this.redis.close();
    return Promise.resolve();
  }
}

/** [[stream, [[id, ['b', body]], …]]] */
function entriesIn(answer: Resp): [id: Buffer, body: Buffer][] {
  const stream = itemsOf(itemsOf(answer)[0]);
  return itemsOf(stream[1]).map((entry) => {
    const [id, fields] = itemsOf(entry);
    const body = itemsOf(fields)[1];
    if (!Buffer.isBuffer(id) || !Buffer.isBuffer(body)) throw new Error('this is no entry of a stream');
    return [id, body];
  });
}

function itemsOf(answer: Resp | undefined): readonly Resp[] {
  return Array.isArray(answer) ? (answer as readonly Resp[]) : [];
}
