// The service dispatcher: which connection offers which service, and calls under way [spec 3.4, 3.5; DESIGN 7]. A call goes to the server
// with the least load outstanding, round robin among equals; when all are at their concurrency it waits its turn. A server whose
// connection ends in mid-call leaves TPESVCERR; an answer after the caller's time is dropped. A server that passes a request on
// (tpforward) is done with it: the call then waits for, or is at, another service. What its transaction has to do with it is in joins.ts.
import type { Clock } from '../base/clock.ts';
import { TimerQueue } from '../base/timer-queue.ts';
import { JOINED_TX, OP, RVAL, TPERRNO, TPFLAG } from '../../proto/codes.ts';
import type { Forward, Return } from '../../proto/message.ts';
import type { ServiceStatistics } from '../../proto/message-statistics.ts';
import type { Failure } from '../engine/request.ts';
import { CallQueue } from './call-queue.ts';
import type { Client } from './client.ts';
import type { Joins } from './joins.ts';
import type { ServiceCall } from './service-call.ts';
import {
  acceptsType,
  priorityOf,
  type ServiceRule,
  ServiceRules,
  type ServiceValues,
} from './service-rules.ts';

interface Server {
  readonly client: Client;
  concurrency: number;
  outstanding: number;
  /** What *SERVICES says of it: LOAD, AUTOTRAN. */
  values: ServiceValues;
}

class Service {
  readonly name: string;
  readonly servers: Server[] = [];
  readonly queued = new CallQueue<ServiceCall>();
  /** Where the round robin stands. */
  turn = 0;
  completed = 0;
  failures = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** A server with room for one more, the one whose connection has the least load; ties in turn. */
  choose(): Server | null {
    let best: Server | null = null;
    for (let i = 0; i < this.servers.length; i++) {
      const server = this.servers[(this.turn + i) % this.servers.length] as Server;
      if (server.outstanding >= server.concurrency) continue;
      if (best === null || server.client.load < best.client.load) best = server;
    }
    if (best !== null) this.turn = (this.servers.indexOf(best) + 1) % this.servers.length;
    return best;
  }
}

interface Outstanding {
  readonly call: ServiceCall;
  readonly service: Service;
  readonly server: Server;
  /** LOAD as it was when the call was given to the server. */
  readonly load: number;
}

export interface ServicesOptions {
  readonly clock: Clock;
  readonly messageBytesMax: number;
  readonly joins: Joins;
  readonly rules?: ServiceRules;
}

export class Services {
  private readonly clock: Clock;
  private readonly timers: TimerQueue;
  private readonly services = new Map<string, Service>();
  private readonly outstanding = new Map<number, Outstanding>();
  private readonly watchers = new Map<string, Set<() => void>>();
  private readonly messageBytesMax: number;
  private readonly rules: ServiceRules;
  private readonly joins: Joins;
  private lastCall = 0;

  constructor({ clock, messageBytesMax, joins, rules = new ServiceRules() }: ServicesOptions) {
    this.clock = clock;
    this.messageBytesMax = messageBytesMax;
    this.joins = joins;
    this.rules = rules;
    this.timers = new TimerQueue(clock);
  }

  /** tpadvertise: a name already offered by this client keeps its place and takes the new concurrency. */
  advertise(client: Client, name: string, concurrency: number): void {
    let service = this.services.get(name);
    if (service === undefined) {
      service = new Service(name);
      this.services.set(name, service);
    }
    const known = service.servers.find((server) => server.client === client);
    const values = this.rules.of(name, client.identity.grpname);
    if (known === undefined) service.servers.push({ client, concurrency, outstanding: 0, values });
    else known.concurrency = concurrency;
    this.dispatchQueued(service);
    for (const run of this.watchers.get(name) ?? []) run();
  }

