// Unsolicited messages: tpnotify to one client, tpbroadcast to many [spec 3.6]. Owns who has joined, by CLIENTID, and notices that wait for
// the ACK of the client. Invariants: without TPACK nothing is kept and a message that cannot be delivered is lost silently; a notice that
// waits is answered exactly once: by the ACK, the end of the client, its time, or its sender's end. Must not know sockets.
import type { Clock } from '../base/clock.ts';
import { TimerQueue, type Deadline } from '../base/timer-queue.ts';
import { OP, TPERRNO, TPFLAG, TPU } from '../../proto/codes.ts';
import type { Ack, Broadcast, Notify, TypedData } from '../../proto/message.ts';
import type { Failure } from '../engine/request.ts';
import type { Client, Pending } from './client.ts';
import { errorReply } from './reply-port.ts';

export interface UnsolicitedOptions {
  readonly clock: Clock;
  /** The machine that all clients of this daemon are on. */
  readonly lmid: string;
  /** NOTIFY of *RESOURCES, as a TPU bit: for clients that say nothing themselves. */
  readonly mode: number;
  readonly blockTimeMs: number;
}

interface Joined {
  readonly client: Client;
  /** TPU_SIG, TPU_DIP, TPU_IGN or TPU_THREAD. */
  readonly mode: number;
}

const WAYS = TPU.TPU_SIG | TPU.TPU_DIP | TPU.TPU_IGN | TPU.TPU_THREAD;
const BROADCAST_FLAGS = TPFLAG.TPNOBLOCK | TPFLAG.TPNOTIME | TPFLAG.TPSIGRSTRT;
const NOTIFY_FLAGS = BROADCAST_FLAGS | TPFLAG.TPACK;

export class UnsolicitedMessages {
  private readonly options: UnsolicitedOptions;
  private readonly timers: TimerQueue;
  /** By CLIENTID. */
  private readonly clients = new Map<string, Joined>();
  private readonly waiting = new Map<number, Notice>();
  private lastId = 0;

  constructor(options: UnsolicitedOptions) {
    this.options = options;
    this.timers = new TimerQueue(options.clock);
  }

  /** @param flags of TPINIT: the client's own way overrides NOTIFY */
  joined(client: Client, flags: number): void {
    const mode = (flags & WAYS) === 0 ? this.options.mode : flags & WAYS;
    this.clients.set(keyOf(client.identity.cltid), { client, mode });
  }

  gone(client: Client): void {
    this.clients.delete(keyOf(client.identity.cltid));
    for (const notice of this.waiting.values()) {
      if (notice.target === client) notice.end(TPERRNO.TPENOENT, GONE);
    }
  }

  notify(client: Client, request: Notify): void {
    const { id, flags, body } = request;
    if (!checkFlags({ client, operation: 'tpnotify' }, request, NOTIFY_FLAGS)) return;
    const joined = this.clients.get(keyOf(request.cltid));
    if ((flags & TPFLAG.TPACK) === 0) {
      if (joined !== undefined) push(joined, body);
      return client.port.send({ op: OP.NOTIFY, id });
    }
    if (joined === undefined) return refuse(client, id, [TPERRNO.TPENOENT, GONE]);
    if (joined.mode === TPU.TPU_IGN) return refuse(client, id, [TPERRNO.TPENOENT, NO_HANDLER]);
    if (joined.client.port.isClogged === true && (flags & TPFLAG.TPNOBLOCK) !== 0) {
      return refuse(client, id, [TPERRNO.TPEBLOCK, 'the client does not read what is sent to it']);
    }
    const number = this.nextId();
    const notice = new Notice({ sender: client, target: joined.client, id }, () => this.forget(number));
    this.waiting.set(number, notice);
    client.pending.set(id, notice);
    const { clock, blockTimeMs } = this.options;
    if ((flags & (TPFLAG.TPNOTIME | TPFLAG.TPNOBLOCK)) === 0) {
      notice.deadline = this.timers.set(clock.monoMs() + blockTimeMs, () => {
        notice.deadline = null;
        notice.end(TPERRNO.TPETIME, 'the client did not take the message in time');
      });
    }
    return push(joined, body, number);
  }

  /** Best effort: whoever cannot take it now does not get it. */
  broadcast(client: Client, request: Broadcast): void {
    if (!checkFlags({ client, operation: 'tpbroadcast' }, request, BROADCAST_FLAGS)) return;
    if (fits(request.lmid, this.options.lmid)) {
      for (const joined of this.clients.values()) {
        const { usrname, cltname } = joined.client.identity;
        if (fits(request.usrname, usrname) && fits(request.cltname, cltname)) push(joined, request.body);
      }
    }
    client.port.send({ op: OP.BROADCAST, id: request.id });
  }

  /** The answer to a notice with TPACK; one that nobody waits for any more is ignored. */
  acknowledged(client: Client, { id, handled }: Ack): void {
    const notice = this.waiting.get(id);
    if (notice?.target !== client) return;
    if (handled) notice.done();
    else notice.end(TPERRNO.TPENOENT, NO_HANDLER);
  }

  close(): void {
    this.timers.close();
  }

  private forget(number: number): void {
    const deadline = this.waiting.get(number)?.deadline ?? null;
    if (deadline !== null) this.timers.cancel(deadline);
    this.waiting.delete(number);
  }

  private nextId(): number {
    do this.lastId = this.lastId >= 0xffff_ffff ? 1 : this.lastId + 1;
    while (this.waiting.has(this.lastId));
    return this.lastId;
  }
}

/** A tpnotify with TPACK that waits. */
class Notice implements Pending {
  readonly target: Client;
  deadline: Deadline | null = null;
  private readonly sender: Client;
  private readonly id: number;
  private readonly forget: () => void;

  constructor(parties: { sender: Client; target: Client; id: number }, forget: () => void) {
    this.sender = parties.sender;
    this.target = parties.target;
    this.id = parties.id;
    this.forget = forget;
  }

  done(): void {
    this.settle();
    this.sender.port.send({ op: OP.NOTIFY, id: this.id });
  }

  end(failure: Failure, text: string): void {
    this.settle();
    refuse(this.sender, this.id, [failure, text]);
  }

  cancel(): boolean {
    this.end(TPERRNO.TPGOTSIG, 'cancelled by the caller');
    return true;
  }

  private settle(): void {
    this.forget();
    this.sender.pending.delete(this.id);
  }
}

const GONE = 'there is no such client, or it is gone';
const NO_HANDLER = 'the client has no handler for unsolicited messages';

function push({ client, mode }: Joined, body: TypedData, id = 0): void {
  if (mode === TPU.TPU_IGN || client.port.isClogged === true) return;
  client.port.send({ op: OP.UNSOLICITED, id, mode, body });
}

/** null matches all, an empty string only an empty value [tpbroadcast(3c)]. */
function fits(pattern: string | null, value: string): boolean {
  return pattern === null || pattern === value;
}

function checkFlags(
  { client, operation }: { client: Client; operation: string },
  request: Notify | Broadcast,
  allowed: number,
): boolean {
  const unknown = request.flags & ~allowed;
  if (unknown === 0) return true;
  const text = `flags: ${operation} does not take bit 0x${(unknown >>> 0).toString(16)}`;
  refuse(client, request.id, [TPERRNO.TPEINVAL, text]);
  return false;
}

function keyOf(cltid: Uint8Array): string {
  return Buffer.from(cltid.buffer, cltid.byteOffset, cltid.length).toString('hex');
}

function refuse(client: Client, id: number, refusal: [Failure, string]): void {
  client.port.send(errorReply(id, ...refusal));
}
