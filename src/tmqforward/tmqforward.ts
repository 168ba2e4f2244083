// A TMQFORWARD server: its forwarders (MIN of them), and when they may begin. A daemon that has just started gives the servers of its
// services time to connect, as tmboot starts servers before forwarders: a queue is drained once its service has been advertised, or when
// the grace is over; from then on a missing service costs attempts as the specification says [spec 4.2, TPENOENT]. Decides what follows
// when a forwarder ends.
import type { ForwarderStatistics } from '../../proto/message.ts';
import { Forwarder, type ForwardCounters, type ForwarderPorts, type ForwardTerms } from './forwarder.ts';
import { Lives, type RestartTerms } from './lives.ts';

/** How long after the start a queue waits for its service, in milliseconds. */
export const SERVICE_GRACE_MS = 10_000;
/** Between the failure of a forwarder and its next life, in milliseconds: one that fails at once must not keep the daemon busy. */
export const RESTART_PAUSE_MS = 1000;

export interface TmqforwardPorts extends ForwarderPorts {
  /** Runs RCMD by the shell, without waiting for it. */
  readonly runCommand: (command: string, about: { grpno: number; srvid: number }) => void;
}

export interface TmqforwardOptions extends ForwardTerms, RestartTerms {
  readonly srvgrp: string;
  readonly grpno: number;
  /** That of the first forwarder; the others have the numbers after it. */
  readonly srvid: number;
  /** Forwarders that share the queues. */
  readonly instances: number;
  /** RCMD, or '' */
  readonly rcmd: string;
}

/** One of MIN. */
interface Instance {
  readonly srvid: number;
  readonly lives: Lives;
  /** null: it has ended. */
  forwarder: Forwarder | null;
}

export class Tmqforward {
  private readonly ports: TmqforwardPorts;
  private readonly options: TmqforwardOptions;
  private readonly instances: Instance[] = [];
  private readonly counters: ForwardCounters = { forwarded: 0, failed: 0 };
  private readonly seen = new Set<string>();
  private readonly unwatch: (() => void)[] = [];
  private graceOver = false;
  private stopped = false;

  constructor(ports: TmqforwardPorts, options: TmqforwardOptions) {
    this.ports = ports;
    this.options = options;
  }

  start(): void {
    const { clock, engine, services, timers } = this.ports;
    const { queues, instances, srvid } = this.options;
    for (let i = 0; i < instances; i++) {
      const lives = new Lives(this.options, clock.monoMs());
      const instance: Instance = { srvid: srvid + i, lives, forwarder: null };
      instance.forwarder = this.forwarderOf(instance);
      this.instances.push(instance);
    }
    for (const qname of queues) {
      if (services.isAdvertised(qname)) this.seen.add(qname);
      this.unwatch.push(services.watch(qname, () => this.noteService(qname)));
    }
    this.unwatch.push(engine.watchDefinitions(() => this.scan()));
    timers.set(clock.monoMs() + SERVICE_GRACE_MS, () => {
      this.graceOver = true;
      this.scan();
    });
    this.scan();
  }

  stop(): void {
    this.stopped = true;
    for (const unwatch of this.unwatch.splice(0)) unwatch();
    for (const { forwarder } of this.instances) forwarder?.stop();
  }

  get isBusy(): boolean {
    return this.instances.some(({ forwarder }) => forwarder?.isBusy === true);
  }

  statistics(): ForwarderStatistics {
    const { srvgrp, srvid, queues } = this.options;
    return { srvgrp, srvid, queues: [...queues], ...this.counters };
  }

  private forwarderOf(instance: Instance): Forwarder {
    const mayDrain = (qname: string): boolean => this.graceOver || this.seen.has(qname);
    const onEnded = (error: Error | null): void => this.ended(instance, error);
    return new Forwarder(this.ports, { ...this.options, mayDrain, onEnded }, this.counters);
  }

  /** -e found nothing, or it failed: then the next life, if it has one, and RCMD beside it. */
  private ended(instance: Instance, error: Error | null): void {
    const { clock, ulog, timers, runCommand } = this.ports;
    const { srvgrp, grpno, rcmd } = this.options;
    const { srvid, lives } = instance;
    instance.forwarder = null;
    if (error === null) {
      ulog.info('TMQFORWARD: no message found: it has ended [-e]', { srvgrp, srvid });
      return;
    }
    const isRestarted = lives.again(clock.monoMs()) && !this.stopped;
    const then = isRestarted ? 'it is started again' : 'it stays down [RESTART, MAXGEN, GRACE]';
    ulog.error(`TMQFORWARD failed: ${error.message}; ${then}`, { srvgrp, srvid, stack: error.stack ?? '' });
    if (!isRestarted) return;
    if (rcmd !== '') runCommand(rcmd, { grpno, srvid });
    timers.set(clock.monoMs() + RESTART_PAUSE_MS, () => {
      if (this.stopped) return;
      instance.forwarder = this.forwarderOf(instance);
      instance.forwarder.scan();
    });
  }

  private noteService(qname: string): void {
    if (this.seen.has(qname)) return;
    this.seen.add(qname);
    this.scan();
  }

  private scan(): void {
    for (const { forwarder } of this.instances) forwarder?.scan();
  }
}
