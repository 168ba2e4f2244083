// A daemon inside the test's process: on a configuration text, a folder of its own and a free port. Owns what a test leaves behind
// (contexts, raw connections, the folder) and its clock, which is the machine's and can be set ahead, so that no test sleeps over a delay
// of seconds. Invariant: a log failure that the test did not expect fails the test when the daemon stops.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type Context, tpinit, type TpinitOptions } from '../../clients/typescript/index.ts';
import type { QueueStatistics } from '../../proto/message-statistics.ts';
import type { Clock, Timer } from '../../src/base/clock.ts';
import type { LogFields, Ulog } from '../../src/base/ulog.ts';
import { loadAgain } from '../../src/boot/configuration.ts';
import { Daemon, type DaemonOptions } from '../../src/boot/daemon.ts';
import { SystemClock } from '../../src/boot/system-clock.ts';
import { MetricsPage } from '../../src/metrics/page.ts';
import { parseDomain } from '../../src/ubb/domain.ts';
import { formatFault } from '../../src/ubb/fault.ts';
import { planHost } from '../../src/ubb/plan.ts';
import { readMetrics, type ReadFamily } from './metrics-text.ts';
import { RawClient } from './raw-client.ts';
import { type DomainText, ubbText } from './ubb-text.ts';

export interface StartOptions extends Omit<DaemonOptions, 'plan' | 'listen'> {
  /** Instead of what the configuration can express in whole SCANUNITs. */
  blockTimeMs?: number;
}

export interface LogLine {
  level: 'info' | 'warn' | 'error';
  message: string;
  fields: LogFields;
}

/** Small, so that a start does not write 64 MiB of zeros. */
const SEGMENT_BYTES = 2 * 1024 * 1024;
const CACHE_BYTES = 4 * 1024 * 1024;
/** Beyond any time that a test lets pass: its clock is set ahead, its connections stay. */
const HEARTBEAT_MS = 4_000_000_000;
const POLL_MS = 3;

export class InProcess {
  readonly dir = mkdtempSync(join(tmpdir(), 'tmqueue-it-'));
  readonly clock = new ShiftedClock();
  readonly log: LogLine[] = [];
  readonly failures: string[] = [];
  port = 0;
  /** Of the file that it reads again, in `dir`. */
  fileName = 'ubbconfig';
  private readonly options: StartOptions;
  private text: string;
  private daemon: Daemon | null = null;
  private contexts: Context[] = [];
  private raws: RawClient[] = [];

  constructor(text: DomainText | string, options: StartOptions = {}) {
    this.text = typeof text === 'string' ? text : ubbText(text);
    this.options = options;
  }

  get address(): string {
    return `//127.0.0.1:${this.port}`;
  }

  async start(): Promise<this> {
    const { blockTimeMs, ...options } = this.options;
    const plan = planOf(this.text, this.dir);
    this.daemon = await Daemon.start(
      {
        heartbeatMs: HEARTBEAT_MS,
        ...options,
        device: { segmentBytes: SEGMENT_BYTES, cacheBytes: CACHE_BYTES, ...options.device },
        plan: blockTimeMs === undefined ? plan : { ...plan, blockTimeMs },
        listen: [{ host: '127.0.0.1', port: this.port }],
        load: (file) => loadAgain({ file: join(this.dir, this.fileName), hostname: 'localhost' }, file),
      },
      {
        clock: this.clock,
        ulog: collector(this.log),
        onFailure: (reason) => this.failures.push(reason),
        signal: new AbortController().signal,
      },
    );
    this.port = this.daemon.addresses[0]?.port ?? 0;
    return this;
  }

  /** A context of its own connection, left when the daemon is removed. */
  async join(options: TpinitOptions = {}): Promise<Context> {
    const context = await tpinit({ address: this.address, ...options });
    this.contexts.push(context);
    return context;
  }

  /** A raw connection on which HELLO was answered. */
  async raw(): Promise<RawClient> {
    const raw = await this.socket();
    await raw.hello();
    return raw;
  }

  /** A raw connection on which nothing was said yet. */
  async socket(): Promise<RawClient> {
    const raw = await RawClient.connect(this.port);
    this.raws.push(raw);
    return raw;
  }

  async stop(): Promise<void> {
    const { daemon } = this;
    this.daemon = null;
    await daemon?.stop('the test stops it');
    if (this.failures.length > 0) throw new Error(`the daemon failed: ${this.failures.join('; ')}`);
  }

  /** Stops and starts on the same port and data, perhaps with another configuration; contexts reconnect by themselves. */
  async restart(text: DomainText | string = this.text): Promise<void> {
    await this.stop();
    this.text = typeof text === 'string' ? text : ubbText(text);
    await this.start();
  }

  /** Writes a configuration for the daemon to read again. */
  rewrite(text: DomainText | string): void {
    this.text = typeof text === 'string' ? text : ubbText(text);
    writeFileSync(join(this.dir, this.fileName), this.text);
  }

