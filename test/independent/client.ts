// A client of the protocol written from proto/PROTOCOL.md alone, with node:net and msgpackr: the proof that the page is enough. It knows
// neither proto nor the SDK (test/unit/tidy keeps that so). Requests are plain arrays; what arrives is checked against the page's tables,
// and a frame that is not as the page says ends the connection. Everything is driven by arrivals: there is no timer here.
import { connect, type Socket } from 'node:net';
import { Packr, Unpackr } from 'msgpackr';
import { ANSWER, ELEMENTS, OP, Q } from './numbers.ts';

export type Frame = readonly unknown[];

/** HELLO's answer by name. */
export interface Welcome {
  readonly version: number;
  readonly cltid: Buffer;
  readonly heartbeatMs: number;
  readonly frameBytesMax: number;
  readonly inFlightMax: number;
  readonly blockTimeMs: number;
  readonly product: string;
}

/** ERROR as a value that is thrown. */
export class Refused extends Error {
  readonly tperrno: number;
  readonly diagnostic: number;
  constructor([, , tperrno, diagnostic, message]: Frame) {
    super(`tperrno ${String(tperrno)}, diagnostic ${String(diagnostic)}: ${String(message)}`);
    this.tperrno = Number(tperrno);
    this.diagnostic = Number(diagnostic);
  }
}

const packer = new Packr({ useRecords: false });
const unpacker = new Unpackr({ useRecords: false, int64AsType: 'number' });
const LENGTH_BYTES = 4;
const U32_MAX = 0xffffffff;
const I32_MIN = -0x80000000;

/** Length and body of one frame. */
export function encode(frame: Frame): Buffer {
  return framed(packer.pack(frame.map(wide)));
}

/** A body of any bytes behind its length. */
export function framed(body: Uint8Array): Buffer {
  const head = Buffer.alloc(LENGTH_BYTES);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

/** msgpackr writes integers beyond 32 bits as floats, which the protocol does not know; as bigints they become cf and d3. */
function wide(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(wide);
  return typeof value === 'number' && (value > U32_MAX || value < I32_MIN) ? BigInt(value) : value;
}

interface Waiter {
  readonly match: (frame: Frame) => boolean;
  readonly resolve: (frame: Frame) => void;
  readonly reject: (error: Error) => void;
}

export class Client {
  /** Everything that arrived, in that order. */
  readonly arrived: Frame[] = [];
  /** Resolves when the daemon has ended the connection, or this client has. */
  readonly ended: Promise<void>;
  /** Called for each frame that nobody asked for: REQUEST, CLOSING, the daemon's PING. */
  onPushed: (frame: Frame) => void = () => {};
  welcome: Welcome | null = null;
  private readonly socket: Socket;
  private untaken: Frame[] = [];
  private waiters: Waiter[] = [];
  private rest: Buffer = Buffer.alloc(0);
  private lastId = 0;
  private isEnded = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.ended = new Promise((resolve) => {
      socket.once('close', () => {
        this.end();
        resolve();
      });
    });
    socket.on('data', (part: Buffer) => this.take(part));
    socket.on('error', () => {}); // `close` follows
  }

  /** A connection on which nothing was said yet. `address`: `//host:port`. */
  static dial(address: string): Promise<Client> {
    const [, host = '', port = ''] = /^\/\/(.+):(\d+)$/.exec(address) ?? [];
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port: Number(port), noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new Client(socket)));
    });
  }

  /** A connection on which HELLO was answered. */
  static async join(address: string): Promise<Client> {
    const client = await Client.dial(address);
    client.welcome = welcomeOf(await client.ask(OP.HELLO, ...helloMembers()));
    return client;
  }

  /** Sends a request under the next id, which is returned. */
  send(opcode: number, ...members: Frame): number {
    const id = this.nextId();
    this.write(encode([opcode, id, ...members]));
    return id;
  }

  nextId(): number {
    this.lastId += 1;
    return this.lastId;
  }

  write(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  /** The members of the answer after opcode and id; throws Refused when it is ERROR. */
  ask(opcode: number, ...members: Frame): Promise<Frame> {
    return this.answer(this.send(opcode, ...members), opcode);
  }

  async answer(id: number, opcode: number): Promise<Frame> {
    const frame = await this.next((one) => one[1] === id && Number(one[0]) >= OP.ERROR);
    if (frame[0] === OP.ERROR) throw new Refused(frame);
    if (frame[0] !== opcode + ANSWER) throw new Error(`request ${opcode} got answer ${String(frame[0])}`);
    return frame.slice(2);
  }

  /** The next REQUEST of the daemon. */
  request(): Promise<Frame> {
    return this.next((frame) => frame[0] === OP.REQUEST);
  }

  /** The first frame of that kind that was not taken yet, now or later; rejects when the connection ends before. */
  next(match: (frame: Frame) => boolean): Promise<Frame> {
    const at = this.untaken.findIndex(match);
    const found = this.untaken[at];
    if (found !== undefined) {
      this.untaken.splice(at, 1);
      return Promise.resolve(found);
    }
    if (this.isEnded) return Promise.reject(new Error(this.lost()));
    return new Promise((resolve, reject) => {
      this.waiters.push({ match, resolve, reject });
    });
  }

  /** Cuts the connection. */
  drop(): void {
    this.socket.destroy();
  }

  private take(part: Buffer): void {
    this.rest = this.rest.length === 0 ? part : Buffer.concat([this.rest, part]);
    let at = 0;
    while (this.rest.length - at >= LENGTH_BYTES) {
      const end = at + LENGTH_BYTES + this.rest.readUInt32BE(at);
      if (end > this.rest.length) break;
      this.arrive(this.rest.subarray(at + LENGTH_BYTES, end));
      at = end;
    }
    this.rest = Buffer.from(this.rest.subarray(at));
  }

  private arrive(body: Buffer): void {
    const frame: unknown = unpacker.unpack(body);
    if (!Array.isArray(frame) || ELEMENTS.get(Number(frame[0])) !== frame.length) {
      this.socket.destroy(new Error(`not a frame of the page: ${body.toString('hex')}`));
      return;
    }
    this.arrived.push(frame);
    const waiter = this.waiters.find((one) => one.match(frame));
    if (waiter === undefined) {
      this.untaken.push(frame);
    } else {
      this.waiters = this.waiters.filter((one) => one !== waiter);
      waiter.resolve(frame);
    }
    if (Number(frame[0]) < OP.ERROR) this.onPushed(frame);
  }

  private end(): void {
    this.isEnded = true;
    for (const waiter of this.waiters) waiter.reject(new Error(this.lost()));
    this.waiters = [];
  }

  private lost(): string {
    return `the connection has ended; it brought ${JSON.stringify(this.arrived.slice(-3))}`;
  }
}

