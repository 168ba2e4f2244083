// The network port: listening sockets and the byte streams that come through them, and its Node implementation. A simulation hands in its
// own. It must not know frames or who reads the bytes.
import { createServer, type AddressInfo } from 'node:net';

export interface Endpoint {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** The members of a Node socket that a connection uses, and no more. */
export interface ByteSocket {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly destroyed: boolean;
  /** Bytes that were written and not sent. */
  readonly writableLength: number;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'drain' | 'end' | 'close', listener: () => void): unknown;
  write(bytes: Uint8Array): unknown;
  cork(): void;
  uncork(): void;
  pause(): unknown;
  resume(): unknown;
  end(): unknown;
  destroy(): unknown;
}

export interface ListeningSocket {
  /** The port that was really taken. */
  readonly port: number;
  /** Accepts nothing more; resolves when the last connection has ended. */
  close(): Promise<void>;
}

export interface Network {
  /** Rejects when the address cannot be had. `onError`: accepting a connection failed. */
  listen(
    endpoint: Endpoint,
    ports: { onSocket: (socket: ByteSocket) => void; onError: (error: Error) => void },
  ): Promise<ListeningSocket>;
}

const BACKLOG = 1024;

export const nodeNetwork: Network = {
  listen: async ({ host, port }, { onSocket, onError }) => {
    const server = createServer({ noDelay: true }, onSocket);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, backlog: BACKLOG }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    server.on('error', onError);
    return {
      port: (server.address() as AddressInfo).port,
      close: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
        }),
    };
  },
};