  /** Ends everything and removes the folder. */
  async remove(): Promise<void> {
    for (const raw of this.raws) raw.reset();
    await Promise.all(this.contexts.map((context) => context.tpterm()));
    await this.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** What STAT says of one queue. */
  async queue(name: string, qspace = 'QSPACE'): Promise<QueueStatistics> {
    const context = this.contexts[0] ?? (await this.join());
    const found = (await context.stat(qspace)).spaces[0]?.queues.find((queue) => queue.name === name);
    if (found === undefined) throw new Error(`no queue ${name}`);
    return found;
  }

  /** What `/readyz` says. */
  get readiness(): string {
    return this.daemon?.readiness.text ?? 'down';
  }

  /** What its metrics page shows. */
  async metrics(): Promise<Map<string, ReadFamily>> {
    if (this.daemon === null) throw new Error('the daemon does not run');
    const { readiness, measurements } = this.daemon;
    const page = new MetricsPage({ readiness, nextTurn: () => pause(0) });
    page.source = measurements;
    return readMetrics(Buffer.concat(await page.make()).toString());
  }

  /** Log lines whose text or fields contain every word. */
  lines(...words: string[]): string[] {
    return this.log
      .map(({ level, message, fields }) => `${level} ${message} ${JSON.stringify(fields)}`)
      .filter((line) => words.every((word) => line.includes(word)));
  }
}

/** The machine's clock, which a test can set ahead (both clocks) or step (the wall clock alone). */
export class ShiftedClock implements Clock {
  private readonly real = new SystemClock();
  private readonly timers = new Set<ShiftedTimer>();
  private aheadMs = 0;
  private wallStepMs = 0;

  wallMs(): number {
    return this.real.wallMs() + this.aheadMs + this.wallStepMs;
  }

  monoMs(): number {
    return this.real.monoMs() + this.aheadMs;
  }

  setTimer(atMs: number, run: () => void): Timer {
    const timer: ShiftedTimer = { atMs, run, inner: null, cancel: () => this.drop(timer) };
    this.timers.add(timer);
    this.arm(timer);
    return timer;
  }

  /** Time that passes at once; timers that become due run soon after, in their order. */
  advance(ms: number): void {
    this.aheadMs += ms;
    for (const timer of [...this.timers].sort((a, b) => a.atMs - b.atMs)) {
      timer.inner?.cancel();
      this.arm(timer);
    }
  }

  stepWall(ms: number): void {
    this.wallStepMs += ms;
  }

  private arm(timer: ShiftedTimer): void {
    timer.inner = this.real.setTimer(timer.atMs - this.aheadMs, () => {
      this.timers.delete(timer);
      timer.run();
    });
  }

  private drop(timer: ShiftedTimer): void {
    timer.inner?.cancel();
    this.timers.delete(timer);
  }
}

interface ShiftedTimer extends Timer {
  readonly atMs: number;
  readonly run: () => void;
  inner: Timer | null;
}

/** A daemon for one test, removed after it. */
export async function daemonForTest(
  text: DomainText | string,
  options: StartOptions = {},
): Promise<InProcess> {
  const daemon = new InProcess(text, options);
  onTestFinished(() => daemon.remove());
  return daemon.start();
}

/** A daemon for all tests of a file or describe block. */
export function daemonForAll(text: DomainText | string, options: StartOptions = {}): InProcess {
  const daemon = new InProcess(text, options);
  beforeAll(async () => void (await daemon.start()));
  afterAll(() => daemon.remove());
  return daemon;
}

/** Polls until `read` gives something else than undefined or false; fails with the last error or value after the deadline. */
export async function eventually<T>(
  read: () => T | Promise<T>,
  timeoutMs = 5000,
): Promise<NonNullable<Exclude<T, false>>> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (value !== undefined && value !== null && value !== false) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- narrowed by the line above
      return value as NonNullable<Exclude<T, false>>;
    }
    if (performance.now() > until) throw new Error(`not within ${timeoutMs} ms: ${read.toString()}`);
    await pause(POLL_MS);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

function planOf(text: string, directory: string): DaemonOptions['plan'] {
  const domain = parseDomain({ file: 'ubbconfig', directory, bytes: Buffer.from(text) });
  if (domain.faults.length > 0) throw new Error(domain.faults.map(formatFault).join('\n'));
  const result = planHost(domain, { hostname: 'localhost' });
  if (!result.ok) throw new Error(formatFault(result.fault));
  const refused = [...result.plan.notYet, ...result.plan.macros];
  if (refused.length > 0) throw new Error(refused.map(formatFault).join('\n'));
  return result.plan;
}

function collector(log: LogLine[]): Ulog {
  const at =
    (level: LogLine['level']) =>
    (message: string, fields: LogFields = {}): void =>
      void log.push({ level, message, fields });
  return { info: at('info'), warn: at('warn'), error: at('error') };
}
