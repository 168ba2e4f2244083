// The service dispatcher: which connection offers which service, and calls under way [spec 3.4, 3.5; DESIGN 7]. A call goes to the server
// with the fewest requests outstanding, round robin among equals; when all are at their concurrency it waits its turn, which comes by
// priority. A server whose connection ends in mid-call leaves TPESVCERR; an answer after the caller's time is dropped.
import type { Clock } from '../base/clock.ts';
import { TimerQueue, type Deadline } from '../base/timer-queue.ts';
import { LIMIT, OP, RVAL, TPERRNO } from '../../proto/codes.ts';
import type { Return, ServiceStatistics, TypedData } from '../../proto/message.ts';
import type { Failure } from '../engine/request.ts';
import type { Client, ClientIdentity } from './client.ts';

/** Every so many requests that waited, the one that waited longest goes first, so that a low priority does not starve [spec 6.5, PRIO]. */
const FIFO_EVERY = 10;

/** A call and who hears of its end. Exactly one of `answered` and `failed` is called, once; of a one-way call `sent` or `failed`. */
export abstract class ServiceCall {
  abstract readonly service: string;
  abstract readonly body: TypedData;
  /** TPSVCINFO.flags. */
  abstract readonly flags: number;
  /** Whose request it is: the original enqueuer's when a forwarder calls [spec 3.5]. */
  abstract readonly identity: Pick<ClientIdentity, 'cltid' | 'appkey'>;
  /** Monotonic instant of TPETIME; Infinity: none. */
  abstract readonly deadlineMs: number;
  /** The service returned: rval is TPSUCCESS or TPFAIL. */
  abstract answered(rval: number, rcode: number, body: TypedData): void;
  abstract failed(failure: Failure): void;
  /** null: that of the service. */
  readonly priority: number | null = null;
  /** TPNOREPLY: it ends when a server has it. */
  readonly isOneWay: boolean = false;
  sent(): void {}

  // The dispatcher's own notes.
  deadline: Deadline | null = null;
  done = false;
}

interface Server {
  readonly client: Client;
  concurrency: number;
  outstanding: number;
}

class Service {
  readonly name: string;
  readonly servers: Server[] = [];
  readonly queued: ServiceCall[] = [];
  /** Of a call that brings none of its own. */
  readonly priority: number;
  /** Requests that waited and were given to a server. */
  private served = 0;
  /** Where the round robin stands. */
  turn = 0;
  completed = 0;
  failures = 0;

  constructor(name: string, priority: number) {
    this.name = name;
    this.priority = priority;
  }

  /** Takes out the request whose turn it is: the highest priority, of equals the one that waits longest. */
  nextQueued(): ServiceCall | undefined {
    this.served++;
    let at = 0;
    if (this.served % FIFO_EVERY !== 0) {
      for (let i = 1; i < this.queued.length; i++) if (this.rank(i) > this.rank(at)) at = i;
    }
    return this.queued.splice(at, 1)[0];
  }

  private rank(at: number): number {
    return this.queued[at]?.priority ?? this.priority;
  }

  /** A server with room for one more, the least busy; ties in turn. */
  choose(): Server | null {
    let best: Server | null = null;
    for (let i = 0; i < this.servers.length; i++) {
      const server = this.servers[(this.turn + i) % this.servers.length] as Server;
      if (server.outstanding >= server.concurrency) continue;
      if (best === null || server.outstanding < best.outstanding) best = server;
    }
    if (best !== null) this.turn = (this.servers.indexOf(best) + 1) % this.servers.length;
    return best;
  }
}

interface Outstanding {
  readonly call: ServiceCall;
  readonly service: Service;
  readonly server: Server;
}

export class Services {
  private readonly clock: Clock;
  private readonly timers: TimerQueue;
  private readonly services = new Map<string, Service>();
  private readonly outstanding = new Map<number, Outstanding>();
  private readonly watchers = new Map<string, Set<() => void>>();
  private readonly messageBytesMax: number;
  private readonly priorities: ReadonlyMap<string, number>;
  private lastCall = 0;

  /** @param priorities PRIO of the services that are given one */
  constructor(clock: Clock, messageBytesMax: number, priorities: ReadonlyMap<string, number> = new Map()) {
    this.clock = clock;
    this.messageBytesMax = messageBytesMax;
    this.priorities = priorities;
    this.timers = new TimerQueue(clock);
  }

  /** tpadvertise: a name already offered by this client keeps its place and takes the new concurrency. */
  advertise(client: Client, name: string, concurrency: number): void {
    let service = this.services.get(name);
    if (service === undefined) {
      service = new Service(name, this.priorities.get(name) ?? LIMIT.PRIORITY_DEFAULT);
      this.services.set(name, service);
    }
    const known = service.servers.find((server) => server.client === client);
    if (known === undefined) service.servers.push({ client, concurrency, outstanding: 0 });
    else known.concurrency = concurrency;
    this.dispatchQueued(service);
    for (const run of this.watchers.get(name) ?? []) run();
  }

