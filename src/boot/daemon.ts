// The composition root: builds every part from a HostPlan, starts them in order (devices, spaces, roles, listeners) and stops them in
// reverse. It owns what is shared by all spaces of the process: the clock, the sync strategy, the page cache.
import type { Clock } from '../base/clock.ts';
import { TimerQueue } from '../base/timer-queue.ts';
import type { Ulog } from '../base/ulog.ts';
import { DEFAULT_ADDRESS, LIMIT, TP_CMT, TPU } from '../../proto/codes.ts';
import type { ReloadResult } from '../admin/reload.ts';
import { AdminRequests } from '../admin/requests.ts';
import { answerStat } from '../admin/statistics.ts';
import { AqRole } from '../aq/role.ts';
import { AtmiRequests } from '../atmi/requests.ts';
import { Joins } from '../atmi/joins.ts';
import { ServiceRules } from '../atmi/service-rules.ts';
import { Services } from '../atmi/services.ts';
import { Transactions } from '../atmi/transactions.ts';
import { UnsolicitedMessages } from '../atmi/unsolicited.ts';
import type { EnginePorts, SpaceEngine } from '../engine/space-engine.ts';
import { TwoPhase } from '../engine/two-phase.ts';
import { CLIENT_PREFIX_BYTES, RequestDispatcher } from '../net/dispatch.ts';
import { Readiness } from '../metrics/readiness.ts';
import { Listener } from '../net/listener.ts';
import type { Endpoint } from '../net/network.ts';
import { QueueRequests } from '../tmqueue/requests.ts';
import { Tmqueue } from '../tmqueue/tmqueue.ts';
import { Tmqforward, type TmqforwardPorts } from '../tmqforward/tmqforward.ts';
import type { HostPlan, SpacePlan } from '../ubb/plan.ts';
import { LogError } from '../wal/log-store.ts';
import { adviceFor } from './advice.ts';
import { Devices, type DeviceOptions } from './devices.ts';
import { thisMachine, type Machine } from './machine.ts';
import { HostedDevices } from './hosted-devices.ts';
import { Measurements } from './measurements.ts';
import { checkReach, isAnyHost } from './reach.ts';
import type { Loaded } from './configuration.ts';
import { Forwarders } from './forwarders.ts';
import { reload } from './reload.ts';
import { knownServers } from './servers.ts';
import { VERSION } from './version.ts';

export interface DaemonOptions {
  readonly plan: HostPlan;
  /** Instead of the plan's addresses. */
  readonly listen?: readonly Endpoint[];
  /** Listening beyond loopback without TLS and SECURITY must be asked for in so many words [DESIGN 10]. */
  readonly allowOpenNetwork?: boolean;
  readonly heartbeatMs?: number;
  readonly messageBytesMax?: number;
  readonly device?: DeviceOptions;
  /** Reads the configuration again (null), or another file of its folder; not given: it cannot be read again. */
  readonly load?: (file: string | null) => Loaded;
}

export interface DaemonPorts {
  readonly clock: Clock;
  readonly ulog: Ulog;
  /** Called when a log died: the process must end non-zero once every caller has been answered. */
  readonly onFailure: (reason: string) => void;
  /** Ends a start that is under way. */
  readonly signal: AbortSignal;
  /** This machine when not given. */
  readonly machine?: Machine;
  /** Told how far the start is, and what becomes of the daemon. */
  readonly readiness?: Readiness;
}

/** NOTIFY of *RESOURCES. */
const NOTIFY: Readonly<Record<string, number>> = {
  DIPIN: TPU.TPU_DIP,
  SIGNAL: TPU.TPU_SIG,
  THREAD: TPU.TPU_THREAD,
  IGNORE: TPU.TPU_IGN,
};
const HEARTBEAT_MS = 10_000;
/** How long a stop waits for what is in flight [DESIGN 11], in milliseconds. */
const STOP_MS = 5000;
const STOP_POLL_MS = 20;
const CHANCE_BYTES = 2;

export class Daemon {
  readonly addresses: Endpoint[] = [];
  readonly measurements: Measurements;
  readonly readiness: Readiness;
  private readonly options: DaemonOptions;
  private readonly ports: DaemonPorts;
  private readonly machine: Machine;
  private readonly tmqueue = new Tmqueue();
  private readonly twoPhase = new TwoPhase();
  private readonly transactions: Transactions;
  private readonly services: Services;
  private readonly unsolicited: UnsolicitedMessages;
  private aq: AqRole | null = null;
  private readonly devices: Devices;
  private readonly hosted: HostedDevices;
  private readonly timers: TimerQueue;
  private readonly forwarders: Forwarders;
  private readonly engines: SpaceEngine[] = [];
  /** Those that are open, by their groups. */
  private readonly byGroup = new Map<string, SpaceEngine>();
  /** The one in force: it may be read again. */
  private plan: HostPlan;
  private listener: Listener | null = null;
  private readonly startedMs: number;
  private stopping: Promise<void> | null = null;

