// pg-boss on PostgreSQL: jobs are sent, fetched in batches and completed.
import { spawnSync } from 'node:child_process';
import { chownSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:net';
import { once } from 'node:events';
import { hasModule, loadModule, missingOf } from './modules.ts';
import type { Lane, LaneOptions, Peer, PeerPlace, PeerServer } from './peer.ts';
import { findProgram, Program } from './program.ts';

/** What is used of the package. */
interface Boss {
  start(): Promise<unknown>;
  stop(options: object): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): void;
  createQueue(name: string): Promise<unknown>;
  send(name: string, data: object): Promise<string | null>;
  fetch(name: string, options: { batchSize: number }): Promise<readonly BossJob[]>;
  complete(name: string, ids: readonly string[]): Promise<unknown>;
}
interface BossJob {
  readonly id: string;
  readonly data: { readonly b: string };
}
type BossClass = new (options: object) => Boss;

const USER = 'postgres';
/** It has no call that waits for a job. */
const POLL_MS = 5;
const CONNECTIONS = 4;

export const pgBoss: Peer = {
  name: 'pg-boss',
  durability: 'PostgreSQL with fsync and synchronous_commit on; taken = complete() answered',
  install: 'apt-get install postgresql; npm install pg-boss',
  missing: (modules) =>
    missingOf({
      postgres: findProgram('postgres') !== '' && findProgram('initdb') !== '',
      'the package pg-boss': hasModule('pg-boss', modules),
    }),
  start: startPostgres,
  async connect({ port, queue, inFlight, modules }: LaneOptions): Promise<Lane> {
    const Class = classIn(loadModule('pg-boss', modules));
    const boss = new Class({
      host: '127.0.0.1',
      port,
      user: USER,
      database: USER,
      max: Math.min(inFlight, CONNECTIONS),
      supervise: false,
      schedule: false,
    });
    boss.on('error', (error) => {
      throw error;
    });
    await boss.start();
    await boss.createQueue(queue);
    return new BossLane(boss, queue);
  },
};

function classIn(exported: unknown): BossClass {
  const named = (exported as { PgBoss?: BossClass; default?: BossClass }) ?? {};
  return named.PgBoss ?? named.default ?? (exported as BossClass);
}

async function startPostgres({ directory, port }: PeerPlace): Promise<PeerServer> {
  const data = join(directory, 'data');
  const user = ordinaryUser();
  if (user !== null) chownSync(directory, user.uid, user.gid);
  const args = ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--no-sync'];
  const made = spawnSync(findProgram('initdb'), args, { ...user, encoding: 'utf8' });
  // After a crash it is there already.
  if (made.status !== 0 && !made.stderr.includes('not empty'))
    throw new Error(`initdb failed: ${made.stderr}`);
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: directory,
    fsync: 'on',
    synchronous_commit: 'on',
    max_connections: '200',
  };
  return Program.start({
    program: findProgram('postgres'),
    args: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    user,
    isReady: async () => {
      const socket = connect({ host: '127.0.0.1', port });
      await once(socket, 'connect');
      socket.destroy();
      return true;
    },
  });
}

/** PostgreSQL does not run as root: the user that its package made does then. */
function ordinaryUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${USER}:`));
  if (line === undefined) throw new Error(`as root the benchmark needs a user ${USER} for PostgreSQL`);
  const [, , uid, gid] = line.split(':');
  return { uid: Number(uid), gid: Number(gid) };
}

class BossLane implements Lane {
  private readonly boss: Boss;
  private readonly queue: string;

  constructor(boss: Boss, queue: string) {
    this.boss = boss;
    this.queue = queue;
  }

  async put(body: Buffer): Promise<void> {
    await this.boss.send(this.queue, { b: body.toString('base64') });
  }

  async take(most: number, onBody: (body: Buffer) => void): Promise<void> {
    for (;;) {
      const jobs = await this.boss.fetch(this.queue, { batchSize: most });
      for (const { data } of jobs) onBody(Buffer.from(data.b, 'base64'));
      if (jobs.length > 0) {
        await this.boss.complete(
          this.queue,
          jobs.map(({ id }) => id),
        );
        return;
      }
      await delay(POLL_MS);
    }
  }

  close(): Promise<void> {
    return this.boss.stop({ graceful: false, wait: false });
  }
}
