// Listening sockets and the connections that came through them: accepting, the limit on connections, heartbeats, and closing them all.
import type { Clock, Timer } from '../base/clock.ts';
import type { Ulog } from '../base/ulog.ts';
import { Connection, type Dispatcher } from './connection.ts';
import type { ByteSocket, Endpoint, ListeningSocket, Network } from './network.ts';

export interface ListenerPorts {
  readonly clock: Clock;
  readonly ulog: Ulog;
  readonly network: Network;
  readonly dispatcher: Dispatcher;
  readonly connectionsMax: number;
}

export class Listener {
  private readonly ports: ListenerPorts;
  private readonly sockets: ListeningSocket[] = [];
  private readonly connections = new Set<Connection>();
  /** Since the start. */
  accepted = 0;
  refused = 0;
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
    const { network, ulog } = this.ports;
    const onSocket = (socket: ByteSocket): void => this.accept(socket);
    const onError = (error: Error): void =>
      ulog.error('accepting a connection failed', { error: error.message });
    try {
      const socket = await network.listen(endpoint, { onSocket, onError });
      this.sockets.push(socket);
      return { host: endpoint.host, port: socket.port };
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      throw new Error(explain(endpoint, error), { cause: error });
    }
  }

  /** Accepts nothing more and tells every client why it is being closed. */
  async close(reason: string): Promise<void> {
    this.closed = true;
    this.heartbeat?.cancel();
    const closing = this.sockets.map((socket) => socket.close());
    for (const connection of this.connections) connection.close(reason);
    await Promise.all(closing);
  }

  private accept(socket: ByteSocket): void {
    const { clock, dispatcher, connectionsMax, ulog } = this.ports;
    const connection = new Connection(socket, {
      dispatcher,
      clock,
      onEnd: (ended) => this.connections.delete(ended),
    });
    if (this.connections.size >= connectionsMax) {
      this.refused++;
      ulog.warn('connection refused: the limit on connections is reached', {
        limit: connectionsMax,
        remote: connection.remote,
      });
      connection.close(`the daemon serves at most ${connectionsMax} connections`);
      return;
    }
    this.accepted++;
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
