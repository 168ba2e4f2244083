// One run from its seed: the world, the clients at work while things go wrong, the calm after it, and the verdict. Invariant: the same seed
// and options give the same run, byte for byte, whatever ran before in this process.
import { type Context, QME, type TpError } from '../../clients/typescript/index.ts';
import { keyOf } from '../support/ledger-body.ts';
import { tooManyAttempts } from './attempts.ts';
import { Chaos } from './chaos.ts';
import { Client, type ClientPorts } from './client.ts';
import { takeGlobals } from './globals.ts';
import { type EndKind, Host } from './host.ts';
import type { KnownFault } from './known-faults.ts';
import { Ledger } from './ledger.ts';
import { SimNetwork } from './network.ts';
import { outOfTurn } from './order.ts';
import { CAPABILITIES, type Capabilities, drawScenario, QUEUE, QUEUES, type Scenario } from './scenario.ts';
import { Trace } from './trace.ts';
import { FAILED, verdict } from './verdict.ts';
import { makeClients, serve } from './workloads.ts';
import { World } from './world.ts';

export interface RunOptions {
  readonly seed: number;
  /** Runs a build with this fault. */
  readonly fault?: KnownFault;
  readonly capabilities?: Capabilities;
  /** Told every line of the trace. */
  readonly onLine?: (line: string) => void;
}

export interface RunResult {
  readonly seed: number;
  /** Of everything that happened. */
  readonly hash: string;
  /** What is wrong; empty when all is well. */
  readonly violations: string[];
  readonly events: number;
  readonly simulatedMs: number;
  readonly messages: number;
  readonly takes: number;
  readonly ends: readonly EndKind[];
  readonly lastLines: string[];
}

/** Everything must be over by then, in simulated time. */
const RUN_MS_MAX = 600_000;
const EVENTS_MAX = 400_000;
/** After the clients' work: retries, delays, open transactions and the forwarders come to their ends. */
const SETTLE_MS = 60_000;
const LINES_SHOWN = 60;

export async function runSeed(options: RunOptions): Promise<RunResult> {
  const trace = new Trace();
  trace.onLine = options.onLine ?? null;
  const world = new World(options.seed, trace);
  const mend = options.fault?.switchIn() ?? ((): void => {});
  const giveBack = takeGlobals(world);
  const { stackTraceLimit } = Error;
  // Thousands of refusals: their stacks cost more than all the rest of them.
  Error.stackTraceLimit = options.onLine === undefined ? 0 : 30;
  const run = new Run(world, options);
  const onRejection = (error: unknown): void =>
    run.violation(`a promise nobody looked at: ${stackOf(error)}`);
  process.on('unhandledRejection', onRejection);
  try {
    await run.go();
  } finally {
    process.off('unhandledRejection', onRejection);
    giveBack();
    mend();
    Error.stackTraceLimit = stackTraceLimit;
  }
  return run.result();
}

class Run {
  private readonly world: World;
  private readonly seed: number;
  private readonly violations: string[] = [];
  private readonly scenario: Scenario;
  private readonly ledger = new Ledger();
  private readonly network: SimNetwork;
  private readonly host: Host;
  private readonly clients: Client[] = [];
  private readonly contents = new Map<string, string[]>();
  private isDone = false;

  constructor(world: World, options: RunOptions) {
    this.world = world;
    this.seed = options.seed;
    this.scenario = drawScenario(world, options.capabilities ?? CAPABILITIES);
    this.network = new SimNetwork(world);
    this.network.traits.delayMsMax = this.scenario.delayMsMax;
    this.network.traits.splitOneIn = this.scenario.splitOneIn;
    this.host = new Host({
      world,
      network: this.network,
      scenario: this.scenario,
      ledger: this.ledger,
      deceit: options.fault?.deceit ?? 'none',
      violation: (text) => this.violation(text),
    });
    world.onThrown = (error, where) => this.violation(`${where} threw: ${stackOf(error)}`);
  }

  violation(text: string): void {
    this.world.trace.add(`VIOLATION ${text}`);
    this.violations.push(text);
  }

  async go(): Promise<void> {
    this.host.start();
    const work = this.work().then(
      () => {
        this.isDone = true;
      },
      (error: unknown) => {
        this.violation(`the simulation itself failed: ${stackOf(error)}`);
        this.isDone = true;
      },
    );
    // Whatever is wrong already: what follows would only be its consequences.
    const isOver = (): boolean => this.isDone || this.violations.length > 0;
    const ending = await this.world.run(isOver, { untilMs: RUN_MS_MAX, eventsMax: EVENTS_MAX });
    if (ending !== 'done') {
      this.violation(
        `the run did not end: ${ending} at ${this.world.nowMs.toFixed(0)} ms${this.openCalls()}`,
      );
    }
    if (this.isDone) await work;
  }

