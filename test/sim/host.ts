// The machine of the daemon: its disk, its wall clock, and one life of the real daemon after the other, all roles and both queue spaces, put
// together by boot itself. Owns how a life ends (killed, power gone, stopped, its log failed, in the middle of a call of the disk) and that
// the next one begins; a supervisor starts the daemon again as systemd would. It must not know clients.
import type { LogFields, Ulog } from '../../src/base/ulog.ts';
import type { Prng } from '../../src/base/prng.ts';
import { Daemon } from '../../src/boot/daemon.ts';
import type { Machine } from '../../src/boot/machine.ts';
import { SimClock, WallClock } from './clock.ts';
import { type Deceit, type DiskTroubles, noTroubles, SimDisk, SimFileIo } from './disk.ts';
import type { Ledger } from './ledger.ts';
import type { SimNetwork } from './network.ts';
import type { Scenario } from './scenario.ts';
import { Life, type World } from './world.ts';

const SEGMENT_BYTES = 64 * 1024;
/** Of a process whose log failed: it has answered by then [cli/start.ts STOP_MAX_MS]. */
const STOP_MAX_MS = 5000;
const HEARTBEAT_MS = 1500;

export type EndKind = 'killed' | 'power gone' | 'stopped' | 'its log failed' | 'the start failed';

export interface HostPorts {
  readonly world: World;
  readonly network: SimNetwork;
  readonly scenario: Scenario;
  readonly ledger: Ledger;
  readonly deceit: Deceit;
  /** Something that must not happen did. */
  readonly violation: (text: string) => void;
}

export class Host {
  readonly disk = new SimDisk();
  readonly wall = new WallClock();
  lives = 0;
  /** A message could not be read from the disk: it is not offered again before the next start. */
  hadReadError = false;
  /** How lives ended, for the totals. */
  readonly ends: EndKind[] = [];
  private readonly ports: HostPorts;
  private readonly prng: Prng;
  private life: Life | null = null;
  private daemon: Daemon | null = null;
  private isStopping = false;
  private isCalm = false;
  private startsFailed = 0;
  private waiting: (() => void)[] = [];
  private diskTroubles: DiskTroubles = noTroubles();

  constructor(ports: HostPorts) {
    this.ports = ports;
    this.prng = ports.world.prng('host');
  }

  get isServing(): boolean {
    return this.daemon !== null && !this.isStopping;
  }

