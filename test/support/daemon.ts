// The real daemon as a child process: a configuration and a directory of its own, any free port of loopback. It can be killed, stopped and
// started again on the same directory. Invariants: every wait is bounded; what it wrote on stderr is in every failure; when the test (or
// the process) ends, the daemon and its files are gone. Needs `tsc -b` to have run.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { type Context, tpinit, type TpinitOptions } from '../../clients/typescript/index.ts';

export const QSPACE = 'QSPACE';
const ENTRY = join(import.meta.dirname, '../../dist/src/cli/tmqueue.js');
/** The daemon on a disk that does as it is told [test/crash/disk-orders.ts]. */
export const FAULTY_ENTRY = join(import.meta.dirname, '../../dist/test/crash/faulty-daemon.js');
const READY_MS = 30_000;
const END_MS = 15_000;
const POLL_MS = 5;
const STDERR_KEPT = 16_384;

export interface QueueSetup {
  readonly name: string;
  /** Default: so many that nothing ever moves to the error queue. */
  readonly retries?: number;
  readonly delayS?: number;
}

export interface DaemonSetup {
  /** A name alone is a queue with no end of retries and no delay. */
  readonly queues: readonly (string | QueueSetup)[];
  /** Must be among `queues` to exist. */
  readonly errorQueue?: string;
  /** One TMQFORWARD each: what stands behind `--` of its CLOPT, such as `-q STRING -i 1`. */
  readonly forwarders?: readonly string[];
  /** TMQUEUE -t: what a waiting dequeue outside transactions may take, in seconds. Default 30. */
  readonly timeoutS?: number;
  /** More lines of *RESOURCES, such as `MAXGTT 500`. */
  readonly resources?: readonly string[];
  /** The whole configuration instead of one made of the above. */
  readonly text?: string;
  /** More words of the command line. */
  readonly arguments?: readonly string[];
  /** Words for node itself, before the program. */
  readonly nodeArguments?: readonly string[];
  /** Instead of the program: a module below dist that takes the same words. */
  readonly entry?: string;
  /** An existing directory to work in, which is then not removed. */
  readonly directory?: string;
  /** `caller`: not ended with the test that started it; whoever started it calls `dispose`. Default `test`. */
  readonly scope?: 'test' | 'caller';
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class TestDaemon {
  readonly directory: string;
  /** `//host:port` of the life under way. */
  address = '';
  /** More variables of its environment, from the next start on. */
  environment: Readonly<Record<string, string>> = {};
  private setup: DaemonSetup;
  private child: ChildProcess | null = null;
  private exited: Promise<Exit> = Promise.resolve({ code: null, signal: null });
  private text = '';

  private constructor(setup: DaemonSetup) {
    this.setup = setup;
    this.directory = setup.directory ?? mkdtempSync(join(tmpdir(), 'tmqueue-daemon-'));
    writeFileSync(join(this.directory, 'ubbconfig'), ubbText(setup));
    LEFTOVERS.add(this);
  }

  /** Starts one and waits until it is ready. */
  static async start(setup: DaemonSetup): Promise<TestDaemon> {
    const daemon = TestDaemon.prepare(setup);
    await daemon.restart();
    return daemon;
  }

  /** Everything but the process: `restart` starts it. */
  static prepare(setup: DaemonSetup): TestDaemon {
    const daemon = new TestDaemon(setup);
    if (setup.scope !== 'caller') onTestFinished(() => daemon.dispose());
    return daemon;
  }

  /** Another configuration, from the next start on. */
  configure(changes: Omit<DaemonSetup, 'directory' | 'scope'>): void {
    const { directory, scope } = this.setup;
    this.setup = {
      ...changes,
      ...(directory === undefined ? {} : { directory }),
      ...(scope === undefined ? {} : { scope }),
    };
    writeFileSync(join(this.directory, 'ubbconfig'), ubbText(this.setup));
  }

  /** Of the life under way, or the last one. */
  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** What it wrote on stderr in all its lives, the end of it. */
  get stderr(): string {
    return this.text;
  }

  /** Resolves when the process has ended, whatever ended it; rejects when that takes too long. */
  ended(withinMs = END_MS): Promise<Exit> {
    return within(
      this.exited,
      withinMs,
      () => `the daemon (pid ${this.pid}) did not end within ${withinMs} ms\n${this.text}`,
    );
  }

  /** Starts the process (again) on the same directory and waits until it is ready. */
  async restart(): Promise<void> {
    await this.ended();
    const child = this.spawn();
    this.address = await within(
      readyAddress(child),
      READY_MS,
      () => `not ready within ${READY_MS} ms\n${this.text}`,
    ).catch(async (error: unknown) => {
      child.kill('SIGKILL');
      const { code, signal } = await this.exited;
      throw new Error(`the daemon did not start (exit ${code ?? signal}):\n${this.text}`, { cause: error });
    });
  }

  /** Starts the process without waiting for anything: for starts that are to fail, or be hit by a signal. */
  launch(): void {
    this.spawn();
  }

  /** Sends a signal. */
  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** kill -9, and waits until it is gone. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended();
  }

