// RabbitMQ, quorum and classic queues: publisher confirms, and consumers that acknowledge with as many prefetched as are in flight.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { hasModule, loadModule, missingOf } from './modules.ts';
import type { Lane, LaneOptions, Peer, PeerName, PeerPlace, PeerServer } from './peer.ts';
import { findProgram, freePort, Program } from './program.ts';

/** What is used of the package. */
interface Amqplib {
  connect(url: string): Promise<Connection>;
}
interface Connection {
  createConfirmChannel(): Promise<Channel>;
  close(): Promise<void>;
}
interface Channel {
  assertQueue(name: string, options: object): Promise<unknown>;
  prefetch(count: number): Promise<unknown>;
  consume(name: string, onMessage: (message: Delivery | null) => void): Promise<unknown>;
  publish(
    exchange: string,
    key: string,
    body: Buffer,
    options: object,
    done: (error: Error | null) => void,
  ): boolean;
  ack(message: Delivery): void;
}
interface Delivery {
  readonly content: Buffer;
}

const PROGRAM = 'rabbitmq-server';

function rabbitmq(name: PeerName, type: 'quorum' | 'classic'): Peer {
  return {
    name,
    durability: `${type} queue, durable, persistent messages, publisher confirms; AMQP does not answer an acknowledgement`,
    install: 'apt-get install rabbitmq-server; npm install amqplib',
    missing: (modules) =>
      missingOf({
        [PROGRAM]: findProgram(PROGRAM) !== '',
        'the package amqplib': hasModule('amqplib', modules),
      }),
    start: startRabbit,
    async connect({ port, queue, inFlight, modules }: LaneOptions): Promise<Lane> {
      const amqplib = loadModule('amqplib', modules) as Amqplib;
      const connection = await amqplib.connect(`amqp://guest:guest@127.0.0.1:${port}`);
      const channel = await connection.createConfirmChannel();
      await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': type } });
      await channel.prefetch(inFlight);
      return new AmqpLane(connection, channel, queue);
    },
  };
}

export const rabbitmqQuorum = rabbitmq('rabbitmq-quorum', 'quorum');
export const rabbitmqClassic = rabbitmq('rabbitmq-classic', 'classic');

/** With a port mapper of its own, which Erlang would otherwise leave running. */
async function startRabbit({ directory, port }: PeerPlace): Promise<PeerServer> {
  const mapperPort = String(await freePort());
  const mapper = spawn(findProgram('epmd'), ['-port', mapperPort, '-address', '127.0.0.1'], {
    stdio: 'ignore',
  });
  const end = (): void => void mapper.kill('SIGKILL');
  process.once('exit', end);
  const env = {
    HOME: directory,
    ERL_EPMD_PORT: mapperPort,
    RABBITMQ_NODENAME: 'bench@localhost',
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(await freePort()),
    RABBITMQ_MNESIA_BASE: join(directory, 'mnesia'),
    RABBITMQ_LOG_BASE: join(directory, 'log'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, 'enabled_plugins'),
  };
  try {
    const program = await Program.start({
      program: serverScript(),
      args: [],
      env,
      isReady: () => greets(port),
    });
    return new Rabbit(program, mapper);
  } catch (error) {
    end();
    throw error;
  }
}

/** The script itself: the one in the PATH of Debian changes the user first, who may not write where we measure. */
function serverScript(): string {
  const direct = '/usr/lib/rabbitmq/bin/rabbitmq-server';
  try {
    execFileSync('test', ['-x', direct]);
    return direct;
  } catch {
    return findProgram(PROGRAM);
  }
}

/** Whether it answers the protocol's greeting: the port is open earlier. */
async function greets(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    socket.write(Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 0, 9, 1]));
    await once(socket, 'data');
    return true;
  } finally {
    socket.destroy();
  }
}

class Rabbit implements PeerServer {
  readonly pid: number;
  private readonly program: Program;
  private readonly mapper: ChildProcess;

  constructor(program: Program, mapper: ChildProcess) {
    this.program = program;
    this.mapper = mapper;
    this.pid = program.pid;
  }

  async stop(): Promise<void> {
    await this.program.stop();
    this.mapper.kill('SIGKILL');
  }

  async crash(): Promise<void> {
    await this.program.crash();
    this.mapper.kill('SIGKILL');
  }
}

class AmqpLane implements Lane {
  private readonly connection: Connection;
  private readonly channel: Channel;
  private readonly queue: string;
  private readonly arrived: Delivery[] = [];
  private consuming = false;
  private wake: () => void = () => {};

  constructor(connection: Connection, channel: Channel, queue: string) {
    this.connection = connection;
    this.channel = channel;
    this.queue = queue;
  }

  put(body: Buffer): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      // It keeps the buffer until it is written.
      const copy = Buffer.from(body);
      this.channel.publish('', this.queue, copy, { persistent: true }, (error) => {
        if (error === null || error === undefined) resolve();
        else reject(error);
      });
    });
  }

  async take(most: number, onBody: (body: Buffer) => void): Promise<void> {
    if (!this.consuming) await this.consume();
    if (this.arrived.length === 0) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    for (const message of this.arrived.splice(0, most)) {
      onBody(message.content);
      this.channel.ack(message);
    }
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  private async consume(): Promise<void> {
    this.consuming = true;
    await this.channel.consume(this.queue, (message) => {
      if (message !== null) this.arrived.push(message);
      this.wake();
    });
  }
}
