// A large backlog in a daemon of its own: filled, killed in the middle of more, and started again. `npm run bench` (W8) and `npm run
// bench:scale` use it alike.
import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { cpuTimeUs } from '../cpu-time.ts';
import { Daemon, QSPACE } from '../daemon.ts';
import { runChild } from '../ipc.ts';
import type { CostResult, CostTask, FillResult, FillTask } from './task.ts';

const WARM_QUEUE = 'WARM';
/** A fill at 3,000 messages a second, a restart at 10,000: beyond that it counts as hanging. */
const FILL_MS_PER_MESSAGE = 0.3;
const READY_MS_PER_MESSAGE = 0.1;
const CHILD_MS = 120_000;

export interface BacklogOptions {
  /** An existing directory for this daemon alone. */
  readonly directory: string;
  readonly qnames: readonly string[];
  /** On each queue. */
  readonly messages: number;
  readonly nodeOptions?: readonly string[];
}

export class Backlog {
  private readonly options: BacklogOptions;
  private daemon: Daemon | null = null;

  constructor(options: BacklogOptions) {
    this.options = options;
  }

  /** The running daemon. */
  get server(): { readonly port: number; readonly pid: number } {
    return this.running;
  }

  private get running(): Daemon {
    if (this.daemon === null) throw new Error('the daemon is not running');
    return this.daemon;
  }

  /** Starts the daemon; answers with the milliseconds until it was ready, and how many of them it used a processor. */
  async start(): Promise<{ readyMs: number; cpuMs: number }> {
    const { directory, qnames, messages, nodeOptions } = this.options;
    this.daemon = await Daemon.start({
      directory,
      queues: [...qnames, WARM_QUEUE],
      ...(nodeOptions === undefined ? {} : { nodeOptions }),
      readyMsMax: CHILD_MS + READY_MS_PER_MESSAGE * qnames.length * messages,
    });
    return { readyMs: this.daemon.readyMs, cpuMs: cpuTimeUs(this.daemon.pid) / 1000 };
  }

  /** Puts the backlog there; with `killAfter` it goes on and kills the daemon when so many more were acknowledged. */
  async fill(killAfter: number | null): Promise<FillResult> {
    const { qnames, messages } = this.options;
    const task: FillTask = { ...this.target, qnames, messages, killAfter };
    const timeoutMs = CHILD_MS + FILL_MS_PER_MESSAGE * qnames.length * messages;
    const result = await runChild<FillResult>({ script: 'scale/fill.js', timeoutMs }, task);
    if (killAfter !== null) await this.crash();
    return result;
  }

  /** Dequeues so many of each queue and enqueues as many; before that, for so long, the same on another queue. */
  cost(messages: number, warmupMs: number): Promise<CostResult> {
    const { qnames } = this.options;
    const task: CostTask = { ...this.target, qnames, messages, warmQueue: WARM_QUEUE, warmupMs };
    return runChild<CostResult>({ script: 'scale/cost.js', timeoutMs: CHILD_MS + warmupMs }, task);
  }

  async crash(): Promise<void> {
    await this.daemon?.crash();
    this.daemon = null;
  }

  /** Bytes of memory of the daemon's process: now, and at most so far. */
  memory(): { resident: number; peak: number } {
    const status = readFileSync(`/proc/${this.running.pid}/status`, 'latin1');
    const kilobytes = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
    return { resident: 1024 * kilobytes('VmRSS'), peak: 1024 * kilobytes('VmHWM') };
  }

  /** Turns one byte in the middle of every checkpoint, so that a start has to read the whole log; answers with their number. */
  damageCheckpoints(): number {
    const paths = this.checkpoints();
    for (const path of paths) {
      const fd = openSync(path, 'r+');
      const at = Math.floor(statSync(path).size / 2);
      const byte = Buffer.alloc(1);
      readSync(fd, byte, 0, 1, at);
      byte[0] = (byte[0] as number) ^ 0xff;
      writeSync(fd, byte, 0, 1, at);
      closeSync(fd);
    }
    return paths.length;
  }

  /** Bytes of the log's files, and of its newest checkpoint (0: there is none). */
  files(): { log: number; checkpoint: number } {
    const newest = this.checkpoints().at(-1);
    const log = this.names('.log').reduce((sum, path) => sum + statSync(path).size, 0);
    return { log, checkpoint: newest === undefined ? 0 : statSync(newest).size };
  }

  private get target() {
    const { port, pid } = this.running;
    return { port, pid, qspace: QSPACE };
  }

  private checkpoints(): string[] {
    return this.names('.checkpoint').sort();
  }
  private names(ending: string): string[] {
    const directory = join(this.options.directory, 'data', QSPACE);
    const names = readdirSync(directory, { encoding: 'utf8' });
    return names.filter((name) => name.endsWith(ending)).map((name) => join(directory, name));
  }
}
