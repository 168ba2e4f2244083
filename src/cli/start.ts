// `tmqueue start`: reads the configuration, hosts what it gives to this machine, says when it is ready, and stops on a signal.
import { hostname } from 'node:os';
import { resolve as resolvePath } from 'node:path';
import { adviceFor } from '../boot/advice.ts';
import type { Clock } from '../base/clock.ts';
import type { Ulog } from '../base/ulog.ts';
import { Allocator } from '../boot/allocator.ts';
import { type ConfigurationSource, loadAgain, loadConfiguration } from '../boot/configuration.ts';
import { Daemon, type DaemonOptions } from '../boot/daemon.ts';
import { SystemClock } from '../boot/system-clock.ts';
import { Readiness } from '../metrics/readiness.ts';
import { formatFault, type Fault } from '../ubb/fault.ts';
import type { HostPlan } from '../ubb/plan.ts';
import { flushed, logFile, standardError, unblock } from '../ulog/log-output.ts';
import { PinoUlog } from '../ulog/pino-ulog.ts';
import { Ending } from './ending.ts';
import { EXIT } from './exit.ts';
import { addressText, Operations, type OperationsOptions } from './operations.ts';

export interface StartOptions extends Omit<DaemonOptions, 'plan' | 'load'>, OperationsOptions {
  readonly config: string;
  readonly appdir?: string;
  readonly lmid?: string;
  readonly expandEnv?: boolean;
  /** Where the log goes instead of standard error. */
  readonly log?: string;
  readonly json?: boolean;
}

/** What is still to be read by whoever reads our output may take so long at the end, in milliseconds. */
const FLUSH_MS = 200;

/** Runs until a signal or a failure, and ends the process. */
export async function start(options: StartOptions): Promise<number> {
  let operations: Operations | null = null;
  let ulog: PinoUlog | null = null;
  const reopen = (): void => ulog?.reopen();
  const ending = new Ending(() => {
    if (operations === null) reopen();
    else operations.reload(reopen);
  });
  standAnyReader();
  const source = sourceOf(options);
  const loaded = loadConfiguration(source);
  if (!loaded.ok) return refuse(loaded.faults);
  const { plan } = loaded;
  const idle = loaded.domain.notes.length;
  const output = options.log === undefined ? standardError() : logFile(options.log);
  ulog = new PinoUlog({ name: 'tmqueue', lmid: plan.lmid }, output);
  for (const warning of plan.warnings) ulog.warn(warning);
  if (idle > 0)
    ulog.info(
      `${idle} things in the configuration do nothing here: tmqueue check -v ${options.config} lists them`,
    );
  const ports = { clock: new SystemClock(), ulog, readiness: new Readiness() };
  operations = await Operations.open(options, ports);
  ending.signal.addEventListener('abort', () => ports.readiness.stopping());
  const code = await serve({ options, source, plan, operations, ending }, ports);
  await operations.close();
  await Promise.all([
    ulog.flush(FLUSH_MS),
    flushed(process.stdout, FLUSH_MS),
    flushed(process.stderr, FLUSH_MS),
  ]);
  // A reader that does not read must not keep the process.
  return process.exit(code);
}

interface Serving {
  readonly options: StartOptions;
  readonly source: ConfigurationSource;
  readonly plan: HostPlan;
  readonly operations: Operations;
  readonly ending: Ending;
}

/** From the daemon's start to its end. */
async function serve(
  { options, source, plan, operations, ending }: Serving,
  ports: { clock: Clock; ulog: Ulog; readiness: Readiness },
): Promise<number> {
  const allocator = Allocator.start();
  const device = { allocate: allocator.allocate, ...options.device };
  let daemon: Daemon;
  try {
    daemon = await Daemon.start(
      { ...options, device, plan, load: (file) => loadAgain(source, file) },
      { ...ports, onFailure: () => ending.fail(), signal: ending.signal },
    );
  } catch (error) {
    // A signal, or the log of a space that was open already: that has been said.
    if (ending.signal.aborted) return await ending.reached;
    const advice = adviceFor(error);
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`tmqueue: ${message}${advice === '' ? '' : `; ${advice}`}\n`);
    return EXIT.REFUSED;
  }
  operations.show(daemon.measurements);
  if (!ending.signal.aborted)
    sayReady(daemon, { plan, json: options.json === true, metrics: operations.address });
  const code = await ending.reached;
  await daemon.stop('the daemon is stopping');
  allocator.close();
  return code;
}

/** Whoever reads our output may be gone, not read, or be a terminal that was stopped: the daemon goes on. */
function standAnyReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error');
    stream.on('error', () => {});
    unblock(stream);
  }
}

function sourceOf({ config, appdir, lmid, expandEnv }: StartOptions): ConfigurationSource {
  return {
    file: config,
    lmid,
    hostname: hostname(),
    appdir: appdir === undefined ? undefined : resolvePath(appdir),
    env: expandEnv === true ? process.env : undefined,
  };
}

function refuse(faults: readonly Fault[]): number {
  for (const fault of faults) process.stderr.write(`${formatFault(fault)}\n`);
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
  process.stderr.write(`tmqueue: not started: ${count} in the configuration\n`);
  return EXIT.REFUSED;
}

function sayReady(
  daemon: Daemon,
  { plan, json, metrics }: { plan: HostPlan; json: boolean; metrics: string },
): void {
  const addresses = daemon.addresses.map(addressText);
  const spaces = plan.spaces.map((space) => space.name);
  const line = json
    ? JSON.stringify({
        ready: true,
        address: addresses[0],
        addresses,
        lmid: plan.lmid,
        spaces,
        pid: process.pid,
        ...(metrics === '' ? {} : { metrics: `http:${metrics}` }),
      })
    : `tmqueue ready on ${addresses.join(' ')} (${plan.lmid}: ${spaces.join(', ')})`;
  process.stdout.write(`${line}\n`);
}
