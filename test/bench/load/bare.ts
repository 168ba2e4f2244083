// Load for the bare pipeline, in the shape of the product's: so many connections, each with so many requests in flight, one write for
// everything that a chunk of answers allows.
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { ANSWER_BYTES, AT, BARE_OP, enqueueFrame, statusFrame } from '../bare/wire.ts';
import { cpuTimeUs } from '../cpu-time.ts';
import type { Figures } from '../figures.ts';
import { Meter } from './meter.ts';
import { BODY_BYTES, SHAPES, type LoadTask } from './task.ts';

const NOTHING = Buffer.alloc(0);

interface BareShape {
  readonly inFlight: number;
  readonly bodyBytes: number;
}

class BareLoad {
  private readonly socket: Socket;
  private readonly inFlight: number;
  private readonly meter: Meter;
  private readonly frame: Buffer;
  private readonly sentAt: Float64Array;
  private rest: Buffer = NOTHING;

  constructor(socket: Socket, { inFlight, bodyBytes }: BareShape, meter: Meter) {
    this.socket = socket;
    this.inFlight = inFlight;
    this.frame = enqueueFrame(bodyBytes);
    this.meter = meter;
    this.sentAt = new Float64Array(inFlight);
    socket.on('data', (chunk) => this.receive(chunk));
  }

  start(): void {
    const { frame, inFlight } = this;
    const out = Buffer.allocUnsafe(inFlight * frame.length);
    for (let slot = 0; slot < inFlight; slot++) this.put(out, slot * frame.length, slot);
    this.sentAt.fill(performance.now());
    this.socket.write(out);
  }

  close(): void {
    this.socket.destroy();
  }

  private receive(chunk: Buffer): void {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const count = Math.floor(bytes.length / ANSWER_BYTES);
    this.rest = bytes.subarray(count * ANSWER_BYTES);
    const { frame, meter, sentAt } = this;
    const now = performance.now();
    const out = Buffer.allocUnsafe(count * frame.length);
    for (let i = 0; i < count; i++) {
      const slot = bytes.readUInt32BE(i * ANSWER_BYTES + AT.ID);
      meter.record(now - sentAt[slot]!);
      sentAt[slot] = now;
      this.put(out, i * frame.length, slot);
    }
    if (count > 0) this.socket.write(out);
  }

  private put(out: Buffer, at: number, slot: number): void {
    this.frame.copy(out, at);
    out.writeUInt32BE(slot, at + AT.ID);
  }
}

export async function runBare(task: LoadTask): Promise<Figures> {
  const control = await open(task.port);
  const meter = new Meter({ cpuUs: () => cpuTimeUs(task.pid), syncs: () => syncsOf(control) });
  const warming = await startLoads({ ...task, shape: 'W3', bodyBytes: BODY_BYTES }, meter);
  await delay(task.warmupMs);
  for (const load of warming) load.close();
  await startLoads(task, meter);
  return meter.window(task.measureMs);
}

async function startLoads(task: LoadTask, meter: Meter): Promise<BareLoad[]> {
  const { bodyBytes } = task;
  const { connections, inFlight } = SHAPES[task.shape];
  const loads: BareLoad[] = [];
  for (let i = 0; i < connections; i++)
    loads.push(new BareLoad(await open(task.port), { inFlight, bodyBytes }, meter));
  for (const load of loads) load.start();
  return loads;
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  return socket;
}

async function syncsOf(control: Socket): Promise<number> {
  const answered = once(control, 'data');
  control.write(statusFrame());
  const [answer] = (await answered) as [Buffer];
  if (answer[AT.OP] !== BARE_OP.SYNCS) throw new Error('the bare pipeline does not answer its status');
  return answer.readUInt32BE(AT.ID);
}