  /** The configuration was read again: its values count from now on, for what is offered already too. */
  replaceRules(rules: readonly ServiceRule[]): void {
    this.rules.replace(rules);
    for (const { name, servers } of this.services.values()) {
      for (const server of servers) server.values = this.rules.of(name, server.client.identity.grpname);
    }
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

  /** What the configuration says of a service, as it is offered now. */
  valuesOf(name: string): ServiceValues {
    return this.rules.of(name, this.services.get(name)?.servers[0]?.client.identity.grpname ?? '');
  }

  call(call: ServiceCall): void {
    const service = this.services.get(call.service);
    if (service === undefined || service.servers.length === 0) return call.failed(TPERRNO.TPENOENT);
    const values = this.valuesOf(call.service);
    if (!acceptsType(values.bufferTypes, call.body)) return call.failed(TPERRNO.TPEITYPE);
    if (call.deadlineMs !== Infinity) {
      call.deadline = this.timers.set(call.deadlineMs, () => {
        call.deadline = null;
        this.abandon(call, TPERRNO.TPETIME);
      });
    }
    call.rank = call.priority ?? priorityOf(values.prio, call.wish);
    if (!this.place(service, call) && call.mayNotWait) this.abandon(call, TPERRNO.TPEBLOCK);
    return undefined;
  }

  /** tpforward of a server: another service answers the caller. What cannot be passed on is TPESVCERR [spec 3.5]. */
  forward(client: Client, request: Forward): void {
    const under = this.release(client, request.id);
    if (under === null) return;
    const { call } = under;
    const isClean = this.joins.leave(client, request.id);
    under.service.completed++;
    this.dispatchQueued(under.service);
    if (!isClean) return this.fail(call, TPERRNO.TPESVCERR);
    // Nobody waits for an answer any more; only a request that never had one goes on.
    if (call.done && !call.isOneWay) {
      this.joins.end(call, false);
      return;
    }
    const service = this.services.get(request.service);
    const values = this.valuesOf(request.service);
    const bytes = request.body.data?.length ?? 0;
    const fits = bytes <= this.messageBytesMax && acceptsType(values.bufferTypes, request.body);
    if (service === undefined || service.servers.length === 0 || !fits) {
      this.fail(call, TPERRNO.TPESVCERR);
      return;
    }
    call.forwarded = { service: request.service, body: request.body };
    call.rank = values.prio;
    this.place(service, call);
  }

  /** Ends the caller's interest in a call; false: it had ended. A server at work on it goes on, its answer is dropped. */
  abandon(call: ServiceCall, failure: Failure): boolean {
    if (call.done) return false;
    this.services.get(call.forwarded?.service ?? call.service)?.queued.remove(call);
    this.fail(call, failure);
    return true;
  }

  /** tpreturn of a server. Unknown ids are ignored: the caller's time was over or the id was never given out. */
  returned(client: Client, reply: Return): void {
    const under = this.release(client, reply.id);
    if (under === null) return;
    const { call, service } = under;
    const isSuccess = reply.rval === RVAL.TPSUCCESS;
    const isClean = this.joins.leave(client, reply.id);
    const isTooLarge = !call.done && (reply.body.data?.length ?? 0) > this.messageBytesMax;
    // So is an answer that may not be delivered: a service that broke.
    const isBroken = isTooLarge || (isSuccess && !isClean);
    if (isSuccess && !isBroken) service.completed++;
    else service.failures++;
    // First those that wait: the caller may go on at once with a call of its own.
    this.dispatchQueued(service);
    if (isBroken) this.fail(call, TPERRNO.TPESVCERR);
    else this.conclude(call, { ...reply, rval: isSuccess ? RVAL.TPSUCCESS : RVAL.TPFAIL });
  }

  /** The connection of a server, caller or both ended. */
  clientGone(client: Client): void {
    for (const service of this.services.values()) this.unadvertise(client, service.name);
    for (const [id, under] of this.outstanding) {
      if (under.server.client !== client) continue;
      this.outstanding.delete(id);
      under.call.isAtServer = false;
      this.joins.leave(client, id);
      under.service.failures++;
      this.fail(under.call, TPERRNO.TPESVCERR);
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

  /** Gives a call to a server, or lets it wait; true: it has a server. */
  private place(service: Service, call: ServiceCall): boolean {
    const server = service.choose();
    if (server === null) {
      service.queued.push(call);
      return false;
    }
    this.dispatch(service, server, call);
    return true;
  }

  /** Takes back a request that a server has ended; null: the server does not have it. */
  private release(client: Client, id: number): Outstanding | null {
    const under = this.outstanding.get(id);
    if (under === undefined || under.server.client !== client) return null;
    this.outstanding.delete(id);
    under.call.isAtServer = false;
    under.server.outstanding--;
    client.load -= under.load;
    return under;
  }

  private dispatch(service: Service, server: Server, call: ServiceCall): void {
    const onOver = (): void => void this.abandon(call, TPERRNO.TPESVCERR);
    if (!this.joins.begin(call, server.values, onOver)) return this.fail(call, TPERRNO.TPENOENT);
    const id = this.nextCallId();
    server.outstanding++;
    const { load } = server.values;
    server.client.load += load;
    call.isAtServer = true;
    this.outstanding.set(id, { call, service, server, load });
    this.joins.enter(call, server.client, id);
    const transaction = call.joins ?? call.auto;
    const ownMs = call.isOneWay ? Infinity : call.deadlineMs;
    const untilMs = Math.min(ownMs, transaction?.deadline?.atMs ?? Infinity);
    const left = untilMs === Infinity ? 0 : Math.max(1, Math.ceil(untilMs - this.clock.monoMs()));
    server.client.port.send({
      op: OP.REQUEST,
      id,
      service: service.name,
      body: call.forwarded?.body ?? call.body,
      flags: transaction === null ? call.flags : call.flags | TPFLAG.TPTRAN,
      cltid: call.identity.cltid,
      appkey: call.identity.appkey,
      timeoutMs: left,
    });
    if (!call.isOneWay || call.done) return;
    this.finish(call);
    call.sent();
  }

  /** The service has returned. An AUTOTRAN transaction ends before the caller hears of it, who may have given up. */
  private conclude(call: ServiceCall, { rval, rcode, body }: Return): void {
    const { done } = call;
    this.finish(call);
    const ending = this.joins.end(call, rval === RVAL.TPSUCCESS);
    if (done) return;
    if (ending === null) call.failed(TPERRNO.TPESVCERR);
    else if (ending === undefined) call.answered(rval, rcode, body);
    else {
      ending.hold({
        released: () => call.answered(rval, rcode, body),
        failed: () => call.failed(TPERRNO.TPESYSTEM),
      });
    }
  }

  private dispatchQueued(service: Service): void {
    while (service.queued.length > 0) {
      const server = service.choose();
      if (server === null) return;
      const call = service.queued.shift();
      if (call !== undefined) this.dispatch(service, server, call);
    }
  }

  private refuseQueued(service: Service): void {
    for (const call of service.queued.drain()) {
      this.fail(call, call.forwarded === null ? TPERRNO.TPENOENT : TPERRNO.TPESVCERR);
    }
  }

  private fail(call: ServiceCall, failure: Failure): void {
    // What a server is still at work on ends with it.
    if (!call.isAtServer) this.joins.end(call, false);
    if (call.done) return;
    this.finish(call);
    call.failed(failure);
  }

  private finish(call: ServiceCall): void {
    call.done = true;
    if (call.deadline !== null) this.timers.cancel(call.deadline);
    call.deadline = null;
  }

  private nextCallId(): number {
    do this.lastCall = this.lastCall >= JOINED_TX - 1 ? 1 : this.lastCall + 1;
    while (this.outstanding.has(this.lastCall));
    return this.lastCall;
  }
}
