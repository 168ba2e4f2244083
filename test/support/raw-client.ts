// A client that can say anything: frames written and read with a msgpack of its own, after PROTOCOL.md alone, so that neither proto nor
// the SDK stands between a test and the daemon. Values: integers, strings, Uint8Array (bin), null, booleans, arrays; `raw` for any other
// bytes.
import { connect, type Socket } from 'node:net';

/** Bytes that go into a frame as they are. */
export class Raw {
  readonly bytes: Buffer;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

export type Value = number | string | boolean | null | Uint8Array | Raw | readonly Value[];
export type Frame = unknown[];

const DEADLINE_MS = 5000;

export function raw(hex: string): Raw {
  return new Raw(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
}

export class RawClient {
  readonly socket: Socket;
  /** Frames that arrived and were not taken. */
  readonly frames: Frame[] = [];
  closed = false;
  private bytes = Buffer.alloc(0);
  private wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => this.take(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed = true;
      this.wake();
    });
  }

  static connect(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RawClient(socket));
      });
    });
  }

  /** Says HELLO; the answer. */
  async hello(id = 1): Promise<Frame> {
    this.send(...helloOf(id));
    return this.next();
  }

  send(...values: Value[]): void {
    this.write(frame(...values));
  }

  write(bytes: Uint8Array): void {
    if (!this.socket.destroyed) this.socket.write(bytes);
  }

  /** The next frame. */
  async next(): Promise<Frame> {
    const found = await this.until(() => this.frames.length > 0);
    const first = this.frames.shift();
    if (!found || first === undefined) throw new Error(this.closed ? 'closed' : 'no frame');
    return first;
  }

  /** The answer to a request; frames with other ids stay. */
  async answer(id: number): Promise<Frame> {
    const index = (): number => this.frames.findIndex((one) => one[1] === id);
    if (!(await this.until(() => index() >= 0))) throw new Error(`no answer to ${id}`);
    return this.frames.splice(index(), 1)[0] ?? [];
  }

  /** Sends a request and gives its answer. */
  ask(op: number, id: number, ...rest: Value[]): Promise<Frame> {
    this.send(op, id, ...rest);
    return this.answer(id);
  }

  /** Everything up to the end of the connection. */
  async rest(): Promise<Frame[]> {
    if (!(await this.until(() => this.closed, true))) throw new Error('not closed');
    return this.frames.splice(0);
  }

  end(): void {
    this.socket.end();
  }

  /** Ends with RST. */
  reset(): void {
    if (!this.socket.destroyed) this.socket.resetAndDestroy();
  }

  private async until(done: () => boolean, evenClosed = false): Promise<boolean> {
    const late = performance.now() + DEADLINE_MS;
    while (!done()) {
      const leftMs = late - performance.now();
      if (leftMs <= 0 || (this.closed && !evenClosed)) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return true;
  }

  private take(chunk: Buffer): void {
    this.bytes = Buffer.concat([this.bytes, chunk]);
    while (this.bytes.length >= 4) {
      const end = 4 + this.bytes.readUInt32BE(0);
      if (this.bytes.length < end) break;
      this.frames.push(unpack(this.bytes.subarray(4, end)));
      this.bytes = this.bytes.subarray(end);
    }
    this.wake();
  }
}

/** HELLO's elements for versions 1..1 and no TPINIT members. */
export function helloOf(id = 1, versions: [Value, Value] = [1, 1]): Value[] {
  return [1, id, ...versions, '', '', '', '', 0, null, 'raw client'];
}

/** Frames as [opcode, id], an ERROR as [opcode, id, tperrno]. */
export function heads(frames: readonly Frame[]): unknown[][] {
  return frames.map(([op, id, tperrno]) => (op === 127 ? [op, id, tperrno] : [op, id]));
}

export function frame(...values: Value[]): Buffer {
  const body = pack(values);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

export function pack(value: Value): Buffer {
  if (value === null) return Buffer.of(0xc0);
  if (typeof value === 'boolean') return Buffer.of(value ? 0xc3 : 0xc2);
  if (typeof value === 'number') return packInt(value);
  if (typeof value === 'string') return sized(Buffer.from(value), 0xd9);
  if (value instanceof Raw) return value.bytes;
  if (value instanceof Uint8Array) return sized(Buffer.from(value), 0xc4);
  return Buffer.concat([Buffer.of(0x90 | value.length), ...value.map(pack)]);
}

/** Sizes always in the long form that fits, never in a fixstr: any width is allowed. */
function sized(bytes: Buffer, base: number): Buffer {
  const head = Buffer.alloc(bytes.length < 256 ? 2 : 5);
  head[0] = bytes.length < 256 ? base : base + 2;
  if (bytes.length < 256) head[1] = bytes.length;
  else head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

function packInt(value: number): Buffer {
  if (value >= 0 && value < 128) return Buffer.of(value);
  const out = Buffer.alloc(9);
  out[0] = value < 0 ? 0xd3 : 0xcf;
  out.writeBigInt64BE(BigInt(value), 1);
  return out;
}

function unpack(body: Buffer): Frame {
  const reader = { body, at: 0 };
  const value = read(reader);
  if (!Array.isArray(value) || reader.at !== body.length) throw new Error('the daemon sent no frame');
  return value;
}

interface Reader {
  readonly body: Buffer;
  at: number;
}

function read(reader: Reader): unknown {
  const { body } = reader;
  const head = body.readUInt8(reader.at++);
  if (head < 0x80) return head;
  if (head < 0x90) return readMap(reader, head & 15);
  if (head < 0xa0) return Array.from({ length: head & 15 }, () => read(reader));
  if (head < 0xc0) return readBytes(reader, head & 31).toString();
  if (head >= 0xe0) return head - 256;
  return readSized(reader, head);
}

function readSized(reader: Reader, head: number): unknown {
  switch (head) {
    case 0xc0:
      return null;
    case 0xc2:
    case 0xc3:
      return head === 0xc3;
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return readBytes(reader, readUInt(reader, 1 << (head - 0xc4)));
    case 0xcb:
      return readBytes(reader, 8).readDoubleBE();
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
      return readUInt(reader, 1 << (head - 0xcc));
    case 0xd0:
      return readBytes(reader, 1).readInt8();
    case 0xd1:
      return readBytes(reader, 2).readInt16BE();
    case 0xd2:
      return readBytes(reader, 4).readInt32BE();
    case 0xd3:
      return Number(readBytes(reader, 8).readBigInt64BE());
    case 0xd9:
    case 0xda:
    case 0xdb:
      return readBytes(reader, readUInt(reader, 1 << (head - 0xd9))).toString();
    case 0xdc:
    case 0xdd: {
      const length = readUInt(reader, head === 0xdc ? 2 : 4);
      return Array.from({ length }, () => read(reader));
    }
    case 0xde:
      return readMap(reader, readUInt(reader, 2));
    default:
      throw new Error(`the daemon sent a byte ${head.toString(16)}`);
  }
}

function readMap(reader: Reader, count: number): unknown {
  const entries = Array.from({ length: count }, () => [String(read(reader)), read(reader)] as const);
  return Object.fromEntries(entries);
}

function readUInt(reader: Reader, width: number): number {
  const bytes = readBytes(reader, width);
  return width === 8 ? Number(bytes.readBigUInt64BE()) : bytes.readUIntBE(0, width);
}

function readBytes(reader: Reader, count: number): Buffer {
  const bytes = reader.body.subarray(reader.at, reader.at + count);
  reader.at += count;
  return bytes;
}
