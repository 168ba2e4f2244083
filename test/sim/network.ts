// The simulated network: listeners, connections, and how they go wrong. A connection is two pipes; each keeps its bytes in order and hands
// them over in pieces of any size after any time, so that connections overtake each other but never themselves. It may be cut (both ends
// are told, in their own time, and bytes under way are lost) or fall silent (nobody is told). Sockets behave like Node's as far as the port
// goes. It must not know frames.
import { EventEmitter } from 'node:events';
import type { Prng } from '../../src/base/prng.ts';
import type { ByteSocket as ClientSocket } from '../../clients/typescript/byte-socket.ts';
import type { ByteSocket as ServerSocket, ListeningSocket, Network } from '../../src/net/network.ts';
import { Trace } from './trace.ts';
import type { Life, World } from './world.ts';

/** Above this many unsent bytes a writer is told to wait for 'drain'. */
const HIGH_WATER_BYTES = 16 * 1024;

export interface NetworkTraits {
  /** Milliseconds that bytes travel at most. */
  delayMsMax: number;
  /** One delivery in so many is only a part of what is there; 0: none. */
  splitOneIn: number;
}

export class SimNetwork {
  readonly traits: NetworkTraits = { delayMsMax: 1, splitOneIn: 4 };
  /** The host is down: nobody answers, not even with a refusal. */
  isHostDown = false;
  private readonly world: World;
  private readonly prng: Prng;
  private listener: { life: Life; onSocket: (socket: ServerSocket) => void; port: number } | null = null;
  private readonly links = new Set<Link>();
  private linkCount = 0;

  constructor(world: World) {
    this.world = world;
    this.prng = world.prng('network');
  }

  /** The daemon's end, for one life of it. */
  forLife(life: Life): Network {
    life.whenEnded(() => this.lifeEnded(life));
    return {
      listen: ({ port }, { onSocket }) => {
        this.listener = { life, onSocket, port };
        const close = (): Promise<void> => this.stopListening(life);
        const listening: ListeningSocket = { port, close };
        return Promise.resolve(listening);
      },
    };
  }

  /** The clients' end. */
  connect(): ClientSocket {
    const { world, prng } = this;
    const link = new Link(world, prng, { number: ++this.linkCount, traits: this.traits });
    world.after(this.delayMs(), () => this.establish(link));
    return link.client;
  }

  get openLinks(): number {
    return this.links.size;
  }

  /** Something happens to one connection, whichever. */
  cutOne(): void {
    this.any()?.cut();
  }
  silenceOne(): void {
    this.any()?.silence();
  }

  private any(): Link | undefined {
    const links = [...this.links];
    return links[this.prng.below(Math.max(1, links.length))];
  }

  private establish(link: Link): void {
    const { listener } = this;
    if (this.isHostDown) return link.silence();
    if (link.client.destroyed) return;
    if (listener === null || listener.life.ended) return link.refuse();
    link.server.life = listener.life;
    this.links.add(link);
    link.onGone = () => this.links.delete(link);
    link.client.emit('connect');
    listener.onSocket(link.server);
  }

  /** Node's close resolves when the last connection has ended. */
  private async stopListening(life: Life): Promise<void> {
    if (this.listener?.life === life) this.listener = null;
    await Promise.all(
      [...this.links].filter((link) => link.server.life === life).map((link) => link.serverGone),
    );
  }

  /** The system closes the sockets of a process that has ended; when the host went down nobody does. */
  private lifeEnded(life: Life): void {
    if (this.listener?.life === life) this.listener = null;
    for (const link of this.links) {
      if (link.server.life !== life) continue;
      if (this.isHostDown && this.prng.oneIn(2)) link.silence();
      else link.cut();
    }
  }

  private delayMs(): number {
    return (this.prng.below(1024) / 1024) * this.traits.delayMsMax;
  }
}

/** A connection. */
class Link {
  readonly client: SimSocket;
  readonly server: SimSocket;
  /** Resolves when the server's end is closed. */
  readonly serverGone: Promise<void>;
  onGone: () => void = () => {};
  isSilent = false;
  /** What is written from now on goes nowhere. */
  isCut = false;
  private readonly world: World;
  private readonly prng: Prng;

  constructor(world: World, prng: Prng, { number, traits }: { number: number; traits: NetworkTraits }) {
    this.world = world;
    this.prng = prng;
    this.client = new SimSocket({ world, prng, traits, link: this, name: `c${number}`, port: 7110 });
    this.server = new SimSocket({
      world,
      prng,
      traits,
      link: this,
      name: `s${number}`,
      port: 20_000 + number,
    });
    this.client.peer = this.server;
    this.server.peer = this.client;
    this.serverGone = new Promise((resolve) => {
      this.server.on('close', resolve);
    });
  }

  cut(): void {
    if (this.isSilent || this.isCut) return;
    this.isCut = true;
    for (const socket of [this.client, this.server]) {
      socket.lose();
      this.world.after(this.prng.below(50), () => socket.fail('ECONNRESET'));
    }
    this.onGone();
  }

  silence(): void {
    this.isSilent = true;
  }

  refuse(): void {
    this.isSilent = true;
    this.client.fail('ECONNREFUSED');
  }
}

