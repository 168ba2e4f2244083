// What `tmqueue start` has around the daemon for those who watch it: the HTTP listener of metrics and health, and the service manager's messages.
// Both begin before the daemon does and end after it.
import { checkReach } from '../boot/reach.ts';
import { ServiceManager } from '../boot/service-manager.ts';
import { VERSION } from '../boot/version.ts';
import type { Clock } from '../base/clock.ts';
import type { Ulog } from '../base/ulog.ts';
import type { HttpListener } from '../metrics/http.ts';
import type { MetricsPage } from '../metrics/page.ts';
import type { Readiness } from '../metrics/readiness.ts';
import type { MetricsSource } from '../metrics/source.ts';
import type { Endpoint } from '../net/network.ts';

/** The last words to the service manager may take so long, in milliseconds. */
const LAST_WORDS_MS = 300;

export interface OperationsOptions {
  /** Where HTTP is answered; none: nowhere. */
  readonly metrics?: Endpoint;
  readonly allowOpenNetwork?: boolean;
}

export interface OperationsPorts {
  readonly clock: Clock;
  readonly ulog: Ulog;
  readonly readiness: Readiness;
}

export class Operations {
  /** `//host:port` of the HTTP listener; '': there is none. */
  readonly address: string;
  private readonly service: ServiceManager | null;
  private readonly page: MetricsPage | null;
  private readonly http: HttpListener | null;

  /** Rejects with a sentence for the operator when the address cannot be had. */
  static async open(options: OperationsOptions, ports: OperationsPorts): Promise<Operations> {
    const service = ServiceManager.from(process.env, { ...ports, pid: process.pid });
    if (options.metrics === undefined) return new Operations(service, null);
    checkReach(options.metrics, options.allowOpenNetwork === true);
    // Loaded when it is wanted: every command would wait for it.
    const [{ MetricsPage }, { listenHttp }] = await Promise.all([
      import('../metrics/page.ts'),
      import('../metrics/http.ts'),
    ]);
    const page = new MetricsPage({ readiness: ports.readiness, nextTurn, ofProcess: true });
    const { host, port } = options.metrics;
    try {
      const http = await listenHttp({ host, port }, { ...ports, page });
      const operations = new Operations(service, { page, http });
      const where = `http:${operations.address}`;
      ports.ulog.info(`metrics and health on ${where}`, { address: where, version: VERSION });
      return operations;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`--metrics ${host}:${port}: ${reason}`, { cause: error });
    }
  }

  private constructor(
    service: ServiceManager | null,
    web: { readonly page: MetricsPage; readonly http: HttpListener } | null,
  ) {
    this.service = service;
    this.page = web?.page ?? null;
    this.http = web?.http ?? null;
    this.address = web === null ? '' : addressText(web.http.address);
  }

  /** From now on the metrics show the daemon's numbers. */
  show(source: MetricsSource): void {
    if (this.page !== null) this.page.source = source;
  }

  /** Runs something that takes in a change, e.g. of the log file. */
  reload(run: () => void): void {
    if (this.service === null) run();
    else this.service.reloading(run);
  }

  async close(): Promise<void> {
    await Promise.all([this.http?.close(), this.service?.close(LAST_WORDS_MS)]);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** `//host:port`, an IPv6 host in brackets. */
export function addressText({ host, port }: Endpoint): string {
  return `//${host.includes(':') ? `[${host}]` : host}:${port}`;
}
