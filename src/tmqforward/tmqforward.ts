// A TMQFORWARD server: its forwarders, and when they may begin. A daemon that has just started gives the servers of its
// services time to connect, as tmboot starts servers before forwarders: a queue is drained once its service has been advertised, or when
// the grace is over; from then on a missing service costs attempts as the specification says [spec 4.2, TPENOENT]. Decides what follows
// when a forwarder ends, and starts and stops single ones by their id, also those above MIN [spec 6.4].
import { assert } from '../base/assert.ts';
import type { Deadline } from '../base/timer-queue.ts';
import type { ForwarderStatistics } from '../../proto/message-statistics.ts';
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
  /** Forwarders that share the queues: MIN begin with the daemon, MAX there may be. */
  readonly instances: number;
  readonly instancesMax: number;
  /** RCMD, or '' */
  readonly rcmd: string;
}

/** One of MAX. */
interface Instance {
  readonly srvid: number;
  lives: Lives;
  /** null: it is down. */
  forwarder: Forwarder | null;
  /** It failed, and begins again then. */
  next: Deadline | null;
}

export class Tmqforward {
  private readonly ports: TmqforwardPorts;
  private readonly options: TmqforwardOptions;
  private readonly instances: readonly Instance[];
  /** Stopped by id, with a message under way. */
  private readonly finishing = new Set<Forwarder>();
  /** May be those of a server that this one takes the place of. */
  readonly counters: ForwardCounters;
  private readonly seen = new Set<string>();
  private readonly unwatch: (() => void)[] = [];
  private graceOver = false;
  private stopped = false;
  /** Told once it is retired and no message is under way. */
  private onIdle: (() => void) | null = null;

  constructor(
    ports: TmqforwardPorts,
    options: TmqforwardOptions,
    counters: ForwardCounters = { forwarded: 0, failed: 0 },
  ) {
    this.ports = ports;
    this.options = options;
    this.counters = counters;
    this.instances = Array.from({ length: Math.max(options.instances, options.instancesMax) }, (_, i) => ({
      srvid: options.srvid + i,
      lives: new Lives(options, ports.clock.monoMs()),
      forwarder: null,
      next: null,
    }));
  }

  /** @param ids which of them begin; MIN when not given */
  start(ids?: readonly number[]): void {
    const { clock, engine, services, timers } = this.ports;
    const { queues, srvid, instances } = this.options;
    for (const instance of this.instances) {
      const begins = ids === undefined ? instance.srvid < srvid + instances : ids.includes(instance.srvid);
      if (begins && instance.forwarder === null) this.begin(instance);
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

  /** Stops for good; `onIdle` is called, perhaps at once, when no message is under way any more. */
  retire(onIdle: () => void): void {
    this.onIdle = onIdle;
    this.stopped = true;
    for (const unwatch of this.unwatch.splice(0)) unwatch();
    for (const { srvid } of this.instances) this.stopOne(srvid, () => this.tellIdle());
    this.tellIdle();
  }

  private tellIdle(): void {
    if (this.onIdle === null || this.isBusy) return;
    const told = this.onIdle;
    this.onIdle = null;
    told();
  }

  get isBusy(): boolean {
    return this.finishing.size > 0 || this.instances.some(({ forwarder }) => forwarder?.isBusy === true);
  }

  /** Starts one of its instances by id: a new life, also for one that ended for good; null: the daemon stops. */
  startOne(srvid: number): 'started' | 'running' | null {
    const instance = this.instanceOf(srvid);
    if (this.stopped) return null;
    if (instance.forwarder !== null) return 'running';
    this.cancelNext(instance);
    instance.lives = new Lives(this.options, this.ports.clock.monoMs());
    this.begin(instance).scan();
    return 'started';
  }

  /** Stops one until it is started again; `onStopped` is called, perhaps at once, when the message under way has been forwarded or not. */
  stopOne(srvid: number, onStopped: (state: 'stopped' | 'down') => void): void {
    const instance = this.instanceOf(srvid);
    const { forwarder } = instance;
    const wasComing = this.cancelNext(instance);
    if (forwarder === null) return onStopped(wasComing ? 'stopped' : 'down');
    instance.forwarder = null;
    this.finishing.add(forwarder);
    return forwarder.stop(() => {
      this.finishing.delete(forwarder);
      onStopped('stopped');
      this.tellIdle();
    });
  }

  /** The ids of those that are up, or about to be again. */
  running(): number[] {
    return this.instances
      .filter(({ forwarder, next }) => forwarder !== null || next !== null)
      .map(({ srvid }) => srvid);
  }

  statistics(): ForwarderStatistics {
    const { srvgrp, srvid, queues, instances } = this.options;
    const running = this.instances.filter(({ forwarder }) => forwarder !== null).length;
    return { srvgrp, srvid, queues: [...queues], ...this.counters, running, instances };
  }

  /** Those that are to run (MIN), and whatever runs beside them. */
  get lifeSigns(): { srvid: number; isUp: boolean }[] {
    const known = this.instances.filter((one, i) => i < this.options.instances || one.forwarder !== null);
    return known.map(({ srvid, forwarder }) => ({ srvid, isUp: forwarder !== null }));
  }

  private instanceOf(srvid: number): Instance {
    const instance = this.instances[srvid - this.options.srvid];
    assert(instance !== undefined, 'the id is one of MAX');
    return instance;
  }

  private begin(instance: Instance): Forwarder {
    const mayDrain = (qname: string): boolean => this.graceOver || this.seen.has(qname);
    const onEnded = (error: Error | null): void => this.ended(instance, forwarder, error);
    const forwarder = new Forwarder(this.ports, { ...this.options, mayDrain, onEnded }, this.counters);
    instance.forwarder = forwarder;
    return forwarder;
  }

  /** Whether there was to be a next life. */
  private cancelNext(instance: Instance): boolean {
    const { next } = instance;
    if (next === null) return false;
    this.ports.timers.cancel(next);
    instance.next = null;
    return true;
  }

  /** -e found nothing, or it failed: then the next life, if it has one, and RCMD beside it. One that was told to stop has none. */
  private ended(instance: Instance, forwarder: Forwarder, error: Error | null): void {
    const { clock, ulog, timers, runCommand } = this.ports;
    const { srvgrp, grpno, rcmd } = this.options;
    const { srvid, lives } = instance;
    const isCurrent = instance.forwarder === forwarder;
    if (isCurrent) instance.forwarder = null;
    if (error === null) {
      ulog.info('TMQFORWARD: no message found: it has ended [-e]', { srvgrp, srvid });
      return;
    }
    const isRestarted = isCurrent && !this.stopped && lives.again(clock.monoMs());
    const then = isRestarted ? 'it is started again' : 'it stays down [RESTART, MAXGEN, GRACE]';
    ulog.error(`TMQFORWARD failed: ${error.message}; ${then}`, { srvgrp, srvid, stack: error.stack ?? '' });
    if (!isRestarted) return;
    if (rcmd !== '') runCommand(rcmd, { grpno, srvid });
    instance.next = timers.set(clock.monoMs() + RESTART_PAUSE_MS, () => {
      instance.next = null;
      if (!this.stopped) this.begin(instance).scan();
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