interface SocketPorts {
  readonly world: World;
  readonly prng: Prng;
  readonly traits: NetworkTraits;
  readonly link: Link;
  readonly name: string;
  readonly port: number;
}

class SimSocket extends EventEmitter implements ServerSocket, ClientSocket {
  readonly remoteAddress = 'sim';
  readonly remotePort: number;
  destroyed = false;
  writableLength = 0;
  peer: SimSocket | null = null;
  /** Whose it is: what happens to a process that has ended is nobody's business. null: a client. */
  life: Life | null = null;
  private readonly ports: SocketPorts;
  private outgoing: Uint8Array[] = [];
  private isPumping = false;
  private isPaused = false;
  private wantsDrain = false;
  private isEnding = false;
  private finSent = false;
  private finReceived = false;

  constructor(ports: SocketPorts) {
    super();
    this.ports = ports;
    this.remotePort = ports.port;
  }

  write(bytes: Uint8Array): boolean {
    if (this.destroyed || this.isEnding || this.life?.ended === true || this.ports.link.isCut) return false;
    this.outgoing.push(bytes);
    this.writableLength += bytes.length;
    this.pumpSoon();
    if (this.writableLength < HIGH_WATER_BYTES) return true;
    this.wantsDrain = true;
    return false;
  }

  cork(): void {}
  uncork(): void {}

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.peer?.pumpSoon();
  }

  end(): void {
    if (this.isEnding || this.destroyed) return;
    this.isEnding = true;
    this.pumpSoon();
  }

  destroy(): void {
    if (this.destroyed) return;
    const { peer } = this;
    this.closeSoon();
    if (peer === null || this.ports.link.isSilent || this.ports.link.isCut) return;
    const isReset = this.writableLength > 0 || this.ports.prng.oneIn(3);
    this.lose();
    // Whatever still arrives does so before the end.
    const end = (): void => {
      if (this.writableLength > 0) this.deliver();
      const goesOn = !this.ports.link.isSilent && !peer.destroyed && !peer.isStopped;
      if (this.writableLength > 0 && goesOn) this.later(end, null);
      else if (isReset) peer.fail('ECONNRESET');
      else peer.receiveFin();
    };
    this.later(end, null);
  }

  /** The connection breaks at this end. */
  fail(code: string): void {
    if (this.destroyed) return;
    this.tell('error', Object.assign(new Error(`${code}: simulated`), { code }));
    this.closeSoon();
  }

  /** Of what is under way only the first part will arrive. */
  lose(): void {
    if (this.writableLength === 0) return;
    const kept = this.ports.prng.below(this.writableLength + 1);
    this.outgoing = [Buffer.concat(this.outgoing).subarray(0, kept)];
    this.writableLength = kept;
  }

  /** Hands over some of what is under way, all of it most of the time. */
  deliver(): void {
    const { prng, traits, link, world, name } = this.ports;
    const { peer } = this;
    if (link.isSilent || peer === null || peer.destroyed || peer.isPaused || this.writableLength === 0)
      return;
    const all = Buffer.concat(this.outgoing);
    const splits = traits.splitOneIn > 0 && prng.oneIn(traits.splitOneIn);
    const count = splits ? prng.between(1, all.length) : all.length;
    this.outgoing = count === all.length ? [] : [all.subarray(count)];
    this.writableLength -= count;
    world.trace.add(`${world.nowMs.toFixed(3)} ${name} ${count} ${Trace.sum(all.subarray(0, count))}`);
    peer.tell('data', all.subarray(0, count));
    if (this.writableLength > 0 || !this.wantsDrain) return;
    this.wantsDrain = false;
    this.later(() => this.tell('drain'), this.life);
  }

  get isStopped(): boolean {
    return this.isPaused;
  }

  private pump(): void {
    this.deliver();
    if (this.writableLength > 0) {
      if (!this.ports.link.isSilent && this.peer?.isPaused === false && !this.peer.destroyed) this.pumpSoon();
    } else if (this.isEnding && !this.finSent && !this.destroyed) {
      this.finSent = true;
      const { peer } = this;
      if (!this.ports.link.isSilent) this.later(() => peer?.receiveFin(), null);
      this.closeWhenDone();
    }
  }

  private pumpSoon(): void {
    if (this.isPumping) return;
    this.isPumping = true;
    this.later(() => {
      this.isPumping = false;
      this.pump();
    }, null);
  }

  private receiveFin(): void {
    if (this.destroyed || this.finReceived) return;
    this.finReceived = true;
    this.tell('end');
    this.end();
    this.closeWhenDone();
  }

  private closeWhenDone(): void {
    if (this.finSent && this.finReceived) this.closeSoon();
  }

  private closeSoon(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.ports.link.onGone();
    this.later(() => this.tell('close'), this.life);
  }

  private tell(event: string, about?: Error | Uint8Array): void {
    if (this.life?.ended !== true && (event === 'close' || !this.destroyed)) this.emit(event, about);
  }

  private later(run: () => void, life: Life | null): void {
    const { world, prng, traits } = this.ports;
    world.after((prng.below(1024) / 1024) * traits.delayMsMax, run, life);
  }
}
