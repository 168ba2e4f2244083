// The HTTP listener of metrics and health, on loopback, with short limits: what it answers, what it refuses, and what a bad client costs.
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HTTP_LIMIT, listenHttp } from '../../src/metrics/http.ts';
import { Readiness } from '../../src/metrics/readiness.ts';
import { eventually } from '../support/in-process.ts';

/** Short where a test waits for the limit; long where a slow machine might reach it. */
const LIMITS = { ...HTTP_LIMIT, CONNECTIONS: 3, ANSWER_MS: 300, SILENCE_MS: 60_000 };
const SHORT = { ...LIMITS, HEAD_MS: 100, REQUEST_MS: 200, SILENCE_MS: 300 };

interface Listening {
  readonly port: number;
  readonly readiness: Readiness;
  readonly get: (path: string, options?: RequestInit) => Promise<Response>;
}

async function listening(
  page: () => Promise<Buffer[]>,
  limits: Record<keyof typeof HTTP_LIMIT, number> = LIMITS,
): Promise<Listening> {
  const readiness = new Readiness();
  const ulog = { info: () => {}, warn: () => {}, error: () => {} };
  const ports = { page: { make: page, contentType: 'text/plain; version=0.0.4' }, readiness, ulog, limits };
  const http = await listenHttp({ host: '127.0.0.1', port: 0 }, ports);
  onTestFinished(() => http.close());
  const { port } = http.address;
  const get = (path: string, options: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, { ...options, headers: { connection: 'close' } });
  return { port, readiness, get };
}

const small = async (): Promise<Buffer[]> => [Buffer.from('a 1\n'), Buffer.from('b 2\n')];

/** A raw connection; `said` is what came when it ended. */
function raw(port: number): { socket: Socket; ended: Promise<string> } {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  let said = '';
  socket.on('data', (chunk) => (said += String(chunk)));
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  const ended = new Promise<string>((resolve) => {
    socket.once('end', () => resolve(said));
    socket.once('close', () => resolve(said));
  });
  return { socket, ended };
}

describe('a request', () => {
  it('for the metrics gets the page whole', async () => {
    const { get } = await listening(small);
    const answer = await get('/metrics?x=1');
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'text/plain; version=0.0.4',
      'a 1\nb 2\n',
    ]);
    const head = await get('/metrics', { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '8', '']);
  });

  it('for health and readiness gets one line; readiness is 503 but when it is ready', async () => {
    const { get, readiness } = await listening(small);
    const ready = async (): Promise<[number, string]> => {
      const answer = await get('/readyz');
      return [answer.status, await answer.text()];
    };
    expect(await ready()).toEqual([503, 'starting\n']);
    readiness.recovering(0.426);
    expect(await ready()).toEqual([503, 'recovering 42 %\n']);
    readiness.without('queue space X is not open: its log is damaged');
    readiness.ready();
    expect(await ready()).toEqual([200, 'ready; queue space X is not open: its log is damaged\n']);
    readiness.failed('the log of queue space Y failed');
    readiness.stopping();
    readiness.ready();
    expect(await ready()).toEqual([503, 'failed: the log of queue space Y failed\n']);
    expect(await (await get('/healthz')).text()).toBe('alive\n');
  });

  it('that is none of these is refused in words', async () => {
    const { get } = await listening(small);
    const other = await get('/metric');
    expect([other.status, await other.text()]).toEqual([404, 'there is /metrics, /healthz and /readyz\n']);
    const post = await get('/metrics', { method: 'POST', body: 'x'.repeat(100_000) });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('is answered with 500 when the page cannot be made', async () => {
    const { get } = await listening(() => Promise.reject(new Error('no')));
    expect((await get('/metrics')).status).toBe(500);
  });
});

/** A slow machine may need several attempts within these limits. */
function stillAnswers(get: Listening['get']): Promise<boolean> {
  return eventually(async () => (await get('/healthz').catch(() => null))?.status === 200);
}

describe('a client', () => {
  it.each([
    ['sends what is no request', 'garbage\r\n\r\n', '400 Bad Request'],
    ['sends too long a head', `GET / HTTP/1.1\r\nx: ${'x'.repeat(10_000)}\r\n\r\n`, '431 '],
    ['stops in the middle of a head', 'GET /metrics HTTP/1.1\r\nHost: x\r\n', '408 Request Timeout'],
  ])('that %s is told so, and cut off', async (_name, bytes, said) => {
    const { port, get } = await listening(small, SHORT);
    const { socket, ended } = raw(port);
    socket.write(bytes);
    expect(await ended).toContain(`HTTP/1.1 ${said}`);
    expect(await stillAnswers(get)).toBe(true);
  });

  it('that says nothing is cut off, and those over the limit at once', async () => {
    const { port, get } = await listening(small, SHORT);
    const all = Array.from({ length: 8 }, () => raw(port));
    await Promise.all(all.map(({ ended }) => ended));
    expect(await stillAnswers(get)).toBe(true);
  });

  it('that does not read its answer is cut off, and others are answered meanwhile', async () => {
    const large = [Buffer.alloc(8 * 1024 * 1024), Buffer.alloc(8 * 1024 * 1024)];
    const { port, get } = await listening(async () => large);
    const { socket } = raw(port);
    socket.pause();
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
    expect((await get('/healthz')).status).toBe(200);
    const closed = new Promise<void>((resolve) => {
      socket.once('close', () => resolve());
    });
    // What had arrived is read only when the other side has given up.
    await new Promise((resolve) => {
      setTimeout(resolve, 2 * LIMITS.ANSWER_MS);
    });
    let bytes = 0;
    socket.on('data', (chunk) => (bytes += chunk.length));
    socket.resume();
    socket.end();
    await closed;
    expect(bytes).toBeLessThan(16 * 1024 * 1024);
  });
});
