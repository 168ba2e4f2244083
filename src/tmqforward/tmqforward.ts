// A TMQFORWARD server: its forwarders (MIN of them), and when they may begin. A daemon that has just started gives the servers of its
// services time to connect, as tmboot starts servers before forwarders: a queue is drained once its service has been advertised, or when
// the grace is over; from then on a missing service costs attempts as the specification says [spec 4.2, TPENOENT].
import type { ForwarderStatistics } from '../../proto/message.ts';
import { Forwarder, type ForwardCounters, type ForwarderPorts } from './forwarder.ts';

/** How long after the start a queue waits for its service, in milliseconds. */
export const SERVICE_GRACE_MS = 10_000;

export interface TmqforwardOptions {
  readonly srvgrp: string;
  readonly srvid: number;
  readonly queues: readonly string[];
  readonly timeoutS: number;
  readonly idleS: number;
  /** Forwarders that share the queues. */
  readonly instances: number;
}

export class Tmqforward {
  private readonly ports: ForwarderPorts;
  private readonly options: TmqforwardOptions;
  private readonly forwarders: Forwarder[] = [];
  private readonly counters: ForwardCounters = { forwarded: 0, failed: 0 };
  private readonly seen = new Set<string>();
  private readonly unwatch: (() => void)[] = [];
  private graceOver = false;

  constructor(ports: ForwarderPorts, options: TmqforwardOptions) {
    this.ports = ports;
    this.options = options;
  }

  start(): void {
    const { clock, engine, services, timers } = this.ports;
    const { queues, timeoutS, idleS, instances } = this.options;
    const mayDrain = (qname: string): boolean => this.graceOver || this.seen.has(qname);
    for (let i = 0; i < instances; i++) {
      this.forwarders.push(new Forwarder(this.ports, { queues, timeoutS, idleS, mayDrain }, this.counters));
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
    for (const unwatch of this.unwatch.splice(0)) unwatch();
    for (const forwarder of this.forwarders) forwarder.stop();
  }

  get isBusy(): boolean {
    return this.forwarders.some((forwarder) => forwarder.isBusy);
  }

  statistics(): ForwarderStatistics {
    const { srvgrp, srvid, queues } = this.options;
    return { srvgrp, srvid, queues: [...queues], ...this.counters };
  }

  private noteService(qname: string): void {
    if (this.seen.has(qname)) return;
    this.seen.add(qname);
    this.scan();
  }

  private scan(): void {
    for (const forwarder of this.forwarders) forwarder.scan();
  }
}
