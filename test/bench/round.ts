// One round: every workload once, each directly after the bare run that it is compared with, all on one file system. The daemon, the bare
// pipeline and the load generators are processes of their own.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BareServerReady, BareServerTask } from './bare/server.ts';
import { runBacklog } from './backlog-run.ts';
import { Daemon, QSPACE } from './daemon.ts';
import type { Figures } from './figures.ts';
import { runChild, startChild, type Running } from './ipc.ts';
import { BODY_BYTES, type LoadKind, type LoadTask, type Shape } from './load/task.ts';
import type { Options, Workload } from './options.ts';
import { PEER_SHAPES, type PeerName, type PeerShape } from './peers/peer.ts';
import { RunningPeer } from './peers/run.ts';
import { BYTES, runOnOwnDaemon, type OwnRun } from './own-daemon.ts';

/** Shapes that the bare pipeline is run in. */
export type BareShape = 'W1' | 'W2' | 'W3' | 'W6' | 'W7';
/** What is run: `sync`, the bare pipeline in a shape (plain, but for `best`), a workload or a variant of it, W3 through the SDK, a
 * workload on another system. */
export type RunName =
  'sync' | `bare ${BareShape | 'best'}` | Workload | OwnRun | 'W3 sdk' | `${PeerShape} ${PeerName}`;
export type Round = Partial<Record<RunName, Figures>>;

/** The bare shape that goes before a workload; the others are seen beside W3's. */
const BARE_BEFORE: Partial<Record<Workload, BareShape>> = {
  W1: 'W1',
  W2: 'W2',
  W3: 'W3',
  W6: 'W6',
  W7: 'W7',
};
/** Those that share a daemon. */
const SHARED = ['W1', 'W2', 'W3', 'W4', 'W5'] as const;
type Shared = (typeof SHARED)[number];
/** The runs of a workload on daemons of their own. */
const OWN: Readonly<Record<Exclude<Workload, Shared | 'W8'>, readonly OwnRun[]>> = {
  W6: ['W6'],
  W7: ['W7'],
  W9: ['W9'],
  W10: ['W10', 'W10 of 101'],
  W11: ['W11 alone', 'W11'],
};
const SDK_QUEUE = 'W3SDK';
const WARM_QUEUE = 'WARM';
/** Between two runs, so that what the one left to be written does not slow the other down. */
const PAUSE_MS = 300;
const CHILD_MS = 120_000;

export interface RoundOptions {
  readonly options: Options;
  /** An existing directory for this round alone. */
  readonly directory: string;
  /** Called before each run. */
  readonly onRun: (name: RunName) => void;
}

export async function runRound(round: RoundOptions): Promise<Round> {
  const { options, directory } = round;
  const nodeOptions = options.cpuProf === '' ? [] : ['--cpu-prof', '--cpu-prof-dir', options.cpuProf];
  const data = join(directory, 'daemon');
  mkdirSync(data);
  const daemon = await Daemon.start({
    directory: data,
    queues: [...SHARED, SDK_QUEUE, WARM_QUEUE],
    nodeOptions,
  });
  try {
    const plain = await startBare('plain', directory);
    try {
      const best = await startBare('best', directory);
      const peers = new Map<PeerName, RunningPeer>();
      try {
        for (const name of options.peers) peers.set(name, await RunningPeer.start(name, options, directory));
        return await new Runs(round, { daemon, plain, best, peers }).all();
      } finally {
        for (const peer of peers.values()) await peer.stop();
        await best.stop();
      }
    } finally {
      await plain.stop();
    }
  } finally {
    await daemon.stop();
  }
}

type BareServer = Running<BareServerReady>;

function startBare(variant: BareServerTask['variant'], directory: string): Promise<BareServer> {
  const task: BareServerTask = { variant, directory };
  return startChild<BareServerReady>({ script: 'bare/server.js', timeoutMs: CHILD_MS }, task);
}

interface Servers {
  readonly daemon: Daemon;
  readonly plain: BareServer;
  readonly best: BareServer;
  readonly peers: ReadonlyMap<PeerName, RunningPeer>;
}

class Runs {
  private readonly results: Round = {};
  private readonly round: RoundOptions;
  private readonly servers: Servers;

  constructor(round: RoundOptions, servers: Servers) {
    this.round = round;
    this.servers = servers;
  }

  async all(): Promise<Round> {
    const { only, sdk, measureMs } = this.round.options;
    const { directory } = this.round;
    await this.run('sync', () =>
      runChild<Figures>(
        { script: 'bare/sync.js', timeoutMs: CHILD_MS + measureMs },
        { directory, measureMs },
      ),
    );
    for (const workload of only) {
      const bare = BARE_BEFORE[workload];
      if (bare !== undefined) await this.runBare(bare);
      await this.workload(workload);
      const shape = PEER_SHAPES.find((one) => one === workload);
      if (shape === undefined) continue;
      for (const [name, peer] of this.servers.peers)
        await this.run(`${shape} ${name}`, () => peer.run(shape));
    }
    if (this.results['bare W3'] === undefined) await this.runBare('W3');
    if (only.includes('W3')) await this.run('bare best', () => this.loadBare(this.servers.best, 'W3'));
    if (sdk && only.includes('W3')) await this.run('W3 sdk', () => this.load('sdk', 'W3', SDK_QUEUE));
    return this.results;
  }

  private async workload(workload: Workload): Promise<void> {
    const { options } = this.round;
    if (workload === 'W8') return this.run('W8', () => runBacklog(this.subdirectory('W8'), options.backlog));
    if (isShared(workload)) return this.run(workload, () => this.load('lean', workload, workload));
    for (const name of OWN[workload]) {
      await this.run(name, () => runOnOwnDaemon(name, options, this.subdirectory(name)));
    }
    return undefined;
  }

  private subdirectory(name: string): string {
    const path = join(this.round.directory, name.replaceAll(' ', '-'));
    mkdirSync(path);
    return path;
  }

  private runBare(shape: BareShape): Promise<void> {
    return this.run(`bare ${shape}`, () => this.loadBare(this.servers.plain, shape));
  }

  private async run(name: RunName, measure: () => Promise<Figures>): Promise<void> {
    this.round.onRun(name);
    this.results[name] = await measure();
    await delay(PAUSE_MS);
  }

  private load(kind: LoadKind, shape: Shape, qname: string): Promise<Figures> {
    const { port, pid } = this.servers.daemon;
    return this.loadOn({ port, pid }, { kind, shape, qname });
  }

  private loadBare(server: BareServer, shape: Shape): Promise<Figures> {
    const { answer, pid } = server;
    return this.loadOn({ port: answer.port, pid }, { kind: 'bare', shape, qname: '' });
  }

  private loadOn(
    server: { port: number; pid: number },
    what: { kind: LoadKind; shape: Shape; qname: string },
  ): Promise<Figures> {
    const { warmupMs, measureMs } = this.round.options;
    const task: LoadTask = {
      ...server,
      ...what,
      qspace: QSPACE,
      warmQueue: WARM_QUEUE,
      bodyBytes: what.shape === 'W6' || what.shape === 'W7' ? BYTES[what.shape] : BODY_BYTES,
      warmupMs,
      measureMs,
      firstProducer: 0,
    };
    return runChild<Figures>({ script: 'load/main.js', timeoutMs: CHILD_MS + warmupMs + measureMs }, task);
  }
}

function isShared(workload: Workload): workload is Shared {
  return SHARED.some((one) => one === workload);
}