  /** tpunadvertise. false: this client does not offer it (TPENOENT). Requests under way go on. */
  unadvertise(client: Client, name: string): boolean {
    const service = this.services.get(name);
    const at = service?.servers.findIndex((server) => server.client === client) ?? -1;
    if (service === undefined || at < 0) return false;
    service.servers.splice(at, 1);
    if (service.servers.length === 0) this.refuseQueued(service);
    return true;
  }

  isAdvertised(name: string): boolean {
    return (this.services.get(name)?.servers.length ?? 0) > 0;
  }

  /** How many services this client offers. */
  advertisedBy(client: Client): number {
    let count = 0;
    for (const service of this.services.values()) {
      if (service.servers.some((server) => server.client === client)) count++;
    }
    return count;
  }

  /** Calls `run` whenever somebody advertises `name`; returns how to stop that. */
  watch(name: string, run: () => void): () => void {
    let runs = this.watchers.get(name);
    if (runs === undefined) {
      runs = new Set();
      this.watchers.set(name, runs);
    }
    runs.add(run);
    return () => this.watchers.get(name)?.delete(run);
  }

  call(call: ServiceCall): void {
    const service = this.services.get(call.service);
    if (service === undefined || service.servers.length === 0) return call.failed(TPERRNO.TPENOENT);
    if (call.deadlineMs !== Infinity) {
      call.deadline = this.timers.set(call.deadlineMs, () => {
        call.deadline = null;
        this.abandon(call, TPERRNO.TPETIME);
      });
    }
    const server = service.choose();
    if (server === null) service.queued.push(call);
    else this.dispatch(service, server, call);
    return undefined;
  }

  /** Ends the caller's interest in a call; false: it had ended. A server at work on it goes on, its answer is dropped. */
  abandon(call: ServiceCall, failure: Failure): boolean {
    if (call.done) return false;
    const queued = this.services.get(call.service)?.queued;
    const at = queued?.indexOf(call) ?? -1;
    if (at >= 0) queued?.splice(at, 1);
    this.finish(call);
    call.failed(failure);
    return true;
  }

  /** tpreturn of a server. Unknown ids are ignored: the caller's time was over or the id was never given out. */
  returned(client: Client, reply: Return): void {
    const under = this.outstanding.get(reply.id);
    if (under === undefined || under.server.client !== client) return;
    this.outstanding.delete(reply.id);
    under.server.outstanding--;
    const { call, service } = under;
    if (!call.done && (reply.body.data?.length ?? 0) > this.messageBytesMax) {
      // An answer that may not be delivered is a service that broke.
      service.failures++;
      this.finish(call);
      call.failed(TPERRNO.TPESVCERR);
      return this.dispatchQueued(service);
    }
    const rval = reply.rval === RVAL.TPSUCCESS ? RVAL.TPSUCCESS : RVAL.TPFAIL;
    if (rval === RVAL.TPSUCCESS) service.completed++;
    else service.failures++;
    if (!call.done) {
      this.finish(call);
      call.answered(rval, reply.rcode, reply.body);
    }
    return this.dispatchQueued(service);
  }

  /** The connection of a server, caller or both ended. */
  clientGone(client: Client): void {
    for (const service of this.services.values()) this.unadvertise(client, service.name);
    for (const [id, under] of this.outstanding) {
      if (under.server.client !== client) continue;
      this.outstanding.delete(id);
      under.service.failures++;
      if (under.call.done) continue;
      this.finish(under.call);
      under.call.failed(TPERRNO.TPESVCERR);
    }
  }

  statistics(): ServiceStatistics[] {
    return [...this.services.values()].map((service) => ({
      name: service.name,
      servers: service.servers.length,
      outstanding: service.servers.reduce((sum, server) => sum + server.outstanding, service.queued.length),
      completed: service.completed,
      failed: service.failures,
    }));
  }

  close(): void {
    this.timers.close();
  }

  private dispatch(service: Service, server: Server, call: ServiceCall): void {
    const id = this.nextCallId();
    server.outstanding++;
    this.outstanding.set(id, { call, service, server });
    const left =
      call.deadlineMs === Infinity ? 0 : Math.max(1, Math.ceil(call.deadlineMs - this.clock.monoMs()));
    server.client.port.send({
      op: OP.REQUEST,
      id,
      service: service.name,
      body: call.body,
      flags: call.flags,
      cltid: call.identity.cltid,
      appkey: call.identity.appkey,
      timeoutMs: call.isOneWay ? 0 : left,
    });
    if (!call.isOneWay) return;
    this.finish(call);
    call.sent();
  }

  private dispatchQueued(service: Service): void {
    while (service.queued.length > 0) {
      const server = service.choose();
      const call = server === null ? undefined : service.nextQueued();
      if (server === null || call === undefined) return;
      this.dispatch(service, server, call);
    }
  }

  private refuseQueued(service: Service): void {
    for (const call of service.queued.splice(0)) {
      this.finish(call);
      call.failed(TPERRNO.TPENOENT);
    }
  }

  private finish(call: ServiceCall): void {
    call.done = true;
    if (call.deadline !== null) this.timers.cancel(call.deadline);
    call.deadline = null;
  }

  private nextCallId(): number {
    do this.lastCall = this.lastCall >= 0xffff_ffff ? 1 : this.lastCall + 1;
    while (this.outstanding.has(this.lastCall));
    return this.lastCall;
  }
}