  /** SIGTERM, and waits for its end. */
  async stop(withinMs = END_MS): Promise<Exit> {
    this.signal('SIGTERM');
    return await this.ended(withinMs);
  }

  /** A client of it, without reconnecting unless asked for. Ended with the daemon. */
  connect(options: TpinitOptions = {}): Promise<Context> {
    return tpinit({ address: this.address, reconnect: false, onError: () => {}, ...options });
  }

  /** Ends the process and removes the files; idempotent. TMQUEUE_KEEP=1 keeps the files. */
  async dispose(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
    this.removeFiles();
    LEFTOVERS.delete(this);
  }

  /** For the end of this process, where nothing can be waited for. */
  disposeNow(): void {
    this.child?.kill('SIGKILL');
    this.removeFiles();
  }

  private removeFiles(): void {
    if (this.setup.directory !== undefined || process.env['TMQUEUE_KEEP'] === '1') return;
    rmSync(this.directory, { recursive: true, force: true });
  }

  private spawn(): ChildProcess {
    const entry = this.setup.entry ?? ENTRY;
    if (!existsSync(entry)) throw new Error(`${entry} does not exist: run npx tsc -b`);
    const configuration = join(this.directory, 'ubbconfig');
    const words = [
      'start',
      '-c',
      configuration,
      '--listen',
      '127.0.0.1:0',
      '--appdir',
      this.directory,
      '--json',
    ];
    const { nodeArguments = [], arguments: more = [] } = this.setup;
    const child = spawn(process.execPath, [...nodeArguments, entry, ...words, ...more], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.environment },
    });
    this.child = child;
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      this.text = (this.text + part).slice(-STDERR_KEPT);
    });
    this.exited = new Promise((resolve) => {
      child.once('error', (error) => {
        this.text += `${error.message}\n`;
        resolve({ code: null, signal: null });
      });
      // `close` comes when stderr has been read to its end too.
      child.once('close', (code, signal) => resolve({ code, signal }));
    });
    return child;
  }
}

const LEFTOVERS = new Set<TestDaemon>();
process.once('exit', () => {
  for (const daemon of LEFTOVERS) daemon.disposeNow();
});

function readyAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('close', () => reject(new Error('it ended before it was ready')));
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const address = /"address"\s*:\s*"([^"]+)"/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
  });
}

/** The promise's own end, or a rejection after so many milliseconds. */
export function within<T>(promise: Promise<T>, ms: number, explain: () => string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(explain())), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** The configuration of one space with these queues, as an operator writes it. */
export function ubbText(setup: DaemonSetup): string {
  if (setup.text !== undefined) return setup.text;
  const forwarders = (setup.forwarders ?? []).map(
    (words, i) => `TMQFORWARD SRVGRP=QUE1 SRVID=${100 + i} CLOPT="-- ${words}"`,
  );
  const queues = setup.queues.map((queue) => {
    const { name, retries = 1_000_000, delayS = 0 } = typeof queue === 'string' ? { name: queue } : queue;
    return `${name} RETRIES=${retries} DELAY=${delayS}`;
  });
  const errorQueue = setup.errorQueue === undefined ? '' : ` ERRORQ=${setup.errorQueue}`;
  return `*RESOURCES
IPCKEY 52617
MASTER SITE1
MODEL SHM
${(setup.resources ?? []).join('\n')}
*MACHINES
"localhost" LMID=SITE1 APPDIR="." TUXDIR="/opt/tuxedo" TUXCONFIG="/opt/tuxedo/tuxconfig"
*GROUPS
QUE1 LMID=SITE1 GRPNO=1 TMSNAME=TMS_QM TMSCOUNT=2 OPENINFO="TUXEDO/QM:data:${QSPACE}"
*SERVERS
TMQUEUE SRVGRP=QUE1 SRVID=20 CLOPT="-s ${QSPACE}:TMQUEUE -- -t ${setup.timeoutS ?? 30}"
${forwarders.join('\n')}
*QSPACES
${QSPACE} SRVGRP=QUE1${errorQueue}
*QUEUES
DEFAULT: QSPACE=${QSPACE} ORDER="fifo"
${queues.join('\n')}
`;
}

/** Asks again and again, without pause between turns longer than a few milliseconds, until the answer is neither undefined nor false. */
export async function poll<T>(
  ask: () => T | Promise<T>,
  explain: () => string,
  withinMs = 10_000,
): Promise<Exclude<T, undefined | false>> {
  const until = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- narrowed by the condition
    if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
    if (performance.now() > until) throw new Error(`not within ${withinMs} ms: ${explain()}`);
    await new Promise((resolve) => {
      setTimeout(resolve, POLL_MS);
    });
  }
}