  private constructor(options: DaemonOptions, ports: DaemonPorts) {
    const { plan } = options;
    this.options = options;
    this.plan = plan;
    this.ports = ports;
    this.machine = ports.machine ?? thisMachine;
    this.readiness = ports.readiness ?? new Readiness();
    this.startedMs = ports.clock.monoMs();
    const commitReturn = plan.cmtRet === 'LOGGED' ? TP_CMT.TP_CMT_LOGGED : TP_CMT.TP_CMT_COMPLETE;
    const limits = { maxGtt: plan.maxGtt, maxTranTimeS: plan.maxTranTimeS, commitReturn };
    const chance = Buffer.from(this.machine.randomBytes(CHANCE_BYTES)).readUInt16LE(0);
    this.transactions = new Transactions(ports.clock, limits, { twoPhase: this.twoPhase, chance });
    const messageBytesMax = options.messageBytesMax ?? LIMIT.MESSAGE_BYTES_DEFAULT;
    this.services = new Services({
      clock: ports.clock,
      messageBytesMax,
      joins: new Joins(this.transactions),
      rules: new ServiceRules(plan.services),
    });
    this.unsolicited = new UnsolicitedMessages({
      clock: ports.clock,
      lmid: plan.lmid,
      mode: NOTIFY[plan.notify] ?? TPU.TPU_DIP,
      blockTimeMs: plan.blockTimeMs,
    });
    this.timers = new TimerQueue(ports.clock);
    const { clock, ulog } = ports;
    const { soon, randomBytes, pid } = this.machine;
    const runCommand: EnginePorts['runCommand'] = (command, about) =>
      this.machine.runThresholdCommand(command, about, {
        ulog,
        appdir: plan.appdir,
        address: this.ownAddress,
      });
    this.forwarders = new Forwarders((line, engine, counters) => {
      const shared = this.forwarderPorts(engine);
      return new Tmqforward(shared, { ...line, srvgrp: line.group }, counters);
    });
    this.devices = new Devices({ clock, ulog, soon, randomBytes, pid, runCommand }, options.device ?? {});
    const spaces = this.devices.spacePorts();
    this.hosted = new HostedDevices({ spaces, served: () => this.tmqueue.spaces(), ulog });
    this.measurements = this.measured();
  }

  /** Starts everything; rejects with a sentence for the operator, after releasing what was taken. */
  static async start(options: DaemonOptions, ports: DaemonPorts): Promise<Daemon> {
    const daemon = new Daemon(options, ports);
    try {
      await daemon.open();
      return daemon;
    } catch (error) {
      await daemon.stop('the start failed');
      throw error;
    }
  }

  /** Stops in reverse order. In-flight work gets up to 5 s; idempotent. */
  stop(reason: string): Promise<void> {
    this.stopping ??= this.shutDown(reason);
    return this.stopping;
  }

  private async open(): Promise<void> {
    const { plan } = this.options;
    await this.openTlog();
    for (const [i, space] of plan.spaces.entries()) {
      const role = plan.tmqueues.filter((server) => server.group === space.group);
      const aliases = [...new Set(role.flatMap((server) => server.aliases))];
      const onProgress = (share: number): void => this.readiness.recovering((i + share) / plan.spaces.length);
      const engine = await this.openSpace(space, { aliases, onProgress });
      if (engine === null) continue;
      const timeoutS = role[0]?.timeoutS ?? 30;
      const timeoutMs = timeoutS === 0 ? Infinity : timeoutS * 1000;
      this.tmqueue.serve({ engine, timeoutMs, name: space.name, device: space.device, aliases });
      for (const forwarder of plan.forwarders) {
        if (forwarder.group === space.group) this.forwarders.add(forwarder, engine);
      }
    }
    await this.recover();
    await this.devices.warnOfLeftBehind(plan.spaces);
    for (const path of this.devices.paths()) this.hosted.add(path);
    const listener = new Listener({
      clock: this.ports.clock,
      ulog: this.ports.ulog,
      network: this.machine.network,
      dispatcher: this.dispatcher(),
      connectionsMax: LIMIT.CONNECTIONS_DEFAULT,
    });
    this.listener = listener;
    const planned = plan.listen.length > 0 ? plan.listen : [DEFAULT_ADDRESS];
    for (const endpoint of this.options.listen ?? planned) {
      checkReach(endpoint, this.options.allowOpenNetwork === true);
      this.addresses.push(await listener.listen(endpoint));
    }
    await this.devices.noteAddress(this.ownAddress === null ? null : formatAddress(this.ownAddress));
    this.forwarders.start();
    this.devices.warmUp();
    this.readiness.ready();
  }