/** HELLO after opcode and id: no TPINIT members. */
export function helloMembers(versionMin = 1, versionMax = 1): Frame {
  return [versionMin, versionMax, '', '', '', '', 0, null, 'independent 1'];
}

function welcomeOf(members: Frame): Welcome {
  const [version, cltid, heartbeatMs, frameBytesMax, inFlightMax, blockTimeMs, product] = members;
  return {
    version: Number(version),
    cltid: bytesOf(cltid),
    heartbeatMs: Number(heartbeatMs),
    frameBytesMax: Number(frameBytesMax),
    inFlightMax: Number(inFlightMax),
    blockTimeMs: Number(blockTimeMs),
    product: String(product),
  };
}

export function bytesOf(value: unknown): Buffer {
  if (!(value instanceof Uint8Array)) throw new Error(`no bytes: ${String(value)}`);
  return Buffer.from(value);
}

/** Section 2.3, the answer to DEQUEUE: the members that its flags select, in the order of the page. */
const DEQUEUED: readonly (readonly [string, number])[] = [
  ['priority', Q.PRIORITY],
  ['msgid', Q.MSGID],
  ['corrid', Q.CORRID],
  ['replyqueue', Q.REPLYQ],
  ['failurequeue', Q.FAILUREQ],
  ['delivery_qos', Q.DELIVERYQOS],
  ['reply_qos', Q.REPLYQOS],
];

/** The control structure of a DEQUEUE answer by name. */
export function readCtl(ctl: unknown): Record<string, unknown> {
  if (!Array.isArray(ctl)) throw new Error(`no control structure: ${String(ctl)}`);
  const [flags, ...members] = ctl as [number, ...unknown[]];
  const names = DEQUEUED.filter(([, bit]) => (flags & bit) !== 0).map(([name]) => name);
  names.push('cltid', 'urcode', 'appkey');
  if (members.length !== names.length) throw new Error(`${members.length} members for flags ${flags}`);
  return { flags, ...Object.fromEntries(names.map((name, i) => [name, members[i]])) };
}