  result(): RunResult {
    const { world, ledger } = this;
    const takes = [...ledger.messages.values()].reduce((sum, message) => sum + message.takes.length, 0);
    return {
      seed: this.seed,
      hash: world.trace.hash,
      violations: this.violations,
      events: world.events,
      simulatedMs: Math.round(world.nowMs),
      messages: ledger.messages.size,
      takes,
      ends: this.host.ends,
      lastLines: world.trace.last(LINES_SHOWN),
    };
  }

  private async work(): Promise<void> {
    const { world, host, network, scenario, ledger } = this;
    await host.serving();
    const endMs = world.nowMs + scenario.workMs;
    const chaos = new Chaos(world, host, { network, scenario });
    const ports: ClientPorts = {
      world,
      network,
      ledger,
      scenario,
      violation: (text) => this.violation(text),
    };
    const working = makeClients(ports).map(({ client, work, space }) => {
      this.clients.push(client);
      return work(client, space, () => world.nowMs > endMs);
    });
    const stopServing = new AbortController();
    const server = new Client('server', ports);
    const serving = serve(server, stopServing.signal);
    world.at(endMs, () => chaos.end());
    await Promise.all(working);
    chaos.end();
    await world.sleep(SETTLE_MS);
    await this.lookAtAll(new Client('reader', ports));
    stopServing.abort();
    await serving;
    this.violations.push(...verdict(ledger, this.contents), ...this.outOfTurn(), ...this.tooManyAttempts());
  }

  /** What lies on the queues in the end, as any client finds out; after a last end of the daemon or without one. */
  private async lookAtAll(client: Client): Promise<void> {
    const { host, world } = this;
    const prng = world.prng('last end');
    switch (host.hadReadError ? 0 : prng.below(6)) {
      case 0:
        await host.stop();
        break;
      case 1:
        host.kill();
        break;
      case 2:
        host.cutPower();
        break;
      default:
    }
    await host.serving();
    this.clients.push(client);
    const context = await client.join();
    for (const { name } of this.scenario.spaces) {
      // First what moves: behind it nothing comes back.
      for (const queue of [QUEUE.SERVICE, ...QUEUES.filter((one) => one !== QUEUE.SERVICE)]) {
        this.contents.set(`${name}/${queue}`, await readAll(client, context, { space: name, queue }));
      }
    }
    await client.leave();
  }

  private outOfTurn(): string[] {
    if (this.host.hadReadError) return [];
    const orders = this.scenario.spaces.map(
      ({ name, order }) => [`${name}/${QUEUE.ORDERED}`, order] as const,
    );
    return outOfTurn(this.ledger, new Map(orders));
  }

  /** On a full disk the count may be kept in memory; everywhere else it is exact. */
  private tooManyAttempts(): string[] {
    const { spaces, troubles } = this.scenario;
    if (troubles.diskFullMs > 0) return [];
    return tooManyAttempts(
      this.ledger,
      new Map(spaces.map(({ name, fewRetries }) => [`${name}/${QUEUE.FEW}`, fewRetries])),
    );
  }

  private openCalls(): string {
    const open = this.clients.flatMap((client) =>
      [...client.open.values()].map((one) => ({ client, ...one })),
    );
    return open
      .map(
        ({ client, what, sinceMs }) =>
          `\n    ${client.name} waits since ${sinceMs.toFixed(0)} ms for: ${what}`,
      )
      .join('');
  }
}

/** Takes everything from a queue. */
async function readAll(
  client: Client,
  context: Context,
  { space, queue }: { space: string; queue: string },
): Promise<string[]> {
  const keys: string[] = [];
  for (;;) {
    const end = await client.call(`read ${space}/${queue}`, () =>
      context.tpdequeue(space, queue, null, null),
    );
    if (end.ok) keys.push(keyIn(end.value.data));
    else if (isEmpty(end.error)) return keys;
    else client.ports.violation(`reading ${space}/${queue} in the end: ${end.error.message}`);
  }
}

function isEmpty(error: TpError): boolean {
  // QMENOMSG, or a queue that an administrator destroyed.
  return error.diagnostic === QME.QMENOMSG || error.diagnostic === QME.QMEBADQUEUE;
}

function keyIn(data: unknown): string {
  if (data instanceof Uint8Array) {
    const text = Buffer.from(data.buffer, data.byteOffset, data.length).toString('latin1');
    if (text.startsWith(FAILED)) return text;
  }
  return keyOf(data);
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