  /** Before any space: it knows what becomes of prepared branches. Without it they stay in doubt, and all else is served. */
  private async openTlog(): Promise<void> {
    const { plan } = this.options;
    const { signal, ulog } = this.ports;
    const needed = plan.spaces.length > 1;
    try {
      this.twoPhase.tlog = await this.devices.openTlog(plan.tlog, { needed, signal });
    } catch (error) {
      if (!(error instanceof LogError) || error.kind !== 'Corrupt') throw error;
      const what = 'transactions over several queue spaces are refused, prepared ones stay in doubt';
      ulog.error(`the transaction log is damaged: ${error.message}; ${what}`, { device: plan.tlog.device });
    }
    if (this.twoPhase.tlog === null) return;
    this.twoPhase.tlog.onFailure = (error) => this.fail('the transaction log', error);
  }

  /** Ends what was prepared when the daemon ended, before anyone is served. */
  private async recover(): Promise<void> {
    const { ulog } = this.ports;
    const { committed, rolledBack, inDoubt } = await this.twoPhase.recover(
      this.engines,
      ulog,
      this.engines.length === this.options.plan.spaces.length,
    );
    if (committed + rolledBack + inDoubt > 0) {
      ulog.info('prepared transactions were found', { committed, rolledBack, inDoubt });
    }
  }

  /** null: its log is damaged; the other spaces are served [DESIGN 5, Tail]. With no other space there is nothing to start for. */
  private async openSpace(
    space: SpacePlan,
    { aliases, onProgress }: { aliases: string[]; onProgress: (share: number) => void },
  ): Promise<SpaceEngine | null> {
    const { plan } = this.options;
    try {
      const engine = await this.devices.open(space, { signal: this.ports.signal, onProgress });
      this.engines.push(engine);
      this.byGroup.set(space.group, engine);
      engine.onFailure = (error) => this.fail(`the log of queue space ${space.name}`, error);
      return engine;
    } catch (error) {
      if (!(error instanceof LogError) || error.kind !== 'Corrupt' || plan.spaces.length === 1) throw error;
      const { name, device } = space;
      const reason = `its log is damaged: ${error.message}`;
      this.ports.ulog.error(`queue space ${name} is not open: ${reason}; the other queue spaces are served`, {
        space: name,
        device,
      });
      this.readiness.without(`queue space ${name} is not open: its log is damaged`);
      this.tmqueue.close({ name, device, aliases, reason });
      if (this.tmqueue.closedSpaces().length === plan.spaces.length) throw error;
      return null;
    }
  }

  private forwarderPorts(engine: SpaceEngine): TmqforwardPorts {
    const { clock, ulog } = this.ports;
    const { services, transactions, timers } = this;
    const { appdir } = this.options.plan;
    const runCommand: TmqforwardPorts['runCommand'] = (command, about) =>
      this.machine.runRestartCommand(command, about, { ulog, appdir, address: this.ownAddress });
    const { soon } = this.machine;
    return { clock, ulog, services, transactions, timers, engine, soon, runCommand };
  }

  /** Reads the configuration again; what it says is in force when this resolves, or nothing has changed. */
  private async reload(file: string | null): Promise<ReloadResult> {
    const { services, forwarders, byGroup: engines } = this;
    const { ulog } = this.ports;
    const adopt = (plan: HostPlan): void => void (this.plan = plan);
    const load = this.options.load ?? null;
    return reload({ load, plan: () => this.plan, adopt, engines, services, forwarders, ulog }, file);
  }

  private measured(): Measurements {
    const { tmqueue, transactions, services, forwarders } = this;
    return new Measurements({
      version: VERSION,
      lmid: this.options.plan.lmid,
      connectionsMax: LIMIT.CONNECTIONS_DEFAULT,
      listener: () => this.listener,
      transactions,
      services,
      spaces: () => tmqueue.spaces(),
      closedSpaces: () => tmqueue.closedSpaces(),
      forwarders,
    });
  }

