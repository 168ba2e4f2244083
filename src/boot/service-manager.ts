// What systemd is told [sd_notify(3)]: that the start goes on and takes longer, READY, a sign of life, RELOADING and STOPPING. Said by the program
// systemd-notify, one after the other, so that no compiled package is needed; only when NOTIFY_SOCKET says that somebody listens. Invariants:
// nothing waits for it, and what it does not say in time is not said. Commands that the daemon runs do not inherit the socket.
import { spawn, type ChildProcess } from 'node:child_process';
import type { Clock, Timer } from '../base/clock.ts';
import type { Ulog } from '../base/ulog.ts';
import type { Readiness } from '../metrics/readiness.ts';

const PROGRAM = 'systemd-notify';
/** A notification that takes longer is given up, in milliseconds. */
const SAY_MAX_MS = 3000;
/** While the start makes progress its time limit is moved so far ahead, this often. */
const EXTEND_MS = 60_000;
const EXTEND_EVERY_MS = 5000;
/** Signs of life in one watchdog period. */
const SIGNS = 2;
const LIVES = 'WATCHDOG=1';
const MS_USEC = 1000;

export interface ServicePorts {
  readonly clock: Clock;
  readonly ulog: Ulog;
  readonly readiness: Readiness;
  /** Of this process. */
  readonly pid: number;
}

export class ServiceManager {
  private readonly ports: ServicePorts;
  private readonly env: NodeJS.ProcessEnv;
  private readonly watchdogMs: number;
  private waiting: string[][] = [];
  private running: ChildProcess | null = null;
  private isDumb = false;
  private extendedMs = -Infinity;
  private said = '';
  private timer: Timer | null = null;
  private onQuiet: () => void = () => {};

  /** null: the process was not started by a service manager. What it left in `env` is taken out. */
  static from(env: NodeJS.ProcessEnv, ports: ServicePorts): ServiceManager | null {
    const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: usec, WATCHDOG_PID: pid } = env;
    for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
    if (socket === undefined || socket === '') return null;
    const isMeant = pid === undefined || Number(pid) === ports.pid;
    const watchdogMs = isMeant && Number(usec) > 0 ? Number(usec) / MS_USEC : 0;
    return new ServiceManager(ports, { env: { ...env, NOTIFY_SOCKET: socket }, watchdogMs });
  }

  constructor(ports: ServicePorts, { env, watchdogMs }: { env: NodeJS.ProcessEnv; watchdogMs: number }) {
    this.ports = ports;
    this.env = env;
    this.watchdogMs = watchdogMs;
    ports.readiness.watch(() => this.look());
    this.look();
  }

  /** Says that the daemon takes in something new while `run` does so. */
  reloading(run: () => void): void {
    if (!this.ports.readiness.isReady) return run();
    this.say('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / BigInt(MS_USEC)}`);
    run();
    this.said = '';
    return this.look();
  }

  /** Everything was said. */
  get isQuiet(): boolean {
    return this.running === null;
  }

  /** Resolves when everything was said, or after so many milliseconds. */
  async close(withinMs: number): Promise<void> {
    this.timer?.cancel();
    if (this.isQuiet) return;
    const { clock } = this.ports;
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(clock.monoMs() + withinMs, resolve);
      this.onQuiet = () => {
        timer.cancel();
        resolve();
      };
    });
    this.running?.kill('SIGKILL');
  }

  private look(): void {
    const { phase, text } = this.ports.readiness;
    const status = `STATUS=${text}`;
    if (phase === 'starting' || phase === 'recovering') return this.extend(status);
    if (phase === this.said) return undefined;
    this.said = phase;
    if (phase === 'ready') {
      this.say('READY=1', status);
      return this.armWatchdog();
    }
    // A failure ends the daemon.
    return this.say('STOPPING=1', status);
  }

  /** Called whenever there is progress: a start that hangs is not given more time. */
  private extend(status: string): void {
    const nowMs = this.ports.clock.monoMs();
    if (nowMs - this.extendedMs < EXTEND_EVERY_MS) return;
    this.extendedMs = nowMs;
    this.say(`EXTEND_TIMEOUT_USEC=${EXTEND_MS * MS_USEC}`, status);
  }

  private armWatchdog(): void {
    if (this.watchdogMs === 0 || this.timer !== null) return;
    const { clock } = this.ports;
    const again = (): void => {
      this.timer = clock.setTimer(clock.monoMs() + this.watchdogMs / SIGNS, () => {
        if (!this.waiting.some(([word]) => word === LIVES)) this.say(LIVES);
        again();
      });
    };
    again();
  }

  private say(...words: string[]): void {
    if (this.isDumb) return;
    this.waiting.push(words);
    if (this.running === null) this.next();
  }

  private next(): void {
    const words = this.waiting.shift();
    if (words === undefined) return this.onQuiet();
    const { clock } = this.ports;
    const child = spawn(PROGRAM, words, { env: this.env, stdio: 'ignore' });
    this.running = child;
    const limit = clock.setTimer(clock.monoMs() + SAY_MAX_MS, () => child.kill('SIGKILL'));
    let isOver = false;
    const over = (trouble: string): void => {
      if (isOver) return;
      isOver = true;
      limit.cancel();
      this.running = null;
      if (trouble !== '') this.giveUp(trouble);
      this.next();
    };
    child.once('error', (error) => over(error.message));
    child.once('exit', (code, signal) => over(code === 0 ? '' : `it ended with ${code ?? signal}`));
    return undefined;
  }

  private giveUp(trouble: string): void {
    if (this.isDumb) return;
    this.isDumb = true;
    this.waiting = [];
    this.timer?.cancel();
    this.ports.ulog.warn(`${PROGRAM} does not work, the service manager is told nothing more: ${trouble}`, {
      socket: this.env['NOTIFY_SOCKET'] ?? '',
    });
  }
}
