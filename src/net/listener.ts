// Listening sockets and the connections that came through them: accepting, the limit on connections, heartbeats, and closing them all.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Clock, Timer } from '../base/clock.ts';
import type { Ulog } from '../base/ulog.ts';
import { Connection, type Dispatcher } from './connection.ts';

export interface ListenerPorts {
  readonly clock: Clock;
  readonly ulog: Ulog;
  readonly dispatcher: Dispatcher;
  readonly connectionsMax: number;
}

export interface Endpoint {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

export class Listener {
  private readonly ports: ListenerPorts;
  private readonly servers: Server[] = [];
  private readonly connections = new Set<Connection>();
  private heartbeat: Timer | null = null;
  private closed = false;

  constructor(ports: ListenerPorts) {
    this.ports = ports;
    this.armHeartbeat();
  }

  get connectionCount(): number {
    return this.connections.size;
  }

  /** Listens; resolves with the address that was really taken. Rejects with a sentence that names the address. */
  async listen(endpoint: Endpoint): Promise<Endpoint> {
    const server = createServer({ noDelay: true }, (socket) => this.accept(socket));
    this.servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(new Error(explain(endpoint, error), { cause: error })));
      server.listen({ host: endpoint.host, port: endpoint.port, backlog: 1024 }, resolve);
    });
    server.on('error', (error) =>
      this.ports.ulog.error('accepting a connection failed', { error: error.message }),
    );
    const { port } = server.address() as AddressInfo;
    return { host: endpoint.host, port };
  }

  /** Accepts nothing more and tells every client why it is being closed. */
  async close(reason: string): Promise<void> {
    this.closed = true;
    this.heartbeat?.cancel();
    const closing = this.servers.map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    );
    for (const connection of this.connections) connection.close(reason);
    await Promise.all(closing);
  }

  private accept(socket: Socket): void {
    const { clock, dispatcher, connectionsMax, ulog } = this.ports;
    const connection = new Connection(socket, {
      dispatcher,
      now: () => clock.monoMs(),
      onEnd: (ended) => this.connections.delete(ended),
    });
    if (this.connections.size >= connectionsMax) {
      ulog.warn('connection refused: the limit on connections is reached', {
        limit: connectionsMax,
        remote: connection.remote,
      });
      connection.close(`the daemon serves at most ${connectionsMax} connections`);
      return;
    }
    this.connections.add(connection);
  }

  private armHeartbeat(): void {
    const { clock, dispatcher } = this.ports;
    if (dispatcher.limits.heartbeatMs === 0) return;
    const everyMs = Math.max(10, dispatcher.limits.heartbeatMs / 4);
    this.heartbeat = clock.setTimer(clock.monoMs() + everyMs, () => {
      const now = clock.monoMs();
      for (const connection of this.connections) connection.checkHeartbeat(now);
      if (!this.closed) this.armHeartbeat();
    });
  }
}

function explain(endpoint: Endpoint, error: NodeJS.ErrnoException): string {
  const where = `//${endpoint.host}:${endpoint.port}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return `cannot listen on ${where}: the port is in use by another process`;
    case 'EACCES':
      return `cannot listen on ${where}: not permitted for this user (ports below 1024 need rights)`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `cannot listen on ${where}: this machine has no such address`;
    default:
      return `cannot listen on ${where}: ${error.message}`;
  }
}