  private dispatcher(): RequestDispatcher {
    const { plan } = this.options;
    const { clock, ulog } = this.ports;
    const { transactions, services, tmqueue } = this;
    const { blockTimeMs } = plan;
    const messageBytesMax = this.options.messageBytesMax ?? LIMIT.MESSAGE_BYTES_DEFAULT;
    const statistics = {
      version: VERSION,
      lmid: plan.lmid,
      uptimeMs: () => clock.monoMs() - this.startedMs,
      connections: () => this.listener?.connectionCount ?? 0,
      transactions,
      services,
      spaces: () => tmqueue.spaces(),
      closedSpaces: () => tmqueue.closedSpaces(),
      forwarders: () => this.forwarders.statistics(),
    };
    const isService = (name: string): boolean => services.isAdvertised(name);
    const isOwnService = (name: string): boolean => tmqueue.find(name) !== undefined;
    const known = {
      transactionOf: transactions.ofBranch.bind(transactions),
      isCommitted: this.twoPhase.isCommitted.bind(this.twoPhase),
    };
    const admin = new AdminRequests({
      spaces: () => [...tmqueue.spaces(), ...this.hosted.opened()],
      servers: () => knownServers(this.plan, this.forwarders.placed),
      device: (path) => this.hosted.find(path),
      transactions: known,
      lmid: plan.lmid,
      reload: (file) => this.reload(file),
      ulog,
    });
    const aq = new AqRole({
      spaces: () => [...tmqueue.spaces(), ...this.hosted.opened()],
      closedReason: (qspace) => tmqueue.findClosed(qspace)?.reason,
      clock,
      transactions,
      ulog,
      messageBytesMax,
    });
    this.aq = aq;
    const roles = {
      queues: new QueueRequests({ clock, tmqueue, transactions, blockTimeMs, isService }),
      atmi: new AtmiRequests({ clock, transactions, services, blockTimeMs, isOwnService }),
      unsolicited: this.unsolicited,
      stat: answerStat.bind(null, statistics),
      admin: admin.handle.bind(admin),
      aq: aq.handle.bind(aq),
    };
    const limits = {
      messageBytesMax,
      inFlightMax: LIMIT.IN_FLIGHT_DEFAULT,
      readerBytesMax: LIMIT.READER_BYTES_DEFAULT,
      heartbeatMs: this.options.heartbeatMs ?? HEARTBEAT_MS,
      blockTimeMs,
    };
    const start = { product: `tmqueue ${VERSION}`, prefix: this.machine.randomBytes(CLIENT_PREFIX_BYTES) };
    return new RequestDispatcher(roles, limits, start);
  }

  /** Where commands that the daemon runs find it; null: it does not listen yet. */
  private get ownAddress(): Endpoint | null {
    const [first] = this.addresses;
    if (first === undefined) return null;
    return isAnyHost(first.host) ? { host: '127.0.0.1', port: first.port } : first;
  }

  private fail(what: string, error: Error): void {
    const advice = adviceFor(error) || 'mend the cause, then start again';
    this.readiness.failed(`${what} failed`);
    this.ports.ulog.error(`${what} failed, the daemon ends: ${advice}`, { error: error.message });
    this.ports.onFailure(`${what}: ${error.message}`);
  }

  private async shutDown(reason: string): Promise<void> {
    const { clock } = this.ports;
    this.readiness.stopping();
    this.forwarders.stop();
    // A disk that fails now is no reason to stop stopping.
    await this.devices.noteAddress(null).catch(() => {});
    const until = clock.monoMs() + STOP_MS / 2;
    while (this.forwarders.isBusy && clock.monoMs() < until) {
      await new Promise<void>((resolve) => {
        clock.setTimer(clock.monoMs() + STOP_POLL_MS, resolve);
      });
    }
    this.transactions.stop();
    // Waiters are answered and what was decided is made durable before the connections go.
    await Promise.all(this.engines.map((engine) => engine.quiesce()));
    await this.twoPhase.idle();
    await this.listener?.close(reason);
    await this.hosted.close();
    for (const engine of this.engines) await engine.close();
    await this.twoPhase.tlog?.close();
    this.devices.close();
    this.services.close();
    this.unsolicited.close();
    this.aq?.close();
    this.timers.close();
  }
}

function formatAddress({ host, port }: Endpoint): string {
  return `//${host.includes(':') ? `[${host}]` : host}:${port}`;
}
