// The workloads on another system's server, as part of a round: one server for W1 to W7, W8 on one of its own, which is killed and started
// again.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Figures } from '../figures.ts';
import { runChild } from '../ipc.ts';
import { BODY_BYTES } from '../load/task.ts';
import type { Options } from '../options.ts';
import { BYTES } from '../own-daemon.ts';
import type { Lane, Peer, PeerName, PeerServer, PeerShape } from './peer.ts';
import { freePort } from './program.ts';
import { PEER } from './table.ts';
import type { PeerTask } from './task.ts';
import { treeMemory } from './tree.ts';

/** Filling and draining take their own time with a slow system. */
const CHILD_MS = 300_000;
const SETTLE_MS = 1500;

/** One line for each system that cannot be run here: what is missing, and how to install it. */
export function missingPeers(names: readonly PeerName[], modules: string): string[] {
  return names.flatMap((name) => {
    const { install } = PEER[name];
    const missing = PEER[name].missing(modules);
    return missing === '' ? [] : [`--peer ${name}: ${missing} not found. To install: ${install}`];
  });
}

export class RunningPeer {
  private readonly peer: Peer;
  private readonly options: Options;
  private readonly directory: string;
  private server: PeerServer | null = null;
  private port = 0;

  private constructor(peer: Peer, options: Options, directory: string) {
    this.peer = peer;
    this.options = options;
    this.directory = directory;
  }

  /** @param directory of the round */
  static async start(name: PeerName, options: Options, directory: string): Promise<RunningPeer> {
    const running = new RunningPeer(PEER[name], options, join(directory, name));
    mkdirSync(running.directory);
    if (options.only.some((workload) => workload !== 'W8')) await running.startServer(running.directory);
    return running;
  }

  run(shape: PeerShape): Promise<Figures> {
    if (shape === 'W8') return this.backlog();
    if (this.server === null) throw new Error(`${this.peer.name} is not running`);
    return this.load(shape, this.server.pid);
  }

  async stop(): Promise<void> {
    const { server } = this;
    this.server = null;
    await server?.stop();
  }

  private async startServer(directory: string): Promise<PeerServer> {
    this.port = await freePort();
    this.server = await this.peer.start({ directory, port: this.port });
    return this.server;
  }

  private load(shape: PeerShape, pid: number): Promise<Figures> {
    const { warmupMs, measureMs, peerModules, backlog } = this.options;
    const task: PeerTask = {
      peer: this.peer.name,
      modules: peerModules,
      shape,
      port: this.port,
      pid,
      queue: shape,
      bodyBytes: shape === 'W6' || shape === 'W7' ? BYTES[shape] : BODY_BYTES,
      warmupMs,
      measureMs,
      backlog,
    };
    const timeoutMs = CHILD_MS + warmupMs + measureMs;
    return runChild<Figures>({ script: 'peers/load.js', timeoutMs }, task);
  }

  private async backlog(): Promise<Figures> {
    await this.stop();
    const directory = join(this.directory, 'backlog');
    mkdirSync(directory);
    const server = await this.startServer(directory);
    const before = treeMemory(server.pid);
    const figures = await this.load('W8', server.pid);
    await delay(SETTLE_MS);
    const memory = treeMemory(server.pid);
    await server.crash();
    const startedAt = performance.now();
    await this.startServer(directory);
    const readyMs = performance.now() - startedAt;
    await this.firstMessage();
    const firstMs = performance.now() - startedAt;
    return {
      ...figures,
      extra: {
        'bytes of memory a message': (memory - before) / figures.messages,
        'resident size / messages': memory / figures.messages,
        'ms to ready after kill -9': readyMs,
        'ms to the first message': firstMs,
      },
    };
  }

  private async firstMessage(): Promise<void> {
    const lane: Lane = await this.peer.connect({
      port: this.port,
      queue: 'W8',
      inFlight: 1,
      modules: this.options.peerModules,
    });
    await lane.take(1, () => {});
    await lane.close();
  }
}
