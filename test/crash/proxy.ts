// A TCP proxy between a client and the daemon, to end or silence their connections in ways that a client library does not offer: with
// FIN, with RST, or by swallowing everything while both sockets stay open (a cut network).
import { createServer, connect, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export class Proxy {
  /** `//host:port` for clients. */
  address = '';
  private readonly target: string;
  private readonly server: Server;
  private readonly pairs: { client: Socket; daemon: Socket }[] = [];
  private silent = false;

  private constructor(target: string) {
    this.target = target;
    this.server = createServer({ noDelay: true }, (client) => this.accept(client));
  }

  /** In front of a daemon at `//host:port`; gone with the test. */
  static async start(target: string): Promise<Proxy> {
    const proxy = new Proxy(target);
    await new Promise<void>((resolve) => {
      proxy.server.listen(0, '127.0.0.1', resolve);
    });
    const address = proxy.server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
    proxy.address = `//127.0.0.1:${address.port}`;
    onTestFinished(() => proxy.close());
    return proxy;
  }

  /** Ends all connections to the daemon, as the death of a client does (`fin`) or its reset (`rst`). */
  cut(how: 'fin' | 'rst'): void {
    for (const { client, daemon } of this.pairs.splice(0)) {
      if (how === 'fin') daemon.end();
      else daemon.resetAndDestroy();
      client.destroy();
    }
  }

  /** From now on nothing gets through in either direction, and nobody is told. */
  swallow(): void {
    this.silent = true;
  }

  private accept(client: Socket): void {
    const [, host = '', port = ''] = /^\/\/(.*):(\d+)$/.exec(this.target) ?? [];
    const daemon = connect({ host, port: Number(port), noDelay: true });
    this.pairs.push({ client, daemon });
    this.pass(client, daemon);
    this.pass(daemon, client);
  }

  private pass(from: Socket, to: Socket): void {
    from.on('data', (chunk) => {
      if (!this.silent) to.write(chunk);
    });
    from.on('error', () => {});
    from.on('end', () => {
      if (!this.silent) to.end();
    });
  }

  private close(): Promise<void> {
    for (const { client, daemon } of this.pairs) {
      client.destroy();
      daemon.destroy();
    }
    return new Promise((resolve) => {
      this.server.close(() => resolve());
    });
  }
}
