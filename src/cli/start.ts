// `tmqueue start`: reads the configuration, hosts what it gives to this machine, says when it is ready, and stops on a signal.
import { hostname } from 'node:os';
import { resolve as resolvePath } from 'node:path';
import { adviceFor } from '../boot/advice.ts';
import { Allocator } from '../boot/allocator.ts';
import { Daemon, type DaemonOptions } from '../boot/daemon.ts';
import { SystemClock } from '../boot/system-clock.ts';
import type { Endpoint } from '../net/network.ts';
import { formatFault, type Fault } from '../ubb/fault.ts';
import { obstacles, planHost, type HostPlan } from '../ubb/plan.ts';
import { readDomain } from '../ubb/read.ts';
import { PinoUlog } from '../ulog/pino-ulog.ts';
import { EXIT } from './exit.ts';

export interface StartOptions extends Omit<DaemonOptions, 'plan'> {
  readonly config: string;
  readonly appdir?: string;
  readonly lmid?: string;
  readonly expandEnv?: boolean;
  readonly json?: boolean;
}

/** After a signal the process ends within this time [DESIGN 11], in milliseconds. */
const STOP_MAX_MS = 5000;

/** Runs until a signal or a failure; resolves with the exit code. */
export async function start(options: StartOptions): Promise<number> {
  const ending = new Ending();
  // The log goes to standard error: there is no file to re-open, and losing the terminal ends nothing.
  process.on('SIGHUP', () => {});
  // Whoever read the ready line may be gone.
  process.stdout.on('error', () => {});
  const loaded = load(options);
  if (loaded === null) return EXIT.REFUSED;
  const { plan, idle } = loaded;
  const ulog = new PinoUlog({ name: 'tmqueue', lmid: plan.lmid });
  for (const warning of plan.warnings) ulog.warn(warning);
  if (idle > 0)
    ulog.info(
      `${idle} things in the configuration do nothing here: tmqueue check -v ${options.config} lists them`,
    );
  const allocator = Allocator.start();
  let daemon: Daemon;
  try {
    const ports = { clock: new SystemClock(), ulog, onFailure: () => ending.fail(), signal: ending.signal };
    const device = { allocate: allocator.allocate, ...options.device };
    daemon = await Daemon.start({ ...options, device, plan }, ports);
  } catch (error) {
    // A signal, or the log of a space that was open already: that has been said.
    if (ending.signal.aborted) return await ending.reached;
    const advice = adviceFor(error);
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`tmqueue: ${message}${advice === '' ? '' : `; ${advice}`}\n`);
    return EXIT.REFUSED;
  }
  sayReady(daemon, plan, options.json === true);
  const code = await ending.reached;
  await daemon.stop('the daemon is stopping');
  allocator.close();
  return code;
}

interface Loaded {
  readonly plan: HostPlan;
  /** How many things the file says that do nothing here. */
  readonly idle: number;
}

/** The plan, or null after every fault has been printed. */
function load(options: StartOptions): Loaded | null {
  const domain = readDomain(options.config, options.expandEnv === true ? { env: process.env } : {});
  if (domain.faults.length > 0) return refuse(domain.faults);
  const result = planHost(domain, {
    lmid: options.lmid,
    hostname: hostname(),
    appdir: options.appdir === undefined ? undefined : resolvePath(options.appdir),
  });
  if (!result.ok) return refuse([result.fault]);
  const { plan } = result;
  const refused = obstacles(plan);
  return refused.length > 0 ? refuse(refused) : { plan, idle: domain.notes.length };
}

function refuse(faults: readonly Fault[]): null {
  for (const fault of faults) process.stderr.write(`${formatFault(fault)}\n`);
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
  process.stderr.write(`tmqueue: not started: ${count} in the configuration\n`);
  return null;
}

function sayReady(daemon: Daemon, plan: HostPlan, json: boolean): void {
  const addresses = daemon.addresses.map(formatAddress);
  const spaces = plan.spaces.map((space) => space.name);
  const line = json
    ? JSON.stringify({
        ready: true,
        address: addresses[0],
        addresses,
        lmid: plan.lmid,
        spaces,
        pid: process.pid,
      })
    : `tmqueue ready on ${addresses.join(' ')} (${plan.lmid}: ${spaces.join(', ')})`;
  process.stdout.write(`${line}\n`);
}

function formatAddress({ host, port }: Endpoint): string {
  return `//${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The first of: SIGTERM, SIGINT, a failed log. Signals are heard from the first moment, also while a long recovery runs. */
class Ending {
  readonly reached: Promise<number>;
  private readonly controller = new AbortController();
  private resolve: (code: number) => void = () => {};

  constructor() {
    this.reached = new Promise((resolve) => {
      this.resolve = resolve;
    });
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        this.end(EXIT.OK);
      });
    }
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }
  fail(): void {
    this.end(EXIT.REFUSED);
  }
  private end(code: number): void {
    this.controller.abort();
    this.resolve(code);
    // A stop takes 5 s at most, whatever holds it up: a disk that does not answer, for example.
    setTimeout(() => process.exit(EXIT.REFUSED), STOP_MAX_MS).unref();
  }
}