  /** Resolves when the daemon serves. */
  serving(): Promise<void> {
    if (this.isServing) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Begins the next life. */
  start(): void {
    const { world, network, scenario, deceit } = this.ports;
    this.lives++;
    network.isHostDown = false;
    const life = new Life(`life${this.lives}`);
    this.life = life;
    const random = world.prng(life.name);
    this.diskTroubles = this.drawTroubles(random);
    const io = new SimFileIo(this.disk, {
      world,
      life,
      prng: world.prng(`${life.name} disk`),
      troubles: this.diskTroubles,
      deceit,
      onFatalCall: () => this.end(life, random.oneIn(2) ? 'power gone' : 'killed'),
    });
    this.note(`${life.name} starts`);
    const options = {
      plan: scenario.plan,
      listen: [{ host: '127.0.0.1', port: 7110 }],
      heartbeatMs: HEARTBEAT_MS,
      device: { sync: scenario.sync, segmentBytes: SEGMENT_BYTES, cacheBytes: scenario.cacheBytes, io },
    };
    const ports = {
      clock: new SimClock(world, life, this.wall),
      ulog: this.ulog(life),
      onFailure: (reason: string) => this.failed(life, reason),
      signal: new AbortController().signal,
      machine: this.machine(life, random),
    };
    Daemon.start(options, ports).then(
      (daemon) => this.started(life, daemon),
      (error: unknown) => this.startFailed(life, error),
    );
  }

  /** No more troubles: what is running goes on, what starts goes well. */
  calm(): void {
    this.isCalm = true;
    this.disk.capacityBytes = Infinity;
    this.diskTroubles.endAtCall = 0;
    this.diskTroubles.errorAtCall = 0;
  }

  kill(): void {
    if (this.life !== null) this.end(this.life, 'killed');
  }

  cutPower(): void {
    if (this.life !== null) this.end(this.life, 'power gone');
  }

  /** SIGTERM: the daemon stops by itself; resolves when it has. */
  async stop(): Promise<void> {
    const { daemon, life } = this;
    if (daemon === null || life === null || this.isStopping) return;
    await this.stopLife(life, daemon, 'stopped');
  }

  private async stopLife(life: Life, daemon: Daemon, kind: EndKind): Promise<void> {
    const { world } = this.ports;
    this.isStopping = true;
    this.note(`${life.name} is stopping`);
    const limit = world.after(STOP_MAX_MS, () => {
      if (kind === 'stopped' && this.disk.capacityBytes === Infinity) {
        this.ports.violation(`${life.name}: a stop took longer than ${STOP_MAX_MS} ms`);
      }
      this.end(life, 'killed');
    });
    const isOver = new Promise<void>((resolve) => life.whenEnded(resolve));
    await Promise.race([daemon.stop('the daemon is stopping'), isOver]);
    limit.cancel();
    this.end(life, kind);
  }

  private started(life: Life, daemon: Daemon): void {
    if (life.ended) return;
    this.note(`${life.name} serves`);
    this.startsFailed = 0;
    this.daemon = daemon;
    for (const end of this.ports.ledger.ends)
      if (end.toTick === Infinity) end.toTick = this.ports.ledger.tick();
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  private startFailed(life: Life, error: unknown): void {
    if (life.ended) return;
    const reason = error instanceof Error ? error.message : String(error);
    this.note(`${life.name} does not start: ${reason}`);
    this.startsFailed++;
    const isDamage = !/E(IO|NOSPC)/.test(reason);
    if (isDamage || this.startsFailed > 20) {
      this.ports.violation(`the daemon does not start: ${reason}`);
    }
    this.end(life, 'the start failed');
  }

  private failed(life: Life, reason: string): void {
    if (life.ended) return;
    if (!/E(IO|NOSPC)/.test(reason)) this.ports.violation(`a log failed by itself: ${reason}`);
    const { daemon } = this;
    // A log that fails during the start makes the start fail.
    if (daemon !== null && !this.isStopping) void this.stopLife(life, daemon, 'its log failed');
  }

  private end(life: Life, kind: EndKind): void {
    if (life.ended) return;
    const { world, network, ledger } = this.ports;
    this.ends.push(kind);
    ledger.ends.push({ queue: '', fromTick: ledger.tick(), toTick: Infinity });
    this.note(`${life.name} ends: ${kind}`);
    if (kind === 'power gone') network.isHostDown = true;
    this.daemon = null;
    this.isStopping = false;
    this.life = null;
    life.end();
    // After the turn: what it still does to the disk in this turn is not done any more.
    world.after(this.prng.between(1, 400), () => {
      if (kind === 'power gone') this.disk.crash(this.prng);
      this.start();
    });
  }

  private drawTroubles(prng: Prng): DiskTroubles {
    const { troubles, shortTransfers, syncMsMax } = this.ports.scenario;
    if (this.isCalm) return { ...noTroubles(), syncMsMax };
    const call = (): number => (prng.oneIn(4) ? prng.between(1, 60) : prng.between(40, 600));
    return {
      endAtCall: troubles.fatalCalls && prng.oneIn(2) ? call() : 0,
      errorAtCall: troubles.diskErrors && prng.oneIn(2) ? call() : 0,
      shortOneIn: shortTransfers,
      syncMsMax,
    };
  }

  private machine(life: Life, prng: Prng): Machine {
    const { world, network } = this.ports;
    return {
      network: network.forLife(life),
      soon: (run) => void world.after(0, run, life),
      randomBytes: (count) => prng.bytes(count),
      pid: this.lives,
      runThresholdCommand: (command, about) => this.note(`threshold command ${command} of ${about.queue}`),
      runRestartCommand: (command) => this.note(`RCMD ${command}`),
    };
  }

  private ulog(life: Life): Ulog {
    const at =
      (level: string) =>
      (message: string, fields: LogFields = {}): void => {
        if (life.ended) return;
        if (message.startsWith('reading a message failed')) this.hadReadError = true;
        this.note(`${life.name} ${level}: ${message} ${JSON.stringify(fields)}`);
      };
    return { info: at('info'), warn: at('warn'), error: at('error') };
  }

  private note(what: string): void {
    const { world } = this.ports;
    world.trace.add(`${world.nowMs.toFixed(3)} ${what}`);
  }
}
