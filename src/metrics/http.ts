// The HTTP listener of /metrics, /healthz and /readyz. It answers GET and HEAD, whatever else comes gets a short refusal. Everything has a limit:
// connections, header bytes, time to send a request and to take an answer; so that a slow, silent or hostile client costs a little memory for a
// few seconds and never a turn of the loop. It must not know where the numbers come from.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Ulog } from '../base/ulog.ts';
import type { MetricsPage } from './page.ts';
import type { Readiness } from './readiness.ts';

/** Limits, in milliseconds where they are times. */
export const HTTP_LIMIT = {
  CONNECTIONS: 32,
  HEADER_BYTES: 8192,
  /** From the first byte of a connection or request to the end of its head. */
  HEAD_MS: 5000,
  REQUEST_MS: 10_000,
  /** Nothing in either direction. */
  SILENCE_MS: 10_000,
  /** An answer that is not taken by then is cut off. */
  ANSWER_MS: 30_000,
  REQUESTS_PER_CONNECTION: 10_000,
} as const;
/** A refusal may take so long to be read before the connection is cut, in milliseconds. */
const LINGER_MS = 500;
const CHECK_EVERY_MS = 1000;

export interface HttpPorts {
  readonly page: Pick<MetricsPage, 'make' | 'contentType'>;
  readonly readiness: Readiness;
  readonly ulog: Ulog;
  /** Tests wait less. */
  readonly limits?: Readonly<Record<keyof typeof HTTP_LIMIT, number>>;
}

export interface HttpListener {
  readonly address: { readonly host: string; readonly port: number };
  /** Ends every connection. */
  close(): Promise<void>;
}

/** Listens; rejects when the address cannot be had. */
export async function listenHttp(
  { host, port }: { readonly host: string; readonly port: number },
  ports: HttpPorts,
): Promise<HttpListener> {
  const limits = ports.limits ?? HTTP_LIMIT;
  const server = createServer(
    {
      maxHeaderSize: limits.HEADER_BYTES,
      headersTimeout: limits.HEAD_MS,
      requestTimeout: limits.REQUEST_MS,
      keepAliveTimeout: limits.SILENCE_MS,
      connectionsCheckingInterval: Math.min(CHECK_EVERY_MS, limits.HEAD_MS),
    },
    (request, response) => void answer(request, { response, ports }),
  );
  server.maxConnections = limits.CONNECTIONS;
  server.maxRequestsPerSocket = limits.REQUESTS_PER_CONNECTION;
  server.setTimeout(limits.SILENCE_MS, (socket) => socket.destroy());
  server.on('clientError', refuseBytes);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', (error) =>
    ports.ulog.error('accepting a connection for metrics failed', { error: error.message }),
  );
  return { address: { host, port: (server.address() as AddressInfo).port }, close: () => close(server) };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

interface Asked {
  readonly response: ServerResponse;
  readonly ports: HttpPorts;
}

async function answer(request: IncomingMessage, asked: Asked): Promise<void> {
  const { response, ports } = asked;
  response.on('error', () => {});
  // What comes behind a head with a body is not looked at.
  const hasBody =
    'transfer-encoding' in request.headers || Number(request.headers['content-length'] ?? 0) > 0;
  if (hasBody) response.shouldKeepAlive = false;
  request.resume();
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    return text(asked, 405, 'only GET and HEAD are answered here');
  }
  const [path] = (request.url ?? '').split('?');
  switch (path) {
    case '/healthz':
      return text(asked, 200, 'alive');
    case '/readyz':
      return text(asked, ports.readiness.isReady ? 200 : 503, ports.readiness.text);
    case '/metrics':
      return await metrics(request, asked);
    default:
      return text(asked, 404, 'there is /metrics, /healthz and /readyz');
  }
}

function text({ response }: Asked, status: number, line: string): void {
  const body = Buffer.from(`${line}\n`);
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': body.length,
    'Cache-Control': 'no-store',
  });
  response.end(body);
}

async function metrics(request: IncomingMessage, asked: Asked): Promise<void> {
  const { response, ports } = asked;
  let page: Buffer[];
  try {
    page = await ports.page.make();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    ports.ulog.error('the metrics could not be gathered', { error: reason });
    return text(asked, 500, 'the metrics could not be gathered: see the log');
  }
  const bytes = page.reduce((sum, piece) => sum + piece.length, 0);
  response.writeHead(200, { 'Content-Type': ports.page.contentType, 'Content-Length': bytes });
  if (request.method === 'HEAD') return void response.end();
  const timer = setTimeout(() => response.destroy(), (ports.limits ?? HTTP_LIMIT).ANSWER_MS);
  response.once('close', () => clearTimeout(timer));
  for (const piece of page) {
    if (response.destroyed) return undefined;
    if (!response.write(piece)) await drained(response);
  }
  response.end();
  return undefined;
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}

/** Bytes that are no request: said so, if it can be, and the connection is cut. */
function refuseBytes(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable) return void socket.destroy();
  const status = STATUS[error.code ?? ''] ?? '400 Bad Request';
  const body = `${status}\n`;
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
  return undefined;
}

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
