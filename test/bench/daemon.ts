// The daemon under measurement: a configuration of its own in a temporary directory, a process of its own on a free loopback port, and its
// end. It is started as an operator starts it; nothing is switched off.
import { spawn, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { firstChildOf } from './cpu-time.ts';
import { endOf } from './ipc.ts';

export const QSPACE = 'BENCH';
const READY_MS = 30_000;
const STOP_MS = 15_000;

export interface DaemonOptions {
  /** Where its configuration and its data go. */
  readonly directory: string;
  /** Lines of *QUEUES. */
  readonly queues: readonly string[];
  /** Further lines of *SERVERS. */
  readonly servers?: readonly string[];
  /** Options for node, such as --cpu-prof. */
  readonly nodeOptions?: readonly string[];
  /** A program that the daemon is started under, with its arguments: strace. */
  readonly under?: readonly string[];
  /** How long it may take until it is ready. */
  readonly readyMsMax?: number;
}

export class Daemon {
  readonly port: number;
  /** The daemon's own process, also when it runs under another program. */
  readonly pid: number;
  /** From the start of the process to the ready line. */
  readonly readyMs: number;
  private readonly child: ChildProcess;
  /** The benchmark itself is ended: nothing it started outlives it. */
  private readonly kill = (): void => {
    if (this.child.exitCode === null && this.child.signalCode === null) process.kill(this.pid, 'SIGKILL');
  };

  private constructor(child: ChildProcess, ready: { pid: number; port: number; readyMs: number }) {
    this.child = child;
    this.pid = ready.pid;
    this.port = ready.port;
    this.readyMs = ready.readyMs;
    process.once('exit', this.kill);
  }

  static async start(options: DaemonOptions): Promise<Daemon> {
    const { directory, nodeOptions = [], under = [] } = options;
    const configuration = join(directory, 'ubbconfig');
    writeFileSync(configuration, ubbText(options));
    const script = fileURLToPath(new URL('../../src/cli/tmqueue.js', import.meta.url));
    const start = ['start', '-c', configuration, '--listen', '127.0.0.1:0', '--appdir', directory, '--json'];
    const [program = process.execPath, ...rest] = [
      ...under,
      process.execPath,
      ...nodeOptions,
      script,
      ...start,
    ];
    // What goes through io_uring is no system call that a trace would show.
    const env = { ...process.env, UV_USE_IO_URING: '0' };
    const startedAt = performance.now();
    const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'], env });
    const errors = keepLast(child);
    try {
      const port = await portOf(child, options.readyMsMax ?? READY_MS);
      const readyMs = performance.now() - startedAt;
      const pid = under.length > 0 ? firstChildOf(child.pid ?? 0) : (child.pid ?? 0);
      if (pid === 0) throw new Error('its process was not found');
      return new Daemon(child, { pid, port, readyMs });
    } catch (error) {
      await endOf(child, STOP_MS);
      throw new Error(`the daemon did not start:\n${errors().trim()}`, { cause: error });
    }
  }

  /** Ends it as a crash does; resolves when it is gone, also when something else ended it so. */
  async crash(): Promise<void> {
    const { child } = this;
    process.off('exit', this.kill);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    process.kill(this.pid, 'SIGKILL');
    await ended;
  }

  /** Stops it as an operator does; a daemon that ends with anything but 0 is a failure. */
  async stop(): Promise<void> {
    const { child } = this;
    process.off('exit', this.kill);
    if (child.exitCode === null && child.signalCode === null && this.pid !== child.pid)
      process.kill(this.pid, 'SIGTERM');
    const code = await new Promise<number | null>((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve(child.exitCode);
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      child.once('exit', (exitCode) => {
        clearTimeout(timer);
        resolve(exitCode);
      });
      if (this.pid === child.pid) child.kill('SIGTERM');
      return undefined;
    });
    if (code !== 0) throw new Error(`the daemon ended with ${code ?? 'a signal'}`);
  }
}

/** The port in the ready line, the first line of JSON with an address. */
function portOf(child: ChildProcess, readyMsMax: number): Promise<number> {
  return new Promise<number>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not ready within ${readyMsMax} ms`)), readyMsMax);
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    child.once('exit', (code) => fail(new Error(`ended with ${code ?? 'a signal'}`)));
    child.once('error', fail);
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const port = /"address"\s*:\s*"[^"]*:(\d+)"/.exec(line)?.[1];
      if (port === undefined) return;
      clearTimeout(timer);
      resolve(Number(port));
    });
  });
}

const KEPT_BYTES = 4096;

/** Reads what the child complains about and keeps the end of it. */
function keepLast(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    text = (text + part).slice(-KEPT_BYTES);
  });
  return () => text;
}

function ubbText({ queues, servers = [] }: DaemonOptions): string {
  return `*RESOURCES
IPCKEY 52617
MASTER SITE1
MODEL SHM
MAXGTT 1000
*MACHINES
"localhost" LMID=SITE1 APPDIR="." TUXDIR="/opt/tuxedo" TUXCONFIG="/opt/tuxedo/tuxconfig"
*GROUPS
QUE1 LMID=SITE1 GRPNO=1 TMSNAME=TMS_QM TMSCOUNT=2 OPENINFO="TUXEDO/QM:data:${QSPACE}"
*SERVERS
TMQUEUE SRVGRP=QUE1 SRVID=20 CLOPT="-s ${QSPACE}:TMQUEUE -- -t 30"
${servers.map((line) => `${line}\n`).join('')}*QSPACES
${QSPACE} SRVGRP=QUE1
*QUEUES
DEFAULT: QSPACE=${QSPACE} ORDER="fifo" RETRIES=2 DELAY=1
${queues.join('\n')}
`;
}
